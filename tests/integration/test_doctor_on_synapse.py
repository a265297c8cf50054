"""``huginn doctor matrix`` and the steps that it prints, on a real Synapse."""

import json
import os
import re
import subprocess
import uuid

import pytest
from click.testing import CliRunner, Result

from flows.cli import main
from search.errors import CollectionMissing
from tests.support.community import Community
from tests.support.synapse import Synapse
from tests.support.synapse_install import synapse_python


def doctor(chat: Community, *arguments: str) -> Result:
    with chat.configured():
        return CliRunner().invoke(main, ["doctor", "matrix", *arguments])


def steps(told: str) -> dict[str, str]:
    """The commands that are printed, by the number of their step."""
    parts = re.split(r"^  (\d)\. ", told, flags=re.MULTILINE)[1:]
    return {
        number: "\n".join(re.findall(r"^       (.*)$", text, re.MULTILINE))
        for number, text in zip(parts[::2], parts[1::2], strict=True)
    }


@pytest.fixture
def reader() -> str:
    return f"reader_{uuid.uuid4().hex[:12]}"


def test_the_steps_make_a_reader_that_is_well_and_sees_what_it_joined(
    community: Community, synapse: Synapse, reader: str
) -> None:
    def follow(commands: str) -> None:
        ours = {"huginn-reader": reader, "%23ROOM:SERVER": f"%23{reader}:community.test"}
        ours["/etc/matrix-synapse/homeserver.yaml"] = str(synapse.folder / "homeserver.yaml")
        for printed, meant in ours.items():
            commands = commands.replace(printed, meant)
        path = f"{synapse_python().parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            ["bash", "-eo", "pipefail", "-c", commands],
            cwd=community.folder,
            env=os.environ | {"PATH": path},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr

    token = community.folder / "matrix-token"
    community.matrix = {
        "homeserver": synapse.url,
        "user": synapse.mxid(reader),
        "token_file": str(token),
    }
    told = doctor(community)
    assert told.exit_code == 1
    follow(steps(told.stdout)["1"])
    follow(steps(told.stdout)["2"])
    assert token.stat().st_mode & 0o777 == 0o600
    room = synapse.room("ada", preset="private_chat", alias=reader)
    synapse.invite(room, "ada", reader)
    waiting = doctor(community)
    assert waiting.exit_code == 0, waiting.stdout
    assert f"invite {room}: not accepted" in waiting.stdout
    assert "register_new_matrix_user" not in waiting.stdout
    follow(steps(told.stdout)["4"])
    after = doctor(community)
    assert f"read   {room} #{reader}:community.test: not held yet" in after.stdout
    assert "invite" not in after.stdout


def test_every_room_is_told_by_get_alone_and_nothing_is_written(
    community: Community, synapse: Synapse, reader: str
) -> None:
    community.reads(synapse, reader)
    garden = synapse.room("ada", reader, alias=f"garden_{reader}")
    synapse.send(garden, "ada", "A word that nobody else says: quincunx.")
    direct = synapse.room("ada", preset="trusted_private_chat", is_direct=True, invite=[])
    synapse.call(
        "PUT",
        f"/rooms/{direct}/state/m.room.member/{synapse.mxid(reader)}",
        "ada",
        {"membership": "invite", "is_direct": True},
    )
    synapse.join(direct, reader)
    bridged = synapse.room("ada", reader)
    synapse.put_state(bridged, "ada", "uk.half-shot.bridge", {"bridgebot": "@b:x"}, "x")
    before = synapse.mark()
    told = doctor(community)
    requests = synapse.requests(synapse.mxid(reader), before)
    assert told.exit_code == 0, told.stdout
    assert f"read   {garden}" in told.stdout
    assert f"out    {direct}: joined but excluded because it is a direct chat" in told.stdout
    assert f"out    {bridged}: joined but excluded because it is bridged" in told.stdout
    assert "ada" not in told.stdout
    assert "quincunx" not in told.stdout
    assert {method for method, _ in requests} == {"GET"}
    with pytest.raises(CollectionMissing):
        community.record(f"chat:{garden}")
    community.refresh()
    document = json.loads(doctor(community, "--json").stdout)
    rooms = {each["room"]: each for each in document["rooms"]}
    assert (rooms[garden]["state"], rooms[garden]["passages"]) == ("current", 1)
    entries = {each["room"]: each["admitted"] for each in document["last_run"]["entries"]}
    assert entries == {garden: True, direct: False, bridged: False}


def test_a_token_that_was_logged_out_is_told_with_the_steps(
    community: Community, synapse: Synapse, reader: str
) -> None:
    community.reads(synapse, reader)
    token = (community.folder / "matrix-token").read_text()
    synapse.http.post(
        "/_matrix/client/v3/logout", headers={"Authorization": f"Bearer {token}"}, json={}
    ).raise_for_status()
    told = doctor(community)
    assert told.exit_code == 1
    assert "wrong  reader: " in told.stdout
    assert "register_new_matrix_user" in told.stdout
    assert token not in told.output
