"""An ingest stops before the disk is full; what is asked is the real disk (spec 2.3, case W04)."""

from pathlib import Path

import pytest

from search.settings import Settings, WeaviateSettings
from tasks.disk import check_room, reserve
from tasks.errors import DiskTooFull

MORE_THAN_ANY = 2**62
ELSEWHERE = WeaviateSettings(url="http://127.0.0.1:1")


def settings(tmp_path: Path, **options: object) -> Settings:
    folders = {"data_dir": tmp_path / "not" / "yet", "cache_dir": tmp_path / "cache"}
    return Settings.model_validate(folders | options)


def test_a_disk_with_room_is_fine_also_for_folders_that_are_not_there_yet(tmp_path: Path) -> None:
    check_room(settings(tmp_path, min_free_bytes=0))


def test_too_little_room_is_told_with_the_folder_the_bytes_and_the_setting(tmp_path: Path) -> None:
    with pytest.raises(DiskTooFull) as caught:
        check_room(settings(tmp_path, min_free_bytes=MORE_THAN_ANY))
    message = str(caught.value)
    assert message.startswith(f"data_dir: the disk of {tmp_path / 'not' / 'yet'} has ")
    assert f"{MORE_THAN_ANY:,} have to be (min_free_bytes" in message


def test_the_data_folder_does_not_count_where_weaviate_is_another_machines(tmp_path: Path) -> None:
    with pytest.raises(DiskTooFull, match=r"^cache_dir: "):
        check_room(settings(tmp_path, min_free_bytes=MORE_THAN_ANY, weaviate=ELSEWHERE))


def test_one_percent_more_than_where_weaviate_turns_read_only_has_to_be_free() -> None:
    assert reserve(1_000) == 40
