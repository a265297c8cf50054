"""The declared form of a collection, as Weaviate is told it."""

from typing import TYPE_CHECKING

from search.collection import PARTS_VECTOR, WINDOW_VECTOR, Property

if TYPE_CHECKING:
    from weaviate import WeaviateClient
    from weaviate.collections.classes.config import Property as TheirProperty

BM25_K1, BM25_B = 0.9, 0.6
"""A term that is said again counts little more: a window repeats names (docs/quality.md)."""


def create(
    client: "WeaviateClient", name: str, properties: tuple[Property, ...], *, vectors: bool
) -> None:
    """Makes a collection; with ``vectors`` it has the passages' two (decision 0001)."""
    from weaviate.classes.config import Configure, StopwordsPreset

    client.collections.create(
        name,
        properties=[_declared(item) for item in properties],
        inverted_index_config=Configure.inverted_index(
            bm25_k1=BM25_K1, bm25_b=BM25_B, stopwords_preset=StopwordsPreset.NONE
        ),
        vector_config=[
            Configure.Vectors.self_provided(name=WINDOW_VECTOR),
            Configure.MultiVectors.self_provided(name=PARTS_VECTOR),
        ]
        if vectors
        else Configure.Vectors.self_provided(vector_index_config=Configure.VectorIndex.flat()),
    )


def _declared(item: Property) -> "TheirProperty":
    from weaviate.classes.config import DataType, Property, Tokenization

    is_text = item.type.startswith("text")
    keywords = item.index == "keywords"
    return Property(
        name=item.name,
        data_type=DataType(item.type),
        tokenization=(Tokenization.WHITESPACE if keywords else Tokenization.FIELD)
        if is_text
        else None,
        index_filterable=item.index == "exact",
        index_searchable=keywords if is_text else None,
        index_range_filters=True if item.index == "range" else None,
    )
