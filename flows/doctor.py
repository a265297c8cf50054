"""``huginn doctor matrix``: looks, tells what is off and what to do, and writes nothing."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import click

from flows.listing import held_records
from search.config_file import config_path
from search.errors import HuginnError
from search.ledger import Journal, SourceRecord
from search.presentation import printable
from search.settings import Settings, load_settings
from tasks.bootstrap import open_homeserver, room_rules
from tasks.doctor_rooms import (
    Check,
    Inspected,
    RoomLook,
    homeserver_checks,
    looks,
    settings_checks,
)
from tasks.domain.rooms import RoomRules

PATIENCE = 10.0
"""Seconds: whoever asks wants to hear soon that the homeserver does not answer."""

MAKE_A_READER = r"""How to make the reader and its token, once:

  1. On the homeserver's host, make a user of its own, without any right:
       umask 077
       head -c 30 /dev/urandom | base64 | tr -d '+/=\n' > reader-password
       register_new_matrix_user --user huginn-reader --no-admin --password-file reader-password \
         --config /etc/matrix-synapse/homeserver.yaml {homeserver}
  2. Take reader-password to Huginn's host, log in as it once, keep the token in a file that nobody
     else may read, and delete reader-password on both:
       umask 077
       curl -fsS {homeserver}/_matrix/client/v3/login --data-binary @- <<< "{{\
         \"type\": \"m.login.password\", \"password\": \"$(cat reader-password)\",\
         \"identifier\": {{\"type\": \"m.id.user\", \"user\": \"huginn-reader\"}}}}" |
         python3 -c 'import json, sys; print(json.load(sys.stdin)["access_token"])' > matrix-token
  3. Name all three in huginn.toml:
       [matrix]
       homeserver = "{homeserver}"
       user = "@huginn-reader:SERVER"
       token_file = "/path/to/matrix-token"
  4. Let a person of each room invite the reader, then join as the reader: Huginn itself never
     accepts an invite. Use any client, or this; write the # of an alias as %23:
       curl -fsS -X POST -H @- {homeserver}/_matrix/client/v3/join/%23ROOM:SERVER \
         <<< "Authorization: Bearer $(cat matrix-token)"

It sees what a member of these rooms sees, and nothing else. docs/matrix.md says what is kept, what
never is, and which rooms are left out whoever invites the reader."""


@dataclass(frozen=True, slots=True)
class Findings:
    """All that was found. ``invites`` is None when nobody could be asked."""

    checks: Sequence[Check]
    rooms: Sequence[RoomLook] = ()
    invites: Sequence[str] | None = None
    records: Mapping[str, SourceRecord] | None = None
    journal: Journal | None = None

    @property
    def is_well(self) -> bool:
        """Whether every room can be judged; one that is left out for a reason is well."""
        judged = all(each.verdict != "unknown" for each in self.rooms)
        return judged and all(check.is_well for check in self.checks)


def matrix(*, as_json: bool) -> int:
    """Exit code 0 if all is as it must be, 1 if not."""
    settings = load_settings()
    found = _findings(settings)
    if as_json:
        click.echo(json.dumps(_document(found), indent=2))
    else:
        for line in _lines(found, settings):
            click.echo(printable(line, keep="\n"))
    return 0 if found.is_well else 1


def _findings(settings: Settings) -> Findings:
    checks = [*settings_checks(settings, config_path())]
    try:
        rules = room_rules(settings)
        opened = open_homeserver(settings, patience=min(PATIENCE, settings.matrix.patience))
        with opened as homeserver:
            return _asked(homeserver, rules, settings, checks)
    except HuginnError as error:
        # What the checks named already, or a token or pattern that cannot be used.
        if all(check.is_well for check in checks):
            checks.append(Check("settings", is_well=False, told=str(error)))
        return Findings(checks)


def _asked(
    homeserver: Inspected, rules: RoomRules, settings: Settings, checks: list[Check]
) -> Findings:
    records, journal = _held(settings, checks)
    told, standing = homeserver_checks(homeserver, settings.matrix.user or "")
    checks += told
    if standing is None:
        return Findings(checks, records=records, journal=journal)
    rooms = [*looks(homeserver, standing, rules, records or {})]
    invites = None
    try:
        invites = sorted(homeserver.invites())
    except HuginnError as error:
        checks.append(Check("invites", is_well=False, told=str(error)))
    return Findings(checks, rooms, invites, records, journal)


def _held(
    settings: Settings, checks: list[Check]
) -> tuple[Mapping[str, SourceRecord] | None, Journal | None]:
    try:
        return held_records(settings)
    except HuginnError as error:
        checks.append(Check("collection", is_well=False, told=str(error)))
        return None, None


def _lines(found: Findings, settings: Settings) -> Iterator[str]:
    for check in found.checks:
        yield f"{'ok    ' if check.is_well else 'wrong '} {check.name}: {check.told}"
    for room in found.rooms:
        yield f"{_WORDS[room.verdict]} {_about(room, found.records)}"
    for invited in found.invites or ():
        yield f"invite {invited}: not accepted. Let it join by hand if it is to be read."
    if found.journal is not None:
        yield from _last_run(found.journal)
    if not {"settings", "token", "homeserver", "reader"} <= {
        check.name for check in found.checks if check.is_well
    }:
        homeserver = settings.matrix.homeserver or "https://matrix.example.org"
        yield ""
        yield MAKE_A_READER.format(homeserver=homeserver)


_WORDS = {"in": "read  ", "out": "out   ", "unknown": "wrong "}


def _about(room: RoomLook, records: Mapping[str, SourceRecord] | None) -> str:
    if room.verdict == "out":
        return f"{room.room}: joined but excluded because {room.reason}"
    if room.verdict == "unknown":
        return f"{room.room}: joined but not read this time because {room.reason}"
    record = (records or {}).get(f"chat:{room.room}")
    held = f"{record.state}, {record.passages} passages" if record else "not held yet"
    if records is None:
        held = "server down, so what is held cannot be told"
    encrypted = ["encrypted: only what is plain in it is read"] if room.is_encrypted else []
    reason = [record.reason] if record and record.reason else []
    named = f"{room.room} {room.alias}".rstrip()
    return "; ".join([f"{named}: {held}", *encrypted, *reason])


def _last_run(journal: Journal) -> Iterator[str]:
    taken = sum(entry.admitted for entry in journal.entries)
    at = journal.at.strftime("%Y-%m-%d %H:%M:%S")
    yield f"last run, {at} UTC: {taken} rooms in, {len(journal.entries) - taken} out"
    for entry in journal.entries:
        if not entry.admitted:
            yield f"       {entry.room}: {entry.reason}"


def _document(found: Findings) -> dict[str, Any]:
    return {
        "schema": "huginn.doctor-matrix/1",
        "is_well": found.is_well,
        "checks": [asdict(check) for check in found.checks],
        "rooms": [_room(room, found.records) for room in found.rooms],
        "invites": None if found.invites is None else list(found.invites),
        "last_run": found.journal and json.loads(found.journal.as_json()),
    }


def _room(room: RoomLook, records: Mapping[str, SourceRecord] | None) -> dict[str, Any]:
    record = (records or {}).get(f"chat:{room.room}")
    success = record.last_success if record else None
    return asdict(room) | {
        "alias": room.alias or None,
        "reason": room.reason or None,
        "state": record.state if record else None,
        "passages": record.passages if record else 0,
        "fresh_at": success.isoformat() if success else None,
    }
