"""Parts of a document that a command writes."""

from __future__ import annotations

import pytest

from tosloc.errors import ToslocError
from tosloc.lab.paper.documents import END, start_of, with_part

START = start_of("table-4")


def test_a_part_is_added_once_and_then_replaced():
    once = with_part("# Results\n\nWords.\n", "table-4", "first\n", "x.md")
    assert once == f"# Results\n\nWords.\n\n{START}\nfirst\n{END}\n"
    assert with_part(once + "\nMore.\n", "table-4", "second", "x.md") == once.replace("first", "second") + "\nMore.\n"
    assert with_part("", "table-4", "alone", "x.md") == f"{START}\nalone\n{END}\n"


def test_other_parts_stay():
    both = with_part(with_part("", "table-3", "three", "x.md"), "table-4", "four", "x.md")
    again = with_part(both, "table-3", "3", "x.md")
    assert again == both.replace("three", "3")
    assert "four" in again


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"{START}\nno end\n", f"has no {END}"),
        (f"{START}\na\n{start_of('table-5')}\nb\n{END}\n", f"has no {END}"),
        (f"{START}\na\n{END}\n{START}\nb\n{END}\n", "stands there twice"),
    ],
)
def test_markers_that_do_not_fit_are_one_sentence(text, said):
    with pytest.raises(ToslocError) as error:
        with_part(text, "table-4", "new", "x.md")
    assert said in str(error.value)
    assert str(error.value).startswith("x.md")
