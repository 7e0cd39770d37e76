"""Source text -> its comments, strings, code and declared names: tree-sitter where a grammar is at hand, else a lexer.

Nothing is dropped but the licence header, the package and the import lines: what a parser does not understand is code.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from importlib import metadata
from typing import Final, NamedTuple

import tree_sitter
import tree_sitter_c
import tree_sitter_c_sharp
import tree_sitter_cpp
import tree_sitter_go
import tree_sitter_java
import tree_sitter_javascript
import tree_sitter_python


class Span(NamedTuple):
    """A piece of a file that is not plain code, as byte offsets into its UTF-8 text."""

    start: int
    end: int
    kind: str
    """``comment``, ``string``, or ``drop`` for what gives no terms."""


@dataclass(slots=True)
class Outline:
    """What a file declares, and where its comments and strings are."""

    spans: list[Span] = field(default_factory=list)
    """Ascending, not overlapping; everything else is code."""
    methods: list[str] = field(default_factory=list)
    types: list[str] = field(default_factory=list)
    fields: list[str] = field(default_factory=list)
    package: str = ""
    parsed: bool = True
    """False if the lexer was used."""


@dataclass(frozen=True, slots=True)
class Language:
    """How the files of one language are read."""

    name: str
    suffixes: tuple[str, ...]
    lizard: str | None
    """Suffix under which lizard reads it; "" counts keywords, None has no complexity (not code)."""
    style: str = "c"
    """Which lexer separates comments and strings."""


def _table() -> tuple[Language, ...]:
    rows: list[Language] = []

    def add(name: str, suffixes: str, lizard: str | None, style: str = "c") -> None:
        rows.append(Language(name, tuple(f".{suffix}" for suffix in suffixes.split()), lizard, style))

    add("java", "java", ".java")
    add("python", "py pyi pyw", ".py", "hash")
    add("javascript", "js mjs cjs", ".js")
    add("jsx", "jsx", ".jsx")
    add("c", "c", ".c")
    add("cpp", "h hh hpp hxx cc cpp cxx inl ipp ino cu cuh", ".cpp")
    add("go", "go", ".go")
    add("csharp", "cs", ".cs")
    add("typescript", "ts mts cts", ".ts")
    add("tsx", "tsx", ".tsx")
    add("kotlin", "kt kts", ".kt")
    add("scala", "scala sc", ".scala")
    add("groovy", "groovy gradle", ".java")
    add("swift", "swift", ".swift")
    add("rust", "rs", ".rs")
    add("objc", "m mm", ".m")
    add("php", "php phtml", ".php")
    add("ruby", "rb rake", ".rb", "hash")
    add("perl", "pl pm t", ".pl", "hash")
    add("lua", "lua", ".lua", "dash")
    add("r", "r", ".r", "hash")
    add("plsql", "sql pks pkb pls plb pck", ".sql", "dash")
    add("fortran", "f f70 f90 f95 f03 f08 for ftn fpp", ".f90", "bang")
    add("erlang", "erl hrl escript", ".erl", "percent")
    add("solidity", "sol", ".sol")
    add("zig", "zig", ".zig")
    add("vue", "vue svelte", ".vue")
    add("gdscript", "gd", ".gd", "hash")
    add("st", "st", ".st")
    add("ttcn", "ttcn ttcnpp", ".ttcn")
    add("dart", "dart", ".java")
    add("d", "d", ".c")
    add("clike", "aj proto thrift idl jj jjt javacc g g4 glsl vert frag hlsl metal v sv", ".c")
    add("shell", "sh bash zsh ksh", "", "hash")
    add("powershell", "ps1 psm1", "", "hash")
    add("hash", "ex exs jl nim cr coffee tcl awk pyx pxd cmake mk", "", "hash")
    add("haskell", "hs lhs elm ada adb ads vhd vhdl", "", "dash")
    add("lisp", "clj cljs cljc lisp lsp el scm rkt s asm", "", "semicolon")
    add("basic", "vb bas vbs", "", "apostrophe")
    add("pascal", "pas pp dpr", "", "c")
    add("fsharp", "fs fsi fsx ml mli", "", "c")
    add("page", "jsp jspx jspf tag tagx jsf asp aspx cshtml erb ejs ftl vm mustache hbs", "", "markup")
    add("markup", "xml xsd xsl xslt html htm xhtml svg tld wsdl md", None, "markup")
    add("settings", "properties ini cfg conf toml yml yaml", None, "hash")
    return tuple(rows)


_LANGUAGES: Final[dict[str, Language]] = {language.name: language for language in _table()}
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


def language(name: str) -> Language:
    """The language called ``name``; "text" for a name that is not in the table."""
    return _LANGUAGES.get(name, _TEXT)


_QUERIES: Final[dict[str, str]] = {
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

_GRAMMARS: Final[dict[str, Callable[[], object]]] = {
    "java": tree_sitter_java.language,
    "python": tree_sitter_python.language,
    "javascript": tree_sitter_javascript.language,
    "jsx": tree_sitter_javascript.language,
    "c": tree_sitter_c.language,
    "cpp": tree_sitter_cpp.language,
    "go": tree_sitter_go.language,
    "csharp": tree_sitter_c_sharp.language,
}

_LICENCE = re.compile(
    rb"(?i)copyright|all rights reserved|licen[sc]ed (?:under|to) |SPDX-License|terms of the [\w /.]{0,60}licen[sc]e"
)
_MAX_RUBBLE: Final = 2_000
"""A text that falls to this many pieces is no program; a query over them takes time by the square of their number."""
_LINE_COMMENT: Final = (b"//", b"#", b"--", b";", b"%", b"!", b"'")
_PACKAGE = re.compile(rb"\bpackage\s+([\w.\s]+)")


@cache
def _grammar(name: str) -> tuple[tree_sitter.Parser, tree_sitter.Query]:
    grammar = tree_sitter.Language(_GRAMMARS[name]())
    return tree_sitter.Parser(grammar), tree_sitter.Query(grammar, _QUERIES[name])


def grammar_release(name: str) -> tuple[str, ...]:
    """Distribution and release of the grammar of the language called ``name``; nothing if it has none.

    >>> grammar_release("kotlin"), grammar_release("java")[0].startswith("tree-sitter-java")
    ((), True)
    """
    if name not in _GRAMMARS:
        return ()
    distribution = _GRAMMARS[name].__module__.replace("_", "-").split(".")[0]
    return (distribution + metadata.version(distribution),)


def outline(source: bytes, name: str, *, parse: bool = True) -> Outline:
    """Outline of ``source``, UTF-8 text of a file of the language called ``name``. Never raises for what it holds."""
    found = None
    if parse and name in _GRAMMARS:
        try:
            found = _parse(source, name)
        except (ValueError, RecursionError, MemoryError):
            found = None
    if found is None:
        found = _lex(source, language(name).style)
    found.spans = _without_headers(source, found.spans, all_before_package=name == "java")
    return found


def _parse(source: bytes, name: str) -> Outline | None:
    """Outline by tree-sitter; None if it recovered no declaration from a text that it could not parse."""
    parser, query = _grammar(name)
    root = parser.parse(source).root_node
    if root.type == "ERROR" and root.child_count > _MAX_RUBBLE:
        return None
    captures = tree_sitter.QueryCursor(query).captures(root)
    if root.has_error and not captures.get("type") and not captures.get("method"):
        return None
    result = Outline()
    for names, capture in ((result.methods, "method"), (result.types, "type"), (result.fields, "field")):
        nodes = sorted({(node.start_byte, node.end_byte) for node in captures.get(capture, ())})
        names.extend([source[start:end].decode("utf-8", "replace") for start, end in nodes])
    spans = [Span(node.start_byte, node.end_byte, "comment") for node in captures.get("comment", ())]
    spans += [Span(node.start_byte, node.end_byte, "string") for node in captures.get("string", ())]
    spans += [Span(node.start_byte, node.end_byte, "drop") for node in captures.get("drop", ())]
    for node in captures.get("package", ()):
        spans.append(Span(node.start_byte, node.end_byte, "drop"))
        if not result.package and (match := _PACKAGE.search(source[node.start_byte : node.end_byte])):
            result.package = "".join(match.group(1).decode("utf-8", "replace").split())
    for node in captures.get("namespace", ()):
        if not result.package:
            result.package = "".join(source[node.start_byte : node.end_byte].decode("utf-8", "replace").split())
    result.spans = _disjoint(spans)
    return result


def _disjoint(spans: list[Span]) -> list[Span]:
    """Spans in order; of overlapping ones the first, and of those that start together the longest."""
    kept: list[Span] = []
    end = 0
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        if span.start >= end and span.end > span.start:
            kept.append(span)
            end = span.end
    return kept


def _without_headers(source: bytes, spans: list[Span], *, all_before_package: bool) -> list[Span]:
    """Spans with the licence comments at the head of the file dropped.

    The head is what comes before the first thing that is neither comment, package nor import. With
    ``all_before_package`` every comment before the package or the imports is a header; other comments of the head are
    if they speak of a licence.
    """
    head = 0
    end = 3 if source.startswith(b"\xef\xbb\xbf") else 0
    while (
        head < len(spans) and spans[head].kind != "string" and not source[end : spans[head].start].strip(b" \t\r\n\f;")
    ):
        end = spans[head].end
        head += 1
    if not head:
        return spans
    first_drop = next((place for place, span in enumerate(spans[:head]) if span.kind == "drop"), 0)
    result: list[Span] = []
    place = 0
    while place < head:
        stop = place + 1
        if spans[place].kind == "comment" and source.startswith(_LINE_COMMENT, spans[place].start):
            while (
                stop < head
                and spans[stop].kind == "comment"
                and source.startswith(_LINE_COMMENT, spans[stop].start)
                and source.count(b"\n", spans[stop - 1].end - 1, spans[stop].start) < 2
            ):
                stop += 1
        block = spans[place:stop]
        if block[0].kind == "comment" and (
            (all_before_package and place < first_drop) or _LICENCE.search(source, block[0].start, block[-1].end)
        ):
            block = [Span(span.start, span.end, "drop") for span in block]
        result += block
        place = stop
    return result + spans[head:]


_STRINGS: Final = (
    rb"""(?P<string>\"{3}.*?(?:\"{3}|\Z)|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*(?:`|\Z))"""
)
_IMPORT: Final = (
    rb"(?P<drop>(?m:^)[ \t]*(?:package[ \t]+(?P<package>[\w.]+)|import[ \t]+[^\n;(]*;?|\#[ \t]*include[^\n]*"
    rb"|from[ \t]+[\w.]+[ \t]+import[^\n]*|using[ \t]+[\w.=<> ]+;|use[ \t]+[\w:\\]+[^\n;]*;))"
)


