"""When the look-up service is ready: it is warm, or there is nothing to be warm for (spec 6.8)."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from search.engine import Engine
from search.errors import CollectionMissing, ServerUnavailable
from search.service import Service
from search.service_place import Place
from search.settings import Settings


class Ingesting(Engine):
    """An engine whose collection comes later; ``loaded`` counts what it made warm."""

    def __init__(self, *, there: bool = False, warms: bool = True) -> None:
        self.there, self.warms, self.loaded = there, warms, 0
        self.may_load = threading.Event()
        self.may_load.set()

    def look_up(self, use: Callable[[Any], Any]) -> Any:  # noqa: ARG002
        if not self.there:
            raise CollectionMissing("Nothing was ingested yet.")

    def warm_up(self) -> bool:
        self.may_load.wait(120)
        if self.there:
            self.loaded += 1
            if not self.warms:
                raise ServerUnavailable("gone")
        return self.there


@pytest.fixture
def service(tmp_path: Path) -> Service:
    return Service(Place(tmp_path, "key", None), Settings(data_dir=tmp_path, cache_dir=tmp_path))


def with_engine(service: Service, engine: Ingesting) -> Ingesting:
    service.engine = engine
    service.warm_up()
    return engine


def test_before_the_first_refresh_it_is_ready_without_a_model(service: Service) -> None:
    engine = with_engine(service, Ingesting())
    engine.may_load.clear()  # whoever tries to warm up again is seen waiting
    assert service.is_ready()
    assert engine.loaded == 0


def test_after_the_first_refresh_it_says_that_it_is_starting_until_the_model_is_there(
    service: Service,
) -> None:
    engine = with_engine(service, Ingesting())
    engine.there = True
    engine.may_load.clear()
    assert not service.is_ready()
    assert not service.is_ready()
    assert service.status()["state"] == "starting"
    engine.may_load.set()
    while not service.is_ready():
        threading.Event().wait(0.01)
    assert engine.loaded == 1


def test_what_cannot_be_made_warm_is_tried_once_and_told_by_the_look_up(service: Service) -> None:
    engine = with_engine(service, Ingesting(there=True, warms=False))
    assert service.is_ready()
    assert service.is_ready()
    assert engine.loaded == 1
