"""The units, the crontab and the compose file name only what there is, and close what they can."""

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any, get_args

import click
import pytest
import yaml  # type: ignore[import-untyped]  # it comes with Prefect
from pydantic import BaseModel

import flows.cli
from search.config_file import CONFIG_VARIABLE
from search.embedded_home import home_of
from search.embedded_keys import Keys
from search.embedded_ports import Ports
from search.embedded_process import environment
from search.matrix_listing import TOKEN_VARIABLE
from search.settings import WEAVIATE_VERSION, Settings

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "deploy"
SERVICES = sorted(FOLDER.glob("*.service"))
TIMERS = sorted(FOLDER.glob("*.timer"))
CRON = (FOLDER / "huginn.cron").read_text(encoding="utf-8")
COMPOSE: dict[str, Any] = yaml.safe_load((FOLDER / "compose.yaml").read_text(encoding="utf-8"))
CREDENTIALS = {"matrix-token", "huginn-writer-key", "huginn-reader-key"}
PREFECT: dict[str, Any] = yaml.safe_load((ROOT / "prefect.yaml").read_text(encoding="utf-8"))


def entries(unit: Path) -> list[tuple[str, str]]:
    """Keys and values in the order of the file; a key may come more than once."""
    lines = unit.read_text(encoding="utf-8").splitlines()
    pairs = [line.split("=", 1) for line in lines if "=" in line and not line.startswith("#")]
    return [(key, value) for key, value in pairs]


def values(unit: Path, key: str) -> list[str]:
    return [value for name, value in entries(unit) if name == key]


def variables(model: type[BaseModel] = Settings, prefix: str = "HUGINN_") -> Iterator[str]:
    """The environment variables of all settings."""
    for name, field in model.model_fields.items():
        kinds = [field.annotation, *get_args(field.annotation)]
        tables = [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel)]
        if tables and tables[0] is field.annotation:
            yield from variables(tables[0], f"{prefix}{name.upper()}__")
        else:
            yield f"{prefix}{name.upper()}"


KNOWN = {*variables(), CONFIG_VARIABLE, TOKEN_VARIABLE}


def check_command(line: str) -> None:
    """A command of Huginn's with options that it has, or a worker of the pool that is deployed."""
    program, *arguments = shlex.split(line)
    if program.endswith("/huginn"):
        command: click.Command = flows.cli.main
        while isinstance(command, click.Group) and arguments and arguments[0] in command.commands:
            command = command.commands[arguments.pop(0)]
        assert not isinstance(command, click.Group), line
        assert isinstance(command, click.Command)
        command.make_context(str(command.name), list(arguments))
    else:
        assert program.endswith("/prefect"), line
        check_worker(arguments)


def check_worker(arguments: list[str]) -> None:
    assert arguments[:2] == ["worker", "start"]
    options = dict(zip(arguments[2::2], arguments[3::2], strict=True))
    assert options["--pool"] == PREFECT["deployments"][0]["work_pool"]["name"]
    assert options["--type"] == "process"
    assert options.keys() <= {"--pool", "--type", "--name", "--limit"}


@pytest.mark.parametrize("unit", SERVICES, ids=lambda unit: str(unit.name))
def test_a_unit_runs_a_command_that_there_is_as_a_user_who_can_write_little(unit: Path) -> None:
    started = {timer.stem.partition("@") for timer in TIMERS}
    name, template, _ = unit.stem.partition("@")
    instances = [instance for of, _, instance in started if of == name] if template else [""]
    assert instances
    for line in values(unit, "ExecStart"):
        for instance in instances:
            check_command(line.replace("%i", instance))
    options = dict(entries(unit))
    assert options["User"] == "huginn"
    assert options["ProtectSystem"] == "strict"
    assert options["CapabilityBoundingSet"] == ""
    for closed in ("NoNewPrivileges", "PrivateTmp", "PrivateDevices", "ProtectHome"):
        assert options[closed] == "yes"


@pytest.mark.parametrize("unit", SERVICES, ids=lambda unit: str(unit.name))
def test_a_unit_sets_only_what_is_a_setting_and_no_secret(unit: Path) -> None:
    for name, _, _value in (each.partition("=") for each in values(unit, "Environment")):
        assert name in KNOWN | {"HOME", "PREFECT_HOME", "PREFECT_API_URL"}
        assert not name.endswith(("_KEY", "_TOKEN"))
    handed = {each.partition(":")[0] for each in values(unit, "LoadCredential")}
    assert handed == (set() if "weaviate" in unit.name else {"matrix-token"})
    assert handed <= CREDENTIALS


