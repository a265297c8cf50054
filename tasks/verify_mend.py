"""Readies what differs for a run from the start, which brings it back (spec 7.2).

Runs see what differs by its fingerprint, and a server indexes only what changes. So a passage whose
text was changed behind the fingerprint, or that an index lost, would stay as it is, however often
it is written. It is deleted first; and before that the cursor is set aside, so that the next run,
if this one is killed, goes through the whole source.
"""

from search.ledger import SourceRecord
from search.settings import Settings
from tasks.bootstrap import open_store
from tasks.commit import distrusted
from tasks.domain.cursors import check_deletes
from tasks.domain.verification import differences
from tasks.errors import TooManyDeletes
from tasks.verify_chain import Sides
from tasks.verify_snapshot import Snapshot

COMMAND = "huginn verify --repair"
MENDING = f"`{COMMAND}` began to mend it: run `huginn refresh`"


def delete_differing(settings: Settings, taken: Snapshot, sides: Sides, *, allowed: bool) -> None:
    """Deletes every passage that differs; the caller holds the source.

    Raises:
        TooManyDeletes: the source does not give most of what is held; nothing was deleted.
    """
    source = taken.record.source
    found = [*differences(sides.expected.prints(), sides.held.prints())]
    extra = [identifier for identifier, kind in found if kind == "extra"]
    try:
        check_deletes(source, extra, taken.count, allowed=allowed)
    except TooManyDeletes as error:
        raise TooManyDeletes(source, error.deletes, error.stored, command=COMMAND) from error
    with open_store(settings) as store:
        store.owned(source)
        store.ledger.put(mending(store.ledger.record(source)))
        store.writer.expunge([identifier for identifier, _ in found])


def mending(record: SourceRecord) -> SourceRecord:
    """The record of a source of which something was deleted that its cursor stood for."""
    return distrusted(record).failed(MENDING)
