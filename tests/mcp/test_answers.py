"""An answer in few characters: lines of source are left out first, the first paths last."""

import json
import re
from dataclasses import replace
from datetime import UTC, date, datetime
from inspect import signature

import pytest

from tosloc.core.answers import (
    Background,
    EarlierChange,
    Function,
    Hit,
    Reason,
    RoutineNote,
    SuspectChange,
)
from tosloc.core.errors import ToslocError
from tosloc.core.progress import ignore_progress
from tosloc.core.reports import BugReport
from tosloc.localize.answer import Answer, SearchScope, Weights
from tosloc.localize.localizer import Localizer
from tosloc.localize.question import Question
from tosloc.mcp.answers import MAX_SOURCE_LINES, ToolAnswer, answer_call, source_lines
from tosloc.mcp.server import explain_file, localize_bug

COMMIT = "0123456789abcdef0123456789abcdef01234567"
REPORT = BugReport("1", "a", "b", None)
FIRST_PATH = "src/package/module_1.py"


SUSPECTS = tuple(
    SuspectChange(
        letter * 40,
        datetime(2024, 5, 6, tzinfo=UTC),
        f"Rewrite {letter}",
        FIRST_PATH,
        "Class.method_1",
        ("changed `Class.method_1`", "newest change of module_1.py"),
        ("     def method_1():", "-        pass", f"+        return {letter}"),
    )
    for letter in "abc"
)


def make_answer(files=4, functions=2, letters=10, **changes):
    """Return an answer; each file has so many functions, and a reason of so many letters."""
    listed_functions = []
    for number in range(1, functions + 1):
        start = 10 * number
        listed_functions.append(Function(f"Class.method_{number}", start, start + 5, 1.0))
    reasons = (Reason("words", "x" * letters), Reason("fix", "second"))
    hits = []
    for rank in range(1, files + 1):
        path = f"src/package/module_{rank}.py"
        hits.append(Hit(rank, path, 1.0 / rank, 0.5 / rank, tuple(listed_functions), reasons))
    committed = datetime(2024, 5, 6, tzinfo=UTC)
    answer = Answer("/r", COMMIT, committed, REPORT, SearchScope(1234, 5), tuple(hits))
    return replace(answer, **changes)


def make_tool_answer(*arguments, **changes):
    """Return ``make_answer`` for agents, with lines of the first file and one reason each."""
    sources = {FIRST_PATH: ["10: def method_1():", "11:     pass"]}
    return ToolAnswer.from_answer(make_answer(*arguments, **changes), sources, 1)


def fit_json(tool_answer, budget):
    """Return what is left of an answer as structured content."""
    return ToolAnswer.model_validate_json(tool_answer.fit(budget, ToolAnswer.as_json))


def test_the_first_files_have_functions_a_reason_and_source():
    functions = "Class.method_1:10-15, Class.method_2:20-25"
    assert make_tool_answer().as_text().splitlines() == [
        "Searched 1,234 files of commit 0123456789, 5 test files left out."
        " Format: rank. file (confidence): functions with lines",
        f"1. src/package/module_1.py (50%): {functions}",
        "   - xxxxxxxxxx",
        "   10: def method_1():",
        "   11:     pass",
        f"2. src/package/module_2.py (25%): {functions}",
        "   - xxxxxxxxxx",
        f"3. src/package/module_3.py (17%): {functions}",
        "   - xxxxxxxxxx",
        "4. src/package/module_4.py (12%)",
    ]


def test_the_other_files_have_only_a_path_and_a_share():
    files = json.loads(make_tool_answer().as_json())["files"]
    assert files[3] == {"rank": 4, "path": "src/package/module_4.py", "confidence": 0.125}


def test_a_dash_stands_for_no_share_and_not_for_a_small_one():
    shares = {1: 0.9, 2: 0.0004, 3: 0.0}
    hits = tuple(Hit(rank, f"{rank}.py", 1.0, share) for rank, share in shares.items())
    lines = make_tool_answer(hits=hits).as_text().splitlines()
    assert [line for line in lines if re.match(r"\d\. ", line)] == [
        "1. 1.py (90%)",
        "2. 2.py (<1%)",
        "3. 3.py (-)",
    ]


def test_a_smaller_budget_drops_lines_then_reasons_functions_and_files():
    tool_answer = make_tool_answer(background=Background(tests=("test_1.py",)))
    sizes = set()
    for budget in range(len(tool_answer.as_json()), 120, -1):
        kept = fit_json(tool_answer, budget)
        has_source = any(file.source for file in kept.files)
        reasons = sum(len(file.reasons) for file in kept.files)
        functions = sum(len(file.functions) for file in kept.files)
        if kept.background:
            assert kept.files[0].source
        if has_source:
            assert reasons == 3
        if reasons:
            assert functions == 6
        if functions:
            assert len(kept.files) == 4
        sizes.add((reasons, functions, len(kept.files)))
    assert len(sizes) == 14  # One item less at a time.


