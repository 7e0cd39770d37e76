"""Speed and memory as ratios within one run: ``bench.py --repo GIT_DIR [--commit HEAD] [--only PART] [--json]``.

Each row is {name, value, reference, ratio}: seconds or bytes, and ratio = value / reference. What is compared is timed
in turns, so that a busy machine slows both sides.

``bench.py --quick`` measures on a synthetic repository that it makes, in less than two minutes on two quiet cores, and
compares with ``accepted_ratios.json``: a sentence and exit code 1 for each ratio that is more than 1.5 times the
accepted one. A part that looks so is measured once more before it is believed, and the lower ratio counts.
``--quick --accept`` writes the file anew, medians of several runs.

stage one / bm25s, stage one (paper) / bm25s
    Mean over 20 reports of the median processor time to rank all files of the version for one report; facts, history
    and indexes are in memory. Ours starts from the report's text and ends with a ``Ranking`` of every path. The
    reference is ``retrieve`` of bm25s with k = number of files in one thread, over the same files' terms and the same
    report's distinct terms, already split; ours also knows the history. The reports come from the repository itself:
    message of a bug-fixing commit, then words drawn from a file that it touched, until there are about 80 terms.
first index / tree-sitter
    ``build`` into a fresh store, in one process, against parsing the texts of the same thousand files by tree-sitter
    and nothing else. Git, which reads the files for both, is in neither.
second localize, shell / numpy
    ``python -m tosloc localize`` when the version is kept ready and the functions of its first files are known, against
    the start of Python with ``import numpy`` and ``git rev-parse HEAD``: what nothing that answers can do without.
20 files not committed / committed
    The same question in a work tree with 20 changed files, whose words are known, against the commit's.
question in one process / bm25s
    ``Localizer.localize`` of an open repository, git included: commit, ranking, reasons, functions of ten files.
throughput: rankings / bm25s, throughput: answers / bm25s
    A report of 200: to rank all files for each, and for all their answers from one call of ``Localizer.localize_many``;
    against one call of ``retrieve`` for all of them.
one commit more / first version
    The version made ready where its parent's is, against the parent's from nothing. Both write it to disk.
memory: localize
    Largest resident memory of a fresh process and its children, against 1 GiB.
evaluate TREC files / ir-measures, evaluate JSON lines / ir-measures, and memory of both
    From files to means of six measures, each side in a process of its own, imports left out, of a run of --rankings
    reports that rank --files files each; the reference reads TREC's form in both rows. Memory against 1 GiB.
two stages / stage one + one text; encoding / encoder alone (``--encoder FOLDER``)
    One ranking by both stages, the files' vectors known, against one by stage one and one pass of the report's tokens
    through the encoder. Chunks a second from blobs to kept vectors, against those of the encoder on the same batches,
    ready made: here more is better. In one thread.
two stages, terms / stage one (``--checkpoint FOLDER``)
    One ranking by both stages of the checkpoint, the terms of the first files known, against one by its stage one.
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
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from scripts import bench_parts, synthetic
from scripts.bench_parts import GIB, SEED, Bench
from scripts.timing import Row, say
from tosloc.cli.guard import run_guarded
from tosloc.cli.printing import Table, print_table
from tosloc.core.config import Config, load_config
from tosloc.core.errors import ToslocError, require
from tosloc.core.io import write_text
from tosloc.core.records import Ranking
from tosloc.evaluate.judgements import Judgement, to_qrels, write_judgements
from tosloc.evaluate.runs import read_run, write_run
from tosloc.evaluate.trec import write_trec_qrels, write_trec_run

PARTS = ("stage one", "questions", "throughput", "first index", "memory", "stage two", "evaluation")
QUICK = tuple(part for part in PARTS if part != "stage two")
QUICK_FILES, QUICK_COMMITS, QUICK_RANKINGS = 2_000, 200, 60
FILE = Path(__file__).with_name("accepted_ratios.json")
WORSE = 1.5
"""A ratio above so many times the accepted one got worse by half."""
RUNS = 5
"""Whose medians are accepted."""
Measured: TypeAlias = dict[str, list[Row]]
"""Part -> its rows."""
Known: TypeAlias = Mapping[str, Mapping[str, Any]]
"""Name of a row -> its accepted ratio, part, and how far the runs lay apart."""


def parser() -> argparse.ArgumentParser:
    """What the script takes."""
    made = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("--repo", type=Path, help="git repository; all parts but evaluation need it")
    made.add_argument("--commit", default="HEAD", help="version to search")
    made.add_argument("--config", type=Path, help="TOML file of settings, for the encoder")
    made.add_argument(
        "--cache",
        type=Path,
        help="folder of facts made before; default: made anew, in a temporary one",
    )
    made.add_argument(
        "--encoder", type=Path, help="folder of an encoder, for the rows of stage two"
    )
    made.add_argument(
        "--checkpoint", type=Path, help="one with term vectors, for their row of stage two"
    )
    made.add_argument(
        "--only", action="append", choices=PARTS, help="parts to measure; may be repeated"
    )
    made.add_argument(
        "--rankings", type=int, default=628, help="rankings to evaluate; default: 628"
    )
    made.add_argument(
        "--files", type=int, default=10_000, help="files of each of them; default: 10,000"
    )
    made.add_argument(
        "--quick",
        action="store_true",
        help="compare with accepted ratios, on a repository made for it",
    )
    made.add_argument(
        "--accept", action="store_true", help="with --quick: accept what is measured now"
    )
    made.add_argument("--json", action="store_true", help="print JSON")
    return made


def measure(asked: argparse.Namespace, parts: Sequence[str]) -> Measured:
    """The rows of the parts. Raises ToslocError where what they need is not named."""
    config = load_config(asked.config) if asked.config else Config()
    with tempfile.TemporaryDirectory(prefix="tosloc-bench-") as folder:
        work, found = Path(folder), Measured()
        os.environ["TOSLOC_CACHE"] = str((asked.cache or work / "cache").absolute())
        if needing := [part for part in parts if part != "evaluation"]:
            if asked.repo is None:
                raise ToslocError(
                    "name a git repository with --repo; only the part evaluation needs none"
                )
            bench = Bench(asked.repo, asked.commit, work)
            measures: dict[str, Callable[[Bench], list[Row]]] = {
                "stage one": bench_parts.stage_one,
                "questions": bench_parts.questions,
                "throughput": bench_parts.throughput,
                "first index": bench_parts.first_index,
                "memory": bench_parts.memory,
                "stage two": lambda bench: bench_parts.stage_two(
                    bench, config, asked.encoder, asked.checkpoint
                ),
            }
            with bench.opened:
                found |= {part: measures[part](bench) for part in needing}
        if "evaluation" in parts:
            found["evaluation"] = evaluation(work, asked.rankings, asked.files)
        return found


def quick(asked: argparse.Namespace) -> int:
    """Measure on a synthetic repository and compare with what is accepted, or accept it: 1 if something got worse."""
    parts = [part for part in QUICK if not asked.only or part in asked.only]
    with tempfile.TemporaryDirectory(prefix="tosloc-bench-") as folder:
        asked.repo = Path(folder, "synthetic.git")
        say(f"making a repository of {QUICK_FILES:,} files")
        synthetic.write_repository(asked.repo, synthetic.Plan(QUICK_FILES, SEED), QUICK_COMMITS)
        asked.rankings = min(asked.rankings, QUICK_RANKINGS)
        measured = measure(asked, parts)
        if asked.accept:
            accept(FILE, [measured, *(measure(asked, parts) for _ in range(RUNS - 1))])
        known = json.loads(FILE.read_text(encoding="utf-8"))["ratios"]
        for part in [part for part, rows in measured.items() if worse(rows, known)]:
            say(f"measuring once more: {part}")
            again = {row.name: row for row in measure(asked, [part])[part]}
            measured[part] = [
                min(row, again.get(row.name, row), key=lambda one: one.ratio)
                for row in measured[part]
            ]
    show(measured, asked.json, known)
    for sentence in (found := complaints(measured, known)):
        say(sentence)
    return 1 if found else 0


def accept(file: Path, runs: Sequence[Measured]) -> None:
    """Write the medians of several runs; rows of parts that these have not measured stay."""
    kept = json.loads(file.read_text(encoding="utf-8"))["ratios"] if file.exists() else {}
    kept = {name: one for name, one in kept.items() if one["part"] not in runs[0]}
    for part, rows in runs[0].items():
        for number, row in enumerate(rows):
            ratios = [run[part][number].ratio for run in runs]
            numbers = {
                "ratio": statistics.median(ratios),
                "lowest": min(ratios),
                "highest": max(ratios),
            }
            rounded = {name: float(f"{value:.3g}") for name, value in numbers.items()}
            kept[row.name] = {"part": part, **rounded, "runs": len(ratios)}
    record = {
        "made_by": "python scripts/bench.py --quick --accept",
        "python": platform.python_version(),
    }
    write_text(
        file, json.dumps({**record, "machine": platform.machine(), "ratios": kept}, indent=2) + "\n"
    )


def worse(rows: Iterable[Row], known: Known) -> list[Row]:
    """Those that got worse by half."""
    return [
        row for row in rows if row.name in known and row.ratio > WORSE * known[row.name]["ratio"]
    ]


def complaints(measured: Measured, known: Known) -> list[str]:
    """A sentence for each row that got worse by half, and for each accepted one that its part has not measured."""
    rows = [row for some in measured.values() for row in some]
    names = {row.name for row in rows}
    missing = [name for name, one in known.items() if one["part"] in measured and name not in names]
    return [
        f"{row.name}: {row.ratio:.3g} where {(accepted := known[row.name]['ratio']):.3g} is accepted,"
        f" {row.ratio / accepted:.2f} times as much; mend it, or accept it with --accept"
        for row in worse(rows, known)
    ] + [
        f"{name}: is accepted and was not measured; install what it needs, or accept anew"
        for name in missing
    ]


def show(measured: Measured, as_json: bool, known: Known) -> None:
    """Print the rows, beside the accepted ratios."""
    rows = [
        (row, known[row.name]["ratio"] if row.name in known else None)
        for some in measured.values()
        for row in some
    ]
    if as_json:
        print(
            json.dumps(
                [row._asdict() | {"ratio": row.ratio, "accepted": ratio} for row, ratio in rows],
                indent=2,
            )
        )
        return
    cells = [
        [row.name, *(f"{number:.3g}" for number in (*row[1:], row.ratio, ratio or 0))]
        for row, ratio in rows
    ]
    print_table(Table(["", "s, or bytes", "reference", "ratio", "accepted"], cells))


# Evaluating a large run, each side in a process of its own

MEASURES = ("AP", "RR", "nDCG", "P@10", "R@10", "nDCG@10")
OURS = """
from tosloc.evaluate.measures import Measure
from tosloc.evaluate.run_paths import read_scored_run

