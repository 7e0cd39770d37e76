"""Each feature on a small context, with its values worked out by hand; and all features together.

Every file of a context has the words that the test gives it and no others. IDF is BM25's,
ln(1 + (n - df + .5) / (df + .5)). A report is written as "summary|description".
"""

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import tosloc
from tosloc.paths.classify import FileClass, classify_path
from tosloc.rank.features import registry

ROOT2 = math.sqrt(2)
IDF_1_OF_2 = math.log(1 + 1.5 / 1.5)
"""IDF of a word that one of two files contains: ln 2."""
IDF_2_OF_2 = math.log(1 + 0.5 / 2.5)
"""IDF of a pair of words that both of two files contain."""
IDF_1_OF_1 = math.log(1 + 0.5 / 1.5)
"""IDF of a word that the only known document contains: ln(4/3)."""


@pytest.fixture
def compute(make_context):
    """Return a function (feature, files, report, shares, history ...) -> values (F,).

    Values are in the order of the version's paths, which git sorts by bytes: "B.c" before "a.c".
    """

    def values_of(name, files, report="", shares=None, **history):
        if not isinstance(files, dict):
            files = tuple(files)
        context = make_context(files, *report.split("|"), **history)
        prior = [] if shares is None else [np.array(shares)]
        return registry.FEATURES[name].values(context, *prior)

    return values_of


def near(*expected):
    return pytest.approx(np.array(expected), rel=1e-5, abs=1e-6)


def weight(times):
    """Weight of a word that a report contains so many times."""
    return 1 + math.log(times)


def bm25(frequency, length, average, k1, b):
    """Saturated frequency of a word in a text of some length, for an average length."""
    return frequency * (k1 + 1) / (frequency + k1 * (1 - b + b * length / average))


# Words of files. File a has two words of code, one of them in a method name; file b has one word.
# In the report "tree|node tree", tree counts 3 times for the summary and once for the description.

WORDS = {"a": {"code": "tree node", "method": "node"}, "b": {"code": "leaf"}}


def test_text_is_the_papers_revised_vector_space_model(compute):
    """File names are the only words: vectors (leaf) and (tree), the report (1 + ln 2) tree + leaf.

    IDF is alike, and both files are equally long, which makes the length score 1/2.
    """
    length = math.hypot(weight(2), 1)
    values = compute("text", ("a/Leaf.java", "a/Tree.java"), "tree|tree leaf")
    assert values == near(1 / length / 2, weight(2) / length / 2)


def test_bm25f_weighs_fields(compute):
    """Summary words count 5 times: tree 6, node 1.

    The frequency of tree is 1 in code, by the length norm; that of node is 4 more for the method.
    """
    code = 1 / (0.6 + 0.4 * 2 / 1.5)
    method = 4 / (0.6 + 0.4 * 1 / 0.5)
    tree = weight(6) * 5 * code / (code + 4)
    node = 5 * (code + method) / (code + method + 4)
    assert compute("bm25f", WORDS, "tree|node tree") == near(IDF_1_OF_2 * (tree + node), 0)


def test_code_is_bm25_of_code(compute):
    """Both words occur once in file a, which is 2 words long; the average is 1.5."""
    expected = (weight(4) + 1) * IDF_1_OF_2 * bm25(1, 2, 1.5, 1.2, 0.4)
    assert compute("code", WORDS, "tree|node tree") == near(expected, 0)


def test_methods_is_bm25_of_method_names(compute):
    """Only node is in a method name; the lengths are 1 and 0."""
    expected = IDF_1_OF_2 * bm25(1, 1, 0.5, 1.2, 0.4)
    assert compute("methods", WORDS, "tree|node tree") == near(expected, 0)


def test_summary_is_bm25_of_the_summary_alone(compute):
    """Of the summary's words tree is in file a."""
    expected = IDF_1_OF_2 * bm25(1, 2, 1.5, 1.2, 0.3)
    assert compute("summary", WORDS, "tree|node tree") == near(expected, 0)


def test_lead_counts_the_summary_twice(compute):
    """In the lead, tree counts 2 times for the summary and once for the description, node once."""
    expected = (weight(3) + 1) * IDF_1_OF_2 * bm25(1, 2, 1.5, 1.2, 0.3)
    assert compute("lead", WORDS, "tree|node tree") == near(expected, 0)


def test_chunk_is_the_score_of_the_best_chunk(compute):
    """File a has the chunks (tree) and (node node leaf).

    The first scores 1 + ln 4, more than the second: 1 x 2 x 2.2 / (2 + 1.2) = 1.375.
    """
    files = {"a": {"code": "tree / node node leaf"}, "b": {"code": "leaf"}}
    assert compute("chunk", files, "tree|node tree") == near(IDF_1_OF_2 * weight(4), 0)


