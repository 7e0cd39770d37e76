"""Reasons: what is said for a file, in which order, and that it is true."""

import numpy as np
import pytest

from tosloc.code.functions import find_functions
from tosloc.core.answers import Function, Reason
from tosloc.rank.explain import change_reasons
from tosloc.rank.explain.lookups import RepositoryLookups
from tosloc.rank.explain.reasons import FileReasons
from tosloc.rank.features import registry
from tosloc.rank.model.stage_one import MAX_REASONS, StageOne, StageOneResult
from tosloc.retrieval.history.bounds import Bounds, End

LEAF, TREE, TREE_TEST = range(3)
"""Numbers of the first files."""
OTHER = 5
"""Number of a file with the word "file" alone."""
PATHS = (
    "src/Leaf.java",
    "src/Tree.java",
    "test/TreeTest.java",
    *(f"test/x/F{n:02}.java" for n in range(30)),
)
TEXTS = {
    "src/Leaf.java": {"code": "leaf file", "comment": "grow"},
    "src/Tree.java": {"code": "tree grow grow treehous file", "method": "grow", "type": "tree"},
    "test/TreeTest.java": {"code": "tree file"},
    **{path: {"code": "file"} for path in PATHS[3:]},
}
FRAMES = "The tree grows. at src.Tree.grow(Tree.java:3)"
HISTORY = {
    "commits": [(9, "tree grow", PATHS[1:3]), (3, "leaf", PATHS[:1])],
    "reports": [(40, "tree grow", PATHS[1:2]), (7, "leaf", PATHS[:1])],
}
NO_LOOKUPS = RepositoryLookups()
ALL_FEATURES = dict.fromkeys(registry.ALL, 1.0)


@pytest.fixture
def reasons_for(make_context):
    """Return a function (file, summary, description, files, weights, ...) -> its reasons.

    ``weights`` are those of the features; all others have weight 0 and lift no file.
    """

    def choose(
        file,
        summary="Growing Tree",
        description="",
        *,
        files=TEXTS,
        weights=ALL_FEATURES,
        history=HISTORY,
        lookups=NO_LOOKUPS,
        **shown,
    ):
        context = make_context(files, summary, description, **history)
        columns = registry.columns(context, registry.ALL)
        stage = StageOne(tuple(weights), np.array([*weights.values()]))
        answer = StageOneResult(
            context, stage, columns, np.zeros(context.files), columns["bm25f"], columns["bm25f"]
        )
        return answer.choose_reasons(file, lookups, **shown)

    return choose


def kinds(chosen):
    return [reason.kind for reason in chosen]


def texts_of_kind(kind, chosen):
    return [reason.text for reason in chosen if reason.kind == kind]


# The order of reasons


def test_the_report_itself_comes_first_then_the_past_then_words(reasons_for):
    chosen = reasons_for(TREE, description=FRAMES)
    assert chosen == (
        Reason("frame", "Stack frame Tree.grow, line 3 in the report's version", lines=(3, 3)),
        Reason(
            "fix",
            "Similar fix c0 of bug d0 (1972-08-18); shares the words Growing, Tree",
            "c0",
            "d0",
        ),
        Reason("words", "Matching words: Growing, Tree"),
    )
    assert len(chosen) == MAX_REASONS


RERANKED = Reason("terms", "read again")
"""What a reranker says."""
LITTLE = {"weights": {"recency": 1.0}, "history": {"commits": [(1, "tree", PATHS[5:6])]}}
"""A file that only its age lifts."""


def test_a_rerankers_reason_comes_after_what_can_be_checked(reasons_for):
    assert kinds(reasons_for(TREE, terms=RERANKED)) == ["name", "fix", "words"]


def test_a_rerankers_reason_is_given_if_there_is_no_other(reasons_for):
    assert reasons_for(OTHER, terms=RERANKED, **LITTLE) == (RERANKED,)


def test_a_file_without_any_reason_is_ranked_by_its_activity(reasons_for):
    text = "No matching words; ranked by how often and how recently it changed"
    assert reasons_for(OTHER, **LITTLE) == (Reason("activity", text),)


