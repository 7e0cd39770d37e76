"""The languages that are told apart: which files are theirs, and what counts and separates their text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Language:
    """How the files of one language are analysed."""

    name: str
    suffixes: tuple[str, ...]
    lizard: str | None
    """Suffix under which lizard reads it; "" counts keywords, None has no complexity (not code)."""
    style: str
    """Style of the lexer that separates comments and strings; a key of ``lexer.STYLES``."""


_ROWS: Final[tuple[tuple[str, str, str | None, str], ...]] = (
    ("java", "java", ".java", "c"),
    ("python", "py pyi pyw", ".py", "hash"),
    ("javascript", "js mjs cjs", ".js", "c"),
    ("jsx", "jsx", ".jsx", "c"),
    ("c", "c", ".c", "c"),
    ("cpp", "h hh hpp hxx h++ cc cpp cxx c++ inl ipp tpp tcc txx ixx cppm ino cu cuh", ".cpp", "c"),
    ("go", "go", ".go", "c"),
    ("csharp", "cs", ".cs", "c"),
    ("typescript", "ts mts cts", ".ts", "c"),
    ("tsx", "tsx", ".tsx", "c"),
    ("kotlin", "kt kts", ".kt", "c"),
    ("scala", "scala sc", ".scala", "c"),
    ("groovy", "groovy gradle", ".java", "c"),
    ("swift", "swift", ".swift", "c"),
    ("rust", "rs", ".rs", "c"),
    ("objc", "m mm", ".m", "c"),
    ("php", "php phtml", ".php", "c"),
    ("ruby", "rb rake", ".rb", "hash"),
    ("perl", "pl pm t", ".pl", "hash"),
    ("lua", "lua", ".lua", "dash"),
    ("r", "r", ".r", "hash"),
    ("plsql", "sql pks pkb pls plb pck", ".sql", "dash"),
    ("fortran", "f f70 f90 f95 f03 f08 for ftn fpp", ".f90", "bang"),
    ("erlang", "erl hrl escript", ".erl", "percent"),
    ("solidity", "sol", ".sol", "c"),
    ("zig", "zig", ".zig", "c"),
    ("vue", "vue svelte astro", ".vue", "markup"),
    ("gdscript", "gd", ".gd", "hash"),
    ("st", "st", ".st", "c"),
    ("ttcn", "ttcn ttcnpp", ".ttcn", "c"),
    ("dart", "dart", ".java", "c"),
    ("d", "d", ".c", "c"),
    ("clike", "aj proto thrift idl jj jjt javacc g g4 glsl vert frag comp geom hlsl metal cl v sv", ".c", "c"),
    ("shell", "sh bash zsh ksh", "", "hash"),
    ("powershell", "ps1 psm1", "", "hash"),
    ("hash", "ex exs jl nim cr coffee tcl awk cmake mk", "", "hash"),
    ("cython", "pyx pxd pxi", "", "hash"),
    ("haskell", "hs lhs elm ada adb ads vhd vhdl", "", "dash"),
    ("lisp", "clj cljs cljc lisp lsp el scm rkt s asm", "", "semicolon"),
    ("basic", "vb bas vbs", "", "apostrophe"),
    ("pascal", "pas pp dpr", "", "c"),
    ("fsharp", "fs fsi fsx ml mli", "", "c"),
    ("page", "jsp jspx jspf tag tagx jsf asp aspx cshtml erb ejs ftl vm mustache hbs", "", "markup"),
    ("markup", "xml xsd xsl xslt html htm xhtml svg tld wsdl md", None, "markup"),
    ("settings", "properties ini cfg conf toml yml yaml", None, "hash"),
)
"""Name, suffixes without their dots, lizard's suffix, style of the lexer."""

_LANGUAGES: Final = {
    name: Language(name, tuple(f".{suffix}" for suffix in suffixes.split()), lizard, style)
    for name, suffixes, lizard, style in _ROWS
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


def language_of(suffix: str) -> str:
    """Name of the language of files that end in ``suffix`` (with its dot; case does not matter).

    >>> language_of(".java"), language_of(".H"), language_of(".unheard-of")
    ('java', 'cpp', 'text')
    """
    return LANGUAGES.get(suffix.lower(), "text")


def language_named(name: str) -> Language:
    """The language called ``name``; "text" for a name that is not in the table."""
    return _LANGUAGES.get(name, _TEXT)
