"""What all commands have in common: exit codes, error sentences, help, progress, broken output."""

import errno
import io
import json
import os
import shlex
import signal
import subprocess
import sys
import threading
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from pathlib import Path

import pytest

from tests.cli.test_judging import GOOD, rows, write_split
from tests.waiting import wait_until
from tosloc import __version__
from tosloc.cli.guard import INTERRUPTED_SENTENCE, run_guarded
from tosloc.core.errors import Interrupted, ToslocError
from tosloc.core.progress import TimeLeft, announce
from tosloc.terminal import printing
from tosloc.terminal.printing import MAX_LINE_WIDTH, make_console, progress_bars

DISK_FULL = (
    "there is no space left on the disk; free some, and run the same command again to continue"
)
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["index", "--stor", "x"], "No such option: --stor"),
        (["nope"], "there is no command or file 'nope'; if this is the text of a report, run:"),
        (["localise"], "No such command 'localise'"),
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
    ids=[
        "unknown option",
        "unknown command",
        "misspelt command",
        "wrong choice",
        "too small",
        "folder as file",
        "file as folder",
        "missing argument",
        "missing file",
        "huge number",
    ],
)
def test_a_wrong_option_is_one_short_sentence(words, message, fails):
    sentence = fails(*words)
    assert sentence.startswith(message)
    assert len(sentence) < 2_100


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (
            OSError(errno.ENOSPC, "No space left on device", "/x/facts.db"),
            f"/x/facts.db: {DISK_FULL}",
        ),
        (PermissionError(errno.EACCES, "Permission denied", "/x"), "/x: Permission denied"),
        (ToslocError("a\x1b[31mb\r\nb\x0bc\u2028d \ud800"), r"a\x1b[31mb b c d \ud800"),
        (
            BrokenProcessPool(),
            "a worker process was killed, most likely because memory ran out; set jobs in [run]",
        ),
        (MemoryError(), "there is not enough memory; free some, or ask for less at once"),
    ],
    ids=["disk full", "permission", "control characters", "killed worker", "memory"],
)
def test_an_error_is_one_sentence(capsys, error, sentence):
    def run():
        raise error

    assert run_guarded(run) == 2
    out, err = capsys.readouterr()
    assert out == ""
    [line] = err.splitlines()
    assert line.startswith(f"tosloc: {sentence}")
    assert line.isprintable()


