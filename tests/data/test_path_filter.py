"""Globs choose files as .gitignore does; tests are hidden unless they are wanted, or all there is."""

from __future__ import annotations

import pytest

from tosloc.data.path_filter import PathFilter
from tosloc.errors import ToslocError

PATHS = ("docs/conf.py", "lib/src/a.py", "src/a.py", "src/b/c.py", "src/b/d.js", "tests/test_a.py", "tests/x.rb")


def kept(**options) -> list[str]:
    chosen = PathFilter(**options).choose(PATHS)
    return [path for path, keep in zip(PATHS, chosen.kept, strict=True) if keep]


@pytest.mark.parametrize(
    ("include", "exclude", "left"),
    [
        (["/src/"], [], ["src/a.py", "src/b/c.py", "src/b/d.js"]),
        (["src"], [], ["lib/src/a.py", "src/a.py", "src/b/c.py", "src/b/d.js"]),
        (["src/*.py"], [], ["src/a.py"]),
        (["./src/**/*.py"], [], ["src/a.py", "src/b/c.py"]),
        (["*.js", "docs/"], [], ["docs/conf.py", "src/b/d.js"]),
        ([], ["*.py"], ["src/b/d.js"]),
        (["*.py"], ["src", "tests"], ["docs/conf.py"]),
    ],
)
def test_globs_are_those_of_gitignore(include, exclude, left):
    assert kept(include=tuple(include), exclude=tuple(exclude)) == left


def test_tests_are_hidden_and_counted():
    chosen = PathFilter().choose(PATHS)
    assert (chosen.kept.tolist(), chosen.hidden_tests) == ([True] * 5 + [False] * 2, 2)
    assert chosen.notes == ("all .rb files are test files and hidden; --tests shows them",)
    shown = PathFilter(tests=True).choose(PATHS)
    assert (shown.kept.all(), shown.hidden_tests, shown.notes) == (True, 0, ())


def test_where_all_files_are_tests_none_is_hidden():
    for options in ({"include": ("tests",)}, {"include": ("*.rb",)}):
        chosen = PathFilter(**options).choose(PATHS)
        assert (chosen.kept.any(), chosen.hidden_tests) == (True, 0)
        assert chosen.notes == ("all searched files are test files, so none is hidden",)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"include": ("*.java",)}, r"--include '\*.java' matches none of the 7 source files"),
        ({"include": ("*.py",), "exclude": ("nowhere/",)}, "--exclude 'nowhere/' matches none"),
        ({"include": ("src",), "exclude": ("*.py", "*.js")}, "none of the 7 source files is left"),
        ({"include": ("",)}, "--include '' is no glob"),
        ({"exclude": ("!src",)}, "--exclude '!src' is no glob"),
        ({"exclude": ("# src",)}, "--exclude '# src' is no glob"),
        ({"include": ("a**/[",)}, "--include"),
    ],
)
def test_a_glob_that_matches_nothing_is_one_sentence(options, words):
    with pytest.raises(ToslocError, match=words):
        PathFilter(**options).choose(PATHS)
