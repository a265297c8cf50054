"""Cases of chat that a look-up shows: a real Synapse, the whole flow, a real Weaviate."""

from tests.support.community import Community
from tests.support.held_rooms import at
from tests.support.synapse import Synapse


def test_m14_m15_an_edited_message_is_one_hit_by_its_new_words_and_none_by_its_old(
    chat: Community, synapse: Synapse, reader: str
) -> None:
    room = synapse.room("ada", "bob", reader)
    original = synapse.send(room, "ada", "We meet at the marmalade.", at(0))
    chat.refresh()
    (before,) = chat.search("marmalade").hits
    assert before.signals[0].keyword is not None
    synapse.edit(room, "ada", original, "We meet at the heliotrope.", at(1))
    chat.refresh()
    (hit,) = chat.search("heliotrope").hits
    assert hit.signals[0].keyword is not None
    assert "heliotrope" in hit.text
    (other,) = chat.search("marmalade").hits  # the same passage, near by its vector only
    assert other.signals[0].keyword is None
    assert "marmalade" not in other.text
