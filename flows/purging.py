"""``huginn chat-purge``: says what must never be held, shows it and takes it back (spec 4.7)."""

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any

import click

from flows.display import displayed
from search import embedded
from search.errors import UsageError
from search.presentation import printable
from search.settings import Settings, load_settings
from tasks.aim import aimed
from tasks.alone import alone
from tasks.bootstrap import open_store, open_windows
from tasks.chat_ports import WindowIndex
from tasks.context import Store
from tasks.domain.puppets import Puppets
from tasks.domain.purges import Purge
from tasks.purge import delete_now, known_purges, purge_of, room_named, say, take_back
from tasks.rebuild import aims


def purge(options: Mapping[str, Any], *, now: bool, yes: bool) -> int:
    """Notes a purge, and with ``now`` deletes what it covers before anything else.

    It asks for no token and no homeserver; ``options`` are those of ``tasks.purge.purge_of``.
    """
    settings = load_settings()
    named = options["room"].removeprefix("chat:")
    limits = {name: value for name, value in options.items() if name != "room"}
    # What is off is told before anything is opened; an alias is looked up later.
    draft = purge_of(
        f"!{named}" if named.startswith("#") else named,
        **limits,
        puppets=Puppets(settings.matrix.puppets),
    )
    if limits["everything"] and not yes:
        _confirm(f"Purge everything in {named}, also what will be said?")
    with displayed(), open_windows(settings) as (store, index):
        room = room_named(store.ledger, named)
        meant = replace(draft, room=room)
        held = f"chat:{room}" in store.ledger.records()
        say(settings, store, meant)
        _echo(f"purge {meant.id}: {_covers(meant)}")
        if not now:
            _echo(_without_now(settings, held=held))
            return 0
        with alone(f"chat:{room}"):
            deleted = delete_now(store, index, meant)
        with _rebuilt(settings, room) as new:
            for other, windows in new:
                say(settings, other, meant)
                delete_now(other, windows, meant)
    _echo(f"{deleted} passages deleted and gone, as counted afterwards")
    _echo(_afterwards(settings, meant, deleted))
    return 0


@contextmanager
def _rebuilt(settings: Settings, room: str) -> Iterator[list[tuple[Store, WindowIndex]]]:
    """The collection that a rebuild fills, if one stands, with the room in it held."""
    with ExitStack() as stack:
        new = []
        for at in aims(settings)[1:]:
            stack.enter_context(aimed(at))
            stack.enter_context(alone(f"chat:{room}"))
            new.append(stack.enter_context(open_windows(settings)))
        yield new


def show(*, as_json: bool) -> int:
    """Every purge in force; one that only the file has while the server is down is shown too."""
    settings = load_settings()
    if settings.weaviate.url is None and embedded.running(settings) is None:
        rows = [_row(each, told=False) for each in known_purges(settings, None)]
    else:
        with open_store(settings) as store:
            rows = [_row(each, told=True) for each in known_purges(settings, store.ledger)]
    if as_json:
        click.echo(json.dumps({"schema": "huginn.purges/1", "purges": rows}, indent=2))
        return 0
    for row in rows:
        _echo(f"{row['id']}  {row['state']}  {row['covers']}")
    if not rows:
        click.echo("no purge is in force")
    return 0


def remove(identifier: str) -> int:
    """Takes a purge back; what it covered may come back with the next refresh."""
    settings = load_settings()
    with displayed(), open_store(settings) as store:
        known = {each.id: each for each in known_purges(settings, store.ledger)}
        if identifier not in known:
            raise UsageError(
                "id", f"there is no purge {identifier!r}", "`huginn chat-purge list` shows them."
            )
        meant = known[identifier]
        with alone(f"chat:{meant.room}"):
            held = take_back(settings, store, meant)
        with _rebuilt(settings, meant.room) as new:
            for other, _ in new:
                take_back(settings, other, meant)
    _echo(f"purge {identifier} is taken back: {_covers(meant)}")
    _echo(
        "the next `huginn refresh` reads the room again from its start, and brings back what the "
        "homeserver still shows"
        if held
        else "nothing of the room is held; if the reader is in it, `huginn refresh` reads it"
    )
    return 0


def _confirm(question: str) -> None:
    if not sys.stdin.isatty():
        raise UsageError("everything", "nobody is there to be asked", "Give --yes too.")
    if not click.confirm(printable(question, keep=""), err=True):
        raise UsageError("everything", "not confirmed", "Nothing was noted or deleted.")


def _without_now(settings: Settings, *, held: bool) -> str:
    if settings.matrix.homeserver is None:
        return (
            "noted. matrix.homeserver is not set, so no refresh will read or delete anything of "
            "the room: say it again with --now to delete what is held"
            if held
            else "noted; nothing of the room is held"
        )
    if not held:
        return "noted; nothing of the room is held, and what this covers will not be"
    return "noted; the next `huginn refresh` deletes what it covers, --now would do it at once"


def _afterwards(settings: Settings, meant: Purge, deleted: int) -> str:
    if not deleted:
        return "nothing that it covers was held; it will not be taken in either"
    if meant == Purge(meant.room):
        return "nothing of the room is taken in any more, until the purge is removed"
    if settings.matrix.homeserver is None:
        return "matrix.homeserver is not set: what stood in the same passages does not come back"
    return (
        "the next `huginn refresh` reads the room again from its start and brings back what stood "
        "in the same passages and is not covered; until then look-ups do not vouch for the room"
    )


def _covers(meant: Purge) -> str:
    room = f"chat:{meant.room}"
    if meant.event:
        return f"event {meant.event} of {room}"
    who = f"everything of {meant.sender} in {room}" if meant.sender else f"everything in {room}"
    if meant.first is None and meant.last is None:
        return f"{who}, also what will be said"
    return f"{who} from {_time(meant, 'first')} to {_time(meant, 'last')}, both included"


def _time(meant: Purge, name: str) -> str:
    at = getattr(meant, name)
    return at.isoformat().replace("+00:00", "Z") if at else "…"


def _row(meant: Purge, *, told: bool) -> dict[str, Any]:
    state = "applied" if meant.applied else "due at the next refresh"
    return {
        "id": meant.id,
        "room": meant.room,
        "from": meant.first.isoformat() if meant.first else None,
        "to": meant.last.isoformat() if meant.last else None,
        "sender": meant.sender or None,
        "event": meant.event or None,
        "applied": meant.applied or None,
        "state": state if told else "unknown (server down)",
        "covers": _covers(meant),
    }


def _echo(line: str) -> None:
    click.echo(printable(line, keep=""))
