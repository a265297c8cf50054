"""The purges' second place: a file in the data folder, for when the ledger is restored (spec 2.2).

One JSON line a change: a purge that was said, or ``{"removed": id}``. What the file has and the
ledger lacks is put back as not yet applied, so that the next run deletes it again.
"""

import json
import os
from pathlib import Path

from search.settings import Settings
from tasks.domain.purges import Purge
from tasks.ports import Ledger
from tasks.room_records import purges_of, put_purge

FILE = "purges.jsonl"


def said(settings: Settings, purge: Purge) -> None:
    """Notes a purge; on the disk when this returns."""
    _append(settings.data_dir / FILE, purge.as_json())


def taken_back(settings: Settings, identifier: str) -> None:
    """Notes that a purge was removed."""
    _append(settings.data_dir / FILE, json.dumps({"removed": identifier}))


def in_force(settings: Settings) -> dict[str, Purge]:
    """The purges that the file says are in force, by id."""
    path = settings.data_dir / FILE
    found: dict[str, Purge] = {}
    text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
    for line in filter(None, text.splitlines()):
        try:
            removed = json.loads(line).get("removed")
        except ValueError:
            continue  # the last line of a run that was killed while it wrote; never acknowledged
        if removed is not None:
            found.pop(removed, None)
        else:
            purge = Purge.from_json(line)
            found[purge.id] = purge
    return found


def reapply(settings: Settings, ledger: Ledger) -> None:
    """Puts back what the ledger lacks."""
    held = {purge.id for purge in purges_of(ledger)}
    for identifier, purge in in_force(settings).items():
        if identifier not in held:
            put_purge(ledger, purge)


def _append(path: Path, line: str) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    with os.fdopen(handle, "ab") as stream:
        # The line before may have been cut short: it must not take this one with it.
        stream.write(b"\n" + line.encode() + b"\n")
        stream.flush()
        os.fsync(stream.fileno())
