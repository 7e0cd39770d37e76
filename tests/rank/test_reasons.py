"""Reasons: what is said for a file, in which order, and that it is true."""

from __future__ import annotations

import numpy as np
import pytest

from tosloc.code.functions import functions_of
from tosloc.rank import features
from tosloc.rank.reasons import Sources
from tosloc.rank.stage_one import SHOWN, StageOne, StageOneAnswer
from tosloc.records import Function, Reason

PATHS = ("src/Leaf.java", "src/Tree.java", "test/TreeTest.java", *(f"test/x/F{n:02}.java" for n in range(30)))
EVERYTHING = dict.fromkeys(features.ALL, 1.0)


@pytest.fixture
def make(make_context):
    """Function (summary, description, commits, reports) -> context of 33 files."""

    def made(summary="Growing Tree", description="", commits=(), reports=()):
        files = {
            PATHS[0]: {"code": "leaf file", "comment": "grow"},
            PATHS[1]: {"code": "tree grow grow treehous file", "method": "grow", "type": "tree"},
            PATHS[2]: {"code": "tree file"},
            **{path: {"code": "file"} for path in PATHS[3:]},
        }
        return make_context(files, summary, description, commits, reports)

    return made


def why(context, weights, file, **more) -> tuple[Reason, ...]:
    [reasons] = answered(context, weights).why([file], **more)
    return reasons


def answered(context, weights) -> StageOneAnswer:
    columns = features.columns(context, features.ALL)
    stage = StageOne(tuple(weights), np.array([*weights.values()]))
    return StageOneAnswer(context, stage, columns, np.zeros((0, 0), np.float32), columns["bm25f"])


FRAMES = "The tree grows. at src.Tree.grow(Tree.java:3)"
PAST = {
    "commits": [(9, "tree grow", PATHS[1:3]), (3, "leaf", PATHS[:1])],
    "reports": [(40, "tree grow", PATHS[1:2]), (7, "leaf", PATHS[:1])],
}


def test_the_report_itself_comes_first_then_the_past_then_words(make):
    reasons = why(make("Growing Tree", FRAMES, **PAST), EVERYTHING, 1)
    assert [reason.kind for reason in reasons] == ["frame", "fix", "words"]
    assert reasons[0] == Reason("frame", "stack frame Tree.grow, line 3 in the report's version", lines=(3, 3))
    assert reasons[1] == Reason("fix", "earlier fix c0 of bug d0, 1972-08-18; it says Growing, Tree", "c0", "d0")
    assert reasons[2] == Reason("words", "words Growing, Tree")
    assert len(reasons) <= SHOWN


@pytest.mark.parametrize(
    ("summary", "text"),
    [
        ("Growing fails in Tree", "the report says Tree, the file's name"),
        ("Growing fails in src/Tree.java", "the report names src/Tree.java"),
        ("Tree.java:12 is wrong", "the report names Tree.java"),
        ("see https://x.org/blob/12ab/src/Tree.java#L3", "the report names src/Tree.java"),
        ("in src.Tree.grow there is a leak", "the report names src.Tree.grow"),
        ("src/Tree.javac", "the report says Tree, the file's name"),
        *((other, None) for other in ("Trees grow", "mytree.java", "a tree")),
    ],
)
def test_names_are_told_as_they_are_written(make, summary, text):
    found = [reason.text for reason in why(make(summary), EVERYTHING, 1) if reason.kind == "name"]
    assert found == ([text] if text else [])


def test_a_name_of_many_files_says_nothing(make_context):
    files = {f"src/{n}/__init__.py": {"code": "load"} for n in range(7)} | {"src/load_all.py": {"code": "load"}}
    context = make_context(files, "load_all and __init__ fail")
    assert [reason.kind for reason in why(context, EVERYTHING, 0) if reason.kind == "name"] == []
    assert why(context, EVERYTHING, 7)[0] == Reason("name", "the report names load_all")


def test_a_definition_that_the_report_names_is_told(make_context):
    defined = {"code": "parseargs", "method": "parseargs"}
    files = {"src/a.py": defined, "src/b.py": {"code": "parseargs"}, "src/c.py": {}}
    context = make_context(files, "It fails", "in parse_args of my program")
    assert why(context, EVERYTHING, 0)[0] == Reason("name", "it defines parse_args, which the report names")
    assert all(reason.kind != "name" for reason in why(context, EVERYTHING, 1))
    # weights that do not know of definitions do not tell of them
    known = {name: 1.0 for name in features.NAMES if name != "defined_names"}
    assert all(reason.kind != "name" for reason in why(context, known, 0))
    twice = make_context({**files, "src/c.py": defined}, "It fails", "in parse_args of my program")
    told = "it defines parse_args, which the report names (one of 2 files that do)"
    assert why(twice, EVERYTHING, 2)[0] == Reason("name", told)


