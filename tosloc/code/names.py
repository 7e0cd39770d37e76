"""Read the names of definitions as the source writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tosloc.core.patterns import lazy_pattern

if TYPE_CHECKING:
    import tree_sitter

_NAMELESS: Final = {
    "init_declaration": "init",
    "deinit_declaration": "deinit",
    "subscript_declaration": "subscript",
    "secondary_constructor": "constructor",
    "companion_object": "Companion",
    "anonymous_initializer": "init",
    "indexer_declaration": "this",
}
_NAME_FIELDS: Final = ("name", "left", "key", "property", "pattern", "declarator", "type")
"""Fields of a node that may contain the name that it defines; the first existing field is used."""
_DECLARATORS: Final = frozenset(
    "function_declarator pointer_declarator reference_declarator parenthesized_declarator"
    " attributed_declarator array_declarator".split()
)
_DROPPED: Final = frozenset(
    {"prototype", "exports", "module", "this", "self", "window", "globalThis"}
)
"""Parts of a JavaScript function's assigned name that do not name a class."""
RESERVED: Final = frozenset(
    "case do else elseif elif for function if private protected public return switch while".split()
)
"""Words that name nothing; a grammar that does not know a syntax may mistake them for names."""
_BRACKETS = lazy_pattern(r"<[^<>]*>|\[[^\[\]]*\]|\([^()]*\)")
_CODE = lazy_pattern(r"[{;]")
"""What is in no name: a grammar takes code for one where it does not know the syntax before it."""
_QUOTES: Final = "\"'`"
_OPERATOR_OF_JULIA = lazy_pattern(r"\.:\(([^\s\w().]{1,5})\)")
"""An operator of another module: ``Base.:(==)``."""
_RECEIVER = lazy_pattern(r"(?<!\w)(\w+)\s*+(?:\[[^\[\]]*+\]\s*+)?,?\s*+\)$")
_NAMED_BY_A_CHILD: Final = frozenset(
    "property_declaration variable_declaration assignment_statement function_definition"
    " macro_definition struct_definition abstract_definition assignment".split()
)
"""Types of nodes that have no field for their name, in Kotlin, Zig, Lua and Julia."""
_AROUND_A_NAME: Final = frozenset(
    "variable_declaration variable_list signature where_expression call_expression"
    " typed_expression type_head binary_expression parametrized_type_expression".split()
)
"""Types of nodes whose first child is, or contains, the name of a definition."""
_NAMES: Final = frozenset({"identifier", "field_expression", "dot_index_expression", "operator"})
_MAX_NAME: Final = 200
_MAX_DECLARATORS: Final = 16


def definition_name(source: bytes, node: tree_sitter.Node) -> str:
    """Return the dotted name of a definition's node; "" if it has none."""
    if node.type in _NAMELESS and node.child_by_field_name("name") is None:
        return _NAMELESS[node.type]
    if node.type in ("operator_declaration", "conversion_operator_declaration"):
        operator = node.child_by_field_name("operator") or node.child_by_field_name("type")
        return "" if operator is None else f"operator {_text(source, operator)}"
    if node.type == "block":
        return _block_name(source, node)
    if node.type == "call":
        return _defined_by_call(source, node)
    name_node = _name_node(node)
    if name_node is None:
        return ""
    if name_node.type == "operator_cast":  # to a type
        return f"operator {_text(source, name_node.child_by_field_name('type') or name_node)}"
    written = _text(source, name_node)
    if name_node.type == "method_index_expression":
        written = written.replace(":", ".")
    if _CODE.search(written) and written[0] not in _QUOTES:
        return ""
    name = dotted_name(written)
    receiver = node.child_by_field_name("receiver")
    owner = None if receiver is None else _RECEIVER.search(_text(source, receiver))
    return name if owner is None else f"{owner[1]}.{name}"


