"""A homeserver that fails in some way: each way ends, soon, as the right kind of error (M29, M49).

The servers are real ones that speak HTTP badly; a test that does not end fails by its time limit.
"""

import asyncio
import gc
import json
import socket
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from tasks.adapters.matrix import MatrixHomeserver
from tasks.errors import HomeserverRefused, HomeserverUnreachable
from tests.support.odd_server import HANG, HOLD, OddServer, answer, odd_server

TOKEN = "syt_cmVhZGVy_secretsecret"
PLANTED = "what somebody wrote"
WHOAMI = answer(200, json.dumps({"user_id": "@reader:community.test"}))
HTML = f"<html><h1>Too many</h1>{PLANTED}</html>"


def error_body(code: str, **more: object) -> str:
    return json.dumps({"errcode": code, "error": PLANTED, **more})


@contextmanager
def asked(
    *answers: bytes, timeout: float = 5, patience: float = 2
) -> Iterator[tuple[MatrixHomeserver, OddServer]]:
    with (
        odd_server(*answers) as server,
        MatrixHomeserver(server.url, TOKEN, timeout=timeout, patience=patience) as homeserver,
    ):
        yield homeserver, server


@pytest.mark.parametrize(
    "bad",
    [
        pytest.param(answer(429, HTML, "text/html"), id="429-html-without-a-wait"),
        pytest.param(answer(429, error_body("M_LIMIT_EXCEEDED", retry_after_ms=50)), id="429-json"),
        pytest.param(answer(429, error_body("M_LIMIT_EXCEEDED")), id="429-json-without-a-wait"),
        pytest.param(
            answer(429, error_body("M_LIMIT_EXCEEDED", retry_after_ms="soon")), id="429-odd-wait"
        ),
        pytest.param(answer(429, HTML, "text/html", Retry_After="0"), id="429-header"),
        pytest.param(answer(500, error_body("M_UNKNOWN")), id="500"),
        pytest.param(answer(502, HTML, "text/html"), id="502-html"),
        pytest.param(answer(408, ""), id="408"),
        pytest.param(answer(200, '{"user_id": "@rea', length=40), id="connection-lost-in-the-body"),
        pytest.param(answer(200, '{"user_id": "@rea'), id="body-cut-by-a-proxy"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-", id="connection-lost-in-the-head"),
        pytest.param(b"\x00\x01 no HTTP \r\n\r\n", id="no-http"),
    ],
)
def test_m29_what_may_pass_is_asked_again_and_then_answered(bad: bytes) -> None:
    with asked(bad, WHOAMI, patience=10) as (homeserver, server):
        assert homeserver.user() == "@reader:community.test"
        assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        pytest.param(answer(429, HTML, "text/html"), "HTTP 429", id="429-html-for-ever"),
        pytest.param(
            answer(429, error_body("M_LIMIT_EXCEEDED", retry_after_ms=0)),
            "HTTP 429",
            id="429-no-wait-for-ever",
        ),
        pytest.param(answer(503, HTML, "text/html"), "HTTP 503", id="503-for-ever"),
        pytest.param(answer(200, "{"), "cut short", id="cut-for-ever"),
        pytest.param(answer(200, "", length=9), "connection", id="lost-for-ever"),
    ],
)
def test_m29_what_does_not_pass_ends_as_unreachable_after_some_attempts(
    bad: bytes, said: str
) -> None:
    with asked(bad) as (homeserver, server):
        with pytest.raises(HomeserverUnreachable, match=said) as error:
            homeserver.user()
        assert 2 <= len(server.requests) <= 20
        assert PLANTED not in str(error.value)


def test_m29_a_wait_beyond_the_patience_is_named_and_not_waited_for() -> None:
    hour = datetime.now(UTC) + timedelta(hours=1)
    long = [
        answer(429, error_body("M_LIMIT_EXCEEDED", retry_after_ms=3_600_000)),
        answer(429, HTML, "text/html", Retry_After="3600"),
        answer(503, HTML, "text/html", Retry_After=format_datetime(hour, usegmt=True)),
    ]
    for bad in long:
        with asked(bad, WHOAMI, patience=10) as (homeserver, server):
            with pytest.raises(HomeserverUnreachable, match=r"wait 3\d+.* longer than") as error:
                homeserver.user()
            assert len(server.requests) == 1
            assert error.value.wait == pytest.approx(3600, abs=60)


def test_m29_the_patience_counts_what_the_homeserver_asks_to_wait() -> None:
    bad = answer(429, error_body("M_LIMIT_EXCEEDED", retry_after_ms=3000))
    with asked(bad, WHOAMI, patience=2) as (homeserver, server):
        with pytest.raises(HomeserverUnreachable, match="wait 3 s"):
            homeserver.user()
        assert len(server.requests) == 1


