"""Taking credentials out of text: our rules with the real library behind them (spec 4.2, 5.3)."""

import random
import re
import re._constants as opcodes
import re._parser as parser
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.adapters.scrubbing import BetterleaksScrubber
from tasks.domain import key_blocks, scrub, secret_rules
from tasks.domain.scrub import Span, merged, own_spans, places, rules_digest
from tests.support.planted_secrets import (
    BASE64,
    FAMILIES,
    HEX,
    URL_SAFE,
    WORD,
    aws_pair,
    jwt,
    key_lines,
    synapse_token,
    take,
    token,
)

SCRUBBER = BetterleaksScrubber()
RNG = random.Random(20240229)  # noqa: S311  # the same secrets in every run
SHA = take(RNG, 40, HEX)
UUID = "-".join(take(RNG, count, HEX) for count in (8, 4, 4, 4, 12))


def scrubbed(text: str) -> str:
    return SCRUBBER.scrub([text])[0].text


def rules(text: str) -> list[str]:
    return [rule for rule, _ in SCRUBBER.scrub([text])[0].counts]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("seed", range(5))
def test_a_planted_secret_does_not_survive_in_prose(family: str, seed: int) -> None:
    text, secrets = FAMILIES[family](random.Random(seed))  # noqa: S311
    result = scrubbed(f"I tried this:\n{text}\nand it failed.")
    assert [secret for secret in secrets if secret in result] == []
    assert result.startswith("I tried this:\n")
    assert result.endswith("\nand it failed.")


CLEAN = {
    "S15 a commit": f"fixed in {SHA}",
    "S15 a commit under a word like key": f"the key change is {SHA}, see there",
    "S15 a commit under a name with key": f"keymaster: {SHA}",
    "S17 a pinned revision": f'SRCREV_keymaster = "{SHA}"',
    "S17 a checksum": f'SRC_URI[sha256sum] = "{take(RNG, 64, HEX)}"',
    "S17 a cache key": f"cache_key: {take(RNG, 32, HEX)}",
    "S17 a token bucket": "a token bucket limits each user",
    "S17 a key policy": "our api key rotation policy: every 90 days",
    "S17 a cache key of another length": "cache_key: v1-npm-3f2a9b8c7d6e-71k2",
    "S18 an integrity hash": f'integrity="sha512-{take(RNG, 86, BASE64)}=="',
    "S18 a short integrity hash": f"key: sha256-{take(RNG, 43, BASE64)}=",
    "S18 a uuid": f"key = {UUID}",
    "S18 an event": f"event key: ${take(RNG, 43, URL_SAFE)}",
    "a public key of a server": f'"ed25519:auto": {{"key": "{take(RNG, 43, BASE64)}"}}',
    "a decentralised identifier": f"Signed-off-by: Al <did:key:z{token(RNG, 47)}>",
    "a room of version 12": f"!{take(RNG, 43, URL_SAFE)}",
    "a permalink": f"https://matrix.to/#/!abc:example.org/${take(RNG, 43, URL_SAFE)}?via=a.org",
    "an mxid in an address": "https://example.org/@alice:example.org",
    "a clone address": "ssh://git@example.org/o/r.git and git@example.org:o/r.git",
    "a user name in an address": "https://alice.liddell1865@example.org/x",
    "a documented address": "postgres://user:password@localhost/db",
    "a template of an address": "https://${USER}:${PASS}@example.org",
    "a public key block": f"-----BEGIN PUBLIC KEY-----\n{take(RNG, 64)}\n-----END PUBLIC KEY-----",
    "code that names a head": 'if "-----BEGIN PRIVATE KEY-----" in text: raise Refused',
    "prose that names head and tail": "from -----BEGIN PRIVATE KEY----- on, up to the line that "
    "says -----END PRIVATE KEY-----, all is secret",
    "S23 other parameters": "?page=2&lang=en&monkey=Zk3qLm7w",
    "a parameter's placeholder": "?token=YOUR_TOKEN&key=value",
    "bearer in prose": "Bearer authentication-is-required",
    "a call": "token = secrets.token_hex(32)\nkey=lambda row: row.name1",
    "a macro": 'Self::Secret => write!(f, "secret"),',
    "a type": "privateKey: Uint8Array<ArrayBuffer>;",
    "a path of names": "signingKey: keys.ed25519First, secret: settings.smtp2.secret",
    "a format": 'token = "t%d-%d" % (topological, stream)',
}


