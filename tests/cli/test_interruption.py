"""Signals: one sentence, 130 or 143, nothing else printed, whatever becomes of what was raised."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Callable

import pytest

from tosloc.cli.guard import SENTENCE, guarded
from tosloc.errors import Interrupted, ToslocError

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
