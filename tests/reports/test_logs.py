"""Lines of logs: their levels, and which are left out of long ones."""

import pytest

from tests.reports.kinds import kind_of
from tosloc.reports.text.logs import MAX_ERROR_LINES, MAX_QUIET_LINES, condense_logs, expand_escapes
from tosloc.reports.text.parts import split_report_text


def test_errors_of_a_log_and_the_lines_beside_them():
    lines = [
        "10:00:01 INFO open a",
        "10:00:02 INFO open b",
        "10:00:03 ERROR no door",
        "10:00:04 INFO shut",
        "10:00:05 INFO end",
    ]
    parts = split_report_text("\n".join(lines))
    assert parts.errors == lines[2]
    assert parts.near_errors.splitlines() == [lines[1], lines[3]]
    assert parts.log.splitlines() == [lines[0], lines[4]]


def test_repeated_lines_of_a_log_count_once():
    text = "\n".join(f"10:00:0{n} ERROR no door {n}" for n in range(5))
    assert split_report_text(text).errors == "10:00:00 ERROR no door 0"


@pytest.mark.parametrize(
    "line",
    [
        "[20:59:59] [ERR] [1] Runner: no",
        '{"level":"error","msg":"no"}',
        "E0102 10:11:12 no",
        "2020-01-02 10:11:12 it failed",
    ],
)
def test_lines_that_say_what_failed_are_errors(line):
    log = "[20:00:00] [INF] [7] up\n[20:00:01] [INF] [7] on"
    assert kind_of(line, f"```\n{log}\n{line}\n{log}\n```") == ["errors"]


def test_quiet_level_goes_before_words_of_failures():
    assert split_report_text("10:00:01 DEBUG it failed").log == "10:00:01 DEBUG it failed"


def test_line_of_a_log_without_time_goes_on_with_the_line_before():
    text = "```\n10:00:01 ERROR no door\n  because of the key\n10:00:02 INFO up\n```"
    assert split_report_text(text).errors.splitlines()[1] == "  because of the key"


def log_line(number, level="INFO"):
    """Return a line of a log that differs from others in more than digits."""
    word = "".join(chr(ord("a") + int(digit)) for digit in str(number))
    return f"10:00:00 {level} {word}\n"


def test_quiet_lines_of_long_logs_are_left_out():
    text = "".join(map(log_line, range(3 * MAX_QUIET_LINES)))
    condensed = condense_logs(text)
    assert condensed.text == "".join(map(log_line, range(MAX_QUIET_LINES)))


def test_lines_beside_errors_stay_in_long_logs():
    lines = [*map(log_line, range(3 * MAX_QUIET_LINES))]
    error = "10:00:09 ERROR no door\n"
    lines[-2:-2] = [error]
    kept = condense_logs("".join(lines)).text.splitlines(keepends=True)
    assert kept[MAX_QUIET_LINES:] == lines[-4:-1]


def test_errors_of_long_logs_are_bounded():
    text = "".join(log_line(number, "ERROR") for number in range(2 * MAX_ERROR_LINES))
    assert condense_logs(text).text.count("\n") == MAX_ERROR_LINES


def test_other_lines_stay_beside_long_logs():
    log = "".join(map(log_line, range(3 * MAX_QUIET_LINES)))
    condensed = condense_logs(f"It hangs\n{log}Why?")
    assert condensed.text.startswith("It hangs\n")
    assert condensed.text.endswith("Why?")


def test_short_texts_are_not_condensed():
    text = "10:00:00 INFO up\n" * 9
    assert condense_logs(text).text == text


@pytest.mark.parametrize("word", ["It", "Why", "there"])
def test_offsets_in_the_original_text(word):
    log = "".join(map(log_line, range(3 * MAX_QUIET_LINES)))
    text = f"It hangs\n{log}Why?\n{log}Is it there?"
    condensed = condense_logs(text)
    offset = condensed.original_offset(condensed.text.index(word))
    assert text[offset:].startswith(word)


@pytest.mark.parametrize(
    ("line", "frame"),
    [
        (r'{"error":"x\n\tat a.B.c(B.java:1)\nend"}', "\n \tat a.B.c(B.java:1) \nend"),
        (r'{"error":"x\r\n   at A.B.C() in /_/B.cs:line 1"}', "\n   at A.B.C() in /_/B.cs:line 1"),
        (r'{"error":"x\n  File \"b.py\", line 1, in c\n"}', '\n  File  "b.py ", line 1, in c \n'),
        (r'{"exception":"x\n#0 /app/b.php(1): C->d()"}', "\n#0 /app/b.php(1): C->d()"),
        (r'msg="x\nb.C(0x1)\n\t/go/b.go:1 +0x9f"', "\n \t/go/b.go:1 +0x9f"),
    ],
)
def test_escaped_stack_trace_of_a_log_has_lines(line, frame):
    text = f"It fails\n{line}\nsince today"
    expanded = expand_escapes(text)
    assert frame in expanded
    assert len(expanded) == len(text)


@pytest.mark.parametrize("text", [r"C:\new\table.txt", r'print("a\n\tb")', r"a\nb\n c"])
def test_text_with_other_escapes_stays(text):
    assert expand_escapes(text) == text
