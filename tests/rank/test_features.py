"""Every feature once on a small context, with its values worked by hand; and all features together."""

import math

import numpy as np
import pytest

from tosloc.rank import features

LN2, ROOT2 = math.log(2), math.sqrt(2)
FOUR_THIRDS = math.log(
    4 / 3
)  # IDF of a word that stands in the one known document: ln(1 + .5 / 1.5)


def of(name, context, *shares):
    return features.FEATURES[name].values(context, *shares)


def bm(frequency, length, average, k1, b):
    return frequency * (k1 + 1) / (frequency + k1 * (1 - b + b * length / average))


def said(times):
    """Weight of a word that a report says so often."""
    return 1 + math.log(times)


def case(name, files, report, expected, shares=(), **more):
    """Values of a feature for files; the report's summary and description with a bar between."""
    return name, files, report.split("|"), expected, [np.array(shares)] * bool(shares), more


# a file of 2 words, one of 1; every IDF ln(1 + 1.5/1.5) = ln 2
WORDS = {"a": {"code": "tree node", "method": "node"}, "b": {"code": "leaf"}}
_X = 1 / (0.6 + 0.4 * 2 / 1.5)
_Y = _X + 4 / (0.6 + 0.4 * 1 / 0.5)
_FIELDED = LN2 * (said(6) * 5 * _X / (_X + 4) + 5 * _Y / (_Y + 4))
CHUNKS = {"a": {"code": "tree / node node leaf"}, "b": {"code": "leaf"}}
PATHS = ("node/x.c", "tree/leaf.c")
COMPOUND = {"a": {"code": "tree node treenode"}, "b": {"code": "tree node"}}
HELD = {
    "a": {"code": "tree tree leaf"},
    "b": {"comment": "node", "string": "tree"},
    "c": {"code": "leaf"},
}
_TREE, _OTHER = (
    math.log(1.6),
    math.log(1 + 2.5 / 1.5),
)  # IDF of tree, and of the other words of the names below
_NAME = _TREE + 2 * _OTHER
XML = ("a/XmlTree.java", "b/HtmlTree.java", "c/Leaf.java")
MENTIONED = (
    "x/Display.java x/StandardContext.java x/leaf.java x/max_size.py y/StandardContext.java".split()
)
GONE = {"gone": ("x/Shell.java", "p/gone")}
DEFINED = {
    "a": {"code": "parseargs main", "method": "parseargs main"},
    "b": {"code": "parseargs main", "method": "main"},
    "c": {"code": "reader", "type": "reader"},
}
# 3 fixes of a, the last 30 days ago; 1 of b, 60 days ago; none of c; 2 of d, the last 15 days ago
FIXES = [
    (days, "x", files)
    for days, files in ((400, "ab"), (90, "a"), (30, "ad"), (60, "b"), (15, "d"), (-5, "c"))
]
# As in Tomcat 55937: the log header names StandardContext before the first frame names WARDirContext
TRACED = (
    "java/org/apache/catalina/core/StandardContext.java",
    "java/org/apache/catalina/core/StandardHost.java",
    "java/org/apache/naming/resources/WARDirContext.java",
    "test/org/apache/other/WARDirContext.java",
)
TRACE = """x|Dec 30, 2013 11:15:32 AM org.apache.catalina.core.StandardContext resourcesStart SEVERE: Error
 at org.apache.naming.resources.WARDirContext$Entry.find(WARDirContext.java:950)
 at org.apache.catalina.core.StandardContext.Inner.start(StandardContext.java:5000)
 at java.lang.Thread.run(Thread.java:724) at org.apache.catalina.core.StandardHost.start(StandardHost.java:7)"""
