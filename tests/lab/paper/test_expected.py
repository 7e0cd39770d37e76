"""Expected numbers: verdicts on made-up ones, what is written back, and files that are wrong."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from tosloc.cli.lab.paper_tables import cell_text
from tosloc.config import load_config
from tosloc.errors import ConfigError
from tosloc.lab.paper.expected import MEASURED, RerankerExperiments, Tolerance, read_expected
from tosloc.lab.paper.tables import Cell, Nearness, PaperTable, TableResult, compared

HEAD = """# A comment that stays.
title = "made up"
command = "tosloc lab reproduce table-0"
source = "nowhere"
projects = ["one", "two"]

[tolerance]
same = 0.01
near = 0.1

[paper.MAP]
"a system" = { one = 0.3 }
"""
OURS = """
[ours.MAP]
"a system" = { one = 0.5, two = 0.25 }
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "table-0.toml"
    path.write_text(HEAD + OURS)
    return path


@pytest.mark.parametrize(
    ("measured", "verdict"),
    [
        *((value, "same") for value in (0.5, 0.51, 0.49)),
        *((value, "near") for value in (0.5101, 0.6)),
        *((value, "differs") for value in (0.3999, 0.9)),
    ],
)
def test_a_number_is_the_same_near_or_differs(file, measured, verdict):
    [one] = read_expected(file).check({("MAP", "a system", "one"): measured})
    assert (one.verdict, one.expected, one.paper, one.measured) == (verdict, 0.5, 0.3, measured)


def test_a_number_that_was_never_measured_is_new(file):
    checks = read_expected(file).check({("MAP", "another", "one"): 0.5, ("MRR", "a system", "one"): 0.5})
    assert [(one.verdict, one.expected, one.paper) for one in checks] == [("new", None, None)] * 2


def test_tolerances_may_be_shares_of_the_expected_number():
    tolerance = Tolerance(0.1, 0.5, relative=True)
    assert [tolerance.verdict(200, value) for value in (220, 179.9, 300, 301)] == ["same", "near", "near", "differs"]
    assert [tolerance.verdict(0, value) for value in (0, 0.001)] == ["same", "differs"]
    assert Tolerance(0.1, 0.5).verdict(0.5, float("nan")) == "differs"


def test_a_row_has_the_worst_verdict_of_its_numbers(file):
    expected = read_expected(file)

    def row(name: str, *values: float | None) -> list[str | Cell]:
        keys = (("MAP", name, project) for project in ("one", "two"))
        return [name, *(Cell(value, "share", key) for value, key in zip(values, keys, strict=True)), Cell(1.0, "p")]

    table = PaperTable(
        ["MAP", "one", "two", "p"], [row("a system", 0.5, 0.3), row("unknown", 1, None), row("none", None, None)]
    )
    assert [line[-1] for line in compared(table, expected).rows] == ["near", "new", ""]
    assert compared(table, expected).heads == ["MAP", "one", "two", "p", "as stored"]
    bare = PaperTable(["MAP", "one"], [["a system", Cell(0.5)]])
    assert compared(bare, expected) == bare
    assert TableResult([table]).numbers == {
        ("MAP", "a system", "one"): 0.5,
        ("MAP", "a system", "two"): 0.3,
        ("MAP", "unknown", "one"): 1,
    }


def test_nearness_to_the_paper_has_a_column_of_its_own(file):
    expected = read_expected(file)
    shares = PaperTable(
        ["MAP", "one", "two"],
        [
            ["a system", Cell(0.5, "share", ("MAP", "a system", "one"), 0.3), Cell(0.25, paper=0.3)],
            ["half", Cell(None, "share", paper=0.3), Cell(0.25, paper=0.2)],
            ["none", Cell(0.5), Cell(None)],
        ],
    )
    found = compared(shares, expected)
    assert found.heads == ["MAP", "one", "two", "ours - published", "as stored"]
    assert [row[-1] for row in found.rows] == ["same", "", ""]  # whatever the paper says
    assert [cell_text(row[-2]) for row in found.rows] == ["+.20, -.05", "-, +.05", ""]
    counts = PaperTable(
        ["files", "one", "two", "p"],
        [["read", Cell(300, "count", paper=200), Cell(5, "count", paper=0), Cell(0.5, "p")]],
    )
    found = compared(counts, expected)
    assert found.heads == ["files", "one", "two", "p", "ours / published"]
    [near] = (cell for cell in found.rows[0] if isinstance(cell, Nearness))
    assert near.values == [1.5, None]
    assert cell_text(near) == "1.50, -"


