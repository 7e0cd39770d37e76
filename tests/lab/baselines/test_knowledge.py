"""What must not change the answer of any technique; and what those that learn need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import pytest

from tests.lab.baselines import leaks
from tests.lab.baselines.by_hand import Bug, Commit, case, context, scores
from tests.lab.baselines.techniques import KINDS, fitted, project, small
from tosloc.errors import ToslocError
from tosloc.lab.baselines import training
from tosloc.lab.baselines.context import ParsedFiles

LEARNED = [name for name, kind in KINDS.items() if kind.learned]
ELSEWHERE = replace(leaks.ASKED, paths=[leaks.SOCKET])


@pytest.mark.parametrize(
    "bugs",
    [
        (*leaks.OLD, leaks.ASKED, leaks.BETWEEN),
        (*leaks.OLD, leaks.ASKED, leaks.LATER),
        (leaks.ASKED, *reversed(leaks.OLD)),
        (*leaks.OLD, ELSEWHERE),
    ],
    ids=["a fix after the opening", "a later report", "another order of the data", "another label"],
)
@pytest.mark.parametrize("name", KINDS)
def test_nothing_that_was_not_known_changes_an_answer(name: str, bugs: Sequence[Bug]) -> None:
    make = partial(fitted, name)
    assert leaks.answer(make, bugs) == leaks.answer(make)


@pytest.mark.parametrize("name", [name for name in KINDS if name not in (*LEARNED, "bluir")])
def test_the_past_matters(name: str) -> None:
    make = partial(fitted, name)
    assert leaks.answer(make) != leaks.answer(
        make, [leaks.OLD[2], leaks.OLD[1], replace(leaks.OLD[0], fixed_at=12), leaks.ASKED]
    )


@pytest.mark.parametrize("name", [name for name in KINDS if name not in LEARNED])
def test_statistics_are_those_of_the_version(name: str) -> None:
    bugs = [Bug("1", "alpha beta", 1, 2, ["A.java"])]
    files = {"A.java": "class Alpha { int beta; }", "B.java": "class Beta { }"}
    later = Commit("later", 5, {"C.java": "class Alpha { int alpha, alphaBeta; }", "B.java": "class Alpha { }"})
    one, other = (KINDS[name](context(files, bugs, commits)) for commits in ([], [later]))
    assert scores(one, "1") == scores(other, "1")


@pytest.mark.parametrize("name", LEARNED)
def test_the_order_of_reading_does_not_matter(name: str) -> None:
    made = project()
    sources = made.files.sources[::-1]
    rows = {blob: len(sources) - 1 - row for blob, row in made.files.row_of_blob.items()}
    turned = replace(made, files=ParsedFiles(sources, rows))
    assert scores(fitted(name, made), "3") == pytest.approx(scores(fitted(name, turned), "3"), abs=1e-4)


@pytest.mark.parametrize(("name", "said"), [("dnnloc", "two training reports"), ("dreamloc", "one for validation")])
def test_it_has_to_be_fitted_and_needs_reports(name: str, said: str) -> None:
    made = project()
    with pytest.raises(ToslocError, match="fitted"):
        scores(KINDS[name](made), "3")
    with pytest.raises(ToslocError, match=said):
        KINDS[name](made).fit([case(made, "1")], [])


@pytest.mark.parametrize(("name", "values"), [("dnnloc", {"combiner_epochs": 40}), ("dreamloc", {"epochs": 6})])
def test_training_learns_what_a_feature_tells(
    name: str, values: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    # the class that a report names is the one that is fixed
    names = ["Apple", "Banana", "Cherry", "Damson", "Elder"]
    files = {f"src/{fruit}.java": f"class {fruit} {{ int x{fruit}; }}" for fruit in names}
    bugs = [
        Bug(str(n), f"{names[n % 5]} fails", opened=n + 0.1, fixed_at=n + 0.2, paths=[f"src/{names[n % 5]}.java"])
        for n in range(30)
    ]
    made = context(files, bugs)
    cases = [case(made, bug.id) for bug in bugs]
    monkeypatch.setattr(training, "LEARNING_RATE", 0.03)
    technique = small(name, negatives=4, **values)(made)
    technique.fit(cases[:20], cases[20:25])
    for one in cases[25:]:
        found = scores(technique, one.report.id)
        assert max(found, key=found.__getitem__) == one.fixed[0]
