"""Suspect changes in answers: when they are looked for, and what they depend on."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.conftest import FIRST_TIME, HOUR
from tests.rank.test_suspects import CART, DISCOUNT
from tosloc.core.errors import ToslocError, UnknownCommit
from tosloc.core.reports import BugReport
from tosloc.localize.language_model import make_cards
from tosloc.localize.localizer import Localizer
from tosloc.localize.question import Question
from tosloc.rank.features import QueryContext
from tosloc.rank.suspects.search import MAX_SUSPECTS, SuspectSearch

WRONG = "The total of the cart is wrong: Cart.total subtracts the discount twice."
REGRESSION = f"{WRONG} It used to work."


@pytest.fixture
def project(repository):
    """Return a repository in which the third of four commits broke the cart's total."""
    shop = {"shop/cart.py": CART, "shop/door.py": "def open_door(key):\n    return key.turn()\n"}
    repository.commit(shop, "Begin the shop")
    bill = {"shop/bill.py": "def print_bill(cart):\n    print(cart.total())\n"}
    repository.commit(bill, "Print a bill")
    repository.commit({"shop/cart.py": DISCOUNT}, "Let carts have a rebate")
    later = DISCOUNT.replace("self.discount * price", "self.discount * self.discount * price")
    repository.commit({"shop/cart.py": later}, "Total of the cart: discount twice")
    return repository


@pytest.fixture
def ask(project):
    """Return a function (report, options) -> the answer for the third commit."""
    with Localizer.open(project.path, commit=project.commits[2]) as localizer:

        def localize(report, **options):
            return localizer.localize(report, **{"commit": project.commits[2], **options})

        yield localize


def commits_of(answer):
    """Return the commits of an answer's suspects."""
    return [change.commit for change in answer.suspects]


def test_a_regression_has_suspects(ask, project):
    suspects = ask(REGRESSION).suspects
    assert suspects[0].commit == project.commits[2]
    assert suspects[0].path == "shop/cart.py"
    assert suspects[0].function == "Cart.total"
    assert len(suspects) <= MAX_SUSPECTS


def test_any_other_report_has_none_by_default(ask):
    assert ask(WRONG).suspects == ()


def test_suspects_can_be_requested(ask, project):
    assert commits_of(ask(WRONG, suspects=True))[0] == project.commits[2]


def test_suspects_can_be_left_out(ask):
    assert ask(REGRESSION, suspects=False).suspects == ()


def test_releases_in_which_it_worked_and_failed_mean_a_regression(ask, project):
    project.git("tag", "1.0", project.commits[1])
    project.git("tag", "1.1", project.commits[2])
    report = f"{WRONG} Fine in 1.0, wrong in 1.1."
    with Localizer.open(project.path, commit=project.commits[2]) as localizer:
        answer = localizer.localize(report, commit=project.commits[2])
    assert commits_of(answer)[0] == project.commits[2]


def test_good_and_bad_commits_bound_the_suspects(ask, project):
    answer = ask(WRONG, good=[project.commits[0]], bad=project.commits[1])
    assert project.commits[2] not in commits_of(answer)
    assert answer.statements == (
        f"The cause is between {project.commits[0]}, which worked, and {project.commits[1]}:"
        " 1 commit",
    )


def test_a_good_commit_alone_asks_for_suspects(ask, project):
    assert commits_of(ask(WRONG, good=["HEAD~2"]))[0] == project.commits[2]


def test_a_bad_commit_alone_asks_for_suspects(ask, project):
    assert commits_of(ask(WRONG, bad=project.commits[1])) == [project.commits[0]]


def test_given_commits_override_those_of_the_report(ask, project):
    project.git("tag", "1.0", project.commits[0])
    project.git("tag", "1.1", project.commits[1])
    report = f"{WRONG} Fine in 1.0, wrong in 1.1."
    with Localizer.open(project.path, commit=project.commits[2]) as localizer:
        answer = localizer.localize(
            report, commit=project.commits[2], good=["1.1"], bad=project.commits[2]
        )
    assert commits_of(answer) == [project.commits[2]]


def test_suspects_of_a_range_cannot_be_turned_off():
    with pytest.raises(ToslocError, match="turned off"):
        Question(WRONG, good=["1.0"], suspects=False)


def test_good_commits_are_a_list():
    with pytest.raises(ToslocError, match=r"^good: this must be a list"):
        Question(WRONG, good="1.0")


