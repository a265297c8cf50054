"""From chunks to passages (spec 2.4, 5.3): what is shown, what is embedded, what is searched."""

from collections.abc import Sequence

from search.passage import Passage, passage_id
from search.terms import indexed
from tasks.domain.files import embedded_text
from tasks.ports import Chunk, CommitMessage

RULES_VERSION = 2
"""Raise it when files, languages, generated, commits, passages or the chunker choose or cut
otherwise: the next run then goes through everything again (texts that stay are not embedded)."""


def file_passages(
    repository: str, path: str, blob: str, chunks: Sequence[Chunk], *, rules: str
) -> list[Passage]:
    """The passages of one file, numbered in order of place.

    What is embedded is the trail and the text, without the path: a renamed or copied file embeds
    to the same texts and costs nothing (decision 0001). The keyword side carries the path too.
    """
    return [
        _passage(
            key=("file", repository, path, part),
            chunk=chunk,
            rules=rules,
            path=path,
            blob=blob,
        )
        for part, chunk in enumerate(chunks)
    ]


def commit_passages(
    repository: str, commit: CommitMessage, chunks: Sequence[Chunk], *, rules: str
) -> list[Passage]:
    """The passages of one commit's message, by its author at its author date."""
    return [
        _passage(
            key=("commit", repository, commit.sha, part),
            chunk=chunk,
            rules=rules,
            commit=commit,
        )
        for part, chunk in enumerate(chunks)
    ]


def _passage(
    *,
    key: tuple[str, str, str, int],
    chunk: Chunk,
    rules: str,
    path: str = "",
    blob: str = "",
    commit: CommitMessage | None = None,
) -> Passage:
    embedded = embedded_text(chunk.trail, chunk.text)
    about = f"{path} {commit.sha} {commit.author}" if commit else path
    return Passage(
        id=passage_id(*key),
        corpus="forge",
        source=f"repo:{key[1]}",
        kind="commit" if commit else "file",
        part=key[3],
        text=chunk.text,
        window=embedded,
        parts=(embedded,),
        keywords=indexed(f"{about}\n{embedded}"),
        rules=rules,
        trail=chunk.trail,
        authors=(commit.author,) if commit else (),
        start=commit.authored_at if commit else None,
        end=commit.authored_at if commit else None,
        path=path,
        blob=blob,
        lines=None if commit else chunk.lines,
        commit=commit.sha if commit else "",
    )
