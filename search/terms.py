"""What is put into the keyword index, and what is looked up there (spec 6.2).

The index holds every term of ``analyse``, and after each plain English-looking word its stem,
marked so that no term can be taken for one::

    rooms keep merge_room_state     rooms =room keep =keep merge_room_state merge =merg …

A question asks for the stem where there is one and for the whole term where there is none (ids,
versions, paths, other scripts), and leaves out the words of English grammar. Asking for stems alone
keeps the lengths that BM25 compares as they are; the whole words stay for exact matches by other
means and for themes. All chosen by measurement: docs/quality.md.
"""

import re
import threading
from functools import lru_cache
from typing import Final

import Stemmer

from search.analysis import analyse
from search.grammar import GRAMMAR

STEM_MARK: Final = "="
"""Stands before a stem. ``analyse`` takes it for a separator, so it is in no term."""

_PLAIN = re.compile(r"[a-z]{3,}")
_SEVERAL_THREADS = threading.local()  # a stemmer keeps state while it works


def indexed(text: str) -> str:
    """The terms of a text for the index, in order, each plain word followed by its stem."""
    return " ".join(
        f"{term} {_stem(term)}" if _PLAIN.fullmatch(term) else term
        for term in analyse(text).split()
    )


def asked(text: str) -> str:
    """The terms of a question; empty when it has no word. Only grammar: then all of it."""
    terms = analyse(text).split()
    telling = [term for term in terms if term not in GRAMMAR] or terms
    return " ".join(_stem(term) if _PLAIN.fullmatch(term) else term for term in telling)


@lru_cache(maxsize=20_000)
def _stem(word: str) -> str:
    stemmer = getattr(_SEVERAL_THREADS, "stemmer", None)
    if stemmer is None:
        stemmer = _SEVERAL_THREADS.stemmer = Stemmer.Stemmer("english")
    return f"{STEM_MARK}{stemmer.stemWord(word)}"
