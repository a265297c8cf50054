"""What ``huginn verify`` says of what it found."""

import json

import pytest
from click.testing import CliRunner

from flows.cli import main
from flows.findings import SourcesDiffer, report
from tasks.domain.verification import Finding

FOUND = [
    Finding("repo:one", "same", 3),
    Finding("repo:two", "same", 4, behind="one commit more"),
    Finding("chat:!a", "different", 5, {"text": 2, "missing": 1}, ("id1", "id2")),
    Finding("chat:!b", "mended", 6, {"extra": 1}, ("id3",)),
    Finding("chat:!c", "leaving", reason="it may not be read: bridged"),
    Finding("repo:\x1b[31mred", "unverified", reason="it does not answer"),
]


def test_each_source_has_a_line_that_says_what_is_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    report(FOUND, as_json=False)
    assert capsys.readouterr().out.splitlines() == [
        "repo:one: 3 passages, all as its source gives them",
        "repo:two: 4 passages, all as its source gives them (one commit more)",
        "chat:!a: differs: missing 1, text 2, of 5 passages",
        "    id1, id2",
        "chat:!b: mended: extra 1; 6 passages now",
        "chat:!c: not verified, but on its way out: it may not be read: bridged",
        "repo:\N{REPLACEMENT CHARACTER}[31mred: not verified: it does not answer",
        "6 sources, 18 passages, 2 not as they must be",
    ]


def test_json_has_every_field(capsys: pytest.CaptureFixture[str]) -> None:
    report(FOUND[2:3], as_json=True)
    assert json.loads(capsys.readouterr().out) == {
        "schema": "huginn.verify/1",
        "sources": [
            {
                "source": "chat:!a",
                "result": "different",
                "passages": 5,
                "differences": {"text": 2, "missing": 1},
                "ids": ["id1", "id2"],
                "behind": None,
                "reason": None,
            }
        ],
    }


def test_the_error_of_a_run_names_what_is_not_as_it_must_be() -> None:
    failed = [each.source for each in FOUND if each.failed]
    error = SourcesDiffer(failed, FOUND)
    assert str(error).startswith("2 of 6 sources differ or could not be verified: chat:!a, repo:")
    assert error.findings == tuple(FOUND)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["one", "--all"], "Give one SOURCE, or --all."),
        (["--allow-mass-delete"], "Give --allow-mass-delete with --repair."),
    ],
)
def test_options_that_do_not_go_together_are_refused(arguments: list[str], told: str) -> None:
    answer = CliRunner().invoke(main, ["verify", *arguments])
    assert answer.exit_code == 2
    assert told in answer.output
