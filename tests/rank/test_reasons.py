"""Reasons: what is said for a file, in which order, and that it is true."""

import numpy as np
import pytest

from tosloc.code.functions import find_functions
from tosloc.core.records import Function, Reason
from tosloc.rank import features, reasons
from tosloc.rank.reasons import FileReasons, RepositoryLookups
from tosloc.rank.stage_one import MAX_REASONS, StageOne, StageOneAnswer

PATHS = (
    "src/Leaf.java",
    "src/Tree.java",
    "test/TreeTest.java",
    *(f"test/x/F{n:02}.java" for n in range(30)),
)
SILENT = RepositoryLookups()
EVERYTHING = dict.fromkeys(features.ALL, 1.0)
TEXTS = {
    PATHS[0]: {"code": "leaf file", "comment": "grow"},
    PATHS[1]: {"code": "tree grow grow treehous file", "method": "grow", "type": "tree"},
    PATHS[2]: {"code": "tree file"},
    **{path: {"code": "file"} for path in PATHS[3:]},
}
FRAMES = "The tree grows. at src.Tree.grow(Tree.java:3)"
PAST = {
    "commits": [(9, "tree grow", PATHS[1:3]), (3, "leaf", PATHS[:1])],
    "reports": [(40, "tree grow", PATHS[1:2]), (7, "leaf", PATHS[:1])],
}


@pytest.fixture
def why(make_context):
    """Function (file, summary, description, files, weights, ...) -> its reasons."""

    def reasons(
        file,
        summary="Growing Tree",
        description="",
        files=TEXTS,
        weights=EVERYTHING,
        past=PAST,
        sources=SILENT,
        **more,
    ):
        return answer_of(make_context(files, summary, description, **past), weights).choose_reasons(
            file, sources, **more
        )

    return reasons


def answer_of(context, weights):
    columns = features.columns(context, features.ALL)
    stage = StageOne(tuple(weights), np.array([*weights.values()]))
    return StageOneAnswer(context, stage, columns, columns["bm25f"])


def test_the_report_itself_comes_first_then_the_past_then_words(why):
    reasons = why(1, description=FRAMES)
    assert len(reasons) <= MAX_REASONS
    assert reasons == (
        Reason("frame", "stack frame Tree.grow, line 3 in the report's version", lines=(3, 3)),
        Reason("fix", "earlier fix c0 of bug d0, 1972-08-18; it says Growing, Tree", "c0", "d0"),
        Reason("words", "words Growing, Tree"),
    )
    said = Reason("terms", "read again")  # what a reranker says comes after what can be checked
    assert [reason.kind for reason in why(1, terms=said)] == ["name", "fix", "words"]
    little = {"weights": {"recency": 1.0}, "past": {"commits": [(1, "tree", PATHS[5:6])]}}
    assert why(5, terms=said, **little) == (said,)
    nothing = Reason("activity", "no word in common; ranked by how often and how lately it changed")
    assert why(5, **little) == (nothing,)


@pytest.mark.parametrize(
    ("summary", "text"),
    [
        ("Growing fails in Tree", "the report says Tree, the file's name"),
        ("Growing fails in src/Tree.java", "the report names src/Tree.java"),
        ("see https://x.org/blob/12ab/src/Tree.java#L3", "the report names src/Tree.java"),
        ("in src.Tree.grow there is a leak", "the report names src.Tree.grow"),
        ("src/Tree.javac", "the report says Tree, the file's name"),
        ("Trees grow in mytree.java", None),
    ],
)
def test_names_are_told_as_they_are_written(why, summary, text):
    found = [reason.text for reason in why(1, summary, past={}) if reason.kind == "name"]
    assert found == ([text] if text else [])


def test_names_of_many_files_say_nothing_and_definitions_are_told(why):
    defined = {"code": "parseargs", "method": "parseargs"}
    many = {f"src/{n}/__init__.py": {"code": "load"} for n in range(7)} | {
        "src/load_all.py": {"code": "load"}
    }
    one = {"src/a.py": defined, "src/b.py": {"code": "parseargs"}, "src/c.py": {}}
    told = "it defines parse_args, which the report names"
    for file, said, files, names in (
        (0, "load_all and __init__ fail", many, []),
        (7, "load_all and __init__ fail", many, ["the report names load_all"]),
        (0, "parse_args() fails", one, [told]),
        (1, "parse_args() fails", one, []),
        (
            2,
            "parse_args() fails",
            {**one, "src/c.py": defined},
            [f"{told} (one of 2 files that do)"],
        ),
    ):
        assert [
            reason.text for reason in why(file, said, "", files, past={}) if reason.kind == "name"
        ] == names
    spelt = [find_functions(f"def {name}(): pass", ".py") for name in ("parse_args", "parseArgs")]
    told = [
        [one.kind for one in why(0, "parse_args() fails", "", one, past={}, functions=facts)]
        for facts in spelt
    ]
    assert ["name" in kinds for kinds in told] == [True, False]
    # weights that do not know of definitions do not tell of them
    known = {name: 1.0 for name in features.NAMES if name != "defined_names"}
    assert not [
        reason
        for reason in why(0, "parse_args() fails", "", one, known, {})
        if reason.kind == "name"
    ]


