"""A range of a room or a repository through the whole flow: real Synapse, git and Weaviate."""

import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterable
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from tasks.alone import alone
from tests.support.community import Community, without_vectors
from tests.support.git_repos import FIRST_SECOND
from tests.support.held_rooms import at, bodies
from tests.support.huginn_command import huginn
from tests.support.synapse import Synapse

DAY = 24 * 60

_KILLED = """
import os, signal, sys
from tasks import ranges, room_events
from tasks.adapters import matrix_room

room_events.MOST_EVENTS = matrix_room.PAGE_EVENTS = 10
left = 2
commit = ranges.commit_range

def commit_or_die(store, acknowledgement):
    global left
    left -= 1
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)
    commit(store, acknowledgement)

ranges.commit_range = commit_or_die
from flows.cli import main
main(sys.argv[1:])
"""


def lose(community: Community, *words: str) -> list[str]:
    """Deletes by hand, past all rules, every passage that says one of the words; their texts.

    How many they are is chance: an event's id may begin a segment.
    """
    from tasks.bootstrap import open_store

    lost = {
        identifier: facts["text"]
        for identifier, facts in community.passages().items()
        if any(word in facts["text"] for word in words)
    }
    with community.configured() as settings, open_store(settings) as store:
        store.writer.delete([*lost])
    return sorted(lost.values())


def cursor(community: Community, source: str) -> str:
    record = community.record(source)
    assert record is not None
    return json.dumps(asdict(record.place), sort_keys=True)


def day(number: int) -> str:
    return at(number * DAY).isoformat().replace("+00:00", "Z")


def talk(synapse: Synapse, room: str, days: Iterable[int]) -> None:
    for number in days:
        synapse.send(room, "ada", f"The news of day{number}.", at(number * DAY))
        synapse.send(room, "bob", f"An answer on day{number}.", at(number * DAY + 3))


def test_a_range_brings_back_what_was_lost_in_it_and_leaves_the_rest_and_the_cursor_alone(
    chat: Community, synapse: Synapse, reader: str
) -> None:
    room = synapse.room("ada", "bob", reader)
    talk(synapse, room, range(6))
    chat.refresh()
    source, whole = f"chat:{room}", without_vectors(chat.passages())
    before = cursor(chat, source)
    lost = lose(chat, "day1.", "day3.", "day5.")
    mark = synapse.mark()
    outcome = chat.backfill(source, since=day(3), until=day(4))[source]
    assert (outcome.result, outcome.counts.embedded > 0) == ("done", True)
    asked = synapse.requests(synapse.mxid(reader), mark)
    assert {method for method, _ in asked} == {"GET"}
    missing = {each["text"] for each in whole.values()} - set(chat.texts())
    assert missing == {text for text in lost if "day3." not in text}
    assert len(missing) < len(lost)
    assert cursor(chat, source) == before
    assert chat.backfill(since=day(0))[source].result == "done"
    assert without_vectors(chat.passages()) == whole
    assert cursor(chat, source) == before
    assert chat.refresh()[source].result == "unchanged"


def test_a_new_room_is_covered_from_a_time_until_a_backfill_from_its_start(
    chat: Community, synapse: Synapse, reader: str
) -> None:
    room = synapse.room("ada", "bob", reader)
    talk(synapse, room, range(4))
    source = f"chat:{room}"
    assert chat.backfill(source, since=day(2))[source].result == "done"
    assert [each for each in bodies(chat) if "day0" in each or "day1" in each] == []
    assert len(bodies(chat)) == 4
    record = chat.record(source)
    assert record is not None
    assert (record.state, record.room.covered) == ("current", at(2 * DAY).isoformat())
    listed = json.loads(huginn(chat, "sources", "list", "--json").output)["sources"]
    assert [each["covered_since"] for each in listed] == [at(2 * DAY).isoformat()]
    talk(synapse, room, [5])
    chat.refresh()
    assert len(bodies(chat)) == 6
    record = chat.record(source)
    assert record is not None
    assert record.room.covered == at(2 * DAY).isoformat()
    stream = record.room.stream
    chat.backfill(source, since=day(1), until=day(1))
    assert len(bodies(chat)) == 8
    chat.backfill(source, since="1970-01-01")
    record = chat.record(source)
    assert record is not None
    assert record.room.stream == stream
    chat.backfill(source)
    record = chat.record(source)
    assert record is not None
    assert record.room.covered == ""
    whole = without_vectors(chat.passages())
    chat.collection = f"Test{uuid.uuid4().hex}"
    chat.refresh()
    assert without_vectors(chat.passages()) == whole


def test_what_was_redacted_before_or_during_a_range_is_not_brought_back(
    chat: Community, synapse: Synapse, reader: str
) -> None:
    room = synapse.room("ada", "bob", reader)
    first = synapse.send(room, "ada", "A marmalade secret.", at(0))
    second = synapse.send(room, "ada", "A plum secret.", at(1))
    synapse.send(room, "bob", "Nothing of that is mine.", at(2))
    chat.refresh()
    synapse.redact(room, "ada", first)
    chat.refresh()
    synapse.redact(room, "ada", second)
    source = f"chat:{room}"
    before = cursor(chat, source)
    chat.backfill(source, since=day(0))
    assert bodies(chat) == ["Nothing of that is mine."]
    assert cursor(chat, source) == before
    chat.refresh()
    assert bodies(chat) == ["Nothing of that is mine."]


