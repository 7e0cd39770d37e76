"""Globs of .gitignore syntax choose files; globs of strangers cost no time and raise nothing."""

import time

import pytest

from tosloc.core.errors import ToslocError
from tosloc.paths.classify import which_are_tests
from tosloc.paths.code_owners import owners_of
from tosloc.paths.globs import LONGEST_GLOB, Glob, GlobError, select_files

PATHS = (
    "docs/conf.py",
    "lib/src/a.py",
    "src/a.py",
    "src/b/c.py",
    "src/b/d.js",
    "tests/test_a.py",
    "tests/x.rb",
)


def chosen(**options):
    return select_files(PATHS, which_are_tests(PATHS), **options)


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
    assert (chosen().kept.tolist(), chosen().hidden_tests) == ([True] * 5 + [False] * 2, 2)
    shown = chosen(tests=True)
    assert (shown.kept.all(), shown.hidden_tests, shown.notes) == (True, 0, ())
    for include in ("tests", "*.rb"):  # where all files are tests none is hidden
        found = chosen(include=(include,))
        assert (found.kept.any(), found.hidden_tests) == (True, 0)
        assert found.notes == ("all searched files are test files, so none is hidden",)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"include": ("*.java",)}, r"include: '\*.java' matches none of the 7 source files"),
        ({"include": ("*.py",), "exclude": ("nowhere/",)}, "exclude: 'nowhere/' matches none"),
        (
            {"include": ("src",), "exclude": ("*.py", "*.js")},
            "the globs leave none of the 7 source files",
        ),
        *(
            ({"exclude": (glob,)}, f"exclude: '{glob}' is no glob")
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
    with pytest.raises(ToslocError, match=r"^include: '.*' (is no glob:|matches none of the 7)"):
        chosen(include=(pattern,))


def test_a_reversed_range_is_no_glob():
    with pytest.raises(GlobError, match="bad character range"):
        Glob("[z-a]")


@pytest.mark.parametrize("stars", [4, 12, 200])
def test_many_stars_take_no_longer_than_few(stars):
    glob = Glob("*a" * stars + "b")
    started = time.process_time()
    assert not glob.matches("src/" + "a" * 4000)
    assert time.process_time() - started < 1


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


def test_code_owners_of_many_stars_take_no_time():
    rules = "* @all\n" + "\n".join("*a" * 20 + "b @x" for _ in range(50))
    started = time.process_time()
    assert owners_of(rules, "a" * 4000) == ["@all"]
    assert time.process_time() - started < 5
