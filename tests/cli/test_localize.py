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

from tosloc.core.errors import ReportError
from tosloc.localize.answer import Weights
from tosloc.localize.localizer import Localizer
from tosloc.localize.model import Model

ROOT = Path(__file__).parents[2]
FILES = {
    "src/parser.py": (
        "class Parser:\n    def parse_header(self, line):\n        return line.split(':')\n"
    ),
    "src/cookies.py": "def read_cookie(header):\n    return header\n",
    "src/deep/folder/pool.py": "class Pool:\n    def close(self):\n        pass\n",
    "tests/test_parser.py": "def test_parse_header():\n    assert parse_header\n",
    "docs/conf.py": "project = 'toy'\n",
}
REPORT = "Parser drops the header\n\nparse_header loses everything after the second colon.\n"


@pytest.fixture(autouse=True)
def folder(plain_folder):
    """Make a folder outside of a repository the current one, with two reports; return it.

    No file contains a word of the report ``odd.md``.
    """
    (plain_folder / "bug.md").write_text(REPORT)
    (plain_folder / "odd.md").write_text("xyzzy plugh\n")
    return plain_folder


@pytest.fixture
def project(repository):
    """Create a repository of FILES with a fixed bug."""
    repository.commit(FILES, "Begin")
    repository.commit(
        {"src/parser.py": FILES["src/parser.py"] + "\n"}, "Fix #7: the header lost its colon"
    )
    return repository


@pytest.fixture
def localize(repository, tosloc):
    """Return a function (*arguments) -> lines of (out, err), asked about the repository."""

    def run(*arguments):
        options = [] if "--repo" in arguments else ["--repo", repository.path]
        out, err = tosloc("localize", *arguments, *options)
        return out.splitlines(), err.splitlines()

    return run


@pytest.fixture
def localize_json(localize):
    """Return a function (*arguments) -> the answer, read from JSON."""

    def run(*arguments):
        out, _ = localize(*arguments, "--json")
        return json.loads("\n".join(out))

    return run


@pytest.fixture
def fails(fails):
    """Return a function (*arguments) -> the sentence of ``localize`` about wrong input."""
    return partial(fails, "localize")


def paths(answer):
    return [hit["path"] for hit in answer["hits"]]


# Which repository


@pytest.fixture
def repositories(make_repository, project, folder):
    """Return folder -> root and commit, for folders in and around a repository's files."""
    project.git("worktree", "add", "-q", str(folder / "linked"), "HEAD~1")
    bare = make_repository("bare.git", bare=True)
    bare.commit(FILES)
    return {
        "in the work tree": (project.path / "src/deep/folder", project.path, project.commits[-1]),
        "git directory": (project.path / ".git", project.path, project.commits[-1]),
        "linked work tree": (folder / "linked/src", folder / "linked", project.commits[0]),
        "bare repository": (bare.path, bare.path, bare.commits[-1]),
    }


@pytest.mark.parametrize(
    "where", ["in the work tree", "git directory", "linked work tree", "bare repository"]
)
def test_the_repository_around_the_folder_is_searched(
    repositories, folder, tosloc, monkeypatch, where
):
    current_folder, root, commit = repositories[where]
    monkeypatch.chdir(current_folder)
    answer = json.loads(tosloc("localize", folder / "bug.md", "--top", "1", "--json")[0])
    assert answer["commit"] == commit
    assert Path(answer["repository"]) == root
    assert paths(answer) == ["src/parser.py"]


def test_before_the_first_commit_the_files_on_disk_are_searched(repository, tosloc):
    (repository.path / "parser.py").write_text(FILES["src/parser.py"])
    out, err = tosloc("localize", "bug.md", "--repo", repository.path)
    assert out.splitlines()[1] == "1 file on disk; nothing is committed yet"
    assert "nothing is committed yet: the files on disk are searched" in err


def test_outside_of_a_repository_the_message_says_what_to_do(fails, folder):
    message = f"{folder}: not in a git repository; change to one, or name it with --repo"
    assert fails("bug.md") == message


