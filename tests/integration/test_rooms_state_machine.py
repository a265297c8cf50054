"""The rooms' state machine with the real Weaviate behind it (spec 2.3, 2.4, 4)."""

import itertools
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from search.collection import ledger_name
from search.connection import connect
from search.settings import Settings
from tasks.adapters.collections import ensure_collection
from tasks.adapters.ledger import WeaviateLedger
from tasks.adapters.passage_writer import WeaviatePassageWriter
from tasks.adapters.window_index import WeaviateWindowIndex
from tests.support.fake_rooms import Boundaries, RoomWork
from tests.support.fakes import META
from tests.support.rooms_machine import RoomsMachine

EXAMPLES = 6
STEPS = 25


class RealWork(RoomWork):
    """The same over a collection of its own in the session's Weaviate."""

    def __init__(self, client: Any, collection: str, **options: Any) -> None:
        super().__init__(Boundaries(4), **options)
        self.alias = collection
        self.collection = ensure_collection(client, collection, META)
        self.client = client
        self.ledger = WeaviateLedger(client, collection, self.collection)  # type: ignore[assignment]
        self.writer = WeaviatePassageWriter(client, self.collection)  # type: ignore[assignment]
        self.index = WeaviateWindowIndex(client, self.collection)

    def held(self, room: str | None = None) -> dict[str, dict[str, Any]]:
        found = self.client.collections.get(self.collection).iterator()
        return {
            str(each.uuid): each.properties
            for each in found
            if room in (None, str(each.properties["source"]).removeprefix("chat:"))
        }

    def written_down(self) -> list[str]:
        found = self.client.collections.get(ledger_name(self.alias))
        return [str(each.properties) for each in found.iterator()]


@pytest.fixture
def machine(server_settings: Settings, collection_name: str) -> Iterator[type[RoomsMachine]]:
    """Machines, each on an empty collection."""
    numbers = itertools.count()
    with ExitStack() as stack:
        client = stack.enter_context(connect(server_settings, "writer"))

        class RealRooms(RoomsMachine):
            def make(self, **options: Any) -> RoomWork:
                return RealWork(client, f"{collection_name}n{next(numbers)}", **options)

            def teardown(self) -> None:
                super().teardown()
                for alias in client.alias.list_all():
                    if alias.startswith(collection_name):
                        client.alias.delete(alias_name=alias)
                for name in client.collections.list_all():
                    if name.startswith(collection_name):
                        client.collections.delete(name)

        yield RealRooms


def test_whatever_happens_a_whole_run_leaves_what_one_clean_run_would(
    machine: type[RoomsMachine],
) -> None:
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=STEPS,
            deadline=None,
            derandomize=True,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
