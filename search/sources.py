"""From names as people give them to the sources in question (spec 1.5, 6.3). Pure."""

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from search.errors import UsageError
from search.ledger import SourceRecord
from search.listing import RepositorySettings
from search.passage import Corpus
from search.scope import CORPORA, Scope

PREFIXES: Mapping[Corpus, str] = {"chat": "chat:", "forge": "repo:"}
_FEW = 20


@dataclass(frozen=True, slots=True)
class Source:
    """One listed source. ``record`` is None while the ledger does not know it."""

    id: str
    record: SourceRecord | None = None
    label: str | None = None

    @property
    def corpus(self) -> Corpus:
        """By its id."""
        return "chat" if self.id.startswith(PREFIXES["chat"]) else "forge"

    @property
    def place(self) -> str:
        """The repository's name or the room's id."""
        return self.id.partition(":")[2]

    @property
    def name(self) -> str:
        """What people call it: the repository's name, the room's alias, name or id."""
        if self.corpus == "forge" or self.record is None:
            return self.place
        return self.record.alias or self.record.name or self.place

    @property
    def names(self) -> tuple[str, ...]:
        """All that it may be named by."""
        record = self.record or SourceRecord(self.id)
        known = (self.place, record.alias, record.name, self.label, self.id)
        return tuple(dict.fromkeys(name for name in known if name))


@dataclass(frozen=True, slots=True)
class Asked:
    """The sources that a look-up is about, by id; ``known`` are all that there are."""

    sources: Mapping[str, Source] = field(default_factory=dict)
    known: Mapping[str, Source] = field(default_factory=dict)

    @property
    def records(self) -> dict[str, SourceRecord | None]:
        """What the ledger says of each."""
        return {source.id: source.record for source in self.sources.values()}


def listed(
    records: Mapping[str, SourceRecord],
    repositories: Iterable[RepositorySettings],
    *,
    has_list: bool,
) -> dict[str, Source]:
    """Every source that may be seen: repositories while they are listed, rooms while they are held.

    Without a list all repositories of the ledger count.
    """
    labels = {repository.source: repository.label for repository in repositories}
    held = [s for s in records if not (has_list and s.startswith(PREFIXES["forge"]))]
    wanted = [*(labels if has_list else ()), *held]
    return {
        source: Source(source, (record := records.get(source)), _label(record, labels.get(source)))
        for source in wanted
    }


def _label(record: SourceRecord | None, label: str | None) -> str | None:
    return (record.label if record else None) or label


def asked(scope: Scope, known: Mapping[str, Source]) -> Asked:
    """What of ``known`` the scope leaves; nothing when nothing of its corpus is known.

    Raises:
        UsageError: a name is unknown (the nearest known one is told), or nothing is left.
    """
    rooms = _names(known, "chat")
    repositories = _names(known, "forge")
    places = _names(known) | {each: ids_of(known, each) for each in CORPORA}
    named = _ids("room", scope.rooms, rooms) | _ids("repo", scope.repositories, repositories)
    narrowed = _ids("sources", scope.sources, places)
    chosen = {
        source.id: source
        for source in known.values()
        if scope.corpus in {None, source.corpus}
        and (source.id in named or not named)
        and (source.id in narrowed or not scope.sources)
    }
    if not chosen and (named or narrowed):
        raise UsageError(
            "sources", "they leave nothing of what the other filters name", "Leave one out."
        )
    return Asked(chosen, known)


def ids_of(known: Mapping[str, Source], corpus: Corpus) -> frozenset[str]:
    """The ids of one corpus's sources."""
    return frozenset(source.id for source in known.values() if source.corpus == corpus)


def _names(known: Mapping[str, Source], corpus: Corpus | None = None) -> dict[str, frozenset[str]]:
    """Source ids by each name that means them: a label may mean several."""
    names: dict[str, frozenset[str]] = {}
    for source in known.values():
        for name in source.names if corpus in {None, source.corpus} else ():
            names[name] = names.get(name, frozenset()) | {source.id}
    return names


def _ids(field: str, tokens: Iterable[str], names: Mapping[str, frozenset[str]]) -> set[str]:
    what = {"room": "room", "repo": "repository"}.get(field, "source")
    short = [name for name in names if not name.startswith(tuple(PREFIXES.values()))]
    found: set[str] = set()
    for token in tokens:
        if token not in names:
            near = difflib.get_close_matches(token, names, n=1)
            shown = ", ".join(short[:_FEW]) or "none"
            fix = f"Did you mean {near[0]!r}?" if near else f"Known: {shown}."
            raise UsageError(field, f"{token!r} is no known {what}", fix)
        found |= names[token]
    return found