def test_coverage_counts_each_word_of_the_summary_once(compute):
    """However often the summary or the file contains it; the description does not count.

    Of three files two contain tree, one contains node.
    """
    files = {
        "a": {"code": "tree tree leaf"},
        "b": {"comment": "node", "string": "tree"},
        "c": {"code": "leaf"},
    }
    tree = math.log(1 + 1.5 / 2.5)
    node = math.log(1 + 2.5 / 1.5)
    assert compute("coverage", files, "tree tree node|leaf") == near(tree, node + tree, 0)


def test_identifiers_counts_compound_names_alone(compute):
    """Only treenode counts, 3 times as a word of the summary; files have 3 and 2 words."""
    files = {"a": {"code": "tree node treenode"}, "b": {"code": "tree node"}}
    expected = weight(3) * IDF_1_OF_2 * bm25(1, 3, 2.5, 1.2, 0.3)
    assert compute("identifiers", files, "treeNode fails|tree") == near(expected, 0)


@pytest.mark.parametrize("name", ["bm25f", "chunk"])
@pytest.mark.parametrize(("kind", "other_kind"), [("reports", "commits"), ("commits", "reports")])
def test_a_word_of_earlier_reports_or_commits_counts_less(make_context, name, kind, other_kind):
    """Both of two earlier documents contain "version": ln(12 / 3) / ln 12. Later ones don't count.

    No document contains "crash", whose factor is 1.
    """
    earlier = [(20, "version", "a"), (10, "version", "b"), (-1, "version", "a")]
    files = {"a": {"code": "crash"}, "b": {"code": "version"}}
    history = {kind: earlier, other_kind: [(5, "other", "a")]}
    with_history = make_context(files, "crash version", **history)
    without_history = make_context(files, "crash version")
    factors = np.array([1.0, math.log(12 / 3) / math.log(12)])
    values = registry.FEATURES[f"rare_{name}"].values(with_history)
    assert values == pytest.approx(registry.FEATURES[name].values(without_history) * factors)


def test_rarities_in_reports_and_in_commits_multiply(make_context):
    """One report of one has the word: ln(11 / 2) / ln 11; one commit of two: ln(12 / 2) / ln 12."""
    files = {"a": {"code": "version"}, "b": {"code": "crash"}}
    history = {
        "reports": [(20, "version", "a")],
        "commits": [(20, "version", "a"), (10, "other", "b")],
    }
    with_history = make_context(files, "version", **history)
    without_history = make_context(files, "version")
    factor = math.log(11 / 2) / math.log(11) * math.log(12 / 2) / math.log(12)
    values = registry.FEATURES["rare_bm25f"].values(with_history)
    assert values == pytest.approx(registry.FEATURES["bm25f"].values(without_history) * factor)


# Words of paths. A path that is "gone" is known from the history, but not part of the version.


def test_path_is_bm25_of_the_words_of_paths(compute):
    """The paths have the words (node) and (tree leaf), with x and c too short to be words."""
    expected = (weight(4) + 1) * IDF_1_OF_2 * bm25(1, 2, 1.5, 1.2, 0.5)
    values = compute("path", ("node/x.c", "tree/leaf.c"), "tree|leaf tree", gone=["tree/x.c"])
    assert values == near(0, expected)


def test_folders_is_bm25_of_the_words_of_folders(compute):
    """The folders are (node) and (tree), of equal length, so that the saturated frequency is 1."""
    values = compute("folders", ("node/x.c", "tree/leaf.c"), "tree|leaf tree", gone=["tree/x.c"])
    assert values == near(0, weight(4) * IDF_1_OF_2)


def test_name_coverage_is_the_share_of_the_name_that_the_summary_has(compute):
    """TreeNode has the words tree, node and treenode of equal IDF; the summary has one of them."""
    paths = ("x/Leaf.java", "x/TreeNode.java")
    assert compute("name_coverage", paths, "the tree|leaf node", gone=["Node.c"]) == near(0, 1 / 3)


def test_mention_counts_names_and_half_for_plain_words(compute):
    """StandardContext and max_size are compound names: 1. Display is one word: 1/2.

    "leaf" is written without a capital, so that it mentions no file.
    """
    paths = (
        "x/Display.java",
        "x/StandardContext.java",
        "x/leaf.java",
        "x/max_size.py",
        "y/StandardContext.java",
    )
    gone = ("x/Shell.java", "p/gone")
    values = compute("mention", paths, "StandardContext and leaf|Display, max_size", gone=gone)
    assert values == near(0.5, 1, 0, 1, 1)


DEFINED = {
    "a": {"code": "parseargs main", "method": "parseargs main"},
    "b": {"code": "parseargs main", "method": "main"},
    "c": {"code": "reader", "type": "reader"},
}


