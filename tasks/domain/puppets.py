"""Puppets: accounts that a bridge speaks through, told by their user ids (spec 3.2)."""

import re
from collections.abc import Sequence
from typing import Final
from urllib.parse import unquote

from search.errors import PermanentError

PUPPET: Final = "[puppet]"
"""What stands in a text in place of a puppet's id."""

DISCORD: Final = (
    "@_?discord_.*",  # matrix-appservice-discord, mautrix-discord
    "@_?discord_?puppet_.*",  # mx-puppet-discord
    "@discordbot:.*",  # mautrix-discord's own account
    "@_ooye_.*",  # Out Of Your Element
)
"""The namespaces of the Discord bridges by their defaults; no setting takes them away."""

_SIGIL = "%(?:25)*40"  # an @ in an address, encoded once or several times
_ID = re.compile(
    rf"""(?:@|{_SIGIL}|(?<=matrix:u/)|(?<=matrix:user/))
    (?:(?!{_SIGIL})[^\s<>"'`()\[\]{{}}|\\,;?&\#@])+""",
    re.IGNORECASE | re.VERBOSE,
)
_ENCODED_AGAIN = re.compile("%(?:25)+(?=[0-9a-f]{2})", re.IGNORECASE)
_AFTER_AN_ID = ".:!*~"  # ends a sentence, never an id


class BadPuppetPattern(PermanentError):
    """A pattern from the settings that is no regular expression over user ids."""


class Puppets:
    """Knows puppets by ``patterns``: regular expressions as in a bridge's registration.

    They match from the start of a user id on, in upper or lower case.

    Raises:
        BadPuppetPattern: one of them cannot be used.
    """

    def __init__(self, patterns: Sequence[str] = ()) -> None:
        self.patterns = (*DISCORD, *patterns)
        for pattern in patterns:
            if "@" not in pattern:
                raise BadPuppetPattern(
                    f"The puppet pattern {pattern!r} matches no user id: begin it with `@`."
                )
        try:
            self._known = [re.compile(pattern, re.IGNORECASE) for pattern in self.patterns]
        except re.error as error:
            raise BadPuppetPattern(
                f"A puppet pattern is no regular expression ({error}): mend {error.pattern!r}."
            ) from error

    def is_puppet(self, user: str) -> bool:
        """Whether a user id is in a puppets' namespace."""
        return any(pattern.match(user) for pattern in self._known)

    def quoted(self, text: str) -> str:
        """The text with ``[puppet]`` for each puppet's id, in plain words and in links.

        In links an id may be percent-encoded, or be without its ``@`` (``matrix:u/…``). Text that
        only begins like a puppet's id goes too: another search for the namespace must find none.
        """
        return _ID.sub(self._replaced, text)

    def _replaced(self, found: re.Match[str]) -> str:
        whole = found[0]
        for written in (whole.rstrip(_AFTER_AN_ID), whole):
            plain = unquote(_ENCODED_AGAIN.sub("%", written))
            if self.is_puppet(plain if plain.startswith("@") else f"@{plain}"):
                return PUPPET + whole[len(written) :]
        return whole
