"""Train a second stage away from the repository: pack its candidates once, train anywhere, on one machine or many.

python scripts/second.py pack runs/tomcat --repo tomcat.git --reports Tomcat.xlsx --out tomcat.pack
python scripts/second.py train tomcat.pack two.toml --out runs/tomcat-two
torchrun --nproc_per_node 2 scripts/second.py train tomcat.pack two.toml --out runs/tomcat-two      # two CPU processes
accelerate launch --multi_gpu scripts/second.py train tomcat.pack two.toml --out runs/tomcat-two    # every GPU

Many processes learn what one would: each takes its share of every step's reports, and gradients are summed.

python scripts/second.py ablate tomcat.pack two.toml --out runs/ablation
    Table 6 of the paper: the model as configured, and with one part exchanged at a time.
python scripts/second.py sweep tomcat.pack two.toml --out runs/ablation --candidates 10,20,50 --figure sweep
    Figures 5 and 6: how many files are read again, against the fixed files among them and against MRR and MAP.

Both keep what each model found in the folder: called again they go on, and train nothing twice. Vectors are kept once
for all of them, in --vectors or the folder.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import resource
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
import torch
from accelerate import PartialState
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from tosloc.analysis.facts import SOURCE_SUFFIXES
from tosloc.cli.guard import guarded
from tosloc.cli.markdown import table as markdown
from tosloc.cli.progress import shown
from tosloc.config import Config, StageTwoSettings, load_config
from tosloc.data.datasets import load_dataset
from tosloc.data.git import Repository
from tosloc.errors import ToslocError
from tosloc.files import write_text
from tosloc.pipeline.candidates import candidates_of
from tosloc.pipeline.extraction import Labelled
from tosloc.pipeline.localizer import Localizer
from tosloc.pipeline.pack import Pack, read_pack, write_pack
from tosloc.pipeline.pooling import Kept
from tosloc.pipeline.rereading import Encoded, Rereading, choose_mix, fused, texts_of
from tosloc.records import FloatArray, Progress
from tosloc.report.drawing import save
from tosloc.report.sweep import sweep_figure
from tosloc.reranking.candidates import Head, Judgeable, values_of
from tosloc.reranking.checkpoint import SecondStage
from tosloc.reranking.encoders import Encoder
from tosloc.reranking.vectors import VectorStore
from tosloc.reranking.word_vectors import VERSION, word_encoder
from tosloc.retrieval.arrays import evidence_from, load

PARTS = ("train", "validation", "test")
JUDGED = PARTS[1:]


@dataclass(frozen=True)
class Variant:
    """A row of the paper's table 6: which part of the configured model is exchanged, and what the paper prints."""

    name: str
    paper: tuple[float, float]
    """MRR and MAP on Tomcat."""
    changes: Mapping[str, Any] = field(default_factory=dict)
    """Of ``[stage_two]``."""
    training: Mapping[str, Any] = field(default_factory=dict)
    """Of ``[stage_two.training]``."""
    word_vectors: bool = False
    """Whether word2vec stands in for the encoders."""

    def settings(self, configured: StageTwoSettings) -> StageTwoSettings:
        """The configured settings with its part exchanged."""
        training = configured.training.model_copy(update=dict(self.training))
        return configured.model_copy(update={**self.changes, "training": training})


CONFIGURED: Final = Variant("TosLoc", (0.46, 0.39))
VARIANTS: Final = (
    CONFIGURED,
    # word vectors do not learn with the rest
    Variant("word2vec", (0.34, 0.26), training={"learns": "matcher", "lora_rank": 0}, word_vectors=True),
    # the best piece would be another one than the first
    Variant("no fusion", (0.24, 0.12), {"fusion": "first", "best_chunk": False}),
    Variant("mean fusion", (0.39, 0.32), {"fusion": "mean"}),
    Variant("max fusion", (0.37, 0.29), {"fusion": "max"}),
    Variant("BCE loss", (0.44, 0.35), training={"loss": "bce"}),
    Variant("cross-entropy loss", (0.35, 0.29), training={"loss": "in_batch"}),
)


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


