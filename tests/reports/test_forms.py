"""Lines, templates and headings of issue forms."""

import pytest

from tests.reports.kinds import kind_of
from tosloc.reports.text.forms import is_issue_template, template_keys
from tosloc.reports.text.parts import split_report_text


@pytest.mark.parametrize(
    "line",
    [
        "## Describe the bug",
        "**To Reproduce**",
        "### Describe what went wrong",
        "- [x] I use the latest version",
        "- [ ] Windows",
        "A clear and concise description of what the bug is.",
        "_No response_",
        "Please include a minimal example.",
        "Before submitting an issue, read this.",
    ],
)
def test_lines_of_forms(line):
    assert kind_of(line) == ["form"]


@pytest.mark.parametrize(
    "line", ["# Cart is empty", "**The cart is empty**", "- the cart [x] hangs"]
)
def test_headings_of_reporters_are_prose(line):
    assert kind_of(line) == ["prose"]


TEMPLATE = """name: Bug
body:
  - type: input
    attributes:
      label: Which depot do you run
      description: Look at the sign above its door.
  - type: dropdown
    attributes:
      label: Which part is broken
      options:
        - Cart
        - Bill of the depot
  - type: checkboxes
    attributes:
      options:
        - label: I mounted nothing else
"""


@pytest.mark.parametrize(
    "line",
    [
        "### Which depot do you run",
        "Look at the sign above its door.",
        "Which part is broken?",
        "I mounted nothing else",
    ],
)
def test_lines_of_the_projects_template_are_its_form(line):
    assert kind_of(line) == ["prose"]
    assert kind_of(line, template=template_keys(TEMPLATE)) == ["form"]


ENVIRONMENT_TEMPLATE = """body:
  - type: textarea
    id: depot-version
    attributes:
      label: "貨物は"
      placeholder: Copy it from the page
  - type: textarea
    id: what-happened
    attributes:
      label: "何が"
"""


def test_answer_to_a_field_of_the_template_that_asks_for_the_version():
    text = "### 貨物は\n\nDepot nightly\nrun(3)\n\n### 何が\n\nIt hangs"
    parts = split_report_text(text, template_keys(ENVIRONMENT_TEMPLATE))
    assert parts.environment == "Depot nightly\nrun(3)"
    assert parts.prose == "It hangs"
    assert parts.form == "### 貨物は\n### 何が"


def test_a_line_of_the_template_with_an_address_is_its_form():
    line = "See [our guide](https://depot.example/guide) before you write"
    assert kind_of(line, template=template_keys(line)) == ["form"]


def test_option_that_the_reporter_chose_is_prose():
    assert kind_of("Bill of the depot", template=template_keys(TEMPLATE)) == ["prose"]


def test_a_heading_of_a_form_in_two_scripts_is_form():
    keys = template_keys("## DEPOTのバージョン\n")
    assert kind_of("## DEPOT のバージョン", template=keys) == ["form"]


def test_template_in_markdown():
    keys = template_keys("## Which depot do you run?\n\n- [ ] I mounted nothing else\n")
    assert keys == {"which depot do you run", "i mounted nothing else"}


@pytest.mark.parametrize(
    "path",
    [
        ".github/ISSUE_TEMPLATE/bug.yml",
        ".github/ISSUE_TEMPLATE.md",
        "ISSUE_TEMPLATE.md",
        "docs/issue_template.md",
        ".gitlab/issue_templates/Bug.md",
    ],
)
def test_paths_of_templates(path):
    assert is_issue_template(path)


@pytest.mark.parametrize("path", [".github/workflows/a.yml", "src/issue_template.py", "a.md"])
def test_other_paths_are_no_templates(path):
    assert not is_issue_template(path)
