"""Which rooms get in (spec 3.1 to 3.5): told from a room's state, before any text is read.

What cannot be checked is refused, and a reason never holds what a room must not leave behind: no
puppet's id and no text.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from tasks.chat_ports import RawEvent, Standing
from tasks.domain.puppets import Puppets
from tasks.domain.room_state import (
    MEMBER,
    aliases_of,
    content_of,
    fault_of,
    marks_direct,
    past_aliases_of,
    string,
)

NEVER: Final = frozenset({"users", "members", "patrons"})
"""Local parts of aliases whose rooms are never read; no setting takes them away."""

BRIDGE_EVENTS: Final = ("m.bridge", "uk.half-shot.bridge")

Code = Literal[
    "not-joined", "unknown", "direct", "bridged", "formerly-bridged", "puppet", "excluded"
]

SENTENCES: Final[Mapping[Code, str]] = {
    "not-joined": "the reader is not in it",
    "unknown": "its state cannot be checked",
    "direct": "it is a direct chat",
    "bridged": "it is bridged",
    "formerly-bridged": "it was bridged; list it as formerly bridged if that is over",
    "puppet": "a bridge's puppet is or was in it",
    "excluded": "it is excluded by id or alias",
}


@dataclass(frozen=True, slots=True)
class RoomRules:
    """What the settings say of rooms; each is named by id or by alias.

    An entry of ``excluded`` without a server part, like ``#staff``, is the local part of an alias
    on any server.
    """

    excluded: tuple[str, ...] = ()
    direct: tuple[str, ...] = ()
    formerly_bridged: tuple[str, ...] = ()
    puppets: Puppets = field(default_factory=Puppets)


@dataclass(frozen=True, slots=True)
class Admitted:
    """A room that is read, and what its state tells of it.

    ``alias`` is the canonical one, else the first of the others, "" for none. ``predecessor`` is
    the room that it replaced, "" for none. ``formerly_bridged``: a steward says that a bridge was
    here and is gone.
    """

    room: str
    alias: str
    aliases: tuple[str, ...]
    name: str
    version: str
    predecessor: str
    encrypted: bool
    formerly_bridged: bool


@dataclass(frozen=True, slots=True)
class Refused:
    """A room that is not read: a stable ``code``, and a sentence's end that says why."""

    code: Code
    reason: str


def admission(
    room: str,
    state: Sequence[RawEvent],
    aliases: Sequence[str],
    standing: Standing,
    rules: RoomRules,
) -> Admitted | Refused:
    """Whether a room is read; ``state`` is all of its current state, ``aliases`` the directory's.

    An encrypted room is read for what is plain in it (spec 3.4), and no room is taken for a direct
    chat by how many are in it (M40).
    """
    if room not in standing.joined:
        return _refused("not-joined")
    broken = fault_of(state, standing.user)
    if broken:
        return _refused("unknown", broken)
    names = aliases_of(state, aliases)
    return _refusal(room, state, names, standing, rules) or _admitted(room, state, names, rules)


def event_refuses(
    raw: RawEvent, rules: RoomRules, *, formerly_bridged: bool = False
) -> Refused | None:
    """Whether an event met in the history shows that the room must go out (spec 3.1, 3.2).

    A puppet as sender or member, a member event that marks a direct chat, or a bridge's state
    event; the last says nothing in a room that a steward lists as formerly bridged.
    """
    if not isinstance(raw, Mapping):
        return None
    kind, is_state = raw.get("type"), raw.get("state_key") is not None
    if _shows_puppet(raw, rules.puppets):
        return _refused("puppet")
    if kind == MEMBER and is_state and marks_direct(raw):
        return _refused("direct")
    if kind in BRIDGE_EVENTS and is_state and not formerly_bridged:
        return _refused("bridged" if raw.get("content") else "formerly-bridged")
    return None


def refused_by_name(
    room: str, names: Sequence[str], standing: Standing, rules: RoomRules
) -> Refused | None:
    """What can change without an event in the room: its aliases, and what is marked as direct."""
    names = [name for name in names if name]
    if room in standing.direct or _listed(room, names, rules.direct):
        return _refused("direct")
    return _refused("excluded") if _is_excluded(room, names, rules.excluded) else None


def is_formerly_bridged(room: str, alias: str, rules: RoomRules) -> bool:
    """Whether a steward lists the room, by id or alias, as one whose bridge is gone."""
    return _listed(room, [alias] if alias else [], rules.formerly_bridged)


def _refusal(
    room: str,
    state: Sequence[RawEvent],
    names: Sequence[str],
    standing: Standing,
    rules: RoomRules,
) -> Refused | None:
    bridges = [event["content"] for event in state if event["type"] in BRIDGE_EVENTS]
    members = [event for event in state if event["type"] == MEMBER]
    direct = room in standing.direct or _listed(room, names, rules.direct)
    checks: tuple[tuple[bool, Code], ...] = (
        (direct or any(map(marks_direct, members)), "direct"),
        (any(bridges), "bridged"),
        (any(_shows_puppet(event, rules.puppets) for event in state), "puppet"),
        (bool(bridges) and not _listed(room, names, rules.formerly_bridged), "formerly-bridged"),
        (_is_excluded(room, [*names, *past_aliases_of(state)], rules.excluded), "excluded"),
    )
    return next((_refused(code) for applies, code in checks if applies), None)


def _admitted(
    room: str, state: Sequence[RawEvent], names: Sequence[str], rules: RoomRules
) -> Admitted:
    create = content_of(state, "m.room.create")
    predecessor = create.get("predecessor")
    replaced = predecessor.get("room_id") if isinstance(predecessor, Mapping) else ""
    return Admitted(
        room=room,
        alias=names[0] if names else "",
        aliases=tuple(names),
        name=rules.puppets.quoted(string(content_of(state, "m.room.name").get("name"))),
        version=string(create.get("room_version")) or "1",
        predecessor=string(replaced),
        encrypted=any(event["type"] == "m.room.encryption" for event in state),
        formerly_bridged=_listed(room, names, rules.formerly_bridged),
    )


def _refused(code: Code, detail: str = "") -> Refused:
    return Refused(code, f"{SENTENCES[code]}: {detail}" if detail else SENTENCES[code])


def _is_excluded(room: str, names: Sequence[str], excluded: Sequence[str]) -> bool:
    locals_ = {_local(name) for name in names}
    bare = {_local(entry) for entry in excluded if entry.startswith("#") and ":" not in entry}
    return bool(locals_ & (NEVER | bare)) or _listed(room, names, excluded)


def _listed(room: str, names: Sequence[str], entries: Sequence[str]) -> bool:
    folded = {name.casefold() for name in names}
    return any(entry == room or entry.casefold() in folded for entry in entries)


def _local(alias: str) -> str:
    return alias.removeprefix("#").partition(":")[0].casefold()


def _shows_puppet(event: RawEvent, puppets: Puppets) -> bool:
    member = event.get("state_key") if event.get("type") == MEMBER else None
    return any(puppets.is_puppet(string(user)) for user in (event.get("sender"), member))
