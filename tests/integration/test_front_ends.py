"""Agents over MCP and programs over HTTP: the same look-ups as the command (spec 6.8)."""

import json
import os
import re
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

import anyio
import httpx
import pytest
from mcp import ClientSession, StdioServerParameters, types
from mcp.client.stdio import stdio_client

from search.schemas import ARGUMENTS, DESCRIPTIONS
from search.settings import Settings
from tests.support.community import Community

SEARCH = Path(sys.executable).parent / "huginn-search"


@pytest.fixture(scope="module")
def place(
    tmp_path_factory: pytest.TempPathFactory, server_settings: Settings, prefect_api: str
) -> Iterator[tuple[Path, dict[str, str]]]:
    """The settings file of an ingested community, and the environment of its look-ups."""
    folder = tmp_path_factory.mktemp("front")
    community = Community(folder, server_settings, f"Test{uuid.uuid4().hex}")
    source = community.repository("garden")
    source.commit({"docs/water.md": "# Water\n\nThe beans are watered at noon.\n"})
    community.refresh()
    with tempfile.TemporaryDirectory() as runtime:
        environment = os.environ | {"XDG_RUNTIME_DIR": runtime}
        config = community.config()
        yield config, environment
        stop = [str(SEARCH), "serve", "--stop", "--config", str(config)]
        subprocess.run(stop, env=environment, check=True, timeout=240, capture_output=True)


def test_an_agent_finds_the_same_over_mcp(place: tuple[Path, dict[str, str]]) -> None:
    config, environment = place

    async def talk() -> tuple[
        types.ListToolsResult, types.CallToolResult, types.CallToolResult, types.CallToolResult
    ]:
        program = StdioServerParameters(
            command=str(SEARCH), args=["mcp", "--config", str(config)], env=environment
        )
        async with (
            stdio_client(program) as (incoming, outgoing),
            ClientSession(incoming, outgoing) as session,
        ):
            await session.initialize()
            return (
                await session.list_tools(),
                await session.call_tool("search", {"texts": ["watering beans"], "top_k": 1}),
                await session.call_tool("search", {"texts": [" "]}),
                await session.call_tool("forget", {}),
            )

    tools, found, refused, unknown = anyio.run(talk)
    assert {tool.name for tool in tools.tools} == set(DESCRIPTIONS)
    assert all(tool.input_schema["additionalProperties"] is False for tool in tools.tools)
    document = found.structured_content
    assert document is not None
    assert document["schema"] == "huginn.search/1"
    assert document["hits"][0]["citation"]["path"] == "docs/water.md"
    assert "untrusted" in document
    text = found.content[0]
    assert isinstance(text, types.TextContent)
    assert json.loads(text.text) == document
    assert refused.is_error
    assert refused.structured_content is not None
    assert refused.structured_content["error"]["field"] == "texts[1]"
    assert unknown.is_error


@pytest.fixture
def served(place: tuple[Path, dict[str, str]]) -> Iterator[str]:
    """The address of ``serve --http`` on a free port."""
    config, environment = place
    command = [str(SEARCH), "serve", "--http", "--port", "0", "--config", str(config)]
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        said = process.stderr.readline()
        address = re.search(r"http://127\.0\.0\.1:\d+", said)
        try:
            assert address is not None, said
            yield address[0]
        finally:
            process.terminate()
            assert process.wait(120) == 0


@pytest.fixture
def web() -> Iterator[httpx.Client]:
    """A client that waits: a busy machine answers late."""
    with httpx.Client(timeout=240, trust_env=False) as client:
        yield client


def test_a_program_finds_the_same_over_http_with_the_token_only(
    place: tuple[Path, dict[str, str]], served: str, web: httpx.Client
) -> None:
    config, _ = place
    token_file = config.parent / "data" / "http-token"
    assert token_file.stat().st_mode & 0o777 == 0o600
    bearer = {"Authorization": f"Bearer {token_file.read_text()}"}
    asked = {"texts": ["watering beans"], "top_k": 1}
    url = f"{served}/v1/search"
    found = web.post(url, json=asked, headers=bearer)
    assert found.status_code == httpx.codes.OK
    assert found.json()["hits"][0]["citation"]["path"] == "docs/water.md"
    assert web.post(url, json=asked).status_code == httpx.codes.UNAUTHORIZED
    wrong = {"Authorization": "Bearer nothing"}
    assert web.post(url, json=asked, headers=wrong).status_code == httpx.codes.UNAUTHORIZED
    rebound = bearer | {"Host": "attacker.example:80"}
    assert web.post(url, json=asked, headers=rebound).status_code == 421
    foreign = bearer | {"Origin": "http://attacker.example"}
    assert web.post(url, json=asked, headers=foreign).status_code == httpx.codes.FORBIDDEN
    refused = web.post(url, json={"texts": ["beans"], "top_k": 0}, headers=bearer)
    assert refused.status_code == httpx.codes.BAD_REQUEST
    assert refused.json()["error"]["field"] == "top_k"
    assert web.post(f"{served}/v1/forget", json={}, headers=bearer).status_code == 404
    large = web.post(url, content=b" " * 70_000, headers=bearer)
    assert large.status_code == httpx.codes.REQUEST_ENTITY_TOO_LARGE
    described = web.get(f"{served}/openapi.json").json()
    assert described["paths"].keys() == {f"/v1/{command}" for command in ARGUMENTS}
    page = web.get(f"{served}/")
    assert "huginn.search/1" in page.text
    assert page.headers["Content-Security-Policy"] == "default-src 'none'"


def test_a_token_that_others_can_read_is_not_used(place: tuple[Path, dict[str, str]]) -> None:
    config, environment = place
    token_file = config.parent / "data" / "http-token"
    token_file.touch()
    token_file.chmod(0o644)
    try:
        command = [str(SEARCH), "serve", "--http", "--port", "0", "--config", str(config)]
        ended = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=240, check=False
        )
        assert ended.returncode == 3
        assert "can be read by others" in ended.stderr
    finally:
        token_file.unlink()
