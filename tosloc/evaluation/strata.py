"""Kinds of reports, whose results stand below those of all reports: a stratum is never the headline.

Reports that name the class to fix are easier (Kochhar et al. 2014), and a project's mix of kinds can explain more of a
mean than the method does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from tosloc.evaluation.judgements import Judgement

FEW = 30
"""A stratum of fewer reports says little; its interval is too narrow."""
_TEST_WORDS = frozenset({"test", "tests", "testing"})
_NO_WORD = re.compile(r"[^a-z0-9]+")


def is_test(path: str) -> bool:
    """Whether a word of the path, split at all but letters and digits, is test, tests or testing, in any case.

    So ``test/``, ``JUnit Tests/``, ``org.eclipse.jdt.ui.tests.refactoring/`` and ``test_x.py`` are tests. Names such as
    TestRunner or CheckTest decide nothing: beside such folders, the four Eclipse and Apache projects of Ye et al. have
    names like these only in product code, above all in Eclipse's own JUnit plugin, and in examples.

    >>> is_test("tests/org.eclipse.swt.tests/JUnit Tests/Test_Shell.java"), is_test("junit/TestRunner.java")
    (True, False)
    """
    return not _TEST_WORDS.isdisjoint(_NO_WORD.split(path.lower()))


@dataclass(frozen=True, slots=True)
class Stratum:
    """A kind of reports."""

    name: str
    holds: Callable[[Judgement], bool | None]
    """Whether a report is of this kind; None if it is not known."""


def _described(one: Judgement) -> bool | None:
    return None if one.attributes is None else one.attributes.description


def _traced(one: Judgement) -> bool | None:
    return None if one.attributes is None else one.attributes.stack_trace


def _localized(one: Judgement) -> bool | None:
    return None if one.attributes is None else one.attributes.named > 0


def _only_tests(one: Judgement) -> bool:
    return bool(one.fixed) and all(is_test(path) for path in one.fixed)


def _not(holds: Callable[[Judgement], bool | None]) -> Callable[[Judgement], bool | None]:
    def denied(one: Judgement) -> bool | None:
        held = holds(one)
        return None if held is None else not held

    return denied


STRATA: Final = (
    Stratum("reachable only", lambda one: len(one.fixed) > 0),
    Stratum("left empty", lambda one: len(one.fixed) == 0),
    Stratum("1 fixed file", lambda one: len(one.fixed) == 1),
    Stratum("2 to 5 fixed files", lambda one: 2 <= len(one.fixed) <= 5),
    Stratum("6 or more fixed files", lambda one: len(one.fixed) >= 6),
    Stratum("with a description", _described),
    Stratum("without a description", _not(_described)),
    Stratum("with a stack trace", _traced),
    Stratum("without a stack trace", _not(_traced)),
    Stratum("already localized", _localized),
    Stratum("not localized", _not(_localized)),
    Stratum("only test files fixed", _only_tests),
)
"""Named kinds, in the order of a table. Reachable: some fixed file is in the searched version. Already localized: the
report names the class of a fixed file."""


def known_strata(judgements: Iterable[Judgement]) -> list[Stratum]:
    """The strata of which it is known, for every one of these reports, whether it belongs."""
    reports = list(judgements)
    return [stratum for stratum in STRATA if all(stratum.holds(one) is not None for one in reports)]
