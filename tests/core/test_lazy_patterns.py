"""Patterns that are compiled at their first use."""

import re

import pytest

from tosloc.core.patterns import lazy_pattern


def test_a_pattern_is_compiled_at_its_first_use():
    pattern = lazy_pattern("(")
    with pytest.raises(re.error):
        pattern.search("a")


def test_flags_and_groups_are_those_of_the_pattern():
    match = lazy_pattern("(?P<word>a+)", re.IGNORECASE).search("xAa")
    assert match["word"] == "Aa"


def test_a_pattern_is_compiled_once(monkeypatch):
    pattern = lazy_pattern(b"a")
    assert pattern.findall(b"aba") == [b"a", b"a"]
    monkeypatch.setattr(re, "compile", None)
    assert pattern.sub(b"", b"aba") == b"b"
