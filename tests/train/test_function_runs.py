"""The function level: which changed functions count, and its runs by the real commands."""

import json
from pathlib import Path

import pytest

from tosloc.cli import main
from tosloc.code.functions import find_functions
from tosloc.evaluate.run_paths import read_function_runs
from tosloc.reports.formats import ChangedFunction
from tosloc.train.function_runs import changed_functions

SHAPES = """\
import math

class Shape:
    sides = 3

    @property
    def size(self):
        return 1

    @size.setter
    def size(self, value):
        self.value = value

    def draw(self):
        def draw(): pass

class Line(Shape):
    def draw(self): pass

def area_2(): pass
"""
FACTS = {"a.py": find_functions(SHAPES, ".py")}


def match_functions(listed):
    """Return (all, matched) names of listed functions, without the path that precedes them."""
    functions = [ChangedFunction("a.py", *fields) for fields in listed]
    all_names, matched_names = changed_functions(functions, FACTS)
    return (
        [name.partition("::")[2] for name in all_names],
        [name.partition("::")[2] for name in matched_names],
    )


@pytest.mark.parametrize(
    ("listed", "matched"),
    [
        (
            [("Line.draw",), ("Shape",), ("Shape.draw.draw",)],
            ["Line.draw", "Shape", "Shape.draw.draw"],
        ),
        ([("imports",), ("Shape.new",), ("Line.draw",), ("impl:9",)], ["Line.draw"]),
        ([("Shape.size_1",), ("Shape:5",), ("Shape.size",)], ["Shape", "Shape.size"]),
        ([("area_2_1",)], ["area_2"]),
        ([("draw", 13)], ["Shape.draw"]),
        ([("Line::draw", 1)], ["Line.draw"]),
        ([("Shape.prototype.draw", 30)], ["Shape.draw"]),
        ([("(anonymous)", 3)], []),
    ],
    ids=[
        "exact names",
        "names that the version lacks",
        "numbers of overloads and of parts of a class",
        "number after a number",
        "method alone",
        "method of a class, far away",
        "method of a prototype",
        "no name",
    ],
)
def test_changed_functions_are_found_in_the_version(listed, matched):
    assert match_functions(listed)[1] == matched


def test_names_that_the_version_lacks_are_listed_as_they_are():
    all_names, _ = match_functions([("imports",), ("Shape.new",), ("Line.draw",), ("impl:9",)])
    assert set(all_names) == {"imports", "Shape.new", "Line.draw", "impl:9"}


# Runs of functions

DRAWING = """\
class Canvas:
    def draw_circle(self, radius):
        return self.paint("circle", radius)

    def draw_line(self, length):
        return self.paint("line", length)
"""
STORE = """\
def load_file(path):
    return open(path).read()

def save_file(path): pass

def load_file(): pass
"""
CIRCLE = "pkg/drawing.py::Canvas.draw_circle"
LOAD_FILE = "pkg/store.py::load_file"
SEARCHED_FUNCTIONS = {
    "pkg/drawing.py::Canvas",
    CIRCLE,
    "pkg/drawing.py::Canvas.draw_line",
    LOAD_FILE,
    "pkg/store.py::save_file",
}


def make_line(identity, summary, path, **fields):
    """Return a line of a file of labelled reports."""
    record = {
        "id": identity,
        "summary": summary,
        "fixed": [path],
        "description": "It fails.",
        "opened": "2001-09-09T06:00:00Z",
    }
    return json.dumps(record | fields) + "\n"