SUBJECTS = {"c0": "Fix bug 52974: the tree must grow\x1b[31m", "c1": "Other"}
TOLD = RepositoryLookups(SUBJECTS.get, lambda commit: f"https://host/{commit}")


def test_a_fix_is_told_by_its_subject_bug_and_address(why):
    [fix] = [reason for reason in why(1, sources=TOLD) if reason.kind == "fix"]
    assert (
        fix.text
        == "earlier fix c0 of bug d0, 1972-08-18: Fix bug 52974: the tree must grow\x1b[31m"
    )
    assert fix.commit == "c0"
    assert fix.issue == "d0"
    assert fix.url == "https://host/c0"


def test_a_commit_has_the_issue_that_its_subject_names(why):
    [commit] = [
        reason
        for reason in why(1, past={"commits": PAST["commits"]}, sources=TOLD)
        if reason.commit
    ]
    assert commit.kind == "commit"
    assert commit.issue == "52974"


@pytest.mark.parametrize(
    ("second_message", "kinds"),
    [("tree grow", ["name", "fix", "fix"]), ("grow under a moon at sea", ["name", "fix"])],
)
def test_a_second_change_is_told_where_it_is_near_to_the_report(why, second_message, kinds):
    past = {"reports": [(40, "tree grow", PATHS[1:2]), (7, second_message, PATHS[1:2])]}
    told = why(1, weights={"near_reports": 1.0}, past=past)
    assert [reason.kind for reason in told] == kinds


def test_words_that_a_commit_shares_with_the_summary_come_first(why):
    told = why(1, "A tree", "with a leaf", past={"commits": [(9, "tree leaf", PATHS[1:2])]})
    [commit] = [reason for reason in told if reason.commit]
    assert commit.text.endswith("; it says tree, leaf")


def test_a_long_message_that_shares_few_of_its_words_is_not_told(why):
    long = " ".join(["tree", "grow", *(f"word{number}" for number in range(200))])
    past = {"commits": [(9, long, PATHS[1:2]), *[(1, "other", PATHS[5:6])] * 30]}
    assert not [reason for reason in why(1, past=past) if reason.commit]


def test_changes_that_share_no_word_are_not_told(why):
    past = {
        "commits": [(9, "unrelated words here", PATHS[:2])],
        "reports": [(9, "others too", PATHS[:2])],
    }
    assert [reason.kind for reason in why(1, past=past)] == ["name", "words", "test"]


@pytest.mark.parametrize(("message", "told"), [("tree leaf", False), ("tree grow", True)])
def test_a_change_that_is_not_near_has_to_share_two_words(make_context, monkeypatch, message, told):
    """However rare they are: no sum of IDF is asked for here, and no cosine is near."""
    monkeypatch.setattr(reasons, "MIN_SHARED_IDF", 0.0)
    monkeypatch.setattr(reasons, "MIN_SIMILARITY_ONE_WORD", 2.0)
    context = make_context(TEXTS, "Growing Tree", commits=[(9, message, PATHS[1:2])])
    commits = [change.commit for change in FileReasons(context).past(1)]
    assert commits == (["c0"] if told else [])


def test_the_idf_of_shared_words_may_equal_the_least_sum(make_context, monkeypatch):
    """One commit of one has both words of the summary: each counts twice ln(1 + .5 / 1.5)."""
    least = 4 * np.log1p(0.5 / 1.5)
    monkeypatch.setattr(reasons, "MIN_SIMILARITY_ONE_WORD", 2.0)
    context = make_context(TEXTS, "Growing Tree", commits=[(9, "tree grow", PATHS[1:2])])
    monkeypatch.setattr(reasons, "MIN_SHARED_IDF", least - 1e-6)
    assert [change.commit for change in FileReasons(context).past(1)] == ["c0"]
    monkeypatch.setattr(reasons, "MIN_SHARED_IDF", least + 1e-6)
    assert FileReasons(context).past(1) == []


