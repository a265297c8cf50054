"""Errors of the write side. Their messages end with what to do next."""

from collections.abc import Sequence

from search.errors import PermanentError, TransientError


class RepositoryUnreadable(PermanentError):
    """A repository that cannot be read: nothing of it is changed (spec 2.7)."""


class RepositoryBusy(TransientError):
    """A repository that did not answer in time or whose connection broke: may work later."""


class UnknownCommit(PermanentError):
    """A commit that the mirror does not hold (pruned after a force-push, or never fetched)."""


class WritesNotAcknowledged(TransientError):
    """The store did not confirm every planned write or delete; the cursor stays (spec 2.3)."""

    def __init__(self, source: str, doing: str, *, planned: int, acknowledged: int) -> None:
        super().__init__(
            f"{source}: Weaviate confirmed {acknowledged} of {planned} {doing}. The cursor stays; "
            "run `huginn refresh` again."
        )
        self.source = source
        self.doing = doing
        self.planned = planned
        self.acknowledged = acknowledged


class CursorMoved(TransientError):
    """Another run moved the cursor in the meantime; this step's commit is dropped."""

    def __init__(self, source: str) -> None:
        super().__init__(
            f"{source}: another run moved the cursor in the meantime. What this one wrote is kept; "
            "run `huginn refresh` again when the other has ended."
        )
        self.source = source


class TooManyDeletes(PermanentError):
    """A run would delete most of a source and was not told to (spec 2.7)."""

    def __init__(
        self, source: str, deletes: int, stored: int, *, command: str = "huginn refresh"
    ) -> None:
        super().__init__(
            f"{source}: this run would delete {deletes} of {stored} passages; nothing was "
            f"deleted. If that is right, run `{command} --allow-mass-delete`."
        )
        self.source = source
        self.deletes = deletes
        self.stored = stored


class NameClash(PermanentError):
    """Two different repositories under one name (spec 1.5)."""


class SourceNotListed(PermanentError):
    """A source was named that the settings do not list."""

    def __init__(self, source: str) -> None:
        super().__init__(
            f"{source} is not listed. `huginn sources list` shows what is, `huginn sources add` "
            "adds to it."
        )
        self.source = source


class NoRunBegun(PermanentError):
    """A step was asked for before its run had noted a target."""

    def __init__(self, source: str) -> None:
        super().__init__(f"{source}: no run has begun. Run `huginn refresh`.")
        self.source = source


class Unexpected(PermanentError):
    """A bug: some other error, known by its kind only, since its text may quote anything."""

    def __init__(self, kind: str) -> None:
        super().__init__(f"{kind}: a bug. Please report it with the run's log, which says where.")
        self.kind = kind


class SettingsChanged(PermanentError):
    """The settings changed in the middle of a run: it ends, and the next one starts over."""

    def __init__(self, source: str) -> None:
        super().__init__(
            f"{source}: its settings changed during the run. Run `huginn refresh` again."
        )
        self.source = source


class LeaseLost(TransientError):
    """This run was out of touch for so long that another may have taken the source over."""

    def __init__(self, source: str) -> None:
        super().__init__(
            f"{source}: this run was out of touch for too long, and another may be at work on it. "
            "It does no more; the next `huginn refresh` looks at all of the source."
        )
        self.source = source


class SourceBusy(TransientError):
    """Another run has been at work on the source for very long."""

    def __init__(self, source: str) -> None:
        super().__init__(
            f"{source}: another run is still at work on it. Wait for it, or end it, and run "
            "`huginn refresh` again."
        )
        self.source = source


class HomeserverUnreachable(TransientError):
    """The homeserver did not answer, or asks to be left alone for now: it may answer later.

    ``wait`` is how many seconds it asks to be left alone, None when it does not say.
    """

    def __init__(self, message: str, *, wait: float | None = None) -> None:
        super().__init__(message)
        self.wait = wait


