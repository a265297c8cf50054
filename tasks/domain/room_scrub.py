"""Taking secrets out of a segment's messages (spec 4.2).

What one sender wrote is scrubbed together over the whole segment, whoever spoke in between, so
that a key sent in three messages goes from all three. Which messages there are does not change: a
message of nothing but a secret stays as its marker (``tasks.domain.windows`` says what becomes of
it). It must, because a segment that is read again has to find all of its parts to see the secret.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from tasks.domain.messages import Message
from tasks.ports import Scrubber


def scrubbed(segment: Sequence[Message], scrubber: Scrubber) -> tuple[list[Message], Counter[str]]:
    """The messages without their secrets, in the order given, and how many were taken out by rule.

    Scrubbing what was scrubbed changes nothing and counts nothing.

    Raises:
        ScrubberUnusable: nothing was scrubbed; no text may be used.
    """
    result = list(segment)
    counts: Counter[str] = Counter()
    places: dict[str, list[int]] = {}
    for place, message in enumerate(segment):
        places.setdefault(message.sender, []).append(place)
    for theirs in places.values():
        texts = scrubber.scrub_together([segment[place].body for place in theirs])
        for place, text in zip(theirs, texts, strict=True):
            result[place] = replace(segment[place], body=text.text)
            counts.update(dict(text.counts))
    return result, counts
