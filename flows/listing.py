"""``huginn sources``: shows what is listed, adds to it and takes from it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from flows import sources_file
from search import embedded
from search.config_file import CONFIG_NAME, config_path
from search.connection import connect
from search.errors import CollectionMissing, HuginnError, UsageError
from search.ledger import Journal, SourceRecord
from search.listing import RepositorySettings, checked_address, is_local
from search.presentation import printable
from search.reader import Reader
from search.settings import Settings
from tasks.settings import is_room, run_settings


def show(*, as_json: bool) -> int:
    """One line per listed source, with what the ledger knows of it if the server runs."""
    settings, own_list = run_settings()
    records, _ = held_records(settings)
    rows = [_row(each.source, each.url, records, each.label) for each in settings.repositories]
    listed = {row["source"] for row in rows}
    if own_list:
        rows += [
            _row(source, "no longer listed; the next `huginn refresh` removes it", records)
            for source in records or {}
            if source not in listed and not is_room(source)
        ]
    rows += [
        _row(source, record.identity, records, _room_label(settings, source))
        for source, record in (records or {}).items()
        if is_room(source)
    ]
    if as_json:
        click.echo(json.dumps({"schema": "huginn.sources/1", "sources": rows}, indent=2))
        return 0
    for row in rows:
        told = f"{row['source']}  {row['state']}  {row['passages']} passages  "
        told += row["alias"] or row["address"]
        told += f"  ({row['label']})" if row["alias"] and row["label"] else ""
        told += f"  covered since {row['covered_since']}" if row["covered_since"] else ""
        click.echo(printable(told, keep=""))
        if row["reason"]:
            click.echo(f"    {printable(row['reason'], keep='')}")
    if not own_list:
        click.echo("(the repository you stand in; `huginn sources add` makes a list of your own)")
    return 0


def add(entry: Mapping[str, Any]) -> int:
    """Lists one more repository; the file is checked whole before it is replaced."""
    path = config_path() or Path.cwd() / CONFIG_NAME
    try:
        # A folder means the same wherever the file is read from later.
        address = checked_address(str(entry["url"]))
    except ValueError as error:
        raise UsageError("address", str(error), "Give a URL or a folder.") from error
    text = sources_file.read(path)
    here = _implicit(entry)
    if here is not None:
        # The list takes the place of "where you stand": what was ingested so far stays listed.
        text = sources_file.with_entry(text, {"name": here.name, "url": here.url})
        click.echo(f"{here.source}, the repository you stand in, is listed too")
    sources_file.replace(path, sources_file.with_entry(text, dict(entry) | {"url": address}))
    click.echo(f"repo:{entry['name']} is listed in {path}; `huginn refresh` ingests it")
    if is_local(address) and not Path(address.removeprefix("file://")).is_dir():
        click.echo(f"there is no folder {address} here yet", err=True)
    return 0


def _implicit(entry: Mapping[str, Any]) -> RepositorySettings | None:
    """The repository you stand in, if it was the source so far and is not the one to add."""
    try:
        settings, own_list = run_settings()
    except HuginnError:
        return None
    here = settings.repositories[0] if settings.repositories else None
    return None if own_list or here is None or here.name == entry["name"] else here


def remove(name: str) -> int:
    """Takes a repository off the list."""
    path = config_path()
    if path is None:
        raise UsageError("name", f"{name!r} is not listed", "There is no settings file.")
    sources_file.replace(path, sources_file.without_entry(sources_file.read(path), name))
    click.echo(
        f"repo:{name} is no longer listed: look-ups hide it from now on, "
        "`huginn refresh` removes it"
    )
    return 0


def held_records(settings: Settings) -> tuple[dict[str, SourceRecord] | None, Journal | None]:
    """The ledger's records, and the last run's journal of rooms, read with the reader's key.

    None when the server is down: showing starts nothing.
    """
    if settings.weaviate.url is None and embedded.running(settings) is None:
        return None, None
    with connect(settings, "reader") as client:
        reader = Reader(client, settings.weaviate.collection)
        try:
            collection = reader.resolve().name
        except CollectionMissing:
            return {}, None
        return reader.records(collection), reader.journal(collection)


def _room_label(settings: Settings, source: str) -> str | None:
    return settings.matrix.labels.get(source.removeprefix("chat:"))


def _row(
    source: str,
    address: str,
    records: Mapping[str, SourceRecord] | None,
    label: str | None = None,
) -> dict[str, Any]:
    record = (records or {}).get(source)
    state = record.state if record else "new" if records is not None else "unknown (server down)"
    success = record.last_success if record else None
    return {
        "source": source,
        "address": address,
        "alias": (record.alias if record else "") or None,
        "label": label or (record.label if record else None),
        "state": state,
        "passages": record.passages if record else 0,
        "commit": record.cursor.commit if record else None,
        "last_success": success.isoformat() if success else None,
        "covered_since": (record.room.covered if record else "") or None,
        "reason": record.reason if record else None,
    }
