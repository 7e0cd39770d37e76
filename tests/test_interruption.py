"""Signals: one sentence, 130 or 143, nothing else printed, whatever becomes of what was raised."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Callable

import pytest

from tosloc.cli.guard import guarded
from tosloc.errors import ToslocError
from tosloc.interruption import SENTENCE, Interrupted

SIGNALS = [(signal.SIGINT, 130), (signal.SIGTERM, 143)]


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
        return 0


def with_noise_on_the_way_out() -> int:
    try:
        return raised()
    finally:
        thread = threading.Thread(target=lambda: 1 / 0)
        thread.start()
        thread.join()
        print("something went wrong", file=sys.stderr)


@pytest.mark.parametrize(("number", "code"), SIGNALS)
def test_a_signal_is_a_sentence(number: int, code: int, capsys: pytest.CaptureFixture[str]) -> None:
    before = [signal.getsignal(number) for number, _ in SIGNALS]
    assert guarded(lambda: raised(number)) == code
    assert capsys.readouterr() == ("", SENTENCE + "\n")
    assert [signal.getsignal(number) for number, _ in SIGNALS] == before


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("run", [as_another_error, as_wrong_input, swallowed, with_noise_on_the_way_out])
def test_whatever_becomes_of_it(run: Callable[[], int], capsys: pytest.CaptureFixture[str]) -> None:
    assert guarded(run) == 130
    assert capsys.readouterr() == ("", SENTENCE + "\n")
    assert guarded(lambda: 0) == 0
    assert capsys.readouterr() == ("", "")


def test_elsewhere_than_in_the_main_thread(capsys: pytest.CaptureFixture[str]) -> None:
    codes: list[int] = []
    thread = threading.Thread(target=lambda: codes.append(guarded(lambda: 3)))
    thread.start()
    thread.join()
    assert codes == [3]


def program(body: str, before: str = "") -> subprocess.CompletedProcess[str]:
    """What a program does whose command has this body."""
    lines = "\n    ".join(body.strip().splitlines())
    text = (
        "import os, signal, sys, time\nfrom tosloc import interruption\nfrom tosloc.cli.guard import guarded\n"
        f"interruption.GRACE_SECONDS = 0.2\n{before}\ndef run():\n    {lines}\n    return 0\nsys.exit(guarded(run))\n"
    )
    return subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.slow
@pytest.mark.parametrize(
    "body",
    [
        # dropped in a destructor
        "class Dropping:\n    def __del__(self):\n        signal.raise_signal(signal.SIGTERM)\n"
        "Dropping()\nprint('went on')",
        # what was begun does not end
        "try:\n    signal.raise_signal(signal.SIGTERM)\nfinally:\n    time.sleep(60)",
        # another one on the way out
        "try:\n    signal.raise_signal(signal.SIGINT)\nfinally:\n    signal.raise_signal(signal.SIGTERM)",
        # one after the other, while it is said
        "interruption.tell = lambda text: print(text, file=sys.stderr) or signal.raise_signal(signal.SIGTERM)\n"
        "signal.raise_signal(signal.SIGTERM)",
    ],
    ids=["destructor", "no end", "second", "third"],
)
def test_it_ends_all_the_same(body: str) -> None:
    done = program(body, "interruption.end_at_signals()")
    assert (done.returncode, done.stdout, done.stderr) == (143, "", SENTENCE + "\n")


@pytest.mark.slow
def test_what_outlives_its_terminal_does_not_answer() -> None:
    done = program("signal.raise_signal(signal.SIGINT)", "signal.signal(signal.SIGINT, signal.SIG_IGN)")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.slow
@pytest.mark.parametrize(("arguments", "code"), [(["--version"], 0), (["nonsense"], 2)])
def test_while_the_process_ends(arguments: list[str], code: int) -> None:
    """Up to the last moment, when Python itself would end."""
    text = "import atexit, os, signal, sys\nfrom tosloc.__main__ import main\n{}\nsys.exit(main())"
    command = [sys.executable, "-c", text.format(""), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == code
    command[2] = text.format("def late():\n    os.kill(os.getpid(), signal.SIGTERM)")
    command[2] = command[2].replace("sys.exit(main())", "code = main()\natexit.register(late)\nsys.exit(code)")
    late = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (late.returncode, late.stdout) == (143, done.stdout)
    assert late.stderr == done.stderr + SENTENCE + "\n"
