"""Does a value look like a secret, or like the word, name or digest that stands in such places?

Only for places that are secret by their name (``password: …``, ``?token=…``) and for findings that
rest on entropy: a rule with a shape of its own needs no such judgement. Every check reads a value
a fixed number of times, so its time grows with the value's length only.
"""

import re
from itertools import pairwise

# What stands where a secret would: placeholders, types, parts of identifiers, algorithms.
WORDS = frozenset(
    re.findall(
        "[a-z]+",
        """
        password passwords passwd passphrase passcode passwort kennwort pass pw pwd secret secrets
        token tokens key keys apikey credential credentials cred creds user username name login
        email mail admin administrator root postgres mysql redis guest anonymous public private
        client server host database db example sample dummy test testing tests fake mock demo change
        changeme changeit placeholder required optional mandatory missing invalid valid incorrect
        wrong weak strong empty blank none null nil undefined unset default defaults value values
        string strings bytes byte bool boolean int integer number float double text type types field
        fields input output form param params parameter option options opt config configuration
        setting settings env environment var variable const class struct object str char chars
        varchar any hash hashed hasher hashing crypt encrypt encrypted decrypt decrypted encoded
        decoded plain plaintext base digest hex binary utf ascii your yours my our the this that
        here enter insert replace redacted hidden masked scrubbed removed protected disabled enabled
        true false yes no manager provider policy policies reset forgot forgotten confirm
        confirmation repeat repeated new old current get set is has validate validated validator
        verify check auth authentication authenticated authorization account session request
        response data json yaml prompt file path url uri buffer builder helper handler service store
        storage vault state props item items list map dict array generate generated generator random
        self static readonly super function return require requires length min max alphanumeric
        unauthenticated unauthorized unspecified unknown
        """,
    )
)
_SHORTEST_INSIDE = 4  # letters of a word that counts inside a longer one as well
_INSIDE = tuple(sorted(word for word in WORDS if len(word) >= _SHORTEST_INSIDE))

_SHORTEST = 6  # characters of a password
_SHORTEST_RUN_TOGETHER = 8  # of words run together: CorrectHorse
_SHORTEST_SINGLE_CASE = 12  # of letters in one case: correcthorse
_SHORTEST_JOINED, _FEWEST_JOINTS = 16, 3  # of words joined by hyphens: correct-horse-battery-staple
_FEWEST_RISES = 2  # changes from lower to upper case in letters that make no words: xKqLmZ
_FEWEST_DIFFERENT = 6  # characters of a generated token
_FEWEST_CHANGES = 3
_RANDOM_CHANGES = 0.25  # of neighbours in it that differ in kind; names with a version have 0.12

_PLACEHOLDER = re.compile(
    r"""
    <.*> | \[.*\] | \{.*\} | \$[A-Za-z_{(].* | %[A-Za-z_(].* | \#\{.* | @[A-Za-z_]+@
    | [*.•…xX_#?-]+ | [A-Z]+(?:_[A-Z]+)+
    """,
    re.VERBOSE | re.DOTALL,
)
_TEMPLATE = re.compile(r"\$\{|#\{|\{\{|%\(|\.\.\.|…|<[A-Za-z]|\[scrubbed:")
_DIGEST = re.compile(
    r"""
    [0-9a-fA-F]{32} | [0-9a-fA-F]{40} | [0-9a-fA-F]{56} | [0-9a-fA-F]{64} | [0-9a-fA-F]{96}
    | [0-9a-fA-F]{128} | [0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}
    | (?:sha[0-9]{1,3}|md5)[-:][A-Za-z0-9+/=]+
    | [A-Za-z0-9+/_-]{43}=? | [A-Za-z0-9+/_-]{86}(?:==)?
    """,
    re.VERBOSE,
)
_PIECES = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_RUN_TOGETHER = re.compile(r"[A-Z]?[a-z]+(?:[A-Z][a-z]+)+")
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PATH_OF_NAMES = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:(?:\.|::|->|\?\.)[A-Za-z_][A-Za-z0-9_]*)+")
_CALL = re.compile(r"[A-Za-z_][\w.:>-]*!?[(\[{<].*", re.DOTALL)
_HYPHENED = re.compile(r"[A-Za-z]+(?:-[A-Za-z]+)+")
_OPERATORS = frozenset("!=&*+-$%@/~.#?|:^\\")
_SYMBOLS = frozenset("!@#$%^&*+=~?")
_COUNTED = frozenset({"123456", "1234567", "12345678", "123456789", "1234567890", "abc123"})


