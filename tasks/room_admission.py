"""Asks the homeserver what admission needs to know of a room, and decides (spec 3.1-3.3)."""

from typing import Final

from tasks.chat_ports import RoomHistory, Standing
from tasks.domain.rooms import (
    Admitted,
    Code,
    Refused,
    RoomRules,
    admission,
    event_refuses,
    is_formerly_bridged,
)
from tasks.room_context import RoomContext

UNSURE: Final[frozenset[Code]] = frozenset({"unknown", "not-joined"})
"""Refusals that say nothing about what is held: that needs more to go (spec 3.3, 3.5)."""


def admitted(context: RoomContext, standing: Standing) -> Admitted | Refused:
    """Whether the room may be read: two requests, and its members' past before the first read."""
    record = context.store.ledger.record(context.source)
    return verdict_of(
        context.room, context.history, standing, context.rules, past=not record.room.event
    )


def verdict_of(
    room: str, history: RoomHistory, standing: Standing, rules: RoomRules, *, past: bool
) -> Admitted | Refused:
    """The same for a room of which nothing is held; ``past``: look at its members' past too."""
    verdict = admission(room, history.state(), history.aliases(), standing, rules)
    if isinstance(verdict, Refused) or not past:
        return verdict
    # The state shows the newest event of each member; the invite that made it a direct chat, or a
    # puppet's, may lie further back.
    listed = is_formerly_bridged(room, verdict.alias, rules)
    for raw in history.member_events():
        refused = event_refuses(raw, rules, formerly_bridged=listed)
        if refused is not None:
            return refused
    return verdict
