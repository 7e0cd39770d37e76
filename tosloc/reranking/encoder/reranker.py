"""Where the stages meet: stage one's first files become candidates, and their deep scores a new order of them.

Shapes: F files of a version, C candidates, K features.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Protocol

import numpy as np
import torch

from tosloc.arrays import pack_words, unpack_words
from tosloc.config import StageTwoSettings
from tosloc.data.git import Repository, decode
from tosloc.errors import ToslocError
from tosloc.learning.lambdamart import raised
from tosloc.learning.ranking_lists import Rows
from tosloc.records import BugReport, FloatArray, IntArray, Progress, Ranking, Snapshot, silent
from tosloc.reranking.candidates_of_tables import Candidates, candidates_of, features_of
from tosloc.reranking.encoder.batches import CandidateList, ChunkTable, Judgeable, for_training, values_of
from tosloc.reranking.encoder.checkpoint import EncoderModels
from tosloc.reranking.encoder.chunk_vectors import CodeEncoding, Cut, Texts, best_device, encode
from tosloc.reranking.encoder.state import State
from tosloc.reranking.encoder.texts import queries
from tosloc.reranking.encoder.training import Trainer, score_lists
from tosloc.reranking.encoder.vector_store import Float16Array, VectorStore
from tosloc.retrieval.feature_tables import FeatureTable, LabelledReports
from tosloc.retrieval.stage_one import StageOne

WEIGHTS = (0.0, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0)
"""Points of the deep score for one of stage one's that validation chooses from; 0 is stage one alone."""


BLOCK = 48
"""Reports whose candidates are in memory together when many are ranked."""


def texts_of(repo: Repository) -> Texts:
    """Texts of a repository's blobs."""
    return lambda blobs: ((blob, None if data is None else decode(data)) for blob, data in repo.texts(blobs))


def vectors_path(store_path: Path) -> Path:
    """Where the vectors of a project lie: beside its facts."""
    return store_path.with_name(f"{store_path.stem}.vectors.sqlite")


class Source(Protocol):
    """Where the chunks of files come from."""

    def vectors(self, blobs: Sequence[str], progress: Progress = silent) -> Mapping[str, Float16Array]:
        """Blob -> (n, d) chunk vectors."""

    def chunks(self, blobs: Sequence[str]) -> Mapping[str, Sequence[IntArray]]:
        """Blob -> marked token sequences."""


class Encoded:
    """Chunks of files, encoded when first asked for and kept."""

    def __init__(self, second: EncoderModels, texts: Texts, store: VectorStore) -> None:
        settings = second.settings
        device = "cpu" if settings.training.device == "cpu" else best_device()
        cut = Cut(settings.chunks, settings.chunk_tokens)
        self._texts = texts
        self._encoding = CodeEncoding(second.code, cut, store, device=device, precision=settings.precision)

    def vectors(self, blobs: Sequence[str], progress: Progress = silent) -> Mapping[str, Float16Array]:
        """Blob -> (n, d) chunk vectors; those that the store lacks are made now."""
        self._encoding.make(blobs, self._texts, progress)
        return self._encoding.store.vectors(self._encoding.maker, blobs)

    def chunks(self, blobs: Sequence[str]) -> Mapping[str, Sequence[IntArray]]:
        """Blob -> marked token sequences; a file without any token has none."""
        cut, words = self._encoding.cut, self._encoding.encoder.words
        known = self._encoding.tokens(blobs, self._texts)
        return {
            blob: words.chunks(tokens, cut.length, cut.chunks) if len(tokens) else [] for blob, tokens in known.items()
        }


@dataclass(frozen=True, eq=False)
class Carried:
    """Chunk vectors that a checkpoint carries along."""

    made: Mapping[str, Float16Array]

    def vectors(self, blobs: Sequence[str], progress: Progress = silent) -> Mapping[str, Float16Array]:
        """Blob -> (n, d) chunk vectors, of those that are carried."""
        return {blob: self.made[blob] for blob in blobs if blob in self.made}

    def chunks(self, blobs: Sequence[str]) -> Mapping[str, Sequence[IntArray]]:
        """Tokens are not carried."""
        raise ToslocError("this checkpoint carries vectors only; name the repository with --repo to read its files")


