"""Tables: what is vendored, generated, data or no text at all, by path and by shape (spec 5.2).

The rules follow linguist's intent, in our own words and on the careful side: a file that is wrongly
kept costs some noise, one that is wrongly skipped cannot be found. What they miss, a repository's
``.gitattributes`` or ``exclude`` globs say better.
"""

import re
from typing import Final

from tasks.domain.languages import ending_of


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_VENDORED_FOLDERS: Final = _words(
    "3rdparty third_party thirdparty third-party vendor vendors vendored node_modules "
    "bower_components jspm_packages site-packages .venv pods carthage godeps _vendor"
)
_VENDORED_STARTS: Final = ("jquery-", "jquery.", "bootstrap.", "normalize.")
_VENDORED_PARTS: Final = (".yarn/releases/", ".yarn/plugins/", ".yarn/cache/", ".mvn/wrapper/")
_VENDORED_NAMES: Final = frozenset({"gradlew", "gradlew.bat", "mvnw", "mvnw.cmd"})

_LOCKS: Final = _words(
    "bun.lock cargo.lock composer.lock conda-lock.yml deno.lock flake.lock gemfile.lock go.sum "
    "go.work.sum gradle.lockfile mix.lock module.bazel.lock npm-shrinkwrap.json package-lock.json "
    "package.resolved packages.lock.json pdm.lock pipfile.lock pixi.lock pnpm-lock.yaml "
    "podfile.lock poetry.lock pubspec.lock pylock.toml shard.lock uv.lock yarn.lock"
)
_GENERATED_ENDS: Final = _words(
    ".min.js .min.mjs .min.css .bundle.js -min.js .js.map .mjs.map .cjs.map .css.map .ts.map "
    ".pb.go .pb.cc .pb.h .pb.swift _pb2.py _pb2.pyi _pb2_grpc.py _pb.js _pb.d.ts _pb.rb "
    ".g.dart .freezed.dart .designer.cs .g.cs .generated.cs .snap .pnp.cjs .pnp.loader.mjs"
)
_GENERATED_FOLDERS: Final = frozenset({"__generated__", "__snapshots__", ".next", ".nuxt"})

# Files that some program reads and nobody: tables, translations, recordings, notebooks, keys.
_DATA: Final = _words(
    "arb csv drawio geojson har ics ipynb jsonl log mbox ndjson pbtxt plist po pot psv resx srt "
    "strings sum svg topojson tsv vcf vtt xlf xliff "
    "asc crt csr cer gpg key pem pub sig"
)
_UNREADABLE: Final = _words(
    "png jpg jpeg gif webp avif ico icns bmp tif tiff psd ai eps xcf sketch fig "
    "woff woff2 ttf otf eot mp3 ogg oga opus wav flac m4a mp4 m4v mov avi mkv webm "
    "zip gz tgz bz2 xz zst 7z rar tar jar war ear whl egg deb rpm dmg iso apk aab ipa "
    "pdf doc docx xls xlsx ppt pptx odt ods odp epub rtf "
    "exe dll so dylib a o obj lib class pyc pyo wasm bin dat elc beam "
    "db sqlite sqlite3 mdb parquet arrow feather avro npy npz pkl pickle h5 hdf5 "
    "pt pth onnx safetensors gguf ckpt tflite mo qm jks keystore p12 pfx der"
)

_HEAD_LINES = 20
_HEAD_CHARACTERS = 4_000
_STATEMENT = re.compile(
    r"@generated\b"
    r"|this file (?:is|was|has been) (?:automatically |auto-?)generated"
    r"|generated[^\0]{0,200}?(?:do not|don't) (?:edit|modify)"
    r"|(?:do not|don't) (?:edit|modify)[^\0]{0,200}?generated"
)
_COMMENT_MARKS = ("#", "//", "/*", "*", "--", ";", "<!--", "%", '"""', "'''", "(*", "{-")

_BROWSER = frozenset({"js", "mjs", "cjs", "css"})
_BROWSER_MEAN = 200
_ANY_MEAN = 1_000


def is_vendored_path(path: str) -> bool:
    """Whether the path is other people's code by a well-known folder or name."""
    *folders, name = path.lower().split("/")
    return (
        not _VENDORED_FOLDERS.isdisjoint(folders)
        or name in _VENDORED_NAMES
        or (ending_of(name) in _BROWSER and name.startswith(_VENDORED_STARTS))
        or any(f"/{part}" in f"/{path.lower()}" for part in _VENDORED_PARTS)
    )


def has_generated_path(path: str) -> bool:
    """Whether a tool wrote the file, by its name: locks, minified files, compiled protocols."""
    *folders, name = path.lower().split("/")
    return (
        name in _LOCKS
        or name.endswith(tuple(_GENERATED_ENDS))
        or not _GENERATED_FOLDERS.isdisjoint(folders)
    )


def is_data_ending(path: str) -> bool:
    """Whether the ending names data: tables, translations, logs, notebooks, keys, SVG pictures."""
    return ending_of(path) in _DATA


def is_unreadable_ending(path: str) -> bool:
    """Whether the ending names pictures, sound, archives, office files, programs or models."""
    return ending_of(path) in _UNREADABLE


def is_minified(path: str, text: str) -> bool:
    """Whether the lines are too long for people.

    That is over 200 characters on average in JavaScript and CSS, over 1,000 in anything else. A
    browser file that ends by naming its source map counts too.
    """
    browser = ending_of(path) in _BROWSER
    lines = text.count("\n") + (not text.endswith("\n"))
    mapped = browser and "# sourceMappingURL=" in text.rstrip().rpartition("\n")[2]
    return mapped or len(text) > lines * (_BROWSER_MEAN if browser else _ANY_MEAN)


def has_generated_head(text: str) -> bool:
    """Whether a comment in the first 20 lines says that a tool wrote the file.

    Either "generated" near "do not edit", or ``@generated``, or "this file is auto-generated".
    Only lines that start like a comment count.
    """
    lines = (line.strip() for line in text[:_HEAD_CHARACTERS].split("\n")[:_HEAD_LINES])
    head = "\n".join(line for line in lines if line.startswith(_COMMENT_MARKS))
    return _STATEMENT.search(head.lower()) is not None
