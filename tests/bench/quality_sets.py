"""The sets that quality is measured on, as the product takes them: events, and files in git."""

import json
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from tasks.chat_ports import RawEvent

SERVER = "example.org"
CHAT = ("locomo-dev", "irc-dev")
CRANFIELD, DOCS = "cranfield", "synapse-docs-dev"


@dataclass(frozen=True, slots=True)
class Question:
    """``texts`` are asked; ``relevant`` are event ids or paths."""

    texts: tuple[str, ...]
    relevant: frozenset[str]


@dataclass(frozen=True, slots=True)
class QualitySet:
    """Questions over some sources: events by room, or files of one repository by path."""

    name: str
    questions: tuple[Question, ...]
    rooms: Mapping[str, tuple[RawEvent, ...]]
    files: Mapping[str, bytes]


def chat_set(folder: Path, name: str) -> QualitySet:
    """Rooms whose messages are raw events as a homeserver gives them."""
    data = json.loads((folder / "chat" / f"{name}.json").read_text(encoding="utf-8"))
    rooms = {
        f"!{room['room']}:{SERVER}": tuple(map(_event, room["messages"])) for room in data["rooms"]
    }
    return QualitySet(name, _questions(data, "${}"), rooms, {})


def cranfield(folder: Path) -> QualitySet:
    """A text file for each abstract."""
    data = json.loads((folder / "docs" / "cranfield.json").read_text(encoding="utf-8"))
    files = {f"{doc['id']}.txt": doc["text"].encode() for doc in data["docs"]}
    return QualitySet(CRANFIELD, _questions(data, "{}.txt"), {}, files)


def synapse_docs(folder: Path, repository: Path) -> QualitySet:
    """The files of the set as they are at its commit in a clone of its repository."""
    data = json.loads((folder / "forge" / f"{DOCS}.json").read_text(encoding="utf-8"))
    files = {path: _blob(repository, f"{data['commit']}:{path}") for path in data["candidates"]}
    return QualitySet(DOCS, _questions(data, "{}"), {}, files)


def as_repository(files: Mapping[str, bytes], place: Path) -> None:
    """A git repository of one commit at ``place``; left alone if it is there."""
    if place.exists():
        return
    for path, content in files.items():
        file = place / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    for command in (("init", "-q"), ("add", "."), (*who, "commit", "-q", "-m", "The files")):
        subprocess.run(["git", "-C", str(place), *command], check=True)


def _event(message: Mapping[str, Any]) -> RawEvent:
    moment = datetime.fromisoformat(message["time"])
    return {
        "event_id": f"${message['id']}",
        "type": "m.room.message",
        "sender": f"@{message['sender']}:{SERVER}",
        "origin_server_ts": int(moment.timestamp() * 1000),
        "content": {"msgtype": "m.text", "body": message["text"]},
    }


def _questions(data: Mapping[str, Any], identifier: str) -> tuple[Question, ...]:
    return tuple(_each_question(data, identifier))


def _each_question(data: Mapping[str, Any], identifier: str) -> Iterator[Question]:
    for asked in data["queries"]:
        relevant = frozenset(identifier.format(each) for each in asked["relevant"])
        yield Question(tuple(asked["texts"]), relevant)


def _blob(repository: Path, name: str) -> bytes:
    command = ["git", "-C", str(repository), "cat-file", "blob", name]
    return subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
