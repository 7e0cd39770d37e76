"""List the supported languages, and the versions of what is computed from their texts.

This module loads no parser.
"""

from __future__ import annotations

from functools import cache
from importlib import metadata
from typing import Any, Final

FIELDS: Final = ("code", "comment", "string", "method", "type", "field")
"""Columns of ``Facts.counts``.

The first three contain the whole text. The others contain declared names, which are also in
``code``.
"""
FACTS_VERSION: Final = 11
"""Version of facts. Raise it if tosloc.code.facts computes other facts or classes of texts."""
FUNCTIONS_VERSION: Final = "functions8"
"""Version of functions. Raise it if tosloc.code.functions computes something else."""


class Language:
    """How the files of one language are analysed."""

    def __init__(
        self, name: str, suffixes: str, style: str, grammar: str = "", lizard: str | None = ""
    ) -> None:
        """Describe a language.

        ``suffixes`` have no dots; a suffix with a capital letter is the end of a name without
        suffix, such as Makefile. ``style`` is a key of ``parse.STYLES``: the style of the lexer
        that separates comments and strings. ``grammar`` is the module of a tree-sitter grammar and,
        unless it is called ``language``, the function in it; "" if the lexer reads the files. The
        queries over the trees are in ``queries/``, in a file named like the module without
        ``tree_sitter_``. ``lizard`` is the suffix under which lizard reads the files. "" stands for
        the first suffix; None means that the files are not code and have no complexity.
        """
        self.name = name
        self.style = style
        self.grammar = grammar
        self.suffixes = tuple(
            f".{suffix}" if suffix.islower() else suffix.lower() for suffix in suffixes.split()
        )
        self.lizard = self.suffixes[0] if lizard == "" else lizard
        self.has_scripts = style == "markup" and grammar != ""
        """Whether the files are pages whose scripts are parsed; the grammar is that of scripts."""


_ROWS: Final[tuple[tuple[Any, ...], ...]] = (
    ("java", "java", "c", "tree_sitter_java"),
    ("python", "py pyi pyw", "hash", "tree_sitter_python"),
    ("notebook", "ipynb", "hash", "tree_sitter_python", ".py"),
    ("starlark", "bzl star", "hash", "tree_sitter_python", ".py"),
    ("hcl", "tf tofu hcl tfvars", "hcl", "tree_sitter_hcl"),
    ("javascript", "js mjs cjs", "c", "tree_sitter_javascript"),
    ("jsx", "jsx", "c", "tree_sitter_javascript"),
    ("c", "c", "c", "tree_sitter_c"),
    (
        "cpp",
        "cpp h hh hpp hxx h++ cc cxx c++ inl ipp tpp tcc txx ixx cppm ino cu cuh",
        "c",
        "tree_sitter_cpp",
    ),
    ("go", "go", "c", "tree_sitter_go"),
    ("csharp", "cs", "c", "tree_sitter_c_sharp"),
    ("typescript", "ts mts cts", "c", "tree_sitter_typescript language_typescript"),
    ("tsx", "tsx", "c", "tree_sitter_typescript language_tsx"),
    ("kotlin", "kt kts", "c", "tree_sitter_kotlin"),
    ("scala", "scala sc", "c", "tree_sitter_scala"),
    ("groovy", "groovy gradle", "c", "", ".java"),
    ("swift", "swift", "c", "tree_sitter_swift"),
    ("rust", "rs", "c", "tree_sitter_rust"),
    ("objc", "m mm", "c"),
    ("php", "php phtml", "c", "tree_sitter_php language_php"),
    ("ruby", "rb rake", "hash", "tree_sitter_ruby"),
    ("perl", "pl pm t", "hash"),
    ("lua", "lua", "dash", "tree_sitter_lua"),
    ("r", "r", "hash"),
    ("plsql", "sql pks pkb pls plb pck", "dash"),
    ("fortran", "f90 f f70 f95 f03 f08 for ftn fpp", "bang"),
    ("erlang", "erl hrl escript", "percent"),
    ("solidity", "sol", "c"),
    ("zig", "zig", "c", "tree_sitter_zig"),
    ("vue", "vue svelte astro", "markup", "tree_sitter_typescript language_typescript"),
    ("gdscript", "gd", "hash"),
    ("st", "st", "c"),
    ("ttcn", "ttcn ttcnpp", "c"),
    ("dart", "dart", "c", "", ".java"),
    ("d", "d", "c", "", ".c"),
    (
        "clike",
        "aj proto thrift idl jj jjt javacc g g4 y yy l ll glsl vert frag comp geom hlsl metal wgsl"
        " cl v sv qml bicep prisma cue jsonnet libsonnet vala odin re res dts dtsi",
        "c",
        "",
        ".c",
    ),
    ("shell", "sh bash zsh ksh bats", "hash", "tree_sitter_bash"),
    ("powershell", "ps1 psm1", "hash"),
    ("elixir", "ex exs", "hash", "tree_sitter_elixir"),
    ("julia", "jl", "hash", "tree_sitter_julia"),
    ("hash", "nim cr coffee tcl awk cmake mk fish nu graphql gql rego", "hash"),
    ("nix", "nix", "nix"),
    ("style", "css scss sass less pcss styl", "style"),
    ("cython", "pyx pxd pxi", "hash"),
    ("haskell", "hs", "dash", "tree_sitter_haskell"),
    ("dash", "lhs elm ada adb ads vhd vhdl", "dash"),
    ("lisp", "clj cljs cljc lisp lsp el scm rkt s asm", "semicolon"),
    ("basic", "vb bas vbs", "apostrophe"),
    ("pascal", "pas pp dpr", "c"),
    ("fsharp", "fs fsi fsx ml mli", "c"),
    (
        "page",
        "jsp jspx jspf tag tagx jsf asp aspx cshtml razor erb ejs ftl vm mustache hbs handlebars"
        " j2 jinja jinja2 twig liquid njk tpl tmpl gotmpl template haml slim pug jade eex leex heex"
        " ui xaml axaml",
        "markup",
    ),
    ("markup", "xml xsd xsl xslt html htm xhtml svg tld wsdl md", "markup", "", None),
    (
        "build",
        "Makefile CMakeLists.txt Meson.build Dockerfile dockerfile Containerfile Gemfile Rakefile"
        " Vagrantfile Jenkinsfile bazel",
        "hash",
        "",
        None,
    ),
    ("settings", "properties ini cfg conf toml yml yaml", "hash", "", None),
)
"""Arguments of ``Language``, one row for each language."""
OTHER_GRAMMARS: Final = {"tree_sitter_javascript": "tree_sitter_typescript language_tsx"}
"""Grammar by the one in whose place it is tried for a text with errors.

That of TypeScript understands most of Flow's types, which many JavaScript files have."""
_LANGUAGES: Final = {row[0]: Language(*row) for row in _ROWS}
_TEXT: Final = Language("text", "", "plain", lizard=None)

