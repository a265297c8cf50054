"""Which files are taken, why the others are not, and how bytes become text (spec 5.2)."""

import codecs
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.adapters.globs import named_by
from tasks.domain.files import (
    CONFIGURATION_BYTES,
    decode,
    embedded_text,
    looks_like_words,
    skip_by_content,
    skip_by_entry,
)
from tasks.domain.generated import (
    has_generated_head,
    has_generated_path,
    is_minified,
    is_vendored_path,
)
from tasks.domain.languages import language_of

FILE, EXECUTABLE, SYMLINK, SUBMODULE = "100644", "100755", "120000", "160000"
PROSE = b"Rooms keep their state in events.\n"


@dataclass(frozen=True)
class Entry:
    path: str
    mode: str = FILE
    size: int | None = 100


def entry_reason(
    entry: Entry,
    *,
    wanted: bool = True,
    generated: bool | None = None,
    vendored: bool | None = None,
    max_bytes: int = 1_000_000,
) -> str | None:
    return skip_by_entry(
        entry,
        wanted=lambda _: wanted,
        generated=generated,
        vendored=vendored,
        max_bytes=max_bytes,
    )


@pytest.mark.parametrize(
    "path",
    [
        "README.md",
        "docs/setup.rst",
        "src/rooms.py",
        "LICENSE",
        "Makefile",
        "a/file.unheardof",
        "no-ending",
        ".editorconfig",
        "package.json",
        "src/vendoring/guide.md",
        "src/generated_names.py",
        "src/jquery_notes.md",
    ],
)
def test_prose_source_and_what_only_content_can_tell_are_read(path: str) -> None:
    assert entry_reason(Entry(path)) is None


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("web/node_modules/left-pad/index.js", "vendored"),
        ("vendor/golang.org/x/net/http.go", "vendored"),
        ("third_party/zlib/zlib.c", "vendored"),
        ("static/jquery-3.7.1.js", "vendored"),
        ("package-lock.json", "generated"),
        ("uv.lock", "generated"),
        ("crates/core/Cargo.lock", "generated"),
        ("static/app.min.js", "generated"),
        ("api/room.pb.go", "generated"),
        ("api/room_pb2.py", "generated"),
        ("src/__generated__/types.ts", "generated"),
        ("logo.PNG", "unknown-type"),
        ("manual.pdf", "unknown-type"),
        ("model.safetensors", "unknown-type"),
        ("rooms.csv", "data"),
        ("locale/de.po", "data"),
        ("logo.svg", "data"),
        ("notebook.ipynb", "data"),
        ("server.pem", "data"),
    ],
)
def test_what_people_do_not_write_here_is_told_by_its_path(path: str, reason: str) -> None:
    assert entry_reason(Entry(path)) == reason


@pytest.mark.parametrize("path", ["passwd.md", "loop", "sibling.py"])
def test_a_symlink_is_never_followed_whatever_its_name(path: str) -> None:
    assert entry_reason(Entry(path, SYMLINK, 11)) == "symlink"


def test_a_submodule_is_skipped() -> None:
    assert entry_reason(Entry("libs/olm", SUBMODULE, None)) == "submodule"


def test_a_file_whose_content_the_repository_lacks_is_missing_not_empty() -> None:
    assert entry_reason(Entry("docs/a.md", size=None)) == "missing"


def test_an_executable_script_is_a_file_like_any_other() -> None:
    assert entry_reason(Entry("run.sh", EXECUTABLE)) is None


def test_globs_decide_before_any_rule_about_names() -> None:
    assert entry_reason(Entry("uv.lock"), wanted=False) == "excluded"


def test_the_glob_predicate_sees_the_path() -> None:
    def reason(path: str) -> str | None:
        return skip_by_entry(
            Entry(path),
            wanted=lambda asked: asked.startswith("docs/"),
            generated=None,
            vendored=None,
            max_bytes=1000,
        )

    assert reason("docs/a.md") is None
    assert reason("src/a.md") == "excluded"


def test_what_gitattributes_marks_is_skipped() -> None:
    assert entry_reason(Entry("src/a.py"), generated=True) == "generated"
    assert entry_reason(Entry("src/a.py"), vendored=True) == "vendored"


def test_what_gitattributes_takes_back_is_taken_whatever_our_tables_say() -> None:
    assert entry_reason(Entry("vendor/a.py")) == "vendored"
    assert entry_reason(Entry("vendor/a.py"), vendored=False) is None
    assert entry_reason(Entry("api_pb2.py")) == "generated"
    assert entry_reason(Entry("api_pb2.py"), generated=False) is None
    assert skip_by_content("bundle.js", MINIFIED) == "generated"
    assert skip_by_content("bundle.js", MINIFIED, generated=False) is None
    assert skip_by_content("notes.md", b"# Notes\n\0", generated=False) == "binary"


