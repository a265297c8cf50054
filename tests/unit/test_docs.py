"""The reference pages name every setting, command and option, and nothing that there is not."""

import json
import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args

import click
import pytest
from click.testing import CliRunner
from pydantic import BaseModel
from pydantic_core import PydanticUndefined

import flows.cli
import search.cli
from search.settings import Settings
from tasks.domain.acknowledgement import Counts

DOCS = Path(__file__).parents[2] / "docs"
SETTINGS = (DOCS / "settings.md").read_text(encoding="utf-8")
CLI = (DOCS / "cli.md").read_text(encoding="utf-8")


def settings_of(model: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Dotted name and default of every setting; a section or list of tables stands for its own."""
    for name, field in model.model_fields.items():
        inner = [field.annotation, *get_args(field.annotation)]
        tables = [kind for kind in inner if isinstance(kind, type) and issubclass(kind, BaseModel)]
        if not tables or tables[0] is not field.annotation:
            made = field.default_factory is dict
            yield f"{prefix}{name}", {} if made else field.default
        for table in tables:
            yield from settings_of(table, f"{prefix}{name}.")


def rows(text: str) -> dict[str, list[str]]:
    """Rows of the page's tables by what stands in the first cell, a name in backticks."""
    found = re.findall(r"^\| `([^`|]+)` \|(.*)\|$", text, re.MULTILINE)
    return {name: [cell.strip() for cell in cells.split(" | ")] for name, cells in found}


SETTING_ROWS = {name: cells for name, cells in rows(SETTINGS).items() if name == name.lower()}


@pytest.mark.parametrize(("name", "default"), [*settings_of(Settings)])
def test_every_setting_is_documented_with_its_variable_and_default(name: str, default: Any) -> None:
    variable, shown, meaning = SETTING_ROWS[name]
    of_a_repository = name.startswith("repositories.")
    assert variable == ("" if of_a_repository else f"`HUGINN_{name.upper().replace('.', '__')}`")
    assert meaning.endswith(".")
    if default is PydanticUndefined:
        assert shown == "required" or name.endswith("_dir")
    elif default is None or name == "repositories":
        assert shown == "none"
    else:
        value = list(default) if isinstance(default, tuple) else default
        assert shown == f"`{str(value).lower() if isinstance(value, bool) else value}`"


def test_no_setting_is_documented_that_there_is_not() -> None:
    assert SETTING_ROWS.keys() == {name for name, _ in settings_of(Settings)}


def commands(group: click.Group, name: str) -> Iterator[tuple[str, click.Command]]:
    """Full names of all commands, like ``huginn sources add``."""
    for word, command in group.commands.items():
        if isinstance(command, click.Group):
            if command.invoke_without_command:
                yield f"{name} {word}", command
            yield from commands(command, f"{name} {word}")
        else:
            yield f"{name} {word}", command


COMMANDS = dict([*commands(flows.cli.main, "huginn"), *commands(search.cli.main, "huginn-search")])


def section(heading: str) -> str:
    """What stands under a heading of docs/cli.md, up to the next one of any level."""
    found = re.search(rf"^#+ `{re.escape(heading)}`$(.*?)(?=^#|\Z)", CLI, re.MULTILINE | re.DOTALL)
    assert found, f"docs/cli.md has no section `{heading}`"
    return found[1]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_documented_with_its_options_arguments_and_an_example(name: str) -> None:
    text = section(name)
    documented = rows(text)
    for parameter in COMMANDS[name].params:
        if isinstance(parameter, click.Option):
            assert set(parameter.opts) <= set(re.split(r"[ ,]+", " ".join(documented)))
        else:
            assert parameter.make_metavar(click.Context(COMMANDS[name])).strip("[].") in text
    assert f"```sh\n{name.removesuffix(' search')}" in text


@pytest.mark.parametrize("name", COMMANDS)
def test_no_option_is_documented_that_there_is_not(name: str) -> None:
    there = {option for parameter in COMMANDS[name].params for option in parameter.opts}
    documented = {word for row in rows(section(name)) for word in re.split(r"[ ,]+", row)}
    assert {word for word in documented if word.startswith("-")} <= there


def test_no_command_is_documented_that_there_is_not() -> None:
    headings = re.findall(r"^#+ `(huginn[^`/]*)`$", CLI, re.MULTILINE)
    assert set(headings) - {"huginn", "huginn-search"} == set(COMMANDS)


@pytest.mark.parametrize("schema", ["search", "run", "verify", "sources", "status"])
def test_every_json_document_is_described(schema: str) -> None:
    assert section(f"huginn.{schema}/1")


def test_every_count_of_a_run_is_described() -> None:
    documented = rows(section("huginn.run/1"))
    assert {f"sources[].counts.{field.name}" for field in fields(Counts)} <= documented.keys()


def keys_of(document: Any, prefix: str = "") -> Iterator[str]:
    """Dotted names of all keys; ``[]`` stands for the members of a list."""
    if isinstance(document, dict):
        for key, value in document.items():
            yield f"{prefix}{key}"
            yield from keys_of(value, f"{prefix}{key}.")
    elif isinstance(document, list) and document and isinstance(document[0], dict):
        yield from keys_of(document[0], f"{prefix.removesuffix('.')}[].")


@pytest.mark.parametrize(
    ("command", "schema"), [("status", "status"), ("sources list", "sources")], ids=str
)
def test_what_huginn_prints_as_json_is_described_field_by_field(
    command: str, schema: str, tmp_path: Path
) -> None:
    file = tmp_path / "huginn.toml"
    file.write_text(
        f'data_dir = "{tmp_path}/data"\n[[repositories]]\nname = "one"\nurl = "/srv/one"\n'
    )
    environment = {"HUGINN_CONFIG": str(file)}
    arguments = [*command.split(), "--json"]
    printed = CliRunner().invoke(flows.cli.main, arguments, env=environment).stdout
    assert rows(section(f"huginn.{schema}/1")).keys() == set(keys_of(json.loads(printed)))


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda page: str(page.name))
def test_every_link_between_the_pages_leads_somewhere(page: Path) -> None:
    links = re.findall(r"\]\((?!\w+:|#)([^)#]+)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []
