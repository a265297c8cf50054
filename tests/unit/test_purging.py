"""What a purge means, where it is noted, and what it deletes (spec 4.7)."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from flows.cli import main
from search.config_file import CONFIG_VARIABLE
from search.errors import UsageError
from search.ledger import RoomCursor, SourceRecord
from search.passage import Passage
from search.settings import Settings
from tasks.context import Store
from tasks.domain.purges import Purge
from tasks.domain.room_cursors import begun, swept
from tasks.errors import WritesNotAcknowledged
from tasks.purge import NOT_WHOLE, delete_now, known_purges, purge_of, room_named, say, take_back
from tasks.room_records import forget_purge, purges_of
from tasks.tombstones import FILE, reapply
from tests.support.chats import ROOM, START, turn, window
from tests.support.fake_windows import FakeWindowIndex
from tests.support.fakes import FakeLedger, FakePassageWriter, current, vectors_for

SOURCE = f"chat:{ROOM}"
NOON, ONE = "2026-03-01T12:00:00Z", "2026-03-01T13:00:00Z"
HELD = RoomCursor(stream="s9", event="$last", version="v1")


@pytest.fixture
def store() -> Store:
    """A room of four windows, and another that no purge of the first may touch."""
    writer = FakePassageWriter()
    bob = [turn("c", 20, "bob"), turn("d", 21)]
    windows = [
        window([turn("a", 0), turn("b", 1, edit="$edited")]),
        window(bob),
        window([turn("e", 40)], thread="$root"),
        window([turn("f", 60)]),
        window([turn("x", 20)], room="!other"),
    ]
    writer.write((each, vectors_for(each.window)) for each in windows)
    ledger = FakeLedger()
    ledger.put(current(SOURCE, room=HELD, alias="#beds:example.org", passages=4))
    return Store(writer, ledger)


def index(store: Store) -> FakeWindowIndex:
    writer = store.writer
    assert isinstance(writer, FakePassageWriter)
    return FakeWindowIndex(writer)


def firsts(store: Store) -> list[str]:
    """First events of the windows that are held."""
    writer = store.writer
    assert isinstance(writer, FakePassageWriter)
    held: list[Passage] = [passage for passage, _ in writer.held.values()]
    return sorted(passage.turns[0].event.removeprefix("$") for passage in held)


def minutes(first: float, last: float, **more: Any) -> Purge:
    return Purge(ROOM, START + timedelta(minutes=first), START + timedelta(minutes=last), **more)


@pytest.mark.parametrize(
    ("options", "field"),
    [
        pytest.param({"first": "2026-03-01T12:00:00", "last": ONE}, "from", id="no zone"),
        pytest.param({"first": NOON, "last": "2026-03-01T13:00:00"}, "to", id="no zone, last"),
        pytest.param({"first": "2026-03-01", "last": ONE}, "from", id="a date alone"),
        pytest.param({"first": "2w", "last": ONE}, "from", id="a span"),
        pytest.param({"first": "2026-02-30T12:00:00Z", "last": ONE}, "from", id="no such day"),
        pytest.param({"first": ONE, "last": NOON}, "from", id="from after to"),
        pytest.param({"first": NOON}, "to", id="no end"),
        pytest.param({"last": NOON}, "from", id="no start"),
        pytest.param({"sender": "@ada:example.org"}, "from", id="a sender without bounds"),
        pytest.param({"first": NOON, "everything": True}, "everything", id="everything, bounds"),
        pytest.param({"event": "$a", "sender": "@a:b.c"}, "event", id="event and sender"),
        pytest.param({"event": "a"}, "event", id="no event id"),
        pytest.param({"everything": True, "sender": "ada"}, "sender", id="no user id"),
        pytest.param(
            {"everything": True, "sender": "@_discord_1:b.c"}, "sender", id="a puppet as sender"
        ),
    ],
)
def test_what_does_not_say_a_purge_is_refused_by_the_option(
    options: dict[str, Any], field: str
) -> None:
    with pytest.raises(UsageError) as caught:
        purge_of(ROOM, **options)
    assert caught.value.field == field


def test_a_room_that_is_no_id_is_refused() -> None:
    with pytest.raises(UsageError) as caught:
        purge_of("garden", everything=True)
    assert caught.value.field == "room"


def test_bounds_in_any_zone_are_the_same_purge() -> None:
    purge = purge_of(ROOM, first=NOON, last=ONE)
    assert purge == Purge(ROOM, START, START + timedelta(hours=1))
    later = purge_of(ROOM, first="2026-03-01T14:00:00+02:00", last="2026-03-01t13:00:00.000z")
    assert later.id == purge.id


def test_an_event_is_one_message_whenever_it_was() -> None:
    assert purge_of(ROOM, event="$a") == Purge(ROOM, event="$a")
    assert purge_of(ROOM, event="$a", first=NOON, last=ONE) == Purge(ROOM, event="$a")


def test_a_refused_puppet_is_not_repeated() -> None:
    with pytest.raises(UsageError) as caught:
        purge_of(ROOM, everything=True, sender="@_discord_123:example.org")
    assert "discord" not in str(caught.value)


def test_a_room_is_named_by_its_id_or_by_an_alias_that_is_held(store: Store) -> None:
    assert room_named(store.ledger, "#Beds:example.org") == ROOM
    for unheld in ("!elsewhere", "chat:!elsewhere"):
        assert room_named(store.ledger, unheld) == "!elsewhere"


def test_an_alias_of_no_room_or_of_two_is_refused(store: Store) -> None:
    with pytest.raises(UsageError, match="0 rooms"):
        room_named(store.ledger, "#other:example.org")
    store.ledger.put(SourceRecord("chat:!second", alias="#beds:example.org"))
    with pytest.raises(UsageError, match=f"{SOURCE}, chat:!second|chat:!second, {SOURCE}"):
        room_named(store.ledger, "#beds:example.org")


@pytest.mark.parametrize(
    ("purge", "left"),
    [
        pytest.param(minutes(1, 1), "cefx", id="the last moment of a window"),
        pytest.param(minutes(21, 40), "afx", id="over threads, both bounds included"),
        pytest.param(minutes(2, 19), "acefx", id="between windows"),
        pytest.param(minutes(0, 60, sender="@bob:example.org"), "aefx", id="a sender"),
        pytest.param(Purge(ROOM, sender="@bob:example.org"), "aefx", id="a sender, no bounds"),
        pytest.param(minutes(30, 60, sender="@bob:example.org"), "acefx", id="a sender elsewhere"),
        pytest.param(Purge(ROOM, event="$d"), "aefx", id="an event"),
        pytest.param(Purge(ROOM, event="$edited"), "cefx", id="an edit"),
        pytest.param(Purge("!unheld", event="$d"), "acefx", id="a room that is not held"),
        pytest.param(Purge(ROOM), "x", id="everything"),
    ],
)
def test_now_deletes_the_windows_that_a_purge_meets(store: Store, purge: Purge, left: str) -> None:
    assert delete_now(store, index(store), purge) == 5 - len(left)
    assert firsts(store) == [*left]


def test_a_room_that_lost_a_window_vouches_for_nothing_until_it_is_read_again(
    store: Store,
) -> None:
    delete_now(store, index(store), minutes(20, 20))
    record = store.ledger.record(SOURCE)
    assert record.room == RoomCursor(event="$last")
    assert (record.state, record.reason, record.passages) == ("deleting", NOT_WHOLE, 3)


def test_a_purge_that_meets_nothing_leaves_the_cursor(store: Store) -> None:
    before = store.ledger.record(SOURCE)
    assert delete_now(store, index(store), minutes(2, 19)) == 0
    assert store.ledger.record(SOURCE) == before


def test_the_cursor_vouches_for_nothing_before_the_first_window_goes(store: Store) -> None:
    writer = store.writer
    assert isinstance(writer, FakePassageWriter)
    writer.keeping = {*writer.held}
    with pytest.raises(WritesNotAcknowledged):
        delete_now(store, index(store), minutes(20, 20))
    assert store.ledger.record(SOURCE).room.stream is None


def test_a_whole_room_that_goes_is_forgotten(store: Store) -> None:
    delete_now(store, index(store), Purge(ROOM))
    assert store.ledger.records() == {}


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data_dir=tmp_path / "data")


def test_a_purge_is_noted_in_the_file_and_in_the_ledger(store: Store, settings: Settings) -> None:
    purge = minutes(0, 1)
    say(settings, store, purge)
    assert purges_of(store.ledger) == [purge]
    assert known_purges(settings, None) == [purge]
    forget_purge(store.ledger, purge)
    assert known_purges(settings, store.ledger) == [purge]


def test_the_file_has_a_purge_before_the_ledger_does(store: Store, settings: Settings) -> None:
    class Broken(FakeLedger):
        def put_document(self, kind: str, payload: str, key: str = "") -> None:
            raise WritesNotAcknowledged(key, kind, planned=len(payload), acknowledged=0)

    with pytest.raises(WritesNotAcknowledged):
        say(settings, Store(store.writer, Broken()), minutes(0, 1))
    assert known_purges(settings, None) == [minutes(0, 1)]


def test_a_purge_taken_back_stays_away_and_its_room_is_read_again(
    store: Store, settings: Settings
) -> None:
    purge = minutes(0, 1)
    say(settings, store, purge)
    assert take_back(settings, store, purge)
    reapply(settings, store.ledger)
    assert purges_of(store.ledger) == []
    record = store.ledger.record(SOURCE)
    assert (record.state, record.room) == ("refreshing", RoomCursor(event="$last"))


def test_a_purge_of_a_room_that_is_not_held_is_taken_back_without_making_a_record(
    store: Store, settings: Settings
) -> None:
    purge = Purge("!unheld", event="$a")
    say(settings, store, purge)
    assert not take_back(settings, store, purge)
    assert [*store.ledger.records()] == [SOURCE]


@pytest.mark.parametrize(
    ("cursor", "expected"),
    [
        pytest.param(
            RoomCursor(None, "$e", "v1", "back", "t3", "s5", "2026", purges=("old",)),
            RoomCursor(
                None, "$e", "v1", "back", "t3", "s5", "2026", again=True, purges=("old", "new")
            ),
            id="walking back: the sweep is to come",
        ),
        pytest.param(
            RoomCursor("s3", "$e", "v1", "sweep", "id", "s3", purges=("old",)),
            RoomCursor("s3", "$e", "v1", "sweep", "", "s3", "", again=True, purges=("old", "new")),
            id="sweeping: from the start",
        ),
        pytest.param(
            RoomCursor("s3", "$e", "v1", "forward", "t4", "s5"),
            RoomCursor("s3", "$e", "v1", "sweep", "", "s3", "", again=True, purges=("new",)),
            id="going forward: sweeps, then from the stream token on",
        ),
    ],
)
def test_a_run_that_goes_on_takes_a_new_purge_along(
    cursor: RoomCursor, expected: RoomCursor
) -> None:
    resumed = begun(cursor, "s9", version="v1", purges=("new",))
    assert resumed == expected
    assert begun(resumed, "s9", version="v1", purges=resumed.purges) == resumed
    if expected.phase == "sweep":
        assert swept(resumed).page == expected.target


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a settings file; no server runs, and there is no repository."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(CONFIG_VARIABLE, "")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (tmp_path / "huginn.toml").write_text(f'data_dir = "{tmp_path / "data"}"\n')
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["chat-purge", *arguments])


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        pytest.param([], "Give --room", id="nothing"),
        pytest.param(["--room", "!a", "--everything"], "Give --yes too", id="nobody to ask"),
        pytest.param(["--room", "#a:b.c", "--from", NOON], "to: it is missing", id="no end"),
        pytest.param(["--now", "list"], "Give options after list", id="options before"),
    ],
)
def test_wrong_usage_opens_and_notes_nothing(here: Path, arguments: list[str], told: str) -> None:
    result = run(*arguments)
    assert (result.exit_code, told in result.stderr) == (2, True), result.stderr
    assert not (here / "data").exists()


def test_the_list_starts_no_server_and_shows_what_the_file_has(here: Path) -> None:
    assert run("list").stdout == "no purge is in force\n"
    (here / "data").mkdir()
    purge = Purge("!a", datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 3, 2, tzinfo=UTC))
    (here / "data" / FILE).write_text(purge.as_json())
    assert run("list").stdout == (
        f"{purge.id}  unknown (server down)  everything in chat:!a "
        "from 2026-03-01T00:00:00Z to 2026-03-02T00:00:00Z, both included\n"
    )
    assert (
        json.loads(run("list", "--json").stdout)["purges"][0]["to"] == "2026-03-02T00:00:00+00:00"
    )
    assert not (here / "data" / "weaviate").exists()
