"""Secrets in a segment's messages, with the real scrubber (spec 4.2)."""

import random
from collections.abc import Sequence

import pytest

from tasks.adapters.scrubbing import BetterleaksScrubber
from tasks.domain.messages import Message
from tasks.domain.room_scrub import scrubbed
from tasks.domain.windows import says_nothing
from tasks.ports import Scrubbed
from tests.support.events import ALICE, BOB, message
from tests.support.fakes import FakeScrubber
from tests.support.planted_secrets import FAMILIES, aws_pair, body_of, jwt, key_lines, token
from tests.unit.test_scrub import CLEAN, NO_PASSWORDS, PASSWORDS

SCRUBBER = BetterleaksScrubber()


@pytest.fixture
def rng() -> random.Random:
    return random.Random(7)  # noqa: S311  # the same secrets in every run


def said(*lines: tuple[str, str]) -> list[Message]:
    return [message(f"${n}", body, who, minutes=n) for n, (who, body) in enumerate(lines)]


def after(*lines: tuple[str, str]) -> list[str]:
    return [message.body for message in scrubbed(said(*lines), SCRUBBER)[0]]


CASES = {
    "S01 a fine-grained token": ["github fine-grained", "github in an assignment"],
    "S03 a token of three parts": ["jwt"],
    "S06 a key over many lines": ["key over lines", "key in a quote"],
    "S07 a key on one line": ["key on one line", "key with written line breaks"],
    "S13 a token as user name": ["address with a token", "address with a token and a colon"],
    "S16 a pair of keys": ["aws with =", "aws with a colon", "aws with a blank"],
    "S20 a secret of any characters": ["client secret", "shared secret with symbols"],
    "S23 a short parameter": ["parameter"],
    "S24 a password": ["password"],
}


@pytest.mark.parametrize(
    "family", [pytest.param(f, id=f"{case}-{f}") for case, fs in CASES.items() for f in fs]
)
def test_no_secret_is_left_in_a_room(family: str, rng: random.Random) -> None:
    text, secrets = FAMILIES[family](rng)
    talk = said((BOB, "what did you try?"), (ALICE, f"this:\n{text}\nand"), (BOB, f"so {text} ?"))
    messages, counts = scrubbed(talk, SCRUBBER)
    assert [s for s in secrets for m in messages if s in m.body] == []
    assert messages[0] == talk[0]
    assert messages[1].body.startswith("this:\n")
    assert counts.total() >= 2


@pytest.mark.parametrize(
    "label", ["OPENSSH PRIVATE KEY", "EC PRIVATE KEY", "ENCRYPTED PRIVATE KEY"]
)
def test_s11_other_heads_of_keys_are_known_in_rooms(label: str, rng: random.Random) -> None:
    lines = key_lines(rng, label, 3)
    [result] = after((ALICE, "\n".join(lines)))
    assert result.strip() == "[scrubbed:private-key]"


def test_s09_what_is_said_between_two_keys_stays(rng: random.Random) -> None:
    first, second = ("\n".join(key_lines(rng, lines=3)) for _ in range(2))
    result = after((ALICE, first), (ALICE, "that was the old one"), (ALICE, second))
    assert [text.strip() for text in result] == [
        "[scrubbed:private-key]",
        "that was the old one",
        "[scrubbed:private-key]",
    ]


@pytest.mark.parametrize(
    "text",
    [pytest.param(text, id=case) for case, text in CLEAN.items()]
    + [pytest.param(text, id=f"S24 {text}") for text in NO_PASSWORDS],
)
def test_what_only_looks_like_a_secret_stays_in_rooms(text: str) -> None:
    assert after((ALICE, "see"), (ALICE, text), (ALICE, "ok?")) == ["see", text, "ok?"]


@pytest.mark.parametrize("form", PASSWORDS)
def test_s24_a_password_goes_and_the_rest_stays(form: str) -> None:
    assert after((ALICE, form.format(PASSWORDS[form]))) == [form.format("[scrubbed:password]")]


def test_s03_a_token_goes_as_one(rng: random.Random) -> None:
    assert after((ALICE, f"invalid token {jwt(rng)}.")) == ["invalid token [scrubbed:jwt]"]


def test_s06_a_key_sent_in_three_messages_goes_whoever_speaks_in_between(
    rng: random.Random,
) -> None:
    lines = key_lines(rng)
    pieces = ["\n".join(lines[:9]), "\n".join(lines[9:18]), "\n".join([*lines[18:], "ok"])]
    result = after(
        (ALICE, pieces[0]), (BOB, "wait"), (ALICE, pieces[1]), (BOB, "no"), (ALICE, pieces[2])
    )
    assert [line for line in body_of(lines) for text in result if line in text] == []
    assert (result[1], result[3], result[4].split()[-1]) == ("wait", "no", "ok")


def test_s16_a_pair_sent_in_two_messages_goes(rng: random.Random) -> None:
    identifier, secret = aws_pair(rng)
    result = after(
        (ALICE, f"the id is {identifier}"), (BOB, "and?"), (ALICE, f"and the other: {secret}")
    )
    assert identifier not in result[0]
    assert secret not in result[2]


def test_a_name_and_a_value_of_two_senders_are_not_joined(rng: random.Random) -> None:
    value = token(rng, 30)
    assert after((ALICE, "the api key is:"), (BOB, value))[1] == value
    assert after((ALICE, "the api key is:"), (ALICE, value))[1] == "[scrubbed:generic-api-key]"


def test_e05_a_message_that_is_only_a_secret_stays_as_its_marker(rng: random.Random) -> None:
    text, _ = FAMILIES["github fine-grained"](rng)
    talk = said((ALICE, text), (BOB, "delete that"))
    messages, counts = scrubbed(talk, SCRUBBER)
    assert [message.event for message in messages] == ["$0", "$1"]
    assert says_nothing(messages[0].body)
    assert dict(counts) == {"github-token": 1}


def test_everything_but_the_bodies_stays(rng: random.Random) -> None:
    text, _ = FAMILIES["password"](rng)
    before = message("$a", text, minutes=3, thread="$root", edit="$e", reply_to="$x")
    [result] = scrubbed([before], SCRUBBER)[0]
    assert result.body != text
    assert (result.event, result.sender, result.at) == (before.event, before.sender, before.at)
    assert (result.thread, result.edit, result.reply_to) == ("$root", "$e", "$x")


def test_counts_are_summed_over_messages_and_senders() -> None:
    scrubber = TogetherScrubber({"pony": "password", "abc": "token"})
    talk = said((ALICE, "pony"), (BOB, "a pony and abc"), (ALICE, "pony pony"))
    messages, counts = scrubbed(talk, scrubber)
    assert dict(counts) == {"password": 4, "token": 1}
    assert scrubbed(messages, scrubber) == (messages, {})


class TogetherScrubber(FakeScrubber):
    """Takes its words out of each text, and remembers which texts it was given together."""

    def scrub_together(self, texts: Sequence[str]) -> list[Scrubbed]:
        self.together = [*getattr(self, "together", []), list(texts)]
        return self.scrub(texts)


def test_each_senders_messages_are_scrubbed_together_in_their_order() -> None:
    scrubber = TogetherScrubber()
    scrubbed(said((BOB, "b1"), (ALICE, "a1"), (BOB, "b2"), (ALICE, "a2")), scrubber)
    assert scrubber.together == [["b1", "b2"], ["a1", "a2"]]


def test_no_messages_have_no_secrets() -> None:
    assert scrubbed([], SCRUBBER) == ([], {})
