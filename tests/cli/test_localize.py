"""``tosloc localize`` as people type it, in real repositories."""

import io
import json
import os
import pty
import re
import subprocess
import sys
import termios
from contextlib import suppress
from datetime import date
from functools import partial
from pathlib import Path

import pytest

from tosloc.localize.answer import Weights
from tosloc.localize.model import Model

FILES = {
    "src/parser.py": "class Parser:\n    def parse_header(self, line):\n        return line.split(':')\n",
    "src/cookies.py": "def read_cookie(header):\n    return header\n",
    "src/deep/folder/pool.py": "class Pool:\n    def close(self):\n        pass\n",
    "tests/test_parser.py": "def test_parse_header():\n    assert parse_header\n",
    "docs/conf.py": "project = 'toy'\n",
}
REPORT = "Parser drops the header\n\nparse_header loses everything after the second colon.\n"


@pytest.fixture(autouse=True)
def place(plain_folder):
    """Every command begins outside of a repository, beside a report, and one of whose words no file has any."""
    (plain_folder / "bug.md").write_text(REPORT)
    (plain_folder / "odd.md").write_text("xyzzy plugh\n")
    return plain_folder


@pytest.fixture
def project(repository):
    repository.commit(FILES, "Begin")
    repository.commit(
        {"src/parser.py": FILES["src/parser.py"] + "\n"}, "Fix #7: the header lost its colon"
    )
    return repository


def test_before_the_first_commit_the_files_on_disk_are_searched(repository, tosloc):
    (repository.path / "parser.py").write_text(FILES["src/parser.py"])
    out, err = tosloc("localize", "bug.md", "--repo", repository.path)
    assert out.splitlines()[1] == "1 file on disk, nothing is committed yet"
    assert "nothing is committed yet: the files on disk are searched" in err


@pytest.fixture
def printed(repository, tosloc):
    """Function (*arguments) -> lines on standard output and standard error, asked of the repository."""

    def run(*arguments):
        given = [] if "--repo" in arguments else ["--repo", repository.path]
        return [text.splitlines() for text in tosloc("localize", *arguments, *given)]

    return run


@pytest.fixture
def answered(printed):
    """Function (*arguments) -> the answer, as JSON."""
    return lambda *arguments: json.loads("\n".join(printed(*arguments, "--json")[0]))


@pytest.fixture
def fails(fails):
    return partial(fails, "localize")


def paths(answer):
    return [hit["path"] for hit in answer["hits"]]


# Which repository


def test_the_repository_around_the_current_folder(
    make_repository, project, place, tosloc, monkeypatch
):
    project.git("worktree", "add", "-q", str(place / "linked"), "HEAD~1")
    bare = make_repository("bare.git", bare=True)
    bare.commit(FILES)
    for folder, root, commit in (
        (project.path / "src/deep/folder", project.path, project.commits[-1]),
        (project.path / ".git", project.path, project.commits[-1]),
        (place / "linked/src", place / "linked", project.commits[0]),
        (bare.path, bare.path, bare.commits[-1]),
    ):
        monkeypatch.chdir(folder)
        answer = json.loads(tosloc("localize", place / "bug.md", "--top", "1", "--json")[0])
        assert (answer["commit"], Path(answer["repository"])) == (commit, root)
        assert paths(answer) == ["src/parser.py"]


def test_what_cannot_be_searched_is_one_sentence(fails, place, make_repository):
    assert (
        fails("bug.md")
        == f"{place}: not in a git repository; change to one, or name it with --repo"
    )
    repository = make_repository("empty")
    assert "no source file" in fails("bug.md", "--repo", repository.path)
    assert "no commit 'HEAD': its branch is empty" in fails(
        "bug.md", "--repo", repository.path, "--commit", "HEAD"
    )
    repository.commit({"README": "text"})
    assert "contains no source file" in fails("bug.md", "--repo", repository.path)


# Which files


