"""Which labelled bugs are learned from, chosen by and measured on: always older ones before newer ones."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from tosloc.errors import ConfigError
from tosloc.records import Case


@dataclass(frozen=True, slots=True)
class Splits:
    """Cases in the order of their fixes, cut in three: nothing is fitted or chosen on ``test``."""

    train: tuple[Case, ...]
    validation: tuple[Case, ...]
    test: tuple[Case, ...]


def fix_order(case: Case) -> tuple[int, str, str]:
    """Sorting key: committer time of the fix, then the fix's id, then the report's."""
    return case.fixed_at, case.fix_commit, case.report.id


def chronological(cases: Iterable[Case], train: float = 0.8, validation: float = 0.1) -> Splits:
    """The oldest ``train`` share of the cases, the next ``validation`` share, and the rest as test, by time of the fix.

    The first cut is after ``floor(train * n)`` cases, the second after ``floor((train + validation) * n)``, in exact
    decimal arithmetic; so the test tenth of 1056 cases has 106. Raises ConfigError when the shares leave no test.
    """
    first, second = Fraction(str(train)), Fraction(str(train)) + Fraction(str(validation))
    if not 0 <= first <= second < 1:
        raise ConfigError(f"shares of train {train} and validation {validation} must be 0 or more, their sum below 1")
    ordered = sorted(cases, key=fix_order)
    one, two = math.floor(first * len(ordered)), math.floor(second * len(ordered))
    return Splits(tuple(ordered[:one]), tuple(ordered[one:two]), tuple(ordered[two:]))