@pytest.mark.parametrize("text", CLEAN.values(), ids=CLEAN)
def test_what_only_looks_like_a_secret_stays(text: str) -> None:
    assert scrubbed(text) == text


NO_PASSWORDS = """
password: required
password: str
password: SecretStr
password: Optional[str] = None
password: string;
password: hashedPassword,
password: true
password: None
password: correct horse
password: <your password>
password: ${PASSWORD}
password: $MATRIX_PASSWORD
password: {{ vault_password }}
password: ********
password: "Mot de passe"
password: The password of the user
password: administrator
Password: Enter your password
password=password
password=new_password2
password = getpass.getpass()
password=os.environ['PASSWORD']
password = config.smtp.pass2
password != confirmation1
password: /run/secrets/password1
password: ${DB_PW_2}
password: "<dein-wort-1>"
password: "Mind. 8 Zeichen!"
password: extraordinarily weak
password = args[0]
password = derive(salt1)
password: "/srv/mnt1/x9y"
password is required
the password is base64 encoded
const password = useState('')
pass: 312345 fail: 212345
login("alice", "wonderland")
""".strip().splitlines()


@pytest.mark.parametrize("text", NO_PASSWORDS)
def test_s24_a_word_type_or_name_after_password_stays(text: str) -> None:
    assert scrubbed(text) == text


PASSWORDS = {
    "password: {}": "CorrectHorseBattery",
    'password: "{}"': "CorrectHorseBattery",
    "password='{}'": "CorrectHorseBattery",
    "PASSWORD={}": "correcthorsebattery",
    "Password: {} please keep it": "CorrectHorseBattery",
    '"password": "{}",': "CorrectHorseBattery",
    'password: str = "{}"': "CorrectHorseBattery",
    "**Password:** `{}`": "CorrectHorseBattery",
    '\\"password\\": \\"{}\\"': "CorrectHorseBattery",
    "pwd={}&user=bob": "Tr0ub4dor",
    "passwd: {}": "p@ss(word)1",
    "DB_PASS={}": "hunter2",
    "Passwort: {}": "xKqLmZwP",
    "password: '{}'": "correct-horse-battery-staple",
    "passphrase: {}": "48151623",
    "the password is {}": "hunter2",
    "mysql --password {} -u bob": "hunter22",
    "machine example.org login bob password {}": "hunter2",
    'client.login("bob", "{}")': "hunter22",
}


@pytest.mark.parametrize("form", PASSWORDS)
def test_s24_a_password_is_replaced_and_the_rest_stays(form: str) -> None:
    assert scrubbed(form.format(PASSWORDS[form])) == form.format("[scrubbed:password]")


def test_s01_a_fine_grained_github_token_is_replaced_whole() -> None:
    secret = "github" + "_pat_" + token(RNG, 82, WORD + "_")
    assert scrubbed(secret) == "[scrubbed:github-token]"
    assert scrubbed(f"KEY={secret}") == "KEY=[scrubbed:github-token]"


def test_s03_a_token_with_a_short_payload_is_replaced_as_one() -> None:
    assert scrubbed(f"invalid token {jwt(RNG)}.") == "invalid token [scrubbed:jwt]"


@pytest.mark.parametrize("signature", ["", "."])
def test_s03_a_token_without_a_signature_is_replaced(signature: str) -> None:
    unsigned = jwt(RNG).rpartition(".")[0]
    assert scrubbed(f"is {unsigned}{signature} valid") == "is [scrubbed:jwt] valid"


def test_a_jwt_cannot_start_inside_what_it_has_read() -> None:
    [rule] = [rule for rule in secret_rules.RULES if rule.name == "jwt"]
    assert rule.pattern.match(f"eyJ{jwt(RNG)}")
    assert rule.pattern.match(f"eyJ{jwt(RNG)}", 3) is None


@pytest.mark.parametrize("prefix", ["", "> ", "    "])
def test_s06_no_line_of_a_key_is_left(prefix: str) -> None:
    lines = key_lines(RNG)
    assert len(lines) == 28
    text = "\n".join(f"{prefix}{line}" for line in ["```", *lines, "```"])
    result = scrubbed(text)
    assert result.count("[scrubbed:private-key]") == 1
    assert re.findall(r"\w{5,}", result) == ["scrubbed", "private"]