CAUSED = (
    "w|Failed at java.lang.Thread.run(Thread.java:1) at x.A.go(A.java:1) at x.A$In.go(A.java:2) at x.B.go(B.java:1) "
    "Caused by: y.Bad at x.C.go(C.java:1) at x.B.In.go(B.java:9) ... 3 more"
)
"""A, B, then after the cause C, B; the JDK's own class is no file of the version."""
FRAMED = ("x/A.java", "x/B.java", "x/C.java", "x/D.java")
# earlier reports: A in two of them, B in one. Rarity ln(5/(df+1)) / ln 5
FRAMES = [
    (9, "w", FRAMED[:1], ["x.A", "x.B", "x.B.In"]),
    (8, "w", FRAMED[:1], ["x.A", "x.B.In"]),
    (7, "w", FRAMED[:1]),
]
_RARE = [math.log(5 / n) / math.log(5) / math.sqrt(rank) for n, rank in ((3, 1), (2, 2), (1, 3))]
FILES = (
    "docs/conf.py",
    "shop/__init__.py",
    "shop/door.py",
    "shop/key.py",
    "shop/old/door.py",
    "third_party/x/door.c",
)
TRACEBACKS = """x|Traceback (most recent call last):
  File "/home/me/run.py", line 3, in <module>
  File "/env/lib/python3.8/site-packages/shop/key.py", line 4, in turn
  File "/env/lib/python3.8/site-packages/shop/door.py", line 14, in open
  File "/env/lib/python3.8/site-packages/other/key.py", line 4, in turn
  File "/env/lib/python3.8/json/door.py", line 4, in load
Traceback (most recent call last):
  File "shop/door.py", line 5, in shut
  File "docs/conf.py", line 3
"""
HUB = "https://github.com/me/shop/blob/abc"
PLACES = f"x|See {HUB}/shop/key.py#L3, {HUB}/docs/conf.py. In old/door.py and key.py, as run by `python docs/conf.py`."
ACTIVE = {"commits": [(60, "x", "a"), (30, "x", "ab"), (-1, "x", "c")]}


def activity(days):
    alone, shared = math.exp(-60 / days), math.exp(-30 / days) / ROOT2
    return [math.log1p(alone + shared), math.log1p(shared), 0]


# one commit and one report of one word, both of a and a file that is gone: tf 1/sqrt 2, length the same
TOUCHED = {kind: [(5, "tree", ["a", "p/gone"])] for kind in ("commits", "reports")} | GONE
_ONE_WORD = said(3) * FOUR_THIRDS / ROOT2 * 2.2 / (1 / ROOT2 + 1.2)
TWO_FOLDERS = ("p/a", "p/b", "q/c")
NEAR = [(9, "tree node", "ab"), (8, "leaf", "c"), (7, "node", "c"), (6, "tree", "b")]
AGED = [(730, "tree", "ab"), (365, "tree node", "b"), (1, "node", "c")]
_AGED = math.exp(-1) / ROOT2
GROUPED = [(730, "tree", ["p/a", "p/gone"]), (365, "tree node", ["p/b"]), (1, "node", ["q/c"])]
TESTED = ("src/Bar.java", "src/Foo.java", "test/FooTest.java", "test/TestFoo.java")
REPORT = "Tree|of a leaf"
_FOLDERS = [0.3 / ROOT2, 0.6 / ROOT2, 0.7 / ROOT2, 0]
TOGETHER = [(1e-4, "x", "c"), (1e-4, "x", "bc")]
ALIKE = {"files": 2, "known_reports": 0, "known_commits": 1, "report_terms": 2}

