"""Whether what is held of a source can be vouched for, and if not, why (spec 6.5). Pure."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from search.ledger import SourceRecord

DEAD_AFTER = timedelta(hours=1)
"""A run notes every step; one that noted nothing for so long is taken for dead."""


def why_unavailable(record: SourceRecord | None, now: datetime | None = None) -> str | None:
    """The reason, with what to do; None for a source that is as its last run left it."""
    moment = now or datetime.now(UTC)
    if record is None or (record.last_success is None and record.state != "failed"):
        if record and record.state == "refreshing" and not _is_old(record.last_attempt, moment):
            return "its first run is on its way: what is held so far is looked through"
        return "not ingested yet: run `huginn refresh`"
    if record.state == "failed":
        return f"the last run failed: {record.reason}"
    if record.state == "deleting":
        return "a run that was deleting has not ended: run `huginn refresh`"
    if record.state == "refreshing" and _is_old(record.last_attempt, moment):
        return "its last run has not ended: run `huginn refresh`"
    return None


def unavailable(
    records: Mapping[str, SourceRecord | None], now: datetime | None = None
) -> dict[str, str]:
    """Which of these sources cannot be vouched for, and why, in their order."""
    reasons = {source: why_unavailable(record, now) for source, record in records.items()}
    return {source: reason for source, reason in reasons.items() if reason}


def _is_old(moment: datetime | None, now: datetime) -> bool:
    return moment is None or now - moment > DEAD_AFTER