def means(run, qrels, names):
    evaluation = read_scored_run(run, qrels=qrels).evaluation()
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
    """Evaluating a large run, against ir-measures; of three turns the quickest: what else runs can only take time."""
    require("a comparison with ir-measures", "dev", "ir_measures")
    say(f"evaluating {rankings:,} rankings of {files:,} files in both forms")
    write_large_run(work, rankings, files)
    trec, lines = (
        (work / "run.trec", work / "qrels.trec"),
        (work / "run.jsonl.gz", work / "qrels.jsonl"),
    )
    sides = {"ir-measures": (THEIRS, trec), "TREC files": (OURS, trec), "JSON lines": (OURS, lines)}
    found: dict[str, Any] = {}
    for _ in range(3):
        for name, (code, places) in sides.items():
            command = [sys.executable, "-P", "-c", code + TIMED, *map(str, places), *MEASURES]
            one = json.loads(
                subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
            )
            found[name] = min(found.get(name, one), one, key=lambda turn: float(turn["seconds"]))
    reference = found.pop("ir-measures")
    for name, ours in found.items():
        if not np.allclose(ours["values"], reference["values"], rtol=0, atol=1e-9):
            raise ToslocError(
                f"{name}: the means {ours['values']} are not ir-measures' {reference['values']}"
            )
    times = [
        Row(f"evaluate {name} / ir-measures", m["seconds"], reference["seconds"])
        for name, m in found.items()
    ]
    return times + [Row(f"memory: evaluate {name}", m["peak"], GIB) for name, m in found.items()]