def test_a_file_that_is_lowered_is_ranked_by_its_activity(reasons_for):
    weights = {"test": -1.0, "popularity": -1.0, "code": -1.0}
    assert kinds(reasons_for(TREE, "Growing", FRAMES, weights=weights)) == ["activity"]


# Messages


def test_message_in_a_string_is_a_reason(reasons_for):
    files = TEXTS | {"src/Leaf.java": {"code": "leaf", "literals": "No leaf %s on the tree"}}
    chosen = reasons_for(LEAF, description="It says: no leaf a.1 on the tree", files=files)
    assert texts_of_kind("message", chosen) == [
        'A string in the file contains "no leaf … on the tree"'
    ]


def test_message_of_two_words_is_no_reason(reasons_for):
    files = TEXTS | {"src/Leaf.java": {"code": "leaf", "literals": "no leaf"}}
    assert "message" not in kinds(reasons_for(LEAF, description="no leaf", files=files))


# Names


@pytest.mark.parametrize(
    ("summary", "texts"),
    [
        ("Growing fails in Tree", ["The report contains Tree, the file's name"]),
        ("Growing fails in src/Tree.java", ["The report names src/Tree.java"]),
        ("see https://x.org/blob/12ab/src/Tree.java#L3", ["The report names src/Tree.java"]),
        ("in src.Tree.grow there is a leak", ["The report names src.Tree.grow"]),
        ("src/Tree.javac", ["The report contains Tree, the file's name"]),
        ("Trees grow in mytree.java", []),
    ],
)
def test_names_are_shown_as_they_are_written(reasons_for, summary, texts):
    assert texts_of_kind("name", reasons_for(TREE, summary, history={})) == texts


NAMESAKES = {
    **{f"src/{n}/__init__.py": {"code": "load"} for n in range(7)},
    "src/load_all.py": {"code": "load"},
}


@pytest.mark.parametrize(
    ("file", "texts"),
    [(0, []), (7, ["The report names load_all"])],
    ids=["seven namesakes", "one file"],
)
def test_a_name_that_many_files_have_is_no_reason(reasons_for, file, texts):
    chosen = reasons_for(file, "load_all and __init__ fail", files=NAMESAKES, history={})
    assert texts_of_kind("name", chosen) == texts


DEFINITION = {"code": "parseargs", "method": "parseargs"}
DEFINING = {"src/a.py": DEFINITION, "src/b.py": {"code": "parseargs"}, "src/c.py": {}}
"""Only the first file defines parse_args; the second one uses it."""
DEFINED = "Defines parse_args, which the report names"


@pytest.mark.parametrize(
    ("file", "files", "texts"),
    [
        (0, DEFINING, [DEFINED]),
        (1, DEFINING, []),
        (2, {**DEFINING, "src/c.py": DEFINITION}, [f"{DEFINED} (one of 2 files that do)"]),
    ],
    ids=["one file defines it", "it is only used", "two files define it"],
)
def test_a_definition_that_the_report_names_is_a_reason(reasons_for, file, files, texts):
    chosen = reasons_for(file, "parse_args() fails", files=files, history={})
    assert texts_of_kind("name", chosen) == texts


@pytest.mark.parametrize(("name", "is_reason"), [("parse_args", True), ("parseArgs", False)])
def test_a_definition_has_the_name_exactly_as_written(reasons_for, name, is_reason):
    functions = find_functions(f"def {name}(): pass", ".py")
    chosen = reasons_for(0, "parse_args() fails", files=DEFINING, history={}, functions=functions)
    assert ("name" in kinds(chosen)) == is_reason


def test_weights_without_definitions_give_no_definition_as_reason(reasons_for):
    weights = {name: 1.0 for name in registry.NAMES if name != "defined_names"}
    chosen = reasons_for(0, "parse_args() fails", files=DEFINING, weights=weights, history={})
    assert "name" not in kinds(chosen)


# Earlier changes

SUBJECTS = {"c0": "Fix bug 52974: the tree must grow\x1b[31m", "c1": "Other"}
LOOKUPS = RepositoryLookups(SUBJECTS.get, lambda commit: f"https://host/{commit}")


