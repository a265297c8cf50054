"""``[matrix]`` in ``huginn.toml``: whose rooms are read, and which of them are left out (spec 3.1).

The reader's token is no setting: the write side alone reads it (spec 1.5), from the file that
``token_file`` names, a systemd credential ``matrix-token``, or ``HUGINN_MATRIX_TOKEN``.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

TOKEN_VARIABLE = "HUGINN_MATRIX_TOKEN"  # noqa: S105  # the variable's name
_ROOM = re.compile(r"^[!#][^\s/]{1,254}$")


class MatrixSettings(BaseModel):
    """Where the homeserver is and what is read of it; without ``homeserver`` no room is.

    ``user`` is the reader's id, which the homeserver must confirm. ``excluded`` are rooms by id or
    alias, ``direct`` rooms to be taken for direct messages, ``formerly_bridged`` rooms whose
    emptied bridge events do not count, ``puppets`` patterns of bridged users' ids (regular
    expressions over the whole id). ``labels`` names rooms for people, by id. Times are in seconds:
    ``timeout`` for one answer, ``patience`` for all waits that the homeserver asks for.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    homeserver: str | None = None
    user: str | None = Field(default=None, pattern=r"^@[^\s:]+:[^\s/]+$")
    token_file: Path | None = None
    excluded: tuple[str, ...] = ()
    direct: tuple[str, ...] = ()
    formerly_bridged: tuple[str, ...] = ()
    puppets: tuple[str, ...] = ()
    notices: bool = True
    labels: Mapping[str, str] = Field(default_factory=dict)
    timeout: float = Field(default=60, gt=0)
    patience: float = Field(default=300, ge=0)

    @field_validator("homeserver")
    @classmethod
    def _is_address(cls, value: str | None) -> str | None:
        if value is None:
            return None
        if not value.startswith(("http://", "https://")):
            raise ValueError("must start with http:// or https://")
        if any(mark in value for mark in "@?#"):
            raise ValueError("carries a user name, token or query: the token has a file of its own")
        try:
            named = urlsplit(value).hostname is not None and (urlsplit(value).port or 0) >= 0
        except ValueError:
            named = False
        if not named:
            raise ValueError("names no host, or a port that is no number")
        return value.rstrip("/")

    @field_validator("token_file")
    @classmethod
    def _expanded(cls, value: Path | None) -> Path | None:
        try:
            return value.expanduser() if value is not None else None
        except RuntimeError:
            raise ValueError("names a home folder that does not exist") from None

    @field_validator("excluded", "direct", "formerly_bridged")
    @classmethod
    def _are_rooms(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for room in value:
            if not _ROOM.match(room):
                raise ValueError(f"{room!r} is neither a room id (!…) nor an alias (#…)")
        return value

    @field_validator("labels")
    @classmethod
    def _are_labels(cls, value: Mapping[str, str]) -> Mapping[str, str]:
        for room, label in value.items():
            if not _ROOM.match(room) or not 1 <= len(label) <= 100:  # noqa: PLR2004
                raise ValueError(f"{room!r}: give a room id, and a label of 1 to 100 characters")
        return value

    @field_validator("puppets")
    @classmethod
    def _are_patterns(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for pattern in value:
            try:
                re.compile(pattern)
            except re.error as error:
                raise ValueError(f"{pattern!r} is no regular expression: {error}") from None
        return value

    @model_validator(mode="after")
    def _names_its_reader(self) -> "MatrixSettings":
        if self.homeserver and not self.user:
            raise ValueError("homeserver needs user, the reader's id such as @reader:example.org")
        return self
