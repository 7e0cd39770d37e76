"""What failed, as machines write it: each format, logs around it, and what is none of them."""

import json
from datetime import UTC, datetime

import pytest

from tests.reports.failure_samples import GO, JUNIT, MAVEN, PYTEST, SAMPLES, SENTRY, UNITTEST
from tosloc.core.errors import ReportError
from tosloc.reports.failures.failure import MAX_BODY_LINES, MAX_FAILURES, own_lines
from tosloc.reports.failures.log import Log
from tosloc.reports.failures.table import FORMATS, read_failures
from tosloc.reports.issues import read_new_reports, read_report
from tosloc.reports.traces import locations


def read(text):
    """Return the reports of a text's failures."""
    return read_failures(text, UTC, "log")


def innermost(report):
    """Return the innermost frame of a report's first trace."""
    return locations(report.description).traces[0][0]


@pytest.mark.parametrize("name", SAMPLES)
def test_the_summary_says_what_failed(name):
    assert read(SAMPLES[name].text)[0].summary == SAMPLES[name].summary


@pytest.mark.parametrize("name", SAMPLES)
def test_the_description_has_the_projects_frames(name):
    frame = innermost(read(SAMPLES[name].text)[0])
    assert frame.full_path == SAMPLES[name].path
    assert frame.line == SAMPLES[name].line
    assert frame.method == SAMPLES[name].method


@pytest.mark.parametrize("name", SAMPLES)
def test_each_distinct_failure_is_a_report(name):
    assert len(read(SAMPLES[name].text)) == SAMPLES[name].number


@pytest.mark.parametrize("name", [name for name in SAMPLES if SAMPLES[name].noise])
def test_the_noise_of_the_run_is_left_out(name):
    for report in read(SAMPLES[name].text):
        assert SAMPLES[name].noise not in report.description


def test_every_format_has_a_sample():
    for form in FORMATS:
        assert any(name.startswith(form.name.partition(" XML")[0]) for name in SAMPLES), form.name


def test_a_panic_is_found_without_the_frames_of_the_runtime():
    report = read(GO)[1]
    assert "index out of range" in report.summary
    assert innermost(report).full_path == "/srv/shop/door/key.go"
    assert innermost(report).method == "Turn"
    assert "tRunner" not in report.description


def test_the_error_of_a_fixture_is_a_failure():
    report = read(PYTEST)[1]
    assert report.summary == "test_door: KeyError: 'blank'"
    assert "functools" not in report.description


def test_the_file_of_the_test_is_named_without_a_trace():
    summary = "FAILED tests/test_cart.py::test_total - KeyError: 'share'\n1 failed in 0.1s\n"
    [report] = read(summary)
    assert report.summary == "test_total: KeyError: 'share'"
    assert "tests/test_cart.py" in report.description


def test_short_lines_of_pytest_have_the_whole_message():
    text = (
        "=== FAILURES ===\n/srv/shop/cart.py:21: KeyError: 'a long message'\n"
        "=== short test summary info ===\nFAILED tests/test_cart.py::test_total - KeyError: 'a...\n"
    )
    [report] = read(text)
    assert report.summary == "test_total: KeyError: 'a long message'"
    assert innermost(report).line == 21


def test_mocha_without_the_list_of_tests_is_read():
    text = "  1 failing\n\n  1) Cart is empty:\n     Error: no\n      at f (src/cart.js:3:1)\n"
    assert read(text)[0].summary == "Cart is empty: Error: no"


def test_ctest_without_output_names_the_tests():
    text = "Test project /b\n\nThe following tests FAILED:\n\t  2 - cart_test (Timeout)\n"
    assert read(text)[0].summary == "cart_test: Timeout"


def test_old_panics_of_rust_have_their_message():
    text = (
        "running 1 test\n\nfailures:\n\n---- cart stdout ----\n"
        "thread 'cart' panicked at 'no rebate', src/cart.rs:21:9\n\nfailures:\n    cart\n"
    )
    assert read(text)[0].summary == "cart: no rebate"


# ---- several failures


def unittest_failures(*values):
    """Return the output of unittest with a failure for each value; equal values fail alike."""
    heads = []
    for number, value in enumerate(values):
        trace = f'Traceback (most recent call last):\n  File "a.py", line {value}, in f\n    g()\n'
        heads.append(f"{'=' * 70}\nERROR: test_{number} (T)\n{'-' * 70}\n{trace}KeyError: 1\n")
    return "".join(heads) + "Ran 1 test in 0.1s\n"


def test_failures_at_one_place_with_one_message_are_one():
    assert len(read(unittest_failures(3, 3, 3))) == 1


