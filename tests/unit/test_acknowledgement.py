"""Only what the store confirmed may move a cursor (spec 1.2, 2.3)."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from search.errors import TransientError
from search.ledger import RepoCursor
from tasks.domain.acknowledgement import Acknowledgement, Confirmation, Counts
from tasks.errors import WritesNotAcknowledged

IDS = st.frozensets(st.sampled_from("abcd"))
NOTHING = Confirmation()
BEFORE, AFTER = RepoCursor("old", targets=("new",)), RepoCursor("new")


def acknowledgement(
    upserts: Confirmation = NOTHING, deletes: Confirmation = NOTHING
) -> Acknowledgement:
    return Acknowledgement("repo:one", BEFORE, AFTER, upserts, deletes)


@settings(deadline=None)
@given(IDS, IDS, IDS, IDS)
def test_it_can_be_built_exactly_when_all_that_was_planned_was_confirmed(
    planned: frozenset[str],
    acknowledged: frozenset[str],
    doomed: frozenset[str],
    gone: frozenset[str],
) -> None:
    upserts, deletes = Confirmation(planned, acknowledged), Confirmation(doomed, gone)
    if planned == acknowledged and doomed == gone:
        assert acknowledgement(upserts, deletes).after == AFTER
    else:
        with pytest.raises(WritesNotAcknowledged):
            acknowledgement(upserts, deletes)


@pytest.mark.parametrize("doing", ["upserts", "deletes"])
@pytest.mark.parametrize(
    ("planned", "acknowledged"),
    [("abc", "ab"), ("abc", ""), ("ab", "abc"), ("ab", "cd"), ("", "a")],
    ids=["one-lost", "all-lost", "one-too-many", "others", "nothing-planned"],
)
def test_a_difference_is_refused_on_either_side(
    doing: str, planned: str, acknowledged: str
) -> None:
    with pytest.raises(WritesNotAcknowledged) as refused:
        acknowledgement(**{doing: Confirmation.of(planned, acknowledged)})
    assert refused.value.doing == doing
    assert refused.value.source == "repo:one"
    assert refused.value.planned == len(planned)
    assert refused.value.acknowledged == len(set(planned) & set(acknowledged))


def test_a_lack_of_confirmation_may_be_tried_again() -> None:
    assert issubclass(WritesNotAcknowledged, TransientError)


def test_nothing_to_write_is_confirmed_by_nothing() -> None:
    assert acknowledgement().finished


def test_ids_confirmed_twice_or_in_another_order_are_confirmed() -> None:
    assert acknowledgement(Confirmation.of(["a", "b"], ["b", "a", "b"]))


def test_a_source_is_finished_when_no_target_is_left() -> None:
    confirmed = Confirmation.of("a", "a")
    assert Acknowledgement("repo:one", BEFORE, AFTER, confirmed).finished
    assert not Acknowledgement("repo:one", BEFORE, BEFORE, confirmed).finished


def test_counts_add_up_field_by_field() -> None:
    one = Counts(1, 2, 3, 4, 5, 6, 7, 8, {"binary": 1, "vendored": 2}, {"github": 1})
    other = Counts(10, 20, 30, 40, 50, 60, 70, 80, {"binary": 1, "too large": 1}, {})
    assert one + other == Counts(
        *(11, 22, 33, 44, 55, 66, 77, 88),
        {"binary": 2, "too large": 1, "vendored": 2},
        {"github": 1},
    )
    assert one + Counts() == one
    assert (Counts(indexed=2) + Counts(indexed=3)).indexed == 5
