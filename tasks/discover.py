"""What a run has to do: which sources have news, which are no longer listed."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime

from search.errors import HuginnError
from search.ledger import RepoCursor
from search.listing import RepositorySettings
from search.settings import Settings
from tasks.adapters.git_places import identity
from tasks.adapters.repositories import GitRepository
from tasks.bootstrap import admission_version, open_store, rules_version
from tasks.context import Store
from tasks.lease import claimed
from tasks.repos import is_current
from tasks.settings import run_settings


@dataclass(frozen=True, slots=True)
class Discovered:
    """Names of repositories with news (or trouble), and ids of sources to be removed.

    ``unchanged`` are source ids whose freshness was noted and nothing else.
    """

    repositories: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    unlisted: tuple[str, ...] = ()

    @property
    def nothing_to_do(self) -> bool:
        """Whether a run would write nothing but freshness."""
        return not (self.repositories or self.unlisted)


def discover() -> Discovered:
    """Asks every listed repository for its tip (one ls-remote each) and notes who is fresh.

    A repository that cannot be asked counts as news: its own chain will say what is wrong.
    """
    settings, own_list = run_settings()
    with open_store(settings) as store:
        records = store.ledger.records()
        busy = claimed(store.ledger)
        fresh = [
            each
            for each in settings.repositories
            if each.source not in busy and _is_fresh(each, settings, store)
        ]
    listed = {each.source for each in settings.repositories}
    known = {source for source in records if source.startswith("repo:")}
    return Discovered(
        repositories=tuple(each.name for each in settings.repositories if each not in fresh),
        unchanged=tuple(each.source for each in fresh),
        unlisted=tuple(sorted(known - listed)) if own_list else (),
    )


def _is_fresh(listed: RepositorySettings, settings: Settings, store: Store) -> bool:
    record = store.ledger.record(listed.source)
    repository = GitRepository(listed, settings.cache_dir / "mirrors", settings.forge)
    try:
        tip = repository.tip()
    except HuginnError:
        return False
    finally:
        repository.close()
    rules, admission = rules_version(settings), admission_version(settings, listed)
    same_source = (record.identity, record.label) == (identity(listed), listed.label)
    still_empty = tip is None and record.state == "current" and record.cursor == RepoCursor()
    held = tip is not None and is_current(record, tip, rules, admission)
    if not same_source or not (still_empty or held):
        return False
    with store.idle(listed.source) as idle:
        latest = store.ledger.record(listed.source)
        if not idle or latest.cursor != record.cursor:  # A run has begun in the meantime.
            return False
        now = datetime.now(UTC)
        store.ledger.put(
            replace(latest, state="current", reason=None, last_attempt=now, last_success=now)
        )
    return True
