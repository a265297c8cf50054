"""Runs ``verify`` from the command line, on this machine."""

from flows.display import displayed
from flows.findings import SourcesDiffer, report
from flows.running import FAILED, prefect_told, quieten
from tasks.verify import sources_named


def run_verify(source: str | None, *, repair: bool, allow_mass_delete: bool, as_json: bool) -> int:
    """``huginn verify``: 0 when nothing differs, else 1."""
    with displayed():
        sources_named(source)  # refused before Prefect starts anything
    quieten()
    from flows.verify import verify

    try:
        with displayed(), prefect_told():
            findings = verify(source, repair=repair, allow_mass_delete=allow_mass_delete)
    except SourcesDiffer as error:
        report(error.findings, as_json=as_json)
        return FAILED
    report(findings, as_json=as_json)
    return 0
