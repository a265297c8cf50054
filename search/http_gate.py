"""Who may ask over HTTP: callers of this machine that know the token (spec 6.8).

A page in a browser can reach the loopback address, and by rebinding a name it can look like our own
origin: so Host and Origin are checked before the token is.
"""

import hmac
import os
import secrets
from http import HTTPStatus
from pathlib import Path

from starlette.requests import Request
from starlette.responses import JSONResponse

from search.errors import PermanentError
from search.presentation import printable

HOST = "127.0.0.1"
TOKEN_FILE = "http-token"  # noqa: S105  # the file's name
_OTHERS = 0o077


class Gate:
    """Lets through who names us as the host, is no foreign page, and has the token."""

    def __init__(self, token: str, port: int) -> None:
        self._token = token.encode()
        self._names = {f"{host}:{port}" for host in (HOST, "localhost")}

    def refusal(self, request: Request) -> JSONResponse | None:
        """Why not, by Host and Origin."""
        if request.headers.get("host", "") not in self._names:
            return error(HTTPStatus.MISDIRECTED_REQUEST, "Host is not this server's.")
        origin = request.headers.get("origin")
        if origin is not None and origin not in {f"http://{name}" for name in self._names}:
            return error(HTTPStatus.FORBIDDEN, "Origin is not this server's.")
        return None

    def without_token(self, request: Request) -> JSONResponse | None:
        """Why not, by the bearer token."""
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and hmac.compare_digest(given.encode(), self._token):
            return None
        answer = error(
            HTTPStatus.UNAUTHORIZED, f"Give the token of {TOKEN_FILE} in data_dir as bearer token."
        )
        answer.headers["WWW-Authenticate"] = "Bearer"
        return answer


def error(status: HTTPStatus, message: str, **facts: str) -> JSONResponse:
    """An error's JSON: ``{"error": {"message": …, "field": …, "reason": …, "fix": …}}``."""
    return JSONResponse({"error": {"message": printable(message), **facts}}, status)


def token_in(folder: Path) -> str:
    """The token, made at the first start: 256 bits in a file that is ours alone."""
    path = folder / TOKEN_FILE
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w") as stream:
            stream.write(secrets.token_urlsafe(32))
    except FileExistsError:
        pass
    facts = path.stat()
    if facts.st_mode & _OTHERS or facts.st_uid != os.geteuid():
        raise PermanentError(f"{path} can be read by others: `chmod 600` it, or remove it.")
    token = path.read_text(encoding="utf-8").strip()
    if not token:
        raise PermanentError(f"{path} is empty: remove it, and the next start makes another.")
    return token
