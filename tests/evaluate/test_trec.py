"""Runs in TREC's form: they come back, whatever the names; the order of lines changes nothing."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.toy import run_of
from tosloc.core.errors import RunError
from tosloc.core.records import Ranking
from tosloc.evaluate.measures import evaluate
from tosloc.evaluate.trec import (
    percent_decode,
    percent_encode,
    read_trec_qrels,
    read_trec_run,
    write_trec_run,
)

ODD = (
    "bundles/Eclipse SWT/gtk/A.java",
    "100%/%41.java",
    "caf\udce9.java",
    "é\u3000ü.java",
    "-",
    "a\tb\n.java",
    "\x1b",
)
RUN = run_of(
    [
        Ranking("7", ODD, np.arange(7.0, 0, -1)),
        Ranking("9", (), np.array([])),
        Ranking("PROJ 8", ("B.java", "A.java"), np.array([0.5, 0.5])),
    ]
)


def rankings(run):
    return {report: run.paths(report) for report in run.orders}


def test_a_run_comes_back(tmp_path):
    write_trec_run(tmp_path / "new" / "run.trec", RUN, "linear, 2")
    run = read_trec_run(tmp_path / "new" / "run.trec")
    assert rankings(run) == rankings(RUN)
    assert run.header == {"form": "TREC run", "tag": "linear, 2"}
    assert run.ranking("PROJ 8").scores.tolist() == [2, 1]
    write_trec_run(tmp_path / "again.trec", run, "linear, 2")
    assert (tmp_path / "again.trec").read_bytes() == (tmp_path / "new" / "run.trec").read_bytes()


@given(
    st.text(
        st.characters(exclude_categories=["Cs"]) | st.sampled_from("\udc80\udcff% /"), min_size=1
    )
)
def test_any_name_comes_back(name):
    cell = percent_encode(name)
    assert percent_decode(cell.encode()) == name
    assert cell.encode().split() == [cell.encode()]


@pytest.mark.parametrize("name", ["", "a\ud800"])
def test_what_is_no_name_is_refused(name):
    with pytest.raises(RunError, match="cannot be written in TREC's form"):
        percent_encode(name)


def test_ties_are_broken_by_path_and_the_rank_column_is_not_read(tmp_path):
    cells = ("b 1 2.5", "%F0 2 2.5", "é 9 2.5", "a 3 2.5", "z 4 1e1", "c 5 -3")
    (tmp_path / "run").write_text("\n".join(f"1 Q0 {cell} t" for cell in cells), encoding="utf-8")
    run = read_trec_run(tmp_path / "run")
    assert run.ranking("1").paths == ("z", "a", "b", "é", "\udcf0", "c")
    assert run.ranking("1").scores.tolist() == [10, 2.5, 2.5, 2.5, 2.5, -3]


@given(st.randoms(use_true_random=False))
def test_the_order_of_lines_changes_nothing(tmp_path_factory, shuffler):
    folder = tmp_path_factory.mktemp("trec")
    lines = [
        f"{report} Q0 d/F{file} 1 {file * 7 % 5} t" for report in range(5) for file in range(9)
    ]
    judged = [
        f"{report} 0 d/F{file} {int(file < 3) - int(file > 6)}"
        for report in range(5)
        for file in range(9)
    ]
    for name, text in (("run", lines), ("qrels", judged)):
        (folder / f"{name}.plain").write_text("\n".join(text) + "\n")
        shuffler.shuffle(text)
        (folder / name).write_text("\r\n".join(text))
    run, plain = (read_trec_run(folder / name) for name in ("run", "run.plain"))
    truth = read_trec_qrels(folder / "qrels")
    assert rankings(run) == rankings(plain)
    assert truth == read_trec_qrels(folder / "qrels.plain")
    assert truth["3"].fixed == ("d/F0", "d/F1", "d/F2")
    assert evaluate(run, truth) == evaluate(plain, truth)
