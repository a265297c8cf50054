"""What ``verify`` reads of a real Weaviate: passages as they are, in pages, and of what source."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from search.collection import properties_of
from search.connection import connect
from search.passage import Lines
from search.reader import Reader
from search.settings import Settings
from tasks import verify_snapshot
from tasks.adapters import passage_writer, stored_objects
from tasks.adapters.stored_objects import StoredObjects
from tasks.domain.purges import Purge
from tasks.domain.verification import print_of
from tasks.errors import StillMoving
from tasks.tombstones import FILE, said
from tasks.verify_snapshot import snapshot
from tests.support.chats import turn, window
from tests.support.fakes import META, current, file_passage
from tests.support.shelf import Shelf

CHAT = window([turn("a", 0.0021), turn("b", 1, "bob", edit="$e")], thread="$root")
CUT = replace(
    file_passage("a line", "cut.md"), lines=Lines(first=3, last=3, columns=(0, 9)), trail=("A", "B")
)
FILES = [file_passage(f"text {n}", f"f{n}.md") for n in range(9)]
COMMIT = replace(
    file_passage("message", "", part=4),
    kind="commit",
    commit="c" * 40,
    blob="",
    lines=None,
    authors=("Ada",),
    start=datetime(2026, 1, 2, 3, 4, tzinfo=UTC),
    end=datetime(2026, 1, 2, 3, 4, tzinfo=UTC),
)


@pytest.fixture
def shelf(server_settings: Settings, collection_name: str) -> Shelf:
    made = Shelf(server_settings, collection_name)
    made.put(*FILES, CUT, COMMIT, file_passage("other", repo="two"))
    return made


@pytest.fixture
def objects(shelf: Shelf) -> Iterator[StoredObjects]:
    with connect(shelf.settings, "reader") as client:
        name = Reader(client, shelf.collection).resolve().name
        yield StoredObjects(client, name, META.dimensions)


def test_what_is_read_is_what_was_written_whatever_the_form_in_pages_of_any_length(
    shelf: Shelf, objects: StoredObjects, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passage_writer, "MOST", 4)
    shelf.put(replace(CHAT, source="repo:one"))  # one part's vector, but two turns
    found = {made.id: (made, form) for made, form, _ in objects.of("repo:one")}
    written = {each.id: each for each in [*FILES, CUT, COMMIT, replace(CHAT, source="repo:one")]}
    assert found.keys() == written.keys()
    for identifier, passage in written.items():
        properties = properties_of(passage)
        claimed = properties.pop("fingerprint")
        whole = identifier != CHAT.id
        assert found[identifier] == (
            print_of(identifier, properties, claimed=claimed, whole=whole),
            properties,
        )


@pytest.mark.parametrize("page", [2, 500])
def test_a_survey_counts_every_object_by_its_source(
    objects: StoredObjects, page: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored_objects, "PAGE", page)
    told = objects.survey()
    assert told.counts == {"repo:one": 11, "repo:two": 1}
    assert told.hidden == {}
    assert (objects.count("repo:one"), objects.count("repo:none")) == (11, 0)


def test_what_no_question_finds_is_hidden_unless_it_is_gone_or_found_the_second_time(
    shelf: Shelf, objects: StoredObjects, monkeypatch: pytest.MonkeyPatch
) -> None:
    from weaviate.classes.query import Filter

    asking = stored_objects._asking_for
    hidden, late, gone = (each.id for each in FILES[:3])
    asked: list[int] = []

    def missing(alike: list[Any]) -> Any:
        asked.append(len(alike))
        chosen = asking(alike)
        for each in [hidden] if len(asked) > 2 else [hidden, late, gone]:
            chosen &= Filter.by_id().not_equal(each)
        if len(asked) == 2:
            with connect(shelf.settings, "writer") as client:
                name = Reader(client, shelf.collection).resolve().name
                client.collections.get(name).data.delete_by_id(gone)
        return chosen

    monkeypatch.setattr(stored_objects, "_asking_for", missing)
    assert objects.survey().hidden == {"repo:one": [hidden]}


def test_a_source_that_moves_while_it_is_listed_is_listed_again(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    load, moves = verify_snapshot._load, iter(range(2))

    def moving(*arguments: Any) -> None:
        load(*arguments)
        for number in moves:
            shelf.note(current("repo:one", "d" * 40, passages=number))
            break

    monkeypatch.setattr(verify_snapshot, "_load", moving)
    with snapshot(shelf.settings, "repo:one") as taken:
        assert taken.record.passages == 1
        assert taken.count == 11
    assert next(moves, None) is None


def test_a_source_that_never_stands_still_is_given_up(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = iter(range(1, 99))
    monkeypatch.setattr(
        verify_snapshot,
        "_load",
        lambda *_: shelf.note(current("repo:one", passages=next(numbers))),
    )
    with pytest.raises(StillMoving), snapshot(shelf.settings, "repo:one"):
        pass
    assert next(numbers) == verify_snapshot.TRIES + 1


def test_a_purge_that_only_the_file_has_waits_for_the_next_run(shelf: Shelf) -> None:
    purge = Purge("!room", event="$gone", applied="2026-01-01T00:00:00+00:00")
    said(shelf.settings, purge)
    try:
        with snapshot(shelf.settings, "repo:one") as taken:
            waiting = taken.documents["purge", purge.source]
    finally:
        (shelf.settings.data_dir / FILE).unlink()
    assert Purge.from_json(waiting) == replace(purge, applied="")