def test_defined_names_counts_by_the_files_that_define_a_name(compute):
    """Only file a defines parse_args, which the summary names: 3 / 1, and 3 is the maximum.

    Files a and b define main, a name of one word that the description calls: .5 / 2.
    """
    report = "parse_args fails|after Args.parse_args(), main()"
    assert compute("defined_names", DEFINED, report) == near(3.0, 0.25, 0.0)


def test_defined_names_of_two_words_in_prose_count_1(compute):
    report = "it fails|after Args.parse_args()"
    assert compute("defined_names", DEFINED, report) == near(1.0, 0, 0)


def test_defined_names_that_are_not_written_as_code_do_not_count(compute):
    assert compute("defined_names", DEFINED, "main reader|reader") == near(0, 0, 0)


TESTED = ("src/Bar.java", "src/Foo.java", "test/FooTest.java", "test/TestFoo.java")
FILES = (
    "docs/conf.py",
    "shop/__init__.py",
    "shop/door.py",
    "shop/key.py",
    "shop/old/door.py",
    "third_party/x/door.c",
)


def test_test_is_1_for_tests(compute):
    assert compute("test", TESTED) == near(0, 0, 1, 1)


def test_example_is_1_below_documentation(compute):
    assert compute("example", FILES) == near(1, 0, 0, 0, 0, 0)


def test_setup_is_1_for_files_that_build(compute):
    assert compute("setup", ("build.gradle", "docs/conf.py", "shop/door.py")) == near(1, 0, 0)


def test_vendored_is_1_below_third_party(compute):
    assert compute("vendored", FILES) == near(0, 0, 0, 0, 0, 1)


@pytest.mark.parametrize("path", ["src/vendor/a.py", "x/site-packages/a.py"])
def test_vendored_is_1_for_the_files_that_answers_hide_as_vendored(compute, path):
    is_vendored = classify_path(path) == FileClass.VENDORED
    assert compute("vendored", (path,)) == near(float(is_vendored))


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("generated", "api_pb2.py"),
        ("minified", "app.min.js"),
    ],
)
def test_a_class_of_files_is_1_for_its_files(compute, name, path):
    paths = sorted((path, "door.py"))
    expected = [0.0, 0.0]
    expected[paths.index(path)] = 1.0
    assert compute(name, paths) == near(*expected)


# Messages in string literals


def test_literals_is_the_rarity_of_a_messages_pairs(compute):
    """One file has the words "no such", both have "such file"."""
    files = {"a": {"literals": "no such file"}, "b": {"literals": "no file / such file"}}
    values = compute("literals", files, "Crash|it says no such file")
    assert values == near(math.log(1 + IDF_1_OF_2 + IDF_2_OF_2), math.log(1 + IDF_2_OF_2))


def test_literals_joins_words_across_a_format_field(compute):
    """Three pairs: cannot open, open ... for, for reading."""
    files = {"a": {"literals": "cannot open %s for reading"}, "b": {}}
    values = compute("literals", files, "x|cannot open /a/b.txt for reading")
    assert values == near(math.log(1 + 3 * IDF_1_OF_2), 0)


def test_literals_does_not_join_words_of_two_literals(compute):
    files = {"a": {"literals": "cannot open / open door"}, "b": {}}
    values = compute("literals", files, "x|cannot door")
    assert values == near(0, 0)


def test_literals_does_not_join_lines_of_the_report(compute):
    files = {"a": {"literals": "cannot open"}, "b": {}}
    assert compute("literals", files, "x|cannot\nopen") == near(0, 0)


# Stack traces and locations

TRACED = (
    "java/org/apache/catalina/core/StandardContext.java",
    "java/org/apache/catalina/core/StandardHost.java",
    "java/org/apache/naming/resources/WARDirContext.java",
    "test/org/apache/other/WARDirContext.java",
)
TRACE = """x|Dec 30, 2013 11:15 AM org.apache.catalina.core.StandardContext resourcesStart SEVERE:
 Error at org.apache.naming.resources.WARDirContext$Entry.find(WARDirContext.java:950)
 at org.apache.catalina.core.StandardContext.Inner.start(StandardContext.java:5000)
 at java.lang.Thread.run(Thread.java:724)
 at org.apache.catalina.core.StandardHost.start(StandardHost.java:7)"""
"""Like Tomcat 55937: the log header names StandardContext before a frame names WARDirContext."""


def test_trace_is_1_by_the_order_of_first_appearance(compute):
    """StandardContext is first, WARDirContext second, StandardHost third; the JDK has no file."""
    assert compute("trace", TRACED, TRACE) == near(1, 1 / 3, 1 / 2, 0)


def test_a_file_that_the_version_lacks_takes_no_rank_of_the_trace(compute):
    """Without StandardContext, WARDirContext is first and StandardHost second."""
    assert compute("trace", TRACED[1:], TRACE, gone=TRACED[:1]) == near(1 / 2, 1, 0)


