"""Measure speed and memory as ratios within one run.

    bench.py --repo GIT_DIR [--commit HEAD] [--only PART] [--json]

Each row is {name, value, reference, ratio}: seconds or bytes, and ratio = value / reference. Both
sides are timed in turns, so that a busy machine slows both.

``bench.py --quick`` measures on a synthetic repository that it makes, in less than two minutes on
two quiet cores, and compares with ``accepted_ratios.json``: a sentence and exit code 1 for each
ratio that is more than 1.5 times the accepted one. A part with such a ratio is measured once more,
and the lower ratio counts. ``--quick --accept`` writes the file anew, with medians of several runs.

stage one / bm25s, stage one (paper) / bm25s
    Mean over 20 reports of the median processor time to rank all files of the version for one
    report; facts, history and indexes are in memory. Ours starts from the report's text and ends
    with a ``Ranking`` of every path. The reference is ``retrieve`` of bm25s with k = number of
    files in one thread, over the same files' terms and the same report's distinct terms, already
    split; ours also knows the history. The reports come from the repository itself: message of a
    bug-fixing commit, then words drawn from a file that it touched, until there are about 80 terms.
first index / tree-sitter
    ``build`` into a fresh store, in one process, against parsing the texts of the same thousand
    files by tree-sitter and nothing else. Git, which reads the files for both, is in neither.
second localize, shell / numpy
    ``python -m tosloc localize`` when the version is kept ready and the functions of its first
    files are known, against the start of Python with ``import numpy`` and ``git rev-parse HEAD``,
    which every answer needs.
20 files not committed / committed
    The same question in a work tree with 20 changed files, whose words are known, against the
    commit's.
question in one process / bm25s
    ``Localizer.localize`` of an open repository, git included: commit, ranking, reasons, functions
    of ten files.
throughput: rankings / bm25s, throughput: answers / bm25s
    Time per report of 200: to rank all files for each, and for all their answers from one call of
    ``Localizer.localize_many``; against one call of ``retrieve`` for all of them.
one commit more / first version
    The version made ready after its parent's, against the parent's from nothing. Both write it to
    disk.
memory: localize
    Largest resident memory of a fresh process and its children, against 1 GiB.
evaluate TREC files / ir-measures, evaluate JSON lines / ir-measures, and memory of both
    From files to means of six measures, each side in a process of its own, imports left out, of a
    run of --rankings reports that rank --files files each; the reference reads TREC's format in
    both rows. Memory against 1 GiB.
two stages / stage one + one text; encoding / encoder alone (``--encoder FOLDER``)
    One ranking by both stages, the files' vectors known, against one by stage one and one pass of
    the report's tokens through the encoder. Chunks a second from blobs to kept vectors, against
    those of the encoder on the same batches, ready made: here more is better. In one thread.
two stages, terms / stage one (``--checkpoint FOLDER``)
    One ranking by both stages of the checkpoint, the terms of the first files known, against one by
    its stage one.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from scripts import bench_parts, synthetic
from scripts.bench_parts import GIB, SEED, Bench
from scripts.timing import Row, compile_package, say
from tosloc.cli.guard import run_guarded
from tosloc.core.config import Config, load_config
from tosloc.core.errors import ToslocError, require
from tosloc.core.io import write_text
from tosloc.core.rankings import Ranking
from tosloc.evaluate.runs.judgements import Judgement, to_qrels, write_judgements
from tosloc.evaluate.runs.run import read_run, write_run
from tosloc.evaluate.runs.trec import write_trec_qrels, write_trec_run
from tosloc.terminal.printing import Table

PARTS = ("stage one", "questions", "throughput", "first index", "memory", "stage two", "evaluation")
QUICK = tuple(part for part in PARTS if part != "stage two")
"""Parts of ``--quick``."""
QUICK_FILES = 2_000
QUICK_COMMITS = 200
QUICK_RANKINGS = 60
FILE = Path(__file__).with_name("accepted_ratios.json")
MAX_SLOWDOWN = 1.5
"""A ratio above this multiple of the accepted one is a regression."""
ACCEPTED_RUNS = 5
"""Runs whose medians are accepted."""
EVALUATION_TURNS = 3
Measured: TypeAlias = dict[str, list[Row]]
"""Part -> its rows."""
Accepted: TypeAlias = Mapping[str, Mapping[str, Any]]
"""Name of a row -> its accepted ratio, its part, and the range of the runs."""


def create_parser() -> argparse.ArgumentParser:
    """Return the parser of the script's arguments."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--repo", type=Path, help="git repository; every part except evaluation needs it")
    add("--commit", default="HEAD", help="version to search")
    add("--config", type=Path, help="TOML file with settings of the encoder")
    add("--cache", type=Path, help="folder of existing facts; default: a new temporary one")
    add("--encoder", type=Path, help="folder of an encoder, for the rows of stage two")
    add(
        "--checkpoint",
        type=Path,
        help="folder of a checkpoint with term vectors, for their row of stage two",
    )
    add("--only", action="append", choices=PARTS, help="part to measure; repeatable")
    add("--rankings", type=int, default=628, help="number of rankings to evaluate; default: 628")
    add(
        "--files", type=int, default=10_000, help="number of files in each ranking; default: 10,000"
    )
    add(
        "--quick",
        action="store_true",
        help="compare with accepted ratios on a synthetic repository",
    )
    add("--accept", action="store_true", help="with --quick, accept the measured ratios")
    add("--json", action="store_true", help="print JSON")
    return parser


