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

STEM_MARK: Final = "="
"""Stands before a stem. ``analyse`` takes it for a separator, so it is in no term."""

_PLAIN = re.compile(r"[a-z]{3,}")
_SEVERAL_THREADS = threading.local()  # a stemmer keeps state while it works

# After the stop word list of the Snowball project (snowballstem.org, BSD), as ``analyse`` gives it.
_GRAMMAR = """
i me my myself we our ours ourselves you your yours yourself yourselves he him his himself she
her hers herself it its itself they them their theirs themselves what which who whom this that
these those am is are was were be been being have has had having do does did doing would should
could ought im youre hes shes theyre ive youve weve theyve id youd hed theyd ill youll theyll
isnt arent wasnt werent hasnt havent hadnt doesnt dont didnt wont wouldnt shant shouldnt cant
cannot couldnt mustnt lets thats whos whats heres theres whens wheres whys hows a an the and but
if or because as until while of at by for with about against between into through during before
after above below to from up down in out on off over under again further then once here there
when where why how all any both each few more most other some such no nor not only own same so
than too very can will just
"""
GRAMMAR: Final = frozenset(_GRAMMAR.split())
"""Words of English grammar: left out of a question that has others."""


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
