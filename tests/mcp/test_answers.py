"""An answer in few characters: lines of source go first, the first paths stay."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from tosloc.answer import Answer, Routine, Searched
from tosloc.mcp.answers import Found
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


def found(made: Answer) -> Found:
    return Found.of(made, {"src/package/module_1.py": "10: def method_1():\n11:     pass"}, 1)


def test_the_first_files_have_functions_a_reason_and_source_and_the_rest_paths() -> None:
    made = found(answer(4, 2, 10))
    assert made.text().splitlines() == [
        "1,234 files of 0123456789, 5 tests left out. Rank. File (how sure): functions with lines",
        "1. src/package/module_1.py (50%): Class.method_1:10-15, Class.method_2:20-25",
        *("   - xxxxxxxxxx", "   10: def method_1():", "   11:     pass"),
        "2. src/package/module_2.py (25%): Class.method_1:10-15, Class.method_2:20-25",
        "   - xxxxxxxxxx",
        "3. src/package/module_3.py (17%): Class.method_1:10-15, Class.method_2:20-25",
        "   - xxxxxxxxxx",
        "4. src/package/module_4.py (12%)",
    ]
    assert made.plain()["files"][3] == {"rank": 4, "path": "src/package/module_4.py", "share": 0.125}


def test_lines_go_first_then_reasons_functions_and_the_last_files() -> None:
    whole = found(answer(4, 2, 10))
    kept = []
    for budget in range(whole.length(), 100, -1):
        files = whole.within(budget, Found.length).files
        parts = [sum(len(getattr(file, part)) for file in files) for part in ("source", "why", "functions")]
        kept.append((*parts, len(files)))
    steps = list(dict.fromkeys(kept))
    source = len("10: def method_1():\n11:     pass")
    assert steps[:5] == [(source, 3, 6, 4), (0, 3, 6, 4), (0, 2, 6, 4), (0, 1, 6, 4), (0, 0, 6, 4)]
    assert steps[5:] == [*((0, 0, number, 4) for number in range(5, -1, -1)), *((0, 0, 0, n) for n in (3, 2, 1, 0))]


@pytest.mark.parametrize("budget", [300, 1500, 20_000])
@pytest.mark.parametrize(("files", "letters"), [(5, 0), (50, 3000)])
def test_the_budget_holds_for_both_and_nothing_is_cut_in_two(budget: int, files: int, letters: int) -> None:
    whole = found(replace(answer(files, 10, letters), notes=("a shallow clone",) * 3))
    text = whole.within(budget, lambda one: len(one.text()))
    plain = whole.within(budget, Found.length)
    assert len(text.text()) <= budget
    assert len(json.dumps(plain.plain())) <= budget
    for made in (text, plain):
        assert made.files
        assert len(made.files) + made.left_out == files
        assert {reason for file in made.files for reason in file.why} <= {"x" * letters}
    assert "1. src/package/module_1.py" in text.text()


def test_a_path_longer_than_the_budget_is_left_out() -> None:
    [hit] = answer(1).hits
    made = found(replace(answer(1), hits=(replace(hit, path="p" * 4_000),))).within(300, lambda one: len(one.text()))
    assert (made.files, made.left_out) == ([], 1)
    assert "(1 more left out for room" in made.text()


def test_notes_uncommitted_changes_and_other_files_are_told_but_not_what_an_agent_knows() -> None:
    [hit] = answer(1, 0).hits
    noted = replace(answer(1), notes=(*UNTOLD, "a shallow clone"), searched=Searched(7, 0, 2))
    told = found(replace(noted, others=(replace(hit, path="pom.xml"),)))
    assert told.text().startswith("7 files of 0123456789 and 2 uncommitted changes. Rank. ")
    assert told.text().splitlines()[-2:] == ["other files: pom.xml", "note: a shallow clone"]
    assert told.plain()["notes"] == ["a shallow clone"]


def test_what_a_repository_says_stays_on_its_line() -> None:
    [hit] = answer(1, 0).hits
    hostile = replace(hit, path="a\nb\x1b[31m.py", why=(Reason("fix", "one\ntwo"),))
    assert len(found(replace(answer(1), hits=(hostile,))).text().splitlines()) == 3
