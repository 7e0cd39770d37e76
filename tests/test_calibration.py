"""Shares: what a softmax with a temperature is, how it is fitted, and that checkpoints keep it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import softmax

from tests import toy
from tosloc.calibration import HIGHEST, LISTED, LOWEST, UNFITTED, JudgedAnswer, fit_temperature, shares
from tosloc.checkpoint import read_temperature, shipped
from tosloc.errors import CheckpointError
from tosloc.evaluate.reliability import Reliability, judged_answers
from tosloc.evaluate.run_paths import read_scored
from tosloc.localizer import Localizer
from tosloc.records import BugReport
from tosloc.training import train

SCORES = st.lists(st.floats(-50, 50), min_size=1, max_size=30).map(np.array)


@given(SCORES, st.floats(LOWEST, HIGHEST))
def test_shares_are_the_softmax_of_the_first_ten(scores: np.ndarray, temperature: float) -> None:
    found = shares(scores, temperature)
    order = np.argsort(-scores, kind="stable")
    assert np.allclose(found[order[:LISTED]], softmax(scores[order[:LISTED]] / temperature))
    assert not found[order[LISTED:]].any()
    assert (np.diff(found[order]) <= 0).all()


def test_files_that_do_not_count() -> None:
    assert shares(np.array([3.0, -np.inf, 2.0]), 1.0).round(4).tolist() == [0.7311, 0.0, 0.2689]
    assert shares(np.array([-np.inf, -np.inf]), 1.0).tolist() == [0.0, 0.0]
    assert shares(np.zeros(0), 1.0).tolist() == []


def answers(temperature: float, number: int = 4000, seed: int = 3) -> list[JudgedAnswer]:
    """Answers that are right exactly as often as their first shares say."""
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(number):
        scores = -np.sort(-rng.exponential(2.0, 25))
        made.append(JudgedAnswer(scores, bool(rng.random() < shares(scores, temperature)[0])))
    return made


@pytest.mark.parametrize("temperature", [0.3, 1.0, 4.0])
def test_the_temperature_that_made_the_answers_is_found_again_and_is_calibrated(temperature: float) -> None:
    made = answers(temperature)
    assert fit_temperature(made) == pytest.approx(temperature, rel=0.12)
    found = Reliability.of(made, temperature)
    assert found.error < 0.03
    assert Reliability.of(made, 3 * temperature).error > 3 * found.error


def test_few_answers_do_not_make_it_as_sure_as_can_be() -> None:
    gap = np.array([1.0, 0.0])
    assert fit_temperature([]) == UNFITTED
    assert 0.3 < fit_temperature([JudgedAnswer(gap, True)] * 3) < UNFITTED
    assert UNFITTED < fit_temperature([JudgedAnswer(gap, False)] * 3) < 3
    assert UNFITTED <= fit_temperature([JudgedAnswer(gap[:1], False), JudgedAnswer(gap[:0], False)]) < HIGHEST


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    project = toy.grow(tmp_path_factory.mktemp("toy"), bugs=20, themes=6)
    out = project.folder / "run"
    train(toy.config(0.6, 0.2), project.git.path, project.reports(), out, project.store)
    return out


@pytest.mark.slow
def test_training_fits_it_on_validation_and_the_checkpoint_and_the_test_run_say_so(run: Path) -> None:
    validation = read_scored(run, "validation")
    record = json.loads((run / "checkpoint/weights.json").read_text())
    assert record["temperature"] == pytest.approx(
        fit_temperature(judged_answers(validation.run, validation.qrels)), rel=1e-3
    )
    assert read_scored(run, "test").run.header["temperature"] == record["temperature"]
    learned = Localizer.load(run)
    assert learned.temperature == record["temperature"]
    answer = learned.localize(BugReport("1", "openParser", "", None), tests=True)
    scores = np.array([hit.score for hit in answer.hits])
    assert [hit.share for hit in answer.hits] == pytest.approx(shares(scores, record["temperature"]).tolist(), abs=1e-5)

    path = run / "checkpoint/weights.json"
    path.write_text(json.dumps({key: value for key, value in record.items() if key != "temperature"}))
    assert Localizer.load(run).temperature == UNFITTED  # as earlier versions wrote it


@pytest.mark.parametrize("value", [0, -1.0, 1e9, "1", True, [1.0], float("nan")])
def test_a_temperature_that_is_none(value: object) -> None:
    with pytest.raises(CheckpointError, match=r"weights\.json has a temperature that is no number"):
        read_temperature({"temperature": value}, Path("here"))


def test_the_shipped_weights_have_one() -> None:
    assert LOWEST < (shipped()[1] or 0) < HIGHEST
    assert Localizer.default().temperature == shipped()[1]
