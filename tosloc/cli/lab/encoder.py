"""Train a second stage away from the repository: pack its candidates once, train anywhere, on one machine or many.

tosloc lab pack runs/tomcat --repo tomcat.git --reports Tomcat.xlsx --out tomcat.pack
tosloc lab train tomcat.pack two.toml --out runs/tomcat-two
torchrun --nproc_per_node 2 tosloc lab train tomcat.pack two.toml --out runs/tomcat-two      # two CPU processes
accelerate launch --multi_gpu tosloc lab train tomcat.pack two.toml --out runs/tomcat-two    # every GPU

Many processes learn what one would: each takes its share of every step's reports, and gradients are summed.

tosloc lab ablate tomcat.pack two.toml --out runs/ablation
    Table 6 of the paper: the model as configured, and with one part exchanged at a time.
tosloc lab sweep tomcat.pack two.toml --out runs/ablation --candidates 10,20,50 --figure sweep
    Figures 5 and 6: how many files are read again, against the fixed files among them and against MRR and MAP.

Both keep what each model found in the folder: called again they go on, and train nothing twice. Vectors are kept once
for all of them, in --vectors or the folder.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from accelerate import PartialState

from tosloc.cli.guard import guarded
from tosloc.cli.printing import markdown_table, print_table
from tosloc.cli.progress import shown
from tosloc.config import load_config
from tosloc.errors import ToslocError
from tosloc.files import write_text
from tosloc.lab.ablation import JUDGED, AblationRunner, BundleSettings, bundle_training, judged
from tosloc.lab.bundle import read_bundle
from tosloc.lab.paper.depth_figure import Panel, candidates_figure
from tosloc.plots.drawing import save
from tosloc.reranking.encoder.models import EncoderModels
from tosloc.reranking.encoder.reranker import EncoderReranker


def pack(options: argparse.Namespace) -> int:
    """Write the candidates of a training folder that keeps its features, with their texts."""
    packing = BundleSettings(options.candidates, options.train_reports, options.judged_reports, options.letters)
    with shown(None) as progress:
        reports = bundle_training(options.run, options.repo, options.reports, options.out, packing, progress)
    megabytes = options.out.stat().st_size / 2**20
    print(", ".join(f"{number:,} {part}" for part, number in reports.items()) + f" reports, {megabytes:.1f} MiB")
    return 0


def train(options: argparse.Namespace) -> int:
    """Train on a pack, choose the mix on its validation, and say what both stages do on validation and test."""
    config = load_config(options.config)
    state, out = PartialState(cpu=config.stage_two.training.device == "cpu"), options.out
    packed = read_bundle(options.pack)
    started = time.monotonic()
    reranker = EncoderReranker(EncoderModels.fresh(config.stage_two, config.run.seed))
    context = packed.for_reranking(out / f"vectors-{state.process_index}.sqlite")
    with shown(None) as progress:
        reranker.fit(packed, context, out / "work", seed=config.run.seed, progress=progress)
        seconds = time.monotonic() - started
        if not state.is_main_process:
            return 0
        deep = {part: list(reranker.encoder_scores(packed.parts[part], context, progress)) for part in JUDGED}
    learned = reranker.state_
    reranker.save(out / "encoder")
    result = {
        "seconds": round(seconds, 1),
        "processes": state.num_processes,
        "device": str(state.device),
        "peak GiB": round(peak(), 2),
        "epochs": None if learned is None else learned.epoch,
        "curve": None if learned is None else learned.curve,
        "mix": reranker.weight,
        **{part: judged(packed.parts[part], deep[part], reranker.weight) for part in JUDGED},
    }
    write_text(out / "result.json", json.dumps(result, indent=1) + "\n")
    scores = {
        part: {one.report.id: s.tolist() for one, s in zip(packed.parts[part], deep[part], strict=True)}
        for part in deep
    }
    write_text(out / "deep.json", json.dumps(scores) + "\n")
    print(json.dumps({key: value for key, value in result.items() if key != "curve"}, indent=1))
    return 0


def ablate(options: argparse.Namespace) -> int:
    """The paper's table 6: each variant, trained on the same pack."""
    with bench_of(options) as bench:
        rows = bench.ablation()
    if options.json:
        print(json.dumps(rows, indent=1))
        return 0
    heads = ["MRR / MAP", *(f"{part}, {order}" for part in JUDGED for order in ("deep", "fused")), "mix", "the paper"]
    first = ["stage one", *(text for part in JUDGED for text in ("", both(rows[0][part]["stage one"]))), "", ""]
    lines = [
        [
            row["name"],
            *(both(row[part][order]) for part in JUDGED for order in ("deep", "fused")),
            str(row["mix"]),
            both(row["paper"], 2),
        ]
        for row in rows
    ]
    print_rows(heads, [first, *lines], options.markdown)
    return 0


def sweep(options: argparse.Namespace) -> int:
    """The paper's figures 5 and 6: the configured model with more and more files read again."""
    with bench_of(options) as bench:
        most = max(options.candidates)
        if most > bench.longest:
            raise ToslocError(
                f"{options.pack} holds {bench.longest} files a report, not {most}; pack again with --candidates {most}"
            )
        rows = bench.sweep(options.candidates)
    if options.figure is not None:
        draw(rows, options.figure)
    if options.json:
        print(json.dumps(rows, indent=1))
        return 0
    heads = ["files read again"]
    for part in JUDGED:
        heads += [f"{part}, coverage", "any", "deep", "fused"]
    lines = [["0 (stage one)", *(x for part in JUDGED for x in ("", "", "", both(rows[0][part]["stage one"]))), ""]]
    for row in rows:
        cells = [str(row["candidates"])]
        for part in JUDGED:
            of = row[part]
            cells += [short(of["coverage"]), short(of["any"]), both(of["deep"]), both(of["fused"])]
        lines.append([*cells, str(row["mix"])])
    print_rows([*heads, "mix"], lines, options.markdown)
    return 0