def test_s07_a_key_on_one_line_is_replaced() -> None:
    assert scrubbed(f"key: {' '.join(key_lines(RNG))} ok?") == "key: [scrubbed:private-key] ok?"


def test_s09_a_sentence_between_two_keys_stays() -> None:
    keys = ["\n".join(key_lines(RNG, label, 2)) for label in ("RSA PRIVATE KEY", "EC PRIVATE KEY")]
    result = scrubbed(f"{keys[0]}\nThat was the old one.\n{keys[1]}")
    assert result.split() == [
        "[scrubbed:private-key]",
        *["That", "was", "the", "old", "one."],
        "[scrubbed:private-key]",
    ]


@pytest.mark.parametrize(
    ("label", "head"),
    [
        ("OPENSSH PRIVATE KEY", ""),
        ("EC PRIVATE KEY", ""),
        ("ENCRYPTED PRIVATE KEY", ""),
        (
            "RSA PRIVATE KEY",
            "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,0A1B2C3D4E5F\n",
        ),
        ("PGP PRIVATE KEY BLOCK", "Version: GnuPG v2\nComment: my key\n"),
    ],
)
def test_s11_other_heads_and_header_fields_are_known(label: str, head: str) -> None:
    lines = key_lines(RNG, label, 3, head)
    assert scrubbed("\n".join(lines)).strip() == "[scrubbed:private-key]"


@pytest.mark.parametrize("quote", ["", "> "])
def test_a_key_that_is_cut_off_is_replaced_up_to_the_next_words(quote: str) -> None:
    lines = [quote + line for line in key_lines(RNG)[:12]]
    result = scrubbed("\n".join([*lines, "Internationalization is next."]))
    assert result.split("\n")[-1] == "Internationalization is next."
    assert "".join(result.split("\n")[:-1]) == f"{quote}[scrubbed:private-key]"


def test_the_end_of_a_key_without_its_beginning_is_replaced() -> None:
    result = scrubbed("\n".join(["the rest is", *key_lines(RNG)[12:]]))
    assert result.split() == ["the", "rest", "is", "[scrubbed:private-key]"]


def test_a_beginning_without_an_end_does_not_reach_into_the_next_key() -> None:
    cut_off, whole = key_lines(RNG)[:5], key_lines(RNG)
    result = scrubbed("\n".join([*cut_off, "and here is all of it:", *whole]))
    assert result.split() == [
        "[scrubbed:private-key]",
        *["and", "here", "is", "all", "of", "it:"],
        "[scrubbed:private-key]",
    ]


@pytest.mark.parametrize("form", ["https://{}@example.org/o/r.git", "https://{}:@example.org/o/r"])
def test_s13_a_token_as_user_name_is_replaced_and_the_address_stays(form: str) -> None:
    assert scrubbed(form.format(take(RNG, 40, HEX))) == form.format("[scrubbed:url-token]")


def test_a_password_in_an_address_is_replaced_however_weak() -> None:
    assert (
        scrubbed("redis://bob:pony@example.org:6379/0?a=b")
        == "redis://bob:[scrubbed:url-password]@example.org:6379/0?a=b"
    )


@pytest.mark.parametrize("assignment", [" = ", ": ", " ", "="])
def test_s16_both_halves_of_an_aws_pair_are_replaced(assignment: str) -> None:
    identifier, secret = aws_pair(RNG)
    result = scrubbed(f"{identifier}\naws_secret_access_key{assignment}{secret}")
    assert result == (
        f"[scrubbed:aws-access-key-id]\n"
        f"aws_secret_access_key{assignment}[scrubbed:aws-secret-access-key]"
    )


def test_s16_the_secret_half_is_known_by_its_name_alone() -> None:
    _, secret = aws_pair(RNG)
    assert scrubbed(f"aws_secret_access_key {secret}") == (
        "aws_secret_access_key [scrubbed:aws-secret-access-key]"
    )


def test_s16_the_secret_half_is_known_by_the_id_before_it() -> None:
    identifier, secret = aws_pair(RNG)
    assert scrubbed(f"{identifier} and {secret}") == (
        "[scrubbed:aws-access-key-id] and [scrubbed:aws-secret-access-key]"
    )


