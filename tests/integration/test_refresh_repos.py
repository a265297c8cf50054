"""Repositories through the whole DAG: real git, real Prefect, real model, real Weaviate."""

import os
import re
from pathlib import Path

import pytest

from tasks.discover import discover
from tests.support.community import Community, without_vectors
from tests.support.git_repos import GitRepo

GUIDE = "# Guide\n\n## Ravens\n\nHuginn and Muninn fly out over the world every day.\n"
CODE = 'def rotate_signing_key(old):\n    """Replace the old key."""\n    return old[::-1]\n'


@pytest.fixture
def guide(community: Community) -> GitRepo:
    repository = community.repository("guide")
    repository.commit(
        {"docs/guide.md": GUIDE, "src/keys.py": CODE}, message="Describe the ravens of Odin"
    )
    return repository


def test_a_hit_cites_path_lines_and_commit_exactly(community: Community, guide: GitRepo) -> None:
    assert community.refresh()["repo:guide"].result == "done"
    hit = community.search("which birds fly out over the world").hits[0]
    citation = hit.citation
    assert (citation.repository, citation.path) == ("guide", "docs/guide.md")
    assert citation.commit == guide.tip()
    assert citation.lines is not None
    blob = guide.git("show", f"{citation.commit}:{citation.path}").split("\n")
    assert "\n".join(blob[citation.lines.first - 1 : citation.lines.last]) == hit.text
    assert "Muninn" in hit.text
    assert hit.vouched_by is None
    assert hit.status == "current"


def test_a_commit_message_is_found_with_author_date_and_id(
    community: Community, guide: GitRepo
) -> None:
    community.refresh()
    hits = community.search("describe the ravens of Odin").hits
    hit = next(hit for hit in hits if hit.kind == "commit")
    assert hit.citation.commit == guide.tip()
    assert hit.authors == ("Ada Lovelace",)
    assert hit.start is not None
    assert hit.start.year == 2023


def test_nothing_new_embeds_nothing_and_writes_only_freshness(
    community: Community, guide: GitRepo
) -> None:
    community.refresh()
    before, record = community.passages(), community.record("repo:guide")
    embedded = community.embedder().embedded
    assert community.refresh()["repo:guide"].result == "unchanged"
    assert community.embedder().embedded == embedded
    assert community.passages() == before
    after = community.record("repo:guide")
    assert record is not None
    assert after is not None
    assert after.cursor == record.cursor
    assert after.last_success > record.last_success


def test_an_edit_embeds_only_what_changed(community: Community, guide: GitRepo) -> None:
    community.refresh()
    guide.commit({"docs/guide.md": GUIDE.replace("every day", "each morning")}, message="Reword it")
    outcome = community.refresh()["repo:guide"]
    assert outcome.counts.files == 1
    assert outcome.counts.embedded == 2  # the chunk and the new commit's message
    assert any("each morning" in text for text in community.texts())
    assert not any("every day" in text for text in community.texts())


def test_a_renamed_file_leaves_nothing_under_its_old_path_and_embeds_nothing(
    community: Community, guide: GitRepo
) -> None:
    community.refresh()
    guide.commit({"src/keys.py": None, "lib/keys.py": CODE}, message="Describe the ravens of Odin")
    outcome = community.refresh()["repo:guide"]
    paths = {facts["path"] for facts in community.passages().values()}
    assert paths == {"docs/guide.md", "lib/keys.py", ""}
    assert outcome.counts.embedded == 0


def test_a_file_that_gets_shorter_leaves_no_old_chunk(community: Community, guide: GitRepo) -> None:
    long = "".join(f"## Part {n}\n\n{f'Sentence {n} about whales. ' * 30}\n\n" for n in range(9))
    guide.commit({"docs/guide.md": long})
    community.refresh()
    assert any("Part 8" in text for text in community.texts())
    guide.commit({"docs/guide.md": "## Part 0\n\nShort.\n"})
    community.refresh()
    assert not any("whales" in text for text in community.texts())
    guide.commit({"docs/guide.md": ""})
    community.refresh()
    assert "docs/guide.md" not in {f["path"] for f in community.passages().values()}


