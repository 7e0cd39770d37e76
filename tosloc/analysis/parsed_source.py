"""Source text -> what the published techniques read of it: pieces in their order, declared names, imports.

Stage one's facts are terms already; each published technique has terms of its own, so it needs the words themselves.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from typing import Final, Literal, TypeAlias

import tree_sitter
import tree_sitter_java

from tosloc.analysis.code import outline

Kind: TypeAlias = Literal["head", "code", "string", "javadoc", "comment"]
"""``head`` is a comment before the package or the last import: most often a licence."""

_QUERY: Final = """
    [(line_comment) (block_comment)] @comment
    [(string_literal) (character_literal)] @string
    (import_declaration) @import
    (package_declaration) @package
    [(method_declaration name: (identifier) @method)
     (constructor_declaration name: (identifier) @method)
     (compact_constructor_declaration name: (identifier) @method)
     (annotation_type_element_declaration name: (identifier) @method)]
    [(class_declaration name: (identifier) @type)
     (interface_declaration name: (identifier) @type)
     (enum_declaration name: (identifier) @type)
     (record_declaration name: (identifier) @type)
     (annotation_type_declaration name: (identifier) @type)]
    (program [(class_declaration name: (identifier) @outer)
              (interface_declaration name: (identifier) @outer)
              (enum_declaration name: (identifier) @outer)
              (record_declaration name: (identifier) @outer)
              (annotation_type_declaration name: (identifier) @outer)])
    [(variable_declarator name: (identifier) @variable)
     (formal_parameter name: (identifier) @variable)
     (catch_formal_parameter name: (identifier) @variable)
     (enhanced_for_statement name: (identifier) @variable)
     (resource name: (identifier) @variable)]
"""
_IMPORT = re.compile(rb"import\s+(static\s+)?([\w.\s]+?(?:\.\s*\*)?)\s*;")
_PACKAGE = re.compile(rb"\bpackage\s+([\w.\s]+)")


@dataclass(frozen=True, slots=True)
class ParsedSource:
    """One source file, without its package and import lines."""

    pieces: tuple[tuple[Kind, str], ...] = ()
    """Texts in order, comments and strings with their marks."""
    types: tuple[str, ...] = ()
    """Names of the declared types in order, nested ones too."""
    outer: tuple[str, ...] = ()
    """Those of ``types`` at the top level."""
    methods: tuple[str, ...] = ()
    """Names of the declared methods and constructors in order, each time one is declared."""
    variables: tuple[str, ...] = ()
    """Names of the declared fields, local variables and parameters in order, each time one is declared."""
    package: str = ""
    imports: tuple[str, ...] = ()
    """Imported classes, or packages as ``a.b.*``; a static import counts for its class."""
    parsed: bool = True
    """False if regular expressions had to stand in for a parser."""

    def text(self, *kinds: Kind) -> str:
        """The pieces of these kinds (all, if none is named), each beginning a line of its own."""
        return "\n".join(text for kind, text in self.pieces if not kinds or kind in kinds)


@cache
def _grammar() -> tuple[tree_sitter.Parser, tree_sitter.Query]:
    grammar = tree_sitter.Language(tree_sitter_java.language())
    return tree_sitter.Parser(grammar), tree_sitter.Query(grammar, _QUERY)


@dataclass(slots=True)
class _Marks:
    spans: list[tuple[int, int, str]] = field(default_factory=list)
    """(start, end, kind) of what is not plain code, in order: comment, string, import, package."""
    names: dict[str, tuple[str, ...]] = field(default_factory=dict)


def read(text: str, language: str = "java") -> ParsedSource:
    """What a file holds. Never raises: what no parser understands is read by regular expressions."""
    source = text.encode("utf-8", "replace")
    marks = _parsed(source) if language == "java" else None
    if marks is None:
        return _lexed(source, language)
    header = max((end for _, end, kind in marks.spans if kind in ("import", "package")), default=0)
    pieces: list[tuple[Kind, str]] = []
    imports: list[str] = []
    package = ""
    at = 0
    for start, end, kind in (*marks.spans, (len(source), len(source), "end")):
        if source[at:start].strip():
            pieces.append(("code", source[at:start].decode("utf-8", "replace")))
        own = source[start:end]
        if kind == "import":
            imports += _imported(own)
        elif kind == "package":
            found = _PACKAGE.search(own)
            package = "".join(found[1].decode().split()) if found else package
        elif kind == "comment":
            what: Kind = "head" if end <= header else "javadoc" if own.startswith(b"/**") else "comment"
            pieces.append((what, own.decode("utf-8", "replace")))
        elif kind == "string":
            pieces.append(("string", own.decode("utf-8", "replace")))
        at = end
    names = marks.names
    return ParsedSource(
        tuple(pieces), names["type"], names["outer"], names["method"], names["variable"], package, tuple(imports)
    )


def _parsed(source: bytes) -> _Marks | None:
    parser, query = _grammar()
    try:
        root = parser.parse(source).root_node
        captures = tree_sitter.QueryCursor(query).captures(root)
    except (ValueError, RecursionError, MemoryError):
        return None
    if root.has_error and not captures.get("type") and not captures.get("method"):
        return None
    marks = _Marks()
    spans = sorted(
        (node.start_byte, node.end_byte, kind)
        for kind in ("comment", "string", "import", "package")
        for node in captures.get(kind, ())
    )
    # a string in an annotation of the package, a comment in an import: the outer one counts
    end = 0
    for span in spans:
        if span[0] >= end:
            marks.spans.append(span)
            end = span[1]
    for name in ("type", "outer", "method", "variable"):
        places = sorted({(node.start_byte, node.end_byte) for node in captures.get(name, ())})
        marks.names[name] = tuple(source[start:end].decode("utf-8", "replace") for start, end in places)
    return marks


def _imported(line: bytes) -> list[str]:
    """The class or package that an import names.

    >>> _imported(b"import static a.b.C.run;"), _imported(b"import a.b.*;")
    (['a.b.C'], ['a.b.*'])
    """
    found = _IMPORT.search(line)
    if found is None:
        return []
    name = "".join(found[2].decode("utf-8", "replace").split())
    return [name.rpartition(".")[0] if found[1] else name]


def _lexed(source: bytes, language: str) -> ParsedSource:
    """ParsedSource by the outline of stage one, which knows other languages and broken texts."""
    seen = outline(source, language, parse=language != "java")
    pieces: list[tuple[Kind, str]] = []
    bounds = [0, *(place for span in seen.spans for place in (span.start, span.end)), len(source)]
    kinds = ["code", *(kind for span in seen.spans for kind in (span.kind, "code"))]
    for (start, end), kind in zip(pairwise(bounds), kinds, strict=True):
        own = source[start:end]
        if kind == "drop" or not own.strip():
            continue
        what: Kind = "code" if kind == "code" else "string" if kind == "string" else "comment"
        if what == "comment" and own.startswith(b"/**"):
            what = "javadoc"
        pieces.append((what, own.decode("utf-8", "replace")))
    imports = [name for line in _IMPORT.finditer(source) for name in _imported(line[0])]
    types = tuple(seen.types)
    return ParsedSource(
        tuple(pieces),
        types,
        types[:1],
        tuple(seen.methods),
        tuple(seen.fields),
        seen.package,
        tuple(imports),
        seen.parsed,
    )