def test_s15_a_commit_behind_the_id_of_a_pair_is_not_its_other_half() -> None:
    identifier, _ = aws_pair(RNG)
    assert scrubbed(f"{identifier} since {SHA}") == f"[scrubbed:aws-access-key-id] since {SHA}"


@pytest.mark.parametrize("value", ["mno_PQR-stu=vwx", token(RNG, 40, WORD + "-_="), SHA])
def test_s20_the_whole_value_of_a_client_secret_is_replaced(value: str) -> None:
    assert scrubbed(f"client_secret = {value}") == "client_secret = [scrubbed:named-secret]"


@pytest.mark.parametrize("name", ["apikey", "token", "key", "secret", "access_token", "sig"])
def test_s23_a_short_parameter_is_replaced_by_its_name(name: str) -> None:
    text = f"https://example.org/?{name}={{}}&lang=en#top"
    assert scrubbed(text.format("Zk3qLm7w")) == text.format("[scrubbed:query-secret]")


def test_a_matrix_token_is_replaced_in_prose() -> None:
    assert scrubbed(f"it is {synapse_token(RNG)}, I think") == (
        "it is [scrubbed:matrix-access-token], I think"
    )


@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\u2028"])
def test_lines_after_a_key_keep_their_numbers(line_break: str) -> None:
    lines = ["first", *key_lines(RNG), "last"]
    result = scrubbed(line_break.join(lines))
    kept = result.split(line_break)
    assert len(kept) == len(lines)
    assert (kept[0], kept[1], kept[-1]) == ("first", "[scrubbed:private-key]", "last")
    assert set(kept[2:-1]) == {""}


def test_a_secret_is_taken_out_wherever_it_stands_in_the_same_text() -> None:
    secret = token(RNG, 20)
    result = scrubbed(f"client_secret = {secret}\nso I sent x{secret}x and '{secret}'")
    assert secret not in result
    assert result.count("[scrubbed:named-secret]") == 3


def test_a_password_that_is_a_word_is_not_taken_out_of_other_words() -> None:
    result = scrubbed(
        "password: CorrectHorseBattery\nCorrectHorseBatteryStaple, CorrectHorseBattery"
    )
    assert result == (
        "password: [scrubbed:password]\nCorrectHorseBatteryStaple, [scrubbed:password]"
    )


def test_counts_tell_rules_and_never_values() -> None:
    secret, other = token(RNG, 20), token(RNG, 20)
    [result] = SCRUBBER.scrub([f"client_secret={secret}\nclient_secret={other}\npwd: hunter22"])
    assert result.counts == (("named-secret", 2), ("password", 1))


def test_a_key_sent_in_three_messages_is_taken_out_of_each() -> None:
    lines = key_lines(RNG)
    bodies = [
        "here:\n" + "\n".join(lines[:9]),
        "\n".join(lines[9:18]),
        "\n".join([*lines[18:], "ok"]),
    ]
    results = SCRUBBER.scrub_together(["hi", *bodies, f"see {SHA}"])
    assert [result.text.split() for result in results] == [
        ["hi"],
        ["here:", "[scrubbed:private-key]"],
        ["[scrubbed:private-key]"],
        ["[scrubbed:private-key]", "ok"],
        ["see", SHA],
    ]
    assert [sum(dict(result.counts).values()) for result in results] == [0, 1, 1, 1, 0]


def test_a_value_sent_after_its_name_is_taken_out() -> None:
    results = SCRUBBER.scrub_together(["the api key is:", token(RNG, 30), "thanks"])
    assert [result.text for result in results] == [
        "the api key is:",
        "[scrubbed:generic-api-key]",
        "thanks",
    ]


@pytest.mark.parametrize(
    ("label", "value"),
    [
        ("password:", "hT7#kq9!Lm2x"),
        ("DB_PASSWORD=", "  hT7#kq9!Lm2x"),
        ("Authorization: Bearer", token(RNG, 36)),
        ("aws_secret_access_key", token(RNG, 40)),
    ],
)
def test_a_value_on_the_line_or_message_after_its_name_is_taken_out(label: str, value: str) -> None:
    (lines,) = SCRUBBER.scrub([f"{label}\n{value}\nand thanks"])
    messages = SCRUBBER.scrub_together([label, value, "and thanks"])
    for found in (lines.text, "\n".join(each.text for each in messages)):
        assert value.strip() not in found
        assert found.startswith(f"{label}\n")
        assert found.endswith("\nand thanks")


