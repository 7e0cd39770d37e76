"""What a query takes from each part of a report."""

import math
from datetime import UTC, datetime

import pytest

from tosloc.core.reports import BugReport
from tosloc.reports.text.forms import template_keys
from tosloc.reports.text.logs import MAX_QUIET_LINES
from tosloc.reports.text.parts import TextParts
from tosloc.reports.text.report_text import TOLD_PARTS
from tosloc.retrieval.query import PART_WEIGHTS, Query


def query(summary="", description="", template=frozenset()):
    opened = datetime(2020, 1, 1, tzinfo=UTC)
    return Query(BugReport("r", summary, description, opened), template)


LOG = "10:00:01 INFO stream\n10:00:02 INFO scan\n10:00:03 ERROR runner"


def test_every_part_has_a_weight():
    assert PART_WEIGHTS.keys() == set(TextParts._fields)
    assert set(TOLD_PARTS) <= PART_WEIGHTS.keys()


@pytest.mark.parametrize(
    ("description", "weights"),
    [
        ("the tree", {"tree": 1.0}),
        ("the tree and tree", {"tree": 1 + math.log(2)}),
        ("```\ntree.grow(3)\n```", {"tree": 1.0, "grow": 1.0}),
        ("> tree", {"tree": 0.5}),
        (LOG, {"info": 0.4, "runner": 1.0, "scan": 0.3, "stream": 0.1, "error": 1.0}),
        ("## Describe the bug\n- [x] leaf\n- OS: Linux\ntree", {"tree": 1.0}),
    ],
    ids=["prose", "twice", "code", "quoted", "log", "form"],
)
def test_terms_count_by_the_part_that_has_them(description, weights):
    assert query("", f"{description}\n").weights == pytest.approx(weights)


def test_summary_counts_three_times():
    assert query("tree", "tree").weights == pytest.approx({"tree": 1 + math.log(4)})


def test_template_is_the_form():
    assert query("leaf", "Which tree\nnode", frozenset({"which tree"})).weights.keys() == {
        "leaf",
        "node",
    }


def test_a_link_in_the_form_names_no_file():
    box = "- [X] I read [the guide](https://github.com/a/b/blob/main/docs/guide.py)"
    own_words = "See https://github.com/a/b/blob/main/src/tree.py"
    asked = query("leaf", f"{box}\n{own_words}", template_keys(box))
    assert [link.path for link in asked.places.locations.links] == ["src/tree.py"]


def test_a_path_in_the_form_names_no_file():
    asked = query(
        "leaf", "Read docs/guide.py\nsrc/tree.py fails", template_keys("Read docs/guide.py")
    )
    assert [path.path for path in asked.places.locations.paths] == ["src/tree.py"]


LINKS = "See https://github.com/a/b/blob/main/tree.py, https://github.com/c/d/blob/main/leaf.py"


def query_of_project(description, *projects):
    return Query(BugReport("r", "It falls", description, None), projects=projects)


@pytest.mark.parametrize(
    ("projects", "paths"),
    [
        ((), ["tree.py", "leaf.py"]),
        (["a/b"], ["tree.py"]),
        (["me/B"], ["tree.py"]),
        (["a/e"], []),
    ],
    ids=["unknown", "own", "fork", "another"],
)
def test_links_to_other_projects_name_no_file(projects, paths):
    asked = query_of_project(LINKS, *projects)
    assert [link.path for link in asked.places.locations.links] == paths


def test_words_of_a_link_to_another_project_count():
    assert "leaf" in query_of_project(LINKS, "a/b").weights


def test_compound_names_in_every_spelling():
    asked = query("newWindow fails", "`new-window`, kill_window, --list-keys and a well-known way")
    assert [name.words for name in asked.names.compound_names] == [
        ("new", "window"),
        ("list", "keys"),
        ("kill", "window"),
    ]
    assert [name.in_title for name in asked.names.compound_names] == [True, False, False]


