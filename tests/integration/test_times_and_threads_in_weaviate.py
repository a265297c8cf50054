"""recent, thread, get, sources, doctor and themes on the real server (spec 6.6)."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from search.errors import UsageError
from search.ledger import Journal, JournalEntry, RoomCursor
from search.passage import Passage, passage_id
from search.scope import Scope
from search.settings import Settings
from search.terms import indexed
from search.themes import Theme, themes
from tests.support.chats import ROOM, START, turn, window
from tests.support.fakes import IDENTITY as MODEL
from tests.support.fakes import current, file_passage
from tests.support.shelf import IDENTITY, Shelf


@pytest.fixture
def shelf(server_settings: Settings, collection_name: str) -> Shelf:
    return Shelf(server_settings, collection_name)


def commit(text: str, minute: float, *, sha: str, repo: str = "one", part: int = 0) -> Passage:
    at = START + timedelta(minutes=minute)
    return replace(
        file_passage(text, repo=repo),
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


def texts(document: dict[str, Any]) -> list[str]:
    return [entry["text"] for entry in document["entries"]]


def bodies(document: dict[str, Any]) -> list[str]:
    return [each["body"] for each in document["conversation"]["turns"]]


def test_recent_gives_messages_and_commits_of_all_places_newest_first(shelf: Shelf) -> None:
    shelf.put(
        window([turn("a", 0), turn("d", 30)]),
        window([turn("b", 10)], thread="$a"),
        window([turn("c", 20)], room="!other"),
        commit("a commit", 15, sha="c" * 40),
        file_passage("a file"),
    )
    document = shelf.ask("recent", limit=4)
    assert texts(document) == ["says d", "says c", "a commit", "says b"]
    assert [entry["kind"] for entry in document["entries"]] == [
        *("message", "message", "commit", "message")
    ]
    first = document["entries"][0]
    assert first["citation"]["link"] == ("https://matrix.to/#/%21room/%24d?via=example.org")
    assert (first["vouched_by"], first["author"]) == ("example.org", "@ada:example.org")
    assert document["entries"][2]["vouched_by"] is None
    assert shelf.embedder.texts == []


def test_recent_gives_the_last_n_although_windows_hold_many_or_overlap(shelf: Shelf) -> None:
    """A long quiet window ends last; the messages before its last one are older than others."""
    busy = [window([turn(f"b{n}", 100 + n)], room="!busy") for n in range(12)]
    shelf.put(window([turn("old", 0), turn("new", 200)]), *busy)
    expected = ["says new", *(f"says b{n}" for n in range(11, -1, -1)), "says old"]
    for limit in (1, 2, 5, 12, 13, 14, 20):
        assert texts(shelf.ask("recent", limit=limit)) == expected[:limit]


def test_recent_looks_on_until_no_older_window_can_hold_a_newer_message(shelf: Shelf) -> None:
    """Ada's windows that end last hold old words of hers: Bob spoke last in them."""
    late = [
        window([turn(f"a{n}", n), turn(f"b{n}", 100 + n, "bob")], room=f"!r{n}") for n in range(9)
    ]
    shelf.put(*late, window([turn("newest", 50)], room="!quiet"))
    for limit in (1, 2):
        document = shelf.ask("recent", sender="@ada:example.org", limit=limit)
        assert texts(document) == ["says newest", "says a8"][:limit]


def test_recent_leaves_out_messages_of_a_window_that_do_not_fit_themselves(shelf: Shelf) -> None:
    shelf.put(window([turn("a", 0), turn("b", 10, "bob"), turn("c", 20), turn("d", 30, "bob")]))
    assert texts(shelf.ask("recent", sender="@bob:example.org")) == ["says d", "says b"]
    since = (START + timedelta(minutes=10)).isoformat()
    until = (START + timedelta(minutes=20)).isoformat()
    assert texts(shelf.ask("recent", since=since, until=until)) == ["says c", "says b"]
    assert texts(shelf.ask("recent", limit=1, until=until)) == ["says c"]


