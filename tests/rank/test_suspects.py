"""Suspect changes: past commits that may have introduced the fault of a report."""

from datetime import UTC, datetime

import pytest

from tests.conftest import FIRST_TIME, HOUR
from tosloc import Localizer
from tosloc.core.records import BugReport
from tosloc.rank.suspects import DIFF_LINES, MAX_SUSPECTS, find_suspects

CART = '''\
class Cart:
    def add(self, item):
        """Put an item into the cart."""
        self.items.append(item)

    def total(self):
        """Return the price of all items."""
        return sum(item.price for item in self.items)
'''
DISCOUNT = CART.replace(
    "return sum(item.price for item in self.items)",
    "price = sum(item.price for item in self.items)\n        return price - self.discount * price",
)
FUTURE = DISCOUNT.replace("self.discount * price", "self.discount * price * self.discount_rate")
REPORT = "The total of the cart is wrong: Cart.total subtracts the discount from the price twice"


@pytest.fixture
def commits(repository):
    """Return the ids of four commits: the shop, a bill, the discount and a planted later one."""
    shop = {"shop/cart.py": CART, "shop/door.py": "def open_door(key):\n    return key.turn()\n"}
    repository.commit(shop, "Begin the shop")
    bill = {"shop/bill.py": "def print_bill(cart):\n    print(cart.total())\n"}
    repository.commit(bill, "Print a bill")
    repository.commit({"shop/cart.py": DISCOUNT}, "Let carts have a rebate")
    repository.commit({"shop/cart.py": FUTURE}, "Total of the cart: discount twice")
    return repository.commits


def search(path, commit, opened=None, text=REPORT, **options):
    """Return the suspects of a report for a version."""
    report = BugReport("1", text, "", opened)
    with Localizer.open(path, commit=commit) as localizer:
        answer = localizer.localize(report, commit=commit, **options)
        version = localizer.version(commit)
        localization = localizer.localization(answer.report, version)
        reasons = localization.stage_one.reasons
        return find_suspects(localizer.repository, reasons, answer.hits, version.sources)


@pytest.fixture
def suspects(repository, commits):
    """Return the suspects of the report for the version with the discount."""
    return search(repository.path, commits[2])


def test_first_suspect_last_wrote_the_faulty_function(suspects, commits):
    first = suspects.changes[0]
    assert first.commit == commits[2]
    assert first.path == "shop/cart.py"
    assert first.function == "Cart.total"
    assert first.subject == "Let carts have a rebate"
    assert first.committed == datetime.fromtimestamp(FIRST_TIME + 2 * HOUR, UTC)


def test_diff_is_the_hunk_of_the_function(suspects):
    diff = suspects.changes[0].diff
    assert len(diff) <= DIFF_LINES
    assert "+        return price - self.discount * price" in diff


def test_reason_names_the_function(suspects):
    assert suspects.changes[0].reasons[0] == "last changed 2 of the 3 lines of `Cart.total`"


def test_number_of_suspects_is_bounded(suspects):
    assert 0 < len(suspects.changes) <= MAX_SUSPECTS


def test_no_suspect_is_later_than_the_version(suspects, commits):
    assert commits[3] not in {change.commit for change in suspects.changes}


def test_no_suspect_is_later_than_the_report(repository, commits):
    opened = datetime.fromtimestamp(FIRST_TIME + 2 * HOUR + 1, UTC)
    suspects = search(repository.path, commits[3], opened)
    assert commits[2] in {change.commit for change in suspects.changes}
    assert commits[3] not in {change.commit for change in suspects.changes}


def test_later_commits_change_no_suspect(repository, commits, suspects):
    opened = datetime.fromtimestamp(FIRST_TIME + 2 * HOUR + 1, UTC)
    repository.commit({"shop/cart.py": None}, "Remove the cart")
    assert search(repository.path, commits[2], opened) == suspects


def test_suspects_need_no_functions(repository, commits):
    first = search(repository.path, commits[2], functions=0).changes[0]
    assert first.commit == commits[2]
    assert first.function == ""


def test_a_moved_line_is_not_written_by_its_mover(repository, commits):
    methods = CART.split("    def ")
    moved = methods[0] + "    def ".join(["", methods[2] + "\n", methods[1]])
    version = repository.commit({"shop/cart.py": moved}, "Move the total", parents=[commits[0]])
    first = search(repository.path, version, text="Cart.total: total of price is wrong").changes[0]
    assert first.commit == commits[0]


def test_missing_blobs_give_a_note(repository, commits):
    repository.commit({"shop/cart.py": DISCOUNT + "# lost\n"}, "Lost")
    version = repository.commit({"shop/cart.py": DISCOUNT}, "Restored")
    repository.lose(f"{version}~1:shop/cart.py")
    suspects = search(repository.path, version)
    assert suspects.notes == (
        "some changes could not be read, because this clone lacks their contents",
    )
    assert suspects.changes
