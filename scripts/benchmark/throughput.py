"""Many reports of one call."""

from __future__ import annotations

from collections import deque

from benchmark.timing import Row, in_turns, say, with_children
from benchmark.version import Bench
from tosloc.localizer import Localizer

REPORTS = 200
ROUNDS = 3


def throughput(bench: Bench) -> list[Row]:
    """Time a report of many reports at once, against bm25s for the same reports."""
    try:
        import bm25s
    except ImportError:
        say("bm25s is not installed: no rows of throughput")
        return []
    assert bench.indexed
    reports = bench.made_reports(REPORTS)
    reference, questions = bench.bm25s_retrieval(bm25s.BM25(), reports)
    version = bench.whole
    with Localizer.open(bench.repo.path, commit=bench.commit, store=bench.store) as opened:

        def answers() -> None:
            deque(opened.localize_many(reports, commit=bench.commit), maxlen=0)

        answers()  # the functions of the first files are found
        theirs, ranked, answered = in_turns(
            [
                lambda: reference(*questions),
                lambda: deque((bench.default.localization(report, version).ranking for report in reports), maxlen=0),
                answers,
            ],
            ROUNDS,
            with_children,
        )
    return [
        Row("throughput: rankings / bm25s", ranked / REPORTS, theirs / REPORTS),
        Row("throughput: answers / bm25s", answered / REPORTS, theirs / REPORTS),
    ]
