"""Fusion of rankings, and what each hit says of itself (spec 6.2, 6.4)."""

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from search.candidates import Candidate, ranked
from search.citations import RoomCitation
from search.hits import Hit, hits_of
from search.ledger import SourceRecord
from search.passage import Passage
from search.query import Query, query
from search.sources import Source
from tests.support.chats import ROOM, START, turn, window
from tests.support.fakes import candidate, current, file_passage
from tests.support.shelf import IDENTITY

NOW = datetime(2026, 3, 2, tzinfo=UTC)
CHAT = current(f"chat:{ROOM}", identity=IDENTITY, alias="#dev:example.org", label="Work")
SOURCES = {"repo:one": Source("repo:one", current("repo:one"))}


def some(*names: str) -> list[Candidate]:
    """Passages in this order, each named after its text."""
    return [candidate(file_passage(name, f"{name}.md")) for name in names]


def hits(
    asked: Query, *rankings: Sequence[Candidate], record: SourceRecord | None = None
) -> tuple[Hit, ...]:
    chat = {f"chat:{ROOM}": Source(f"chat:{ROOM}", record or CHAT, (record or CHAT).label)}
    return hits_of(asked, rankings, SOURCES | chat, NOW)


def chat_hit(passage: Passage, record: SourceRecord | None = None) -> Hit:
    found = candidate(passage, start=passage.start, end=passage.end)
    (hit,) = hits(query(["x"]), [found], record=record)
    return hit


def test_what_was_deleted_since_it_was_found_is_no_hit() -> None:
    one, two, three = some("one", "two", "three")
    there = {each.id: each.properties for each in (one, three)}
    found = hits_of(query(["x"]), [[one, two, three]], SOURCES, NOW, lambda _: there)
    assert [(hit.rank, hit.text) for hit in found] == [(1, "one"), (2, "three")]


def test_r01_a_passage_that_two_texts_find_is_one_hit_with_the_summed_score() -> None:
    (only,) = hits(query(["x", "y"]), some("a"), some("a"))
    assert only.score == pytest.approx(2 / 61)
    assert [signal.text for signal in only.signals] == ["x", "y"]


_TIES = """
from search.fusion import reciprocal_rank_fusion
names = {"beta", "alpha"}
print(reciprocal_rank_fusion([sorted(names), sorted(names, reverse=True)])[0][0])
print(reciprocal_rank_fusion([[name] for name in names])[0][0])
"""


def test_r04_equal_scores_come_in_the_same_order_whatever_the_hash_seed() -> None:
    answers = {
        subprocess.run(
            [sys.executable, "-c", _TIES],
            env={"PYTHONHASHSEED": str(seed), "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in range(20)
    }
    assert answers == {"alpha\nalpha\n"}


def test_r06_the_order_is_by_fused_score_not_by_the_scores_of_the_server() -> None:
    a, b, c = some("a", "b", "c")
    loud = [replace(b, score=900.0), replace(c, score=800.0)]
    quiet = [replace(a, score=0.002), replace(c, score=0.001)]
    found = hits(query(["x", "y"]), loud, quiet)
    assert [hit.text for hit in found] == [
        "c",
        *sorted(["a", "b"], key=lambda t: {"a": a, "b": b}[t].id),
    ]
    assert [hit.rank for hit in found] == [1, 2, 3]


def test_r07_the_limit_is_applied_after_the_fusion_of_eight_texts() -> None:
    rankings = [some(*(f"{text}{n}" for n in range(9))) for text in "abcdefgh"]
    assert len(hits(query([*"abcdefgh"], top_k=5), *rankings)) == 5


def test_r10_a_text_that_finds_nothing_takes_nothing_from_the_others() -> None:
    rankings: list[list[Candidate]] = [[] for _ in range(7)]
    found = hits(query([*"abcdefgh"]), *rankings[:4], some("a", "b"), *rankings[4:])
    assert [hit.text for hit in found] == ["a", "b"]
    assert hits(query(["a", "b"]), [], []) == ()


def test_r12_ties_of_a_ranking_go_by_id_whatever_order_the_store_gives() -> None:
    tied = some(*"abcdefgh")
    better = replace(tied.pop(), score=0.75)
    expected = [better.id, *sorted(each.id for each in tied)]
    for order in ([*tied, better], [better, *tied[::-1]]):
        assert [each.id for each in ranked(order)] == expected


def test_sorting_by_time_reorders_the_chosen_hits_and_keeps_their_ranks() -> None:
    old, new = (
        candidate(window([turn(name, at)]), start=START, end=START + timedelta(minutes=at))
        for name, at in (("old", 1), ("new", 9))
    )
    (file,) = some("file")
    found = hits(query(["x"], sort="time", top_k=3), [file, old, new, *some("cut off")])
    assert [hit.rank for hit in found] == [3, 2, 1]
    assert [hit.kind for hit in found] == ["window", "window", "file"]


def test_a_half_life_lets_the_newer_overtake() -> None:
    old, new = (
        candidate(window([turn(name, 0)]), start=at, end=at)
        for name, at in (("old", NOW - timedelta(days=400)), ("new", NOW))
    )
    plain, aged = hits(query(["x"]), [old, new]), hits(query(["x"], half_life="30d"), [old, new])
    assert [hit.id for hit in plain] == [old.id, new.id]
    assert [hit.id for hit in aged] == [new.id, old.id]


def test_a_window_is_cited_by_room_alias_thread_events_and_link() -> None:
    hit = chat_hit(window([turn("a", 0), turn("b", 1, "bob")], thread="$root"))
    assert hit.citation == RoomCitation(
        room=ROOM,
        alias="#dev:example.org",
        thread="$root",
        first="$a",
        last="$b",
        link="https://matrix.to/#/%21room/%24a?via=example.org",
    )
    assert (hit.name, hit.label) == ("#dev:example.org", "Work")
    assert hit.authors == ("@ada:example.org", "@bob:example.org")
    assert [each.event for each in hit.turns] == ["$a", "$b"]
    assert (hit.start, hit.end) == (START, START + timedelta(minutes=1))


def test_the_readers_homeserver_vouches_for_the_senders_of_a_window() -> None:
    assert chat_hit(window([turn("a", 0)])).vouched_by == "example.org"


def test_a_window_with_an_edited_message_says_so_unless_its_source_is_stale() -> None:
    plain, edited = window([turn("a", 0)]), window([turn("a", 0), turn("b", 1, edit="$e")])
    assert [chat_hit(passage).status for passage in (plain, edited)] == ["current", "edited"]
    failed = replace(CHAT, state="failed", reason="gone")
    assert chat_hit(edited, failed).status == "stale"


def test_the_size_of_a_hit_is_that_of_what_people_wrote() -> None:
    assert chat_hit(window([turn("a", 0, body="žába"), turn("b", 1, body="x")])).bytes == 7
    (file,) = hits(query(["x"]), some("žluť"))
    assert file.bytes == 6