FRAMED = ("x/A.java", "x/B.java", "x/C.java", "x/D.java")
CAUSED = (
    "w|Failed at java.lang.Thread.run(Thread.java:1) at x.A.go(A.java:1) at x.A$In.go(A.java:2)"
    " at x.B.go(B.java:1) Caused by: y.Bad at x.C.go(C.java:1) at x.B.In.go(B.java:9) ... 3 more"
)
"""A and B, then after the cause C and B; the JDK's class is no file of the version."""


def test_rare_frame_is_the_rarity_by_the_root_of_the_rank(compute):
    """Ranks: A 1, B 2, C 3. Of 3 earlier reports 2 have A in their traces, 1 has B, none has C.

    The rarity is ln(5 / (df + 1)) / ln 5.
    """
    reports = [
        (9, "w", FRAMED[:1], ["x.A", "x.B", "x.B.In"]),
        (8, "w", FRAMED[:1], ["x.A", "x.B.In"]),
        (7, "w", FRAMED[:1]),
    ]
    a = math.log(5 / 3) / math.log(5)
    b = math.log(5 / 2) / math.log(5) / ROOT2
    c = 1 / math.sqrt(3)
    assert compute("rare_frame", FRAMED, CAUSED, reports=reports) == near(a, b, c, 0)


def test_rare_frame_finds_files_of_dotnet_by_their_paths(compute):
    """The namespace Our.Shop is in the folder src/Shop, so that the class names no file."""
    frames = (
        r"w|at Our.Shop.Door.Open(Key key) in C:\src\Shop\Door.cs:line 12"
        "\nat Our.Shop.Key.Turn() in /_/src/Shop/Key.cs:line 3"
    )
    files = ("src/Bank/Door.cs", "src/Shop/Door.cs", "src/Shop/Key.cs")
    assert compute("rare_frame", files, frames) == near(0, 1, 1 / ROOT2)


def test_cause_frame_counts_ranks_from_the_last_cause(compute):
    """After the cause C is first and B second; without earlier reports the rarity is 1."""
    assert compute("cause_frame", FRAMED[:3], CAUSED) == near(0, 1 / ROOT2, 1)


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


def test_own_frame_is_1_by_rank_among_the_projects_frames(compute):
    """First trace, innermost first: shop/door.py 1, shop/key.py 1/2; the others are installed.

    In the second trace, which counts 1/sqrt 2, docs/conf.py is first; door.py has more already.
    """
    assert compute("own_frame", FILES, TRACEBACKS) == near(1 / ROOT2, 0, 1, 1 / 2, 0, 0)


def test_own_frame_is_divided_among_the_files_that_a_frame_can_mean(compute):
    report = 'x|File "door.py", line 3, in open'
    assert compute("own_frame", FILES, report) == near(0, 0, 1 / 2, 0, 1 / 2, 0)


HUB = "https://github.com/me/shop/blob/abc"
LOCATIONS = (
    f"x|See {HUB}/shop/key.py#L3, {HUB}/docs/conf.py. In old/door.py and key.py,"
    " as run by `python docs/conf.py`."
)


def test_linked_is_1_by_the_root_of_the_rank(compute):
    """shop/key.py is linked first, docs/conf.py second."""
    assert compute("linked", FILES, LOCATIONS) == near(1 / ROOT2, 0, 0, 1, 0, 0)


def test_written_path_is_1_by_rank(compute):
    """shop/old/door.py is written first, key.py second; the file that a command runs is none."""
    assert compute("written_path", FILES, LOCATIONS) == near(0, 0, 0, 1 / 2, 1, 0)


COMMANDS = ("cmd-kill-window.c", "cmd-list.c", "cmd-new-window.c", "window.c")


@pytest.mark.parametrize("name", ["new_window", "newWindow"])
def test_written_path_knows_part_of_a_files_name_by_an_identifier(compute, name):
    values = compute("written_path", COMMANDS, f"x|`{name}` fails")
    assert np.flatnonzero(values).tolist() == [2]
    assert 0.05 < values[2] < 1 / 2


@pytest.mark.parametrize("name", ["new-window", "--new-window"])
def test_written_path_is_the_share_of_a_files_name_that_a_command_has(compute, name):
    values = compute("written_path", COMMANDS, f"x|`{name}` fails")
    assert np.flatnonzero(values).tolist() == [2]
    assert 1 / 2 < values[2] < 1


def test_mention_is_the_share_of_a_files_name_that_a_command_has(compute):
    values = compute("mention", COMMANDS, "x|`new-window` fails")
    assert np.flatnonzero(values).tolist() == [2]
    assert values == near(*compute("written_path", COMMANDS, "x|`new-window` fails"))


def test_written_path_is_half_for_a_whole_name(compute):
    values = compute("written_path", ("newWindow.c", "window.c"), "x|`new_window` fails")
    assert values == near(1 / 2, 0)


