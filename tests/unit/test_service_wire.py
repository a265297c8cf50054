"""The wire between client and service: a real socket, and look-ups that are made up (spec 6.8)."""

import shutil
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from search import client, service_wire
from search.client import NotListening, WentAway, error_of, is_listening, send
from search.errors import PermanentError, ServerUnavailable, UsageError
from search.service_place import Place
from search.service_wire import Server

Answer = Callable[[str, Mapping[str, Any]], dict[str, Any]]


class FakeService:
    """What is behind the wire: answers as it is told."""

    fingerprint = "mark"

    def __init__(self) -> None:
        self.state = "ready"
        self.stopped = threading.Event()
        self.answering: Answer = lambda command, given: {"command": command, "exit": 0, **given}

    def answer(self, command: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        return self.answering(command, arguments)

    def is_ready(self) -> bool:
        return self.state == "ready"

    def status(self) -> dict[str, Any]:
        return {"state": self.state, "pid": 1, "said": []}

    def stop(self) -> None:
        self.stopped.set()


class Wire:
    """A server with a fake service, and a client's view of it."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.service = FakeService()
        self.server = Server(place.socket, self.service)
        self._listener = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        self._listener.start()

    def ask(self, arguments: Mapping[str, Any], **options: Any) -> dict[str, Any]:
        return send(self.place, "/search", arguments, **{"mark": "mark", "seconds": 30} | options)

    def fails(self, error: Exception) -> None:
        def answer(_command: str, _arguments: Mapping[str, Any]) -> dict[str, Any]:
            raise error

        self.service.answering = answer

    def close(self) -> None:
        """Ends it as the service does: no newcomers, look-ups in progress are finished."""
        self.place.socket.unlink(missing_ok=True)
        self.server.shutdown()
        self._listener.join()
        self.server.server_close()


@pytest.fixture
def place() -> Iterator[Place]:
    folder = Path(tempfile.mkdtemp(prefix="huginn-"))  # a socket's address has to be short
    yield Place(folder, "test", None)
    shutil.rmtree(folder)


@pytest.fixture
def wire(place: Place) -> Iterator[Wire]:
    made = Wire(place)
    yield made
    made.close()


def test_arguments_of_every_script_come_through_as_they_are(wire: Wire) -> None:
    arguments = {"texts": ["žluťoučký \u202e \x1b[2J", "日本"], "top_k": 3}
    assert wire.ask(arguments) == {"command": "search", "exit": 0, **arguments}


def test_errors_come_back_as_what_they_are(wire: Wire) -> None:
    wire.fails(UsageError("texts[2]", "it is blank", "Say what to look for."))
    back = error_of(wire.ask({})["error"])
    assert isinstance(back, UsageError)
    assert (back.field, str(back)) == ("texts[2]", "texts[2]: it is blank. Say what to look for.")
    wire.fails(ServerUnavailable("Weaviate did not answer. Start it."))
    assert wire.ask({})["error"]["kind"] == "unavailable"
    assert str(error_of(wire.ask({})["error"])) == "Weaviate did not answer. Start it."


def test_the_message_of_a_crash_goes_nowhere(wire: Wire, capfd: pytest.CaptureFixture[str]) -> None:
    wire.fails(RuntimeError("people's words"))
    error = wire.ask({})["error"]
    assert (error["kind"], error["message"].startswith("RuntimeError, a bug.")) == ("bug", True)
    assert "people's words" not in str(error)
    log = capfd.readouterr().err
    assert "RuntimeError at test_service_wire.py:" in log
    assert "people's words" not in log


@pytest.mark.parametrize(
    ("state", "mark", "kind"),
    [("starting", "mark", "starting"), ("ready", "old", "stale"), ("starting", "", "stale")],
)
def test_a_caller_is_told_to_wait_or_that_the_service_is_old(
    wire: Wire, state: str, mark: str, kind: str
) -> None:
    wire.service.state = state
    assert wire.ask({}, mark=mark)["error"]["kind"] == kind


def test_a_look_up_in_progress_is_finished_on_stop(wire: Wire) -> None:
    begun, may_end = threading.Event(), threading.Event()

    def slow(command: str, _: Mapping[str, Any]) -> dict[str, Any]:
        begun.set()
        assert may_end.wait(120)
        return {"command": command, "exit": 0}

    wire.service.answering = slow
    replies: list[dict[str, Any]] = []
    asking = threading.Thread(target=lambda: replies.append(wire.ask({})))
    asking.start()
    assert begun.wait(120)
    closing = threading.Thread(target=wire.close)
    closing.start()
    while wire.place.socket.exists():
        pass
    with pytest.raises(NotListening):
        wire.ask({})
    closing.join(0.5)
    assert closing.is_alive()
    may_end.set()
    asking.join()
    closing.join()
    assert replies == [{"command": "search", "exit": 0}]


def test_look_ups_are_answered_at_the_same_time(wire: Wire) -> None:
    both = threading.Barrier(2, timeout=120)

    def meet(command: str, _: Mapping[str, Any]) -> dict[str, Any]:
        both.wait()
        return {"command": command, "exit": 0}

    wire.service.answering = meet
    replies: list[dict[str, Any]] = []
    asking = [threading.Thread(target=lambda: replies.append(wire.ask({}))) for _ in range(2)]
    for each in asking:
        each.start()
    for each in asking:
        each.join()
    assert [reply["exit"] for reply in replies] == [0, 0]


def test_while_a_look_up_is_answered_the_service_is_not_idle(wire: Wire) -> None:
    idle: list[float] = []

    def look(command: str, _: Mapping[str, Any]) -> dict[str, Any]:
        idle.append(wire.server.idle_seconds())
        return {"command": command, "exit": 0}

    wire.service.answering = look
    wire.server.last_used -= 1_000
    assert wire.server.idle_seconds() > 999
    wire.ask({})
    assert idle == [0.0]
    assert wire.server.idle_seconds() < 999


def test_another_user_is_not_answered(wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service_wire.os, "geteuid", lambda: 12_345)
    with pytest.raises(WentAway):
        wire.ask({})


def test_a_server_of_another_user_is_not_asked(wire: Wire) -> None:
    other = Place(wire.place.folder, "test", None, user=12_345)
    with pytest.raises(PermanentError, match="served by somebody else"):
        send(other, "/status")


def test_a_reply_that_does_not_come_is_a_time_out(wire: Wire) -> None:
    may_end = threading.Event()

    def slow(command: str, _: Mapping[str, Any]) -> dict[str, Any]:
        may_end.wait(120)
        return {"command": command, "exit": 0}

    wire.service.answering = slow
    with pytest.raises(TimeoutError):
        wire.ask({}, seconds=0.1)
    may_end.set()
    wire.service.answering = lambda command, _: {"command": command, "exit": 1}
    assert wire.ask({})["exit"] == 1


def test_a_long_request_that_is_refused_still_gets_its_answer(wire: Wire) -> None:
    assert wire.ask({"texts": ["x" * 60_000]}, mark="old")["error"]["kind"] == "stale"


def test_whoever_asks_to_stop_is_answered_first(wire: Wire) -> None:
    assert send(wire.place, "/stop", {}) == {"stopping": True}
    assert wire.service.stopped.wait(120)


def test_nobody_at_the_socket_and_a_dead_socket_are_the_same(place: Place) -> None:
    assert not is_listening(place)
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(place.socket))
    assert not is_listening(place)
    with pytest.raises(NotListening):
        send(place, "/status")
    made = Wire(place)  # the next one takes its place
    assert client.process_of(place) is not None
    made.close()


def test_a_page_that_there_is_not_is_a_refusal(wire: Wire) -> None:
    assert send(wire.place, "/etc/passwd")["error"]["kind"] == "usage"
