"""What every command keeps to: exit codes, one sentence for what is wrong, help, progress, what cannot be written."""

from __future__ import annotations

import errno
import io
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures.process import BrokenProcessPool
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.cli.test_judging import GOOD, rows, write_split
from tests.conftest import GitRepository
from tosloc.answer import Answer, Searched
from tosloc.cli import main
from tosloc.cli.answers import print_answer
from tosloc.cli.guard import SENTENCE, guarded
from tosloc.cli.progress import shown
from tosloc.errors import Interrupted, StoreError, ToslocError
from tosloc.records import BugReport, Hit, Reason, silent

SIGNALS = [(signal.SIGINT, 130), (signal.SIGTERM, 143)]
FULL = "no room left on the disk; make room and run the same command again to go on"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["localize", "--top", "x"], "Invalid value for '--top'"),
        (["index", "--stor", "x"], "No such option: --stor"),
        (["nope"], "No such command 'nope'; see: tosloc --help"),
        (["evaluate", "nowhere", "--split", "tset"], "Invalid value for '--split'"),
        (["localize", "x", "--top", "0"], "Invalid value for '--top'"),
        (["train", "--out", __file__], "Invalid value for '--out'"),
        (["train", "nowhere.toml", "--out", "o"], "nowhere.toml: cannot read"),
        (["compare"], "Missing argument 'RUN'; see: tosloc compare --help"),
        (["lab", "rank", "--out", "x"], "Missing option '--projects'"),
        (["lab", "data", "--projects", "p.toml"], "p.toml: cannot read the projects: No such file or directory"),
        (["lab", "reproduce-check", "--depth", "9" * 5000], "Invalid value for '--depth'"),
    ],
)
def test_options_that_do_not_fit(words: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    [line] = printed.err.splitlines()
    assert line.startswith(f"tosloc: {says}")
    assert len(line) < 2_100


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (
            StoreError("facts.db: made by a newer TosLoc;\nname another"),
            "facts.db: made by a newer TosLoc; name another",
        ),
        (OSError(errno.ENOSPC, "No space left on device", "/x/facts.db"), f"/x/facts.db: {FULL}"),
        (PermissionError(errno.EACCES, "Permission denied", "/x"), "/x: Permission denied"),
        (ToslocError("a\x1b[31mb"), r"a\x1b[31mb"),
        (ToslocError("a\r\nb\x0bc\u2028d"), "a b c d"),
        (ToslocError("half \ud800"), r"half \ud800"),
        (BrokenProcessPool(), "a worker process was killed, most likely for its memory; set a lower jobs in [run]"),
        (MemoryError(), "the memory is not enough for this; free some, or ask for less at once"),
    ],
)
def test_an_error_is_one_sentence(capsys: pytest.CaptureFixture[str], error: BaseException, sentence: str) -> None:
    def run() -> int:
        raise error

    assert guarded(run) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    [line] = printed.err.splitlines()
    assert line.startswith(f"tosloc: {sentence}")
    assert line.isprintable()


