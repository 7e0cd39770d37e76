import io

import pytest

from tosloc.cli.progress import shown
from tosloc.records import silent


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_silent_when_not_on_a_terminal() -> None:
    with shown(None, io.StringIO()) as callback:
        assert callback is silent
    with shown(False, Terminal()) as callback:
        assert callback is silent


def test_plain_lines_for_a_log(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([100.0, 100.0, 102.0, 150.0, 150.0, 151.0, 151.0])
    monkeypatch.setattr("tosloc.cli.progress.time.monotonic", lambda: next(times))
    log = io.StringIO()
    with shown(True, log) as callback:
        callback("facts", 0, 3600)
        callback("facts", 10, 3600)  # too soon for another line
        callback("facts", 100, 3600)
        callback("facts", 3600, 3600)
    assert log.getvalue().splitlines() == [
        "facts: 0/3600",
        "facts: 100/3600",
        "facts: 3600/3600",
    ]


def test_bars_on_a_terminal_show_what_and_how_many() -> None:
    screen = Terminal()
    with shown(None, screen) as callback:
        callback("facts", 0, 7)
        callback("facts", 7, 7)
        callback("unknown size", 3, 0)
    assert "facts" in screen.getvalue()
    assert "7/7" in screen.getvalue()