class Rereading:
    """Stage two at work: makes candidate lists, has their files encoded once, scores them."""

    def __init__(self, second: EncoderModels, source: Source) -> None:
        self.second, self.source = second, source
        self.device = torch.device("cpu") if second.settings.training.device == "cpu" else best_device()

    def lists(self, candidates: Iterable[Candidates]) -> list[CandidateList]:
        """Candidates as the model takes them: reports as tokens, stage one's features if the last layer wants them."""
        settings, words = self.second.settings, self.second.report.words
        made = []
        for one in candidates:
            texts = queries(one.summary, one.description, apart=settings.queries_apart)
            made.append(
                CandidateList(
                    report=one.report,
                    queries=tuple(words.marked(tokens, settings.report_tokens) for tokens in words.tokens(texts)),
                    blobs=one.blobs,
                    fixed=one.fixed,
                    scores=one.scores,
                    features=one.features if settings.stage_one_features else None,
                    missed_ranks=one.missed_ranks,
                    relevant=one.relevant,
                    opened=one.opened,
                    fixed_at=one.fixed_at,
                )
            )
        return made

    def ready(
        self, lists: Sequence[CandidateList], progress: Progress = silent, learns: str = "matcher"
    ) -> tuple[ChunkTable, list[CandidateList]]:
        """The chunks of all candidates, and the lists with their queries read.

        While encoders learn (``report`` or ``both``) they read tokens themselves; else only vectors are needed. Nothing
        is made for reports that are left to stage one.
        """
        blobs = sorted({blob for one in lists if self.second.knew_by(one.opened) for blob in one.blobs})
        if learns == "both":
            return ChunkTable.of_tokens(self.source.chunks(blobs)), list(lists)
        chunk_table = ChunkTable.of_vectors(self.source.vectors(blobs, progress), self.second.code.width)
        return chunk_table, list(lists) if learns == "report" else self._asked(lists)

    def _asked(self, lists: Sequence[CandidateList]) -> list[CandidateList]:
        """The lists with the vectors of their queries."""
        flat = [query for one in lists for query in one.queries]
        report = self.second.report.to(self.device, torch.float32).eval()
        vectors = encode(report, flat, self.device).astype(np.float64)
        ends = np.cumsum([0, *(len(one.queries) for one in lists)]).tolist()
        return [replace(one, query_vectors=vectors[ends[i] : ends[i + 1]]) for i, one in enumerate(lists)]

    def fit(
        self,
        train: Sequence[CandidateList],
        validation: Sequence[CandidateList],
        folder: Path,
        *,
        seed: int,
        progress: Progress = silent,
    ) -> State | None:
        """Learn from train, stop and choose the mix by validation; the folder holds what an interruption leaves.

        None where nothing was to be learned: without epochs, the encoders' own closeness is the deep score.
        """
        second, settings = self.second, self.second.settings
        if not settings.training.negatives_by_rank:  # then always the same files are wrong, and the rest is never read
            rng = np.random.default_rng(seed)
            train = [for_training(one, settings.training.negatives, rng, by_rank=False) or one for one in train]
        chunk_table, lists = self.ready([*train, *validation], progress, settings.training.learns)
        learned, judged = lists[: len(train)], lists[len(train) :]
        state = None
        if settings.training.epochs:
            encoders = second.code.fingerprint, second.report.fingerprint
            second.learned_until = until = max((one.fixed_at for one in train), default=0)
            key = fingerprint(settings, learned, *encoders, seed, until)
            trainer = Trainer(
                second.reader, chunk_table, settings.training, folder, seed=seed, key=key, learned_until=until
            )
            state = trainer.fit(learned, judged, progress)
            second.learned()
            chunk_table, judged = self.ready(validation, progress)
        deep = list(self._scores(chunk_table, judged))
        second.mix, second.tried = choose_mix(judged, deep, settings.final)
        return state

    def deep(self, lists: Sequence[CandidateList], progress: Progress = silent) -> Iterator[FloatArray]:
        """(C,) deep scores of each list."""
        chunk_table, asked = self.ready(lists, progress)
        return self._scores(chunk_table, asked)

    def _scores(self, chunk_table: ChunkTable, lists: Sequence[CandidateList]) -> Iterator[FloatArray]:
        reader = self.second.reader.to(self.device)
        return score_lists(reader, chunk_table, lists, learned_until=self.second.learned_until)

    def rankings(
        self, tables: Iterable[FeatureTable], labelled: LabelledReports, stage: StageOne, progress: Progress = silent
    ) -> Iterator[Ranking]:
        """Final rankings of labelled reports, every file of each version, a block of reports at a time."""
        paths, rest, depth = labelled.repo.path_names.names, iter(tables), self.second.settings.candidates
        if not self.second.mix:  # validation wants nothing of it, so nothing is read
            yield from (table.ranking(stage.scores(table.rows), paths) for table in rest)
            return
        while block := list(islice(rest, BLOCK)):
            lists = self.lists(candidates_of(block, labelled, stage, depth))
            for table, one, deep in zip(block, lists, self.deep(lists, progress), strict=True):
                scores = stage.scores(table.rows)
                yield table.ranking(
                    self.scores(scores, one, deep) if self.second.knew_by(one.opened) else scores, paths
                )

    def reread(self, report: BugReport, snapshot: Snapshot, table: Rows, scores: FloatArray) -> FloatArray:
        """(F,) final scores of a version's files for a new report, from stage one's (F, K) features and (F,) scores."""
        if not self.second.mix or not self.second.knew_by(report.opened_seconds):
            return scores
        rows = np.argsort(-scores, kind="stable")[: self.second.settings.candidates]
        head = Candidates(
            report.id,
            report.summary,
            report.description,
            tuple(snapshot.paths[row] for row in rows.tolist()),
            tuple(snapshot.blobs[row] for row in rows.tolist()),
            np.zeros(len(rows), dtype=np.bool_),
            scores[rows],
            features_of(table[rows], scores[rows]),
        )
        [one] = self.lists([head])
        [deep] = self.deep([one])
        return self.scores(scores, one, deep)

    def carried(self, blobs: Sequence[str]) -> dict[str, np.ndarray]:
        """Arrays with the chunk vectors of blobs, for ``carried_from``; those that lack are made now."""
        made = self.source.vectors(blobs)
        known = [blob for blob in blobs if blob in made]
        none = np.zeros((0, self.second.code.width), dtype=np.float16)
        return {
            "blobs": pack_words(known),
            "sizes": np.array([len(made[blob]) for blob in known], dtype=np.int64),
            "vectors": np.concatenate([none, *(made[blob] for blob in known)]),
        }

    def scores(self, scores: FloatArray, one: CandidateList, deep: FloatArray) -> FloatArray:
        """(F,) final scores: the head by both stages, above all the rest, which keeps its order."""
        order = np.argsort(-scores, kind="stable")[: len(one.blobs)]
        best = scores.max(initial=0.0)
        return raised(scores, order, best + fused(one.scores, deep, self.second.mix))