def test_a_commit_is_told_by_what_it_says_of_itself(make):
    subjects = {"c0": "Fix bug 52974: the tree must grow\x1b[31m", "c1": "Other"}
    asked = []
    sources = Sources(lambda commits: asked.append(commits) or subjects, lambda commit: f"https://host/{commit}")
    reasons = why(make(**PAST), EVERYTHING, 1, sources=sources)
    [fix] = [reason for reason in reasons if reason.kind == "fix"]
    assert fix.text == "earlier fix c0 of bug d0, 1972-08-18: Fix bug 52974: the tree must grow\x1b[31m"
    assert (fix.commit, fix.issue, fix.url) == ("c0", "d0", "https://host/c0")
    answered(make(**PAST), EVERYTHING).why([0, 1, 2], sources)
    assert len(asked) == 2  # once for all files, and only for what is shown
    assert set(asked[1]) <= {"c0", "c1"}
    reasons = why(make(commits=PAST["commits"]), EVERYTHING, 1, sources=sources)
    [commit] = [reason for reason in reasons if reason.commit]
    assert (commit.kind, commit.issue) == ("commit", "52974")


def test_words_that_tell_something_and_only_what_lifts(make):
    assert why(make("file"), {"bm25f": 1.0}, 5) == (Reason("words", "words file"),)  # there is nothing else
    [words] = why(make("file tree"), {"bm25f": 1.0}, 1)
    assert words.text == "words tree"
    # TreeHouse gives tree, house and treehouse; a file that has tree alone shares "Tree", not "TreeHouse"
    assert why(make("TreeHouse"), {"bm25f": 1.0}, 2) == (Reason("words", "words Tree"),)
    got = why(make("Growing"), {"twin": 1.0}, 2)
    assert got == (Reason("test", "what it tests by its name, src/Tree.java, is number 1 of all files"),)
    lowered = why(make("Growing", FRAMES), {"test": -1.0, "popularity": -1.0, "code": -1.0}, 1)
    assert [reason.kind for reason in lowered] == ["activity"]
    # changes that share nothing with the report
    past = {"commits": [(9, "unrelated words here", PATHS[:2])], "reports": [(9, "others too", PATHS[:2])]}
    assert [reason.kind for reason in why(make(**past), EVERYTHING, 1)] == ["name", "words", "test"]


def test_words_are_told_with_the_listed_function_that_holds_them(make):
    lines = ["class Tree {", "  int leaf;", "  void grow() { tree.up(); }", "  void fall() { tree.down(); }", "}"]
    facts = functions_of("\n".join(lines), ".java")
    grow, fall = Function("Tree.grow", 3, 3, 1.0), Function("Tree.fall", 4, 4, 1.0)
    for summary, listed, text in (
        ("growing tree leaf", [fall, grow], "words growing, tree in Tree.grow"),
        ("a tree", [grow, fall], "words tree in Tree.grow"),
        ("growing tree", [fall], "words tree in Tree.fall"),
        ("growing tree", [Function("Tree", 1, 5, 1.0)], "words growing, tree"),
        ("growing tree", [], "words growing, tree"),
    ):
        [told] = why(make(summary), {"bm25f": 1.0}, 1, functions={1: (facts, listed)})
        in_lines = (3, 3) if "in Tree.grow" in text else (4, 4) if "in Tree.fall" in text else None
        assert told == Reason("words", text, lines=in_lines)


def test_without_anything_to_point_to_that_is_said(make):
    weights = {"recency": 1.0, "length": 1.0, "co_change": 1.0, "near_package": 1.0, "complexity": 1.0}
    context = make("Growing Tree", commits=[(1, "tree", PATHS[5:6])])
    assert why(context, weights, 5) == (
        Reason("activity", "no word in common; ranked by how often and how lately it changed"),
    )


def test_what_a_reranker_says_comes_after_what_can_be_checked(make):
    said = Reason("terms", "read again")
    context = make("Growing Tree", **PAST)
    assert [reason.kind for reason in why(context, EVERYTHING, 1, terms={1: said})] == ["name", "fix", "words"]
    assert why(context, {"recency": 1.0}, 5, terms={5: said}) == (said,)


@pytest.mark.parametrize(
    ("path", "description", "told"),
    [
        (
            "shop/door.py",
            'File "run.py", line 1, in main\n  File "/env/site-packages/shop/door.py", line 14, in open',
            ["stack frame open, line 14 in the report's version"],
        ),
        (
            "shop/door.go",
            "main.open(0x0)\n\t/go/shop/door.go:14 +0x1b\nmain.main()\n\t/go/run.go:3",
            ["stack frame, line 14 in the report's version"],
        ),
        (
            "shop/door.py",
            'File "run.py", line 1, in main\n  File "/env/site-packages/other/door.py", line 14, in open',
            [],
        ),
    ],
)
def test_only_frames_of_the_projects_own_files_are_told(make_context, path, description, told):
    context = make_context({path: {"code": "x"}, "shop/key.py": {"code": "y"}}, "It fails", description)
    assert [reason.text for reason in why(context, EVERYTHING, 0) if reason.kind == "frame"] == told
