"""Answers as ``tosloc localize`` prints them for people."""

import re
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from tosloc.cli.answers import print_answer
from tosloc.core.answers import (
    Background,
    CodeLine,
    EarlierChange,
    Function,
    Hit,
    Person,
    Reason,
    SuspectChange,
)
from tosloc.core.reports import BugReport
from tosloc.localize.answer import Answer, SearchScope

COMMITTED = datetime(2014, 1, 15, tzinfo=UTC)
CHANGED = datetime(2013, 5, 6, tzinfo=UTC)
SEARCHED = SearchScope(2)
REPORT = BugReport("12", "Carts are empty", "", None)
WORDS = Reason("words", "Matching words in total: price")
FIX = Reason("fix", "Similar fix eeeeeeeeee (2013-05-06): Empty carts", "e" * 40)
TOTAL = Function("Cart.total", 10, 20, 2.0)
CHECK = Function("Cart.check", 30, 400, 1.0)
HIT = Hit(1, "cart.py", 2.5, 0.9, (TOTAL, CHECK), (WORDS, FIX))
SUSPECT = SuspectChange(
    "d" * 40,
    CHANGED,
    "Add\x1b a rebate.",
    "shop/cart.py",
    "Cart.total",
    ("changed `Cart.total`", "newest change of cart.py"),
    (" def total(self):", "-    return price", "+    return 0\x1b"),
    diff_lines=(9, 0, 10),
)
BLAMED = replace(SUSPECT, reasons=("the report blames it", "newest change of cart.py"))
ESCAPES = re.compile(r"\x1b(?:\[[\d;]*m|\]8;[^\x1b]*\x1b\\)")


def answer(*hits, **values):
    return Answer("there", "c" * 40, COMMITTED, REPORT, SEARCHED, hits, **values)


@pytest.fixture
def printed(capsys):
    """Return a function that returns the lines of a printed answer."""

    def lines(printed_answer, **options):
        print_answer(printed_answer, **options)
        return ESCAPES.sub("", capsys.readouterr().out).splitlines()

    return lines