def test_the_most_frequent_failure_leads_then_the_first():
    summaries = [report.summary for report in read(unittest_failures(3, 4, 5, 4))]
    assert summaries == [
        "test_1 (T): KeyError: 1",
        "test_0 (T): KeyError: 1",
        "test_2 (T): KeyError: 1",
    ]


def test_messages_that_differ_in_numbers_are_one():
    text = (
        "--- FAIL: TestA (0.00s)\n    a_test.go:3: 0x7f3 is not 12\n"
        "--- FAIL: TestB (0.00s)\n    a_test.go:3: 0xab4 is not 13\nFAIL\n"
    )
    assert len(read(text)) == 1


@pytest.fixture
def results(tmp_path):
    """Write test results with two failures; return their path."""
    path = tmp_path / "results.xml"
    path.write_text(JUNIT)
    return path


def test_one_report_is_the_first_failure_and_counts_the_others(results):
    [report] = read_new_reports(results)
    assert report.id == "results"
    assert report.notes == (
        f"{results} has 1 other failure; `tosloc localize --jsonl` answers each",
    )


def test_a_report_of_the_only_failure_has_no_note(tmp_path):
    path = tmp_path / "log.txt"
    path.write_text(UNITTEST)
    assert read_report(path).notes == ()


def test_every_failure_can_be_read(results):
    reports = read_new_reports(results, every_failure=True)
    assert [report.id for report in reports] == ["results:1", "results:2"]
    assert [report.notes for report in reports] == [(), ()]


def test_the_error_of_a_case_without_a_trace_names_its_file():
    assert "KeyTest.java" in read(JUNIT)[1].description


# ---- times


def test_test_results_have_no_time_of_opening():
    assert read(JUNIT)[0].opened is None


def test_an_event_was_opened_when_it_happened():
    assert read(SENTRY)[0].opened == datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC)


def test_an_event_names_its_release():
    assert "Version: 1.4.2" in read(SENTRY)[0].description


def test_a_time_that_is_none_is_refused():
    with pytest.raises(ReportError, match="log: 'soon' is not a time"):
        read(SENTRY.replace("2024-05-06T07:08:09Z", "soon"))


# ---- logs of continuous integration


def stamped(stamp, text=PYTEST):
    """Return a text with a time before each line."""
    return "".join(f"{stamp}{line}\n" for line in text.splitlines())


LOGS = {
    "GitHub": "2024-05-06T07:08:09.1234567Z ##[group]Run pytest\n"
    + stamped("2024-05-06T07:08:09.1234567Z ")
    + "2024-05-06T07:08:09.1234567Z ##[error]Process completed with exit code 1.\n",
    "gh run view --log": stamped("test\tRun pytest\t2024-05-06T07:08:09.1234567Z "),
    "GitLab": "\x1b[0KRunning with gitlab-runner 17.0.0\n"
    "section_start:1714979289:step_script\n\x1b[0K\x1b[0K\x1b[36;1mExecuting\x1b[0;m\n"
    f"\x1b[32;1m$ pytest\x1b[0;m\n{PYTEST}section_end:1714979290:step_script\n\x1b[0K\n",
    "GitLab with times": stamped("2024-05-06T07:08:09.123456Z 01O "),
    "Jenkins": f"Started by user Ada\n[Pipeline] sh\n\x1b[8mha:////4Kz+/=\x1b[0m+ pytest\n{PYTEST}",
    "Jenkins with times": stamped("[2024-05-06T07:08:09.123Z] "),
    "Jenkins with clock": stamped("07:08:09  "),
    "docker build": stamped("#12 3.456 "),
}


@pytest.mark.parametrize("name", LOGS)
def test_a_log_is_read_without_times_colours_and_markers(name):
    assert read(LOGS[name]) == read(PYTEST)


def test_colours_are_removed():
    coloured = PYTEST.replace("E       TypeError", "\x1b[1m\x1b[31mE       TypeError\x1b[0m")
    assert read(coloured) == read(PYTEST)


def test_colours_within_what_marks_a_failure_are_removed():
    vitest = SAMPLES["vitest"].text
    coloured = vitest.replace(" Failed Tests", "\x1b[39m\x1b[1m Failed Tests").replace(
        "❯", "\x1b[31m❯"
    )
    assert read(coloured) == read(vitest)


def test_a_test_file_that_jest_cannot_read_is_named():
    text = "FAIL test/cart.test.js\n  ● Test suite failed to run\n\n    SyntaxError: no\n"
    assert read(text)[0].summary == "test/cart.test.js: SyntaxError: no"


def test_several_runners_in_one_log_are_all_read():
    log = stamped("2024-05-06T07:08:09Z ", PYTEST + MAVEN)
    assert {report.summary for report in read(log)} >= {
        SAMPLES["pytest"].summary,
        SAMPLES["Maven"].summary,
    }


