"""GET requests to a homeserver over nio's client, with waits and repeats that end (M29, M49).

nio repeats for ever by default and takes a proxy's 429 page for five seconds, so only its
transport is used: one attempt a call, and the repeating is done here.
"""

import asyncio
import json
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote, urlencode

import tenacity

from tasks.adapters.matrix_errors import WrongShape, cut_short, error_of, refused_shape, unanswered
from tasks.errors import HomeserverRefused, HomeserverUnreachable

if TYPE_CHECKING:
    import nio

_T = TypeVar("_T")
_AT_ONCE = 4
_NO_JSON, _TOO_DEEP = object(), object()
_backoff = tenacity.wait_random_exponential(multiplier=0.5, max=20)


@dataclass(frozen=True, slots=True)
class Ask:
    """A GET of the client-server API: parts of the path, which are encoded here, and a query."""

    path: tuple[str, ...]
    query: Mapping[str, str | int] = field(default_factory=dict)

    def __str__(self) -> str:
        """The path as it is requested; ids are opaque and wholly percent-encoded (M26)."""
        path = "/".join(quote(part, safe="") for part in self.path)
        return f"/_matrix/client/v3/{path}" + (f"?{urlencode(self.query)}" if self.query else "")


@dataclass(slots=True)
class MatrixHttp:
    """A connection to the homeserver at ``base`` as the owner of ``token``.

    ``timeout``: seconds that one attempt may take, answer read. ``patience``: no further attempt
    begins so many seconds after the first. Its event loop is its own: use it in one thread, from
    where no other loop runs, and close it.
    """

    base: str
    token: str = field(repr=False)
    timeout: float
    patience: float
    _runner: asyncio.Runner = field(default_factory=asyncio.Runner, repr=False)
    _client: "nio.AsyncClient | None" = field(default=None, repr=False)

    def get(self, read: Callable[[Any], _T], ask: Ask) -> _T:
        """What ``read`` makes of the answer's JSON; it raises ``WrongShape`` where it cannot.

        Raises:
            HomeserverUnreachable: no answer in time.
            HomeserverRefused: an answer, but not one to work with.
        """
        return self._run(self._patiently(read, ask))

    def get_each(
        self, read: Callable[[Any], _T], asks: Sequence[Ask]
    ) -> list[_T | HomeserverRefused]:
        """What ``read`` makes of each answer, or the refusal that it is; a few at a time."""
        return self._run(self._each(read, asks))

    def close(self) -> None:
        """Ends the connections and the loop; harmless when said twice."""
        client, self._client = self._client, None
        try:
            if client is not None:
                self._run(client.close())
        finally:
            self._runner.close()

    def _run(self, work: Coroutine[Any, Any, _T]) -> _T:
        try:
            return self._runner.run(work)
        finally:
            work.close()  # if the loop would not take it: no warning about it on top

    async def _each(
        self, read: Callable[[Any], _T], asks: Sequence[Ask]
    ) -> list[_T | HomeserverRefused]:
        places = asyncio.Semaphore(_AT_ONCE)

        async def one(ask: Ask) -> _T | HomeserverRefused:
            async with places:
                try:
                    return await self._patiently(read, ask)
                except HomeserverRefused as refused:
                    return refused

        tasks = [asyncio.create_task(one(ask)) for ask in asks]
        try:
            return [await task for task in tasks]
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _patiently(self, read: Callable[[Any], _T], ask: Ask) -> _T:
        retrying = tenacity.AsyncRetrying(
            retry=tenacity.retry_if_exception_type(HomeserverUnreachable),
            wait=_wait,
            stop=self._too_late,
            reraise=True,
        )
        answer: Any = await retrying(self._once, ask)
        try:
            return read(answer)
        except WrongShape as wrong:
            raise refused_shape(self.base, str(wrong)) from wrong

    def _too_late(self, state: tenacity.RetryCallState) -> bool:
        return (state.seconds_since_start or 0) + state.upcoming_sleep > self.patience

    async def _once(self, ask: Ask) -> Any:
        try:
            async with asyncio.timeout(self.timeout):
                status, headers, body = await self._send(str(ask))
        except Exception as error:
            meant = unanswered(self.base, error, self.timeout)
            if meant is error:
                raise
            # Some errors of aiohttp hold the request's headers, the token among them.
            raise meant from None if hasattr(error, "request_info") else error
        content = _json(body)
        if status != HTTPStatus.OK:
            raise error_of(self.base, status, headers, content, self.patience)
        if content is _TOO_DEEP:
            raise refused_shape(self.base, "its answer nests too deeply")
        if content is _NO_JSON:
            if body.lstrip()[:1] in {b"{", b"["}:
                raise cut_short(self.base)
            raise refused_shape(self.base, "its answer is not JSON")
        return content

    async def _send(self, path: str) -> tuple[int, Mapping[str, str], bytes]:
        if self._client is None:
            self._client = _client(self.base, self.timeout)
        headers = {"Authorization": f"Bearer {self.token}", "Accept": "application/json"}
        async with await self._client.send("GET", path, headers=headers) as answer:
            return answer.status, answer.headers, await answer.read()


def _client(base: str, timeout: float) -> "nio.AsyncClient":
    from nio import AsyncClient, AsyncClientConfig

    config = AsyncClientConfig(
        store_sync_tokens=False, encryption_enabled=False, request_timeout=timeout
    )
    return AsyncClient(base, config=config)


def _json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return _NO_JSON
    except RecursionError:
        return _TOO_DEEP


def _wait(state: tenacity.RetryCallState) -> float:
    """What the homeserver asks for, and never less than we would wait ourselves at first."""
    error = state.outcome.exception() if state.outcome else None
    asked = error.wait if isinstance(error, HomeserverUnreachable) else None
    own = float(_backoff(state))
    return own if asked is None else asked + own
