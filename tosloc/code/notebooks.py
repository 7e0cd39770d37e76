"""Read the code of Jupyter notebooks, which are JSON files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from tosloc.code.inner_tests import blank_tests

_CELL_TYPE: Final = '"cell_type":'
_SOURCE: Final = '"source":'
_MAGIC: Final = ("%", "!")
"""Beginnings of lines that are for Jupyter itself; Python cannot parse them."""


def readable_text(text: str, path: str) -> str:
    """Return the text that is read of a file: a notebook's code, or the text without inner tests.

    Only the suffix of the path is used. Lines keep their numbers.
    """
    return code_cells(text) if path.lower().endswith(".ipynb") else blank_tests(text, path)


def code_cells(text: str) -> str:
    """Return the code of a notebook, with each line of code at its line number in the file.

    All other lines (text, outputs and metadata) are empty. Jupyter writes one line of code a line;
    if a notebook is written in another way, the result is its code alone.

    >>> cells = '''{"cells": [{
    ...   "cell_type": "code",
    ...   "source": [
    ...    "x = 1\\\\n",
    ...    "y = 2"
    ...   ]
    ... }]}'''
    >>> code_cells(cells).split("\\n")
    ['', '', '', 'x = 1', 'y = 2', '', '']
    """
    lines = text.split("\n")
    if not any(line.lstrip().startswith(_CELL_TYPE) for line in lines):
        return "\n".join(_cells_of_json(text))
    result = []
    is_code = False
    in_source = False
    for line in lines:
        bare = line.strip()
        code = ""
        if in_source and bare.startswith("]"):
            in_source = False
        elif in_source:
            code = _json_string(bare.removesuffix(","))
        elif bare.startswith(_CELL_TYPE):
            is_code = '"code"' in bare
        elif is_code and bare.startswith(_SOURCE):
            value = bare.removeprefix(_SOURCE).strip()
            in_source = value == "["
            code = "" if in_source else _joined(_json_value(value.removesuffix(",")))
        result.append(_as_line(code))
    return "\n".join(result)


def _cells_of_json(text: str) -> Iterator[str]:
    """Yield the code of each cell of a notebook in any layout; nothing for other texts."""
    notebook = _json_value(text)
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    for cell in cells if isinstance(cells, list) else ():
        if isinstance(cell, dict) and cell.get("cell_type") == "code":
            for line in _joined(cell.get("source")).split("\n"):
                yield _as_line(line)


def _as_line(code: str) -> str:
    """Return one line of code, as a comment if it is for Jupyter itself."""
    line = code.rstrip("\n").replace("\n", " ").replace("\r", " ")
    return f"# {line}" if line.lstrip().startswith(_MAGIC) else line


def _joined(source: Any) -> str:
    """Return the source of a cell as one text; ``source`` is a text or a list of lines."""
    if isinstance(source, list):
        return "".join(line for line in source if isinstance(line, str))
    return source if isinstance(source, str) else ""


def _json_string(written: str) -> str:
    value = _json_value(written)
    return value if isinstance(value, str) else ""


def _json_value(written: str) -> Any:
    """Return the value of a JSON text; None if it is malformed or nested too deeply."""
    try:
        return json.loads(written)
    except (ValueError, RecursionError):
        return None
