"""One room as its homeserver shows it to the reader (spec 4.6, 4.8)."""

import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from http import HTTPStatus
from typing import Any, TypeVar

from tasks.adapters import matrix_answers as answers
from tasks.adapters.matrix_http import Ask, MatrixHttp
from tasks.adapters.matrix_sync import rooms_left
from tasks.chat_ports import Page, RawEvent
from tasks.errors import HomeserverRefused

_T = TypeVar("_T")
PAGE_EVENTS = 250
_CONTEXT_EVENTS = 250
_FEW = 3
_POOR = 2
_ABSENT: dict[int, str] = {
    HTTPStatus.NOT_FOUND: "M_NOT_FOUND",
    HTTPStatus.FORBIDDEN: "M_FORBIDDEN",
}


class MatrixRoom:
    """A room of the homeserver behind ``http``; ``user`` gives the reader's user id."""

    def __init__(self, http: MatrixHttp, room: str, user: Callable[[], str]) -> None:
        self._http = http
        self._room = room
        self._user = user

    def state(self) -> list[RawEvent]:
        """See ``RoomHistory.state``: one request."""
        return self._ask(lambda each: list(answers.events(each, "state")), "state")

    def member_events(self) -> Iterator[RawEvent]:
        """Every member event that we may see, newest first, each with its previous content.

        The state shows only the newest of each member, and its previous content only by chance; the
        invite that says ``is_direct`` may lie further back (spec 3.1). One request per 1,000.
        """
        kinds = json.dumps({"types": ["m.room.member"], "lazy_load_members": False})
        query: dict[str, str | int] = {"dir": "b", "limit": 1000, "filter": kinds}
        start = ""
        while True:
            page = self._page(start, query)
            yield from (each for each in page.events if each.get("type") == "m.room.member")
            if page.next is None:
                return
            start = query["from"] = page.next

    def aliases(self) -> list[str]:
        """See ``RoomHistory.aliases``: one request."""
        return self._ask(answers.aliases, "aliases")

    def membership(self) -> str:
        """See ``RoomHistory.membership``: one request, two where the room itself does not tell.

        Who is banned, invited or knocked may not ask the room; only a sync says so then.
        """
        try:
            return self._ask(answers.membership, "state", "m.room.member", self._user())
        except HomeserverRefused as refused:
            if _ABSENT.get(refused.status) != refused.code:
                raise
        told = partial(answers.membership_in_sync, room=self._room, user=self._user())
        return self._http.get(told, rooms_left(self._room))

    def back(self, start: str) -> Page:
        """See ``RoomHistory.back``."""
        return self._page(start, {"dir": "b", "from": start, "limit": PAGE_EVENTS})

    def forward(self, start: str) -> Page:
        """See ``RoomHistory.forward``.

        From a stream token, Synapse gives what came after it in the order of the room's graph, and
        a page token from there on: an event that comes late into an early place of the graph lies
        before such a token. So take a new stream token *before* the first page, read until ``next``
        is None, and begin next time at that stream token, not at the last page's.
        """
        return self._page(start, {"dir": "f", "from": start, "limit": PAGE_EVENTS})

    def events(self, ids: Sequence[str]) -> dict[str, RawEvent | None]:
        """See ``RoomHistory.events``; ids in the order of time make for few requests.

        One request shows what lies around the middle one, mostly all of a segment; what lies
        further off is asked for one by one when two such requests have shown little.
        """
        found: dict[str, RawEvent] = {}
        alone: list[str] = []
        missing = list(dict.fromkeys(ids))
        poor = 0
        while len(missing) > _FEW and poor < _POOR:
            before = len(missing)
            middle = missing[before // 2]
            found |= self._ours(self._around(middle, before), missing)
            if middle not in found:  # what a context says of an absent event is not clear enough
                alone.append(middle)
            missing = [each for each in missing if each not in found and each != middle]
            poor += before - len(missing) <= _FEW
        alone += missing
        asks = [Ask(("rooms", self._room, "event", each)) for each in alone]
        for given in self._http.get_each(answers.event, asks):
            if isinstance(given, HomeserverRefused):
                self._make_sure_it_is_absent(given)
            else:
                found |= self._ours([given], alone)
        return {each: found.get(each) for each in dict.fromkeys(ids)}

    def _around(self, middle: str, wanted: int) -> list[RawEvent]:
        """So many events on either side of one; none if that one is not there for us."""
        query: dict[str, str | int] = {
            "limit": min(2 * wanted, _CONTEXT_EVENTS),
            "filter": json.dumps({"lazy_load_members": True}),  # else it sends all members along
        }
        try:
            return self._ask(lambda each: list(answers.around(each)), "context", middle, **query)
        except HomeserverRefused as refused:
            if refused.status not in _ABSENT or not refused.code:
                raise
            return []

    def _ours(self, events: Sequence[RawEvent], wanted: Sequence[str]) -> dict[str, RawEvent]:
        """Those wanted, unless the homeserver says that they belong to another room."""
        sought = set(wanted)
        return {
            each["event_id"]: each
            for each in events
            if each.get("event_id") in sought and each.get("room_id", self._room) == self._room
        }

    def _make_sure_it_is_absent(self, refused: HomeserverRefused) -> None:
        """Raises it, unless it is about the one event: the room itself must answer as ours.

        A room that was closed to us answers "not found" for each of its events, too (spec 2.7).
        """
        if _ABSENT.get(refused.status) != refused.code or self.membership() != "join":
            raise refused

    def _page(self, start: str, query: dict[str, str | int]) -> Page:
        return self._ask(lambda each: answers.page(each, start), "messages", **query)

    def _ask(self, read: Callable[[Any], _T], *path: str, **query: str | int) -> _T:
        return self._http.get(read, Ask(("rooms", self._room, *path), query))
