"""Cut rankings: worked numbers of the paper, cases by hand, and the invariants that always hold."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tosloc.evaluate.evaluate import Evaluation
from tosloc.evaluate.judgements import Judgement
from tosloc.evaluate.measures import ReportScores
from tosloc.lab.truncation import TRUTHS, truncation


def scored(
    report: str, ranks: tuple[int, ...], unranked: int = 0, missing: int = 0, searched: int | None = 15
) -> ReportScores:
    """A report whose fixed files have these ranks, with more that are not ranked or not in the version."""
    fixed = tuple([f"F{place}.java" for place in range(len(ranks) + unranked)])
    listed = (*fixed, *[f"New{place}.java" for place in range(missing)])
    judgement = Judgement(report, fixed, listed, searched)
    return ReportScores(judgement, ranks, searched)


@pytest.mark.parametrize(
    ("ranks", "textbook", "seen"), [((1, 2, 5, 12, 15), 0.52, 0.867), ((1, 4), 0.75, 0.75), ((1, 12), 0.5, 1.0)]
)
def test_the_papers_examples_at_ten(ranks: tuple[int, ...], textbook: float, seen: float) -> None:
    ten = truncation(Evaluation((scored("1", ranks),))).of("cleaned")[-1]
    assert (ten.cut, ten.textbook, ten.seen) == ("k = 10", *(pytest.approx(one, abs=5e-4) for one in (textbook, seen)))
    assert ten.over == pytest.approx(100 * (seen / textbook - 1), abs=0.1)


def test_three_reports_by_hand() -> None:
    result = truncation(Evaluation((scored("1", (1, 12)), scored("2", (11,), missing=1), scored("3", (), missing=2))))
    (*_, whole, cleaned), (*_, bloated_whole, bloated) = result.of("cleaned"), result.of("bloated")
    assert cleaned.textbook == pytest.approx(0.5 / 3)
    assert cleaned.textbook_dropped == pytest.approx(0.5 / 2)  # report 3 has no file to divide by
    assert cleaned.seen == pytest.approx(1 / 3)
    assert cleaned.seen_dropped == 1  # only report 1 shows a file
    assert cleaned.files == 10
    assert (cleaned.over, cleaned.over_dropped) == (pytest.approx(100), pytest.approx(500))
    assert (bloated.textbook, bloated.textbook_dropped) == (pytest.approx(0.5 / 3), pytest.approx(0.5 / 3))
    ap = [(1 + 2 / 12) / 2, 1 / 11, 0]
    assert whole.textbook == whole.seen == result.baseline["cleaned"] == pytest.approx(sum(ap) / 3)
    assert bloated_whole.textbook == result.baseline["bloated"] == pytest.approx((ap[0] + ap[1] / 2) / 3)
    assert bloated_whole.seen == whole.seen


@st.composite
def evaluations(draw: st.DrawFn) -> Evaluation:
    reports = []
    for number in range(draw(st.integers(1, 6))):
        searched = draw(st.integers(1, 40))
        ranks = draw(st.sets(st.integers(1, searched), max_size=6))
        extra = [draw(st.integers(0, min(2, searched - len(ranks)))), draw(st.integers(0, 3))]
        reports.append(scored(str(number), tuple(sorted(ranks)), *extra, searched=searched))
    return Evaluation(tuple(reports))


@given(evaluations())
def test_laws_hold_for_every_run(drawn: Evaluation) -> None:
    result = truncation(drawn)
    for truth in TRUTHS:
        *rows, shown = result.of(truth)
        assert max(shown.textbook, rows[-1].textbook) <= result.baseline[truth]
        assert shown.textbook_dropped >= shown.textbook
        assert all(row.seen >= row.textbook for row in rows)
        assert [row.textbook for row in rows] == sorted(row.textbook for row in rows)
        assert all(row.seen_dropped >= row.seen for row in rows)
    # listing files that do not exist never raises textbook, and leaves seen as it is
    for cleaned, bloated in zip(result.of("cleaned"), result.of("bloated"), strict=True):
        assert (bloated.textbook <= cleaned.textbook, bloated.seen) == (True, cleaned.seen)
    whole = result.of("cleaned")[-2]
    assert whole.textbook == result.baseline["cleaned"] == drawn.map
    if all(len(one.ranks) == one.relevant for one in drawn.per_report):
        assert whole.seen == whole.textbook