def check_packages(parts: Sequence[str], encoder: Path | None) -> None:
    """Raise MissingExtra if a package is missing that a part needs."""
    if "stage one" in parts:
        require("a comparison with bm25s", "report", "bm25s")
    if "stage two" in parts and encoder is not None:
        require("a benchmark of an encoder", "encoder", "torch", "transformers", "accelerate")
    if "evaluation" in parts:
        require("a comparison with ir-measures", "dev", "ir_measures")


def measure(options: argparse.Namespace, parts: Sequence[str]) -> Measured:
    """Return the rows of the parts.

    Raises ToslocError if what they need is not named, and MissingExtra if it is not installed.
    """
    check_packages(parts, options.encoder)
    compile_package()
    config = load_config(options.config) if options.config else Config()
    with tempfile.TemporaryDirectory(prefix="tosloc-bench-") as folder:
        work = Path(folder)
        measured = Measured()
        os.environ["TOSLOC_CACHE"] = str((options.cache or work / "cache").absolute())
        repository_parts = [part for part in parts if part != "evaluation"]
        if repository_parts:
            if options.repo is None:
                raise ToslocError(
                    "name a git repository with --repo; only the part evaluation works without one"
                )
            bench = Bench(options.repo, options.commit, work)
            functions: dict[str, Callable[[Bench], list[Row]]] = {
                "stage one": bench_parts.stage_one,
                "questions": bench_parts.questions,
                "throughput": bench_parts.throughput,
                "first index": bench_parts.first_index,
                "memory": bench_parts.memory,
                "stage two": lambda bench: bench_parts.stage_two(
                    bench, config, options.encoder, options.checkpoint
                ),
            }
            with bench.localizer:
                for part in repository_parts:
                    measured[part] = functions[part](bench)
        if "evaluation" in parts:
            measured["evaluation"] = evaluation(work, options.rankings, options.files)
        return measured


