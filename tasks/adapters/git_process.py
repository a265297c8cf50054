"""Runs git: never a prompt, a transport helper or a hook, and never without an end (spec 5.1).

GitPython's ``Git.execute`` starts the processes; its own time-out, decoding and quoting are not
used (docs/decisions/0003). Each git leads a session of its own: without a terminal neither git
nor ssh can ask anybody, and the whole group can be stopped, helpers included.
"""

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from git.cmd import Git

PROTOCOLS = "file:git:http:https:ssh"
_GRACE = 5.0
_LOW_SPEED = (1000, 60)  # bytes a second, and seconds below that until a download is given up

_CONFIG = {
    # What a user's or a machine's own configuration must not change.
    "core.hooksPath": os.devnull,
    "core.attributesFile": os.devnull,
    "core.fsmonitor": "false",
    "core.splitIndex": "false",
    "core.protectNTFS": "false",
    "core.protectHFS": "false",
    "credential.interactive": "false",
    "http.lowSpeedLimit": str(_LOW_SPEED[0]),
    "http.lowSpeedTime": str(_LOW_SPEED[1]),
    # A cursor's commit may be reachable from no ref any more: tidy up in place, drop nothing.
    "gc.autoDetach": "false",
    "gc.pruneExpire": "never",
    "gc.cruftPacks": "true",
}
_ENVIRONMENT = {
    "GIT_ALLOW_PROTOCOL": PROTOCOLS,
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "",
    "SSH_ASKPASS_REQUIRE": "never",
    "GCM_INTERACTIVE": "never",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_ATTR_NOSYSTEM": "1",
}
# Set while git runs a hook: from within one, they would turn our commands to that repository.
_INHERITED = (
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_DIR",
    "GIT_GRAFT_FILE",
    "GIT_INDEX_FILE",
    "GIT_NAMESPACE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_QUARANTINE_PATH",
    "GIT_SHALLOW_FILE",
    "GIT_WORK_TREE",
)


@dataclass(frozen=True, slots=True)
class Finished:
    """What a git left behind. ``code`` is None when it was stopped for taking too long.

    ``errors`` is git's own text: it may hold credentials, so it is only ever matched against
    the table in ``git_errors``, never shown as it is.
    """

    code: int | None
    output: bytes
    errors: str


def start(
    arguments: Sequence[str], *, git_dir: Path | None = None, environment: Mapping[str, str]
) -> Git.AutoInterrupt:
    """Start git with pipes on all three streams; whoever starts one must ``stop`` it."""
    dropped = [name for name in _INHERITED if name in os.environ and name not in environment]
    command = [part for name in dropped for part in ("-u", name)]
    command = ["env", *command] if command else []
    command.append(Git.GIT_PYTHON_GIT_EXECUTABLE or "git")
    for name, value in _CONFIG.items():
        command += ["-c", f"{name}={value}"]
    if git_dir is not None:
        command.append(f"--git-dir={git_dir}")
    return Git("/").execute(
        [*command, *arguments],
        as_process=True,
        istream=subprocess.PIPE,
        env={**_ENVIRONMENT, **environment},
        start_new_session=True,
    )


def run(
    arguments: Sequence[str],
    *,
    timeout: float,
    git_dir: Path | None = None,
    stdin: bytes = b"",
    environment: Mapping[str, str],
) -> Finished:
    """Run git to its end, at most ``timeout`` seconds."""
    process = start(arguments, git_dir=git_dir, environment=environment)
    try:
        output, errors = process.communicate(stdin, timeout=timeout)
    except subprocess.TimeoutExpired:
        return Finished(None, b"", "")
    finally:
        stop(process)
    return Finished(process.poll(), output, errors.decode("utf-8", "replace"))


def stop(process: Git.AutoInterrupt) -> None:
    """End a git and its helpers if they still run, and close its pipes; may be called twice."""
    popen = process.proc
    if popen is None:
        return
    for number in (signal.SIGTERM, signal.SIGKILL):
        if popen.poll() is not None:
            break
        with contextlib.suppress(ProcessLookupError):
            os.killpg(popen.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            popen.wait(_GRACE)
    for stream in (popen.stdin, popen.stdout, popen.stderr):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()
