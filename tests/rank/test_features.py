"""Every feature once on a small context, with its value worked by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tosloc.rank import features

FOUR_THIRDS = math.log(4 / 3)
"""IDF of a word that stands in the one known document: ln(1 + .5 / 1.5)."""


FILES = ("docs/conf.py", "shop/__init__.py", "shop/door.py", "shop/key.py", "shop/old/door.py", "third_party/x/door.c")


def of(name, context, *shares):
    return features.FEATURES[name].values(context, *shares)


def bm(frequency, length, average, k1, b):
    return frequency * (k1 + 1) / (frequency + k1 * (1 - b + b * length / average))


def test_text(make_context):
    # file names only: tree | leaf, IDF ln 2 both, the same length: score .5; report (1 + ln 2) tree + leaf
    context = make_context({"a/Leaf.java": {}, "a/Tree.java": {}}, "tree", "tree leaf")
    tree = 1 + math.log(2)
    assert of("text", context) == pytest.approx([0.5 / math.hypot(tree, 1), 0.5 * tree / math.hypot(tree, 1)])


def test_trace_in_the_order_of_first_appearance(make_context):
    """As in Tomcat 55937: the log header names StandardContext before the first frame names WARDirContext."""
    paths = (
        "java/org/apache/catalina/core/StandardContext.java",
        "java/org/apache/catalina/core/StandardHost.java",
        "java/org/apache/naming/resources/WARDirContext.java",
        "test/org/apache/other/WARDirContext.java",
    )
    description = (
        "Dec 30, 2013 11:15:32 AM org.apache.catalina.core.StandardContext resourcesStart SEVERE: Error starting "
        "static Resources java.lang.NullPointerException at "
        "org.apache.naming.resources.WARDirContext$Entry.find(WARDirContext.java:950) at "
        "org.apache.naming.resources.WARDirContext.list(WARDirContext.java:300) at "
        "org.apache.catalina.core.StandardContext.start(StandardContext.java:5000) at "
        "java.lang.Thread.run(Thread.java:724) at "
        "org.apache.catalina.core.StandardHost.start(StandardHost.java:7)"
    )
    assert of("trace", make_context(paths, "x", description)) == pytest.approx([1, 1 / 3, 1 / 2, 0])
    # a file that the version lacks takes no rank
    without = make_context(paths[1:], "x", description, gone=paths[:1])
    assert of("trace", without) == pytest.approx([1 / 2, 1, 0])
    assert of("trace", make_context(paths, "x", "StandardContext is slow")).tolist() == [0, 0, 0, 0]


def test_history(make_context):
    # a: 3 fixes, the last 30 days ago; b: 1 fix 60 days ago; c: none; d: 2, the last 15 days ago. norm = fixes / 3
    reports = [
        (400, "x", ["a", "b"]),
        (90, "x", ["a"]),
        (30, "x", ["a", "d"]),
        (60, "x", ["b"]),
        (15, "x", ["d"]),
        (0, "x", ["c"]),
        (-5, "x", ["c"]),
    ]
    got = of("history", make_context(("a", "b", "c", "d"), reports=reports))
    assert got == pytest.approx([1 + 1 / 2, 2 / 3 + 1 / 3, 0, 2 / 3 + 1 / 1.5])
    # of files fixed alike only the time differs
    assert of("history", make_context(("a", "b"), reports=[(30, "x", ["a"]), (60, "x", ["b"])])) == pytest.approx(
        [1 / 2, 1 / 3]
    )


@pytest.fixture
def words(make_context):
    """A file a of 2 words, b of 1; every IDF ln(1 + 1.5/1.5) = ln 2."""
    files = {"a": {"code": "tree node", "method": "node"}, "b": {"code": "leaf"}}
    return make_context(files, "tree", "node tree")


def test_words_in_fields(words):
    tree, node = 1 + math.log(6), 1.0
    code = 1 / (0.6 + 0.4 * 2 / 1.5)
    x, y = code, code + 4 / (0.6 + 0.4 * 1 / 0.5)
    expected = math.log(2) * (tree * 5 * x / (x + 4) + node * 5 * y / (y + 4))
    assert of("bm25f", words) == pytest.approx([expected, 0])
    expected = (1 + math.log(4) + 1) * math.log(2) * bm(1, 2, 1.5, 1.2, 0.4)
    assert of("code", words) == pytest.approx([expected, 0])
    assert of("methods", words) == pytest.approx([math.log(2) * bm(1, 1, 0.5, 1.2, 0.4), 0])
    assert of("summary", words) == pytest.approx([math.log(2) * bm(1, 2, 1.5, 1.2, 0.3), 0])
    # tree: 2 of the summary + 1, node: 1; both stand once in a
    tree = 1 + math.log(3)
    expected = (tree + node) * math.log(2) * bm(1, 2, 1.5, 1.2, 0.3)
    assert of("lead", words) == pytest.approx([expected, 0])


def test_chunk(make_context):
    # the best of (tree), (node node leaf): tree 1 + ln 4 against node 1 x 1.375
    context = make_context({"a": {"code": "tree / node node leaf"}, "b": {"code": "leaf"}}, "tree", "node tree")
    assert of("chunk", context) == pytest.approx([math.log(2) * (1 + math.log(4)), 0])
    other = make_context({"a": {"code": "tree / node node leaf"}, "b": {"code": "leaf"}}, "", "node tree")
    assert of("chunk", other) == pytest.approx([math.log(2) * 1.375, 0])


def test_coverage(make_context):
    """Each word of the summary once, however often it stands there or in the file; the description has no say."""
    files = {"a": {"code": "tree tree leaf"}, "b": {"comment": "node tree"}, "c": {"code": "leaf"}}
    context = make_context(files, "tree tree node", "leaf")
    tree, node = math.log(1 + 1.5 / 2.5), math.log(1 + 2.5 / 1.5)
    assert of("coverage", context) == pytest.approx([tree, node + tree, 0])


def test_identifiers(make_context):
    files = {"a": {"code": "tree node treenode"}, "b": {"code": "tree node"}}
    context = make_context(files, "treeNode fails", "tree")
    # the compound alone counts, 3 times as a word of the summary; lengths 3 and 2
    expected = (1 + math.log(3)) * math.log(2) * bm(1, 3, 2.5, 1.2, 0.3)
    assert of("identifiers", context) == pytest.approx([expected, 0])


def test_words_in_paths(make_context):
    # words of the paths: tree leaf | node; of the folders alone: tree | node. Both IDF ln 2
    context = make_context(("node/x.c", "tree/leaf.c"), "tree", "leaf tree")
    tree, leaf = 1 + math.log(4), 1.0
    assert of("path", context) == pytest.approx([0, (tree + leaf) * math.log(2) * bm(1, 2, 1.5, 1.2, 0.5)])
    assert of("folders", context) == pytest.approx([0, tree * math.log(2)])
    # names tree node treenode | leaf: all IDF alike; the summary holds one of three
    context = make_context(("x/Leaf.java", "x/TreeNode.java"), "the tree", "leaf node")
    assert of("name_coverage", context) == pytest.approx([0, 1 / 3])


def test_mentions_and_their_order(make_context):
    paths = ("x/Display.java", "x/StandardContext.java", "x/leaf.java", "x/max_size.py", "y/StandardContext.java")
    context = make_context(paths, "StandardContext and leaf", "Display, max_size", gone=("x/Shell.java",))
    assert of("mention", context).tolist() == [0.5, 1, 0, 1, 1]
    frames = make_context(paths, "x", "at x.StandardContext.start(StandardContext.java:1)")
    assert of("mention", frames).tolist() == [0, 0, 0, 0, 0]
    paths = ("x/Display.java", "x/StandardContext.java", "x/leaf.java", "y/StandardContext.java", "z/TreeNode.java")
    # Shell is gone and leaf no name: Display is first, StandardContext second
    context = make_context(paths, "Shell and leaf of Display", "StandardContext, Display", gone=("x/Shell.java",))
    assert of("mention_order", context) == pytest.approx([0.5, 1 / math.sqrt(2), 0, 1 / math.sqrt(2), 0])


TRACE = (
    "Failed at java.lang.Thread.run(Thread.java:1) at x.A.go(A.java:1) at x.A$In.go(A.java:2) at x.B.go(B.java:1) "
    "Caused by: y.Bad at x.C.go(C.java:1) at x.B.go(B.java:9) ... 3 more"
)
"""A, B, then after the cause C, B; the JDK's own class is no file of the version."""