def test_options_choose_files(project, answered, fails):
    answer, shown = answered("bug.md"), answered("bug.md", "--tests", "--functions", "0")
    assert answer["searched"] == {"files": 4, "hidden_tests": 1, "uncommitted": 0}
    assert {*paths(shown)} - {*paths(answer)} == {"tests/test_parser.py"}
    assert [bool(of["hits"][0]["functions"]) for of in (answer, shown)] == [True, False]
    chosen = answered(
        "bug.md", "--include", "docs", "--include", "/src/*.py", "--exclude", "parse*"
    )
    assert paths(chosen) == ["src/cookies.py", "docs/conf.py"]
    sure = [hit["path"] for hit in answer["hits"] if hit["share"] >= 0.1]
    assert paths(answered("bug.md", "--min-share", "0.1")) == sure != paths(answer)
    assert fails("bug.md", "--repo", project.path, "--exclude", "*.java").startswith(
        "--exclude: '*.java' matches none"
    )


def test_a_language_without_a_grammar_is_noted(repository, answered):
    repository.commit({"a.lua": "function parse_header() end", "b.lua": "x = 1"})
    note = "there is no grammar for .lua files: they are searched by their words, and have no functions"
    assert note in answered("bug.md")["notes"]
    repository.commit({"c.py": "def parse_header(): pass"})
    assert note not in answered("bug.md")["notes"]


# Which reports


def test_reports_of_all_kinds_and_many_of_them(project, place, printed, monkeypatch):
    issues = [{"number": n, "title": f"Pool {n}", "body": "close fails"} for n in (1, 2)]
    (place / "issues.json").write_text(json.dumps(issues))
    (place / "lines.jsonl").write_text(
        '{"summary": "cookie"}\n\n{"id": "L2", "summary": "header"}\n'
    )
    (place / "jira.json").write_text(
        json.dumps({"issues": [{"key": "A-1", "fields": {"summary": "S"}}]})
    )
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"Pool does not close\n")))
    given = ["bug.md", "issues.json", "lines.jsonl", "jira.json", "-"]
    answers = [json.loads(line) for line in printed(*given, "--jsonl", "--top", "1")[0]]
    assert [answer["report"]["id"] for answer in answers] == [
        "bug",
        "1",
        "2",
        "lines:1",
        "L2",
        "A-1",
        "report",
    ]
    lines = printed(*given[:2], "--top", "1")[0]
    assert {"bug: Parser drops the header", "1: Pool 1", "2: Pool 2"} <= {*lines}


def test_a_file_comes_first_then_a_text(project, answered, place):
    text, file = answered(REPORT), answered("bug.md")
    assert text["report"] == file["report"] | {"id": "report"}
    assert text["hits"] == file["hits"]
    for name in ("#7", "read_cookie fails"):
        (place / name).write_text("Pool does not close\n")
        assert paths(answered(name))[0] == "src/deep/folder/pool.py"
    assert paths(answered("read_cookie breaks"))[0] == "src/cookies.py"


def test_when_a_report_was_opened(project, answered, fails):
    report = answered("bug.md", "--opened", "2014-01-15 07:30")["report"]
    assert (report["id"], report["opened"]) == ("bug", "2014-01-15T07:30:00Z")
    assert "--opened: 'soon' is no time" in fails("bug.md", "--opened", "soon")


def test_reports_that_say_nothing(fails, project, place):
    assert fails() == "Missing argument 'REPORT'; see: tosloc localize --help"
    assert "bug.txt: no such file; check the path, or give the text itself" in fails(
        "bug.txt", "--repo", project.path
    )
    many = "--json and --open are for 1 answer, --html for 100, not 2; use --jsonl"
    assert fails("bug.md", "bug.md", "--json") == fails("bug.md", "bug.md", "--open") == many
    (place / "bad.md").write_text("### Describe the bug\n<!-- what -->\n\n- [ ] I searched\n")
    assert "empty template" in fails("bad.md", "--repo", project.path)


def test_words_that_are_not_quoted_are_named_with_the_quotes(fails):
    said = "session: no such file; if this is the text of a report, quote it: tosloc localize 'session cookie lost'"
    assert fails("session", "cookie", "lost") == said
    assert fails("session", "bug.md", "cookie").endswith("tosloc localize 'session cookie'")


