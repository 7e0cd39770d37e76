"""Strings that stay packed."""

from __future__ import annotations

import pytest

from tosloc.index import names
from tosloc.index.names import NameNumbers


def test_numbers_are_remembered(monkeypatch):
    monkeypatch.setattr(names, "MOST_REMEMBERED", 3)
    numbers = NameNumbers.of(["b", "äh", "a"])
    for _ in range(2):
        assert [numbers.get(name) for name in ("a", "äh", "b", "c", "d")] == [2, 1, 0, None, None]
        assert [name in numbers for name in ("a", "c")] == [True, False]
        assert 3 not in numbers
    assert numbers.get("c", 7) == 7
    with pytest.raises(KeyError):
        numbers["c"]
    monkeypatch.setattr(NameNumbers, "place", None)
    assert numbers["a"] == 2
    assert "c" not in numbers