def test_rare_frames_and_those_of_the_cause(make_context):
    # 3 earlier reports: A in two of them, B in one. Rarity ln(5/(df+1)) / ln 5
    reports = [(9, "w", ["x/A.java"], ["x.A", "x.B"]), (8, "w", ["x/A.java"], ["x.A"]), (7, "w", ["x/A.java"])]
    paths = ("x/A.java", "x/B.java", "x/C.java", "x/D.java")
    got = of("rare_frame", make_context(paths, "w", TRACE, reports=reports))
    rare = [math.log(5 / n) / math.log(5) for n in (3, 2, 1)]
    assert got == pytest.approx([rare[0], rare[1] / math.sqrt(2), rare[2] / math.sqrt(3), 0])
    assert of("cause_frame", make_context(paths[:3], "w", TRACE)) == pytest.approx([0, 1 / math.sqrt(2), 1])
    single = make_context(paths[:2], "w", TRACE.split("Caused")[0])
    assert of("cause_frame", single) == pytest.approx([1, 1 / math.sqrt(2)])


def test_documents_of_files(make_context):
    # one commit and one report, both one word, both touched a and a file that is gone: tf 1/sqrt 2, length the same
    touched = [(5, "tree", ["a", "gone"])]
    context = make_context(("a", "b"), "tree", commits=touched, reports=touched, gone=("gone",))
    tf = 1 / math.sqrt(2)
    value = (1 + math.log(3)) * FOUR_THIRDS * tf * 2.2 / (tf + 1.2)
    assert of("file_documents", context) == pytest.approx([2 * value, 0])
    commits = [(5, "tree node", ["a"])]
    context = make_context(("a", "b"), "tree", "node node", commits=commits, reports=[(5, "tree", ["b"])])
    assert of("commit_summary", context) == pytest.approx([FOUR_THIRDS, 0])


