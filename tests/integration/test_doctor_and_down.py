"""The operator's ``huginn doctor`` and ``huginn down`` with all that is real behind them."""

import json
import subprocess
import sys
from pathlib import Path

from search import embedded
from tests.support.community import Community
from tests.support.git_repos import GitRepo
from tests.support.huginn_command import huginn
from tests.support.look_ups import desk
from tests.support.weaviate_server import running_server, settings_in


def test_doctor_alone_tells_how_everything_stands(community: Community) -> None:
    one: GitRepo = community.repository("one")
    one.commit({"a.md": "Words.\n"})
    community.refresh()
    ran = huginn(community, "doctor", "--json")
    document = json.loads(ran.output)
    assert (ran.code, document["problems"], document["unavailable"]) == (0, [], [])
    assert [each["source"] for each in document["sources"]] == ["repo:one"]
    assert huginn(community, "doctor").output.startswith("Everything is well.")
    community.repository("two").commit({"a.md": "Words.\n"})
    ran = huginn(community, "doctor")
    assert ran.code == 3
    assert "Everything is well" not in ran.output
    assert "unavailable: repo:two: not ingested yet" in ran.output


def test_down_ends_the_look_up_service_that_would_start_the_server_again(
    tmp_path: Path, binary: Path
) -> None:
    server = settings_in(tmp_path, binary)
    content = {"cache_dir": str(tmp_path / "cache"), "weaviate": {"binary": str(binary)}}
    with running_server(server), desk(tmp_path, repositories=[], **content) as made:
        made.run("words")
        assert made.services()
        down = subprocess.run(
            [sys.executable, "-c", "from flows.cli import main; main(['down'])"],
            env=made.variables(),
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        )
        assert down.stdout == "the look-up service has ended\nstopped\n"
        assert made.services() == []
        assert embedded.running(server) is None