@pytest.mark.parametrize(
    "text",
    [
        "password:\n  valueFrom2:\n    name: x",
        "if password:\n    return",
        "password:\nsee the page v2 of it",
        "the token:\n\nhT7kq9Lm2xhT7kq9Lm2x",
        "<label for='password'>Password</label>",
        "password:\nreset_password(user1)",
        "password:\nsize=Large1big2",
        *(f"{label}\n{text}" for label in ("password: ", "api_key:") for text in CLEAN.values()),
        "password:\n#dev2:example.org",
    ],
)
def test_the_line_after_a_name_stays_when_it_is_no_value(text: str) -> None:
    (result,) = SCRUBBER.scrub([text])
    assert result.text == text


def test_a_password_between_the_tags_of_an_element_is_taken_out() -> None:
    (result,) = SCRUBBER.scrub(["<server><password>hT7kq9Lm2x</password></server>"])
    assert result.text == "<server><password>[scrubbed:password]</password></server>"


def test_messages_together_lose_all_that_each_alone_would_lose() -> None:
    rng = random.Random(5)  # noqa: S311
    texts = [family(rng)[0] for family in FAMILIES.values()]
    alone = [bool(result.counts) for result in SCRUBBER.scrub(texts)]
    together = [bool(result.counts) for result in SCRUBBER.scrub_together(texts)]
    assert alone == together == [True] * len(texts)


PIECES = [
    *["the build fails", "see", "", "```", "> quoted", "password: ", "key =", "token", '"', "'"],
    *[
        "://",
        "?a=b&",
        "-----BEGIN RSA PRIVATE KEY-----",
        "-----END RSA PRIVATE KEY-----",
        "[scrubbed:",
    ],
    *["[scrubbed:jwt]", "[scrubbed:generic-api-key]", "\0", "é ü", "\N{GRINNING FACE}", "\ud800"],
]
around = st.lists(st.sampled_from(PIECES) | st.text(max_size=20), max_size=6).map("\n".join)
families = st.sampled_from(sorted(FAMILIES))
openings = st.sampled_from(["\n", " ", "\t", "(", ", "])
closings = st.sampled_from(["\n", " ", ", "])


@given(around, openings, families, st.integers(0, 999), closings, around)
@settings(max_examples=400, deadline=None)
def test_no_secret_survives_anywhere_in_other_text(
    before: str, opening: str, family: str, seed: int, closing: str, after: str
) -> None:
    text, secrets = FAMILIES[family](random.Random(seed))  # noqa: S311
    whole = f"{before}{opening}{text}{closing}{after}"
    [result] = SCRUBBER.scrub([whole])
    assert [secret for secret in secrets if secret in result.text] == []
    assert result.text.count("\n") == whole.count("\n")
    assert scrubbed(result.text) == result.text


@given(st.lists(st.sampled_from([*CLEAN.values(), *NO_PASSWORDS]) | st.sampled_from(PIECES[:6])))
@settings(max_examples=200, deadline=None)
def test_text_without_secrets_stays_as_it_is(lines: list[str]) -> None:
    text = "\n\n".join(lines)
    assert SCRUBBER.scrub([text])[0].text == text
    assert [result.text for result in SCRUBBER.scrub_together(lines)] == lines


@given(st.text(alphabet="pas:word=[]{}'\"1aB-_ \n?&#/@.", max_size=80))
@settings(max_examples=300, deadline=None)
def test_scrubbing_twice_is_scrubbing_once(text: str) -> None:
    once = scrubbed(text)
    assert scrubbed(once) == once


def test_a_marker_is_never_scrubbed_again() -> None:
    for text in ("password: [scrubbed:password]", "https://a:[scrubbed:url-password]@example.org"):
        assert scrubbed(text) == text


def found(*spans: Span) -> scrub.Finder:
    """A finder that finds this in the text that has not been scrubbed, and nothing later."""
    texts: list[str] = []

    def find(text: str) -> list[Span]:
        texts.append(text)
        return list(spans) if text == texts[0] else []

    return find


def scrubbed_by(find: scrub.Finder, *texts: str) -> list[str]:
    return [text for text, _ in scrub.scrub_together(texts, find)]


