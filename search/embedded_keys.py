"""The embedded server's keys: made at its first start, one file each, shown nowhere (spec 1.4)."""

import os
import secrets
from dataclasses import dataclass, field
from pathlib import Path

from search.embedded_home import Home
from search.errors import PermanentError


@dataclass(frozen=True, slots=True)
class Keys:
    """The server's API keys; ``cluster`` guards the port that Weaviate keeps for its own nodes."""

    writer: str = field(repr=False)
    reader: str = field(repr=False)
    cluster: str = field(repr=False)


def read_keys(home: Home) -> Keys:
    """The keys made at the first start.

    Raises:
        PermanentError: there are none (yet), or a file is empty.
    """
    return Keys(*(_read_key(home.keys / f"{name}.key") for name in Keys.__slots__))


def made_keys(home: Home) -> Keys:
    """The keys, each made if it is missing; two processes at once end up with the same ones."""
    for name in Keys.__slots__:
        path = home.keys / f"{name}.key"
        if not path.exists():
            _write_new(path, secrets.token_urlsafe(32))
        if path.stat().st_mode & 0o077:
            path.chmod(0o600)
    return read_keys(home)


def _read_key(path: Path) -> str:
    try:
        key = path.read_text(encoding="ascii").strip()
    except FileNotFoundError as error:
        again = "`huginn down` and then `huginn up` makes it."
        raise PermanentError(f"{path} is not there: {again}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise PermanentError(f"{path} cannot be read ({error}): make it readable.") from error
    if not key:
        raise PermanentError(f"{path} is empty: remove it, then `huginn down` and `huginn up`.")
    return key


def _write_new(path: Path, text: str) -> None:
    """Writes a file that is there whole or not at all, and never over another's."""
    scratch = path.with_name(f".{path.name}-{secrets.token_hex(8)}")
    descriptor = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as out:
            out.write(text)
            out.flush()
            os.fsync(out.fileno())
        path.hardlink_to(scratch)
    except FileExistsError:
        return
    finally:
        scratch.unlink(missing_ok=True)
