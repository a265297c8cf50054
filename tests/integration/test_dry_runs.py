"""``--dry-run``: what would be done is told, and nothing is written anywhere."""

import json
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

from search.collection import ledger_name
from search.connection import connect
from search.reader import Reader
from tests.support.community import Community
from tests.support.held_rooms import at
from tests.support.synapse import Synapse


def everything(community: Community) -> dict[str, Any]:
    """Every object of passages and ledger with its times, and every file of the cache and data."""
    found: dict[str, Any] = {}
    with community.configured() as settings, connect(settings, "reader") as client:
        passages = Reader(client, community.collection).resolve().name
        for name in (passages, ledger_name(community.collection)):
            objects = client.collections.get(name)
            for item in objects.iterator(include_vector=True, return_metadata=_times()):
                times = item.metadata.creation_time, item.metadata.last_update_time
                found[f"{name}/{item.uuid}"] = (item.properties, item.vector, times)
        found["collections"] = sorted(client.collections.list_all(simple=True))
        found["aliases"] = {
            name: alias.collection for name, alias in client.alias.list_all().items()
        }
    for folder in ("cache", "data"):
        for path in sorted((community.folder / folder).rglob("*")):
            found[str(path)] = path.read_bytes() if path.is_file() else None
    return found


def _times() -> Any:
    from weaviate.classes.query import MetadataQuery

    return MetadataQuery(creation_time=True, last_update_time=True)


def planned(
    community: Community, what: str, **options: Any
) -> tuple[int, dict[str, dict[str, Any]]]:
    """The exit code, and what the plan says of each source."""
    from flows.planning import dry_backfill, dry_refresh
    from tasks.domain.ranges import asked_range

    told = StringIO()
    with community.configured(), redirect_stdout(told):
        if what == "refresh":
            code = dry_refresh(corpus=options.get("corpus"), as_json=True)
        else:
            asked = asked_range(options.get("since"), options.get("until"))
            code = dry_backfill(options.get("source"), asked, as_json=True)
    document = json.loads(told.getvalue())
    assert (document["schema"], document["command"]) == ("huginn.plan/1", what)
    return code, {each["source"]: each for each in document["sources"]}


def actions(plan: dict[str, dict[str, Any]]) -> dict[str, str]:
    return {source: each["action"] for source, each in plan.items()}


def test_a_dry_run_tells_what_would_be_done_and_writes_nothing(
    chat: Community, synapse: Synapse, reader: str
) -> None:
    same, gone, moved = (chat.repository(name) for name in ("same", "gone", "moved"))
    for each in (same, gone, moved):
        each.commit({"a.md": "# One\n\nSome words.\n"}, message="First.")
    quiet, busy, left = (synapse.room("ada", "bob", reader) for _ in range(3))
    for room in (quiet, busy, left):
        synapse.send(room, "ada", "Some words.", at(0))
    chat.refresh()
    held = moved.tip()
    new = moved.commit({"b.md": "# Two\n"}, message="Second.")
    moved.commit({"c.md": "# Three\n"}, message="Third.")
    chat.unlist("gone")
    chat.repository("new").commit({"a.md": "# One\n"}, message="First.")
    chat.repositories["lost"] = chat.repository("lost")
    (chat.repositories["lost"].path / ".git" / "HEAD").unlink()
    synapse.send(busy, "ada", "News.", at(5))
    synapse.kick(left, "ada", reader)
    fresh = synapse.room("ada", reader)
    before, mark = everything(chat), synapse.mark()
    code, plan = planned(chat, "refresh")
    assert actions(plan) == {
        "repo:same": "unchanged",
        "repo:gone": "remove",
        "repo:moved": "news",
        "repo:new": "new",
        "repo:lost": "unavailable",
        f"chat:{quiet}": "unchanged",
        f"chat:{busy}": "news",
        f"chat:{left}": "remove",
        f"chat:{fresh}": "new",
    }
    assert code == 1
    assert (plan["repo:moved"]["held"], plan["repo:moved"]["target"]) == (held, moved.tip())
    assert plan["repo:moved"]["files"] is None
    assert plan["repo:gone"]["passages"] == 2
    assert "no longer listed" in plan["repo:gone"]["reason"]
    assert plan[f"chat:{left}"]["passages"] == 1
    assert "leave" in plan[f"chat:{left}"]["reason"]
    code, plan = planned(chat, "backfill", since="1970-01-01")
    assert actions(plan) == {
        "repo:same": "range",
        "repo:moved": "range",
        "repo:new": "new",
        "repo:lost": "unavailable",
        f"chat:{quiet}": "range",
        f"chat:{busy}": "range",
        f"chat:{fresh}": "new",
    }
    assert (plan["repo:moved"]["commits"], plan[f"chat:{busy}"]["passages"]) == (1, 1)
    assert {method for method, _ in synapse.requests(synapse.mxid(reader), mark)} == {"GET"}
    assert everything(chat) == before
    chat.unlist("lost")
    mirror = next((chat.folder / "cache" / "mirrors").glob("moved-*.git"))
    moved.git("push", "-q", str(mirror), f"{new}:refs/heads/other", f"{moved.tip()}:refs/heads/tip")
    before = everything(chat)
    code, plan = planned(chat, "refresh", corpus="forge")
    assert code == 0
    assert (plan["repo:moved"]["files"], plan["repo:moved"]["commits"]) == (2, 2)
    assert everything(chat) == before


def test_a_dry_run_tells_of_changed_rules_and_keeps_a_damaged_mirror(community: Community) -> None:
    community.repository("one").commit({"a.md": "# One\n\nSome words.\n"}, message="First.")
    community.refresh()
    mirror = next((community.folder / "cache" / "mirrors").glob("*.git"))
    for path in (mirror / "objects").rglob("*"):
        if path.is_file():
            path.unlink()  # it is the repository's own file too
            path.write_bytes(b"damaged")
    community.repositories["one"].commit({"b.md": "# Two\n"}, message="Second.")
    before = everything(community)
    code, plan = planned(community, "refresh")
    assert (code, plan["repo:one"]["action"], plan["repo:one"]["files"]) == (0, "news", None)
    assert everything(community) == before
    community.forge["max_file_bytes"] = 5_000
    code, plan = planned(community, "refresh")
    assert (code, plan["repo:one"]["action"]) == (0, "reread")
    assert "rules" in plan["repo:one"]["reason"]
    assert everything(community) == before


def test_before_the_first_run_a_dry_run_makes_no_collection(community: Community) -> None:
    community.repository("one").commit({"a.md": "# One\n"}, message="First.")
    code, plan = planned(community, "refresh")
    assert (code, actions(plan)) == (0, {"repo:one": "new"})
    with community.configured() as settings, connect(settings, "reader") as client:
        there = [*client.collections.list_all(simple=True), *client.alias.list_all()]
    assert not [name for name in there if name.startswith(community.collection)]
    assert not Path(community.folder / "data").exists()
    assert not Path(community.folder / "cache").exists()