CASES = [
    # file names only: tree | leaf, the same IDF and length: score .5; report (1 + ln 2) tree + leaf
    case(
        "text",
        ("a/Leaf.java", "a/Tree.java"),
        "tree|tree leaf",
        np.array([0.5, said(2) / 2]) / math.hypot(said(2), 1),
    ),
    case("trace", TRACED, TRACE, [1, 1 / 3, 1 / 2, 0]),
    case(
        "trace", TRACED[1:], TRACE, [1 / 2, 1, 0], gone=TRACED[:1]
    ),  # a file that the version lacks takes no rank
    case(
        "history",
        "abcd",
        "",
        [1 + 1 / 2, 2 / 3 + 1 / 3, 0, 2 / 3 + 1 / 1.5],
        reports=[*FIXES, (0, "x", "c")],
    ),
    case("bm25f", WORDS, "tree|node tree", [_FIELDED, 0]),
    case("code", WORDS, "tree|node tree", [(said(4) + 1) * LN2 * bm(1, 2, 1.5, 1.2, 0.4), 0]),
    case("methods", WORDS, "tree|node tree", [LN2 * bm(1, 1, 0.5, 1.2, 0.4), 0]),
    case("summary", WORDS, "tree|node tree", [LN2 * bm(1, 2, 1.5, 1.2, 0.3), 0]),
    # tree: 2 of the summary + 1, node: 1; both stand once in a
    case("lead", WORDS, "tree|node tree", [(said(3) + 1) * LN2 * bm(1, 2, 1.5, 1.2, 0.3), 0]),
    # the best of (tree), (node node leaf): tree 1 + ln 4 against node 1 x 1.375
    case("chunk", CHUNKS, "tree|node tree", [LN2 * said(4), 0]),
    # each word of the summary once, however often it stands there or in the file; the description has no say
    case("coverage", HELD, "tree tree node|leaf", [_TREE, _OTHER + _TREE, 0]),
    # the compound alone counts, 3 times as a word of the summary; lengths 3 and 2
    case(
        "identifiers", COMPOUND, "treeNode fails|tree", [said(3) * LN2 * bm(1, 3, 2.5, 1.2, 0.3), 0]
    ),
    # words of the paths: tree leaf | node; of the folders alone: tree | node. Both IDF ln 2
    case(
        "path",
        PATHS,
        "tree|leaf tree",
        [0, (said(4) + 1) * LN2 * bm(1, 2, 1.5, 1.2, 0.5)],
        gone=["tree/x.c"],
    ),
    case("folders", PATHS, "tree|leaf tree", [0, said(4) * LN2], gone=["tree/x.c"]),
    # names tree node treenode | leaf: all IDF alike; the summary holds one of three
    case(
        "name_coverage",
        ("x/Leaf.java", "x/TreeNode.java"),
        "the tree|leaf node",
        [0, 1 / 3],
        gone=["Node.c"],
    ),
    case(
        "mention",
        MENTIONED,
        "StandardContext and leaf|Display, max_size",
        [0.5, 1, 0, 1, 1],
        **GONE,
    ),
    case("rare_frame", FRAMED, CAUSED, [*_RARE, 0], reports=FRAMES),
    case("cause_frame", FRAMED[:3], CAUSED, [0, 1 / ROOT2, 1]),
    case("file_documents", "ab", "tree", [2 * _ONE_WORD, 0], **TOUCHED),
    # the text of a file that is gone is as long as it is: the mean length is that of the others
    case(
        "commit_summary",
        "ab",
        "tree|node",
        [LN2, 0],
        commits=[(5, "tree node", "a"), (4, "x x x", ["p/gone"])],
        **GONE,
    ),
    # a message of the report's word alone is at cosine 1, "tree node" with equal IDF at cos 45 degrees
    case("near_commits", "abc", "tree", [1 / 2, 3 / 2, 0], commits=NEAR),
    case(
        "near_commits", "a", "tree", [10], commits=[(day, "tree", "a") for day in range(1, 12)]
    ),  # ten at most
    case("near_reports", "abc", "tree", [_AGED, _AGED + 0.5 * math.exp(-0.5), 0], reports=AGED),
    # s/k = 1/2 on p/a; the folder p has two files in this version
    case(
        "near_package",
        TWO_FOLDERS,
        "tree",
        [0.5 / ROOT2, 0.5 / ROOT2, 0],
        commits=GROUPED[:1],
        **GONE,
    ),
    # cosine^2 1 and 1/2; k 2 and 1. Folder p: 1/2 + 1/2 on two files
    case("folder_reports", TWO_FOLDERS, "tree", [1 / ROOT2, 1 / ROOT2, 0], reports=GROUPED, **GONE),
    # names: xml tree xmltree | html tree htmltree | leaf; a commit on the first speaks for its words
    case(
        "name_documents",
        XML,
        "crash|leaf",
        [_NAME**0.3 * FOUR_THIRDS, _TREE * FOUR_THIRDS / _NAME**0.7, 0],
        commits=[(5, "crash", XML[:1])],
    ),
    case("recency", "abc", "", [0.5, 0.5, 0], **ACTIVE),
    case("activity", "abc", "", activity(60), **ACTIVE),
    case("popularity", "abc", "", activity(math.inf), **ACTIVE),
    case("complexity", "abc", "", [0, 1, 0.5], complexity={"a": 3, "b": 9, "c": 6}),
    case("test", TESTED, "", [0, 0, 1, 1]),
    case("example", FILES, "", [1, 0, 0, 0, 0, 0]),
    case("setup", FILES, "", [1, 0, 0, 0, 0, 0]),
    case("vendored", FILES, "", [0, 0, 0, 0, 0, 1]),
    # of the project's own files, from the innermost
    case("own_frame", FILES, TRACEBACKS, [1 / ROOT2, 0, 1, 1 / 2, 0, 0]),
    case("own_frame", FILES, 'x|File "door.py", line 3, in open', [0, 0, 1 / 2, 0, 1 / 2, 0]),
    case("linked", FILES, PLACES, [1 / ROOT2, 0, 0, 1, 0, 0]),
    case("written_path", FILES, PLACES, [0, 0, 0, 1 / 2, 1, 0]),
    # one file defines parse_args, named in the summary: 3 / 1; two define main, one word, called in prose: .5 / 2
    case(
        "defined_names",
        DEFINED,
        "parse_args fails|after Args.parse_args(), main()",
        [3.0, 0.25, 0.0],
    ),  # 3 at most
    # parse_args in prose counts 1, as the name of two words that it is
    case("defined_names", DEFINED, "it fails|after Args.parse_args()", [1.0, 0, 0]),
    case("defined_names", DEFINED, "main reader|reader", [0, 0, 0]),  # nobody wrote them as code
    case("language_share", ("a/Leaf.java", "a/Tree.java", "b/x.py"), "", [2 / 3, 2 / 3, 1 / 3]),
    *(
        case(name, "ab", REPORT, [math.log1p(n)] * 2, commits=[(3, "x", "a")])
        for name, n in ALIKE.items()
    ),
    # what is passed on from the first guess
    case("test_counterpart", TESTED, "", [0, 0.3, 0.5, 0.5], [0.1, 0.5, 0.3, 0.1]),
    # by the root of the two others; alone in its folder: nothing
    case("folder_share", ("p/a", "p/b", "p/c", "q/d"), "", _FOLDERS, [0.5, 0.2, 0.1, 0.2]),
    # one other file in the folder: its share as it is
    case("folder_share", ("p/a", "p/b", "q/c"), "", [0.3, 0.5, 0], [0.5, 0.3, 0.2]),
    # c's commits: alone, with b, weights 1 and 1/sqrt 2 of the same day
    case("co_change", "abc", "", [0, 0.7 / (1 + ROOT2), 0.2], [0.1, 0.2, 0.7], commits=TOGETHER),
]


