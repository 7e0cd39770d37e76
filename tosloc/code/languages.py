"""The languages that are told apart, and the versions of what is made of their texts, without loading a parser."""

from __future__ import annotations

from functools import cache
from importlib import metadata
from typing import Any, Final

FIELDS: Final = ("code", "comment", "string", "method", "type", "field")
"""Columns of the counts. The first three make up the whole text; the others, declared names, are also in ``code``."""
FACTS_VERSION: Final = 3  # goes up when what tosloc.code.facts computes changes
FUNCTIONS_VERSION: Final = "functions2"  # goes up when what tosloc.code.functions computes changes


class Language:
    """How the files of one language are analysed."""

    def __init__(
        self, name: str, suffixes: str, style: str, grammar: str = "", lizard: str | None = ""
    ) -> None:
        """The suffixes are without dots; the ``style`` of the lexer that separates comments and strings is a key of
        ``parse.STYLES``. The ``grammar`` of tree-sitter is its module and, if that does not call it ``language``, what
        it does; "" if the lexer reads the files. What is asked of the trees stands in ``queries/``, by the module's
        name without ``tree_sitter_``. ``lizard`` is the suffix under which lizard reads them; "" is the first, None has
        no complexity (no code).
        """
        self.name, self.style, self.grammar = name, style, grammar
        self.suffixes = tuple(f".{suffix}" for suffix in suffixes.split())
        self.lizard = self.suffixes[0] if lizard == "" else lizard
        self.has_scripts = style == "markup" and grammar != ""
        """Whether the files are pages whose scripts are parsed; then the grammar is theirs."""


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
"""What ``Language`` takes."""
_LANGUAGES: Final = {row[0]: Language(*row) for row in _ROWS}
_TEXT: Final = Language("text", "", "plain", lizard=None)

LANGUAGE_BY_SUFFIX: Final[dict[str, str]] = {
    suffix: language.name for language in _LANGUAGES.values() for suffix in language.suffixes
}
"""Lower-case suffix with its dot -> language; any other suffix is "text"."""

SOURCE_SUFFIXES: Final[frozenset[str]] = frozenset(
    suffix
    for language in _LANGUAGES.values()
    if language.lizard is not None
    for suffix in language.suffixes
)
"""Suffixes of source code: files with them are the search space."""

OTHER_SUFFIXES: Final[frozenset[str]] = frozenset(
    f".{suffix}"
    for suffix in """xml xsd xsl xslt html htm xhtml tld wsdl properties ini cfg conf toml yml yaml json css scss sass
    less jinja jinja2 j2 tmpl tpl template twig liquid haml pug jade gotmpl""".split()
) | {"dockerfile", "makefile"}
"""Endings of templates, styles and configuration: their words are searched, too, in a list of their own."""


def language_name(path: str) -> str:
    """Name of the language of a file, by what follows the last dot of its path (case does not matter), or of a suffix.

    >>> language_name("a/B.Java"), language_name(".H"), language_name("a.java/Makefile")
    ('java', 'cpp', 'text')
    """
    return LANGUAGE_BY_SUFFIX.get(path[path.rfind(".") :].lower(), "text")


def get_language(name: str) -> Language:
    """The language called ``name``; "text" for a name that is not in the table."""
    return _LANGUAGES.get(name, _TEXT)


def has_grammar(language: str) -> bool:
    """Whether files of the language called so are parsed, or the scripts in them."""
    return bool(get_language(language).grammar)


@cache
def analyser_version(lizard: bool = False) -> str:
    """Version of the facts; with lizard's release where complexity is its number, which changes between releases."""
    return f"facts{FACTS_VERSION}" + (f"+lizard{metadata.version('lizard')}" if lizard else "")


@cache
def with_grammar_release(language: str, version: str) -> str:
    """A version, of ``analyser_version`` or of functions, with the release of a language's grammar: for store keys."""
    distribution = get_language(language).grammar.partition(" ")[0].replace("_", "-")
    return f"{version}+{distribution}{metadata.version(distribution)}" if distribution else version