def run_quick(options: argparse.Namespace) -> int:
    """Measure on a synthetic repository, and compare with the accepted ratios or accept them.

    Return 1 if a ratio is a regression, else 0.
    """
    parts = [part for part in QUICK if not options.only or part in options.only]
    with tempfile.TemporaryDirectory(prefix="tosloc-bench-") as folder:
        options.repo = Path(folder, "synthetic.git")
        say(f"making a repository of {QUICK_FILES:,} files")
        plan = synthetic.Plan(QUICK_FILES, SEED)
        synthetic.write_repository(options.repo, plan, QUICK_COMMITS)
        options.rankings = min(options.rankings, QUICK_RANKINGS)
        measured = measure(options, parts)
        if options.accept:
            further_runs = [measure(options, parts) for _ in range(ACCEPTED_RUNS - 1)]
            accept(FILE, [measured, *further_runs])
        accepted = json.loads(FILE.read_text(encoding="utf-8"))["ratios"]
        for part, rows in measured.items():
            if regressions(rows, accepted):
                say(f"measuring again: {part}")
                measured[part] = _lower_rows(rows, measure(options, [part])[part])
    print_rows(measured, options.json, accepted)
    sentences = complaints(measured, accepted)
    for sentence in sentences:
        say(sentence)
    return 1 if sentences else 0


def _lower_rows(rows: Sequence[Row], repeated: Sequence[Row]) -> list[Row]:
    """Return of each row the one with the lower ratio."""
    repeated_by_name = {row.name: row for row in repeated}
    lower = []
    for row in rows:
        other = repeated_by_name.get(row.name, row)
        lower.append(other if other.ratio < row.ratio else row)
    return lower


def accept(file: Path, runs: Sequence[Measured]) -> None:
    """Write the medians of several runs.

    Rows of parts that were not measured stay as they are. Every known row keeps its position.
    """
    ratios: dict[str, Any] = {}
    if file.exists():
        ratios = json.loads(file.read_text(encoding="utf-8"))["ratios"]
    measured_names = {row.name for rows in runs[0].values() for row in rows}
    for name in list(ratios):
        if ratios[name]["part"] in runs[0] and name not in measured_names:
            del ratios[name]
    for part, rows in runs[0].items():
        for number, row in enumerate(rows):
            values = [run[part][number].ratio for run in runs]
            ratios[row.name] = {
                "part": part,
                "ratio": _round(statistics.median(values)),
                "lowest": _round(min(values)),
                "highest": _round(max(values)),
                "runs": len(values),
            }
    record = {
        "made_by": "python scripts/bench.py --quick --accept",
        "python": platform.python_version(),
        "machine": platform.machine(),
        "ratios": ratios,
    }
    write_text(file, json.dumps(record, indent=2) + "\n")


def _round(value: float) -> float:
    """Return a value with three significant digits."""
    return float(f"{value:.3g}")


def regressions(rows: Iterable[Row], accepted: Accepted) -> list[Row]:
    """Return the rows whose ratio is more than ``MAX_SLOWDOWN`` times the accepted one."""
    return [
        row
        for row in rows
        if row.name in accepted and row.ratio > MAX_SLOWDOWN * accepted[row.name]["ratio"]
    ]


def complaints(measured: Measured, accepted: Accepted) -> list[str]:
    """Return a sentence for each regression, and for each accepted row that was not measured."""
    rows = list(chain.from_iterable(measured.values()))
    sentences = []
    for row in regressions(rows, accepted):
        ratio = accepted[row.name]["ratio"]
        sentences.append(
            f"{row.name}: the ratio {row.ratio:.3g} is {row.ratio / ratio:.2f} times the accepted"
            f" {ratio:.3g}; make it faster, or accept it with --accept"
        )
    names = {row.name for row in rows}
    for name, record in accepted.items():
        if record["part"] in measured and name not in names:
            sentences.append(
                f"{name}: this row has an accepted ratio but was not measured; install what it"
                " needs, or run with --accept"
            )
    return sentences


def print_rows(measured: Measured, as_json: bool, accepted: Accepted) -> None:
    """Print the rows, beside the accepted ratios."""
    values = []
    cells = []
    for row in chain.from_iterable(measured.values()):
        ratio = accepted[row.name]["ratio"] if row.name in accepted else None
        values.append(row._asdict() | {"ratio": row.ratio, "accepted": ratio})
        numbers = (row.value, row.reference, row.ratio, ratio or 0)
        cells.append([row.name, *(f"{number:.3g}" for number in numbers)])
    if as_json:
        print(json.dumps(values, indent=2))
    else:
        Table(["", "s, or bytes", "reference", "ratio", "accepted"], cells).print()