def write_large_run(work: Path, rankings: int, files: int) -> None:
    """Write a random run of a large project and its judgements, as JSON lines and in TREC's form."""
    rng, width = np.random.default_rng(SEED), len(str(files))
    folder = "org.example.ui/src/org/example/ui/part"
    names = np.array([f"{folder}{n % 97:02}/Class{n:0{width}}.java" for n in range(files)])
    ranked, judgements = [], []
    for number in map(str, range(100_000, 100_000 + rankings)):
        order = rng.permutation(files)
        fixed = tuple(names[order[np.unique(rng.geometric(8 / files, size=3) % files)]].tolist())
        scores = np.sort(rng.normal(size=files))[::-1]
        ranked.append(Ranking(number, tuple(names[order].tolist()), scores))
        judgements.append(Judgement(number, fixed, fixed, files))
    write_run(work / "run.jsonl.gz", {}, ranked)
    write_judgements(work / "qrels.jsonl", judgements)
    write_trec_run(work / "run.trec", read_run(work / "run.jsonl.gz"))
    write_trec_qrels(work / "qrels.trec", to_qrels(judgements))


def main(argv: Sequence[str] | None = None) -> int:
    """0; 1 when a ratio got worse by half."""
    asked = parser().parse_args(argv)
    if asked.quick or asked.accept:
        return quick(asked)
    show(measure(asked, asked.only or PARTS), asked.json, {})
    return 0


if __name__ == "__main__":
    sys.exit(run_guarded(main))
