"""One long room of short messages behind an HTTP server on 127.0.0.1 that answers as Synapse does.

For sizes that take hours to send into a real one. It answers the GET requests that the reader
makes, from events that are made when asked for: the same for the same size. Nothing in the room is
ever edited or redacted, but it can grow. Positions are counts of events; ``s…`` are stream tokens,
``t…`` page tokens.
"""

import json
import threading
from base64 import urlsafe_b64encode
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property, lru_cache
from hashlib import sha256
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from tests.support.synapse_community import SERVER

START = datetime(2026, 1, 1, tzinfo=UTC)
SPEAKERS = ("ada", "bob", "cyd")
BODIES = (
    "Is anybody at the greenhouse?",
    "I can be there in ten minutes.",
    "The door was open again.",
    "Thanks, I will have a look.",
)
BREAK = 150
"""After so many messages people are silent for some hours."""

Event = dict[str, Any]
Query = dict[str, str]


class _Absent(Exception):
    """There is no such thing."""


@dataclass
class MadeHomeserver:
    """A homeserver with one room of ``messages`` messages, which ``reader`` has joined.

    ``more`` came later, each with words of its own.
    """

    messages: int
    more: int = 0
    reader: str = f"@reader:{SERVER}"
    room: str = f"!made:{SERVER}"
    url: str = ""
    asked: Counter[str] = field(default_factory=Counter)

    @property
    def events(self) -> int:
        """How many events the room has, those of its state first."""
        return len(self.state) + self.messages + self.more

    @cached_property
    def state(self) -> list[Event]:
        """The room's state, in the order in which it came about."""
        ada = f"@{SPEAKERS[0]}:{SERVER}"
        contents: list[tuple[str, str, Event]] = [
            ("m.room.create", "", {"room_version": "11"}),
            ("m.room.member", ada, {"membership": "join"}),
            ("m.room.power_levels", "", {"users": {ada: 100}}),
            ("m.room.join_rules", "", {"join_rule": "public"}),
            ("m.room.history_visibility", "", {"history_visibility": "shared"}),
        ]
        for name in (*SPEAKERS[1:], None):
            user = f"@{name}:{SERVER}" if name else self.reader
            contents.append(("m.room.member", user, {"membership": "join"}))
        return [
            self._event(number, kind, content) | {"state_key": key}
            for number, (kind, key, content) in enumerate(contents)
        ]

    def event(self, number: int) -> Event:
        """The event at a place in the room."""
        if number < len(self.state):
            return self.state[number]
        turn = number - len(self.state)
        body = BODIES[turn % len(BODIES)]
        if turn >= self.messages:
            body = f"Lamp number {turn} is out."
        return self._event(number, "m.room.message", {"msgtype": "m.text", "body": body})

    def answer(self, path: str, query: Query) -> Any:
        """What a GET of the client-server API gives; ``path`` goes on from ``v3``, not decoded."""
        parts = [unquote(part) for part in path.strip("/").split("/")]
        match parts:
            case ["account", "whoami"]:
                return {"user_id": self.reader}
            case ["joined_rooms"]:
                return {"joined_rooms": [self.room]}
            case ["sync"]:
                return self._sync(query.get("since"))
            case ["rooms", self.room, what, *rest]:
                return self._of_room(what, rest, query)
        raise _Absent

    def _of_room(self, what: str, rest: list[str], query: Query) -> Any:
        match what, rest:
            case "state", []:
                return self.state
            case "state", ["m.room.member", self.reader]:
                return {"membership": "join"}
            case "aliases", []:
                return {"aliases": []}
            case "messages", []:
                return self._page(query)
            case "event", [event]:
                return self.event(self._place(event))
            case "context", [event]:
                return self._context(self._place(event), int(query["limit"]))
        raise _Absent

    def _sync(self, since: str | None) -> Any:
        reached = self.events
        rooms: Event = {}
        if since is None or int(since[1:]) < reached:
            newest = [self.event(reached - 1)]
            rooms[self.room] = {"timeline": {"events": newest, "limited": True}}
        return {"next_batch": f"s{reached}", "rooms": {"join": rooms}}

    def _page(self, query: Query) -> Any:
        back = query["dir"] == "b"
        total, limit = self.events, int(query["limit"])
        start = int(query["from"][1:]) if "from" in query else total if back else 0
        wanted: list[str] | None = json.loads(query.get("filter", "{}")).get("types")
        if wanted is not None:  # the state alone has such events: all of them are one page
            members = [each for each in self.state if each["type"] in wanted]
            return {"start": f"t{start}", "chunk": members[::-1] if back else members}
        end = max(start - limit, 0) if back else min(start + limit, total)
        places = range(start - 1, end - 1, -1) if back else range(start, end)
        page: Event = {"start": f"t{start}", "chunk": [self.event(place) for place in places]}
        return page if end in (0, total) else page | {"end": f"t{end}"}

    def _context(self, place: int, limit: int) -> Any:
        first, last = max(place - limit // 2, 0), min(place + limit // 2, self.events - 1)
        return {
            "events_before": [self.event(each) for each in range(place - 1, first - 1, -1)],
            "event": self.event(place),
            "events_after": [self.event(each) for each in range(place + 1, last + 1)],
        }

    def _place(self, event: str) -> int:
        place = _places(self.events).get(event)
        if place is None:
            raise _Absent
        return place

    def _event(self, number: int, kind: str, content: Event) -> Event:
        at = START + timedelta(minutes=number, hours=5 * (number // BREAK))
        return {
            "type": kind,
            "room_id": self.room,
            "event_id": _identifier(number),
            "sender": f"@{SPEAKERS[number % len(SPEAKERS)]}:{SERVER}",
            "origin_server_ts": int(at.timestamp() * 1000),
            "content": content,
            "unsigned": {"age": 1},
        }


def _identifier(number: int) -> str:
    digest = sha256(b"event %d" % number).digest()
    return "$" + urlsafe_b64encode(digest).decode().rstrip("=")


@lru_cache(maxsize=1)
def _places(events: int) -> dict[str, int]:
    return {_identifier(number): number for number in range(events)}


@contextmanager
def made_homeserver(messages: int) -> Iterator[MadeHomeserver]:
    """Such a homeserver for the block, at its ``url``."""
    made = MadeHomeserver(messages)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(made))
    made.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield made
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _handler(made: MadeHomeserver) -> Callable[..., BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            address = urlsplit(self.path)
            path = address.path.removeprefix("/_matrix/client/v3")
            query = {name: values[0] for name, values in parse_qs(address.query).items()}
            status, content = HTTPStatus.OK, None
            try:
                content = made.answer(path, query)
            except _Absent:
                status, content = HTTPStatus.NOT_FOUND, {"errcode": "M_NOT_FOUND", "error": ""}
            parts = path.strip("/").split("/")
            made.asked[parts[2] if parts[0] == "rooms" else parts[-1]] += 1
            body = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    return Handler
