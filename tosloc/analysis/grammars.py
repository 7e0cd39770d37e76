"""The grammars of tree-sitter that source texts are parsed by, and what is asked of the trees of each language.

A grammar's module is imported when the first file of its language is parsed.
"""

from __future__ import annotations

import importlib
import threading
from dataclasses import dataclass, replace
from functools import cache
from importlib import metadata
from typing import TYPE_CHECKING, Final

from tosloc.analysis.components import SCRIPT_OF

if TYPE_CHECKING:
    import tree_sitter


@dataclass(frozen=True, slots=True)
class Grammar:
    """How the files of one language are parsed, and which nodes of the tree say what."""

    module: str
    """Importable name; that of its distribution has hyphens for the underscores."""
    outline: str
    """Query. ``comment`` and ``string`` are what they say, ``drop`` and ``package`` give no terms, ``namespace`` is the
    name of a package alone; ``method``, ``type`` and ``field`` are declared names."""
    function: str = "language"
    """What the module calls the grammar."""
    end: bytes = b""
    """What a text must end with. A scanner that looks for the end of a line, and not of the text, looks for ever."""


_SCRIPT: Final = """
    (comment) @comment
    [(string) (regex)] @string
    (template_string (string_fragment) @string)
    (import_statement) @drop
    (variable_declarator name: (identifier) @method value: [(arrow_function) (function_expression)])
    (pair key: (property_identifier) @method value: [(arrow_function) (function_expression)])
    (assignment_expression left: [(identifier) @method (member_expression property: (property_identifier) @method)]
        right: [(arrow_function) (function_expression)])
"""
"""What JavaScript and TypeScript have in common."""
_C: Final = """
    (comment) @comment
    (field_declaration declarator: (field_identifier) @field)
    (field_declaration declarator: (pointer_declarator declarator: (field_identifier) @field))
    (field_declaration declarator: (array_declarator declarator: (field_identifier) @field))
    (enumerator name: (identifier) @field)
    [(preproc_def name: (identifier) @field) (preproc_function_def name: (identifier) @method)]
"""
"""What C and C++ have in common."""

