"""Makes the collections, and refuses ones that do not have the declared form (W31)."""

import re
import uuid
from typing import TYPE_CHECKING

from search.collection import LEDGER_PROPERTIES, PROPERTIES, CollectionMeta, ledger_name
from search.connection import mapped_errors
from search.errors import CollectionMismatch
from tasks.adapters.ledger import WeaviateLedger
from tasks.adapters.schema import create

if TYPE_CHECKING:
    from weaviate import WeaviateClient


def ensure_collection(client: "WeaviateClient", alias: str, meta: CollectionMeta) -> str:
    """The real name of the collection behind ``alias``, made first if it is missing.

    Raises:
        CollectionMismatch: it was made by something that is not Huginn.
    """
    with mapped_errors("make the collection"):
        if not client.collections.exists(ledger_name(alias)):
            create(client, ledger_name(alias), LEDGER_PROPERTIES, vectors=False)
        pointed = (
            client.alias.get(alias_name=alias) if client.alias.exists(alias_name=alias) else None
        )
        if pointed is None and client.collections.exists(alias):
            raise CollectionMismatch(
                f"Weaviate has a collection named {alias} that Huginn did not make. "
                "Set weaviate.collection to another name."
            )
        if pointed is None or not client.collections.exists(pointed.collection):
            return _pointed_anew(client, alias, meta, missing=pointed is None)
    return pointed.collection


def made_with(client: "WeaviateClient", alias: str, name: str) -> CollectionMeta:
    """What the collection ``name`` was made with.

    Raises:
        CollectionMismatch: the ledger does not say.
    """
    stored = WeaviateLedger(client, alias, name).meta()
    if stored is None:
        raise CollectionMismatch(
            f"The ledger does not know the collection {name} that {alias} points at. "
            "Restore both together, or set weaviate.collection to another name."
        )
    return stored


def check_collection(client: "WeaviateClient", alias: str, name: str, meta: CollectionMeta) -> None:
    """Makes sure that passages made with ``meta`` may be written to the collection ``name``.

    Raises:
        CollectionMismatch: it was made with another model, schema or text analysis, or does not
            have the declared form.
    """
    differences = made_with(client, alias, name).differences(meta)
    if differences:
        raise CollectionMismatch(
            f"The collection {name} was made otherwise ({'; '.join(differences)}). "
            "Run `huginn refresh`: it makes another and puts it in this one's place."
        )
    wrong = _wrong_form(client, name)
    if wrong:
        raise CollectionMismatch(
            f"The collection {name} has another form ({'; '.join(wrong)}). "
            "Run `huginn rebuild`: it makes another and puts it in this one's place."
        )


def new_name(alias: str) -> str:
    """A name for another collection behind ``alias``."""
    return f"{alias}_{uuid.uuid4().hex[:8]}"


def make(client: "WeaviateClient", alias: str, name: str, meta: CollectionMeta) -> None:
    """Makes a collection of passages; its meta comes last, as the sign that it is whole."""
    create(client, name, PROPERTIES, vectors=True)
    WeaviateLedger(client, alias, name).put_meta(meta)


def _pointed_anew(
    client: "WeaviateClient", alias: str, meta: CollectionMeta, *, missing: bool
) -> str:
    """Points the alias at a collection: one that was made before it was lost, else a new one.

    What was made and never got its meta was killed half-way and holds nothing: it goes.
    """
    name = None
    for found in sorted(client.collections.list_all(simple=True)):
        if not re.fullmatch(rf"{alias}_[0-9a-f]{{8}}", found):
            continue
        known = WeaviateLedger(client, alias, found).meta()
        if known is None:
            client.collections.delete(found)
        elif not known.differences(meta):
            name = found
    if name is None:
        name = new_name(alias)
        make(client, alias, name, meta)
    if missing:
        client.alias.create(alias_name=alias, target_collection=name)
    else:
        client.alias.update(alias_name=alias, new_target_collection=name)
    return name


def _wrong_form(client: "WeaviateClient", name: str) -> list[str]:
    with mapped_errors("read the schema"):
        config = client.collections.get(name).config.get()
    declared = {declared.name for declared in PROPERTIES}
    actual = {found.name: found for found in config.properties}
    wrong = []
    missing = sorted(declared - actual.keys())
    if missing:
        wrong.append(f"properties missing: {', '.join(missing)}")
    loose = [
        declared.name
        for declared in PROPERTIES
        if declared.index == "exact"
        and declared.name in actual
        and str(actual[declared.name].tokenization).lower().rpartition(".")[2] != "field"
    ]
    if loose:
        wrong.append(f"ids that are not matched whole: {', '.join(loose)}")
    return wrong
