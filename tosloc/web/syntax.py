"""The syntax of the lines that are shown: what each of their characters is, by the tree of the file's grammar."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any, Final

from tosloc.code.facts import apart
from tosloc.code.languages import language_named, language_of
from tosloc.code.parse import syntax_tree

_KIND: Final = re.compile(
    r"(?P<plain>(?:\w+_)?interpolation|template_substitution|interpolated_expression)"  # code within a string
    r"|(?P<comment>\w*comment)"
    r"|(?P<string>(?:\w+_)?(?:string|char|character|rune|regex)(?:_literal)?|interpolated_string_expression"
    r"|heredoc_body|nowdoc_string)"
    r"|(?P<number>number|integer|float|(?:\w+_)?(?:number|integer|int|float|real|point)_literal)"
    r"|(?P<keyword>true|false|none|null|nil|this|super|self|(?:null|nil|boolean)_literal|boolean|modifier"
    r"|(?:predefined|primitive|void|boolean)_type)"
    r"|(?P<name>type_identifier)"
)
"""Kinds of named nodes, as the grammars call them."""
_DEFINITION: Final = re.compile(
    r"(?:singleton_)?method|class|module|function_declarator"
    r"|\w*(?:function|method|constructor|class|interface|enum|record|struct|object|trait|type)\w*_"
    r"(?:definition|declaration|item|signature|spec)"
)
"""Kinds of nodes that name a function or a type."""


def syntax(text: str, path: str, rows: Sequence[int]) -> dict[int, list[str]]:
    """Row of a file's text -> what each of its characters is: a CSS class below, or "" for anything else.

    ``rows`` are the wanted ones, from 0, ascending. Nothing is known of a file without a grammar, or that no parser
    understands. The classes are ``keyword``, ``string``, ``comment``, ``number``, and ``name`` of a function or type.

    >>> syntax("def f(): 1", "a.py", [0])[0][:5], syntax("def f(): 1", "a.txt", [0])
    (['keyword', 'keyword', 'keyword', '', 'name'], {})
    """
    language = language_named(language_of(PurePosixPath(path).suffix))
    source = re.sub(r"[^\x00-\x7f]", "a", text).encode("ascii")  # so that a byte is a character
    root = syntax_tree(apart(source)[0] if language.has_scripts else source, language) if language.grammar else None
    if root is None:
        return {}
    lines = text.split("\n")
    kinds = {row: [""] * len(lines[row]) for row in rows}
    nodes: list[tuple[Any, str | None]] = [(root, None)]
    while nodes:
        node, kind = nodes.pop()
        first, last = node.start_point, node.end_point
        held = rows[bisect_left(rows, first.row) : bisect_left(rows, last.row + 1)]
        if not held:
            continue
        if kind is not None:
            for row in held:
                start = first.column if row == first.row else 0
                end = last.column if row == last.row else len(kinds[row])
                kinds[row][start:end] = [kind] * (end - start)
        name = None
        if node.is_named and _DEFINITION.fullmatch(node.type):
            name = node.child_by_field_name("declarator" if node.type == "function_declarator" else "name")
        nodes += [(child, "name" if child == name else _kind_of(child)) for child in node.children]
    return kinds


def _kind_of(node: Any) -> str | None:
    if not node.is_named:
        return "keyword" if node.type.isalpha() else None
    found = _KIND.fullmatch(node.type)
    return None if found is None else "" if found["plain"] else found.lastgroup
