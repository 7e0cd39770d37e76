"""The function level: which changed functions count, and whole runs of it, through the real commands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tosloc.cli import main
from tosloc.code.functions import functions_of
from tosloc.evaluate.run_paths import read_function_runs
from tosloc.function_runs import changed_functions
from tosloc.reports.formats import ChangedFunction

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
FACTS = {"a.py": functions_of(SHAPES, ".py")}


@pytest.mark.parametrize(
    ("listed", "fixed"),
    [
        ([("Line.draw",), ("Shape",), ("Shape.draw.draw",)], ["Line.draw", "Shape", "Shape.draw.draw"]),
        ([("area_2",)], ["area_2"]),
        # what stands outside functions, and what the fix made
        ([("imports",), ("Shape.new",), ("Line.draw",), ("impl:9",)], ["Line.draw"]),
        # numbers of overloads and of parts of a class are left out
        ([("Shape.size_1",), ("Shape:5",), ("Shape.size",)], ["Shape", "Shape.size"]),
        ([("area_2_1",)], ["area_2"]),
        ([("area_1",)], []),
        # methods are found by name, then by the rest of it, then by the nearest line
        ([("draw", 13)], ["Shape.draw"]),
        ([("draw", 19)], ["Line.draw"]),
        ([("Line::draw", 1)], ["Line.draw"]),
        ([("Shape.prototype.draw", 30)], ["Shape.draw"]),
        ([("Shape", 3)], []),  # classes are no methods
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


def save_file(path, content):
    open(path, "w").write(content)
"""


@pytest.fixture
def project(repository, tmp_path, monkeypatch):
    """Repository and reports: two whose functions are known, one whose fix made a new one."""
    monkeypatch.setenv("TOSLOC_CACHE", str(tmp_path / "cache"))
    first = repository.commit({"pkg/drawing.py": DRAWING, "pkg/store.py": STORE, "tests/test_drawing.py": DRAWING})
    fix = repository.commit({"pkg/store.py": STORE.replace("read()", "read(9)")}, "limit what load_file reads")

    def record(number, summary, path, **more):
        always = {"description": "It fails.", "opened": "2001-09-09T06:00:00Z"}
        return json.dumps({"id": number, "summary": summary, "fixed": [path], **always, **more}) + "\n"

    drawn = {"pkg/drawing.py": ["Canvas.draw_circle"], "tests/test_drawing.py": ["Canvas.draw_line"]}
    loaded = [{"path": "pkg/store.py", "name": "load_file", "start": 1, "end": 2}]
    reports = [
        record("1", "draw_circle() paints a line", "pkg/drawing.py", version=first, functions=drawn),
        record("2", "load_file reads too much of a path", "pkg/store.py", fix_commit=fix, methods=loaded),
        record("3", "squares are missing", "pkg/drawing.py", version=fix, functions={"pkg/drawing.py": ["imports"]}),
    ]
    (tmp_path / "reports.jsonl").write_text("".join(reports))
    (tmp_path / "unlabelled.jsonl").write_text(record("1", "draw_circle() fails", "pkg/drawing.py", version=first))
    (tmp_path / "settings.toml").write_text('[data]\nsuffixes = [".py"]\n[run]\njobs = 1\n')
    monkeypatch.chdir(tmp_path)
    return f"rank --repo {repository.path} --config settings.toml --split all --out run --reports"


def run(words, code=0):
    assert main(words.split()) == code


def test_functions_are_ranked_and_judged_beside_bm25(project, capsys):
    run(f"{project} reports.jsonl --functions")
    ours, bm25 = read_function_runs("run", "all")
    assert ours.run.ranking("1").paths[0] == "pkg/drawing.py::Canvas.draw_circle"
    assert ours.run.ranking("2").paths[0] == "pkg/store.py::load_file"
    for one in (ours, bm25):
        judgement = one.qrels["1"]
        assert judgement.fixed == judgement.listed == ("pkg/drawing.py::Canvas.draw_circle",)
        assert judgement.searched == 5  # tests are not searched
        assert set(one.run.ranking("1").paths) <= {
            *(f"pkg/drawing.py::Canvas{name}" for name in ("", ".draw_circle", ".draw_line")),
            *(f"pkg/store.py::{name}" for name in ("load_file", "save_file")),
        }
        assert one.run.header["reports without a changed function"] == 1
    capsys.readouterr()

    run("evaluate run --split all --level function --json")
    printed = capsys.readouterr()
    mine, theirs = json.loads(printed.out)
    assert (mine["run"], theirs["run"]) == ("run", "run: BM25 over functions")
    assert (mine["reports"], mine["relevant"]) == (2, 2)
    assert mine["measures"]["Acc@1"]["mean"] == 1.0
    assert printed.err.count("1 report not judged: their version has none of the functions") == 1
    run("evaluate run/all --split all --level function --markdown")
    assert "| all reports | all [95 %] | all: BM25 over functions [95 %] |" in capsys.readouterr().out
    run("evaluate run --split all")  # the level of files is as it was


def test_what_is_missing_is_one_sentence(project, capsys):
    def fails(words):
        capsys.readouterr()
        run(words, code=2)
        printed = capsys.readouterr()
        assert printed.out == ""
        [line] = printed.err.splitlines()
        return line

    assert "no report says which functions its fix changed" in fails(f"{project} unlabelled.jsonl --functions")
    assert not Path("run").exists()
    run(f"{project} reports.jsonl")
    judge = "evaluate run --split all --level function"
    assert "run/all: no run of functions; make it with: tosloc rank --functions" in fails(judge)
    run(f"{project} reports.jsonl --functions")
    for option in ("--no-tests", "--qrels x"):
        assert "--qrels and --no-tests are not for --level function" in fails(f"{judge} {option}")
