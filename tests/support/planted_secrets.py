"""Secrets made at run time: none stands in a file, where a scanner would find it.

Each family gives a text that holds a secret and the parts of it that may not survive.
"""

import base64
import json
import random
import string
from collections.abc import Callable

LETTERS = string.ascii_letters
WORD = LETTERS + string.digits
HEX = "0123456789abcdef"
BASE64 = WORD + "+/"
URL_SAFE = WORD + "-_"
BASE58 = "".join(c for c in WORD if c not in "0OIl")

Planted = tuple[str, list[str]]


def take(rng: random.Random, count: int, alphabet: str = WORD) -> str:
    return "".join(rng.choice(alphabet) for _ in range(count))


def token(rng: random.Random, count: int, alphabet: str = WORD) -> str:
    """Random characters with a digit and letters of both cases among them, alternating enough."""
    return "a7B" + take(rng, count - 6, alphabet) + "4cD"


def key_lines(
    rng: random.Random, label: str = "RSA PRIVATE KEY", lines: int = 25, head: str = ""
) -> list[str]:
    """A private key's armour: ``lines`` full lines and a shorter last one."""
    body = [token(rng, 64, BASE64) for _ in range(lines)]
    body.append(token(rng, 30, BASE64) + "==")
    dashes = "-" * 5
    return [
        f"{dashes}BEGIN {label}{dashes}",
        *head.splitlines(),
        *body,
        f"{dashes}END {label}{dashes}",
    ]


def body_of(lines: list[str]) -> list[str]:
    """The lines of key material among a key's lines."""
    return [line for line in lines[1:-1] if len(line) >= 30 and ":" not in line]


def jwt(rng: random.Random) -> str:
    def part(content: object) -> str:
        return base64.urlsafe_b64encode(json.dumps(content).encode()).decode().rstrip("=")

    return f"{part({'alg': 'HS256'})}.{part({'a': take(rng, 2)})}.{take(rng, 20, URL_SAFE)}"


def synapse_token(rng: random.Random) -> str:
    return "sy" + f"t_{take(rng, 6)}_{take(rng, 18, LETTERS)}Ab_{take(rng, 6)}"


def aws_pair(rng: random.Random) -> tuple[str, str]:
    return "AK" + "IA" + take(rng, 16, "ABCDEFGHIJ234567"), token(rng, 40, BASE64)


def _alone(value: str) -> Planted:
    return value, [value]


def _aws(assignment: str) -> Callable[[random.Random], Planted]:
    def make(rng: random.Random) -> Planted:
        identifier, secret = aws_pair(rng)
        return f"{identifier}\naws_secret_access_key{assignment}{secret}", [identifier, secret]

    return make


def _in(before: str, count: int, after: str = "", alphabet: str = WORD) -> Callable[..., Planted]:
    def make(rng: random.Random) -> Planted:
        value = token(rng, count, alphabet)
        return f"{before}{value}{after}", [value]

    return make


def _key(join: str, prefix: str = "") -> Callable[[random.Random], Planted]:
    def make(rng: random.Random) -> Planted:
        lines = key_lines(rng)
        return join.join(prefix + line for line in lines), body_of(lines)

    return make


def _recovery_key(rng: random.Random) -> Planted:
    groups = ["Es" + take(rng, 2, BASE58), *(take(rng, 4, BASE58) for _ in range(11))]
    return _alone(" ".join(groups))


FAMILIES: dict[str, Callable[[random.Random], Planted]] = {
    "github fine-grained": lambda rng: _alone("github" + "_pat_" + token(rng, 82, WORD + "_")),
    "github in an assignment": _in("KEY=gh" + "p_", 36),
    "jwt": lambda rng: _alone(jwt(rng)),
    "synapse token": lambda rng: _alone(synapse_token(rng)),
    "mas token": lambda rng: _alone("mc" + f"t_{take(rng, 30)}_{take(rng, 6)}"),
    "signing key": _in("ed25519 a_AbCd ", 43, alphabet=BASE64),
    "recovery key": _recovery_key,
    "aws with =": _aws(" = "),
    "aws with a colon": _aws(": "),
    "aws with a blank": _aws(" "),
    "key over lines": _key("\n"),
    "key in a quote": _key("\n", "> "),
    "key on one line": _key(" "),
    "key with written line breaks": _key("\\n"),
    "address with a password": _in("https://bob:", 9, "@example.org/x"),
    "address with a token": _in("https://", 40, "@example.org/o/r.git"),
    "address with a token and a colon": _in("https://", 40, ":@example.org/o/r.git"),
    "parameter": _in("https://example.org/?apikey=", 8, "&lang=en"),
    "password": _in("password: ", 10),
    "client secret": _in("client_secret = ", 28, alphabet=WORD + "-_="),
    "shared secret with symbols": _in(
        'registration_shared_secret: "', 50, '"', WORD + ".,;:^&*-_+=#~@"
    ),
    "bearer": _in("Authorization: Bearer ", 32),
    "telegram": _in("12345678:A" + "A", 33, alphabet=URL_SAFE),
    "discord": _in("https://discord.com/api/webhooks/123456789012345678/", 68, alphabet=URL_SAFE),
    "slack": lambda rng: _alone("xo" + f"xb-{'1234567890' + '12'}-1234567890123-{token(rng, 24)}"),
    "npm": lambda rng: _alone("np" + f"m_{token(rng, 36)}"),
}
