"""Which matches of a pattern are secrets: the part of our rules that a pattern cannot say.

A judge takes a match, the name of the group that holds the value, and the value (its first 128
characters), and says whether the value is a secret.
"""

import re
import string
from collections.abc import Callable

from tasks.domain.secret_values import (
    has_word,
    is_code,
    is_digest,
    is_password,
    is_path_of_names,
    is_placeholder,
    is_random,
)

Judge = Callable[[re.Match[str], str, str], bool]

CLOSING = ".,:)]}>*_"  # what ends a sentence, a call or emphasis right after a bare value

_SHORTEST_TOKEN = 16
_SHORTEST_PARAMETER = 6
_NO_URL_PASSWORDS = frozenset({"password", "passwd", "your-password", "x-oauth-basic"})
_NAME_CHARACTERS = string.ascii_letters + string.digits + "_-."
_SYMBOLS = frozenset("!@#$%^&*+=/~")

_NAME = re.compile(
    r"((?:\w{1,20} )?[\w.-]{0,60})[\s\"'`)\]]{0,4}(?:=>|[=>:|,?]{1,3})[\s\"'`=>]{0,6}$"
)
_DID = re.compile(r"\bdid:[a-z0-9]{1,20}:$")  # did:key:z6Mk…, a public name
_SECRET_NAME = re.compile(
    r"(?i)(?:secret|token|passw(?:or)?d|(?:api|access|private|secret|auth)[ _-]?key"
    r"|secret[ _-]?value|credentials?)$"
)
_DIGEST_NAME = re.compile(
    r"(?i)srcrev|sha\d|md5|checksum|sum$|hash|digest|commit|revision|integrity|fingerprint|etag"
    r"|public|verify|cache"
)


def is_plausible(before: str, value: str) -> bool:
    """Whether a value found by its entropy is one, given the text before it (cases S15, S17, S18).

    Digests, UUIDs and public keys are secrets only under a name that says so, and what is named a
    checksum is none.
    """
    if _DID.search(before[-40:]):
        return False
    assigned = _NAME.search(before[-100:])
    return _is_plausible(assigned[1] if assigned else "", value)


def _is_plausible(name: str, value: str) -> bool:
    if _DIGEST_NAME.search(name) or is_placeholder(value) or is_path_of_names(value):
        return False
    return not is_digest(value) or bool(_SECRET_NAME.search(name))


def always(_match: re.Match[str], _group: str, _value: str) -> bool:
    """The pattern says it all."""
    return True


def mixed_case(_match: re.Match[str], _group: str, value: str) -> bool:
    """Letters of both cases: no identifier that only starts alike."""
    return any(map(str.isupper, value)) and any(map(str.islower, value))


def random_token(_match: re.Match[str], _group: str, value: str) -> bool:
    """A generated token: "Bearer authentication" has none."""
    return is_random(value, least=_SHORTEST_TOKEN)


def no_example(_match: re.Match[str], _group: str, value: str) -> bool:
    """The ids in Amazon's documentation end in EXAMPLE."""
    return not value.endswith("EXAMPLE")


def url_password(_match: re.Match[str], _group: str, value: str) -> bool:
    """By its place in the address, however weak, unless it is a template or the word itself."""
    return not is_placeholder(value) and value.lower() not in _NO_URL_PASSWORDS


def url_token(match: re.Match[str], _group: str, value: str) -> bool:
    """A token in place of a user name (case S13); a user name alone is no secret."""
    if match["empty"] is not None and len(value) >= _SHORTEST_TOKEN:
        return not is_placeholder(value)
    return is_random(value, least=12)


def parameter(match: re.Match[str], _group: str, value: str) -> bool:
    """By the parameter's name, however short the value is (case S23)."""
    if is_placeholder(value):
        return False
    if is_password(value, quoted=True, alone=True):
        return True
    is_certain = match["certain"] is not None
    return is_certain and len(value) >= _SHORTEST_PARAMETER and not has_word(value)


def password(match: re.Match[str], group: str, value: str) -> bool:
    """What stands after ``password:`` and the like (case S24)."""
    is_whole = match[group].startswith(value) and match[group][-1] not in CLOSING
    return is_password(
        value, quoted=group != "secret_bare", alone=is_whole and match["alone"] is not None
    )


def named_secret(match: re.Match[str], group: str, value: str) -> bool:
    """A generated value under a name that ends in secret, token, api key, … (cases S17, S20)."""
    before = match.string[max(0, match.start() - 40) : match.start("closing")]
    name = before[len(before.rstrip(_NAME_CHARACTERS)) :]
    if not _SECRET_NAME.search(name) or before.endswith(f"://{name}"):
        return False
    if "://" in value or value[0] == "-" or not _is_plausible(name, value):
        return False
    if group == "secret_bare" and is_code(value):
        return False
    if is_digest(value) or is_random(value):
        return True
    if name.lower().endswith(("token", "credential", "credentials")):
        return False  # tokens are generated; what else is named so are formats and grammars
    return not _SYMBOLS.isdisjoint(value) and password(match, group, value)
