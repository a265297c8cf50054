"""Redacted words after the next run: in nothing that Huginn holds, keeps or says (spec 4.6, 7.3).

``python -m tests.bench.chat_drill redactions`` is the same at full size, raw files included.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from search.collection import turns_of
from tasks import rooms
from tasks.alone import alone
from tasks.bootstrap import open_room
from tasks.discover_rooms import discover_rooms
from tasks.ports import PassageWriter
from tests.support.community import Community
from tests.support.huginn_command import huginn
from tests.support.redaction_drill import IDENTICAL, Drill, owners
from tests.support.remains import (
    KEPT,
    found_by_keyword,
    made_up,
    objects,
    words_by_kind,
    words_in,
    words_in_files,
)
from tests.support.synapse import Synapse

MESSAGES, REDACTIONS = 60, 10


class KilledError(Exception):
    """The run ends here, as if it had been killed."""


@dataclass
class KilledBeforeDeletes:
    """Writes, and ends the run when it comes to a delete."""

    writer: PassageWriter

    def __getattr__(self, name: str) -> object:
        return getattr(self.writer, name)

    def delete(self, ids: Collection[str]) -> frozenset[str]:
        raise KilledError(len(ids))


def check(chat: Community, drill: Drill) -> None:
    """Nothing of what was redacted or edited out, and all of what was not."""
    held = words_by_kind(chat)
    assert held == {"passages": drill.kept, "ledger": set()}
    assert found_by_keyword(chat, drill.gone) == set()
    found = owners(chat, chat.embedder(), drill.texts)
    assert found.misfits == []
    assert found.parts == len(drill.kept)
    assert found.nearest < IDENTICAL
    for kind, facts in objects(chat):
        if kind == "passages":
            assert drill.targets.keys().isdisjoint(facts["events"])


def test_a_redacted_word_is_nowhere_after_the_next_run_a_full_re_read_and_a_crash(
    chat: Community, synapse: Synapse, reader: str, prefect_api: str, prefect_home: Path
) -> None:
    drill = Drill(synapse, reader, MESSAGES, REDACTIONS)
    drill.say()
    source = f"chat:{drill.room}"
    chat.refresh()
    held = words_by_kind(chat)["passages"]
    assert held == drill.kept | (held & drill.gone)
    assert len(held & drill.gone) == REDACTIONS, "one word of each message yet to be redacted"
    assert found_by_keyword(chat, drill.kept) == drill.kept

    drill.redact()
    said = huginn(chat, "refresh", PREFECT_API_URL=prefect_api, PREFECT_LOGGING_LEVEL="DEBUG")
    assert said.code == 0, said.errors
    assert drill.room in said.output
    assert "DEBUG" in said.errors
    assert words_in(said.output + said.errors) == set()
    check(chat, drill)

    assert chat.backfill(source)[source].result == "done"
    check(chat, drill)

    redacted_later = min(drill.kept)
    synapse.redact(drill.room, "ada", event_that_says(chat, redacted_later))
    drill.kept.remove(redacted_later)
    drill.gone.add(redacted_later)
    with chat.configured(), open_room(drill.room) as context:
        discover_rooms()
        rooms.begin(context)
        dying = KilledBeforeDeletes(context.store.writer)
        store = replace(context.store, writer=dying)  # type: ignore[arg-type]  # passes it all on
        with alone(f"chat:{drill.room}"), pytest.raises(KilledError):
            rooms.upsert(replace(context, store=store))
    assert redacted_later in words_by_kind(chat)["passages"], "the crash left it"
    chat.refresh()
    check(chat, drill)

    assert any(drill.room.encode() in each.read_bytes() for each in prefect_home.glob("*.db*"))
    assert words_in_files(prefect_home) == {}
    assert words_in_files(chat.folder) == {}


def event_that_says(chat: Community, word: str) -> str:
    for _, facts in objects(chat):
        for turn in turns_of(facts):
            if word in turn.body:
                return turn.event
    raise AssertionError(word)


def test_what_looks_for_words_finds_them(tmp_path: Path) -> None:
    word = made_up(KEPT, 7)
    (tmp_path / "file.bin").write_bytes(b"\x00" + word.upper().encode() + b"\xff")
    assert words_in_files(tmp_path) == {"file.bin": {word}}
    assert words_in(f"a{word}b {word}") == {word}