def test_recent_makes_a_message_that_was_cut_whole_again(shelf: Shelf) -> None:
    whole = "One. Two. Three."
    pieces = [turn("long", 5, body=body) for body in ("One. ", "Two. ", "Three.")]
    shelf.put(
        window([pieces[2], turn("z", 6)], part=1),
        window([turn("a", 0), pieces[0]]),
        window([pieces[1]], part=0),
    )
    assert texts(shelf.ask("recent", limit=2)) == ["says z", whole]


def test_recent_names_a_commit_once_with_the_other_repositories_that_have_it(shelf: Shelf) -> None:
    shelf.put(
        *(commit("first part", 0, sha="a" * 40, repo=repo) for repo in ("fork", "one")),
        *(commit("second part", 0, sha="a" * 40, repo=repo, part=1) for repo in ("fork", "one")),
        commit("later", 1, sha="b" * 40),
    )
    document = shelf.ask("recent", corpus="forge", limit=2)
    assert texts(document) == ["later", "first part\nsecond part"]
    assert [place["repository"] for place in document["entries"][1]["also"]] == ["one"]


def test_a_thread_is_given_whole_by_its_root_by_any_reply_and_by_a_passage(shelf: Shelf) -> None:
    replies = [window([turn(f"r{n}", 60 * n)], thread="$root") for n in (3, 1, 2)]
    shelf.put(
        window([turn("before", 0), turn("root", 1), turn("after", 2)]),
        *replies,
        window([turn("r9", 5)], thread="$other"),
    )
    for asked in ("$root", "$r2", replies[0].id):
        document = shelf.ask("thread", id=asked)
        assert bodies(document) == ["says root", "says r1", "says r2", "says r3"]
        conversation = document["conversation"]
        assert [each["turn"] for each in conversation["turns"]] == [1, 2, 3, 4]
        assert (conversation["kind"], conversation["thread"]) == ("thread", "$root")
        assert document["exit"] == 0


def test_a_thread_whose_root_was_redacted_is_still_given(shelf: Shelf) -> None:
    shelf.put(window([turn("r1", 1), turn("r2", 2)], thread="$gone"))
    assert bodies(shelf.ask("thread", id="$gone")) == ["says r1", "says r2"]


def test_a_session_ends_where_the_pause_is_too_long(shelf: Shelf) -> None:
    minutes = [0, 50, 100, 170, 175, 180, 300]
    shelf.put(
        *(window([turn(f"m{at}", at)]) for at in minutes), window([turn("t", 51)], thread="$x")
    )
    for asked, expected in (
        ("$m50", ["says m0", "says m50", "says m100"]),
        ("$m180", ["says m170", "says m175", "says m180"]),
        ("$m300", ["says m300"]),
    ):
        document = shelf.ask("thread", id=asked)
        assert bodies(document) == expected
        assert document["conversation"]["kind"] == "session"
        assert document["conversation"]["asked"] == asked
    assert len(bodies(shelf.ask("thread", id="$m50", gap="2h"))) == 7


def test_a_long_session_is_cut_around_what_was_asked_and_says_so(shelf: Shelf) -> None:
    shelf.put(*(window([turn(f"m{n}", n)]) for n in range(30)))
    conversation = shelf.ask("thread", id="$m10", limit=4)["conversation"]
    assert [each["event"] for each in conversation["turns"]] == ["$m8", "$m9", "$m10", "$m11"]
    assert [each["turn"] for each in conversation["turns"]] == [9, 10, 11, 12]
    assert (conversation["more_before"], conversation["more_after"]) == (True, True)
    first = shelf.ask("thread", id="$m0", limit=4)["conversation"]
    assert (first["more_before"], first["more_after"]) == (False, True)


def test_an_unknown_event_is_an_empty_answer_and_a_file_is_refused(shelf: Shelf) -> None:
    file = file_passage("words")
    shelf.put(window([turn("a", 0)]), file)
    document = shelf.ask("thread", id="$nothing")
    assert (document["conversation"], document["exit"]) == (None, 1)
    with pytest.raises(UsageError) as refused:
        shelf.ask("thread", id=file.id)
    assert refused.value.field == "id"


