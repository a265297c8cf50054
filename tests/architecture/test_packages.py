"""The packages and the arrows between them (docs/architecture.md)."""

import os
import re
import subprocess
import sys
import sysconfig
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("flows", "tasks", "search")


def test_every_arrow_points_the_right_way() -> None:
    command = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run(
        [command, "--no-cache"],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert re.findall(r"^(.*) BROKEN", done.stdout, re.MULTILINE) == []
    assert done.returncode == 0, done.stdout + done.stderr
    assert " 0 broken" in done.stdout


@pytest.mark.parametrize("package", PACKAGES)
def test_init_files_are_empty(package: str) -> None:
    """What they imported would come with every module, and import-linter does not look there."""
    files = list((ROOT / package).rglob("__init__.py"))
    assert files
    assert {str(file): file.read_text() for file in files if file.read_text()} == {}


@pytest.mark.parametrize("package", PACKAGES)
def test_every_folder_of_modules_is_a_package(package: str) -> None:
    folders = {module.parent for module in (ROOT / package).rglob("*.py")}
    assert {folder for folder in folders if not (folder / "__init__.py").exists()} == set()


@pytest.mark.parametrize("package", PACKAGES)
def test_the_package_that_is_imported_is_ours(package: str) -> None:
    spec = find_spec(package)
    assert spec is not None
    assert spec.origin == str(ROOT / package / "__init__.py")


@pytest.mark.parametrize("package", [*PACKAGES, "tests"])
def test_nothing_installed_has_the_name_of_a_package_of_ours(package: str) -> None:
    """A foreign ``search`` in site-packages would be imported instead of ours, or the other way."""
    places = {Path(sysconfig.get_path(kind)) for kind in ("purelib", "platlib")}
    names = (package, f"{package}.py")
    assert [place / name for place in places for name in names if (place / name).exists()] == []
