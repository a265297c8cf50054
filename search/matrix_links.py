"""Links to messages of Matrix rooms, and who vouches for their senders (spec 6.4). Pure."""

from urllib.parse import quote

_SITE = "https://matrix.to/#/"


def server_of(identity: str) -> str | None:
    """The homeserver of a room source's ``identity``, ``<base url> as <user id>``; else None."""
    user = identity.rpartition(" as ")[2]
    name, colon, server = user.partition(":")
    return server if name.startswith("@") and colon and server else None


def event_link(room: str, event: str, server: str | None) -> str:
    """The matrix.to page of an event.

    By the room's id, since an alias may move to another room. Ids of newer rooms name no server,
    so ``via`` tells one that is in the room: the reader's own.
    """
    via = f"?via={quote(server, safe='')}" if server else ""
    return f"{_SITE}{quote(room, safe='')}/{quote(event, safe='')}{via}"
