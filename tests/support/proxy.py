"""A proxy in front of a real server on 127.0.0.1 that can break what passes through it."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field


@dataclass
class Proxy:
    """Passes bytes on. A connection that sends ``cut_on`` is cut, for the next ``cuts`` times."""

    target: int
    cut_on: bytes = b""
    cuts: int = 0
    done: int = 0
    port: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def should_cut(self, sent: bytes) -> bool:
        """Whether this is the moment; counts it."""
        with self._lock:
            if not self.cut_on or self.cut_on not in sent or self.done >= self.cuts:
                return False
            self.done += 1
            return True

    def serve(self, listening: socket.socket) -> None:
        """Until the listening socket is closed."""
        while True:
            try:
                client, _ = listening.accept()
            except OSError:
                return
            threading.Thread(target=self._connect, args=(client,), daemon=True).start()

    def _connect(self, client: socket.socket) -> None:
        try:
            server = socket.create_connection(("127.0.0.1", self.target))
        except OSError:
            client.close()
            return
        back = threading.Thread(target=self._copy, args=(server, client, False), daemon=True)
        back.start()
        self._copy(client, server, watched=True)
        back.join()
        client.close()
        server.close()

    def _copy(self, source: socket.socket, sink: socket.socket, watched: bool) -> None:  # noqa: FBT001
        tail = b""
        with suppress(OSError):
            while data := source.recv(65536):
                if watched and self.should_cut(tail + data):
                    break
                tail = data[-len(self.cut_on) :] if self.cut_on else b""
                sink.sendall(data)
        for end in (source, sink):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


@contextmanager
def proxied(target: int, *, cut_on: bytes = b"", cuts: int = 0) -> Iterator[Proxy]:
    """A proxy in front of ``target`` on a free port, for the block."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        proxy = Proxy(target, cut_on, cuts, port=listening.getsockname()[1])
        thread = threading.Thread(target=proxy.serve, args=(listening,), daemon=True)
        thread.start()
        try:
            yield proxy
        finally:
            with suppress(OSError):
                listening.shutdown(socket.SHUT_RDWR)