def _lexer(comment: bytes, *, strings: bytes = _STRINGS, imports: bytes = _IMPORT) -> re.Pattern[bytes]:
    return re.compile(b"|".join(part for part in (b"(?P<comment>" + comment + b")", strings, imports) if part), re.S)


_BLOCK: Final = rb"/\*.*?(?:\*/|\Z)"
_LEXERS: Final[dict[str, re.Pattern[bytes] | None]] = {
    "c": _lexer(_BLOCK + rb"|//[^\n]*"),
    "hash": _lexer(rb"\#[^\n]*|(?m:^)=(?:begin|pod|head)\b.*?(?:\n=(?:end|cut)\b|\Z)"),
    "dash": _lexer(rb"--\[\[.*?(?:\]\]|\Z)|--[^\n]*|\{-.*?(?:-\}|\Z)|" + _BLOCK),
    "semicolon": _lexer(rb";[^\n]*", strings=rb'(?P<string>"(?:\\.|[^"\\])*(?:"|\Z))'),
    "percent": _lexer(rb"%[^\n]*"),
    "bang": _lexer(rb"![^\n]*|(?m:^)[cC*][^\n]*"),
    "apostrophe": _lexer(rb"'[^\n]*", strings=rb'(?P<string>"[^"\n]*")'),
    "markup": _lexer(
        rb"<!--.*?(?:-->|\Z)|<%--.*?(?:--%>|\Z)", strings=rb"""(?P<string>"[^"<>\n]*"|'[^'<>\n]*')""", imports=b""
    ),
    "plain": None,
}

