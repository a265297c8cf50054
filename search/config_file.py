"""Which settings file is in force, told by the standard library alone.

The thin client needs to know before anything heavy is loaded (spec 6.8): the file's path says
which service is asked, its content whether that service is still up to date.
"""

import os
import sys
from pathlib import Path
from typing import Any

from search.errors import SettingsError

CONFIG_NAME = "huginn.toml"
CONFIG_VARIABLE = "HUGINN_CONFIG"


def config_path(named: Path | None = None) -> Path | None:
    """The settings file in force, or None. A named file that is missing is an error."""
    variable = os.environ.get(CONFIG_VARIABLE)
    chosen = named or (Path(variable) if variable else None)
    if chosen is not None:
        if not chosen.is_file():
            raise SettingsError(
                "config", f"{chosen} is not a file", "Name an existing huginn.toml."
            )
        return chosen
    for folder in (Path.cwd(), user_config_folder()):
        if (folder / CONFIG_NAME).is_file():
            return folder / CONFIG_NAME
    return None


def user_config_folder() -> Path:
    """The user's configuration folder, the same that ``platformdirs`` tells."""
    named = os.environ.get("XDG_CONFIG_HOME", "")
    if Path(named).is_absolute():
        return Path(named) / "huginn"
    usual = "~/Library/Application Support" if sys.platform == "darwin" else "~/.config"
    return Path(usual).expanduser() / "huginn"


def look_up_seconds(named: Path | None) -> float:
    """``search.timeout`` as it is set, without reading the rest of the settings.

    A value that makes no sense counts as not set: whoever loads the settings refuses it.
    """
    value: Any = os.environ.get("HUGINN_SEARCH__TIMEOUT") or _in_file(named)
    try:
        seconds = float(value)
    except (TypeError, ValueError):
        return LOOK_UP_SECONDS
    return seconds if seconds > 0 else LOOK_UP_SECONDS


LOOK_UP_SECONDS = 10.0
"""The default of ``search.timeout`` (spec 6.5)."""


def _in_file(named: Path | None) -> Any:
    path = config_path(named)
    content = path.read_bytes() if path else b""
    if b"timeout" not in content:
        return None
    import tomllib

    try:
        return tomllib.loads(content.decode()).get("search", {}).get("timeout")
    except (ValueError, AttributeError):
        return None
