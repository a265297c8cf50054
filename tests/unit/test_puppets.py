"""Puppets told by their ids, and their ids in other people's words (spec 3.2)."""

import re
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.domain import puppets as module
from tasks.domain.puppets import BadPuppetPattern, Puppets

DISCORD = [
    "@_discord_123456789012345678:example.org",
    "@_discord_bot:example.org",
    "@discord_123456789012345678:example.org",
    "@_discordpuppet_1_99:example.org",
    "@discord_puppet_1:example.org",
    "@discordbot:example.org",
    "@_ooye_alice:example.org",
    "@_Discord_1:Example.ORG",
]
PEOPLE = [
    "@alice:example.org",
    "@discordian:example.org",
    "@discordbots:example.org",
    "@x_discord_1:example.org",
    "@ooye_alice:example.org",
]


@pytest.mark.parametrize("user", DISCORD)
def test_discords_puppets_are_known_without_any_setting(user: str) -> None:
    assert Puppets().is_puppet(user)
    assert Puppets(["@irc_.*"]).is_puppet(user)


@pytest.mark.parametrize("user", PEOPLE)
def test_people_are_no_puppets(user: str) -> None:
    assert not Puppets().is_puppet(user)
    assert Puppets().quoted(f"ask {user}, please") == f"ask {user}, please"


def test_a_setting_adds_namespaces() -> None:
    assert not Puppets().is_puppet("@irc_bob:example.org")
    assert Puppets([r"@irc_.*:example\.org$"]).is_puppet("@IRC_bob:example.org")


@pytest.mark.parametrize("pattern", ["irc_.*", "@irc_(", ""])
def test_a_pattern_that_cannot_work_is_named(pattern: str) -> None:
    with pytest.raises(BadPuppetPattern, match=re.escape(repr(pattern))):
        Puppets([pattern])


USER = DISCORD[0]
TEXTS = {
    f"ask {USER}, please": "ask [puppet], please",
    f"is it {USER}? {USER}!": "is it [puppet]? [puppet]!",
    f"see {USER}.": "see [puppet].",
    f"see {USER}: yes": "see [puppet]: yes",
    f"<{USER}> said": "<[puppet]> said",
    f"({USER})": "([puppet])",
    f"`{USER}`": "`[puppet]`",
    USER.upper(): "[puppet]",
    "@_discord_123 without a server": "[puppet] without a server",
    f"https://matrix.to/#/{USER}?via=a.org": "https://matrix.to/#/[puppet]?via=a.org",
    f"https://matrix.to/#/{quote(USER)}": "https://matrix.to/#/[puppet]",
    f"https://matrix.to/#/{quote(USER).lower()}": "https://matrix.to/#/[puppet]",
    f"https://matrix.to/#/{quote(quote(USER))}": "https://matrix.to/#/[puppet]",
    f"?next={quote(quote(quote(USER)))}&a=b": "?next=[puppet]&a=b",
    "@%5Fdiscord%5f1:example.org": "[puppet]",
    "matrix:u/_discord_123:example.org?action=chat": "matrix:u/[puppet]?action=chat",
    "x@alice%40_discord_1:example.org": "x@alice[puppet]",
    f"@alice:example.org{USER}": "@alice:example.org[puppet]",
}


@pytest.mark.parametrize("text", TEXTS)
def test_a_puppets_id_in_other_words_is_not_stored(text: str) -> None:
    assert Puppets().quoted(text) == TEXTS[text]


def test_a_pattern_with_an_end_is_found_at_the_end_of_a_sentence_too() -> None:
    puppets = Puppets([r"@irc_.*:example\.org$"])
    assert puppets.quoted("ask @irc_bob:example.org.") == "ask [puppet]."


@pytest.mark.parametrize(
    "text", ["mail bob@example.org", "_discord_ is a prefix", "@", "%40", "a @ b", "100%25 of 40"]
)
def test_what_is_no_puppet_stays(text: str) -> None:
    assert Puppets().quoted(text) == text


alphabet = st.sampled_from([*DISCORD, *PEOPLE, "@", "%40", "%25", "40", "_discord_", " ", ":", "x"])


@given(st.lists(alphabet).map("".join))
@settings(deadline=None)
def test_a_search_for_the_namespace_finds_nothing(text: str) -> None:
    result = Puppets().quoted(text)
    assert not re.search("@_discord_|@discord_|%40_discord_|@_ooye_", result, re.IGNORECASE)
    assert Puppets().quoted(result) == result


@pytest.mark.parametrize(
    "piece", ["@", "%25", "%40", "@a", "matrix:u/", "@_discord_", "%2540", ":"]
)
def test_each_character_is_looked_at_for_one_id_only(
    piece: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_at = 0
    replaced = Puppets._replaced

    def counting(self: Puppets, found: re.Match[str]) -> str:
        nonlocal looked_at
        looked_at += len(found[0])
        return replaced(self, found)

    monkeypatch.setattr(module.Puppets, "_replaced", counting)
    text = piece * 3_000
    Puppets().quoted(text)
    assert looked_at <= len(text)