def test_what_finds_a_marker_again_changes_nothing() -> None:
    text = "to [scrubbed:jwt] go"
    assert scrubbed_by(found(Span(3, 17, "other"), Span(12, 15, "other")), text) == [text]
    assert scrubbed_by(found(Span(14, 20, "other")), text) == ["to [scrubbed:other]"]


def test_a_span_over_three_texts_is_replaced_in_each() -> None:
    assert scrubbed_by(found(Span(1, 9, "x")), "abc", "def", "ghi") == [
        "a[scrubbed:x]",
        "[scrubbed:x]",
        "[scrubbed:x]hi",
    ]


def test_texts_together_are_searched_each_on_its_own_as_well() -> None:
    def last(text: str) -> list[Span]:
        return [Span(len(text) - 2, len(text), "x")] if text.endswith("zz") else []

    assert scrubbed_by(last, "azz", "b") == ["a[scrubbed:x]", "b"]


def test_overlapping_spans_become_one_under_the_surest_name() -> None:
    spans = [Span(0, 9, "vague", vague=True), Span(4, 8, "sure"), Span(9, 12, "next")]
    assert merged(spans) == [Span(0, 9, "sure"), Span(9, 12, "next")]


def test_a_finding_is_looked_for_by_its_match_first() -> None:
    text = "id ab, key=ab; key=ab"
    assert list(places(text, "key=ab", "ab", (1, 1))) == [(11, 13), (19, 21)]


def test_a_finding_that_is_not_in_the_text_takes_its_lines() -> None:
    assert list(places("one\ntwo\nthree\nfour", "decoded", "decoded", (2, 3))) == [(4, 14)]


def test_a_changed_rule_changes_the_version(monkeypatch: pytest.MonkeyPatch) -> None:
    before = rules_digest("2.0.0")
    assert rules_digest("2.0.1") != before
    first, *rest = secret_rules.RULES
    monkeypatch.setattr(scrub, "RULES", (replace(first, pattern=re.compile("other")), *rest))
    assert rules_digest("2.0.0") != before


def _unbounded(parsed: parser.SubPattern) -> Iterator[object]:
    """Repetitions without an upper bound that may give back what they took."""
    for code, argument in parsed:
        if code in (opcodes.MAX_REPEAT, opcodes.MIN_REPEAT) and argument[1] == opcodes.MAXREPEAT:
            yield argument
        for part in argument if isinstance(argument, (tuple, list)) else ():
            for inner in part if isinstance(part, list) else [part]:
                if isinstance(inner, parser.SubPattern):
                    yield from _unbounded(inner)


PATTERNS = {
    **{f"{rule.name}-{index}": rule.pattern for index, rule in enumerate(secret_rules.RULES)},
    **{name: value for name, value in vars(key_blocks).items() if isinstance(value, re.Pattern)},
}


@pytest.mark.parametrize("pattern", PATTERNS.values(), ids=PATTERNS)
def test_no_pattern_can_backtrack_without_a_bound(pattern: re.Pattern[str]) -> None:
    assert list(_unbounded(parser.parse(pattern.pattern, pattern.flags))) == []


HOSTILE = [
    *["password=", 'password="', "secret=", "key: ", "?key=", "://a:", "eyJ", "eyJaaaaaaaaa."],
    *["-----BEGIN RSA PRIVATE KEY-----\n", "-----END RSA PRIVATE KEY-----\n", "syt_", "login "],
    *["[scrubbed:", "[scrubbed:x]", "bearer ", "a7B4", "&", "-"],
]


@pytest.mark.parametrize("piece", HOSTILE)
def test_judgements_grow_no_faster_than_the_text(
    piece: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged = 0

    def counting(rule: secret_rules.Rule) -> secret_rules.Rule:
        def judge(match: re.Match[str], group: str, value: str) -> bool:
            nonlocal judged
            judged += len(value) + len(match[0])
            return rule.judge(match, group, value)

        return replace(rule, judge=judge)

    monkeypatch.setattr(scrub, "RULES", tuple(map(counting, secret_rules.RULES)))
    steps = []
    for copies in (2_000, 4_000):
        judged = 0
        list(own_spans(piece * copies))
        steps.append(judged)
    assert steps[1] <= 2.1 * steps[0] + 1_000
