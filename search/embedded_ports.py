"""The ports of an embedded server: which it needs, and which are free (spec 1.4)."""

import errno
import socket
from contextlib import ExitStack
from dataclasses import dataclass

LOOPBACK = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Ports:
    """The ports of one server. ``data`` and ``rpc`` follow from two of them by Weaviate's rules."""

    http: int
    grpc: int
    gossip: int
    raft: int

    @property
    def data(self) -> int:
        """The cluster's own API."""
        return self.gossip + 1

    @property
    def rpc(self) -> int:
        """Raft's own RPC."""
        return self.raft + 1


def free_ports() -> Ports:
    """Ports that nobody used a moment ago, all different."""
    with ExitStack() as held:
        http, grpc = (_hold(held, 0, pair=False) for _ in range(2))
        gossip, raft = (_hold(held, 0, pair=True) for _ in range(2))
    return Ports(http=http, grpc=grpc, gossip=gossip, raft=raft)


def are_free(ports: Ports) -> bool:
    """Whether the server could listen on all of these now."""
    numbers = (ports.http, ports.grpc, ports.gossip, ports.data, ports.raft, ports.rpc)
    return all(_is_free(number) for number in numbers)


def _is_free(port: int) -> bool:
    # The wildcard too: Weaviate has its gRPC and data ports on all addresses.
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        for address in (LOOPBACK, ""):
            with socket.socket(socket.AF_INET, kind) as probe:
                if kind == socket.SOCK_STREAM:  # as Go does: the last connections may linger
                    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                try:
                    probe.bind((address, port))
                except OSError:
                    return False
    return True


def _hold(held: ExitStack, port: int, *, pair: bool) -> int:
    """Binds a free port (and its neighbour) until ``held`` closes."""
    while True:
        first = held.enter_context(socket.socket())
        first.bind(("", port))
        number = int(first.getsockname()[1])
        if not pair:
            return number
        second = held.enter_context(socket.socket())
        try:
            second.bind(("", number + 1))
        except (OSError, OverflowError) as error:
            if isinstance(error, OSError) and error.errno != errno.EADDRINUSE:
                raise
        else:
            return number
