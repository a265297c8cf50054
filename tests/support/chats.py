"""Passages of chat made by hand, for look-ups that need no homeserver."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from search.passage import Passage, Turn, passage_id

ROOM = "!room"
START = datetime(2026, 3, 1, 12, tzinfo=UTC)


def turn(name: str, minute: float, sender: str = "ada", body: str = "", edit: str = "") -> Turn:
    """A message of ``$name``, so many minutes after ``START``; it says its name by default."""
    return Turn(
        event=f"${name}",
        sender=f"@{sender}:example.org",
        at=START + timedelta(minutes=minute),
        body=body or f"says {name}",
        edit=edit,
    )


def window(turns: Sequence[Turn], *, room: str = ROOM, thread: str = "", part: int = 0) -> Passage:
    """The window that holds these turns."""
    text = "\n".join(f"{each.sender} {each.at:%H:%M}: {each.body}" for each in turns)
    bodies = tuple(each.body for each in turns)
    return Passage(
        id=passage_id("chat", room, thread, turns[0].event, part),
        corpus="chat",
        source=f"chat:{room}",
        kind="window",
        part=part,
        text=text,
        window="\n".join(bodies),
        parts=bodies,
        keywords="\n".join(bodies).lower(),
        rules="w1",
        authors=tuple(dict.fromkeys(each.sender for each in turns)),
        start=turns[0].at,
        end=turns[-1].at,
        thread=thread,
        segment=turns[0].event,
        turns=tuple(turns),
    )
