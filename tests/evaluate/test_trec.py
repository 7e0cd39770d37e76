"""Runs in TREC's format: they come back, whatever the names; the order of lines does not matter."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.toy import make_run
from tosloc.core.errors import RunError
from tosloc.core.rankings import Ranking
from tosloc.evaluate.measures import evaluate
from tosloc.evaluate.runs.trec import (
    percent_decode,
    percent_encode,
    read_trec_qrels,
    read_trec_run,
    write_trec_run,
)

ODD_PATHS = (
    "bundles/Eclipse SWT/gtk/A.java",
    "100%/%41.java",
    "caf\udce9.java",
    "é\u3000ü.java",
    "-",
    "a\tb\n.java",
    "\x1b",
)
RUN = make_run(
    [
        Ranking("7", ODD_PATHS, np.arange(7.0, 0, -1)),
        Ranking("9", (), np.array([])),
        Ranking("PROJ 8", ("B.java", "A.java"), np.array([0.5, 0.5])),
    ]
)
NAMES = st.text(
    st.characters(exclude_categories=["Cs"]) | st.sampled_from("\udc80\udcff% /"), min_size=1
)


def paths_by_report(run):
    return {report: run.paths(report) for report in run.orders}


@pytest.fixture
def written_run(tmp_path):
    path = tmp_path / "new" / "run.trec"
    write_trec_run(path, RUN, "linear, 2")
    return path


def test_rankings_and_tag_come_back(written_run):
    run = read_trec_run(written_run)
    assert paths_by_report(run) == paths_by_report(RUN)
    assert run.header == {"form": "TREC run", "tag": "linear, 2"}


def test_written_scores_count_down_to_one(written_run):
    assert read_trec_run(written_run).ranking("PROJ 8").scores.tolist() == [2, 1]


def test_a_run_that_came_back_is_written_with_the_same_bytes(written_run, tmp_path):
    write_trec_run(tmp_path / "again.trec", read_trec_run(written_run), "linear, 2")
    assert (tmp_path / "again.trec").read_bytes() == written_run.read_bytes()


@given(NAMES)
def test_any_name_comes_back(name):
    cell = percent_encode(name).encode()
    assert percent_decode(cell) == name


@given(NAMES)
def test_an_encoded_name_contains_no_white_space(name):
    cell = percent_encode(name).encode()
    assert cell.split() == [cell]


@pytest.mark.parametrize("name", ["", "a\ud800"])
def test_text_that_cannot_be_a_name_is_refused(name):
    with pytest.raises(RunError, match="cannot be written in TREC format"):
        percent_encode(name)


def test_ties_are_broken_by_path_and_the_rank_column_is_not_read(tmp_path):
    cells = ("b 1 2.5", "%F0 2 2.5", "é 9 2.5", "a 3 2.5", "z 4 1e1", "c 5 -3")
    (tmp_path / "run").write_text("\n".join(f"1 Q0 {cell} t" for cell in cells), encoding="utf-8")
    run = read_trec_run(tmp_path / "run")
    assert run.ranking("1").paths == ("z", "a", "b", "é", "\udcf0", "c")
    assert run.ranking("1").scores.tolist() == [10, 2.5, 2.5, 2.5, 2.5, -3]


@given(st.randoms(use_true_random=False))
def test_the_order_of_lines_does_not_matter(tmp_path_factory, shuffler):
    folder = tmp_path_factory.mktemp("trec")
    run_lines = []
    qrels_lines = []
    for report in range(5):
        for file in range(9):
            relevance = int(file < 3) - int(file > 6)
            run_lines.append(f"{report} Q0 d/F{file} 1 {file * 7 % 5} t")
            qrels_lines.append(f"{report} 0 d/F{file} {relevance}")
    for name, lines in (("run", run_lines), ("qrels", qrels_lines)):
        (folder / f"{name}.plain").write_text("\n".join(lines) + "\n")
        shuffler.shuffle(lines)
        (folder / name).write_text("\r\n".join(lines))
    run = read_trec_run(folder / "run")
    plain = read_trec_run(folder / "run.plain")
    qrels = read_trec_qrels(folder / "qrels")
    assert paths_by_report(run) == paths_by_report(plain)
    assert qrels == read_trec_qrels(folder / "qrels.plain")
    assert qrels["3"].fixed == ("d/F0", "d/F1", "d/F2")
    assert evaluate(run, qrels) == evaluate(plain, qrels)


@pytest.mark.parametrize("path", ["./a/A.java", "/repo/a/A.java", "%2E/a/A.java"])
def test_path_that_does_not_begin_at_the_root_is_refused(tmp_path, path):
    (tmp_path / "run.trec").write_text(f"7 Q0 B.java 1 3 grep\n7 Q0 {path} 2 2 grep\n")
    with pytest.raises(RunError, match=r"line 2: .* must be a path from the root of the repos"):
        read_trec_run(tmp_path / "run.trec")


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ("7 Q0 /A 1 3 t", "7 Q0 B 1 x t", "line 5001: /A must be a path"),
        ("7 Q0 B 1 x t", "7 Q0 /A 1 3 t", "line 5001: '7 Q0 B 1 x t' is not of the form"),
        ("7 Q0 B 1 2", "t 7 Q0 A 2 1 t", "line 5001: '7 Q0 B 1 2' is not of the form"),
    ],
)
def test_the_first_malformed_line_of_a_long_run_is_named(tmp_path, first, second, message):
    lines = [f"7 Q0 F{rank} {rank} {-rank} t" for rank in range(1, 5000)]
    (tmp_path / "run.trec").write_text("\n".join(["", *lines, first, second]))
    with pytest.raises(RunError, match=message):
        read_trec_run(tmp_path / "run.trec")


def test_blank_lines_and_nul_characters_are_read(tmp_path):
    (tmp_path / "run.trec").write_text("7 Q0 \0 1 3 t\n\n \r\n7 Q0 A\0B 2 2 t\n")
    assert read_trec_run(tmp_path / "run.trec").paths("7") == ("\0", "A\0B")


def test_a_line_without_a_file_adds_none(tmp_path):
    (tmp_path / "run.trec").write_text("7 Q0 B 2 1 t\n7 Q0 - 0 9 t\n7 Q0 A 1 2 t\n8 Q0 - 0 0 t\n")
    assert paths_by_report(read_trec_run(tmp_path / "run.trec")) == {"7": ("A", "B"), "8": ()}


@pytest.mark.parametrize(
    ("lines", "contradicted"),
    [
        (["7 Q0 A 1 9 t", "7 Q0 B 2 5 t", "7 Q0 C 3 5 t"], None),
        (["7 Q0 A 1 5 t", "7 Q0 C 3 5 t", "7 Q0 B 2 5 t"], None),
        (["7 Q0 A 0 5 t", "7 Q0 B 0 6 t"], None),
        (["7 Q0 A - 5 t", "7 Q0 B - 6 t"], None),
        (["7 Q0 A 1 5 t", "7 Q0 B 2 6 t", "8 Q0 A 1 6 t", "8 Q0 B 2 5 t"], 1),
    ],
    ids=["agreeing", "ties", "equal", "no numbers", "rising"],
)
def test_ranks_that_contradict_scores_are_counted(tmp_path, lines, contradicted):
    (tmp_path / "run.trec").write_text("\n".join(lines) + "\n")
    header = read_trec_run(tmp_path / "run.trec").header
    assert header.get("reports whose ranks contradict their scores") == contradicted
