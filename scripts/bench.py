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
growth A -> B files
    One ranking among B files of the version against B / A times that among A of them.
memory: localize, memory: evaluate test
    Largest resident memory of a fresh process and its children, against 1 GiB and 4 GiB.
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
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import synthetic
from benchmark import accepted, evaluation, parts, stage_two
from benchmark.accepted import Measured
from benchmark.timing import GIB, Row, say
from benchmark.version import SEED, Bench

from tosloc.cli.guard import guarded
from tosloc.cli.printing import Table, print_table
from tosloc.config import load_config
from tosloc.errors import ToslocError
from tosloc.git.repository import Repository
from tosloc.records import silent

EVALUATION = "evaluation"
PARTS = ("stage one", "questions", "throughput", "first index", "growth", "memory", "stage two", EVALUATION)
NOT_QUICK = ("growth", "stage two")
QUICK_FILES, QUICK_COMMITS, QUICK_RANKINGS = 2_000, 200, 60
ACCEPTED_RUNS = 5
"""Runs whose medians are accepted."""
RANKINGS, FILES = 628, 10_000
TARGETS = {"evaluate": 1, "stage one /": 15, "stage one (": 3, "first": 2.5, "add": 0.005, "growth": 1, "memory": 1}
TARGETS |= {"second": 10, "question": 60, "one commit": 0.3, "throughput": 4, "two stages": 1.5, "encoding": 0.9}


def cells_of(row: Row, target: float | None) -> list[str]:
    """A row for people."""
    amounts = [f"{x / GIB:.3f} GiB" if row.name.startswith("memory") else amount(x) for x in (row.value, row.reference)]
    if row.name.startswith("encoding"):
        amounts = [f"{x:.3g}/s" for x in (row.value, row.reference)]
    return [row.name, *amounts, f"{row.ratio:.3g}", "" if target is None else f"{target:g}"]


def amount(value: float) -> str:
    """A time.

    >>> amount(0.0123), amount(12.3)
    ('12.3 ms', '12.3 s')
    """
    return f"{value * 1000:.3g} ms" if value < 1 else f"{value:.3g} s"


def parser() -> argparse.ArgumentParser:
    """What the script takes."""
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--repo", type=Path, help="git repository; all parts but evaluation need it")
    made.add_argument("--commit", default="HEAD", help="version to search")
    made.add_argument("--reports", type=Path, help="labelled reports, for the memory of evaluating them")
    made.add_argument("--config", type=Path, help="TOML file of settings")
    made.add_argument("--cache", type=Path, help="folder of facts made before; default: made anew, in a temporary one")
    made.add_argument("--encoder", type=Path, help="folder of an encoder, for the rows of stage two")
    made.add_argument("--checkpoint", type=Path, help="one with term vectors, for their row of stage two")
    made.add_argument("--only", action="append", choices=PARTS, help="parts to measure; may be repeated")
    made.add_argument("--rankings", type=int, default=RANKINGS, help=f"rankings to evaluate; default: {RANKINGS}")
    made.add_argument("--files", type=int, default=FILES, help=f"files of each of them; default: {FILES}")
    made.add_argument("--quick", action="store_true", help="compare with accepted ratios, on a repository made for it")
    made.add_argument("--accept", action="store_true", help="with --quick: accept what is measured now")
    made.add_argument("--json", action="store_true", help="print JSON")
    return made