def test_a_glob_that_names_a_kind_of_paths_means_them() -> None:
    meant = named_by(("vendor/ours/**", "**/*.py"), is_vendored_path)
    assert meant("vendor/ours/a.c")
    assert not meant("vendor/theirs/a.py")
    assert not named_by((), is_vendored_path)("vendor/ours/a.c")
    assert named_by(("**/*_pb2.py",), has_generated_path)("api/room_pb2.py")


def test_a_file_over_the_limit_is_too_large_and_one_at_the_limit_is_not() -> None:
    assert entry_reason(Entry("a.md", size=1001), max_bytes=1000) == "too-large"
    assert entry_reason(Entry("a.md", size=1000), max_bytes=1000) is None


def test_large_configuration_is_data_and_large_source_is_not() -> None:
    assert entry_reason(Entry("i18n/de.json", size=CONFIGURATION_BYTES + 1)) == "data"
    assert entry_reason(Entry("i18n/de.json", size=CONFIGURATION_BYTES)) is None
    assert entry_reason(Entry("rooms.py", size=CONFIGURATION_BYTES + 1)) is None


def test_an_empty_file_is_skipped_without_being_read() -> None:
    assert entry_reason(Entry("__init__.py", size=0)) == "empty"


def test_an_lfs_pointer_is_not_taken_for_the_file() -> None:
    pointer = (
        b"version https://git-lfs.github.com/spec/v1\n"
        b"oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\n"
        b"size 12345\n"
    )
    assert skip_by_content("model.py", pointer) == "lfs-pointer"


def test_a_page_about_lfs_pointers_is_prose() -> None:
    page = b"version https://git-lfs.github.com/spec/v1 is the first line of a pointer.\n"
    assert skip_by_content("lfs.md", page) is None


def test_a_nul_byte_makes_a_file_binary_whatever_its_name() -> None:
    assert skip_by_content("notes.md", b"# Notes\n\0\x80\xff") == "binary"
    assert skip_by_content("late.md", PROSE * 1000 + b"\0") == "binary"


def test_utf_16_with_its_mark_is_text_although_it_has_nul_bytes() -> None:
    data = codecs.BOM_UTF16_LE + "Räume\r\n".encode("utf-16-le")
    assert skip_by_content("a.md", data) is None
    assert decode(data) == "Räume\r\n"


def test_utf_16_that_holds_a_nul_character_is_no_text() -> None:
    data = codecs.BOM_UTF16_LE + "a\0b".encode("utf-16-le")
    assert skip_by_content("a.md", data) == "undecodable"


@pytest.mark.parametrize("data", [b"\n\n \t\r\n", codecs.BOM_UTF8 + b"\n"])
def test_e05_a_blank_file_is_empty(data: bytes) -> None:
    assert skip_by_content("blank.md", data) == "empty"


def test_a_utf_8_mark_is_dropped_and_line_ends_stay() -> None:
    assert decode(codecs.BOM_UTF8 + b"# Notes\r\n\r\ntext\r\n") == "# Notes\r\n\r\ntext\r\n"


def test_a_latin_1_source_file_is_decoded() -> None:
    source = "# Größe in Metern, «cité»\nhöhe = 3\n"
    assert decode(source.encode("latin-1")) == source
    assert skip_by_content("size.py", source.encode("latin-1")) is None


def test_windows_quotes_are_decoded() -> None:
    quoted = "\N{LEFT DOUBLE QUOTATION MARK}a\N{RIGHT DOUBLE QUOTATION MARK} \N{EURO SIGN}5"
    assert decode(quoted.encode("cp1252")) == quoted


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("koi8-r", "Комната хранит события"),
        ("shift-jis", "部屋の状態をまとめる"),
        ("gbk", "合并房间状态"),
        ("iso8859-7", "κατάσταση δωματίου"),
    ],
)
def test_other_encodings_are_refused_rather_than_garbled(encoding: str, text: str) -> None:
    assert decode(text.encode(encoding)) is None
    assert skip_by_content("a.txt", text.encode(encoding)) == "undecodable"


def test_one_broken_byte_in_utf_8_does_not_turn_the_rest_into_latin_1() -> None:
    assert decode("Räume größer schön".encode() + b"\xff\n") == "Räume größer schön\ufffd\n"


