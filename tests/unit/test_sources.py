"""Names and what they mean; who can be vouched for (spec 1.5, 6.3, 6.5)."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from search.errors import UsageError
from search.listing import RepositorySettings
from search.matrix_links import event_link, server_of
from search.scope import scope
from search.sources import asked, listed
from search.vouching import DEAD_AFTER, unavailable, why_unavailable
from tests.support.fakes import current

RECORDS = {
    "chat:!dev": current("chat:!dev", alias="#dev:example.org", name="Talk", label="Work"),
    "chat:!off": current("chat:!off", alias="#off:example.org", label="Rest"),
    "repo:core": current("repo:core", label="Work"),
    "repo:core-ui": current("repo:core-ui"),
}
KNOWN = listed(RECORDS, (), has_list=False)


def ids(**filters: object) -> list[str]:
    return sorted(asked(scope(**filters), KNOWN).sources)  # type: ignore[arg-type]


def test_a_room_goes_by_its_id_alias_name_or_label() -> None:
    for name in ("!dev", "#dev:example.org", "Talk", "Work", "chat:!dev"):
        assert ids(rooms=[name]) == ["chat:!dev"]


def test_a_repository_goes_by_its_whole_name_or_label() -> None:
    assert ids(repositories=["core"]) == ["repo:core"]
    assert ids(repositories=["repo:core-ui"]) == ["repo:core-ui"]
    assert ids(repositories=["Work"]) == ["repo:core"]


def test_sources_take_a_corpus_or_any_name_and_a_shared_label_means_all_that_have_it() -> None:
    assert ids(sources=["chat"]) == ["chat:!dev", "chat:!off"]
    assert ids(sources=["forge"]) == ["repo:core", "repo:core-ui"]
    assert ids(sources=["Work"]) == ["chat:!dev", "repo:core"]
    assert ids(sources=["!off", "core"]) == ["chat:!off", "repo:core"]


def test_places_add_up_and_sources_narrow_them() -> None:
    assert ids(rooms=["!dev"], repositories=["core"]) == ["chat:!dev", "repo:core"]
    assert ids(rooms=["!dev"], repositories=["core"], sources=["forge"]) == ["repo:core"]
    assert ids(corpus="forge", sources=["Work"]) == ["repo:core"]
    with pytest.raises(UsageError, match="leave nothing"):
        ids(rooms=["!dev"], sources=["forge"])


@pytest.mark.parametrize(
    ("filters", "fix"),
    [
        ({"rooms": ["#def:example.org"]}, "Did you mean '#dev:example.org'?"),
        ({"rooms": ["core"]}, "Known: !dev, #dev:example.org, Talk, Work, !off, "),
        ({"repositories": ["!dev"]}, "Known: core, Work, core-ui."),
        ({"sources": ["chats"]}, "Did you mean 'chat'?"),
    ],
    ids=["near", "other-kind", "room-as-repo", "corpus"],
)
def test_an_unknown_name_is_refused_with_the_nearest_or_all_known(
    filters: dict[str, list[str]], fix: str
) -> None:
    with pytest.raises(UsageError) as refused:
        ids(**filters)
    assert refused.value.fix.startswith(fix)


def test_rooms_are_seen_while_held_and_repositories_while_listed() -> None:
    core = RepositorySettings(name="core", url="/srv/core", label="Mine")
    new = RepositorySettings(name="new", url="/srv/new", label="New")
    known = listed(RECORDS, (core, new), has_list=True)
    assert [*known] == ["repo:core", "repo:new", "chat:!dev", "chat:!off"]
    assert [known[source].label for source in ("repo:core", "repo:new")] == ["Work", "New"]


def test_people_see_the_alias_of_a_room_or_else_what_there_is() -> None:
    assert KNOWN["chat:!dev"].name == "#dev:example.org"
    bare = {"chat:!x": current("chat:!x", name="Talk"), "chat:!y": current("chat:!y")}
    assert [source.name for source in listed(bare, (), has_list=False).values()] == ["Talk", "!y"]


NOW = datetime(2026, 3, 1, tzinfo=UTC)


def test_a_run_that_notes_nothing_for_long_is_taken_for_dead() -> None:
    running = current("repo:core", state="refreshing", last_attempt=NOW - DEAD_AFTER)
    assert why_unavailable(running, NOW) is None
    assert "has not ended" in str(why_unavailable(running, NOW + timedelta(seconds=1)))


def test_only_those_that_cannot_be_vouched_for_are_told() -> None:
    failed = replace(RECORDS["repo:core"], state="failed", reason="gone")
    told = unavailable({"repo:core": failed, "chat:!dev": RECORDS["chat:!dev"], "repo:new": None})
    assert told == {
        "repo:core": "the last run failed: gone",
        "repo:new": "not ingested yet: run `huginn refresh`",
    }


@pytest.mark.parametrize(
    ("identity", "server"),
    [
        ("https://matrix.example.org as @reader:example.org", "example.org"),
        ("http://127.0.0.1:8008 as @reader:community.test:8448", "community.test:8448"),
        ("https://git.example.org/core", None),
        ("", None),
    ],
)
def test_the_readers_homeserver_vouches_for_senders(identity: str, server: str | None) -> None:
    assert server_of(identity) == server


def test_links_name_room_and_event_encoded_and_a_server_to_go_by() -> None:
    assert event_link("!a/b", "$x+y", "example.org:8448") == (
        "https://matrix.to/#/%21a%2Fb/%24x%2By?via=example.org%3A8448"
    )
    assert event_link("!a", "$x", None) == "https://matrix.to/#/%21a/%24x"