@dataclass(frozen=True, eq=False)
class Found:
    """What a trained variant says of the reports of validation and test."""

    deep: Mapping[str, Sequence[FloatArray]]
    """Part -> (C,) deep scores of each report's candidates."""
    epochs: int | None
    """None where nothing was learned."""
    seconds: float

    @classmethod
    def read(cls, path: Path, key: str) -> Self | None:
        """What was kept under this key; None where there is nothing, or of something else."""
        try:
            kept = json.loads(path.read_text(encoding="utf-8"))
            if kept["key"] != key:
                return None
            deep = {part: [np.array(scores, dtype=np.float64) for scores in kept["deep"][part]] for part in JUDGED}
            return cls(deep, kept["epochs"], kept["seconds"])
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def write(self, path: Path, key: str) -> None:
        """Keep it under a key."""
        deep = {part: [scores.tolist() for scores in self.deep[part]] for part in JUDGED}
        values = {"key": key, "epochs": self.epochs, "seconds": self.seconds, "deep": deep}
        write_text(path, json.dumps(values) + "\n")


class Workbench:
    """A pack and a configuration, of which variants are trained, each once and in a folder of its own."""

    def __init__(self, options: argparse.Namespace, progress: Progress) -> None:
        self.config: Config = load_config(options.config)
        if not self.config.stage_two.code_encoder:
            raise ToslocError(f"{options.config} names no encoder; set [stage_two] code_encoder")
        self.packed: Pack = read_pack(options.pack)
        self.digest = hashlib.sha256(options.pack.read_bytes()).hexdigest()
        self.folder: Path = options.out
        self.vectors: Path = options.vectors or options.out / "vectors.sqlite"
        self.progress = progress

    @cached_property
    def encoders(self) -> list[str]:
        """Fingerprints of the encoders that the configuration names."""
        settings = self.config.stage_two
        names = dict.fromkeys((settings.code_encoder, settings.report_encoder or settings.code_encoder))
        return [Encoder.load(name, settings.pooling).fingerprint for name in names]

    def found(self, variant: Variant) -> Found:
        """What the variant says; trained now unless it was before."""
        settings, seed = variant.settings(self.config.stage_two), self.config.run.seed
        made_with = [VERSION] if variant.word_vectors else self.encoders
        told = [self.digest, settings.model_dump(mode="json"), seed, made_with]
        key = hashlib.sha256(json.dumps(told).encode()).hexdigest()
        folder = self.folder / variant.name.replace(" ", "-")
        kept = Found.read(folder / "found.json", key)
        say(variant.name + (": trained before" if kept else ""))
        if kept is not None:
            return kept
        started = time.monotonic()
        second = self.second(variant, settings)
        with VectorStore(self.vectors) as store:
            rereading = Rereading(second, Encoded(second, self.packed.read, store))
            lists = {part: rereading.lists(self.packed.parts[part]) for part in PARTS}
            state = rereading.fit(
                lists["train"], lists["validation"], folder / "work", seed=seed, progress=self.progress
            )
            deep = {part: list(rereading.deep(lists[part], self.progress)) for part in JUDGED}
        found = Found(deep, None if state is None else state.epoch, round(time.monotonic() - started, 1))
        found.write(folder / "found.json", key)
        return found

    def second(self, variant: Variant, settings: StageTwoSettings) -> SecondStage:
        """The variant, untrained."""
        features = next((one.features.shape[1] for reports in self.packed.parts.values() for one in reports), 0)
        known, seed = features if settings.stage_one_features else 0, self.config.run.seed
        if not variant.word_vectors:
            return SecondStage.fresh(settings, known, seed)
        say("training word vectors on the texts of the training reports")
        encoder = word_encoder(list(self.texts()), seed=seed)
        return SecondStage.of(settings, encoder, encoder, known, seed)

    def texts(self) -> Iterator[str]:
        """The training reports, and of each of their candidate files the newest version."""
        train = self.packed.parts["train"]
        yield from (f"{one.summary}\n{one.description}" for one in train)
        newest = {path: blob for one in train for path, blob in zip(one.paths, one.blobs, strict=True)}
        yield from (self.packed.texts[blob] for blob in newest.values() if blob in self.packed.texts)

    def judged(self, found: Found, depth: int | None = None) -> dict[str, Any]:
        """Part -> order -> MRR and MAP, and the mix that validation chose, with only so many files read again."""
        heads = {
            part: [Head.of(one, len(one.blobs) if depth is None else depth) for one in self.packed.parts[part]]
            for part in JUDGED
        }
        deep = {part: [scores[:depth] for scores in found.deep[part]] for part in JUDGED}
        mix, _ = choose_mix(heads["validation"], deep["validation"], self.config.stage_two.final)
        return {
            "mix": mix if math.isfinite(mix) else "deep",
            **{part: judged(heads[part], deep[part], mix) for part in JUDGED},
        }


