"""Look-ups on the real server, where it decides: filters, order, neighbours, themes (spec 6)."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from search import lookups
from search.collection import CollectionMeta
from search.embedding import Embedder
from search.errors import CollectionMissing, UsageError
from search.passage import Passage, passage_id
from search.query import query
from search.reader import Reader, Resolved
from search.selection import Selection
from search.settings import EmbedderSettings, Settings
from search.terms import indexed
from tasks.adapters.globs import chosen_by
from tests.support.chats import ROOM, START, turn, window
from tests.support.fakes import META, current, file_passage, vector_of
from tests.support.shelf import IDENTITY, Shelf


@pytest.fixture
def shelf(server_settings: Settings, collection_name: str) -> Shelf:
    return Shelf(server_settings, collection_name)


def file(text: str, path: str = "a.md", *, repo: str = "one", part: int = 0) -> Passage:
    return replace(file_passage(text, path, repo=repo, part=part), keywords=indexed(text))


def commit(
    text: str, at: datetime = START, *, sha: str = "", repo: str = "one", part: int = 0
) -> Passage:
    sha = sha or f"{abs(hash(text)):040x}"[-40:]
    return replace(
        file(text, repo=repo),
        id=passage_id("commit", repo, sha, part),
        kind="commit",
        part=part,
        path="",
        blob="",
        lines=None,
        commit=sha,
        authors=("Ada",),
        start=at,
        end=at,
    )


def found(answer: lookups.Answer) -> list[str]:
    return sorted(hit.text for hit in answer.hits)


def crowd(count: int = 250) -> list[Passage]:
    """More passages than the server is asked for, all with the word of the question."""
    return [file(f"key key key {n}", f"crowd/{n}.txt", repo="crowd") for n in range(count)]


def meta_of(embedder: Embedder) -> CollectionMeta:
    known = embedder.identity
    return CollectionMeta(known.name, known.digest, known.dimensions)


def minute(number: float) -> str:
    return (START + timedelta(minutes=number)).isoformat()


NARROW: list[Any] = [
    pytest.param({"corpus": "chat"}, 3, id="corpus"),
    pytest.param({"rooms": [ROOM]}, 2, id="room-id"),
    pytest.param({"rooms": ["#dev:example.org"]}, 2, id="room-alias"),
    pytest.param({"rooms": ["Development"]}, 2, id="room-label"),
    pytest.param({"repositories": ["one"]}, 3, id="repo"),
    pytest.param({"repositories": ["The first"]}, 3, id="repo-label"),
    pytest.param({"sources": ["chat"]}, 3, id="sources-chat"),
    pytest.param({"sources": [f"chat:{ROOM}", "one"]}, 5, id="sources-two"),
    pytest.param({"paths": ["docs/*.md"]}, 1, id="path"),
    pytest.param({"paths": ["docs/**"]}, 2, id="path-deep"),
    pytest.param({"senders": ["@bob:example.org"]}, 1, id="sender"),
    pytest.param({"threads": ["$root"]}, 1, id="thread"),
    pytest.param({"threads": ["main"]}, 2, id="w27-no-thread"),
    pytest.param({"since": minute(15)}, 2, id="since"),
    pytest.param({"until": minute(15), "corpus": "chat"}, 2, id="until"),
    pytest.param({"since": minute(15), "rooms": [ROOM]}, 1, id="since-in-a-room"),
    pytest.param({"rooms": [ROOM], "repositories": ["one"]}, 5, id="room-and-repo"),
]


@pytest.mark.parametrize(("filters", "count"), NARROW)
def test_r08_a_filter_holds_inside_the_query_so_that_all_it_leaves_is_found(
    shelf: Shelf, filters: dict[str, Any], count: int
) -> None:
    """The crowd outranks everything else and fills all places that there are."""
    shelf.note(
        current(f"chat:{ROOM}", alias="#dev:example.org", label="Development", identity=IDENTITY)
    )
    shelf.note(current("repo:one", label="The first"))
    shelf.put(
        *crowd(),
        window([turn("a", 0), turn("b", 20, "bob")]),
        window([turn("c", 10)], thread="$root"),
        window([turn("d", 30)], room="!other"),
        file("words", "docs/a.md"),
        file("words too", "docs/deep/a.md"),
        commit("a commit", START - timedelta(days=1)),
    )
    answer = shelf.search("key", top_k=100, **filters)
    assert len(answer.hits) == count
    assert not {hit.source for hit in answer.hits} & {"repo:crowd"}
    assert len(shelf.search("key", top_k=100).hits) == 100


def test_a_name_in_gits_author_field_is_no_sender(shelf: Shelf) -> None:
    shelf.put(
        replace(commit("forged"), authors=("@ada:example.org",)), window([turn("a", 0, "ada")])
    )
    (hit,) = shelf.search("forged", senders=["@ada:example.org"]).hits
    assert hit.kind == "window"


@pytest.mark.parametrize(
    "filters",
    [
        {"senders": ["@nobody:example.org"]},
        {"threads": ["$nothing"]},
        {"paths": ["no/such/*"]},
        {"since": "2100-01-01"},
    ],
    ids=lambda filters: next(iter(filters)),
)
def test_r10_a_filter_that_matches_nothing_is_an_empty_answer_and_no_error(
    shelf: Shelf, filters: dict[str, Any]
) -> None:
    shelf.put(window([turn("a", 0)]), file("words"))
    document = shelf.ask(
        "search",
        texts=["words", "other words"],
        **{name.removesuffix("s"): value for name, value in filters.items() if name != "since"},
        **{name: value for name, value in filters.items() if name == "since"},
    )
    assert (document["hits"], document["exit"]) == ([], 1)


PATHS = [
    *("a.md", "b.txt", "docs/a.md", "docs/deep/a.md", "docs/deep/er/a.md", "docs/a.mdx"),
    *("Docs/a.md", "xdocs/a.md", "src/test_a.py", "test_a.py", "src/deep/test_a.py"),
    *("test_b/c.py", "src/test_b/c.py", "src/tests/a/b.py", "tests/c.py", "src/a+b(1)[x].py"),
    *("src/a.b", "src/axb", ".hidden/a.md", "a/.md", "ž/ů.md", "src/back\\slash.md"),
]
GLOBS = [
    *("*.md", "**/*.md", "docs/*.md", "docs/**", "docs/**/*.md", "**", "*", "*/*", "docs/*"),
    *("**/test_*.py", "src/**/test_*.py", "**/tests/**", "tests/**", "s*/**", "**/deep/**/a.md"),
    *("docs/a.md", "src/a.b", "src/a?b", "?.md", "**/?.md", "src/a+b(1)*", "*/a.md", "**/a.md"),
    *("src/**/c.py", "ž/*", "**/**/a.md", "test_*/*", "**/test_*", "src/back*", "d*/**/a.md"),
]


def test_r08_every_glob_leaves_the_paths_that_include_and_exclude_would_take(shelf: Shelf) -> None:
    """By the same rules as a repository's own globs; passages without a path never fit."""
    shelf.put(*(file(f"words {path}", path) for path in PATHS), window([turn("a", 0)]))
    for glob in GLOBS:
        answer = shelf.search("words", top_k=100, paths=[glob])
        paths = {hit.citation.path for hit in answer.hits}  # type: ignore[union-attr]
        assert paths == {path for path in PATHS if chosen_by([glob], [])(path)}, glob


