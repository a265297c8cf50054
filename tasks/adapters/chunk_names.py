"""Which nodes of the shipped grammars are definitions, and what they are called."""

from typing import Final

from tree_sitter import Node

LONGEST_NAME: Final = 120

_DEFINITIONS: Final = frozenset(
    {
        "abstract_class_declaration",
        "annotation_type_declaration",
        "class_declaration",
        "class_definition",
        "class_specifier",
        "constructor_declaration",
        "enum_declaration",
        "enum_item",
        "enum_specifier",
        "function_declaration",
        "function_definition",
        "function_item",
        "generator_function_declaration",
        "impl_item",
        "interface_declaration",
        "internal_module",
        "macro_definition",
        "method_declaration",
        "method_definition",
        "mod_item",
        "module",
        "namespace_definition",
        "preproc_function_def",
        "record_declaration",
        "struct_item",
        "struct_specifier",
        "trait_item",
        "type_alias_declaration",
        "type_definition",
        "type_item",
        "type_spec",
        "union_item",
        "union_specifier",
    }
)
# A variable or field is a definition when its value is one of these.
_HOLDERS: Final = frozenset({"variable_declarator", "public_field_definition", "field_definition"})
_FUNCTIONS: Final = frozenset(
    {"arrow_function", "function_expression", "generator_function", "class", "function"}
)
# Types that a C declaration may merely use: a definition only with a body.
_NEEDS_BODY: Final = frozenset(
    {"class_specifier", "enum_specifier", "struct_specifier", "union_specifier"}
)
_FURTHER_IN: Final = frozenset(
    {"parenthesized_declarator", "pointer_declarator", "reference_declarator"}
)


def is_definition(node: Node) -> bool:
    """Whether the node defines something that a reader would name."""
    if node.type in _HOLDERS:
        value = node.child_by_field_name("value")
        return value is not None and value.type in _FUNCTIONS
    if node.type in _NEEDS_BODY:
        return node.child_by_field_name("body") is not None
    return node.type in _DEFINITIONS


def names_of(node: Node, source: bytes) -> tuple[str, ...]:
    """The definition's name, after the type that it belongs to where the syntax tells it.

    The text comes from ``source``: a tree that was parsed from a callback cannot give it.
    """
    if node.type == "impl_item":
        trait, kind = _text(node, source, "trait"), _text(node, source, "type")
        return (f"{trait} for {kind}",) if trait else (kind,)
    name = _text(node, source, "name") or _text(node, source, "property") or _declared(node, source)
    owner = _receiver(node, source)
    return tuple(part for part in (owner, name) if part)


def _text(node: Node, source: bytes, name: str) -> str:
    found = node.child_by_field_name(name)
    return _shown(found, source) if found is not None else ""


def _shown(node: Node, source: bytes) -> str:
    raw = source[node.start_byte : min(node.end_byte, node.start_byte + 4 * LONGEST_NAME)]
    return " ".join(raw.decode("utf-8", "ignore").split())[:LONGEST_NAME]


def _receiver(node: Node, source: bytes) -> str:
    """The type of a Go method: ``(s *Server[T])`` gives ``Server``."""
    receiver = _text(node, source, "receiver")
    words = receiver.strip("()").partition("[")[0].split()
    return words[-1].lstrip("*") if words else ""


def _declared(node: Node, source: bytes) -> str:
    """The name in a C declarator, which may be wrapped in pointers, references and parameters."""
    declarator = node.child_by_field_name("declarator")
    for _ in range(20):
        if declarator is None:
            return ""
        inner = declarator.child_by_field_name("declarator")
        if inner is None and declarator.type in _FURTHER_IN and declarator.named_children:
            inner = declarator.named_children[-1]
        if inner is None:
            return _shown(declarator, source)
        declarator = inner
    return ""
