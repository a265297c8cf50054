"""Every kind of room that is not read, on a real homeserver: refused, named, its text untouched.

One run over all of them is looked at kind by kind (spec 3.1-3.6); then things happen in those that
were read, and a second run is.
"""

import re
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from urllib.parse import unquote

import pytest

from search.settings import Settings
from tasks.domain.puppets import DISCORD, PUPPET
from tests.support.community import Community
from tests.support.held_rooms import at, bodies, reasons
from tests.support.homeserver_proxy import HomeserverProxy, between
from tests.support.huginn_command import huginn
from tests.support.remains import as_text, objects
from tests.support.synapse import Synapse

PUPPETS = r"@irc_.*"
"""The pattern of another bridge's puppets, from the settings."""

TEXT_PATHS = ("/messages", "/context/", "/event/")


@dataclass
class Town:
    """Rooms of all kinds by name; ``reader`` is in them, if it ever was."""

    community: Community
    synapse: Synapse
    proxy: HomeserverProxy
    reader: str
    rooms: dict[str, str] = field(default_factory=dict)
    paths: list[str] = field(default_factory=list)
    first: dict[str, str] = field(default_factory=dict)
    second: dict[str, str] = field(default_factory=dict)

    @property
    def tag(self) -> str:
        """What makes names of this town its own."""
        return self.reader.removeprefix("reader_")

    def room(self, name: str, /, *members: str, joined: bool = True, **options: object) -> str:
        """A room in which somebody spoke before anything else happened."""
        room = self.synapse.room("ada", "bob", *members, **options)
        self.rooms[name] = room
        self.synapse.send(room, "bob", text_of(name), at(0))
        if joined:
            self.synapse.join(room, self.reader)
        return room

    def asked_for_text(self, name: str) -> list[str]:
        """Paths of requests that could give what was said in the room."""
        room = self.rooms[name]
        return [
            path
            for path in self.paths
            if f"/rooms/{room}/" in unquote(path)
            and any(part in path for part in TEXT_PATHS)
            and '"types":["m.room.member"]' not in unquote(path).replace(" ", "")
        ]


def text_of(name: str) -> str:
    return f"Only said in the room {name}."


def m_direct(town: Town, name: str) -> None:
    town.synapse.mark_direct(town.reader, "ada", town.room(name))


def invited_as_direct(town: Town, name: str) -> None:
    options = {"preset": "trusted_private_chat", "is_direct": True}
    invited = [town.synapse.mxid(each) for each in (town.reader, "bob")]
    room = town.synapse.room("ada", "bob", invite=invited, **options)
    town.rooms[name] = room
    town.synapse.join(room, town.reader)
    town.synapse.send(room, "bob", text_of(name), at(0))


def once_invited_as_direct(town: Town, name: str) -> None:
    invited_as_direct(town, name)
    room = town.rooms[name]
    town.synapse.leave(room, town.reader)
    town.synapse.invite(room, "ada", town.reader)
    town.synapse.join(room, town.reader)
    town.synapse.put_state(
        room,
        town.reader,
        "m.room.member",
        {"membership": "join", "displayname": "Reader"},
        town.synapse.mxid(town.reader),
    )


def listed_as_direct(town: Town, name: str) -> None:
    town.community.matrix["direct"] = [town.room(name)]


def bridge_event(kind: str, *, emptied: bool = False) -> Callable[[Town, str], None]:
    def make(town: Town, name: str) -> None:
        room = town.room(name)
        town.synapse.put_state(room, "ada", kind, {"bridgebot": "@bot:community.test"}, "any.key")
        if emptied:
            town.synapse.put_state(room, "ada", kind, {}, "any.key")

    return make


def puppet_is_there(town: Town, name: str) -> None:
    town.room(name, f"_discord_{town.tag}_1")


def puppet_who_left(town: Town, name: str) -> None:
    puppet = f"irc_{town.tag}_2"
    town.synapse.leave(town.room(name, puppet), puppet)


def puppet_who_was_only_invited(town: Town, name: str) -> None:
    room = town.room(name)
    town.synapse.invite(room, "ada", f"_discord_{town.tag}_3")


def named(alias: str) -> Callable[[Town, str], None]:
    def make(town: Town, name: str) -> None:
        town.room(name, alias=alias)

    return make


def named_in_the_directory_alone(town: Town, name: str) -> None:
    town.synapse.put_alias(town.room(name), "ada", "members")


