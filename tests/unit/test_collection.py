"""The stored form of a passage, and the collection's meta (spec 2.5)."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest

from search.collection import (
    LEDGER_PROPERTIES,
    PROPERTIES,
    CollectionMeta,
    fingerprint_of,
    ledger_name,
    lines_of,
    properties_of,
    rfc3339,
)
from search.passage import Lines
from tests.support.fakes import META, file_passage

WHEN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def test_everything_stored_is_declared_and_the_other_way_round() -> None:
    lines = Lines(first=3, last=3, columns=(0, 40))
    whole = replace(file_passage("text"), start=WHEN, end=WHEN, lines=lines)
    declared = {declared.name for declared in PROPERTIES}
    assert declared == properties_of(whole).keys() | {"ingested_at"}


@pytest.mark.parametrize("name", ["source", "path", "blob", "commit", "digest", "authors", "kind"])
def test_w08_what_is_filtered_by_is_matched_whole(name: str) -> None:
    """With word tokenisation ``core`` would match ``core-ui``, in deletes too."""
    (declared,) = [declared for declared in PROPERTIES if declared.name == name]
    assert declared.index == "exact"


def test_the_ledgers_keys_are_matched_whole() -> None:
    exact = {declared.name for declared in LEDGER_PROPERTIES if declared.index == "exact"}
    assert exact == {"kind", "collection", "source"}


def test_one_property_carries_the_keyword_side() -> None:
    assert [d.name for d in PROPERTIES if d.index == "keywords"] == ["keywords"]


CHANGES = [
    {"text": "other"},
    {"trail": ("Heading",)},
    {"keywords": "other"},
    {"authors": ("Ada",)},
    {"start": WHEN},
    {"end": WHEN},
    {"path": "b.md"},
    {"blob": "0" * 40},
    {"lines": Lines(first=1, last=2)},
    {"lines": Lines(first=1, last=1, columns=(0, 9))},
    {"commit": "0" * 40},
    {"rules": "r2"},
    {"window": "other"},
    {"source": "repo:two"},
]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: str(next(iter(change))))
def test_the_fingerprint_tells_every_change_of_a_stored_property(change: dict[str, object]) -> None:
    passage = file_passage("text")
    assert fingerprint_of(replace(passage, **change)) != fingerprint_of(passage)  # type: ignore[arg-type]


def test_the_same_passage_has_the_same_fingerprint() -> None:
    assert fingerprint_of(file_passage("text")) == fingerprint_of(file_passage("text"))


@pytest.mark.parametrize(
    "lines",
    [None, Lines(first=3, last=9), Lines(first=3, last=3, columns=(0, 40))],
    ids=["none", "range", "columns"],
)
def test_lines_come_back_as_they_were_stored(lines: Lines | None) -> None:
    assert lines_of(properties_of(replace(file_passage("text"), lines=lines))) == lines


def test_a_date_without_a_time_zone_is_refused_before_it_is_stored() -> None:
    with pytest.raises(ValueError, match="time zone"):
        rfc3339(datetime(2026, 1, 2, 3, 4, 5))  # noqa: DTZ001  # what is tested


def test_an_odd_offset_is_kept_in_the_date() -> None:
    odd = datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone(timedelta(hours=5, minutes=45)))
    assert rfc3339(odd) == "2026-01-02T03:04:05+05:45"


def test_meta_comes_back_from_json() -> None:
    assert CollectionMeta.from_json(META.as_json()) == META


def test_another_model_version_or_size_is_a_difference_and_another_name_is_not() -> None:
    assert META.differences(replace(META, embedder="the same under another name")) == []
    assert META.differences(replace(META, embedder_digest="x")) == [
        "embedder_digest: digest-of-weights, not x"
    ]
    changed = replace(META, dimensions=5, schema_version=99, analysis_version="99")
    assert len(META.differences(changed)) == 3


def test_the_ledger_stands_beside_the_passages() -> None:
    assert ledger_name("Huginn") == "HuginnLedger"
