"""An answer in few characters: paths stay, reasons and functions go first."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from tosloc.answer import Answer, Routine, Searched
from tosloc.mcp.text import explained, short
from tosloc.records import BugReport, Function, Hit, Reason

COMMIT = "0123456789abcdef0123456789abcdef01234567"
UNTOLD = (Routine("the report has no date; it is asked as if ..."),)
DAY = datetime(2024, 5, 6, tzinfo=UTC)


def answer(files: int = 5, functions: int = 3, letters: int = 40) -> Answer:
    hits = tuple(
        Hit(
            rank,
            f"src/package/module_{rank}.py",
            1.0 / rank,
            0.5 / rank,
            tuple(Function(f"Class.method_{n}", 10 * n, 10 * n + 5, 1.0) for n in range(1, functions + 1)),
            (Reason("words", "x" * letters), Reason("fix", "second")),
        )
        for rank in range(1, files + 1)
    )
    return Answer("/r", COMMIT, DAY, BugReport("1", "a", "b", None), Searched(1234, 5), hits)


def test_files_functions_lines_and_a_reason() -> None:
    text = short(answer(2, 2, 10))
    assert text.splitlines() == [
        "1,234 files of 0123456789, 5 tests left out. File (how sure): functions with lines; why",
        "1. src/package/module_1.py (50%): Class.method_1:10-15, Class.method_2:20-25; xxxxxxxxxx",
        "2. src/package/module_2.py (25%): Class.method_1:10-15, Class.method_2:20-25; xxxxxxxxxx",
    ]


@pytest.mark.parametrize("characters", [200, 1200])
@pytest.mark.parametrize("files", [5, 50])
@pytest.mark.parametrize("letters", [0, 3000])
def test_the_budget_holds_and_the_first_files_stay(characters: int, files: int, letters: int) -> None:
    text = short(answer(files, 10, letters), characters)
    assert len(text) <= characters
    assert "1. src/package/module_1.py" in text
    assert text.count("module_") == files or "more left out for room" in text


def test_notes_are_told_but_not_what_an_agent_knows() -> None:
    noted = replace(answer(1), notes=(*UNTOLD, "a shallow clone"))
    assert short(noted).splitlines()[2:] == ["note: a shallow clone"]


def test_what_a_repository_says_stays_on_its_line() -> None:
    [hit] = answer(1, 0).hits
    hostile = replace(hit, path="a\nb\x1b[31m.py", why=(Reason("fix", "one\ntwo"),))
    assert len(short(replace(answer(1), hits=(hostile,))).splitlines()) == 2


def test_a_file_is_explained_within_the_budget() -> None:
    one = answer(1, 10)
    text = explained(replace(one, hits=(replace(one.hits[0], rank=17),)))
    assert text.startswith("src/package/module_1.py: place 17 of 1,234 (50%)\n- xxx")
    assert "- second\nfunctions: Class.method_1:10-15, " in text
    assert len(explained(answer(1, 50, 900), 600)) <= 600
