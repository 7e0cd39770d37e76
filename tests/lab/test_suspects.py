"""Judging suspect changes: truth by blame, baselines, learned weights, and the command."""

import json
from datetime import UTC, datetime

import numpy as np
import pytest

from tests.conftest import FIRST_TIME, HOUR
from tosloc.cli import main
from tosloc.core.errors import ToslocError
from tosloc.core.reports import BugReport, Case
from tosloc.git.repository import Repository
from tosloc.lab.suspects import (
    BM25,
    FIXED_FEATURES,
    NEWEST,
    OURS,
    SAME_TRUTH,
    SHIPPED,
    JudgedReport,
    ProjectReports,
    find_inducing_commits,
    index_changes,
    judge_left_out,
    learn_weights,
    rank_by_bm25,
    summarize,
)
from tosloc.rank.suspects.features import FEATURES, WEIGHTS

SHOP = """\
class Cart:
    def total(self):
        # the price of all items
        price = sum(item.price for item in self.items)
        return price

    def clear(self):
        self.items = []
"""
DISCOUNT = SHOP.replace("return price", "return price - self.discount")
INDENTED = DISCOUNT.replace("    ", "  ")
FIXED = INDENTED.replace("price - self.discount", "max(price - self.discount, 0)")


def make_case(repository, fix, hours=100, version=None):
    """Return a case that a commit fixed; the report was opened so many hours after the start."""
    opened = datetime.fromtimestamp(FIRST_TIME + hours * HOUR, UTC)
    report = BugReport("1", "The total is negative", "Cart.total with a discount", opened)
    parent = version or repository.git("rev-parse", f"{fix}~1")
    return Case(report, fix, parent, FIRST_TIME + hours * HOUR, ("cart.py",), ("cart.py",))


@pytest.fixture
def truth(repository):
    """Return a function that finds the truth of the repository's last commit."""

    def find(hours=100):
        with Repository(repository.path) as opened:
            case = make_case(repository, repository.commits[-1], hours)
            return find_inducing_commits(opened, case)

    return find


def test_truth_is_who_last_wrote_the_removed_line(repository, truth):
    repository.commit({"cart.py": SHOP})
    discount = repository.commit({"cart.py": DISCOUNT})
    repository.commit({"cart.py": INDENTED})
    repository.commit({"cart.py": FIXED})
    assert truth() == {discount: 1}


def test_commits_after_the_report_are_no_truth(repository, truth):
    repository.commit({"cart.py": SHOP})
    repository.commit({"cart.py": DISCOUNT})
    repository.commit({"cart.py": FIXED.replace("  ", "    ")})
    assert truth(hours=1) == {}


def test_comments_blank_lines_and_tests_are_no_truth(repository, truth):
    repository.commit({"cart.py": SHOP, "tests/test_cart.py": "assert cart\n"})
    changed = SHOP.replace("# the price of all items", "# the price").replace("\n\n", "\n")
    repository.commit({"cart.py": changed, "tests/test_cart.py": "assert not cart\n"})
    assert truth() == {}


def test_lines_that_the_fix_moves_are_no_truth(repository, truth):
    repository.commit({"cart.py": SHOP})
    head, total, clear = SHOP.split("    def ")
    moved = f"{head}    def {clear}\n    def {total}"
    repository.commit({"cart.py": moved})
    assert truth() == {}


def test_fix_that_only_adds_lines_has_no_truth(repository, truth):
    repository.commit({"cart.py": SHOP})
    repository.commit({"cart.py": SHOP + "        self.discount = 0\n"})
    assert truth() == {}


def test_merged_fix_is_compared_with_the_version(repository):
    first = repository.commit({"cart.py": SHOP})
    fix = repository.commit({"cart.py": DISCOUNT})
    other = repository.commit({"door.py": "key = 1\n"}, parents=[first])
    merge = repository.commit({"cart.py": DISCOUNT}, parents=[other, fix])
    with Repository(repository.path) as opened:
        truth = find_inducing_commits(opened, make_case(repository, merge, version=other))
    assert truth == {first: 1}


@pytest.fixture
def changes(repository):
    """Return the indexed changes of three commits."""
    repository.commit({"cart.py": SHOP}, "Begin")
    repository.commit({"cart.py": DISCOUNT}, "Carts have a rebate")
    repository.commit({"door.py": "def turn(key):\n    pass\n"}, "Doors turn")
    with Repository(repository.path) as opened:
        return index_changes(opened, repository.commits)


def test_bm25_reads_messages_and_changed_lines(repository, changes):
    known = np.ones(3, dtype=np.bool_)
    assert rank_by_bm25(changes, known, {"rebat": 1.0}, [repository.commits[1]]) == 1
    assert rank_by_bm25(changes, known, {"discount": 1.0}, [repository.commits[1]]) == 1


def test_bm25_puts_newer_commits_first_if_equal(repository, changes):
    known = np.ones(3, dtype=np.bool_)
    assert rank_by_bm25(changes, known, {"absent": 1.0}, [repository.commits[0]]) == 3


def test_bm25_ranks_only_known_commits(repository, changes):
    known = np.array([True, False, True])
    assert rank_by_bm25(changes, known, {"discount": 1.0}, [repository.commits[1]]) is None
    assert rank_by_bm25(changes, known, {"absent": 1.0}, [repository.commits[0]]) == 2


def make_report(guilty, column):
    """Return a report with four candidates, of which one has a feature that the others lack."""
    rows = np.zeros((4, len(FEATURES)), dtype=np.float32)
    rows[guilty, FEATURES.index(column)] = 1.0
    ranks = {NEWEST: 2, BM25: None}
    return JudgedReport("1", rows, np.arange(4) == guilty, 1, ranks)