def test_an_empty_repository_is_one_sentence(fails, make_repository):
    repository = make_repository("empty")
    options = ["--repo", repository.path]
    assert "no source file" in fails("bug.md", *options)
    assert "no commit 'HEAD': its branch is empty" in fails("bug.md", *options, "--commit", "HEAD")


def test_a_repository_without_source_files_is_one_sentence(fails, make_repository):
    repository = make_repository("empty")
    repository.commit({"README": "text"})
    assert "contains no source file" in fails("bug.md", "--repo", repository.path)


# Which files


@pytest.mark.usefixtures("project")
def test_test_files_are_hidden(localize_json):
    searched = {"files": 4, "hidden_tests": 1, "uncommitted": 0, "hidden_files": 0}
    assert localize_json("bug.md")["searched"] == searched


@pytest.mark.usefixtures("project")
def test_tests_includes_test_files(localize_json):
    with_tests = paths(localize_json("bug.md", "--tests"))
    assert set(with_tests) - set(paths(localize_json("bug.md"))) == {"tests/test_parser.py"}


@pytest.mark.usefixtures("project")
def test_functions_bounds_the_listed_functions(localize_json):
    assert localize_json("bug.md")["hits"][0]["functions"]
    assert not localize_json("bug.md", "--functions", "0")["hits"][0]["functions"]


@pytest.mark.usefixtures("project")
def test_include_and_exclude_choose_files(localize_json):
    options = ["--include", "docs", "--include", "/src/*.py", "--exclude", "parse*"]
    assert paths(localize_json("bug.md", *options)) == ["src/cookies.py", "docs/conf.py"]


@pytest.mark.usefixtures("project")
def test_min_confidence_leaves_out_files(localize_json):
    answer = localize_json("bug.md")
    sure = [hit["path"] for hit in answer["hits"] if hit["confidence"] >= 0.1]
    assert paths(localize_json("bug.md", "--min-confidence", "0.1")) == sure
    assert sure != paths(answer)


def test_a_glob_that_matches_no_file_is_refused(project, fails):
    sentence = fails("bug.md", "--repo", project.path, "--exclude", "*.java")
    assert sentence.startswith("--exclude: '*.java' matches none")


NO_GRAMMAR = (
    "there is no grammar for .dart files, so they are searched only by their words and have no"
    " functions"
)


def test_a_repository_in_a_language_without_a_grammar_has_a_note(repository, localize_json):
    repository.commit({"a.dart": "void parse_header() {}", "b.dart": "x = 1"})
    assert NO_GRAMMAR in localize_json("bug.md")["notes"]


def test_a_few_files_in_a_language_without_a_grammar_have_no_note(repository, localize_json):
    repository.commit({"a.dart": "void parse_header() {}", "b.dart": "x = 1"})
    repository.commit({"c.py": "def parse_header(): pass"})
    assert NO_GRAMMAR not in localize_json("bug.md")["notes"]


# Which reports


@pytest.fixture
def reports_of_all_kinds(folder, monkeypatch):
    """Write reports in several formats, and return the arguments that name them."""
    issues = [{"number": number, "title": f"Pool {number}", "body": "x"} for number in (1, 2)]
    (folder / "issues.json").write_text(json.dumps(issues))
    lines = '{"summary": "cookie"}\n\n{"id": "L2", "summary": "header"}\n'
    (folder / "lines.jsonl").write_text(lines)
    jira = {"issues": [{"key": "A-1", "fields": {"summary": "S"}}]}
    (folder / "jira.json").write_text(json.dumps(jira))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"Pool does not close\n")))
    return ["bug.md", "issues.json", "lines.jsonl", "jira.json", "-"]


@pytest.mark.usefixtures("project")
def test_reports_of_all_kinds_are_answered_in_order(localize, reports_of_all_kinds):
    lines, _ = localize(*reports_of_all_kinds, "--jsonl", "--top", "1")
    ids = [json.loads(line)["report"]["id"] for line in lines]
    assert ids == ["bug", "1", "2", "lines:1", "L2", "A-1", "report"]


