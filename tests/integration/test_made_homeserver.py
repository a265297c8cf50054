"""The homeserver that makes up a long room, read by the reader's own client."""

from collections.abc import Callable, Iterator

import pytest

from tasks.adapters.matrix import MatrixHomeserver
from tasks.adapters.matrix_room import PAGE_EVENTS
from tasks.chat_ports import Page
from tests.support.made_homeserver import MadeHomeserver, made_homeserver

MESSAGES = 2 * PAGE_EVENTS + 7


@pytest.fixture
def made() -> Iterator[MadeHomeserver]:
    with made_homeserver(MESSAGES) as server:
        yield server


@pytest.fixture
def client(made: MadeHomeserver) -> Iterator[MatrixHomeserver]:
    with MatrixHomeserver(made.url, "token", timeout=120, patience=0) as homeserver:
        yield homeserver


def read(turn: Callable[[str], Page], start: str) -> list[str]:
    """The ids of all events of a direction."""
    found: list[str] = []
    token: str | None = start
    while token is not None:
        page = turn(token)
        found += [str(each["event_id"]) for each in page.events]
        token = page.next
    return found


def test_both_directions_give_every_event_once(
    made: MadeHomeserver, client: MatrixHomeserver
) -> None:
    room = client.room(made.room)
    back = read(room.back, client.news(None).next)
    assert len(set(back)) == len(back) == made.events
    assert back[::-1] == read(room.forward, "s0")


def test_one_more_message_is_news_and_lies_after_the_token(
    made: MadeHomeserver, client: MatrixHomeserver
) -> None:
    reached = client.news(None).next
    assert client.news(reached).rooms == frozenset()
    made.more += 1
    assert client.news(reached).rooms == {made.room}
    assert read(client.room(made.room).forward, reached) == [
        made.event(made.events - 1)["event_id"]
    ]


def test_events_are_found_by_id_together_and_alone(
    made: MadeHomeserver, client: MatrixHomeserver
) -> None:
    wanted = [str(made.event(place)["event_id"]) for place in (3, 40, 41, 42, 43, 400)]
    found = client.room(made.room).events([*wanted, "$none"])
    assert [each and each["event_id"] for each in found.values()] == [*wanted, None]
