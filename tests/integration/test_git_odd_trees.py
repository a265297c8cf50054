"""Odd trees through a whole run: every file is stored or counted, cited as git shows it."""

import codecs
import os
from pathlib import Path

import pytest

from tests.support.community import Community
from tests.support.git_repos import GitRepo, Link, Submodule

POINTER = (
    b"version https://git-lfs.github.com/spec/v1\n"
    b"oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\n"
    b"size 12345\n"
)
CODE = 'def settle_harbour_dues(ship):\n    """What a ship owes."""\n    return ship.tons * 3\n'
BUNDLE = b"!function(e,t){return harbour(e,dues)}(settle,ship);" * 10_000
TAKEN = {
    "README.md": "# Loud\n\nThe loud readme.\n",
    "readme.md": "# Quiet\n\nThe quiet readme.\n",
    "src/dues.py": CODE,
    "src/latin.py": "# Größe der Räume, «cité»\nhöhe = 3\n".encode("latin-1"),
    "docs/wide.md": codecs.BOM_UTF16_LE + "# Breit\r\n\r\nWeite Räume.\r\n".encode("utf-16-le"),
}
SKIPPED = {
    "generated": {"static/app.min.js": BUNDLE, "static/bundle.js": BUNDLE},
    "lfs-pointer": {"model.py": POINTER},
    "symlink": {"out.md": Link("/etc/passwd"), "loop.md": Link("loop.md"), "t.md": Link("dues.py")},
    "submodule": {"lib": Submodule("1234567890" * 4)},
    "binary": {"notes.md": b"# Notes\n\x00\x80\xff"},
    "undecodable": {"cyrillic.md": "Комната хранит события".encode("koi8-r")},
    "path-not-utf8": {b"caf\xe9.css": "p { color: red }\n"},
    "vendored": {"vendor/theirs.py": CODE},
    "empty": {"empty.py": "", "blank.md": " \n\n"},
    "data": {"table.csv": "a,b\n1,2\n"},
    "unknown-type": {"logo.png": b"\x89PNG\r\n"},
}


def paths(community: Community, source: str) -> set[str]:
    stored = community.passages(source).values()
    return {facts["path"] for facts in stored if facts["kind"] == "file"}


@pytest.fixture
def odd(community: Community) -> GitRepo:
    community.forge = {"commit_messages": False}
    repository = community.repository("odd")
    skipped = {path: content for some in SKIPPED.values() for path, content in some.items()}
    repository.commit(TAKEN | skipped)
    return repository


def test_g01_g14_g16_g17_g19_g22_g23_g29_each_file_is_stored_or_counted_by_its_reason(
    community: Community, odd: GitRepo
) -> None:
    counts = community.refresh()["repo:odd"].counts
    assert counts.skipped == {reason: len(some) for reason, some in SKIPPED.items()}
    seen = odd.git("ls-tree", "-r", "-z", "--name-only", "HEAD").count("\0")
    assert counts.files == seen == counts.indexed + sum(counts.skipped.values())
    assert counts.indexed == len(TAKEN)
    assert paths(community, "repo:odd") == set(TAKEN)
    texts = "\n".join(community.texts())
    assert "root:" not in texts
    assert "Größe der Räume, «cité»" in texts
    assert "# Breit" in texts


def test_g23_a_minified_bundle_does_not_stand_above_the_code(
    community: Community, odd: GitRepo
) -> None:
    community.refresh()
    hits = community.search("settle harbour dues of a ship").hits
    assert hits[0].citation.path == "src/dues.py"
    assert not [hit for hit in hits if hit.citation.path.startswith("static/")]


def test_g03_a_path_that_is_not_ascii_keeps_its_name_and_its_id_through_rename_and_deletion(
    community: Community,
) -> None:
    community.forge = {"commit_messages": False}
    repository = community.repository("tea")
    first, second = "žluťoučký.txt", "kůň/žluťoučký.txt"
    page = "The yellow horse drinks tea.\n"
    repository.commit({first: page, "a.md": "# Other\n"})
    community.refresh()
    (before,) = [i for i, facts in community.passages().items() if facts["path"] == first]
    assert community.search("yellow horse").hits[0].citation.path == first
    repository.commit({first: None, second: page})
    community.refresh()
    assert paths(community, "repo:tea") == {second, "a.md"}
    repository.commit({second: None, first: page})
    community.refresh()
    assert [i for i, facts in community.passages().items() if facts["path"] == first] == [before]
    repository.commit({first: None})
    community.refresh()
    assert paths(community, "repo:tea") == {"a.md"}


def test_g21_a_mark_and_carriage_returns_move_no_line(community: Community) -> None:
    repository = community.repository("marked")
    sections = [f"## Part {n}\r\n\r\n{f'Sentence {n} of the tale. ' * 25}\r\n" for n in range(6)]
    raw = codecs.BOM_UTF8 + "\r\n".join(sections).encode()
    repository.commit({"tale.md": raw})
    community.refresh()
    stored = [facts for facts in community.passages().values() if facts["kind"] == "file"]
    assert len(stored) > 1
    lines = repository.git("show", "HEAD:tale.md").removeprefix("\ufeff").split("\n")
    for facts in stored:
        assert "\ufeff" not in facts["text"]
        cut = "\n".join(lines[int(facts["first_line"]) - 1 : int(facts["last_line"])])
        assert cut == facts["text"]


@pytest.mark.skipif(os.geteuid() != 0, reason="giving a folder away takes root")
def test_g06_a_repository_of_another_user_fails_by_name_and_the_others_go_on(
    community: Community, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "none"))
    theirs, ours = community.repository("theirs"), community.repository("ours")
    for repository in (theirs, ours):
        repository.commit({"a.md": "# Ravens\n\nWords about ravens.\n"})
    for path in (theirs.path, *theirs.path.rglob("*")):
        os.chown(path, 12345, 12345)
    outcome = community.refresh()
    assert outcome["repo:theirs"].result == "failed"
    assert str(theirs.path) in outcome["repo:theirs"].reason
    assert outcome["repo:ours"].result == "done"
    assert paths(community, "repo:ours") == {"a.md"}
    assert not (tmp_path / "none").exists()
