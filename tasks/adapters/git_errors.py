"""One table from what git says to what went wrong and what to do next (spec 5.5, 7.3).

Git's own text is matched, never passed on: a rewritten address or a server's message in it may
hold credentials. Where no row matches, git's last line is shown with every address taken out.
"""

import re
from dataclasses import dataclass

from tasks.adapters.git_process import PROTOCOLS, Finished
from tasks.errors import RepositoryBusy, RepositoryUnreadable


class MirrorDamaged(RepositoryUnreadable):
    """The mirror in the cache lacks objects or is no repository any more: clone it anew."""


@dataclass(frozen=True, slots=True)
class _Row:
    signs: str
    error: type[RepositoryUnreadable | RepositoryBusy]
    reason: str
    fix: str


_ROWS = (
    _Row(
        r"dubious ownership in repository at '(?P<path>[^'\n]*)'",
        RepositoryUnreadable,
        "{path} belongs to another user, so git refuses to read it",
        "If you trust it: git config --global --add safe.directory '{path}'",
    ),
    _Row(
        r"transport '[^'\n]*' not allowed|is not a git command|Unable to find remote helper",
        RepositoryUnreadable,
        f"only these ways to reach a repository are allowed: {PROTOCOLS.replace(':', ', ')}",
        "Change its url, or the url.….insteadOf in git's configuration that rewrites it.",
    ),
    _Row(
        r"Host key verification failed|REMOTE HOST IDENTIFICATION",
        RepositoryUnreadable,
        "the ssh key of its host is not known",
        "Check the host's key and add it to known_hosts of the user that runs huginn.",
    ),
    _Row(
        r"could not read (Username|Password)|terminal prompts disabled|Authentication failed"
        r"|Permission denied \(|Access denied|returned error: 40[13]|authentication failures",
        RepositoryUnreadable,
        "it asks for a login that was not given or not accepted",
        "Give git a credential helper or an ssh key that may read it; huginn never prompts.",
    ),
    _Row(
        r"SSL certificate|certificate verif|self.signed certificate",
        RepositoryUnreadable,
        "the TLS certificate of its host is not trusted",
        "Install the certificate's authority, or name it in git's http.sslCAInfo.",
    ),
    _Row(
        r"not our ref|couldn't find remote ref|no such remote ref",
        RepositoryBusy,
        "it changed while it was being read",
        "The next run reads the new state; if this comes back, run git fsck in it.",
    ),
    _Row(
        r"corruption on the remote side|remote: (fatal|error):.*(bad|corrupt|missing)",
        RepositoryUnreadable,
        "the repository itself is damaged, or a partial clone",
        "Run git fsck in it (git fetch --refetch in a partial clone) and try again.",
    ),
    _Row(
        r"No space left on device|Disk quota exceeded",
        RepositoryBusy,
        "there is no room left for its mirror",
        "Free some room in cache_dir, or move cache_dir.",
    ),
    _Row(
        r"Could not resolve|Connection (refused|timed out|reset|closed)|Failed to connect"
        r"|unable to connect|Couldn't connect|early EOF|RPC failed|hung up|unexpected disconnect"
        r"|Operation too slow|timed out|is unreachable|No route to host|Temporary failure"
        r"|returned error: (429|5\d\d)|unexpectedly closed|Empty reply|kex_exchange",
        RepositoryBusy,
        "its host could not be reached, or the connection broke",
        "Check its url and the network; the next run tries again.",
    ),
    _Row(
        r"does not appear to be a git repository|[Rr]epository .*not found|returned error: 404"
        r"|does not exist|not valid: is this a git repository|repository not exported",
        RepositoryUnreadable,
        "there is no repository, or none that this user may see",
        "Check its url; a folder must be the top of the repository.",
    ),
    _Row(
        r"Permission denied",
        RepositoryUnreadable,
        "this user may not read it",
        "Let the user that runs huginn read the folder.",
    ),
    _Row(
        r"not a git repository: |bad config|corrupt|bad (object|tree|signature)|unable to unpack"
        r"|inflate|is empty|cannot lock ref|\.lock': File exists|not send all necessary objects"
        r"|[Mm]issing (blob|tree|commit|necessary)|unable to read|packfile|unresolved delta"
        r"|ould not read [0-9a-f]{40}|Failed to traverse parents|not a tree object"
        r"|revision walk setup failed",
        MirrorDamaged,
        "its mirror in the cache is damaged",
        "Remove the mirror from cache_dir; the next run clones it anew.",
    ),
    _Row(
        r"Could not read from remote repository",
        RepositoryUnreadable,
        "its host refused to show it",
        "Check its url and the rights of the user that runs huginn.",
    ),
)


def error_of(
    finished: Finished, name: str, seconds: float
) -> RepositoryUnreadable | RepositoryBusy:
    """The error for a git that failed, about the repository ``name``."""
    if finished.code is None:
        return RepositoryBusy(
            f"{name}: git did not finish within {seconds:g} seconds. "
            "Check the network, or raise forge.git_timeout."
        )
    for row in _ROWS:
        if found := re.search(row.signs, finished.errors):
            values = {"path": shown(found.groupdict().get("path") or "")}
            return row.error(f"{name}: {row.reason.format(**values)}. {row.fix.format(**values)}")
    if finished.code < 0:
        return RepositoryBusy(
            f"{name}: git was stopped by signal {-finished.code}. Run the refresh again."
        )
    return RepositoryUnreadable(
        f"{name}: git ended with code {finished.code}{_last_words(finished.errors)}. "
        "Run git ls-remote on its url by hand to see more."
    )


def shown(address: str) -> str:
    """The address without user name, password or token."""
    return re.sub(r"^[^/@:]+@|(?<=://)[^/\s]*@", "", address)


def _last_words(errors: str) -> str:
    said = [line for line in errors.splitlines() if line.startswith(("fatal: ", "error: "))]
    if not said:
        return ""
    return ": " + re.sub(r"\S*(://|@)\S*", "…", said[-1].split(": ", 1)[1])[:200].rstrip(".")
