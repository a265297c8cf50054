"""What is listed to be kept: the repositories, and the rules their addresses must meet.

Both sides need it: the write side reads what is listed, the read side hides what no longer is
(spec 1.5). An address that could run a program or be taken for an option is refused here,
before git sees it (spec 5.1).
"""

import re
import unicodedata
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, field_validator

NAME = r"^[A-Za-z0-9][A-Za-z0-9._/-]{0,99}$"
_SCHEMES = {"https", "http", "ssh", "git", "file"}
_SCP = re.compile(r"^(?:[A-Za-z0-9._-]+@)?[A-Za-z0-9][A-Za-z0-9.-]*:(?![/\\]{2})[^:].*$")


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
        parts = urlsplit(address)
        if parts.scheme.lower() not in _SCHEMES:
            raise ValueError(f"{parts.scheme}:// is not one of {', '.join(sorted(_SCHEMES))}")
        secret = parts.password is not None or (parts.username and parts.scheme.startswith("http"))
        if secret:
            raise ValueError(
                "carries a user name or token: take it out and let git's credential helper give it"
            )
        host = parts.hostname or ""
        if host.startswith("-") or (parts.username or "").startswith("-"):
            raise ValueError("host or user may not start with a dash")
        if parts.scheme.lower() != "file" and not host:
            raise ValueError("names no host")
        return address
    if _SCP.match(address):
        return address
    return str(Path(address).expanduser().absolute())


def is_local(address: str) -> bool:
    """Whether the address (already checked) is a folder on this machine."""
    return address.startswith("/") or address.lower().startswith("file://")


class RepositorySettings(BaseModel):
    """One listed repository: ``[[repositories]]`` in ``huginn.toml``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(pattern=NAME)
    url: str
    branch: str | None = Field(default=None, pattern=r"^[A-Za-z0-9_.][A-Za-z0-9_./+@-]{0,250}$")
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    label: str | None = Field(default=None, max_length=100)

    _address = field_validator("url")(checked_address)

    @property
    def source(self) -> str:
        """The source id, ``repo:<name>``."""
        return f"repo:{self.name}"