def test_written_path_is_1_for_a_whole_name_in_the_title(compute):
    values = compute("written_path", ("newWindow.c", "window.c"), "new-window fails")
    assert values == near(1, 0)


def test_written_path_prefers_the_whole_name(compute):
    files = ("cmd-new-window.c", "new-window.c", "window.c")
    assert compute("written_path", files, "newWindow fails") == near(0, 1, 0)


def test_written_path_is_divided_by_the_root_of_the_files_of_a_name(compute):
    files = ("a/new-window.c", "b/newWindow.c", "window.c")
    assert compute("written_path", files, "new_window fails") == near(1 / ROOT2, 1 / ROOT2, 0)


def test_written_path_does_not_repeat_a_mention(compute):
    files = ("a/new_window.c", "b/newWindow.c", "window.c")
    assert compute("mention", files, "new_window fails") == near(1, 0, 0)
    assert compute("written_path", files, "new_window fails") == near(0, 0, 0)


def test_written_path_does_not_know_hyphenated_words_of_sentences(compute):
    assert compute("written_path", COMMANDS, "x|the kill-window way") == near(0, 0, 0, 0)


def test_written_path_does_not_know_commands_of_many_files(compute):
    files = [f"new-window-{name}.c" for name in "abcd"]
    assert compute("written_path", files, "x|`new-window` fails") == near(0, 0, 0, 0)


def test_linked_is_1_by_the_root_of_the_files_of_a_named_change(compute):
    """#12 changed two files; #13 is later than the report."""
    commits = [(3, "x", "ab", ["#12"]), (-1, "x", "c", ["#13"])]
    values = compute("linked", "abc", "Broken since #12|and by #13", commits=commits)
    assert values == near(1 / ROOT2, 1 / ROOT2, 0)


# What the report names of the history


def test_named_change_is_1_by_the_root_of_the_changed_files(compute):
    """#12 changed a and b: 1/sqrt 2 each. #13 changed c alone: 1."""
    commits = [(9, "x", "ab", ["#12"]), (8, "x", "c", ["#13"]), (7, "x", "d", ["#14"])]
    values = compute("named_change", "abcd", "x|Since #12, see GH-13", commits=commits)
    assert values == near(1 / ROOT2, 1 / ROOT2, 1, 0)


def test_named_change_joins_the_commits_of_a_name(compute):
    """The merge of #12 changed a and b, a commit that closes it b and c: three files."""
    values = compute(
        "named_change",
        "abcd",
        "x|Since #12",
        commits=[(9, "x", "bc", ["#12"])],
        merges=[(8, ["#12"], "ab")],
    )
    assert values == near(1 / math.sqrt(3), 1 / math.sqrt(3), 1 / math.sqrt(3), 0)


def test_named_change_takes_the_smallest_of_several(compute):
    commits = [(9, "x", "ab", ["#12"]), (8, "x", "a", ["#13"])]
    values = compute("named_change", "ab", "x|Since #12 or #13", commits=commits)
    assert values == near(1, 1 / ROOT2)


def test_a_named_change_after_the_opening_does_not_count(compute):
    commits = [(0, "x", "a", ["#12"]), (-5, "x", "b", ["#12"])]
    assert compute("named_change", "ab", "x|Since #12", commits=commits) == near(0, 0)


def test_a_word_with_a_number_names_a_change_if_the_project_has_a_tracker(compute):
    """CIFAR-10 is the only name of its kind, PROJ-1 is one of five."""
    issues = [(9, "x", "b", [f"PROJ-{number}"]) for number in range(1, 6)]
    commits = [(9, "x", "a", ["CIFAR-10"]), *issues]
    values = compute("named_change", "ab", "x|CIFAR-10 fails since PROJ-1", commits=commits)
    assert values == near(0, 1)


def test_issues_of_a_tracker_are_counted_as_of_the_opening(compute):
    later = [(-5, "x", "b", [f"PROJ-{number}"]) for number in range(2, 9)]
    commits = [(9, "x", "a", ["PROJ-1"]), *later]
    assert compute("named_change", "ab", "x|Since PROJ-1", commits=commits) == near(0, 0)


# The history: documents are (days before the opening, words, files)


def test_history_adds_the_number_of_fixes_and_the_age_of_the_last(compute):
    """a: 3 fixes, the last 30 days ago. b: 2, the last 60 days ago. d: 2, the last 15 days ago.

    c is fixed on the day of the opening and later, both too late. Fixes are scaled from 0 to 1 by
    the largest number, 3; ages are in months of 30 days.
    """
    reports = [
        (400, "x", "ab"),
        (90, "x", "a"),
        (30, "x", "ad"),
        (60, "x", "b"),
        (15, "x", "d"),
        (-5, "x", "c"),
        (0, "x", "c"),
    ]
    a = 3 / 3 + 1 / (1 + 1)
    b = 2 / 3 + 1 / (2 + 1)
    d = 2 / 3 + 1 / (0.5 + 1)
    assert compute("history", "abcd", reports=reports) == near(a, b, 0, d)


