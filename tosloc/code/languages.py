"""The languages that are told apart, and the versions of what is made of their texts, without loading a parser."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import metadata
from typing import Final

FIELDS: Final = ("code", "comment", "string", "method", "type", "field")
"""Columns of the counts. The first three make up the whole text; the others, declared names, are also in ``code``."""
FACTS_VERSION: Final = 3  # goes up when what tosloc.code.facts computes changes
FUNCTIONS_VERSION: Final = 2  # goes up when what tosloc.code.functions computes changes


@dataclass(frozen=True, slots=True)
class Language:
    """How the files of one language are analysed."""

    name: str
    suffixes: tuple[str, ...]
    lizard: str | None  # suffix under which lizard reads it; "" counts keywords, None has no complexity (not code)
    style: str  # style of the lexer that separates comments and strings; a key of parse.STYLES
    grammar: str = ""
    """Module of its grammar of tree-sitter; "" if the lexer reads it. What is asked of the trees stands in
    ``queries/``, by the module's name without ``tree_sitter_``. Of pages with scripts, the grammar is the scripts'."""
    function: str = "language"  # what the module calls the grammar

    @property
    def has_scripts(self) -> bool:
        """Whether its files are pages whose scripts are parsed."""
        return self.style == "markup" and bool(self.grammar)

    @property
    def release(self) -> tuple[str, ...]:
        """Distribution and release of its grammar; nothing if it has none."""
        distribution = self.grammar.replace("_", "-")
        return (distribution + metadata.version(distribution),) if distribution else ()


_ROWS: Final[tuple[tuple[str, str, str | None, str, str], ...]] = (
    ("java", "java", ".java", "c", "tree_sitter_java"),
    ("python", "py pyi pyw", ".py", "hash", "tree_sitter_python"),
    ("javascript", "js mjs cjs", ".js", "c", "tree_sitter_javascript"),
    ("jsx", "jsx", ".jsx", "c", "tree_sitter_javascript"),
    ("c", "c", ".c", "c", "tree_sitter_c"),
    ("cpp", "h hh hpp hxx h++ cc cpp cxx c++ inl ipp tpp tcc txx ixx cppm ino cu cuh", ".cpp", "c", "tree_sitter_cpp"),
    ("go", "go", ".go", "c", "tree_sitter_go"),
    ("csharp", "cs", ".cs", "c", "tree_sitter_c_sharp"),
    ("typescript", "ts mts cts", ".ts", "c", "tree_sitter_typescript language_typescript"),
    ("tsx", "tsx", ".tsx", "c", "tree_sitter_typescript language_tsx"),
    ("kotlin", "kt kts", ".kt", "c", "tree_sitter_kotlin"),
    ("scala", "scala sc", ".scala", "c", "tree_sitter_scala"),
    ("groovy", "groovy gradle", ".java", "c", ""),
    ("swift", "swift", ".swift", "c", "tree_sitter_swift"),
    ("rust", "rs", ".rs", "c", "tree_sitter_rust"),
    ("objc", "m mm", ".m", "c", ""),
    ("php", "php phtml", ".php", "c", "tree_sitter_php language_php"),
    ("ruby", "rb rake", ".rb", "hash", "tree_sitter_ruby"),
    ("perl", "pl pm t", ".pl", "hash", ""),
    ("lua", "lua", ".lua", "dash", ""),
    ("r", "r", ".r", "hash", ""),
    ("plsql", "sql pks pkb pls plb pck", ".sql", "dash", ""),
    ("fortran", "f f70 f90 f95 f03 f08 for ftn fpp", ".f90", "bang", ""),
    ("erlang", "erl hrl escript", ".erl", "percent", ""),
    ("solidity", "sol", ".sol", "c", ""),
    ("zig", "zig", ".zig", "c", ""),
    ("vue", "vue svelte astro", ".vue", "markup", "tree_sitter_typescript language_typescript"),
    ("gdscript", "gd", ".gd", "hash", ""),
    ("st", "st", ".st", "c", ""),
    ("ttcn", "ttcn ttcnpp", ".ttcn", "c", ""),
    ("dart", "dart", ".java", "c", ""),
    ("d", "d", ".c", "c", ""),
    ("clike", "aj proto thrift idl jj jjt javacc g g4 glsl vert frag comp geom hlsl metal cl v sv", ".c", "c", ""),
    ("shell", "sh bash zsh ksh", "", "hash", ""),
    ("powershell", "ps1 psm1", "", "hash", ""),
    ("hash", "ex exs jl nim cr coffee tcl awk cmake mk", "", "hash", ""),
    ("cython", "pyx pxd pxi", "", "hash", ""),
    ("haskell", "hs lhs elm ada adb ads vhd vhdl", "", "dash", ""),
    ("lisp", "clj cljs cljc lisp lsp el scm rkt s asm", "", "semicolon", ""),
    ("basic", "vb bas vbs", "", "apostrophe", ""),
    ("pascal", "pas pp dpr", "", "c", ""),
    ("fsharp", "fs fsi fsx ml mli", "", "c", ""),
    ("page", "jsp jspx jspf tag tagx jsf asp aspx cshtml erb ejs ftl vm mustache hbs", "", "markup", ""),
    ("markup", "xml xsd xsl xslt html htm xhtml svg tld wsdl md", None, "markup", ""),
    ("settings", "properties ini cfg conf toml yml yaml", None, "hash", ""),
)
"""Name, suffixes without their dots, lizard's suffix, style of the lexer, grammar (its module and function)."""