@pytest.mark.parametrize("pruned", [False, True], ids=["kept", "pruned"])
def test_a_rewritten_history_ends_as_a_clean_run_does(
    community: Community, guide: GitRepo, server_settings: object, *, pruned: bool
) -> None:
    guide.commit({"gone.md": "# Gone\n\nThis file goes away with its commit.\n"}, message="Add it")
    community.refresh()
    guide.amend({"gone.md": None, "kept.md": "# Kept\n\nThis one stays.\n"}, message="Another one")
    if pruned:
        guide.prune()
        for mirror in (community.folder / "cache" / "mirrors").iterdir():
            if mirror.is_dir():
                _forget_unreachable(mirror)
    outcome = community.refresh()["repo:guide"]
    assert outcome.result == "done", outcome.reason
    assert not any("goes away" in text or text == "Add it" for text in community.texts())
    incremental = without_vectors(community.passages())
    clean = Community(community.folder, community.server, community.collection + "Clean")
    clean.repositories, clean.options = community.repositories, community.options
    clean.refresh()
    assert without_vectors(clean.passages()) == incremental
    assert outcome.counts.embedded == 2  # kept.md and the amended message


def test_an_empty_tree_really_empties_the_source(community: Community, guide: GitRepo) -> None:
    community.forge = {"commit_messages": False}
    community.refresh()
    guide.commit({"docs/guide.md": None, "src/keys.py": None})
    community.refresh()
    assert community.passages() == {}


def test_a_repository_that_answers_without_commits_is_not_taken_for_empty(
    community: Community, guide: GitRepo
) -> None:
    community.refresh()
    before = community.passages()
    guide.git("update-ref", "-d", "refs/heads/main")
    outcome = community.refresh()["repo:guide"]
    assert outcome.result == "failed"
    assert "Nothing was deleted" in outcome.reason
    assert community.passages() == before
    record = community.record("repo:guide")
    assert record is not None
    assert record.cursor.commit is not None


def test_a_repository_without_any_commit_succeeds_and_its_first_commit_is_picked_up(
    community: Community,
) -> None:
    repository = community.repository("young")
    assert community.refresh()["repo:young"].result == "unchanged"
    assert community.passages() == {}
    with community.configured():
        assert discover().nothing_to_do
    repository.commit({"a.md": "# First\n\nThe first words.\n"})
    assert community.refresh()["repo:young"].result == "done"
    assert any("first words" in text for text in community.texts())


def test_most_of_a_source_is_not_deleted_unasked(community: Community) -> None:
    community.forge = {"commit_messages": False}
    repository = community.repository("many")
    files = {f"page{n:03}.md": f"# Page {n}\n\nWords of page {n}.\n" for n in range(120)}
    repository.commit(dict(files))
    community.refresh()
    repository.commit(dict.fromkeys(list(files)[:70]))
    outcome = community.refresh()["repo:many"]
    assert outcome.result == "failed"
    assert "70 of 120" in outcome.reason
    assert len(community.passages()) == 120
    record = community.record("repo:many")
    assert record is not None
    assert record.cursor.commit != repository.tip()
    assert community.refresh(allow_mass_delete=True)["repo:many"].counts.deleted == 70
    assert len(community.passages()) == 50


def test_equal_texts_are_embedded_once_across_repositories(
    community: Community, guide: GitRepo
) -> None:
    community.refresh()
    fork = community.repository("fork")
    fork.commit({"copy/of/keys.py": CODE}, message="Describe the ravens of Odin")
    outcome = community.refresh()["repo:fork"]
    assert outcome.counts.written == 2
    assert outcome.counts.embedded == 0
    hits = community.search("rotate_signing_key").hits
    places = {citation.repository for citation in (hits[0].citation, *hits[0].also)}
    assert places == {"guide", "fork"}
    assert len({hit.text for hit in hits}) == len(hits)


def test_an_unlisted_repository_is_hidden_at_once_and_removed_by_the_next_refresh(
    community: Community, guide: GitRepo
) -> None:
    other = community.repository("core-ui")
    other.commit({"a.md": "# Ravens\n\nAnother text about ravens.\n"})
    namesake = community.repository("core")
    namesake.commit({"a.md": "# Ravens\n\nYet another text about ravens.\n"})
    community.refresh()
    community.unlist("core")
    assert {hit.source for hit in community.search("ravens").hits} == {"repo:guide", "repo:core-ui"}
    assert community.passages("repo:core") != {}
    mirrors = community.folder / "cache" / "mirrors"
    before = {each.name for each in mirrors.glob("*.git")}
    assert community.refresh()["repo:core"].result == "removed"
    (gone,) = before - {each.name for each in mirrors.glob("*.git")}
    assert re.fullmatch(r"core-[0-9a-f]{12}\.git", gone)
    assert community.passages("repo:core") == {}
    assert community.record("repo:core") is None
    assert community.passages("repo:core-ui") != {}


