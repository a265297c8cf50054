"""The shipped deployments on a real Prefect API, with real workers that get killed (spec 1.2, 1.3).

One deploy and a few workers for all of it: each process takes its ten seconds to start.
"""

import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from signal import SIGCONT, SIGSTOP
from typing import Any
from uuid import UUID

import pytest
import yaml  # type: ignore[import-untyped]  # it comes with Prefect

from search.settings import Settings
from tasks import runs
from tasks.bootstrap import open_store
from tasks.domain.leases import Claim
from tasks.lease import CLAIM
from tests.support.community import Community, without_vectors
from tests.support.synapse import Synapse
from tests.support.workers import Worker, environment, eventually, prefect, working

ROOT = Path(__file__).parents[2]
POOL = "huginn"
LEASE = 40.0
FILES = 240

DEPLOYMENTS = (
    "refresh/refresh-chat",
    "refresh/refresh-forge",
    "backfill/backfill",
    "verify/verify",
    "refresh-room/refresh-room",
    "refresh-repo/refresh-repo",
)


@dataclass
class Site:
    """The session's Prefect with our deployments, and the machines that share the collection."""

    api: str
    folder: Path
    first: Community
    second: Community
    deployments: dict[str, Any]

    def worker(self, machine: Community, *arguments: str) -> Any:
        """A worker on one of the machines; it is a context manager."""
        name = f"worker-{uuid.uuid4().hex[:8]}"
        own = machine.folder / f"{name}.toml"  # the other is written anew at each look
        shutil.copy(machine.config(), own)
        variables = {
            "HUGINN_CONFIG": str(own),
            "HUGINN_LEASE_SECONDS": str(LEASE),
        }
        env = environment(self.api, self.folder / name, **variables)
        return working(name, machine.folder, env, *arguments)

    def run(self, deployment: str, **parameters: Any) -> UUID:
        """Orders a run, as somebody at the UI or the command line does."""
        from prefect.client.orchestration import get_client

        with get_client(sync_client=True) as client:
            ordered = client.create_flow_run_from_deployment(
                self.deployments[deployment].id, parameters=parameters
            )
        return ordered.id

    def state(self, run: UUID) -> Any:
        from prefect.client.orchestration import get_client

        with get_client(sync_client=True) as client:
            return client.read_flow_run(run).state

    def children(self, run: UUID) -> dict[str, list[Any]]:
        """The runs that it ordered, by source, in the order of their making."""
        from prefect.client.orchestration import get_client
        from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterParentFlowRunId

        with get_client(sync_client=True) as client:
            found = client.read_flow_runs(
                flow_run_filter=FlowRunFilter(
                    parent_flow_run_id=FlowRunFilterParentFlowRunId(any_=[run])
                )
            )
        ordered: dict[str, list[Any]] = {}
        for each in sorted(found, key=lambda one: str(one.created)):
            named = each.parameters.get("room"), each.parameters.get("name")
            source = f"chat:{named[0]}" if named[0] else f"repo:{named[1]}"
            ordered.setdefault(source, []).append(each)
        return ordered

    def slots(self, deployment: str) -> int:
        """How many runs of it Prefect takes to be at work."""
        from prefect.client.orchestration import get_client

        with get_client(sync_client=True) as client:
            answer = client.request(
                "GET",
                "/v2/concurrency_limits/{id_or_name}",
                path_params={
                    "id_or_name": str(self.deployments[deployment].global_concurrency_limit.id)
                },
            )
        return int(answer.json()["active_slots"])


@pytest.fixture(scope="module")
def deployed(
    prefect_api: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Any]]:
    """What Prefect holds after `prefect deploy --all` on a copy of the shipped file."""
    from prefect.client.orchestration import get_client

    folder = tmp_path_factory.mktemp("deploy")
    shutil.copy(ROOT / "prefect.yaml", folder)
    env = environment(prefect_api, folder / "home")
    prefect("work-pool", "create", POOL, "--type", "process", env=env, cwd=folder)
    said = prefect("deploy", "--all", env=env, cwd=folder)
    assert "error" not in said.lower()
    with get_client(sync_client=True) as client:
        found = {name: client.read_deployment_by_name(name) for name in DEPLOYMENTS}
        for name, each in found.items():  # what the tests order is all that may run
            if each.schedules:
                client.request(
                    "POST", "/deployments/{id}/pause_deployment", path_params={"id": each.id}
                )
                assert client.read_deployment_by_name(name).paused
        yield found
        for each in found.values():
            client.delete_deployment(each.id)
        client.request("DELETE", "/work_pools/{name}", path_params={"name": POOL})