def test_m49_a_server_that_never_answers_is_given_up() -> None:
    with asked(HANG, timeout=0.3, patience=1) as (homeserver, server):
        with pytest.raises(HomeserverUnreachable, match=r"did not answer within 0\.3 s"):
            homeserver.user()
        assert len(server.requests) >= 1


def test_m49_a_body_that_never_ends_is_given_up() -> None:
    begun = answer(200, '{"user_id": "', length=1000)
    with (
        asked(begun + HOLD, timeout=0.5, patience=0.1) as (homeserver, _),
        pytest.raises(HomeserverUnreachable, match="did not answer within"),
    ):
        homeserver.user()


def test_a_server_that_is_not_there_is_unreachable() -> None:
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = held.getsockname()[1]
    with (
        MatrixHomeserver(f"http://127.0.0.1:{port}", TOKEN, timeout=5, patience=0.5) as homeserver,
        pytest.raises(HomeserverUnreachable, match="cannot be reached"),
    ):
        homeserver.standing()


@pytest.mark.parametrize(
    ("bad", "status", "code", "said"),
    [
        pytest.param(
            answer(401, error_body("M_UNKNOWN_TOKEN")), 401, "M_UNKNOWN_TOKEN", "token", id="401"
        ),
        pytest.param(
            answer(403, error_body("M_FORBIDDEN")), 403, "M_FORBIDDEN", "refused", id="403"
        ),
        pytest.param(answer(400, error_body("M_UNKNOWN")), 400, "M_UNKNOWN", "refused", id="400"),
        pytest.param(answer(403, HTML, "text/html"), 403, "", "no Matrix", id="403-html"),
        pytest.param(answer(404, HTML, "text/html"), 404, "", "no Matrix", id="404-html"),
        pytest.param(answer(200, HTML, "text/html"), 200, "", "not JSON", id="200-html"),
        pytest.param(answer(200, "[" * 200_000), 200, "", "nests too deeply", id="too-deep"),
        pytest.param(answer(200, '"text"'), 200, "", "whoami is no object", id="text"),
        pytest.param(answer(200, "{}"), 200, "", "user_id of whoami", id="lacks-the-field"),
        pytest.param(
            answer(200, '{"user_id": 7}'), 200, "", "user_id of whoami", id="field-of-another-kind"
        ),
        pytest.param(
            answer(400, error_body(PLANTED)), 400, "", "no Matrix", id="code-is-some-text"
        ),
    ],
)
def test_a_refusal_is_not_asked_again_and_says_what_to_do(
    bad: bytes, status: int, code: str, said: str
) -> None:
    with asked(bad, WHOAMI) as (homeserver, server):
        with pytest.raises(HomeserverRefused, match=said) as error:
            homeserver.user()
        assert len(server.requests) == 1
    assert (error.value.status, error.value.code) == (status, code)
    for secret in (TOKEN, PLANTED):
        assert secret not in str(error.value)
        assert secret not in repr(error.value.__cause__)


def test_a_failing_mark_of_direct_rooms_is_never_read_as_none() -> None:
    joined = answer(200, json.dumps({"joined_rooms": ["!a:community.test"]}))
    absent = answer(404, error_body("M_NOT_FOUND"))
    with asked(WHOAMI, joined, absent) as (homeserver, _):
        assert homeserver.standing().direct == frozenset()
    for bad in (answer(404, HTML, "text/html"), answer(404, error_body("M_UNRECOGNIZED"))):
        with asked(WHOAMI, joined, bad) as (homeserver, _), pytest.raises(HomeserverRefused):
            homeserver.standing()


@pytest.mark.parametrize(
    "bad", ["{}", '{"joined_rooms": null}', '{"joined_rooms": {}}', '{"joined_rooms": [7]}', "[]"]
)
def test_an_odd_list_of_joined_rooms_is_never_read_as_an_empty_one(bad: str) -> None:
    with (
        asked(WHOAMI, answer(200, bad)) as (homeserver, _),
        pytest.raises(HomeserverRefused, match="no Matrix homeserver"),
    ):
        homeserver.standing()


@pytest.mark.parametrize("bad", ["{}", '{"chunk": {}}', '{"chunk": [], "end": 7}', "[]"])
def test_an_odd_page_is_never_read_as_an_empty_one(bad: str) -> None:
    with (
        asked(answer(200, bad)) as (homeserver, _),
        pytest.raises(HomeserverRefused, match="no Matrix homeserver"),
    ):
        homeserver.room("!a:community.test").back("s1")


def test_one_bad_event_of_a_page_comes_as_an_event_without_anything() -> None:
    page = {"chunk": [7, {"type": "m.room.message"}], "end": "t1"}
    with asked(answer(200, json.dumps(page))) as (homeserver, _):
        given = homeserver.room("!a:community.test").back("s1")
    assert given.events == ({}, {"type": "m.room.message"})


