"""Cutting a sequence into batches (``itertools.batched`` comes with Python 3.12 only)."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

T = TypeVar("T")


def batched(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Lists of at most ``size`` items, in order; the last may be shorter."""
    rest = iter(items)
    while batch := list(islice(rest, size)):
        yield batch
