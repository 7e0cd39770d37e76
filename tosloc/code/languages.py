"""The languages that are distinguished, and versions of what is computed from their texts.

This module loads no parser.
"""

from __future__ import annotations

from functools import cache
from importlib import metadata
from typing import Any, Final

FIELDS: Final = ("code", "comment", "string", "method", "type", "field")
"""Columns of the counts.

The first three are the whole text. The others are declared names, which are also in ``code``.
"""
FACTS_VERSION: Final = 6
"""Raise it whenever tosloc.code.facts computes something else, or a text gets another class."""
FUNCTIONS_VERSION: Final = "functions3"
"""Raise it whenever tosloc.code.functions computes something else."""


class Language:
    """How the files of one language are analysed."""

    def __init__(
        self, name: str, suffixes: str, style: str, grammar: str = "", lizard: str | None = ""
    ) -> None:
        """Describe a language.

        ``suffixes`` are without dots. ``style`` is that of the lexer that separates comments and
        strings: a key of ``parse.STYLES``. ``grammar`` is the module of a tree-sitter grammar and,
        unless that is called ``language``, its function; "" if the lexer reads the files. The
        queries over the trees are in ``queries/``, in a file named like the module without
        ``tree_sitter_``. ``lizard`` is the suffix under which lizard reads the files; "" stands for
        the first suffix, None means that they are no code and have no complexity.
        """
        self.name = name
        self.style = style
        self.grammar = grammar
        self.suffixes = tuple(f".{suffix}" for suffix in suffixes.split())
        self.lizard = self.suffixes[0] if lizard == "" else lizard
        self.has_scripts = style == "markup" and grammar != ""
        """Whether the files are pages whose scripts are parsed; the grammar is that of scripts."""


_ROWS: Final[tuple[tuple[Any, ...], ...]] = (
    ("java", "java", "c", "tree_sitter_java"),
    ("python", "py pyi pyw", "hash", "tree_sitter_python"),
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
    ("lua", "lua", "dash"),
    ("r", "r", "hash"),
    ("plsql", "sql pks pkb pls plb pck", "dash"),
    ("fortran", "f90 f f70 f95 f03 f08 for ftn fpp", "bang"),
    ("erlang", "erl hrl escript", "percent"),
    ("solidity", "sol", "c"),
    ("zig", "zig", "c"),
    ("vue", "vue svelte astro", "markup", "tree_sitter_typescript language_typescript"),
    ("gdscript", "gd", "hash"),
    ("st", "st", "c"),
    ("ttcn", "ttcn ttcnpp", "c"),
    ("dart", "dart", "c", "", ".java"),
    ("d", "d", "c", "", ".c"),
    (
        "clike",
        "aj proto thrift idl jj jjt javacc g g4 glsl vert frag comp geom hlsl metal cl v sv",
        "c",
        "",
        ".c",
    ),
    ("shell", "sh bash zsh ksh", "hash"),
    ("powershell", "ps1 psm1", "hash"),
    ("hash", "ex exs jl nim cr coffee tcl awk cmake mk", "hash"),
    ("cython", "pyx pxd pxi", "hash"),
    ("haskell", "hs lhs elm ada adb ads vhd vhdl", "dash"),
    ("lisp", "clj cljs cljc lisp lsp el scm rkt s asm", "semicolon"),
    ("basic", "vb bas vbs", "apostrophe"),
    ("pascal", "pas pp dpr", "c"),
    ("fsharp", "fs fsi fsx ml mli", "c"),
    ("page", "jsp jspx jspf tag tagx jsf asp aspx cshtml erb ejs ftl vm mustache hbs", "markup"),
    ("markup", "xml xsd xsl xslt html htm xhtml svg tld wsdl md", "markup", "", None),
    ("settings", "properties ini cfg conf toml yml yaml", "hash", "", None),
)
"""Arguments of ``Language``."""
_LANGUAGES: Final = {row[0]: Language(*row) for row in _ROWS}
_TEXT: Final = Language("text", "", "plain", lizard=None)

LANGUAGE_BY_SUFFIX: Final[dict[str, str]] = {
    suffix: language.name for language in _LANGUAGES.values() for suffix in language.suffixes
}
"""Language by lower-case suffix with its dot; any other suffix is "text"."""

SOURCE_SUFFIXES: Final[frozenset[str]] = frozenset(
    suffix
    for language in _LANGUAGES.values()
    if language.lizard is not None
    for suffix in language.suffixes
)
"""Suffixes of source code: files with them are the search space."""

OTHER_SUFFIXES: Final[frozenset[str]] = frozenset(
    f".{suffix}"
    for suffix in """xml xsd xsl xslt html htm xhtml tld wsdl properties ini cfg conf toml yml yaml
    json css scss sass less jinja jinja2 j2 tmpl tpl template twig liquid haml pug jade
    gotmpl""".split()
) | {"dockerfile", "makefile"}
"""Endings of templates, styles and configuration, which are searched apart from sources."""


def language_name(path: str) -> str:
    """Return the name of the language of a path or suffix, by what follows its last dot.

    Upper and lower case are the same.

    >>> language_name("a/B.Java"), language_name(".H"), language_name("a.java/Makefile")
    ('java', 'cpp', 'text')
    """
    return LANGUAGE_BY_SUFFIX.get(path[path.rfind(".") :].lower(), "text")


def get_language(name: str) -> Language:
    """Return the language with a name; "text" for an unknown name."""
    return _LANGUAGES.get(name, _TEXT)


def has_grammar(language: str) -> bool:
    """Return whether files of a language, or the scripts in them, are parsed."""
    return bool(get_language(language).grammar)


@cache
def analyser_version(lizard: bool = False) -> str:
    """Return the version of the facts, for store keys.

    With ``lizard`` it includes lizard's release, because complexity changes between releases.
    """
    version = f"facts{FACTS_VERSION}"
    if lizard:
        version += f"+lizard{metadata.version('lizard')}"
    return version


@cache
def with_grammar_release(language: str, version: str) -> str:
    """Return a version of facts or functions with the release of a language's grammar added."""
    distribution = get_language(language).grammar.partition(" ")[0].replace("_", "-")
    if not distribution:
        return version
    return f"{version}+{distribution}{metadata.version(distribution)}"