def test_good_commits_need_a_repository():
    nothing: Any = None
    with pytest.raises(ToslocError, match="those of a repository"):
        QueryContext(nothing, nothing, nothing).with_ends(["1.0"], None)


def test_a_wrong_revision_is_no_error_of_a_single_report(project):
    failed = []
    with Localizer.open(project.path) as localizer, pytest.raises(UnknownCommit):
        list(
            localizer.localize_many(
                [WRONG, REGRESSION], good=["v9"], on_error=lambda *error: failed.append(error)
            )
        )
    assert failed == []


def test_a_named_commit_means_a_regression(ask, project):
    named = project.commits[2][:9]
    assert project.commits[2] in commits_of(ask(f"{WRONG} This is due to commit {named}."))


def test_no_suspect_is_later_than_the_report(project):
    opened = datetime.fromtimestamp(FIRST_TIME + 2 * HOUR + 1, UTC)
    report = BugReport("1", REGRESSION, "", opened)
    with Localizer.open(project.path, commit=project.commits[3]) as localizer:
        commits = commits_of(localizer.localize(report, commit=project.commits[3]))
    assert project.commits[2] in commits
    assert project.commits[3] not in commits


@pytest.mark.parametrize("options", [{"top": 1}, {"functions": 0}, {"functions": 9}])
def test_suspects_do_not_depend_on_what_is_listed(ask, options):
    assert ask(REGRESSION, **options).suspects == ask(REGRESSION).suspects


def test_files_weigh_alike_for_suspects_however_many_are_listed(ask, monkeypatch):
    searched = []

    def record_shares(repository, reasons, hits, lookups, **options):
        searched.append([hit.confidence for hit in hits])
        return SuspectSearch(())

    monkeypatch.setattr("tosloc.localize.hits.find_suspects", record_shares)
    ask(REGRESSION, top=1)
    ask(REGRESSION, top=10)
    assert searched[0] == searched[1]
    assert max(searched[0]) > 0


def test_without_code_there_is_no_diff(ask):
    with_code = ask(REGRESSION)
    without_code = ask(REGRESSION, code="none")
    assert with_code.suspects[0].diff
    assert without_code.suspects[0] == replace(with_code.suspects[0], diff=(), diff_lines=())


def test_a_file_that_is_not_committed_has_no_suspects(project):
    project.git("checkout", "-q", project.commits[2])
    (project.path / "shop" / "discount.py").write_text(DISCOUNT.replace("Cart", "DiscountCart"))
    with Localizer.open(project.path) as localizer:
        answer = localizer.localize("DiscountCart.total is wrong; it used to work")
    assert answer.hits[0].path == "shop/discount.py"
    assert "shop/discount.py" not in {change.path for change in answer.suspects}


def test_before_the_first_commit_there_are_no_suspects(repository):
    (repository.path / "cart.py").write_text(CART)
    with Localizer.open(repository.path) as localizer:
        assert localizer.localize(REGRESSION).suspects == ()


def test_suspects_as_plain_values(ask, project):
    answer = ask(REGRESSION)
    first = json.loads(json.dumps(answer.as_dict()))["suspects"][0]
    assert first["commit"] == project.commits[2]
    assert first["committed"] == "2001-09-09T03:46:40Z"
    assert first["subject"] == "Let carts have a rebate"
    assert first["reasons"] == list(answer.suspects[0].reasons)
    assert "+        return price - self.discount * price" in first["diff"]


def cart_changes_of(project, text):
    """Return the suspect changes of the cart that a language model gets to know."""
    with Localizer.open(project.path, commit=project.commits[2]) as localizer:
        version = localizer.prepare(project.commits[2])
        question = Question(BugReport("1", text, "", None))
        scores = localizer.rank(question, version)
        selection = scores.selection(question)
        [card] = make_cards(scores, question, selection, scores.first_files(1, selection))
    assert card.path == "shop/cart.py"
    return card.changes


def test_a_language_model_is_told_of_suspects_if_the_report_blames_a_commit(project):
    changes = cart_changes_of(project, f"{REGRESSION} Caused by {project.commits[2]}")
    heading = f"suspect change: {project.commits[2][:10]} (2001-09-09) Let carts have a rebate"
    assert changes[0].startswith(heading)


def test_a_language_model_is_told_of_no_suspects_without_a_known_range(project):
    assert cart_changes_of(project, REGRESSION) == []