_LANGUAGES: Final = {
    name: Language(name, tuple(f".{suffix}" for suffix in suffixes.split()), lizard, style, *grammar.split())
    for name, suffixes, lizard, style, grammar in _ROWS
}
_TEXT: Final = Language("text", (), None, "plain")

LANGUAGES: Final[dict[str, str]] = {
    suffix: language.name for language in _LANGUAGES.values() for suffix in language.suffixes
}
"""Lower-case suffix with its dot -> language; any other suffix is "text"."""

SOURCE_SUFFIXES: Final[frozenset[str]] = frozenset(
    suffix for language in _LANGUAGES.values() if language.lizard is not None for suffix in language.suffixes
)
"""Suffixes of source code: files with them are the search space."""

OTHER_SUFFIXES: Final[frozenset[str]] = frozenset(
    f".{suffix}"
    for suffix in """xml xsd xsl xslt html htm xhtml tld wsdl properties ini cfg conf toml yml yaml json css scss sass
    less jinja jinja2 j2 tmpl tpl template twig liquid haml pug jade gotmpl""".split()
) | {"dockerfile", "makefile"}
"""Endings of templates, styles and configuration: their words are searched, too, in a list of their own."""


def language_of(suffix: str) -> str:
    """Name of the language of files that end in ``suffix`` (with its dot; case does not matter).

    >>> language_of(".java"), language_of(".H"), language_of(".unheard-of")
    ('java', 'cpp', 'text')
    """
    return LANGUAGES.get(suffix.lower(), "text")


def language_named(name: str) -> Language:
    """The language called ``name``; "text" for a name that is not in the table."""
    return _LANGUAGES.get(name, _TEXT)


def has_grammar(language: str) -> bool:
    """Whether files of the language called so are parsed, or the scripts in them."""
    return bool(language_named(language).grammar)


@cache
def analyser(lizard: bool = False) -> str:
    """Version of the facts; with lizard's release where complexity is its number, which changes between releases."""
    return f"facts{FACTS_VERSION}" + (f"+lizard{metadata.version('lizard')}" if lizard else "")


@cache
def analyser_of(language: str, lizard: bool = False) -> str:
    """Version of the facts of the language called so, for store keys: with the release of its grammar."""
    return "+".join((analyser(lizard), *language_named(language).release))


@cache
def functions_analyser_of(language: str) -> str:
    """Version of the function facts of the language called so, for store keys."""
    return "+".join((f"functions{FUNCTIONS_VERSION}", *language_named(language).release))
