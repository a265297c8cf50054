"""What is listed to be kept: the repositories, and the rules their addresses must meet.

Both sides need it: the write side reads what is listed, the read side hides what no longer is
(spec 1.5). An address that could run a program or be taken for an option is refused here,
before git sees it (spec 5.1).
"""

import os
import re
import unicodedata
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, field_validator

NAME = r"^[A-Za-z0-9][A-Za-z0-9._/-]{0,99}$"
_SCHEMES = {"https", "http", "ssh", "git", "file"}
_SCP = re.compile(r"^(?:[A-Za-z0-9._-]+@)?[A-Za-z0-9][A-Za-z0-9.-]*:(?![/\\]{2})[^:].*$")
_NO_BRANCH = re.compile(r"^$|^-|(^|/)\.|//|^/|/$|\.lock(/|$)|\.$|\.\.|@\{|[ ~^:?*\[\\]")
_NO_CREDENTIALS = (
    "carries a user name or token: take it out and let git's credential helper give it"
)


def checked_address(value: str) -> str:
    """The address as git may see it, or ``ValueError`` with the reason and the fix.

    Allowed: a folder, ``https://``, ``http://``, ``ssh://``, ``git://``, ``file://`` and
    ``user@host:path``. Refused: transport helpers such as ``ext::``, anything that starts with a
    dash after any blanks, control characters, and passwords or tokens inside the address.
    """
    if any(unicodedata.category(character) == "Cc" for character in value):
        raise ValueError("has a control character: write the address without it")
    address = value.strip()
    if not address or address.startswith("-"):
        raise ValueError("must be a URL or a folder, and may not start with a dash")
    if re.match(r"^[A-Za-z0-9+.-]*::", address):
        raise ValueError("transport helpers (ext:: and the like) are refused: use https:// or ssh")
    if "://" in address:
        return _checked_url(address)
    if re.match(r"^[^/@:]+:[^/@]+@", address):
        raise ValueError(_NO_CREDENTIALS)
    if _SCP.match(address):
        return address
    try:
        return os.path.abspath(Path(address).expanduser())  # noqa: PTH100  # takes .. out, no links
    except RuntimeError as error:
        raise ValueError("starts with ~ but no such user has a home: write it out") from error


def _checked_url(address: str) -> str:
    parts = urlsplit(address)
    scheme = parts.scheme  # urlsplit gives it in small letters, the only form that git knows
    if scheme not in _SCHEMES:
        raise ValueError(f"{scheme}:// is not one of {', '.join(sorted(_SCHEMES))}")
    if parts.password is not None or (parts.username and scheme.startswith("http")):
        raise ValueError(_NO_CREDENTIALS)
    if parts.query or (parts.fragment and scheme != "file"):
        raise ValueError("has a ? or # part, where tokens hide: write the address without it")
    host, user = parts.hostname or "", parts.username or ""
    if host.startswith("-") or user.startswith("-"):
        raise ValueError("host or user may not start with a dash")
    if scheme != "file":
        if not host:
            raise ValueError("names no host")
        if not re.fullmatch(
            r"(?:[^@]*@)?(?:[^\s%\\:\[\]]+|\[[0-9a-f:.]+\])(?::[0-9]{0,5})?", parts.netloc
        ):
            raise ValueError("has no plain host and port (a login with a slash in it?)")
    return scheme + address[len(scheme) :]


def anchored(address: str, folder: Path) -> str:
    """A folder that is not written from the root, seen from ``folder``; anything else as it is."""
    written = address.strip()
    try:
        relative = checked_address(written).startswith("/") and not written.startswith(("/", "~"))
    except ValueError:
        return address
    return str(folder.absolute() / written) if relative else address


def is_local(address: str) -> bool:
    """Whether the address (already checked) is a folder on this machine."""
    return address.startswith(("/", "file://"))


class RepositorySettings(BaseModel):
    """One listed repository: ``[[repositories]]`` in ``huginn.toml``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(pattern=NAME)
    url: str
    branch: str | None = Field(default=None, max_length=250)
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    label: str | None = Field(default=None, max_length=100)

    _address = field_validator("url")(checked_address)

    @field_validator("name")
    @classmethod
    def _is_no_way_up(cls, value: str) -> str:
        if any(part.strip(".") == "" for part in value.split("/")):
            raise ValueError("has a part that is empty or only dots: leave it out")
        return value

    @field_validator("branch")
    @classmethod
    def _is_branch_name(cls, value: str | None) -> str | None:
        """What ``git check-ref-format --branch`` takes, and never an option (spec 5.1)."""
        if value is not None and (_NO_BRANCH.search(value) or not value.isprintable()):
            raise ValueError("is no branch name: write it as git branch shows it, without a dash")
        return value

    @property
    def source(self) -> str:
        """The source id, ``repo:<name>``."""
        return f"repo:{self.name}"
