"""What to ask of ``/sync``: no waiting, presence left alone, and as little as will do.

Synapse keeps an answer for two minutes and gives it again for the same ``since`` and filter, so a
run soon after a failed one would not hear of what came in between: each filter is made unique.
"""

import json
import secrets
from typing import Any

from tasks.adapters.matrix_http import Ask

_NOTHING = {"not_types": ["*"]}


def news_since(since: str | None) -> Ask:
    """One event of each joined room with any, from ``since`` on or of all."""
    room = {"timeline": {"limit": 1}, "state": {**_NOTHING, "lazy_load_members": True}}
    return _sync(room, {} if since is None else {"since": since})


def rooms_left(room: str) -> Ask:
    """The newest member event of one room, though we are not in it."""
    newest = {"limit": 1, "types": ["m.room.member"]}
    return _sync(
        {"include_leave": True, "rooms": [room], "timeline": newest, "state": _NOTHING}, {}
    )


def invites() -> Ask:
    """The rooms to which we are invited, and nothing of those that we are in."""
    nowhere = ["!nowhere:invalid"]  # with no room at all Synapse leaves invites out too
    return _sync({"rooms": nowhere, "timeline": {"limit": 1, **_NOTHING}, "state": _NOTHING}, {})


def _sync(room: dict[str, Any], since: dict[str, str]) -> Ask:
    content = {
        "room": {**room, "ephemeral": _NOTHING, "account_data": _NOTHING},
        "presence": {"not_types": ["*", secrets.token_hex(8)]},
        "account_data": _NOTHING,
    }
    asked = json.dumps(content, separators=(",", ":"))
    return Ask(("sync",), {"filter": asked, "set_presence": "offline", "timeout": 0, **since})
