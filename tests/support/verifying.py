"""``verify`` over fakes: what is held as a snapshot, and both sides compared."""

from contextlib import closing

from search.collection import properties_of
from tasks import verify_repo, verify_room
from tasks.adapters.recording import Recording
from tasks.context import RepoContext
from tasks.domain.verification import Kind, differences, print_of
from tasks.room_context import RoomContext
from tasks.verify_snapshot import Snapshot
from tests.support.fakes import FakeLedger, FakePassageWriter


def snapshot_of(
    writer: FakePassageWriter, ledger: FakeLedger, source: str, held: Recording
) -> Snapshot:
    """What the fakes hold of a source, in ``held``."""
    for passage, _ in writer.held.values():
        if passage.source == source:
            properties = properties_of(passage)
            found = print_of(passage.id, properties, claimed=properties["fingerprint"])
            held.hold(found, properties, writer.times[passage.id])
    documents = {key: text for key, text in ledger.kept.items() if key[1] in ("", source)} | {
        key: text for key, text in ledger.kept.items() if key[0] == "purge"
    }
    return Snapshot(ledger.record(source), documents, held, held.count(source), held.count(source))


def compared(
    writer: FakePassageWriter, ledger: FakeLedger, opened: RoomContext | RepoContext
) -> tuple[dict[str, Kind], str | None]:
    """What differs, by id, and why the source is behind."""
    source = opened.source if isinstance(opened, RoomContext) else opened.listed.source
    with closing(Recording()) as held, closing(Recording()) as expected:
        taken = snapshot_of(writer, ledger, source, held)
        before = (writer.held.copy(), ledger.payloads.copy(), ledger.kept.copy())
        if isinstance(opened, RoomContext):
            sides = verify_room.sides(opened, taken, expected)
        else:
            sides = verify_repo.sides(opened, taken, expected)
        assert (writer.held, ledger.payloads, ledger.kept) == before, "it wrote something"
        found = dict(differences(sides.expected.prints(), sides.held.prints()))
        assert sides.differ == bool(found)
        return found, sides.behind
