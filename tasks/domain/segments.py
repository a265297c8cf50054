"""Segments: stretches of one timeline that windows never cross (spec 4.3).

A segment starts where the gap to the message before is over the limit, and at every message whose
id hashes to 0 modulo N. Both depend on a message and the one before it alone: what comes or goes
changes its own segment, and its neighbour only where a segment begins or ends::

    a b c | d e f | g h      c and d are over an hour apart; g hashes to 0
    a b c | d   f | g h      e goes: its own segment
    a b c | e f   | g h      d goes, and c to e is over an hour; else: a b c e f | g h
"""

from collections.abc import Iterable
from datetime import timedelta
from hashlib import sha256
from typing import Final

from tasks.domain.messages import Message

GAP: Final = timedelta(hours=1)
"""A longer silence ends a conversation, and half an hour often is only a meal. Decision 0001
measured 30 minutes; quiet rooms fall to windows of one message with that."""

MODULUS: Final = 32
"""One message in 32 begins a segment, so that one that changes costs about 32 to read and look at.
Retrieval loses nothing at 32 to 64, and visibly at 8 (measured on two-person chats)."""


def segments(
    messages: Iterable[Message], *, gap: timedelta = GAP, modulus: int = MODULUS
) -> list[list[Message]]:
    """The segments of one timeline's messages (each once), in order, however they are given."""
    found: list[list[Message]] = []
    for message in sorted(messages, key=lambda message: message.order):
        if not found or starts_segment(message, found[-1][-1], gap=gap, modulus=modulus):
            found.append([])
        found[-1].append(message)
    return found


def starts_segment(
    message: Message, before: Message | None, *, gap: timedelta = GAP, modulus: int = MODULUS
) -> bool:
    """Whether a segment starts at ``message``; ``before`` is the message before it, if any."""
    return before is None or message.at - before.at > gap or is_boundary(message.event, modulus)


def is_boundary(event: str, modulus: int = MODULUS) -> bool:
    """Whether a segment starts at this event whatever came before it."""
    digest = sha256(event.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8]) % modulus == 0
