"""Look-ups at a steady rate while the collection is rebuilt with another model (spec 2.5).

    python -m tests.bench.rebuild_look_ups --work FOLDER [--messages 300]

A room and this project's own documents are held; the settings then name another model, whose
vectors are at right angles to the first one's. ``huginn refresh`` rebuilds; in the middle of it a
message is redacted. Told is how many look-ups were asked and failed, whether any of them met a
passage of another model than the question's, and where the redacted word is afterwards.

``HUGINN_TEST_WEAVIATE_BINARY`` names a server to run, as for the tests.
"""

import argparse
import sys
import threading
import time
from pathlib import Path

from search.collection import ledger_name
from search.connection import connect
from tests.bench.chat_drill import READER, Scene, say, scene
from tests.support.huginn_command import huginn
from tests.support.other_model import other_model
from tests.support.remains import GONE, made_up
from tests.support.steady_look_ups import LookUps, looking_up

SENTENCE = "Whales sing in the long winter nights of the north."
ROOT = Path(__file__).parents[2]


def drill(at: Scene, messages: int) -> bool:
    """Whether everything held."""
    word = made_up(GONE, 815)
    room = at.synapse.room("ada", "bob", READER)
    for number in range(messages):
        at.synapse.send(room, ("ada", "bob")[number % 2], f"Sentence {number} about the garden.")
    said = at.synapse.send(room, "ada", f"They call it {word} here.")
    files = {path.name: path.read_text() for path in (ROOT / "docs").glob("*.md")}
    at.community.repository("docs").commit(files | {"whales.md": f"# Whales\n\n{SENTENCE}\n"})
    at.refresh()
    before = collections(at)
    at.community.embedding = {"model": str(other_model(at.folder / "model"))}
    look_ups = LookUps(at.community, SENTENCE, pause=0.2)
    began = time.monotonic()
    with looking_up(look_ups):
        running = threading.Thread(target=at.refresh)
        running.start()
        while len(collections(at)) < len(before) + 1:
            time.sleep(0.2)
        at.synapse.redact(room, "ada", said)
        running.join()
        at.refresh()
    seconds = time.monotonic() - began
    spread = max(look_ups.nearest) - min(look_ups.nearest)
    where = [name for name in collections(at) if holds(at, name, word)]
    say(f"{look_ups.asked} look-ups in {seconds:.0f} s, {len(look_ups.failures)} failed")
    say(f"nearest passage's score from {min(look_ups.nearest):.4f}, spread {spread:.6f}")
    say(f"collections before {sorted(before)}, after {sorted(collections(at))}")
    say(f"the redacted word is in: {where or 'neither'}")
    say(f"a second refresh: {huginn(at.community, 'refresh', PREFECT_API_URL=at.api).output!r}")
    return not look_ups.failures and not where and spread < 1e-3


def collections(at: Scene) -> set[str]:
    """Those of passages."""
    alias = at.community.collection
    with at.community.configured() as settings, connect(settings, "writer") as client:
        found = client.collections.list_all(simple=True)
    return {each for each in found if each.startswith(alias)} - {ledger_name(alias)}


def holds(at: Scene, collection: str, word: str) -> bool:
    """Whether any passage says the word."""
    with at.community.configured() as settings, connect(settings, "reader") as client:
        found = client.collections.get(collection).iterator()
        return any(word in str(each.properties["text"]) for each in found)


def main() -> int:
    """0 if everything held, else 1."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--messages", type=int, default=300)
    options = parser.parse_args()
    with scene(options.work.absolute()) as at:
        return 0 if drill(at, options.messages) else 1


if __name__ == "__main__":
    sys.exit(main())