def test_near_commits_and_reports(make_context):
    # the report is one word: a message of that word alone is at cosine 1, "tree node" with equal IDF at cos 45 degrees
    commits = [(9, "tree node", ["a", "b"]), (8, "leaf", ["c"]), (7, "node", ["c"]), (6, "tree", ["b"])]
    context = make_context(("a", "b", "c"), "tree", commits=commits)
    half = math.sqrt(0.5)
    assert of("near_commits", context) == pytest.approx([half * half, half * half + 1, 0], rel=1e-6)
    reports = [(730, "tree", ["a", "b"]), (365, "tree node", ["b"]), (1, "node", ["c"])]
    got = of("near_reports", make_context(("a", "b", "c"), "tree", reports=reports))
    old = math.exp(-1) / math.sqrt(2)
    # IDF of tree and of node are the same: cosine^2 = 1/2
    assert got == pytest.approx([old, old + 0.5 * math.exp(-0.5), 0], rel=1e-6)


def test_packages_of_near_commits_and_reports(make_context):
    commits = [(9, "tree", ["p/a", "p/gone"]), (5, "leaf", ["q/c"])]
    context = make_context(("p/a", "p/b", "q/c"), "tree", commits=commits, gone=("p/gone",))
    # s/k = 1/2 on p/a; the folder p has two files in this version
    assert of("near_package", context) == pytest.approx([0.5 / math.sqrt(2), 0.5 / math.sqrt(2), 0], rel=1e-6)
    # cosine^2 1 and 1/2; k 2 and 1. Folder p: 1/2 + 1/2 on two files; the message of a commit has no say
    reports = [(730, "tree", ["p/a", "p/gone"]), (365, "tree node", ["p/b"]), (1, "node", ["q/c"])]
    commits = [(3, "tree", ["q/c"])]
    context = make_context(("p/a", "p/b", "q/c"), "tree", commits=commits, reports=reports, gone=("p/gone",))
    assert of("folder_reports", context) == pytest.approx([1 / math.sqrt(2), 1 / math.sqrt(2), 0], rel=1e-6)


