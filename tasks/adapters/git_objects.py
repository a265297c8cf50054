"""What git prints and stores, as plain data: trees, attributes, commits, the refs of a remote."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from tasks.ports import CommitMessage, TreeEntry

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LAST_SECOND = int((datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC) - _EPOCH).total_seconds())
_BRANCHES = "refs/heads/"
_SUBMODULE = "160000"
_FILE_MODES = ("100644", "100755", "100664")
_SECONDS = re.compile(rb"> *(-?\d{1,30})(?: [^>]*)?$")
_ADDRESS = re.compile(r"^([^\s@]+)@[^\s@]+$")
_SLOW_OR_NO_CHARSETS = {"idna", "punycode", "undefined", "unicode_escape", "raw_unicode_escape"}


@dataclass(frozen=True, slots=True)
class Refs:
    """What a remote offers; ``head`` is None when it dangles, ``empty`` means no ref at all."""

    head: str | None
    branches: dict[str, str]
    empty: bool


def parse_refs(listing: bytes) -> Refs:
    """Read ``git ls-remote --symref``."""
    commits: dict[str, str] = {}
    empty = True
    for line in listing.decode("utf-8", "surrogateescape").split("\n"):
        value, _, name = line.partition("\t")
        empty = empty and not name
        if name and not value.startswith("ref: "):
            commits[name] = value
    branches = {
        name.removeprefix(_BRANCHES): commit
        for name, commit in commits.items()
        if name.startswith(_BRANCHES)
    }
    return Refs(commits.get("HEAD"), branches, empty)


def parse_tree(listing: bytes) -> tuple[list[TreeEntry], int]:
    """Read ``git ls-tree -r -l -z``: the entries by path, and how many had no UTF-8 name."""
    entries = []
    unreadable = 0
    for record in filter(None, listing.split(b"\0")):
        facts, _, raw_path = record.partition(b"\t")
        mode, _, blob, size = facts.decode("ascii").split()  # size: "-" no blob, "BAD" no content
        try:
            path = raw_path.decode("utf-8")
        except UnicodeDecodeError:
            unreadable += 1
            continue
        entries.append(TreeEntry(path, mode, blob, int(size) if size.isdigit() else None))
    return sorted(entries, key=lambda entry: entry.path), unreadable


def lacking(entries: Iterable[TreeEntry]) -> set[str]:
    """The blobs whose content the object store does not have."""
    return {entry.blob for entry in entries if entry.size is None and entry.mode != _SUBMODULE}


def attribute_files(entries: Iterable[TreeEntry]) -> list[TreeEntry]:
    """The ``.gitattributes`` files among the entries."""
    return [
        entry
        for entry in entries
        if entry.path.rpartition("/")[2] == ".gitattributes"
        and is_plain_file(entry)
        and entry.size is not None
    ]


def is_plain_file(entry: TreeEntry) -> bool:
    """Whether git would take the entry for a file of the work tree: no link, no odd path."""
    parts = entry.path.casefold().split("/")
    return entry.mode in _FILE_MODES and not {"", ".", "..", ".git"}.intersection(parts)


def parse_attributes(listing: bytes) -> dict[tuple[str, bool], set[str]]:
    """Read ``git check-attr -z``: attribute and what it says to the paths, as linguist counts it.

    Set, or any value but ``false``, means yes; unset (``-name``) or ``false`` means no.
    """
    marked: dict[tuple[str, bool], set[str]] = {}
    fields = listing.split(b"\0")
    for path, attribute, value in zip(fields[::3], fields[1::3], fields[2::3], strict=False):
        if value != b"unspecified":
            said = value not in (b"unset", b"false")
            marked.setdefault((attribute.decode(), said), set()).add(path.decode())
    return marked


def parse_commit(sha: str, raw: bytes) -> CommitMessage:
    """Read a commit object.

    The author is the name without the e-mail address; of a name that is itself an address only
    the part before the ``@`` is kept. The time is the author's, else the committer's, else the
    epoch; a time before 1970 or after 9999 is moved to the nearest end. Text that does not fit
    the commit's encoding (UTF-8 unless it names another) gets replacement characters.
    """
    head, _, body = raw.partition(b"\n\n")
    fields: dict[bytes, bytes] = {}
    parents = 0
    for line in head.split(b"\n"):
        key, _, value = line.partition(b" ")
        if key == b"parent":
            parents += 1
        elif key:
            fields.setdefault(key, value)
    charset = fields.get(b"encoding", b"utf-8").decode("ascii", "replace").strip()
    author, committer = fields.get(b"author", b""), fields.get(b"committer", b"")
    name = _text(author.partition(b"<")[0], charset).strip()
    address = _ADDRESS.match(name)
    times = (_SECONDS.search(author), _SECONDS.search(committer))
    seconds = next((int(found[1]) for found in times if found), 0)
    return CommitMessage(
        sha=sha,
        author=address[1] if address else name,
        authored_at=_EPOCH + timedelta(seconds=min(max(seconds, 0), _LAST_SECOND)),
        message=_text(body, charset),
        parents=parents,
    )


def _text(raw: bytes, charset: str) -> str:
    if charset.lower().replace("-", "_") in _SLOW_OR_NO_CHARSETS:
        charset = "utf-8"
    try:
        text = raw.decode(charset, "replace")
    except (LookupError, ValueError):
        text = raw.decode("utf-8", "replace")
    return text.encode("utf-8", "replace").decode("utf-8")  # some charsets let half characters by
