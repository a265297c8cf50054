"""``huginn doctor matrix``: what it finds, and what it says to do (spec 3.6)."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from flows.cli import main
from search.config_file import CONFIG_VARIABLE
from search.errors import HuginnError
from search.matrix_listing import TOKEN_VARIABLE, MatrixSettings
from search.settings import Settings
from tasks.doctor_rooms import RoomLook, homeserver_checks, looks, settings_checks
from tasks.domain.rooms import RoomRules
from tasks.errors import HomeserverRefused, HomeserverUnreachable
from tests.support.fake_community import FakeCommunity
from tests.support.fake_homeserver import FakeHomeserver

READER = "@reader:community.test"
PUPPET = "_discord_123456789012345678"


class Doctored(FakeHomeserver):
    """The fake, with what no refresh asks."""

    spoken: tuple[str, ...] | HuginnError = ("v1.1", "v1.12")

    def versions(self) -> tuple[str, ...]:
        if isinstance(self.spoken, HuginnError):
            raise self.spoken
        return self.spoken

    def invites(self) -> frozenset[str]:
        return frozenset()


@pytest.fixture
def people() -> FakeCommunity:
    return FakeCommunity()


@pytest.fixture
def homeserver(people: FakeCommunity) -> Doctored:
    return Doctored(people, "reader")


def looked(homeserver: Doctored, *excluded: str) -> dict[str, RoomLook]:
    standing = homeserver.standing()
    return {each.room: each for each in looks(homeserver, standing, RoomRules(excluded), {})}


def test_each_room_is_in_or_out_with_the_reason_and_no_name(
    people: FakeCommunity, homeserver: Doctored
) -> None:
    garden = people.room("ada", "reader", alias="garden")
    staff = people.room("ada", "reader", alias="staff")
    bridged = people.room("ada", "reader")
    people.put_state(bridged, "ada", "m.bridge", {"bridgebot": "@bot:community.test"}, "x")
    haunted = people.room("ada", "reader", PUPPET)
    people.leave(haunted, PUPPET)
    people.room("ada")
    found = looked(homeserver, "#staff")
    assert {room: (each.verdict, each.reason) for room, each in found.items()} == {
        garden: ("in", ""),
        staff: ("out", "it is excluded by id or alias"),
        bridged: ("out", "it is bridged"),
        haunted: ("out", "a bridge's puppet is or was in it"),
    }
    assert found[garden].alias == "#garden:community.test"
    assert "discord" not in repr(found)
    assert "@" not in repr(found)


def test_a_mark_that_lies_further_back_than_the_state_is_seen(
    people: FakeCommunity, homeserver: Doctored
) -> None:
    room = people.room("ada", "reader")
    bob = people.mxid("bob")
    marked: dict[str, object] = {"membership": "invite", "is_direct": True}
    for content in (marked, {"membership": "join"}, {"membership": "join"}):
        people.put_state(room, "ada", "m.room.member", content, bob)
    assert looked(homeserver)[room].reason == "it is a direct chat"


def test_a_room_that_cannot_be_judged_says_so_and_the_others_are_still_looked_at(
    people: FakeCommunity, homeserver: Doctored
) -> None:
    closed = people.room("ada", "reader")
    well = people.room("ada", "reader")
    homeserver.failing["state", closed] = HomeserverUnreachable("No answer. Try again.")
    found = looked(homeserver)
    assert (found[closed].verdict, found[closed].reason) == ("unknown", "No answer. Try again.")
    assert found[well].verdict == "in"


def test_a_homeserver_that_does_not_answer_is_all_that_is_told(homeserver: Doctored) -> None:
    homeserver.spoken = HomeserverUnreachable("No answer. Look at it.")
    (check,), standing = homeserver_checks(homeserver, READER)
    assert (check.name, check.is_well, check.told) == (
        "homeserver",
        False,
        "No answer. Look at it.",
    )
    assert standing is None


def test_one_that_refuses_the_token_is_told_from_one_that_is_none(homeserver: Doctored) -> None:
    unknown = HomeserverRefused("It does not know the token.", status=401, code="M_UNKNOWN_TOKEN")
    homeserver.spoken = homeserver.failing["standing"] = unknown
    checks, _ = homeserver_checks(homeserver, READER)
    assert [(each.name, each.is_well) for each in checks] == [
        ("homeserver", True),
        ("reader", False),
    ]
    homeserver.spoken = HomeserverRefused("That is no homeserver.", status=404)
    checks, _ = homeserver_checks(homeserver, READER)
    assert [(each.name, each.is_well) for each in checks] == [("homeserver", False)]


def test_a_homeserver_too_old_is_named(homeserver: Doctored) -> None:
    homeserver.spoken = ("r0.6.1",)
    (check,), _ = homeserver_checks(homeserver, READER)
    assert (check.is_well, "v1.1" in check.told) == (False, True)


def test_the_token_of_another_user_is_told(homeserver: Doctored) -> None:
    (_, check), standing = homeserver_checks(homeserver, "@other:community.test")
    assert (check.name, check.is_well, standing) == ("reader", False, None)
    assert "@other:community.test" in check.told


def settings_with(**matrix: object) -> Settings:
    known = {"homeserver": "https://m.test", "user": READER}
    return Settings(matrix=MatrixSettings(**known | matrix))


@pytest.mark.parametrize(("mode", "is_well"), [(0o600, True), (0o400, True), (0o640, False)])
def test_a_token_that_others_may_read_is_off(tmp_path: Path, mode: int, *, is_well: bool) -> None:
    token = tmp_path / "token"
    token.write_text("syt_secret")
    token.chmod(mode)
    (_, check) = settings_checks(settings_with(token_file=token), None)
    assert (check.name, check.is_well) == ("token", is_well)
    assert is_well or f"{mode:04o}" in check.told
    assert "syt_secret" not in check.told


def test_a_token_from_the_environment_or_none_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    (_, check) = settings_checks(settings_with(), None)
    assert (check.is_well, TOKEN_VARIABLE in check.told) == (False, True)
    monkeypatch.setenv(TOKEN_VARIABLE, "syt_secret")
    (_, check) = settings_checks(settings_with(), None)
    assert (check.is_well, "syt_secret" in check.told) == (True, False)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a settings file that names no homeserver; no server runs."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(CONFIG_VARIABLE, "")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    write(tmp_path, "")
    return tmp_path


def write(folder: Path, matrix: str) -> None:
    (folder / "huginn.toml").write_text(f'data_dir = "{folder / "data"}"\n{matrix}')


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["doctor", "matrix", *arguments])


def test_without_a_homeserver_the_steps_are_told_and_nothing_is_made(here: Path) -> None:
    result = run()
    assert result.exit_code == 1
    assert result.stdout.startswith("wrong  settings: matrix.homeserver is not set")
    for step in ("register_new_matrix_user", "--no-admin", "login", "token_file", "join"):
        assert step in result.stdout
    assert not (here / "data").exists()


def test_an_address_where_nobody_answers_ends_soon_and_says_what_to_do(here: Path) -> None:
    token = here / "token"
    token.write_text("syt_secret")
    token.chmod(0o600)
    write(
        here,
        f'[matrix]\nhomeserver = "http://127.0.0.1:9"\nuser = "{READER}"\n'
        f'token_file = "{token}"\npatience = 0\n',
    )
    result = run("--json")
    document = json.loads(result.stdout)
    assert (result.exit_code, document["is_well"]) == (1, False)
    assert [each["name"] for each in document["checks"]] == ["settings", "token", "homeserver"]
    assert "matrix.homeserver" in document["checks"][-1]["told"]
    assert "syt_secret" not in result.output
    assert not (here / "data").exists()


@pytest.mark.parametrize("content", ["", "two words", "täken"])
def test_a_token_that_none_can_be_is_one_line(here: Path, content: str) -> None:
    (here / "token").write_text(content)
    (here / "token").chmod(0o600)
    write(
        here,
        f'[matrix]\nhomeserver = "http://127.0.0.1:9"\nuser = "{READER}"\n'
        f'token_file = "{here / "token"}"\n',
    )
    result = run()
    assert result.exit_code == 1
    assert "\nwrong  " in result.stdout
    assert "Traceback" not in result.output
