"""A small git repository for the examples in docstrings."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

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
FILES = {"shop/cart.py": CART, "shop/bill.py": BILL, "tests/test_cart.py": "def test_add():\n    assert True\n"}


@pytest.fixture(autouse=True)
def _examples(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Gives examples ``shop()``: the path of a new repository of three files; facts are kept beside it."""
    if not hasattr(request.node, "dtest"):
        return

    def shop() -> Path:
        folder = tmp_path_factory.mktemp("example")
        monkeypatch.setenv("TOSLOC_CACHE", str(folder / "cache"))
        return repository(folder / "shop")

    namespace: dict[str, Callable[[], Path]] = request.getfixturevalue("doctest_namespace")
    namespace["shop"] = shop


def repository(path: Path) -> Path:
    """A git repository with FILES, and one fixed bug."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    who = {"NAME": "Ada", "EMAIL": "ada@example.org", "DATE": "2024-05-06T07:08:09Z"}
    names = {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in who.items()}
    environment = kept | names | {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}

    def git(*arguments: str) -> None:
        subprocess.run(["git", "-C", str(path), *arguments], env=environment, check=True, capture_output=True)

    path.mkdir()
    git("init", "-q")
    for name, text in FILES.items():
        (path / name).parent.mkdir(exist_ok=True)
        (path / name).write_text(text.replace("        if item not in self.items:\n    ", ""))
    git("add", ".")
    git("commit", "-q", "-m", "Begin")
    (path / "shop/cart.py").write_text(CART)
    git("commit", "-q", "-a", "-m", "Fix #7: the cart takes an item twice")
    return path