def is_placeholder(value: str) -> bool:
    """Whether the value is a template, an ellipsis, stars, ``YOUR_TOKEN`` or the like."""
    return bool(_PLACEHOLDER.fullmatch(value) or _TEMPLATE.search(value))


def is_digest(value: str) -> bool:
    """Whether the value has the shape of a SHA, UUID, integrity hash or a public 32-byte key."""
    return bool(_DIGEST.fullmatch(value))


def has_word(value: str) -> bool:
    """Whether a word of ``WORDS`` with four letters or more stands anywhere in the value."""
    lower = value.lower()
    return any(word in lower for word in _INSIDE)


def is_random(value: str, *, least: int = 10) -> bool:
    """Whether letters, cases and digits alternate as in a generated token of ``least`` characters.

    ``Zk3qLm7wP2`` does, ``user_password2`` and ``Uint8Array`` do not.
    """
    if len(value) < least or not any(map(str.isdigit, value)) or not any(map(str.isalpha, value)):
        return False
    if len(set(value)) < _FEWEST_DIFFERENT or is_placeholder(value):
        return False
    kinds = [pair for pair in pairwise(map(_kind, value)) if "other" not in pair]
    changes = sum(a != b and (a, b) != ("upper", "lower") for a, b in kinds)
    return changes >= max(_FEWEST_CHANGES, _RANDOM_CHANGES * len(kinds))


def _kind(character: str) -> str:
    if character.isdigit():
        return "digit"
    if character.islower():
        return "lower"
    return "upper" if character.isupper() else "other"


def is_code(value: str) -> bool:
    """Whether an unquoted value is an expression: a path of names, a call, an operator."""
    if value[0] in _OPERATORS and not is_random(value):
        return True
    return is_path_of_names(value) or bool(_CALL.fullmatch(value))


def is_path_of_names(value: str) -> bool:
    """Whether the value is like ``config.smtp.pass2``; a token with dots has a random part."""
    return bool(_PATH_OF_NAMES.fullmatch(value)) and not any(
        is_random(part, least=_SHORTEST_SINGLE_CASE) for part in re.split(r"\W+", value)
    )


def is_password(value: str, *, quoted: bool, alone: bool) -> bool:
    """Whether what stands after ``password:`` or ``password=`` is one (case S24).

    ``quoted`` says that it stands in quotes, ``alone`` that nothing but a comment follows on its
    line. A password is: letters with digits or symbols; words run together; twelve letters or
    more; four hyphened words; six digits or more. It is none if it is a template, a path or code,
    has blanks (then it is a label), or has a word of ``WORDS`` in it and is not random.
    """
    if _is_no_password(value, quoted=quoted):
        return False
    if value.isascii() and value.isalpha():
        return _is_password_of_letters(value, free=quoted or alone)
    if _HYPHENED.fullmatch(value):
        joints = value.count("-")
        return (quoted or alone) and joints >= _FEWEST_JOINTS and len(value) >= _SHORTEST_JOINED
    if _IDENTIFIER.fullmatch(value):
        return _is_password_of_word_characters(value, quoted=quoted)
    has_digit = any(map(str.isdigit, value))
    has_letter = any(map(str.isalpha, value))
    return value.isdecimal() or (has_letter and (has_digit or not _SYMBOLS.isdisjoint(value)))


def _is_no_password(value: str, *, quoted: bool) -> bool:
    if len(value) < _SHORTEST or value.lower() in _COUNTED or any(map(str.isspace, value)):
        return True
    if value.startswith(("/", "./", "../", "~/")) or "://" in value or is_placeholder(value):
        return True
    if not quoted and is_code(value):
        return True
    return not _pieces(value).isdisjoint(WORDS) and not is_random(value)


def _pieces(value: str) -> set[str]:
    return {piece.lower() for piece in _PIECES.findall(value)}


def _is_password_of_letters(value: str, *, free: bool) -> bool:
    if _RUN_TOGETHER.fullmatch(value):
        return len(value) >= _SHORTEST_RUN_TOGETHER
    if has_word(value):
        return False
    if value.islower() or value.isupper() or value.istitle():
        return free and len(value) >= _SHORTEST_SINGLE_CASE
    return sum(a.islower() and b.isupper() for a, b in pairwise(value)) >= _FEWEST_RISES


def _is_password_of_word_characters(value: str, *, quoted: bool) -> bool:
    if has_word(value):
        return is_random(value)
    if not any(map(str.isdigit, value)):
        joints = value.count("_")
        return quoted and joints >= _FEWEST_JOINTS and len(value) >= _SHORTEST_JOINED
    return quoted or "_" not in value or is_random(value)