def measure(arguments: argparse.Namespace, only: Sequence[str] | None = None) -> Measured:
    """The rows of the wanted parts."""
    config = load_config(arguments.config) if arguments.config else None
    if arguments.reports is not None and not arguments.reports.is_file():
        raise ToslocError(f"{arguments.reports}: no such file of reports")
    if arguments.rankings < 1 or arguments.files < 1:
        raise ToslocError("--rankings and --files: 1 or more of each")
    chosen = only or arguments.only
    wanted = [part for part in PARTS if not chosen or part in chosen]
    if arguments.repo is None and wanted != [EVALUATION]:
        raise ToslocError(f"name a git repository with --repo; only the part {EVALUATION} needs none")
    with ExitStack() as stack:
        work = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tosloc-bench-")))
        os.environ["TOSLOC_CACHE"] = str((arguments.cache or work / "cache").absolute())
        measures: dict[str, Callable[[], list[Row]]] = {
            EVALUATION: lambda: evaluation.evaluation(work, arguments.rankings, arguments.files)
        }
        if wanted != [EVALUATION]:
            repo = stack.enter_context(Repository(arguments.repo))
            bench = Bench(repo, arguments.commit, config, work)
            stack.callback(bench.project.close)
            measures |= {
                "first index": partial(parts.first_index, bench),
                "stage one": partial(parts.stage_one, bench),
                "questions": partial(parts.questions, bench),
                "throughput": partial(parts.throughput, bench),
                "growth": partial(parts.growth, bench),
                "memory": partial(parts.memory, bench, arguments.reports, arguments.config),
                "stage two": partial(stage_two.stage_two, bench, arguments.encoder, arguments.checkpoint),
            }
        return {part: measures[part]() for part in wanted}


def quick(arguments: argparse.Namespace) -> int:
    """Measure on a synthetic repository and compare with what is accepted, or accept it: 1 if something got worse."""
    if arguments.repo is not None:
        raise ToslocError("--quick: makes a repository itself; leave --repo out")
    quick_ones = [part for part in PARTS if part not in NOT_QUICK and (not arguments.only or part in arguments.only)]
    if not quick_ones:
        raise ToslocError(f"--quick: measures none of {', '.join(NOT_QUICK)}; name another part with --only")
    known = {} if arguments.accept else accepted.read_accepted(accepted.FILE)
    with tempfile.TemporaryDirectory(prefix="tosloc-bench-") as folder:
        arguments.repo = Path(folder, "synthetic.git")
        say(f"making a repository of {QUICK_FILES:,} files")
        synthetic.write_repository(arguments.repo, synthetic.Plan(QUICK_FILES, SEED), QUICK_COMMITS, silent)
        arguments.rankings = min(arguments.rankings, QUICK_RANKINGS)
        measured = measure(arguments, quick_ones)
        if arguments.accept:
            runs = [measured, *(measure(arguments, quick_ones) for _ in range(ACCEPTED_RUNS - 1))]
            accepted.write_accepted(accepted.FILE, runs)
            known = accepted.read_accepted(accepted.FILE)
        for part in [part for part, rows in measured.items() if accepted.worse(rows, known)]:
            say(f"measuring once more: {part}")
            measured[part] = accepted.better_of(measured[part], measure(arguments, [part])[part])
    show(measured, arguments.json, {name: one.ratio for name, one in known.items()})
    complaints = accepted.complaints(measured, known)
    for sentence in complaints:
        print(f"bench: {sentence}", file=sys.stderr)
    return 1 if complaints else 0


def show(measured: Measured, as_json: bool, known: Mapping[str, float] | None = None) -> None:
    """Print the rows, beside the accepted ratios, or else the targets."""
    rows = [row for some in measured.values() for row in some]
    if as_json:
        records: list[dict[str, Any]] = [asdict(row) | {"ratio": row.ratio} for row in rows]
        if known is not None:
            records = [record | {"accepted": known.get(record["name"])} for record in records]
        print(json.dumps(records, indent=2))
    else:
        heads = ["", "value", "reference", "ratio", "target" if known is None else "accepted"]
        bounds = {row.name: bound for row in rows for name, bound in TARGETS.items() if row.name.startswith(name)}
        cells = [cells_of(row, (bounds if known is None else known).get(row.name)) for row in rows]
        print_table(Table(heads, cells))


def main(argv: Sequence[str] | None = None) -> int:
    """0; 1 when a ratio got worse by half."""
    arguments = parser().parse_args(argv)
    if arguments.quick:
        return quick(arguments)
    if arguments.accept:
        raise ToslocError("--accept: goes with --quick")
    show(measure(arguments), arguments.json)
    return 0


if __name__ == "__main__":
    sys.exit(guarded(main))
