"""What a file is written in, told by its path and, without an ending, by its first line (spec 5.2).

Three kinds: *prose* has headings that we read, *parsed* code has a grammar that we ship, *other*
code and configuration is cut by blank lines and indentation. An unknown ending gives None: then
the content decides (``tasks.domain.files``).
"""

from typing import Final

PROSE: Final = frozenset({"markdown", "rst", "adoc", "org", "text"})
PARSED: Final = frozenset(
    {"bash", "c", "cpp", "go", "java", "javascript", "python", "rust", "tsx", "typescript"}
)
CONFIGURATION: Final = frozenset({"ini", "json", "toml", "xml", "yaml"})

_ENDINGS: Final = {
    "markdown": "md markdown mdown mkd mkdn mdx",
    "rst": "rst rest",
    "adoc": "adoc asciidoc",
    "org": "org",
    "text": "txt text",
    "python": "py pyi pyw",
    "javascript": "js mjs cjs jsx",
    "typescript": "ts mts cts",
    "tsx": "tsx",
    "rust": "rs",
    "go": "go",
    "c": "c",
    "cpp": "h cc cpp cxx c++ hh hpp hxx h++ ipp tpp inl",  # C headers parse as C++, not conversely
    "java": "java",
    "bash": "sh bash bats",
    "ada": "adb ads",
    "awk": "awk",
    "bazel": "bzl bazel",
    "clojure": "clj cljs cljc edn",
    "cmake": "cmake",
    "csharp": "cs",
    "css": "css scss sass less",
    "cython": "pyx pxd",
    "d": "d",
    "dart": "dart",
    "elixir": "ex exs",
    "elm": "elm",
    "erlang": "erl hrl",
    "fish": "fish",
    "fortran": "f f90 f95 f03",
    "fsharp": "fs fsi fsx",
    "glsl": "glsl vert frag wgsl",
    "graphql": "graphql gql",
    "groovy": "groovy gradle",
    "haskell": "hs lhs",
    "html": "html htm xhtml",
    "ini": "ini cfg conf properties",
    "json": "json json5 jsonc",
    "julia": "jl",
    "kotlin": "kt kts",
    "latex": "tex sty cls bib",
    "lisp": "lisp el scm rkt",
    "lua": "lua",
    "make": "mk make",
    "nim": "nim",
    "nix": "nix",
    "objc": "m mm",
    "ocaml": "ml mli",
    "pascal": "pas pp",
    "perl": "pl pm t pod",
    "php": "php",
    "powershell": "ps1 psm1",
    "proto": "proto",
    "puppet": "epp",
    "r": "r rmd",
    "ruby": "rb rake gemspec",
    "scala": "scala sbt sc",
    "solidity": "sol",
    "sql": "sql",
    "svelte": "svelte",
    "swift": "swift",
    "tcl": "tcl",
    "template": "j2 jinja jinja2 tmpl tpl hbs mustache erb ejs haml pug slim",
    "terraform": "tf tfvars hcl",
    "thrift": "thrift",
    "toml": "toml",
    "typst": "typ",
    "verilog": "v sv vhd vhdl",
    "vim": "vim",
    "vue": "vue",
    "xml": "xml xsd xsl xslt rng",
    "yaml": "yaml yml",
    "zig": "zig",
    "zsh": "zsh",
}
_BY_ENDING: Final = {
    ending: language for language, endings in _ENDINGS.items() for ending in endings.split()
}
_BY_NAME: Final = {
    "authors": "text",
    "changelog": "text",
    "changes": "text",
    "cmakelists.txt": "cmake",
    "codeowners": "text",
    "containerfile": "dockerfile",
    "contributing": "text",
    "copying": "text",
    "dockerfile": "dockerfile",
    "gemfile": "ruby",
    "gnumakefile": "make",
    "hacking": "text",
    "install": "text",
    "jenkinsfile": "groovy",
    "justfile": "make",
    "license": "text",
    "makefile": "make",
    "news": "text",
    "notice": "text",
    "rakefile": "ruby",
    "readme": "text",
    "todo": "text",
    "vagrantfile": "ruby",
}
_BY_INTERPRETER: Final = {
    "bash": "bash",
    "dash": "bash",
    "ksh": "bash",
    "node": "javascript",
    "perl": "perl",
    "python": "python",
    "ruby": "ruby",
    "sh": "bash",
}


def ending_of(path: str) -> str:
    """The path's ending without its dot, lower-case; empty for none and for ``.dotfiles``."""
    stem, dot, ending = path.rpartition("/")[2].rpartition(".")
    return ending.lower() if dot and stem else ""


def language_of(path: str, text: str = "") -> str | None:
    """The language's name, or None when neither the name nor a ``#!`` line tells."""
    name = path.rpartition("/")[2].lower()
    ending = ending_of(path)
    return _BY_NAME.get(name) or _BY_ENDING.get(ending) or _by_first_line(text)


def _by_first_line(text: str) -> str | None:
    if not text.startswith("#!"):
        return None
    words = text[2:202].partition("\n")[0].split()
    if words and words[0].endswith("/env"):
        words = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    if not words:
        return None
    return _BY_INTERPRETER.get(words[0].rpartition("/")[2].rstrip("0123456789."))