def test_complexity_is_scaled_from_0_to_1(compute):
    values = compute("complexity", "abc", complexity={"a": 3, "b": 9, "c": 6})
    assert values == near(0, 1, 0.5)


def test_length_is_the_logarithm_of_one_more_than_the_lines(make_context):
    context = make_context(["a.c", "b.c"])
    context.version.corpus.lines[:] = [0, 99]
    values = registry.FEATURES["length"].values(context)
    assert values == pytest.approx([0, math.log(100)])


GONE = ("x/Shell.java", "p/gone")


def test_file_documents_adds_bm25_of_reports_and_of_commits(compute):
    """One commit and one report, each "tree", of a and a file that is gone.

    Half of a document of two files belongs to each: frequency and length are 1/sqrt 2, which is
    also the average length. In the query tree counts 3 times.
    """
    touched = [(5, "tree", ["a", "p/gone"])]
    one_document = weight(3) * IDF_1_OF_1 / ROOT2 * 2.2 / (1 / ROOT2 + 1.2)
    values = compute("file_documents", "ab", "tree", commits=touched, reports=touched, gone=GONE)
    assert values == near(2 * one_document, 0)


def test_commit_summary_averages_lengths_over_the_versions_files(compute):
    """The text of a is as long as the average, to which a file that is gone does not contribute.

    One of two commits contains tree, so that its IDF is ln 2; the description does not count.
    """
    commits = [(5, "tree node", "a"), (4, "x x x", ["p/gone"])]
    values = compute("commit_summary", "ab", "tree|node", commits=commits, gone=GONE)
    assert values == near(math.log(2), 0)


def test_near_commits_adds_cosines_by_the_root_of_the_files(compute):
    """The message "tree" is at cosine 1, "tree node" with equal IDF at cos 45 degrees = 1/sqrt 2.

    The latter touched two files: 1/sqrt 2 / sqrt 2 = 1/2 for a and b. b has the former, too.
    """
    commits = [(9, "tree node", "ab"), (8, "leaf", "c"), (7, "node", "c"), (6, "tree", "b")]
    assert compute("near_commits", "abc", "tree", commits=commits) == near(1 / 2, 3 / 2, 0)


def test_near_commits_counts_ten_at_most(compute):
    commits = [(day, "tree", "a") for day in range(1, 12)]
    assert compute("near_commits", "a", "tree", commits=commits) == near(10)


def test_near_reports_adds_squared_cosines_that_decay(compute):
    """ "tree" of two files, 730 days ago: 1^2 x exp(-1) / sqrt 2.

    "tree node" of one file, 365 days ago: (1/sqrt 2)^2 x exp(-.5).
    """
    reports = [(730, "tree", "ab"), (365, "tree node", "b"), (1, "node", "c")]
    old = math.exp(-1) / ROOT2
    expected = near(old, old + 0.5 * math.exp(-0.5), 0)
    assert compute("near_reports", "abc", "tree", reports=reports) == expected


TWO_FOLDERS = ("p/a", "p/b", "q/c")


def test_near_package_adds_up_a_folder(compute):
    """A commit of two files at cosine 1: 1/2 for p/a. The folder p has two files: / sqrt 2."""
    commits = [(730, "tree", ["p/a", "p/gone"])]
    values = compute("near_package", TWO_FOLDERS, "tree", commits=commits, gone=GONE)
    assert values == near(0.5 / ROOT2, 0.5 / ROOT2, 0)


def test_folder_reports_adds_up_a_folder(compute):
    """Squared cosines 1 and 1/2, of reports of two files and one: 1/2 + 1/2 in the folder p."""
    reports = [
        (730, "tree", ["p/a", "p/gone"]),
        (365, "tree node", ["p/b"]),
        (1, "node", ["q/c"]),
    ]
    values = compute("folder_reports", TWO_FOLDERS, "tree", reports=reports, gone=GONE)
    assert values == near(1 / ROOT2, 1 / ROOT2, 0)


def test_name_documents_reads_the_commits_of_files_that_share_a_word(compute):
    """The names have the words (xml tree xmltree), (html tree htmltree) and (leaf).

    Two of three names have tree. The commit on the first file counts for each of its words by
    their IDF; sums are divided by (IDF of all words of the name)^.7.
    """
    paths = ("a/XmlTree.java", "b/HtmlTree.java", "c/Leaf.java")
    tree = math.log(1 + 1.5 / 2.5)
    other = math.log(1 + 2.5 / 1.5)
    name = tree + 2 * other
    values = compute("name_documents", paths, "crash|leaf", commits=[(5, "crash", paths[:1])])
    assert values == near(name**0.3 * IDF_1_OF_1, tree * IDF_1_OF_1 / name**0.7, 0)


