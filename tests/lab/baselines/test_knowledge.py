"""What must not change the scores of any technique, and what the learned techniques need."""

from dataclasses import replace
from functools import partial

import pytest

from tests.lab.baselines.by_hand import Bug, Commit, find_case, make_context, score_files
from tests.lab.baselines.leaks import (
    ASKED,
    BETWEEN,
    LATER,
    OLD,
    SOCKET,
    make_project,
    score_asked,
)
from tests.lab.baselines.techniques import SMALL_TECHNIQUES, fit_technique, small_technique
from tosloc.core.errors import ToslocError
from tosloc.lab.baselines import training
from tosloc.lab.baselines.context import ParsedFiles

FORMULAS = [name for name, technique in SMALL_TECHNIQUES.items() if not technique.learned]
LEARNED = [name for name, technique in SMALL_TECHNIQUES.items() if technique.learned]


@pytest.mark.parametrize(
    "bugs",
    [
        (*OLD, ASKED, BETWEEN),
        (*OLD, ASKED, LATER),
        (ASKED, *reversed(OLD)),
        (*OLD, replace(ASKED, paths=[SOCKET])),
    ],
    ids=["a fix after the opening", "a later report", "another order of the data", "another label"],
)
@pytest.mark.parametrize("name", SMALL_TECHNIQUES)
def test_unknown_facts_do_not_change_scores(name, bugs):
    make_technique = partial(fit_technique, name)
    assert score_asked(make_technique, bugs) == score_asked(make_technique)


@pytest.mark.parametrize("name", FORMULAS)
def test_files_of_later_versions_do_not_change_scores(name):
    files = {"A.java": "class Alpha { int beta; }", "B.java": "class Beta { }"}
    bugs = [Bug("1", "alpha beta", 1, 2, ["A.java"])]
    changes = {"C.java": "class Alpha { int alpha, alphaBeta; }", "B.java": "class Alpha { }"}
    technique_class = SMALL_TECHNIQUES[name]
    alone = technique_class(make_context(files, bugs))
    with_later = technique_class(make_context(files, bugs, [Commit("later", 5, changes)]))
    assert score_files(alone, "1") == score_files(with_later, "1")


@pytest.mark.parametrize("name", LEARNED)
def test_order_of_reading_files_does_not_change_scores(name):
    context = make_project()
    sources = context.files.sources[::-1]
    rows = {blob: len(sources) - 1 - row for blob, row in context.files.row_by_blob.items()}
    reversed_context = replace(context, files=ParsedFiles(sources, rows))
    scores = score_files(fit_technique(name, context), "3")
    reversed_scores = score_files(fit_technique(name, reversed_context), "3")
    assert scores == pytest.approx(reversed_scores, abs=1e-4)


@pytest.mark.parametrize(
    ("train", "validation"),
    [(["1"], ["6"]), (["1", "6"], [])],
    ids=["one training report", "no validation report"],
)
@pytest.mark.parametrize("name", LEARNED)
def test_learning_from_too_few_reports_is_refused(name, train, validation):
    context = make_project()
    technique = SMALL_TECHNIQUES[name](context)
    train_cases = [find_case(context, bug) for bug in train]
    validation_cases = [find_case(context, bug) for bug in validation]
    message = f"{name} needs two training reports and one for validation"
    with pytest.raises(ToslocError, match=message):
        technique.fit(train_cases, validation_cases)


@pytest.mark.parametrize(
    ("name", "values"),
    [("dnnloc", {"combiner_epochs": 40}), ("dreamloc", {"epochs": 6})],
    ids=LEARNED,
)
def test_training_learns_that_the_named_class_is_fixed(name, values, monkeypatch):
    fruits = ["Apple", "Banana", "Cherry", "Damson", "Elder"]
    files = {f"src/{fruit}.java": f"class {fruit} {{ int x{fruit}; }}" for fruit in fruits}
    bugs = [
        Bug(str(day), f"{fruit} fails", day + 0.1, day + 0.2, [f"src/{fruit}.java"])
        for day, fruit in enumerate(fruits * 6)
    ]
    context = make_context(files, bugs)
    cases = [find_case(context, bug.id) for bug in bugs]
    monkeypatch.setattr(training, "LEARNING_RATE", 0.03)
    technique = small_technique(name, negatives=4, **values)(context)
    technique.fit(cases[:20], cases[20:25])
    for case in cases[25:]:
        scores = score_files(technique, case.report.id)
        assert max(scores, key=scores.__getitem__) == case.fixed[0]