def test_a_run_over_one_source_never_removes_others(community: Community, guide: GitRepo) -> None:
    community.repository("other").commit({"a.md": "# Other\n\nWords.\n"})
    community.refresh()
    community.unlist("other")
    outcome = community.backfill("repo:guide")
    assert set(outcome) == {"repo:guide"}
    assert community.passages("repo:other") != {}


def test_a_backfill_mends_what_is_missing_and_leaves_the_rest_alone(
    community: Community, guide: GitRepo
) -> None:
    community.refresh()
    before = community.passages()
    lost = next(identifier for identifier, facts in before.items() if facts["path"])
    _delete(community, lost)
    assert lost not in community.passages()
    counts = community.backfill("guide")["repo:guide"].counts
    assert (counts.written, counts.unchanged) == (1, len(before) - 1)
    assert community.passages() == before


def test_two_repositories_under_one_name_are_refused(community: Community, guide: GitRepo) -> None:
    community.refresh()
    impostor = GitRepo(community.folder / "impostor")
    impostor.commit({"a.md": "# Impostor\n\nOther words.\n"})
    before = community.passages()
    community.repositories["guide"] = impostor
    outcome = community.refresh()["repo:guide"]
    assert outcome.result == "failed"
    assert "another repository" in outcome.reason
    assert community.passages() == before
    record = community.record("repo:guide")
    assert record is not None
    assert record.state == "current"


def test_a_changed_choice_of_files_applies_to_unchanged_commits_too(
    community: Community, guide: GitRepo
) -> None:
    community.refresh()
    community.options["guide"] = {"exclude": ["src/**"]}
    assert community.refresh()["repo:guide"].result == "done"
    assert "src/keys.py" not in {facts["path"] for facts in community.passages().values()}
    community.options["guide"] = {}
    assert community.refresh()["repo:guide"].counts.embedded == 1  # its vector went with it
    assert "src/keys.py" in {facts["path"] for facts in community.passages().values()}


def test_a_credential_in_a_file_is_stored_nowhere(community: Community) -> None:
    secret = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"
    repository = community.repository("leaky")
    repository.commit({"conf.py": f'TOKEN = "{secret}"\nNAME = "raven"\n'}, message=f"Use {secret}")
    outcome = community.refresh()["repo:leaky"]
    stored = repr(community.passages())
    assert secret not in stored
    assert "[scrubbed:" in stored
    assert sum(outcome.counts.scrubbed.values()) == 2


def test_identifiers_are_found_by_their_parts_and_whole(community: Community) -> None:
    repository = community.repository("code")
    repository.commit(
        {
            "a.ts": "export function rotateSigningKeys(ring: Ring) {\n  return ring.next();\n}\n",
            "b.py": "def merge_room_state(one, two):\n    return one | two\n",
        }
    )
    community.refresh()
    for text, path in [
        ("signing", "a.ts"),
        ("merge_room_state", "b.py"),
        ("merge room state", "b.py"),
        ("ROTATESIGNINGKEYS", "a.ts"),
    ]:
        found = [h.citation.path for h in community.search(text).hits if h.signals[0].keyword]
        assert found[:1] == [path], text


def _forget_unreachable(mirror: Path) -> None:
    """What git's own tidying does in the end, after years."""
    GitRepo.git(_At(mirror), "reflog", "expire", "--expire=now", "--all")  # type: ignore[arg-type]
    for pack in list((mirror / "objects").rglob("*")):
        if pack.is_file():
            pack.chmod(0o644)
    os.environ.pop("GIT_DIR", None)
    _At(mirror).git("-c", "gc.pruneExpire=now", "gc", "-q", "--prune=now")


class _At:
    def __init__(self, path: Path) -> None:
        self.path = path

    def git(self, *arguments: str) -> str:
        return GitRepo.git(self, *arguments)  # type: ignore[arg-type]


def _delete(community: Community, identifier: str) -> None:
    from tasks.bootstrap import open_store

    with community.configured() as settings, open_store(settings) as store:
        store.writer.delete([identifier])
