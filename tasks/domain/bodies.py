r"""The text of a message: what is stored of an ``m.room.message`` content (spec 4.1).

The body is the text. It is taken as it is, but for this: ``\r\n`` and ``\r`` become ``\n``; NUL and
lone surrogates become U+FFFD (some libraries end a text at the one and cannot encode the other);
other control characters stay and are the business of whoever shows the text.

By message type:

- ``m.text`` and ``m.notice``: the body.
- ``m.emote``: the body behind ``* ``. The sender is shown beside the text anyway.
- ``m.image``, ``m.video``, ``m.audio``, ``m.file``: the body if there is a ``filename`` that
  differs from it: then it is a caption. A file name alone is no text.
- ``m.location`` and whatever else: no text.

A reply's fallback, the quote of what it answers, is taken off the body only if the event says that
it is a reply and the body begins with a line like ``> <@user:example.org> words``: the lines that
begin with ``>`` from there on, and one empty line. Quotes further down are the sender's own (M31).

Link targets that only ``formatted_body`` holds follow the body, one a line (M34). Taken are
``http``, ``https``, ``ftp``, ``mailto``, ``magnet`` and ``matrix`` links outside of ``mx-reply``
(M33), but not the links to users that clients make of every mention.

Everything takes one pass over the content.
"""

import re
from collections.abc import Iterator, Mapping
from html import unescape
from typing import Any, Final
from urllib.parse import unquote

from search.errors import PermanentError

SPOKEN: Final = frozenset({"m.text", "m.notice", "m.emote"})
MEDIA: Final = frozenset({"m.image", "m.video", "m.audio", "m.file"})
MESSAGE_TYPES: Final = SPOKEN | MEDIA | {"m.location"}
"""The types that have a rule; any other is unknown."""

_LONGEST_LINK = 2_000  # characters: longer ones are no addresses that somebody would look for
_EMOTE = "* "
_LINE_END = re.compile(r"\r\n?")
_UNFIT = re.compile(r"[\0\ud800-\udfff]")
_QUOTED_SENDER = re.compile(r"> (?:\* )?<@[^\s>]+>(?:\s|$)")
_SCHEME = re.compile(r"(?:https?|ftp|mailto|magnet|matrix):", re.IGNORECASE)
_MENTION = re.compile(r"https?://matrix\.to/#/@|matrix:u(?:ser)?/", re.IGNORECASE)
_TAG = re.compile(r"<(?:(!--)|(/?)([a-z][^\s/>]*))", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"[\s/]*([^\s/>=]+)(?:\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+)))?")
_TAG_END = re.compile(r"[^>]*>")


class MalformedContent(PermanentError):
    """A content whose shape breaks the specification. The message names the field."""


def text_of(content: Mapping[str, Any], *, is_reply: bool | None = None) -> str | None:
    """The text of a message's content, None when it has none to store.

    ``is_reply`` says whether the event answers another, for a content that does not say so itself
    (``m.new_content``); by default the content's own relation tells.

    Raises:
        MalformedContent: ``msgtype`` or ``body`` is no string.
    """
    kind, body = content.get("msgtype"), content.get("body")
    if not isinstance(kind, str) or not isinstance(body, str):
        raise MalformedContent("A message needs `msgtype` and `body`, both strings: skip it.")
    if kind not in SPOKEN and not (kind in MEDIA and _is_caption(content)):
        return None
    body = clean(body)
    if answers(content) if is_reply is None else is_reply:
        body = _without_fallback(body)
    if is_blank(body):
        body = ""
    elif kind == "m.emote":
        body = _EMOTE + body
    formatted = content.get("formatted_body")
    links = _missing_links(formatted, body) if isinstance(formatted, str) else ()
    return "\n".join([body, *links] if body else links) or None


def clean(text: str) -> str:
    r"""The text with line ends as ``\n`` and without what cannot be stored."""
    return _UNFIT.sub("\N{REPLACEMENT CHARACTER}", _LINE_END.sub("\n", text))


def is_blank(text: str) -> bool:
    """Whether the text shows nothing: white space, control and format characters only."""
    return not any(char.isprintable() and not char.isspace() for char in text)


def answers(content: Mapping[str, Any]) -> bool:
    """Whether the content has an ``m.in_reply_to``, be it only a thread's fallback."""
    relation = content.get("m.relates_to")
    return isinstance(relation, Mapping) and isinstance(relation.get("m.in_reply_to"), Mapping)


def _is_caption(content: Mapping[str, Any]) -> bool:
    filename = content.get("filename")
    return isinstance(filename, str) and filename != content["body"]


def _without_fallback(body: str) -> str:
    if not _QUOTED_SENDER.match(body):
        return body
    lines = body.split("\n")
    answer = next((n for n, line in enumerate(lines) if not line.startswith(">")), len(lines))
    if answer < len(lines) and not lines[answer].strip():
        answer += 1
    return "\n".join(lines[answer:])


def _missing_links(html: str, body: str) -> list[str]:
    missing = []
    for target in dict.fromkeys(clean(target).strip() for target in _link_targets(html)):
        shown = {target, unquote(target), target.rstrip("/"), target.partition("mailto:")[2]} - {""}
        link = _SCHEME.match(target) and not _MENTION.match(unquote(target))
        if link and not any(form in body for form in shown):
            missing.append(target)
    return missing


def _link_targets(html: str) -> Iterator[str]:
    """The targets of ``<a href>`` outside of ``<mx-reply>``, in order.

    Like a browser's tokenizer it never goes back, whatever is left open.
    """
    quotes = place = 0
    while tag := _TAG.search(html, place):
        comment, closing, name = tag[1], tag[2], (tag[3] or "").lower()
        if comment:
            end = html.find("-->", tag.end())
            if end < 0:
                return
            place = end
            continue
        targets, place = _attributes(html, tag.end())
        if place < 0:
            return
        if name == "mx-reply":
            quotes = max(0, quotes - 1) if closing else quotes + 1
        elif name == "a" and not closing and not quotes:
            yield from targets


def _attributes(html: str, place: int) -> tuple[list[str], int]:
    """The values of ``href`` (the first counts) in a tag, and where it ends; -1: it does not."""
    targets: list[str] = []
    while attribute := _ATTRIBUTE.match(html, place):
        name, *values = attribute.groups(default="")
        if (
            name.lower() == "href"
            and not targets
            and len(value := "".join(values)) <= _LONGEST_LINK
        ):
            targets.append(unescape(value))
        place = attribute.end()
    end = _TAG_END.match(html, place)
    return targets, end.end() if end else -1