@pytest.mark.parametrize("given", ["pipe", "file"])
def test_standard_input_is_read_if_no_report_is_named(project, place, given):
    command = [sys.executable, "-m", "tosloc", "localize", "--json", "--repo", str(project.path)]
    known = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    if given == "pipe":
        done = subprocess.run(
            command, input=REPORT.encode(), capture_output=True, env=known, check=True
        )
    else:
        with (place / "bug.md").open("rb") as file:
            done = subprocess.run(command, stdin=file, capture_output=True, env=known, check=True)
    assert json.loads(done.stdout)["report"]["summary"] == "Parser drops the header"


def test_a_null_device_is_no_report(project):
    command = [sys.executable, "-m", "tosloc", "localize"]
    known = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, env=known, check=False, text=True
    )
    assert done.returncode == 2
    assert done.stderr == "tosloc: Missing argument 'REPORT'; see: tosloc localize --help\n"


def test_a_note_on_a_general_text_and_its_reasons_do_not_contradict_each_other(
    project, printed, place
):
    project.commit(
        {f"src/{name}.py": "x = 1\n" for name in "abcdef"} | {"src/one.py": "# the banner\n"}
    )
    out, err = printed("Das Banner fehlt", "--no-background", "--top", "1")
    assert err == [
        "tosloc: the report is too general for a confidence score; add an error message, an identifier or a file name"
    ]
    assert re.match(r"1 +-  src/one\.py", out[2])
    assert any(line.strip() == "words Banner" for line in out)


def test_a_name_in_a_text_of_another_language_counts(project, printed):
    out, err = printed("Das Feld `header` fehlt nach dem Klick", "--no-background", "--top", "1")
    assert err == []
    assert re.match(r"1 +\d+%  src/", out[2])


# Folders


def test_a_folder_narrows_the_search_to_its_files(project, answered, monkeypatch):
    (project.path / "src/[a]*").mkdir()
    (project.path / "src/[a]*/odd.py").write_text("def parse_header(): pass\n")
    assert paths(answered("bug.md", project.path / "docs")) == ["docs/conf.py"]
    assert set(paths(answered("bug.md", project.path / "docs", project.path / "src/deep"))) == {
        "docs/conf.py",
        "src/deep/folder/pool.py",
    }
    assert paths(answered(REPORT, project.path / "src/[a]*")) == ["src/[a]*/odd.py"]
    monkeypatch.chdir(project.path / "src")
    assert paths(answered(REPORT, "deep/")) == ["src/deep/folder/pool.py"]
    assert paths(answered(REPORT, "..")) == paths(answered(REPORT))


def test_a_folder_that_cannot_be_searched_is_refused(project, place, fails, make_repository):
    where = ["--repo", project.path]
    assert fails("bug.md", place, *where) == (
        f"{place}: is no folder of {project.path}; narrow the search with --include, as in --include 'src/**'"
    )
    said = fails("bug.md", project.path / "src", "--include", "*.py", *where)
    assert (
        said
        == f"{project.path}/src and --include: choose one of them; --include 'src/**/*.py' does both"
    )
    bare = make_repository("bare.git", bare=True)
    bare.commit(FILES)
    assert "there is no work tree; narrow the search with --include" in fails(
        "bug.md", place, "--repo", bare.path
    )


# What is printed


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--json", "--format", "path"], "--json and --format path"),
        (["--jsonl", "--format", "path"], "--jsonl and --format path"),
        (["--json", "--jsonl"], "--json and --jsonl"),
    ],
)
def test_one_form_is_chosen(project, fails, options, named):
    assert fails("bug.md", "--repo", project.path, *options) == f"{named}: choose one of them"


def test_an_answer_tells_a_fix_with_its_page_and_no_password(project, answered):
    project.git("remote", "add", "origin", "https://me:secret@github.com/a/toy.git")
    answer = answered("bug.md")
    commit = project.commits[-1]
    [fix] = [why for why in answer["hits"][0]["why"] if why["kind"] == "fix"]
    assert (fix["commit"], fix["issue"], fix["url"]) == (
        commit,
        "#7",
        f"https://github.com/a/toy/commit/{commit}",
    )


