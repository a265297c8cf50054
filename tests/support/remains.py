"""Where words may be left after what said them is gone: the store by its API, and files by bytes.

Words that a test makes up begin with ``GONE`` or ``KEPT``, so that one pass over a file finds all.
"""

import json
import mmap
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from search.collection import ledger_name
from search.connection import connect
from search.reader import Reader
from search.settings import Settings
from tests.support.community import Community

GONE, KEPT = "zorqa", "velka"
"""How a word begins that must go, and one that must stay."""

_SYLLABLES = [consonant + vowel for consonant in "bdfgklmnprst" for vowel in "aeiou"]
_WORD = re.compile(rf"(?:{GONE}|{KEPT})[a-z]{{6}}", re.IGNORECASE)
_BYTES = re.compile(_WORD.pattern.encode(), re.IGNORECASE)


def made_up(stem: str, number: int) -> str:
    """A word that nothing else says, for a number below 216,000; it looks like no secret."""
    syllables = [
        _SYLLABLES[number // len(_SYLLABLES) ** place % len(_SYLLABLES)] for place in range(3)
    ]
    return stem + "".join(syllables)


def words_in(text: str) -> set[str]:
    """The made-up words in a text."""
    return {found.lower() for found in _WORD.findall(text)}


def words_in_files(folder: Path) -> dict[str, set[str]]:
    """The made-up words in each file below ``folder``, byte for byte; files without one left out.

    A file that goes away meanwhile, as a store's do, holds none.
    """
    found = {}
    for path in sorted(folder.rglob("*")):
        try:
            words = _words_in_file(path)
        except FileNotFoundError:
            continue
        if words:
            found[str(path.relative_to(folder))] = words
    return found


def all_bytes_in(folder: Path) -> bytes:
    """What the files below ``folder`` hold, end to end; one that goes meanwhile holds nothing."""
    found = []
    for path in sorted(folder.rglob("*")):
        with suppress(FileNotFoundError):
            found.append(path.read_bytes() if path.is_file() else b"")
    return b"".join(found)


def _words_in_file(path: Path) -> set[str]:
    if path.is_symlink() or not path.is_file() or not path.stat().st_size:
        return set()
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return {found[0].decode().lower() for found in _BYTES.finditer(data)}


def objects(community: Community) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every object of the passages' and of the ledger's collection, vectors and all.

    As (``passages`` or ``ledger``, properties with ``vectors``).
    """
    with community.configured() as settings, connect(settings, "reader") as client:
        passages = Reader(client, community.collection).resolve().name
        for kind, name in (("passages", passages), ("ledger", ledger_name(community.collection))):
            for item in client.collections.get(name).iterator(include_vector=True):
                yield kind, {**item.properties, "vectors": item.vector}


def as_text(facts: dict[str, Any]) -> str:
    """All of an object's properties, for a search through it."""
    plain = {name: value for name, value in facts.items() if name != "vectors"}
    return json.dumps(plain, default=str, ensure_ascii=False)


def words_by_kind(community: Community) -> dict[str, set[str]]:
    """The made-up words in any property of passages, and of the ledger."""
    found: dict[str, set[str]] = {"passages": set(), "ledger": set()}
    for kind, facts in objects(community):
        found[kind] |= words_in(as_text(facts))
    return found


def found_by_keyword(community: Community, words: set[str]) -> set[str]:
    """Those of the words for which Weaviate's own keyword search gives any passage."""
    with community.configured() as settings, connect(settings, "reader") as client:
        name = Reader(client, community.collection).resolve().name
        query = client.collections.get(name).query
        return {
            word
            for word in words
            if query.bm25(word, query_properties=["keywords"], limit=1).objects
        }


def sizes_of(folder: Path) -> Counter[str]:
    """Bytes below a folder by the kind of file."""
    sizes: Counter[str] = Counter()
    for path in folder.rglob("*"):
        try:
            sizes[path.suffix or path.name] += path.stat().st_size if path.is_file() else 0
        except FileNotFoundError:
            continue
    return sizes


def data_folder(settings: Settings) -> Path:
    """Where the embedded Weaviate keeps its own files."""
    return settings.data_dir / "weaviate" / "data"
