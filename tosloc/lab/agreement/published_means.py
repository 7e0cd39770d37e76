"""A pair of runs against a paper that published means only: how far off ours are, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tosloc.errors import RunError
from tosloc.evaluate.measures import Measure
from tosloc.evaluate.statistics import Interval, mean_interval
from tosloc.lab.agreement.effects import Effect, mean
from tosloc.lab.agreement.levels import Pair
from tosloc.records import FloatArray


@dataclass(frozen=True, slots=True)
class PublishedDifference:
    """Our mean beside a published one."""

    published: float
    ours: float
    interval: Interval | None
    """95 % bootstrap interval of ours - published over our reports; None for under two of them. What the published mean
    itself varies by is not known, so that the truth is less sure than this."""

    @classmethod
    def of(cls, published: float, values: FloatArray) -> PublishedDifference:
        """From our (N,) values, one a report."""
        around = mean_interval(values)
        interval = None if around is None else Interval(around.low - published, around.high - published)
        return cls(published, mean(values), interval)

    @property
    def difference(self) -> float:
        """Ours - published."""
        return self.ours - self.published


@dataclass(frozen=True, slots=True)
class AgainstPublished:
    """Means of a paper beside those of our pair."""

    measure: Measure
    reports: int
    baseline: PublishedDifference
    advanced: PublishedDifference
    improvement: PublishedDifference
    """Of advanced over baseline; its interval draws both runs' values of a report together."""
    effect: Effect

    @property
    def differences(self) -> dict[str, PublishedDifference]:
        """All three by name."""
        return {"baseline": self.baseline, "advanced": self.advanced, "improvement": self.improvement}

    @property
    def effects(self) -> dict[Measure, Effect]:
        """The one effect, by its measure."""
        return {self.measure: self.effect}

    def as_dict(self) -> dict[str, Any]:
        """Plain values."""
        rows = {
            name: {
                "published": one.published,
                "ours": one.ours,
                "difference": one.difference,
                "interval": None if one.interval is None else [one.interval.low, one.interval.high],
            }
            for name, one in self.differences.items()
        }
        return {"measure": repr(self.measure), "reports": self.reports, **rows, **self.effect.as_dict()}


def against_published(baseline: float, advanced: float, ours: Pair, measure: Measure) -> AgainstPublished:
    """Our pair against published means of a measure, which lie from 0 to 1.

    Raises RunError for other means, and where they or ours allow no effect.
    """
    for value in (baseline, advanced):
        if not 0 <= value <= 1:
            raise RunError(f"a published mean of {measure} is between 0 and 1, not {value:g}")
    b, a = ours.baseline.evaluation.values(measure), ours.advanced.evaluation.values(measure)
    try:
        effect = Effect.of(baseline, advanced, mean(b), mean(a))
    except RunError as error:
        raise RunError(f"{measure}: {error}") from None
    return AgainstPublished(
        measure,
        len(b),
        PublishedDifference.of(baseline, b),
        PublishedDifference.of(advanced, a),
        PublishedDifference.of(advanced - baseline, a - b),
        effect,
    )
