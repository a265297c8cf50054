"""The Prefect tasks of ``verify``: thin wrappers; their parameters are ids and flags."""

from tasks import removal, verify, verify_survey
from tasks.bootstrap import open_store
from tasks.domain.verification import Finding
from tasks.runtime import effect
from tasks.settings import run_settings


@effect("sources")
def sources_named(source: str | None) -> list[str]:
    """Ids of the sources to verify."""
    return verify.sources_named(source)


@effect("live-model")
def live_model() -> str:
    """The model of the live collection, "" for the one of the settings."""
    return verify.live_model()


@effect("verify:{source}")
def verify_source(source: str, *, mend: bool, allow_mass_delete: bool) -> Finding:
    """Derives a source anew and compares; with ``mend`` what differs is deleted."""
    return verify.verified(source, mend=mend, allow_mass_delete=allow_mass_delete)


@effect("survey")
def survey_collection() -> list[Finding]:
    """What is held of no known source, and what no question finds."""
    return verify_survey.surveyed()


@effect("expunge:{source}")
def expunge_hidden(source: str) -> None:
    """Deletes what is held of a source and never found."""
    verify_survey.expunge_hidden(source)


@effect("remove-orphan:{source}")
def remove_orphan(source: str) -> None:
    """Deletes what is held of a source that the ledger does not know."""
    settings, _ = run_settings()
    with open_store(settings) as store:
        if source not in store.ledger.records():  # a run may have begun to read it just now
            removal.remove(store, source)
