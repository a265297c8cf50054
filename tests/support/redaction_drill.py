"""A room in which each message says a word of its own, and in which some are redacted.

Some of those are edited before, some stand in threads, one is a thread's root, and some are quoted
by the fallback of a reply, which repeats their words in another's message.
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from search.collection import PARTS_VECTOR, WINDOW_VECTOR, turns_of
from search.embedding import Embedder
from tasks.domain.windows import embedded_form
from tests.support.community import Community
from tests.support.remains import GONE, KEPT, made_up, objects
from tests.support.synapse_community import Content, People

START = datetime(2025, 1, 6, 8, tzinfo=UTC)
SPEAKERS = ("ada", "bob", "cyd")
TALK = (
    "is what the gardener calls the new kind of bean.",
    "goes into the soup after the onions, never before.",
    "stands on the second shelf, behind the old atlas.",
    "was the name of the ferry that took us over.",
    "needs a longer ladder than the one in the shed.",
    "keeps the rain out if you fold it twice.",
    "has three strings and sounds like a kettle.",
)
BLOCK = 6
ROOT, PLAIN, EDITED, IN_THREAD, EDITED_IN_THREAD, REPLY = range(BLOCK)
IDENTICAL = 0.9999
"""Cosine from which two vectors count as of the same text."""


@dataclass
class Drill:
    """``say`` sends ``messages`` in blocks, one of each block to be redacted by ``redact``.

    ``gone`` are the words that must be nowhere after the next run, ``kept`` those that must be
    held; ``texts`` are what was redacted, as ``sender: body``.
    """

    people: People
    reader: str
    messages: int
    redactions: int
    room: str = ""
    gone: set[str] = field(default_factory=set)
    kept: set[str] = field(default_factory=set)
    texts: list[str] = field(default_factory=list)
    targets: dict[str, str] = field(default_factory=dict)
    _made: int = 0

    def say(self) -> None:
        """Sends all of it; what is edited, is edited at once."""
        self.room = self.people.room("ada", "bob", "cyd", self.reader)
        size = self.messages // self.redactions
        if size < BLOCK:
            raise ValueError(f"{self.messages} messages are too few for {self.redactions} blocks")
        for block in range(self.redactions):
            doomed = (PLAIN, EDITED, IN_THREAD, EDITED_IN_THREAD, ROOT)[block % 5]
            events: list[str] = []
            words: list[str] = []
            for place in range(size):
                event, word = self._one(block * size + place, place, doomed, events, words)
                events.append(event)
                words.append(word)

    def redact(self) -> None:
        """Redacts one message of each block, by its sender or by who may redact all."""
        for number, (event, sender) in enumerate(self.targets.items()):
            self.people.redact(self.room, sender if number % 2 else "ada", event)

    def _one(
        self, number: int, place: int, doomed: int, events: list[str], words: list[str]
    ) -> tuple[str, str]:
        sender = SPEAKERS[number % len(SPEAKERS)]
        at = START + timedelta(minutes=2 * number, hours=3 * (number // 25))
        is_doomed = place == doomed
        is_edited = place in (EDITED, EDITED_IN_THREAD)
        body, word = self._body(number, sender, gone=is_doomed or is_edited, redacted=is_doomed)
        content: Content | str = body
        if place == REPLY:
            content = self._reply(body, events[PLAIN], words[PLAIN])
        if place in (IN_THREAD, EDITED_IN_THREAD):
            event = self.people.reply(self.room, sender, events[ROOT], content, at)
        else:
            event = self.people.send(self.room, sender, content, at)
        if is_edited:
            for turn in range(2):
                last = turn == 1
                body, _ = self._body(
                    number + turn, sender, gone=is_doomed or not last, redacted=is_doomed
                )
                self.people.edit(self.room, sender, event, body, at + timedelta(minutes=1 + turn))
        if is_doomed:
            self.targets[event] = sender
        return event, word

    def _body(self, number: int, sender: str, *, gone: bool, redacted: bool) -> tuple[str, str]:
        word = made_up(GONE if gone else KEPT, self._made)
        self._made += 1
        (self.gone if gone else self.kept).add(word)
        body = f"{word} {TALK[number % len(TALK)]}"
        if redacted:
            self.texts.append(f"{sender}: {body}")
        return body, word

    def _reply(self, body: str, answered: str, word: str) -> Content:
        quoted = f"{word} was said here."
        return {
            "msgtype": "m.text",
            "body": f"> <{self.people.mxid('bob')}> {quoted}\n\n{body}",
            "format": "org.matrix.custom.html",
            "formatted_body": f"<mx-reply><blockquote>{quoted}</blockquote></mx-reply>{body}",
            "m.relates_to": {"m.in_reply_to": {"event_id": answered}},
        }


@dataclass(frozen=True, slots=True)
class Owners:
    """Of what the stored vectors are: what does not fit, and how near a redacted text comes."""

    windows: int
    parts: int
    misfits: list[str]
    nearest: float


def owners(community: Community, embedder: Embedder, texts: list[str]) -> Owners:
    """Compares the stored vectors of all windows with ``texts``, and their counts with the turns.

    A window has as many part vectors as it has turns, each of its own turn's text; the first of
    the vectors of every 20th window are made anew and compared.
    """
    misfits: list[str] = []
    vectors: list[Any] = []
    windows = parts = 0
    for kind, facts in objects(community):
        if kind != "passages":
            continue
        turns = turns_of(facts)
        owned = facts["vectors"][PARTS_VECTOR]
        if len(owned) != len(turns):
            misfits.append(f"{len(owned)} part vectors for {len(turns)} turns")
        if windows % 20 == 0:
            made = embedder.embed([embedded_form(turns), embedded_form(turns[:1])], "document")
            for stored, anew in zip((facts["vectors"][WINDOW_VECTOR], owned[0]), made, strict=True):
                if _cosines(np.array([stored]), np.array([anew])).min() < IDENTICAL:
                    misfits.append("a vector is of another text than its turns'")
        windows, parts = windows + 1, parts + len(owned)
        vectors += [facts["vectors"][WINDOW_VECTOR], *owned]
    asked = np.array([list(each) for each in embedder.embed(texts, "document")])
    return Owners(windows, parts, misfits, float(_cosines(np.array(vectors), asked).max()))


def _cosines(some: "np.ndarray[Any, Any]", others: "np.ndarray[Any, Any]") -> Any:
    unit = [each / np.linalg.norm(each, axis=1, keepdims=True) for each in (some, others)]
    return unit[0] @ unit[1].T
