"""Damaged or hostile files of runs and judgements: the error names the line at fault."""

import gzip
import json
import os

import pytest

from tosloc.core.errors import RunError
from tosloc.evaluate.run_paths import ScoredRun, read_function_runs
from tosloc.evaluate.runs import jsonl
from tosloc.evaluate.runs.judgements import read_judgements
from tosloc.evaluate.runs.run import read_run, write_run
from tosloc.evaluate.runs.trec import read_trec_qrels, read_trec_run

HEAD = '{"format": "tosloc-run/2"}\n{"first": 0, "paths": ["a", "b"]}\n'
TREC_RUN = "1 Q0 a 1 9 t\n1 Q0 b 2 8 t\n"
TREC_QRELS = "1 0 a 1\n1 0 b -1\n"


def run_text(**changes):
    """Return a run of one report, with changes of its line."""
    return HEAD + json.dumps({"report": "1", "files": [0, 1], "scores": [2, 1]} | changes)


def judgement_text(**changes):
    """Return the line of one judgement, with changes."""
    return json.dumps({"report": "1", "fixed": ["a"], "listed": ["a"], "searched": 2} | changes)


NOT_A_RANKING = (
    " line 3: report 1: a file is listed twice, scores increase, or ranks do not increase from 1"
)
DAMAGED = " line 3: report 1: damaged: "


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (run_text(files=[0.5, 1]), " line 3: files.0: Input should be"),
        (run_text(files=[0, 2**40]), " line 3: files.1: Input should be"),
        (run_text(files=[0, 2]), f"{DAMAGED}2 files of 2 paths, 2 scores"),
        (run_text(files=[0]), f"{DAMAGED}1 files of 2 paths, 2 scores"),
        (run_text(files=[0, 0]), NOT_A_RANKING),
        (run_text(scores=[1, 2]), NOT_A_RANKING),
        (run_text(ranks=[2, 2]), NOT_A_RANKING),
        (run_text(ranks=[0, 1]), NOT_A_RANKING),
        (run_text(scores=[10**400, 1]), " line 3: scores.0: Input should be"),
        (run_text(scores=[float("nan"), 1]), " line 3: scores.0: Input should be"),
        (run_text(report=[1]), " line 3: report: Input should be"),
        (run_text() + "\n" + run_text()[len(HEAD) :], " line 4: report 1 is ranked twice"),
        (HEAD + '{"first": 2, "paths": 3}', " line 3: Input should be a valid list"),
        (HEAD + '{"first": 2, "paths": ["a"]}', ": damaged: a path is listed twice"),
        ("", ": this is not a run in the format tosloc-run/2"),
    ],
    ids=[
        "fractional file number",
        "huge file number",
        "file number beyond the paths",
        "more scores than files",
        "file twice",
        "scores increase",
        "equal ranks",
        "rank zero",
        "huge score",
        "score not a number",
        "report id not text",
        "report twice",
        "paths not a list",
        "path twice",
        "empty file",
    ],
)
def test_error_names_the_line_of_a_run(tmp_path, text, sentence):
    check_refusal(tmp_path, read_run, text, sentence)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (judgement_text(fixed="a"), " line 1: fixed: Input should be"),
        (judgement_text(searched=0), " line 1: report 1: the fixed files must be"),
        (judgement_text(fixed=["a", "a"]), " line 1: report 1: the fixed files must be"),
        (judgement_text(listed=[]), " line 1: report 1: the fixed files must be"),
        (judgement_text(traits={"named": 1}), " line 1: traits.description: Field required"),
        (judgement_text(traits=[1]), " line 1: traits: Input should be"),
        ('{"report":"1","fixed":[]}', " line 1: listed: Field required"),
        (
            judgement_text() + "\n" + judgement_text(report=1),
            " line 2: report 1 is judged twice",
        ),
    ],
    ids=[
        "fixed not a list",
        "too few searched",
        "fixed twice",
        "fixed not listed",
        "trait missing",
        "traits not an object",
        "listed missing",
        "report twice",
    ],
)
def test_error_names_the_line_of_judgements(tmp_path, text, sentence):
    check_refusal(tmp_path, read_judgements, text, sentence)


