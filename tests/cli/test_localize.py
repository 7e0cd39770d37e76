"""``tosloc localize`` as people type it, in real repositories."""

from __future__ import annotations

import io
import json
import os
import pty
import re
import subprocess
import sys
import termios
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import GitRepository
from tosloc.answer import schema
from tosloc.cli import main

FILES: dict[str | bytes, Any] = {
    "src/parser.py": "class Parser:\n    def parse_header(self, line):\n        return line.split(':')\n",
    "src/cookies.py": "def read_cookie(header):\n    return header\n",
    "src/deep/folder/pool.py": "class Pool:\n    def close(self):\n        pass\n",
    "tests/test_parser.py": "def test_parse_header():\n    assert parse_header\n",
    "docs/conf.py": "project = 'toy'\n",
}
REPORT = "Parser drops the header\n\nparse_header loses everything after the second colon.\n"


@pytest.fixture(autouse=True)
def place(plain_folder: Path) -> Path:
    """Every command begins outside of a repository, beside a report."""
    (plain_folder / "bug.md").write_text(REPORT)
    return plain_folder


@pytest.fixture
def project(repository: GitRepository) -> GitRepository:
    repository.commit(FILES, "Begin")
    repository.commit({"src/parser.py": FILES["src/parser.py"] + "\n"}, "Fix #7: the header lost its colon")
    return repository


