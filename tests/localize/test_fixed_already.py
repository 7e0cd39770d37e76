"""Whether an answer says that the searched version has the report's fix already."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from tests.conftest import FIRST_TIME, HOUR
from tosloc.core.reports import BugReport
from tosloc.localize.localizer import Localizer

CART = "class Cart:\n    def total(self):\n        return sum(self.prices){}\n"
TITLE = "Total of an empty cart ignores vouchers"
OPENED = datetime.fromtimestamp(FIRST_TIME + HOUR // 2, UTC)
REPORT = BugReport("4537", TITLE, "Cart.total is wrong.", OPENED)


@pytest.fixture
def ask(repository):
    """Return a function (messages of later commits, report, options) -> the answer's fix.

    The report was opened after the first commit, whose message is "Begin (#12)".
    """

    def localize(*messages, report=REPORT, commit=None):
        repository.commit({"shop/cart.py": CART.format("")}, "Begin (#12)")
        for number, message in enumerate(messages, start=1):
            repository.commit({"shop/cart.py": CART.format(f" + {number}")}, message)
        with Localizer.open(repository.path) as localizer:
            return localizer.localize(report, commit=commit).fixed_by

    return localize


@pytest.mark.parametrize(
    "message",
    [
        "Fix #4537: count vouchers",
        "Count vouchers\n\nCloses #4537",
        "Count vouchers\n\nfixes shop/cart#4537",
        "Count vouchers\n\nResolves https://github.com/shop/cart/issues/4537",
        "Bug 4537 - Count vouchers",
        "Fixed vouchers (#4537)",
    ],
)
def test_a_later_commit_that_closes_the_reports_number_is_its_fix(ask, repository, message):
    fix = ask(message, "Add a door")
    assert fix.commit == repository.commits[1]
    assert fix.subject == message.partition("\n")[0]
    assert fix.files == ("shop/cart.py",)


@pytest.mark.parametrize(("text", "is_fixed"), [("Fails in {}.", False), ("Works in {}.", True)])
def test_a_version_that_fails_does_not_contain_the_fix(repository, text, is_fixed):
    """The report has no date, so that commits of any time may have fixed it."""
    repository.commit({"shop/cart.py": CART.format("")}, "Begin")
    repository.commit({"shop/cart.py": CART.format(" + 1")}, "Count vouchers, closes #6")
    failing = repository.commit({"shop/cart.py": CART.format(" + 2")}, "Count twice")
    report = BugReport("6", TITLE, text.format(failing), None)
    with Localizer.open(repository.path) as localizer:
        assert (localizer.localize(report).fixed_by is not None) == is_fixed


@pytest.mark.parametrize(
    "message",
    [
        "Fix #453: count vouchers",
        "Count vouchers, see #4537",
        "Count vouchers (part of #4537)",
        "Add a door (#4537)",
        "NEW - bug 4537: count vouchers",
        "Count vouchers\n\nThis works around #4537.",
    ],
)
def test_a_commit_that_only_mentions_the_number_is_no_fix(ask, message):
    assert ask(message) is None


def test_the_id_of_a_tracker_with_projects_counts(ask, repository):
    fix = ask("CART-7: Fix vouchers", report=replace(REPORT, id="CART-7"))
    assert fix.commit == repository.commits[1]


@pytest.mark.parametrize(
    "title", ["#4537: Vouchers", "[#4537] Vouchers", "Bug 4537 - Vouchers", "V · Issue #4537 · a/b"]
)
def test_the_number_in_the_title_counts(ask, repository, title):
    fix = ask("Fix #4537", report=BugReport("report", title, "", OPENED))
    assert fix.commit == repository.commits[1]


@pytest.mark.parametrize("title", ["4537 carts are empty", "Vouchers, like in #4537"])
def test_a_number_within_the_title_is_not_the_reports_own(ask, title):
    assert ask("Fix #4537", report=BugReport("report", title, "", OPENED)) is None


def test_the_newest_fix_is_named(ask, repository):
    assert ask("Fix #4537", "Fix #4537 again").commit == repository.commits[2]


def test_a_fix_before_the_opening_is_none(ask):
    assert ask("Fix #4537", report=replace(REPORT, opened=datetime.now(UTC))) is None


def test_a_report_without_a_date_may_be_fixed_by_any_commit(ask, repository):
    fix = ask("Fix #4537", report=replace(REPORT, opened=None))
    assert fix.commit == repository.commits[1]


def test_a_version_before_the_fix_has_none(ask):
    assert ask("Count carts", "Fix #4537", commit="HEAD~1") is None


def test_a_reverted_fix_is_none(ask):
    assert ask("Count vouchers\n\nFixes #4537", 'Revert "Count vouchers"') is None


def test_a_restored_fix_counts(ask, repository):
    revert = 'Revert "Count vouchers"'
    fix = ask("Count vouchers\n\nFixes #4537", revert, f'Revert "{revert}"')
    assert fix is not None


def test_a_merge_that_closes_the_number_is_a_fix(repository):
    base = repository.commit({"a.py": "a = 1\n"}, "Begin")
    side = repository.commit({"a.py": "a = 2\n"}, "Count vouchers", parents=[base])
    merge = repository.commit({"a.py": "a = 2\n"}, "Merge x\n\nFixes #4537", parents=[base, side])
    with Localizer.open(repository.path) as localizer:
        assert localizer.localize(REPORT).fixed_by.commit == merge


def test_a_first_line_that_says_the_same_is_a_fix(ask, repository):
    fix = ask("Fix: the total of an empty cart ignores vouchers", "Add a door")
    assert fix.commit == repository.commits[1]


@pytest.mark.parametrize(
    "message",
    [
        "Fix vouchers of a cart",
        "Fix: total of an empty cart ignores vouchers, doors, windows, keys and everything else",
        "Total of an empty cart ignores vouchers",
    ],
    ids=["too little", "too much", "fixes nothing"],
)
def test_a_first_line_that_says_something_else_is_no_fix(ask, message):
    assert ask(message) is None


def test_the_text_of_a_report_without_a_date_proves_nothing(ask):
    report = replace(REPORT, opened=None)
    assert ask("Fix: the total of an empty cart ignores vouchers", report=report) is None


def test_the_fix_changes_no_score(repository):
    repository.commit({"a.py": "cart = 1\n", "b.py": "voucher = 1\n"}, "Begin")
    unfixed = repository.commit({"b.py": "voucher = 2\n"}, "Tidy up")
    with Localizer.open(repository.path) as localizer:
        scores = [hit.score for hit in localizer.localize(REPORT).hits]
    repository.git("reset", "-q", "--hard", "HEAD~1")
    repository.commit({"b.py": "voucher = 2\n"}, "Fix #4537", parents=[f"{unfixed}~1"], when=None)
    with Localizer.open(repository.path) as localizer:
        answer = localizer.localize(REPORT)
    assert answer.fixed_by is not None
    assert [hit.score for hit in answer.hits] == scores


@pytest.fixture
def fixed_answer(repository):
    """Return the answer to a report without a date, which names its own number, at its fix."""
    repository.commit({"shop/cart.py": CART.format("")}, "Begin (#12)")
    repository.commit({"shop/cart.py": CART.format(" + 1")}, "Count vouchers, closes #4537")
    text = "Cart.total is wrong since the update. It used to work. This is bug #4537."
    with Localizer.open(repository.path) as localizer:
        return localizer.localize(BugReport("4537", TITLE, text, None))


def test_the_fix_is_no_suspect(fixed_answer, repository):
    assert fixed_answer.fixed_by.commit == repository.commits[1]
    assert [change.commit for change in fixed_answer.suspects] == [repository.commits[0]]


def test_the_reports_own_number_names_no_change(fixed_answer):
    assert "change" not in {reason.kind for reason in fixed_answer.hits[0].reasons}


def test_what_a_fixing_merge_brought_is_no_suspect(repository):
    base = repository.commit({"shop/cart.py": CART.format("")}, "Begin")
    changed = {"shop/cart.py": CART.format(" + 1")}
    side = repository.commit(changed, "Count vouchers", parents=[base])
    repository.commit(changed, "Merge x\n\nFixes #4537", parents=[base, side])
    with Localizer.open(repository.path) as localizer:
        answer = localizer.localize(replace(REPORT, opened=None), suspects=True)
    assert [change.commit for change in answer.suspects] == [base]
