"""Prefect's defaults as Huginn needs them, in a process of its own: it reads them at import."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

_TELL = (
    "import tasks.runtime; from prefect.settings import get_current_settings as now; "
    "print(now().server.ephemeral.startup_timeout_seconds, now().server.analytics_enabled)"
)
_VARIABLE = "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS"


@pytest.mark.parametrize(("given", "told"), [({}, "180 False"), ({_VARIABLE: "7"}, "7 False")])
def test_p10_a_temporary_server_has_the_time_that_a_slow_machine_needs_and_reports_nowhere(
    given: dict[str, str], told: str, tmp_path: Path
) -> None:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    root = str(Path(__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-c", _TELL],
        env=kept | {"PREFECT_HOME": str(tmp_path), "PYTHONPATH": root} | given,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    assert done.stdout.strip() == told
