"""Which files a training searches: those that its settings name, else those of the languages that reports fixed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests import toy
from tests.conftest import GitRepository, git_environment
from tosloc.cli import main
from tosloc.config import Config
from tosloc.evaluate.file_lists import read_file_lists
from tosloc.localizer import Localizer
from tosloc.reports.labelled import settled

JAVASCRIPT = (".cjs", ".js", ".mjs")


def reports(path: Path, fixed: list[list[str]]) -> Path:
    """A file of reports that fixed these files."""
    records = [toy.record_of(str(number), "a", "b", toy.START, "f" * 40, files) for number, files in enumerate(fixed)]
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("fixed", "suffixes"),
    [
        ([["src/A.JAVA", "README.md"], ["pom.xml"]], (".java",)),
        ([["a.js"]] * 9 + [["b.lua"]], (".cjs", ".js", ".lua", ".mjs")),
        ([["a.js"]] * 10 + [["b.lua", "c.lua", "d.lua"]], JAVASCRIPT),
        ([["a.js", "b.py"]] + [["a.js", "b.md"]] * 10 + [["c.md"]] * 99, JAVASCRIPT),
    ],
)
def test_a_language_is_searched_where_a_tenth_of_the_reports_fixed_it(
    tmp_path: Path, fixed: list[list[str]], suffixes: tuple[str, ...]
) -> None:
    assert settled(Config(), reports(tmp_path / "reports.jsonl", fixed)).data.suffixes == suffixes


def test_what_settings_name_stands(tmp_path: Path) -> None:
    path = reports(tmp_path / "reports.jsonl", [["a.js"]])
    for suffixes in ([".java", ".js"], []):
        config = Config.of({"data": {"suffixes": suffixes}}, "my.toml")
        assert settled(config, path) == config


def test_reports_that_fixed_no_source(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = reports(tmp_path / "reports.jsonl", [["a.md"]])
    git = GitRepository(tmp_path, False, git_environment(tmp_path))
    git.git("init", "-q")
    given = ["--repo", str(tmp_path), "--reports", str(path)]
    assert main(["train", *given, "--out", str(tmp_path / "out")]) == 2
    assert "no listed file ends with a suffix that TosLoc knows; name its source suffixes" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def grown(folder: Path) -> toy.Toy:
    """A project in Python with a script, whose fixes touch what is Python."""
    (folder / "repo").mkdir()
    git = GitRepository(folder / "repo", True, git_environment(folder))
    git.git("init", "-q", "-b", "main", "--bare")
    project, pen = toy.Toy(folder, git), toy.Pen()
    pen.commit({f"app/{theme.lower()}.py": f"def open{theme}():\n    return 0\n" for theme in toy.THEMES[:6]}, "A", 9)
    pen.commit({"build.sh": "echo parser socket\n", "docs/parser.md": "parser\n"}, "B", when=toy.START)
    for number in range(20):
        theme, when = toy.THEMES[number % 6], toy.START + (number + 1) * 2 * toy.DAY
        path = f"app/{theme.lower()}.py"
        fix = pen.commit({path: f"def open{theme}():\n    return {number + 1}\n"}, f"Fix {number}", when)
        project.records.append(
            toy.record_of(f"{number}", f"open{theme} fails", theme, when - toy.DAY, fix, [path, "docs/parser.md"])
        )
    marks = pen.put(git)
    project.records = [record | {"fix_commit": marks[record["fix_commit"]]} for record in project.records]
    project.reports()
    return project


@pytest.mark.slow
def test_a_training_takes_the_languages_of_the_fixed_files_and_its_checkpoint_remembers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = grown(tmp_path)
    given = ["--repo", str(project.git.path), "--reports", str(project.reports()), "--store", str(project.store)]
    settings = tmp_path / "my.toml"
    settings.write_text(toy.SETTINGS, encoding="utf-8")
    assert main(["train", str(settings), *given, "--out", str(tmp_path / "run")]) == 0
    assert "the files searched are .py .pyi .pyw" in capsys.readouterr().err
    learned = Localizer.load(tmp_path / "run")
    assert learned.config.data.suffixes == (".py", ".pyi", ".pyw")
    searched = read_file_lists(tmp_path / "run/test/searched.jsonl.gz")
    assert {len(searched.files(version)) for version in searched.versions} == {6}
    report = tmp_path / "bug.md"
    report.write_text("openParser fails\n", encoding="utf-8")
    asked = ["localize", "--report", str(report), "--checkpoint", str(tmp_path / "run"), "--top", "50"]
    assert main([*asked, "--repo", str(project.git.path), "--json", "--store", str(project.store)]) == 0
    assert "build.sh" not in capsys.readouterr().out

    named = ["--suffix", "py", "--suffix", ".sh", "--out", str(tmp_path / "both")]
    assert main(["train", str(settings), *given, *named]) == 0
    opened = Localizer.open(project.git.path, tmp_path / "both", store=project.store)
    paths = [hit.path for hit in opened.localize("openParser fails", top=50, functions=0).hits]
    assert [path for path in paths if not path.endswith(".py")] == ["build.sh"]
