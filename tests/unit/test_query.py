"""What may be asked, and what a refusal names (spec 6.1, 6.3)."""

import unicodedata
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from search.errors import UsageError
from search.query import MAX_TEXT_BYTES, MAX_TEXTS, OVER_FETCH, Query, query

LINE = st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]), max_size=40)

REFUSED = [
    pytest.param([], {}, "texts", id="no-text"),
    pytest.param(["a"] * 9, {}, "texts", id="nine-texts"),
    pytest.param([""], {}, "texts[1]", id="empty"),
    pytest.param(["fine", " \t "], {}, "texts[2]", id="blank-among-others"),
    pytest.param(["two\nlines"], {}, "texts[1]", id="two-lines"),
    pytest.param(["two\rlines"], {}, "texts[1]", id="carriage-return"),
    pytest.param(["two\u2028lines"], {}, "texts[1]", id="unicode-line-separator"),
    pytest.param(["a", "b", "x" * 1_001], {}, "texts[3]", id="1001-bytes"),
    pytest.param(["\udce9"], {}, "texts[1]", id="not-unicode"),
    pytest.param(["a"], {"top_k": 0}, "top_k", id="top-k-0"),
    pytest.param(["a"], {"top_k": -1}, "top_k", id="top-k-negative"),
    pytest.param(["a"], {"top_k": 101}, "top_k", id="top-k-101"),
    pytest.param(["a"], {"corpus": "mail"}, "corpus", id="unknown-corpus"),
    pytest.param(["a"], {"corpus": ""}, "corpus", id="empty-corpus"),
    pytest.param(["a"], {"corpus": "chat", "repositories": ["x"]}, "repo", id="repo-in-chat"),
    pytest.param(["a"], {"sort": "size"}, "sort", id="unknown-order"),
    pytest.param(["a"], {"half_life": "soon"}, "recency_half_life", id="no-span"),
]


@pytest.mark.parametrize(("texts", "options", "field"), REFUSED)
def test_a_refusal_names_its_field_and_the_way_out(
    texts: list[str], options: dict[str, Any], field: str
) -> None:
    with pytest.raises(UsageError) as refused:
        query(texts, **options)
    assert refused.value.field == field
    assert str(refused.value).startswith(f"{field}: ")
    assert refused.value.fix in str(refused.value)
    assert refused.value.fix.endswith(".")


def test_the_limit_counts_bytes_not_characters() -> None:
    assert query(["é" * 500]).texts == ("é" * 500,)
    with pytest.raises(UsageError, match="1002 bytes"):
        query(["é" * 501])


def test_a_thousand_bytes_and_eight_texts_and_a_hundred_hits_are_allowed() -> None:
    texts = [f"{n}{'x' * (MAX_TEXT_BYTES - 1)}" for n in range(MAX_TEXTS)]
    assert query(texts, top_k=100) == Query(tuple(texts), top_k=100)
    assert query(["a"], top_k=1).top_k == 1


def test_a_line_end_after_the_text_is_no_second_line() -> None:
    assert query(["words\n"]).texts == ("words",)


def test_texts_that_differ_only_in_blanks_or_composition_are_asked_once() -> None:
    decomposed = "cafe\u0301"
    assert query(["café", decomposed, " café ", "other"]).texts == ("café", "other")


@settings(deadline=None)
@given(st.lists(LINE.filter(str.strip), min_size=1, max_size=8))
def test_asked_texts_are_distinct_stripped_nfc_and_in_the_order_given(texts: list[str]) -> None:
    asked = query(texts).texts
    forms = [unicodedata.normalize("NFC", text).strip() for text in texts]
    assert list(asked) == sorted(set(forms), key=forms.index)
    assert query(asked).texts == asked


def test_repositories_are_kept_once_in_the_order_given() -> None:
    assert query(["a"], repositories=["b", "a", "b"]).scope.repositories == ("b", "a")


def test_both_corpora_are_known() -> None:
    assert query(["a"], corpus="chat").scope.corpus == "chat"
    assert query(["a"], corpus="forge", repositories=["x"]).scope.corpus == "forge"


def test_the_over_fetch_covers_every_allowed_top_k() -> None:
    assert OVER_FETCH == 200
