"""Experiments with the second stage: its parts exchanged one at a time, and more and more files read again.

Everything is trained from a pack, stage one's first files with their texts, so that it needs no repository. What a
trained variant says of each report is kept: called again nothing is trained twice, and what was interrupted goes on.
"""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Self

import numpy as np

from tosloc.analysis.languages import SOURCE_SUFFIXES
from tosloc.arrays import load_arrays
from tosloc.candidates import LabelledCandidates
from tosloc.config import Config, StageTwoSettings
from tosloc.data.datasets import load_dataset
from tosloc.data.git import Repository
from tosloc.files import write_text
from tosloc.index.history_index import HistoryIndex
from tosloc.lab.bundle import CandidateBundle, read_bundle, write_bundle
from tosloc.lab.word2vec import VERSION, word_encoder
from tosloc.localizer import Localizer, texts_of
from tosloc.records import FloatArray, Progress, silent
from tosloc.reranking.base import Candidates, values_of
from tosloc.reranking.encoder.encoders import Encoder
from tosloc.reranking.encoder.models import EncoderModels
from tosloc.reranking.encoder.reranker import EncoderReranker, choose_weight, combined
from tosloc.retrieval.feature_tables import LabelledReports
from tosloc.retrieval.stored_tables import StoredFeatureTables

PARTS: Final = ("train", "validation", "test")
JUDGED: Final = PARTS[1:]


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
    Variant("word2vec", (0.34, 0.26), training={"learns": "head", "lora_rank": 0}, word_vectors=True),
    # the best piece would be another one than the first
    Variant("no fusion", (0.24, 0.12), {"chunk_pooling": "first", "best_chunk": False}),
    Variant("mean fusion", (0.39, 0.32), {"chunk_pooling": "mean"}),
    Variant("max fusion", (0.37, 0.29), {"chunk_pooling": "max"}),
    Variant("BCE loss", (0.44, 0.35), training={"loss": "bce"}),
    Variant("cross-entropy loss", (0.35, 0.29), training={"loss": "in_batch"}),
)


@dataclass(frozen=True)
class BundleSettings:
    """How much of a training a pack holds; 0 reports are all of them, another number the newest so many."""

    candidates: int = 50
    """Files of a report."""
    train_reports: int = 0
    judged_reports: int = 0
    """Of validation, and of test."""
    letters: int = 40_000
    """StoredFeatureTables of each file."""

    def reports(self, part: str) -> int:
        """Reports of train, validation or test."""
        return self.train_reports if part == "train" else self.judged_reports


def bundle_training(
    run: Path, repository: Path, reports: Path, out: Path, packing: BundleSettings, progress: Progress = silent
) -> dict[str, int]:
    """Write the first files of a training folder's reports, with their texts; how many reports each part has.

    Raises ToslocError when the folder keeps no feature tables.
    """
    kept, localizer = StoredFeatureTables.read(run), Localizer.load(run)
    suffixes = frozenset(localizer.config.data.suffixes) or SOURCE_SUFFIXES
    with Repository(repository) as repo:
        dataset = load_dataset(repo, reports, zone=localizer.config.data.zone, suffixes=suffixes, progress=progress)
        # the tables' numbers of paths are those of the evidence, whatever has been read since
        named = Repository(repository)
        for name in HistoryIndex.from_arrays(load_arrays(kept.history_path))[1]:
            named.path_names.id(name)
        labelled = LabelledReports(named, suffixes, {case.report.id: case for case in dataset.cases})
        training_set = LabelledCandidates(labelled, localizer.stage_one, kept.tables)
        depth = packing.candidates
        parts = {
            part: list(training_set.candidates(part, depth, for_training=part == "train"))[-packing.reports(part) :]
            for part in PARTS
        }
        made_of = bundle_key(run, reports, packing)
        write_bundle(out, parts, texts_of(named), packing.letters, progress, made_of=made_of)
    return {part: len(made) for part, made in parts.items()}


def bundle_key(run: Path, reports: Path, packing: BundleSettings) -> str:
    """What a pack of the training folder is made of; another one for another training, reports or packing."""
    kept, trained = StoredFeatureTables.read(run), run / "checkpoint"
    read = [trained / name for name in ("config.json", "weights.json", "ranker.txt")]
    digests = [hashlib.sha256(path.read_bytes()).hexdigest() for path in (*read, reports) if path.exists()]
    told = [digests, kept.features, kept.blocks, asdict(packing)]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()


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


def unsaid(what: str) -> None:
    """Tell nobody what is done."""