def test_our_own_mistakes_are_not_hidden() -> None:
    with pytest.raises(ZeroDivisionError):
        guarded(lambda: 1 // 0)


def raised(number: int = signal.SIGINT) -> int:
    signal.raise_signal(number)
    return 0


def as_another_error() -> int:
    try:
        return raised()
    except Interrupted:
        raise ImportError("a module that was cut short") from None


def as_wrong_input() -> int:
    try:
        return raised()
    except Interrupted:
        raise ToslocError("git has ended") from None


def swallowed() -> int:
    try:
        return raised()
    except Interrupted:
        print("something went wrong", file=sys.stderr)
        return 0


@pytest.mark.parametrize(("number", "code"), SIGNALS)
def test_a_signal_is_a_sentence(number: int, code: int, capsys: pytest.CaptureFixture[str]) -> None:
    before = [signal.getsignal(number) for number, _ in SIGNALS]
    assert guarded(lambda: raised(number)) == code
    assert capsys.readouterr() == ("", SENTENCE + "\n")
    assert [signal.getsignal(number) for number, _ in SIGNALS] == before


@pytest.mark.parametrize("run", [as_another_error, as_wrong_input, swallowed])
def test_whatever_becomes_of_it(run: Callable[[], int], capsys: pytest.CaptureFixture[str]) -> None:
    assert guarded(run) == 130
    assert capsys.readouterr() == ("", SENTENCE + "\n")


def test_elsewhere_than_in_the_main_thread() -> None:
    codes: list[int] = []
    thread = threading.Thread(target=lambda: codes.append(guarded(lambda: 3)))
    thread.start()
    thread.join()
    assert codes == [3]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "body", "code"),
    [
        ("", "try:\n        signal.raise_signal(2)\n    finally:\n        signal.raise_signal(15)", 143),
        ("signal.signal(2, signal.SIG_IGN)", "signal.raise_signal(2)", 0),
    ],
    ids=["a second one on the way out", "what outlives its terminal"],
)
def test_in_a_process(before: str, body: str, code: int) -> None:
    text = f"import signal, sys\nfrom tosloc.cli.guard import guarded\n{before}\ndef run():\n    {body}\n    return 0\n"
    done = subprocess.run(
        [sys.executable, "-c", f"{text}sys.exit(guarded(run))"], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (code, "", SENTENCE + "\n" if code else "")


LONG = "java/org/apache/catalina/core/deeply/nested/packages/of/a/large/project/StandardContext.java"


def test_a_table_keeps_paths_whole_and_controls_out(capsys: pytest.CaptureFixture[str]) -> None:
    hits = (
        Hit(1, LONG, 2.5, 0.9, (), (Reason("frame", "first frame of the trace"), Reason("words", "start " * 20))),
        Hit(2, "caf\udce9/[bold]\x1b.java", 0.25, 0.1),
        Hit(3, "C.java", -1.0, 0.0),
    )
    when, report = datetime(2014, 1, 15, 7, 30, tzinfo=UTC), BugReport("bug", "Context does not start", "", None)
    print_answer(Answer("there", "c" * 40, when, report, Searched(2, 1), hits))
    lines = capsys.readouterr().out.splitlines()
    assert lines[:4] == [
        "bug: Context does not start",
        "2 files of cccccccccc, 2014-01-15; 1 test file hidden (--tests)",
        f"1   90%  {LONG}",
        "    first frame of the trace",
    ]
    assert lines[5:] == ["2   10%  caf\\xe9/[bold]\\x1b.java", "3    0%  C.java"]


def test_index_and_data_print_counts(
    repository: GitRepository, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def printed(*arguments: str) -> str:
        assert main([*arguments]) == 0
        return capsys.readouterr().out

    repository.commit({"src/A.java": "class A {}"})
    fix = repository.commit({"src/A.java": "class A { int x; }", "B.java": "class B {}"})
    line = {"id": "1", "summary": "s", "description": "d", "opened": "2001-01-01T00:00:00Z", "fix_commit": fix}
    (tmp_path / "bugs.jsonl").write_text(json.dumps({**line, "fixed": ["src/A.java", "B.java"]}) + "\n")
    monkeypatch.chdir(repository.path / "src")  # the repository around the folder
    data = ["data", "--repo", str(repository.path), "--reports", str(tmp_path / "bugs.jsonl")]
    first = json.loads(printed(*data, "--json"))[0]
    assert (first["part"], first["reports"], first["listed"], first["existing"]) == ("all", 1, 2, 1)
    table = rows(printed(*data))
    assert table[1] == ["part", "all", "train", "validation", "test"]
    assert ["listed", "2"] in [row[:2] for row in table]
    assert json.loads(printed("index", "--commit", "HEAD~1", "--json"))["added"] == 1
    assert ["added", "2"] in [row[:2] for row in rows(printed("index"))]
    assert ["known", "2"] in rows(printed("index"))


def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == "tosloc 0.1.0\n"
    assert main(["--help"]) == 0
    printed = capsys.readouterr().out
    for name in ("localize", "index", "train", "rank", "evaluate", "compare", "data"):
        assert f"\n  {name} " in printed
        assert main([name, "--help"]) == 0
    capsys.readouterr()
    assert main(["lab", "train-encoder", "--help"]) == 0
    printed = capsys.readouterr().out
    assert "with [stage_two]" in " ".join(printed.split())  # no markup of a library's that is taken away
    assert "│" not in printed


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.slow
def test_output_that_cannot_be_written(tmp_path: Path) -> None:
    write_split(tmp_path / "test", GOOD)
    command = [sys.executable, "-m", "tosloc", "evaluate", str(tmp_path), "--json"]
    reader, writer = os.pipe()
    os.close(reader)
    closed = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert (closed.returncode, closed.stderr) == (1, "")
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, f"tosloc: {FULL}\n")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_is_bars_on_a_terminal_and_else_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with shown() as callback:
        assert callback is silent
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    with shown() as callback:
        callback("facts", 0, 7)
        callback("facts", 7, 7)
        callback("unknown size", 3, 0)
    assert "facts" in screen.getvalue()
    assert "7/7" in screen.getvalue()