def test_get_gives_the_windows_before_and_after_in_the_same_timeline(shelf: Shelf) -> None:
    windows = [window([turn(f"m{n}", n)]) for n in range(5)]
    pieces = [window([turn("m2", 2, body=f"piece {n}")], part=n) for n in (1, 2)]
    shelf.put(
        *windows, *pieces, window([turn("t", 2)], thread="$m0"), window([turn("o", 2)], room="!o")
    )
    document = shelf.ask("get", id=pieces[0].id, neighbours=2)
    assert document["passage"]["text"] == pieces[0].text
    assert [each["id"] for each in document["before"]] == [windows[1].id, windows[2].id]
    assert [each["id"] for each in document["after"]] == [pieces[1].id, windows[3].id]
    first = shelf.ask("get", id=windows[0].id)
    assert (first["before"], [each["id"] for each in first["after"]]) == ([], [windows[1].id])


def test_get_gives_the_parts_of_the_same_file_or_commit(shelf: Shelf) -> None:
    parts = [file_passage(f"part {n}", "a.md", part=n) for n in range(12)]
    message = [commit(f"line {n}", 0, sha="a" * 40, part=n) for n in range(2)]
    shelf.put(*parts, *message, file_passage("part 3", "b.md", part=3))
    document = shelf.ask("get", id=parts[2].id, neighbours=3)
    assert [each["text"] for each in document["before"]] == ["part 0", "part 1"]
    assert [each["text"] for each in document["after"]] == ["part 3", "part 4", "part 5"]
    assert [each["text"] for each in shelf.ask("get", id=message[1].id)["before"]] == ["line 0"]
    alone = shelf.ask("get", id=parts[2].id, neighbours=0)
    assert (alone["before"], alone["after"]) == ([], [])


def test_what_is_no_longer_listed_is_hidden_from_every_look_up(shelf: Shelf) -> None:
    hidden = file_passage("words", repo="two")
    shelf.put(file_passage("words"), hidden, commit("a commit", 0, sha="a" * 40, repo="two"))
    shelf.unlisted.add("repo:two")
    assert shelf.ask("get", id=hidden.id)["exit"] == 1
    assert texts(shelf.ask("recent")) == []
    assert [s["source"] for s in shelf.ask("sources")["sources"]] == ["repo:one"]
    assert [s["source"] for s in shelf.ask("doctor")["sources"]] == ["repo:one"]
    assert shelf.ask("themes")["total"] == 1


def test_sources_tells_names_numbers_freshness_and_why_one_is_unavailable(shelf: Shelf) -> None:
    room = current(f"chat:{ROOM}", alias="#dev:example.org", name="Dev talk", label="Development")
    shelf.note(replace(room, passages=7))
    shelf.note(current("repo:one", state="failed", reason="gone. Look."))
    document = shelf.ask("sources")
    assert document["sources"][1] == {
        "source": f"chat:{ROOM}",
        "corpus": "chat",
        "name": "#dev:example.org",
        "label": "Development",
        "names": [ROOM, "#dev:example.org", "Dev talk", "Development", f"chat:{ROOM}"],
        "state": "current",
        "passages": 7,
        "fresh_at": "2026-01-02T03:04:05+00:00",
        "covered_since": None,
        "reason": None,
    }
    assert document["unavailable"] == [
        {"source": "repo:one", "reason": "the last run failed: gone. Look."}
    ]
    assert document["exit"] == 0
    assert len(shelf.ask("sources", corpus="chat")["sources"]) == 1


def test_doctor_tells_of_each_source_the_collection_the_model_and_the_server(shelf: Shelf) -> None:
    cursor = RoomCursor(stream="s1_secret-looking", event="$last", version="w1")
    shelf.note(
        current(f"chat:{ROOM}", room=cursor, identity=IDENTITY, read={"stored": 3, "redacted": 1})
    )
    shelf.put(window([turn("a", 0)]), file_passage("words"), file_passage("more", "b.md"))
    refused = JournalEntry("!dm", "", admitted=False, reason="a direct message")
    shelf.journal(
        Journal(datetime(2026, 1, 3, tzinfo=UTC), (refused, JournalEntry(ROOM, "", admitted=True)))
    )
    document = shelf.ask("doctor")
    assert (document["exit"], document["problems"]) == (0, [])
    assert document["server"]["ready"]
    assert document["server"]["version"].startswith("1.")
    assert document["collection"]["name"].startswith(shelf.collection)
    assert (document["model"]["name"], document["model"]["digest"]) == (MODEL.name, MODEL.digest)
    counted = {source["source"]: source["passages"] for source in document["sources"]}
    assert counted == {f"chat:{ROOM}": 1, "repo:one": 2}
    chat = next(s for s in document["sources"] if s["corpus"] == "chat")
    assert chat["cursor"] == {"event": "$last", "rules": "w1", "phase": None}
    assert chat["read"] == {"redacted": 1, "stored": 3}
    assert document["journal"] == {
        "at": "2026-01-03T00:00:00+00:00",
        "admitted": 1,
        "refused": [{"room": "!dm", "alias": None, "reason": "a direct message"}],
    }
    assert "s1_secret-looking" not in str(document)


