"""What must not change the answer of any technique; and what those that learn need."""

from dataclasses import replace
from functools import partial

import pytest

from tests.lab.baselines import leaks
from tests.lab.baselines.by_hand import Bug, Commit, case, context, scores
from tests.lab.baselines.leaks import ASKED, OLD
from tests.lab.baselines.techniques import KINDS, fitted, small
from tosloc.core.errors import ToslocError
from tosloc.lab.baselines import training
from tosloc.lab.baselines.context import ParsedFiles

FORMULAS = [name for name, kind in KINDS.items() if not kind.learned]
LEARNED = [name for name, kind in KINDS.items() if kind.learned]


@pytest.mark.parametrize(
    "bugs",
    [
        (*OLD, ASKED, leaks.BETWEEN),
        (*OLD, ASKED, leaks.LATER),
        (ASKED, *reversed(OLD)),
        (*OLD, replace(ASKED, paths=[leaks.SOCKET])),
    ],
    ids=["a fix after the opening", "a later report", "another order of the data", "another label"],
)
@pytest.mark.parametrize("name", KINDS)
def test_nothing_that_was_not_known_changes_an_answer(name, bugs):
    make = partial(fitted, name)
    assert leaks.answer(make, bugs) == leaks.answer(make)


@pytest.mark.parametrize("name", FORMULAS)
def test_statistics_are_those_of_the_version(name):
    files = {"A.java": "class Alpha { int beta; }", "B.java": "class Beta { }"}
    later = Commit(
        "later", 5, {"C.java": "class Alpha { int alpha, alphaBeta; }", "B.java": "class Alpha { }"}
    )
    both = (
        context(files, [Bug("1", "alpha beta", 1, 2, ["A.java"])], commits)
        for commits in ([], [later])
    )
    one, other = (scores(KINDS[name](made), "1") for made in both)
    assert one == other


@pytest.mark.parametrize("name", LEARNED)
def test_the_order_of_reading_does_not_matter(name):
    made = leaks.project()
    sources = made.files.sources[::-1]
    rows = {blob: len(sources) - 1 - row for blob, row in made.files.row_by_blob.items()}
    turned = replace(made, files=ParsedFiles(sources, rows))
    assert scores(fitted(name, made), "3") == pytest.approx(
        scores(fitted(name, turned), "3"), abs=1e-4
    )


@pytest.mark.parametrize("name", LEARNED)
def test_it_needs_reports(name):
    made = leaks.project()
    one, two = case(made, "1"), case(made, "6")
    for train, validation in (([one], [two]), ([one, two], [])):
        with pytest.raises(
            ToslocError, match=f"{name} needs two training reports and one for validation"
        ):
            KINDS[name](made).fit(train, validation)


@pytest.mark.parametrize(
    ("name", "values"), [("dnnloc", {"combiner_epochs": 40}), ("dreamloc", {"epochs": 6})]
)
def test_training_learns_what_a_feature_tells(name, values, monkeypatch):
    # the class that a report names is the one that is fixed
    names = ["Apple", "Banana", "Cherry", "Damson", "Elder"] * 6
    files = {f"src/{fruit}.java": f"class {fruit} {{ int x{fruit}; }}" for fruit in names}
    bugs = [
        Bug(str(n), f"{one} fails", n + 0.1, n + 0.2, [f"src/{one}.java"])
        for n, one in enumerate(names)
    ]
    made = context(files, bugs)
    cases = [case(made, bug.id) for bug in bugs]
    monkeypatch.setattr(training, "LEARNING_RATE", 0.03)
    technique = small(name, negatives=4, **values)(made)
    technique.fit(cases[:20], cases[20:25])
    for one in cases[25:]:
        found = scores(technique, one.report.id)
        assert max(found, key=found.__getitem__) == one.fixed[0]