class AblationRunner:
    """A pack and a configuration, of which variants are trained, each once and in a folder of its own.

    ``vectors`` is the file of the files' vectors, kept once for all variants: by default one in the folder. ``say`` is
    told which variant is at work.
    """

    def __init__(
        self,
        pack: Path,
        config: Config,
        folder: Path,
        vectors: Path | None = None,
        progress: Progress = silent,
        say: Callable[[str], None] = unsaid,
    ) -> None:
        self.pack, self.config, self.folder = pack, config, folder
        self.vectors = vectors or folder / "vectors.sqlite"
        self.progress, self.say = progress, say

    @cached_property
    def packed(self) -> CandidateBundle:
        """The content of the pack. Raises ToslocError when it is none."""
        return read_bundle(self.pack)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the pack."""
        return hashlib.sha256(self.pack.read_bytes()).hexdigest()

    @cached_property
    def encoders(self) -> list[str]:
        """Fingerprints of the encoders that the configuration names. Raises CheckpointError when there are none."""
        settings = self.config.stage_two
        names = dict.fromkeys((settings.code_encoder, settings.report_encoder or settings.code_encoder))
        return [Encoder.load(name, settings.token_pooling).fingerprint for name in names]

    @property
    def longest(self) -> int:
        """Files of the validation or test report that has most in the pack."""
        return max((len(one.blobs) for part in JUDGED for one in self.packed.parts[part]), default=0)

    def key(self, variant: Variant) -> str:
        """What a training of the variant depends on."""
        settings = variant.settings(self.config.stage_two)
        made_with = [VERSION] if variant.word_vectors else self.encoders
        # an encoder is what its weights are, not where it lies
        values = settings.model_dump(mode="json", exclude={"code_encoder", "report_encoder"})
        told = [self.digest, values, self.config.run.seed, made_with]
        return hashlib.sha256(json.dumps(told).encode()).hexdigest()

    def place(self, variant: Variant) -> Path:
        """The variant's folder."""
        return self.folder / variant.name.replace(" ", "-")

    def kept(self, variant: Variant) -> Found | None:
        """What the variant said when it was trained before; None if it was not, or from something else."""
        return Found.read(self.place(variant) / "found.json", self.key(variant))

    def found(self, variant: Variant) -> Found:
        """What the variant says; trained now unless it was before."""
        kept = self.kept(variant)
        self.say(variant.name + (": trained before" if kept else ""))
        if kept is not None:
            return kept
        started = time.monotonic()
        settings, seed = variant.settings(self.config.stage_two), self.config.run.seed
        reranker = self.reranker(variant, settings)

        def progress(what: str, done: int, total: int) -> None:
            self.progress(f"{variant.name}: {what}", done, total)

        context = self.packed.for_reranking(self.vectors)
        reranker.fit(self.packed, context, self.place(variant) / "work", seed=seed, progress=progress)
        deep = {part: list(reranker.encoder_scores(self.packed.parts[part], context, progress)) for part in JUDGED}
        state = reranker.state_
        found = Found(deep, None if state is None else state.epoch, round(time.monotonic() - started, 1))
        found.write(self.place(variant) / "found.json", self.key(variant))
        return found

    def reranker(self, variant: Variant, settings: StageTwoSettings) -> EncoderReranker:
        """The variant, untrained."""
        seed = self.config.run.seed
        if not variant.word_vectors:
            return EncoderReranker(EncoderModels.fresh(settings, seed))
        self.say("training word vectors on the texts of the training reports")
        encoder = word_encoder(list(self.texts()), seed=seed)
        return EncoderReranker(EncoderModels.of(settings, encoder, encoder, seed))

    def texts(self) -> Iterator[str]:
        """The training reports, and of each of their candidate files the newest version."""
        train = self.packed.parts["train"]
        yield from (f"{one.report.summary}\n{one.report.description}" for one in train)
        newest = {path: blob for one in train for path, blob in zip(one.paths, one.blobs, strict=True)}
        yield from (self.packed.texts[blob] for blob in newest.values() if blob in self.packed.texts)

    def judged(self, found: Found, depth: int | None = None) -> dict[str, Any]:
        """Part -> order -> MRR and MAP, and the mix that validation chose, with only so many files read again."""
        heads = {
            part: [one.head(len(one) if depth is None else depth) for one in self.packed.parts[part]] for part in JUDGED
        }
        deep = {part: [scores[:depth] for scores in found.deep[part]] for part in JUDGED}
        mix, _ = choose_weight(heads["validation"], deep["validation"])
        return {
            "mix": mix,
            **{part: judged(heads[part], deep[part], mix) for part in JUDGED},
        }

    def ablation(self) -> list[dict[str, Any]]:
        """The paper's table 6: of each variant its name, the paper's numbers, epochs, seconds and ``judged``."""
        rows = []
        for number, variant in enumerate(VARIANTS):
            self.progress("parts", number, len(VARIANTS))
            found = self.found(variant)
            rows.append(
                {
                    "name": variant.name,
                    "paper": dict(zip(("mrr", "map"), variant.paper, strict=True)),
                    "epochs": found.epochs,
                    "seconds": found.seconds,
                    **self.judged(found),
                }
            )
        self.progress("parts", len(VARIANTS), len(VARIANTS))
        return rows

    def sweep(self, candidates: Sequence[int]) -> list[dict[str, Any]]:
        """The paper's figures 5 and 6: the configured model with its head cut to each number of candidates.

        Of each number ``judged``, and of each part ``covered``. A pack with fewer files gives what all of them do.
        """
        found = self.found(CONFIGURED)
        rows: list[dict[str, Any]] = []
        for depth in candidates:
            row = {"candidates": depth, **self.judged(found, depth)}
            for part in JUDGED:
                row[part] = {**covered(self.packed.parts[part], depth), **row[part]}
            rows.append(row)
        return rows


def covered(reports: Sequence[Candidates], depth: int) -> dict[str, float]:
    """Share of all fixed files among the first files, and of the reports that have any there."""
    hits = [int(one.fixed[:depth].sum()) for one in reports]
    fixed = sum(one.relevant for one in reports)
    return {
        "coverage": round(sum(hits) / max(fixed, 1), 4),
        "any": round(sum(hit > 0 for hit in hits) / max(len(hits), 1), 4),
    }


def judged(lists: Sequence[Candidates], deep: Sequence[FloatArray], mix: float) -> Mapping[str, Mapping[str, float]]:
    """MRR and MAP over all reports of stage one, of both stages, and of the deep order alone."""
    rows: dict[str, Any] = {}
    for name, weight in (("stage one", 0.0), ("fused", mix), ("deep", math.inf)):
        values = [values_of(one, combined(one.scores, s, weight)) for one, s in zip(lists, deep, strict=True)]
        number = max(len(values), 1)
        rows[name] = {
            "mrr": round(sum(rr for rr, _ in values) / number, 4),
            "map": round(sum(ap for _, ap in values) / number, 4),
        }
    return rows