@pytest.mark.parametrize(("name", "files", "report", "expected", "shares", "more"), CASES)
def test_values_by_hand(make_context, name, files, report, expected, shares, more):
    context = make_context(files if isinstance(files, dict) else tuple(files), *report, **more)
    assert of(name, context, *shares) == pytest.approx(np.array(expected), rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("name", ["bm25f", "chunk"])
@pytest.mark.parametrize(("kind", "other_kind"), [("reports", "commits"), ("commits", "reports")])
def test_a_word_of_earlier_reports_or_commits_counts_less(make_context, name, kind, other_kind):
    """Both of two earlier documents have "version": ln(12 / 3) / ln 12. Later ones don't count."""
    earlier = [(20, "version", "a"), (10, "version", "b"), (-1, "version", "a")]
    files = {"a": {"code": "crash"}, "b": {"code": "version"}}
    history = {kind: earlier, other_kind: [(5, "other", "a")]}
    context = make_context(files, "crash version", **history)
    without_history = make_context(files, "crash version")
    factors = np.array([1.0, math.log(12 / 3) / math.log(12)])
    assert of(f"rare_{name}", context) == pytest.approx(of(name, without_history) * factors)


def test_the_rarities_of_a_word_in_reports_and_in_commits_multiply(make_context):
    """The word is in one report of one, ln(11 / 2) / ln 11, and in one commit of two, ln(12 / 2) / ln 12."""
    files = {"a": {"code": "version"}, "b": {"code": "crash"}}
    history = {
        "reports": [(20, "version", "a")],
        "commits": [(20, "version", "a"), (10, "other", "b")],
    }
    context = make_context(files, "version", **history)
    without_history = make_context(files, "version")
    factor = math.log(11 / 2) / math.log(11) * math.log(12 / 2) / math.log(12)
    assert of("rare_bm25f", context) == pytest.approx(of("bm25f", without_history) * factor)


PRIOR_WEIGHTS = {
    "bm25f": 0.5,
    "code": 1.0,
    "methods": 0.4,
    "chunk": 2.3,
    "summary": 1.0,
    "identifiers": 1.0,
    "path": 0.6,
    "folders": 0.8,
    "name_coverage": 0.6,
    "mention": 1.0,
    "rare_frame": 1.5,
    "cause_frame": 1.5,
    "file_documents": 1.0,
    "commit_summary": 0.4,
    "near_commits": 0.4,
    "near_reports": 1.0,
    "near_package": 0.8,
    "name_documents": 0.7,
    "recency": 1.0,
    "activity": 1.0,
    "popularity": -1.8,
    "test": -0.6,
}


def test_prior_weights_are_those_that_the_shipped_weights_were_learned_with():
    """The related features depend on the prior: who changes a weight here has to train the shipped weights again."""
    assert dict(features.PRIOR_WEIGHTS) == PRIOR_WEIGHTS


def test_the_prior_is_the_softmax_of_the_weighted_sum_of_all_columns():
    """The first file has 1 in every column, the second 0: 16.1 against 0."""
    columns = {name: np.array([1.0, 0.0]) for name in features.NAMES}
    share = 1 / (1 + math.exp(-16.1))
    assert features.prior(columns) == pytest.approx([share, 1 - share], rel=1e-9)


def test_a_column_with_a_negative_prior_weight_lowers_the_file():
    """The first file gets 1 x 1, the second -.6 x 1."""
    shares = features.prior({"code": np.array([1.0, 0.0]), "test": np.array([0.0, 1.0])})
    assert shares == pytest.approx([1 / (1 + math.exp(-1.6)), 1 / (1 + math.exp(1.6))])


def test_the_prior_of_large_values_does_not_overflow():
    assert features.prior({"code": np.array([900.0, 1.0])}) == pytest.approx([1, 0])


NOT_SCALED = set(
    "mention rare_frame test own_frame linked written_path example vendored setup defined_names files known_reports"
    " known_commits report_terms language_share text trace history complexity".split()
)


def test_features_that_are_not_divided_by_their_largest_value():
    """The shipped weights were learned so: who changes this has to train them again."""
    assert {name for name, feature in features.FEATURES.items() if not feature.scaled} == NOT_SCALED


def test_a_scaled_column_has_1_as_its_largest_value_and_another_its_own(make_context):
    context = make_context(
        {"a": {"code": "tree"}, "b": {"code": "leaf"}},
        "tree",
        reports=[(5, "x", "a"), (4, "x", "a")],
    )
    columns = features.columns(context, ["code", "known_reports"])
    assert columns["code"].tolist() == [1.0, 0.0]
    assert columns["known_reports"] == pytest.approx([math.log(3), math.log(3)])


def test_length_is_the_logarithm_of_one_more_than_the_lines(make_context):
    context = make_context(["a.c", "b.c"])
    context.version.text.corpus.lines[:] = [0, 99]
    assert of("length", context) == pytest.approx([0, math.log(100)])


TEXTS = {
    "src/Leaf.java": {"code": "leaf tree tree", "comment": "node"},
    "src/Tree.java": {"code": "tree node", "method": "grow", "type": "tree"},
    "test/TreeTest.java": {"code": "tree", "type": "treetest"},
}


def test_all_columns_are_finite_and_comparable(make_context):
    tree, said = (
        "src/Tree.java",
        ("Tree grows too much", "The tree and its node at src.Tree.grow(Tree.java:3)"),
    )
    past = {
        "commits": [(9, "tree grow", [*TEXTS][1:])],
        "reports": [(7, "tree node", [tree])],
        "complexity": {tree: 5},
    }
    rich = make_context(TEXTS, *said, **past)
    for context in (
        rich,
        make_context({}, *said),
        make_context({"a": {"code": "tree"}}),
        make_context("ab", *said),
    ):
        made = features.columns(context, features.ALL)
        assert tuple(made) == features.ALL
        for name, values in made.items():
            assert values.shape == (context.files,), name
            assert np.isfinite(values).all(), name
            if features.FEATURES[name].scaled and context.files:
                assert values.max() in (0.0, 1.0), name
    for name, values in features.columns(rich, features.ALL).items():
        alone = make_context(TEXTS, *said, **past)  # whatever else is wanted
        assert features.columns(alone, [name])[name].tolist() == values.tolist()