def test_a_hyphenated_word_is_a_compound_name_in_the_title():
    assert [name.written for name in query("new-window fails").names.compound_names] == [
        "new-window"
    ]


def test_own_text_has_no_line_of_the_form():
    asked = query("leaf", "- [X] I read GUIDE.md\nThe tree falls", template_keys("I read GUIDE.md"))
    assert asked.text.own_text == "leaf\nThe tree falls"


def test_a_sentence_of_common_words_says_that_it_worked():
    assert query("The leaf falls", "It used to work.").names.says_that_it_worked


def test_the_form_does_not_say_that_it_worked():
    question = "It used to work."
    assert not query("The leaf falls", question, template_keys(question)).names.says_that_it_worked


@pytest.mark.parametrize(
    ("summary", "description"),
    [
        ("", "- OS: Linux"),
        ("![image](https://user-images.githubusercontent.com/1/2-3.png)", ""),
        ("See screenshot", "![the cart](https://x.org/a.png)\n<img src='b.png' alt='cart'>"),
        ("Bug report", "## Describe the bug\nA clear and concise description.\n<!-- cart -->"),
        ("[BUG] <title>", "1. Go to '...'\n4. See error\n - Browser [e.g. chrome, safari]"),
        ("[Bug]: ", "_No response_"),
        ("Paperless-ngx", "paperless ngx!"),
    ],
    ids=["environment", "picture", "pointer", "template", "example", "tag", "own name"],
)
def test_report_without_own_words_has_none(summary, description):
    report = BugReport("r", summary, description, None)
    assert Query(report, projects=["a/paperless-ngx"]).weights == {}


def test_link_of_a_tag_names_its_file():
    asked = query("leaf", '<a href="https://github.com/a/b/blob/main/src/tree.py">here</a>')
    assert [link.path for link in asked.places.locations.links] == ["src/tree.py"]


def test_caption_of_a_picture_names_no_file():
    asked = query("leaf", "![src/tree.py](https://x.org/src/leaf.py.png)")
    assert asked.places.locations.paths == ()


def test_offsets_of_locations_are_those_of_the_written_report():
    asked = query("leaf <br>", "<!-- a form -->\nsrc/tree.py fails")
    [place] = asked.places.locations.paths
    whole = "leaf <br>\n<!-- a form -->\nsrc/tree.py fails"
    assert whole[place.offset :].startswith("src/tree.py")


def test_path_in_the_environment_names_no_file():
    asked = query("leaf", "```\npython tools/collect_env.py\n```\nsrc/tree.py fails")
    assert [path.path for path in asked.places.locations.paths] == ["src/tree.py"]


@pytest.mark.parametrize(
    "text", ["flask.Flask falls", "see flask/app.py", "pip install flask-login", "flask::run()"]
)
def test_name_that_continues_the_projects_name_counts(text):
    report = BugReport("r", "", text, None)
    assert "flask" in Query(report, projects=["pallets/flask"]).weights


def test_tag_of_a_title_is_no_word_anywhere():
    asked = query("[Bug Report] Leaf falls")
    assert asked.names.mentions == ("Leaf", "falls")
    assert asked.summary_counts == {"leaf": 1, "fall": 1}


COMMIT = "e4eb6b3317ab5bb04f5ede0c4a91d2ab7c53d0be"


@pytest.mark.parametrize(
    "blame",
    [
        f"Caused by {COMMIT}.",
        f"It was probably introduced by commit {COMMIT[:10]}, which broke it.",
        f"git bisect says that {COMMIT} is the first bad commit",
        "Regression since #6322",
        f"Built from [{COMMIT[:7]}](https://github.com/a/b/commit/{COMMIT})",
    ],
)
def test_named_commits_and_what_blames_them_are_no_words(blame):
    assert query("Rows are missing", blame).weights.keys() <= {"row", "miss", "built"}
    assert query(f"Rows are missing. {blame}").weights.keys() <= {"row", "miss", "built"}


