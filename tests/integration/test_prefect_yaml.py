"""``prefect.yaml`` as Prefect reads it: it drops what it does not know in silence (spec 1.3)."""

from collections.abc import Mapping
from importlib.metadata import version
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]  # it comes with Prefect
from pydantic import BaseModel
from rich.console import Console

from flows import fan_out
from tasks import runtime  # noqa: F401  # sets Prefect's defaults before Prefect is imported

ROOT = Path(__file__).parents[2]
FILE = ROOT / "prefect.yaml"
FLOWS = {
    "refresh-chat": "flows.refresh.refresh",
    "refresh-forge": "flows.refresh.refresh",
    "backfill": "flows.backfill.backfill",
    "verify": "flows.verify.verify",
    "refresh-room": "flows.room.refresh_room",
    "refresh-repo": "flows.repo.refresh_repo",
}


@pytest.fixture(scope="module")
def raw() -> dict[str, Any]:
    """The file as it is written."""
    loaded = yaml.safe_load(FILE.read_text())
    assert isinstance(loaded, dict)
    return loaded


@pytest.fixture(scope="module")
def loaded() -> dict[str, dict[str, Any]]:
    """The deployments by name, as ``prefect deploy`` loads them."""
    from prefect.cli.deploy._config import _load_deploy_configs_and_actions

    said = StringIO()
    configs, _ = _load_deploy_configs_and_actions(FILE, console=Console(file=said))
    assert said.getvalue() == ""
    return {config["name"]: config for config in configs}


def unknown(model: type[BaseModel], data: Mapping[str, Any]) -> set[str]:
    known = {*model.model_fields} | {str(f.alias) for f in model.model_fields.values() if f.alias}
    return set(data) - known


def test_p15_no_key_stands_in_the_file_that_prefect_would_drop(raw: dict[str, Any]) -> None:
    from prefect.cli.deploy import _models

    assert unknown(_models.PrefectYamlModel, raw) == set()
    for deployment in raw["deployments"]:
        assert unknown(_models.DeploymentConfig, deployment) == set()
        assert unknown(_models.WorkPoolConfig, deployment["work_pool"]) == set()
        limit = deployment.get("concurrency_limit", {})
        assert unknown(_models.ConcurrencyLimitSpec, limit) == set()
        for schedule in deployment["schedules"]:
            assert unknown(_models.RawScheduleConfig, schedule) == set()


def test_the_file_is_for_the_prefect_that_is_installed(raw: dict[str, Any]) -> None:
    assert raw["prefect-version"] == version("prefect")


def test_every_deployment_is_there(loaded: dict[str, Any]) -> None:
    assert {name: config["entrypoint"] for name, config in loaded.items()} == FLOWS


@pytest.mark.parametrize("name", FLOWS)
def test_an_entrypoint_is_a_module_and_its_parameters_are_those_of_the_flow(
    loaded: dict[str, dict[str, Any]], name: str
) -> None:
    """In file form Prefect loads the module twice and puts ``flows/`` first on the path."""
    from prefect.flows import Flow, load_flow_from_entrypoint

    flow: Flow[..., Any] = load_flow_from_entrypoint(FLOWS[name])
    assert flow.fn.__module__ == FLOWS[name].rpartition(".")[0]
    given = loaded[name].get("parameters", {})
    assert given.keys() <= flow.parameters.properties.keys()
    missing = {each: "some" for each in flow.parameters.required if each not in given}
    assert flow.validate_parameters(given | missing).items() >= given.items()


def test_what_a_shared_refresh_orders_is_deployed(loaded: dict[str, dict[str, Any]]) -> None:
    from prefect.flows import Flow, load_flow_from_entrypoint

    for deployment, parameter in fan_out.DEPLOYMENTS.values():
        named, _, name = deployment.partition("/")
        flow: Flow[..., Any] = load_flow_from_entrypoint(loaded[name]["entrypoint"])
        assert flow.name == named
        assert flow.parameters.required == [parameter]
        assert {"allow_mass_delete", "into", "model"} <= flow.parameters.properties.keys()
