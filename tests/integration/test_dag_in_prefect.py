"""What a run leaves in a real Prefect API: chains, inputs, states, retries, no secrets."""

import re
import traceback
from pathlib import Path
from typing import Any

import httpx
import pytest

from search import embedded
from search.errors import ServerUnavailable
from search.settings import Settings
from tasks.errors import Unexpected
from tasks.runtime import effect
from tests.support.community import Community
from tests.support.proxy import proxied
from tests.support.remains import all_bytes_in

CLIENT_TRIES = 4
"""So often the client itself tries to insert before it gives up."""

WORDS = "# {0}\n\nThe words of {0} about nothing much.\n"


class Api:
    """Reads runs back over HTTP, as Prefect's own page does."""

    def __init__(self, address: str) -> None:
        self._address = address

    def _post(self, path: str, **body: Any) -> list[dict[str, Any]]:
        answer = httpx.post(f"{self._address}{path}", json={"limit": 200} | body, timeout=120)
        answer.raise_for_status()
        found: list[dict[str, Any]] = answer.json()
        return found

    def flow_runs(self, name: str) -> list[dict[str, Any]]:
        return self._post("/flow_runs/filter", flow_runs={"name": {"any_": [name]}})

    def latest(self, flow: str) -> dict[str, Any]:
        runs = self._post(
            "/flow_runs/filter", flows={"name": {"any_": [flow]}}, sort="START_TIME_DESC"
        )
        return runs[0]

    def task_runs(self, flow_run: str) -> list[dict[str, Any]]:
        runs = self._post("/task_runs/filter", flow_runs={"id": {"any_": [flow_run]}})
        return sorted(runs, key=lambda run: run["expected_start_time"])

    def artifacts(self, flow_run: str) -> list[dict[str, Any]]:
        return self._post("/artifacts/filter", flow_runs={"id": {"any_": [flow_run]}})


@pytest.fixture
def api(prefect_api: str) -> Api:
    return Api(prefect_api)


@pytest.fixture
def server_grpc_port(server_settings: Settings) -> int:
    server = embedded.running(server_settings)
    assert server is not None
    return server.grpc_port


def names(runs: list[dict[str, Any]]) -> list[str]:
    return [run["name"].partition(":")[0] for run in runs]


def test_each_repository_is_a_chain_whose_commit_takes_the_acknowledgement(
    community: Community, api: Api
) -> None:
    tag = community.collection[-8:]
    for name in (f"one-{tag}", f"two-{tag}", f"three-{tag}"):
        community.repository(name).commit({"a.md": WORDS.format(name)})
    community.refresh()
    for name in community.repositories:
        (run,) = api.flow_runs(f"repo:{name}")
        assert run["state_type"] == "COMPLETED"
        assert run["parent_task_run_id"] is not None
        tasks = api.task_runs(run["id"])
        assert names(tasks) == ["begin", *["upsert", "commit_cursor"] * 3]
        upserts = [task for task in tasks if task["name"].startswith("upsert")]
        commits = [task for task in tasks if task["name"].startswith("commit_cursor")]
        for upsert, commit in zip(upserts, commits, strict=True):
            assert commit["task_inputs"]["acknowledgement"] == [
                {"input_type": "task_run", "id": upsert["id"]}
            ]
            assert commit["start_time"] >= upsert["end_time"]


