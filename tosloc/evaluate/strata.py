"""Kinds of reports, whose results stand below those of all reports: a stratum is never the headline.

Reports that name the class to fix are easier (Kochhar et al. 2014), and a project's mix of kinds can explain more of a
mean than the method does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from tosloc.evaluate.judgements import Judgement
from tosloc.records import ReportAttributes
from tosloc.reports.test_paths import which_are_tests

FEW_REPORTS = 30
"""A stratum of fewer reports says little; its interval is too narrow."""


@dataclass(frozen=True, slots=True)
class Stratum:
    """A kind of reports, by their judgement or, if it is given, by their attributes."""

    name: str
    of_judgement: Callable[[Judgement], bool] = lambda one: True
    of_attributes: Callable[[ReportAttributes], bool] | None = None

    def holds(self, one: Judgement) -> bool | None:
        """Whether a report is of this kind; None if it is not known."""
        if self.of_attributes is None:
            return self.of_judgement(one)
        return None if one.attributes is None else self.of_attributes(one.attributes)


STRATA: Final = (
    Stratum("reachable only", lambda one: len(one.fixed) > 0),
    Stratum("left empty", lambda one: len(one.fixed) == 0),
    Stratum("1 fixed file", lambda one: len(one.fixed) == 1),
    Stratum("2 to 5 fixed files", lambda one: 2 <= len(one.fixed) <= 5),
    Stratum("6 or more fixed files", lambda one: len(one.fixed) >= 6),
    Stratum("with a description", of_attributes=lambda kind: kind.description),
    Stratum("without a description", of_attributes=lambda kind: not kind.description),
    Stratum("with a stack trace", of_attributes=lambda kind: kind.stack_trace),
    Stratum("without a stack trace", of_attributes=lambda kind: not kind.stack_trace),
    Stratum("already localized", of_attributes=lambda kind: kind.named > 0),
    Stratum("not localized", of_attributes=lambda kind: kind.named == 0),
    Stratum("only test files fixed", lambda one: bool(one.fixed) and bool(which_are_tests(one.fixed).all())),
)
"""Named kinds, in the order of a table. Reachable: some fixed file is in the searched version. Already localized: the
report names the class of a fixed file."""


def known_strata(judgements: Iterable[Judgement]) -> list[Stratum]:
    """The strata of which it is known, for every one of these reports, whether it belongs."""
    attributed = all(one.attributes is not None for one in judgements)
    return [stratum for stratum in STRATA if stratum.of_attributes is None or attributed]
