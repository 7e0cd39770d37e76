import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tosloc.errors import RunError
from tosloc.evaluate import Judgement, Qrels, Run, evaluate, evaluate_folder, read_scored, write_judgements, write_run
from tosloc.evaluate.jsonl import open_unpacked
from tosloc.evaluate.run_paths import ScoredRun
from tosloc.evaluate.tables import results_of, strata_of
from tosloc.records import Ranking, ReportAttributes

FILES = tuple(f"F{i:03}" for i in range(1, 401))


def ranked(report: str, files: tuple[str, ...] = FILES) -> Ranking:
    return Ranking(report, files, -np.arange(len(files), dtype=np.float64))


RUN = Run.of({}, [ranked(report) for report in ("1", "2", "3", "4")], "test run")
JUDGEMENTS = (
    Judgement("1", ("F001", "F002", "F005", "F012", "F015"), ("F001", "F002", "F005", "F012", "F015"), 400),
    Judgement("2", ("F004", "F060"), ("F004", "F060", "New1"), 400),
    Judgement("3", ("F120", "F350"), ("F120", "F350"), 400),
    Judgement("4", (), ("New1", "New2"), 400),
)


def test_summary_is_worked_by_hand() -> None:
    ap = [(1 + 1 + 3 / 5 + 4 / 12 + 5 / 15) / 5, (1 / 4 + 2 / 60) / 2, (1 / 120 + 2 / 350) / 2, 0]
    assert evaluate(RUN, Qrels.of(JUDGEMENTS)).summary() == pytest.approx(
        {
            "reports": 4,
            "relevant": 9,
            "dropped": 3,
            "empty": 1,
            "mrr": (1 + 1 / 4 + 1 / 120 + 0) / 4,
            "map": sum(ap) / 4,
            "top1": 1 / 4,
            "top5": 2 / 4,
            "top10": 2 / 4,
            "coverage50": 6 / 9,
            "coverage100": 7 / 9,
            "coverage300": 8 / 9,
            "any50": 2 / 4,
            "any100": 2 / 4,
            "any300": 3 / 4,
            "length": 1.0,
        }
    )


def test_a_fixed_file_that_is_not_ranked_counts_as_not_found() -> None:
    run = Run.of({}, [ranked("1", FILES[:10])])
    result = evaluate(run, Qrels.of(JUDGEMENTS[:1]))
    assert result.map == pytest.approx(0.52)
    assert result.length == 10 / 400
    assert evaluate(run, Qrels.of([Judgement("1", ("F001",), ("F001",))])).length is None


@pytest.mark.parametrize(
    ("judgements", "sentence"),
    [
        ((), "test run: nothing to evaluate, no report is judged"),
        (
            (*JUDGEMENTS, Judgement("5", (), ()), Judgement("6", (), ())),
            "test run: no ranking for 2 of 6 judged reports, first 5",
        ),
        (JUDGEMENTS[:2], "test run: no judgement for 2 of 4 rankings, first 3"),
        (
            (*JUDGEMENTS[:3], Judgement("4", (), (), 399)),
            "test run: report 4 ranks 400 files, its version has 399",
        ),
    ],
)
def test_what_cannot_be_evaluated_is_one_sentence(judgements: tuple[Judgement, ...], sentence: str) -> None:
    with pytest.raises(RunError) as caught:
        evaluate(RUN, Qrels.of(judgements))
    assert str(caught.value) == sentence


@given(st.randoms(use_true_random=False))
def test_the_order_of_lines_changes_nothing(tmp_path_factory: pytest.TempPathFactory, shuffler: random.Random) -> None:
    folder = tmp_path_factory.mktemp("run")
    write_run(folder / "run.jsonl.gz", {}, [ranked(str(n), FILES[: 100 * n]) for n in (1, 2, 3, 4)])
    write_judgements(folder / "qrels.jsonl", JUDGEMENTS)
    before = read_scored(folder).evaluation()
    for name in ("run.jsonl.gz", "qrels.jsonl"):
        with open_unpacked(folder / name) as file:
            lines = file.readlines()
        shuffler.shuffle(lines)
        (folder / name).write_bytes(b"".join(lines))
    assert read_scored(folder).evaluation() == before


def test_a_folder_holds_a_run_for_each_split(tmp_path: Path) -> None:
    write_run(tmp_path / "test" / "run.jsonl.gz", RUN.header, RUN.rankings())
    with pytest.raises(RunError, match="no finished run of the split 'test'; make one with"):
        evaluate_folder(tmp_path, "test")
    write_judgements(tmp_path / "test" / "qrels.jsonl", JUDGEMENTS)
    assert evaluate_folder(tmp_path, "test") == evaluate(RUN, Qrels.of(JUDGEMENTS))
    with pytest.raises(RunError, match="no finished run of the split 'tset'; it holds test"):
        evaluate_folder(tmp_path, "tset")


def test_strata_by_hand() -> None:
    def judged(report: str, *fixed: str, kind: ReportAttributes | None, gone: int = 0) -> Judgement:
        return Judgement(report, fixed, (*fixed, *(f"Gone{n}" for n in range(gone))), attributes=kind)

    plain = ReportAttributes(True, False, 0)
    judgements = [
        judged("a", "src/A.java", kind=ReportAttributes(True, True, 1)),
        judged("b", "src/A.java", "test/TestA.java", kind=plain),
        judged("c", "test/TestA.java", "test/TestB.java", kind=ReportAttributes(False, False, 2)),
        judged("d", gone=2, kind=ReportAttributes(False, True, 0)),
        judged("e", *(f"src/{n}.java" for n in range(6)), kind=plain),
        judged("f", *(f"src/{n}.java" for n in range(5)), gone=1, kind=plain),
    ]
    members: dict[str, str] = {}
    for one in judgements:
        for name, holds in strata_of(one).items():
            members[name] = members.get(name, "") + one.report * bool(holds)
    assert members == {
        "reachable only": "abcef",
        "left empty": "d",
        "1 fixed file": "a",
        "2 to 5 fixed files": "bcf",
        "6 or more fixed files": "e",
        "with a description": "abef",
        "without a description": "cd",
        "with a stack trace": "ad",
        "without a stack trace": "bcef",
        "already localized": "ac",
        "not localized": "bdef",
        "only test files fixed": "c",
    }
    run = Run.of({}, [ranked(one.report) for one in judgements])
    rows = results_of(ScoredRun("run", run, Qrels.of(judgements))).strata
    assert {row.name: row.reports for row in rows} == {name: len(held) for name, held in members.items()}
    unknown = [*judgements[:5], judged("f", "src/A.java", kind=None)]
    names = [row.name for row in results_of(ScoredRun("run", run, Qrels.of(unknown))).strata]
    assert names == [*list(members)[:5], "only test files fixed"]
