"""An HTTP server on 127.0.0.1 that answers as it is told to, byte for byte, or not at all."""

import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

HOLD = b"\0hold"
"""At the end of an answer: keep the connection open and send no more."""
HANG = HOLD
"""Instead of an answer: read the request and never answer."""


def answer(
    status: int, body: str | bytes, kind: str = "application/json", length: int = 0, **headers: str
) -> bytes:
    """An HTTP answer; ``length`` is how much longer its body claims to be than it is."""
    raw = body.encode() if isinstance(body, str) else body
    named = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    head = f"HTTP/1.1 {status} Odd\r\nContent-Type: {kind}\r\n{named}"
    return f"{head}Content-Length: {len(raw) + length}\r\nConnection: close\r\n\r\n".encode() + raw


@dataclass
class OddServer:
    """Gives its answers one by one, then the last again and again; keeps what it was asked."""

    answers: Sequence[bytes]
    port: int = 0
    requests: list[bytes] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def serve(self, listening: socket.socket, ended: threading.Event) -> None:
        while True:
            try:
                client, _ = listening.accept()
            except OSError:
                return
            threading.Thread(target=self._one, args=(client, ended), daemon=True).start()

    def _one(self, client: socket.socket, ended: threading.Event) -> None:
        with client, suppress(OSError):
            request = b""
            while b"\r\n\r\n" not in request:
                if not (data := client.recv(65536)):
                    return
                request += data
            turn = min(len(self.requests), len(self.answers) - 1)
            self.requests.append(request)
            told = self.answers[turn]
            client.sendall(told.removesuffix(HOLD))
            if told.endswith(HOLD):
                ended.wait()


@contextmanager
def odd_server(*answers: bytes) -> Iterator[OddServer]:
    """Such a server for the block."""
    ended = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = OddServer(answers, listening.getsockname()[1])
        thread = threading.Thread(target=server.serve, args=(listening, ended), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            ended.set()
            with suppress(OSError):
                listening.shutdown(socket.SHUT_RDWR)