LANGUAGE_BY_SUFFIX: Final[dict[str, str]] = {
    suffix: language.name for language in _LANGUAGES.values() for suffix in language.suffixes
}
"""Language by lower-case suffix with its dot, or by the name of a file without a suffix of its own.

Any other suffix is "text"."""
_NAMES: Final = tuple(suffix for suffix in LANGUAGE_BY_SUFFIX if not suffix.startswith("."))

SOURCE_SUFFIXES: Final[frozenset[str]] = frozenset(
    suffix
    for language in _LANGUAGES.values()
    if language.lizard is not None
    for suffix in language.suffixes
)
"""Suffixes of source code; answers search files with these suffixes."""

OTHER_KINDS: Final = {
    kind: tuple(suffixes.split())
    for kind, suffixes in {
        "YAML": ".yml .yaml",
        "HTML": ".html .htm .xhtml",
        "XML": ".xml .xsd .xsl .xslt .tld .wsdl",
        "settings": ".properties .ini .cfg .conf .toml",
        "build scripts": "makefile dockerfile .dockerfile containerfile cmakelists.txt meson.build"
        " gemfile rakefile vagrantfile jenkinsfile .bazel",
        "JSON": ".json",
    }.items()
}
"""Kind of page or configuration -> suffixes and names of its files.

These files are searched apart from sources, unless a project consists of them.
"""
DATA_KIND: Final = "JSON"
"""A kind that is data more often than configuration; no project with sources consists of it."""
KIND_BY_SUFFIX: Final = {
    suffix: kind for kind, suffixes in OTHER_KINDS.items() for suffix in suffixes
}
"""Suffix or name of a page or configuration -> its kind."""
OTHER_SUFFIXES: Final[frozenset[str]] = frozenset(KIND_BY_SUFFIX)
"""Suffixes and names of all kinds of pages and configuration."""


def language_name(path: str) -> str:
    """Return the name of the language of a path or suffix.

    The text after the last dot decides, or the whole name of a file such as Makefile. Case is
    ignored.

    >>> language_name("a/B.Java"), language_name(".H"), language_name("a.java/Makefile")
    ('java', 'cpp', 'build')
    >>> language_name("a.java/LICENSE")
    'text'
    """
    lowered = path.lower()
    by_suffix = LANGUAGE_BY_SUFFIX.get(lowered[lowered.rfind(".") :])
    if by_suffix is not None:
        return by_suffix
    for name in _NAMES:
        if lowered.endswith(name):
            return LANGUAGE_BY_SUFFIX[name]
    return "text"


def other_kind(path: str) -> str | None:
    """Return the kind of a page or configuration file by its path; None for any other file.

    >>> other_kind("ci/main.YML"), other_kind("app/Dockerfile"), other_kind("a.py")
    ('YAML', 'build scripts', None)
    """
    lowered = path.lower()
    kind = KIND_BY_SUFFIX.get(lowered[lowered.rfind(".") :])
    if kind is not None:
        return kind
    for ending in OTHER_KINDS["build scripts"]:
        if lowered.endswith(ending):
            return "build scripts"
    return None


def get_language(name: str) -> Language:
    """Return the language with a name; "text" for an unknown name."""
    return _LANGUAGES.get(name, _TEXT)


def has_grammar(language: str) -> bool:
    """Return whether files of a language, or the scripts in them, are parsed."""
    return bool(get_language(language).grammar)


@cache
def analyser_version(lizard: bool = False) -> str:
    """Return the version of the facts, which is part of their keys in the store.

    With ``lizard`` it includes lizard's release, because complexity changes between releases.
    """
    version = f"facts{FACTS_VERSION}"
    if lizard:
        version += f"+lizard{metadata.version('lizard')}"
    return version


@cache
def with_grammar_release(language: str, version: str) -> str:
    """Return a version of facts or functions followed by the releases of a language's grammars.

    Return ``version`` itself if the language has no grammar.
    """
    grammar = get_language(language).grammar
    for used in (grammar, OTHER_GRAMMARS.get(grammar, "")):
        distribution = used.partition(" ")[0].replace("_", "-")
        if distribution:
            version += f"+{distribution}{_installed_release(distribution)}"
    return version


@cache
def _installed_release(distribution: str) -> str:
    """Return the release of an installed distribution; several languages share one.

    Raises PackageNotFoundError if it is not installed.
    """
    return metadata.version(distribution)
