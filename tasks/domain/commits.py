"""Which commit messages are taken (spec 5.2)."""

from tasks.ports import CommitMessage


def skip_commit(commit: CommitMessage, *, merges: bool, bots: bool) -> str | None:
    """Why a commit's message is left out: ``merge``, ``bot``, ``blank``; None if it is taken.

    A bot is an author whose name ends in ``[bot]``, the form that the forges give theirs.
    """
    if not commit.message.strip():
        return "blank"
    if commit.parents > 1 and not merges:
        return "merge"
    if commit.author.strip().lower().endswith("[bot]") and not bots:
        return "bot"
    return None
