"""What look-ups run on, kept warm between them: a client of Weaviate and the models.

Threads may share one engine. The client is opened at the first look-up and anew whenever the
server behind it is another one than it was opened for, so a restart of Weaviate goes unnoticed.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import TracebackType
from typing import Self, TypeVar

from search import connection, embedded, embedding, reader
from search.errors import CollectionMissing, ServerRefused, ServerUnavailable
from search.settings import Settings

T = TypeVar("T")


class Engine:
    """Settings, a reader of Weaviate and embedders by model name."""

    def __init__(
        self, settings: Settings, progress: Callable[[str], None] = lambda _: None
    ) -> None:
        """Nothing is opened yet; ``progress`` hears when something long starts."""
        self.settings = settings
        self._progress = progress
        self._lock = threading.Lock()
        self._models: dict[str, embedding.Embedder] = {}
        self._opened: _Opened | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def look_up(self, use: Callable[[reader.Reader], T]) -> T:
        """What ``use`` gives for a reader; asked once more if the connection turns out broken.

        Look-ups only read, so doing one twice is harmless.

        Raises:
            HuginnError: as ``use``, or Weaviate cannot be reached.
        """
        with self._open() as opened:
            try:
                return use(opened.reader)
            except (ServerUnavailable, ServerRefused):
                if opened.is_new:
                    raise
            self._drop(opened)
        with self._open() as opened:
            return use(opened.reader)

    def embedder(self, model: str) -> embedding.Embedder:
        """The one embedder of that name; it loads its model when it is first used."""
        with self._lock:
            if model not in self._models:
                chosen = self.settings.embedder.model_copy(update={"model": model})
                self._models[model] = embedding.Embedder(chosen, self._progress)
            return self._models[model]

    def warm_up(self) -> bool:
        """Does what the first look-up would wait for: the server, the connection, the model.

        False before the first refresh: there is nothing to be warm for.

        Raises:
            HuginnError: one of them cannot be had; the next look-up will say the same.
        """
        try:
            meta = self.look_up(lambda reader: reader.resolve().meta)
        except CollectionMissing:
            return False
        from search.lookups import model_of

        model_of(meta, self.settings, self.embedder).embed(["warm"], "query")
        return True

    def close(self) -> None:
        """Closes the connection; a look-up afterwards opens another."""
        with self._lock:
            self._retire()

    @contextmanager
    def _open(self) -> Iterator["_Opened"]:
        """The connection, which stays open for the block whatever becomes of it for others."""
        with self._lock:
            server = self._server()
            if self._opened is not None and self._opened.server != server:
                self._retire()
            if self._opened is None:
                self._opened = _Opened(self.settings, self._progress)
            else:
                self._opened.is_new = False
            opened = self._opened
            opened.users += 1
        try:
            yield opened
        finally:
            with self._lock:
                opened.users -= 1
                opened.close_if_done()

    def _server(self) -> embedded.Server | None:
        return None if self.settings.weaviate.url else embedded.running(self.settings)

    def _drop(self, opened: "_Opened") -> None:
        with self._lock:
            if self._opened is opened:
                self._retire()

    def _retire(self) -> None:
        """Nobody gets the connection any more; it is closed once its last user is done."""
        opened, self._opened = self._opened, None
        if opened is not None:
            opened.is_retired = True
            opened.close_if_done()


class _Opened:
    """One open client, and the server of ours that it is of."""

    def __init__(self, settings: Settings, progress: Callable[[str], None]) -> None:
        self._stack = ExitStack()
        client = self._stack.enter_context(connection.connect(settings, "reader", progress))
        self.server = None if settings.weaviate.url else embedded.running(settings)
        self.reader = reader.Reader(client, settings.weaviate.collection)
        self.is_new = True
        self.is_retired = False
        self.users = 0

    def close_if_done(self) -> None:
        """Closes a retired connection that nobody uses."""
        if self.is_retired and not self.users:
            self._stack.close()
