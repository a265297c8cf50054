"""A shared refresh whose deployments are not there (spec 1.2)."""

from uuid import uuid4

from search.errors import HuginnError
from tasks import runs
from tests.support.community import Community


def test_a_shared_refresh_without_its_deployments_says_what_to_run(community: Community) -> None:
    from flows.refresh import refresh

    community.repository("one").commit({"a.md": "Words.\n"})
    with community.configured():
        state = refresh(corpus="forge", fan_out=True, return_state=True)
    assert state.is_failed()
    told = ""
    try:
        state.result()
    except HuginnError as error:
        told = str(error)
    assert "no deployment refresh-repo/refresh-repo" in told
    assert "prefect deploy --all" in told
    assert community.passages() == {}


def test_nothing_is_known_of_runs_while_prefects_api_does_not_answer() -> None:
    from prefect.settings import PREFECT_API_URL, temporary_settings

    with temporary_settings({PREFECT_API_URL: "http://127.0.0.1:9/api"}):
        assert runs.look([uuid4()]) is None


def test_a_run_that_prefect_no_longer_knows_counts_as_crashed(prefect_api: str) -> None:
    gone = uuid4()
    assert runs.look([gone]) == {gone: runs.Run("CRASHED")}
