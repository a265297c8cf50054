"""``huginn sources``: shows the listed sources, and edits the settings file."""

import json
import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click
import tomlkit
from tomlkit.exceptions import ParseError

from search import embedded
from search.connection import connect
from search.errors import CollectionMissing, SettingsError, UsageError
from search.ledger import SourceRecord
from search.listing import checked_address
from search.presentation import printable
from search.reader import Reader
from search.settings import CONFIG_NAME, Settings, config_path, load_settings
from tasks.settings import run_settings

HEADER = "# Settings of Huginn: docs/settings.md lists them all.\n"


def show(*, as_json: bool) -> int:
    """One line per listed source, with what the ledger knows of it if the server runs."""
    settings, own_list = run_settings()
    records = _records(settings)
    rows = [_row(each.source, each.url, records) for each in settings.repositories]
    listed = {row["source"] for row in rows}
    if own_list:
        rows += [
            _row(source, "no longer listed; the next `huginn refresh` removes it", records)
            for source in records or {}
            if source not in listed
        ]
    if as_json:
        click.echo(json.dumps({"schema": "huginn.sources/1", "sources": rows}, indent=2))
        return 0
    for row in rows:
        told = f"{row['source']}  {row['state']}  {row['passages']} passages  {row['address']}"
        click.echo(printable(told, keep=""))
        if row["reason"]:
            click.echo(f"    {printable(row['reason'], keep='')}")
    if not own_list:
        click.echo("(the repository you stand in; `huginn sources add` makes a list of your own)")
    return 0


def add(entry: Mapping[str, Any]) -> int:
    """Lists one more repository; the file is checked whole before it is replaced."""
    path = config_path() or Path.cwd() / CONFIG_NAME

    # A folder means the same wherever the file is read from later.
    stored = dict(entry) | {"url": _absolute(str(entry["url"]))}

    def change(document: tomlkit.TOMLDocument) -> None:
        tables = document.get("repositories") or tomlkit.aot()
        tables.append(tomlkit.item(stored))
        document["repositories"] = tables

    _edit(path, change)
    click.echo(f"repo:{entry['name']} is listed in {path}; `huginn refresh` ingests it")
    return 0


def remove(name: str) -> int:
    """Takes a repository off the list."""
    path = config_path()

    def change(document: tomlkit.TOMLDocument) -> None:
        tables = document.get("repositories", [])
        kept = [table for table in tables if table.get("name") != name]
        if len(kept) == len(tables):
            known = ", ".join(str(table.get("name")) for table in tables) or "none"
            raise UsageError("name", f"{name!r} is not listed", f"Listed: {known}.")
        array = tomlkit.aot()
        for table in kept:
            array.append(table)
        # An empty list still is a list: nothing is listed any more, and all gets removed.
        document["repositories"] = array if kept else tomlkit.array()

    if path is None:
        raise UsageError("name", f"{name!r} is not listed", "There is no settings file.")
    _edit(path, change)
    click.echo(
        f"repo:{name} is no longer listed: look-ups hide it from now on, "
        "`huginn refresh` removes it"
    )
    return 0


def _absolute(address: str) -> str:
    try:
        return checked_address(address)
    except ValueError as error:
        raise UsageError("address", str(error), "Give a URL or a folder.") from error


def _edit(path: Path, change: Callable[[tomlkit.TOMLDocument], None]) -> None:
    """Changes the file at ``path`` in one step, or leaves it as it was."""
    path = path.resolve()
    try:
        text = path.read_bytes().decode() if path.is_file() else HEADER
        document = tomlkit.parse(text)
    except (UnicodeDecodeError, ParseError) as error:
        raise SettingsError("config", f"{path}: {error}", "Mend the file.") from error
    change(document)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".huginn-", suffix=".toml")
    draft = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(tomlkit.dumps(document).encode())
        load_settings(draft, shown_as=path)
        if path.is_file():
            draft.chmod(path.stat().st_mode & 0o777)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def _records(settings: Settings) -> dict[str, SourceRecord] | None:
    """The ledger's records; None when the server is down (showing a list starts nothing)."""
    if settings.weaviate.url is None and embedded.running(settings) is None:
        return None
    with connect(settings, "reader") as client:
        reader = Reader(client, settings.weaviate.collection)
        try:
            return reader.records(reader.resolve().name)
        except CollectionMissing:
            return {}


def _row(source: str, address: str, records: Mapping[str, SourceRecord] | None) -> dict[str, Any]:
    record = (records or {}).get(source)
    state = record.state if record else "new" if records is not None else "unknown (server down)"
    success = record.last_success if record else None
    return {
        "source": source,
        "address": address,
        "label": record.label if record else None,
        "state": state,
        "passages": record.passages if record else 0,
        "commit": record.cursor.commit if record else None,
        "last_success": success.isoformat() if success else None,
        "reason": record.reason if record else None,
    }
