"""A bare mirror of one repository in the cache: made, brought up to date, made anew (spec 5.1).

It follows a single ref, ``refs/huginn/tip``: the branch that is read and all it grew from. What
the remote drops stays in the object store, so that a cursor's commit can still be compared with.
"""

import contextlib
import fcntl
import hashlib
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from search.listing import is_local
from search.locking import locked
from tasks.adapters.git_errors import MirrorDamaged
from tasks.adapters.git_runner import GitRunner
from tasks.errors import RepositoryBusy, RepositoryUnreadable

_TIP = "refs/huginn/tip"
_LACKS = "huginn-lacks"
_PART = ".part"
_SHA256_LENGTH = 64


def forget_mirrors(folder: Path, name: str) -> None:
    """Deletes this machine's mirrors of what was listed under ``name``, whatever its address."""
    form = re.compile(rf"{re.escape(_plain(name))}-[0-9a-f]{{12}}\.git")
    for mirror in [each for each in folder.glob("*.git") if form.fullmatch(each.name)]:
        with locked(mirror.with_suffix(".lock")):
            shutil.rmtree(mirror, ignore_errors=True)


def _plain(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name)


class Mirror:
    """The mirror of the repository of ``git``, below ``folder``; ``fresh`` once made here."""

    def __init__(self, folder: Path, git: GitRunner) -> None:
        digest = hashlib.sha256(git.address.encode("utf-8", "surrogateescape")).hexdigest()[:12]
        self._stem = f"{_plain(git.name)}-{digest}"
        self._folder = folder
        self._git = git
        self.path = folder / f"{self._stem}.git"
        self.fresh = False

    def fetch(self, ref: str, wanted: str) -> None:
        """Bring ``ref`` of the remote into the mirror, which then holds the commit ``wanted``.

        A mirror that is missing is made, a damaged one is made anew, once. One process at a time
        does so; a kill leaves either the old mirror, the new one, or a ``.part`` to be swept.

        Raises:
            RepositoryUnreadable, RepositoryBusy: see ``git_errors``; also when the remote moved
                on so that ``wanted`` is not part of ``ref`` any more.
        """
        try:
            with self._locked():
                self._bring(ref, wanted)
        except OSError as error:
            raise RepositoryUnreadable(
                f"{self._git.name}: {self._folder} cannot be written: {error.strerror}. "
                "Mend the folder's rights, or change cache_dir."
            ) from error

    def _bring(self, ref: str, wanted: str) -> None:
        if self.path.is_dir():
            try:
                if self._tip(self.path) != wanted or (self.path / "shallow").exists():
                    self._update(self.path, ref)
                self._check(self.path, wanted)
            except MirrorDamaged:
                self._make(ref, wanted)
        else:
            self._make(ref, wanted)

    def discard(self) -> None:
        """Throw the mirror away; the next ``fetch`` makes it anew."""
        with self._locked():
            self._remove(self.path)

    def lacks(self) -> set[str]:
        """The blobs that the repository itself did not have when the mirror was made."""
        listed = self.path / _LACKS
        return set(listed.read_text("ascii").split()) if listed.exists() else set()

    def remember_lacks(self, blobs: set[str]) -> None:
        """Note that a fresh mirror came without these blobs, so that it is not made anew again."""
        (self.path / _LACKS).write_text("\n".join(sorted(self.lacks() | blobs)), "ascii")

    def hopeless(self) -> RepositoryUnreadable:
        """The error for a repository whose fresh mirror is damaged too."""
        return RepositoryUnreadable(
            f"{self._git.name}: the repository itself is damaged, or a partial clone. "
            "Run git fsck in it (git fetch --refetch in a partial clone) and try again."
        )

    def _make(self, ref: str, wanted: str) -> None:
        for left in self._folder.glob(f"{self._stem}.*{_PART}"):
            self._remove(left)
        made = Path(tempfile.mkdtemp(_PART, f"{self._stem}.", self._folder))
        try:
            if is_local(self._git.address):  # a clone shares the object files, a fetch copies them
                branch = [] if ref == "HEAD" else ["--branch", ref.removeprefix("refs/heads/")]
                one = ["--no-tags", "--single-branch", *branch]
                self._git.output(
                    "clone",
                    "--quiet",
                    "--bare",
                    "--template=",
                    *one,
                    "--",
                    self._git.address,
                    str(made),
                )
            else:
                kind = "sha256" if len(wanted) == _SHA256_LENGTH else "sha1"
                form = [f"--object-format={kind}", "--template="]
                self._git.output("init", "--quiet", "--bare", *form, "--", str(made))
            self._update(made, ref)
            self._drop_other_refs(made)
            self._check(made, wanted)
            self._remove(self.path)
            made.rename(self.path)
        except MirrorDamaged as damage:
            raise self.hopeless() from damage
        finally:
            shutil.rmtree(made, ignore_errors=True)
        self.fresh = True

    def _update(self, mirror: Path, ref: str) -> None:
        depth = ["--unshallow"] if (mirror / "shallow").exists() else []
        options = ["--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules"]
        self._git.output(
            "fetch",
            *options,
            "--update-shallow",
            *depth,
            "--",
            self._git.address,
            f"+{ref}:{_TIP}",
            git_dir=mirror,
        )

    def _drop_other_refs(self, mirror: Path) -> None:
        """A clone's branch would stand still for ever and keep what it leads to."""
        listing = ("for-each-ref", "--format=delete %(refname)", "refs/heads")
        others = self._git.output(*listing, git_dir=mirror)
        self._git.output("update-ref", "--stdin", git_dir=mirror, stdin=others)
        self._git.output("symbolic-ref", "HEAD", _TIP, git_dir=mirror)

    def _check(self, mirror: Path, wanted: str) -> None:
        tip = self._tip(mirror)
        if self._git.run("cat-file", "-e", f"{tip}^{{commit}}", git_dir=mirror).code != 0:
            raise MirrorDamaged(f"{self._git.name}: its mirror lacks the tip. Clone it anew.")
        ancestor = ("merge-base", "--is-ancestor", wanted, tip)
        if tip != wanted and self._git.run(*ancestor, git_dir=mirror).code != 0:
            raise RepositoryBusy(
                f"{self._git.name}: it changed while it was being read. "
                "The next run reads the new state."
            )

    def _tip(self, mirror: Path) -> str:
        found = self._git.run("rev-parse", "--verify", "--quiet", _TIP, git_dir=mirror)
        return found.output.decode("ascii").strip()

    def _remove(self, mirror: Path) -> None:
        """Remove in one step for whoever looks: half a mirror never stands under its name."""
        if mirror.exists():
            doomed = Path(tempfile.mkdtemp(_PART, f"{self._stem}.", self._folder))
            mirror.rename(doomed / "mirror")
            shutil.rmtree(doomed, ignore_errors=True)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._folder.chmod(0o700)
        until = time.monotonic() + self._git.seconds
        with (self._folder / f"{self._stem}.lock").open("a") as lock:
            while not _taken(lock.fileno()):
                if time.monotonic() >= until:
                    raise RepositoryBusy(
                        f"{self._git.name}: another process has been fetching it for "
                        f"{self._git.seconds:g} seconds. Wait for it, or end it."
                    )
                time.sleep(0.05)
            yield


def _taken(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
