"""What chooses and cuts has a version: another choice is another version (W35)."""

from pathlib import Path
from typing import Any

import pytest

from search.listing import RepositorySettings
from search.settings import ForgeSettings, Settings
from tasks import bootstrap
from tests.support.fakes import FakeEmbedder, FakeScrubber


@pytest.fixture(autouse=True)
def _no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    embedder, scrubber = FakeEmbedder(), FakeScrubber()
    monkeypatch.setattr(bootstrap, "embedder_of", lambda _: embedder)
    monkeypatch.setattr(bootstrap, "scrubber_of", lambda: scrubber)


def version(forge: dict[str, Any], listed: dict[str, Any]) -> str:
    settings = Settings(
        data_dir=Path("/none"), cache_dir=Path("/none"), forge=ForgeSettings(**forge)
    )
    repository = RepositorySettings(name="one", url="/one", **listed)
    return bootstrap.admission_version(settings, repository)


@pytest.mark.parametrize(
    ("forge", "listed"),
    [
        ({"max_file_bytes": 10}, {}),
        ({"commit_messages": False}, {}),
        ({"merge_commits": True}, {}),
        ({"bot_commits": False}, {}),
        ({}, {"include": ("docs/**",)}),
        ({}, {"exclude": ("docs/**",)}),
    ],
    ids=["size-limit", "no-messages", "merges", "no-bots", "include", "exclude"],
)
def test_w35_another_choice_is_another_version(
    forge: dict[str, Any], listed: dict[str, Any]
) -> None:
    assert version(forge, listed) != version({}, {})
    assert version(forge, listed) == version(forge, listed)


def test_w35_what_chooses_nothing_does_not_count() -> None:
    assert version({"git_timeout": 5}, {"label": "One"}) == version({}, {})
