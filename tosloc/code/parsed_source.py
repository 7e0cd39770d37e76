"""Split a source file into code, comments and strings, with its declared names and imports."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from tosloc.code.complexity import lizard_complexity
from tosloc.code.facts import captured_spans, captured_texts, outline_source
from tosloc.code.languages import get_language
from tosloc.code.parse import MAX_PARSED_BYTES, Captures, Outline, Span, capture_nodes

PieceKind: TypeAlias = Literal["head", "code", "string", "javadoc", "comment"]
"""The kind of a piece of a file. A ``head`` is a comment before the package or the last import,
most often a licence."""

_SPANS: Final = {kind: kind for kind in ("comment", "string", "import", "package")}
_NAMES: Final = ("type", "outer", "method", "variable")
_IMPORT = re.compile(
    rb"import\s{1,1000}+(static\s{1,1000}+)?([\w.\s]{1,1000}+(?:(?<=[.\s])\*\s{0,1000}+)?);"
)
_PACKAGE = re.compile(rb"\bpackage\s+([\w.\s]+)")


@dataclass(frozen=True, slots=True)
class ParsedSource:
    """One source file, without its package and import lines."""

    pieces: tuple[tuple[PieceKind, str], ...]
    """The kind and the text of each piece, in file order; comments and strings with their marks."""
    types: tuple[str, ...]
    """Names of the declared types in file order, nested types included."""
    outer_types: tuple[str, ...]
    """Names of the declared types that are not nested in another one, in file order."""
    methods: tuple[str, ...]
    """Names of the declared methods and constructors in file order, one entry per declaration."""
    variables: tuple[str, ...]
    """Names of the declared fields, local variables and parameters in file order, one entry per
    declaration."""
    package: str
    imports: tuple[str, ...]
    """Imported classes, or packages as ``a.b.*``; a static import counts as one of its class."""
    complexity: int = 0
    """Sum of the cyclomatic complexities of the functions; 0 unless it was asked for."""

    def text(self, *kinds: PieceKind) -> str:
        """Return the pieces of the given kinds (of all kinds by default), joined by newlines."""
        return "\n".join(text for kind, text in self.pieces if not kinds or kind in kinds)


def parse_source(text: str, language: str = "java", complexity: bool = False) -> ParsedSource:
    """Return the pieces, names and imports of a source file.

    Java is read by its syntax tree. Other languages, and Java that has no syntax tree, are read by
    the outline that stage one uses. The cyclomatic complexity is computed only with ``complexity``.
    """
    source = text.encode("utf-8", "replace")
    language_facts = get_language(language)
    captures = None
    if language == "java":
        captures = capture_nodes(source, language_facts, (*_SPANS, *_NAMES))
    if captures is None:
        parts = _read_outline(source, outline_source(source, language, parse=language != "java"))
    else:
        parts = _read_captures(source, captures)
    lizard = language_facts.lizard if complexity else None
    cyclomatic = 0
    if lizard is not None:
        cyclomatic = lizard_complexity(text, lizard if len(text) <= MAX_PARSED_BYTES else "")
    return ParsedSource(
        pieces=tuple(_split_pieces(source, parts.spans, parts.header_end)),
        types=tuple(parts.types),
        outer_types=tuple(parts.outer_types),
        methods=tuple(parts.methods),
        variables=tuple(parts.variables),
        package=_find_package(parts.package_lines),
        imports=tuple(_find_imports(parts.import_lines)),
        complexity=cyclomatic,
    )


@dataclass(frozen=True, slots=True)
class _SourceParts:
    """The parts of a file's bytes, before package and imports are read from their lines."""

    spans: Sequence[Span]
    header_end: int
    """Offset behind the package and the last import; 0 if it is unknown."""
    types: Sequence[str]
    outer_types: Sequence[str]
    methods: Sequence[str]
    variables: Sequence[str]
    package_lines: Sequence[bytes]
    import_lines: Sequence[bytes]


def _read_outline(source: bytes, outline: Outline) -> _SourceParts:
    """Return the parts of a file that has no syntax tree; only its first type counts as outer."""
    return _SourceParts(
        spans=outline.spans,
        header_end=0,
        types=outline.types,
        outer_types=outline.types[:1],
        methods=outline.methods,
        variables=outline.fields,
        package_lines=_texts_of_kind(source, outline.spans, "drop"),
        import_lines=[match[0] for match in _IMPORT.finditer(source)],
    )


def _read_captures(source: bytes, captures: Captures) -> _SourceParts:
    """Return the parts of a Java file from the captures of its syntax tree."""
    # Spans can be nested: a string in an annotation of the package, a comment in an import. The
    # outer one counts.
    spans = captured_spans(captures, _SPANS)
    header_ends = [span.end for span in spans if span.kind in ("import", "package")]
    return _SourceParts(
        spans=spans,
        header_end=max(header_ends, default=0),
        types=captured_texts(source, captures, "type"),
        outer_types=captured_texts(source, captures, "outer"),
        methods=captured_texts(source, captures, "method"),
        variables=captured_texts(source, captures, "variable"),
        package_lines=_texts_of_kind(source, spans, "package"),
        import_lines=_texts_of_kind(source, spans, "import"),
    )


def _texts_of_kind(source: bytes, spans: Iterable[Span], kind: str) -> list[bytes]:
    return [source[span.start : span.end] for span in spans if span.kind == kind]


def _find_package(lines: Iterable[bytes]) -> str:
    """Return the package name in the first package declaration; "" if there is none."""
    for line in lines:
        match = _PACKAGE.search(line)
        if match:
            return _remove_whitespace(match[1])
    return ""


def _find_imports(lines: Iterable[bytes]) -> Iterator[str]:
    """Yield the imported classes and packages; a static import yields its class."""
    for line in lines:
        match = _IMPORT.search(line)
        if match:
            name = _remove_whitespace(match[2])
            yield name.rpartition(".")[0] if match[1] else name


def _split_pieces(
    source: bytes, spans: Sequence[Span], header_end: int
) -> Iterator[tuple[PieceKind, str]]:
    """Yield comments, strings and the code between them; comments of the header are heads."""
    end = 0
    for span in (*spans, Span(len(source), len(source), "end")):
        code = source[end : span.start]
        if code.strip():
            yield "code", code.decode("utf-8", "replace")
        content = source[span.start : span.end]
        end = span.end
        if content.strip() and span.kind in ("comment", "string"):
            yield _piece_kind(span, content, header_end), content.decode("utf-8", "replace")


def _piece_kind(span: Span, content: bytes, header_end: int) -> PieceKind:
    if span.kind == "string":
        return "string"
    if span.end <= header_end:
        return "head"
    return "javadoc" if content.startswith(b"/**") else "comment"


def _remove_whitespace(name: bytes) -> str:
    return "".join(name.decode("utf-8", "replace").split())
