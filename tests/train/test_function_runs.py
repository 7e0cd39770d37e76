"""The function level: which changed functions count, and whole runs of it, through the real commands."""

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


@pytest.mark.parametrize(
    ("listed", "fixed"),
    [
        (
            [("Line.draw",), ("Shape",), ("Shape.draw.draw",)],
            ["Line.draw", "Shape", "Shape.draw.draw"],
        ),
        # what stands outside functions, and what the fix made
        ([("imports",), ("Shape.new",), ("Line.draw",), ("impl:9",)], ["Line.draw"]),
        # numbers of overloads and of parts of a class are left out
        ([("Shape.size_1",), ("Shape:5",), ("Shape.size",)], ["Shape", "Shape.size"]),
        ([("area_2_1",)], ["area_2"]),
        # methods are found by name, then by the rest of it, then by the nearest line
        ([("draw", 13)], ["Shape.draw"]),
        ([("Line::draw", 1)], ["Line.draw"]),
        ([("Shape.prototype.draw", 30)], ["Shape.draw"]),
        ([("(anonymous)", 3)], []),
    ],
)
def test_changed_functions_that_the_version_has(listed, fixed):
    names, found = changed_functions([ChangedFunction("a.py", *one) for one in listed], FACTS)
    assert [name.partition("::")[2] for name in found] == fixed
    if "imports" in listed[0]:
        assert {name.partition("::")[2] for name in names} == {name for (name,) in listed}


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


@pytest.fixture
def project(repository, tmp_path, monkeypatch):
    """Repository and reports: two whose functions are known, one whose fix made a new one."""
    monkeypatch.setenv("TOSLOC_CACHE", str(tmp_path / "cache"))
    first = repository.commit(
        {"pkg/drawing.py": DRAWING, "pkg/store.py": STORE, "tests/test_drawing.py": DRAWING}
    )
    fix = repository.commit(
        {"pkg/store.py": STORE.replace("read()", "read(9)")}, "limit what load_file reads"
    )

    def record(number, summary, path, **more):
        always = {"description": "It fails.", "opened": "2001-09-09T06:00:00Z"}
        return (
            json.dumps({"id": number, "summary": summary, "fixed": [path], **always, **more}) + "\n"
        )

    drawn = {
        "pkg/drawing.py": ["Canvas.draw_circle"],
        "tests/test_drawing.py": ["Canvas.draw_line"],
    }
    loaded = [{"path": "pkg/store.py", "name": "load_file", "start": 1, "end": 2}]
    reports = [
        record(
            "1", "draw_circle() paints a line", "pkg/drawing.py", version=first, functions=drawn
        ),
        record(
            "2",
            "load_file reads too much of a path",
            "pkg/store.py",
            fix_commit=fix,
            methods=loaded,
        ),
        record(
            "3",
            "squares are missing",
            "pkg/drawing.py",
            version=fix,
            functions={"pkg/drawing.py": ["imports"]},
        ),
    ]
    (tmp_path / "reports.jsonl").write_text("".join(reports))
    (tmp_path / "unlabelled.jsonl").write_text(
        record("1", "draw_circle() fails", "pkg/drawing.py", version=first)
    )
    (tmp_path / "settings.toml").write_text("[run]\njobs = 1\n")
    monkeypatch.chdir(tmp_path)
    return f"rank --repo {repository.path} --config settings.toml --split all --out run --reports"


def run(words, code=0):
    assert main(words.split()) == code


def test_functions_are_ranked_and_judged_beside_bm25(project, capsys):
    run(f"{project} reports.jsonl --functions")
    both = read_function_runs("run", "all")
    assert [both[0].run.ranking(report).paths[0] for report in "12"] == [
        CIRCLE,
        "pkg/store.py::load_file",
    ]
    names = {f"pkg/drawing.py::Canvas{name}" for name in ("", ".draw_circle", ".draw_line")}
    for one in both:
        judgement = one.qrels["1"]
        assert judgement.fixed == judgement.listed == (CIRCLE,)
        assert judgement.searched == 5  # tests are not searched
        assert {*one.run.ranking("1").paths} <= names | {
            "pkg/store.py::load_file",
            "pkg/store.py::save_file",
        }
        assert one.run.header["reports without a changed function"] == 1
    capsys.readouterr()
    run("evaluate run --split all --level function --json")
    printed = capsys.readouterr()
    mine, theirs = json.loads(printed.out)
    assert (mine["run"], theirs["run"]) == ("run", "run: BM25 over functions")
    assert (mine["reports"], mine["relevant"]) == (2, 2)
    assert mine["measures"]["Acc@1"]["mean"] == 1.0
    assert mine["strata"][2]["stratum"] == "1 fixed function"
    assert "1 report not judged: their version has none of the functions" in printed.err


def test_what_is_missing_is_one_sentence(project, capsys):
    for words, sentence in (
        (
            f"{project} unlabelled.jsonl --functions",
            "no report says which functions its fix changed",
        ),
        (f"{project} reports.jsonl", None),
        (
            "evaluate run --level function --split all",
            "run/all: no run of functions; make it with: tosloc rank",
        ),
        (f"{project} reports.jsonl --functions", None),
        (
            "evaluate run --split all --level function --html x",
            "--html is not for --level function",
        ),
        (
            "evaluate run --split all --level function --qrels x",
            "--qrels and --no-tests are not for --level function",
        ),
    ):
        run(words, 2 if sentence else 0)
        said = capsys.readouterr().err
        assert sentence is None or (sentence in said and said.count("\n") == 1)
        assert Path("run").exists() == ("unlabelled" not in words)
