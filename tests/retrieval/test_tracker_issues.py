"""Issues of a tracker that are like a report: which are shown, and which are held back."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from tosloc.core.errors import CheckpointError
from tosloc.core.reports import BugReport
from tosloc.retrieval.history import TrackerIssues, tracker_issues

START = datetime(2020, 1, 1, tzinfo=UTC)
TEXTS = {
    "1": (
        "Cart.total raises ZeroDivisionError for an empty basket",
        "Checkout stops in compute_discount, because the basket has no lines.",
    ),
    "2": ("The invoice cuts the right margin on letter paper", "Printing to PDF cuts a column."),
    "3": ("Login fails after the session expires", "The cookie is kept, and the page is blank."),
    "4": ("Export to CSV quotes every number", "Spreadsheets read the quoted numbers as text."),
    "5": ("The search box ignores umlauts", "Searching for Muller does not find the name."),
}
SAME = (
    "ZeroDivisionError in Cart.total with an empty basket",
    "The checkout stops in compute_discount if the basket has no lines.",
)


def make_report(number, text, days):
    """Return a report that was opened some days after the start."""
    summary, description = text
    return BugReport(number, summary, description, START + timedelta(days=days))


def collect(texts, **options):
    """Return issues that were opened a day after the other, of which the first is open."""
    reports = [make_report(number, text, day) for day, (number, text) in enumerate(texts.items())]
    urls = [f"https://bugs.example.org/{number}" for number in texts]
    are_open = [day == 0 for day in range(len(reports))]
    return TrackerIssues.collect(reports, urls, are_open, **options)


@pytest.fixture
def issues():
    return collect(TEXTS)


def similar_ids(issues, report):
    return [issue.id for issue in issues.find_similar(report)]


def test_an_issue_about_the_same_problem_is_found(issues):
    [similar] = issues.find_similar(make_report("9", SAME, 30))
    assert similar.id == "1"
    assert similar.is_open
    assert similar.url == "https://bugs.example.org/1"
    assert similar.confidence > 0.65
    assert similar.heading == (
        "#1 (2020-01-01, open) Cart.total raises ZeroDivisionError for an empty basket"
    )
    assert similar.as_dict()["opened"] == "2020-01-01T00:00:00Z"


def test_nothing_is_shown_for_another_problem(issues):
    other = ("The basket forgets its colour", "The theme is light again after a restart.")
    assert similar_ids(issues, make_report("9", other, 30)) == []


def test_only_earlier_issues_are_known(issues):
    assert similar_ids(issues, make_report("9", SAME, -1)) == []
    assert similar_ids(issues, replace(make_report("9", SAME, -1), opened=None)) == ["1"]


def test_an_issue_is_not_like_itself(issues):
    assert similar_ids(issues, make_report("1", TEXTS["1"], 30)) == []


def test_titles_with_other_numbers_are_about_other_problems():
    texts = TEXTS | {
        "6": (
            "Upgrade the parser library to 3.13.0",
            "The older release mishandles nested comments and raw strings.",
        )
    }
    upgrade = (
        "Upgrade the parser library to 3.14.0",
        "The older release mishandles nested comments and raw strings.",
    )
    same = (
        "Upgrade the parser library to 3.13.0",
        "The older release mishandles nested comments and raw strings.",
    )
    issues = collect(texts)
    assert similar_ids(issues, make_report("9", upgrade, 30)) == []
    assert similar_ids(issues, make_report("9", same, 30)) == ["6"]


def test_issues_of_a_series_are_about_different_things():
    """Issue 1 is opened last, half a day before the report."""
    issues = collect(dict(reversed(TEXTS.items())))
    series = ("Cart.total raises ZeroDivisionError for an empty voucher", TEXTS["1"][1])
    assert similar_ids(issues, make_report("9", series, 4.5)) == []
    assert similar_ids(issues, make_report("9", TEXTS["1"], 4.5)) == ["1"]


def test_a_title_of_a_form_says_nothing():
    title = "tour: [replace with a short description]"
    texts = {}
    for number in range(3):
        texts[f"form {number}"] = (title, f"lesson{number} shows page{number} twice")
    issues = collect(TEXTS | texts)
    report = make_report("9", (title, "the sandbox rejects my program"), 30)
    assert similar_ids(issues, report) == []


def test_few_issues_are_shown():
    texts = {}
    for number in range(6):
        texts[f"copy {number}"] = (f"{'really ' * number}{SAME[0]}", SAME[1])
    assert len(similar_ids(collect(TEXTS | texts), make_report("9", SAME, 30))) <= 3


def test_no_issues_give_no_similar_one():
    assert similar_ids(collect({}), make_report("9", SAME, 30)) == []


def test_saved_issues_are_the_same(issues, tmp_path):
    issues.save(tmp_path / "issues.npz")
    loaded = TrackerIssues.load(tmp_path / "issues.npz")
    report = make_report("9", SAME, 30)
    assert loaded.find_similar(report) == issues.find_similar(report)
    np.testing.assert_array_equal(loaded.opened, issues.opened)


def test_damaged_issues_are_one_sentence(tmp_path):
    (tmp_path / "issues.npz").write_bytes(b"PK")
    with pytest.raises(CheckpointError, match="is damaged"):
        TrackerIssues.load(tmp_path / "issues.npz")


def test_reports_without_an_opening_time_are_left_out():
    undated = replace(make_report("7", SAME, 0), opened=None)
    assert len(TrackerIssues.collect([undated], [""], [False])) == 0


def test_questions_about_the_same_known_issues_read_all_postings_once(issues, monkeypatch):
    calls = []

    def norms(tracker, known):
        calls.append(known)
        return original(tracker, known)

    original = tracker_issues._norms
    monkeypatch.setattr(tracker_issues, "_norms", norms)
    for text in [SAME, *TEXTS.values()]:
        issues.find_similar(make_report("9", text, 30))
    assert calls == [len(TEXTS)]


def test_an_answer_does_not_depend_on_earlier_questions(issues):
    reports = [make_report("9", SAME, days) for days in (30, 0.5, 1.5, 30)]
    answers = [issues.find_similar(report) for report in reports]
    assert answers == [collect(TEXTS).find_similar(report) for report in reports]
    assert answers[0] == answers[3]
