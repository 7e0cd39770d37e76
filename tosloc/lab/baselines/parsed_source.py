"""Source text -> what the published techniques take from it: pieces in their order, declared names, imports."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from tosloc.code.facts import names_of, outline_of, spans_of
from tosloc.code.languages import language_named
from tosloc.code.parse import Span, captures_of

PieceKind: TypeAlias = Literal["head", "code", "string", "javadoc", "comment"]
"""``head`` is a comment before the package or the last import: most often a licence."""

_SPANS: Final = ("comment", "string", "import", "package")
_WANTED: Final = (*_SPANS, "method", "type", "outer", "variable")
_IMPORT = re.compile(rb"import\s{1,1000}+(static\s{1,1000}+)?([\w.\s]{1,1000}+(?:(?<=[.\s])\*\s{0,1000}+)?);")
_PACKAGE = re.compile(rb"\bpackage\s+([\w.\s]+)")


@dataclass(frozen=True, slots=True)
class ParsedSource:
    """One source file, without its package and import lines."""

    pieces: tuple[tuple[PieceKind, str], ...] = ()
    """Texts in order, comments and strings with their marks."""
    types: tuple[str, ...] = ()
    """Names of the declared types in order, nested ones too."""
    outer: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    """Names of the declared methods and constructors in order, each time one is declared."""
    variables: tuple[str, ...] = ()
    """Names of the declared fields, local variables and parameters in order, each time one is declared."""
    package: str = ""
    imports: tuple[str, ...] = ()
    """Imported classes, or packages as ``a.b.*``; a static import counts for its class."""
    parsed: bool = True
    """False if regular expressions had to stand in for a parser."""

    def text(self, *kinds: PieceKind) -> str:
        """The pieces of these kinds (all, if none is named), each beginning a line of its own."""
        return "\n".join(text for kind, text in self.pieces if not kinds or kind in kinds)


def parse_source(text: str, language: str = "java") -> ParsedSource:
    """What a file holds. Never raises: what no parser understands is analysed by regular expressions."""
    source = text.encode("utf-8", "replace")
    parsed = _parsed_java(source) if language == "java" else None
    return _outlined(source, language) if parsed is None else parsed


def _parsed_java(source: bytes) -> ParsedSource | None:
    """A Java file by its syntax tree; None if there is nothing to be had from it."""
    captures = captures_of(source, language_named("java"), _WANTED)
    if captures is None:
        return None
    # a string in an annotation of the package, a comment in an import: the outer one counts
    spans = spans_of(captures, dict(zip(_SPANS, _SPANS, strict=True)))
    header = max((span.end for span in spans if span.kind in ("import", "package")), default=0)
    clauses = [(span.kind, source[span.start : span.end]) for span in spans]
    imports = [_imported(text) for kind, text in clauses if kind == "import"]
    return ParsedSource(
        pieces=tuple(_pieces(source, spans, header)),
        types=tuple(names_of(source, captures, "type")),
        outer=tuple(names_of(source, captures, "outer")),
        methods=tuple(names_of(source, captures, "method")),
        variables=tuple(names_of(source, captures, "variable")),
        package=_package([text for kind, text in clauses if kind == "package"]),
        imports=tuple(name for name in imports if name is not None),
    )


def _package(clauses: Sequence[bytes]) -> str:
    """Dotted name of the last package that one of the clauses declares; "" if none does."""
    names = [found[1] for clause in clauses if (found := _PACKAGE.search(clause))]
    return "".join(names[-1].decode("utf-8", "replace").split()) if names else ""


def _outlined(source: bytes, language: str) -> ParsedSource:
    """ParsedSource by the outline of stage one, which knows other languages and broken texts."""
    outline = outline_of(source, language, parse=language != "java")
    return ParsedSource(
        pieces=tuple(_pieces(source, outline.spans)),
        types=tuple(outline.types),
        outer=tuple(outline.types[:1]),
        methods=tuple(outline.methods),
        variables=tuple(outline.fields),
        package=_package([source[span.start : span.end] for span in outline.spans if span.kind == "drop"][::-1]),
        imports=tuple(name for line in _IMPORT.finditer(source) if (name := _imported(line[0])) is not None),
        parsed=outline.parsed,
    )


def _pieces(source: bytes, spans: Sequence[Span], header: int = 0) -> Iterator[tuple[PieceKind, str]]:
    """Comments, strings and the code between them; comments that end before ``header`` are heads."""
    end = 0
    for span in (*spans, Span(len(source), len(source), "end")):
        code, own = source[end : span.start], source[span.start : span.end]
        end = span.end
        if code.strip():
            yield "code", code.decode("utf-8", "replace")
        if span.kind in ("comment", "string") and own.strip():
            yield _piece_kind(span, own, header), own.decode("utf-8", "replace")


def _piece_kind(span: Span, text: bytes, header: int) -> PieceKind:
    if span.kind == "string":
        return "string"
    if span.end <= header:
        return "head"
    return "javadoc" if text.startswith(b"/**") else "comment"


def _imported(line: bytes) -> str | None:
    """The class or package that an import names; None for what is no whole import.

    >>> _imported(b"import static a.b.C.run;"), _imported(b"import a.b.*;")
    ('a.b.C', 'a.b.*')
    """
    found = _IMPORT.search(line)
    if found is None:
        return None
    name = "".join(found[2].decode("utf-8", "replace").split())
    return name.rpartition(".")[0] if found[1] else name