@pytest.mark.parametrize(("other_words", "told"), [(30, True), (150, False)])
def test_a_commit_of_many_other_words_shares_two_by_chance(make_context, other_words, told):
    """All IDF alike, the cosine is the root of 2 / (2 + others): .25 is told, .11 is below .15."""
    message = " ".join(["tree", "grow", *(f"word{number}" for number in range(other_words))])
    others = [(1, f"other{number}", PATHS[5:6]) for number in range(40)]
    context = make_context(TEXTS, "Growing Tree", commits=[(9, message, PATHS[1:2]), *others])
    assert [change.commit for change in FileReasons(context).past(1)] == (["c0"] if told else [])


COMMON_WORDS = {
    f"{number}.py": {"code": "tree node leaf" if number < 4 else "x"} for number in range(10)
}
"""Files of which 40 % have tree, node and leaf: more than COMMON_SHARE, fewer than MAX_NAMED_SHARE."""


@pytest.mark.parametrize(
    ("summary", "tells"), [("tree", False), ("tree node", True), ("tree node leaf", True)]
)
def test_two_common_words_of_the_summary_tell_something_and_one_does_not(
    make_context, summary, tells
):
    words, tell = FileReasons(make_context(COMMON_WORDS, summary)).words(0)
    assert sorted(words) == sorted(summary.split())
    assert tell is tells


RARE_WORDS = {
    f"{number}.py": {"code": "ant bug cow dog" if number == 0 else "x"} for number in range(30)
}


@pytest.mark.parametrize(
    ("description", "tells"), [("ant bug", False), ("ant bug cow", True), ("ant bug cow dog", True)]
)
def test_three_rare_words_of_the_description_tell_something_and_two_do_not(
    make_context, description, tells
):
    words, tell = FileReasons(make_context(RARE_WORDS, "fails", description)).words(0)
    assert tell is tells
    assert sorted(words) == description.split()[: 3 if tells else 2]


@pytest.mark.parametrize(("files", "tells"), [(4, False), (6, True)])
def test_one_word_of_the_summary_tells_something_where_few_files_have_it(
    make_context, files, tells
):
    """One of 4 files has it: ln(1 + 3.5 / 1.5) is below ln 4; one of 6: ln(1 + 5.5 / 1.5) is above."""
    texts = {f"{number}.py": {"code": "tree" if number == 0 else "x"} for number in range(files)}
    assert FileReasons(make_context(texts, "tree")).words(0) == (["tree"], tells)


def test_words_that_tell_something_and_only_what_lifts(why):
    words = {"weights": {"bm25f": 1.0}, "past": {}}
    assert why(5, "file", **words) == (Reason("words", "words file"),)  # there is nothing else
    assert why(1, "file tree", **words) == (Reason("words", "words tree"),)
    # TreeHouse gives tree, house and treehouse; a file that has tree alone shares "Tree", not "TreeHouse"
    assert why(2, "TreeHouse", **words) == (Reason("words", "words Tree"),)
    tested = Reason("test", "what it tests by its name, src/Tree.java, is number 1 of all files")
    assert why(2, "Growing", weights={"test_counterpart": 1.0}) == (tested,)
    lowered = why(1, "Growing", FRAMES, weights={"test": -1.0, "popularity": -1.0, "code": -1.0})
    assert [reason.kind for reason in lowered] == ["activity"]


def test_words_are_told_with_the_listed_function_that_holds_them(why):
    lines = [
        "class Tree {",
        "  int leaf;",
        "  void grow() { tree.up(); }",
        "  void fall() { tree.down(); }",
        "}",
    ]
    facts = find_functions("\n".join(lines), ".java")
    grow, fall = Function("Tree.grow", 3, 3, 1.0), Function("Tree.fall", 4, 4, 1.0)
    for summary, listed, text, held in (
        ("growing tree leaf", [fall, grow], "words growing, tree in Tree.grow", (3, 3)),
        ("a tree", [grow, fall], "words tree in Tree.grow", (3, 3)),
        ("growing tree", [fall], "words tree in Tree.fall", (4, 4)),
        ("growing tree", [Function("Tree", 1, 5, 1.0)], "words growing, tree", None),
        ("growing tree", [], "words growing, tree", None),
    ):
        told = why(1, summary, weights={"bm25f": 1.0}, functions=facts, listed=listed)
        assert told == (Reason("words", text, lines=held),)


def test_only_frames_of_the_projects_own_files_are_told(why):
    files = {"shop/door.py": {"code": "x"}, "shop/key.py": {"code": "y"}}
    for folder, told in (
        ("shop", ["stack frame open, line 14 in the report's version"]),
        ("other", []),
    ):
        said = f'File "run.py", line 1, in main\n  File "/env/site-packages/{folder}/door.py", line 14, in open'
        found = why(0, "It fails", said, files, past={})
        assert [reason.text for reason in found if reason.kind == "frame"] == told
