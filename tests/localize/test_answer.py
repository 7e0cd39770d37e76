"""The answer as JSON: it is what its schema promises, and nothing else is in it."""

import json
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path

import pytest

import tosloc
from tosloc.core.answers import (
    Background,
    CodeLine,
    EarlierChange,
    Function,
    Hit,
    Person,
    Reason,
    SuspectChange,
)
from tosloc.core.reports import BugReport
from tosloc.localize.answer import (
    SCHEMA,
    Answer,
    SearchScope,
    Weights,
    schema,
)

WHEN = datetime(2014, 1, 15, 8, 30, 17, 999, tzinfo=timezone(timedelta(hours=1)))
FRAME = Reason("frame", "stack frame App.run, line 4", lines=(4, 4))
FIX = Reason("fix", "earlier fix", "a" * 40, "#7", url="https://github.com/a/b/commit/aa")
HIT = Hit(
    rank=1,
    path="src/caf\udce9.py",
    score=-2.5,
    confidence=0.75,
    functions=(Function("App.run", 3, 9, 1.5),),
    reasons=(FRAME, FIX),
    code=(CodeLine(4, "    run(app)", ((4, 7),)),),
)
EARLIER_DATE = datetime(2013, 2, 1, tzinfo=UTC)
EARLIER = EarlierChange("b" * 40, EARLIER_DATE, "#7", "Mend it", ("a.py", "b.py", "c.py", "d.py"))
SUSPECT = SuspectChange(
    commit="d" * 40,
    committed=WHEN,
    subject="Rewrite run",
    path="src/app.py",
    function="App.run",
    reasons=("changed `App.run`", "newest change of app.py"),
    diff=("-    run()", "+    run(app)"),
    author="Ada",
    release="v1.2",
    pull_request="!7",
    lines=((3, 3),),
    diff_lines=(0, 3),
)
FULL = Answer(
    repository="/srv/flask",
    commit="c" * 40,
    committed=WHEN,
    report=BugReport("#12", "It fails", "all of it", WHEN),
    searched=SearchScope(40, 2),
    hits=(HIT,),
    others=(HIT,),
    background=Background(
        earlier=(EARLIER,),
        people=(Person("Ada", WHEN), Person("Grace", EARLIER_DATE)),
        owners=("@all",),
        tests=("test_b.py",),
        similar=(Reason("similar", "Similar report: #3 It fails", issue="#3"),),
    ),
    suspects=(SUSPECT,),
    notes=("a note",),
    seconds=1.23456,
    statements=("The report blames 0123456789",),
    fixed_by=EARLIER,
)
TRAINED = replace(FULL, weights=Weights("trained", date(2026, 11, 26), 269, weak=True))
BARE = Answer(
    repository=None,
    commit="c" * 64,
    committed=datetime(33, 1, 1, tzinfo=UTC),
    report=BugReport("x", "", "d", None),
    searched=SearchScope(0),
    hits=(),
)
REASONS = [
    {"kind": "frame", "text": FRAME.text, "lines": [4, 4]},
    {"kind": "fix", "text": "earlier fix", "commit": "a" * 40, "issue": "#7", "url": FIX.url},
]
FULL_AS_DICT = {
    "schema": SCHEMA,
    "tosloc": tosloc.__version__,
    "repository": "/srv/flask",
    "commit": "c" * 40,
    "committed": "2014-01-15T07:30:17Z",
    "report": {"id": "#12", "summary": "It fails", "opened": "2014-01-15T07:30:17Z"},
    "searched": {"files": 40, "hidden_tests": 2, "uncommitted": 0, "hidden_files": 0},
    "hits": [
        {
            "rank": 1,
            "path": HIT.path,
            "score": -2.5,
            "confidence": 0.75,
            "functions": [{"name": "App.run", "start": 3, "end": 9, "score": 1.5}],
            "reasons": REASONS,
            "code": [{"line": 4, "text": "    run(app)", "matches": [(4, 7)]}],
        }
    ],
    "others": [{"path": HIT.path, "reasons": REASONS}],
    "background": {
        "earlier": [
            {
                "commit": "b" * 40,
                "committed": "2013-02-01T00:00:00Z",
                "issue": "#7",
                "subject": "Mend it",
                "files": ["a.py", "b.py", "c.py", "d.py"],
            }
        ],
        "people": [
            {"name": "Ada", "committed": "2014-01-15T07:30:17Z"},
            {"name": "Grace", "committed": "2013-02-01T00:00:00Z"},
        ],
        "owners": ["@all"],
        "tests": ["test_b.py"],
        "similar": [{"kind": "similar", "text": "Similar report: #3 It fails", "issue": "#3"}],
    },
    "suspects": [
        {
            "commit": "d" * 40,
            "committed": "2014-01-15T07:30:17Z",
            "subject": "Rewrite run",
            "path": "src/app.py",
            "function": "App.run",
            "reasons": ["changed `App.run`", "newest change of app.py"],
            "diff": ["-    run()", "+    run(app)"],
            "author": "Ada",
            "release": "v1.2",
            "pull_request": "!7",
            "lines": [(3, 3)],
            "diff_lines": [0, 3],
        }
    ],
    "leads_with_suspects": False,
    "fixed_by": {
        "commit": "b" * 40,
        "committed": "2013-02-01T00:00:00Z",
        "issue": "#7",
        "subject": "Mend it",
        "files": ["a.py", "b.py", "c.py", "d.py"],
    },
    "notes": ["a note"],
    "seconds": 1.235,
    "weights": {"kind": "shipped"},
    "statements": ["The report blames 0123456789"],
}