def test_times_that_the_program_logs_stay():
    lines = ["started", "07:08:09 it fails", "ended", "again"]
    assert Log("\n".join(lines)).lines == lines


# ---- what is no failure of a run


@pytest.mark.parametrize("name", SAMPLES)
def test_a_report_that_quotes_a_run_stays_a_report(name):
    text = f"The rebate counts twice\n\nThe tests say:\n\n{SAMPLES[name].text}"
    assert read(text) == []


@pytest.mark.parametrize("name", SAMPLES)
def test_a_run_in_a_fence_stays_a_report(name):
    assert read(f"$ make test\n\n```\n{SAMPLES[name].text}```\n") == []


def test_an_error_of_a_compiler_may_be_the_title_of_a_report():
    assert read("error[E0308]: mismatched types\n\nThe compiler should say why.\n") == []


def test_a_run_that_passed_has_no_failures():
    text = "=== test session starts ===\ntests/test_cart.py .. [100%]\n=== 2 passed in 0.1s ===\n"
    assert read(text) == []


def test_the_json_of_an_issue_is_no_event():
    issue = {"title": "t", "body": 'We log {"event_id": 1, "exception": 2}.', "number": 3}
    assert read(json.dumps(issue)) == []


# ---- hostile input


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("part", [1 / 3, 1 / 2, 0.9])
def test_a_truncated_file_is_read_or_refused(name, part):
    text = SAMPLES[name].text
    try:
        reports = read(text[: int(len(text) * part)])
    except ReportError as error:
        assert str(error).startswith("log")  # noqa: PT017
    else:
        assert all(report.summary for report in reports)


@pytest.mark.parametrize(
    "declaration",
    ['<!DOCTYPE t [<!ENTITY a "aaaa">]>', '<!DOCTYPE t SYSTEM "file:///etc/passwd">'],
)
def test_xml_with_declarations_is_refused(declaration):
    with pytest.raises(ReportError, match="malformed XML, or has entities"):
        read(JUNIT.replace("<testsuites>", f"{declaration}<testsuites>"))


@pytest.mark.parametrize(
    "text", ["<testsuites/>", '{"event_id": "1", "exception": {"values": []}}']
)
def test_results_without_a_failure_are_refused(text):
    with pytest.raises(ReportError, match="log contains no failure"):
        read(text)


def test_malformed_xml_is_refused():
    with pytest.raises(ReportError, match="log is malformed XML"):
        read(JUNIT.replace("</testsuites>", ""))


def test_malformed_json_is_refused():
    with pytest.raises(ReportError, match="log: the Sentry event is malformed JSON"):
        read(SENTRY[:-5])


@pytest.mark.parametrize(
    "values",
    [None, 3, "x", [None, 3], {"values": 4}, {"values": [{"stacktrace": {"frames": [1]}}]}],
)
def test_an_event_of_another_shape_is_read(values):
    event = {"event_id": "1", "culprit": "checkout", "exception": values}
    assert read(json.dumps(event))[0].summary.startswith("checkout")


def test_events_may_be_a_list_or_one_a_line():
    event = json.dumps(json.loads(SENTRY))
    assert len(read(f"{event}\n{event}\n")) == 1
    assert len(read(f"[{event}, {event}]")) == 1


def test_the_failures_of_a_run_are_bounded():
    head = "--- FAIL: Test{} (0.00s)\n    a_test.go:{}: no\n"
    text = "".join(head.format(number, number) for number in range(1, MAX_FAILURES + 10))
    assert len(read(text)) == MAX_FAILURES


def test_the_lines_of_a_failure_are_bounded():
    text = "--- FAIL: TestA (0.00s)\n" + "    a_test.go:3: no\n    b\n" * MAX_BODY_LINES
    assert len(read(text)[0].description.splitlines()) == MAX_BODY_LINES


def test_a_large_log_of_a_passing_run_costs_no_failures():
    assert read("=== RUN TestA\n" * 100_000) == []


def test_the_functions_of_the_frames_of_rusts_library_are_left_out():
    body = [
        "   4: core::option::expect_failed",
        "             at /rustc/5980/library/core/src/option.rs:2245:5",
        "   5: shop::cart::total",
        "             at ./src/cart.rs:3:18",
    ]
    assert own_lines(body) == body[2:]


def test_the_code_of_a_librarys_frame_is_left_out():
    body = [
        '  File "/x/site-packages/a.py", line 1, in f',
        "    g()",
        '  File "b.py", line 2, in h',
    ]
    assert own_lines(body) == ['  File "b.py", line 2, in h']
