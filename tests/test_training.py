"""What training looks at."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from tests import toy
from tosloc import training as module
from tosloc.records import BugReport, Case
from tosloc.training import training_cases


def case(number: int) -> Case:
    """A labelled report; they are fixed one after the other."""
    report = BugReport(str(number), "a", "b", datetime(2020, 1, 1, tzinfo=UTC))
    return Case(report, "f" * 40, "0" * 40, number, ("A.java",), ("A.java",))


def test_evolution_learns_from_the_newest_reports_with_a_fixed_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "EVOLUTION_REPORTS", 3)
    cases = [replace(case(number), fixed=()) if number == 7 else case(number) for number in range(9)]
    config = toy.config(fit="differential_evolution")
    chosen, sampled = training_cases(config, cases)
    assert [one.report.id for one in chosen] == ["5", "6", "8"]
    assert sampled == 0  # of every file


def test_the_listwise_fit_learns_from_all_with_a_sample_of_their_wrong_files() -> None:
    cases = [case(number) for number in range(9)]
    chosen, sampled = training_cases(toy.config(), cases)
    assert [one.report.id for one in chosen] == list(map(str, range(9)))
    assert sampled == module.SAMPLED
