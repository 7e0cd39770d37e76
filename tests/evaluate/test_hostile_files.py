"""Runs and judgements that no one of ours wrote: refused with the line that is at fault."""

import gzip
import json
import os

import pytest

from tosloc.core.errors import RunError
from tosloc.evaluate import jsonl
from tosloc.evaluate.judgements import read_judgements
from tosloc.evaluate.run_paths import read_scored_run
from tosloc.evaluate.runs import read_run
from tosloc.evaluate.trec import read_trec_qrels, read_trec_run

HEAD = '{"format": "tosloc-run/2"}\n{"first": 0, "paths": ["a", "b"]}\n'
TREC = "1 Q0 a 1 9 t\n1 Q0 b 2 8 t\n"
JUDGED = "1 0 a 1\n1 0 b -1\n"


def ranked(**changed):
    return HEAD + json.dumps({"report": "1", "files": [0, 1], "scores": [2, 1]} | changed)


def judged(**changed):
    return json.dumps({"report": "1", "fixed": ["a"], "listed": ["a"], "searched": 2} | changed)


TWICE = " line 3: report 1: a file stands there twice, scores increase, or ranks do not, from 1"
DAMAGED = " line 3: report 1: damaged: "


@pytest.mark.parametrize(
    ("read", "text", "sentence"),
    [
        (read_run, ranked(files=[0.5, 1]), " line 3: files.0: Input should be"),
        (read_run, ranked(files=[0, 2**40]), " line 3: files.1: Input should be"),
        (read_run, ranked(files=[0, 2]), f"{DAMAGED}2 files of 2 paths, 2 scores"),
        (read_run, ranked(files=[0]), f"{DAMAGED}1 files of 2 paths, 2 scores"),
        (read_run, ranked(files=[0, 0]), TWICE),
        (read_run, ranked(scores=[1, 2]), TWICE),
        (read_run, ranked(ranks=[2, 2]), TWICE),
        (read_run, ranked(ranks=[0, 1]), TWICE),
        (read_run, ranked(scores=[10**400, 1]), " line 3: scores.0: Input should be"),
        (read_run, ranked(scores=[float("nan"), 1]), " line 3: scores.0: Input should be"),
        (read_run, ranked(report=[1]), " line 3: report: Input should be"),
        (read_run, ranked() + "\n" + ranked()[len(HEAD) :], " line 4: report 1 is ranked twice"),
        (read_run, HEAD + '{"first": 2, "paths": 3}', " line 3: Input should be a valid list"),
        (read_run, HEAD + '{"first": 2, "paths": ["a"]}', ": damaged: a path stands there twice"),
        (read_run, "", ": not a run of the form tosloc-run/2"),
        (read_judgements, judged(fixed="a"), " line 1: fixed: Input should be"),
        (read_judgements, judged(searched=0), " line 1: report 1: fixed files are listed ones,"),
        (read_judgements, judged(fixed=["a", "a"]), " line 1: report 1: fixed files are"),
        (read_judgements, judged(listed=[]), " line 1: report 1: fixed files are"),
        (
            read_judgements,
            judged(traits={"named": 1}),
            " line 1: traits.description: Field required",
        ),
        (read_judgements, judged(traits=[1]), " line 1: traits: Input should be"),
        (read_judgements, '{"report":"1","fixed":[]}', " line 1: listed: Field required"),
        (read_judgements, judged() + "\n" + judged(report=1), " line 2: report 1 is judged twice"),
        (
            read_trec_run,
            TREC + "7 Q0 c 3 nan t",
            " line 3: '7 Q0 c 3 nan t' is not report Q0 path rank score tag,",
        ),
        (read_trec_run, "1 Q0 %41 3 1 t\n1 Q0 A 3 2 t\n", ": report 1: a file stands there twice"),
        (read_trec_run, "\n", ": empty"),
        (
            read_trec_qrels,
            JUDGED + "7 0 c 2",
            " line 3: '7 0 c 2' is not report 0 path relevance, the relevance 1",
        ),
        (read_trec_qrels, JUDGED + "1 0 a 0", ": report 1: a file stands there twice"),
        (
            read_trec_qrels,
            JUDGED + "\x1b7 0",
            r" line 3: '\\x1b7 0' is not report 0 path relevance",
        ),
    ],
)
def test_the_line_at_fault_is_named(tmp_path, read, text, sentence):
    (tmp_path / "file").write_text(text)
    with pytest.raises(RunError) as caught:
        read(tmp_path / "file")
    assert str(caught.value).startswith(f"{tmp_path / 'file'}{sentence}")


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"a":' * 100_000, '{"report": ' + "9" * 5_000 + "}", "[1]"]
)
def test_json_that_is_made_to_hurt(tmp_path, text):
    (tmp_path / "file").write_text(text)
    with pytest.raises(RunError, match="line 1: not a JSON object"):
        list(jsonl.json_lines(tmp_path / "file"))


@pytest.mark.parametrize(("read", "text"), [(read_run, ranked()), (read_trec_run, TREC * 50)])
def test_cut_damaged_endless_and_no_files(tmp_path, monkeypatch, read, text):
    path, whole = tmp_path / "run", gzip.compress(text.encode())
    monkeypatch.setattr(jsonl, "MAX_LINE_BYTES", 1_000_000)
    for broken, says in (
        (whole[:-12], "run: the file is damaged or cut off"),
        (whole[:20] + b"\xff" * 20 + whole[40:], "run: the file is damaged or cut off"),
        (gzip.compress(b" " * 5_000_000, 1), "line 1: is longer than 1,000,000 bytes"),
    ):
        path.write_bytes(broken)
        with pytest.raises(RunError, match=says):
            read(path)
    path.unlink()
    with pytest.raises(RunError, match="cannot read it: No such file"):
        read(path)
    os.mkfifo(path)
    with pytest.raises(RunError, match="cannot read it: is a named pipe"):
        read(path)


def test_a_place_without_a_run_is_told(tmp_path):
    with pytest.raises(
        RunError, match="no finished run of the split 'test'; make one with: tosloc train"
    ):
        read_scored_run(tmp_path)
