"""A process of its own that uses the embedded server: what a user's command or service does.

``python -m tests.support.embedded_child ACTION DATA_FOLDER BINARY [START_TIMEOUT]``
"""

import sys
from pathlib import Path

from search import embedded
from search.errors import HuginnError
from tests.support.weaviate_server import settings_in


def main(action: str, folder: str, binary: str, start_timeout: str = "120") -> None:
    settings = settings_in(Path(folder), Path(binary), start_timeout=float(start_timeout))
    try:
        if action == "foreground":
            embedded.run_foreground(settings, _say)
            _say("ended in order")
        else:
            server = embedded.ensure_running(settings, _say)
            _say(f"server {server.pid} {server.http_port}")
            if action == "stay":
                sys.stdin.read()
    except HuginnError as error:
        _say(f"{type(error).__name__}: {error}")
        sys.exit(1)


def _say(line: str) -> None:
    print(line, flush=True)  # noqa: T201  # the parent reads it


if __name__ == "__main__":
    main(*sys.argv[1:])
