"""Times as people give them: RFC 3339, ``2026-01-31``, and spans like ``2w``, ``3d``, ``12h``."""

import re
from datetime import UTC, date, datetime, time, timedelta

from search.errors import UsageError

_UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}
_SPAN = re.compile(r"([0-9]{1,5})([hdw])")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_RFC3339 = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?"
    r"([Zz]|[+-][0-9]{2}:[0-9]{2})"
)


def span(field: str, text: str) -> timedelta:
    """``12h``, ``3d`` or ``2w``, more than nothing.

    Raises:
        UsageError: it is something else; names ``field``.
    """
    found = _SPAN.fullmatch(text.strip())
    length = int(found[1]) * _UNITS[found[2]] if found else timedelta(0)
    if not length:
        raise UsageError(field, f"{text!r} is no span of time", "Give one like 12h, 3d or 2w.")
    return length


def moment(field: str, text: str, *, now: datetime, end_of_day: bool = False) -> datetime:
    """A UTC time from RFC 3339, a date (that day's start, or end), or a span before ``now``.

    Raises:
        UsageError: it is none of these, or has no time zone (W26); names ``field``.
    """
    given = text.strip()
    try:
        if _SPAN.fullmatch(given):
            return now.astimezone(UTC) - span(field, given)
        if _DATE.fullmatch(given):
            at = time.max if end_of_day else time.min
            return datetime.combine(date.fromisoformat(given), at, UTC)
        if _RFC3339.fullmatch(given):
            return datetime.fromisoformat(given.upper()).astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    raise UsageError(
        field,
        f"{text!r} is no time",
        "Give a date like 2026-01-31, a time like 2026-01-31T12:00:00Z, or 12h, 3d or 2w ago.",
    )
