"""A small git repository for the examples in docstrings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import GitRepository

CART = '''class Cart:
    """What a customer is about to buy."""

    def __init__(self):
        self.items = []

    def add(self, item):
        if item not in self.items:
            self.items.append(item)
'''
BILL = '''from shop.cart import Cart


def total(cart: Cart) -> int:
    """Sum of the prices."""
    return sum(item.price for item in cart.items)
'''
FILES = {
    "shop/cart.py": CART,
    "shop/bill.py": BILL,
    "tests/test_cart.py": "def test_add():\n    assert True\n",
}


@pytest.fixture(autouse=True)
def _examples(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Give examples ``shop()``, which makes a repository of three files and returns its path."""
    if not hasattr(request.node, "dtest"):
        return

    def shop() -> Path:
        folder = tmp_path_factory.mktemp("example")
        monkeypatch.setenv("TOSLOC_CACHE", str(folder / "cache"))
        return make_shop(folder / "shop")

    namespace: dict[str, Callable[[], Path]] = request.getfixturevalue("doctest_namespace")
    namespace["shop"] = shop


def make_shop(path: Path) -> Path:
    """Create a git repository with FILES and one fixed bug, and return its path."""
    repository = GitRepository.new(path)
    when = 1_714_979_289
    with_bug = CART.replace("        if item not in self.items:\n    ", "")
    repository.commit(FILES | {"shop/cart.py": with_bug}, "Begin\n", when=when)
    repository.commit({"shop/cart.py": CART}, "Fix #7: the cart takes an item twice\n", when=when)
    return path