@pytest.fixture
def terminal(monkeypatch):
    """Make standard output a terminal of 40 columns."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "40")


def rows_with(lines, text):
    return [line for line in lines if text in line]


def test_paths_are_whole_and_control_characters_are_escaped(printed):
    path = f"java/org/{'deeply/nested/' * 9}StandardContext.java"
    hits = (
        Hit(1, path, 2.5, 0.5, reasons=(Reason("words", "start " * 20),)),
        Hit(2, "caf\udce9/[bold]\x1b.java", 0.25, 0.4),
    )
    report = BugReport("bug", "Context\x1b does not start", "", None)
    assert printed(replace(answer(*hits), report=report, searched=SearchScope(2, 1))) == [
        "bug  Context\\x1b does not start",
        "2 files of cccccccccc (2014-01-15); 1 test file hidden (--tests)",
        "",
        f"1   50%  {path}",
        f"         {'start ' * 20}".rstrip(),
        "2   40%  caf\\xe9/[bold]\\x1b.java",
    ]


def test_a_text_without_a_file_has_no_id(printed):
    report = BugReport("report", "Carts are empty", "", None)
    assert printed(replace(answer(), report=report))[0] == "Carts are empty"


def test_hidden_files_are_counted_together(printed):
    [_, scope] = printed(replace(answer(), searched=SearchScope(62, 20, hidden_files=11)))
    assert scope.endswith("; 31 files hidden (--all-files)")


def test_a_report_that_is_fixed_already_is_said_above_the_files(printed):
    fix = EarlierChange("d" * 40, CHANGED, "#12", "Fix #12\x1b", ("cart.py",))
    lines = printed(answer(HIT, fixed_by=fix))
    assert lines[2:4] == ["", "Probably fixed already by dddddddddd (2013-05-06): Fix #12\\x1b"]


def test_headings_break_only_between_words(printed, terminal):
    report = BugReport("bug", "Carts are extraordinarily empty " * 5, "", None)
    lines = printed(replace(answer(), report=report, searched=SearchScope(620, 20, 11)))
    assert lines == [
        "bug  Carts are extraordinarily empty...",
        "620 files of cccccccccc (2014-01-15)",
        "with 11 uncommitted files; 20 test files",
        "hidden (--tests)",
    ]


def test_long_words_stay_whole_on_a_terminal(printed, terminal):
    name = "a_function_with_a_name_of_more_than_forty_columns"
    lines = printed(answer(replace(HIT, functions=(Function(name, 1, 2, 1.0),))))
    assert rows_with(lines, f"{name}:1-2")


# Files


def test_functions_come_before_reasons(printed):
    assert printed(answer(HIT))[3:] == [
        "1   90%  cart.py",
        "         Cart.total:10-20",
        "         also Cart.check:30-400",
        "         Matching words in total: price",
        "         Similar fix eeeeeeeeee (2013-05-06): Empty carts",
    ]


def test_matching_words_are_marks_in_the_lines(printed):
    hit = replace(HIT, code=(CodeLine(11, "    price = 0", ((4, 9),)),))
    assert not rows_with(printed(answer(hit)), "Matching words")


def test_matching_words_are_coloured(capsys, terminal):
    print_answer(answer(replace(HIT, code=(CodeLine(11, "\tprice = 0", ((1, 6),)),))))
    assert "\x1b[1;35mprice\x1b[0m = 0" in capsys.readouterr().out


def test_code_keeps_its_indentation_below_the_first_line(printed):
    code = (CodeLine(9, "\tif empty:\t# never"), CodeLine(10, "\t\treturn 0"))
    lines = printed(answer(replace(HIT, functions=(), code=code)))
    assert lines[4:6] == ["            9  if empty:   # never", "           10      return 0"]


def test_lines_of_code_fit_a_terminal(printed, terminal):
    code = (CodeLine(11, f"    return {'x + ' * 99}0", ((4, 10), (380, 390))),)
    lines = printed(answer(replace(HIT, code=code)))
    [line] = rows_with(lines, "return")
    assert len(line) <= 40
    assert line.endswith("...")


def test_lines_of_the_first_function_stand_below_it(printed):
    lines = printed(answer(replace(HIT, code=(CodeLine(11, "price = 0"), CodeLine(99, "x = 1")))))
    assert lines[4:7] == [
        "         Cart.total:10-20",
        "           11  price = 0",
        "         also Cart.check (line 99)",
    ]


def test_lines_of_another_function_alone_stand_below_all_functions(printed):
    lines = printed(answer(replace(HIT, code=(CodeLine(99, "x = 1"),))))
    assert lines[5:7] == ["         also Cart.check (line 99)", "           99  x = 1"]


def test_less_likely_files_have_one_line(printed):
    hits = [Hit(rank, f"{rank}.py", 1.0, 0.02, reasons=(FIX,)) for rank in range(2, 10)]
    lines = printed(answer(HIT, *hits))
    assert lines[-1] == "Less likely: 2.py 2%, 3.py 2%, 4.py 2%, 5.py 2%, 6.py 2%, 3 more (-v: why)"


def test_less_likely_files_fit_a_terminal(printed, terminal):
    hits = [Hit(rank, f"{rank}.py", 1.0, 0.02) for rank in range(2, 10)]
    assert printed(answer(HIT, *hits))[-1] == "Less likely: 2.py 2%, 7 more (-v: why)"


def test_at_most_three_files_have_details(printed):
    hits = [replace(HIT, rank=rank, confidence=0.2) for rank in range(1, 6)]
    assert len(rows_with(printed(answer(*hits)), "Cart.total")) == 3


def test_files_without_confidence_have_details(printed):
    hits = [replace(HIT, rank=rank, confidence=0.0) for rank in (1, 2)]
    assert len(rows_with(printed(answer(*hits)), "Cart.total")) == 2


def test_verbose_has_all_reasons_lines_and_files(printed):
    code = (CodeLine(11, "price = 0", ((0, 5),)), CodeLine(99, "x = 1"))
    hits = [replace(HIT, rank=rank, confidence=1 / rank**3, code=code) for rank in range(1, 6)]
    lines = printed(answer(*hits), verbose=True)
    assert len(rows_with(lines, "Matching words")) == 5
    assert len(rows_with(lines, "99  x = 1")) == 5
    assert not rows_with(lines, "Less likely")


# Suspects


def test_a_suspect_change_is_printed_with_its_numbered_diff(printed):
    assert printed(answer(suspects=(SUSPECT,)))[2:] == [
        "",
        "Suspect changes:",
        "  dddddddddd (2013-05-06) Add\\x1b a rebate",
        "    shop/cart.py: changed `Cart.total`, newest change of cart.py",
        "     9   def total(self):",
        "       -     return price",
        "    10 +     return 0\\x1b",
    ]


def test_a_diff_of_which_nothing_is_left_has_no_numbers(printed):
    change = replace(SUSPECT, diff=("-    return price",), diff_lines=(0,))
    assert printed(answer(suspects=(change,)))[-1] == "    - return price"


def test_only_the_first_suspect_has_its_diff(printed):
    lines = printed(answer(suspects=(SUSPECT, replace(SUSPECT, commit="f" * 40))))
    assert len(rows_with(lines, "return price")) == 1


def test_verbose_has_the_diffs_of_all_suspects(printed):
    changes = (SUSPECT, replace(SUSPECT, commit="f" * 40))
    assert len(rows_with(printed(answer(suspects=changes), verbose=True), "return price")) == 2


def test_tabs_of_diffs_are_printed_as_blanks(printed):
    change = replace(SUSPECT, diff=(" if x {", "+\treturn 0"), diff_lines=(9, 10))
    assert printed(answer(suspects=(change,)))[-1] == "    10 +     return 0"


def test_leading_suspects_come_before_the_files(printed):
    lines = printed(answer(HIT, suspects=(SUSPECT,), leads_with_suspects=True))
    assert lines.index("Suspect changes:") < lines.index("1   90%  cart.py")


def test_other_suspects_come_after_the_files(printed):
    lines = printed(answer(HIT, suspects=(SUSPECT,)))
    assert lines.index("Suspect changes:") > lines.index("1   90%  cart.py")


def test_a_blamed_suspect_says_so_once(printed):
    statement = "The report blames dddddddddd (2013-05-06): Add a rebate"
    values = {"suspects": (BLAMED,), "leads_with_suspects": True, "statements": (statement,)}
    lines = printed(answer(HIT, **values))
    assert [line for line in lines if "blames" in line] == [
        "The report blames dddddddddd (2013-05-06) Add\\x1b a rebate"
    ]


def test_a_blamed_commit_that_is_no_suspect_is_stated(printed):
    statement = "The report blames ffffffffff (2013-05-06): Add a till"
    assert printed(answer(HIT, suspects=(SUSPECT,), statements=(statement,)))[3] == statement


# Background

BACKGROUND = Background(
    earlier=(
        EarlierChange("e" * 40, CHANGED, None, "Empty carts", ()),
        EarlierChange("f" * 40, CHANGED, None, "Fill carts", ()),
    ),
    people=(Person("Ada", CHANGED), Person("Grace", CHANGED)),
    owners=("@shop",),
    tests=("test_cart.py",),
)


def test_background_is_names_and_a_change_that_no_reason_cites(printed):
    assert printed(answer(HIT, background=BACKGROUND))[-4:] == [
        "",
        "Tests: test_cart.py",
        "Ask: Ada, Grace, @shop",
        "Similar past change: ffffffffff (2013-05-06) Fill carts",
    ]


def test_verbose_has_the_whole_background(printed):
    lines = printed(answer(HIT, background=BACKGROUND), verbose=True)
    assert len(rows_with(lines, "Similar past change")) == 2
    assert (
        "cart.py: last changed by Ada (2013-05-06) and Grace (2013-05-06), owned by @shop" in lines
    )


def test_other_files_have_reasons_only_in_verbose_answers(printed):
    other = Hit(1, "cart.xml", 1.0, 0.0, reasons=(Reason("words", "Matching words: cart"),))
    assert printed(answer(HIT, others=(other,)))[-1] == "Other files: cart.xml"
    verbose = printed(answer(HIT, others=(other,)), verbose=True)
    assert verbose[-1] == "Other files: cart.xml (Matching words: cart)"