@pytest.fixture(scope="module")
def site(
    deployed: dict[str, Any],
    prefect_api: str,
    server_settings: Settings,
    synapse: Synapse,
    tmp_path_factory: pytest.TempPathFactory,
) -> Site:
    """Two machines over one collection: three repositories, two rooms."""
    folder = tmp_path_factory.mktemp("site")
    reader = f"reader_{uuid.uuid4().hex[:12]}"
    synapse.user(reader)
    collection = f"Test{uuid.uuid4().hex}"
    machines = []
    for name in ("first", "second"):
        (folder / name).mkdir()
        machines.append(Community(folder / name, server_settings, collection))
        machines[-1].reads(synapse, reader)
    first, second = machines
    for name in ("one", "two", "three"):
        first.repository(name).commit(
            {f"{number}.md": f"Leaf {number} of tree {name}.\n" for number in range(FILES)}
        )
    second.repositories, second.options = first.repositories, first.options
    for name in ("garden", "kitchen"):
        room = synapse.room("ada", reader)
        for number in range(3):
            sent = datetime(2026, 3, 1, 9, number, tzinfo=UTC)
            synapse.send(room, "ada", f"Word {number} in the {name}.", sent)
    return Site(prefect_api, folder, first, second, deployed)


def claims(community: Community) -> list[Claim]:
    with community.configured() as settings, open_store(settings) as store:
        return [Claim.from_json(each) for each in store.ledger.documents(CLAIM).values()]


def pid_of(claim: Claim) -> int:
    return int(claim.who.rpartition(" ")[2])


@pytest.mark.parametrize(
    ("name", "cron", "corpus"),
    [
        ("refresh/refresh-chat", "*/5 * * * *", "chat"),
        ("refresh/refresh-forge", "2,32 * * * *", "forge"),
    ],
)
def test_p15_refresh_is_scheduled_by_corpus_and_one_that_comes_meanwhile_is_cancelled(
    deployed: dict[str, Any], name: str, cron: str, corpus: str
) -> None:
    deployment = deployed[name]
    (schedule,) = deployment.schedules
    assert (schedule.active, schedule.schedule.cron) == (True, cron)
    assert schedule.schedule.timezone == "UTC"
    assert not deployment.paused
    assert deployment.parameters == {"corpus": corpus, "fan_out": False}
    assert deployment.global_concurrency_limit.limit == 1
    assert deployment.concurrency_options.collision_strategy == "CANCEL_NEW"


def test_p15_a_backfill_is_run_by_hand_and_a_later_one_waits(deployed: dict[str, Any]) -> None:
    deployment = deployed["backfill/backfill"]
    assert deployment.schedules == []
    assert deployment.global_concurrency_limit.limit == 1
    assert deployment.concurrency_options.collision_strategy == "ENQUEUE"
    assert deployment.parameters == dict.fromkeys(("source", "since", "until"))


def test_p15_verify_comes_weekly_changes_nothing_and_waits(deployed: dict[str, Any]) -> None:
    deployment = deployed["verify/verify"]
    (schedule,) = deployment.schedules
    assert (schedule.active, schedule.schedule.cron) == (True, "47 3 * * 0")
    assert deployment.parameters == {"source": None, "repair": False}
    assert deployment.concurrency_options.collision_strategy == "ENQUEUE"


@pytest.mark.parametrize("name", DEPLOYMENTS)
def test_p15_a_run_fetches_nothing_and_stands_where_its_worker_stands(
    deployed: dict[str, Any], name: str
) -> None:
    deployment = deployed[name]
    assert deployment.work_pool_name == POOL
    per_source = name.partition("/")[0] in ("refresh-room", "refresh-repo")
    assert deployment.work_queue_name == ("sources" if per_source else "default")
    assert not deployment.pull_steps
    assert deployment.job_variables == {"working_dir": "."}


def test_no_deployment_takes_text_or_a_secret(deployed: dict[str, Any]) -> None:
    taken = {
        parameter
        for deployment in deployed.values()
        for parameter in deployment.parameter_openapi_schema["properties"]
    }
    known = {"corpus", "fan_out", "allow_mass_delete", "source", "since", "until", "repair"}
    assert taken <= known | {"room", "name", "from_start", "into", "model"}


