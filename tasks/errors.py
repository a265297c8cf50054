"""Errors of the write side. Their messages end with what to do next."""

from search.errors import PermanentError, TransientError


class RepositoryUnreadable(PermanentError):
    """A repository that cannot be read: nothing of it is changed (spec 2.7)."""


class RepositoryBusy(TransientError):
    """A repository that did not answer in time or whose connection broke: may work later."""


class UnknownCommit(PermanentError):
    """A commit that the mirror does not hold (pruned after a force-push, or never fetched)."""
