"""Links to a forge's web pages for what was read from its git remote (spec 6.4).

Pure text work: nothing is asked over the network. The kind of forge is told by the host's name
(github.com, any name with ``gitlab``, codeberg.org and names with ``forgejo`` or ``gitea``); for
another host it must be given. Without a known kind there is no link, never a guessed one.
"""

import re
from dataclasses import dataclass
from typing import Final, Literal
from urllib.parse import quote, unquote, urlsplit

Forge = Literal["github", "gitlab", "forgejo"]

_SCP = re.compile(r"^(?:[^@/]+@)?([A-Za-z0-9][A-Za-z0-9.-]+):(?!//)(.+)$")
_COMMIT = re.compile(r"[0-9a-f]{7,64}")
_SSH_HOSTS: Final = {"ssh.github.com": "github.com", "altssh.gitlab.com": "gitlab.com"}
_RENDERED: Final = (".md", ".markdown", ".mdx", ".rst", ".adoc", ".asciidoc", ".org", ".ipynb")
"""Endings that forges show as pages; lines can be linked only in their plain view."""


@dataclass(frozen=True, slots=True)
class _Project:
    forge: Forge
    base: str

    def lines(self, commit: str, path: str, first: int, last: int) -> str:
        rendered = path.lower().endswith(_RENDERED)
        span = f"L{first}" if first == last else f"L{first}-L{last}"
        if self.forge == "github":
            plain = "?plain=1" if rendered else ""
            return f"{self.base}/blob/{commit}/{quote(path)}{plain}#{span}"
        if self.forge == "gitlab":
            plain = "?plain=1" if rendered else ""
            return f"{self.base}/-/blob/{commit}/{quote(path)}{plain}#{span.replace('-L', '-')}"
        plain = "?display=source" if rendered else ""
        return f"{self.base}/src/commit/{commit}/{quote(path)}{plain}#{span}"

    def commit(self, commit: str) -> str:
        return f"{self.base}{'/-' if self.forge == 'gitlab' else ''}/commit/{commit}"


def permalink(
    remote: str | None, commit: str, path: str, first: int, last: int, *, forge: Forge | None = None
) -> str | None:
    """The page that shows lines ``first`` to ``last`` (1-based, inclusive) of a file at a commit.

    ``remote`` is an address as git takes it: https, ssh or ``user@host:path``; a user name or token
    in it never reaches the link. ``forge`` overrides what the host's name tells. None for a folder,
    an unknown host or a remote that names no project.
    """
    project = _project(remote, forge)
    if project is None or not _COMMIT.fullmatch(commit) or not path or not 1 <= first <= last:
        return None
    return project.lines(commit, path, first, last)


def commit_link(remote: str | None, commit: str, *, forge: Forge | None = None) -> str | None:
    """The page that shows a commit; None where ``permalink`` gives None."""
    project = _project(remote, forge)
    if project is None or not _COMMIT.fullmatch(commit):
        return None
    return project.commit(commit)


def _project(remote: str | None, forge: Forge | None) -> _Project | None:
    origin = _origin(remote.strip()) if remote else None
    if origin is None:
        return None
    site, host, path = origin
    kind = forge or _kind_of(host)
    names = [unquote(name) for name in path.strip("/").removesuffix(".git").split("/")]
    bad = len(names) < 2 or not {"", ".", ".."}.isdisjoint(names)  # noqa: PLR2004  # owner, project
    if kind is None or bad:
        return None
    return _Project(kind, "/".join([site, *(quote(name, safe="") for name in names)]))


def _origin(remote: str) -> tuple[str, str, str] | None:
    """The web site (scheme, host, web port), the host alone, and the path; None for a folder."""
    try:
        parts = urlsplit(remote)
        host, port = (parts.hostname or "").lower(), parts.port
    except ValueError:
        return None
    if not re.match(r"^[A-Za-z0-9+.-]+://", remote):
        scp = _SCP.match(remote)
        return _at("https", scp[1].lower(), None, scp[2]) if scp else None
    if not host or parts.scheme not in {"https", "http", "ssh", "git", "git+ssh"}:
        return None
    web = parts.scheme in {"https", "http"}
    return _at(parts.scheme if web else "https", host, port if web else None, parts.path)


def _at(scheme: str, host: str, port: int | None, path: str) -> tuple[str, str, str]:
    host = _SSH_HOSTS.get(host, host)
    shown = f"[{host}]" if ":" in host else host
    return f"{scheme}://{shown}{f':{port}' if port else ''}", host, path


def _kind_of(host: str) -> Forge | None:
    if host in {"github.com", "www.github.com"}:
        return "github"
    if "gitlab" in host:
        return "gitlab"
    if host == "codeberg.org" or "forgejo" in host or "gitea" in host:
        return "forgejo"
    return None