def test_member_events_are_read_on_through_a_page_that_holds_none() -> None:
    new, old = ({"type": "m.room.member", "event_id": each} for each in ("$new", "$old"))
    pages = [{"chunk": [new], "end": "t1"}, {"chunk": [], "end": "t2"}, {"chunk": [old]}]
    with asked(*(answer(200, json.dumps(page)) for page in pages)) as (homeserver, server):
        assert list(homeserver.room("!a:community.test").member_events()) == [new, old]
    assert [b"from=t1" in each for each in server.requests] == [False, True, False]


def test_m01_a_server_that_repeats_the_token_at_the_end_is_at_the_end() -> None:
    still = answer(200, json.dumps({"chunk": [], "end": "s1"}))
    stuck = answer(200, json.dumps({"chunk": [{}], "end": "s1"}))
    with asked(still) as (homeserver, _):
        assert homeserver.room("!a:community.test").forward("s1").next is None
    with asked(stuck) as (homeserver, _), pytest.raises(HomeserverRefused, match="its start"):
        homeserver.room("!a:community.test").forward("s1")


def test_an_event_that_could_not_be_asked_for_is_never_taken_for_absent() -> None:
    absent = answer(404, error_body("M_NOT_FOUND"))
    away = answer(200, json.dumps({"membership": "leave"}))
    for answers in ([answer(500, "")], [absent, WHOAMI, away], [answer(404, HTML, "text/html")]):
        with (
            asked(*answers, patience=0.1) as (homeserver, _),
            pytest.raises((HomeserverUnreachable, HomeserverRefused)),
        ):
            homeserver.room("!a:community.test").events(["$one"])


def test_an_event_said_to_be_of_another_room_is_none_of_this_one() -> None:
    foreign = answer(200, json.dumps({"event_id": "$one", "room_id": "!b:community.test"}))
    with asked(foreign) as (homeserver, _):
        assert homeserver.room("!a:community.test").events(["$one"]) == {"$one": None}


def test_m26_ids_are_encoded_whole_and_the_token_stands_in_the_header_alone() -> None:
    event = answer(200, json.dumps({"event_id": "$a/b?c#d%e"}))
    with asked(event) as (homeserver, server):
        found = homeserver.room("!r/../m:community.test").events(["$a/b?c#d%e"])
    assert found == {"$a/b?c#d%e": {"event_id": "$a/b?c#d%e"}}
    line, _, head = server.requests[0].partition(b"\r\n")
    path = line.split()[1].decode()
    assert path.startswith("/_matrix/client/v3/rooms/")
    assert path.count("/") == 7
    assert path.upper().endswith("A%2FB%3FC%23D%25E")
    assert TOKEN not in line.decode()
    assert f"authorization: bearer {TOKEN}".lower() in head.decode().lower()


@pytest.mark.parametrize("token", ["", "two words", "line\nbreak", "nön-ascii"])
def test_a_token_that_cannot_be_one_is_refused_without_being_shown(token: str) -> None:
    with pytest.raises(HomeserverRefused, match=r"matrix\.token") as error:
        MatrixHomeserver("https://community.test", token, timeout=1, patience=1)
    assert not token or token not in str(error.value)


def test_a_login_in_the_address_is_in_no_message() -> None:
    with odd_server(answer(403, error_body("M_FORBIDDEN"))) as server:
        url = server.url.replace("//", "//name:hunter2@")
        with MatrixHomeserver(url, TOKEN, timeout=5, patience=1) as homeserver:
            with pytest.raises(HomeserverRefused) as error:
                homeserver.user()
            assert "hunter2" not in str(error.value) + repr(homeserver._http)
            assert TOKEN not in repr(homeserver._http)


def test_nothing_is_left_open_however_it_ends() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for bad in (WHOAMI, HANG, answer(401, error_body("M_UNKNOWN_TOKEN"))):
            with odd_server(bad) as server:
                homeserver = MatrixHomeserver(server.url, TOKEN, timeout=0.3, patience=0.1)
                with suppress(HomeserverUnreachable, HomeserverRefused):
                    homeserver.user()
                homeserver.close()
                homeserver.close()
        MatrixHomeserver("https://community.test", TOKEN, timeout=1, patience=1).close()
        gc.collect()
    kinds = {ResourceWarning, RuntimeWarning, DeprecationWarning}
    assert [str(each.message) for each in caught if each.category in kinds] == []


def test_from_within_another_loop_it_says_so_and_leaves_nothing_waiting() -> None:
    async def inside() -> None:
        with MatrixHomeserver("http://127.0.0.1:9", TOKEN, timeout=1, patience=1) as homeserver:
            homeserver.user()

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeError, match="running event loop"):
            asyncio.run(inside())
