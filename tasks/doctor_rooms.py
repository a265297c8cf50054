"""``huginn doctor matrix``: what keeps rooms from being read, told live by GET alone (spec 3.6).

Nothing is written, here or there, and nothing that is told holds a member's id or name.
"""

import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from search.errors import HuginnError
from search.ledger import SourceRecord
from search.matrix_listing import TOKEN_VARIABLE, MatrixSettings
from search.settings import Settings
from tasks.chat_ports import Homeserver, Standing
from tasks.domain.rooms import Admitted, RoomRules
from tasks.errors import HomeserverRefused, WrongReader
from tasks.room_admission import UNSURE, verdict_of
from tasks.settings import matrix_token

Verdict = Literal["in", "out", "unknown"]

OTHERS = 0o077
LEAST_VERSION = "v1.1"
"""The paths of the client-server API that Huginn asks (``/v3``) came with it."""


class Inspected(Homeserver, Protocol):
    """A homeserver that also tells what no refresh needs."""

    def versions(self) -> tuple[str, ...]:
        """Which versions of the client-server API it speaks."""

    def invites(self) -> frozenset[str]:
        """Rooms to which the reader is invited."""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that must be so: whether it is, what was found, and what to do if it is not."""

    name: str
    is_well: bool
    told: str


@dataclass(frozen=True, slots=True)
class RoomLook:
    """A room that the reader is in: read or not, and why. ``alias`` is "" for one left out."""

    room: str
    verdict: Verdict
    alias: str = ""
    reason: str = ""
    is_encrypted: bool = False


def settings_checks(settings: Settings, file: Path | None) -> Iterator[Check]:
    """What can be told without asking anybody; ends at the first that is off."""
    matrix = settings.matrix
    where = str(file) if file else "huginn.toml"
    if matrix.homeserver is None:
        told = f"matrix.homeserver is not set, so no room is read. Set it in {where}."
        yield Check("settings", is_well=False, told=told)
        return
    yield Check("settings", is_well=True, told=f"{matrix.homeserver} as {matrix.user}")
    try:
        matrix_token(settings)
    except HuginnError as error:
        yield Check("token", is_well=False, told=str(error))
        return
    yield _token_check(matrix)


def _token_check(matrix: MatrixSettings) -> Check:
    if os.environ.get(TOKEN_VARIABLE):
        told = f"from {TOKEN_VARIABLE}; a file of mode 0600 is harder to see for others"
        return Check("token", is_well=True, told=told)
    if matrix.token_file is None:
        return Check("token", is_well=True, told="from systemd's credentials directory")
    mode = stat.S_IMODE(matrix.token_file.stat().st_mode)
    if mode & OTHERS:
        told = f"others may read {matrix.token_file} ({mode:04o}). Run `chmod 600` on it."
        return Check("token", is_well=False, told=told)
    return Check("token", is_well=True, told=f"{matrix.token_file} ({mode:04o})")


def homeserver_checks(homeserver: Inspected, expected: str) -> tuple[list[Check], Standing | None]:
    """Whether it answers, and as whom: up to the first check that is off, then no standing."""
    try:
        answers = Check("homeserver", is_well=True, told=_version(homeserver))
    except HuginnError as error:
        return [Check("homeserver", is_well=False, told=str(error))], None
    try:
        standing = homeserver.standing()
        if standing.user != expected:
            raise WrongReader(standing.user, expected)
    except HuginnError as error:
        return [answers, Check("reader", is_well=False, told=str(error))], None
    told = f"the token is {standing.user}'s, who is in {len(standing.joined)} rooms"
    return [answers, Check("reader", is_well=True, told=told)], standing


def _version(homeserver: Inspected) -> str:
    try:
        versions = homeserver.versions()
    except HomeserverRefused as refused:
        if refused.code:
            return "answers"  # it is one, and whoami will tell about the token
        raise
    if LEAST_VERSION not in versions:
        raise HomeserverRefused(
            f"It does not speak {LEAST_VERSION} of the client-server API. Update the homeserver."
        )
    return f"answers, up to {versions[-1]} of the client-server API"


def looks(
    homeserver: Homeserver,
    standing: Standing,
    rules: RoomRules,
    records: Mapping[str, SourceRecord],
) -> Iterator[RoomLook]:
    """Each room that the reader is in, by id, judged as a refresh would judge it now."""
    for room in sorted(standing.joined):
        record = records.get(f"chat:{room}")
        past = record is None or not record.room.event
        try:
            verdict = verdict_of(room, homeserver.room(room), standing, rules, past=past)
        except HuginnError as error:
            yield RoomLook(room, "unknown", reason=str(error))
            continue
        if isinstance(verdict, Admitted):
            yield RoomLook(room, "in", verdict.alias, is_encrypted=verdict.encrypted)
        else:
            told: Verdict = "unknown" if verdict.code in UNSURE else "out"
            yield RoomLook(room, told, reason=verdict.reason)
