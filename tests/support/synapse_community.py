"""People on a homeserver: what they can do there, each as one plain call.

Users are named by their local part (``"ada"``) and made when first named. All act through an
application service, which may date its events (``at``); a user's own token comes from ``token``.
"""

import uuid
from collections.abc import Mapping
from datetime import datetime
from typing import Any
from urllib.parse import quote

import httpx

SERVER = "community.test"
Content = Mapping[str, Any]


class People:
    """Whoever uses the homeserver at ``url``."""

    def __init__(self, url: str, service_token: str) -> None:
        self.url = url
        self.http = httpx.Client(
            base_url=url, timeout=300, headers={"Authorization": f"Bearer {service_token}"}
        )
        self._known: set[str] = set()

    def close(self) -> None:
        self.http.close()

    def mxid(self, name: str) -> str:
        return f"@{name}:{SERVER}"

    def user(self, name: str) -> str:
        """Makes the user unless it is there; gives its mxid."""
        if name not in self._known:
            kind = "m.login.application_service"
            body = {"type": kind, "username": name, "inhibit_login": True}
            answer = self.http.post("/_matrix/client/v3/register", json=body)
            if answer.json().get("errcode") != "M_USER_IN_USE":
                _checked(answer)
            self._known.add(name)
        return self.mxid(name)

    def token(self, name: str) -> str:
        """A new access token of the user's own."""
        who = {"type": "m.id.user", "user": self.user(name)}
        body = {"type": "m.login.application_service", "identifier": who}
        return str(_checked(self.http.post("/_matrix/client/v3/login", json=body))["access_token"])

    def call(  # one request of the client-server API
        self,
        method: str,
        path: str,
        name: str,
        body: Content | None = None,
        *,
        at: datetime | None = None,
        **query: str,
    ) -> dict[str, Any]:
        """Does it as the user ``name``; ``path`` goes on from ``/_matrix/client/v3``."""
        query["user_id"] = self.user(name)
        if at is not None:
            query["ts"] = str(int(at.timestamp() * 1000))
        url = f"/_matrix/client/v3{path}"
        return _checked(self.http.request(method, url, params=query, json=body))

    def room(
        self,
        creator: str,
        *members: str,
        version: str | None = None,
        alias: str | None = None,
        **options: Any,
    ) -> str:
        """A public room that the members have joined; ``alias`` is a local part."""
        body: dict[str, Any] = {"preset": "public_chat", **options}
        if version:
            body["room_version"] = version
        if alias:
            body["room_alias_name"] = alias
        room = str(self.call("POST", "/createRoom", creator, body)["room_id"])
        for member in members:
            self.join(room, member)
        return room

    def join(self, room: str, name: str) -> None:
        self.call("POST", f"/join/{_quoted(room)}", name, {})

    def invite(self, room: str, by: str, name: str) -> None:
        body = {"user_id": self.user(name)}
        self.call("POST", f"/rooms/{_quoted(room)}/invite", by, body)

    def leave(self, room: str, name: str) -> None:
        self.call("POST", f"/rooms/{_quoted(room)}/leave", name, {})

    def kick(self, room: str, by: str, name: str) -> None:
        body = {"user_id": self.user(name)}
        self.call("POST", f"/rooms/{_quoted(room)}/kick", by, body)

    def ban(self, room: str, by: str, name: str) -> None:
        body = {"user_id": self.user(name)}
        self.call("POST", f"/rooms/{_quoted(room)}/ban", by, body)

    def event(
        self, room: str, name: str, kind: str, content: Content, at: datetime | None = None
    ) -> str:
        """Sends an event of the type ``kind``; gives its id."""
        path = f"/rooms/{_quoted(room)}/send/{_quoted(kind)}/{uuid.uuid4().hex}"
        return str(self.call("PUT", path, name, content, at=at)["event_id"])

    def send(self, room: str, name: str, content: str | Content, at: datetime | None = None) -> str:
        """A message: a text, or a whole content."""
        return self.event(room, name, "m.room.message", message_content(content), at)

    def edit(
        self,
        room: str,
        name: str,
        original: str,
        content: str | Content,
        at: datetime | None = None,
    ) -> str:
        return self.send(room, name, message_content(content, edits=original), at)

    def reply(
        self,
        room: str,
        name: str,
        thread: str,
        content: str | Content,
        at: datetime | None = None,
    ) -> str:
        """A message in the thread of the root ``thread``."""
        return self.send(room, name, message_content(content, thread=thread), at)

    def redact(self, room: str, name: str, event: str) -> str:
        path = f"/rooms/{_quoted(room)}/redact/{_quoted(event)}/{uuid.uuid4().hex}"
        return str(self.call("PUT", path, name, {})["event_id"])

    def encrypted(self, room: str, name: str, at: datetime | None = None) -> str:
        """An encrypted event, as the server sees it."""
        return self.event(room, name, "m.room.encrypted", encrypted_content(), at)

    def put_state(
        self,
        room: str,
        name: str,
        kind: str,
        content: Content,
        key: str = "",
        at: datetime | None = None,
    ) -> str:
        path = f"/rooms/{_quoted(room)}/state/{_quoted(kind)}/{_quoted(key)}"
        return str(self.call("PUT", path, name, content, at=at)["event_id"])

    def put_alias(self, room: str, name: str, alias: str) -> str:
        """Puts ``#alias:server`` in the directory; no event says so."""
        full = f"#{alias}:{SERVER}"
        self.call("PUT", f"/directory/room/{_quoted(full)}", name, {"room_id": room})
        return full

    def account_data(self, name: str, kind: str, content: Content) -> None:
        path = f"/user/{_quoted(self.user(name))}/account_data/{_quoted(kind)}"
        self.call("PUT", path, name, content)

    def mark_direct(self, name: str, other: str, *rooms: str) -> None:
        """Sets the user's ``m.direct`` to these rooms with ``other``."""
        self.account_data(name, "m.direct", {self.user(other): list(rooms)})

    def upgrade(self, room: str, name: str, version: str) -> str:
        """Replaces the room by a new one of that version; gives the new one's id."""
        path = f"/rooms/{_quoted(room)}/upgrade"
        return str(self.call("POST", path, name, {"new_version": version})["replacement_room"])


def message_content(
    content: str | Content, *, edits: str | None = None, thread: str | None = None
) -> dict[str, Any]:
    """The content of a message: a text or a whole one, as an edit or in a thread if it says so."""
    new = {"msgtype": "m.text", "body": content} if isinstance(content, str) else dict(content)
    if edits is not None:
        relation = {"rel_type": "m.replace", "event_id": edits}
        return new | {
            "body": f"* {new['body']}",
            "m.new_content": new,
            "m.relates_to": relation,
        }
    if thread is not None:
        new["m.relates_to"] = {"rel_type": "m.thread", "event_id": thread}
    return new


def encrypted_content() -> dict[str, Any]:
    """What a server sees of an encrypted message."""
    return {
        "algorithm": "m.megolm.v1.aes-sha2",
        "ciphertext": "AwgAEpABm6",
        "session_id": "session",
        "sender_key": "key",
        "device_id": "DEVICE",
    }


def _quoted(part: str) -> str:
    return quote(part, safe="")


def _checked(answer: httpx.Response) -> dict[str, Any]:
    if answer.is_error:
        raise RuntimeError(f"{answer.request.method} {answer.request.url.path}: {answer.text}")
    return dict(answer.json())
