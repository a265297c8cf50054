"""Every listed case has its tests, and an entry in the table of broken rules (spec 7.1)."""

import ast
import tomllib
from functools import cache
from pathlib import Path

import pytest

from tests.mutants import ROOT, mutants

GROUPS: dict[str, dict[str, list[str]]] = tomllib.loads(
    (Path(__file__).parent / "cases.toml").read_text(encoding="utf-8")
)
CASES = [(case, tests) for group in GROUPS.values() for case, tests in group.items()]


@cache
def collected(file: str) -> set[str]:
    """What pytest collects from a file: its test functions, and those of its test classes."""
    path = ROOT / file
    if not path.name.startswith("test_") or not path.is_file():
        return set()
    found = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
            found |= {f"{node.name}::{inner.name}" for inner in node.body if _is_function(inner)}
        elif isinstance(node, ast.Assign):  # a state machine's TestCase
            found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return {name for name in found if name.rpartition("::")[2].lower().startswith("test")}


def _is_function(node: ast.stmt) -> bool:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)


@pytest.mark.parametrize(("case", "tests"), CASES, ids=[case for case, _ in CASES])
def test_each_test_of_a_case_is_collected(case: str, tests: list[str]) -> None:
    assert tests, f"{case} has no test"
    for test in tests:
        file, _, name = test.partition("::")
        assert name in collected(file), f"{case}: {test} is not collected"


@pytest.mark.parametrize(("case", "tests"), CASES, ids=[case for case, _ in CASES])
def test_each_case_has_a_rule_to_break(case: str, tests: list[str]) -> None:
    told = [mutant for mutant in mutants() if case in mutant.cases]
    assert told, f"{case} has no entry in tests/mutants.toml"
    assert {mutant.test.partition("[")[0] for mutant in told} <= set(tests)


def test_a_case_stands_in_one_group() -> None:
    ids = [case for case, _ in CASES]
    assert len(set(ids)) == len(ids)


def test_a_file_of_tests_names_what_pytest_collects_from_it() -> None:
    own = collected("tests/cases/test_every_case_has_a_test.py")
    assert "test_each_case_has_a_rule_to_break" in own
    assert "collected" not in own
    assert collected("tests/mutants.py") == set()
