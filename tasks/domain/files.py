r"""Which files of a repository are taken, and how their bytes become text (spec 5.2).

Two steps, so that what the tree alone can tell is never read: ``skip_by_entry`` looks at path,
mode and size, ``skip_by_content`` at the bytes. Both answer the reason to skip, or None to take.
``tasks.domain.generated`` holds the tables of generated, vendored and data files.

A file's lines are what lies between ``\n`` characters, as git counts them. ``\r`` stays where it
is (at the end of a CRLF file's lines, or inside a line), and so do form feeds: a line range always
means the same lines as git shows.
"""

import codecs
import re
from collections.abc import Callable
from typing import Final, Literal, Protocol

from tasks.domain.generated import (
    has_generated_head,
    has_generated_path,
    is_data_ending,
    is_minified,
    is_unreadable_ending,
    is_vendored_path,
)
from tasks.domain.languages import CONFIGURATION, PROSE, language_of

SkipReason = Literal[
    "symlink",
    "submodule",
    "missing",
    "excluded",
    "vendored",
    "generated",
    "unknown-type",
    "data",
    "too-large",
    "empty",
    "lfs-pointer",
    "binary",
    "undecodable",
]

CONFIGURATION_BYTES: Final = 50_000
"""JSON, YAML, TOML, XML and INI files over this size are data: dumps, fixtures, translations."""

TRAIL_SEPARATOR: Final = " \N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK} "

_SYMLINK, _SUBMODULE = "120000", "160000"
_LFS = (b"version https://git-lfs.github.com/spec/", b"version https://hawser.github.com/spec/")
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_LFS_BYTES = 1024  # the pointer format's own limit
_CONTROLS = re.compile(r"[\x00-\x06\x0e-\x1a\x1c-\x1f\x7f]")
_HIGH_RUN = re.compile(rb"[\x80-\xff]{4}")
_SAMPLE = 20_000


class Entry(Protocol):
    """One entry of a tree; ``mode`` is git's, ``size`` in bytes.

    ``size`` is None for what is no blob and for a blob that the repository lacks (partial clone).
    """

    @property
    def path(self) -> str: ...  # noqa: D102
    @property
    def mode(self) -> str: ...  # noqa: D102
    @property
    def size(self) -> int | None: ...  # noqa: D102


def skip_by_entry(
    entry: Entry,
    *,
    wanted: Callable[[str], bool],
    generated: bool | None,
    vendored: bool | None,
    max_bytes: int,
) -> SkipReason | None:
    """Why the entry is not even read, or None.

    ``wanted`` applies the include and exclude globs to a path; ``generated`` and ``vendored`` are
    what ``.gitattributes`` (linguist) or the include globs say of it, stronger than our tables;
    None: they say nothing. A file over ``max_bytes`` is too large.
    """
    path, size = entry.path, entry.size or 0
    checks: tuple[tuple[bool, SkipReason], ...] = (
        (entry.mode == _SYMLINK, "symlink"),
        (entry.mode == _SUBMODULE, "submodule"),
        (entry.size is None, "missing"),
        (not wanted(path), "excluded"),
        (is_vendored_path(path) if vendored is None else vendored, "vendored"),
        (has_generated_path(path) if generated is None else generated, "generated"),
        (is_unreadable_ending(path), "unknown-type"),
        (is_data_ending(path), "data"),
        (size > max_bytes, "too-large"),
        (size > CONFIGURATION_BYTES and language_of(path) in CONFIGURATION, "data"),
        (size == 0, "empty"),
    )
    return next((reason for applies, reason in checks if applies), None)


def skip_by_content(path: str, data: bytes, *, generated: bool | None = None) -> SkipReason | None:
    """Why a file that was read is not taken, or None. ``decode`` then gives its text.

    ``generated`` as in ``skip_by_entry``: False, and its shape does not count.
    """
    if data.startswith(_LFS) and len(data) <= _LFS_BYTES and b"\noid " in data:
        return "lfs-pointer"
    if b"\0" in data and not data.startswith(_UTF16):
        return "binary"
    text = decode(data)
    return "undecodable" if text is None else _skip_by_text(path, text, generated is not False)


def _skip_by_text(path: str, text: str, shape_counts: bool) -> SkipReason | None:  # noqa: FBT001
    if not text.strip():
        return "empty"
    language = language_of(path, text)
    by_shape = shape_counts and language not in PROSE
    if by_shape and (is_minified(path, text) or has_generated_head(text)):
        return "generated"
    if language is None and not looks_like_words(text):
        return "unknown-type"
    return None


def decode(data: bytes) -> str | None:
    """The text of a file, or None when its bytes are no text that we can tell.

    In this order: UTF-8 (its mark dropped); UTF-16 when it has its mark; UTF-8 with a few broken
    bytes (they become U+FFFD) if whole characters outnumber them; Windows-1252, the superset of
    Latin-1, if no four bytes in a row are above 127 (so Cyrillic, Greek and East Asian encodings
    are refused rather than garbled). Text with a NUL, or with more than one control character in
    a hundred, is none.
    """
    text = _decoded(data)
    if text is None or "\0" in text or len(_CONTROLS.findall(text)) * 100 > len(text):
        return None
    return text


def _decoded(data: bytes) -> str | None:
    if data.startswith(_UTF16):
        return _strict(data, "utf-16")
    data = data.removeprefix(codecs.BOM_UTF8)
    text = _strict(data, "utf-8")
    if text is not None:
        return text
    mended = data.decode("utf-8", "replace")
    broken = mended.count("\N{REPLACEMENT CHARACTER}")
    if sum(not character.isascii() for character in mended) > 2 * broken:
        return mended
    return None if _HIGH_RUN.search(data) else _strict(data, "cp1252")


def _strict(data: bytes, encoding: str) -> str | None:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        return None


def looks_like_words(text: str) -> bool:
    """Whether a text of unknown type reads like prose or source (its first 20,000 characters).

    At least half of what is no white space must be letters, and runs without white space must be
    short (30 on average), unless much of it is not ASCII: some scripts write without spaces.
    Number tables, hex and base64 dumps fail.
    """
    words = text[:_SAMPLE].split()
    characters = "".join(words)
    letters = sum(character.isalpha() for character in characters)
    foreign = sum(not character.isascii() for character in characters)
    long_runs = len(characters) > 30 * len(words) and foreign * 10 < 3 * len(characters)
    return letters * 2 >= len(characters) and not long_runs


def embedded_text(trail: tuple[str, ...], text: str) -> str:
    """What is embedded for a chunk: its trail on a line of its own, then its text (spec 5.3)."""
    return f"{TRAIL_SEPARATOR.join(trail)}\n{text}" if trail else text
