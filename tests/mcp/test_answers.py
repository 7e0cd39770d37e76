"""An answer in few characters: lines of source go first, the first paths stay."""

import json
import re
from dataclasses import replace
from datetime import UTC, date, datetime

import pytest

from tosloc.core.errors import ToslocError
from tosloc.core.records import (
    Background,
    BugReport,
    Function,
    Hit,
    Reason,
    RoutineNote,
    ignore_progress,
)
from tosloc.localize.answer import Answer, SearchScope, Weights
from tosloc.localize.localizer import Localizer
from tosloc.mcp.answers import LINES, Found, sources
from tosloc.mcp.answers import answer as answer_of

COMMIT = "0123456789abcdef0123456789abcdef01234567"
REPORT = BugReport("1", "a", "b", None)


def answer(files=4, functions=2, letters=10, **more):
    named = tuple(
        Function(f"Class.method_{n}", 10 * n, 10 * n + 5, 1.0) for n in range(1, functions + 1)
    )
    why = Reason("words", "x" * letters), Reason("fix", "second")
    hits = tuple(
        Hit(rank, f"src/package/module_{rank}.py", 1.0 / rank, 0.5 / rank, named, why)
        for rank in range(1, files + 1)
    )
    made = Answer(
        "/r", COMMIT, datetime(2024, 5, 6, tzinfo=UTC), REPORT, SearchScope(1234, 5), hits
    )
    return replace(made, **more)


def found(*given, **more):
    return Found.of(
        answer(*given, **more),
        {"src/package/module_1.py": ["10: def method_1():", "11:     pass"]},
        1,
    )


def kept(whole, budget):
    """What of it is left as structured content."""
    return Found.model_validate_json(whole.within(budget, Found.as_json))


def test_the_first_files_have_functions_a_reason_and_source_and_the_rest_paths():
    functions = "Class.method_1:10-15, Class.method_2:20-25"
    assert found().text().splitlines() == [
        "1,234 files of 0123456789, 5 tests left out. Rank. File (how sure): functions with lines",
        f"1. src/package/module_1.py (50%): {functions}",
        *("   - xxxxxxxxxx", "   10: def method_1():", "   11:     pass"),
        *(f"2. src/package/module_2.py (25%): {functions}", "   - xxxxxxxxxx"),
        *(f"3. src/package/module_3.py (17%): {functions}", "   - xxxxxxxxxx"),
        "4. src/package/module_4.py (12%)",
    ]
    assert json.loads(found().as_json())["files"][3] == {
        "rank": 4,
        "path": "src/package/module_4.py",
        "share": 0.125,
    }


def test_a_dash_stands_for_no_share_and_not_for_a_small_one():
    shares = {1: 0.9, 2: 0.0004, 3: 0.0}
    hits = tuple(Hit(rank, f"{rank}.py", 1.0, share) for rank, share in shares.items())
    lines = found(hits=hits).text().splitlines()
    assert [line for line in lines if re.match(r"\d\. ", line)] == [
        "1. 1.py (90%)",
        "2. 2.py (<1%)",
        "3. 3.py (-)",
    ]


def test_lines_go_first_then_reasons_functions_and_the_last_files():
    whole, seen = found(background=Background(tests=("test_1.py",))), set()
    for budget in range(len(whole.as_json()), 120, -1):
        left = kept(whole, budget)
        files = left.files
        assert not left.background or files[0].source
        reasons, functions = (
            sum(len(one.why) for one in files),
            sum(len(one.functions) for one in files),
        )
        assert reasons == 3 or not any(one.source for one in files)
        assert functions == 6 or not reasons
        assert len(files) == 4 or not functions
        seen |= {(reasons, functions, len(files))}
    assert len(seen) == 14  # one less at a time


@pytest.mark.parametrize("budget", [300, 1500, 20_000])
@pytest.mark.parametrize(("files", "letters"), [(5, 0), (50, 3000)])
def test_the_budget_holds_for_both_and_nothing_is_cut_in_two(budget, files, letters):
    whole = found(files, 10, letters, notes=("a shallow clone",) * 3)
    text, structured = whole.within(budget, Found.text), kept(whole, budget)
    assert max(len(text), len(structured.as_json())) <= budget
    assert "1. src/package/module_1.py" in text
    left = re.search(r"\((\d+) more left out for room", text)
    assert len(re.findall(r"^\d+\. ", text, re.M)) + int(left[1] if left else 0) == files
    reasons = [
        *re.findall("^   - (.*)", text, re.M),
        *(reason for file in structured.files for reason in file.why),
    ]
    assert {*reasons} <= {"x" * letters}


