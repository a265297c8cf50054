"""Rooms over fakes: one community, one store, and what a run of tasks does with them."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

from search.collection import properties_of, turns_of
from search.embedding import Embedder
from search.errors import HuginnError
from search.ledger import RoomCursor, SourceRecord
from search.matrix_listing import MatrixSettings
from search.settings import Settings
from tasks import rooms
from tasks.chat_ports import Homeserver, WindowIndex
from tasks.commit import commit, mark_failed, mark_unavailable
from tasks.context import Store
from tasks.discover_rooms import RoomsFound, discover, settled
from tasks.domain.acknowledgement import Acknowledgement
from tasks.domain.puppets import Puppets
from tasks.domain.purges import Purge
from tasks.domain.rooms import RoomRules
from tasks.domain.segments import is_boundary
from tasks.errors import RoomRefused
from tasks.ports import Ledger, PassageWriter
from tasks.removal import remove
from tasks.room_context import ChatContext, RoomContext
from tasks.room_records import note_refused, purges_of, put_purge
from tests.support.fake_community import FakeCommunity, FakeRoom
from tests.support.fake_homeserver import FakeHomeserver
from tests.support.fake_windows import FakeWindowIndex
from tests.support.fakes import FakeEmbedder, FakeLedger, FakePassageWriter, FakeScrubber

READER = "reader"
START = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)


def at(minutes: float) -> datetime:
    """So many minutes after the start."""
    return START + timedelta(minutes=minutes)


class Boundaries(FakeCommunity):
    """A community where segments begin often: one event in ``modulus`` is a boundary.

    With 0 none is, except those made while ``next_is_boundary`` is set.
    """

    def __init__(self, modulus: int = 0) -> None:
        super().__init__()
        self.modulus = modulus
        self.next_is_boundary = False

    def _id(self, sigil: str) -> str:
        made = super()._id(sigil)
        wanted = self.next_is_boundary or bool(
            self.modulus and hashlib.sha256(made.encode()).digest()[9] % self.modulus == 0
        )
        while is_boundary(made) != wanted:
            made = super()._id(sigil)
        return made


class Crash(BaseException):
    """The process dies here: nothing catches it."""


@dataclass
class Fuse:
    """Counts the calls of all ports; blows at the ``left``-th, before or after it had effect."""

    left: int | None = None
    after: bool = False
    calls: int = 0

    def call(self, do: Callable[..., Any], *args: Any, **options: Any) -> Any:
        self.calls += 1
        if self.left is None:
            return do(*args, **options)
        self.left -= 1
        if self.left > 0:
            return do(*args, **options)
        self.left = None
        if self.after:
            do(*args, **options)
        raise Crash

    def on(self, port: object) -> Any:
        """The port, its methods counted."""
        return _Fused(self, port)


class _Fused:
    def __init__(self, fuse: Fuse, port: object) -> None:
        self._fuse, self._port = fuse, port

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._port, name)
        if not callable(found):
            return found
        if name == "room":
            return lambda *args: self._fuse.on(found(*args))
        if name == "write":
            return lambda passages: self._fuse.call(self._write, [*passages])
        return lambda *args, **options: self._fuse.call(found, *args, **options)

    def _write(self, passages: Sequence[Any]) -> Any:
        """A batch is not written at once: a crash falls between any two passages."""
        done: set[str] = set()
        for each in passages:
            done |= self._fuse.call(cast("PassageWriter", self._port).write, [each])
        return done


class RoomWork:
    """The reader's rooms, a store, and runs over them as the flow ``refresh`` does them.

    ``options`` are settings of ``[matrix]``. Everything of the store can be replaced by the real
    thing; ``fuse`` makes any call of any port the last.
    """

    def __init__(
        self,
        community: FakeCommunity | None = None,
        *,
        page_events: int = 7,
        version: str = "v1",
        secrets: Mapping[str, str] | None = None,
        folder: Path = Path("/none"),
        **options: Any,
    ) -> None:
        self.community = community or Boundaries()
        self.homeserver = FakeHomeserver(self.community, READER, page_events)
        self.writer = FakePassageWriter()
        self.ledger = FakeLedger()
        self.embedder = FakeEmbedder()
        self.scrubber = FakeScrubber(secrets or {})
        self.version = version
        self.folder = folder
        self.options = options
        self.fuse = Fuse()
        self.clock: datetime | None = None
        """What this machine's clock says; it ticks by itself while None."""

        self.writer.now = lambda: self.clock or datetime.now(UTC)
        self.index: WindowIndex = FakeWindowIndex(self.writer)

    @property
    def chat(self) -> ChatContext:
        """A context as a task opens it: what it knows of purges is of this moment."""
        settings = Settings(
            data_dir=self.folder,
            cache_dir=self.folder,
            matrix=MatrixSettings(
                homeserver="https://fake.test",
                user=self.options.get("user", self.community.mxid(READER)),
                **{key: value for key, value in self.options.items() if key != "user"},
            ),
        )
        matrix = settings.matrix
        store = Store(
            cast("PassageWriter", self.fuse.on(self.writer)),
            cast("Ledger", self.fuse.on(self.ledger)),
        )
        return ChatContext(
            settings=settings,
            store=store,
            index=cast("WindowIndex", self.fuse.on(self.index)),
            homeserver=cast("Homeserver", self.fuse.on(self.homeserver)),
            embedder=cast("Embedder", self.embedder),
            scrubber=self.scrubber,
            rules=RoomRules(
                matrix.excluded, matrix.direct, matrix.formerly_bridged, Puppets(matrix.puppets)
            ),
            purges=tuple(purges_of(self.ledger)),
            version=self.version,
            admission=repr((matrix.excluded, matrix.direct, matrix.formerly_bridged)),
        )

    def context(self, room: str) -> RoomContext:
        return self.chat.room(room)

    def room(self, *members: str, **options: Any) -> str:
        """Ada's room with Bob, the reader and others in it."""
        return self.community.room("ada", "bob", READER, *members, **options)

    def purge(self, purge: Purge) -> Purge:
        put_purge(self.ledger, purge)
        return purge

    def discover(self) -> RoomsFound:
        return discover(self.chat)

    def begin(self, room: str, *, from_start: bool = False) -> None:
        rooms.begin(self.context(room), from_start=from_start)

    def upsert(self, room: str, *, allow_mass_delete: bool = False) -> Acknowledgement:
        return rooms.upsert(self.context(room), allow_mass_delete=allow_mass_delete)

    def commit(self, acknowledgement: Acknowledgement) -> None:
        commit(self.chat.store, acknowledgement)

    def step(self, room: str, *, allow_mass_delete: bool = False) -> bool:
        """Whether the room is caught up after it."""
        acknowledgement = self.upsert(room, allow_mass_delete=allow_mass_delete)
        self.commit(acknowledgement)
        return acknowledgement.finished

    def finish(self, room: str, *, allow_mass_delete: bool = False) -> int:
        """The steps that are left of a run that has begun; how many they were."""
        steps = 1
        while not self.step(room, allow_mass_delete=allow_mass_delete):
            steps += 1
            assert steps < 10_000, "a run goes round in circles"
        return steps

    def read(self, room: str, *, from_start: bool = False, **options: bool) -> None:
        """A whole chain of one room, as ``flows.room``."""
        source = f"chat:{room}"
        try:
            self.begin(room, from_start=from_start)
            self.finish(room, **options)
        except RoomRefused as refused:
            chat = self.chat
            remove(chat.store, source)
            note_refused(
                chat.store.ledger, room, refused.reason, chat.admission, lasting=refused.lasting
            )
        except HuginnError as error:
            mark_failed(self.chat.store, source, str(error))
            raise

    def refresh(self, *, patient: bool = False, **options: bool) -> RoomsFound:
        """A whole run, as ``flows.refresh``. ``patient`` goes on when a room fails."""
        found = self.discover()
        for room in found.due:
            try:
                self.read(room, **options)
            except HuginnError:
                if not patient:
                    raise
        for source in found.gone:
            remove(self.chat.store, source)
        mark_unavailable(self.chat.store, found.unavailable)
        if found.reached is not None:
            settled(self.chat.store.ledger, found.reached)
        return found

    def record(self, room: str) -> SourceRecord:
        return self.ledger.record(f"chat:{room}")

    def cursor(self, room: str) -> RoomCursor:
        return self.record(room).room

    def held(self, room: str | None = None) -> dict[str, dict[str, Any]]:
        """The properties of all that is stored, or of one room's, by id."""
        return {
            each.id: properties_of(each)
            for each, _ in self.writer.held.values()
            if room in (None, each.source.removeprefix("chat:"))
        }

    def stored(self, room: str | None = None) -> dict[str, str]:
        """All that is stored but the time of ingestion, by id, as fingerprints."""
        return {key: each["fingerprint"] for key, each in self.held(room).items()}

    def texts(self) -> dict[str, str]:
        """The same as one can read it, by id."""
        return {key: f"{each['segment']}: {each['text']}" for key, each in self.held().items()}

    def bodies(self, room: str | None = None) -> list[str]:
        """What is held of messages, in the order of threads and time; pieces are put together."""
        found: dict[tuple[Any, ...], dict[int, str]] = {}
        for each in self.held(room).values():
            for turn in turns_of(each):
                key = each["source"], each["thread"], turn.at, turn.event
                assert each["part"] not in found.setdefault(key, {})
                found[key][each["part"]] = turn.body
        return [
            "".join(pieces[part] for part in sorted(pieces)) for _, pieces in sorted(found.items())
        ]

    def words(self) -> str:
        """Everything that the store, ledger included, has written down."""
        return "\n".join([repr(self.held()), *self.written_down()])

    def written_down(self) -> list[str]:
        """What the ledger holds."""
        return [*self.ledger.payloads.values(), *self.ledger.kept.values()]

    def clean(self) -> "RoomWork":
        """What one run over the same rooms into an empty store leaves."""
        other = RoomWork(
            self.community,
            version=self.version,
            secrets=self.scrubber.secrets,
            page_events=50,
            **self.options,
        )
        for purge in purges_of(self.ledger):
            other.purge(replace(purge, applied=""))
        other.refresh(patient=True)
        return other


