"""A Prefect API that is not there: an error that says so, and nothing half-done."""

import os
import subprocess
import sys
from pathlib import Path

from tests.support.community import Community

HUGINN = Path(sys.executable).parent / "huginn"


def test_a_prefect_api_that_does_not_answer_is_an_error_with_its_fix(community: Community) -> None:
    community.repository("one").commit({"a.md": "Some words.\n"})
    nobody = os.environ | {"PREFECT_API_URL": "http://127.0.0.1:9/api"}
    ended = subprocess.run(
        [str(HUGINN), "refresh", "--config", str(community.config())],
        env=nobody,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ended.returncode == 1
    assert "error: Prefect's API does not answer" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert community.passages() == {}
