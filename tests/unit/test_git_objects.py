"""How trees, attributes, commits and refs are read, and what git's errors turn into."""

from datetime import UTC, datetime

import pytest

from tasks.adapters.git_errors import MirrorDamaged, error_of, shown
from tasks.adapters.git_objects import (
    attribute_files,
    is_plain_file,
    lacking,
    parse_attributes,
    parse_commit,
    parse_refs,
    parse_tree,
)
from tasks.adapters.git_process import Finished
from tasks.errors import RepositoryBusy, RepositoryUnreadable
from tasks.ports import TreeEntry

SHA = "0123456789" * 4


def commit(author: bytes, committer: bytes = b"C <c@x> 60 +0000", more: bytes = b"") -> bytes:
    parts = [b"tree " + SHA.encode(), b"author " + author, b"committer " + committer]
    return b"\n".join([*parts, *([more] if more else [])]) + b"\n\nHello\n\nworld\n"


@pytest.mark.parametrize(
    ("author", "name"),
    [
        (b"Ada Lovelace <ada@example.org> 0 +0000", "Ada Lovelace"),
        (b"ada@example.org <ada@example.org> 0 +0000", "ada"),
        (b"Ada @ Home <ada@example.org> 0 +0000", "Ada @ Home"),
        (b"Ada <ada@example.org> <other@example.org> 0 +0000", "Ada"),
        (b" <ada@example.org> 0 +0000", ""),
        (b"Ada", "Ada"),
        (b"Ren\xe9e <r@example.org> 0 +0000", "Ren\N{REPLACEMENT CHARACTER}e"),
        (b"", ""),
    ],
)
def test_an_author_is_a_name_and_never_an_address(author: bytes, name: str) -> None:
    assert parse_commit(SHA, commit(author)).author == name


@pytest.mark.parametrize(
    ("when", "expected"),
    [
        (b"1700000000 +0000", datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)),
        (b"1700000000 -1145", datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)),
        (b"1700000000 +518000", datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)),
        (b"1700000000", datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)),
        (b"-1 +0000", datetime(1970, 1, 1, tzinfo=UTC)),
        (b"18446744073709551615 +0000", datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)),
        (b"253402300799 +0000", datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)),
        (b"yesterday", datetime(1970, 1, 1, 0, 1, tzinfo=UTC)),
        (b"", datetime(1970, 1, 1, 0, 1, tzinfo=UTC)),
    ],
)
def test_the_time_is_the_authors_in_utc_within_what_can_be_stored(
    when: bytes, expected: datetime
) -> None:
    assert parse_commit(SHA, commit(b"Ada <a@x> " + when)).authored_at == expected


def test_a_commit_without_any_time_is_of_the_epoch() -> None:
    raw = commit(b"Ada <a@x>", b"Ada <a@x> soon")
    assert parse_commit(SHA, raw).authored_at == datetime(1970, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("encoding", "raw", "text"),
    [
        (b"", "kůň".encode(), "kůň"),
        (b"", b"k\xf9\xf2", "k\N{REPLACEMENT CHARACTER}" * 1 + "\N{REPLACEMENT CHARACTER}"),
        (b"encoding ISO-8859-2", "kůň".encode("iso-8859-2"), "kůň"),
        (b"encoding no-such-charset", "kůň".encode(), "kůň"),
        (b"encoding hex", "kůň".encode(), "kůň"),
        (b"encoding punycode", b"abc-def", "abc-def"),
        (b"encoding utf-7", b"+2AA-x", "?x"),
    ],
)
def test_a_message_is_read_in_its_encoding_and_is_always_text(
    encoding: bytes, raw: bytes, text: str
) -> None:
    whole = commit(b"Ada <a@x> 0 +0000", more=encoding).replace(b"Hello\n\nworld\n", raw)
    assert parse_commit(SHA, whole).message == text


def test_a_signed_merge_keeps_its_parents_and_message_apart_from_its_signature() -> None:
    raw = b"\n".join(
        [
            *(b"tree " + SHA.encode(), b"parent " + SHA.encode(), b"parent " + SHA.encode()),
            b"author Ada <a@x> 0 +0000",
            b"committer Ada <a@x> 0 +0000",
            b"gpgsig -----BEGIN PGP SIGNATURE-----",
            *(b" ", b" parent of nothing", b" author Eve <e@x> 9 +0000"),
            *(b"", b"Merge", b"", b"parent words"),
        ]
    )
    parsed = parse_commit(SHA, raw)
    assert (parsed.parents, parsed.author) == (2, "Ada")
    assert parsed.message == "Merge\n\nparent words"


def test_a_commit_with_an_empty_message_is_read() -> None:
    raw = commit(b"Ada <a@x> 0 +0000").replace(b"Hello\n\nworld\n", b"")
    assert parse_commit(SHA, raw).message == ""


def test_a_tree_is_sorted_by_path_and_tells_what_has_no_content() -> None:
    records = [
        b"100644 blob " + SHA.encode() + b"       7\tb\tc\n.md",
        b"160000 commit " + SHA.encode() + b"       -\tlib",
        b"100755 blob " + b"f" * 40 + b"     BAD\ta",
        b"120000 blob " + SHA.encode() + b"       2\tna\xefve",
    ]
    entries, unreadable = parse_tree(b"\0".join([*records, b""]))
    assert entries == [
        TreeEntry("a", "100755", "f" * 40, None),
        TreeEntry("b\tc\n.md", "100644", SHA, 7),
        TreeEntry("lib", "160000", SHA, None),
    ]
    assert unreadable == 1
    assert lacking(entries) == {"f" * 40}
    assert parse_tree(b"") == ([], 0)