COMMITS = [(60, "x", "a"), (30, "x", "ab"), (-1, "x", "c")]


def test_recency_is_1_by_the_months_since_the_last_commit(compute):
    """a and b were last touched 30 days ago: 1 / (1 + 1). c is touched after the opening."""
    assert compute("recency", "abc", commits=COMMITS) == near(0.5, 0.5, 0)


@pytest.mark.parametrize(("name", "days"), [("activity", 60), ("popularity", math.inf)])
def test_activity_and_popularity_add_commits_that_decay(compute, name, days):
    """The commit of a alone counts exp(-60/days), that of a and b exp(-30/days) / sqrt 2."""
    alone = math.exp(-60 / days)
    shared = math.exp(-30 / days) / ROOT2
    expected = near(math.log1p(alone + shared), math.log1p(shared), 0)
    assert compute(name, "abc", commits=COMMITS) == expected


# Features that are the same for every file, or nearly


@pytest.mark.parametrize(
    ("name", "number"),
    [("files", 2), ("known_reports", 0), ("known_commits", 1), ("report_terms", 2)],
)
def test_a_number_of_the_context_is_its_logarithm_for_every_file(compute, name, number):
    """Two files, no report and one commit; the report has the terms tree and leaf."""
    values = compute(name, "ab", "Tree|of a leaf", commits=[(3, "x", "a")])
    assert values == near(math.log1p(number), math.log1p(number))


def test_language_share_is_that_of_the_files_language(compute):
    paths = ("a/Leaf.java", "a/Tree.java", "b/x.py")
    assert compute("language_share", paths) == near(2 / 3, 2 / 3, 1 / 3)


def test_language_share_of_c_and_c_plus_plus_is_one(compute):
    assert compute("language_share", ("a.c", "b.c", "c.h", "d.py")) == near(
        3 / 4, 3 / 4, 3 / 4, 1 / 4
    )


def test_language_share_of_a_build_script_is_the_largest(compute):
    assert compute("language_share", ("a.java", "b.java", "build.gradle")) == near(
        2 / 3, 2 / 3, 2 / 3
    )


# Features that pass the prior on to related files


def test_test_counterpart_is_the_largest_share_of_a_test_or_its_subject(compute):
    """Foo has the tests .3 and .1; each test has Foo, .5. Bar has neither."""
    values = compute("test_counterpart", TESTED, shares=[0.1, 0.5, 0.3, 0.1])
    assert values == near(0, 0.3, 0.5, 0.5)


def test_folder_share_is_the_sum_of_the_others_by_a_root(compute):
    """p/a has the others .2 + .1, by the root of two; q/d is alone in its folder."""
    values = compute("folder_share", ("p/a", "p/b", "p/c", "q/d"), shares=[0.5, 0.2, 0.1, 0.2])
    assert values == near(0.3 / ROOT2, 0.6 / ROOT2, 0.7 / ROOT2, 0)


def test_folder_share_of_one_other_file_is_its_share(compute):
    values = compute("folder_share", TWO_FOLDERS, shares=[0.5, 0.3, 0.2])
    assert values == near(0.3, 0.5, 0)


def test_co_change_is_the_share_of_commits_in_common(compute):
    """c has a commit alone, of weight 1, and one with b, of weight 1/sqrt 2, both of today.

    b gets .7 x (1/sqrt 2) / (1 + 1/sqrt 2) = .7 / (1 + sqrt 2) from c; all commits of b are with
    c, which gets .2.
    """
    commits = [(1e-4, "x", "c"), (1e-4, "x", "bc")]
    values = compute("co_change", "abc", shares=[0.1, 0.2, 0.7], commits=commits)
    assert values == near(0, 0.7 / (1 + ROOT2), 0.2)


# The prior

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


def test_prior_weights_are_those_of_the_shipped_weights():
    """The related features depend on the prior.

    Whoever changes a weight here has to train the shipped weights again.
    """
    assert dict(registry.PRIOR_WEIGHTS) == PRIOR_WEIGHTS


def test_the_prior_is_the_softmax_of_the_weighted_sum_of_all_columns():
    """The first file has 1 in every column, the second 0: 16.1 against 0."""
    columns = {name: np.array([1.0, 0.0]) for name in registry.NAMES}
    share = 1 / (1 + math.exp(-16.1))
    assert registry.prior(columns) == pytest.approx([share, 1 - share], rel=1e-9)


def test_a_column_with_a_negative_prior_weight_lowers_the_file():
    """The first file gets 1 x 1, the second -.6 x 1."""
    shares = registry.prior({"code": np.array([1.0, 0.0]), "test": np.array([0.0, 1.0])})
    assert shares == pytest.approx([1 / (1 + math.exp(-1.6)), 1 / (1 + math.exp(1.6))])


