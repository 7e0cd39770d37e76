"""Train a second stage away from the repository: pack its candidates once, train anywhere, on one machine or many.

python scripts/second.py pack runs/tomcat --repo tomcat.git --reports Tomcat.xlsx --out tomcat.pack
python scripts/second.py train tomcat.pack two.toml --out runs/tomcat-two
torchrun --nproc_per_node 2 scripts/second.py train tomcat.pack two.toml --out runs/tomcat-two      # two CPU processes
accelerate launch --multi_gpu scripts/second.py train tomcat.pack two.toml --out runs/tomcat-two    # every GPU

Many processes learn what one would: each takes its share of every step's reports, and gradients are summed.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from accelerate import PartialState

from tosloc.analysis.facts import SOURCE_SUFFIXES
from tosloc.cli.guard import guarded
from tosloc.cli.progress import shown
from tosloc.config import load_config
from tosloc.data.datasets import load_dataset
from tosloc.data.git import Repository
from tosloc.files import write_text
from tosloc.pipeline.candidates import candidates_of
from tosloc.pipeline.extraction import Labelled
from tosloc.pipeline.localizer import Localizer
from tosloc.pipeline.pack import read_pack, write_pack
from tosloc.pipeline.pooling import Kept
from tosloc.pipeline.rereading import Encoded, Rereading, fused, texts_of
from tosloc.records import FloatArray
from tosloc.reranking.candidates import CandidateList, values_of
from tosloc.reranking.checkpoint import SecondStage
from tosloc.reranking.vectors import VectorStore
from tosloc.retrieval.arrays import evidence_from, load

PARTS = ("train", "validation", "test")


def pack(options: argparse.Namespace) -> int:
    """Write the candidates of a training folder that keeps its features, with their texts."""
    kept, localizer = Kept.read(options.run), Localizer.load(options.run)
    suffixes = frozenset(localizer.config.data.suffixes) or SOURCE_SUFFIXES
    with Repository(options.repo) as repo, shown(None) as progress:
        dataset = load_dataset(
            repo, options.reports, zone=localizer.config.data.zone, suffixes=suffixes, progress=progress
        )
        # the tables' numbers of paths are those of the evidence, whatever has been read since
        named = Repository(options.repo)
        for name in evidence_from(load(kept.work / "evidence.npz"))[1]:
            named.path_names.id(name)
        labelled = Labelled(named, suffixes, {case.report.id: case for case in dataset.cases})
        parts = {
            part: list(
                candidates_of(
                    kept.tables(part), labelled, localizer.stage_one, options.candidates, train=part == "train"
                )
            )
            for part in PARTS
        }
        if options.train_reports:
            parts["train"] = parts["train"][-options.train_reports :]
        write_pack(options.out, parts, texts_of(named), options.letters, progress)
    megabytes = options.out.stat().st_size / 2**20
    print(", ".join(f"{len(reports):,} {part}" for part, reports in parts.items()) + f" reports, {megabytes:.1f} MiB")
    return 0


def train(options: argparse.Namespace) -> int:
    """Train on a pack, choose the mix on its validation, and say what both stages do on validation and test."""
    config = load_config(options.config)
    state, out = PartialState(cpu=config.stage_two.training.device == "cpu"), options.out
    packed = read_pack(options.pack)
    started = time.monotonic()
    known = next((one.features.shape[1] for reports in packed.parts.values() for one in reports), 0)
    second = SecondStage.fresh(config.stage_two, known if config.stage_two.stage_one_features else 0, config.run.seed)
    own = out / f"vectors-{state.process_index}.sqlite"
    with VectorStore(own) as store, shown(None) as progress:
        rereading = Rereading(second, Encoded(second, packed.read, store))
        lists = {part: rereading.lists(packed.parts[part]) for part in PARTS}
        learned = rereading.fit(
            lists["train"], lists["validation"], out / "work", seed=config.run.seed, progress=progress
        )
        seconds = time.monotonic() - started
        if not state.is_main_process:
            return 0
        deep = {part: list(rereading.deep(lists[part], progress)) for part in PARTS[1:]}
    second.save(out / "second")
    result = {
        "seconds": round(seconds, 1),
        "processes": state.num_processes,
        "device": str(state.device),
        "peak GiB": round(peak(), 2),
        "epochs": None if learned is None else learned.epoch,
        "curve": None if learned is None else learned.curve,
        "mix": second.mix if math.isfinite(second.mix) else "deep",
        **{part: judged(lists[part], deep[part], second.mix) for part in PARTS[1:]},
    }
    write_text(out / "result.json", json.dumps(result, indent=1) + "\n")
    scores = {part: {one.report: s.tolist() for one, s in zip(lists[part], deep[part], strict=True)} for part in deep}
    write_text(out / "deep.json", json.dumps(scores) + "\n")
    print(json.dumps({key: value for key, value in result.items() if key != "curve"}, indent=1))
    return 0


def judged(lists: Sequence[CandidateList], deep: Sequence[FloatArray], mix: float) -> Mapping[str, Mapping[str, float]]:
    """MRR and MAP over all reports of stage one, of both stages, and of the deep order alone."""
    rows: dict[str, Any] = {}
    for name, weight in (("stage one", 0.0), ("fused", mix), ("deep", math.inf)):
        values = [values_of(one, fused(one.scores, s, weight)) for one, s in zip(lists, deep, strict=True)]
        number = max(len(values), 1)
        rows[name] = {
            "mrr": round(sum(rr for rr, _ in values) / number, 4),
            "map": round(sum(ap for _, ap in values) / number, 4),
        }
    return rows


def peak() -> float:
    """Peak memory in GiB: the GPU's where there is one, else the process's."""
    if torch.cuda.is_available():
        return float(torch.cuda.max_memory_allocated()) / 2**30
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def main(arguments: list[str] | None = None) -> int:
    """Run the command; the exit code."""
    parser = argparse.ArgumentParser(description="Train a second stage away from the repository.")
    commands = parser.add_subparsers(dest="command", required=True)
    packing = commands.add_parser("pack", help="write candidates and their texts as one small file")
    packing.add_argument("run", type=Path, help="folder that tosloc train --keep-features wrote")
    packing.add_argument("--repo", type=Path, required=True)
    packing.add_argument("--reports", type=Path, required=True)
    packing.add_argument("--out", type=Path, required=True)
    packing.add_argument("--candidates", type=int, default=50)
    packing.add_argument("--train-reports", type=int, default=0, help="only so many, the newest; 0: all")
    packing.add_argument("--letters", type=int, default=40_000, help="letters kept of each file")
    packing.set_defaults(run_command=pack)
    training = commands.add_parser("train", help="train on a pack")
    training.add_argument("pack", type=Path)
    training.add_argument("config", type=Path)
    training.add_argument("--out", type=Path, required=True)
    training.set_defaults(run_command=train)
    options = parser.parse_args(arguments)
    return int(options.run_command(options))


if __name__ == "__main__":
    sys.exit(guarded(main))
