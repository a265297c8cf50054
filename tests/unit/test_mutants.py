"""The table of broken rules fits the tree (CONTRIBUTING.md)."""

import ast
from functools import cache

import pytest

from tests.mutants import ROOT, Mutant, broken, main, mutants

TABLE = mutants()


@cache
def names_in(file: str) -> set[str]:
    """What a node id may name in a test file: its functions, classes, and what is assigned."""
    found = set()
    for node in ast.walk(ast.parse((ROOT / file).read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Assign):
            found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return found


@pytest.mark.parametrize("mutant", TABLE, ids=lambda mutant: mutant.id)
def test_the_line_to_break_still_stands_there_exactly_once(mutant: Mutant) -> None:
    assert broken(mutant) != (ROOT / mutant.file).read_text(encoding="utf-8")


@pytest.mark.parametrize("mutant", TABLE, ids=lambda mutant: mutant.id)
def test_the_test_that_must_notice_is_there(mutant: Mutant) -> None:
    file, _, name = mutant.test.partition("::")
    assert name.partition("[")[0].partition("::")[0] in names_in(file)


@pytest.mark.parametrize("mutant", TABLE, ids=lambda mutant: mutant.id)
def test_what_is_broken_is_code_and_the_rule_has_words(mutant: Mutant) -> None:
    ours = mutant.file.partition("/")[0] in {"search", "tasks", "flows"}
    deployed = mutant.file == "prefect.yaml" or mutant.file.startswith("docs/deploy/")
    kept_as_the_real_one = mutant.file.startswith("tests/support/fake_")
    assert ours or deployed or kept_as_the_real_one
    assert mutant.rule
    assert mutant.spec


def test_every_mutant_has_an_id_of_its_own() -> None:
    ids = [mutant.id for mutant in TABLE]
    assert len(set(ids)) == len(ids)


def test_an_id_that_there_is_not_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["no-such-mutant"]) == 2
    assert "no-such-mutant" in capsys.readouterr().out
