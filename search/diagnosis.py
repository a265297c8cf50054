"""What there is, and how it stands: ``sources`` for everybody, ``doctor`` for whoever keeps it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from search.analysis import ANALYSIS_VERSION
from search.collection import SCHEMA_VERSION, CollectionMeta
from search.embedding import Embedder
from search.errors import HuginnError
from search.ledger import Journal
from search.lookups import Ground, model_of, on_ground
from search.reader import Reader
from search.scope import Scope
from search.settings import Settings
from search.sources import Source


@dataclass(frozen=True, slots=True)
class Listing:
    """The sources that look-ups see, and why some cannot be vouched for."""

    sources: tuple[Source, ...] = ()
    unavailable: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """How everything stands; never text of a source, never a secret (spec 7.3).

    ``server`` is Weaviate's version, ``problems`` what keeps all look-ups from working, with what
    to do. ``counted`` are the passages of each source as they are now. ``journal`` names the
    rooms of the last run, in or out.
    """

    alias: str
    listing: Listing = Listing()
    server: str | None = None
    collection: str | None = None
    meta: CollectionMeta | None = None
    configured_model: str = ""
    counted: Mapping[str, int] = field(default_factory=dict)
    journal: Journal | None = None
    problems: tuple[str, ...] = ()

    @property
    def is_well(self) -> bool:
        """Whether every source can be vouched for and looked up."""
        return not self.problems and not self.listing.unavailable


def sources(scope: Scope, *, reader: Reader, settings: Settings) -> Listing:
    """What the scope leaves of the sources.

    Raises:
        UsageError: the scope names what is not known.
    """

    def look(ground: Ground) -> Listing:
        return Listing(tuple(ground.asked.sources.values()), ground.unavailable)

    return on_ground(scope, reader, settings, look)


def doctor(*, reader: Reader, settings: Settings, embedder: Callable[[str], Embedder]) -> Diagnosis:
    """Everything that can be told with the reader's key."""
    version = reader.server_version()

    def look(ground: Ground) -> Diagnosis:
        listing = Listing(tuple(ground.asked.sources.values()), ground.unavailable)
        begun = Diagnosis(
            settings.weaviate.collection,
            listing,
            server=version,
            configured_model=settings.embedder.model,
        )
        resolved = ground.resolved
        if resolved is None:
            return begun
        return replace(
            begun,
            collection=resolved.name,
            meta=resolved.meta,
            counted=reader.passages(resolved.name).counts([*ground.asked.sources]),
            journal=reader.journal(resolved.name),
            problems=tuple(_problems(resolved.meta, settings, embedder)),
        )

    return on_ground(Scope(), reader, settings, look)


def unreachable(error: HuginnError, settings: Settings) -> Diagnosis:
    """What there is to say when Weaviate does not answer."""
    return Diagnosis(
        settings.weaviate.collection,
        configured_model=settings.embedder.model,
        problems=(str(error),),
    )


def _problems(
    meta: CollectionMeta, settings: Settings, embedder: Callable[[str], Embedder]
) -> list[str]:
    found = []
    made = {"schema": meta.schema_version, "analysis": meta.analysis_version}
    ours = {"schema": SCHEMA_VERSION, "analysis": ANALYSIS_VERSION}
    for what, version in ours.items():
        if made[what] != version:
            found.append(
                f"the collection has {what} version {made[what]}, this Huginn {version}: "
                "run `huginn refresh`"
            )
    try:
        model_of(meta, settings, embedder)
    except HuginnError as error:
        found.append(str(error))
    return found
