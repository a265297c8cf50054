"""Outlines of source code, from tree-sitter's grammars: where statements begin, what encloses them.

A parser that meets text it was not made for can take quadratic time and memory (seen: 250 KB of
``r#"`` in the Rust grammar took 24 GB). So a parse is given up after ``PARSE_SECONDS`` of this
thread's processor time, which real code stays far below (0.3 s for 256 KB), and larger files are
not parsed. No outline then: the caller packs the file by blank lines and indentation.

The tree is walked without recursion, and never deeper than ``_DEEPEST``.
"""

import importlib
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from tree_sitter import Language, Node, Parser, Point

from tasks.adapters.chunk_names import is_definition, names_of
from tasks.adapters.chunk_outline import GLUED, INSIDE, Outline, Trail, next_subjects

PARSE_BYTES: Final = 256_000
PARSE_SECONDS: Final = 3.0

_DEEPEST = 60
_GRAMMARS: Final = {
    "bash": ("tree_sitter_bash", "language"),
    "c": ("tree_sitter_c", "language"),
    "cpp": ("tree_sitter_cpp", "language"),
    "go": ("tree_sitter_go", "language"),
    "java": ("tree_sitter_java", "language"),
    "javascript": ("tree_sitter_javascript", "language"),
    "python": ("tree_sitter_python", "language"),
    "rust": ("tree_sitter_rust", "language"),
    "tsx": ("tree_sitter_typescript", "language_tsx"),
    "typescript": ("tree_sitter_typescript", "language_typescript"),
}
# What stands before a definition and belongs to it.
_LEADS: Final = frozenset(
    {"comment", "line_comment", "block_comment", "attribute_item", "decorator", "attribute"}
)
# Nodes around exactly one definition, which begins where they begin.
_WRAPPERS: Final = frozenset(
    {
        "ambient_declaration",
        "declaration",
        "decorated_definition",
        "export_statement",
        "expression_statement",
        "lexical_declaration",
        "template_declaration",
        "type_declaration",
        "variable_declaration",
    }
)


def code_outline(lines: list[str], language: str) -> Outline | None:
    """The outline of source code in one of ``tasks.domain.languages.PARSED``.

    None when the file is over ``PARSE_BYTES`` or the parse was given up.
    """
    source = "\n".join(lines).encode()
    root = _parsed(source, language) if len(source) <= PARSE_BYTES else None
    if root is None:
        return None
    drawn = _Drawing(lines, source)
    drawn.draw(root)
    telling = [any(character.isalnum() for character in line) for line in lines]
    breaks = [drawn.break_at(number) for number in range(len(lines))]
    return Outline(breaks, drawn.sections, next_subjects(telling), drawn.trails)


@lru_cache(maxsize=len(_GRAMMARS))
def _grammar(language: str) -> Language:
    module, function = _GRAMMARS[language]
    return Language(getattr(importlib.import_module(module), function)())


def _parsed(source: bytes, language: str) -> Node | None:
    view, start = memoryview(source), time.thread_time()

    def read(offset: int, _: Point) -> memoryview:
        return view[offset : offset + 65_536]

    def too_slow(_offset: int, _has_error: bool) -> bool:  # noqa: FBT001  # tree-sitter's signature
        return time.thread_time() - start > PARSE_SECONDS

    try:
        return Parser(_grammar(language)).parse(read, progress_callback=too_slow).root_node
    except ValueError:  # tree-sitter's word for a parse that was given up
        return None


@dataclass(slots=True)
class _Drawing:
    lines: list[str]
    source: bytes
    sections: list[bool] = field(init=False)
    trails: list[Trail] = field(init=False)
    levels: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.sections = [False] * len(self.lines)
        self.trails = [()] * len(self.lines)

    def break_at(self, number: int) -> int:
        after_blank = number > 0 and not self.lines[number - 1].strip()
        level = self.levels.get(number, INSIDE)
        return level if level == GLUED else level + after_blank

    def draw(self, root: Node) -> None:
        containers: list[tuple[Node, int, Trail]] = [(root, 0, ())]
        while containers:
            node, depth, trail = containers.pop()
            for unit in _units(node):
                inner, inside = unit.definition or unit.node, trail
                if unit.definition is not None:
                    inside = (*trail, *names_of(unit.definition, self.source))
                    self.trails[unit.first : unit.last + 1] = [inside] * (
                        unit.last + 1 - unit.first
                    )
                self._mark(unit, depth)
                if unit.last > unit.first and depth < _DEEPEST:
                    containers.append((inner, depth + 1, inside))

    def _mark(self, unit: "_Unit", depth: int) -> None:
        if not unit.starts_line:
            return
        defines = unit.definition is not None
        self.levels.setdefault(unit.first, 2 + 4 * (_DEEPEST - depth) + 2 * defines)
        self.sections[unit.first] |= defines
        if unit.body > unit.first:
            self.levels.setdefault(unit.body, GLUED)


@dataclass(frozen=True, slots=True)
class _Unit:
    """A node with the comments right above it: rows from ``first`` to ``last``, 0-based.

    ``body`` is the row of the node itself; ``definition`` the definition that it is or wraps.
    """

    node: Node
    first: int
    body: int
    last: int
    starts_line: bool
    definition: Node | None


def _units(node: Node) -> Iterator[_Unit]:
    """The node's children in order, each with the comments and attributes right above it."""
    lead: _Unit | None = None
    row = -1
    for child in node.children:
        first, last = child.start_point.row, _last_row(child)
        starts_line, row = first > row, max(row, last)
        leads = child.type in _LEADS
        if leads and not starts_line:
            continue
        counts = child.is_named and not _is_body(child)
        adjacent = lead is not None and starts_line and counts and first == lead.last + 1
        start = lead.first if lead is not None and adjacent else first
        if lead is not None and not adjacent:
            yield lead
        definition = _definition(child) if counts and not leads else None
        unit = _Unit(child, start, first, last, starts_line and counts, definition)
        lead = unit if leads else None
        if not leads:
            yield unit
    if lead is not None:
        yield lead


def _last_row(node: Node) -> int:
    end = node.end_point
    return max(node.start_point.row, end.row - (end.column == 0))


def _is_body(node: Node) -> bool:
    return node.type.endswith(("block", "body", "_list", "compound_statement"))


def _definition(node: Node) -> Node | None:
    for _ in range(3):
        if is_definition(node):
            return node
        if node.type not in _WRAPPERS:
            return None
        inner = [
            child
            for child in node.named_children
            if child.type in _WRAPPERS or is_definition(child)
        ]
        if len(inner) != 1:
            return None
        node = inner[0]
    return None
