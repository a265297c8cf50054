"""The store's two ports without a store: a chain runs on it, and what it would hold is compared.

``verify`` lets the chains' own code derive a source's passages, and looks at what they wrote here.
Of a passage only digests, ids and times are kept, no text and no vector, in a database of SQLite's
that has no name: it grows into a file of its own that is gone with the process (spec 4.9).
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from search.collection import properties_of
from search.passage import Passage, Turn
from tasks.chat_ports import StoredWindow
from tasks.domain.batches import batched
from tasks.domain.verification import Print, print_of
from tasks.ports import StoredPassage, Vectors

_SCHEMA = """
create table passage (
    id text primary key, source text, kind text, claimed text, fingerprint text, text_print text,
    citation_print text, whole int, rules text, path text, blob text, sha text, thread text,
    segment text, first int, last int, ingested int, events text, edits text
);
create table named (name text, id text, primary key (name, id)) without rowid;
create index by_path on passage (path);
create index by_sha on passage (sha);
create index by_time on passage (thread, first);
create index by_segment on passage (thread, segment);
create index by_id on named (id);
"""
_SEEN = "id, kind, claimed, rules, path, blob, sha"
_WINDOW = "id, thread, segment, events, edits, first, last, claimed, rules, ingested"
_PRINT = "id, fingerprint, claimed, text_print, citation_print, whole"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_AT_ONCE = 500
_PAGE = 2_000


class Recording:
    """``PassageWriter`` and ``WindowIndex``.

    It knows no vectors, so that every text counts as one that was never embedded.
    """

    def __init__(self) -> None:
        """Empty; one thread's own."""
        self._db = sqlite3.connect("")
        self._db.executescript(_SCHEMA)
        self._longest = 0

    def close(self) -> None:
        """Nothing of it is left."""
        self._db.close()

    def hold(self, found: Print, properties: dict[str, Any], ingested_at: datetime) -> None:
        """Puts in a passage as it is stored; ``properties`` in the form they are written in."""
        first, last = (_number(properties.get(name)) for name in ("start", "end"))
        if first is not None and last is not None:
            self._longest = max(self._longest, last - first)
        row = (
            found.id,
            properties["source"],
            properties["kind"],
            found.claimed,
            found.fingerprint,
            found.text,
            found.citation,
            found.whole,
            *(properties[name] for name in ("rules", "path", "blob", "commit")),
            *(properties[name] for name in ("thread", "segment")),
            first,
            last,
            _number(ingested_at),
            *(json.dumps(properties[name]) for name in ("events", "edits")),
        )
        self.expunge([found.id])
        self._db.execute(f"insert into passage values ({_marks(row)})", row)  # noqa: S608  # marks only
        names = dict.fromkeys([*properties["events"], *properties["edits"]])
        self._db.executemany(
            "insert into named values (?, ?)", [(each, found.id) for each in names]
        )

    def prints(self) -> Iterator[Print]:
        """All that is held, in order of id."""
        for row in self._rows(f"select {_PRINT} from passage order by id"):  # noqa: S608
            yield Print(row[0], row[1], row[2], row[3], row[4], bool(row[5]))

    def stored(
        self,
        source: str,
        *,
        paths: Sequence[str] | None = None,
        commits: Sequence[str] | None = None,
    ) -> Iterator[StoredPassage]:
        """See ``PassageWriter``."""
        if paths is None and commits is None:
            yield from self._stored(source, "true")
        for name, values in (("path", paths), ("sha", commits)):
            for some in batched(values or (), _AT_ONCE):
                yield from self._stored(source, f"{name} in ({_marks(some)})", some)

    def vectors(self, digests: Sequence[str]) -> dict[str, Vectors]:  # noqa: ARG002
        """See ``PassageWriter``: there are none."""
        return {}

    def write(self, passages: Iterable[tuple[Passage, Vectors]]) -> set[str]:
        """See ``PassageWriter``."""
        written = set()
        for passage, _ in passages:
            properties = properties_of(passage)
            found = print_of(passage.id, properties, claimed=properties["fingerprint"])
            self.hold(found, properties, datetime.now(UTC))
            written.add(passage.id)
        return written

    def delete(self, ids: Sequence[str]) -> set[str]:
        """See ``PassageWriter``."""
        self.expunge(ids)
        return set(ids)

    def expunge(self, ids: Sequence[str]) -> None:
        """See ``PassageWriter``."""
        for table in ("named", "passage"):
            self._db.executemany(f"delete from {table} where id = ?", [(each,) for each in ids])  # noqa: S608

    def count(self, source: str) -> int:
        """See ``PassageWriter``."""
        counted = self._db.execute("select count(*) from passage where source = ?", [source])
        return int(counted.fetchone()[0])

    def holding(self, source: str, events: Sequence[str]) -> list[StoredWindow]:
        """See ``WindowIndex``."""
        found: dict[str, StoredWindow] = {}
        for some in batched(dict.fromkeys(events), _AT_ONCE):
            chosen = f"id in (select id from named where name in ({_marks(some)}))"  # noqa: S608
            found |= {each.id: each for each in self._windows(source, chosen, some)}
        return list(found.values())

    def neighbours(self, source: str, thread: str, at: datetime) -> list[StoredWindow]:
        """See ``WindowIndex``."""
        moment = _number(at)
        names: set[str] = set()
        for side in (
            "max(first) from passage where first <= ?",
            "min(first) from passage where first > ?",
        ):
            nearest = f"select {side} and source = ? and thread = ?"
            chosen = f"source = ? and thread = ? and first = ({nearest})"
            of = (source, thread)
            found = self._rows(f"select segment from passage where {chosen}", (*of, moment, *of))  # noqa: S608
            names |= {row[0] for row in found}
        return self.segments(source, thread, sorted(names))

    def segments(self, source: str, thread: str, names: Sequence[str]) -> list[StoredWindow]:
        """See ``WindowIndex``."""
        found: list[StoredWindow] = []
        for some in batched(dict.fromkeys(names), _AT_ONCE):
            chosen = f"thread = ? and segment in ({_marks(some)})"
            found += self._windows(source, chosen, [thread, *some])
        return found

    def between(
        self,
        source: str,
        thread: str | None,
        first: datetime,
        last: datetime,
    ) -> list[StoredWindow]:
        """See ``WindowIndex``; none that starts so early that it must be over is looked at."""
        low, high = _number(first), _number(last)
        assert low is not None, "a moment"  # noqa: S101  # of a moment it is never None
        chosen = "first between ? and ? and last >= ?"
        values: list[Any] = [low - self._longest, high, low]
        if thread is not None:
            chosen, values = f"thread = ? and {chosen}", [thread, *values]
        return list(self._windows(source, chosen, values))

    def windows(self, source: str) -> Iterator[StoredWindow]:
        """See ``WindowIndex``."""
        yield from self._windows(source, "true")

    def held(self, ids: Sequence[str]) -> Iterator[tuple[tuple[Turn, ...], Vectors]]:  # noqa: ARG002
        """See ``WindowIndex``: there are no vectors."""
        return iter(())

    def _stored(
        self, source: str, chosen: str, values: Sequence[str] = ()
    ) -> Iterator[StoredPassage]:
        where = f"source = ? and {chosen}"
        for row in self._rows(f"select {_SEEN} from passage where {where}", [source, *values]):  # noqa: S608
            yield StoredPassage(
                id=row[0],
                kind=row[1],
                fingerprint=row[2],
                rules=row[3],
                path=row[4],
                blob=row[5],
                commit=row[6],
            )

    def _windows(
        self, source: str, chosen: str, values: Sequence[Any] = ()
    ) -> Iterator[StoredWindow]:
        where = f"source = ? and {chosen}"
        for row in self._rows(f"select {_WINDOW} from passage where {where}", [source, *values]):  # noqa: S608
            yield StoredWindow(
                id=row[0],
                thread=row[1],
                segment=row[2],
                events=tuple(json.loads(row[3])),
                edits=tuple(json.loads(row[4])),
                start=_moment(row[5]),
                end=_moment(row[6]),
                fingerprint=row[7],
                rules=row[8],
                ingested_at=_moment(row[9]),
            )

    def _rows(self, query: str, values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """Some at a time: nothing may be written before the last was taken."""
        found = self._db.execute(query, values)
        while rows := found.fetchmany(_PAGE):
            yield from rows


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))


def _number(value: str | datetime | None) -> int | None:
    """Microseconds since 1970: exact, and in order."""
    if value is None:
        return None
    moment = datetime.fromisoformat(value) if isinstance(value, str) else value
    return (moment - _EPOCH) // timedelta(microseconds=1)


def _moment(number: int) -> datetime:
    return _EPOCH + timedelta(microseconds=number)
