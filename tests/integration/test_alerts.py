"""The automation that tells people of failed runs, with a real Prefect server (docs/deploy)."""

import http.server
import json
import queue
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
import yaml  # type: ignore[import-untyped]  # it comes with Prefect

from tests.support.community import Community

FILE = Path(__file__).parents[2] / "docs/deploy/failed-runs.yaml"
SECONDS = 300


@contextmanager
def receiver() -> Iterator[tuple[str, "queue.Queue[str]"]]:
    """Somebody's webhook: its address, and what was posted to it."""
    told: queue.Queue[str] = queue.Queue()

    class Hook(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            told.put(self.rfile.read(int(self.headers["Content-Length"])).decode())
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Hook)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/", told
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


async def made(url: str) -> Any:
    """The shipped automation, with a webhook for its notifications."""
    from prefect.blocks.notifications import CustomWebhookNotificationBlock
    from prefect.client.orchestration import get_client
    from prefect.events.schemas.automations import AutomationCore

    block = CustomWebhookNotificationBlock(
        name="test", url=url, method="POST", json_data={"text": "{{subject}}: {{body}}"}
    )
    identifier = await block.save(f"alerts-{uuid.uuid4().hex}")  # type: ignore[misc]
    shipped = yaml.safe_load(FILE.read_text())
    (action,) = shipped["actions"]
    assert action["block_document_id"] == str(uuid.UUID(int=0))
    action["block_document_id"] = str(identifier)
    async with get_client() as client:
        return await client.create_automation(AutomationCore.model_validate(shipped))


async def removed(identifier: Any) -> None:
    from prefect.client.orchestration import get_client

    async with get_client() as client:
        await client.delete_automation(identifier)


@pytest.mark.timeout(900)
def test_a_failed_run_is_told_with_the_source_that_failed_and_no_word_of_its_text(
    community: Community,
) -> None:
    community.repository("good").commit({"a.md": "# A\n\nGood words.\n"})
    broken = community.repository("broken")
    broken.commit({"a.md": "# A\n\nUnspeakable words.\n"})
    broken.path.rename(broken.path.with_name("away"))
    with receiver() as (url, told):
        automation = anyio.run(made, url)
        try:
            outcomes = community.refresh()
            message = json.loads(told.get(timeout=SECONDS))["text"]
        finally:
            anyio.run(removed, automation)
    assert outcomes["repo:broken"].result == "failed"
    assert message.startswith("Huginn: refresh Failed")
    assert "repo:broken" in message
    assert "repo:good" not in message
    assert "Unspeakable" not in message