def once_named_so(town: Town, name: str) -> None:
    """Its canonical alias was taken away since; the directory has it no more either."""
    room = town.room(name, alias="Patrons")
    town.synapse.put_state(room, "ada", "m.room.canonical_alias", {})
    town.synapse.call("DELETE", "/directory/room/%23Patrons%3Acommunity.test", "ada")


def excluded_by_id(town: Town, name: str) -> None:
    town.community.matrix.setdefault("excluded", []).append(town.room(name))


def excluded_by_alias(town: Town, name: str) -> None:
    town.room(name, alias=f"board_{town.tag}")
    excluded = f"#board_{town.tag}:community.test"
    town.community.matrix.setdefault("excluded", []).append(excluded)


KINDS: dict[str, tuple[Callable[[Town, str], None], str]] = {
    "marked-direct": (m_direct, "direct"),
    "invited-as-direct": (invited_as_direct, "direct"),
    "once-invited-as-direct": (once_invited_as_direct, "direct"),
    "listed-as-direct": (listed_as_direct, "direct"),
    "m-bridge": (bridge_event("m.bridge"), "bridged"),
    "half-shot-bridge": (bridge_event("uk.half-shot.bridge"), "bridged"),
    "emptied-m-bridge": (bridge_event("m.bridge", emptied=True), "formerly-bridged"),
    "emptied-half-shot-bridge": (
        bridge_event("uk.half-shot.bridge", emptied=True),
        "formerly-bridged",
    ),
    "puppet-is-there": (puppet_is_there, "puppet"),
    "puppet-who-left": (puppet_who_left, "puppet"),
    "puppet-only-invited": (puppet_who_was_only_invited, "puppet"),
    "users": (named("users"), "excluded"),
    "members-in-the-directory-alone": (named_in_the_directory_alone, "excluded"),
    "patrons": (named("patrons"), "excluded"),
    "once-patrons": (once_named_so, "excluded"),
    "excluded-by-id": (excluded_by_id, "excluded"),
    "excluded-by-alias": (excluded_by_alias, "excluded"),
}


@pytest.fixture(scope="module")
def town(
    synapse: Synapse,
    server_settings: Settings,
    prefect_api: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Town]:
    """All rooms, and two runs."""
    reader = f"reader_{uuid.uuid4().hex[:12]}"
    synapse.user(reader)
    folder = tmp_path_factory.mktemp("town")
    community = Community(folder, server_settings, f"Test{uuid.uuid4().hex}")
    with between(synapse.port) as proxy, ExitStack() as after:
        for alias in ("users", "members", "patrons"):  # one each on a homeserver
            path = f"/directory/room/%23{alias}%3Acommunity.test"
            after.callback(synapse.call, "DELETE", path, "ada")
        town = Town(community, synapse, proxy, reader)
        community.reads(synapse, reader)
        community.matrix |= {"homeserver": proxy.url, "puppets": [PUPPETS]}
        for name, (make, _) in KINDS.items():
            make(town, name)
        read_rooms(town)
        proxy.before = town.paths.append
        first = community.refresh()
        assert {each.result for each in first.values()} == {"done"}
        town.first = reasons(community)
        what_happens_then(town)
        community.refresh()
        town.second = reasons(community)
        yield town


def read_rooms(town: Town) -> None:
    """Rooms that are read, and one that the reader is only invited to."""
    synapse, tag = town.synapse, town.tag
    quoting = town.room("quoting", name=f"About @_discord_{tag}_9:community.test")
    puppet, other = f"@_discord_{tag}_7:community.test", f"@IRC_{tag}_8:community.test"
    synapse.send(quoting, "ada", f"Ask {puppet} or {other}, they know.", at(1))
    link = f"https://logs.community.test/{puppet.replace('@', '%40')}/today"
    html = f'Ask <a href="{link}">them</a>.'
    formatted = {"format": "org.matrix.custom.html", "formatted_body": html}
    synapse.send(quoting, "ada", {"msgtype": "m.text", "body": "Ask them.", **formatted}, at(2))
    encrypted = town.room("encrypted")
    synapse.put_state(encrypted, "ada", "m.room.encryption", {"algorithm": "m.megolm.v1.aes-sha2"})
    for minute in (3, 4):
        synapse.encrypted(encrypted, "bob", at(minute))
    invited = town.room(
        "only-invited", joined=False, preset="private_chat", invite=[synapse.mxid("bob")]
    )
    synapse.invite(invited, "ada", town.reader)
    for name in ("puppet-passes-by", "puppet-in-the-page", "becomes-direct"):
        town.room(name)


