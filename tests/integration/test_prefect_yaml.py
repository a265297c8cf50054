"""``prefect.yaml`` as Prefect reads it: it drops what it does not know in silence (spec 1.3)."""

from collections.abc import Mapping
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]  # it comes with Prefect
from pydantic import BaseModel
from rich.console import Console

from tasks import runtime  # noqa: F401  # sets Prefect's defaults before Prefect is imported

ROOT = Path(__file__).parents[2]
FILE = ROOT / "prefect.yaml"
NAMES = ("refresh", "backfill")


@pytest.fixture(scope="module")
def raw() -> dict[str, Any]:
    """The file as it is written."""
    loaded = yaml.safe_load(FILE.read_text())
    assert isinstance(loaded, dict)
    return loaded


@pytest.fixture(scope="module")
def loaded() -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
    """The deployments by name, and the actions, as ``prefect deploy`` loads them."""
    from prefect.cli.deploy._config import _load_deploy_configs_and_actions

    said = StringIO()
    configs, actions = _load_deploy_configs_and_actions(FILE, console=Console(file=said))
    assert said.getvalue() == ""
    return {config["name"]: config for config in configs}, actions


def unknown(model: type[BaseModel], data: Mapping[str, Any]) -> set[str]:
    known = {*model.model_fields} | {str(f.alias) for f in model.model_fields.values() if f.alias}
    return set(data) - known


def test_no_key_stands_in_the_file_that_prefect_would_drop(raw: dict[str, Any]) -> None:
    from prefect.cli.deploy import _models

    assert unknown(_models.PrefectYamlModel, raw) == set()
    for deployment in raw["deployments"]:
        assert unknown(_models.DeploymentConfig, deployment) == set()
        assert unknown(_models.WorkPoolConfig, deployment["work_pool"]) == set()
        limit = deployment["concurrency_limit"]
        assert unknown(_models.ConcurrencyLimitSpec, limit) == set()
        for schedule in deployment["schedules"]:
            assert unknown(_models.RawScheduleConfig, schedule) == set()


def test_both_deployments_are_there(loaded: tuple[dict[str, Any], Any]) -> None:
    assert tuple(loaded[0]) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_an_entrypoint_is_a_module_and_gives_our_own_flow(
    loaded: tuple[dict[str, dict[str, Any]], Any], name: str
) -> None:
    """In file form Prefect loads the module twice and puts ``flows/`` first on the path."""
    from prefect.flows import Flow, load_flow_from_entrypoint

    import flows.backfill
    import flows.refresh

    config = loaded[0][name]
    assert config["entrypoint"] == f"flows.{name}.{name}"
    flow: Flow[..., Any] = load_flow_from_entrypoint(config["entrypoint"])
    assert flow is {"refresh": flows.refresh.refresh, "backfill": flows.backfill.backfill}[name]
    parameters = config.get("parameters", {})
    assert flow.validate_parameters(parameters).items() >= parameters.items()


@pytest.fixture(scope="module")
def deployed(
    loaded: tuple[dict[str, dict[str, Any]], dict[str, Any]], prefect_api: str
) -> dict[str, Any]:
    """What Prefect's server holds after ``prefect deploy`` registered the deployments with it."""
    import anyio
    from prefect.cli.deploy._core import _run_multi_deploy
    from prefect.client.orchestration import get_client
    from prefect.client.schemas.actions import WorkPoolCreate

    configs, actions = loaded

    async def deploy() -> dict[str, Any]:
        async with get_client() as client:
            assert str(client.api_url).rstrip("/") == prefect_api.rstrip("/")
            await client.create_work_pool(WorkPoolCreate(name="huginn", type="process"))
            await _run_multi_deploy(
                list(configs.values()),
                actions,
                deploy_all=True,
                prefect_file=FILE,
                console=Console(file=StringIO()),
                is_interactive=lambda: False,
            )
            return {name: await client.read_deployment_by_name(f"{name}/{name}") for name in NAMES}

    return anyio.run(deploy)


@pytest.mark.parametrize("name", NAMES)
def test_one_run_at_a_time_and_a_later_one_waits(deployed: dict[str, Any], name: str) -> None:
    deployment = deployed[name]
    assert deployment.global_concurrency_limit.limit == 1
    assert deployment.concurrency_options.collision_strategy == "ENQUEUE"


def test_refresh_is_scheduled_and_backfill_is_not(deployed: dict[str, Any]) -> None:
    (schedule,) = deployed["refresh"].schedules
    assert (schedule.active, schedule.schedule.cron) == (True, "*/15 * * * *")
    assert schedule.schedule.timezone == "UTC"
    assert not deployed["refresh"].paused
    assert deployed["backfill"].schedules == []


@pytest.mark.parametrize("name", NAMES)
def test_a_worker_of_the_pool_finds_the_flow(deployed: dict[str, Any], name: str) -> None:
    deployment = deployed[name]
    assert deployment.work_pool_name == "huginn"
    assert deployment.entrypoint == f"flows.{name}.{name}"


def test_a_backfill_may_be_told_its_source_and_its_parameters_hold_no_text(
    deployed: dict[str, Any],
) -> None:
    assert deployed["backfill"].parameters == {"source": None}
    for name, parameters in (
        ("refresh", {"allow_mass_delete"}),
        ("backfill", {"source", "allow_mass_delete"}),
    ):
        assert deployed[name].parameter_openapi_schema["properties"].keys() == parameters
