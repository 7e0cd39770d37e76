"""Scripts that count and measure: ``scale.py``, ``reasons.py``, ``languages.py``."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType

import pytest

from scripts import languages, reasons, scale, synthetic
from tests.conftest import GitRepository
from tosloc.cli.guard import guarded
from tosloc.records import BugReport, Hit, Reason

SOURCE = "class Parser:\n    def parse(self, header):\n        return header\n\n\ndef other():\n    return 'colon'\n"
REPORT = BugReport("1", "Parser loses the header", "see parser.py", datetime(2030, 1, 1, tzinfo=UTC))


@pytest.fixture
def project(repository: GitRepository) -> GitRepository:
    repository.commit(
        {"src/parser.py": SOURCE, "src/a.py": "x = 1", "b.vue": "<script>function f() {}</script>"}, "Begin"
    )
    repository.commit({"src/parser.py": SOURCE + "\n", "d.lua": "x = 1", "e.md": "none"}, "Fix the header of a parser")
    return repository


@pytest.mark.slow
def test_what_a_repository_costs(project: GitRepository, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "work").mkdir()
    assert scale.main([str(project.path), "--work", str(tmp_path / "work"), "--json"]) == 0
    [found] = json.loads(capsys.readouterr().out)
    assert found["files"] == 4
    assert [row["part"] for row in found["parts"]] == list(scale.PARTS)
    for row in found["parts"]:
        assert 0.05 < row["processor_s"] < 60
        assert 10 * 2**20 < row["own_bytes"] < row["whole_bytes"] < 2**30
    assert found["kept_bytes"] > 1000
    assert found["store_bytes"] > 1000


BAD = [
    (scale, "{0} --work {0} --parts version,others", "'others'"),
    (scale, "{0} --work nowhere", "no such folder"),
    (languages, "{0}", "not a git repository"),
    (synthetic, "{0}/x.git --files 0", "--files"),
    (synthetic, "{0}/x.git --lines 1", "--lines"),
    (synthetic, "{0}/x.git --commits -1", "--commits"),
    (synthetic, "{0} --files 5", "exists"),
    (synthetic, "{0}/no/x.git --files 5", "no such folder"),
]


@pytest.mark.parametrize(("script", "arguments", "said"), BAD)
def test_bad_input_is_one_sentence(
    script: ModuleType, arguments: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert guarded(lambda: script.main(arguments.format(tmp_path).split())) == 2
    printed = capsys.readouterr()
    assert said in printed.err
    assert (len(printed.err.splitlines()), printed.out) == (1, "")
    assert not list(tmp_path.iterdir())


def told(project: GitRepository, reason: Reason) -> reasons.Told:
    return reasons.Told("toy", REPORT, project.made[-1], Hit(1, "src/parser.py", 1.0, 1.0), reason)


def test_what_is_untrue_is_seen(project: GitRepository) -> None:
    commit = project.made[-1]
    day = project.git("show", "-s", "--format=%cd", "--date=format:%Y-%m-%d", commit)
    fix = Reason("fix", f"earlier fix {commit[:10]}, {day}: Fix the header of a parser", commit)
    words = Reason("words", "words header, Parser in Parser.parse", lines=(2, 3))
    true = [fix, words, Reason("words", "words header, Parser")]
    true += [Reason("name", "the report names parser.py"), Reason("name", "the report says Parser, the file's name")]
    assert [reasons.problem(told(project, reason), project.path) for reason in true] == [""] * len(true)
    untrue = [
        replace(fix, text=fix.text.replace(day, "2001-01-01")),
        replace(fix, text=fix.text.replace("header", "footer")),
        replace(fix, text=fix.text.replace(commit[:10], "0" * 10)),
        replace(words, text="words header, loses in Parser.parse"),
        replace(words, text="words colon in Parser.parse"),
        replace(words, text="words header in other", lines=(40, 41)),
        Reason("name", "the report names other.py"),
        Reason("frame", "stack frame Parser.parse, line 7 in the report's version", lines=(7, 7)),
    ]
    assert all(reasons.problem(told(project, reason), project.path) for reason in untrue)
    nameless = Reason("frame", "stack frame, line 7 in the report's version", lines=(7, 7))
    shown = told(project, nameless)._replace(report=replace(REPORT, description="at x/parser.go:7"))
    assert reasons.problem(shown, project.path) == ""
    elsewhere = told(project, fix)._replace(hit=Hit(1, "src/a.py", 1.0, 1.0))
    assert reasons.problem(elsewhere, project.path) == "the commit did not touch the file"
    later = told(project, fix)._replace(version=project.made[0])
    assert reasons.problem(later, project.path) == "the commit is not before the version"


@pytest.mark.slow
def test_the_counts_of_a_project(project: GitRepository, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = {"id": "1", "summary": REPORT.summary, "description": REPORT.description, "opened": "2030-01-01T00:00:00Z"}
    (tmp_path / "r.jsonl").write_text(json.dumps({**record, "version": project.made[-1], "fixed": ["src/parser.py"]}))
    given = [f"{project.path}={tmp_path / 'r.jsonl'}", "--sample", "2"]
    assert reasons.main(given) == 0
    printed = capsys.readouterr().out
    counts = json.loads(printed[: printed.rindex("}") + 1])
    assert (counts["answers"], counts["hits"], counts["untrue"]) == (1, 4, {})
    assert counts["reasons"] == sum(counts["by kind"].values())


def test_what_repositories_hold(project: GitRepository, capsys: pytest.CaptureFixture[str]) -> None:
    assert languages.main([str(project.path)]) == 0
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in capsys.readouterr().out.splitlines()]
    found = {row[0]: row[3:] for row in rows if len(row) == 7}
    assert found["python"] == ["1", "2", "1.000", "1.5"]
    assert found["vue"] == ["1", "1", "1.000", "1.0"]
    assert found["lua"] == ["1", "1", "", "none"]
    assert "text" not in found