@pytest.fixture
def failing_report(folder, monkeypatch):
    """Return a file of three reports; the answer to the second fails with one of two errors."""
    lines = [{"id": id, "summary": f"The header is {id}"} for id in ("first", "second", "third")]
    (folder / "three.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    rank = Localizer.rank

    def fail(localizer, question, *arguments):
        if question.report.id == "second":
            raise errors[0]
        return rank(localizer, question, *arguments)

    errors = [KeyError("odd")]
    monkeypatch.setattr(Localizer, "rank", fail)
    return "three.jsonl", errors


@pytest.mark.usefixtures("project")
def test_line_for_programs_says_why_a_report_has_no_answer(repository, tosloc, failing_report):
    file, errors = failing_report
    errors[0] = ReportError("it is odd", hint="widen {include}")
    out, err = tosloc("localize", file, "--repo", repository.path, "--jsonl", code=2)
    rows = [json.loads(line) for line in out.splitlines()]
    assert [row["report"]["id"] for row in rows] == ["first", "second", "third"]
    assert [row["schema"] for row in rows] == [
        "tosloc.answer/1",
        "tosloc.error/1",
        "tosloc.answer/1",
    ]
    assert rows[1]["error"] == "it is odd; widen --include"
    assert err.splitlines()[-1] == "tosloc: 1 of 3 reports could not be answered"


@pytest.mark.usefixtures("project")
def test_unforeseen_error_of_a_report_does_not_end_the_others(repository, tosloc, failing_report):
    file, _ = failing_report
    out, err = tosloc("localize", file, "--repo", repository.path, "--jsonl", code=2)
    errors = [json.loads(line).get("error") for line in out.splitlines()]
    assert errors == [None, "an internal error occurred (KeyError)", None]
    assert "KeyError: 'odd'" in err


@pytest.mark.usefixtures("project")
def test_note_for_people_says_why_a_report_has_no_answer(repository, tosloc, failing_report):
    file, errors = failing_report
    errors[0] = ReportError("it is odd")
    out, err = tosloc("localize", file, "--repo", repository.path, code=2)
    assert "third  The header is third" in out
    assert "tosloc: second: it is odd" in err.splitlines()


RESULTS = """<testsuite>
<testcase name="reads"><failure message="header lost">  File "src/parser.py", line 3, in f</failure>
</testcase><testcase name="opens"><error message="pool closed"/></testcase></testsuite>
"""
"""Results of a run in which two tests failed."""


@pytest.mark.usefixtures("project")
def test_a_failed_run_is_answered_by_its_first_failure_with_a_note(localize, folder):
    (folder / "results.xml").write_text(RESULTS)
    lines, notes = localize("results.xml")
    assert lines[0] == "results  reads: header lost"
    assert notes == [
        "tosloc: results.xml has 1 other failure; `tosloc localize --jsonl` answers each"
    ]


@pytest.mark.usefixtures("project")
def test_jsonl_answers_each_failure(localize, folder):
    (folder / "results.xml").write_text(RESULTS)
    lines, notes = localize("results.xml", "--jsonl")
    ids = [json.loads(line)["report"]["id"] for line in lines]
    assert ids == ["results:1", "results:2"]
    assert notes == []


@pytest.mark.usefixtures("project")
def test_each_answer_has_a_heading(localize, reports_of_all_kinds):
    lines, _ = localize(*reports_of_all_kinds[:2], "--top", "1")
    assert "bug  Parser drops the header" in lines
    assert "1  Pool 1" in lines
    assert "2  Pool 2" in lines


@pytest.mark.usefixtures("project")
def test_a_text_gets_the_answer_of_a_file_with_that_text(localize_json):
    text_answer = localize_json(REPORT)
    file_answer = localize_json("bug.md")
    assert text_answer["report"] == file_answer["report"] | {"id": "report"}
    assert text_answer["hits"] == file_answer["hits"]


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("name", ["#7", "read_cookie fails"])
def test_an_existing_file_is_read_whatever_its_name(localize_json, folder, name):
    (folder / name).write_text("Pool does not close\n")
    assert paths(localize_json(name))[0] == "src/deep/folder/pool.py"


@pytest.mark.usefixtures("project")
def test_several_words_that_name_no_file_are_a_report(localize_json):
    assert paths(localize_json("read_cookie breaks"))[0] == "src/cookies.py"


@pytest.mark.usefixtures("project")
def test_opened_dates_a_report(localize_json):
    report = localize_json("bug.md", "--opened", "2014-01-15 07:30")["report"]
    assert report["id"] == "bug"
    assert report["opened"] == "2014-01-15T07:30:00Z"


def test_opened_that_is_no_time_is_refused(fails):
    assert "--opened: 'soon' is not a time" in fails("bug.md", "--opened", "soon")


def test_no_report_is_refused(fails):
    assert fails() == "Missing argument 'REPORT'; see: tosloc localize --help"


def test_a_missing_file_is_refused(fails, project):
    message = "bug.txt: no such file or folder; check the path, or give the report's text"
    assert message in fails("bug.txt", "--repo", project.path)


def test_a_source_file_beside_a_report_is_refused(fails, folder):
    (folder / "auth.py").write_text("def log_in():\n    return 1\n")
    assert fails("the session cookie is lost", "auth.py") == (
        "auth.py is a source file and no report; to search only this file, use --include auth.py"
    )


def test_a_source_file_in_place_of_a_report_is_refused(fails, folder):
    (folder / "auth.py").write_text("def log_in():\n    return 1\n")
    assert fails("auth.py") == (
        "auth.py is a source file and no report; describe the bug in quotation marks or in a text"
        " file, and add --include auth.py to search only this file: tosloc localize 'what goes"
        " wrong' --include auth.py"
    )


def test_a_source_file_and_a_folder_without_a_report_are_refused(fails, folder):
    (folder / "auth.py").write_text("def log_in():\n    return 1\n")
    assert "auth.py is a source file and no report" in fails("auth.py", folder)


def test_a_source_file_that_no_grammar_reads_is_no_report(fails, folder):
    (folder / "run.sh").write_text("echo run\n")
    assert "run.sh is a source file and no report" in fails("run.sh")


def test_the_name_of_a_source_file_is_escaped_for_the_glob(fails, folder):
    (folder / "[id].tsx").write_text("export default 1\n")
    assert fails("[id].tsx").endswith(r"--include '\[id\].tsx'")


@pytest.mark.parametrize("name", ["bug.txt", "bug.yml"])
def test_a_report_may_be_any_file_that_is_no_source_code(localize, project, folder, name):
    (folder / name).write_text(REPORT)
    out, _ = localize(name)
    assert out[0] == "bug  Parser drops the header"


@pytest.mark.parametrize("option", ["--json", "--open"])
def test_two_reports_are_too_many_for_one_answer(fails, option):
    message = (
        "--json and --open accept only one report, and --html at most 100, but there are 2;"
        " use --jsonl"
    )
    assert fails("bug.md", "bug.md", option) == message


def test_an_empty_template_is_refused(fails, project, folder):
    (folder / "bad.md").write_text("### Describe the bug\n<!-- what -->\n\n- [ ] I searched\n")
    assert "empty template" in fails("bad.md", "--repo", project.path)


def test_words_without_quotes_are_suggested_with_quotes(fails):
    assert fails("session", "cookie", "lost") == (
        "session: no such file; if this is the text of a report, put it in quotation marks:"
        " tosloc localize 'session cookie lost'"
    )


def test_existing_files_are_no_words_of_a_report(fails):
    assert fails("session", "bug.md", "cookie").endswith("tosloc localize 'session cookie'")


def run_process(*arguments, **options):
    """Run ``tosloc localize`` in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "tosloc", "localize", *arguments],
        capture_output=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        check=False,
        **options,
    )


def test_a_pipe_is_read_if_no_report_is_named(project):
    process = run_process("--json", "--repo", str(project.path), input=REPORT.encode())
    assert process.returncode == 0
    assert json.loads(process.stdout)["report"]["summary"] == "Parser drops the header"


def test_a_redirected_file_is_read_if_no_report_is_named(project, folder):
    with (folder / "bug.md").open("rb") as file:
        process = run_process("--json", "--repo", str(project.path), stdin=file)
    assert process.returncode == 0
    assert json.loads(process.stdout)["report"]["summary"] == "Parser drops the header"


def test_a_null_device_is_no_report():
    process = run_process(stdin=subprocess.DEVNULL, text=True)
    assert process.returncode == 2
    assert process.stderr == "tosloc: Missing argument 'REPORT'; see: tosloc localize --help\n"


def test_a_general_report_has_a_note_and_no_shares(project, localize):
    files = {f"src/{name}.py": "x = 1\n" for name in "abcdef"}
    project.commit(files | {"src/one.py": "# the banner\n"})
    out, err = localize("Das Banner fehlt", "--no-background", "--top", "1")
    assert err == [
        "tosloc: the report is too general for a confidence score; add an error message,"
        " an identifier or a file name"
    ]
    assert re.match(r"1 +-  src/one\.py", out[3])
    assert out[4] == "           1  # the banner"


@pytest.mark.usefixtures("project")
def test_a_name_in_a_text_of_another_language_counts(localize):
    out, err = localize("Das Feld `header` fehlt nach dem Klick", "--no-background", "--top", "1")
    assert not any("too general" in line for line in err)
    assert re.match(r"1 +\d+%  src/", out[3])


# Folders


def test_a_folder_narrows_the_search_to_its_files(project, localize_json):
    assert paths(localize_json("bug.md", project.path / "docs")) == ["docs/conf.py"]


def test_several_folders_are_searched(project, localize_json):
    folders = [project.path / "docs", project.path / "src/deep"]
    found = set(paths(localize_json("bug.md", *folders)))
    assert found == {"docs/conf.py", "src/deep/folder/pool.py"}


def test_a_name_of_a_folder_is_no_pattern(project, localize_json):
    (project.path / "src/[a]*").mkdir()
    (project.path / "src/[a]*/odd.py").write_text("def parse_header(): pass\n")
    assert paths(localize_json(REPORT, project.path / "src/[a]*")) == ["src/[a]*/odd.py"]


def test_a_folder_is_relative_to_the_current_one(project, localize_json, monkeypatch):
    monkeypatch.chdir(project.path / "src")
    assert paths(localize_json(REPORT, "deep/")) == ["src/deep/folder/pool.py"]


def test_the_root_does_not_narrow_the_search(project, localize_json, monkeypatch):
    monkeypatch.chdir(project.path / "src")
    assert paths(localize_json(REPORT, "..")) == paths(localize_json(REPORT))


def test_a_folder_outside_of_the_repository_is_refused(project, folder, fails):
    assert fails("bug.md", folder, "--repo", project.path) == (
        f"{folder}: this folder is not inside {project.path};"
        " restrict the search with a glob, as in --include 'src/**'"
    )


@pytest.mark.parametrize(
    "arguments",
    [["libs/flask"], ["--include", "libs/flask"], ["--include", "./libs/flask/app.py"]],
    ids=["folder", "glob", "file"],
)
def test_a_submodule_is_named_where_its_files_are_asked_for(
    repository, fails, monkeypatch, arguments
):
    commit = b"1" * 40
    repository.commit({"shop.py": "def total(): pass\n", "libs/flask": ("160000", commit)})
    monkeypatch.chdir(repository.path)
    assert fails("the total is wrong", *arguments) == (
        "libs/flask is a submodule, whose files are not searched; ask in the submodule itself, or"
        " name it with --repo libs/flask"
    )


def test_a_folder_and_include_are_refused(project, fails):
    source = project.path / "src"
    message = (
        f"the folder {source} and --include cannot be combined; put the folder into the glob,"
        " as in --include 'src/**/*.py'"
    )
    assert fails("bug.md", source, "--include", "*.py", "--repo", project.path) == message


def test_a_folder_of_a_bare_repository_is_refused(folder, fails, make_repository):
    bare = make_repository("bare.git", bare=True)
    bare.commit(FILES)
    message = "a folder can restrict the search only in a work tree"
    assert message in fails("bug.md", folder, "--repo", bare.path)


# What is printed


@pytest.mark.parametrize(
    ("options", "names"),
    [
        (["--json", "--format", "path"], "--json and --format path"),
        (["--jsonl", "--format", "path"], "--jsonl and --format path"),
        (["--json", "--jsonl"], "--json and --jsonl"),
    ],
)
def test_two_output_formats_are_refused(project, fails, options, names):
    assert (
        fails("bug.md", "--repo", project.path, *options)
        == f"{names} cannot be combined; choose one of them"
    )


def test_a_past_fix_has_its_web_address_without_a_password(project, localize_json):
    project.git("remote", "add", "origin", "https://me:secret@github.com/a/toy.git")
    hit = localize_json("bug.md")["hits"][0]
    [fix] = [reason for reason in hit["reasons"] if reason["kind"] == "fix"]
    assert fix["commit"] == project.commits[-1]
    assert fix["issue"] == "#7"
    assert fix["url"] == f"https://github.com/a/toy/commit/{project.commits[-1]}"


@pytest.mark.usefixtures("project")
def test_a_pipe_gets_plain_text(localize):
    lines, _ = localize("bug.md", "--top", "2")
    assert lines[0] == "bug  Parser drops the header"
    version = r"[0-9a-f]{10} \(\d{4}-\d\d-\d\d\)"
    scope = rf"4 files of {version}; 1 test file hidden \(--tests\)"
    assert re.fullmatch(scope, lines[1])
    assert re.fullmatch(r"1  +\d+%  src/parser\.py", lines[3])
    assert "\x1b" not in "".join(lines)


@pytest.mark.usefixtures("project")
def test_a_long_heading_is_cut_and_the_summary_is_not(folder, localize, localize_json):
    (folder / "long.md").write_text("parse_header " * 5_000)
    heading = localize("long.md")[0][0]
    assert len(heading) == 300
    assert heading.endswith("...")
    assert len(localize_json("long.md")["report"]["summary"]) == 64_999


NO_WORD = (
    "tosloc: no word of the report occurs in any file, so the files are ordered only by how often"
    " they change; add an error message, an identifier or a file name"
)


@pytest.mark.usefixtures("project")
def test_a_note_is_printed_once_for_several_answers(localize):
    assert localize("odd.md", "odd.md")[1] == [NO_WORD]


@pytest.mark.usefixtures("project")
def test_verbose_prints_informational_notes(localize, localize_json):
    notes = localize("odd.md", "-v")[1]
    assert NO_WORD in notes
    no_date = "tosloc: the report has no date, so it is treated as opened at "
    assert [note for note in notes if note.startswith(no_date)]
    assert [f"tosloc: {note}" for note in localize_json("odd.md")["notes"]] == notes[:-1]


@pytest.mark.usefixtures("project")
def test_shipped_weights_are_named_only_by_verbose(localize):
    assert (
        localize("bug.md", "bug.md", "-v")[1].count("tosloc: ranked with the shipped weights") == 1
    )
    assert not [note for note in localize("bug.md")[1] if "weights" in note]


@pytest.mark.usefixtures("project")
def test_json_names_shipped_weights(localize_json):
    assert localize_json("bug.md")["weights"] == {"kind": "shipped"}


@pytest.mark.usefixtures("project")
def test_trained_weights_are_named_only_by_verbose(localize, localize_json, monkeypatch):
    trained = Model(weights=Weights("trained", date(2026, 11, 26), 269, weak=True))
    monkeypatch.setattr("tosloc.localize.localizer.Model", lambda: trained)
    note = "tosloc: ranked with weights trained on 2026-11-26 from 269 commit messages"
    assert localize("bug.md", "bug.md", "-v")[1].count(note) == 1
    assert note not in localize("bug.md")[1]
    values = {"kind": "trained", "date": "2026-11-26", "reports": 269, "weak": True}
    assert localize_json("bug.md")["weights"] == values


@pytest.mark.parametrize(
    ("editor", "arguments"),
    [("vi -n", ["-n", "+2", "{file}"]), ("code -w", ["-w", "--goto", "{file}:2"])],
)
def test_open_runs_the_editor(project, folder, localize, monkeypatch, editor, arguments):
    script = folder / editor.split()[0]
    script.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {folder}/arguments\n')
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", editor)
    localize(folder / "bug.md", "--open")
    file = project.path / "src/parser.py"
    expected = [argument.format(file=file) for argument in arguments]
    assert (folder / "arguments").read_text().split() == expected


def test_open_without_an_answer_is_refused(project, tosloc):
    options = ["--open", "--repo", project.path, "--min-confidence", "1"]
    _, err = tosloc("localize", "bug.md", *options, code=2)
    assert "--open: the answer's first file is not in the work tree" in err


@pytest.mark.parametrize("editor", ["nowhere", "vim 'open"], ids=["missing", "open quotation"])
def test_open_without_an_editor_is_refused(project, tosloc, monkeypatch, editor):
    monkeypatch.setenv("VISUAL", editor)
    _, err = tosloc("localize", "bug.md", "--open", "--repo", project.path, code=2)
    assert "--open: no editor can be started" in err


@pytest.mark.parametrize("inside", [True, False], ids=["in the work tree", "elsewhere"])
def test_format_path_prints_locations_from_the_current_folder(
    project, folder, localize, monkeypatch, inside
):
    monkeypatch.chdir(project.path / "src" if inside else folder)
    lines, _ = localize(folder / "bug.md", "--format", "path")
    locations = [line.split(":", 3) for line in lines]
    assert locations[0][:3] == [os.path.relpath(project.path / "src/parser.py"), "2", "1"]
    assert re.fullmatch(r" Parser\.parse_header, \d+%", locations[0][3])
    assert all(Path(location[0]).is_file() for location in locations)


def test_format_path_prints_a_missing_file_from_the_root(project, localize):
    (project.path / "src/parser.py").unlink()
    lines, _ = localize("bug.md", "--format", "path", "--commit", "HEAD")
    assert lines[0].startswith("src/parser.py:2:1: ")


LOCALIZE = [sys.executable, "-m", "tosloc", "localize"]
ESCAPE_SEQUENCE = re.compile(r"\x1b\][^\x1b]*\x1b\\|\x1b\[[0-9;]*m")


def terminal_text(command, columns, folder, stderr=subprocess.DEVNULL, **environment):
    """Return what a command writes to a terminal of this width."""
    own_end, its_end = pty.openpty()
    termios.tcsetwinsize(own_end, (40, columns))
    variables = dict(os.environ)
    for name in ("NO_COLOR", "COLUMNS", "TERM"):
        variables.pop(name, None)
    variables |= {"TERM": "xterm-256color", "PYTHONPATH": str(ROOT)} | environment
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=its_end,
        stderr=stderr,
        cwd=folder,
        env=variables,
    ) as process:
        os.close(its_end)
        written = b""
        with suppress(OSError):  # The other end is closed.
            while block := os.read(own_end, 65536):
                written += block
    os.close(own_end)
    assert process.returncode == 0
    return written.decode()


@pytest.mark.slow
@pytest.mark.parametrize("columns", [50, 120])
def test_a_terminal_gets_colours_and_links(project, folder, columns):
    command = [*LOCALIZE, str(folder / "bug.md"), "--top", "2"]
    text = terminal_text(command, columns, project.path / "src")
    assert f"{(project.path / 'src/parser.py').as_uri()}\x1b\\" in text
    assert re.search(r"\x1b\[[0-9;]*3[0-7]m", text)
    lines = ESCAPE_SEQUENCE.sub("", text).replace("\r", "").splitlines()
    assert any(line.endswith("src/parser.py") for line in lines)
    for line in lines[2:]:
        assert len(line) <= columns
        assert line == line.rstrip()


@pytest.mark.slow
def test_no_color_turns_colours_off(project, folder):
    command = [*LOCALIZE, str(folder / "bug.md"), "--top", "2"]
    text = terminal_text(command, 80, project.path, NO_COLOR="1")
    assert not re.search(r"\x1b\[[0-9;]*3[0-7]m", text)


@pytest.mark.slow
def test_a_dumb_terminal_gets_no_escape_sequences(project, folder):
    command = [*LOCALIZE, str(folder / "bug.md"), "--top", "2"]
    assert "\x1b" not in terminal_text(command, 80, project.path, TERM="dumb")


@pytest.mark.slow
def test_bars_are_gone_before_an_answer_is_printed(project, folder):
    command = [*LOCALIZE, str(folder / "bug.md"), "--top", "1"]
    cache = str(folder / "new")
    text = terminal_text(command, 100, project.path, subprocess.STDOUT, TOSLOC_CACHE=cache)
    bars, answer = text.split("bug  Parser drops", 1)
    assert "reading history" in bars
    assert "reading history" not in answer
    # The answer begins in a line that was wiped.
    assert re.search(r"\x1b\[2K(\x1b\[[0-9;?]*[a-zA-Z])*$", bars)


# Lines of code


@pytest.mark.usefixtures("project")
def test_lines_of_code_are_shown(localize):
    lines, _ = localize("bug.md")
    assert any(re.fullmatch(r" {11,}\d+  .*", line) for line in lines)


@pytest.mark.usefixtures("project")
def test_lines_of_code_can_be_left_out(localize):
    lines, _ = localize("bug.md", "--code", "none")
    assert not any(re.fullmatch(r" {11,}\d+  .*", line) for line in lines)


@pytest.mark.usefixtures("project")
def test_body_of_the_first_function_can_be_shown(localize_json):
    first, *others = localize_json("bug.md", "--code", "body")["hits"]
    function = first["functions"][0]
    shown = [code_line["line"] for code_line in first["code"]]
    assert shown == list(range(function["start"], function["end"] + 1))
    assert all(len(hit["code"]) <= 3 for hit in others)


def test_a_line_of_code_is_what_the_file_contains(project, localize_json):
    hit = localize_json("bug.md")["hits"][0]
    text = project.git("show", f"HEAD:{hit['path']}").splitlines()
    assert hit["code"]
    for code_line in hit["code"]:
        assert text[code_line["line"] - 1] == code_line["text"]


# Clones that lack something


def clone(project, path, *options):
    project.git("config", "uploadpack.allowFilter", "true")
    url = f"file://{project.path}"
    subprocess.run(["git", "clone", "-q", *options, url, str(path)], check=True)


def notes_with(localize_json, word, path):
    """Return the notes on a repository that contain a word."""
    notes = localize_json("bug.md", "--repo", path)["notes"]
    return [note for note in notes if word in note]


@pytest.mark.slow
def test_a_shallow_clone_has_a_note_with_the_command(project, folder, localize_json):
    clone(project, folder / "shallow", "--depth", "1")
    [note] = notes_with(localize_json, "shallow", folder / "shallow")
    assert "git fetch --unshallow" in note
    assert "fetch-depth: 0" in note


@pytest.mark.slow
def test_a_partial_clone_has_a_note_with_the_command(project, folder, localize_json):
    path = folder / "partial"
    clone(project, path, "--bare", "--filter=blob:none")
    [note] = notes_with(localize_json, "partial", path)
    assert note.startswith(
        "5 files could not be read from the repository; they are ranked by their paths alone"
    )
    git, *arguments = note.rpartition(": ")[2].split()
    subprocess.run([git, "-C", str(path), *arguments], check=True)
    assert notes_with(localize_json, "partial", path) == []
