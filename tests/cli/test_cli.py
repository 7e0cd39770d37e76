"""What every command keeps to: exit codes, one sentence for what is wrong, help, progress, what cannot be written."""

import errno
import io
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from concurrent.futures.process import BrokenProcessPool
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest

from tests.cli.test_judging import GOOD, rows, write_split
from tosloc.cli import printing
from tosloc.cli.answers import print_answer
from tosloc.cli.guard import INTERRUPTED_SENTENCE, run_guarded
from tosloc.cli.printing import MAX_LINE_WIDTH, make_console, progress_bars
from tosloc.core.errors import Interrupted, ToslocError
from tosloc.core.records import BugReport, Hit, Reason
from tosloc.localize.answer import Answer, SearchScope

FULL = "no room left on the disk; make room and run the same command again to go on"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["index", "--stor", "x"], "No such option: --stor"),
        (["nope"], "No such command 'nope'; see: tosloc --help"),
        (["evaluate", "nowhere", "--split", "tset"], "Invalid value for '--split'"),
        (["localize", "x", "--top", "0"], "Invalid value for '--top'"),
        (["localize", "x", "--html", "/"], "Invalid value for '--html'"),
        (["train", "--out", __file__], "Invalid value for '--out'"),
        (["compare"], "Missing argument 'RUN'; see: tosloc compare --help"),
        (
            ["lab", "pretrain", "--projects", "p.toml"],
            "p.toml: cannot read the projects: No such file or directory",
        ),
        (["lab", "reproduce-check", "--depth", "9" * 5000], "Invalid value for '--depth'"),
    ],
)
def test_options_that_do_not_fit(words, says, fails):
    line = fails(*words)
    assert (line[: len(says)], len(line) < 2_100) == (says, True)


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (OSError(errno.ENOSPC, "No space left on device", "/x/facts.db"), f"/x/facts.db: {FULL}"),
        (PermissionError(errno.EACCES, "Permission denied", "/x"), "/x: Permission denied"),
        (ToslocError("a\x1b[31mb\r\nb\x0bc\u2028d \ud800"), r"a\x1b[31mb b c d \ud800"),
        (
            BrokenProcessPool(),
            "a worker process was killed, most likely for its memory; set a lower jobs in [run]",
        ),
        (MemoryError(), "the memory is not enough for this; free some, or ask for less at once"),
    ],
)
def test_an_error_is_one_sentence(capsys, error, sentence):
    def run():
        raise error

    assert run_guarded(run) == 2
    printed = capsys.readouterr()
    [line] = printed.err.splitlines()
    assert (printed.out, line.startswith(f"tosloc: {sentence}"), line.isprintable()) == (
        "",
        True,
        True,
    )
    with pytest.raises(ZeroDivisionError):  # our own mistakes are not hidden
        run_guarded(lambda: 1 // 0)


def raised(number=signal.SIGINT):
    signal.raise_signal(number)
    return 0


def swallowed(then=None):
    try:
        return raised()
    except Interrupted:
        if then is not None:
            raise then from None
        print("something went wrong", file=sys.stderr)
        return 0


@pytest.mark.parametrize(
    ("run", "code"),
    [
        (partial(raised, signal.SIGTERM), 143),
        (swallowed, 130),
        (partial(swallowed, ImportError("cut short")), 130),
    ],
)
def test_a_signal_is_a_sentence_whatever_becomes_of_it(run, code, capsys):
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    assert run_guarded(run) == code
    assert capsys.readouterr() == ("", INTERRUPTED_SENTENCE + "\n")
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "body", "code"),
    [
        (
            "",
            "try:\n        signal.raise_signal(2)\n    finally:\n        signal.raise_signal(15)",
            143,
        ),
        ("signal.signal(2, signal.SIG_IGN)", "signal.raise_signal(2)", 0),
    ],
    ids=["a second one on the way out", "what outlives its terminal"],
)
def test_in_a_process(before, body, code):
    text = f"import signal, sys\nfrom tosloc.cli.guard import run_guarded\n{before}\ndef run():\n    {body}\n    return 0\n"
    command = [sys.executable, "-c", f"{text}sys.exit(run_guarded(run))"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (
        code,
        "",
        INTERRUPTED_SENTENCE + "\n" if code else "",
    )


def test_an_answer_keeps_paths_whole_and_controls_out(capsys):
    long, when = (
        f"java/org/{'deeply/nested/' * 9}StandardContext.java",
        datetime(2014, 1, 15, tzinfo=UTC),
    )
    hits = (
        Hit(1, long, 2.5, 0.9, why=(Reason("words", "start " * 20),)),
        Hit(2, "caf\udce9/[bold]\x1b.java", 0.25, 0.1),
    )
    report = BugReport("bug", "Context\x1b does not start", "", None)
    print_answer(Answer("there", "c" * 40, when, report, SearchScope(2, 1), hits))
    assert capsys.readouterr().out.splitlines() == [
        "bug: Context\\x1b does not start",
        "2 files of cccccccccc, 2014-01-15; 1 test file hidden (--tests)",
        f"1   90%  {long}",
        f"    {'start ' * 20}".rstrip(),
        "2   10%  caf\\xe9/[bold]\\x1b.java",
    ]


def test_index_and_data_print_counts(repository, tmp_path, tosloc, monkeypatch):
    repository.commit({"src/A.java": "class A {}"})
    fix = repository.commit({"src/A.java": "class A { int x; }", "B.java": "class B {}"})
    line = {
        "id": "1",
        "summary": "s",
        "description": "d",
        "opened": "2001-01-01T00:00:00Z",
        "fix_commit": fix,
    }
    (tmp_path / "bugs.jsonl").write_text(
        json.dumps({**line, "fixed": ["src/A.java", "B.java"]}) + "\n"
    )
    monkeypatch.chdir(repository.path / "src")  # the repository around the folder
    data = f"data --reports {tmp_path}/bugs.jsonl"
    first = json.loads(tosloc(*f"{data} --json".split())[0])[0]
    assert (first["part"], first["reports"], first["listed"], first["existing"]) == ("all", 1, 2, 1)
    table = rows(tosloc(*data.split())[0])
    assert table[1] == ["part", "all", "train", "validation", "test"]
    assert ["listed", "2"] in [row[:2] for row in table]
    assert json.loads(tosloc(*"index --commit HEAD~1 --json".split())[0])["added"] == 1
    assert ["added", "2"] in rows(tosloc(*"index".split())[0])


def test_version_and_help(tosloc):
    assert tosloc("--version")[0] == "tosloc 0.1.0\n"
    listed = tosloc("--help")[0]
    headings = [line for line in listed.splitlines() if line.endswith(":")]
    assert headings[1:4] == ["Localize:", "Learn from your project:", "Judge and compare:"]
    for name in ("localize", "index", "train", "rank", "evaluate", "compare", "data", "lab"):
        assert f"\n  {name} " in listed
        assert name == "lab" or "\n  Example: tosloc" in tosloc(name, "--help")[0]
    assert "reproduce-check" in tosloc("lab", code=2)[1]


@pytest.mark.slow
def test_output_that_cannot_be_written(tmp_path):
    write_split(tmp_path / "test", GOOD)
    command = [sys.executable, "-m", "tosloc", "evaluate", str(tmp_path), "--json"]
    reader, writer = os.pipe()
    os.close(reader)
    for descriptor, code, says in (
        (writer, 1, ""),
        (os.open("/dev/full", os.O_WRONLY), 2, f"tosloc: {FULL}\n"),
    ):
        done = subprocess.run(
            command, stdout=descriptor, stderr=subprocess.PIPE, text=True, check=False
        )
        os.close(descriptor)
        assert (done.returncode, done.stderr) == (code, says)


def screen_of(monkeypatch):
    """What standard error shows from now on."""
    text = io.StringIO()
    monkeypatch.setattr(sys, "stderr", text)
    return text


def test_progress_is_bars_on_a_terminal(monkeypatch):
    screen = screen_of(monkeypatch)
    screen.isatty = lambda: True
    with progress_bars() as callback:
        callback("facts", 0, 7)
        callback("facts", 7, 7)
        callback("unknown size", 3, 0)
    assert "facts" in screen.getvalue()
    assert "100%" in screen.getvalue()


def test_short_work_says_nothing_elsewhere(monkeypatch):
    screen = screen_of(monkeypatch)
    with progress_bars() as callback:
        callback("facts", 7, 7)
    assert screen.getvalue() == ""


def test_long_work_says_elsewhere_how_far_it_is(monkeypatch):
    screen = screen_of(monkeypatch)
    monkeypatch.setattr(printing, "SECONDS_BETWEEN_PROGRESS_LINES", 0.05)

    def wait_for(line):
        until = time.monotonic() + 30
        while f"tosloc: {line}\n" not in screen.getvalue() and time.monotonic() < until:
            time.sleep(0.01)
        assert f"tosloc: {line}\n" in screen.getvalue()

    with progress_bars() as callback:
        wait_for("still at work")  # before a step has said anything
        callback("analysing", 1_300, 2_600)
        wait_for("analysing, 1,300 of 2,600")
        callback("reading\x1b", 3, 0)
        wait_for("reading\\x1b, 3")
    said = screen.getvalue()
    time.sleep(0.2)
    assert screen.getvalue() == said


def run_localize(place, before="", after="", **environment):
    """Output of ``tosloc localize`` in a shell that closes streams, or sets the environment."""
    command = f"{before} {shlex.quote(sys.executable)} -m tosloc localize 'parse_header drops the café' {after}"
    known = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])} | environment
    done = subprocess.run(
        ["sh", "-c", command], cwd=place, env=known, capture_output=True, check=False
    )
    assert b"Traceback" not in done.stderr
    assert done.returncode == 0
    return done.stdout.decode()