def test_a_fix_is_shown_by_its_subject_bug_and_address(reasons_for):
    [fix] = [reason for reason in reasons_for(TREE, lookups=LOOKUPS) if reason.kind == "fix"]
    assert (
        fix.text
        == "Similar fix c0 of bug d0 (1972-08-18): Fix bug 52974: the tree must grow\x1b[31m"
    )
    assert fix.commit == "c0"
    assert fix.issue == "d0"
    assert fix.url == "https://host/c0"


def test_a_commit_has_the_issue_that_its_subject_names(reasons_for):
    chosen = reasons_for(TREE, history={"commits": HISTORY["commits"]}, lookups=LOOKUPS)
    [commit] = [reason for reason in chosen if reason.commit]
    assert commit.kind == "commit"
    assert commit.issue == "52974"


@pytest.mark.parametrize(
    ("other_words", "expected"), [(0, ["name", "fix", "fix"]), (20, ["name", "fix"])]
)
def test_a_second_change_is_shown_if_it_is_near(reasons_for, other_words, expected):
    """It shares two rare words with the report, but with 20 others its cosine is .26."""
    second = " ".join(["tree", "grow", *(f"word{number}" for number in range(other_words))])
    reports = [(40, "tree grow", PATHS[1:2]), (7, second, PATHS[1:2])]
    reports += [(1, f"other{number}", PATHS[5:6]) for number in range(40)]
    chosen = reasons_for(TREE, weights={"near_reports": 1.0}, history={"reports": reports})
    assert kinds(chosen) == expected


def test_a_change_that_shares_one_word_by_chance_is_no_reason(reasons_for):
    reports = [(40, "tree grow", PATHS[1:2]), (7, "grow under a moon at sea", PATHS[1:2])]
    chosen = reasons_for(TREE, weights={"near_reports": 1.0}, history={"reports": reports})
    assert kinds(chosen) == ["name", "fix"]


def test_words_that_a_commit_shares_with_the_summary_come_first(reasons_for):
    commits = [(9, "tree leaf", PATHS[1:2])]
    chosen = reasons_for(TREE, "A tree", "with a leaf", history={"commits": commits})
    [commit] = [reason for reason in chosen if reason.commit]
    assert commit.text.endswith("; shares the words tree, leaf")


def test_a_long_message_that_shares_few_of_its_words_is_no_reason(reasons_for):
    message = " ".join(["tree", "grow", *(f"word{number}" for number in range(200))])
    commits = [(9, message, PATHS[1:2]), *[(1, "other", PATHS[5:6])] * 30]
    chosen = reasons_for(TREE, history={"commits": commits})
    assert not [reason for reason in chosen if reason.commit]


def test_changes_that_share_no_word_are_no_reasons(reasons_for):
    history = {
        "commits": [(9, "unrelated words here", PATHS[:2])],
        "reports": [(9, "others too", PATHS[:2])],
    }
    assert kinds(reasons_for(TREE, history=history)) == ["name", "words", "test"]


@pytest.fixture
def past_commits(make_context):
    """Return a function (commits) -> the commits that are similar to "Growing Tree"."""

    def find(commits):
        context = make_context(TEXTS, "Growing Tree", commits=commits)
        return [change.commit for change in FileReasons(context).changes.past(TREE)]

    return find


@pytest.mark.parametrize(("message", "commits"), [("tree leaf", []), ("tree grow", ["c0"])])
def test_a_change_that_is_not_near_shares_two_words(past_commits, monkeypatch, message, commits):
    """However rare they are: no sum of IDF is asked for here, and no cosine is near."""
    monkeypatch.setattr(change_reasons, "MIN_SHARED_IDF", 0.0)
    monkeypatch.setattr(change_reasons, "MIN_SIMILARITY_ONE_WORD", 2.0)
    assert past_commits([(9, message, PATHS[1:2])]) == commits


@pytest.mark.parametrize(("difference", "commits"), [(-1e-6, ["c0"]), (1e-6, [])])
def test_the_idf_of_shared_words_reaches_a_bound(past_commits, monkeypatch, difference, commits):
    """One commit of one has both words of the summary: each counts twice ln(1 + .5 / 1.5)."""
    shared = 4 * np.log1p(0.5 / 1.5)
    monkeypatch.setattr(change_reasons, "MIN_SIMILARITY_ONE_WORD", 2.0)
    monkeypatch.setattr(change_reasons, "MIN_SHARED_IDF", shared + difference)
    assert past_commits([(9, "tree grow", PATHS[1:2])]) == commits


