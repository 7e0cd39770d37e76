"""Commits that only format code."""

import pytest

from tosloc.rank.suspects.formatting import is_formatting
from tosloc.retrieval.history.history_index import MAX_FILES


@pytest.mark.parametrize(
    "subject",
    [
        "Re-enable ktlint indent rule",
        "bump ktlint",
        "Bump ktlint from 0.48.1 to 1.0 (#123)",
        "Reformat the cart",
        "Run black on all files",
        "Fix trailing whitespace",
        "style: apply prettier",
        "Format code",
        'Revert "Reformat the cart"',
        "[autofix.ci] apply automated fixes",
        "[pre-commit.ci] auto fixes from pre-commit.com hooks",
    ],
)
def test_subjects_that_speak_of_form_alone(subject):
    assert is_formatting(subject)


@pytest.mark.parametrize(
    "subject",
    [
        "Format dates of invoices",
        "Fix crash found by clang-tidy",
        "Add a linter for carts",
        "Change the format of prices",
        "Fix indent of nested lists",
        'Revert "Change the format of prices"',
        "Run pre-commit hooks before carts are saved",
        "Fix",
        "",
    ],
)
def test_subjects_that_speak_of_more(subject):
    assert not is_formatting(subject)


def test_a_formatters_own_name_says_nothing():
    assert not is_formatting("Update black settings", own_names={"black"})


@pytest.mark.parametrize(("files", "expected"), [(1, False), (MAX_FILES + 1, True)])
def test_a_subject_that_begins_with_form_counts_for_many_files(files, expected):
    assert is_formatting("Format carts and doors", files) is expected