def test_what_has_no_room_is_counted_and_notes_changes_and_other_files_are_told():
    [hit] = answer(1, 0).hits
    long = found(1, hits=(replace(hit, path="p" * 4_000),)).within(300, Found.text)
    assert long.endswith("functions with lines\n(1 more left out for room; give a larger budget)")
    notes = (
        RoutineNote("the report has no date; it is asked as if ..."),
        "a shallow clone",
    )  # the first an agent knows
    told = found(
        1, notes=notes, searched=SearchScope(7, 0, 2), others=(replace(hit, path="pom.xml"),)
    )
    assert told.text().startswith("7 files of 0123456789 and 2 uncommitted changes. Rank. ")
    assert told.text().splitlines()[-2:] == ["other files: pom.xml", "note: a shallow clone"]
    assert told.notes == ["a shallow clone"]


def test_before_the_first_commit_an_answer_names_no_commit():
    text = found(1, commit="0" * 40, searched=SearchScope(1, 0, 3)).text()
    assert text.startswith("1 file on disk, nothing is committed yet. Rank. ")


def test_trained_weights_are_told_and_shipped_ones_need_no_room():
    weights = Weights("trained", date(2026, 11, 26), 269, weak=True)
    told = found(1, weights=weights)
    assert told.text().splitlines()[-1] == "weights: trained 2026-11-26 on 269 commit messages"
    values = {"kind": "trained", "date": "2026-11-26", "reports": 269, "weak": True}
    assert json.loads(told.as_json())["weights"] == values
    assert "weights" not in found(1).text()
    assert "weights" not in json.loads(found(1).as_json())


def test_what_a_repository_says_stays_on_its_line():
    [hit] = answer(1, 0).hits
    hostile = replace(hit, path="a\nb\x1b[31m.py", why=(Reason("fix", "one\ntwo"),))
    assert len(found(1, hits=(hostile,)).text().splitlines()) == 3


def test_source_is_the_one_excerpt_that_says_most_of_the_report(repository):
    """Three words of the report are at the beginning of a long function, two others at its end."""
    filler = [f"    value_{number} = {number}" for number in range(40)]
    lines = [
        "def restore(jar):",
        "    cookie = jar.header()",
        *filler,
        "    session.expire(timeout)",
        "",
    ]
    repository.commit({"store.py": "\n".join(lines), "other.py": "x = 1\n"}, "Begin")
    with Localizer.open(repository.path) as localizer:
        answered = localizer.localize("restore loses the cookie header, session timeout")
        shown = sources(localizer, answered)["store.py"]
    assert shown[:2] == ["1: def restore(jar):", "2:     cookie = jar.header()"]
    assert len(shown) <= LINES
    assert not [line for line in shown if "timeout" in line]


def report_of(text):
    return BugReport("report", text, "", None)


@pytest.mark.parametrize(
    "path", ["shop/bill.py", "./shop/bill.py", "shop/../shop/bill.py", "{shop}/shop/bill.py"]
)
def test_a_file_is_explained_by_its_path_below_the_repository(shop, path):
    explained = answer_of(
        report_of("The bill is wrong"),
        None,
        [shop],
        None,
        path.format(shop=shop),
        {},
        ignore_progress,
    )
    assert [file.path for file in explained.files] == ["shop/bill.py"]


@pytest.mark.parametrize("path", ["/etc/passwd", "../shop.py"])
def test_a_path_outside_of_the_repository_is_not_explained(shop, path):
    with pytest.raises(ToslocError, match=rf"^{re.escape(path)} is no source file of version"):
        answer_of(report_of("The bill is wrong"), None, [shop], None, path, {}, ignore_progress)


def test_a_bug_is_localized_where_no_path_is_named(shop):
    found = answer_of(
        report_of("The cart forgets an item"), None, [shop], None, None, {}, ignore_progress
    )
    assert found.files[0].path == "shop/cart.py"
    assert len(found.files) == 2
