"""Whether there is room on the disk: asked before each step of an ingest, so that none fills it.

Weaviate turns read-only on a disk that is nearly full, and a full one can damage what it holds. A
step is refused before anything of it is written; look-ups, removals and purges go on.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path

from search.embedded_process import READ_ONLY_PERCENT
from search.settings import Settings
from tasks.errors import DiskTooFull


def check_room(settings: Settings) -> None:
    """Asks for the file systems of Weaviate's data, if it is our own, and of the mirrors.

    Raises:
        DiskTooFull: one of them has less than ``min_free_bytes``, or Weaviate is about to refuse.
    """
    for setting, folder, is_weaviates in _folders(settings):
        usage = shutil.disk_usage(_existing(folder))
        if usage.free < settings.min_free_bytes:
            raise DiskTooFull(setting, str(folder), usage.free, settings.min_free_bytes)
        left = usage.total - usage.used  # as Weaviate counts: what is kept for root too
        if is_weaviates and left < reserve(usage.total):
            raise DiskTooFull(setting, str(folder), left, reserve(usage.total))


def reserve(total: int) -> int:
    """Bytes of a disk of ``total`` that must be free, or Weaviate is about to turn read-only."""
    return total * (100 - READ_ONLY_PERCENT + 1) // 100


def _folders(settings: Settings) -> Iterator[tuple[str, Path, bool]]:
    if settings.weaviate.url is None:
        yield "data_dir", settings.data_dir, True
    yield "cache_dir", settings.cache_dir, False


def _existing(folder: Path) -> Path:
    return next(each for each in (folder.absolute(), *folder.absolute().parents) if each.exists())