@pytest.mark.parametrize(
    ("path", "mode", "plain"),
    [
        ("a/b.md", "100644", True),
        ("a/b.sh", "100755", True),
        ("link", "120000", False),
        ("lib", "160000", False),
        (".git/config", "100644", False),
        ("a/.GIT/config", "100644", False),
        ("../a", "100644", False),
        ("a//b", "100644", False),
        (".github/a", "100644", True),
    ],
)
def test_only_plain_files_are_asked_for_attributes(path: str, mode: str, *, plain: bool) -> None:
    assert is_plain_file(TreeEntry(path, mode, SHA, 1)) is plain


def test_attribute_files_are_found_at_every_depth_and_not_by_likeness() -> None:
    paths = [".gitattributes", "a/.gitattributes", "a.gitattributes", ".gitattributes/b"]
    entries = [TreeEntry(path, "100644", SHA, 1) for path in paths]
    entries.append(TreeEntry("link/.gitattributes", "120000", SHA, 1))
    entries.append(TreeEntry("gone/.gitattributes", "100644", SHA, None))
    assert [entry.path for entry in attribute_files(entries)] == paths[:2]


def test_any_value_of_an_attribute_but_false_means_yes_and_unset_means_no() -> None:
    values = [b"set", b"true", b"1", b"unset", b"false", b"unspecified"]
    listing = b"".join(
        b"%d\0linguist-generated\0%s\0" % (number, value) for number, value in enumerate(values)
    )
    assert parse_attributes(listing) == {
        ("linguist-generated", True): {"0", "1", "2"},
        ("linguist-generated", False): {"3", "4"},
    }
    assert parse_attributes(b"") == {}


def test_the_refs_of_a_remote_are_told_apart() -> None:
    listing = (
        f"ref: refs/heads/main\tHEAD\n{SHA}\tHEAD\n{SHA}\trefs/heads/a/b\n"
        f"{SHA}\trefs/pull/1/head\n{SHA}\trefs/tags/v1^{{}}\n"
    )
    refs = parse_refs(listing.encode())
    assert (refs.head, refs.branches, refs.empty) == (SHA, {"a/b": SHA}, False)
    dangling = parse_refs(f"{SHA}\trefs/tags/v1\n".encode())
    assert (dangling.head, dangling.branches, dangling.empty) == (None, {}, False)
    assert parse_refs(b"").empty


@pytest.mark.parametrize(
    ("said", "error", "reason"),
    [
        ("fatal: Authentication failed for 'https://x/'", RepositoryUnreadable, "login"),
        ("git@x: Permission denied (publickey).", RepositoryUnreadable, "login"),
        ("The requested URL returned error: 403", RepositoryUnreadable, "login"),
        ("Host key verification failed.", RepositoryUnreadable, "known_hosts"),
        ("SSL certificate problem: unable to get", RepositoryUnreadable, "TLS"),
        ("remote: Repository not found.", RepositoryUnreadable, "no repository"),
        ("repository 'https://x/' not found", RepositoryUnreadable, "no repository"),
        ("The requested URL returned error: 404", RepositoryUnreadable, "no repository"),
        ("fatal: '/x' does not appear to be a git repository", RepositoryUnreadable, "the top"),
        ("fatal: could not open '/x': Permission denied", RepositoryUnreadable, "may not read"),
        ("ssh: Could not resolve hostname x", RepositoryBusy, "network"),
        ("The requested URL returned error: 503", RepositoryBusy, "network"),
        ("The requested URL returned error: 429", RepositoryBusy, "network"),
        ("fatal: early EOF\nfatal: index-pack failed", RepositoryBusy, "network"),
        ("error: RPC failed; curl 28 Operation too slow", RepositoryBusy, "network"),
        ("fatal: write error: No space left on device", RepositoryBusy, "room"),
        ("fatal: couldn't find remote ref refs/heads/x", RepositoryBusy, "changed"),
        ("fatal: bad object HEAD", MirrorDamaged, "cache_dir"),
        ("fatal: transport 'ext' not allowed", RepositoryUnreadable, "file, git, http"),
    ],
)
def test_what_git_says_becomes_a_reason_and_a_fix(
    said: str, error: type[Exception], reason: str
) -> None:
    tail = "\nfatal: Could not read from remote repository.\n\nPlease make sure you have the rights"
    made = error_of(Finished(128, b"", said + tail), "thing", 600)
    assert type(made) is error
    assert str(made).startswith("thing: ")
    assert reason in str(made)
    assert str(made).endswith(".")


def test_words_that_no_row_knows_are_shown_without_any_address() -> None:
    said = "remote: hunter2\nfatal: odd thing at https://ada:hunter2@x/y and ada@x:y, mirror\n"
    made = error_of(Finished(128, b"", said), "thing", 600)
    assert type(made) is RepositoryUnreadable
    assert "ended with code 128: odd thing at … and … mirror. " in str(made)


@pytest.mark.parametrize(
    ("finished", "reason"),
    [
        (Finished(None, b"", ""), "within 600 seconds.*git_timeout"),
        (Finished(-9, b"", ""), "signal 9"),
    ],
)
def test_a_git_that_was_stopped_may_be_tried_again(finished: Finished, reason: str) -> None:
    with pytest.raises(RepositoryBusy, match=reason):
        raise error_of(finished, "thing", 600)


@pytest.mark.parametrize(
    ("address", "without"),
    [
        ("https://ada:hunter2@forge.test/x", "https://forge.test/x"),
        ("https://hunter2@forge.test/x@y", "https://forge.test/x@y"),
        ("git@forge.test:x.git", "forge.test:x.git"),
        ("/srv/a@b", "/srv/a@b"),
        ("https://forge.test/x", "https://forge.test/x"),
    ],
)
def test_an_address_is_shown_without_its_user(address: str, without: str) -> None:
    assert shown(address) == without
