"""The single lines of code that show why a file is listed."""

import numpy as np
import pytest

from tosloc.core.answers import Function
from tosloc.rank.explain.code_lines import (
    BODY_LINES,
    MIN_DISTANCE,
    are_prose,
    choose_body,
    choose_lines,
)
from tosloc.rank.explain.matching_terms import MAX_LINES, contained_terms
from tosloc.rank.explain.pointed_lines import find_message_line, frame_lines

CODE = [
    "import http",
    "",
    "def health_headers(self):",
    "    return self.headers",
    "",
    "def body(self):",
    "    return self.health",
]
TERMS = {"health": 2.0, "header": 1.5}


def test_line_with_the_rarest_words_is_chosen():
    assert choose_lines(CODE, TERMS, number=1) == [2]


@pytest.mark.parametrize("spelling", ["health-headers", "healthHeaders", "HEALTH_HEADER", "health"])
def test_words_are_found_in_any_spelling(spelling):
    assert choose_lines(["x = 1", f"case '{spelling}':", "y = 2"], TERMS) == [1]


def test_line_that_adds_little_is_left_out():
    assert choose_lines(CODE, TERMS) == [2]


def test_line_in_a_listed_function_is_preferred():
    function = Function("body", 6, 7, 1.0)
    assert choose_lines(CODE, {"health": 2.0}, number=1) == [2]
    assert choose_lines(CODE, {"health": 2.0}, [function], number=1) == [6]


def test_line_with_the_name_of_a_function_counts_little():
    function = Function("health_headers", 3, 4, 1.0)
    assert choose_lines(CODE, TERMS, [function], number=1) == [3]


@pytest.mark.parametrize(
    "line",
    [
        "import cookie",
        "from shop.cookie import Cookie",
        "#include <cookie.h>",
        "use crate::cookie::Cookie;",
        "using Shop.Cookie;",
        "import { Cookie } from './cookie'",
        "const cookie = require('./cookie')",
        "require_relative 'cookie'",
        'import "shop/cookie"',
        '\t"example.com/shop/cookie"',
    ],
)
def test_line_that_imports_comes_after_code(line):
    assert choose_lines([line, "keep(cookie)"], {"cooki": 1.0}, number=1) == [1]


@pytest.mark.parametrize(
    "line", ["use the cookie", "from the cookie", "requires a cookie", 'x("a/cookie")']
)
def test_line_that_imports_nothing_counts_fully(line):
    assert choose_lines([line, "keep(cookie)"], {"cooki": 1.0}, number=1) == [0]


def test_line_that_imports_is_shown_where_no_other_has_the_word():
    assert choose_lines(["import cookie", "x = 1"], {"cooki": 1.0}) == [0]


def test_line_of_a_frame_comes_first():
    assert choose_lines(CODE, TERMS, framed=[7], number=1) == [6]


@pytest.mark.parametrize("line", ["", "    }"])
def test_line_of_a_frame_without_a_word_is_not_shown(line):
    assert choose_lines(["open(cookie)", line], {"cooki": 1.0}, framed=[2]) == [0]


def test_frame_outside_the_file_is_ignored():
    assert choose_lines(CODE, TERMS, framed=[0, 99], number=1) == [2]


def test_lines_are_in_the_order_of_the_file():
    lines = ["header = 1", *["x"] * MIN_DISTANCE, "health = 1"]
    assert choose_lines(lines, TERMS) == [0, MIN_DISTANCE + 1]


def test_near_line_is_left_out():
    lines = ["header = 1", *["x"] * (MIN_DISTANCE - 1), "health = 1"]
    assert choose_lines(lines, TERMS) == [MIN_DISTANCE]


def test_no_word_gives_no_line():
    assert choose_lines(CODE, {"cookie": 1.0}) == []


@pytest.mark.parametrize(
    ("lines", "terms"), [([], TERMS), (CODE, {})], ids=["no lines", "no terms"]
)
def test_nothing_to_choose_from_gives_no_line(lines, terms):
    assert choose_lines(lines, terms) == []


def test_beginning_of_a_very_long_file_is_searched():
    lines = ["x"] * MAX_LINES + ["health header"]
    assert choose_lines(lines, TERMS) == []


@pytest.mark.parametrize(
    "frame",
    ["at org.shop.Cart.add(Cart.java:12)", "src/org/shop/Cart.java:12: error: no such item"],
    ids=["stack frame", "compiler error"],
)
def test_line_that_a_report_names_is_found(frame, make_context):
    context = make_context(["src/org/shop/Cart.java", "src/org/shop/Mail.java"], "It fails", frame)
    lines = frame_lines(context.query, context.version, [0, 1])
    assert [frame_line.line for frame_line in lines[0]] == [12]
    assert len(lines[1]) == 0


