"""One sentence for what is wrong, whatever the input, the command line or a signal put into it."""

from __future__ import annotations

import errno
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures.process import BrokenProcessPool

import pytest

from tosloc.cli import main
from tosloc.cli.guard import SENTENCE, guarded
from tosloc.errors import Interrupted, StoreError, ToslocError

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
        (["evaluate"], "Missing argument 'RUN'; see: tosloc evaluate --help"),
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