def make_project(name, column="touched", reports=6):
    return ProjectReports(name, [make_report(number % 4, column) for number in range(reports)], 0)


def test_weights_are_learned_from_guilty_candidates():
    weights = learn_weights([make_project("a")])
    assert weights[FEATURES.index("touched")] > 0.5


@pytest.mark.parametrize("name", FIXED_FEATURES)
def test_weights_of_fixed_features_are_kept(name):
    weights = learn_weights([make_project("a", column=name), make_project("b")])
    assert weights[FEATURES.index(name)] == WEIGHTS[name]


def test_newest_of_equal_candidates_ranks_first():
    report = make_report(1, "touched")
    assert report.rank(np.zeros(len(FEATURES))) == 3


def test_report_without_a_true_candidate_ranks_nowhere():
    report = JudgedReport("1", np.zeros((2, len(FEATURES)), np.float32), np.zeros(2, bool), 1, {})
    assert report.rank(np.ones(len(FEATURES))) is None


def test_summary_counts_reports_that_rank_nowhere():
    quality = summarize("x", [1, 4, None, 7])
    assert quality.accuracy == {1: 0.25, 5: 0.5, 10: 0.75}
    assert quality.mrr == pytest.approx((1 + 1 / 4 + 1 / 7) / 4)


def test_projects_are_judged_by_weights_of_the_others():
    # The second project teaches nothing about the feature that decides in the first.
    [rows] = judge_left_out([make_project("a"), make_project("b", "order")]).values()
    assert [row.technique for row in rows] == [OURS, SHIPPED, NEWEST, BM25]
    ours, _, newest, bm25 = rows
    assert ours.accuracy[1] < 0.5
    assert newest.mrr == 0.5
    assert bm25.mrr == 0.0


def test_kinds_of_truth_teach_each_other_and_are_judged_apart():
    declared = make_project("c")._replace(truth="declared")
    other_declared = make_project("d", "order")._replace(truth="declared")
    results = judge_left_out(
        [make_project("a"), make_project("b", "order"), declared, other_declared]
    )
    assert list(results) == ["blame", "declared"]
    for rows in results.values():
        both, same, *_ = rows
        assert same.technique == SAME_TRUTH
        # Only a project with the other kind of truth teaches the feature that decides.
        assert both.accuracy[1] > same.accuracy[1]


def test_weight_of_a_project_counts_in_learning():
    light = make_project("a")._replace(weight=0.1)
    column = FEATURES.index("touched")
    others = make_project("b", "order")
    assert (
        learn_weights([light, others])[column] < learn_weights([make_project("a"), others])[column]
    )


def test_one_project_alone_cannot_be_left_out():
    with pytest.raises(ToslocError, match="name at least two"):
        judge_left_out([make_project("a")])


@pytest.fixture
def projects_file(make_repository, tmp_path):
    """Return a file of two projects, each with one report of a fixed bug."""
    text = ""
    for name in ("one", "two"):
        repository = make_repository(name)
        repository.commit({"cart.py": SHOP, "door.py": "key = 1\n"}, "Begin")
        repository.commit({"cart.py": DISCOUNT}, "Carts have a rebate")
        fix = repository.commit({"cart.py": FIXED}, "Fix the total")
        opened = datetime.fromtimestamp(FIRST_TIME + 1.5 * HOUR, UTC).isoformat()
        report = {
            "id": "1",
            "summary": "The total is negative",
            "description": "Cart.total with a discount",
            "opened": opened,
            "fix_commit": fix,
            "fixed": ["cart.py"],
        }
        reports = tmp_path / f"{name}.jsonl"
        reports.write_text(json.dumps(report) + "\n")
        text += f'[{name}]\nrepo = "{repository.path}"\nreports = "{reports}"\n'
    path = tmp_path / "projects.toml"
    path.write_text(text)
    return path


def run_command(capsys, *arguments):
    """Return the JSON that ``tosloc lab suspects`` prints."""
    assert main(["lab", "suspects", *map(str, arguments), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_command_judges_projects_left_out(projects_file, tmp_path, capsys):
    work = tmp_path / "work"
    values = run_command(capsys, "--projects", projects_file, "--work", work)
    [rows] = values["results"].values()
    assert [row["reports"] for row in rows] == [2, 2, 2, 2]
    assert rows[0]["technique"] == OURS
    assert rows[0]["acc@1"] == 1.0
    assert values["weights"].keys() == set(FEATURES)


def test_declared_commits_are_the_truth(projects_file, tmp_path, capsys):
    for name in ("one", "two"):
        reports = tmp_path / f"{name}.jsonl"
        report = json.loads(reports.read_text())
        with Repository(tmp_path / name) as repository:
            report["introduced_by"] = [repository.resolve("main~2")[:10]]
        reports.write_text(json.dumps(report) + "\n")
    work = tmp_path / "work"
    values = run_command(capsys, "--projects", projects_file, "--work", work)
    [rows] = values["results"].values()
    assert [row["technique"] for row in rows] == [OURS, SHIPPED, NEWEST]
    assert [row["acc@1"] for row in rows] == [1.0, 0.0, 0.0]


def test_command_keeps_truth_for_the_next_time(projects_file, tmp_path, capsys):
    work = tmp_path / "work"
    values = run_command(capsys, "--projects", projects_file, "--work", work)
    record = json.loads((work / "one.json").read_text())
    assert len(record["reports"]["1"]["truth"]) == 1
    assert run_command(capsys, "--projects", projects_file, "--work", work) == values


def test_command_judges_unseen_projects(projects_file, tmp_path, capsys):
    work = tmp_path / "work"
    arguments = ("--projects", projects_file, "--unseen", projects_file, "--work", work)
    values = run_command(capsys, *arguments)
    assert len(values["results"]) == 2