def what_happens_then(town: Town) -> None:
    """In three rooms that were read; the puppet of one comes when its state was read already."""
    synapse = town.synapse

    def pass_by(name: str, number: int) -> None:
        puppet, room = f"_discord_{town.tag}_{number}", town.rooms[name]
        synapse.join(room, puppet)
        synapse.send(room, puppet, "Said by a puppet.", at(10))
        synapse.leave(room, puppet)

    pass_by("puppet-passes-by", 4)
    direct = [town.rooms[name] for name in ("marked-direct", "becomes-direct")]
    synapse.mark_direct(town.reader, "ada", *direct)
    late = town.rooms["puppet-in-the-page"]
    synapse.send(late, "ada", "Something new.", at(9))
    came: list[str] = []

    def before(path: str) -> None:
        town.paths.append(path)
        if f"/rooms/{late}/messages" in unquote(path) and not came:
            came.append(path)
            pass_by("puppet-in-the-page", 5)

    town.proxy.before = before


@pytest.mark.parametrize("name", KINDS)
def test_a_room_that_may_not_be_read_is_named_with_its_reason_and_its_text_not_asked_for(
    town: Town, name: str
) -> None:
    code = KINDS[name][1]
    assert town.first[town.rooms[name]].startswith(f"{code}: ")
    assert town.asked_for_text(name) == []
    assert text_of(name) not in bodies(town.community)
    assert town.community.record(f"chat:{town.rooms[name]}") is None


def test_the_others_are_read_and_asking_for_their_text_shows_in_the_log(town: Town) -> None:
    left_out = {*town.first}
    assert left_out == {town.rooms[name] for name in KINDS}
    assert town.asked_for_text("quoting")
    assert town.asked_for_text("encrypted")


def test_what_was_plain_in_an_encrypted_room_stays_and_the_rest_is_counted(town: Town) -> None:
    source = f"chat:{town.rooms['encrypted']}"
    assert bodies(town.community, source) == [text_of("encrypted")]
    record = town.community.record(source)
    assert record is not None
    assert record.read["encrypted"] == 2
    assert not any("AwgAEpABm6" in as_text(facts) for _, facts in objects(town.community))


def test_an_invite_is_never_accepted_and_doctor_names_it(town: Town) -> None:
    invited = town.rooms["only-invited"]
    member = town.synapse.call(
        "GET", f"/rooms/{invited}/state/m.room.member/{town.synapse.mxid(town.reader)}", "ada"
    )
    assert member["membership"] == "invite"
    assert town.asked_for_text("only-invited") == []
    told = huginn(town.community, "doctor", "matrix")
    assert f"invite {invited}: not accepted" in told.output


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("puppet-passes-by", "puppet: a bridge's puppet is or was in it"),
        ("puppet-in-the-page", "a bridge's puppet is or was in it"),
        ("becomes-direct", "direct: it is a direct chat"),
    ],
)
def test_a_room_that_stops_qualifying_after_it_was_read_is_removed_and_named(
    town: Town, name: str, reason: str
) -> None:
    assert town.rooms[name] not in town.first
    assert town.second[town.rooms[name]] == reason
    assert bodies(town.community, f"chat:{town.rooms[name]}") == []
    assert town.community.record(f"chat:{town.rooms[name]}") is None
    assert "Said by a puppet." not in bodies(town.community)


def test_a_search_for_puppets_over_everything_that_is_held_finds_nothing(town: Town) -> None:
    source = f"chat:{town.rooms['quoting']}"
    said = "\n".join(bodies(town.community, source))
    assert f"Ask {PUPPET} or {PUPPET}, they know." in said
    assert said.count(PUPPET) == 3
    namespaces = [re.compile(each, re.IGNORECASE) for each in (*DISCORD, PUPPETS)]
    encoded = re.compile(r"(?:%40|matrix:u/)_?(?:discord|irc)_", re.IGNORECASE)
    seen = {"passages": 0, "ledger": 0}
    for kind, facts in objects(town.community):
        seen[kind] += 1
        text = as_text(facts)
        assert not encoded.search(text), text
        for namespace in namespaces:
            assert not namespace.search(text), text
    assert min(seen.values()) > 1