def test_the_prior_of_large_values_does_not_overflow():
    assert registry.prior({"code": np.array([900.0, 1.0])}) == pytest.approx([1, 0])


# All features together

NOT_SCALED = {
    *("text", "trace", "history", "complexity"),
    *("mention", "rare_frame", "own_frame", "linked", "written_path", "defined_names"),
    *("named_change", "literals"),
    *("test", "example", "vendored", "setup"),
    *("generated", "minified"),
    *("files", "known_reports", "known_commits", "report_terms", "language_share"),
}


def test_shipped_features_are_scaled_as_their_weights_were_learned():
    """Whoever changes the scaling of a shipped feature has to learn the shipped weights again.

    A new feature, which the shipped weights do not know, is scaled or not as its formula needs it.
    """
    shipped = json.loads((Path(tosloc.__file__).parent / "defaults/weights.json").read_text())
    names = (*shipped["weights"], *registry.PAPER_NAMES)
    not_scaled = {name for name in names if not registry.FEATURES[name].scaled}
    assert not_scaled == NOT_SCALED


def test_a_scaled_column_has_1_as_its_largest_value(make_context):
    context = make_context({"a": {"code": "tree"}, "b": {"code": "leaf"}}, "tree")
    assert registry.columns(context, ["code"])["code"].tolist() == [1.0, 0.0]


def test_a_column_is_scaled_by_what_people_wrote(make_context):
    """vendor/c.js has the largest value of all, b.js half of a.js's."""
    files = {name: {"code": "tree " * number} for name, number in (("a.js", 2), ("b.js", 1))}
    alone = registry.columns(make_context(files, "tree"), ["identifiers", "code"])["code"]
    files["vendor/c.js"] = {"code": "tree " * 9}
    beside = registry.columns(make_context(files, "tree"), ["code"])["code"]
    assert alone[0] == beside[0] == beside[2] == 1.0


def test_a_column_that_is_not_scaled_keeps_its_values(make_context):
    """Two known reports: ln 3."""
    context = make_context("ab", "tree", reports=[(5, "x", "a"), (4, "x", "a")])
    columns = registry.columns(context, ["code", "known_reports"])
    assert columns["known_reports"] == pytest.approx([math.log(3), math.log(3)])


TEXTS = {
    "src/Leaf.java": {"code": "leaf tree tree", "comment": "node"},
    "src/Tree.java": {"code": "tree node", "method": "grow", "type": "tree"},
    "test/TreeTest.java": {"code": "tree", "type": "treetest"},
}
REPORT = ("Tree grows too much", "The tree and its node at src.Tree.grow(Tree.java:3)")
HISTORY = {
    "commits": [(9, "tree grow", [*TEXTS][1:])],
    "reports": [(7, "tree node", ["src/Tree.java"])],
    "complexity": {"src/Tree.java": 5},
}


@pytest.mark.parametrize(
    ("files", "report", "history"),
    [
        (TEXTS, REPORT, HISTORY),
        ({}, REPORT, {}),
        ({"a": {"code": "tree"}}, (), {}),
        ("ab", REPORT, {}),
    ],
    ids=["everything", "no file", "no report", "no word and no history"],
)
def test_all_columns_are_finite_and_comparable(make_context, files, report, history):
    context = make_context(files, *report, **history)
    columns = registry.columns(context, registry.ALL)
    assert tuple(columns) == registry.ALL
    for name, values in columns.items():
        assert values.shape == (context.files,), name
        assert np.isfinite(values).all(), name
        if registry.FEATURES[name].scaled and context.files:
            assert values.max() in (0.0, 1.0), name


@pytest.mark.parametrize("name", registry.ALL)
def test_a_column_does_not_depend_on_what_else_is_wanted(make_context, name):
    together = registry.columns(make_context(TEXTS, *REPORT, **HISTORY), registry.ALL)
    alone = registry.columns(make_context(TEXTS, *REPORT, **HISTORY), [name])
    assert alone[name].tolist() == together[name].tolist()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.zeros(3), r"the feature complexity has the shape \(3,\) for 2 files"),
        (np.zeros((2, 1)), r"the feature complexity has the shape \(2, 1\) for 2 files"),
        (np.array([0, np.nan]), "the feature complexity has a value that is not a finite number"),
        (np.array([0, np.inf]), "the feature complexity has a value that is not a finite number"),
    ],
)
def test_feature_that_is_not_one_finite_number_a_file_is_named(
    make_context, monkeypatch, values, message
):
    feature = replace(registry.FEATURES["complexity"], values=lambda context: values)
    monkeypatch.setitem(registry.FEATURES, "complexity", feature)
    with pytest.raises(ValueError, match=message):
        registry.columns(make_context(("a.c", "b.c"), "report"), ["complexity"])