@pytest.fixture
def answered(capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    """Function (*arguments) -> the answer, as JSON."""

    def run(*arguments: str | Path) -> Any:
        assert main(["localize", *map(str, arguments), "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    return run


@pytest.fixture
def fails(fails: Callable[..., str]) -> Callable[..., str]:
    return partial(fails, "localize")


# Which repository


def test_the_repository_around_the_current_folder(make_repository, project, answered, place, monkeypatch):
    project.git("worktree", "add", "-q", str(place / "linked"), "HEAD~1")
    bare = make_repository("bare.git", bare=True)
    bare.commit(FILES)
    for folder, root, commit in (
        (project.path / "src/deep/folder", project.path, project.made[-1]),
        (project.path / ".git", project.path / ".git", project.made[-1]),
        (place / "linked/src", place / "linked", project.made[0]),
        (bare.path, bare.path, bare.made[-1]),
    ):
        monkeypatch.chdir(folder)
        answer = answered(place / "bug.md", "--top", "1")
        assert (answer["commit"], Path(answer["repository"])) == (commit, root)
        assert answer["hits"][0]["path"] == "src/parser.py"


def test_what_cannot_be_searched_is_one_sentence(fails, place, make_repository):
    assert fails("bug.md") == f"{place}: not in a git repository; go to one, or name it with --repo"
    repository = make_repository("empty")
    assert "no commit 'HEAD': its branch is empty" in fails("bug.md", "--repo", repository.path)
    repository.commit({"README": "text"})
    assert "holds no source file" in fails("bug.md", "--repo", repository.path)


# Which files


def test_tests_are_hidden_and_counted(project, answered):
    answer = answered("bug.md", "--repo", project.path)
    assert answer["searched"] == {"files": 4, "hidden_tests": 1, "uncommitted": 0}
    assert "tests/test_parser.py" not in [hit["path"] for hit in answer["hits"]]
    assert sum(hit["share"] for hit in answer["hits"]) == pytest.approx(1, abs=1e-4)
    shown = answered("bug.md", "--repo", project.path, "--tests")
    assert shown["searched"] == {"files": 5, "hidden_tests": 0, "uncommitted": 0}
    assert "tests/test_parser.py" in [hit["path"] for hit in shown["hits"]]


def test_globs(project, answered, fails):
    given = ["bug.md", "--repo", project.path]
    chosen = answered(*given, "--include", "/src/*.py", "--exclude", "cook*")
    assert [hit["path"] for hit in chosen["hits"]] == ["src/parser.py"]
    answer = answered(*given, "--include", "docs", "--include", "tests/", "--top", "1")
    assert [(hit["rank"], hit["path"]) for hit in answer["hits"]] == [(1, "docs/conf.py")]
    assert answered(*given, "--include", "tests")["notes"][-1] == "all searched files are test files, so none is hidden"
    said = fails(*given, "--exclude", "*.java")
    assert said.startswith("--exclude '*.java' matches none of the 5 source files")


def test_nothing_found_and_a_language_without_a_grammar_are_noted(repository, answered, place):
    (place / "odd.md").write_text("xyzzy plugh\n")
    repository.commit({"a.lua": "function parse_header() end", "b.lua": "x = 1"})
    answer, odd = (answered(name, "--repo", repository.path) for name in ("bug.md", "odd.md"))
    assert answer["hits"][0]["path"] == "a.lua"
    note = "there is no grammar for .lua files: they are searched by their words, and have no functions"
    assert note in answer["notes"]
    assert "no word of the report occurs in any file; the order says only which files change most" in odd["notes"]
    repository.commit({"c.py": "def parse_header(): pass"})
    assert note not in answered("bug.md", "--repo", repository.path)["notes"]


# Which reports


def test_reports_of_all_kinds_and_many_of_them(project, place, capsys, monkeypatch):
    issues = [{"number": n, "title": f"Pool {n}", "body": "close fails"} for n in (1, 2)]
    (place / "issues.json").write_text(json.dumps(issues))
    (place / "lines.jsonl").write_text('{"summary": "cookie"}\n\n{"id": "L2", "summary": "header"}\n')
    (place / "jira.json").write_text(json.dumps({"issues": [{"key": "A-1", "fields": {"summary": "S"}}]}))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"Pool does not close\n")))
    given = ["bug.md", "issues.json", "lines.jsonl", "jira.json", "-"]
    assert main(["localize", *given, "--repo", str(project.path), "--jsonl", "--top", "1"]) == 0
    answers = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [answer["report"]["id"] for answer in answers] == ["bug", "1", "2", "lines:1", "L2", "A-1", "report"]
    assert main(["localize", *given[:2], "--repo", str(project.path), "--top", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert {"bug: Parser drops the header", "1: Pool 1", "2: Pool 2"} <= {*lines}


def test_a_file_comes_first_then_a_text(project, answered, place):
    given = ["--repo", project.path, "--top", "1"]
    text = answered(REPORT, *given)
    assert text["report"] == answered("bug.md", *given)["report"] | {"id": "report"}
    assert text["hits"] == answered("bug.md", *given)["hits"]
    (place / "#7").write_text("Pool does not close\n")
    (place / "read_cookie fails").write_text("Pool does not close\n")
    for name in ("#7", "read_cookie fails"):
        assert answered(name, *given)["hits"][0]["path"] == "src/deep/folder/pool.py"
    assert answered("read_cookie breaks", *given)["hits"][0]["path"] == "src/cookies.py"


def test_when_a_report_was_opened(project, answered, fails):
    given = ["bug.md", "--repo", project.path]
    report = answered(*given, "--opened", "2014-01-15 07:30")["report"]
    assert (report["id"], report["opened"]) == ("bug", "2014-01-15T07:30:00Z")
    assert "--opened: 'soon' is no time" in fails(*given, "--opened", "soon")


def test_reports_that_say_nothing(fails, project, place):
    assert fails().startswith("no report is given; name a file, - for standard input, or an issue in quotes")
    assert "bug.txt: no such file; check the path, or give the text itself" in fails("bug.txt", "--repo", project.path)
    many = "--json and --open are for one answer, and there are 2 reports; name one, or use --jsonl"
    assert fails("bug.md", "bug.md", "--open") == many
    (place / "bad.md").write_text("### Describe the bug\n<!-- what -->\n\n- [ ] I searched\n")
    assert "empty template" in fails("bad.md", "--repo", project.path)


# What is printed


def test_an_answer_follows_its_schema_and_tells_a_fix_with_its_page_and_no_password(project, answered):
    jsonschema = pytest.importorskip("jsonschema")
    project.git("remote", "add", "origin", "https://me:secret@github.com/a/toy.git")
    answer = answered("bug.md", "--repo", project.path)
    jsonschema.Draft202012Validator(schema()).validate(answer)
    first, commit = answer["hits"][0], project.made[-1]
    [fix] = [why for why in first["why"] if why["kind"] == "fix"]
    assert (fix["commit"], fix["issue"]) == (commit, "#7")
    assert fix["url"] == f"https://github.com/a/toy/commit/{commit}"
    assert all(1 <= function["start"] <= function["end"] for function in first["functions"])
    assert answered("bug.md", "--repo", project.path, "--functions", "0")["hits"][0]["functions"] == []


def test_what_is_overlong_is_cut_where_it_is_printed(project, place, capsys, answered):
    (place / "long.md").write_text("parse_header " * 5_000)
    given = ["long.md", "--repo", str(project.path)]
    assert main(["localize", *given]) == 0
    heading = capsys.readouterr().out.partition("\n")[0]
    assert (len(heading), heading[-3:]) == (240, "...")
    assert len(answered(*given)["report"]["summary"]) == 64_999


def test_a_pipe_gets_plain_text(project, capsys):
    assert main(["localize", "bug.md", "--repo", str(project.path), "--top", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "bug: Parser drops the header"
    assert re.fullmatch(r"4 files of [0-9a-f]{10}, \d{4}-\d\d-\d\d; 1 test file hidden \(--tests\)", lines[1])
    assert re.fullmatch(r"1  +\d+%  src/parser\.py", lines[2])
    assert not any("\x1b" in line or "\u2588" in line for line in lines)


def test_notes_that_ask_nothing_are_for_those_who_want_them(project, place, capsys, answered):
    (place / "odd.md").write_text("xyzzy plugh\n")
    given = ["localize", "odd.md", "--repo", str(project.path)]
    assert main(given) == 0
    words = "tosloc: no word of the report occurs in any file; the order says only which files change most\n"
    assert capsys.readouterr().err == words
    assert main([*given, "-v"]) == 0
    printed = capsys.readouterr().err
    assert words in printed
    assert "tosloc: the report has no date; it is asked as if opened at " in printed
    assert [f"tosloc: {note}" for note in answered(*given[1:])["notes"]] == printed.splitlines()


def test_places_for_editors(project, place, capsys, monkeypatch):
    def places(*more: str) -> list[list[str]]:
        assert main(["localize", str(place / "bug.md"), "--repo", str(project.path), "--format", "path", *more]) == 0
        return [line.split(":", 3) for line in capsys.readouterr().out.splitlines()]

    for folder in (project.path / "src", place):
        monkeypatch.chdir(folder)
        found = places()
        assert found[0][:3] == [os.path.relpath(project.path / "src/parser.py"), "2", "1"]
        assert re.fullmatch(r" Parser\.parse_header, \d+%", found[0][3])
        assert all(Path(path).is_file() for path, *_ in found)
    (project.path / "src/parser.py").unlink()
    assert places("--commit", "HEAD")[0][0] == "src/parser.py"  # as the version has it


def test_what_cannot_be_opened(project, make_repository, fails, monkeypatch, capsys):
    given = ["bug.md", "--open", "--repo"]
    assert "--open: needs a terminal; --format path prints what editors read" in fails(*given, project.path)
    bare = make_repository("bare.git", bare=True)
    bare.commit(FILES)
    assert "--open: there is no work tree to open files of" in fails(*given, bare.path)
    monkeypatch.setattr("os.isatty", lambda _: True)
    monkeypatch.setenv("VISUAL", "vim '")
    assert "neither VISUAL nor EDITOR names an editor" in fails(*given, project.path)
    monkeypatch.setenv("VISUAL", "nowhere")
    assert main(["localize", "bug.md", "--open", "--repo", str(project.path)]) == 2
    assert "--open: nowhere cannot be run (No such file or directory)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("editor", "expected"),
    [("vim -R", ["vim", "-R", "+2", "FILE"]), ("code --wait", ["code", "--wait", "-g", "FILE:2"])],
)
def test_the_first_place_is_opened(project, place, monkeypatch, editor, expected):
    name = expected[0]
    (place / name).write_text(f'#!/bin/sh\nprintf "%s\\n" {name} "$@" > {place}/opened\n')
    (place / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(place), prepend=os.pathsep)
    monkeypatch.setenv("VISUAL", editor)
    monkeypatch.setattr("os.isatty", lambda _: True)
    assert main(["localize", "bug.md", "--open", "--repo", str(project.path)]) == 0
    opened = (place / "opened").read_text().replace(str(project.path / "src/parser.py"), "FILE")
    assert opened.splitlines() == expected


def drawn(command: list[str], columns: int, folder: Path, **environment: str) -> str:
    """What a command writes to a terminal."""
    (own, theirs), null = pty.openpty(), subprocess.DEVNULL
    termios.tcsetwinsize(own, (40, columns))
    known = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLUMNS", "TERM")}
    known |= {"TERM": "xterm-256color", "PYTHONPATH": str(Path(__file__).parents[2])} | environment
    with subprocess.Popen(command, stdin=null, stdout=theirs, stderr=null, cwd=folder, env=known) as process:
        os.close(theirs)
        written = b""
        with suppress(OSError):  # closed on the other side
            while block := os.read(own, 65536):
                written += block
    os.close(own)
    assert process.returncode == 0
    return written.decode()


@pytest.mark.slow
def test_a_terminal_gets_bars_colours_and_links(project, place):
    command = [sys.executable, "-m", "tosloc", "localize", str(place / "bug.md"), "--top", "2"]
    for columns in (50, 60, 120):
        text = drawn(command, columns, project.path / "src")
        assert "\x1b]8;id=" in text
        assert f"{(project.path / 'src/parser.py').as_uri()}\x1b\\" in text
        assert ("\u2588" in text) == (columns >= 60)
        plain = re.sub(r"\x1b\][^\x1b]*\x1b\\|\x1b\[[0-9;]*m", "", text).replace("\r", "").splitlines()
        assert all(len(line) <= columns and line == line.rstrip() for line in plain[2:])
        assert any(line.endswith("src/parser.py") for line in plain)
    bare = drawn(command, 80, project.path, NO_COLOR="1")
    assert not re.search(r"\x1b\[[0-9;]*3[0-7]m", bare)
    assert "\x1b" not in drawn(command, 80, project.path, TERM="dumb")


# Clones that lack something


@pytest.mark.slow
def test_a_shallow_and_a_partial_clone_say_what_to_do(project, place, answered):
    url = f"file://{project.path}"
    project.git("config", "uploadpack.allowFilter", "true")
    subprocess.run(["git", "clone", "-q", "--depth", "1", url, str(place / "shallow")], check=True)
    [note] = [note for note in answered("bug.md", "--repo", place / "shallow")["notes"] if "shallow" in note]
    assert "git fetch --unshallow" in note
    assert "fetch-depth: 0" in note
    clone = ["git", "clone", "-q", "--bare", "--filter=blob:none", url, str(place / "partial")]
    subprocess.run(clone, check=True)
    [note] = [note for note in answered("bug.md", "--repo", place / "partial")["notes"] if "partial" in note]
    assert note.startswith("5 files could not be read from the repository; they are ranked by their paths alone")
    command = note.rpartition(": ")[2].split()
    subprocess.run([command[0], "-C", str(place / "partial"), *command[1:]], check=True)
    assert not [note for note in answered("bug.md", "--repo", place / "partial")["notes"] if "partial" in note]
