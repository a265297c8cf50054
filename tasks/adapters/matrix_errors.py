"""From what a homeserver answers, or fails to, to what went wrong and what to do next.

Nothing of a body is passed on but its error code: an error text may quote what people wrote, and
what a proxy sends may quote our headers (spec 7.3).
"""

import asyncio
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from math import isfinite
from typing import Any

from tasks.errors import HomeserverRefused, HomeserverUnreachable

_CODE = re.compile(r"[A-Z][A-Z0-9_]{2,40}\Z")
_LATER = {
    HTTPStatus.REQUEST_TIMEOUT,
    HTTPStatus.TOO_EARLY,
    HTTPStatus.TOO_MANY_REQUESTS,
}
_NOT_MATRIX = (
    "What answers at {base} is no Matrix homeserver ({what}). Set matrix.homeserver to the address "
    "of its client-server API, without a path."
)
_AGAIN = "The next run asks again; if this comes back, look at the homeserver."


class WrongShape(Exception):
    """An answer is not what the API says; the text names the part, never its value."""


def refused_shape(base: str, what: str) -> HomeserverRefused:
    """An answer that is not what the client-server API says."""
    return HomeserverRefused(_NOT_MATRIX.format(base=base, what=what), status=HTTPStatus.OK)


def cut_short(base: str) -> HomeserverUnreachable:
    """An answer that ends too early."""
    return HomeserverUnreachable(f"An answer of {base} was cut short. {_AGAIN}")


def error_of(
    base: str, status: int, headers: Mapping[str, str], body: Any, patience: float
) -> HomeserverRefused | HomeserverUnreachable:
    """What an answer other than 2xx means. ``body`` is its JSON, or anything else if it is none."""
    code = code_of(body)
    if status in _LATER or status >= HTTPStatus.INTERNAL_SERVER_ERROR or "LIMIT" in code:
        return _later(base, status, wait_asked(headers, body), patience)
    if status == HTTPStatus.UNAUTHORIZED and code:
        return HomeserverRefused(
            f"{base} does not know the reader's token ({code}). Make a new one for the reader and "
            "put it where matrix.token_file says.",
            status=status,
            code=code,
        )
    if not code:
        what = f"HTTP {status} without a Matrix error code"
        return HomeserverRefused(_NOT_MATRIX.format(base=base, what=what), status=status)
    return HomeserverRefused(
        f"{base} refused a request ({status} {code}). Check what the reader may see there.",
        status=status,
        code=code,
    )


def code_of(body: Any) -> str:
    """The Matrix error code of a body, "" if it has none."""
    code = body.get("errcode") if isinstance(body, dict) else None
    return code if isinstance(code, str) and _CODE.match(code) else ""


def wait_asked(headers: Mapping[str, str], body: Any) -> float | None:
    """Seconds to wait: ``retry_after_ms`` of the body, else the Retry-After header, else None."""
    asked = body.get("retry_after_ms") if isinstance(body, dict) else None
    if isinstance(asked, int | float) and not isinstance(asked, bool) and isfinite(asked):
        return max(0.0, asked / 1000)
    header = headers.get("Retry-After", "").strip()
    if re.fullmatch(r"\d{1,9}", header):
        return float(header)
    try:
        moment = parsedate_to_datetime(header)
    except ValueError:
        return None
    if moment.tzinfo is None:
        return None
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())


def unanswered(base: str, error: Exception, timeout: float) -> Exception:
    """What an error of the HTTP client means; any other error is given back as it is."""
    import aiohttp

    if isinstance(error, asyncio.TimeoutError):
        reason = f"{base} did not answer within {timeout:g} s"
        return HomeserverUnreachable(f"{reason}. {_AGAIN}")
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return HomeserverRefused(
            f"The TLS certificate of {base} is not trusted. Install its authority's certificate."
        )
    if isinstance(error, aiohttp.InvalidURL | aiohttp.TooManyRedirects):
        return HomeserverRefused(_NOT_MATRIX.format(base=base, what="it leads nowhere"))
    if isinstance(error, aiohttp.ClientConnectorError):
        return HomeserverUnreachable(
            f"{base} cannot be reached ({type(error).__name__}). Check matrix.homeserver and that "
            "the homeserver runs; the next run asks again."
        )
    if isinstance(error, aiohttp.ClientError | OSError):
        return HomeserverUnreachable(
            f"The connection to {base} broke ({type(error).__name__}). {_AGAIN}"
        )
    return error


def _later(base: str, status: int, wait: float | None, patience: float) -> HomeserverUnreachable:
    if wait is None:
        return HomeserverUnreachable(f"{base} answers HTTP {status}. {_AGAIN}")
    longer = f", longer than matrix.patience ({patience:g} s)" if wait > patience else ""
    return HomeserverUnreachable(
        f"{base} answers HTTP {status} and asks to wait {wait:g} s{longer}. Run `huginn refresh` "
        "again after that.",
        wait=wait,
    )
