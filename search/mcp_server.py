"""``huginn-search mcp``: the same look-ups for agents, over standard input and output (spec 6.8).

A front end of the look-up service: one tool per look-up, the same arguments, refusals and
documents. Nothing is kept here, so any number of agents share one warm model.
"""

import asyncio
import sys
from collections.abc import Mapping
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import anyio.to_thread
from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from search import client
from search.config_file import look_up_seconds
from search.errors import HuginnError, UsageError
from search.presentation import dumps
from search.requests import check
from search.schemas import DESCRIPTIONS, UNTRUSTED, schema_of
from search.service_place import place_of

INSTRUCTIONS = (
    "Looks up what a community wrote, in its Matrix rooms and its git repositories. Cite what you "
    f"use by the citation of the hit. {UNTRUSTED}"
)


def server(config: Path | None) -> Server[Any]:
    """The MCP server for the settings in force; it asks the look-up service."""

    async def list_tools(_: Any, __: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_tool(command) for command in DESCRIPTIONS])

    async def call_tool(_: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        # A look-up waits for the service: other requests must not wait for it.
        asked = partial(_result, params.name, params.arguments or {}, config)
        return await anyio.to_thread.run_sync(asked)

    return Server(
        "huginn",
        version=version("huginn"),
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def main(config: Path | None) -> int:
    """Serves until standard input ends."""
    place_of(config)  # a settings file that is missing is told at once

    async def run() -> None:
        made = server(config)
        async with stdio_server() as (incoming, outgoing):
            await made.run(incoming, outgoing, made.create_initialization_options())

    asyncio.run(run())
    return 0


def _tool(command: str) -> types.Tool:
    return types.Tool(
        name=command,
        description=f"{DESCRIPTIONS[command]} {UNTRUSTED}",
        input_schema=schema_of(command),
        annotations=types.ToolAnnotations(read_only_hint=True, open_world_hint=False),
    )


def _result(
    command: str, arguments: Mapping[str, Any], config: Path | None
) -> types.CallToolResult:
    """The document as text and as data; a refusal as an error that names the field."""
    try:
        check(command, arguments)
        seconds = look_up_seconds(config)
        document = client.ask(command, arguments, config=config, seconds=seconds, say=_say)
    except HuginnError as error:
        facts: dict[str, Any] = {"message": str(error)}
        if isinstance(error, UsageError):
            facts |= {"field": error.field, "reason": error.reason, "fix": error.fix}
        return _answer({"error": facts}, is_error=True)
    return _answer(document, is_error=False)


def _answer(document: dict[str, Any], *, is_error: bool) -> types.CallToolResult:
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=dumps(document))],
        structured_content=document,
        is_error=is_error,
    )


def _say(message: str) -> None:
    print(message, file=sys.stderr, flush=True)  # noqa: T201  # standard output is the protocol's