def test_a_failed_upsert_leaves_its_commit_unrun_and_the_others_complete(
    community: Community, api: Api, server_grpc_port: int
) -> None:
    tag = community.collection[-8:]
    good, bad, also_good = f"a-good-{tag}", f"bad-{tag}", f"z-good-{tag}"
    for name in (good, bad, also_good):
        community.repository(name).commit({"a.md": WORDS.format(name)})
    community.repositories[bad].commit({"b.md": "# B\n\nUnwritable words.\n"})
    with proxied(server_grpc_port, cut_on=b"Unwritable words", cuts=99) as proxy:
        community.grpc_port = proxy.port
        outcomes = community.refresh()
    community.grpc_port = None
    assert [outcomes[f"repo:{name}"].result for name in (good, bad, also_good)] == [
        *("done", "failed", "done")
    ]
    (run,) = api.flow_runs(f"repo:{bad}")
    # A task that never ran was never named: Prefect adds a number to the task's own name.
    tasks = {re.split("[:-]", task["name"])[0]: task for task in api.task_runs(run["id"])}
    assert tasks["upsert"]["state_type"] == "FAILED"
    assert tasks["upsert"]["run_count"] == 3
    assert tasks["commit_cursor"]["state_type"] == "PENDING"
    assert tasks["commit_cursor"]["state_name"] == "NotReady"
    assert tasks["commit_cursor"]["run_count"] == 0
    assert run["state_type"] == "FAILED"
    parent = api.latest("refresh")
    assert parent["state_type"] == "FAILED"
    assert f"repo:{bad}" in parent["state"]["message"]
    record = community.record(f"repo:{bad}")
    assert record is not None
    assert (record.state, record.cursor.commit) == ("failed", None)
    assert community.search("words").unavailable.keys() == {f"repo:{bad}"}


def test_a_transient_failure_is_retried_and_the_run_completes(
    community: Community, api: Api, server_grpc_port: int
) -> None:
    name = f"shaky-{community.collection[-8:]}"
    community.repository(name).commit({"a.md": WORDS.format(name)})
    with proxied(server_grpc_port, cut_on=f"words of {name}".encode(), cuts=CLIENT_TRIES) as proxy:
        community.grpc_port = proxy.port
        assert community.refresh()[f"repo:{name}"].result == "done"
    assert proxy.done == CLIENT_TRIES
    community.grpc_port = None
    (run,) = api.flow_runs(f"repo:{name}")
    upserts = [task for task in api.task_runs(run["id"]) if task["name"].startswith("upsert")]
    assert upserts[0]["run_count"] == 2
    assert {task["state_type"] for task in api.task_runs(run["id"])} == {"COMPLETED"}


def test_a_lasting_failure_is_not_retried(community: Community, api: Api) -> None:
    name = f"gone-{community.collection[-8:]}"
    repository = community.repository(name)
    repository.commit({"a.md": WORDS.format(name)})
    repository.path.rename(repository.path.with_name("elsewhere"))
    assert community.refresh()[f"repo:{name}"].result == "failed"
    (run,) = api.flow_runs(f"repo:{name}")
    begin = next(task for task in api.task_runs(run["id"]) if task["name"].startswith("begin"))
    assert begin["run_count"] == 1


def test_no_clients_message_gets_out_of_a_task() -> None:
    """Prefect stores and logs what a task raises, with its causes."""
    words = "words of {}".format("somebody")  # so that the line itself does not hold them

    def fails() -> None:
        raise ServerUnavailable("Weaviate did not answer. Try again.") from OSError(words)

    def has_a_bug() -> None:
        raise ValueError(words)

    for function, kind in ((fails, ServerUnavailable), (has_a_bug, Unexpected)):
        with pytest.raises(kind) as caught:
            effect("told")(function).fn()
        told = traceback.format_exception(caught.value)
        assert words not in "".join(told)
        assert any("test_dag_in_prefect.py" in line for line in told), "where it happened stays"


def test_the_report_is_an_artifact_of_ids_and_counts(community: Community, api: Api) -> None:
    name = f"told-{community.collection[-8:]}"
    community.repository(name).commit({"a.md": "# Told\n\nPeople's own sentence.\n"})
    community.refresh()
    (artifact,) = api.artifacts(api.latest("refresh")["id"])
    assert artifact["key"] == "huginn-run"
    assert f"repo:{name}" in artifact["data"]
    assert "own sentence" not in artifact["data"]


def test_neither_text_nor_keys_reach_prefect(
    community: Community, prefect_home: Path, server_settings: Settings
) -> None:
    sentence = f"Sentence {community.collection} about whales"
    community.repository("private").commit({"a.md": f"# A\n\n{sentence}.\n"}, message=sentence)
    community.refresh()
    keys = embedded.keys(server_settings)
    written = all_bytes_in(prefect_home)
    assert b"repo:private" in written
    for secret in (sentence, keys.writer, keys.reader):
        assert secret.encode() not in written