def draw(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Coverage on the left, MRR and MAP of both orders on the right, on test."""
    test = [row["test"] for row in rows]
    coverage = {"of fixed files": [one["coverage"] for one in test], "of reports": [one["any"] for one in test]}
    measures = {
        f"{name.upper()}, {order}": [one[order][name] for one in test]
        for name in ("mrr", "map")
        for order in ("fused", "deep")
    }
    depths = [row["candidates"] for row in rows]
    panels = Panel(depths, coverage, said="coverage on test"), Panel(depths, measures, said="MRR and MAP on test")
    save(candidates_figure(panels), path.with_suffix("") if path.suffix in (".svg", ".png") else path)


@contextmanager
def bench_of(options: argparse.Namespace) -> Iterator[AblationRunner]:
    """The bench that the options describe, with its progress shown. Raises ToslocError without an encoder or pack."""
    config = load_config(options.config)
    if not config.stage_two.code_encoder:
        raise ToslocError(f"{options.config} names no encoder; set [stage_two] code_encoder")
    with shown(None) as progress:
        bench = AblationRunner(options.pack, config, options.out, options.vectors, progress, say)
        _ = bench.packed  # what is no pack is said first
        yield bench


def say(text: str) -> None:
    """What is done, on standard error."""
    print(f"second: {text}", file=sys.stderr, flush=True)


def short(value: float, digits: int = 3) -> str:
    """A share without its leading zero.

    >>> short(0.4567), short(1.0)
    ('.457', '1.000')
    """
    return f"{value:.{digits}f}".removeprefix("0")


def both(values: Mapping[str, float], digits: int = 3) -> str:
    """MRR and MAP."""
    return f"{short(values['mrr'], digits)} / {short(values['map'], digits)}"


def print_rows(heads: Sequence[str], rows: Sequence[Sequence[str]], as_markdown: bool) -> None:
    """A table on standard output."""
    if as_markdown:
        print(markdown_table(heads, rows), end="")
    else:
        print_table(heads, rows, left=range(len(heads)))


def peak() -> float:
    """Peak memory in GiB: the GPU's where there is one, else the process's."""
    if torch.cuda.is_available():
        return float(torch.cuda.max_memory_allocated()) / 2**30
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def numbers(text: str) -> tuple[int, ...]:
    """Ascending numbers, 1 or more, from their list.

    >>> numbers("50,10,50")
    (10, 50)
    """
    found = tuple(sorted({int(part) for part in text.split(",")}))
    if found[0] < 1:
        raise ValueError(text)
    return found


def count(text: str) -> int:
    """A number of reports, 0 or more."""
    number = int(text)
    if number < 0:
        raise ValueError(text)
    return number


def main(arguments: list[str] | None = None) -> int:
    """Run the command; the exit code."""
    parser = argparse.ArgumentParser(description="Train a second stage away from the repository.")
    commands = parser.add_subparsers(dest="command", required=True)
    packing = commands.add_parser("pack", help="write candidates and their texts as one small file")
    packing.add_argument("run", type=Path, help="folder that tosloc train --keep-features wrote")
    packing.add_argument("--repo", type=Path, required=True)
    packing.add_argument("--reports", type=Path, required=True)
    packing.add_argument("--out", type=Path, required=True)
    packing.add_argument("--candidates", type=int, default=BundleSettings.candidates)
    packing.add_argument("--train-reports", type=count, default=0, help="only so many, the newest; 0: all")
    packing.add_argument("--judged-reports", type=count, default=0, help="the same for validation and for test")
    packing.add_argument("--letters", type=int, default=BundleSettings.letters, help="letters kept of each file")
    packing.set_defaults(run_command=pack)
    training = commands.add_parser("train", help="train on a pack")
    training.add_argument("pack", type=Path)
    training.add_argument("config", type=Path)
    training.add_argument("--out", type=Path, required=True)
    training.set_defaults(run_command=train)
    for name, command, says in (
        ("ablate", ablate, "exchange one part at a time: the paper's table 6"),
        ("sweep", sweep, "read more and more files again: the paper's figures 5 and 6"),
    ):
        made = commands.add_parser(name, help=says)
        made.add_argument("pack", type=Path)
        made.add_argument("config", type=Path)
        made.add_argument("--out", type=Path, required=True)
        made.add_argument("--vectors", type=Path, help="file of vectors; by default FOLDER/vectors.sqlite")
        made.add_argument("--markdown", action="store_true", help="print a table for documents")
        made.add_argument("--json", action="store_true", help="print JSON")
        made.set_defaults(run_command=command)
        if command is sweep:
            made.add_argument("--candidates", type=numbers, default=(10, 20, 50), help="such as 10,20,50")
            made.add_argument("--figure", type=Path, help="draw it, as PATH.svg and PATH.png")
    options = parser.parse_args(arguments)
    return int(options.run_command(options))


if __name__ == "__main__":
    sys.exit(guarded(main))
