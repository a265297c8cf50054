"""Reciprocal rank fusion (spec 6.2)."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from search.fusion import K, reciprocal_rank_fusion

RANKING = st.lists(st.sampled_from("abcdefgh"), max_size=8, unique=True)
RANKINGS = st.lists(RANKING, max_size=8)


def ids(rankings: list[list[str]]) -> list[str]:
    return [identifier for identifier, _ in reciprocal_rank_fusion(rankings)]


@settings(deadline=None)
@given(st.data())
def test_the_order_of_the_rankings_does_not_matter(data: st.DataObject) -> None:
    rankings = data.draw(RANKINGS)
    shuffled = data.draw(st.permutations(rankings))
    assert reciprocal_rank_fusion(shuffled) == reciprocal_rank_fusion(rankings)


@settings(deadline=None)
@given(RANKINGS)
def test_the_score_is_the_sum_of_one_over_k_plus_rank_with_ranks_from_one(
    rankings: list[list[str]],
) -> None:
    for identifier, score in reciprocal_rank_fusion(rankings):
        ranks = [r.index(identifier) + 1 for r in rankings if identifier in r]
        assert score == pytest.approx(sum(1 / (60 + rank) for rank in ranks), rel=1e-12)


@settings(deadline=None)
@given(RANKINGS)
def test_every_id_of_any_ranking_comes_out_once(rankings: list[list[str]]) -> None:
    fused = ids(rankings)
    assert sorted(fused) == sorted({identifier for r in rankings for identifier in r})


@settings(deadline=None)
@given(RANKINGS)
def test_equal_scores_go_by_id_and_higher_scores_come_first(rankings: list[list[str]]) -> None:
    fused = reciprocal_rank_fusion(rankings)
    assert fused == sorted(fused, key=lambda item: (-item[1], item[0]))


@settings(deadline=None)
@given(RANKING)
def test_one_ranking_keeps_its_plain_order(ranking: list[str]) -> None:
    assert ids([ranking]) == ranking


def test_the_first_place_of_one_ranking_is_worth_one_over_sixty_one() -> None:
    assert K == 60
    assert reciprocal_rank_fusion([["a"]]) == [("a", 1 / 61)]


def test_first_in_two_lists_outranks_first_in_one() -> None:
    assert ids([["a", "x"], ["a", "y"], ["b", "z"]])[0] == "a"


def test_a_tie_goes_by_id_whichever_ranking_named_it_first() -> None:
    assert ids([["b"], ["a"]]) == ["a", "b"]


def test_an_id_twice_in_one_ranking_counts_once_at_its_best_rank() -> None:
    assert reciprocal_rank_fusion([["a", "b", "a"]]) == [("a", 1 / 61), ("b", 1 / 62)]


def test_sums_of_the_same_ranks_are_equal_to_the_last_bit() -> None:
    ranks = (1, 2, 8)  # as floats, 1/61 + 1/62 + 1/68 depends on the order of adding

    def ranking(identifier: str, rank: int) -> list[str]:
        return [*(f"{identifier}{rank}-{n}" for n in range(1, rank)), identifier]

    forwards = [ranking("b", rank) for rank in ranks]
    backwards = [ranking("a", rank) for rank in reversed(ranks)]
    scores = dict(reciprocal_rank_fusion(forwards + backwards))
    assert scores["a"] == scores["b"]


def test_nothing_fuses_to_nothing() -> None:
    assert reciprocal_rank_fusion([]) == []
    assert reciprocal_rank_fusion([[], []]) == []
