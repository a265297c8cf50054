"""What the homeserver is asked in whole runs, by its own log (spec 3.1, 4.10).

``python -m tests.bench.chat_drill requests`` is the same over 50 rooms.
"""

from collections import Counter
from typing import Any
from urllib.parse import unquote

import pytest

from flows.running import run_refresh
from search import connection
from tests.support.community import Community
from tests.support.held_rooms import at, bodies
from tests.support.huginn_command import huginn
from tests.support.synapse import Synapse

HEAVY = {"torch", "sentence_transformers", "prefect"}


def test_whole_runs_only_get_and_one_with_nothing_new_asks_next_to_nothing_and_loads_no_model(
    chat: Community, synapse: Synapse, reader: str, prefect_api: str
) -> None:
    rooms = [synapse.room("ada", "bob", reader, alias=f"r{n}_{reader}") for n in range(3)]
    refused = synapse.room("ada", reader)
    synapse.put_state(refused, "ada", "m.bridge", {"bridgebot": "@bot:community.test"})
    events = [synapse.send(room, "bob", "Words.", at(0)) for room in rooms]
    synapse.invite(synapse.room("ada"), "ada", reader)
    who = synapse.mxid(reader)
    start = synapse.mark()

    first = huginn(chat, "refresh", PREFECT_API_URL=prefect_api)
    assert first.code == 0, first.errors
    assert first.loaded >= HEAVY
    synapse.edit(rooms[0], "bob", events[0], "Better words.", at(1))
    synapse.redact(rooms[1], "ada", events[1])
    chat.refresh()
    assert sorted(bodies(chat)) == ["Better words.", "Words."]
    assert {method for method, _ in synapse.requests(who, start)} == {"GET"}

    quiet = synapse.mark()
    embedded = chat.embedder().embedded
    nothing_new = huginn(chat, "refresh", PREFECT_API_URL=prefect_api)
    assert nothing_new.code == 0, nothing_new.errors
    assert nothing_new.loaded & HEAVY == set()
    assert "3 sources, 0 texts embedded" in nothing_new.output
    asked = Counter(
        unquote(path.partition("?")[0]).removeprefix("/_matrix/client/v3/")
        for method, path in synapse.requests(who, quiet)
        if method == "GET"
    )
    assert len(synapse.requests(who, quiet)) == asked.total()
    assert asked == Counter(
        ["account/whoami", "joined_rooms", f"user/{who}/account_data/m.direct", "sync"]
        + [f"rooms/{room}/aliases" for room in rooms]
    )
    chat.refresh()
    assert chat.embedder().embedded == embedded


def test_a_run_with_nothing_new_connects_to_weaviate_once(
    chat: Community, synapse: Synapse, reader: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    synapse.send(synapse.room("ada", reader), "ada", "Words.", at(0))
    chat.repository("one").commit({"a.md": "# A\n\nWords.\n"})
    chat.refresh()
    opened: list[Any] = []
    open_one = connection._open

    def counted(*arguments: Any) -> Any:
        opened.append(arguments)
        return open_one(*arguments)

    monkeypatch.setattr(connection, "_open", counted)
    with chat.configured():
        assert run_refresh(corpus=None, allow_mass_delete=False, as_json=True) == 0
    assert len(opened) == 1