def test_a_pipe_gets_plain_text_and_nothing_overlong(project, place, printed, answered):
    lines = printed("bug.md", "--top", "2")[0]
    assert lines[0] == "bug: Parser drops the header"
    assert re.fullmatch(
        r"4 files of [0-9a-f]{10}, \d{4}-\d\d-\d\d; 1 test file hidden \(--tests\)", lines[1]
    )
    assert re.fullmatch(r"1  +\d+%  src/parser\.py", lines[2])
    assert not any("\x1b" in line or "\u2588" in line for line in lines)
    (place / "long.md").write_text("parse_header " * 5_000)
    heading = printed("long.md")[0][0]
    assert (len(heading), heading[-3:]) == (240, "...")
    assert len(answered("long.md")["report"]["summary"]) == 64_999


def test_notes_that_ask_nothing_are_for_those_who_want_them(project, printed, answered):
    words = "tosloc: no word of the report occurs in any file; the order says only which files change most"
    assert printed("odd.md", "odd.md")[1] == [words]  # once for both
    notes = printed("odd.md", "-v")[1]
    assert words in notes
    assert any(
        note.startswith("tosloc: the report has no date; it is asked as if opened at ")
        for note in notes
    )
    assert [f"tosloc: {note}" for note in answered("odd.md")["notes"]] == notes[:-1]


def test_shipped_weights_are_named_to_those_who_want_all_notes(project, printed, answered):
    assert printed("bug.md", "bug.md", "-v")[1].count("tosloc: weights: shipped") == 1
    assert not any("weights" in note for note in printed("bug.md")[1])
    assert answered("bug.md")["weights"] == {"kind": "shipped"}


def test_trained_weights_are_always_named(project, printed, answered, monkeypatch):
    trained = Model(weights=Weights("trained", date(2026, 11, 26), 269, weak=True))
    monkeypatch.setattr("tosloc.localize.localizer.Model", lambda: trained)
    said = "tosloc: weights: trained 2026-11-26 on 269 commit messages"
    assert printed("bug.md", "bug.md")[1].count(said) == 1
    assert answered("bug.md")["weights"] == {
        "kind": "trained",
        "date": "2026-11-26",
        "reports": 269,
        "weak": True,
    }


@pytest.mark.parametrize(
    ("editor", "expected"),
    [("vi -n", ["-n", "+2", "FILE"]), ("code -w", ["-w", "--goto", "FILE:2"])],
)
def test_the_first_place_is_opened(project, place, printed, monkeypatch, editor, expected):
    script = place / editor.split()[0]
    script.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {place}/opened\n')
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{place}:{os.environ['PATH']}")
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", editor)
    printed(place / "bug.md", "--open")
    assert (place / "opened").read_text().replace(
        str(project.path / "src/parser.py"), "FILE"
    ).split() == expected


def test_what_cannot_be_opened(project, place, tosloc, monkeypatch):
    given = ["localize", place / "bug.md", "--open", "--repo", project.path]
    assert (
        "--open: no file of the work tree can be named"
        in tosloc(*given, "--min-share", "1", code=2).err
    )
    for editor in ("nowhere", "vim 'open"):
        monkeypatch.setenv("VISUAL", editor)
        assert "--open: VISUAL or EDITOR must name an editor" in tosloc(*given, code=2).err


def test_places_for_editors(project, place, printed, monkeypatch):
    for folder in (project.path / "src", place):
        monkeypatch.chdir(folder)
        found = [line.split(":", 3) for line in printed(place / "bug.md", "--format", "path")[0]]
        assert found[0][:3] == [os.path.relpath(project.path / "src/parser.py"), "2", "1"]
        assert re.fullmatch(r" Parser\.parse_header, \d+%", found[0][3])
        assert all(Path(path).is_file() for path, *_ in found)
    (project.path / "src/parser.py").unlink()
    first = printed(place / "bug.md", "--format", "path", "--commit", "HEAD")[0][0]
    assert first.startswith("src/parser.py:2:1: ")  # as the version has it