class HomeserverRefused(PermanentError):
    """The homeserver answered with a refusal, or what answered is no Matrix homeserver.

    ``status`` is the HTTP status, ``code`` the Matrix error code (``M_FORBIDDEN``) or "".
    """

    def __init__(self, message: str, *, status: int = 0, code: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.code = code


class RoomRefused(PermanentError):
    """A room that may not be read (spec 3); what is held of it goes. ``reason`` is a short code.

    ``lasting``: an event of the past says so, and nothing new in the room can change that.
    """

    def __init__(self, source: str, reason: str, *, lasting: bool = False) -> None:
        super().__init__(
            f"{source}: not read: {reason}. What was held of it is removed; "
            "`huginn doctor matrix` says what to change if it should be read."
        )
        self.source = source
        self.reason = reason
        self.lasting = lasting


class RoomUnchecked(TransientError):
    """Whether a room may be read cannot be told: it is not read this time (spec 3.3)."""

    def __init__(self, source: str, reason: str) -> None:
        super().__init__(
            f"{source}: not read this time: {reason}. What is held of it stays; "
            "run `huginn refresh` again."
        )
        self.source = source


class RoomUnreadable(TransientError):
    """A room of which the homeserver gives no event: nothing of it is changed (spec 2.7)."""

    def __init__(self, source: str) -> None:
        super().__init__(
            f"{source}: the homeserver gives no event at all, not even of the room's making. "
            "Nothing was deleted. Run `huginn refresh` again; `huginn doctor matrix` tells more."
        )
        self.source = source


class OtherReader(PermanentError):
    """The ledger holds rooms of another reader or homeserver: nothing is changed (spec 3.5)."""

    def __init__(self, held: str, now: str) -> None:
        super().__init__(
            f"The collection holds the rooms of {held}, but the settings read {now}. Nothing was "
            "changed. Mend matrix.homeserver, matrix.user or the token, or set "
            "weaviate.collection to another name."
        )
        self.held = held
        self.now = now


class WrongReader(PermanentError):
    """The token is another user's than the settings say: nothing is changed (spec 3.5)."""

    def __init__(self, told: str, expected: str) -> None:
        super().__init__(
            f"The access token is {told}'s, but matrix.user says {expected}. Nothing was changed. "
            "Put the reader's own token in place, or mend matrix.user."
        )


class ChatNotSet(PermanentError):
    """Rooms are held, but the settings name no homeserver to keep them up to date from."""

    def __init__(self) -> None:
        super().__init__(
            "matrix.homeserver is not set, so its rooms cannot be read. Nothing was changed. Set "
            "it, or remove what is held with `huginn chat-purge --room ROOM`."
        )


class NoRebuild(PermanentError):
    """There is none to be cancelled."""

    def __init__(self) -> None:
        super().__init__("No rebuild stands. `huginn rebuild` begins one.")


class RebuildWaits(PermanentError):
    """The new collection lacks what look-ups find in the old one, which therefore stays."""

    def __init__(self, sources: Sequence[str]) -> None:
        super().__init__(
            f"The rebuild waits for {', '.join(sources)}: look-ups go on in the old collection. "
            "Mend what keeps them from being read, or take them off the list, and run "
            "`huginn refresh`; `huginn rebuild --cancel` gives it up."
        )
        self.sources = tuple(sources)


class NeverRead(PermanentError):
    """Nothing of the source is held, for no run has read it yet: there is nothing to verify."""

    def __init__(self, source: str) -> None:
        super().__init__(f"{source}: no run has read it yet. Run `huginn refresh`.")
        self.source = source


class StillMoving(TransientError):
    """A source that changed again and again while it was verified: nothing can be said of it."""

    def __init__(self, source: str) -> None:
        super().__init__(
            f"{source}: it changed again and again meanwhile, so it could not be compared. "
            "Run `huginn verify` again when it is quieter."
        )
        self.source = source


class RangeUnfinished(PermanentError):
    """Of the time that a backfill was to add to a room some is held, and nobody says which."""

    def __init__(self, source: str) -> None:
        super().__init__(
            f"{source}: a backfill of a range of time was cut short, so what should be held is not "
            "known. Run that `huginn backfill` again, then `huginn verify`."
        )
        self.source = source


class DiskTooFull(PermanentError):
    """There is too little room for an ingest; nothing of the step was written."""

    def __init__(self, setting: str, folder: str, free: int, floor: int) -> None:
        super().__init__(
            f"{setting}: the disk of {folder} has {free:,} bytes free, and {floor:,} have to be "
            "(min_free_bytes, or the point at which Weaviate turns read-only). Free some, and run "
            "`huginn refresh` again: it goes on where it was. Look-ups go on."
        )
        self.free, self.floor = free, floor
