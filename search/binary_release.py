"""Downloads the release that Weaviate's own client would run (spec 1.4)."""

import shutil
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import IO

from search.settings import WEAVIATE_VERSION

_CONNECT_SECONDS = 5  # a machine without internet goes on to the next way soon
_READ_SECONDS = 30
_STEP = 10_000_000
_MEMBER = "weaviate"


class NotObtained(Exception):  # one way failed; the caller tries the next
    """The server could not be had this way; the message is the reason."""


def download(folder: Path, progress: Callable[[str], None]) -> Path:
    """The server's program from its release, unpacked into ``folder``.

    Raises:
        NotObtained: no connection, no such release, or an archive without the program.
    """
    url = release_url(folder)
    archive = folder / url.rpartition("/")[2]
    _fetch(url, archive, progress)
    return unpack(archive, folder)


def release_url(folder: Path) -> str:
    """The address that the client's embedded mode would download from.

    ``folder`` is a scratch folder: the client makes its own folders when asked for its options.
    """
    from weaviate.embedded import EmbeddedOptions, EmbeddedV4
    from weaviate.exceptions import WeaviateStartUpError

    options = EmbeddedOptions(
        persistence_data_path=str(folder / "unused"),
        binary_path=str(folder),
        version=WEAVIATE_VERSION,
    )
    try:
        return str(EmbeddedV4(options)._download_url)  # noqa: SLF001  # the client's rule, not ours
    except (AttributeError, WeaviateStartUpError) as error:
        raise NotObtained(f"the client knows no release for this machine ({error})") from error


def unpack(archive: Path, folder: Path) -> Path:
    """Takes the one file named ``weaviate`` out of the archive, whatever else is in it.

    Raises:
        NotObtained: the archive is damaged or holds no such file.
    """
    target = folder / f"{_MEMBER}-server"
    try:
        if archive.suffix == ".zip":
            with zipfile.ZipFile(archive) as content, content.open(_MEMBER) as source:
                _copied(source, target)
        else:
            with tarfile.open(archive) as bundle:
                member = bundle.extractfile(_MEMBER)
                if member is None:
                    raise NotObtained(f"the archive's {_MEMBER!r} is not a file")
                with member:
                    _copied(member, target)
    except (KeyError, OSError, EOFError, tarfile.TarError, zipfile.BadZipFile) as error:
        raise NotObtained(f"the archive is damaged or lacks {_MEMBER!r} ({error})") from error
    archive.unlink()
    target.chmod(0o755)
    return target


def _copied(source: IO[bytes], target: Path) -> None:
    with target.open("wb") as out:
        shutil.copyfileobj(source, out)


def _fetch(url: str, archive: Path, progress: Callable[[str], None]) -> None:
    import httpx

    timeout = httpx.Timeout(_READ_SECONDS, connect=_CONNECT_SECONDS)
    try:
        with httpx.stream("GET", url, follow_redirects=True, timeout=timeout) as response:
            response.raise_for_status()
            total = int(response.headers.get("content-length", 0))
            size = f"{total / 1e6:.0f} MB" if total else "size unknown"
            progress(f"downloading Weaviate {WEAVIATE_VERSION} ({size})")
            got, told = 0, 0
            with archive.open("wb") as out:
                for piece in response.iter_bytes(1 << 16):
                    got += out.write(piece)
                    if got - told >= _STEP:
                        told = got
                        progress(f"downloading Weaviate: {got / 1e6:.0f} MB of {size}")
    except httpx.HTTPStatusError as error:
        raise NotObtained(f"{url} answered {error.response.status_code}") from error
    except (httpx.HTTPError, OSError) as error:
        raise NotObtained(f"{url}: {error or type(error).__name__}") from error