def test_a_report_that_is_fixed_already_is_said_first():
    fix = EarlierChange("f" * 40, datetime(2024, 5, 6, tzinfo=UTC), "#7", "Fix #7", ())
    tool_answer = make_tool_answer(fixed_by=fix)
    sentence = "Probably fixed already by ffffffffff (2024-05-06): Fix #7"
    assert tool_answer.as_text().splitlines()[0] == sentence
    assert json.loads(tool_answer.as_json())["fixed"] == sentence


def test_suspect_changes_have_their_diff():
    lines = make_tool_answer(suspects=SUSPECTS[:1]).as_text().splitlines()
    assert lines[-6:] == [
        "Changes that may have introduced the bug, most suspect first:",
        "- aaaaaaaaaa (2024-05-06) Rewrite a",
        f"  {FIRST_PATH}: changed `Class.method_1`, newest change of module_1.py",
        "       def method_1():",
        "  -        pass",
        "  +        return a",
    ]


def test_suspect_changes_are_structured():
    [suspect] = json.loads(make_tool_answer(suspects=SUSPECTS[:1]).as_json())["suspects"]
    assert suspect["commit"] == "aaaaaaaaaa"
    assert suspect["function"] == "Class.method_1"
    assert suspect["diff"] == ["     def method_1():", "-        pass", "+        return a"]


def test_suspects_come_before_the_files_if_the_answer_leads_with_them():
    tool_answer = make_tool_answer(
        suspects=SUSPECTS[:1], leads_with_suspects=True, statements=("It works in v1.",)
    )
    lines = tool_answer.as_text().splitlines()
    assert lines[1:3] == [
        "It works in v1.",
        "Changes that may have introduced the bug, most suspect first:",
    ]
    assert lines[3].startswith("- aaaaaaaaaa")
    assert json.loads(tool_answer.as_json())["leads_with_suspects"] is True


def test_a_smaller_budget_keeps_suspects_that_lead_longer_than_functions():
    tool_answer = make_tool_answer(suspects=SUSPECTS, leads_with_suspects=True)
    for budget in range(len(tool_answer.as_json()), 120, -1):
        kept = fit_json(tool_answer, budget)
        if any(file.functions for file in kept.files):
            assert kept.suspects[0].diff
            assert len(kept.suspects) == 3


def test_a_smaller_budget_drops_whole_diffs_the_first_one_last():
    tool_answer = make_tool_answer(suspects=SUSPECTS)
    numbers_of_diffs = set()
    for budget in range(len(tool_answer.as_json()), 120, -1):
        kept = fit_json(tool_answer, budget)
        diffs = [suspect.diff for suspect in kept.suspects if suspect.diff]
        assert diffs == [list(suspect.diff) for suspect in SUSPECTS[: len(diffs)]]
        if kept.files and kept.files[0].source:
            assert diffs
        if diffs:
            assert len(kept.suspects) == 3
        numbers_of_diffs.add(len(diffs))
    assert numbers_of_diffs == {0, 1, 2, 3}


@pytest.mark.parametrize("tool", [localize_bug, explain_file])
@pytest.mark.parametrize("render", [ToolAnswer.as_text, ToolAnswer.as_json])
def test_the_default_budget_has_room_for_lines_and_one_diff(tool, render):
    source = [f"{number}:         self.items.append(item_of_the_cart)" for number in range(10, 16)]
    diff = ("+        for item in self.items_of_the_cart:",) * 6
    suspects = tuple(replace(suspect, diff=diff) for suspect in SUSPECTS)
    notes = ("the report has no date; it is asked as if it were opened now",)
    answer = make_answer(10, 3, 60, notes=notes, suspects=suspects)
    sources = {hit.path: source for hit in answer.hits[:3]}
    budget = signature(tool).parameters["budget"].default
    text = ToolAnswer.from_answer(answer, sources, 1).fit(budget, render)
    assert text.count("self.items.append") >= 6
    assert text.count("self.items_of_the_cart:") >= 6


@pytest.mark.parametrize("budget", [300, 1500, 20_000])
@pytest.mark.parametrize(("files", "letters"), [(5, 0), (50, 3000)])
def test_text_and_json_fit_the_budget_and_nothing_is_cut_in_two(budget, files, letters):
    notes = ("a shallow clone",) * 3
    tool_answer = make_tool_answer(files, 10, letters, notes=notes, suspects=SUSPECTS)
    text = tool_answer.fit(budget, ToolAnswer.as_text)
    structured = fit_json(tool_answer, budget)
    assert len(text) <= budget
    assert len(structured.as_json()) <= budget
    assert "1. src/package/module_1.py" in text
    left_out = re.search(r"\(([\d,]+) more files? left out", text)
    number_left_out = int(left_out[1]) if left_out else 0
    assert len(re.findall(r"^\d+\. ", text, re.M)) + number_left_out == files
    reasons = set(re.findall("^   - (.*)", text, re.M))
    for file in structured.files:
        reasons.update(file.reasons)
    assert reasons <= {"x" * letters}


