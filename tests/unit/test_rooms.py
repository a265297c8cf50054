"""Which rooms get in, told from their state (spec 3.1 to 3.5)."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.chat_ports import Standing
from tasks.domain.puppets import Puppets
from tasks.domain.rooms import (
    SENTENCES,
    Admitted,
    Refused,
    RoomRules,
    admission,
    event_refuses,
    is_formerly_bridged,
    refused_by_name,
)
from tests.support.events import ALICE, BOB, READER, ROOM, raw_event, redacted, state_event

STANDING = Standing(READER, frozenset({ROOM}), frozenset())
PUPPET = "@_discord_123456789012345678:example.org"
RULES = RoomRules()


def member(user: str, membership: str = "join", *, sender: str = "", **changes: Any) -> Any:
    content = {"membership": membership, **changes.pop("content", {})}
    return state_event("m.room.member", content, user, sender or user, **changes)


def state(*more: dict[str, Any]) -> list[dict[str, Any]]:
    """The state of an ordinary room, and more of it."""
    create = state_event("m.room.create", {"room_version": "12"})
    return [create, member(READER), member(ALICE), member(BOB), *more]


def verdict(
    *more: dict[str, Any],
    aliases: tuple[str, ...] = (),
    standing: Standing = STANDING,
    room: str = ROOM,
    **rules: Any,
) -> Admitted | Refused:
    return admission(room, state(*more), aliases, standing, RoomRules(**rules))


def code(*more: dict[str, Any], **options: Any) -> str | None:
    result = verdict(*more, **options)
    return result.code if isinstance(result, Refused) else None


def canonical(alias: Any = None, alt_aliases: Any = None, **changes: Any) -> dict[str, Any]:
    content = {"alias": alias, "alt_aliases": alt_aliases}
    return state_event("m.room.canonical_alias", content, **changes)


def test_an_ordinary_room_is_admitted_with_what_its_state_tells() -> None:
    found = verdict(
        canonical("#talk:example.org", ["#chat:example.org"]),
        state_event("m.room.name", {"name": "Talk"}),
        state_event("m.room.topic", {"topic": "x"}),
        aliases=("#aaa:example.org",),
    )
    assert found == Admitted(
        room=ROOM,
        alias="#talk:example.org",
        aliases=("#talk:example.org", "#chat:example.org", "#aaa:example.org"),
        name="Talk",
        version="12",
        predecessor="",
        encrypted=False,
        formerly_bridged=False,
    )


def test_m25_a_predecessor_without_an_event_id_is_read_all_the_same() -> None:
    events = state()
    events[0]["content"] = {"predecessor": {"room_id": "!old:example.org"}}
    found = admission(ROOM, events, (), STANDING, RULES)
    assert isinstance(found, Admitted)
    assert (found.predecessor, found.version) == ("!old:example.org", "1")


@pytest.mark.parametrize("predecessor", [None, 7, [], {"room_id": 7}, {}])
def test_m25_a_broken_predecessor_is_none(predecessor: object) -> None:
    events = state()
    events[0]["content"] = {"predecessor": predecessor, "room_version": 7}
    found = admission(ROOM, events, (), STANDING, RULES)
    assert isinstance(found, Admitted)
    assert (found.predecessor, found.version) == ("", "1")


def test_a_puppet_that_the_rooms_name_quotes_is_not_named() -> None:
    name = state_event("m.room.name", {"name": f"Talk with {PUPPET}"})
    found = verdict(name)
    assert isinstance(found, Admitted)
    assert found.name == "Talk with [puppet]"


def test_m26_a_room_id_without_a_server_is_admitted() -> None:
    room = "!" + "a-_B" * 10 + "xyz"
    assert code(room=room, standing=Standing(READER, frozenset({room}), frozenset())) is None


def test_an_encrypted_room_is_admitted_and_marked() -> None:
    found = verdict(state_event("m.room.encryption", {"algorithm": "m.megolm.v1.aes-sha2"}))
    assert isinstance(found, Admitted)
    assert found.encrypted


def test_a_room_that_the_reader_is_only_invited_to_is_refused() -> None:
    assert code(standing=Standing(READER, frozenset(), frozenset())) == "not-joined"
    invited = [event for event in state() if event["state_key"] != READER]
    found = admission(ROOM, [*invited, member(READER, "invite")], (), STANDING, RULES)
    assert isinstance(found, Refused)
    assert found.code == "unknown"


def test_m39_a_room_that_m_direct_names_is_refused_whoever_is_in_it() -> None:
    assert len([event for event in state() if event["type"] == "m.room.member"]) == 3
    standing = Standing(READER, frozenset({ROOM}), frozenset({ROOM}))
    assert code(standing=standing) == "direct"


def test_m40_two_members_are_no_direct_chat_by_their_number() -> None:
    two = [event for event in state() if event["state_key"] != BOB]
    named = [*two, state_event("m.room.name", {"name": "Talk"})]
    assert isinstance(admission(ROOM, named, (), STANDING, RULES), Admitted)
    assert isinstance(admission(ROOM, two, (), STANDING, RULES), Admitted)


@pytest.mark.parametrize(
    "marked",
    [
        member("@c:example.org", "invite", content={"is_direct": True}),
        member("@c:example.org", "leave", content={"is_direct": True}),
        member("@c:example.org", unsigned={"prev_content": {"is_direct": True}}),
        member("@c:example.org", prev_content={"is_direct": True}),
        member("@c:example.org", content={"is_direct": "yes"}),
        member("@c:example.org", content={"is_direct": []}),
    ],
    ids=["now", "left", "before", "before, old form", "a word", "anything"],
)
def test_any_mark_of_a_direct_chat_refuses(marked: dict[str, Any]) -> None:
    assert code(marked) == "direct"


@pytest.mark.parametrize("mark", [False, None])
def test_a_mark_that_says_no_is_none(mark: object) -> None:
    assert code(member("@c:example.org", content={"is_direct": mark})) is None


@pytest.mark.parametrize("entry", [ROOM, "#us:example.org", "#US:example.org"])
def test_a_direct_chat_can_be_named_in_the_settings(entry: str) -> None:
    assert code(canonical("#us:example.org"), direct=(entry,)) == "direct"


@pytest.mark.parametrize("key", ["", "org.example.bridge/irc"])
@pytest.mark.parametrize("kind", ["m.bridge", "uk.half-shot.bridge"])
def test_m42_either_bridge_event_refuses_whatever_its_state_key(kind: str, key: str) -> None:
    assert code(state_event(kind, {"bridgebot": "@bot:example.org"}, key)) == "bridged"
    assert code(state_event(kind, {"x": 1}, key), formerly_bridged=(ROOM,)) == "bridged"


@pytest.mark.parametrize("kind", ["m.bridge", "uk.half-shot.bridge"])
@pytest.mark.parametrize("emptied", [dict, redacted])
def test_an_emptied_bridge_event_refuses_unless_a_steward_says_that_it_is_over(
    emptied: Any, kind: str
) -> None:
    event = emptied(state_event(kind, {}))
    assert code(event) == "formerly-bridged"
    alias = canonical("#talk:example.org")
    assert code(event, alias, formerly_bridged=("#Talk:example.org",)) is None
    found = verdict(event, formerly_bridged=(ROOM,))
    assert isinstance(found, Admitted)
    assert found.formerly_bridged


@pytest.mark.parametrize("membership", ["join", "leave", "ban", "invite", "knock"])
def test_a_puppet_present_or_past_refuses_and_is_not_named(membership: str) -> None:
    found = verdict(member(PUPPET, membership, sender=ALICE), formerly_bridged=(ROOM,))
    assert isinstance(found, Refused)
    assert found.code == "puppet"
    assert "discord" not in found.reason


def test_a_puppet_that_set_some_state_refuses() -> None:
    assert code(state_event("m.room.topic", {"topic": "x"}, sender=PUPPET)) == "puppet"
    assert code(member("@c:example.org", "ban", sender=PUPPET)) == "puppet"


def test_puppets_of_the_settings_refuse() -> None:
    puppets = Puppets(["@irc_.*"])
    assert code(member("@irc_bob:example.org")) is None
    assert code(member("@irc_bob:example.org"), puppets=puppets) == "puppet"


@pytest.mark.parametrize("local", ["users", "members", "patrons", "Patrons", "USERS"])
@pytest.mark.parametrize("place", ["canonical", "alternative", "directory", "old event", "before"])
def test_rooms_for_users_members_and_patrons_are_refused_by_any_alias(
    place: str, local: str
) -> None:
    alias = f"#{local}:other.example"
    first = canonical("#talk:example.org", ["#chat:example.org", alias])
    moved = canonical(unsigned={"prev_content": {"alias": alias}})
    old = state_event("m.room.aliases", {"aliases": ["#a:example.org", alias]}, "example.org")
    found = {
        "canonical": lambda: code(canonical(alias)),
        "alternative": lambda: code(first),
        "directory": lambda: code(aliases=("#talk:example.org", alias)),
        "old event": lambda: code(old),
        "before": lambda: code(moved),
    }[place]()
    assert found == "excluded"


def test_an_alias_that_only_contains_such_a_word_is_not_refused() -> None:
    assert code(canonical("#users-talk:users.example", ["#ex-members:example.org"])) is None


@pytest.mark.parametrize(
    "entry", [ROOM, "#staff:example.org", "#STAFF:example.org", "#staff", "#Staff"]
)
def test_a_room_is_excluded_by_id_or_alias(entry: str) -> None:
    assert code(canonical("#staff:example.org"), excluded=(entry,)) == "excluded"


@pytest.mark.parametrize("entry", ["#staff:other.example", "#sta", "!other:example.org", "staff"])
def test_another_room_is_not_excluded(entry: str) -> None:
    assert code(canonical("#staff:example.org"), excluded=(entry,)) is None


def drop(kind: str, key: str) -> list[dict[str, Any]]:
    return [event for event in state() if (event["type"], event["state_key"]) != (kind, key)]


@pytest.mark.parametrize(
    "events",
    [
        [],
        drop("m.room.create", ""),
        drop("m.room.member", READER),
        [*drop("m.room.member", READER), member(READER, "leave")],
        [*state(), None],
        [*state(), state_event("m.room.topic", {}) | {"content": None}],
        [*state(), state_event("m.bridge", {}) | {"content": "x"}],
        [*state(), state_event("m.room.topic", {}) | {"type": 7}],
        [*state(), state_event("m.room.topic", {}) | {"state_key": None}],
        [*state(), state_event("m.room.topic", {}) | {"sender": None}],
        [*state(), canonical(7)],
        [*state(), canonical("#a:example.org", {"a": "b"})],
        [*state(), canonical("#a:example.org", [7])],
    ],
)
def test_a_room_whose_state_cannot_be_checked_is_refused(events: list[Any]) -> None:
    found = admission(ROOM, events, (), STANDING, RULES)
    assert isinstance(found, Refused)
    assert found.code == "unknown"
    assert found.reason.startswith(SENTENCES["unknown"] + ": ")


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (raw_event(), None),
        (raw_event(sender=PUPPET), "puppet"),
        (redacted(raw_event(sender=PUPPET)), "puppet"),
        (raw_event(sender=PUPPET, type="m.room.encrypted"), "puppet"),
        (member(PUPPET, "invite", sender=ALICE), "puppet"),
        (member(BOB, "invite", content={"is_direct": True}), "direct"),
        (member(BOB, unsigned={"prev_content": {"is_direct": True}}), "direct"),
        (member(BOB), None),
        (raw_event(type="m.room.member", content={"is_direct": True}), None),
        (state_event("m.bridge", {"x": 1}, "irc"), "bridged"),
        (state_event("uk.half-shot.bridge", {"x": 1}), "bridged"),
        (state_event("m.bridge", {}), "formerly-bridged"),
        (raw_event(type="m.bridge"), None),
        (state_event("m.room.topic", {"topic": "x"}), None),
        (None, None),
        ({"sender": 7, "type": ["x"]}, None),
    ],
)
def test_an_event_in_the_history_shows_what_refuses_its_room(
    raw: Any, expected: str | None
) -> None:
    found = event_refuses(raw, RULES)
    assert (found.code if found else None) == expected


def test_a_bridge_of_the_past_says_nothing_where_a_steward_lists_it() -> None:
    past = state_event("m.bridge", {"x": 1})
    assert event_refuses(past, RULES, formerly_bridged=True) is None
    puppet = event_refuses(raw_event(sender=PUPPET), RULES, formerly_bridged=True)
    assert puppet is not None
    assert puppet.code == "puppet"


def test_a_room_that_became_direct_or_excluded_without_an_event_is_refused_by_name() -> None:
    direct = Standing(READER, frozenset({ROOM}), frozenset({ROOM}))
    assert refused_by_name(ROOM, ["#talk:example.org", ""], STANDING, RULES) is None
    named = [
        refused_by_name(ROOM, [], direct, RULES),
        refused_by_name(ROOM, [], STANDING, RoomRules(direct=(ROOM,))),
        refused_by_name(ROOM, ["#users:example.org"], STANDING, RULES),
        refused_by_name(ROOM, [], STANDING, RoomRules(excluded=(ROOM,))),
    ]
    assert [found.code for found in named if found] == ["direct", "direct", "excluded", "excluded"]


def test_a_formerly_bridged_room_is_listed_by_id_or_alias() -> None:
    rules = RoomRules(formerly_bridged=("#talk:example.org", "!x:example.org"))
    assert is_formerly_bridged(ROOM, "#Talk:example.org", rules)
    assert is_formerly_bridged("!x:example.org", "", rules)
    assert not is_formerly_bridged(ROOM, "", rules)


odd = st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.just([]) | st.just({})
parts = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["m.room.member", "m.bridge", "m.room.canonical_alias"]) | odd,
        "state_key": st.sampled_from(["", READER, PUPPET]) | odd,
        "sender": st.sampled_from([ALICE, PUPPET]) | odd,
        "content": st.fixed_dictionaries(
            {},
            optional={"alias": odd, "alt_aliases": odd, "is_direct": odd, "aliases": odd},
        )
        | odd,
        "unsigned": st.fixed_dictionaries({}, optional={"prev_content": odd}) | odd,
    },
)


@given(st.lists(parts | odd, max_size=3))
@settings(deadline=None)
def test_no_state_however_odd_is_an_error(events: list[Any]) -> None:
    found = admission(ROOM, [*state(), *events], (), STANDING, RULES)
    assert isinstance(found, Refused | Admitted)
    for raw in events:
        event_refuses(raw, RULES)