# Evaluating a large run, each side in a process of its own

MEASURES = ("AP", "RR", "nDCG", "P@10", "R@10", "nDCG@10")
OURS = """
from tosloc.evaluate.measures import Measure
from tosloc.evaluate.run_paths import ScoredRun

def means(run, qrels, names):
    evaluation = ScoredRun.read(run, qrels=qrels).evaluation()
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
    """Return rows of evaluating a large run, against ir-measures.

    Of three turns the quickest counts, because other programs can only make a turn slower.
    """
    say(f"evaluating {rankings:,} rankings of {files:,} files in both formats")
    write_large_run(work, rankings, files)
    trec = (work / "run.trec", work / "qrels.trec")
    lines = (work / "run.jsonl.gz", work / "qrels.jsonl")
    sides = {"ir-measures": (THEIRS, trec), "TREC files": (OURS, trec), "JSON lines": (OURS, lines)}
    results: dict[str, dict[str, Any]] = {}
    for _ in range(EVALUATION_TURNS):
        for name, (code, paths) in sides.items():
            result = _evaluate(code, paths)
            if name not in results or result["seconds"] < results[name]["seconds"]:
                results[name] = result
    reference = results.pop("ir-measures")
    for name, ours in results.items():
        if not np.allclose(ours["values"], reference["values"], rtol=0, atol=1e-9):
            raise ToslocError(
                f"{name}: the means {ours['values']} differ from those of ir-measures,"
                f" {reference['values']}"
            )
    rows = []
    for name, ours in results.items():
        rows.append(Row(f"evaluate {name} / ir-measures", ours["seconds"], reference["seconds"]))
    for name, ours in results.items():
        rows.append(Row(f"memory: evaluate {name}", ours["peak"], GIB))
    return rows


def _evaluate(code: str, paths: Sequence[Path]) -> dict[str, Any]:
    """Evaluate in a process of its own; return the means, seconds and peak of memory."""
    command = [sys.executable, "-P", "-c", code + TIMED, *map(str, paths), *MEASURES]
    process = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    result: dict[str, Any] = json.loads(process.stdout)
    return result


def write_large_run(work: Path, rankings: int, files: int) -> None:
    """Write a random run of a large project and its judgements, as JSON lines and for TREC."""
    rng = np.random.default_rng(SEED)
    width = len(str(files))
    folder = "org.example.ui/src/org/example/ui/part"
    names = np.array([f"{folder}{n % 97:02}/Class{n:0{width}}.java" for n in range(files)])
    ranked = []
    judgements = []
    for number in range(100_000, 100_000 + rankings):
        report = str(number)
        order = rng.permutation(files)
        fixed_ranks = np.unique(rng.geometric(8 / files, size=3) % files)
        fixed = tuple(names[order[fixed_ranks]].tolist())
        scores = np.sort(rng.normal(size=files))[::-1]
        ranked.append(Ranking(report, tuple(names[order].tolist()), scores))
        judgements.append(Judgement(report, fixed, fixed, files))
    write_run(work / "run.jsonl.gz", {}, ranked)
    write_judgements(work / "qrels.jsonl", judgements)
    write_trec_run(work / "run.trec", read_run(work / "run.jsonl.gz"))
    write_trec_qrels(work / "qrels.trec", to_qrels(judgements))


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print; return 1 if a ratio is a regression."""
    options = create_parser().parse_args(argv)
    if options.quick or options.accept:
        return run_quick(options)
    print_rows(measure(options, options.only or PARTS), options.json, {})
    return 0


if __name__ == "__main__":
    sys.exit(run_guarded(main))