def test_an_answer_as_plain_values():
    assert FULL.as_dict() == FULL_AS_DICT


def test_an_unknown_time_of_opening_is_null():
    assert BARE.as_dict()["report"]["opened"] is None


def test_early_times_have_years_of_four_digits():
    assert BARE.as_dict()["committed"] == "0033-01-01T00:00:00Z"


def test_the_background_in_words():
    assert [line.text for line in FULL.background_lines] == [
        "Similar report: #3 It fails",
        "Related tests: test_b.py",
        "src/caf\udce9.py: last changed by Ada (2014-01-15) and Grace (2013-02-01), owned by @all",
        "Similar past change: bbbbbbbbbb of #7 (2013-02-01) Mend it,"
        " in a.py, b.py, c.py and 1 more",
    ]


def test_heading_of_a_suspect_change():
    assert SUSPECT.heading == "dddddddddd (2014-01-15, Ada) Rewrite run"


def test_sentence_of_a_suspect_change():
    assert SUSPECT.sentence == (
        "src/app.py: changed `App.run`, newest change of app.py; its line 3 is still there;"
        " first in v1.2, merge request !7"
    )


def test_heading_of_an_unreadable_suspect_change():
    unreadable = replace(SUSPECT, subject="", author="")
    assert unreadable.heading == "dddddddddd (2014-01-15)"


def test_sentence_of_a_suspect_change_without_details():
    bare = replace(SUSPECT, reasons=(), lines=(), release="", pull_request="")
    assert bare.sentence == "src/app.py"


def test_no_background_has_no_lines():
    assert BARE.background_lines == []


def test_the_title_of_an_earlier_change_is_one_clause():
    change = replace(EARLIER, subject="Mend  the cart.", files=("a.py",))
    [line] = replace(FULL, background=Background((change,))).background_lines
    assert line.text.endswith("(2013-02-01) Mend the cart, in a.py")


def test_an_earlier_change_without_a_title_in_words():
    untitled = Background((replace(EARLIER, subject=""),))
    [line] = replace(FULL, background=untitled).background_lines
    assert line.text.endswith("of #7 (2013-02-01), in a.py, b.py, c.py and 1 more")


@pytest.mark.parametrize(
    ("weights", "values"),
    [
        (Weights("trained"), {"kind": "trained"}),
        (
            Weights("trained", date(2026, 11, 26), 269, weak=True),
            {"kind": "trained", "date": "2026-11-26", "reports": 269, "weak": True},
        ),
        (Weights("shipped", None, 0, weak=False), {"kind": "shipped", "reports": 0, "weak": False}),
    ],
    ids=["kind alone", "all keys", "no date"],
)
def test_weights_have_the_keys_that_are_known(weights, values):
    assert replace(FULL, weights=weights).as_dict()["weights"] == values


# The schema


@pytest.fixture(scope="module")
def validator():
    """Return a validator of the schema."""
    jsonschema = pytest.importorskip("jsonschema")
    return jsonschema.Draft202012Validator(schema())


each_answer = pytest.mark.parametrize(
    "answer", [FULL, BARE, TRAINED], ids=["full", "bare", "trained"]
)


def test_the_schema_is_a_schema(validator):
    validator.check_schema(schema())


def test_the_schema_has_the_name_that_answers_have():
    assert schema()["$id"] == SCHEMA
    assert schema()["properties"]["schema"]["const"] == SCHEMA


@each_answer
def test_answers_match_the_schema(validator, answer):
    validator.validate(json.loads(json.dumps(answer.as_dict())))


@each_answer
@pytest.mark.parametrize(
    "wrong",
    [
        {"schema": "tosloc.answer/2"},
        {"seconds": -1},
        {"hits": [{}]},
        {"commit": "HEAD"},
        {"weights": {}},
    ],
    ids=lambda wrong: next(iter(wrong)),
)
def test_the_schema_refuses_wrong_values(validator, answer, wrong):
    assert list(validator.iter_errors(answer.as_dict() | wrong))


def test_the_docs_describe_every_key_and_kind_of_reason():
    page = (Path(__file__).parents[2] / "docs/formats.md").read_text(encoding="utf-8")
    weights = schema()["properties"]["weights"]["properties"]
    reason = schema()["$defs"]["reason"]["properties"]
    kinds = reason["kind"]["description"].partition(".")[0].split(", ")
    names = [*schema()["properties"], *weights, *reason, *kinds]
    assert [name for name in names if f"`{name}`" not in page] == []


@pytest.mark.parametrize(
    ("confidences", "number"),
    [([0.9, 0.1], 1), ([0.5, 0.1, 0.1, 0.1], 3), ([0.04, 0.03], 2), ([0.0] * 5, 3), ([], 0)],
    ids=["sure", "at most three", "unsure", "no confidences", "no files"],
)
def test_likely_files_have_a_share_of_the_confidence_in_the_first(confidences, number):
    hits = tuple(
        replace(HIT, rank=rank, confidence=confidence)
        for rank, confidence in enumerate(confidences, start=1)
    )
    assert replace(BARE, hits=hits).likely_hits == hits[:number]
