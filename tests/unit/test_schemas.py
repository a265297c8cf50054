"""What agents and programs are told of a look-up's arguments is what its check takes."""

import pytest

from search.errors import UsageError
from search.requests import COMMANDS, check
from search.schemas import ARGUMENTS, DESCRIPTIONS, REQUIRED, schema_of

VALUES = {
    "texts": ["beans"],
    "id": "$event",
    "corpus": None,
    "since": "2026-01-01",
    "until": "2026-01-02",
    "sort": "time",
    "recency_half_life": "30d",
    "gap": "1h",
}
LISTS = {"sources": ["chat"], "room": ["#a:b"], "repo": ["a"], "path": ["*.md"]} | {
    "sender": ["@a:b"],
    "thread": ["$root"],
}


def test_every_look_up_is_described() -> None:
    assert ARGUMENTS.keys() == DESCRIPTIONS.keys() == COMMANDS.keys()


@pytest.mark.parametrize(
    ("command", "name"), [(command, name) for command in ARGUMENTS for name in ARGUMENTS[command]]
)
def test_an_argument_that_is_described_is_taken(command: str, name: str) -> None:
    value = (VALUES | LISTS).get(name, 1)
    needed = {each: VALUES[each] for each in REQUIRED.get(command, [])}
    if command == "get":
        needed["id"] = "6b1f3c56-5a0e-5d0e-9d0a-2f6a7c1f9b11"
        value = needed["id"] if name == "id" else value
    check(command, needed | {name: value})


@pytest.mark.parametrize("command", ARGUMENTS)
def test_an_argument_that_is_not_described_is_refused(command: str) -> None:
    known = {name for each in ARGUMENTS.values() for name in each}
    needed = {each: VALUES[each] for each in REQUIRED.get(command, [])}
    for name in (known | {"else"}) - ARGUMENTS[command].keys():
        with pytest.raises(UsageError) as refusal:
            check(command, needed | {name: (VALUES | LISTS).get(name) or 1})
        assert refusal.value.field == name


@pytest.mark.parametrize("command", REQUIRED)
def test_what_is_required_cannot_be_left_out(command: str) -> None:
    assert schema_of(command)["required"] == REQUIRED[command]
    with pytest.raises(UsageError) as refusal:
        check(command, {})
    assert refusal.value.field == REQUIRED[command][0]
