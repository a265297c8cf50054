"""A rebuild: another collection is filled beside the live one and takes its place (spec 2.5).

::

    note ── make T ── fill T (a refresh aimed at it, as often as it takes) ── alias → T ── drop old
      └─ killed anywhere: the next refresh reads the note and goes on

The note stands in the ledger under the alias itself, so it belongs to neither collection.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Self

from search.ledger import SourceRecord, known_fields

KIND = "rebuild"
"""The ledger's kind of document."""


@dataclass(frozen=True, slots=True)
class Rebuild:
    """``collection`` is being filled to take the place of ``replaces``.

    ``reason`` is for people. One that was ``wanted`` goes on even if nothing demands it; with
    ``erase`` no vector of the old collection is taken over. ``since`` is a UTC time.
    """

    collection: str
    replaces: str
    reason: str
    since: str
    wanted: bool = False
    erase: bool = False

    def as_json(self) -> str:
        """For the ledger."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """From the ledger."""
        return cls(**known_fields(cls, json.loads(text)))


def lacking(live: Mapping[str, SourceRecord], filled: Mapping[str, SourceRecord]) -> list[str]:
    """Sources that the live collection holds and the new one does not hold whole yet.

    Nothing that look-ups found before may be missing afterwards: while one is lacking, the new
    collection does not take the old one's place.
    """
    held = [source for source, record in live.items() if record.passages or record.last_success]
    return sorted(
        source for source in held if source not in filled or filled[source].state != "current"
    )
