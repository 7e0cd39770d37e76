"""Shares of the parts of reports, and the command that prints them."""

import json

import pytest

from tests import toy
from tosloc.cli import main
from tosloc.core.reports import BugReport
from tosloc.lab.report_parts import PARTS, count_words, measure_parts

DESCRIPTION = "It hangs\n### Environment\n- OS: Linux\n```\nrun(3)\n```\n"


@pytest.fixture
def reports(tmp_path):
    """Return a folder with one file of two labelled reports."""
    lines = []
    for number in (1, 2):
        record = {
            "id": str(number),
            "summary": "Door hangs",
            "description": DESCRIPTION,
            "opened": "2020-01-01T00:00:00Z",
            "fix_commit": "a" * 40,
            "fixed": ["a.py"],
        }
        lines.append(json.dumps(record))
    folder = tmp_path / "reports"
    folder.mkdir()
    (folder / "shop.jsonl").write_text("\n".join(lines) + "\n")
    return folder


def test_each_word_is_in_one_part():
    counts = count_words(BugReport("1", "Door hangs", DESCRIPTION, None))
    assert counts["title"] == 2
    assert counts["prose"] == 2
    assert counts["form"] == 1
    assert counts["environment"] == 2
    assert counts["code"] == 2
    assert sum(counts.values()) == 9


def test_frames_are_counted():
    report = BugReport("1", "x", "It hangs\nat a.B.c(B.java:3)", None)
    assert count_words(report)["frames"] == 7


def test_what_is_left_out_is_counted():
    assert count_words(BugReport("1", "x", "see https://x.org/y", None))["dropped"] == 4


def test_shares_add_up_to_one(reports):
    measured = measure_parts([reports / "shop.jsonl"])
    assert measured.reports == 2
    assert measured.words == 18
    assert sum(measured.shares.values()) == pytest.approx(1)


def test_lines_that_earlier_reports_share_are_form(tmp_path):
    """Of six reports with the line, the last was opened after it was shared."""
    records = []
    for number in range(6):
        opened = toy.START + number
        text = "Which depot do you run?"
        records.append(toy.labelled_record(f"{number}", "x", text, opened, "a" * 40, ["a.py"]))
    path = tmp_path / "depot.jsonl"
    path.write_text("\n".join(map(json.dumps, records)))
    measured = measure_parts([path])
    assert measured.shares["form"] * measured.words == pytest.approx(5)
    assert measured.shares["prose"] * measured.words == pytest.approx(25)


def test_command_prints_a_column_for_each_data_set(reports, capsys):
    assert main(["lab", "report-parts", str(reports), "--markdown"]) == 0
    printed = capsys.readouterr().out
    assert "| part " in printed
    for part in PARTS:
        assert part in printed


def test_folder_without_reports_is_refused(tmp_path, capsys):
    assert main(["lab", "report-parts", str(tmp_path)]) == 2
    assert "contains no file of JSON lines" in capsys.readouterr().err
