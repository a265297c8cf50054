"""A look-up stands on the collection of now, also if a rebuild replaces it meanwhile (spec 2.5)."""

from dataclasses import dataclass

import pytest

from search.errors import ServerRefused, UsageError
from search.ledger import SourceRecord
from search.lookups import Ground, on_ground
from search.reader import Resolved
from search.scope import Scope
from search.settings import Settings
from tests.support.fakes import META, FakeReader, current

GONE = ServerRefused("Weaviate would not search. See the server's log.")


@dataclass
class Moving(FakeReader):
    """Resolves to one collection after another; all but the last are gone when asked."""

    names: tuple[str, ...] = ("Test_1",)
    resolved: int = 0
    looked: int = 0

    def resolve(self) -> Resolved:
        name = self.names[min(self.resolved, len(self.names) - 1)]
        self.resolved += 1
        return Resolved(name, META)

    def records(self, collection: str) -> dict[str, SourceRecord]:  # noqa: ARG002
        return {"repo:one": current("repo:one")}

    def where(self, ground: Ground) -> str:
        self.looked += 1
        assert ground.resolved is not None
        assert [*ground.asked.sources] == ["repo:one"]
        if ground.resolved.name != "Test_1":
            raise GONE
        return ground.resolved.name


def test_a_collection_that_is_gone_is_resolved_once_more() -> None:
    reader = Moving(names=("Test_0", "Test_1"))
    assert on_ground(Scope(), reader, Settings(), reader.where) == "Test_1"
    assert reader.resolved == 2


def test_an_error_of_the_same_collection_is_told_and_not_tried_again() -> None:
    reader = Moving(names=("Test_0",))
    with pytest.raises(ServerRefused) as refused:
        on_ground(Scope(), reader, Settings(), reader.where)
    assert refused.value is GONE
    assert reader.looked == 1


def test_a_usage_error_is_told_at_once() -> None:
    reader = Moving(names=("Test_1",))
    with pytest.raises(UsageError):
        on_ground(Scope(repositories=("two",)), reader, Settings(), reader.where)
    assert reader.resolved == 1


def test_a_second_replacement_is_not_followed() -> None:
    reader = Moving(names=("Test_a", "Test_b", "Test_1"))
    with pytest.raises(ServerRefused):
        on_ground(Scope(), reader, Settings(), reader.where)
    assert reader.resolved == 2