def test_a_unit_that_needs_weaviate_asks_for_the_unit_that_is_it() -> None:
    asked = {each for unit in SERVICES for each in values(unit, "Requires")}
    assert asked == {"huginn-weaviate.service"}
    assert asked <= {unit.name for unit in SERVICES}
    assert values(FOLDER / "huginn-weaviate.service", "Type") == ["notify"]


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="there is no systemd here")
def test_systemd_takes_the_units(tmp_path: Path) -> None:
    """With a program that exists in the place of those that are to be installed."""
    for unit in (*SERVICES, *TIMERS):
        text = unit.read_text(encoding="utf-8")
        text = re.sub(r"/opt/huginn/bin/\w+", sys.executable, text)
        (tmp_path / unit.name).write_text(text, encoding="utf-8")
    done = subprocess.run(
        ["systemd-analyze", "verify", *(str(each) for each in sorted(tmp_path.iterdir()))],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    told = [line for line in done.stderr.splitlines() if "huginn" in line]
    assert told == []


def test_the_crontab_has_a_time_a_user_and_a_command_that_there_is() -> None:
    for line in CRON.splitlines():
        if line.startswith("#") or re.match(r"[A-Z_]+=", line):
            continue
        *when, user, program, _, _lock = line.split(maxsplit=8)[:9]
        assert len(when) == 5
        assert all(re.fullmatch(r"[\d*/,]+", each) for each in when)
        assert (user, program) == ("huginn", "flock")
        check_command(line[line.index("/opt/huginn") :])
    assert set(re.findall(r"^(HUGINN_\w+)=", CRON, re.MULTILINE)) <= KNOWN


def test_the_schedules_are_the_same_with_prefect_and_with_cron() -> None:
    crons = {
        deployment["name"]: schedule["cron"]
        for deployment in PREFECT["deployments"]
        for schedule in deployment["schedules"]
    }
    assert crons == {
        name: next(line for line in CRON.splitlines() if line.endswith(end)).partition(" huginn ")[
            0
        ]
        for name, end in (
            ("refresh-chat", "refresh --corpus chat"),
            ("refresh-forge", "refresh --corpus forge"),
            ("verify", "huginn verify"),
        )
    }


def test_the_compose_file_has_the_versions_that_the_code_is_for() -> None:
    services = COMPOSE["services"]
    assert services["weaviate"]["image"].endswith(f":{WEAVIATE_VERSION}")
    assert f":{version('prefect')}-" in services["prefect"]["image"]


def test_nothing_in_the_compose_file_listens_to_the_outside() -> None:
    ports = [port for service in COMPOSE["services"].values() for port in service.get("ports", [])]
    assert len(ports) == 3
    assert all(port.startswith("127.0.0.1:") for port in ports)


def test_a_container_of_ours_is_set_by_settings_and_its_secrets_are_files() -> None:
    declared = COMPOSE["secrets"].keys()
    for service in COMPOSE["services"].values():
        given = service.get("environment", {})
        assert {name for name in given if name.startswith("HUGINN_")} <= KNOWN
        files = [value for value in given.values() if str(value).startswith("/run/secrets/")]
        read = re.findall(
            r"/run/secrets/([\w-]+)", " ".join([*files, str(service.get("entrypoint"))])
        )
        assert set(read) == set(service.get("secrets", []))
        assert set(read) <= declared
        assert not [name for name in given if name.endswith(("_KEY", "_TOKEN", "_PASSWORD"))]
    assert all(each.keys() == {"file"} for each in COMPOSE["secrets"].values())


def test_a_worker_is_of_the_pool_that_is_deployed() -> None:
    program, *arguments = COMPOSE["services"]["worker"]["command"]
    assert program == "prefect"
    check_worker(arguments)


def test_the_containers_weaviate_is_set_as_our_own_is(tmp_path: Path) -> None:
    own = environment(
        home_of(Settings(data_dir=tmp_path)),
        Ports(*range(1, len(Ports.__dataclass_fields__) + 1)),
        Keys("writer", "reader", "cluster"),
        {},
    )
    given = COMPOSE["services"]["weaviate"]["environment"]
    for name in ("AUTHENTICATION", "AUTHORIZATION", "AUTOSCHEMA", "ASYNC", "ENABLE", "API_BASED"):
        ours = {key: value for key, value in own.items() if key.startswith(name)}
        ours.pop("AUTHENTICATION_APIKEY_ALLOWED_KEYS", None)  # from the secrets, at start
        assert ours
        assert ours.items() <= given.items()


def test_prefects_leases_outlive_its_server() -> None:
    from importlib.util import find_spec

    given = COMPOSE["services"]["prefect"]["environment"]
    module = given["PREFECT_SERVER_CONCURRENCY_LEASE_STORAGE"]
    assert find_spec(module)
    assert not module.endswith(".memory")
    assert any(
        each.endswith(given["PREFECT_HOME"]) for each in COMPOSE["services"]["prefect"]["volumes"]
    )
