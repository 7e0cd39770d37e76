"""Answers about files that were moved: their past counts, and similar changes name what is left."""

import pytest

from tests.conftest import HOUR
from tosloc.git.repository import AuthorNames
from tosloc.localize.localizer import Localizer

CART = "def add_to_cart(item):\n    return basket + item\n"
BILL = "def total(bill):\n    return sum(bill)\n"
START = 1_000_000_000
REPORT = "Basket forgets the voucher\n\nThe voucher of a basket is lost."
MESSAGE = "Keep the voucher of a basket (#4242)"


@pytest.fixture
def ask(repository, tmp_path, monkeypatch):
    """Return a function that asks about a repository whose sources were moved."""
    monkeypatch.setenv("TOSLOC_CACHE", str(tmp_path / "cache"))
    files = {"shop/cart.py": CART, "shop/bill.py": BILL, "tests/test_basket.py": "import shop\n"}
    repository.commit(files, "Import", when=START)
    changed = {"shop/cart.py": f"# voucher\n{CART}", "tests/test_basket.py": "import shop.cart\n"}
    repository.commit(changed, MESSAGE, when=START + HOUR)
    moved = {
        "shop/cart.py": None,
        "shop/bill.py": None,
        "src/shop/cart.py": f"# voucher\n{CART}",
        "src/shop/bill.py": f"# edited\n{BILL}",
    }
    repository.commit(moved, "Move", when=START + 2 * HOUR)
    for number in range(9):
        others = {f"other/m{number}.py": f"def other{number}(): pass\n"}
        repository.commit(others, f"Add other module {number}", when=START + (3 + number) * HOUR)

    def answer(text):
        with Localizer.open(repository.path) as localizer:
            return localizer.localize(text, background=True)

    return answer


def test_a_moved_file_keeps_its_similar_changes(ask):
    answer = ask(REPORT)
    assert answer.hits[0].path == "src/shop/cart.py"
    reasons = [reason.text for reason in answer.hits[0].reasons]
    assert any("Keep the voucher of a basket" in text for text in reasons)


def test_a_similar_change_names_the_present_path(ask):
    [change, *_] = ask(REPORT).background.earlier
    assert change.files == ("src/shop/cart.py", "tests/test_basket.py")


def test_people_are_those_of_all_commits_of_a_moved_file(ask, monkeypatch):
    """Three commits touched it: the import, the change and the move."""
    asked = []

    def record(self, commits):
        asked.append(commits)
        return {}

    monkeypatch.setattr(AuthorNames, "read", record)
    ask(REPORT)
    assert [len(commits) for commits in asked] == [3]


def test_a_moved_file_keeps_its_tests(ask):
    assert ask(REPORT).background.tests == ("tests/test_basket.py",)


def test_a_change_that_the_report_names_is_told_of_a_moved_file(ask):
    answer = ask("It fails since #4242")
    [hit] = [hit for hit in answer.hits if hit.path == "src/shop/cart.py"]
    assert hit.reasons[0].kind == "change"
    assert hit.reasons[0].issue == "#4242"


def test_a_report_before_the_move_does_not_know_it(ask):
    at = "2001-09-09T03:00:00Z"  # between the change and the move
    answer = ask(f"---\nopened: {at}\n---\n{REPORT}")
    assert answer.report.opened.timestamp() < START + 2 * HOUR
    [change, *_] = answer.background.earlier
    assert "shop/cart.py" in change.files or change.files == ("tests/test_basket.py",)
    assert "src/shop/cart.py" not in change.files
