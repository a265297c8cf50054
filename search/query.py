"""What is asked, and its limits (spec 6.1, 6.3). A refusal names the field."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from search.errors import UsageError
from search.passage import Corpus

MAX_TEXTS = 8
MAX_TEXT_BYTES = 1_000
MAX_TOP_K = 100
DEFAULT_TOP_K = 10
OVER_FETCH = 200
"""Hits asked of the server per text, whatever ``top_k`` is: fusion scores shift with the limit."""

CORPORA = ("chat", "forge")


@dataclass(frozen=True, slots=True)
class Query:
    """A checked question. Build it with ``query``.

    ``texts`` are distinct (NFC, stripped), in the order given. ``repositories`` are names; empty
    means all. ``corpus`` None means both.
    """

    texts: tuple[str, ...]
    top_k: int = DEFAULT_TOP_K
    corpus: Corpus | None = None
    repositories: tuple[str, ...] = ()


def query(
    texts: Sequence[str],
    *,
    top_k: int = DEFAULT_TOP_K,
    corpus: str | None = None,
    repositories: Sequence[str] = (),
) -> Query:
    """The question, checked.

    Raises:
        UsageError: names the field that is off.
    """
    if not 1 <= len(texts) <= MAX_TEXTS:
        raise UsageError("texts", f"{len(texts)} given", f"Give 1 to {MAX_TEXTS} texts.")
    for number, text in enumerate(texts, start=1):
        _check_text(f"texts[{number}]", text)
    if not 1 <= top_k <= MAX_TOP_K:
        raise UsageError("top_k", f"{top_k} is out of range", f"Give 1 to {MAX_TOP_K}.")
    if corpus is not None and corpus not in CORPORA:
        raise UsageError("corpus", f"{corpus!r} is unknown", "Give chat or forge.")
    if corpus == "chat" and repositories:
        raise UsageError("repo", "a repository is in no chat", "Leave out --corpus or --repo.")
    distinct = dict.fromkeys(unicodedata.normalize("NFC", text).strip() for text in texts)
    return Query(
        texts=tuple(distinct),
        top_k=top_k,
        corpus=cast("Corpus | None", corpus),
        repositories=tuple(dict.fromkeys(repositories)),
    )


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
