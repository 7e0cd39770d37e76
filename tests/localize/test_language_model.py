"""The files that a language model chooses from, and what it gets to know of them."""

import pytest

from tosloc import Localizer
from tosloc.core.reports import BugReport
from tosloc.localize.language_model import ListedFiles
from tosloc.localize.question import Question

FILES = {
    "shop/cart.py": "class Cart:\n    def add(self, item):\n        return priceRounder(item)\n",
    "shop/bill.py": "def total(cart):\n    return sum(cart.items)\n",
    "core/numbers.py": "def priceRounder(price):\n    return price\n",
}
OTHERS = {
    f"core/part{number:02}.py": f"def part{number:02}():\n    return 1\n" for number in range(40)
}


@pytest.fixture
def files_for(repository, monkeypatch, tmp_path):
    """Return a function that yields the files to choose from for a text."""
    monkeypatch.setenv("TOSLOC_CACHE", str(tmp_path / "cache"))
    repository.commit({**FILES, **OTHERS})
    with Localizer.open(repository.path) as localizer:

        def run(text, number=20):
            question = Question(BugReport("1", "Cart.add loses an item", text, None))
            scores = localizer.rank(question)
            return ListedFiles(scores, question, number)

        yield run


def test_list_has_each_file_once(files_for):
    paths = files_for("It is gone.").paths
    assert len(paths) == len(set(paths)) == 20


def test_file_that_the_first_one_calls_is_listed(files_for):
    assert files_for("It is gone.").paths[0] == "shop/cart.py"
    assert "core/numbers.py" in files_for("It is gone.").paths


def test_own_stack_frames_are_facts(files_for):
    trace = (
        'Traceback (most recent call last):\n  File "/app/shop/cart.py", line 3, in add\nE: no\n'
    )
    assert "Stack frames in the project: shop/cart.py:3 add" in files_for(trace).facts


def test_files_that_the_report_names_are_facts(files_for):
    facts = files_for("The bug is in shop/bill.py, I think.").facts
    assert [fact for fact in facts if fact.startswith("The report points at shop/bill.py (path")]


def test_card_has_the_bodies_of_functions(files_for):
    [card] = files_for("It is gone.").describe(["shop/cart.py"])
    function, lines, _ = card.bodies[0]
    assert function == "Cart.add"
    assert lines[-1] == (3, "        return priceRounder(item)")


@pytest.mark.parametrize("written", ["shop/bill.py", "./shop/bill.py", "bill.py", "shop\\bill.py"])
def test_file_is_found_by_what_a_model_writes(files_for, written):
    assert files_for("It is gone.").find(written) == "shop/bill.py"


@pytest.mark.parametrize("written", ["", "/", "shop/none.py", "ill.py"])
def test_file_that_does_not_exist_is_not_found(files_for, written):
    assert files_for("It is gone.").find(written) is None