def test_unknown_sources_are_refused_before_anything_is_embedded(shelf: Shelf) -> None:
    shelf.note(current(f"chat:{ROOM}", alias="#dev:example.org"))
    shelf.put(window([turn("a", 0)]))
    for filters, fix in (
        ({"rooms": ["#dav:example.org"]}, "Did you mean '#dev:example.org'?"),
        ({"sources": ["chatt"]}, "Did you mean 'chat'?"),
    ):
        with pytest.raises(UsageError) as refused:
            shelf.search("words", **filters)
        assert refused.value.fix == fix
    assert shelf.embedder.texts == []


def test_w11_a_question_of_stop_words_alone_finds_those_words(shelf: Shelf) -> None:
    shelf.put(file("to be or not to be"), file("the raven flies", "b.md"))
    first = shelf.search("to be or not to be").hits[0]
    assert first.text == "to be or not to be"
    assert first.signals[0].keyword is not None


def test_w25_what_only_the_keyword_side_finds_is_among_the_hits(shelf: Shelf) -> None:
    """Its vector is the farthest; more are near than places are asked for, some found by both."""
    asked = vector_of("xyzzy")
    near = [replace(p, keywords="other") for p in crowd()]
    both = [replace(file(f"both {n}", f"{n}.md"), keywords=indexed("xyzzy word")) for n in range(5)]
    needle = replace(file("needle", "needle.md"), keywords=indexed("xyzzy"))
    weak = replace(file("weak", "weak.md"), keywords=indexed("xyzzy" + " filler" * 200))
    vectors = {p.id: [*asked[:3], asked[3] + n / 50] for n, p in enumerate([*both, *near, weak])}
    vectors[needle.id] = [-number for number in asked]
    shelf.put(*near, *both, weak, needle, vectors=vectors)
    hits = {hit.id: hit for hit in shelf.search("xyzzy", top_k=100).hits}
    assert {p.id for p in (*both, needle)} <= hits.keys()
    (signal,) = hits[needle.id].signals
    assert signal.keyword is not None


def test_w26_times_of_any_offset_are_found_by_their_moment(shelf: Shelf) -> None:
    nepal = timezone(timedelta(hours=5, minutes=45))
    shelf.put(commit("from Kathmandu", datetime(2026, 3, 1, 1, 0, tzinfo=nepal)))
    (hit,) = shelf.search("words", since="2026-02-28T19:15:00Z", until="2026-02-28T19:15:00Z").hits
    assert hit.start == datetime(2026, 2, 28, 19, 15, tzinfo=UTC)
    assert shelf.search("words", since="2026-02-28T19:15:01Z").hits == ()
    assert len(shelf.search("words", until="2026-02-28").hits) == 1


