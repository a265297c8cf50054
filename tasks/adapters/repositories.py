"""Reads git repositories through bare mirrors in the cache (spec 5.1, 5.2, 5.4, 2.7)."""

import contextlib
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from search.listing import RepositorySettings
from search.settings import ForgeSettings
from tasks.adapters.git_errors import MirrorDamaged
from tasks.adapters.git_mirror import Mirror
from tasks.adapters.git_objects import (
    attribute_files,
    is_plain_file,
    lacking,
    parse_attributes,
    parse_commit,
    parse_refs,
    parse_tree,
)
from tasks.adapters.git_runner import GitRunner
from tasks.errors import RepositoryBusy, RepositoryUnreadable, UnknownCommit
from tasks.ports import CommitMessage, Tree, TreeEntry

_OBJECT_ID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
LISTING_SECONDS = 60.0
"""A remote that does not even list its refs in this time is busy or gone: others wait behind it."""

_GENERATED, _VENDORED = "linguist-generated", "linguist-vendored"


class GitRepository:
    """The ``Repository`` port over git. Not for several threads at once; ``close`` when done.

    ``mirrors`` is the folder of all mirrors; they can be removed at any time between two runs.
    """

    def __init__(
        self,
        settings: RepositorySettings,
        mirrors: Path,
        forge: ForgeSettings,
        *,
        keep: bool = False,
    ) -> None:
        """With ``keep`` nothing is written: a damaged mirror stays as it is."""
        self._branch = settings.branch
        self._git = GitRunner(settings.name, settings.url, forge.git_timeout)
        self._mirror = Mirror(mirrors, self._git)
        self._wanted: str | None = None
        self._keep = keep

    def tip(self) -> str | None:
        """See ``Repository.tip``: the listed branch, else the branch that HEAD names right now."""
        listing = self._git.output(
            "ls-remote", "--symref", "--", self._git.address, seconds=LISTING_SECONDS
        )
        refs = parse_refs(listing)
        tip = refs.branches.get(self._branch) if self._branch else refs.head
        if tip is None and not refs.empty:
            lacks = (
                f"has no branch {self._branch!r}" if self._branch else "has a HEAD without a branch"
            )
            names = ", ".join(sorted(name for name in refs.branches if name.isprintable())[:5])
            raise RepositoryUnreadable(
                f"{self._git.name}: it {lacks}. Set branch to the one to read"
                + (f" (there are: {names})." if names else ".")
            )
        self._wanted = tip
        return tip

    def fetch(self, commit: str | None = None) -> None:
        """See ``Repository.fetch``: afterwards the mirror holds the commit that ``tip`` named."""
        if commit is not None and self._holds(commit):
            return
        wanted = self._wanted or self.tip()
        if wanted is not None:
            self._mirror.fetch(f"refs/heads/{self._branch}" if self._branch else "HEAD", wanted)

    def tree(self, commit: str) -> Tree:
        """See ``Repository.tree``.

        A file whose content the repository itself lacks (a partial clone) has no size.
        """
        self._require([commit])
        listing = self._read("ls-tree", "-r", "-l", "-z", "--full-tree", commit)
        entries, unreadable = parse_tree(listing)
        self._allow_lacking(lacking(entries))
        marked = self._attributes(entries)
        return Tree(
            tuple(entries),
            unreadable,
            generated=frozenset(marked.get((_GENERATED, True), ())),
            vendored=frozenset(marked.get((_VENDORED, True), ())),
            not_generated=frozenset(marked.get((_GENERATED, False), ())),
            not_vendored=frozenset(marked.get((_VENDORED, False), ())),
        )

    def blobs(self, blobs: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        """See ``Repository.blobs``. A blob that is missing means a damaged mirror."""
        for name, content in self._objects(blobs):
            if content is None:
                raise self._without_mirror()
            yield name, content

    def commit_ids(self, include: Sequence[str], exclude: Sequence[str]) -> list[str]:
        """See ``Repository.commit_ids``: by date, but never a child before its parent."""
        self._require([*include, *exclude])
        if not include:
            return []
        asked = [*include, *(f"^{commit}" for commit in exclude)]
        stdin = "".join(f"{commit}\n" for commit in asked)
        listing = self._read("rev-list", "--date-order", "--reverse", "--stdin", stdin=stdin)
        return listing.decode("ascii").split()

    def commit_messages(self, commits: Sequence[str]) -> Iterator[CommitMessage]:
        """See ``Repository.commit_messages``; ``parse_commit`` says what is kept.

        Raises:
            UnknownCommit: one of them is not in the mirror.
        """
        for sha, raw in self._objects(commits):
            if raw is None:
                raise self._unknown(sha)
            yield parse_commit(sha, raw)

    def close(self) -> None:
        """See ``Repository.close``."""
        self._git.close()

    def _holds(self, commit: str) -> bool:
        try:
            self._require([commit])
        except (UnknownCommit, RepositoryBusy):
            return False
        return True

    def _require(self, commits: Sequence[str]) -> None:
        for commit in commits:
            if not _OBJECT_ID.fullmatch(commit) or not self._mirror.path.is_dir():
                raise self._unknown(commit)
            found = self._git.run(
                "cat-file", "-e", f"{commit}^{{commit}}", git_dir=self._mirror.path
            )
            if found.code != 0:
                error = self._git.error_of(found)
                if isinstance(error, MirrorDamaged):
                    raise self._without_mirror() from error
                raise error if isinstance(error, RepositoryBusy) else self._unknown(commit)

    def _read(
        self, *arguments: str, stdin: str = "", environment: Mapping[str, str] | None = None
    ) -> bytes:
        try:
            return self._git.output(
                *arguments,
                git_dir=self._mirror.path,
                stdin=stdin.encode("utf-8"),
                environment=environment,
            )
        except MirrorDamaged as damage:
            raise self._without_mirror() from damage

    def _objects(self, names: Sequence[str]) -> Iterator[tuple[str, bytes | None]]:
        for name in names:
            if not _OBJECT_ID.fullmatch(name):
                raise self._unknown(name)
        if not self._mirror.path.is_dir():
            yield from ((name, None) for name in names)
            return
        with contextlib.closing(self._git.objects(names, self._mirror.path)) as objects:
            try:
                yield from objects
            except MirrorDamaged as damage:
                raise self._without_mirror() from damage

    def _allow_lacking(self, blobs: set[str]) -> None:
        if not self._keep and not blobs <= self._mirror.lacks():
            if not self._mirror.fresh:
                raise self._without_mirror()
            self._mirror.remember_lacks(blobs)

    def _attributes(self, entries: Sequence[TreeEntry]) -> dict[tuple[str, bool], set[str]]:
        """What ``.gitattributes`` say, through an index that holds these files and no other."""
        files = attribute_files(entries)
        if not files:
            return {}
        listing = "".join(f"{file.mode} {file.blob}\t{file.path}\0" for file in files)
        paths = "".join(f"{entry.path}\0" for entry in entries if is_plain_file(entry))
        ask = ["check-attr", "--cached", "--stdin", "-z", _GENERATED, _VENDORED]
        with tempfile.TemporaryDirectory() as folder:
            index = {"GIT_INDEX_FILE": str(Path(folder) / "index")}
            self._read("update-index", "-z", "--index-info", stdin=listing, environment=index)
            return parse_attributes(self._read(*ask, stdin=paths, environment=index))

    def _unknown(self, commit: str) -> UnknownCommit:
        return UnknownCommit(
            f"{self._git.name}: its mirror does not hold {commit!r}. "
            "Fetch it; when the remote has dropped it, start from the tip's whole tree."
        )

    def _without_mirror(self) -> RepositoryUnreadable | RepositoryBusy:
        """Throw a damaged mirror away, unless it is fresh: then the damage is at the source."""
        if self._mirror.fresh:
            return self._mirror.hopeless()
        if not self._keep:
            self._mirror.discard()
        return RepositoryBusy(
            f"{self._git.name}: its mirror was damaged and is thrown away. "
            "Run the refresh again: it is cloned anew."
        )