def test_an_update_writes_what_was_measured_and_keeps_the_rest(file):
    read_expected(file).update({("MAP", "a system", "one"): 1 / 3, ("deep", "MRR", "x.y", "one"): 12345.0})
    text = file.read_text()
    assert text.startswith(HEAD)
    assert text.count(MEASURED) == 1
    assert read_expected(file).ours == {
        ("MAP", "a system", "one"): 0.333333,
        ("MAP", "a system", "two"): 0.25,
        ("deep", "MRR", "x.y", "one"): 12345.0,
    }
    assert tomllib.loads(text)["paper"] == {"MAP": {"a system": {"one": 0.3}}}
    read_expected(file).update({})
    assert file.read_text() == text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("title = 1", "title should be a text in quotes, not 1"),
        ("", "title lacks"),
        (HEAD.replace("source", "sources"), "unknown key 'sources', did you mean 'source'?"),
        (HEAD.replace("same = 0.01", "same = 1"), "near not below same"),
        (HEAD.replace("near = 0.1", "nearly = 0.1"), "unknown key 'nearly', did you mean 'near'?"),
        (HEAD.replace("0.3", '"much"'), "[paper]: MAP.a system.one should be a number, not 'much'"),
        (HEAD.replace('["one", "two"]', "[1]"), "projects should be a list of texts"),
        ("title = ", "not valid TOML"),
        ("second = 1\n" + HEAD, "second is a section, [second]"),
        (HEAD + "[second]\nreports = 4", "[second]: unknown key 'reports', did you mean 'train_reports'?"),
        (HEAD + "[second]\ntrain_reports = -1", "train_reports should be a whole number, 0 for all, not -1"),
        (HEAD + "[second]\ncandidates = []", "candidates should be a list of whole numbers, 1 or more, not []"),
        (HEAD + "[second]\ncandidates = [0]", "candidates should be a list of whole numbers, 1 or more, not [0]"),
    ],
)
def test_a_wrong_file_is_one_sentence(file, text, said):
    file.write_text(text)
    with pytest.raises(ConfigError) as error:
        read_expected(file)
    assert said in str(error.value)
    assert str(error.value).startswith(str(file))


def test_what_the_reranker_s_experiments_are_made_with(file):
    assert read_expected(file).reranker == RerankerExperiments(None, 0, (10, 20, 50))
    file.write_text(HEAD + '[second]\nconfig = "../two.toml"\ntrain_reports = 400\ncandidates = [50, 10, 50]\n')
    assert read_expected(file).reranker == RerankerExperiments(file.parent / "../two.toml", 400, (10, 50))
    read_expected(file).update({("MAP", "a system", "one"): 0.5})
    assert read_expected(file).reranker.train_reports == 400


def test_no_file_is_one_sentence(tmp_path):
    with pytest.raises(ConfigError, match=r"none\.toml: cannot read the expected numbers"):
        read_expected(tmp_path / "none.toml")


@pytest.mark.parametrize(
    "path", sorted(Path(__file__).parents[3].glob("configs/expected/*.toml")), ids=lambda p: p.stem
)
def test_the_project_s_own_files_are_right(path):
    from tosloc.lab.paper.reproduction import TABLES

    expected = read_expected(path)
    assert path.stem in TABLES
    assert expected.command.startswith(f"tosloc lab reproduce {path.stem} ")
    assert all(len(key) > 1 for key in (*expected.paper, *expected.ours))
    assert expected.reranker.config is None or not load_config(expected.reranker.config).stage_two.code_encoder
