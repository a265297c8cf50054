"""Asks the homeserver what admission needs to know of a room, and decides (spec 3.1-3.3)."""

from typing import Final

from tasks.domain.rooms import (
    Admitted,
    Code,
    Refused,
    admission,
    event_refuses,
    is_formerly_bridged,
)
from tasks.room_context import RoomContext

UNSURE: Final[frozenset[Code]] = frozenset({"unknown", "not-joined"})
"""Refusals that say nothing about what is held: that needs more to go (spec 3.3, 3.5)."""


def admitted(context: RoomContext) -> Admitted | Refused:
    """Whether the room may be read: two requests, and its members' past before the first read."""
    verdict = admission(
        context.room,
        context.history.state(),
        context.history.aliases(),
        context.homeserver.standing(),
        context.rules,
    )
    record = context.store.ledger.record(context.source)
    if isinstance(verdict, Refused) or record.room.event:
        return verdict
    # The state shows the newest event of each member; the invite that made it a direct chat, or a
    # puppet's, may lie further back.
    listed = is_formerly_bridged(context.room, verdict.alias, context.rules)
    for raw in context.history.member_events():
        refused = event_refuses(raw, context.rules, formerly_bridged=listed)
        if refused is not None:
            return refused
    return verdict
