"""Our own patterns of secrets, as data: what the library's rules miss or take too much of.

Every pattern runs in linear time: each repetition is bounded, or possessive behind a look-behind
that lets it start only once in what it reads. Groups whose names start with ``secret`` are what is
taken out.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tasks.domain import secret_judges as judges
from tasks.domain.secret_judges import Judge

_JUDGED = 128  # characters of a value that decide whether it is a secret


@dataclass(frozen=True, slots=True)
class Rule:
    """One pattern, tried wherever one of ``keywords`` (lower case) stands; it starts with them.

    ``name`` is what ``[scrubbed:<name>]`` shows.
    """

    name: str
    keywords: tuple[str, ...]
    pattern: re.Pattern[str]
    judge: Judge

    def matches(self, text: str, lowered: str) -> Iterator[tuple[int, int]]:
        """Character ranges of the secrets that this rule finds; ``lowered`` as of ``lowered()``."""
        for keyword in self.keywords:
            place = lowered.find(keyword)
            while place >= 0:
                match = self.pattern.match(text, place)
                if match:
                    yield from self._secrets(match)
                place = lowered.find(keyword, place + 1)

    def _secrets(self, match: re.Match[str]) -> Iterator[tuple[int, int]]:
        for group, found in match.groupdict().items():
            if not found or not group.startswith("secret"):
                continue
            value = found.rstrip(judges.CLOSING) if group == "secret_bare" else found
            if value and self.judge(match, group, value[:_JUDGED]):
                yield match.start(group), match.start(group) + len(value)


def lowered(text: str) -> str:
    """The text in lower case, character for character: the one that would become two stays one."""
    return text.replace("\u0130", "i").lower()


# ``name`` then an assignment then the value, quoted or bare; quotes may be escaped (JSON in code).
# A value on the next line stands alone there, has letters and digits, and is nothing else that
# people send in a line of its own: another assignment, a call, an address, an id of Matrix.
_ASSIGNED = r"""
    (?P<closing>["'`\])*_\\]{0,4}) [ \t]{0,8}
    (?: :[ ]?[A-Za-z_][\w.\[\]|]{0,40}[ ]?=(?=[ ]?["']) | => | := | : (?!:) | = (?!=)
      | > (?=[^<>\s]{4,200}</) )
    [*_]{0,2} [ \t]{0,8}
    (?: \r?\n [ \t]{0,8} (?=\S{0,200}?[0-9]) (?=\S{0,200}?[A-Za-z])
      (?! [\w-]{2,40}= | [a-z]{1,20}:// | [!$][\w-]{43}\b | [@\#!$][^\s:]{1,255}:[\w.-] )
      (?=[^\s"'`<>()]{4,512}(?<!:)[ \t]{0,80}\r?$) )?
"""
# The bare value is taken whole by a look-ahead and a reference to it: before Python 3.11.5 a
# possessive repeat whose inside can backtrack ends in the wrong place (python/cpython#106052).
_VALUE = r"""
    (?: \\?"(?P<secret_double>[^"\\\n]{4,512})\\?"
      | \\?'(?P<secret_single>[^'\\\n]{4,512})\\?'
      | `(?P<secret_tick>[^`\n]{4,512})`
      | (?=(?P<secret_bare>(?:(?!&[\w.-]{1,40}=)[^\s"'`,;<\\]){4,512}))(?P=secret_bare)
        (?!<[A-Za-z])
        (?P<alone>(?=[ \t]{0,80}(?:\r?$|\#|//|\\[nr])))?
    )
"""
_SPOKEN_VALUE = r"""
    (?:"(?P<secret_double>[^"\\\s]{6,128})"|'(?P<secret_single>[^'\\\s]{6,128})'
      |(?P<secret_bare>[^\s"'`,;\\]{6,128}))(?P<alone>(?!))?
"""
_FLAGS = re.VERBOSE | re.IGNORECASE | re.MULTILINE


def _rule(
    name: str, keywords: str, pattern: str, judge: Judge = judges.always, flags: int = re.VERBOSE
) -> Rule:
    return Rule(name, tuple(keywords.split()), re.compile(pattern, flags), judge)


RULES: tuple[Rule, ...] = (
    _rule(
        "matrix-access-token",
        "syt_ syr_ syl_",
        r"(?<![A-Za-z0-9]) (?P<secret> sy[trl]_[A-Za-z0-9+/=_-]{24,512} )",
        judges.mixed_case,
    ),
    _rule(
        "matrix-access-token",
        "mct_ mcr_ mat_ mar_ mpt_",
        r"""(?<![A-Za-z0-9]) (?P<secret> m[a-z]{2}_[A-Za-z0-9]{24,40}_[A-Za-z0-9]{6} )
        (?![A-Za-z0-9])""",
    ),
    _rule(
        "matrix-signing-key",
        "ed25519",
        r"ed25519[ ][A-Za-z0-9_]{1,20}[ ](?P<secret>[A-Za-z0-9+/]{43})(?![A-Za-z0-9+/])",
    ),
    _rule(
        "matrix-recovery-key",
        "es",
        r"""(?<![A-Za-z0-9])
        (?P<secret>Es[1-9A-HJ-NP-Za-km-z]{2}(?:[ ][1-9A-HJ-NP-Za-km-z]{4}){11})\b""",
        judges.mixed_case,
    ),
    _rule(
        "github-token",
        "gho_ ghp_ ghr_ ghs_ ghu_ github_pat_",
        r"(?P<secret> gh[oprsu]_[A-Za-z0-9]{36,255} | github_pat_[A-Za-z0-9_]{36,255} )",
    ),
    _rule(
        "jwt",
        "eyj",
        r"""(?<![A-Za-z0-9_-])
        (?P<secret> eyJ[A-Za-z0-9_-]{8,}+
          (?: \.e[A-Za-z0-9_-]{2,}+ (?:\.[A-Za-z0-9_-]*+)?
            | (?:\.[A-Za-z0-9_-]*+){2,4} ) )""",
    ),
    _rule(
        "aws-access-key-id",
        "akia asia",
        r"(?<![A-Za-z0-9]) (?P<secret> A[KS]IA[A-Z2-7]{16} ) (?![A-Za-z0-9])",
        judges.no_example,
    ),
    _rule(
        "aws-secret-access-key",
        "aws",
        r"""aws.{0,3}secret.{0,3}(?:access)?.{0,3}key ["'`]?
        (?: [ \t]{0,4}(?:=>|:=|[:=])\s{0,4} | \s{1,4} ) ["'`]?
        (?P<secret>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])""",
        flags=_FLAGS,
    ),
    _rule(
        "aws-secret-access-key",
        "akia asia",
        r"""(?<![A-Za-z0-9]) A[KS]IA[A-Z2-7]{16} (?![A-Za-z0-9]) [^\0]{1,200}?
        (?<![A-Za-z0-9/+=]) (?![0-9a-f]{40}) (?P<secret>[A-Za-z0-9/+]{40}) (?![A-Za-z0-9/+=])""",
        judges.random_token,
    ),
    _rule(
        "telegram-bot-token",
        ":aa",
        r"(?<=[0-9]{8}) :(?P<secret>AA[A-Za-z0-9_-]{33}) (?![A-Za-z0-9_-])",
    ),
    _rule(
        "discord-webhook",
        "/api/webhooks/",
        r"(?<=\.com)/api/webhooks/[0-9]{15,20}/(?P<secret>[A-Za-z0-9_-]{60,90})",
    ),
    _rule(
        "authorization",
        "bearer basic",
        r"(?<![A-Za-z0-9]) (?:bearer|basic)\s{1,4}(?P<secret>[A-Za-z0-9._~+/=-]{16,4096})",
        judges.random_token,
        _FLAGS,
    ),
    _rule(
        "url-password",
        "://",
        r"""://[^\s/?\#:@"'`<>()\[\]]{0,256}:(?P<secret>[^\s/?\#"'`<>]{1,256})@(?=[\w\[<{$%*])""",
        judges.url_password,
    ),
    _rule(
        "url-token",
        "://",
        r"""(?<=http|ttps)://(?P<secret>[A-Za-z0-9_.~%+=-]{8,256})(?P<empty>:(?:x-oauth-basic)?)?
        @(?=[\w\[<{$%*])""",
        judges.url_token,
        _FLAGS,
    ),
    _rule(
        "query-secret",
        "? & # ;",
        r"""[?&\#;] (?:[a-z]{1,20}[_-]){0,3}?
        (?: (?P<certain>api_?-?key|access_?-?token|auth_?-?token|password|passwd|secret)
          | pwd|pass|token|key|auth|sig|signature|sessionid|credential )
        =(?P<secret>[^\s&\#"'`<>(){}\[\]|\\^,;?]{4,2048})""",
        judges.parameter,
        _FLAGS,
    ),
    _rule(
        "password",
        "pass kennwort pwd pw",
        r"(?:pass(?:word|wd|phrase|code|wort)|kennwort|(?<![a-z])pwd|(?<=[_.-])(?:pass|pw))"
        + _ASSIGNED
        + _VALUE,
        judges.password,
        _FLAGS,
    ),
    _rule(
        "password",
        "pass",
        r"""(?: (?<=--)pass(?:word|wd|phrase)?[ ]{1,4}
          | pass(?:word|wort|phrase)[ ](?:is|ist)[ ]:?[ ]?)"""
        + _SPOKEN_VALUE,
        judges.password,
        _FLAGS,
    ),
    _rule(
        "password",
        "login log_in( authenticate(",
        r"""(?: login[ \t]{1,8}\S{1,128}[ \t]{1,8}password[ \t]{1,8}
          | (?:login|log_in|authenticate)\([^(),\n]{1,128},[ ]?(?=["']) )"""
        + _SPOKEN_VALUE,
        judges.password,
        _FLAGS,
    ),
    _rule(
        "named-secret",
        "secret token credential key",
        r"(?:secret|token|credentials?|key)(?:[_-]?(?:base|value))?" + _ASSIGNED + _VALUE,
        judges.named_secret,
        _FLAGS,
    ),
)