_NOT_METHODS: Final = frozenset(
    b"if for while switch catch return synchronized else do try new function func fun def when match using lock"
    b" foreach".split()
)
_TYPE_NAMES = re.compile(
    rb"\b(?:class|interface|enum|struct|trait|object|protocol|record|union|module|defmodule|type)[ \t]+"
    rb"([A-Za-z_]\w{0,200})"
)
_METHOD_NAMES = re.compile(
    rb"\b(?:def|func|function|fun|fn|sub|procedure|defn)[ \t]+(?:[\w.]{1,100}\.)?([A-Za-z_]\w{0,200})"
    rb"|\b([A-Za-z_]\w{0,200})[ \t]{0,20}\([^;{}()]{0,2000}\)[\s\w.,]{0,200}\{"
)
_FIELD_NAMES = re.compile(
    rb"(?m)^[ \t]*(?:(?:private|public|protected|internal|static|final|readonly|const|val|var|let|lateinit|override)"
    rb"[ \t]+)+"
    rb"(?:[\w.<>\[\]?]{1,200}[ \t]+)?([A-Za-z_]\w{0,200})[ \t]*[=;:]"
)


def _lex(source: bytes, style: str) -> Outline:
    """Outline by regular expressions: comments, strings and imports by ``style``, names by their usual keywords."""
    result = Outline(parsed=False)
    lexer = _LEXERS[style]
    if lexer is None:
        return result
    for match in lexer.finditer(source):
        kind = match.lastgroup or "code"
        if match.group("comment") is not None:
            kind = "comment"
        elif match.group("string") is not None:
            kind = "string"
        else:
            kind = "drop"
            if not result.package and (package := match.group("package")) is not None:
                result.package = package.decode("utf-8", "replace")
        result.spans.append(Span(match.start(), match.end(), kind))
    if style == "markup":
        return result
    code = bytearray(source)
    for span in result.spans:
        code[span.start : span.end] = b" " * (span.end - span.start)
    result.types = [match.group(1).decode() for match in _TYPE_NAMES.finditer(code)]
    methods = [match.group(1) or match.group(2) for match in _METHOD_NAMES.finditer(code)]
    result.methods = [name.decode() for name in methods if bytes(name) not in _NOT_METHODS]
    result.fields = [match.group(1).decode() for match in _FIELD_NAMES.finditer(code)]
    return result