@pytest.mark.parametrize(("other_words", "commits"), [(30, ["c0"]), (150, [])])
def test_a_commit_of_many_other_words_shares_two_by_chance(past_commits, other_words, commits):
    """All IDF alike, the cosine is the root of 2 / (2 + others): .25 is enough, .11 is not."""
    message = " ".join(["tree", "grow", *(f"word{number}" for number in range(other_words))])
    others = [(1, f"other{number}", PATHS[5:6]) for number in range(40)]
    assert past_commits([(9, message, PATHS[1:2]), *others]) == commits


# Changes and releases that the report names

NAMED_HISTORY = {
    "commits": [(9, "grow", PATHS[1:2], ["#4242"]), (3, "leaf", PATHS[:1])],
    "tags": {"v1.0": 5, "v1.1": 1},
}


def subject_of(commit):
    return {"c0": "Grow trees (#4242)", "c1": "Rake leaves"}[commit]


NAMED_LOOKUPS = RepositoryLookups(subject_of)


def test_a_change_that_the_report_blames_is_a_reason(reasons_for):
    """It is told whatever the weights of its feature."""
    [reason, *_] = reasons_for(
        TREE,
        "It breaks",
        "Since #4242",
        weights={"bm25f": 1.0},
        history=NAMED_HISTORY,
        lookups=NAMED_LOOKUPS,
    )
    text = "Changed by #4242, which the report blames (1972-09-18): Grow trees (#4242)"
    assert reason == Reason("change", text, "c0", "#4242")


def test_a_named_change_of_another_file_is_no_reason(reasons_for):
    chosen = reasons_for(
        LEAF, "It breaks", "Since #4242", history=NAMED_HISTORY, lookups=NAMED_LOOKUPS
    )
    assert "change" not in kinds(chosen)


def test_a_named_change_comes_after_what_the_report_points_to(reasons_for):
    description = f"{FRAMES} Since #4242"
    chosen = reasons_for(
        TREE, description=description, history=NAMED_HISTORY, lookups=NAMED_LOOKUPS
    )
    assert kinds(chosen)[:2] == ["frame", "change"]


def test_a_commit_is_cited_once(reasons_for):
    chosen = reasons_for(
        TREE, "Growing Tree", "Since #4242", history=NAMED_HISTORY, lookups=NAMED_LOOKUPS
    )
    assert kinds(chosen).count("change") == 1
    assert "commit" not in kinds(chosen)


GOOD = End("v1.0", "g")
BAD = End("v1.1", "b")


@pytest.mark.parametrize(
    ("bad", "text"),
    [
        ((BAD,), "Changed between v1.0 and v1.1, when it broke: c1 (1972-09-24): Rake leaves"),
        ((), "Changed after v1.0, which worked: c1 (1972-09-24): Rake leaves"),
    ],
    ids=["two ends", "one end"],
)
def test_a_change_between_ends_is_a_reason(reasons_for, bad, text):
    history = NAMED_HISTORY | {"bounds": Bounds((GOOD,), bad, frozenset(["c1"]))}
    chosen = reasons_for(LEAF, "It", "x", history=history, lookups=NAMED_LOOKUPS)
    assert Reason("range", text, "c1") in chosen
    others = reasons_for(TREE, "It", "x", history=history, lookups=NAMED_LOOKUPS)
    assert "range" not in kinds(others)


def test_a_change_between_ends_is_no_reason_if_another_one_is_blamed(reasons_for):
    history = NAMED_HISTORY | {"bounds": Bounds((GOOD,), (BAD,), frozenset(["c0", "c1"]))}
    for path in (LEAF, TREE):
        chosen = reasons_for(
            path, "It", "Broken since #4242", history=history, lookups=NAMED_LOOKUPS
        )
        assert "range" not in kinds(chosen)