def test_the_automation_for_dead_runs_is_taken_by_prefect(prefect_api: str) -> None:
    import anyio
    from prefect.client.orchestration import get_client
    from prefect.events.schemas.automations import AutomationCore

    shipped = yaml.safe_load((ROOT / "docs/deploy/dead-runs.yaml").read_text())
    automation = AutomationCore.model_validate(shipped)

    async def taken() -> Any:
        async with get_client() as client:
            assert str(client.api_url).rstrip("/") == prefect_api.rstrip("/")
            made = await client.create_automation(automation)
            stored = await client.read_automation(made)
            await client.delete_automation(made)
        return stored

    stored = anyio.run(taken)
    assert stored.enabled
    (action,) = stored.actions
    assert (action.type, action.state) == ("change-flow-run-state", "CRASHED")


@pytest.mark.timeout(1500)
def test_p13_p14_two_workers_share_a_refresh_and_one_is_killed(
    site: Site, synapse: Synapse, prefect_api: str
) -> None:
    with ExitStack() as stack:
        stack.enter_context(site.worker(site.first, "--work-queue", "default"))
        survivor, victim = (
            stack.enter_context(site.worker(machine, "--work-queue", "sources", "--limit", "1"))
            for machine in (site.first, site.second)
        )
        run = site.run("refresh/refresh-forge", corpus=None, fan_out=True)
        eventually("the run at work", lambda: site.state(run).is_running())
        later = site.run("refresh/refresh-forge")
        state = eventually("the later run's end", lambda: _final(site, later))
        assert state.name == "Cancelled"
        assert "concurrency limit" in str(state.message)

        source = _kill_at_work(site, victim)
        ended = eventually("the run's end", lambda: _final(site, run))

    children = site.children(run)
    assert len(children) == 5
    (killed, *_, taker) = children[source]
    assert victim.took(killed.id)
    assert survivor.took(taker.id)
    assert (killed.state.name, taker.state.name) == ("Crashed", "Completed")
    for worker in (survivor, victim):
        assert any(worker.took(each.id) for ones in children.values() for each in ones)
    for source_of, ones in children.items():
        assert ones[-1].state.is_completed()
        left = runs.left(ones[-1].id)
        assert left is not None
        assert (left["source"], left["result"]) == (source_of, "done")
        assert left["counts"]["written"] or source_of == source
    assert ended.is_completed()
    assert claims(site.first) == []

    clean = Community(site.folder, site.first.server, f"Test{uuid.uuid4().hex}")
    clean.repositories, clean.options = site.first.repositories, site.first.options
    clean.matrix = site.first.matrix
    clean.refresh()
    assert without_vectors(site.first.passages()) == without_vectors(clean.passages())
    assert len(clean.passages()) >= 3 * FILES + 2


def _final(site: Site, run: UUID) -> Any:
    state = site.state(run)
    return state if state.is_final() else None


def _kill_at_work(site: Site, victim: Worker) -> str:
    """Kills it while it holds a repository of which only a part is stored; gives that source.

    Its process gets to work for a moment between two looks only, so that none comes too late.
    """

    def look() -> str | None:
        for claim in claims(site.first):
            pid = pid_of(claim)
            if not claim.source.startswith("repo:") or not victim.owns(pid):
                continue
            with suppress(ProcessLookupError):
                os.kill(pid, SIGSTOP)
                record = site.first.record(claim.source)
                if record is not None and record.cursor.position is not None:
                    victim.die()
                    return claim.source
                os.kill(pid, SIGCONT)
        return None

    return eventually("a repository that the other worker is in the midst of", look, every=0.1)


@pytest.mark.timeout(1500)
def test_p13_p14_a_run_whose_machine_died_stays_running_until_told_and_then_the_next_one_runs(
    site: Site,
) -> None:
    with ExitStack() as stack:
        first = stack.enter_context(site.worker(site.first))
        dead = site.run("backfill/backfill", source="repo:one")
        eventually("a run at work", lambda: site.state(dead).is_running())
        first.die()
        stack.enter_context(site.worker(site.second))
        waiting = site.run("backfill/backfill", source="repo:two")
        eventually(
            "a run that waits", lambda: site.state(waiting).name == "AwaitingConcurrencySlot"
        )
        assert site.state(dead).is_running()
        assert site.slots("backfill/backfill") == 1

        told = '{"state": {"type": "CRASHED"}, "force": true}'
        env = environment(site.api, site.folder / "operator")
        place = f"/flow_runs/{dead}/set_state"
        prefect("api", "POST", place, "--data", told, env=env, cwd=site.folder)
        assert site.state(dead).is_crashed()
        assert eventually("its end", lambda: _final(site, waiting)).is_completed()
