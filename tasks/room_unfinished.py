"""What a step is about to replace: kept in the ledger until its cursor has moved (spec 2.4).

A write of several windows is not one act. When a new window has taken an old one's place, the run
may die before the next one is written, and a message that was to move there is in no window at all;
or before its deletes, and what is left of the old windows holds none of the events that led to
them. So the events of all windows that a step replaces are noted before it writes. Whoever does the
step again, a retry or a later run, reaches them as well.
"""

import json
from collections.abc import Collection

from tasks.ports import Ledger

UNFINISHED = "unfinished"
"""The ledger's kind of document: event ids of one room."""


def unfinished(ledger: Ledger, source: str) -> list[str]:
    """The events of windows that a step, perhaps cut short, was replacing."""
    found: list[str] = json.loads(ledger.document(UNFINISHED, source) or "[]")
    return found


def note_unfinished(ledger: Ledger, source: str, events: Collection[str]) -> None:
    """Notes them, before anything is written."""
    ledger.put_document(UNFINISHED, json.dumps(list(events)), source)


def forget_unfinished(ledger: Ledger, source: str) -> None:
    """Every write and delete of the step was acknowledged, or the room is gone."""
    ledger.forget_document(UNFINISHED, source)