@pytest.fixture
def small_project(repository, plain_folder):
    repository.commit({"parser.py": "def parse_header(): pass\n", "café.py": "x = 1\n"}, "Begin")
    return repository.path


@pytest.mark.slow
@pytest.mark.parametrize("columns", ["0", "1", "-3", "9" * 12, "9" * 5_000, "\u00b2", "wide"])
def test_an_answer_is_printed_whatever_the_width(small_project, columns):
    assert "parser.py" in run_localize(small_project, COLUMNS=columns, LINES=columns)


@pytest.mark.parametrize(
    ("columns", "width"), [("0", 80), ("1", 20), ("100", 100), ("9" * 9, MAX_LINE_WIDTH)]
)
def test_a_console_is_never_too_narrow(monkeypatch, columns, width):
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setattr("os.get_terminal_size", lambda _: os.terminal_size((80, 24)))
    assert make_console().width == width


@pytest.mark.slow
@pytest.mark.parametrize("closed", ["2>&-", "<&-", "<&- 2>&-"])
def test_an_answer_is_printed_without_the_other_streams(small_project, closed):
    assert "parser.py" in run_localize(small_project, after=closed)


@pytest.mark.slow
def test_nothing_is_printed_into_a_file_without_standard_streams(small_project, tmp_path):
    assert (
        run_localize(small_project, after="<&- >&- 2>&-", TOSLOC_CACHE=str(tmp_path / "new")) == ""
    )
    assert not [
        path
        for path in tmp_path.glob("new/**/*")
        if path.is_file() and b"parser.py  " in path.read_bytes()
    ]
    assert "parser.py" in run_localize(small_project, TOSLOC_CACHE=str(tmp_path / "new"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "environment",
    [{"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}],
)
def test_what_an_encoding_lacks_is_escaped(small_project, environment):
    lines = run_localize(small_project, after="--include 'caf*'", **environment)
    assert "caf\\xe9.py" in lines
    assert lines.isascii()


@pytest.mark.slow
def test_a_warning_is_one_sentence():
    said = "import warnings; from tosloc.cli.guard import run_guarded; run_guarded(lambda: warnings.warn('mended') or 0)"
    done = subprocess.run(
        [sys.executable, "-P", "-c", said], capture_output=True, text=True, check=True
    )
    assert done.stderr == "tosloc: mended\n"
