"""A shared refresh whose deployments are not there (spec 1.2)."""

from search.errors import HuginnError
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