def test_e04_the_same_texts_in_other_batches_are_the_same_passages_in_the_same_order(
    server_settings: Settings, collection_name: str
) -> None:
    """Their vectors differ in the last digits: neither what is stored nor the order may."""
    embedder = Embedder(EmbedderSettings())
    texts = [f"{word} {'and so on ' * n}" for n, word in enumerate(["ravens", "keys", "rooms"])]
    padding = [f"filler {'long ' * n}" for n in range(61)]
    batched = embedder.embed([*texts, *padding], "document")[: len(texts)]
    alone = [embedder.embed([text], "document")[0] for text in texts]
    (asked,) = embedder.embed(["signing keys"], "query")
    answers = []
    for number, vectors in enumerate((batched, alone)):
        shelf = Shelf(server_settings, f"{collection_name}{number}", meta=meta_of(embedder))
        passages = [file(text, f"{n}.md") for n, text in enumerate(texts)]
        shelf.put(*passages, vectors={p.id: v for p, v in zip(passages, vectors, strict=True)})
        with shelf.reader() as reader:
            name = reader.resolve().name
            found = reader.hybrid(name, "signing keys", asked, Selection(("repo:one",)))
        answers.append([(each.id, each.properties["text"]) for each in found])
    assert answers[0] == answers[1]
    for one, other in zip(batched, alone, strict=True):
        assert one == pytest.approx(other, abs=1e-5)


def test_w28_what_was_acknowledged_is_found_by_its_vector_at_once(shelf: Shelf) -> None:
    passages = [replace(p, keywords="") for p in crowd(60)]
    shelf.put(*passages)
    ids = {hit.id for hit in shelf.search("key key key 7", top_k=100).hits}
    assert ids == {p.id for p in passages}


def test_r12_ties_come_in_the_same_order_whatever_order_they_were_ingested_in(
    server_settings: Settings, collection_name: str
) -> None:
    passages = [
        replace(file(f"same {n}", f"{n}.md"), window="same", parts=("same",)) for n in range(40)
    ]
    passages = [replace(p, keywords=indexed("same")) for p in passages]
    orders = [passages, passages[::-1], sorted(passages, key=lambda p: p.id)]
    answers = []
    for number, order in enumerate(orders):
        shelf = Shelf(server_settings, f"{collection_name}{number}")
        for some in (order[:13], order[13:]):
            shelf.put(*some)
        answers.append([(hit.id, hit.score) for hit in shelf.search("same", top_k=20).hits])
    assert answers[0] == answers[1] == answers[2]


def test_copies_in_two_repositories_are_one_hit_that_names_both(shelf: Shelf) -> None:
    shelf.put(file("same words", "a.md"), file("same words", "b.md", repo="two"))
    (hit,) = shelf.search("same words").hits
    assert len(hit.also) == 1


def test_the_hits_of_eight_texts_are_those_of_each_alone(shelf: Shelf) -> None:
    shelf.put(*(file(f"word {n}", f"{n}.md") for n in range(30)))
    texts = [f"word {n}" for n in range(8)]
    together = shelf.search(*texts, top_k=100).hits
    for text in texts:
        alone = {hit.id: hit.rank for hit in shelf.search(text, top_k=100).hits}
        ranks = {hit.id: s.rank for hit in together for s in hit.signals if s.text == text}
        assert ranks == alone


def test_a_collection_that_was_replaced_in_the_middle_is_looked_up_once_more(shelf: Shelf) -> None:
    shelf.put(file("words"))

    class Late(Reader):
        """Resolves, the first time, to a collection that is gone by the time it is asked."""

        resolved = 0

        def resolve(self) -> Resolved:
            self.resolved += 1
            return Resolved("Gone_1", META) if self.resolved == 1 else super().resolve()

    with shelf.reader() as reader:
        late = Late(reader._client, shelf.collection)
        answer = lookups.search(
            query(["words"]),
            reader=late,
            settings=shelf.settings,
            embedder=lambda _: shelf.embedder,
        )
    assert [hit.text for hit in answer.hits] == ["words"]
    assert late.resolved == 2


def test_before_the_first_refresh_every_look_up_says_so(shelf: Shelf) -> None:
    for command, arguments in (
        ("search", {"texts": ["x"]}),
        ("recent", {}),
        ("thread", {"id": "$a"}),
        ("themes", {}),
        ("get", {"id": file("x").id}),
        ("sources", {}),
    ):
        document = shelf.ask(command, **arguments)
        assert document["exit"] == 3, command
        assert "huginn refresh" in document["unavailable"][0]["reason"]
    with shelf.reader() as reader, pytest.raises(CollectionMissing):
        reader.resolve()
