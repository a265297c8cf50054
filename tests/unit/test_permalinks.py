"""Links to a forge's pages, told from the git remote alone (spec 6.4)."""

from urllib.parse import unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search.permalinks import Forge, commit_link, permalink

SHA = "d6f1c2a0" * 5


@pytest.mark.parametrize(
    ("remote", "link"),
    [
        ("https://github.com/o/r", f"https://github.com/o/r/blob/{SHA}/a.py#L3-L9"),
        ("https://github.com/o/r.git", f"https://github.com/o/r/blob/{SHA}/a.py#L3-L9"),
        ("https://github.com/o/r.git/", f"https://github.com/o/r/blob/{SHA}/a.py#L3-L9"),
        ("git@github.com:o/r.git", f"https://github.com/o/r/blob/{SHA}/a.py#L3-L9"),
        ("github.com:o/r.git", f"https://github.com/o/r/blob/{SHA}/a.py#L3-L9"),
        ("ssh://git@github.com/o/r.git", f"https://github.com/o/r/blob/{SHA}/a.py#L3-L9"),
        ("ssh://git@ssh.github.com:443/o/r", f"https://github.com/o/r/blob/{SHA}/a.py#L3-L9"),
        ("git://github.com/o/r", f"https://github.com/o/r/blob/{SHA}/a.py#L3-L9"),
        ("HTTPS://GitHub.com/o/r", f"https://github.com/o/r/blob/{SHA}/a.py#L3-L9"),
        (
            "https://gitlab.com/group/sub/r.git",
            f"https://gitlab.com/group/sub/r/-/blob/{SHA}/a.py#L3-9",
        ),
        (
            "git@gitlab.example.org:group/r.git",
            f"https://gitlab.example.org/group/r/-/blob/{SHA}/a.py#L3-9",
        ),
        ("https://codeberg.org/o/r", f"https://codeberg.org/o/r/src/commit/{SHA}/a.py#L3-L9"),
        (
            "ssh://git@forgejo.example.org:2222/o/r.git",
            f"https://forgejo.example.org/o/r/src/commit/{SHA}/a.py#L3-L9",
        ),
        (
            "http://gitea.example.org:3000/o/r",
            f"http://gitea.example.org:3000/o/r/src/commit/{SHA}/a.py#L3-L9",
        ),
    ],
)
def test_each_forge_and_each_form_of_address_has_its_link(remote: str, link: str) -> None:
    assert permalink(remote, SHA, "a.py", 3, 9) == link


@pytest.mark.parametrize(
    ("remote", "link"),
    [
        ("git@github.com:o/r.git", f"https://github.com/o/r/commit/{SHA}"),
        ("https://gitlab.com/g/s/r", f"https://gitlab.com/g/s/r/-/commit/{SHA}"),
        ("https://codeberg.org/o/r", f"https://codeberg.org/o/r/commit/{SHA}"),
    ],
)
def test_a_commit_has_its_page(remote: str, link: str) -> None:
    assert commit_link(remote, SHA) == link


def test_one_line_is_linked_as_one_line() -> None:
    assert permalink("https://github.com/o/r", SHA, "a.py", 5, 5) == (
        f"https://github.com/o/r/blob/{SHA}/a.py#L5"
    )
    assert permalink("https://gitlab.com/o/r", SHA, "a.py", 5, 5) == (
        f"https://gitlab.com/o/r/-/blob/{SHA}/a.py#L5"
    )


@pytest.mark.parametrize(
    ("remote", "tail"),
    [
        ("https://github.com/o/r", "README.md?plain=1#L3-L9"),
        ("https://gitlab.com/o/r", "README.md?plain=1#L3-9"),
        ("https://codeberg.org/o/r", "README.md?display=source#L3-L9"),
    ],
)
def test_lines_of_a_page_that_forges_render_are_linked_in_its_source(
    remote: str, tail: str
) -> None:
    link = permalink(remote, SHA, "README.md", 3, 9)
    assert link is not None
    assert link.endswith(f"/{tail}")


def test_odd_characters_of_a_path_are_escaped() -> None:
    assert permalink("https://github.com/o/r", SHA, "a b/100%#?ü.py", 1, 2) == (
        f"https://github.com/o/r/blob/{SHA}/a%20b/100%25%23%3F%C3%BC.py#L1-L2"
    )


@given(st.lists(st.text(min_size=1).filter(lambda name: "/" not in name), min_size=1, max_size=4))
def test_any_path_comes_back_from_its_link(names: list[str]) -> None:
    path = "/".join(name.encode("utf-8", "replace").decode() for name in names)
    link = permalink("https://github.com/o/r", SHA, path, 1, 2)
    assert link is not None
    assert unquote(urlsplit(link).path) == f"/o/r/blob/{SHA}/{path}"


@pytest.mark.parametrize(
    "remote",
    [
        "https://sesame@github.com/o/r.git",
        "https://ann:sesame@github.com/o/r.git",
        "sesame@github.com:o/r.git",
        "ssh://sesame@github.com/o/r",
    ],
)
def test_no_user_name_or_token_reaches_a_link(remote: str) -> None:
    link, commit = permalink(remote, SHA, "a.py", 1, 2), commit_link(remote, SHA)
    assert link == f"https://github.com/o/r/blob/{SHA}/a.py#L1-L2"
    assert commit == f"https://github.com/o/r/commit/{SHA}"


@pytest.mark.parametrize(
    "remote",
    [
        None,
        "",
        "/srv/git/o/r.git",
        "file:///srv/git/o/r.git",
        "https://example.org/o/r",
        "https://github.com/",
        "https://github.com/o",
        "https://github.com/o/../r",
        "https://notgithub.com/o/r",
        "https://[broken/o/r",
        "https://github.com:port/o/r",
        "../github.com/o/r",
    ],
)
def test_there_is_no_guessed_link(remote: str | None) -> None:
    assert permalink(remote, SHA, "a.py", 1, 2) is None
    assert commit_link(remote, SHA) is None


@pytest.mark.parametrize(
    ("commit", "path", "first", "last"),
    [("HEAD", "a.py", 1, 2), (SHA, "", 1, 2), (SHA, "a.py", 0, 2), (SHA, "a.py", 3, 2)],
)
def test_what_names_no_lines_of_a_commit_has_no_link(
    commit: str, path: str, first: int, last: int
) -> None:
    assert permalink("https://github.com/o/r", commit, path, first, last) is None


@pytest.mark.parametrize(
    ("forge", "link"),
    [
        ("github", f"https://git.example.org/o/r/blob/{SHA}/a.py#L1-L2"),
        ("gitlab", f"https://git.example.org/o/r/-/blob/{SHA}/a.py#L1-2"),
        ("forgejo", f"https://git.example.org/o/r/src/commit/{SHA}/a.py#L1-L2"),
    ],
)
def test_a_host_that_does_not_tell_its_kind_may_be_given_one(forge: Forge, link: str) -> None:
    assert permalink("git@git.example.org:o/r.git", SHA, "a.py", 1, 2, forge=forge) == link


def test_a_given_kind_makes_no_link_of_a_folder() -> None:
    assert permalink("/srv/git/o/r.git", SHA, "a.py", 1, 2, forge="github") is None
    assert commit_link("C:/git/o/r", SHA, forge="github") is None