def test_name_documents(make_context):
    """A commit on XmlTree speaks for its words xml, tree and xmltree; HtmlTree shares the one.

    Names: xml tree xmltree | html tree htmltree | leaf. IDF of tree ln(1 + 1.5/2.5), of the others ln(1 + 2.5/1.5).
    """
    paths = ("a/XmlTree.java", "b/HtmlTree.java", "c/Leaf.java")
    context = make_context(paths, "crash", "leaf", commits=[(5, "crash", [paths[0]])])
    tree, other = math.log(1.6), math.log(1 + 2.5 / 1.5)
    weight = tree + 2 * other
    expected = [weight**0.3 * FOUR_THIRDS, tree * FOUR_THIRDS / weight**0.7, 0]
    assert of("name_documents", context) == pytest.approx(expected)


def test_activity(make_context):
    commits = [(60, "x", ["a"]), (30, "x", ["a", "b"]), (-1, "x", ["c"])]
    context = make_context(("a", "b", "c"), commits=commits)
    assert of("recency", context) == pytest.approx([0.5, 0.5, 0])
    for name, days in (("activity", 60), ("year", 365), ("popularity", math.inf)):
        alone, shared = math.exp(-60 / days), math.exp(-30 / days) / math.sqrt(2)
        assert of(name, context) == pytest.approx([math.log1p(alone + shared), math.log1p(shared), 0])


def test_what_a_file_is_like(make_context):
    context = make_context(("a", "b", "c"), complexity={"a": 3, "b": 9, "c": 6})
    context.version.text.corpus.lines[:] = [0, 99, 9]
    assert of("complexity", context).tolist() == [0, 1, 0.5]
    assert of("length", context) == pytest.approx([0, math.log(100), math.log(10)])
    assert of("complexity", make_context(("a", "b"), complexity={"a": 7, "b": 7})).tolist() == [0, 0]
    assert of("test", make_context(("src/Leaf.java", "src/LeafTest.java", "test/B.java"))).tolist() == [0, 1, 1]
    assert (
        of("example", make_context(FILES)).tolist() == of("setup", make_context(FILES)).tolist() == [1, 0, 0, 0, 0, 0]
    )
    assert of("vendored", make_context(FILES)).tolist() == [0, 0, 0, 0, 0, 1]


def test_the_first_guess_and_what_it_passes_on(make_context):
    # 1 x 1 against -.6 x 1
    got = features.prior({"code": np.array([1.0, 0.0]), "test": np.array([0.0, 1.0])})
    assert got == pytest.approx([1 / (1 + math.exp(-1.6)), 1 / (1 + math.exp(1.6))])
    assert features.prior({"code": np.array([900.0, 1.0])}) == pytest.approx([1, 0])
    context = make_context(("src/Bar.java", "src/Foo.java", "test/FooTest.java", "test/TestFoo.java"))
    assert of("twin", context, np.array([0.1, 0.5, 0.3, 0.1])).tolist() == [0, 0.3, 0.5, 0.5]
    # by the root of the two others; alone in its folder: nothing
    got = of("folder_share", make_context(("p/a", "p/b", "p/c", "q/d")), np.array([0.5, 0.2, 0.1, 0.2]))
    assert got == pytest.approx([0.3 / math.sqrt(2), 0.6 / math.sqrt(2), 0.7 / math.sqrt(2), 0])
    shares = np.array([0.0, 0.1, 0.5, 0.1, 0.2, 0.1])
    assert of("namesake", make_context(FILES), shares).tolist() == [0, 0, 0.2, 0, 0.5, 0]


def test_co_change(make_context):
    # c's commits: alone, with b, weights 1 and 1/sqrt 2 of the same day
    commits = [(0.0001, "x", ["c"]), (0.0001, "x", ["b", "c"])]
    context = make_context(("a", "b", "c"), commits=commits)
    share = math.sqrt(0.5) / (1 + math.sqrt(0.5))
    got = of("co_change", context, np.array([0.1, 0.2, 0.7]))
    assert got == pytest.approx([0, 0.7 * share, 0.2], abs=1e-6)
