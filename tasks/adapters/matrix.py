"""The homeserver over its client-server API: the ports of ``tasks.chat_ports`` (spec 3, 4.8).

Only GET requests, only of the client API, and never as more than the reader (M48). What there is
is asked for explicitly, since a client's own room map is empty without a sync (M45).
"""

from functools import partial
from http import HTTPStatus
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit, urlunsplit

from tasks.adapters import matrix_answers as answers
from tasks.adapters.matrix_http import Ask, MatrixHttp
from tasks.adapters.matrix_room import MatrixRoom
from tasks.adapters.matrix_sync import invites, news_since
from tasks.chat_ports import News, Standing
from tasks.errors import HomeserverRefused


class MatrixHomeserver:
    """The homeserver at ``base_url``, asked as the owner of ``token``.

    ``timeout``: seconds for one attempt. ``patience``: seconds after the first attempt of a request
    in which another may begin, the homeserver's own "wait" included. For one thread; close it.
    """

    def __init__(self, base_url: str, token: str, *, timeout: float, patience: float) -> None:
        self._http = MatrixHttp(_address(base_url), _usable(token), timeout, patience)
        self._user: str | None = None

    @property
    def identity(self) -> str:
        """See ``Homeserver.identity``; asks who we are once."""
        return f"{self._http.base} as {self.user()}"

    def user(self) -> str:
        """The reader's user id, asked for once."""
        if self._user is None:
            self._user = self._http.get(answers.user, Ask(("account", "whoami")))
        return self._user

    def standing(self) -> Standing:
        """See ``Homeserver.standing``: three requests."""
        self._user = None
        user = self.user()
        joined = self._http.get(answers.joined, Ask(("joined_rooms",)))
        marks = Ask(("user", user, "account_data", "m.direct"))
        try:
            direct = self._http.get(answers.direct, marks)
        except HomeserverRefused as refused:
            if (refused.status, refused.code) != (HTTPStatus.NOT_FOUND, "M_NOT_FOUND"):
                raise
            direct = frozenset()
        return Standing(user, joined, direct)

    def news(self, since: str | None) -> News:
        """See ``Homeserver.news``: one request, which leaves our presence alone."""
        return self._http.get(partial(answers.news, first=since is None), news_since(since))

    def versions(self) -> tuple[str, ...]:
        """Which versions of the client-server API it speaks, as it says itself."""
        return self._http.get(answers.versions, _Versions(()))

    def invites(self) -> frozenset[str]:
        """Rooms to which the reader is invited; Huginn never accepts."""
        return self._http.get(answers.invites, invites())

    def room(self, room: str) -> "MatrixRoom":
        """See ``Homeserver.room``."""
        return MatrixRoom(self._http, room, self.user)

    def close(self) -> None:
        """See ``Homeserver.close``."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


class _Versions(Ask):
    """Stands beside the versions of the API, not below one."""

    def __str__(self) -> str:
        return "/_matrix/client/versions"


def _address(url: str) -> str:
    """Without a slash at the end, and without a login that might stand in it."""
    parts = urlsplit(url.strip())
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme.lower(), host.lower(), parts.path.rstrip("/"), "", ""))


def _usable(token: str) -> str:
    if not token.isascii() or not token.isprintable() or " " in token or not token:
        raise HomeserverRefused(
            "The reader's token is empty or holds characters that no token has. Put the access "
            "token alone, on one line, where matrix.token_file says."
        )
    return token
