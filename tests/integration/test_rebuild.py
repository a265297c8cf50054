"""A rebuild: everything is read into another collection, which takes the old one's place."""

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from search.collection import SCHEMA_VERSION, CollectionMeta, ledger_name
from search.connection import connect
from search.reader import Reader
from tasks.adapters.rebuilds import Rebuilds
from tasks.alone import rebuilding
from tasks.domain.rebuilds import Rebuild
from tasks.errors import SourceBusy, Unexpected
from tasks.rebuild import begin, cancel
from tests.support.community import Community, without_vectors
from tests.support.huginn_command import huginn
from tests.support.other_model import other_model
from tests.support.remains import GONE, data_folder, made_up, objects, words_in_files
from tests.support.steady_look_ups import LookUps, looking_up
from tests.support.synapse import Synapse

SENTENCE = "Whales sing in the long winter nights of the north."
WHALES = f"# Whales\n\n{SENTENCE}\n"


class KilledError(Exception):
    """The run ends here, as if it had been killed."""


@pytest.fixture(scope="session")
def another(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return other_model(tmp_path_factory.mktemp("model") / "other")


@pytest.fixture
def full(chat: Community, synapse: Synapse, reader: str) -> Community:
    """A room and a repository, both held."""
    room = synapse.room("ada", "bob", reader)
    for number in range(6):
        synapse.send(room, ("ada", "bob")[number % 2], f"Sentence {number} about the garden.")
    chat.repository("sea").commit({"whales.md": WHALES, "a.md": "# A\n\nAbout nothing.\n"})
    assert {each.result for each in chat.refresh().values()} == {"done"}
    return chat


def room_of(community: Community) -> str:
    (source,) = (each for each in everything(community) if each.startswith("chat:"))
    return source.removeprefix("chat:")


def everything(community: Community) -> set[str]:
    return {facts["source"] for facts in community.passages().values()}


def live(community: Community) -> str:
    with community.configured() as settings, connect(settings, "reader") as client:
        return Reader(client, community.collection).resolve().name


def collections(community: Community) -> set[str]:
    with community.configured() as settings, connect(settings, "writer") as client:
        found = client.collections.list_all(simple=True)
        return {each for each in found if each.startswith(community.collection)}


def keys_of_the_ledger(community: Community) -> set[str]:
    return {facts["collection"] for kind, facts in objects(community) if kind == "ledger"}


def the_outcome(outcomes: dict[str, Any]) -> Any:  # an Outcome
    (name,) = (each for each in outcomes if each.startswith("rebuild:"))
    return outcomes[name]


def note(community: Community) -> Rebuild | None:
    with community.configured() as settings, connect(settings, "writer") as client:
        return Rebuilds(client, community.collection).note()


def test_a_rebuild_takes_the_old_ones_place_and_leaves_nothing_of_it(full: Community) -> None:
    before, old = full.passages(), live(full)
    outcomes = full.rebuild()
    done = the_outcome(outcomes)
    assert (done.result, done.counts.written) == ("done", len(before))
    new = live(full)
    assert new != old
    assert collections(full) == {new, ledger_name(full.collection)}
    assert keys_of_the_ledger(full) == {new}
    assert without_vectors(full.passages()) == without_vectors(before)
    assert full.search("whales in winter").unavailable == {}
    assert {each.result for each in full.refresh().values()} == {"unchanged"}


def test_a_rebuild_embeds_no_file_anew(full: Community) -> None:
    full.unlist("sea")
    full.refresh()
    full.repository("lake").commit({"whales.md": WHALES})
    full.refresh()
    files = len(full.passages("repo:lake"))
    done = the_outcome(full.rebuild())
    assert done.counts.reused >= files


def test_erasing_ends_the_files_that_hold_what_was_deleted(
    full: Community, synapse: Synapse
) -> None:
    room, word = room_of(full), made_up(GONE, 4711)
    said = synapse.send(room, "ada", f"The secret ingredient is {word}, she said.")
    full.refresh()
    synapse.redact(room, "ada", said)
    full.refresh()
    folder = data_folder(full.server)
    old = live(full)
    assert word in set().union(*words_in_files(folder / old.lower()).values())
    before = full.passages()
    done = the_outcome(full.rebuild(erase=True))
    assert done.counts.reused == 0
    assert without_vectors(full.passages()) == without_vectors(before)
    assert word not in set().union(*words_in_files(folder).values(), set())


def test_another_model_makes_the_next_refresh_rebuild_by_itself(
    full: Community, another: Path, synapse: Synapse
) -> None:
    before_of_sea, old = full.passages("repo:sea"), live(full)
    synapse.send(room_of(full), "ada", "One more sentence, about the harbour.")
    full.embedding = {"model": str(another)}
    with looking_up(LookUps(full, SENTENCE)) as look_ups:
        outcomes = full.refresh()
    assert the_outcome(outcomes).result == "done"
    assert outcomes[f"chat:{room_of(full)}"].result == "done"  # the live one was refreshed too
    assert live(full) != old
    assert look_ups.failures == []
    assert look_ups.asked > 2
    assert max(look_ups.nearest) - min(look_ups.nearest) < 0.01
    after = full.passages("repo:sea")
    assert without_vectors(after) == without_vectors(before_of_sea)
    assert all(after[each]["vectors"] != before_of_sea[each]["vectors"] for each in after)
    assert any("harbour" in text for text in full.texts())


def said_before_the_switch(
    full: Community, synapse: Synapse, monkeypatch: pytest.MonkeyPatch, word: str
) -> tuple[str, str, str]:
    """A message that both collections hold: its room and id, and the new collection."""
    room = room_of(full)
    said = synapse.send(room, "ada", f"They call it {word} here.")
    full.refresh()
    stopped_before_the_switch(full, monkeypatch)
    standing = note(full)
    assert standing is not None
    assert word in words_of(full, standing.collection)
    return room, said, standing.collection


def test_what_is_redacted_during_a_rebuild_is_in_neither_collection(
    full: Community, synapse: Synapse, monkeypatch: pytest.MonkeyPatch
) -> None:
    word = made_up(GONE, 4712)
    room, said, new = said_before_the_switch(full, synapse, monkeypatch, word)
    synapse.redact(room, "ada", said)
    with monkeypatch.context() as patch:
        patch.setattr(Rebuilds, "flip", killed)
        full.refresh()
    assert word not in words_of(full, new)
    assert word not in words_of(full, live(full))
    full.refresh()
    assert live(full) == new


def words_of(community: Community, collection: str) -> str:
    with community.configured() as settings, connect(settings, "reader") as client:
        found = client.collections.get(collection).iterator()
        return " ".join(str(each.properties["text"]) for each in found)


def killed(*_: object) -> None:
    raise KilledError


def stopped_before_the_switch(community: Community, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(Rebuilds, "flip", killed)
        assert the_outcome(community.rebuild()).result == "failed"


@pytest.mark.parametrize("where", ["begin", "flip", "end"])
def test_a_rebuild_killed_anywhere_goes_on_with_the_next_refresh(
    full: Community, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    before, old = full.passages(), live(full)
    with monkeypatch.context() as patch:
        if where == "begin":
            patch.setattr("tasks.adapters.rebuilds.make", killed)
        else:
            patch.setattr(Rebuilds, where, killed)
        with pytest.raises(Unexpected) if where == "begin" else nullcontext():
            full.rebuild()
    assert (live(full) == old) == (where != "end")
    assert full.search("whales in winter").unavailable == {}
    full.refresh()
    new = live(full)
    assert new != old
    assert note(full) is None
    assert collections(full) == {new, ledger_name(full.collection)}
    assert keys_of_the_ledger(full) == {new}
    assert without_vectors(full.passages()) == without_vectors(before)


class AskedBeforeTheSwitch(Reader):
    """Its first question where the alias points was answered just before the switch."""

    old = ""

    def _pointed(self) -> str:
        before, self.old = self.old, ""
        return before or super()._pointed()


@pytest.mark.parametrize("warm", [True, False], ids=["warm", "cold"])
def test_a_look_up_that_meets_the_switch_finds_the_new_collection(
    full: Community,
    warm: bool,  # noqa: FBT001  # a parameter of the table
) -> None:
    with full.configured() as settings, connect(settings, "reader") as client:
        reader = AskedBeforeTheSwitch(client, full.collection)
        old = reader.resolve().name if warm else live(full)
        full.rebuild()
        reader.old = old
        resolved, records = reader.standing()
    assert resolved.name == live(full) != old
    assert records.keys() == everything(full)


def test_a_source_that_cannot_be_read_keeps_the_old_collection_in_its_place(
    full: Community,
) -> None:
    old = live(full)
    place = full.repositories["sea"].path
    away = place.rename(place.with_name("away"))
    outcomes = full.rebuild()
    assert the_outcome(outcomes).result == "failed"
    assert "The rebuild waits for repo:sea" in the_outcome(outcomes).reason
    assert live(full) == old
    assert full.search("whales in winter").hits
    away.rename(place)
    assert the_outcome(full.refresh()).result == "done"
    assert live(full) != old
    assert full.search("whales in winter").hits


def test_a_rebuild_that_is_given_up_leaves_the_old_collection_as_it_was(
    full: Community, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, old = full.passages(), live(full)
    stopped_before_the_switch(full, monkeypatch)
    assert len(collections(full)) == 3
    assert huginn(full, "rebuild", "--cancel").code == 0
    assert collections(full) == {old, ledger_name(full.collection)}
    assert keys_of_the_ledger(full) == {old}
    assert full.passages() == before
    again = huginn(full, "rebuild", "--cancel")
    assert again.code == 1
    assert "`huginn rebuild` begins one" in again.errors


def test_a_model_that_is_set_back_gives_up_the_rebuild_that_it_began(
    full: Community, another: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = live(full)
    full.embedding = {"model": str(another)}
    with monkeypatch.context() as patch:
        patch.setattr(Rebuilds, "flip", killed)
        full.refresh()
    assert note(full) is not None
    full.embedding = {}
    full.refresh()
    assert note(full) is None
    assert collections(full) == {old, ledger_name(full.collection)}


def test_what_is_purged_at_once_is_in_neither_collection(
    full: Community, synapse: Synapse, monkeypatch: pytest.MonkeyPatch
) -> None:
    word = made_up(GONE, 4713)
    room, said, new = said_before_the_switch(full, synapse, monkeypatch, word)
    assert huginn(full, "chat-purge", "--room", room, "--event", said, "--now").code == 0
    assert word not in words_of(full, new)
    assert word not in words_of(full, live(full))
    full.refresh()
    assert live(full) == new
    assert word not in words_of(full, live(full))
    assert len(full.passages(f"chat:{room}")) > 0


def test_a_rebuild_that_a_run_is_at_work_on_is_not_dropped_under_it(
    full: Community, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped_before_the_switch(full, monkeypatch)
    standing = note(full)
    with full.configured() as settings, rebuilding():
        with pytest.raises(SourceBusy):
            cancel(settings)
        with pytest.raises(SourceBusy):
            begin(settings, erase=True)
    assert note(full) == standing
    assert len(collections(full)) == 3


def test_an_upgrade_that_cannot_write_the_old_collection_still_removes_from_it(
    full: Community, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = live(full)
    full.repository("lake").commit({"b.md": "# B\n\nAbout a lake.\n"})
    full.refresh()
    full.unlist("lake")
    with monkeypatch.context() as patch:
        patch.setattr("tasks.bootstrap.CollectionMeta", newer)
        patch.setattr(Rebuilds, "flip", killed)
        full.refresh()
        assert "About a lake" not in words_of(full, old)
        assert "Whales sing" in words_of(full, old)


def newer(name: str, digest: str, dimensions: int) -> CollectionMeta:
    return CollectionMeta(name, digest, dimensions, schema_version=SCHEMA_VERSION + 1)
