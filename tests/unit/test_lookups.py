"""The search use case over plain data (spec 6.1 to 6.5, 1.5)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from search import lookups
from search.candidates import Candidate
from search.errors import CollectionMismatch, UsageError
from search.ledger import Position, RepoCursor, SourceRecord
from search.listing import RepositorySettings
from search.lookups import Answer
from search.passage import Passage
from search.permalinks import permalink
from search.query import query
from search.settings import BUNDLED_MODEL, Settings
from tests.support.fakes import (
    IDENTITY,
    INGESTED,
    META,
    FakeEmbedder,
    FakeReader,
    candidate,
    current,
    file_passage,
)

WHEN = datetime(2026, 1, 2, tzinfo=UTC)


def listing(*names: str) -> Settings:
    """Settings that list these repositories, be it none."""
    return Settings(
        repositories=tuple(RepositorySettings(name=name, url=f"/srv/{name}") for name in names)
    )


def never(model: str) -> FakeEmbedder:
    raise AssertionError(model)


def search(
    texts: Sequence[str],
    rankings: Mapping[str, Sequence[Candidate]],
    *,
    known: Mapping[str, SourceRecord] | None = None,
    listed: Settings | None = None,
    embedder: FakeEmbedder | None = None,
    **options: object,
) -> Answer:
    records = {"repo:one": current("repo:one")} if known is None else known
    return lookups.search(
        query(texts, **options),  # type: ignore[arg-type]
        reader=FakeReader(rankings, records),
        settings=listed or listing(*(source.removeprefix("repo:") for source in records)),
        embedder=lambda _: embedder or FakeEmbedder(),
    )


def ids(answer: Answer) -> list[str]:
    return [hit.id for hit in answer.hits]


def some(*texts: str, repo: str = "one") -> list[Candidate]:
    """Passages in this order, each in a file named after its text."""
    return [candidate(file_passage(text, f"{text}.md", repo=repo)) for text in texts]


def test_one_text_gives_the_servers_plain_order_and_reciprocal_scores() -> None:
    ranking = some("c", "a", "b")
    answer = search(["words"], {"words": ranking})
    assert ids(answer) == [found.id for found in ranking]
    assert [hit.rank for hit in answer.hits] == [1, 2, 3]
    assert [hit.score for hit in answer.hits] == [1 / 61, 1 / 62, 1 / 63]


def test_first_for_two_wordings_outranks_first_for_one() -> None:
    a, b, c = some("a", "b", "c")
    answer = search(["x", "y", "z"], {"x": [a, b], "y": [a, c], "z": [b, c]})
    assert ids(answer)[0] == a.id
    assert answer.hits[0].score == pytest.approx(2 / 61)


def test_the_order_of_the_wordings_does_not_change_the_hits() -> None:
    a, b, c = some("a", "b", "c")
    rankings = {"x": [a, b], "y": [c, a], "z": [b, c]}
    one, other = search(["x", "y", "z"], rankings), search(["z", "y", "x"], rankings)
    assert [(hit.id, hit.score) for hit in one.hits] == [(h.id, h.score) for h in other.hits]


def test_each_hit_tells_how_each_wording_found_it() -> None:
    a, b = some("a", "b")
    answer = search(["x", "y"], {"x": [a, b], "y": [replace(b, keyword=None, score=0.9)]})
    signals = {hit.id: [(s.text, s.rank, s.keyword) for s in hit.signals] for hit in answer.hits}
    assert signals == {a.id: [("x", 1, 1.5)], b.id: [("x", 2, 1.5), ("y", 1, None)]}


def test_all_wordings_are_embedded_as_questions_in_one_go_and_asked_once_each() -> None:
    embedder = FakeEmbedder()
    reader = FakeReader({}, {"repo:one": current("repo:one")})
    asked = query(["x", "y ", "y"])
    lookups.search(asked, reader=reader, settings=listing("one"), embedder=lambda _: embedder)
    assert embedder.texts == ["x", "y"]
    assert embedder.sides == ["query", "query"]
    assert sorted(reader.asked) == ["x", "y"]


TEXTS = st.sampled_from("abcd")  # so few that copies abound
PASSAGES = st.dictionaries(st.sampled_from("0123456789"), TEXTS, max_size=8).map(
    lambda made: [file_passage(text, f"{name}.md") for name, text in made.items()]
)


@settings(deadline=None)
@given(st.lists(PASSAGES, min_size=1, max_size=3), st.integers(1, 10))
def test_a_smaller_top_k_is_a_prefix_of_a_larger(lists: list[list[Passage]], top_k: int) -> None:
    rankings = {f"text {n}": [candidate(p) for p in made] for n, made in enumerate(lists)}
    whole = search(list(rankings), rankings, top_k=100).hits
    assert search(list(rankings), rankings, top_k=top_k).hits == whole[:top_k]


@settings(deadline=None)
@given(PASSAGES)
def test_no_two_hits_have_the_same_text_and_no_place_is_lost(made: list[Passage]) -> None:
    hits = search(["x"], {"x": [candidate(p) for p in made]}).hits
    assert len({hit.text for hit in hits}) == len(hits)
    places = [c.path for hit in hits for c in (hit.citation, *hit.also)]
    assert sorted(map(str, places)) == sorted(p.path for p in made)


def test_copies_collapse_into_the_best_ranked_one_which_names_the_others() -> None:
    known = {f"repo:{name}": current(f"repo:{name}", name * 40) for name in ("a", "b")}
    copy = candidate(file_passage("same", "copy.md", repo="b"))
    first = candidate(file_passage("same", "first.md", repo="a"))
    other = candidate(file_passage("other", "other.md", repo="a"))
    answer = search(["x"], {"x": [copy, other, first]}, known=known, top_k=2)
    assert ids(answer) == [copy.id, other.id]
    (also,) = answer.hits[0].also
    assert (also.repository, also.path, also.commit) == ("a", "first.md", "a" * 40)
    assert answer.hits[1].also == ()


def test_a_file_is_cited_at_the_commit_that_the_ledger_holds_with_its_lines_and_link() -> None:
    address = "https://github.com/example/one"
    known = {"repo:one": current("repo:one", "d" * 40, identity=address, label="The first")}
    passage = file_passage("text", "docs/a.md")
    (hit,) = search(["x"], {"x": [candidate(passage)]}, known=known).hits
    cited = hit.citation
    assert (cited.repository, cited.commit, cited.path) == ("one", "d" * 40, "docs/a.md")
    assert (cited.blob, cited.lines) == (passage.blob, passage.lines)
    assert cited.link == permalink(address, "d" * 40, "docs/a.md", 1, 1)
    assert cited.link is not None
    assert (hit.label, hit.source, hit.corpus, hit.kind) == (
        *("The first", "repo:one", "forge", "file"),
    )


def test_a_commit_message_is_cited_by_its_own_id_and_time() -> None:
    passage = replace(
        file_passage("Fix it"),
        kind="commit",
        path="",
        blob="",
        lines=None,
        commit="e" * 40,
        authors=("Ada",),
    )
    found = candidate(passage, start=WHEN, end=WHEN)
    (hit,) = search(["x"], {"x": [found]}).hits
    assert (hit.citation.commit, hit.citation.path, hit.citation.lines) == ("e" * 40, None, None)
    assert (hit.authors, hit.start, hit.end) == (("Ada",), WHEN, WHEN)


def test_nobody_vouches_for_the_author_of_a_commit() -> None:
    (hit,) = search(["x"], {"x": some("a")}).hits
    assert hit.vouched_by is None


AT = current("repo:one")
NEVER = replace(AT, last_success=None)
VOUCHED = [
    pytest.param(AT, None, "current", id="current"),
    pytest.param(
        replace(AT, state="refreshing", last_attempt=datetime.now(UTC)), None, "stale", id="running"
    ),
    pytest.param(replace(AT, state="refreshing"), "has not ended", "stale", id="dead"),
    pytest.param(
        replace(AT, state="failed", reason="gone. Look."), "gone. Look.", "stale", id="failed"
    ),
    pytest.param(
        replace(NEVER, state="failed", reason="gone. Look."),
        "gone. Look.",
        "stale",
        id="failed-at-first",
    ),
    pytest.param(replace(AT, state="deleting"), "deleting", "stale", id="deleting"),
    pytest.param(replace(NEVER, state="refreshing"), "not ingested yet", "stale", id="first-run"),
    pytest.param(
        replace(NEVER, state="refreshing", last_attempt=datetime.now(UTC)),
        "its first run is on its way",
        "stale",
        id="first-run-now",
    ),
    pytest.param(replace(NEVER, state="new"), "not ingested yet", "stale", id="new"),
]


@pytest.mark.parametrize(("record", "reason", "status"), VOUCHED)
def test_a_source_that_cannot_be_vouched_for_is_told_and_what_it_has_is_still_given(
    record: SourceRecord, reason: str | None, status: str
) -> None:
    answer = search(["x"], {"x": some("a")}, known={"repo:one": record})
    assert [hit.status for hit in answer.hits] == [status]
    assert answer.hits[0].fresh_at == record.last_success
    if reason is None:
        assert answer.unavailable == {}
    else:
        assert reason in answer.unavailable["repo:one"]


def test_a_listed_source_that_the_ledger_does_not_know_is_told() -> None:
    answer = search(["x"], {}, listed=listing("one", "two"))
    assert answer.unavailable == {"repo:two": "not ingested yet: run `huginn refresh`"}


def test_only_sources_that_were_asked_for_are_told() -> None:
    known = {"repo:one": AT, "repo:two": replace(NEVER, source="repo:two", state="new")}
    assert search(["x"], {}, known=known, repositories=["one"]).unavailable == {}


def test_what_is_no_longer_listed_is_hidden_at_once() -> None:
    known = {"repo:one": AT, "repo:two": current("repo:two")}
    rankings = {"x": some("a") + some("b", repo="two")}
    answer = search(["x"], rankings, known=known, listed=listing("two"))
    assert [hit.source for hit in answer.hits] == ["repo:two"]
    empty = search(["x"], rankings, known=known, listed=listing())
    assert (empty.hits, list(empty.unavailable)) == ((), ["*"])


def test_without_a_list_everything_in_the_ledger_is_looked_through() -> None:
    known = {"repo:one": AT, "repo:two": current("repo:two")}
    rankings = {"x": some("a") + some("b", repo="two")}
    answer = search(["x"], rankings, known=known, listed=Settings())
    assert [hit.source for hit in answer.hits] == ["repo:one", "repo:two"]


def test_a_named_repository_narrows_the_look_up() -> None:
    known = {"repo:one": AT, "repo:two": current("repo:two")}
    rankings = {"x": some("a") + some("b", repo="two")}
    answer = search(["x"], rankings, known=known, repositories=["two"])
    assert [hit.source for hit in answer.hits] == ["repo:two"]


@pytest.mark.parametrize(
    ("name", "fix"),
    [("handbok", "Did you mean 'handbook'?"), ("zzz", "Known: core, handbook.")],
    ids=["near", "far"],
)
def test_an_unknown_repository_is_refused_before_anything_is_embedded(name: str, fix: str) -> None:
    reader = FakeReader({}, {})
    with pytest.raises(UsageError) as refused:
        lookups.search(
            query(["x"], repositories=[name]),
            reader=reader,
            settings=listing("core", "handbook"),
            embedder=never,
        )
    assert (refused.value.field, refused.value.fix) == ("repo", fix)
    assert reader.asked == []


def test_a_repository_that_is_no_longer_listed_is_unknown() -> None:
    with pytest.raises(UsageError):
        search(["x"], {}, known={"repo:one": AT}, listed=listing("two"), repositories=["one"])


def test_chat_without_rooms_embeds_nothing_and_says_why() -> None:
    answer = lookups.search(
        query(["x"], corpus="chat"),
        reader=FakeReader({}, {"repo:one": AT}),
        settings=listing("one"),
        embedder=never,
    )
    assert answer.hits == ()
    assert "no room is listed" in answer.unavailable["*"]


def test_before_the_first_refresh_nothing_is_embedded_and_the_way_out_is_told() -> None:
    answer = lookups.search(
        query(["x"]), reader=FakeReader(meta=None), settings=listing("one"), embedder=never
    )
    assert answer.hits == ()
    assert "huginn refresh" in answer.unavailable["*"]


def test_the_configured_model_serves_if_its_weights_are_those_of_the_collection() -> None:
    """The name in the meta may be a folder of another machine."""
    wanted = []

    def embedder(model: str) -> FakeEmbedder:
        wanted.append(model)
        return FakeEmbedder()

    reader = FakeReader({}, {"repo:one": AT})
    lookups.search(query(["x"]), reader=reader, settings=listing("one"), embedder=embedder)
    assert wanted == [BUNDLED_MODEL]


def test_otherwise_the_model_that_the_collection_names_is_asked_for() -> None:
    wanted = []

    def embedder(model: str) -> FakeEmbedder:
        wanted.append(model)
        other = replace(IDENTITY, digest="other")
        return FakeEmbedder(IDENTITY if model == META.embedder else other)

    reader = FakeReader({}, {"repo:one": AT})
    lookups.search(query(["x"]), reader=reader, settings=listing("one"), embedder=embedder)
    assert wanted == [BUNDLED_MODEL, META.embedder]


def test_other_weights_of_the_model_are_refused_before_anything_is_embedded() -> None:
    embedder = FakeEmbedder(replace(IDENTITY, digest="other"))
    with pytest.raises(CollectionMismatch):
        search(["x"], {}, embedder=embedder)
    assert embedder.texts == []


def test_a_text_over_the_models_limit_is_named_and_still_asked_whole() -> None:
    long = "word " * 15 + "end"
    fits = "word " * 13 + "end"
    embedder = FakeEmbedder()
    answer = search([long, fits], {long: some("a")}, embedder=embedder)
    assert answer.clipped == (long,)
    assert embedder.texts == [long, fits]
    assert len(answer.hits) == 1


def test_in_the_middle_of_a_run_each_path_is_cited_at_the_commit_it_stands_at() -> None:
    since = (INGESTED + timedelta(seconds=1)).isoformat()
    cursor = RepoCursor("h" * 40, targets=("t" * 40,), since=(since,), position=Position("files"))
    record = replace(AT, state="refreshing", cursor=cursor)
    written = candidate(file_passage("new", "b.md"), ingested_at=INGESTED + timedelta(seconds=2))
    answer = search(["x"], {"x": [*some("a"), written]}, known={"repo:one": record})
    assert [hit.citation.commit for hit in answer.hits] == ["h" * 40, "t" * 40]
