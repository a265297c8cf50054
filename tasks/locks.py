"""The lock of a source on this machine: a file of the data folder."""

import hashlib
from pathlib import Path

from search.settings import Settings


def lock_of(settings: Settings, source: str) -> Path:
    """Its path; the folder is made. The kernel takes the lock from a holder that dies."""
    folder = settings.data_dir / "run"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    key = hashlib.sha256(f"{settings.weaviate.collection} {source}".encode()).hexdigest()[:16]
    return folder / f"{key}.lock"