def expected(work: RoomWork, room: str) -> list[str]:
    """What should be held of a room's messages by the facts alone: no window, cursor or page."""
    return [body for *_, body in sorted(_said(work, work.community.rooms[room]))]


def _said(work: RoomWork, room: FakeRoom) -> Iterator[tuple[Any, ...]]:
    purges = [each for each in purges_of(work.ledger) if each.room == room.id]
    events = {placed.event["event_id"]: placed.event for placed in room.placed}
    edits: dict[str, list[tuple[int, str]]] = {}
    for event in events.values():
        relation = event["content"].get("m.relates_to", {})
        original = events.get(relation.get("event_id", ""), {})
        if relation.get("rel_type") == "m.replace" and original.get("sender") == event["sender"]:
            key = event["origin_server_ts"], event["event_id"]
            edits.setdefault(original["event_id"], []).append(key)
    for placed in work.homeserver.visible(room):
        event, content = placed.event, placed.event["content"]
        relation = content.get("m.relates_to", {})
        if event["type"] != "m.room.message" or relation.get("rel_type") == "m.replace":
            continue
        if placed.redaction is not None:
            continue
        edit = max(edits.get(event["event_id"], ()), default=(0, ""))[1]
        shown = events[edit]["content"]["m.new_content"] if edit else content
        moment = datetime.fromtimestamp(event["origin_server_ts"] / 1000, UTC)
        if shown["msgtype"] != "m.text" or any(
            _covers(purge, event, moment, edit) for purge in purges
        ):
            continue
        thread = relation.get("event_id", "") if relation.get("rel_type") == "m.thread" else ""
        yield thread, moment, event["event_id"], shown["body"]


def _covers(purge: Purge, event: Mapping[str, Any], moment: datetime, edit: str) -> bool:
    if purge.event:
        return purge.event in (event["event_id"], edit)
    return (
        purge.sender in ("", event["sender"])
        and (purge.first is None or purge.first <= moment)
        and (purge.last is None or moment <= purge.last)
    )


def arrive(community: FakeCommunity, room: str, events: Iterable[Mapping[str, Any]]) -> None:
    """Lets events that were sent elsewhere come in, in this order, ids and times as they are."""
    own = community.rooms[room]
    for each in events:
        event = {**each, "content": dict(each["content"]), "room_id": room}
        placed = community._place(own, dict(event))
        placed.event.update(event_id=event["event_id"], origin_server_ts=event["origin_server_ts"])
        for other in own.placed:
            for redaction, target in ((other, placed), (placed, other)):
                if (
                    redaction.event["type"] == "m.room.redaction"
                    and redaction.event["content"].get("redacts") == target.event["event_id"]
                ):
                    target.redaction = redaction.event
                    target.event["content"] = {}