GRAMMARS: Final[dict[str, Grammar]] = {
    "java": Grammar(
        "tree_sitter_java",
        outline="""
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
    ),
    "python": Grammar(
        "tree_sitter_python",
        outline="""
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
    ),
    "javascript": Grammar(
        "tree_sitter_javascript",
        outline=_SCRIPT
        + """
        (method_definition name: (_) @method)
        [(function_declaration name: (identifier) @method) (generator_function_declaration name: (identifier) @method)]
        (class_declaration name: (identifier) @type)
        (field_definition property: (_) @field)
        """,
    ),
    "typescript": Grammar(
        "tree_sitter_typescript",
        function="language_typescript",
        outline=_SCRIPT
        + """
        [(method_definition name: (_) @method) (method_signature name: (_) @method)
         (abstract_method_signature name: (_) @method)]
        [(function_declaration name: (identifier) @method) (generator_function_declaration name: (identifier) @method)
         (function_signature name: (identifier) @method)]
        (public_field_definition name: (_) @method value: [(arrow_function) (function_expression)])
        [(class_declaration name: (type_identifier) @type) (abstract_class_declaration name: (type_identifier) @type)
         (interface_declaration name: (type_identifier) @type) (type_alias_declaration name: (type_identifier) @type)
         (enum_declaration name: (identifier) @type)]
        (public_field_definition name: (_) @field)
        (interface_body (property_signature name: (_) @field))
        (type_alias_declaration value: (object_type (property_signature name: (_) @field)))
        [(enum_body name: (_) @field) (enum_assignment name: (_) @field)]
        (internal_module name: [(identifier) (nested_identifier)] @namespace)
        """,
    ),
    "c": Grammar(
        "tree_sitter_c",
        outline=_C
        + """
        [(string_literal) (char_literal)] @string
        (preproc_include) @drop
        (function_declarator declarator: (identifier) @method)
        [(struct_specifier name: (type_identifier) @type body: (_))
         (union_specifier name: (type_identifier) @type body: (_))
         (enum_specifier name: (type_identifier) @type body: (_))
         (type_definition declarator: (type_identifier) @type)]
        """,
    ),
    "cpp": Grammar(
        "tree_sitter_cpp",
        outline=_C
        + """
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
        """,
    ),
    "go": Grammar(
        "tree_sitter_go",
        outline="""
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
    ),
    "csharp": Grammar(
        "tree_sitter_c_sharp",
        outline="""
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
    ),
    "rust": Grammar(
        "tree_sitter_rust",
        outline="""
        [(line_comment) (block_comment)] @comment
        [(string_literal) (raw_string_literal) (char_literal)] @string
        [(use_declaration) (extern_crate_declaration)] @drop
        [(function_item name: (identifier) @method) (function_signature_item name: (identifier) @method)
         (macro_definition name: (identifier) @method)]
        [(struct_item name: (type_identifier) @type) (enum_item name: (type_identifier) @type)
         (union_item name: (type_identifier) @type) (trait_item name: (type_identifier) @type)
         (type_item name: (type_identifier) @type)]
        [(field_declaration name: (field_identifier) @field) (enum_variant name: (identifier) @field)
         (const_item name: (identifier) @field) (static_item name: (identifier) @field)]
        """,
    ),
    "kotlin": Grammar(
        "tree_sitter_kotlin",
        end=b"\n",
        outline="""
        [(line_comment) (block_comment)] @comment
        [(string_content) (character_literal)] @string
        (import) @drop
        (package_header) @package
        (function_declaration name: (identifier) @method)
        [(class_declaration name: (identifier) @type) (object_declaration name: (identifier) @type)
         (companion_object name: (identifier) @type) (type_alias type: (identifier) @type)]
        (class_parameter ["val" "var"] . (identifier) @field)
        (class_body (property_declaration (variable_declaration (identifier) @field)))
        (source_file (property_declaration (variable_declaration (identifier) @field)))
        (enum_entry (identifier) @field)
        """,
    ),
    "scala": Grammar(
        "tree_sitter_scala",
        outline="""
        [(comment) (block_comment)] @comment
        [(string) (character_literal) (interpolated_string)] @string
        (import_declaration) @drop
        (package_clause !body) @package
        (package_clause name: (package_identifier) @namespace body: (_))
        [(function_definition name: (_) @method) (function_declaration name: (_) @method)]
        [(class_definition name: (_) @type) (object_definition name: (_) @type) (trait_definition name: (_) @type)
         (enum_definition name: (_) @type) (type_definition name: (_) @type)]
        (class_parameter name: (_) @field)
        (template_body [(val_definition pattern: (identifier) @field) (var_definition pattern: (identifier) @field)
                        (val_declaration name: (identifier) @field) (var_declaration name: (identifier) @field)])
        [(simple_enum_case name: (_) @field) (full_enum_case name: (_) @field)]
        """,
    ),
    "php": Grammar(
        "tree_sitter_php",
        function="language_php",
        outline="""
        (comment) @comment
        [(string_content) (nowdoc_string)] @string
        (namespace_use_declaration) @drop
        (namespace_definition name: (namespace_name) @namespace)
        [(method_declaration name: (name) @method) (function_definition name: (name) @method)]
        [(class_declaration name: (name) @type) (interface_declaration name: (name) @type)
         (trait_declaration name: (name) @type) (enum_declaration name: (name) @type)]
        (property_element name: (variable_name (name) @field))
        (property_promotion_parameter name: (variable_name (name) @field))
        (const_declaration (const_element . (name) @field))
        (enum_case name: (name) @field)
        """,
    ),
    "ruby": Grammar(
        "tree_sitter_ruby",
        outline="""
        (comment) @comment
        [(string_content) (heredoc_content) (character)] @string
        (call !receiver method: (identifier) @import (#any-of? @import "require" "require_relative")) @drop
        [(method name: (_) @method) (singleton_method name: (_) @method)]
        [(class name: [(constant) @type (scope_resolution name: (constant) @type)])
         (module name: [(constant) @type (scope_resolution name: (constant) @type)])]
        (call !receiver method: (identifier) @attribute arguments: (argument_list (simple_symbol) @field)
            (#any-of? @attribute "attr_accessor" "attr_reader" "attr_writer"))
        [(assignment left: [(constant) (instance_variable) (class_variable)] @field)
         (operator_assignment left: (instance_variable) @field)]
        """,
    ),
    "swift": Grammar(
        "tree_sitter_swift",
        outline="""
        [(comment) (multiline_comment)] @comment
        [(line_str_text) (multi_line_str_text) (str_escaped_char) (raw_str_part) (raw_str_end_part)] @string
        (import_declaration) @drop
        [(function_declaration name: (simple_identifier) @method)
         (protocol_function_declaration name: (simple_identifier) @method)]
        [(class_declaration name: (type_identifier) @type) (protocol_declaration name: (type_identifier) @type)
         (typealias_declaration name: (type_identifier) @type)]
        (class_body (property_declaration name: (pattern bound_identifier: (simple_identifier) @field)))
        (enum_class_body (property_declaration name: (pattern bound_identifier: (simple_identifier) @field)))
        (source_file (property_declaration name: (pattern bound_identifier: (simple_identifier) @field)))
        (protocol_property_declaration name: (pattern bound_identifier: (simple_identifier) @field))
        (enum_entry name: (simple_identifier) @field)
        """,
    ),
}
GRAMMARS["jsx"] = GRAMMARS["javascript"]
GRAMMARS["tsx"] = replace(GRAMMARS["typescript"], function="language_tsx")
"""By the name of the language, one of ``languages``."""


def has_grammar(language: str) -> bool:
    """Whether files of the language called so are parsed, or the scripts in them."""
    return SCRIPT_OF.get(language, language) in GRAMMARS


def grammar_release(language: str) -> tuple[str, ...]:
    """Distribution and release of the grammar of the language called so; nothing if it has none.

    That of a component's script, for the language of components.

    >>> grammar_release("groovy"), grammar_release("java")[0].startswith("tree-sitter-java")
    ((), True)
    """
    if not has_grammar(language):
        return ()
    distribution = GRAMMARS[SCRIPT_OF.get(language, language)].module.replace("_", "-")
    return (distribution + metadata.version(distribution),)


_parsers = threading.local()  # language -> parser: one that reads cannot begin another text in between


def parser(language: str) -> tree_sitter.Parser:
    """This thread's parser of the language called so, which must have a grammar."""
    known: dict[str, tree_sitter.Parser] = vars(_parsers)
    if language not in known:
        import tree_sitter  # here, as below: releases are asked for without it

        known[language] = tree_sitter.Parser(_language(language))
    return known[language]


@cache
def query(language: str, text: str) -> tree_sitter.Query:
    """A query over trees of the language called so. Raises tree_sitter.QueryError for one that the grammar rejects."""
    import tree_sitter

    return tree_sitter.Query(_language(language), text)


@cache
def _language(language: str) -> tree_sitter.Language:
    import tree_sitter

    grammar = GRAMMARS[language]
    return tree_sitter.Language(getattr(importlib.import_module(grammar.module), grammar.function)())
