"""Evaluating a large run, each side in a process of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmark.timing import GIB, Row, alone, say
from benchmark.version import SEED
from tosloc.errors import ToslocError, require
from tosloc.evaluate import Judgement, Qrels, Run, write_judgements, write_run
from tosloc.evaluate.trec import write_trec_qrels, write_trec_run
from tosloc.records import Ranking

TURNS = 3
"""The quickest counts: what else runs can only take time."""
MEASURES = ("AP", "RR", "nDCG", "P@10", "R@10", "nDCG@10")
OURS = """
from tosloc.evaluate import Measure, read_scored

def means(run, qrels, names):
    evaluation = read_scored(run, qrels=qrels).evaluation()
    return [evaluation.mean(Measure.parse(name)) for name in names]
"""
THEIRS = """
import ir_measures

def means(run, qrels, names):
    measures = [ir_measures.parse_measure(name) for name in names]
    judged, ranked = list(ir_measures.read_trec_qrels(qrels)), ir_measures.read_trec_run(run)
    values = ir_measures.calc_aggregate(measures, judged, ranked)
    return [values[measure] for measure in measures]
"""
TIMED = """
import json, pathlib, sys, time

start = time.process_time()
values = means(sys.argv[1], sys.argv[2], sys.argv[3:])
took = time.process_time() - start
peak = pathlib.Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]
print(json.dumps({"values": values, "seconds": took, "peak": 1024 * int(peak)}))
"""


def evaluation(work: Path, rankings: int, files: int) -> list[Row]:
    """Evaluating a large run, against ir-measures."""
    require("a comparison with ir-measures", "dev", "ir_measures")
    say(f"writing {rankings:,} rankings of {files:,} files in both forms")
    write_large_run(work, rankings, files)
    trec, lines = (work / "run.trec", work / "qrels.trec"), (work / "run.jsonl.gz", work / "qrels.jsonl")
    sides = {"ir-measures": (THEIRS, trec), "TREC files": (OURS, trec), "JSON lines": (OURS, lines)}
    measured: dict[str, Any] = {}
    for turn in range(TURNS):
        say(f"evaluating in turns, {turn + 1} of {TURNS}")
        for name, (code, places) in sides.items():
            found = alone(code + TIMED, *map(str, places), *MEASURES)
            measured[name] = min(measured.get(name, found), found, key=lambda one: float(one["seconds"]))
    reference = measured.pop("ir-measures")
    for name, ours in measured.items():
        if not np.allclose(ours["values"], reference["values"], rtol=0, atol=1e-9):
            raise ToslocError(f"{name}: the means {ours['values']} are not ir-measures' {reference['values']}")
    times = [Row(f"evaluate {name} / ir-measures", m["seconds"], reference["seconds"]) for name, m in measured.items()]
    return times + [Row(f"memory: evaluate {name}", m["peak"], GIB) for name, m in measured.items()]


def write_large_run(work: Path, rankings: int, files: int) -> None:
    """Write a random run of a large project and its judgements, as JSON lines and in TREC's form."""
    rng = np.random.default_rng(SEED)
    width = len(str(files))
    names = np.array(
        [f"org.example.ui/src/org/example/ui/part{n % 97:02}/Class{n:0{width}}.java" for n in range(files)]
    )
    ranked, judgements = [], []
    for number in range(rankings):
        order = rng.permutation(files)
        fixed = tuple(names[order[np.unique(rng.geometric(8 / files, size=3) % files)]].tolist())
        scores = np.sort(rng.normal(size=files))[::-1]
        ranked.append(Ranking(str(100_000 + number), tuple(names[order].tolist()), scores))
        judgements.append(Judgement(str(100_000 + number), fixed, fixed, files))
    write_run(work / "run.jsonl.gz", {}, ranked)
    write_judgements(work / "qrels.jsonl", judgements)
    write_trec_run(work / "run.trec", Run.of({}, ranked))
    write_trec_qrels(work / "qrels.trec", Qrels.of(judgements))
