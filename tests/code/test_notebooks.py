"""The code of notebooks."""

import json

import pytest

from tosloc.code.facts import analyse
from tosloc.code.notebooks import code_cells, readable_text

CELLS = [
    {"cell_type": "markdown", "source": ["# Oak\n"]},
    {"cell_type": "code", "outputs": [{"text": ["elm"]}], "source": ["%time x\n", "a = 1\n"]},
    {"cell_type": "code", "outputs": [], "source": "b = 2\nc = 3"},
]


def notebook(**layout):
    return json.dumps({"cells": CELLS, "nbformat": 4}, **layout)


def test_code_keeps_its_lines():
    text = notebook(indent=1)
    lines = code_cells(text).split("\n")
    assert len(lines) == text.count("\n") + 1
    assert lines[text.split("\n").index('    "a = 1\\n"')] == "a = 1"


def test_code_of_a_notebook_on_one_line_is_read():
    code = code_cells(notebook(indent=None)).split("\n")
    assert [line for line in code if line] == ["# %time x", "a = 1", "b = 2", "c = 3"]


def test_text_and_outputs_have_no_words():
    terms = analyse(notebook(indent=1), "a.ipynb").terms
    assert "time" in terms
    assert not {"oak", "elm", "markdown", "output", "nbformat"} & set(terms)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"cells": 3}', "[" * 9000, '"cell_type": "code"'])
def test_what_is_no_notebook_has_no_code(text):
    assert not code_cells(text).strip()


def test_only_notebooks_are_decoded():
    text = notebook(indent=1)
    assert readable_text(text, "a.json") == text
