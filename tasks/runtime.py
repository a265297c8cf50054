"""Prefect, imported with the defaults that Huginn needs.

Prefect reads its settings when it is imported, so they are set here first, and everything else
takes Prefect from here. What the user set stays. Without a server Prefect starts one for the run:
its first start takes longer than its own time-out on a slow machine, and its telemetry reports an
error where there is no internet.
"""

import os
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

_DEFAULTS = {
    "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "180",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "DO_NOT_TRACK": "1",
    "PREFECT_LOGGING_LEVEL": "WARNING",
    "PREFECT_LOGGING_INTERNAL_LEVEL": "ERROR",
}
for _name, _value in _DEFAULTS.items():
    os.environ.setdefault(_name, _value)

from prefect import State, Task, flow, task  # noqa: E402  # after its settings
from prefect.artifacts import create_table_artifact  # noqa: E402
from prefect.cache_policies import NO_CACHE  # noqa: E402
from prefect.client.schemas.objects import TaskRun  # noqa: E402
from prefect.tasks import exponential_backoff  # noqa: E402

__all__ = ["State", "create_table_artifact", "effect", "flow"]


def is_transient(_: Task[..., Any], __: TaskRun, state: State[Any]) -> bool:
    """Whether trying again may help: the one question that a retry asks."""
    from search.errors import TransientError

    try:
        state.result()
    except TransientError:
        return True
    except Exception:  # noqa: BLE001  # whatever else it was, it is not transient
        return False
    return False


P = ParamSpec("P")
R = TypeVar("R")


def effect(name: str) -> Callable[[Callable[P, R]], Task[P, R]]:
    """A Prefect task that has effects: never cached, never stored, retried if transient."""
    return task(
        task_run_name=name,
        cache_policy=NO_CACHE,
        persist_result=False,
        retries=2,
        retry_delay_seconds=exponential_backoff(backoff_factor=2),
        retry_jitter_factor=0.5,
        retry_condition_fn=is_transient,
    )