def test_bytes_that_are_mostly_control_characters_are_undecodable() -> None:
    assert skip_by_content("dump.txt", b"\x01\x02ab\x03\x04") == "undecodable"


@given(st.text())
def test_what_utf_8_encodes_decodes_to_itself_or_is_refused_for_its_controls(text: str) -> None:
    decoded = decode(text.encode())
    assert decoded in {text.removeprefix("\ufeff"), None}
    if text.isprintable() and not text.startswith("\ufeff"):
        assert decoded == text


@given(st.binary(max_size=300))
def test_any_bytes_are_decided_upon(data: bytes) -> None:
    reason = skip_by_content("some.bin.txt", data)
    if reason is None:
        text = decode(data)
        assert text is not None
        assert text.strip()


MINIFIED = b"!function(e,t){return e(t)}(a,b);" * 15_000


@pytest.mark.parametrize("path", ["static/bundle.js", "static/theme.css", "tool.py"])
def test_a_one_line_bundle_is_generated(path: str) -> None:
    assert skip_by_content(path, MINIFIED) == "generated"


def test_a_long_paragraph_of_prose_on_one_line_is_taken() -> None:
    assert skip_by_content("essay.md", b"Rooms keep their state in events. " * 3000) is None


def test_compiled_javascript_that_names_its_source_map_is_generated() -> None:
    compiled = "var a = 1;\n//# sourceMappingURL=a.js.map\n"
    assert is_minified("dist/a.js", compiled)
    assert not is_minified("docs/a.md", compiled)


@pytest.mark.parametrize(
    "head",
    [
        "// Code generated by protoc-gen-go. DO NOT EDIT.\n",
        "# This file is auto-generated from the current state of the database.\n",
        "/*\n * @generated\n */\n",
        "# Generated by the protocol buffer compiler.  DO NOT EDIT!\n",
        "<!-- Do not edit: this page is\n     generated from the schema. -->\n<!-- generated -->\n",
    ],
)
def test_a_head_that_says_a_tool_wrote_the_file_marks_source_as_generated(head: str) -> None:
    assert skip_by_content("x.go", head.encode() + b"package x\n") == "generated"


def test_prose_may_talk_about_generated_files() -> None:
    page = b"# Code generated by protoc. DO NOT EDIT.\n\nThat line stands at the top.\n"
    assert skip_by_content("protoc.md", page) is None


@pytest.mark.parametrize(
    "source",
    [
        'HEAD = "Code generated by x. DO NOT EDIT."\n',
        "# The ids are generated below.\nids = []\n",
        "import a\n" * 40 + "# Code generated by x. DO NOT EDIT.\n",
    ],
)
def test_only_a_comment_at_the_top_that_forbids_editing_counts(source: str) -> None:
    assert not has_generated_head(source)


@pytest.mark.parametrize(
    ("path", "content", "reason"),
    [
        ("NOTES", "How to restart the server after an upgrade.\n", None),
        ("words.unheardof", "fn main() { println!(x); }\n", None),
        ("日記", "部屋の状態をまとめる。" * 10, None),
        ("table", "12 3.5 99 1e4 0.001\n" * 50, "unknown-type"),
        ("blob.unheardof", "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo" * 20, "unknown-type"),
        ("dump.hex", "3a 00 14 ff 90 21 43 65\n" * 50, "unknown-type"),
    ],
)
def test_an_unknown_type_is_taken_if_it_reads_like_words(
    path: str, content: str, reason: str | None
) -> None:
    assert skip_by_content(path, content.encode()) == reason


def test_no_words_at_all_do_not_divide_by_zero() -> None:
    assert looks_like_words("")


@pytest.mark.parametrize(
    ("path", "text", "language"),
    [
        ("a/README.MD", "", "markdown"),
        ("Dockerfile", "", "dockerfile"),
        ("src/x.h", "", "cpp"),
        ("CMakeLists.txt", "", "cmake"),
        ("bin/tool", "#!/usr/bin/env -S python3.11 -u\n", "python"),
        ("bin/tool", "#!/bin/sh -e\n", "bash"),
        ("bin/tool", "#!/opt/strange\n", None),
        ("bin/tool", "#!", None),
        (".md", "", None),
        ("folder.py/none", "", None),
    ],
)
def test_the_language_is_told_by_name_ending_or_first_line(
    path: str, text: str, language: str | None
) -> None:
    assert language_of(path, text) == language


def test_the_embedded_form_puts_the_trail_on_a_line_above() -> None:
    assert embedded_text(("Guide", "Setup"), "text") == "Guide › Setup\ntext"
    assert embedded_text((), "text") == "text"