def test_doctor_says_when_the_collection_was_made_with_another_model(shelf: Shelf) -> None:
    shelf.put(file_passage("words"))
    shelf.embedder._fake_identity = replace(MODEL, digest="other")
    document = shelf.ask("doctor")
    assert document["exit"] == 3
    assert "other weights" in document["problems"][0]


TOPICS = {
    "ravens": ["ravens fly over the world", "two ravens fly at dawn", "ravens fly home"],
    "signing": ["signing keys rotate", "rotate the signing keys", "old signing keys expire"],
}


def talk(
    number: int, topic: str, vary: Callable[[int], list[float]]
) -> tuple[Passage, list[float]]:
    body = TOPICS[topic][number % 3]
    made = window([turn(f"{topic}{number}", number, body=f"{body} {number}")])
    return replace(made, keywords=indexed(f"ada: {body}")), vary(number)


def test_themes_are_the_same_for_the_same_data_whatever_order_it_came_in(
    server_settings: Settings, collection_name: str
) -> None:
    talks = [
        *(talk(n, "ravens", lambda n: [1.0, 0.02 * n, 0.0, 0.0]) for n in range(20)),
        *(talk(n, "signing", lambda n: [0.0, 0.0, 1.0, 0.02 * n]) for n in range(12)),
    ]
    documents = []
    for number, order in enumerate([talks, talks[::-1]]):
        shelf = Shelf(server_settings, f"{collection_name}{number}")
        shelf.put(*(p for p, _ in order), vectors={p.id: v for p, v in order})
        documents.append(shelf.ask("themes", count=2))
    assert documents[0]["themes"] == documents[1]["themes"]
    first, second = documents[0]["themes"]
    assert (first["size"], second["size"]) == (20, 12)
    assert {"ravens", "fly"} <= set(first["terms"])
    assert {"signing", "keys"} <= set(second["terms"])
    assert "ada" not in first["terms"]
    assert (first["start"], first["end"]) == (
        *("2026-03-01T12:00:00+00:00", "2026-03-01T12:19:00+00:00"),
    )
    assert len({each["id"] for each in first["typical"]}) == 3
    assert all("ravens" in each["text"] for each in first["typical"])


def test_themes_of_a_large_selection_are_made_of_a_stated_sample(
    server_settings: Settings, collection_name: str
) -> None:
    passages = [file_passage(f"words {n}", f"{n}.md") for n in range(50)]
    found = []
    for number, order in enumerate([passages, passages[::-1]]):
        shelf = Shelf(server_settings, f"{collection_name}{number}")
        shelf.put(*order)
        with shelf.reader() as reader:
            made = themes(Scope(), 3, reader=reader, settings=shelf.settings, sample=20)
        assert (made.total, made.sampled) == (50, 20)
        assert sum(theme.size for theme in made.themes) == 20
        found.append([(theme.terms, theme.size, ids_of(theme)) for theme in made.themes])
    assert found[0] == found[1]


def ids_of(theme: Theme) -> list[str]:
    return [passage.id for passage in theme.typical]


def test_themes_of_nothing_are_an_empty_answer(shelf: Shelf) -> None:
    shelf.put(window([turn("a", 0)]))
    document = shelf.ask("themes", sender="@nobody:example.org")
    assert (document["themes"], document["total"], document["exit"]) == ([], 0, 1)
