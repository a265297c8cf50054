"""What goes into a flow or a task is stored by Prefect: names, ranges and flags only (spec 1.2)."""

import inspect
import pkgutil
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType
from typing import Any, get_type_hints

import pytest

from tasks import runtime  # noqa: F401  # sets Prefect's defaults before Prefect is imported
from tasks.domain.acknowledgement import Acknowledgement
from tasks.ranges import RangeAcknowledgement

PLAIN = {str, bool, type(None)}
"""Types of parameters that may stand in Prefect's database."""

ACKNOWLEDGED = {
    "tasks.steps.commit_cursor": Acknowledgement,
    "tasks.range_steps.commit_range": RangeAcknowledgement,
}
"""They take what an upsert gave, as the DAG's own guarantee (spec 1.2): ids and counts."""


def modules() -> Iterator[ModuleType]:
    import flows
    import tasks

    for package in (flows, tasks):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            yield import_module(found.name)


def declared() -> dict[str, Any]:
    """All flows and tasks, by module and name."""
    from prefect import Flow, Task

    return {
        f"{each.fn.__module__}.{each.fn.__name__}": each
        for module in modules()
        for each in vars(module).values()
        if isinstance(each, Flow | Task)
    }


def types_in(hint: object) -> set[object]:
    """The types that a hint is made of: ``str | None`` is two."""
    parts = getattr(hint, "__args__", None)
    if not parts:
        return {hint}
    if getattr(hint, "__origin__", None) is not None and all(isinstance(p, str) for p in parts):
        return {str}  # a Literal
    return set().union(*(types_in(part) for part in parts))


def test_there_are_flows_and_tasks() -> None:
    assert {"flows.refresh.refresh", "tasks.steps.commit_cursor"} <= declared().keys()


@pytest.mark.parametrize("name", sorted(declared()))
def test_p04_p08_parameters_are_names_ranges_and_flags(name: str) -> None:
    function = declared()[name].fn
    hints = get_type_hints(function)
    hints.pop("return", None)
    assert hints.keys() == inspect.signature(function).parameters.keys()
    if name in ACKNOWLEDGED:
        assert hints.pop("acknowledgement") is ACKNOWLEDGED[name]
    odd = {key: hint for key, hint in hints.items() if not types_in(hint) <= PLAIN}
    assert odd == {}


@pytest.mark.parametrize("name", sorted(declared()))
def test_p04_nothing_is_cached_or_stored_by_prefect(name: str) -> None:
    from prefect import Task
    from prefect.cache_policies import NO_CACHE

    found = declared()[name]
    assert found.persist_result is False
    if isinstance(found, Task):
        assert found.cache_policy == NO_CACHE
