"""The chronological split."""

from __future__ import annotations

import random
from datetime import UTC, datetime

import pytest

from tosloc.data.splits import chronological
from tosloc.errors import ConfigError
from tosloc.records import BugReport, Case


def case(number: int, fixed_at: int | None = None, commit: str = "c") -> Case:
    report = BugReport(str(number), "s", "", datetime(2020, 1, 1, tzinfo=UTC))
    return Case(report, commit, "v", number if fixed_at is None else fixed_at, ("A.java",), ())


@pytest.mark.parametrize(
    ("size", "train", "validation", "test"),
    [(1056, 844, 106, 106), (4151, 3320, 415, 416), (6274, 5019, 627, 628), (4178, 3342, 418, 418), (10, 8, 1, 1)],
)
def test_sizes(size: int, train: int, validation: int, test: int) -> None:
    splits = chronological([case(number) for number in range(size)])
    assert (len(splits.train), len(splits.validation), len(splits.test)) == (train, validation, test)


def test_order_is_by_time_of_fix_then_commit_then_report() -> None:
    cases = [case(3, 10, "b"), case(1, 20, "a"), case(2, 10, "b"), case(9, 10, "a"), case(4, 5, "z")]
    random.Random(1).shuffle(cases)
    splits = chronological(cases, 0.6, 0.2)
    assert [item.report.id for item in splits.train] == ["4", "9", "2"]
    assert [item.report.id for item in splits.validation] == ["3"]
    assert [item.report.id for item in splits.test] == ["1"]


def test_few_cases() -> None:
    assert chronological([]).test == ()
    assert [item.report.id for item in chronological([case(1)]).test] == ["1"]


@pytest.mark.parametrize("shares", [(0.9, 0.1), (-0.1, 0.5), (0.5, -0.1), (1.2, 0.0)])
def test_shares_that_leave_no_test(shares: tuple[float, float]) -> None:
    with pytest.raises(ConfigError, match="their sum below 1"):
        chronological([case(1)], *shares)
