"""``verify``: derives every source's passages anew and tells what differs (spec 7.2)."""

from tasks.runtime import flow


@flow(name="verify", persist_result=False)
def verify(source: str | None = None, *, repair: bool = False) -> None:
    """Compares what the collection holds with what its sources say."""
    raise NotImplementedError(source, repair)
