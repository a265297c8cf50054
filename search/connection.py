"""Opens clients of Weaviate and maps its errors, in one table, to Huginn's.

Messages of the server can quote what was stored, so they are not passed on (spec 7.3): an error
says the kind of failure, and the server's log has the rest.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

from search import embedded
from search.errors import HuginnError, PermanentError, ServerRefused, ServerUnavailable
from search.settings import Settings, secret

if TYPE_CHECKING:
    from weaviate import WeaviateClient

Role = Literal["writer", "reader"]

QUERY_SECONDS = 30
INSERT_SECONDS = 120


@contextmanager
def connect(
    settings: Settings, role: Role, progress: Callable[[str], None] = lambda _: None
) -> Iterator["WeaviateClient"]:
    """A client that is closed at the end; starts the embedded server when there is no ``url``.

    Raises:
        ServerUnavailable: no answer; the same may work later.
        ServerRefused: a wrong key, or a server that is no Weaviate.
    """
    if settings.weaviate.url is None:
        server = embedded.ensure_running(settings, progress)
        keys = embedded.keys(settings)
        http = f"http://127.0.0.1:{server.http_port}"
        grpc = f"http://127.0.0.1:{server.grpc_port}"
        key: str | None = keys.writer if role == "writer" else keys.reader
    else:
        http = settings.weaviate.url
        grpc = settings.weaviate.grpc_url or _default_grpc(http)
        key = _configured_key(settings, role)
    client = _open(http, grpc, key)
    try:
        yield client
    finally:
        client.close()


def _open(http: str, grpc: str, key: str | None) -> "WeaviateClient":
    import weaviate
    from weaviate.classes.init import AdditionalConfig, Auth, Timeout

    web, rpc = urlsplit(http), urlsplit(grpc)
    os.environ.setdefault("no_grpc_proxy", "127.0.0.1,localhost")  # gRPC asks a proxy even there
    with mapped_errors("connect"):
        return weaviate.connect_to_custom(
            http_host=web.hostname or "",
            http_port=web.port or (443 if web.scheme == "https" else 80),
            http_secure=web.scheme == "https",
            grpc_host=rpc.hostname or "",
            grpc_port=rpc.port or (443 if rpc.scheme == "https" else 80),
            grpc_secure=rpc.scheme == "https",
            auth_credentials=Auth.api_key(key) if key else None,
            additional_config=AdditionalConfig(
                timeout=Timeout(init=10, query=QUERY_SECONDS, insert=INSERT_SECONDS)
            ),
        )


def _default_grpc(http: str) -> str:
    parts = urlsplit(http)
    return f"{parts.scheme}://{parts.hostname}:50051"


def _configured_key(settings: Settings, role: Role) -> str | None:
    chosen = settings.weaviate
    if role == "writer":
        return secret(chosen.writer_key, chosen.writer_key_file, "huginn-writer-key")
    return secret(chosen.reader_key, chosen.reader_key_file, "huginn-reader-key")


@contextmanager
def mapped_errors(doing: str) -> Iterator[None]:
    """Turns the client's errors into Huginn's; ``doing`` is a verb for the message."""
    import grpc
    import httpx
    from weaviate import exceptions as theirs

    try:
        yield
    except HuginnError:
        raise
    except (theirs.AuthenticationFailedError, theirs.InsufficientPermissionsError) as error:
        raise ServerRefused(
            f"Weaviate refused to {doing} with this key. Check weaviate.writer_key and reader_key."
        ) from error
    except theirs.UnexpectedStatusCodeError as error:
        raise _by_status(doing, error.status_code, str(error)) from error
    except (
        theirs.WeaviateConnectionError,
        theirs.WeaviateGRPCUnavailableError,
        theirs.WeaviateTimeoutError,
        theirs.WeaviateRetryError,
        theirs.WeaviateStartUpError,
        httpx.TransportError,
        grpc.RpcError,
    ) as error:
        raise _unavailable(doing) from error
    except theirs.WeaviateInsertManyAllFailedError as error:
        raise _by_text(doing, str(error)) from error
    except theirs.WeaviateQueryError as error:
        raise _by_text(doing, str(error)) from error
    except (theirs.WeaviateBaseError, theirs.WeaviateProtobufIncompatibility) as error:
        raise PermanentError(
            f"Weaviate failed to {doing} ({type(error).__name__}). See the server's log."
        ) from error


def _unavailable(doing: str) -> ServerUnavailable:
    return ServerUnavailable(
        f"Weaviate did not answer ({doing}). `huginn up` starts Huginn's own; for another one, "
        "check weaviate.url."
    )


_UNAUTHORISED = {401, 403}
_LATER = {408, 429, 500, 502, 503, 504}


def _by_status(doing: str, status: int, text: str) -> HuginnError:
    if status in _UNAUTHORISED:
        return ServerRefused(
            f"Weaviate refused to {doing} with this key (HTTP {status}). "
            "Check weaviate.writer_key and weaviate.reader_key."
        )
    if status in _LATER and any(mark in text.lower() for mark in _READ_ONLY):
        return _by_text(doing, _READ_ONLY[0])
    if status in _LATER:
        return ServerUnavailable(f"Weaviate could not {doing} just now (HTTP {status}). Try later.")
    return ServerRefused(f"Weaviate would not {doing} (HTTP {status}). See the server's log.")


_READ_ONLY = ("read-only", "read only")

_BY_TEXT: tuple[tuple[str, type[HuginnError], str], ...] = (
    *(
        (mark, ServerUnavailable, "it is read-only (disk full?). Free space, then run again.")
        for mark in _READ_ONLY
    ),
    ("insufficient permissions", ServerRefused, "this key may not. Check weaviate.writer_key."),
    (
        "unavailable",
        ServerUnavailable,
        "it cannot be reached. Check that it runs.",
    ),
    ("deadline", ServerUnavailable, "it did not answer in time. Try again."),
    (
        "connection",
        ServerUnavailable,
        "the connection broke. Check that it runs.",
    ),
    (
        "no such prop",
        ServerRefused,
        "the collection has another schema. Set weaviate.collection to another name.",
    ),
)


def _by_text(doing: str, text: str) -> HuginnError:
    lowered = text.lower()
    for mark, kind, advice in _BY_TEXT:
        if mark in lowered:
            return kind(f"Weaviate could not {doing}: {advice}")
    return ServerRefused(f"Weaviate would not {doing}. See the server's log.")
