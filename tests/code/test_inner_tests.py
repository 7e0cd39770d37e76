"""Tests inside source files of D are no part of the code."""

import pytest

from tosloc.code.facts import analyse
from tosloc.code.inner_tests import blank_tests

TEXT = """class Oak {
  int ash() { return '}'; }
  @safe unittest {
    if (elm) { check(fir("}")); }
  }
  unittest
  { pine(); }
  int beech; // unittest { yew }
}
"""


def test_inner_tests_have_no_terms():
    terms = set(analyse(TEXT, "a.d").terms)
    assert terms >= {"ash", "beech", "oak", "yew"}
    assert terms.isdisjoint({"elm", "check", "fir", "pine"})


def test_lines_keep_their_numbers():
    lines = TEXT.split("\n")
    blanked = blank_tests(TEXT, "a.d").split("\n")
    assert len(blanked) == len(lines)
    assert blanked[:2] == lines[:2]
    assert blanked[7:] == lines[7:]


@pytest.mark.parametrize("text", ["unittest {", "unittest { { }", "int unittest;"])
def test_what_is_no_test_is_kept(text):
    assert blank_tests(text, "a.d") == text


def test_other_languages_are_left_alone():
    assert blank_tests(TEXT, "a.java") == TEXT


def test_doctests_are_documentation():
    text = 'def oak():\n    """Grow.\n\n    >>> elm(1)\n    2\n    """\n'
    assert "elm" in analyse(text, "a.py").terms
