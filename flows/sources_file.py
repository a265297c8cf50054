"""Editing the list of sources in the settings file: comments stay with what they speak of."""

import os
import re
import tempfile
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tomlkit

from search.errors import SettingsError, UsageError
from search.settings import load_settings

HEADER = "# Settings of Huginn: docs/settings.md lists them all.\n"

_ENTRY = re.compile(r"^\s*\[\[\s*repositories\s*\]\]")
_TABLE = re.compile(r"^\s*\[")
_COMMENT = re.compile(r"^\s*#")


def with_entry(text: str, entry: Mapping[str, Any]) -> str:
    """The file's text with one more entry, at its end."""
    document = tomlkit.parse(text)
    listed = document.get("repositories")
    if isinstance(listed, tomlkit.items.Array) and len(listed):
        inline = tomlkit.inline_table()
        inline.update(entry)
        listed.append(inline)
        return tomlkit.dumps(document)
    if listed is not None and not len(listed):
        document.remove("repositories")
        text = tomlkit.dumps(document)
    end = "\r\n" if "\r\n" in text else "\n"
    added = tomlkit.dumps({"repositories": [dict(entry)]}).replace("\n", end)
    head = text.rstrip()
    return f"{head}{end}{end}{added}" if head else added


def without_entry(text: str, name: str) -> str:
    """The file's text without the entry ``name``, its own comment gone with it.

    Raises:
        UsageError: there is no such entry.
    """
    listed = tomllib.loads(text).get("repositories", [])
    names = [entry["name"] for entry in listed]
    if name not in names:
        known = ", ".join(names) or "none"
        raise UsageError("name", f"{name!r} is not listed", f"Listed: {known}.")
    expected = [entry for entry in listed if entry["name"] != name]
    # An empty list still is a list: nothing is listed any more, and all gets removed.
    end = "\r\n" if "\r\n" in text else "\n"
    head = "" if expected else f"repositories = []{end}"
    cut = head + _without_lines(text, names.index(name))
    if _listed(cut) == expected:
        return cut
    document = tomlkit.parse(text)
    del document["repositories"][names.index(name)]
    if not expected:
        document.remove("repositories")
    return head + tomlkit.dumps(document)


def _listed(text: str) -> object:
    try:
        return tomllib.loads(text).get("repositories")
    except tomllib.TOMLDecodeError:
        return None


def _without_lines(text: str, index: int) -> str:
    lines = text.splitlines(keepends=True)
    headers = [number for number, line in enumerate(lines) if _ENTRY.match(line)]
    if index >= len(headers):
        return text
    tables = [number for number, line in enumerate(lines) if _TABLE.match(line)]
    end = next((number for number in tables if number > headers[index]), len(lines))
    start = _above(lines, headers[index])
    return "".join(lines[:start] + lines[_above(lines, end) if end < len(lines) else end :])


def _above(lines: list[str], header: int) -> int:
    """The first of the comment lines that stand directly above ``header``."""
    while header and _COMMENT.match(lines[header - 1]):
        header -= 1
    return header


def read(path: Path) -> str:
    """The file's text, or the start of a new one; refused if it is off as it stands."""
    if not path.is_file():
        return HEADER
    load_settings(path)
    return path.read_bytes().decode()


def replace(path: Path, text: str) -> None:
    """Puts ``text`` in the file's place in one step, if it holds as settings.

    Raises:
        SettingsError: it does not; the file is as it was.
    """
    path = path.resolve()
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".huginn-", suffix=".toml")
    except OSError as error:
        raise SettingsError(
            "config", f"{path}: {error.strerror}", "Make its folder writable."
        ) from error
    draft = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(text.encode())
        load_settings(draft, shown_as=path)
        if path.is_file():
            draft.chmod(path.stat().st_mode & 0o777)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