def _defined_by_call(source: bytes, node: tree_sitter.Node) -> str:
    """Return the name that a call of Elixir defines: ``def draw(x) when x > 1``."""
    arguments = next((child for child in node.named_children if child.type == "arguments"), None)
    defined = None if arguments is None else next(iter(arguments.named_children), None)
    if defined is not None and defined.type == "binary_operator":
        defined = defined.child_by_field_name("left")
    if defined is not None and defined.type == "call":
        defined = defined.child_by_field_name("target")
    return "" if defined is None else _text(source, defined)


def _block_name(source: bytes, node: tree_sitter.Node) -> str:
    """Return the name by which Terraform and its users refer to a block of HCL.

    The name is ``aws_instance.web`` for a resource, ``var.size`` for a variable, and the block's
    type and labels for other blocks.
    """
    parts = []
    for child in node.named_children:
        if child.type not in ("identifier", "string_lit"):
            break
        parts.append(_text(source, child).strip('"'))
    if parts[:1] == ["resource"]:
        parts = parts[1:]
    if parts[:1] == ["variable"]:
        parts[0] = "var"
    return ".".join(parts)[:_MAX_NAME]


def dotted_name(written: str) -> str:
    """Return a name in the source with dots between its parts, without arguments and quotes.

    >>> dotted_name("Foo.prototype.main"), dotted_name("a::List<T>::operator<")
    ('Foo.main', 'a.List.operator<')
    >>> dotted_name("'on click.slow'"), dotted_name("$x")
    ('on click.slow', 'x')
    >>> dotted_name("foldl'"), dotted_name("Base.:(==)"), dotted_name('@"my name"')
    ("foldl'", 'Base.==', 'my name')
    """
    written = _OPERATOR_OF_JULIA.sub(r".\1", written)
    before, operator, after = written.partition("operator")
    if operator and (before[-1:].isalnum() or after[:1].isalnum()):
        before, operator, after = written, "", ""
    while (shorter := _BRACKETS.sub("", before)) != before:
        before = shorter
    parts = before.replace("::", ".").split(".")
    is_quoted = written.startswith("'")
    words = [" ".join(_strip_marks(part, is_quoted=is_quoted).split()) for part in parts]
    kept = [word for word in words if word and word not in _DROPPED]
    if operator:
        kept.append("".join(f"operator{after}".split()))
    return ".".join(kept)[:_MAX_NAME]


def _strip_marks(part: str, *, is_quoted: bool) -> str:
    """Return a part of a name without quotes and marks.

    A prime at the end belongs to the name, unless the name is quoted.
    """
    stripped = part.strip(" \t\r\n'\"`$#&*:@")
    is_primed = (
        not is_quoted and part.endswith("'") and stripped != "" and part.startswith(stripped)
    )
    return part if is_primed else stripped


def _name_node(node: tree_sitter.Node) -> tree_sitter.Node | None:
    """Return the node with a definition's name, inside any declarators; None if missing."""
    name_node = None
    for field in _NAME_FIELDS:
        if field == "type" and node.type in _NAMED_BY_A_CHILD:
            continue
        name_node = node.child_by_field_name(field)
        if name_node is not None:
            break
    if name_node is None and node.type in _NAMED_BY_A_CHILD:
        name_node = _named_child(node)
    for _ in range(_MAX_DECLARATORS):
        if name_node is None or name_node.type not in _DECLARATORS:
            break
        inner = name_node.child_by_field_name("declarator")
        name_node = inner or next(iter(name_node.named_children), None)
    return name_node


def _named_child(node: tree_sitter.Node) -> tree_sitter.Node | None:
    """Return the first name below a node, without the modifiers before it; None if missing."""
    for _ in range(_MAX_DECLARATORS):
        for child in node.named_children:
            if child.type in _NAMES:
                return child
            if child.type in _AROUND_A_NAME:
                node = child
                break
        else:
            return None
    return None


def _text(source: bytes, node: tree_sitter.Node) -> str:
    # Not node.text: for a tree that was parsed piece by piece, it joins the whole source each time.
    end = min(node.end_byte, node.start_byte + 4 * _MAX_NAME)
    return source[node.start_byte : end].decode("utf-8", "replace")
