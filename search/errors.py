"""Errors of both sides: transient ones may be retried, permanent ones need a person.

The message always ends with what to do next. Data stands in attributes, so that callers need
not read the text. No message carries a secret or what people wrote (spec 7.3).
"""


class HuginnError(Exception):
    """Base of everything that Huginn raises on purpose."""


class TransientError(HuginnError):
    """The same call may succeed later: a time-out, a refused connection, a busy server."""


class PermanentError(HuginnError):
    """Trying again without a change gives the same answer."""


class UsageError(PermanentError):
    """The caller's input is off; ``field`` names what to change (exit code 2, spec 6.5)."""

    def __init__(self, field: str, reason: str, fix: str) -> None:
        super().__init__(f"{field}: {reason}. {fix}")
        self.field = field
        self.reason = reason
        self.fix = fix


class SettingsError(UsageError):
    """A setting is off; nothing was touched (spec 1.5)."""


class ServerUnavailable(TransientError):
    """Weaviate cannot be reached or does not answer in time."""


class ServerRefused(PermanentError):
    """Weaviate answered with a refusal: a wrong key, a read-only key, a schema it will not take."""


class CollectionMissing(PermanentError):
    """There is no collection to look things up in: nothing was ingested yet."""


class CollectionMismatch(PermanentError):
    """The collection was made with another model, schema or text analysis (spec 2.5)."""