def drawn(command, columns, folder, errors=subprocess.DEVNULL, **environment):
    """What a command writes to a terminal; with its errors, if they are standard output's."""
    (own, theirs), null = pty.openpty(), subprocess.DEVNULL
    termios.tcsetwinsize(own, (40, columns))
    known = {
        name: value
        for name, value in os.environ.items()
        if name not in ("NO_COLOR", "COLUMNS", "TERM")
    }
    known |= {"TERM": "xterm-256color", "PYTHONPATH": str(Path(__file__).parents[2])} | environment
    with subprocess.Popen(
        command, stdin=null, stdout=theirs, stderr=errors, cwd=folder, env=known
    ) as process:
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
    for columns in (50, 120):
        text = drawn(command, columns, project.path / "src")
        assert f"{(project.path / 'src/parser.py').as_uri()}\x1b\\" in text
        assert "\u2588" in text
        plain = (
            re.sub(r"\x1b\][^\x1b]*\x1b\\|\x1b\[[0-9;]*m", "", text).replace("\r", "").splitlines()
        )
        assert all(len(line) <= columns and line == line.rstrip() for line in plain[2:])
        assert any(line.endswith("src/parser.py") for line in plain)
    assert not re.search(r"\x1b\[[0-9;]*3[0-7]m", drawn(command, 80, project.path, NO_COLOR="1"))
    assert "\x1b" not in drawn(command, 80, project.path, TERM="dumb")


@pytest.mark.slow
def test_bars_are_gone_before_an_answer_is_printed(project, place):
    command = [sys.executable, "-m", "tosloc", "localize", str(place / "bug.md"), "--top", "1"]
    text = drawn(command, 100, project.path, subprocess.STDOUT, TOSLOC_CACHE=str(place / "new"))
    bars, answer = text.split("bug: Parser drops", 1)
    assert "reading history" in bars
    assert "reading history" not in answer
    assert re.search(r"\x1b\[2K(\x1b\[[0-9;?]*[a-zA-Z])*$", bars)  # in a line that was wiped


# Clones that lack something


@pytest.mark.slow
def test_a_shallow_and_a_partial_clone_say_what_to_do(project, place, answered):
    url = f"file://{project.path}"
    project.git("config", "uploadpack.allowFilter", "true")
    for name, options in (
        ("shallow", ["--depth", "1"]),
        ("partial", ["--bare", "--filter=blob:none"]),
    ):
        subprocess.run(["git", "clone", "-q", *options, url, str(place / name)], check=True)
    [note] = [
        note
        for note in answered("bug.md", "--repo", place / "shallow")["notes"]
        if "shallow" in note
    ]
    assert "git fetch --unshallow" in note
    assert "fetch-depth: 0" in note
    [note] = [
        note
        for note in answered("bug.md", "--repo", place / "partial")["notes"]
        if "partial" in note
    ]
    assert note.startswith(
        "5 files could not be read from the repository; they are ranked by their paths alone"
    )
    command = note.rpartition(": ")[2].split()
    subprocess.run([command[0], "-C", str(place / "partial"), *command[1:]], check=True)
    assert not [
        note
        for note in answered("bug.md", "--repo", place / "partial")["notes"]
        if "partial" in note
    ]


def test_lines_of_code_are_shown_below_the_reasons(project, printed):
    lines, _ = printed("bug.md")
    assert any(re.fullmatch(r" +\d+: \S.*", line) for line in lines)


def test_lines_of_code_can_be_left_out(project, printed):
    lines, _ = printed("bug.md", "--no-code")
    assert not any(re.fullmatch(r" +\d+: \S.*", line) for line in lines)


def test_line_of_code_is_what_the_file_contains(project, answered):
    hit = answered("bug.md")["hits"][0]
    text = project.git("show", f"HEAD:{hit['path']}").splitlines()
    assert hit["code"]
    for code_line in hit["code"]:
        assert text[code_line["line"] - 1] == code_line["text"]