def test_a_range_that_changed_most_files_is_no_reason(reasons_for):
    """All 33 files changed: more than a quarter of them, and more than 20."""
    commits = [(3, "leaf", [path]) for path in PATHS]
    between = frozenset(f"c{number}" for number in range(len(PATHS)))
    history = {"commits": commits, "bounds": Bounds((GOOD,), (), between)}
    chosen = reasons_for(LEAF, "It", "x", history=history)
    assert "range" not in kinds(chosen)


# Words

COMMON_WORDS = {
    f"{number}.py": {"code": "tree node leaf" if number < 4 else "x"} for number in range(10)
}
"""Files of which 40 % have tree, node and leaf: above COMMON_SHARE, below MAX_NAMED_SHARE."""


@pytest.mark.parametrize(
    ("summary", "distinguish"), [("tree", False), ("tree node", True), ("tree node leaf", True)]
)
def test_two_common_words_of_the_summary_distinguish_a_file(make_context, summary, distinguish):
    words, does_distinguish = FileReasons(make_context(COMMON_WORDS, summary)).words.shared(0)
    assert sorted(words) == sorted(summary.split())
    assert does_distinguish is distinguish


RARE_WORDS = {
    f"{number}.py": {"code": "ant bug cow dog" if number == 0 else "x"} for number in range(30)
}


@pytest.mark.parametrize(
    ("description", "words", "distinguish"),
    [
        ("ant bug", ["ant", "bug"], False),
        ("ant bug cow", ["ant", "bug", "cow"], True),
        ("ant bug cow dog", ["ant", "bug", "cow"], True),
    ],
)
def test_three_rare_words_of_the_description_distinguish_a_file(
    make_context, description, words, distinguish
):
    context = make_context(RARE_WORDS, "fails", description)
    found, does_distinguish = FileReasons(context).words.shared(0)
    assert does_distinguish is distinguish
    assert sorted(found) == words


@pytest.mark.parametrize(("files", "distinguishes"), [(4, False), (6, True)])
def test_one_rare_word_of_the_summary_distinguishes_a_file(make_context, files, distinguishes):
    """One of 4 files has it: ln(1 + 3.5 / 1.5) is below ln 4; one of 6: ln(1 + 5.5 / 1.5) above."""
    texts = {f"{number}.py": {"code": "tree" if number == 0 else "x"} for number in range(files)}
    words, does_distinguish = FileReasons(make_context(texts, "tree")).words.shared(0)
    assert words == ["tree"]
    assert does_distinguish is distinguishes


BY_WORDS = {"weights": {"bm25f": 1.0}, "history": {}}


def test_a_common_word_is_shown_if_there_is_nothing_else(reasons_for):
    assert reasons_for(OTHER, "file", **BY_WORDS) == (Reason("words", "Matching words: file"),)


def test_a_common_word_is_left_out_beside_a_rare_one(reasons_for):
    assert reasons_for(TREE, "file tree", **BY_WORDS) == (Reason("words", "Matching words: tree"),)


def test_a_part_of_a_compound_name_is_shown_as_that_part(reasons_for):
    """TreeHouse has the terms tree, house and treehouse, of which the file has tree alone."""
    assert reasons_for(TREE_TEST, "TreeHouse", **BY_WORDS) == (
        Reason("words", "Matching words: Tree"),
    )


LINES = [
    "class Tree {",
    "  int leaf;",
    "  void grow() { tree.up(); }",
    "  void fall() { tree.down(); }",
    "}",
]
GROW = Function("Tree.grow", 3, 3, 1.0)
FALL = Function("Tree.fall", 4, 4, 1.0)


@pytest.mark.parametrize(
    ("summary", "listed", "text", "lines"),
    [
        ("growing tree leaf", [FALL, GROW], "Matching words in Tree.grow: growing, tree", (3, 3)),
        ("a tree", [GROW, FALL], "Matching words in Tree.grow: tree", (3, 3)),
        ("growing tree", [FALL], "Matching words in Tree.fall: tree", (4, 4)),
        ("growing tree", [Function("Tree", 1, 5, 1.0)], "Matching words: growing, tree", None),
        ("growing tree", [], "Matching words: growing, tree", None),
    ],
    ids=["most words", "first of equals", "listed alone", "class", "nothing listed"],
)
def test_words_are_shown_with_the_listed_function_that_has_most(
    reasons_for, summary, listed, text, lines
):
    functions = find_functions("\n".join(LINES), ".java")
    chosen = reasons_for(TREE, summary, weights={"bm25f": 1.0}, functions=functions, listed=listed)
    assert chosen == (Reason("words", text, lines=lines),)


