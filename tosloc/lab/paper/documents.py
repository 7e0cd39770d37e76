"""A part of a Markdown document that a command writes, between two comments."""

from __future__ import annotations

from tosloc.errors import ToslocError

END = "<!-- end -->"


def start_of(table: str) -> str:
    """The comment before a table's part."""
    return f"<!-- reproduce: {table} -->"


def with_part(text: str, table: str, body: str, where: str) -> str:
    r"""The document with ``body`` as the table's part; at its end, if it has none yet.

    >>> with_part("a\n<!-- reproduce: t -->\nold\n<!-- end -->\nb\n", "t", "new", "x.md")
    'a\n<!-- reproduce: t -->\nnew\n<!-- end -->\nb\n'

    Raises ToslocError when a part begins twice or does not end.
    """
    start = start_of(table)
    part = f"{start}\n{body.strip()}\n{END}"
    before, found, after = text.partition(start)
    if not found:
        return (text.rstrip() + "\n\n" if text.strip() else "") + part + "\n"
    old, ended, rest = after.partition(END)
    if not ended or "<!-- reproduce:" in old:
        raise ToslocError(f"{where}: {start} has no {END} before the next part; add it where the part ends")
    if start in rest:
        raise ToslocError(f"{where}: {start} stands there twice; delete one of them")
    return before + part + rest