def test_words_before_the_phrase_that_blames_a_commit_count():
    asked = query("", f"The commit dialog breaks since {COMMIT}")
    assert asked.weights.keys() == {"commit", "dialog", "break"}


def test_a_report_that_blames_a_commit_says_that_it_worked():
    assert query("Rows are missing", f"Regression: {COMMIT}").names.says_that_it_worked


@pytest.mark.parametrize(
    ("description", "worked"),
    [
        ("After upgrading Tree House the leaf falls", True),
        ("After upgrading to tree-house 2.1 the leaf falls", True),
        ("The leaf falls since I updated to the latest version of treehouse", True),
        ("After upgrading Python the leaf falls", False),
        ("The leaf falls since I updated to the latest version of Python", False),
    ],
)
def test_an_update_says_that_it_worked_if_it_is_of_the_project(description, worked):
    report = BugReport("r", "The leaf falls", description, datetime(2020, 1, 1, tzinfo=UTC))
    asked = Query(report, projects=["forest/tree-house"])
    assert asked.names.says_that_it_worked == worked


def test_lead_is_what_the_reporter_says():
    lead = query("", f"- OS: Linux\n{LOG}\nThe tree falls").lead_weights
    assert lead == {"error": 1.0, "fall": 1.0, "runner": 1.0, "tree": 1.0}


def test_names_are_those_that_the_reporter_writes():
    asked = query("", "- SDK version: BigKit\n10:00:01 INFO SmallKit\nNodeKit falls")
    assert asked.names.compounds == {"nodekit"}
    assert "NodeKit" in asked.names.mentions
    assert "SmallKit" not in asked.names.mentions


def test_command_with_hyphens_is_a_compound():
    asked = query("", "`new-window` falls")
    assert asked.names.compounds == {"newwindow"}
    assert asked.weights["newwindow"] == 1.0


def test_words_of_a_failed_build_do_not_count():
    description = "```\nFAILED: src/a.dir/tree.cpp.o\n```"
    assert query("Build fails for tree", description).weights.keys() == {"cpp", "src", "tree"}
    assert "build" in query("Build fails for tree", "").weights


def test_frames_of_go_are_no_names():
    trace = "panic\ngoroutine 1 [running]:\nx.org/a.growTree(0x1)\n\t/u/tree.go:7 +0x1"
    asked = query("It falls", f"```\n{trace}\n```")
    assert asked.names.compounds == frozenset()
    assert "growtree" in asked.weights
    assert "growtree" not in asked.weights_without_trace


def test_places_behind_a_long_log_keep_their_offsets():
    log = "".join(f"10:00:00 INFO {'x' * number}\n" for number in range(1, 3 * MAX_QUIET_LINES))
    asked = query("It falls", f"{log}see tree.py:7")
    [[frame]] = asked.places.locations.traces
    said = f"It falls\n{log}see tree.py:7"
    assert said[frame.offset : frame.end] == "tree.py"


def test_named_changes():
    changes = query("Since #12", "and commit 12ab34c").names.changes
    assert [change.written for change in changes] == ["#12", "12ab34c"]


def test_release_claims():
    [claim] = query("It fails", "It worked in 1.2").names.release_claims
    assert claim.number == "1.2"


def test_frames_of_a_trace_in_one_line_of_a_log():
    trace = r"\n\tat org.x.Door.open(Door.java:12)\n\tat org.x.Key.turn(Key.java:3)"
    description = f'{{"error":"no key{trace}"}}'
    analysed = query("It fails", description)
    assert [(frame.type, frame.method) for frame in analysed.text.frames] == [
        ("org.x.Door", "open"),
        ("org.x.Key", "turn"),
    ]
    first = analysed.places.locations.traces[0][0]
    whole = f"It fails\n{description}"
    assert whole[first.offset : first.end].startswith("at org.x.Door.open")