# Related files and frames


def test_a_test_has_what_it_tests_as_reason(reasons_for):
    text = "It tests src/Tree.java, which matches the report, too"
    chosen = reasons_for(TREE_TEST, "Growing", weights={"test_counterpart": 1.0})
    assert chosen == (Reason("test", text),)


def test_a_test_that_shares_no_word_with_the_report_is_no_reason(reasons_for):
    chosen = reasons_for(TREE_TEST, "Baking bread", weights={"test_counterpart": 1.0})
    assert kinds(chosen) == ["activity"]


@pytest.mark.parametrize(
    ("package", "texts"),
    [("shop", ["Stack frame open, line 14 in the report's version"]), ("other", [])],
)
def test_only_frames_of_the_projects_own_files_are_reasons(reasons_for, package, texts):
    files = {"shop/door.py": {"code": "x"}, "shop/key.py": {"code": "y"}}
    frames = (
        'File "run.py", line 1, in main\n'
        f'  File "/env/site-packages/{package}/door.py", line 14, in open'
    )
    chosen = reasons_for(0, "It fails", frames, files=files, history={})
    assert texts_of_kind("frame", chosen) == texts


def test_frame_has_the_function_that_the_stack_names_at_its_place(reasons_for):
    frames = (
        "/app/lib/wheel.js:10\n    turn(this);\n    ^\nTypeError: no wheel\n"
        "    at ride (/app/lib/wheel.js:10:5)\n    at start (/app/lib/wheel.js:20:5)"
    )
    files = {"lib/wheel.js": {"code": "x"}}
    chosen = reasons_for(0, "It fails", frames, files=files, history={})
    expected = ["Stack frame ride, line 10 in the report's version"]
    assert texts_of_kind("frame", chosen) == expected


def test_a_place_in_a_message_of_a_compiler_is_not_called_a_frame(reasons_for):
    messages = (
        "D:\\fmtlib\\include\\fmt\\core.h(1448,1): error C2062: type is unexpected\n"
        "D:\\fmtlib\\include\\fmt\\core.h(1449,1): error C2143: syntax error"
    )
    files = {"include/fmt/core.h": {"code": "x"}}
    chosen = reasons_for(0, "It fails", messages, files=files, history={})
    expected = ["The report points to line 1448 in its version"]
    assert texts_of_kind("frame", chosen) == expected


def test_frames_in_compiled_javascript_are_reasons_without_lines(reasons_for):
    files = {"src/cart/wheel.ts": {"code": "x"}, "src/cart/bell.ts": {"code": "y"}}
    frames = (
        "Error: no wheel\n"
        "    at /app/node_modules/shop/dist/cjs/cart/wheel.js:10:5\n"
        "    at ring (/app/node_modules/shop/dist/cjs/cart/bell.js:20:5)"
    )
    texts = []
    for file in range(2):
        chosen = reasons_for(file, "It fails", frames, files=files, history={})
        texts += texts_of_kind("frame", chosen)
    assert sorted(texts) == ["Stack frame in wheel.js", "Stack frame ring"]


def test_an_unrelated_test_is_no_reason(make_context):
    """A first file that is a test counts only if it is the test of this very file."""
    related = FileReasons(make_context(TEXTS, "Growing Tree"))
    assert related.counterpart(LEAF, [TREE_TEST]) is None
    counterpart = related.counterpart(TREE, [LEAF, TREE_TEST])
    assert counterpart.text == "Its test test/TreeTest.java matches the report, too"


def test_words_of_the_name_are_not_shown_a_second_time(reasons_for):
    weights = {"bm25f": 1.0, "path": 1.0}
    assert kinds(reasons_for(TREE, "A tree", weights=weights)) == ["words"]
    assert kinds(reasons_for(LEAF, "A leaf on a tree", weights={"path": 1.0})) == ["path"]
