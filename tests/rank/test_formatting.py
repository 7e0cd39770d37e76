"""Commits that only format code."""

import pytest

from tosloc.git.patches import FilePatch, Hunk
from tosloc.rank.suspects.formatting import is_formatting, sets_only_version
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


VERSION = ("-VERSION = (3, 10, 2)", "+VERSION = (3, 10, 3)")
LINK = (" # see", "-# x.org/v3.1.10/cart", "+# x.org/v3.1.11-dev/cart")


def patches_of(*hunks):
    """Return the patch of one file with hunks, given as lines."""
    return [FilePatch("1" * 40, "cart.py", False, tuple(Hunk(1, 1, lines) for lines in hunks))]


@pytest.mark.parametrize(
    "subject",
    [
        "Release 3.10.3",
        "chore: Release",
        ":bookmark: set version to 3.10.3",
        "Bump to 3.10.3",
        "3.10.3",
        "(cargo-release) start next development version 3.10.4-alpha.0",
    ],
)
def test_commit_that_only_sets_a_version(subject):
    assert sets_only_version(subject, patches_of(VERSION, LINK))


@pytest.mark.parametrize(
    ("subject", "patches"),
    [
        ("Wait longer", patches_of(("-wait(10)", "+wait(20)"))),
        ("Bump the time limit", patches_of(("-wait(10)", "+wait(20)"))),
        ("Release 3.10.3", patches_of(VERSION, ("-total(cart)", "+total(carts)"))),
        ("Release 3.10.3", patches_of(VERSION, ("+total(cart)",))),
        ("Release 3.10.3", []),
    ],
    ids=["no version", "another number", "another line", "a new line", "no lines"],
)
def test_commit_that_does_more_than_set_a_version(subject, patches):
    assert not sets_only_version(subject, patches)