def test_an_error_in_the_program_is_not_hidden():
    with pytest.raises(ZeroDivisionError):
        run_guarded(lambda: 1 // 0)


def interrupt(number=signal.SIGINT):
    signal.raise_signal(number)
    return 0


def swallow_interruption(then=None):
    """Interrupt a library that prints something, or raises another error."""
    try:
        return interrupt()
    except Interrupted:
        if then is not None:
            raise then from None
        print("something went wrong", file=sys.stderr)
        return 0


@pytest.mark.parametrize(
    ("run", "code"),
    [
        (partial(interrupt, signal.SIGTERM), 143),
        (swallow_interruption, 130),
        (partial(swallow_interruption, ImportError("cut short")), 130),
    ],
    ids=["raised", "swallowed", "replaced"],
)
def test_a_signal_is_one_sentence_whatever_becomes_of_it(run, code, capsys):
    numbers = (signal.SIGINT, signal.SIGTERM)
    handlers = [signal.getsignal(number) for number in numbers]
    assert run_guarded(run) == code
    assert capsys.readouterr() == ("", f"{INTERRUPTED_SENTENCE}\n")
    assert [signal.getsignal(number) for number in numbers] == handlers


INTERRUPTED_TWICE = """
import signal, sys
from tosloc.cli.guard import run_guarded
def run():
    try:
        signal.raise_signal(signal.SIGINT)
    finally:
        signal.raise_signal(signal.SIGTERM)
sys.exit(run_guarded(run))
"""
IGNORES_SIGNALS = """
import signal, sys
from tosloc.cli.guard import run_guarded
signal.signal(signal.SIGINT, signal.SIG_IGN)
def run():
    signal.raise_signal(signal.SIGINT)
    return 0
sys.exit(run_guarded(run))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "code", "err"),
    [(INTERRUPTED_TWICE, 143, f"{INTERRUPTED_SENTENCE}\n"), (IGNORES_SIGNALS, 0, "")],
    ids=["a second one on the way out", "an ignored one"],
)
def test_a_signal_in_a_process(program, code, err):
    command = [sys.executable, "-c", program]
    process = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert process.returncode == code
    assert process.stdout == ""
    assert process.stderr == err


@pytest.fixture
def two_commits(repository, tmp_path, monkeypatch):
    """Make a repository with a fix the current one; return the options that name its report."""
    repository.commit({"src/A.java": "class A {}"})
    fix = repository.commit({"src/A.java": "class A { int x; }", "B.java": "class B {}"})
    record = {
        "id": "1",
        "summary": "s",
        "description": "d",
        "opened": "2001-01-01T00:00:00Z",
        "fix_commit": fix,
        "fixed": ["src/A.java", "B.java"],
    }
    (tmp_path / "bugs.jsonl").write_text(json.dumps(record) + "\n")
    monkeypatch.chdir(repository.path / "src")
    return ["--reports", tmp_path / "bugs.jsonl"]


def test_data_prints_counts_as_json(two_commits, tosloc):
    counts = json.loads(tosloc("data", *two_commits, "--json")[0])[0]
    assert counts["part"] == "all"
    assert counts["reports"] == 1
    assert counts["listed"] == 2
    assert counts["existing"] == 1


def test_data_prints_counts_as_a_table(two_commits, tosloc):
    table = rows(tosloc("data", *two_commits)[0])
    assert table[1] == ["part", "all", "train", "validation", "test"]
    assert ["source", "files", "listed", "as", "fixed", "2"] in [row[:6] for row in table]


def test_data_says_which_files_it_counts_and_how_many_reports_are_weak(two_commits, tosloc):
    out, err = tosloc("data", *two_commits, "--json")
    assert json.loads(out)[0]["weak"] == 0
    assert err.startswith("tosloc: source files are .java files: at least a tenth")


@pytest.mark.usefixtures("two_commits")
def test_index_prints_counts(tosloc):
    assert json.loads(tosloc("index", "--commit", "HEAD~1", "--json")[0])["added"] == 1
    assert ["indexed", "now", "2"] in rows(tosloc("index")[0])


@pytest.mark.parametrize("option", ["--version", "-V"])
def test_version_is_printed(tosloc, option):
    assert tosloc(option)[0] == f"tosloc {__version__}\n"


@pytest.mark.parametrize("color", ["always", "never"])
def test_colours_can_be_chosen(tosloc, two_commits, monkeypatch, color):
    monkeypatch.setenv("FORCE_COLOR", "")
    monkeypatch.setenv("NO_COLOR", "")
    out, _ = tosloc("--color", color, "localize", "The cart is empty")
    assert ("\x1b[" in out) == (color == "always")


def test_a_report_without_a_command_is_localized(tosloc, two_commits, tmp_path):
    report = tmp_path / "bug.md"
    report.write_text("The cart is empty")
    assert "files of" in tosloc("The cart is empty", "--top", "1")[0]
    assert "files of" in tosloc(report)[0]


COMMANDS = ("localize", "index", "train", "rank", "evaluate", "compare", "data")


def test_python_searches_no_garbage_when_it_ends():
    program = (
        "import atexit, gc, sys; sys.argv[1:] = ['--version']\n"
        "atexit.register(lambda: print(gc.get_freeze_count() > 0, len(gc.get_objects()) < 100))\n"
        "from tosloc.__main__ import main; sys.exit(main())"
    )
    command = [sys.executable, "-P", "-c", program]
    output = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    assert output.splitlines()[-1] == "True True"


def test_help_lists_commands_under_headings(tosloc):
    text = tosloc("--help")[0]
    headings = [line for line in text.splitlines() if line.endswith(":")]
    assert headings[1:4] == ["Localize:", "Learn from your project:", "Evaluate and compare:"]
    for name in (*COMMANDS, "lab"):
        assert f"\n  {name} " in text


@pytest.mark.parametrize("group", ["bisect", "lab", "cache", "mcp"])
def test_help_shows_whole_sentences_about_commands(tosloc, group):
    text = tosloc(group, "--help")[0]
    assert "..." not in text.partition("Commands:")[2]


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_a_command_has_an_example(tosloc, name):
    assert "\n  Example: tosloc" in tosloc(name, "--help")[0]


def test_a_group_without_a_command_prints_its_commands(tosloc):
    assert "reproduce-check" in tosloc("lab", code=2)[1]


def run_evaluate(tmp_path, standard_output):
    """Run ``evaluate`` with a file descriptor as standard output, and close that."""
    write_split(tmp_path / "test", GOOD)
    command = [sys.executable, "-m", "tosloc", "evaluate", str(tmp_path), "--json"]
    process = subprocess.run(
        command, stdout=standard_output, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(standard_output)
    return process


@pytest.mark.slow
def test_a_closed_pipe_ends_a_command_without_a_word(tmp_path):
    reader, writer = os.pipe()
    os.close(reader)
    process = run_evaluate(tmp_path, writer)
    assert process.returncode == 1
    assert process.stderr == ""


@pytest.mark.slow
def test_output_to_a_full_disk_is_one_sentence(tmp_path):
    process = run_evaluate(tmp_path, os.open("/dev/full", os.O_WRONLY))
    assert process.returncode == 2
    assert process.stderr == f"tosloc: {DISK_FULL}\n"


def replace_stderr(monkeypatch):
    """Replace standard error and return the new one.

    A fixture cannot do that, because pytest replaces standard error again when the test begins.
    """
    text = io.StringIO()
    monkeypatch.setattr(sys, "stderr", text)
    return text


def test_progress_is_bars_on_a_terminal(monkeypatch):
    screen = replace_stderr(monkeypatch)
    screen.isatty = lambda: True
    with progress_bars() as callback:
        callback("facts", 0, 7)
        callback("facts", 7, 7)
        callback("unknown size", 3, 0)
    assert "facts" in screen.getvalue()
    assert "100%" in screen.getvalue()


def test_short_work_prints_no_progress_elsewhere(monkeypatch):
    screen = replace_stderr(monkeypatch)
    with progress_bars() as callback:
        callback("facts", 7, 7)
    assert screen.getvalue() == ""


@pytest.mark.parametrize("is_terminal", [True, False], ids=["terminal", "file"])
def test_announcements_are_printed_at_once(monkeypatch, is_terminal):
    screen = replace_stderr(monkeypatch)
    screen.isatty = lambda: is_terminal
    with progress_bars() as callback:
        announce(callback, "epoch 1: loss 0.5\x1b")
        assert screen.getvalue().endswith("tosloc: epoch 1: loss 0.5\\x1b\n")


def test_long_work_prints_progress_lines_elsewhere(monkeypatch):
    screen = replace_stderr(monkeypatch)
    monkeypatch.setattr(printing, "SECONDS_BETWEEN_PROGRESS_LINES", 0.05)

    def wait_for(line):
        wait_until(lambda: f"tosloc: {line}\n" in screen.getvalue())

    threads = set(threading.enumerate())
    with progress_bars() as callback:
        wait_for("still working")
        callback("analysing", 1_300, 2_600)
        wait_for("analysing, 1,300 of 2,600")
        callback("reading\x1b", 3, 0)
        wait_for("reading\\x1b, 3")
    # Nothing more is printed once the thread that prints has ended.
    # Threads of other tests may end meanwhile.
    wait_until(lambda: threads.issuperset(threading.enumerate()))


@pytest.mark.parametrize("is_terminal", [True, False], ids=["terminal", "file"])
def test_progress_shows_the_time_that_is_left(monkeypatch, is_terminal):
    screen = replace_stderr(monkeypatch)
    screen.isatty = lambda: is_terminal
    monkeypatch.setattr(printing, "SECONDS_BETWEEN_PROGRESS_LINES", 0.05)
    seconds = iter([0.0, 10.0])
    monkeypatch.setattr(printing, "TimeLeft", lambda: TimeLeft(lambda: next(seconds)))
    with progress_bars() as callback:
        callback("indexing files", 500, 2_500)
        callback("indexing files", 600, 2_500)
        wait_until(lambda: "about 4 min left" in screen.getvalue())


def run_localize(folder, redirections="", **environment):
    """Return the output of ``tosloc localize`` in a shell, with redirections and variables."""
    program = f"{shlex.quote(sys.executable)} -m tosloc"
    command = f"{program} localize 'parse_header drops the café' {redirections}"
    process = subprocess.run(
        ["sh", "-c", command],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT)} | environment,
        capture_output=True,
        check=False,
    )
    assert b"Traceback" not in process.stderr
    assert process.returncode == 0
    return process.stdout.decode()


@pytest.fixture
def small_project(repository, plain_folder):
    """Create a repository of two files and return its path."""
    repository.commit({"parser.py": "def parse_header(): pass\n", "café.py": "x = 1\n"}, "Begin")
    return repository.path


@pytest.mark.slow
@pytest.mark.parametrize(
    "columns",
    ["0", "1", "-3", "9" * 12, "9" * 5_000, "\u00b2", "wide"],
    ids=["0", "1", "negative", "12 digits", "5,000 digits", "superscript", "word"],
)
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
    assert "parser.py" in run_localize(small_project, closed)


@pytest.mark.slow
def test_without_standard_streams_no_file_gets_the_answer(small_project, tmp_path):
    cache = str(tmp_path / "new")
    assert run_localize(small_project, "<&- >&- 2>&-", TOSLOC_CACHE=cache) == ""
    files = [path for path in tmp_path.glob("new/**/*") if path.is_file()]
    assert files
    for path in files:
        assert b"parser.py  " not in path.read_bytes()
    assert "parser.py" in run_localize(small_project, TOSLOC_CACHE=cache)


@pytest.mark.slow
@pytest.mark.parametrize(
    "environment",
    [{"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}],
    ids=["encoding", "locale"],
)
def test_characters_that_an_encoding_lacks_are_escaped(small_project, environment):
    lines = run_localize(small_project, "--include 'caf*'", **environment)
    assert "caf\\xe9.py" in lines
    assert lines.isascii()


WARNS = """
import warnings
from tosloc.cli.guard import run_guarded
run_guarded(lambda: warnings.warn('mended') or 0)
"""


@pytest.mark.slow
def test_a_warning_is_one_sentence():
    command = [sys.executable, "-P", "-c", WARNS]
    process = subprocess.run(command, capture_output=True, text=True, check=True)
    assert process.stderr == "tosloc: mended\n"