MESSAGES = ["# no such file", "x = y", "fail('No such file')", "fail('no file')"]


def test_line_of_a_message_is_that_in_quotes():
    assert find_message_line(MESSAGES, "No such file") == 3


def test_line_of_a_message_has_most_of_its_neighbouring_words():
    lines = ["fail('cannot open it')", "fail('cannot open %s for reading')"]
    assert find_message_line(lines, "cannot open … for reading") == 2


def test_line_of_a_message_may_be_absent():
    assert find_message_line(MESSAGES, "such x") is None


def test_line_of_one_word_is_not_looked_for():
    assert find_message_line(MESSAGES, "file") is None


LONG = ["def f():", *(f"    step({number})" for number in range(2, 101))]
LONG_FUNCTION = Function("f", 1, 100, 1.0)


def test_lines_of_a_long_function_are_far_apart():
    lines = [*LONG]
    for position in (10, 12, 40):
        lines[position] = "    keep(cookie)"
    assert choose_lines(lines, {"cooki": 1.0}, [LONG_FUNCTION]) == [10, 40]


def test_each_function_has_a_line_if_there_is_room():
    functions = [Function("body", 20, 21, 1.0), Function("health_headers", 3, 4, 0.5)]
    assert choose_lines([*CODE[:4], *["x"] * 15, *CODE[5:]], TERMS, functions) == [3, 20]


def test_first_function_without_a_word_of_the_report_has_the_line_with_its_name():
    lines = ["@app.route", "def shop():", "    return 1", "def bill():", "    return 2"]
    functions = [Function("shop", 1, 3, 1.0), Function("bill", 4, 5, 0.5)]
    assert choose_lines(lines, {"cooki": 1.0}, functions) == [1]


PROSE = ["# the cookie", "/* a cookie", "   or a cookie */", '"""Keep', "the cookie.", '"""']


@pytest.mark.parametrize("position", range(len(PROSE)))
def test_comment_and_documentation_are_prose(position):
    assert are_prose([*PROSE, "keep(cookie)"])[position]


def test_code_after_prose_is_none():
    assert not are_prose([*PROSE, "keep(cookie)", 'x = """cookie"""', "*p = 0"])[6:8].any()


def test_code_is_shown_before_prose():
    assert choose_lines([*PROSE, "keep(cookie)"], {"cooki": 1.0}) == [len(PROSE)]


def test_short_body_is_shown_whole():
    assert choose_body(CODE, TERMS, Function("health_headers", 3, 4, 1.0)) == [2, 3]


@pytest.mark.parametrize("line", [1, BODY_LINES])
def test_long_body_is_shown_from_its_beginning(line):
    assert choose_body(LONG, {}, LONG_FUNCTION, [line]) == list(range(BODY_LINES))


@pytest.mark.parametrize("line", [BODY_LINES + 1, 50, 100])
def test_long_body_is_shown_around_the_line_that_says_most(line):
    body = choose_body(LONG, {}, LONG_FUNCTION, [line])
    assert len(body) == BODY_LINES
    assert line - 1 in body


def test_body_has_no_empty_lines_at_its_end():
    assert choose_body(["", "def f():", "    x", ""], {}, Function("f", 2, 4, 1.0)) == [1, 2]


def test_body_has_no_comment_block():
    lines = ["def f():", '    """Return', "    1.", '    """', "    # as ever", "", "    return 1"]
    assert choose_body(lines, {}, Function("f", 1, 7, 1.0)) == [0, 5, 6]


def test_only_wanted_lines_are_prose():
    wanted = np.array([False, True, False, False])
    lines = ["# a", "# b", "/* c", "d */"]
    assert are_prose(lines, wanted).tolist() == [False, True, True, True]


def test_code_of_another_function_comes_before_prose():
    lines = ["def shop():", "    # the cookie", "    return 1", "def bill():", "    keep(cookie)"]
    assert choose_lines(lines, {"cooki": 1.0}, [Function("shop", 1, 3, 1.0)]) == [0]


def test_prose_of_a_function_is_shown_if_no_code_has_the_word():
    lines = ["def shop():", "    # the cookie", "    return 1", "def bill():", "    return 2"]
    assert choose_lines(lines, {"cooki": 1.0}, [Function("shop", 1, 3, 1.0)]) == [1]


def test_the_search_for_a_single_letter_that_may_differ_ends():
    assert not contained_terms(["y = 1", "", "e"], {"e": 1.0}).any()


def test_a_term_of_one_letter_is_found_in_every_line_that_has_it():
    contained = contained_terms(["x = 1", "", "cookie = x", "y"], {"cooki": 1.0, "x": 1.0})
    assert contained.shape == (4, 2)
    assert contained[2, 0]
