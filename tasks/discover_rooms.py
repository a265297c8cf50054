"""Which rooms a run has to read, which have to go, and the journal that says so (spec 3, 4.10)."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from search.errors import HuginnError
from search.ledger import Journal, JournalEntry, ReaderRecord, SourceRecord
from search.settings import Settings
from tasks.bootstrap import open_chat, open_store
from tasks.chat_ports import News, Standing
from tasks.domain.rooms import Refused, refused_by_name
from tasks.errors import ChatNotSet, OtherReader, SourceNotListed, WrongReader
from tasks.lease import claimed
from tasks.ports import Ledger
from tasks.room_admission import UNSURE, admitted
from tasks.room_context import ChatContext
from tasks.room_records import journal_of, purges_of, put_journal, put_reader, reader_of
from tasks.settings import is_room, run_settings
from tasks.tombstones import reapply

LEFT = ("leave", "ban")


@dataclass(slots=True)
class RoomsFound:
    """``due`` are ids of rooms to be read, ``admitted`` of all that may be.

    ``unchanged`` are sources whose freshness was noted and nothing else, ``gone`` sources to be
    removed and why, ``unavailable`` sources of which that cannot be told this time and why.
    """

    due: list[str] = field(default_factory=list)
    admitted: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    gone: dict[str, str] = field(default_factory=dict)
    unavailable: dict[str, str] = field(default_factory=dict)
    reached: str | None = None

    @property
    def nothing_to_do(self) -> bool:
        """Whether a run would write nothing but freshness."""
        return not (self.due or self.gone or self.unavailable)


def discover_rooms() -> RoomsFound:
    """Asks the homeserver once for news, and each room with news for what decides about it.

    Without ``matrix.homeserver`` there is nothing to ask; rooms that are held are then unavailable.

    Raises:
        WrongReader: the token is another user's than the settings say; nothing is changed.
        OtherReader: the collection holds another reader's rooms; nothing is changed.
    """
    settings, _ = run_settings()
    with open_chat(settings) as chat:
        return discover(chat)


def discover(chat: ChatContext) -> RoomsFound:
    """The same in a context that is open."""
    ledger, settings = chat.store.ledger, chat.settings
    records = {
        source: record for source, record in ledger.records().items() if source.startswith("chat:")
    }
    if chat.homeserver is None:
        return RoomsFound(unavailable=dict.fromkeys(records, str(ChatNotSet())))
    reapply(settings, ledger)
    chat = replace(chat, purges=tuple(purges_of(ledger)))  # those put back count in this run
    standing = chat.known_homeserver.standing()
    reader = _same_reader(chat, settings, standing)
    news = chat.known_homeserver.news(reader.since)
    found = _Discovery(chat, settings, standing, news, records, claimed(ledger)).found()
    since = news.next if found.nothing_to_do else reader.since
    put_reader(ledger, ReaderRecord(reader.identity, since, news.next))
    return found


def listed_rooms(source: str | None) -> list[str]:
    """Ids of the rooms that may be read, or of the one that ``source`` (id or alias) means.

    Raises:
        SourceNotListed: no such room is read.
    """
    settings, _ = run_settings()
    if settings.matrix.homeserver is None or (source is not None and not is_room(source)):
        if source is not None and is_room(source):
            raise SourceNotListed(source)
        return []
    found = discover_rooms()
    if source is None:
        return sorted(found.admitted)
    wanted = source.removeprefix("chat:")
    with open_store(settings) as store:
        aliases = {
            room: store.ledger.record(f"chat:{room}").alias for room in sorted(found.admitted)
        }
    rooms = [room for room, alias in aliases.items() if wanted in (room, alias)]
    if not rooms:
        raise SourceNotListed(f"chat:{wanted}")
    return rooms


def settle(reached: str) -> None:
    """Every room that there was news of at ``reached`` was done or noted as failed."""
    settings, _ = run_settings()
    with open_store(settings) as store:
        settled(store.ledger, reached)


def settled(ledger: Ledger, reached: str) -> None:
    """Notes it in the ledger."""
    put_reader(ledger, replace(reader_of(ledger), since=reached))


def _same_reader(chat: ChatContext, settings: Settings, standing: Standing) -> ReaderRecord:
    if standing.user != settings.matrix.user:
        raise WrongReader(standing.user, settings.matrix.user or "")
    reader = reader_of(chat.store.ledger)
    identity = chat.known_homeserver.identity
    if reader.identity and reader.identity != identity:
        raise OtherReader(reader.identity, identity)
    return replace(reader, identity=identity)


@dataclass(slots=True)
class _Discovery:
    chat: ChatContext
    settings: Settings
    standing: Standing
    news: News
    records: dict[str, SourceRecord]
    busy: set[str]
    entries: list[JournalEntry] = field(default_factory=list)
    result: RoomsFound = field(default_factory=RoomsFound)

    def found(self) -> RoomsFound:
        self.result.reached = self.news.next
        before = journal_of(self.chat.store.ledger)
        known = {each.room: each for each in (before.entries if before else ())}
        for room in sorted(self.standing.joined):
            with self._unavailable(f"chat:{room}"):
                self._look_at(room, known.get(room))
        for source in sorted(self.records):
            if source.removeprefix("chat:") not in self.standing.joined:
                with self._unavailable(source):
                    self._not_joined(source)
        journal = Journal(datetime.now(UTC), tuple(self.entries))
        put_journal(self.chat.store.ledger, journal)
        return self.result

    def _look_at(self, room: str, before: JournalEntry | None) -> None:
        source = f"chat:{room}"
        record = self.records.get(source)
        quiet = room not in self.news.rooms
        rules = self._rules(room)
        refused_before = before is not None and not before.admitted and before.rules == rules
        if record is None and before is not None and refused_before and (quiet or before.lasting):
            self.entries.append(before)  # nothing happened that could change that
            return
        if quiet and record is not None and self._is_current(record):
            aliases = self.chat.known_homeserver.room(room).aliases()
            refused = refused_by_name(
                room, [record.alias, *aliases], self.standing, self.chat.rules
            )
            if refused is None and source not in self.busy and self._fresh(record):
                return
        verdict = admitted(self.chat.room(room), self.standing)
        if not isinstance(verdict, Refused):
            self.entries.append(JournalEntry(room, verdict.alias, admitted=True, rules=rules))
            self.result.admitted.append(room)
            self.result.due.append(room)
            return
        alias = record.alias if record else ""
        reason = f"{verdict.code}: {verdict.reason}"
        unsure = verdict.code in UNSURE
        self.entries.append(
            JournalEntry(room, alias, admitted=False, reason=reason, rules="" if unsure else rules)
        )
        if record is not None:
            (self.result.unavailable if unsure else self.result.gone)[source] = reason

    def _rules(self, room: str) -> str:
        """What decided, as far as it can change without an event in the room."""
        marked = " m.direct" if room in self.standing.direct else ""
        return f"{self.chat.admission}{marked}"

    def _is_current(self, record: SourceRecord) -> bool:
        """Whether all that was known of the room is held, by today's rules."""
        room = record.source.removeprefix("chat:")
        pending = any(purge.room == room and not purge.applied for purge in self.chat.purges)
        return (
            record.state == "current"
            and record.room.phase is None
            and record.room.stream is not None
            and record.room.version == self.chat.version
            and record.admission == self.chat.admission
            and record.label == self.settings.matrix.labels.get(room)
            and not pending
        )

    def _fresh(self, record: SourceRecord) -> bool:
        """Notes that the room is as it was; False if another run has begun in the meantime."""
        room = record.source.removeprefix("chat:")
        now = datetime.now(UTC)
        with self.chat.store.idle(record.source) as idle:
            latest = self.chat.store.ledger.record(record.source)
            if not idle or latest.room != record.room:
                return False
            self.chat.store.ledger.put(replace(latest, last_attempt=now, last_success=now))
        self.entries.append(
            JournalEntry(room, record.alias, admitted=True, rules=self._rules(room))
        )
        self.result.admitted.append(room)
        self.result.unchanged.append(record.source)
        return True

    def _not_joined(self, source: str) -> None:
        """Left needs our own membership to say so; anything less is unavailable (spec 3.5)."""
        room = source.removeprefix("chat:")
        membership = self.chat.known_homeserver.room(room).membership()
        left = membership in LEFT
        told = membership or "not told"
        reason = f"not-joined: our own membership is {told}"
        alias = self.records[source].alias
        self.entries.append(JournalEntry(room, alias, admitted=False, reason=reason))
        (self.result.gone if left else self.result.unavailable)[source] = reason

    @contextmanager
    def _unavailable(self, source: str) -> Iterator[None]:
        """One room that cannot be looked at stops no other (spec 3.3)."""
        try:
            yield
        except HuginnError as error:
            self.entries.append(
                JournalEntry(source.removeprefix("chat:"), "", admitted=False, reason=str(error))
            )
            self.result.unavailable[source] = str(error)