def ablate(options: argparse.Namespace) -> int:
    """The paper's table 6: each variant, trained on the same pack."""
    with bench_of(options) as bench:
        rows = []
        for variant in VARIANTS:
            found = bench.found(variant)
            rows.append(
                {
                    "name": variant.name,
                    "paper": dict(zip(("mrr", "map"), variant.paper, strict=True)),
                    "epochs": found.epochs,
                    "seconds": found.seconds,
                    **bench.judged(found),
                }
            )
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
    print_table(heads, [first, *lines], options.markdown)
    return 0


def sweep(options: argparse.Namespace) -> int:
    """The paper's figures 5 and 6: the configured model with more and more files read again."""
    with bench_of(options) as bench:
        parts = bench.packed.parts
        longest = max((len(one.blobs) for part in JUDGED for one in parts[part]), default=0)
        if max(options.candidates) > longest:
            raise ToslocError(
                f"{options.pack} holds {longest} files a report, not {max(options.candidates)}; pack again with"
                f" --candidates {max(options.candidates)}"
            )
        found = bench.found(CONFIGURED)
    rows: list[dict[str, Any]] = []
    for depth in options.candidates:
        row = {"candidates": depth, **bench.judged(found, depth)}
        for part in JUDGED:
            row[part] = {**covered(parts[part], depth), **row[part]}
        rows.append(row)
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
    print_table([*heads, "mix"], lines, options.markdown)
    return 0


def covered(reports: Sequence[Judgeable], depth: int) -> dict[str, float]:
    """Share of all fixed files among the first files, and of the reports that have any there."""
    hits = [int(one.fixed[:depth].sum()) for one in reports]
    fixed = sum(one.relevant for one in reports)
    return {
        "coverage": round(sum(hits) / max(fixed, 1), 4),
        "any": round(sum(hit > 0 for hit in hits) / max(len(hits), 1), 4),
    }


def draw(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Coverage on the left, MRR and MAP of both orders on the right, on test."""
    test = [row["test"] for row in rows]
    coverage = {"of fixed files": [one["coverage"] for one in test], "of reports": [one["any"] for one in test]}
    measures = {
        f"{name.upper()}, {order}": [one[order][name] for one in test]
        for name in ("mrr", "map")
        for order in ("fused", "deep")
    }
    panels = ("coverage on test", coverage), ("MRR and MAP on test", measures)
    figure = sweep_figure([row["candidates"] for row in rows], *panels)
    save(figure, path.with_suffix("") if path.suffix in (".svg", ".png") else path)


@contextmanager
def bench_of(options: argparse.Namespace) -> Iterator[Workbench]:
    """The bench that the options describe, with its progress shown."""
    with shown(None) as progress:
        yield Workbench(options, progress)


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


def print_table(heads: Sequence[str], rows: Iterable[Sequence[str]], as_markdown: bool) -> None:
    """A table on standard output."""
    if as_markdown:
        print(markdown(heads, rows), end="")
        return
    table = Table(*heads, box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for row in rows:
        table.add_row(*row)
    Console(highlight=False, markup=False).print(table)


def judged(lists: Sequence[Judgeable], deep: Sequence[FloatArray], mix: float) -> Mapping[str, Mapping[str, float]]:
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


def numbers(text: str) -> tuple[int, ...]:
    """Ascending numbers, 1 or more, from their list.

    >>> numbers("50,10,50")
    (10, 50)
    """
    found = tuple(sorted({int(part) for part in text.split(",")}))
    if found[0] < 1:
        raise ValueError(text)
    return found


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