@pytest.fixture
def rank_command(repository, tmp_path, monkeypatch):
    """Return the beginning of the command that ranks for a file of reports, which is to follow.

    reports.jsonl has two reports whose changed functions are known, and one whose fix made a new
    function; unlabelled.jsonl has one report without functions.
    """
    monkeypatch.setenv("TOSLOC_CACHE", str(tmp_path / "cache"))
    files = {"pkg/drawing.py": DRAWING, "pkg/store.py": STORE, "tests/test_drawing.py": DRAWING}
    first = repository.commit(files)
    changed_store = STORE.replace("read()", "read(9)")
    fix = repository.commit({"pkg/store.py": changed_store}, "limit what load_file reads")
    drawing_functions = {
        "pkg/drawing.py": ["Canvas.draw_circle"],
        "tests/test_drawing.py": ["Canvas.draw_line"],
    }
    store_methods = [{"path": "pkg/store.py", "name": "load_file", "start": 1, "end": 2}]
    lines = [
        make_line(
            "1",
            "draw_circle() paints a line",
            "pkg/drawing.py",
            version=first,
            functions=drawing_functions,
        ),
        make_line(
            "2",
            "load_file reads too much of a path",
            "pkg/store.py",
            fix_commit=fix,
            methods=store_methods,
        ),
        make_line(
            "3",
            "squares are missing",
            "pkg/drawing.py",
            version=fix,
            functions={"pkg/drawing.py": ["imports"]},
        ),
    ]
    unlabelled = make_line("1", "draw_circle() fails", "pkg/drawing.py", version=first)
    (tmp_path / "reports.jsonl").write_text("".join(lines))
    (tmp_path / "unlabelled.jsonl").write_text(unlabelled)
    (tmp_path / "settings.toml").write_text("[run]\njobs = 1\n")
    monkeypatch.chdir(tmp_path)
    return f"rank --repo {repository.path} --config settings.toml --split all --out run --reports"


def run(command):
    """Run a command, and return its exit code."""
    return main(command.split())


@pytest.fixture
def function_runs(rank_command):
    """Rank functions; return the run of TosLoc and that of BM25, each with its judgements."""
    assert run(f"{rank_command} reports.jsonl --functions") == 0
    return read_function_runs("run", "all")


def test_the_changed_functions_are_ranked_first(function_runs):
    ranked = function_runs[0].run
    assert ranked.ranking("1").paths[0] == CIRCLE
    assert ranked.ranking("2").paths[0] == LOAD_FILE


def test_functions_of_tests_are_neither_judged_nor_searched(function_runs):
    for scored in function_runs:
        judgement = scored.qrels["1"]
        assert judgement.fixed == (CIRCLE,)
        assert judgement.listed == (CIRCLE,)
        assert judgement.searched == 5
        assert set(scored.run.ranking("1").paths) <= SEARCHED_FUNCTIONS


def test_reports_without_a_changed_function_are_counted(function_runs):
    for scored in function_runs:
        assert scored.run.header["reports without a changed function"] == 1


@pytest.fixture
def evaluation(function_runs, capsys):
    """Evaluate the functions; return the values of both runs, and the notes."""
    capsys.readouterr()
    assert run("evaluate run --split all --level function --json") == 0
    printed = capsys.readouterr()
    return json.loads(printed.out), printed.err


def test_functions_are_evaluated_beside_bm25(evaluation):
    values, _ = evaluation
    assert [of_run["run"] for of_run in values] == ["run", "run: BM25 over functions"]


def test_measures_of_functions_count_reports_with_changed_ones(evaluation):
    (values, _), _ = evaluation
    assert values["reports"] == 2
    assert values["relevant"] == 2
    assert values["measures"]["Acc@1"]["mean"] == 1.0
    assert values["strata"][2]["stratum"] == "1 fixed function"


def test_a_note_counts_reports_without_a_changed_function(evaluation):
    _, notes = evaluation
    assert "left out 1 report: their version contains none of the functions" in notes


def check_refused(command, sentence, capsys):
    """Check that a command is refused with one line that contains a sentence."""
    capsys.readouterr()
    assert run(command) == 2
    error = capsys.readouterr().err
    assert sentence in error
    assert error.count("\n") == 1


def test_reports_without_functions_are_refused(rank_command, capsys):
    sentence = "no report says which functions its fix changed"
    check_refused(f"{rank_command} unlabelled.jsonl --functions", sentence, capsys)
    assert not Path("run").exists()


def test_a_missing_run_of_functions_is_refused(rank_command, capsys):
    assert run(f"{rank_command} reports.jsonl") == 0
    sentence = "run/all: there is no run of functions; create it with: tosloc rank"
    check_refused("evaluate run --level function --split all", sentence, capsys)


@pytest.mark.usefixtures("function_runs")
@pytest.mark.parametrize(
    ("option", "sentence"),
    [
        ("--html", "--html shows only files; leave it out, or leave out --level function"),
        ("--qrels", "apply only to files; leave out --level function"),
    ],
)
def test_options_for_files_are_refused_for_functions(option, sentence, capsys):
    command = f"evaluate run --split all --level function {option} x"
    check_refused(command, sentence, capsys)
