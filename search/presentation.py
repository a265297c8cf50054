"""Text and JSON that are safe on a terminal. Pure."""

import json
import unicodedata
from typing import Any


def printable(text: str, *, keep: str = "\n\t") -> str:
    """``text`` without what a terminal would obey: control and formatting characters (spec 6.7)."""
    return "".join(
        character if character in keep or not _is_obeyed(character) else "�"
        for character in text.replace("\r\n", "\n")
    )


_OBEYED = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
JOINERS = "\u200c\u200d"
"""Persian, Indic scripts and emoji need them; they move no cursor."""


def _is_obeyed(character: str) -> bool:
    return unicodedata.category(character) in _OBEYED and character not in JOINERS


def dumps(value: Any, *, indent: int | None = 2) -> str:
    """JSON; what a terminal would obey is escaped, the rest stands as it is."""
    document = json.dumps(value, ensure_ascii=False, indent=indent)
    return "".join(
        character if character == "\n" or not _is_obeyed(character) else _escaped(character)
        for character in document
    )


def _escaped(character: str) -> str:
    return "\\u007f" if character == "\x7f" else json.dumps(character)[1:-1]