@pytest.mark.parametrize(
    ("read", "text", "sentence"),
    [
        (
            read_trec_run,
            TREC_RUN + "7 Q0 c 3 nan t",
            " line 3: '7 Q0 c 3 nan t' is not of the form 'report Q0 path rank score tag' with",
        ),
        (read_trec_run, "1 Q0 %41 3 1 t\n1 Q0 A 3 2 t\n", ": report 1: a file is listed twice"),
        (read_trec_run, "\n", ": the file is empty"),
        (
            read_trec_qrels,
            TREC_QRELS + "7 0 c 2",
            " line 3: '7 0 c 2' is not of the form 'report 0 path relevance'",
        ),
        (read_trec_qrels, TREC_QRELS + "1 0 a 0", ": report 1: a file is listed twice"),
        (
            read_trec_qrels,
            TREC_QRELS + "\x1b7 0",
            r" line 3: '\\x1b7 0' is not of the form 'report 0 path relevance'",
        ),
    ],
    ids=[
        "score not a number",
        "file ranked twice",
        "empty run",
        "relevance 2",
        "file judged twice",
        "control character",
    ],
)
def test_error_names_the_line_of_a_trec_file(tmp_path, read, text, sentence):
    check_refusal(tmp_path, read, text, sentence)


def check_refusal(folder, read, text, sentence):
    """Assert that reading a file with this text fails with the file's path and the sentence."""
    (folder / "file").write_text(text)
    with pytest.raises(RunError) as caught:
        read(folder / "file")
    assert str(caught.value).startswith(f"{folder / 'file'}{sentence}")


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000, '{"a":' * 100_000, '{"report": ' + "9" * 5_000 + "}", "[1]"],
    ids=["deep list", "deep object", "huge number", "list"],
)
def test_hostile_json_is_refused(tmp_path, text):
    (tmp_path / "file").write_text(text)
    with pytest.raises(RunError, match="line 1: the line is not a JSON object"):
        list(jsonl.json_lines(tmp_path / "file"))


BOTH_FORMATS = pytest.mark.parametrize(
    ("read", "text"),
    [(read_run, run_text()), (read_trec_run, TREC_RUN * 50)],
    ids=["JSON lines", "TREC"],
)


@BOTH_FORMATS
def test_a_cut_gzip_file_is_refused(tmp_path, read, text):
    (tmp_path / "run").write_bytes(gzip.compress(text.encode())[:-12])
    with pytest.raises(RunError, match="run: the file is damaged or cut off"):
        read(tmp_path / "run")


@BOTH_FORMATS
def test_a_damaged_gzip_file_is_refused(tmp_path, read, text):
    compressed = gzip.compress(text.encode())
    (tmp_path / "run").write_bytes(compressed[:20] + b"\xff" * 20 + compressed[40:])
    with pytest.raises(RunError, match="run: the file is damaged or cut off"):
        read(tmp_path / "run")


@pytest.mark.parametrize("end", [b"", b"\n"], ids=["no line end", "line end"])
def test_lines_longer_than_a_block_stay_whole(tmp_path, end):
    lines = [b"a", b"b" * 100_000, b"", b"c" * 50_000, b"d"]
    (tmp_path / "file").write_bytes(b"\n".join(lines) + end)
    expected = [(number, line + b"\n") for number, line in enumerate(lines, start=1)]
    assert list(jsonl.numbered_lines(tmp_path / "file")) == expected


@pytest.mark.parametrize("read", [read_run, read_trec_run])
def test_an_endless_line_is_refused(tmp_path, monkeypatch, read):
    monkeypatch.setattr(jsonl, "MAX_LINE_BYTES", 1_000_000)
    (tmp_path / "run").write_bytes(gzip.compress(b" " * 5_000_000, 1))
    with pytest.raises(RunError, match="line 1: the line is longer than 1,000,000 bytes"):
        read(tmp_path / "run")


@pytest.mark.parametrize("read", [read_run, read_trec_run])
def test_a_missing_file_is_refused(tmp_path, read):
    with pytest.raises(RunError, match="cannot read it: No such file"):
        read(tmp_path / "run")


@pytest.mark.parametrize("read", [read_run, read_trec_run])
def test_a_named_pipe_is_refused(tmp_path, read):
    os.mkfifo(tmp_path / "run")
    with pytest.raises(RunError, match="cannot read it: this is a named pipe"):
        read(tmp_path / "run")


def test_a_folder_without_a_run_of_functions_is_refused_with_advice(tmp_path):
    write_run(tmp_path / "run.jsonl.gz", {}, [])
    with pytest.raises(RunError, match="no run of functions") as refusal:
        read_function_runs(tmp_path)
    assert refusal.value.hint.endswith("tosloc rank --functions")


def test_a_folder_without_a_run_is_refused_with_advice(tmp_path):
    message = "there is no finished run; create one with tosloc train"
    with pytest.raises(RunError, match=message):
        ScoredRun.read(tmp_path)