def test_a_file_that_does_not_fit_is_counted():
    [hit] = make_answer(1, 0).hits
    long_path = make_tool_answer(1, hits=(replace(hit, path="p" * 4_000),))
    assert long_path.fit(300, ToolAnswer.as_text).endswith(
        "functions with lines\n(1 more file left out; raise the budget to see them)"
    )


def test_uncommitted_changes_are_counted():
    text = make_tool_answer(1, searched=SearchScope(7, 0, 2)).as_text()
    assert text.startswith("Searched 7 files of commit 0123456789 with 2 uncommitted files. ")


def test_one_hidden_test_is_singular():
    text = make_tool_answer(1, searched=SearchScope(1, 1)).as_text()
    assert text.startswith("Searched 1 file of commit 0123456789, 1 test file left out. ")


def test_before_the_first_commit_an_answer_names_no_commit():
    text = make_tool_answer(1, commit="0" * 40, searched=SearchScope(1, 0, 3)).as_text()
    assert text.startswith("Searched 1 file on disk; nothing is committed yet. Format: ")


def test_other_files_and_notes_follow_the_files_without_routine_notes():
    [hit] = make_answer(1, 0).hits
    notes = (RoutineNote("the report has no date; it is asked as if ..."), "a shallow clone")
    tool_answer = make_tool_answer(1, notes=notes, others=(replace(hit, path="pom.xml"),))
    last_lines = tool_answer.as_text().splitlines()[-2:]
    assert last_lines == ["Other files: pom.xml", "note: a shallow clone"]
    assert tool_answer.notes == ["a shallow clone"]


def test_trained_weights_are_described():
    weights = Weights("trained", date(2026, 11, 26), 269, weak=True)
    tool_answer = make_tool_answer(1, weights=weights)
    last_line = tool_answer.as_text().splitlines()[-1]
    assert last_line == "ranked with weights trained on 2026-11-26 from 269 commit messages"
    values = {"kind": "trained", "date": "2026-11-26", "reports": 269, "weak": True}
    assert json.loads(tool_answer.as_json())["weights"] == values


def test_shipped_weights_are_left_out():
    assert "weights" not in make_tool_answer(1).as_text()
    assert "weights" not in json.loads(make_tool_answer(1).as_json())


def test_texts_of_a_repository_stay_on_one_line():
    [hit] = make_answer(1, 0).hits
    hostile = replace(hit, path="a\nb\x1b[31m.py", reasons=(Reason("fix", "one\ntwo"),))
    assert len(make_tool_answer(1, hits=(hostile,)).as_text().splitlines()) == 3


def localize_source_lines(repository, report):
    """Localize a report and return the source lines of the answer by path."""
    with Localizer.open(repository.path) as localizer:
        return source_lines(localizer, localizer.localize(report))


def test_source_is_the_excerpt_that_says_most_of_the_report(repository):
    """Three words of the report are at the beginning of a long function, two others at its end."""
    code = ["def restore(jar):", "    cookie = jar.header()"]
    code += [f"    value_{number} = {number}" for number in range(40)]
    code += ["    session.expire(timeout)", ""]
    repository.commit({"store.py": "\n".join(code), "other.py": "x = 1\n"}, "Begin")
    report = "restore loses the cookie header, session timeout"
    lines = localize_source_lines(repository, report)["store.py"]
    assert lines[:2] == ["1: def restore(jar):", "2:     cookie = jar.header()"]
    assert len(lines) <= MAX_SOURCE_LINES
    assert not [line for line in lines if "timeout" in line]


def test_source_has_the_lines_of_all_excerpts_of_a_file(repository, monkeypatch):
    repository.commit({"store.py": "def restore():\n    x = 1\n    return x\n"}, "Begin")
    monkeypatch.setattr("tosloc.mcp.answers.choose_excerpts", lambda *_: iter([[0], [2]]))
    lines = localize_source_lines(repository, "restore fails")["store.py"]
    assert lines == ["1: def restore():", "3:     return x"]


def call(text, shop, path=None):
    """Answer a tool's call about a report of one line."""
    report = BugReport("report", text, "", None)
    question = Question(report) if path is None else Question.about_file(report, path)
    return answer_call(question, None, [shop], None, None, ignore_progress)


@pytest.mark.parametrize(
    "path", ["shop/bill.py", "./shop/bill.py", "shop/../shop/bill.py", "{shop}/shop/bill.py"]
)
def test_a_file_is_explained_by_its_path_below_the_repository(shop, path):
    answer = call("The bill is wrong", shop, path.format(shop=shop))
    assert [file.path for file in answer.files] == ["shop/bill.py"]


@pytest.mark.parametrize("path", ["/etc/passwd", "../shop.py"])
def test_a_path_outside_of_the_repository_is_not_explained(shop, path):
    with pytest.raises(ToslocError, match=rf"^{re.escape(path)} is not a source file of version"):
        call("The bill is wrong", shop, path)


def test_a_bug_is_localized_without_a_path(shop):
    answer = call("The cart forgets an item", shop)
    assert answer.files[0].path == "shop/cart.py"
    assert len(answer.files) == 2
