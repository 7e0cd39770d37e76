"""The answer as JSON: what its schema promises, and that nothing else is in it."""

import json
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path

import pytest

import tosloc
from tosloc.core.records import (
    Background,
    BugReport,
    CodeLine,
    EarlierChange,
    Function,
    Hit,
    Person,
    Reason,
)
from tosloc.localize.answer import SCHEMA, Answer, SearchScope, Weights, background_lines, schema

WHEN = datetime(2014, 1, 15, 8, 30, 17, 999, tzinfo=timezone(timedelta(hours=1)))
FRAME = Reason("frame", "stack frame App.run, line 4", lines=(4, 4))
FIX = Reason("fix", "earlier fix", "a" * 40, "#7", url="https://github.com/a/b/commit/aa")
HIT = Hit(
    1,
    "src/caf\udce9.py",
    -2.5,
    0.75,
    (Function("App.run", 3, 9, 1.5),),
    (FRAME, FIX),
    (CodeLine(4, "    run(app)"),),
)
REPORT = BugReport("#12", "It fails", "all of it", WHEN)
EARLIER = EarlierChange("b" * 40, "2013-02-01", "#7", "Mend it", ("a.py", "b.py", "c.py", "d.py"))
PAST = Background(
    (EARLIER,),
    (Person("Ada", "2013-01-02"), Person("Grace", "2012-01-02")),
    ("@all",),
    ("test_b.py",),
)
FULL = Answer(
    "/srv/flask",
    "c" * 40,
    WHEN,
    REPORT,
    SearchScope(40, 2),
    (HIT,),
    (HIT,),
    PAST,
    ("a note",),
    1.23456,
)
TRAINED = replace(FULL, weights=Weights("trained", date(2026, 11, 26), 269, weak=True))
BARE = Answer(
    None,
    "c" * 64,
    datetime(33, 1, 1, tzinfo=UTC),
    BugReport("x", "", "d", None),
    SearchScope(0),
    (),
)


def test_an_answer_in_plain_values():
    fix = {"kind": "fix", "text": "earlier fix", "commit": "a" * 40, "issue": "#7", "url": FIX.url}
    why = [{"kind": "frame", "text": FRAME.text, "lines": [4, 4]}, fix]
    functions = [{"name": "App.run", "start": 3, "end": 9, "score": 1.5}]
    earlier = {
        "commit": "b" * 40,
        "date": "2013-02-01",
        "issue": "#7",
        "title": "Mend it",
        "files": [*EARLIER.files],
    }
    people = [{"name": "Ada", "date": "2013-01-02"}, {"name": "Grace", "date": "2012-01-02"}]
    assert FULL.as_dict() == {
        "schema": SCHEMA,
        "tosloc": tosloc.__version__,
        "repository": "/srv/flask",
        "commit": "c" * 40,
        "committed": "2014-01-15T07:30:17Z",
        "report": {"id": "#12", "summary": "It fails", "opened": "2014-01-15T07:30:17Z"},
        "searched": {"files": 40, "hidden_tests": 2, "uncommitted": 0},
        "hits": [
            {
                "rank": 1,
                "path": HIT.path,
                "score": -2.5,
                "share": 0.75,
                "functions": functions,
                "why": why,
                "code": [{"line": 4, "text": "    run(app)"}],
            }
        ],
        "others": [{"path": HIT.path, "why": why}],
        "background": {
            "earlier": [earlier],
            "people": people,
            "owners": ["@all"],
            "tests": ["test_b.py"],
        },
        "notes": ["a note"],
        "seconds": 1.235,
        "weights": {"kind": "shipped"},
    }
    assert BARE.as_dict()["report"]["opened"] is None
    assert BARE.as_dict()["committed"] == "0033-01-01T00:00:00Z"  # early times have four digits


def test_the_background_in_words():
    assert [told.text for told in background_lines(FULL)] == [
        "tests of it: test_b.py",
        "src/caf\udce9.py: last changed by Ada (2013-01-02) and Grace (2012-01-02), owned by @all",
        f"like this: {'b' * 10} of #7, 2013-02-01: Mend it (a.py, b.py, c.py and 1 more)",
    ]
    assert background_lines(BARE) == []
    untold = replace(FULL, background=Background((replace(EARLIER, title=""),)))
    assert background_lines(untold)[0].text.endswith(
        "of #7, 2013-02-01 (a.py, b.py, c.py and 1 more)"
    )


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
)
def test_weights_have_the_keys_that_are_known(weights, values):
    assert replace(FULL, weights=weights).as_dict()["weights"] == values


@pytest.mark.parametrize("answer", [FULL, BARE, TRAINED], ids=["full", "bare", "trained"])
def test_answers_are_what_the_schema_says(answer):
    jsonschema = pytest.importorskip("jsonschema")
    assert schema()["$id"] == SCHEMA == schema()["properties"]["schema"]["const"]
    validator = jsonschema.Draft202012Validator(schema())
    validator.check_schema(schema())
    validator.validate(json.loads(json.dumps(answer.as_dict())))
    for wrong in (
        {"schema": "tosloc.answer/2"},
        {"seconds": -1},
        {"hits": [{}]},
        {"commit": "HEAD"},
        {"weights": {}},
    ):
        assert list(validator.iter_errors(answer.as_dict() | wrong))


def test_the_page_speaks_of_every_key_and_kind():
    page = (Path(__file__).parents[2] / "docs/formats.md").read_text(encoding="utf-8")
    weights = schema()["properties"]["weights"]["properties"]
    reason = schema()["$defs"]["reason"]["properties"]
    kinds = reason["kind"]["description"].partition(";")[0].split(", ")
    assert [
        name
        for name in (*schema()["properties"], *weights, *reason, *kinds)
        if f"`{name}`" not in page
    ] == []
