"""``huginn uninstall`` takes away its own, and nothing else (spec 1.3)."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from search import embedded
from search.settings import Settings
from tests.support.weaviate_server import settings_in

ROOT = Path(__file__).parents[2]


@pytest.fixture
def installed(tmp_path: Path, binary: Path) -> Settings:
    """Folders as a used Huginn leaves them; the program in the cache is a small stand-in."""
    settings = settings_in(tmp_path, binary)
    for name in ("weaviate/data", "run", "search"):
        (settings.data_dir / name).mkdir(parents=True)
    (settings.data_dir / "purges.jsonl").write_text("{}\n")
    (settings.cache_dir / "weaviate").mkdir(parents=True)
    (settings.cache_dir / "weaviate" / "program").write_bytes(b"x" * 10_000)
    (settings.cache_dir / "mirrors").mkdir()
    return settings


def run(
    settings: Settings, *arguments: str, home: Path | None = None
) -> "subprocess.CompletedProcess[str]":
    environment = {
        "HOME": str(home or Path.home()),
        "HUGINN_DATA_DIR": str(settings.data_dir),
        "HUGINN_CACHE_DIR": str(settings.cache_dir),
        "HUGINN_WEAVIATE__BINARY": str(settings.weaviate.binary),
        "XDG_RUNTIME_DIR": str(settings.data_dir.parent),
        "PYTHONPATH": str(ROOT),
    }
    return subprocess.run(
        [sys.executable, "-c", "from flows.cli import main; main()", "uninstall", *arguments],
        env={**os.environ, **environment},
        cwd=settings.data_dir.parent,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def test_the_cache_goes_and_what_was_ingested_stays_and_is_told(installed: Settings) -> None:
    done = run(installed, "--yes")
    assert (done.returncode, done.stderr) == (0, "")
    assert not installed.cache_dir.exists()
    assert (installed.data_dir / "purges.jsonl").exists()
    assert f"removed {installed.cache_dir / 'weaviate'} (0.0 MB)" in done.stdout
    assert f"stays: what was ingested, in {installed.data_dir} (--data" in done.stdout


def test_with_data_all_goes_and_a_server_that_runs_is_stopped_first(
    tmp_path: Path, binary: Path
) -> None:
    settings = settings_in(tmp_path, binary)
    server = embedded.ensure_running(settings, lambda _: None)
    try:
        done = run(settings, "--data", "--yes", "--json")
        assert done.returncode == 0, done.stderr
        assert embedded.running(settings) is None
    finally:
        embedded.stop(settings)
    told = json.loads(done.stdout)
    assert told["schema"] == "huginn.uninstall/1"
    gone = {each["path"]: each["bytes"] for each in told["removed"]}
    assert gone[str(settings.data_dir / "weaviate")] > 10_000
    assert not settings.data_dir.exists()
    assert server.pid


@pytest.mark.parametrize("place", ["cache_dir", "data_dir"])
def test_a_folder_with_something_of_others_is_refused_whole(
    installed: Settings, place: str
) -> None:
    (getattr(installed, place) / "thesis.odt").write_text("mine")
    done = run(installed, "--data", "--yes")
    assert done.returncode == 2
    assert f"{place}: " in done.stderr
    assert "thesis.odt" in done.stderr
    assert (installed.cache_dir / "weaviate" / "program").exists()
    assert (installed.data_dir / "purges.jsonl").exists()


def test_the_home_folder_is_never_emptied_whatever_is_in_it(installed: Settings) -> None:
    done = run(installed, "--yes", home=installed.cache_dir)
    assert done.returncode == 2
    assert "cache_dir: " in done.stderr
    assert (installed.cache_dir / "weaviate" / "program").exists()


def test_links_are_removed_and_what_they_lead_to_stays(installed: Settings, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "kept").write_text("mine")
    (installed.cache_dir / "mirrors").rmdir()
    (installed.cache_dir / "mirrors").symlink_to(elsewhere)
    assert run(installed, "--yes").returncode == 0
    assert (elsewhere / "kept").read_text() == "mine"


def test_nothing_goes_unasked(installed: Settings) -> None:
    done = run(installed, "--data")
    assert done.returncode == 2
    assert "nobody is there to be asked" in done.stderr
    assert (installed.cache_dir / "weaviate" / "program").exists()
