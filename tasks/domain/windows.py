"""Windows: a segment's messages packed by size, and the passages made of them (spec 4.3, 4.4).

Packing is greedy from the segment's first message on, so what is appended changes the last window
alone. (Evener windows would change all of a segment's windows with each message.) Nothing is
stored twice: each message is in one window, or its pieces in several that follow each other.

A message of which scrubbing left nothing but markers keeps its place among the turns (a segment
that is read again must find it), but says nothing: it is in neither the window's embedded text nor
its keywords, and its own vector is that of ``NOTHING`` (E05).
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from semantic_text_splitter import TextSplitter

from search.passage import Passage, Turn, passage_id
from search.terms import indexed
from tasks.domain.messages import Message
from tasks.domain.scrub import MARKER

WINDOW_RULES: Final = 1
"""Raise it when messages, bodies, segments, windows or puppets make other passages of the same
events: every room is then read again (spec 2.1)."""

MAX_BYTES: Final = 1_000
"""UTF-8 bytes of bodies in a window."""

NOTHING: Final = " ".join(["∅"] * 40)
"""What is embedded where there is nothing to say; every vector must be filled (decision 0001).

Far from whatever people ask: at best 24th of 1,500 single messages over 130 questions and words,
where a lone sign or marker came first for the shortest of them.
"""

_LONGEST_NAME = 40  # characters of a speaker in what is embedded, so that words fit beside it
_LOOK_AHEAD = 4  # times max_bytes: how much of a long body the splitter sees at once

CountTokens = Callable[[str], int]


def windows(
    segment: Sequence[Message],
    *,
    count_tokens: CountTokens,
    token_limit: int,
    max_bytes: int = MAX_BYTES,
) -> list[tuple[Turn, ...]]:
    """The segment's turns in windows of at most ``max_bytes`` of bodies and ``token_limit`` tokens.

    ``count_tokens`` counts a text as the embedder sees it, special tokens included; it is asked of
    the whole embedded form. A message that does not fit alone is cut at paragraphs, sentences or
    words, in this order; its pieces together are its text, but for pieces of white space alone.
    A window holds at most one piece of a message.
    """

    def fits(turns: Sequence[Turn]) -> bool:
        if sum(len(turn.body.encode()) for turn in turns) > max_bytes:
            return False
        embedded = embedded_form(turns)
        return embedded == NOTHING or count_tokens(embedded) <= token_limit

    packed: list[list[Turn]] = []
    for message in segment:
        for turn in _turns(message, fits, count_tokens, token_limit, max_bytes):
            held = packed[-1] if packed else []
            if held and held[-1].event != turn.event and fits([*held, turn]):
                held.append(turn)
            else:
                packed.append([turn])
    return [tuple(turns) for turns in packed]


def chat_passages(
    room: str, thread: str, segment_windows: Sequence[Sequence[Turn]], *, rules: str
) -> list[Passage]:
    """The passages of one segment's windows; ``thread`` is the root's id, "" in the main timeline.

    A passage's key is its first event; ``part`` numbers the windows that begin with the same one:
    the pieces of a long message.
    """
    parts: Counter[str] = Counter()
    passages = []
    for turns in segment_windows:
        first = turns[0].event
        embedded = embedded_form(turns)
        passages.append(
            Passage(
                id=passage_id("chat", room, thread, first, parts[first]),
                corpus="chat",
                source=f"chat:{room}",
                kind="window",
                part=parts[first],
                text="\n".join(map(_shown, turns)),
                window=embedded,
                parts=tuple(embedded_form([turn]) for turn in turns),
                keywords="" if embedded == NOTHING else indexed(embedded),
                rules=rules,
                authors=tuple(dict.fromkeys(turn.sender for turn in turns)),
                start=turns[0].at,
                end=turns[-1].at,
                thread=thread,
                segment=segment_windows[0][0].event,
                turns=tuple(turns),
            )
        )
        parts[first] += 1
    return passages


def embedded_form(turns: Sequence[Turn]) -> str:
    """What is embedded of these turns: a line ``localpart: body`` each (decision 0001)."""
    lines = [f"{_name(turn.sender)}: {turn.body}" for turn in turns if not says_nothing(turn.body)]
    return "\n".join(lines) or NOTHING


def says_nothing(body: str) -> bool:
    """Whether nothing but markers is left of a scrubbed body: no letter, no digit."""
    rest = MARKER.sub("", body)
    return rest != body and not any(map(str.isalnum, rest))


def _shown(turn: Turn) -> str:
    return f"{turn.sender} {turn.at:%Y-%m-%d %H:%M} UTC: {turn.body}"


def _name(sender: str) -> str:
    return sender.removeprefix("@").partition(":")[0][:_LONGEST_NAME]


def _turns(
    message: Message,
    fits: Callable[[Sequence[Turn]], bool],
    count_tokens: CountTokens,
    token_limit: int,
    max_bytes: int,
) -> Iterator[Turn]:
    def turn(body: str) -> Turn:
        return Turn(
            event=message.event,
            sender=message.sender,
            at=message.at,
            body=body,
            edit=message.edit,
            reply_to=message.reply_to,
        )

    whole = turn(message.body)
    if fits([whole]):
        yield whole
        return
    always = min(token_limit - count_tokens(f"{_name(message.sender)}: "), max_bytes)
    ahead = _LOOK_AHEAD * max_bytes
    for piece in _pieces(message.body, lambda text: fits([turn(text)]), always, ahead):
        if piece.strip():
            yield turn(piece)


def _pieces(text: str, fits: Callable[[str], bool], always: int, ahead: int) -> Iterator[str]:
    """The text in pieces that fit.

    The splitter sees ``ahead`` characters at a time, because its cost grows with what it has yet to
    cut. It takes for granted that a text of no more bytes than its capacity fits, so that is what
    ``always`` bytes do (no byte is two tokens), and a size says only whether a text fits.
    """
    splitter = TextSplitter.from_callback(
        lambda piece: 1 if fits(piece) else always + 1, max(1, always), trim=False
    )
    start = 0
    while start < len(text):
        part = text[start : start + ahead]
        pieces = splitter.chunks(part)
        if start + len(part) < len(text):
            pieces = pieces[:-1]  # cut again together with what follows it
        for piece in pieces:
            yield piece
            start += len(piece)