def carried_from(stored: Mapping[str, np.ndarray]) -> Carried:
    """The vectors that ``Rereading.carried`` made into arrays."""
    blobs = unpack_words(stored["blobs"])
    ends = np.cumsum([0, *stored["sizes"].tolist()]).tolist()
    return Carried({blob: stored["vectors"][ends[i] : ends[i + 1]] for i, blob in enumerate(blobs)})


def fused(scores: FloatArray, deep: FloatArray, mix: float) -> FloatArray:
    """(C,) stage one's scores, counted from their best, and ``mix`` times the deep ones, counted from their mean.

    An infinite mix is the deep order alone.
    """
    if not len(scores):
        return scores
    if math.isinf(mix):
        alone: FloatArray = deep - deep.max()
        return alone
    together: FloatArray = scores - scores.max() + mix * (deep - deep.mean())
    return together


def choose_mix(
    lists: Sequence[Judgeable], deep: Sequence[FloatArray], final: str
) -> tuple[float, dict[str, tuple[float, float]]]:
    """The mix with the best MRR + MAP on these lists, the smallest of equals, and what each gave; ``deep`` has none."""
    mixes = (0.0, math.inf) if final == "deep" else (*WEIGHTS, math.inf)
    tried = {}
    for mix in mixes:
        values = [values_of(one, fused(one.scores, scores, mix)) for one, scores in zip(lists, deep, strict=True)]
        number = max(len(values), 1)
        tried[mix] = (math.fsum(rr for rr, _ in values) / number, math.fsum(ap for _, ap in values) / number)
    allowed = [math.inf] if final == "deep" else WEIGHTS
    best = max(allowed, key=lambda mix: (round(sum(tried[mix]), 9), -mix))
    names = {0.0: "stage one", math.inf: "deep"}
    return best, {names.get(mix, f"fused x {mix:g}"): value for mix, value in tried.items()}


def fingerprint(settings: StageTwoSettings, lists: Sequence[CandidateList], *more: object) -> str:
    """Of everything that a training depends on."""
    told = [settings.model_dump(mode="json"), [str(one) for one in more]]
    digest = hashlib.sha256(json.dumps(told).encode())
    for one in lists:
        digest.update(f"{one.report} {' '.join(one.blobs)}".encode())
        digest.update(one.fixed.tobytes())
        digest.update(np.concatenate([*one.queries, np.zeros(0, dtype=np.int32)]).tobytes())
    return digest.hexdigest()
