"""From raw events to messages: edits, redactions, threads, replies, bad events (spec 4.5)."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.domain.messages import Message, Seen, edit_of, is_foreign, seen
from tests.support.events import (
    ALICE,
    BOB,
    START,
    edit_event,
    raw_event,
    redacted,
    state_event,
    text_content,
    with_edit,
)


def message_of(raw: dict[str, Any], *, notices: bool = True) -> Message:
    result = seen(raw, notices=notices)
    assert result.message is not None, result
    assert (result.targets, result.skipped) == ((), None)
    return result.message


def skipped(raw: Any, *, notices: bool = True) -> str | None:
    result = seen(raw, notices=notices)
    assert result.message is None
    return result.skipped


def test_a_message_is_what_its_event_says() -> None:
    raw = raw_event("$a", text_content("hello"), origin_server_ts=1_700_000_000_123)
    at = datetime(2023, 11, 14, 22, 13, 20, 123_000, tzinfo=UTC)
    assert message_of(raw) == Message("$a", ALICE, at, "", "hello")


def test_m07_messages_are_ordered_by_time_and_then_by_id() -> None:
    times = {"$c": 1, "$b": 2, "$a": 2, "$d": 0}
    messages = [message_of(raw_event(e, origin_server_ts=ts)) for e, ts in times.items()]
    assert [m.event for m in sorted(messages, key=lambda m: m.order)] == ["$d", "$c", "$a", "$b"]


def test_m08_an_edit_before_its_original_points_to_it_and_is_no_message() -> None:
    assert seen(edit_event("$e", "$a", "new"), notices=True) == Seen("$e", targets=("$a",))


def test_m09_the_newest_edit_is_the_one_that_the_homeserver_bundles() -> None:
    raw = with_edit(raw_event("$a", text_content("one")), edit_event("$e2", "$a", "three"))
    assert message_of(raw) == Message("$a", ALICE, START, "", "three", edit="$e2")


def test_m11_an_edit_by_another_changes_nothing() -> None:
    raw = with_edit(raw_event("$a", text_content("mine")), edit_event("$e", "$a", "yours", BOB))
    assert message_of(raw) == Message("$a", ALICE, START, "", "mine")
    assert is_foreign(edit_event("$e", "$a", "yours", BOB), raw)
    assert not is_foreign(edit_event("$e", "$a", "mine too"), raw)


def test_m16_the_new_content_counts_and_not_the_starred_fallback() -> None:
    edit = edit_event("$e", "$a", "new")
    assert edit["content"]["body"] == "* new"
    assert message_of(with_edit(raw_event("$a"), edit)).body == "new"


def test_m18_a_redacted_message_has_no_text_whatever_its_edits_say() -> None:
    gone = redacted(raw_event("$a", text_content("secret")))
    gone["unsigned"] |= {"m.relations": {"m.replace": edit_event("$e", "$a", "secret")}}
    assert seen(gone, notices=True) == Seen("$a", targets=("$a",), skipped="redacted")


def test_m18_a_redacted_edit_points_to_what_was_stored_from_it() -> None:
    gone = redacted(edit_event("$e", "$a", "secret"))
    assert seen(gone, notices=True) == Seen("$e", targets=("$e",), skipped="redacted")


@pytest.mark.parametrize("mark", [{"redacted_by": "$r"}, {"redacted_because": {}}])
def test_any_mark_of_a_redaction_counts(mark: dict[str, Any]) -> None:
    assert skipped(raw_event(unsigned=mark)) == "redacted"


def test_m19_the_text_before_a_redacted_edit_is_back() -> None:
    raw = raw_event("$a", text_content("one"))
    assert message_of(with_edit(raw, redacted(edit_event("$e", "$a", "two")))).body == "one"
    marked = edit_event("$e", "$a", "two") | {"unsigned": {"redacted_because": {"x": 1}}}
    assert message_of(with_edit(raw, marked)).body == "one"


def test_m21_a_reply_keeps_its_thread_when_the_root_is_redacted() -> None:
    relation = {"rel_type": "m.thread", "event_id": "$root"}
    reply = raw_event("$b", text_content("in it") | {"m.relates_to": relation})
    assert seen(redacted(raw_event("$root")), notices=True).skipped == "redacted"
    assert message_of(reply).thread == "$root"


@pytest.mark.parametrize(
    ("place", "targets"),
    [
        ({"redacts": "$a"}, ("$a",)),
        ({"content": {"redacts": "$a", "reason": "spam"}}, ("$a",)),
        ({"redacts": "$a", "content": {"redacts": "$a"}}, ("$a",)),
        ({"redacts": "$a", "content": {"redacts": "$b"}}, ("$a", "$b")),
    ],
    ids=["up to version 10", "from version 11 on", "both", "both, differing"],
)
def test_m22_a_redaction_points_to_its_target_from_either_place(
    place: dict[str, Any], targets: tuple[str, ...]
) -> None:
    raw = raw_event("$r", {}, type="m.room.redaction") | place
    assert seen(raw, notices=True) == Seen("$r", targets=targets)


def test_m22_a_redaction_of_nothing_is_malformed() -> None:
    assert skipped(raw_event("$r", {}, type="m.room.redaction", redacts=7)) == "malformed"


def test_m24_an_original_with_its_old_content_has_the_bundled_text() -> None:
    raw = raw_event("$a", text_content("old", format="org.matrix.custom.html"))
    message = message_of(with_edit(raw, edit_event("$e", "$a", "new", origin_server_ts=1)))
    assert (message.body, message.edit, message.at) == ("new", "$e", START)


def without(edit: dict[str, Any], *path: str) -> dict[str, Any]:
    inner = edit
    for key in path[:-1]:
        inner = inner[key]
    del inner[path[-1]]
    return edit


@pytest.mark.parametrize(
    "edit",
    [
        None,
        "$e",
        {},
        {"event_id": "$e", "origin_server_ts": 1, "sender": ALICE},
        edit_event("$e", "$a", "new") | {"type": "m.sticker"},
        edit_event("$e", "$a", "new") | {"state_key": ""},
        edit_event("$e", "$other", "new"),
        edit_event("", "$a", "new"),
        without(edit_event("$e", "$a", "new"), "content", "m.new_content"),
        without(edit_event("$e", "$a", "new"), "content", "m.new_content", "body"),
        without(edit_event("$e", "$a", "new"), "content", "m.new_content", "msgtype"),
        without(edit_event("$e", "$a", "new"), "content", "m.relates_to"),
        without(edit_event("$e", "$a", "new"), "sender"),
    ],
)
def test_an_edit_that_is_not_valid_does_not_count(edit: Any) -> None:
    raw = with_edit(raw_event("$a", text_content("old")), edit)
    assert edit_of(raw) is None
    assert message_of(raw) == Message("$a", ALICE, START, "", "old")


def test_an_edit_to_nothing_leaves_no_text() -> None:
    raw = with_edit(raw_event("$a"), edit_event("$e", "$a", " "))
    assert skipped(raw) == "no text"


def test_an_edit_of_an_edit_points_to_what_it_names() -> None:
    assert seen(edit_event("$e2", "$e1", "new"), notices=True).targets == ("$e1",)


def threaded(**relation: Any) -> dict[str, Any]:
    content = text_content("a") | {"m.relates_to": {"rel_type": "m.thread", **relation}}
    return raw_event("$b", content)


def test_m37_a_thread_fallback_is_no_reply() -> None:
    answer = {"m.in_reply_to": {"event_id": "$x"}}
    falling = message_of(threaded(event_id="$root", is_falling_back=True, **answer))
    true = message_of(threaded(event_id="$root", is_falling_back=False, **answer))
    plain = message_of(threaded(event_id="$root", **answer))
    assert (falling.thread, falling.reply_to) == ("$root", "")
    assert (true.thread, true.reply_to) == ("$root", "$x")
    assert (plain.thread, plain.reply_to) == ("$root", "$x")


def test_m38_a_thread_without_a_reply_is_grouped_by_its_root() -> None:
    message = message_of(threaded(event_id="$root"))
    assert (message.thread, message.reply_to) == ("$root", "")


@pytest.mark.parametrize("root", [None, 7, "", "\ud800$", "$" * 300, ["$root"]])
def test_a_thread_whose_root_is_no_event_id_is_the_main_timeline(root: object) -> None:
    assert message_of(threaded(event_id=root)).thread == ""


def test_a_reply_outside_of_threads_has_its_target() -> None:
    relation = {"m.in_reply_to": {"event_id": "$x"}}
    content = text_content("> <@bob:example.org> hi\n\nyes") | {"m.relates_to": relation}
    message = message_of(raw_event("$b", content))
    assert (message.thread, message.reply_to, message.body) == ("", "$x", "yes")


def test_relations_stand_in_the_original_and_not_in_the_edit() -> None:
    raw = with_edit(threaded(event_id="$root"), edit_event("$e", "$b", "new"))
    message = message_of(raw)
    assert (message.thread, message.body) == ("$root", "new")


def test_an_edited_reply_loses_its_fallback() -> None:
    relation = {"m.in_reply_to": {"event_id": "$x"}}
    raw = raw_event("$b", text_content("yes") | {"m.relates_to": relation})
    edit = edit_event("$e", "$b", "> <@bob:example.org> hi\n\nno")
    assert message_of(with_edit(raw, edit)).body == "no"


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (raw_event(type="m.room.encrypted", content={"ciphertext": "x"}), "encrypted"),
        (raw_event(type="m.sticker"), "unknown type"),
        (raw_event(type="m.reaction"), "unknown type"),
        (raw_event(content=text_content("a", "org.example.dance")), "unknown type"),
        (raw_event(content=text_content("a.png", "m.image")), "no text"),
        (raw_event(content=text_content("at geo:1,2", "m.location")), "no text"),
        (raw_event(content=text_content(" ")), "no text"),
        (state_event("m.room.topic", {"topic": "x"}), "state"),
        (redacted(state_event("m.room.topic", {"topic": "x"})), "state"),
        (raw_event(state_key=""), "state"),
    ],
)
def test_m36_what_is_no_text_is_skipped_by_a_reason(raw: dict[str, Any], reason: str) -> None:
    assert seen(raw, notices=True) == Seen(raw["event_id"], skipped=reason)


def test_m36_notices_are_taken_or_not_by_a_setting() -> None:
    notice = raw_event(content=text_content("build failed", "m.notice"))
    assert message_of(notice, notices=True).body == "build failed"
    assert skipped(notice, notices=False) == "notice"
    assert message_of(raw_event(), notices=False).body == "hello"


@pytest.mark.parametrize(
    "changes",
    [
        {"event_id": None},
        {"event_id": 7},
        {"event_id": "$a\nb"},
        {"type": None},
        {"type": ["m.room.message"]},
        {"sender": None},
        {"sender": "alice"},
        {"sender": "@a\n@b:x"},
        {"sender": "@\ud800:x"},
        {"origin_server_ts": None},
        {"origin_server_ts": "1700000000000"},
        {"origin_server_ts": 1.7e12},
        {"origin_server_ts": True},
        {"origin_server_ts": -1},
        {"origin_server_ts": 2**53},
        {"origin_server_ts": 10**400},
        {"origin_server_ts": 253_402_300_799_000},
        {"content": None},
        {"content": "hello"},
        {"content": {}},
        {"content": text_content("a") | {"body": ["a"]}},
        {"content": text_content("a") | {"msgtype": None}},
        {"content": text_content("a") | {"m.relates_to": {"rel_type": "m.replace"}}},
    ],
)
def test_a_broken_event_is_malformed_and_no_error(changes: dict[str, Any]) -> None:
    assert skipped(raw_event() | changes) == "malformed"


@pytest.mark.parametrize("raw", [None, "x", 7, [], {}])
def test_what_is_no_event_is_malformed(raw: Any) -> None:
    assert seen(raw, notices=True) == Seen("", skipped="malformed")


@pytest.mark.parametrize("relation", [None, 7, "x", [], {"rel_type": ["m.thread"]}])
def test_a_broken_relation_is_none(relation: object) -> None:
    raw = raw_event("$a", text_content("hello") | {"m.relates_to": relation})
    assert message_of(raw) == Message("$a", ALICE, START, "", "hello")


@pytest.mark.parametrize("unsigned", [None, 7, [], {"m.relations": 7}, {"m.relations": {}}])
def test_a_broken_unsigned_part_is_none(unsigned: object) -> None:
    assert message_of(raw_event("$a", unsigned=unsigned)).body == "hello"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=3,
)
kinds = st.sampled_from(["m.room.message", "m.room.redaction", "m.room.encrypted", "m.sticker"])
relations = st.fixed_dictionaries(
    {},
    optional={
        "rel_type": st.sampled_from(["m.replace", "m.thread"]) | json_values,
        "event_id": st.just("$other") | json_values,
        "m.in_reply_to": st.just({"event_id": "$x"}) | json_values,
        "is_falling_back": json_values,
    },
)
contents = st.fixed_dictionaries(
    {},
    optional={
        "msgtype": st.sampled_from(["m.text", "m.image", "m.emote"]) | json_values,
        "body": st.text() | json_values,
        "formatted_body": st.text("<a href='https:/>") | json_values,
        "m.relates_to": relations | json_values,
        "m.new_content": st.just(text_content("new")) | json_values,
        "redacts": json_values,
    },
)
events = st.fixed_dictionaries(
    {"event_id": st.just("$a") | json_values, "type": kinds | json_values},
    optional={
        "sender": st.just(ALICE) | json_values,
        "origin_server_ts": st.integers() | json_values,
        "content": contents | json_values,
        "state_key": json_values,
        "redacts": json_values,
    },
)


@given(events, events)
@settings(max_examples=400, deadline=None)
def test_any_event_is_a_message_points_somewhere_or_is_skipped(
    raw: dict[str, Any], edit: dict[str, Any]
) -> None:
    result = seen(with_edit(raw, edit), notices=True)
    assert (result.message is not None) + bool(result.targets) + bool(result.skipped) >= 1
    assert result.message is None or (not result.targets and not result.skipped)