def test_a_backfill_killed_in_the_middle_and_run_again_ends_as_one_that_was_not(
    chat: Community, synapse: Synapse, reader: str, prefect_api: str
) -> None:
    room = synapse.room("ada", "bob", reader)
    talk(synapse, room, range(14))
    chat.refresh()
    source, whole = f"chat:{room}", without_vectors(chat.passages())
    before = cursor(chat, source)
    lose(chat, "day1.", "day9.", "day12.")
    killed = subprocess.run(
        [sys.executable, "-c", _KILLED, "backfill", source, "--from", day(0)],
        env=os.environ | _environment(chat, prefect_api),
        cwd=chat.folder,
        capture_output=True,
        check=False,
        timeout=500,
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr.decode()
    assert cursor(chat, source) == before
    outcome = chat.backfill(source, since=day(0))[source]
    assert outcome.counts.events < 14 * 2  # it went on: the newest pages were done
    assert without_vectors(chat.passages()) == whole
    assert cursor(chat, source) == before
    record = chat.record(source)
    assert record is not None
    assert record.state == "current"


def test_a_backfill_waits_for_a_run_over_the_same_source(
    chat: Community, synapse: Synapse, reader: str, prefect_api: str
) -> None:
    room = synapse.room("ada", "bob", reader)
    talk(synapse, room, range(3))
    chat.refresh()
    source, whole = f"chat:{room}", without_vectors(chat.passages())
    lost = lose(chat, "day1.")
    told = chat.folder / "told"
    with told.open("wb") as log:
        with chat.configured(), alone(source):
            waiting = subprocess.Popen(
                [sys.executable, "-c", _MAIN, "backfill", source, "--from", day(0)],
                env=os.environ | _environment(chat, prefect_api),
                cwd=chat.folder,
                stdout=log,
                stderr=log,
            )
            _until_says(told, waiting, "is at work on it; waiting")
            assert len(chat.passages()) == len(whole) - len(lost) < len(whole)
        assert waiting.wait(500) == 0, told.read_text()
    assert without_vectors(chat.passages()) == whole
    assert chat.refresh()[source].result == "unchanged"


_MAIN = "import sys\nfrom flows.cli import main\nmain(sys.argv[1:])"


def _environment(community: Community, prefect_api: str) -> dict[str, str]:
    return {
        "HUGINN_CONFIG": str(community.config()),
        "PYTHONPATH": str(Path(__file__).parents[2]),
        "PREFECT_API_URL": prefect_api,
    }


def _until_says(told: Path, process: "subprocess.Popen[bytes]", words: str) -> None:
    deadline = time.monotonic() + 300
    while words not in told.read_text():
        assert process.poll() is None, told.read_text()
        assert time.monotonic() < deadline, told.read_text()
        time.sleep(0.1)


def commit_day(number: int) -> str:
    return datetime.fromtimestamp(FIRST_SECOND + number * 86_400, UTC).isoformat()


def test_a_range_of_a_repository_puts_right_its_commit_messages_and_nothing_else(
    community: Community,
) -> None:
    guide = community.repository("guide")
    for number in range(5):
        when = f"{FIRST_SECOND + number * 86_400} +0000"
        files = {f"p{number}.md": f"# Page {number}\n\nThe words of page {number}.\n"}
        guide.commit(files, message=f"Message of day{number}.", when=when)
    community.refresh()
    source, whole = "repo:guide", without_vectors(community.passages())
    before = cursor(community, source)
    guide.commit({"late.md": "# Late\n"}, message="Not read yet.")
    assert len(lose(community, "day1.", "day3.", "page 2.")) == 3
    done = community.backfill(source, since=commit_day(2), until=commit_day(4))[source]
    assert (done.result, done.counts.commits, done.counts.written) == ("done", 3, 1)
    missing = {each["text"] for each in whole.values()} - set(community.texts())
    assert len(missing) == 2
    assert any("day1." in text for text in missing)
    assert cursor(community, source) == before
    assert community.refresh()[source].result == "done"
    assert len(community.passages()) == len(whole) + 2 - 2


def test_messages_of_commits_that_the_held_one_lost_go_and_a_new_repository_is_read_whole(
    community: Community,
) -> None:
    guide = community.repository("guide")
    guide.commit({"a.md": "# One\n\nSome words.\n"}, message="The first message.")
    done = community.backfill("guide", since="1d")["repo:guide"]
    assert done.result == "done"
    assert any("The first message." in text for text in community.texts())
    whole = without_vectors(community.passages())
    plant(community, "repo:guide")
    assert len(community.passages()) == len(whole) + 1
    community.backfill("guide", since="1d")
    assert without_vectors(community.passages()) == whole


def plant(community: Community, source: str) -> None:
    """A message of a commit that the repository does not have."""
    from search.passage import Lines
    from tasks.bootstrap import commit_rules_version, open_store
    from tasks.domain.passages import commit_passages
    from tasks.ports import Chunk, CommitMessage, Vectors

    message = CommitMessage("f" * 40, "Ada", datetime(2020, 1, 1, tzinfo=UTC), "Gone.", 1)
    with community.configured() as settings, open_store(settings) as store:
        rules = commit_rules_version(settings)
        chunks = [Chunk("Gone.", (), Lines(first=1, last=1))]
        (passage,) = commit_passages(source.removeprefix("repo:"), message, chunks, rules=rules)
        vector = [0.5] * community.embedder().identity.dimensions
        store.writer.write([(passage, Vectors(vector, [vector]))])
