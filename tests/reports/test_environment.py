"""Lines about what is installed."""

import pytest

from tests.reports.kinds import kind_of
from tosloc.core.reports import BugReport
from tosloc.reports.text.parts import split_report_text
from tosloc.reports.text.report_text import ReportText


@pytest.mark.parametrize(
    "line",
    [
        "- OS: Ubuntu 18.04",
        "Python version: 3.7",
        "numpy==1.18.5",
        "v1.2.3",
        "numpy  1.18.5  pypi_0",
    ],
)
def test_lines_about_what_is_installed(line):
    assert kind_of(line) == ["environment"]


@pytest.mark.parametrize(
    "heading", ["### Depot version", "### 系统信息", "## Depotのバージョン", "**是什么版本**"]
)
def test_short_lines_below_a_heading_for_the_environment(heading):
    parts = split_report_text(f"{heading}\n\nnightly build\n\n### What happened\n\nIt hangs")
    assert parts.environment == "nightly build"
    assert parts.prose == "It hangs"


@pytest.mark.parametrize(
    "question",
    [
        "### What version of Depot are you using?",
        "**Which browser do you use?**",
        "What is your operating system?",
        "#### How did you install Depot?",
    ],
)
def test_answer_to_a_question_about_the_environment(question):
    answer = "Depot, 3rd of May\nsimd(compile):+SSE2"
    parts = split_report_text(f"{question}\n\n{answer}\n\n### Describe your bug.\n\nIt hangs")
    assert parts.environment == answer
    assert parts.prose == "It hangs"


@pytest.mark.parametrize(
    "question",
    [
        "### What happens to the cart on my platform?",
        "Which version is it that you would fix first",
    ],
)
def test_other_question_is_not_about_the_environment(question):
    assert split_report_text(f"{question}\n\nIt hangs").environment == ""


def test_block_below_a_heading_for_the_environment():
    parts = split_report_text("## Environment\n```\nDepot nightly on arm\n```\nIt hangs")
    assert parts.environment == "Depot nightly on arm"


@pytest.mark.parametrize("first", ["sessionInfo()", "#> R version 4.0.2 (2020-06-22)"])
def test_session_of_r(first):
    block = f"{first}\n#> Platform: x86_64-pc-linux-gnu (64-bit)\n#> BLAS: /usr/lib/libblas.so"
    parts = split_report_text(f"It crashes\n```r\n{block}\n```")
    assert parts.environment == block


def test_qualified_name_is_not_what_is_installed():
    assert split_report_text("```\ntorch::open(1)\n```").code == "torch::open(1)"


def test_output_of_a_command_of_diagnosis():
    text = "Output of `tool diagnose`:\n```\nChecking disk: all is well\n```\nIt hangs"
    parts = split_report_text(text)
    assert parts.environment == "Checking disk: all is well"
    assert parts.form == "Output of `tool diagnose`:"


def test_output_of_another_command_is_code():
    assert split_report_text("Output of `tool run`:\n```\nno cart\n```").code == "no cart"


def test_traceback_below_a_heading_for_the_environment_is_no_environment():
    text = "## Environment\n```\nTraceback (most recent call last):\nKeyError\n```"
    assert split_report_text(text).environment == ""


@pytest.mark.parametrize(
    "block",
    [
        "Collecting environment information...\nIs debug build: no",
        "INSTALLED VERSIONS\n------\npandas : 1.0",
        "a==1.0\nb==2.0\nc==3.0",
        "Checking git: OK\ncurl version: 7.88\nzip: not available",
    ],
    ids=["collect_env", "show_versions", "pip freeze", "diagnose"],
)
def test_dumps_of_what_is_installed(block):
    parts = split_report_text(f"```\n{block}\n```")
    assert parts.environment
    assert parts.code == ""


def test_table_of_versions():
    parts = split_report_text("| Software | Version |\n|---|---|\n| Depot | 3 |\n\nIt hangs")
    assert "| Depot | 3 |" in parts.environment
    assert parts.prose == "It hangs"


def test_assignment_that_begins_like_a_key_is_code():
    assert split_report_text("```\nkernel = RBF(3)\n```").code == "kernel = RBF(3)"


@pytest.mark.parametrize(
    "line", ["return 0.0f", "height = 2.0.dp", "margin=2.0.dp", "scale 1.5f", "yield 0.5"]
)
def test_number_in_code_is_code(line):
    assert split_report_text(f"```\n{line}\n```").code == line


def test_line_of_a_block_of_code_is_code():
    text = "def f():\n    import door\n    step 0.5\n    return x"
    assert split_report_text(f"```\n{text}\n```").code == text


@pytest.mark.parametrize(
    "command",
    [
        "python collect_env.py",
        "$ python -m torch.utils.collect_env",
        "wget https://x.org/utils/collect_env.py",
        "depot doctor -v",
        "import depot; depot.show_versions()",
    ],
)
def test_command_that_a_form_asks_to_run_is_environment(command):
    block = f"{command}\nDoors: three\nCarts: four"
    assert split_report_text(f"It hangs\n```\n{block}\n```").environment == block


@pytest.mark.parametrize(
    ("kind", "failure"),
    [
        ("trace", "/gems/depot-1.2/lib/depot/door.rb:8:in `shut'"),
        ("trace", "#1 0x4f4971 in shut_door /src/depot/door.c:8:5"),
        ("prose", "depot.DoorError: shut"),
        ("prose", "panic: shut"),
        ("errors", "[ERROR] shut"),
        ("errors", "door.c:8:5: error: 'shut' undeclared"),
    ],
)
def test_failure_below_a_heading_for_the_environment_is_no_answer_to_it(kind, failure):
    parts = split_report_text(f"## Depot version\n\n1.2.0\n\n{failure}")
    assert parts.environment == "1.2.0"
    assert getattr(parts, kind) == failure


def test_block_of_a_failure_below_a_heading_for_the_environment():
    frame = "/gems/depot-1.2/lib/depot/door.rb:8:in `shut'"
    parts = split_report_text(f"## Depot version\n\n1.2.0\n\n```\nno door for nil\n{frame}\n```")
    assert parts.environment == "1.2.0"
    assert parts.code == "no door for nil"
    assert parts.trace == frame


ENTRY = f"commit {'12ab' * 10}\nAuthor: Ada\nDate: Mon\n\n    Rename the door"
HEAD_ENTRY = ENTRY.replace("\nAuthor", " (HEAD -> main)\nAuthor")


@pytest.mark.parametrize(
    "text",
    [
        f"I run\n```\n$ git log\n{ENTRY}\n```",
        f"Depot version:\n{ENTRY}",
        f"```\n{HEAD_ENTRY}\n```",
    ],
)
def test_log_entry_of_the_reporters_version_is_about_the_environment(text):
    parts = ReportText(BugReport("1", "It hangs", text, None)).parts
    assert "Rename the door" in parts.environment
    assert "door" not in f"{parts.prose} {parts.code}"


@pytest.mark.parametrize(
    "text",
    [
        f"Caused by\n\n{ENTRY}",
        f"git bisect log says that the first bad commit is\n```\n{ENTRY}\n```",
        f"Commits since the last version:\n{ENTRY}\n\n{ENTRY}",
    ],
)
def test_log_entry_of_a_suspected_commit_is_evidence(text):
    parts = ReportText(BugReport("1", "It hangs", text, None)).parts
    assert "door" not in parts.environment
