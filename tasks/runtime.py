"""Prefect, imported with the defaults that Huginn needs.

Prefect reads its settings when it is imported, so they are set here first, and everything else
takes Prefect from here. What the user set stays. Without a server Prefect starts one for the run:
its first start takes longer than its own time-out on a slow machine, and its telemetry reports an
error where there is no internet.
"""

import functools
import os
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from search.errors import HuginnError, TransientError
from tasks.errors import Unexpected

_DEFAULTS = {
    "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "180",
    "PREFECT_API_REQUEST_TIMEOUT": "300",
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
    """A Prefect task that has effects: never cached, never stored, retried if transient.

    Prefect stores and logs what a task raises. A client's error can quote what it was given, so
    only our own errors get out, without their causes (spec 7.3).
    """

    def decorate(function: Callable[P, R]) -> Task[P, R]:
        @functools.wraps(function)
        def guarded(*arguments: P.args, **options: P.kwargs) -> R:
            try:
                return function(*arguments, **options)
            except HuginnError as error:
                error.__cause__ = None
                error.__suppress_context__ = True
                raise
            except Exception as error:  # noqa: BLE001  # whatever it is, its text stays here
                raise Unexpected(type(error).__name__).with_traceback(error.__traceback__) from None

        return as_task(guarded)

    as_task = task(
        task_run_name=name,
        cache_policy=NO_CACHE,
        persist_result=False,
        retries=2,
        retry_delay_seconds=exponential_backoff(backoff_factor=2),
        retry_jitter_factor=0.5,
        retry_condition_fn=is_transient,
    )
    return decorate
