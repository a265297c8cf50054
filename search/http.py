"""``huginn-search serve --http``: the look-ups over HTTP, for programs on this machine (spec 6.8).

Off by default. It listens on the loopback address only, asks for a bearer token that it keeps in
a file of its own (0600), and answers only to its own Host and Origin. Like MCP it is a front end:
the look-up service answers.
"""

import json
from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any

import anyio.to_thread
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from search import client
from search.errors import HuginnError, PermanentError, UsageError
from search.http_gate import HOST, TOKEN_FILE, Gate, error, token_in
from search.openapi import described, page
from search.requests import COMMANDS, check

PORT = 7414
MAX_BODY = 65_536

Ask = Callable[[str, dict[str, Any]], dict[str, Any]]
"""A look-up by name and arguments: its document."""


def application(ask: Ask, token: str, port: int) -> Starlette:
    """The ASGI application; ``port`` is the one that callers must name in Host and Origin."""
    gate = Gate(token, port)

    async def look_up(request: Request) -> Response:
        refusal = gate.refusal(request) or gate.without_token(request)
        return refusal or await _looked_up(request, ask)

    async def openapi(request: Request) -> Response:
        return gate.refusal(request) or JSONResponse(described(f"http://{HOST}:{port}"))

    async def home(request: Request) -> Response:
        nothing = {"Content-Security-Policy": "default-src 'none'"}
        return gate.refusal(request) or HTMLResponse(page(), headers=nothing)

    return Starlette(
        routes=[
            Route("/", home, methods=["GET"]),
            Route("/openapi.json", openapi, methods=["GET"]),
            Route("/v1/{command}", look_up, methods=["POST"]),
        ]
    )


def main(config: Path | None, port: int | None = None) -> int:
    """Serves until SIGTERM or SIGINT.

    Raises:
        PermanentError: the token's file is open to others, or the port is taken.
    """
    import signal
    import socket

    import uvicorn

    from search.asking import say
    from search.config_file import look_up_seconds
    from search.settings import load_settings

    folder = load_settings(config).data_dir.expanduser()
    token = token_in(folder)

    def ask(command: str, arguments: dict[str, Any]) -> dict[str, Any]:
        seconds = look_up_seconds(config)
        return client.ask(command, arguments, config=config, seconds=seconds, say=say)

    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((HOST, PORT if port is None else port))
        except OSError as taken:
            raise PermanentError(
                f"{HOST}:{port}: {taken.strerror}. Give another --port."
            ) from taken
        listening.listen()  # whoever reads the address may come at once
        port = listening.getsockname()[1]
        say(f"look-ups on http://{HOST}:{port}/ (description there)")
        say(f"token in {folder / TOKEN_FILE}")
        settings = uvicorn.Config(
            application(ask, token, port),
            log_level="warning",
            access_log=False,  # what is asked is nobody's business (spec 7.3)
            server_header=False,
            timeout_graceful_shutdown=10,
        )
        for number in (signal.SIGTERM, signal.SIGINT):
            # uvicorn ends by them, then raises them once more: asked to end is no failure.
            signal.signal(number, lambda *_: None)
        uvicorn.Server(settings).run([listening])
    return 0


async def _looked_up(request: Request, ask: Ask) -> Response:
    command = request.path_params["command"]
    if command not in COMMANDS:
        return error(HTTPStatus.NOT_FOUND, f"Known: {', '.join(COMMANDS)}.")
    body = b""
    async for some in request.stream():
        body += some
        if len(body) > MAX_BODY:
            return error(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"At most {MAX_BODY} bytes.")
    return await anyio.to_thread.run_sync(partial(_answer, ask, command, body))


def _answer(ask: Ask, command: str, body: bytes) -> Response:
    try:
        arguments = json.loads(body or b"{}")
    except ValueError:
        return error(HTTPStatus.BAD_REQUEST, "The body is no JSON.")
    if not isinstance(arguments, dict):
        return error(HTTPStatus.BAD_REQUEST, "The body is no JSON object of arguments.")
    try:
        check(command, arguments)
        return JSONResponse(ask(command, arguments))
    except UsageError as refused:
        facts = {"field": refused.field, "reason": refused.reason, "fix": refused.fix}
        return error(HTTPStatus.BAD_REQUEST, str(refused), **facts)
    except HuginnError as failed:
        return error(HTTPStatus.SERVICE_UNAVAILABLE, str(failed))
