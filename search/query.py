"""What is asked, and its limits (spec 6.1, 6.6). A refusal names the field."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal, cast

from search.errors import UsageError
from search.moments import span
from search.scope import Scope, scope

MAX_TEXTS = 8
MAX_TEXT_BYTES = 1_000
MAX_TOP_K = 100
DEFAULT_TOP_K = 10
OVER_FETCH = 200
"""Hits asked of the server per text, whatever ``top_k`` is: fusion scores shift with the limit."""

Sort = Literal["score", "time"]


@dataclass(frozen=True, slots=True)
class Query:
    """A checked question. Build it with ``query``.

    ``texts`` are distinct (NFC, stripped), in the order given. ``sort`` orders the chosen hits
    only. ``half_life`` is the age at which a fused score counts half; None: age does not matter.
    """

    texts: tuple[str, ...]
    top_k: int = DEFAULT_TOP_K
    scope: Scope = Scope()
    sort: Sort = "score"
    half_life: timedelta | None = None


def query(
    texts: Sequence[str],
    *,
    top_k: int = DEFAULT_TOP_K,
    sort: str = "score",
    half_life: str | None = None,
    **filters: Any,
) -> Query:
    """The question, checked; ``filters`` are those of ``search.scope.scope``.

    Raises:
        UsageError: names the field that is off.
    """
    if not 1 <= len(texts) <= MAX_TEXTS:
        raise UsageError("texts", f"{len(texts)} given", f"Give 1 to {MAX_TEXTS} texts.")
    for number, text in enumerate(texts, start=1):
        _check_text(f"texts[{number}]", text)
    checked_limit(top_k)
    if sort not in {"score", "time"}:
        raise UsageError("sort", f"{sort!r} is unknown", "Give score or time.")
    distinct = dict.fromkeys(unicodedata.normalize("NFC", text).strip() for text in texts)
    return Query(
        texts=tuple(distinct),
        top_k=top_k,
        scope=scope(**filters),
        sort=cast("Sort", sort),
        half_life=None if half_life is None else span("recency_half_life", half_life),
    )


def checked_limit(value: int, field: str = "top_k", most: int = MAX_TOP_K) -> int:
    """``value`` if it is 1 to ``most``.

    Raises:
        UsageError: it is not; names ``field``.
    """
    if not 1 <= value <= most:
        raise UsageError(field, f"{value} is out of range", f"Give 1 to {most}.")
    return value


def _check_text(field: str, text: str) -> None:
    if not text.strip():
        raise UsageError(field, "it is blank", "Say what to look for.")
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise UsageError(field, "it is not valid Unicode", "Give UTF-8 text.") from None
    if size > MAX_TEXT_BYTES:
        raise UsageError(field, f"{size} bytes", f"Give at most {MAX_TEXT_BYTES} bytes a text.")
    if len(text.strip().splitlines()) > 1:
        raise UsageError(field, "it has several lines", "Give each text as one line.")
