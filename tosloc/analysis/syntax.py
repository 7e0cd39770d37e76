"""Source text -> its outline: by tree-sitter where a grammar is at hand, else by the lexer.

Nothing is dropped but the licence header, the package and the import lines: what a parser does not understand is code.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib import metadata
from typing import Final, TypeAlias

import tree_sitter
import tree_sitter_c
import tree_sitter_c_sharp
import tree_sitter_cpp
import tree_sitter_go
import tree_sitter_java
import tree_sitter_javascript
import tree_sitter_python

from tosloc.analysis.languages import language_named
from tosloc.analysis.lexer import lex
from tosloc.analysis.outline import Outline, Span, without_headers

_QUERIES: Final = {
    "java": """
        [(line_comment) (block_comment)] @comment
        [(string_literal) (character_literal)] @string
        (import_declaration) @drop
        (package_declaration) @package
        (method_declaration name: (identifier) @method)
        (constructor_declaration name: (identifier) @method)
        (compact_constructor_declaration name: (identifier) @method)
        (annotation_type_element_declaration name: (identifier) @method)
        (class_declaration name: (identifier) @type)
        (interface_declaration name: (identifier) @type)
        (enum_declaration name: (identifier) @type)
        (record_declaration name: (identifier) @type)
        (annotation_type_declaration name: (identifier) @type)
        (field_declaration declarator: (variable_declarator name: (identifier) @field))
        (constant_declaration declarator: (variable_declarator name: (identifier) @field))
        (enum_constant name: (identifier) @field)
        (record_declaration parameters: (formal_parameters (formal_parameter name: (identifier) @field)))
    """,
    "python": """
        (comment) @comment
        (expression_statement (string) @comment)
        (string_content) @string
        [(import_statement) (import_from_statement) (future_import_statement)] @drop
        (function_definition name: (identifier) @method)
        (class_definition name: (identifier) @type)
        (class_definition body: (block (expression_statement (assignment left: (identifier) @field))))
        (module (expression_statement (assignment left: (identifier) @field)))
        (assignment left: (attribute object: (identifier) @self attribute: (identifier) @field) (#eq? @self "self"))
    """,
    "javascript": """
        (comment) @comment
        [(string) (regex)] @string
        (template_string (string_fragment) @string)
        (import_statement) @drop
        (method_definition name: (_) @method)
        [(function_declaration name: (identifier) @method) (generator_function_declaration name: (identifier) @method)]
        (variable_declarator name: (identifier) @method value: [(arrow_function) (function_expression)])
        (pair key: (property_identifier) @method value: [(arrow_function) (function_expression)])
        (assignment_expression left: [(identifier) @method (member_expression property: (property_identifier) @method)]
            right: [(arrow_function) (function_expression)])
        (class_declaration name: (identifier) @type)
        (field_definition property: (_) @field)
    """,
    "c": """
        (comment) @comment
        [(string_literal) (char_literal)] @string
        (preproc_include) @drop
        (function_declarator declarator: (identifier) @method)
        [(struct_specifier name: (type_identifier) @type body: (_))
         (union_specifier name: (type_identifier) @type body: (_))
         (enum_specifier name: (type_identifier) @type body: (_))
         (type_definition declarator: (type_identifier) @type)]
        (field_declaration declarator: (field_identifier) @field)
        (field_declaration declarator: (pointer_declarator declarator: (field_identifier) @field))
        (field_declaration declarator: (array_declarator declarator: (field_identifier) @field))
        (enumerator name: (identifier) @field)
        [(preproc_def name: (identifier) @field) (preproc_function_def name: (identifier) @method)]
    """,
    "cpp": """
        (comment) @comment
        [(string_literal) (raw_string_literal) (char_literal)] @string
        [(preproc_include) (using_declaration)] @drop
        (function_declarator declarator: [(identifier) (field_identifier) (operator_name) (destructor_name)] @method)
        (function_declarator declarator: (qualified_identifier
            name: [(identifier) (operator_name) (destructor_name)] @method))
        [(struct_specifier name: (type_identifier) @type body: (_))
         (union_specifier name: (type_identifier) @type body: (_))
         (class_specifier name: (type_identifier) @type body: (_))
         (enum_specifier name: (type_identifier) @type body: (_))
         (alias_declaration name: (type_identifier) @type) (type_definition declarator: (type_identifier) @type)]
        (field_declaration declarator: (field_identifier) @field)
        (field_declaration declarator: (pointer_declarator declarator: (field_identifier) @field))
        (field_declaration declarator: (array_declarator declarator: (field_identifier) @field))
        (enumerator name: (identifier) @field)
        [(preproc_def name: (identifier) @field) (preproc_function_def name: (identifier) @method)]
    """,
    "go": """
        (comment) @comment
        [(interpreted_string_literal) (raw_string_literal) (rune_literal)] @string
        (import_declaration) @drop
        (package_clause) @package
        [(function_declaration name: (identifier) @method) (method_declaration name: (field_identifier) @method)
         (method_elem name: (field_identifier) @method)]
        [(type_spec name: (type_identifier) @type) (type_alias name: (type_identifier) @type)]
        (field_declaration name: (field_identifier) @field)
        (source_file [(var_declaration (var_spec name: (identifier) @field))
                      (const_declaration (const_spec name: (identifier) @field))])
    """,
    "csharp": """
        (comment) @comment
        [(string_literal) (verbatim_string_literal) (raw_string_literal) (character_literal)] @string
        (interpolated_string_expression (string_content) @string)
        (using_directive) @drop
        (namespace_declaration name: (_) @namespace)
        (file_scoped_namespace_declaration name: (_) @namespace)
        [(method_declaration name: (identifier) @method) (constructor_declaration name: (identifier) @method)
         (destructor_declaration name: (identifier) @method) (local_function_statement name: (identifier) @method)]
        [(class_declaration name: (identifier) @type) (interface_declaration name: (identifier) @type)
         (struct_declaration name: (identifier) @type) (enum_declaration name: (identifier) @type)
         (record_declaration name: (identifier) @type) (delegate_declaration name: (identifier) @type)]
        (field_declaration (variable_declaration (variable_declarator name: (identifier) @field)))
        (event_field_declaration (variable_declaration (variable_declarator name: (identifier) @field)))
        (property_declaration name: (identifier) @field)
        (enum_member_declaration name: (identifier) @field)
    """,
}
_QUERIES["jsx"] = _QUERIES["javascript"]
"""Language -> what is a comment, a string, an import or package, and a declared name."""

_GRAMMARS: Final = {
    "java": tree_sitter_java.language,
    "python": tree_sitter_python.language,
    "javascript": tree_sitter_javascript.language,
    "jsx": tree_sitter_javascript.language,
    "c": tree_sitter_c.language,
    "cpp": tree_sitter_cpp.language,
    "go": tree_sitter_go.language,
    "csharp": tree_sitter_c_sharp.language,
}
_SPAN_KINDS: Final = {"comment": "comment", "string": "string", "drop": "drop", "package": "drop"}
"""Capture of a query -> kind of span."""
_MAX_RUBBLE: Final = 2_000
"""A text that falls to this many pieces is no program; a query over them takes time by the square of their number."""
_READ_BYTES: Final = 4096
_FREE_STEPS: Final = 1000
_STEPS_PER_BYTE: Final = 0.5
_FREE_READS: Final = 200
_READS_PER_BYTE: Final = 20 / _READ_BYTES
"""How often a parser may report progress and read a piece of the text, before the lexer takes its place: both counts
depend on the text alone. Programs need a tenth of that; recovery from errors can take the square of the length."""
_STRETCH: Final = 2048
_PIECE: Final = 12
_OPENS, _CLOSES = frozenset(b"<(=:"), frozenset(b",;)}")
_PACKAGE = re.compile(rb"\bpackage\s+([\w.\s]+)")


Captures: TypeAlias = Mapping[str, list[tree_sitter.Node]]
"""Name of a query's capture -> its nodes."""


def outline_of(source: bytes, language: str, *, parse: bool = True) -> Outline:
    """Outline of ``source``, UTF-8 text of a file of the language called so. Never raises for what it holds.

    ``parse=False`` uses regular expressions alone.
    """
    outline = _parsed_outline(source, language) if parse and language in _GRAMMARS else None
    if outline is None:
        outline = lex(source, language_named(language).style)
    outline.spans = without_headers(source, outline.spans, all_before_package=language == "java")
    return outline


def grammar_release(language: str) -> tuple[str, ...]:
    """Distribution and release of the grammar of the language called so; nothing if it has none.

    >>> grammar_release("kotlin"), grammar_release("java")[0].startswith("tree-sitter-java")
    ((), True)
    """
    if language not in _GRAMMARS:
        return ()
    distribution = _GRAMMARS[language].__module__.replace("_", "-").split(".")[0]
    return (distribution + metadata.version(distribution),)


def syntax_tree(source: bytes, language: str) -> tree_sitter.Node | None:
    """Root of the syntax tree of ``source``; None if the parser fails or works on it out of all proportion."""
    if _repeats_an_opening(source):
        return None
    size = len(source)
    steps = reads = 0

    def read(offset: int, _: object) -> bytes:
        nonlocal reads
        reads += 1
        return source[offset : offset + _READ_BYTES]

    def too_much(_: int, __: bool) -> bool:
        nonlocal steps
        steps += 1
        return steps > _FREE_STEPS + size * _STEPS_PER_BYTE or reads > _FREE_READS + size * _READS_PER_BYTE

    parser = _parser(language)
    try:
        return parser.parse(read, progress_callback=too_much).root_node
    except (ValueError, RecursionError, MemoryError):
        parser.reset()  # else it goes on with this text
        return None


def captures_of(root: tree_sitter.Node, language: str, query: str) -> Captures | None:
    """Capture name -> nodes; None if no declaration was recovered from a text that could not be parsed."""
    try:
        captures = tree_sitter.QueryCursor(_query(language, query)).captures(root)
    except (ValueError, RecursionError, MemoryError):
        return None
    return captures if captures.get("type") or captures.get("method") or not root.has_error else None


def names_of(source: bytes, captures: Captures, name: str) -> list[str]:
    """Texts of the nodes captured as ``name``, in the order of the source, each once."""
    spans = sorted({(node.start_byte, node.end_byte) for node in captures.get(name, ())})
    return [source[start:end].decode("utf-8", "replace") for start, end in spans]


def spans_of(captures: Captures, kinds: Mapping[str, str]) -> list[Span]:
    """Spans of the captures that have a kind, in order; of overlapping ones the first, from one start the longest."""
    spans = [Span(node.start_byte, node.end_byte, kinds[name]) for name in kinds for node in captures.get(name, ())]
    kept: list[Span] = []
    end = 0
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        if span.start >= end and span.end > span.start:
            kept.append(span)
            end = span.end
    return kept


def _repeats_an_opening(source: bytes) -> bool:
    """Whether a stretch of the text is the same short piece over and over, which opens and never closes: ``A<A<A<``.

    At its end a parser tries all ways to understand it, in one step that nothing can stop.
    """
    for start in range(0, len(source) - _STRETCH + 1, _STRETCH):
        middle, end = start + _STRETCH // 2, start + _STRETCH
        piece = source[middle : middle + _PIECE]
        if source.count(piece, start, end) > _STRETCH // (4 * _PIECE) and not _OPENS.isdisjoint(piece):
            if _CLOSES.isdisjoint(source[start:end]):
                return True
    return False


@cache
def _parser(language: str) -> tree_sitter.Parser:
    return tree_sitter.Parser(tree_sitter.Language(_GRAMMARS[language]()))


@cache
def _query(language: str, query: str) -> tree_sitter.Query:
    return tree_sitter.Query(tree_sitter.Language(_GRAMMARS[language]()), query)


def _parsed_outline(source: bytes, language: str) -> Outline | None:
    """Outline by tree-sitter; None if there is nothing to be had from it."""
    root = syntax_tree(source, language)
    if root is None or (root.type == "ERROR" and root.child_count > _MAX_RUBBLE):
        return None
    captures = captures_of(root, language, _QUERIES[language])
    if captures is None:
        return None
    return Outline(
        spans=spans_of(captures, _SPAN_KINDS),
        methods=names_of(source, captures, "method"),
        types=names_of(source, captures, "type"),
        fields=names_of(source, captures, "field"),
        package=_package(source, captures),
    )


def _package(source: bytes, captures: Captures) -> str:
    """Dotted name of the first package or namespace, without blanks; "" if there is none."""
    clauses = [source[node.start_byte : node.end_byte] for node in captures.get("package", ())]
    names = [found[1] for clause in clauses if (found := _PACKAGE.search(clause))]
    names += [source[node.start_byte : node.end_byte] for node in captures.get("namespace", ())]
    dotted = ("".join(name.decode("utf-8", "replace").split()) for name in names)
    return next((name for name in dotted if name), "")
