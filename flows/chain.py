"""The chain of one source: upsert → commit_cursor, repeated until it is caught up (spec 1.2)."""

from collections.abc import Callable
from typing import Any

from tasks.domain.acknowledgement import Counts
from tasks.steps import commit_cursor


def until_caught_up(upsert: Callable[[], Any], commit: Any = commit_cursor) -> Counts:
    """Submits steps until one finishes the source, or a range of it; the sum of what they did.

    A step's cursor commit takes the future of its upsert as input: when the upsert fails, Prefect
    never runs the commit.
    """
    counts = Counts()
    caught_up = False
    while not caught_up:
        acknowledgement = upsert()
        committed = commit.submit(acknowledgement)
        committed.wait()
        counts += acknowledgement.result().counts
        caught_up = committed.result()
    return counts
