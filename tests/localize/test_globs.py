"""Globs of .gitignore syntax choose files; globs of strangers cost no time and raise nothing."""

import numpy as np
import pytest

from tosloc.core.errors import ToslocError
from tosloc.localize.code_owners import owners_of
from tosloc.localize.globs import LONGEST_GLOB, Glob, GlobError, Globs, select_files
from tosloc.paths.classify import which_are_tests

PATHS = (
    "docs/conf.py",
    "lib/src/a.py",
    "src/a.py",
    "src/b/c.py",
    "src/b/d.js",
    "tests/test_a.py",
    "tests/x.rb",
)


def chosen(include=(), exclude=(), **options):
    return select_files(PATHS, which_are_tests(PATHS), Globs(include, exclude), **options)


@pytest.mark.parametrize(
    ("include", "exclude", "left"),
    [
        ("/src/", "", "src/a.py src/b/c.py src/b/d.js"),
        ("src", "", "lib/src/a.py src/a.py src/b/c.py src/b/d.js"),
        ("src/*.py", "", "src/a.py"),
        ("./src/**/*.py", "", "src/a.py src/b/c.py"),
        ("*.js docs/", "", "docs/conf.py src/b/d.js"),
        ("*.py", "src tests", "docs/conf.py"),
    ],
)
def test_globs_are_those_of_gitignore(include, exclude, left):
    found = chosen(include=tuple(include.split()), exclude=tuple(exclude.split()))
    assert [path for path, keep in zip(PATHS, found.kept, strict=True) if keep] == left.split()


def test_tests_are_hidden_and_counted():
    selection = chosen()
    assert selection.kept.tolist() == [True] * 5 + [False] * 2
    assert selection.hidden_tests == 2


def test_tests_may_be_shown():
    selection = chosen(tests=True)
    assert selection.kept.all()
    assert selection.hidden_tests == 0
    assert selection.notes == ()


@pytest.mark.parametrize("include", ["tests", "*.rb"])
def test_no_test_is_hidden_if_all_files_are_tests(include):
    selection = chosen(include=(include,))
    assert selection.kept.any()
    assert selection.hidden_tests == 0
    assert selection.notes == ("all searched files are test files, so none is hidden",)


ARE_VENDORED = np.array([path.startswith("lib/") for path in PATHS])


def kept(selection):
    return [path for path, keep in zip(PATHS, selection.kept, strict=True) if keep]


def test_vendored_files_are_hidden_and_counted_apart_from_tests():
    selection = chosen(are_others_hidden=ARE_VENDORED)
    assert kept(selection) == ["docs/conf.py", "src/a.py", "src/b/c.py", "src/b/d.js"]
    assert selection.hidden_tests == 2
    assert selection.hidden_files == 1
    assert selection.sharing.tolist() == selection.kept.tolist()


def test_tests_alone_may_be_shown():
    selection = chosen(are_others_hidden=ARE_VENDORED, tests=True)
    assert "tests/x.rb" in kept(selection)
    assert "lib/src/a.py" not in kept(selection)


def test_all_classes_may_be_shown():
    selection = chosen(are_others_hidden=ARE_VENDORED, all_files=True)
    assert kept(selection) == list(PATHS)
    assert selection.hidden_tests == 0
    assert selection.hidden_files == 0


def test_vendored_files_are_shown_if_globs_leave_nothing_else():
    selection = chosen(are_others_hidden=ARE_VENDORED, include=("lib/",))
    assert kept(selection) == ["lib/src/a.py"]
    [note] = selection.notes
    assert note.endswith("so none is hidden")


def test_tests_are_shown_before_vendored_files():
    selection = chosen(are_others_hidden=ARE_VENDORED, include=("lib/", "tests/"))
    assert kept(selection) == ["tests/test_a.py", "tests/x.rb"]


def test_hidden_file_that_the_report_names_is_selected():
    tests = which_are_tests(PATHS)
    hidden = chosen(are_others_hidden=ARE_VENDORED)
    selection = hidden.with_files([1, 5], tests)
    assert "lib/src/a.py" in kept(selection)
    assert "tests/test_a.py" in kept(selection)
    assert selection.hidden_tests == 1
    assert selection.hidden_files == 0


def test_file_that_the_report_names_is_not_selected_against_the_globs():
    tests = which_are_tests(PATHS)
    hidden = chosen(are_others_hidden=ARE_VENDORED, include=("src/**/*.js",))
    selection = hidden.with_files([1], tests)
    assert kept(selection) == ["src/b/d.js"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"include": ("*.java",)}, r"include: '\*.java' matches none of the 7 source files"),
        ({"include": ("*.py",), "exclude": ("nowhere/",)}, "exclude: 'nowhere/' matches none"),
        (
            {"include": ("src",), "exclude": ("*.py", "*.js")},
            "the globs exclude all 7 source files",
        ),
        *(
            ({"exclude": (glob,)}, f"exclude: '{glob}' is not a valid glob")
            for glob in ("", "!src", "# src")
        ),
        ({"include": ("a**/[",)}, "include"),
    ],
)
def test_a_glob_that_matches_nothing_is_one_sentence(options, words):
    with pytest.raises(ToslocError, match=words):
        chosen(**options)


@pytest.mark.parametrize("pattern", ["[z-a]", "\\", "a[[.", "x" * (LONGEST_GLOB + 1)])
def test_a_pattern_that_is_no_glob_is_one_sentence(pattern):
    with pytest.raises(
        ToslocError, match=r"^include: '.*' (is not a valid glob:|matches none of the 7)"
    ):
        chosen(include=(pattern,))


def test_a_reversed_range_is_no_glob():
    with pytest.raises(GlobError, match="bad character range"):
        Glob("[z-a]")


@pytest.mark.parametrize("stars", [4, 12, 200])
def test_a_glob_of_many_stars_is_matched_in_bounded_time(stars):
    # A matcher that backtracks takes years.
    glob = Glob("*a" * stars + "b")
    assert not glob.matches("src/" + "a" * 4000)


def test_paths_that_are_not_utf8_are_matched():
    assert Glob("src/*.py").matches("src/caf\udce9.py")


def test_a_blank_of_a_pattern_is_escaped_in_code_owners():
    rules = "* @all\napps/My\\ App/ @team"
    assert owners_of(rules, "apps/My App/main.py") == ["@team"]


@pytest.mark.parametrize(
    "line", ["[z-a] @x", "\\ @x", "\\", "a[ @x", "[Section] @x", "^[Optional] @x", "!a @x"]
)
def test_a_line_of_code_owners_that_is_no_rule_is_skipped(line):
    assert owners_of(f"* @all\n{line}", "a") == ["@all"]


def test_code_owners_of_many_stars_are_matched_in_bounded_time():
    rules = "* @all\n" + "\n".join("*a" * 20 + "b @x" for _ in range(50))
    assert owners_of(rules, "a" * 4000) == ["@all"]
