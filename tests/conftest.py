"""Fixtures for every test. Servers are real; each session has its own, in a folder of its own."""

import os
import signal
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from search import embedded
from search.settings import Settings
from tests.support.community import Community
from tests.support.prefect_api import drain_workers, running_api
from tests.support.synapse import Synapse, running_synapse
from tests.support.synapse_install import SYNAPSE_VARIABLE
from tests.support.weaviate_server import (
    BINARY_VARIABLE,
    running_server,
    settings_in,
    weaviate_binary,
)


@pytest.fixture(scope="session", autouse=True)
def _no_settings_from_outside() -> Iterator[None]:
    """HUGINN_… variables are stronger than anything a test passes: none of the user's may count."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [*os.environ]:
            if name.startswith("HUGINN_") and name not in {BINARY_VARIABLE, SYNAPSE_VARIABLE}:
                patch.delenv(name)
        yield


@pytest.fixture(scope="session", autouse=True)
def _ctrl_c_works() -> Iterator[None]:
    """A shell starts what runs in the background with SIGINT ignored, and children inherit that."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def binary(_no_settings_from_outside: None) -> Path:
    """A real ``weaviate-server`` of the pinned version."""
    return weaviate_binary()


@pytest.fixture(scope="session")
def _session_settings(binary: Path, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    return settings_in(tmp_path_factory.mktemp("huginn"), binary)


@pytest.fixture(scope="session")
def weaviate_server(_session_settings: Settings) -> Iterator[embedded.Server]:
    """The session's one Weaviate, up and ready."""
    with running_server(_session_settings) as server:
        yield server


@pytest.fixture(scope="session")
def server_settings(_session_settings: Settings, weaviate_server: embedded.Server) -> Settings:
    """Settings of the session's Weaviate, which is up; its folders are the session's own."""
    return _session_settings


@pytest.fixture
def collection_name() -> str:
    """A collection that nobody else uses."""
    return f"Test{uuid.uuid4().hex}"


@pytest.fixture(scope="session")
def prefect_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the session's Prefect server keeps its database."""
    return tmp_path_factory.mktemp("prefect")


@pytest.fixture(scope="session")
def prefect_api(prefect_home: Path) -> Iterator[str]:
    """The session's one Prefect server; flows that tests run report to it."""
    with running_api(prefect_home) as address:
        from prefect.settings import PREFECT_API_URL, PREFECT_HOME, temporary_settings

        with temporary_settings({PREFECT_API_URL: address, PREFECT_HOME: prefect_home}):
            yield address
            drain_workers()  # else they try to reach the ended server for a minute at exit


@pytest.fixture
def community(
    tmp_path: Path, server_settings: Settings, collection_name: str, prefect_api: str
) -> Community:
    """An empty community on a collection of its own."""
    return Community(tmp_path, server_settings, collection_name)


@pytest.fixture(scope="session")
def synapse(
    _no_settings_from_outside: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Synapse]:
    """The session's one homeserver. Tests share it: each makes rooms and people of its own."""
    with running_synapse(tmp_path_factory.mktemp("synapse") / "homeserver") as server:
        yield server


@pytest.fixture
def reader() -> str:
    """A reader of the test's own: it is in no other test's rooms."""
    return f"reader_{uuid.uuid4().hex[:12]}"


@pytest.fixture
def chat(community: Community, synapse: Synapse, reader: str) -> Community:
    """A community whose rooms are those of ``reader``; it lists no repository."""
    synapse.user(reader)
    community.reads(synapse, reader)
    return community
