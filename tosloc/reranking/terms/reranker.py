"""Stage two by term vectors: stage one's first files become rows of bags, and the encoder' scores a new order of them.

Shapes: F files of a version, C candidates, V terms with the padding, n files asked about.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Protocol, Self

import numpy as np
import safetensors
import safetensors.numpy
from scipy import sparse

from tosloc.analysis.facts import language_of
from tosloc.analysis.store import FactStore, FactTable
from tosloc.config import RankerSettings, TermsSettings
from tosloc.errors import CheckpointError
from tosloc.files import write_text, written_whole
from tosloc.index.context import QueryContext
from tosloc.index.corpus import Corpus, suffix_of
from tosloc.index.documents import DocumentsView
from tosloc.index.history_index import HistoryAsOf, HistoryIndex
from tosloc.index.query import Query
from tosloc.learning.lambdamart import HeadRanker, raised
from tosloc.learning.ranking_lists import Rows
from tosloc.metrics import fixed_ranks, rr_and_ap
from tosloc.records import BoolArray, Case, FloatArray, IntArray, LongArray, Progress, Ranking, silent
from tosloc.reranking.terms.combiner import chained, fit_last, last_rows
from tosloc.reranking.terms.dual_encoder import CachedDualEncoder, CandidateRows, DualEncoder
from tosloc.reranking.terms.file_history import FileHistories
from tosloc.reranking.terms.vocabulary import (
    Float32Array,
    SparseVectorCache,
    SparseVectors,
    TermVocabulary,
    principal,
    report_counts,
)
from tosloc.retrieval.feature_tables import FeatureTable, LabelledReports
from tosloc.retrieval.fitting import MARGIN
from tosloc.retrieval.stage_one import StageOne

SCHEMA: Final = 1
RECORD: Final = "terms.json"
WEIGHTS: Final = (0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0)
"""Points of the encoder' score for one of stage one's that validation measures too, without the last layer."""
STAGE_ONE: Final = "stage one"
BOTH: Final = "both stages"
LOADED = 4000
"""Files whose facts are in memory together when many are made into bags."""
JOINED = 10
"""Fixed files of a training report whose contents join it when term vectors begin."""
SHOWN = 3
"""Words of the report that a reason names."""
IDFS: Final = ("in_files", "in_reports", "in_commits", "in_fixes")


class FactSource(Protocol):
    """Where the facts of files come from."""

    def __call__(self, blobs: Sequence[str], paths: Sequence[str]) -> tuple[FactTable, LongArray]:
        """A table that holds the facts of these files, and (n,) the row of each, -1 where there are none."""


def in_corpus(corpus: Corpus) -> FactSource:
    """The facts of a version that is in memory."""
    known = corpus.row_of_blob
    return lambda blobs, paths: (corpus.table, np.array([known.get(blob, -1) for blob in blobs], dtype=np.int64))


def in_store(store: FactStore, suffixes: frozenset[str]) -> FactSource:
    """The facts of a store; a blob that it lacks has no terms."""

    def facts(blobs: Sequence[str], paths: Sequence[str]) -> tuple[FactTable, LongArray]:
        languages = [language_of(suffix_of(path, suffixes)) for path in paths]
        return store.load(list(blobs), languages, allow_missing=True), np.arange(len(blobs), dtype=np.int64)

    return facts


class FileWords:
    """SparseVectors of a project's files, made when first asked for."""

    def __init__(
        self, vocabulary: TermVocabulary, settings: TermsSettings, facts: FactSource, evidence: HistoryIndex, paths: int
    ) -> None:
        self.vocabulary, self.settings = vocabulary, settings
        self._facts = facts
        self._contents = SparseVectorCache(settings.content_terms)
        self._touches = FileHistories(evidence, vocabulary, paths, settings.history_terms, settings.history_years)
        self._numbers: tuple[tuple[str, ...], IntArray] = ((), np.zeros(0, dtype=np.int32))

    @property
    def contents(self) -> SparseVectors:
        """SparseVectors of the contents that were asked for."""
        return self._contents.bags

    @property
    def histories(self) -> SparseVectors:
        """SparseVectors of the histories that were asked for."""
        return self._touches.cache.bags

    def content_rows(self, blobs: Sequence[str], paths: Sequence[str]) -> LongArray:
        """(n,) rows of files in ``contents``."""

        def make(new: LongArray) -> SparseVectors:
            parts = [new[start : start + LOADED].tolist() for start in range(0, len(new), LOADED)]
            return SparseVectors.joined(
                [self._made([blobs[n] for n in part], [paths[n] for n in part]) for part in parts]
            )

        return self._contents.rows(list(zip(blobs, paths, strict=True)), make)

    def _made(self, blobs: Sequence[str], paths: Sequence[str]) -> SparseVectors:
        table, rows = self._facts(blobs, paths)
        if self._numbers[0] is not table.vocabulary:
            self._numbers = (table.vocabulary, self.vocabulary.numbers(table.vocabulary))
        return self.vocabulary.of_contents(table, self._numbers[1], rows, paths, self.settings.content_terms)

    def history_rows(self, files: IntArray, history: HistoryAsOf) -> LongArray:
        """(n,) rows of files, by the evidence's numbers, in ``histories``."""
        return self._touches.rows(files, history)

    def reports(self, counts: Sequence[Mapping[str, float]]) -> SparseVectors:
        """SparseVectors of reports."""
        return self.vocabulary.of_reports(counts, self.settings.report_terms)


@dataclass(frozen=True, eq=False)
class Material:
    """LabelledReports reports with the facts of their files and what was known when they were opened."""

    labelled: LabelledReports
    store: FactStore
    evidence: HistoryIndex
    contained: Callable[[str], BoolArray]
    """Commits of the history that a version contains."""

    def moment(self, case: Case) -> HistoryAsOf:
        """What was known when a report was opened."""
        return self.evidence.as_of(case.report.opened_seconds, self.contained(case.version))

    def named(self, blobs: Sequence[int], paths: Sequence[int]) -> tuple[list[str], list[str]]:
        """Ids of blobs and paths of files, by their numbers in the repository."""
        repo = self.labelled.repo
        return [repo.blob_names.names[n] for n in blobs], [repo.path_names.names[n] for n in paths]

    @property
    def facts(self) -> FactSource:
        """Facts of the versions' files."""
        return in_store(self.store, self.labelled.suffixes)

    def words(self, vocabulary: TermVocabulary, settings: TermsSettings) -> FileWords:
        """SparseVectors of all files."""
        return FileWords(vocabulary, settings, self.facts, self.evidence, len(self.labelled.repo.path_names))


@dataclass(frozen=True, eq=False)
class First:
    """The first files of one report's table, by some score."""

    case: Case
    files: IntArray
    """(C,) numbers of their paths."""
    blobs: IntArray
    """(C,) numbers of their blobs."""
    fixed: BoolArray
    scores: FloatArray
    features: Rows
    """(C, K + 2) of ``features_at``."""
    missed_ranks: tuple[int, ...]


def features_at(table: Rows, linear: FloatArray, rows: LongArray) -> Rows:
    """(C, K + 2) some rows of a feature table (F, K), as ``head_rows`` has them: with their linear score and rank."""
    ranks = np.empty(len(linear), dtype=np.int64)
    ranks[np.argsort(-linear, kind="stable")] = np.arange(1, len(linear) + 1)
    below = linear[rows] - linear.max(initial=-np.inf)
    return np.column_stack([table[rows], below, np.log1p(ranks[rows])]).astype(np.float32)


def first_files(
    table: FeatureTable, scores: FloatArray, linear: FloatArray, material: Material, depth: int, *, missed: bool
) -> First:
    """The first ``depth`` files by ``scores``; with ``missed`` every fixed file beyond them too."""
    case = material.labelled.cases[table.report]
    order = np.argsort(-scores, kind="stable")
    rows, rest = order[:depth], order[depth:]
    lost = np.flatnonzero(table.fixed[rest])
    ranks: tuple[int, ...] = tuple((lost + len(rows) + 1).tolist())
    if missed:
        rows, ranks = np.concatenate((rows, rest[lost])), ()
    snapshot = material.labelled.repo.snapshot(case.version, material.labelled.suffixes)
    by_path = np.argsort(snapshot.path_ids)
    files = table.path_ids[rows]
    places = by_path[np.searchsorted(snapshot.path_ids, files, sorter=by_path)]
    features = features_at(table.rows, linear, rows)
    return First(case, files, snapshot.blob_ids[places], table.fixed[rows], scores[rows], features, ranks)


def counts_of(query: Query) -> dict[str, float]:
    """How many times each term of a report counts."""
    return report_counts(query.summary_counts, query.prose_counts)


def lists_of(firsts: Sequence[First], words: FileWords, material: Material) -> list[CandidateRows]:
    """First files as rows of ``words``; report r is the r-th of them."""
    none = np.zeros(0, dtype=np.int32)
    files = np.concatenate([none, *(first.files for first in firsts)])
    blobs = np.concatenate([none, *(first.blobs for first in firsts)])
    contents = words.content_rows(*material.named(blobs.tolist(), files.tolist()))
    ends = np.cumsum([0, *(len(first.files) for first in firsts)]).tolist()
    return [
        CandidateRows(
            number,
            contents[ends[number] : ends[number + 1]],
            words.history_rows(first.files, material.moment(first.case)),
            first.fixed,
            first.scores,
            first.missed_ranks,
        )
        for number, first in enumerate(firsts)
    ]


@dataclass(frozen=True, eq=False)
class Wording:
    """A learned second stage: the terms that count, their vectors, the last layer, and how much they say."""

    settings: TermsSettings
    vocabulary: TermVocabulary
    encoder: DualEncoder
    mix: float = 0.0
    """Points of the encoder for one of stage one's; 0 leaves all to stage one."""
    last: HeadRanker | None = None
    """The last layer, and in its ``weight_`` the same of it."""
    tried: Mapping[str, tuple[float, float]] | None = None
    """What validation saw: MRR and MAP by name."""
    learned_on: tuple[str, ...] = ("train",)
    learned_until: int = 0
    """When the last of the reports that it learned from was fixed, seconds since 1970."""

    def rankings(
        self, tables: Iterable[FeatureTable], stage: StageOne, words: FileWords, material: Material
    ) -> Iterator[Ranking]:
        """Final rankings of labelled reports, every file of each version."""
        paths, cached = material.labelled.repo.path_names.names, CachedDualEncoder(self.encoder)
        for table in tables:
            scores = stage.scores(table.rows)
            if self.mix and self.knew_by(material.labelled.cases[table.report].report.opened_seconds):
                linear, depth = stage.linear(table.rows), self.settings.candidates
                first = first_files(table, scores, linear, material, depth, missed=False)
                [one] = lists_of([first], words, material)
                parts = parts_of(cached, words, counts_of(Query(first.case.report)), one)
                scores = final_scores(scores, self.points(parts, first.features))
            yield table.ranking(scores, paths)

    def points(self, parts: FloatArray, features: Rows) -> FloatArray:
        """(C,) what the second stage adds to stage one's scores, from ``parts_of`` and ``features_at``."""
        added: FloatArray = self.mix * parts.sum(axis=1)
        return added if self.last is None else added + self.last.weight_ * self.last.scores(last_rows(features, parts))

    def knew_by(self, opened: float) -> bool:
        """Whether all that it learned from was fixed when a report was opened; if not, stage one alone may rank it."""
        return opened >= self.learned_until

    def learned_from(self, split: str, cases: Sequence[Case]) -> bool:
        """Whether it learned from such a part of the reports, and some of these were fixed by then."""
        return split in self.learned_on and any(case.fixed_at <= self.learned_until for case in cases)

    # Keeping

    def save(self, folder: Path) -> None:
        """Write vectors and rarities under a name of their content, and last the record that names them."""
        folder.mkdir(parents=True, exist_ok=True)
        weights = f"vectors-{self.encoder.digest}.safetensors"
        rare = {name: getattr(self.vocabulary, name).astype(np.float64) for name in IDFS}
        with written_whole(folder / weights) as temporary:
            safetensors.numpy.save_file({**self.encoder.arrays(), **rare}, temporary)
        kept, last = {weights}, None
        if self.last is not None:
            text = self.last.text()
            trees = f"last-{hashlib.sha256(text.encode()).hexdigest()[:16]}.txt"
            write_text(folder / trees, text)
            kept, last = {weights, trees}, {"trees": trees, "mix": self.last.weight_}
        record = {
            "schema": SCHEMA,
            "settings": self.settings.model_dump(mode="json"),
            "weights": weights,
            "gains": dict(self.encoder.gains),
            "mix": self.mix,
            "last": last,
            "validation": self.tried,
            "learned_on": self.learned_on,
            "learned_until": self.learned_until,
            "terms": self.vocabulary.terms,
        }
        write_text(folder / RECORD, json.dumps(record, indent=1, ensure_ascii=False) + "\n")
        for old in [*folder.glob("vectors-*"), *folder.glob("last-*")]:
            if old.name not in kept:
                old.unlink()

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Second stage of a folder. Raises CheckpointError when it is incomplete, damaged or of a newer version."""
        try:
            record = json.loads((folder / RECORD).read_text(encoding="utf-8"))
            if record["schema"] > SCHEMA:
                raise CheckpointError(f"{folder / RECORD}: written by a newer TosLoc; update TosLoc")
            arrays = safetensors.numpy.load_file(folder / str(record["weights"]))
            encoder = DualEncoder.of(arrays, record["gains"])
            vocabulary = TermVocabulary(tuple(record["terms"]), **{name: arrays[name] for name in IDFS})
            if {len(vocabulary), encoder.shape[0]} != {len(arrays[name]) for name in IDFS}:
                raise ValueError("terms and vectors differ in number")
            tried, last = record["validation"], record["last"]
            trees = None if last is None else (folder / str(last["trees"])).read_text(encoding="utf-8")
            return cls(
                TermsSettings.model_validate(record["settings"]),
                vocabulary,
                encoder,
                float(record["mix"]),
                None if trees is None else HeadRanker.from_text(trees, RankerSettings(), float(last["mix"])),
                None if tried is None else {name: (mrr, map_) for name, (mrr, map_) in tried.items()},
                tuple(record["learned_on"]),
                int(record["learned_until"]),
            )
        except CheckpointError:
            raise
        except (OSError, ValueError, KeyError, TypeError, AttributeError, safetensors.SafetensorError) as error:
            raise CheckpointError(
                f"{folder}: this second stage is incomplete or damaged ({' '.join(str(error).split())[:100]}); train it"
                " again, or copy the whole folder"
            ) from error


@dataclass(frozen=True, eq=False)
class Rewording:
    """A learned second stage on the files of one version."""

    wording: Wording
    words: FileWords
    cached: CachedDualEncoder

    @classmethod
    def of(cls, wording: Wording, corpus: Corpus, evidence: HistoryIndex, paths: int) -> Self:
        """On a version that is in memory; ``evidence`` numbers so many paths."""
        words = FileWords(wording.vocabulary, wording.settings, in_corpus(corpus), evidence, paths)
        return cls(wording, words, CachedDualEncoder(wording.encoder))

    def reread(self, context: QueryContext, table: Rows, linear: FloatArray, scores: FloatArray) -> FloatArray:
        """(F,) final scores of the version's files from stage one's features (F, K), linear and final scores (F,)."""
        wording = self.wording
        if not wording.mix or not len(scores) or not wording.knew_by(context.history.opened):
            return scores
        rows = np.argsort(-scores, kind="stable")[: wording.settings.candidates]
        contents, histories = self._rows(context, rows)
        one = CandidateRows(0, contents, histories, np.zeros(len(rows), dtype=np.bool_), scores[rows])
        parts = parts_of(self.cached, self.words, counts_of(context.query), one)
        return final_scores(scores, wording.points(parts, features_at(table, linear, rows)))

    def _rows(self, context: QueryContext, rows: LongArray) -> tuple[LongArray, LongArray]:
        snapshot = context.version.text.snapshot
        blobs, paths = ([names[row] for row in rows.tolist()] for names in (snapshot.blobs, snapshot.paths))
        files = context.version.paths.path_ids[rows]
        return self.words.content_rows(blobs, paths), self.words.history_rows(files, context.history)

    def why(self, context: QueryContext, file: int) -> list[tuple[str, str]]:
        """The terms of the report that bring a file most, each with the file's term that answers it best."""
        contents, histories = self._rows(context, np.array([file], dtype=np.int64))
        terms = self.wording.vocabulary.terms
        found = self.wording.encoder.matches(
            self.words.reports([counts_of(context.query)]),
            self.words.contents.take(contents),
            self.words.histories.take(histories),
            SHOWN,
        )
        return [(terms[match.asked], terms[match.found]) for match in found]


@dataclass(frozen=True, eq=False)
class Learned:
    """A second stage as it was made, with the bags of the files that it was made from."""

    judged: Wording
    """What has not seen validation, to rank it by."""
    final: Wording
    """What ranks whatever comes later."""
    stage: StageOne
    words: FileWords
    material: Material

    def rankings(self, tables: Iterable[FeatureTable], *, validation: bool = False) -> Iterator[Ranking]:
        """Rankings by both stages; those of ``validation`` by what has not seen it."""
        wording = self.judged if validation else self.final
        return wording.rankings(tables, self.stage, self.words, self.material)


def parts_of(
    cached: CachedDualEncoder, words: FileWords, counts: Mapping[str, float], one: CandidateRows
) -> FloatArray:
    """(C, 2) what encoder say of a report's candidates, by content and by history."""
    return cached.parts(words.reports([counts]), words.contents, words.histories, one)


def final_scores(scores: FloatArray, points: FloatArray) -> FloatArray:
    """(F,) final scores: the head by both stages, above all the rest, which keeps its order."""
    order = np.argsort(-scores, kind="stable")[: len(points)]
    return raised(scores, order, scores[order] + points)


def learn(
    settings: TermsSettings,
    trees: RankerSettings,
    stage: StageOne,
    material: Material,
    train: Iterable[FeatureTable],
    validation: Callable[[], Iterable[FeatureTable]],
    *,
    seed: int,
    progress: Progress = silent,
) -> Learned:
    """Learn on train, ask validation whether it gains, and where the settings say so learn again on both.

    Terms, their idf and the start vectors are those of train, of which only the newest reports count where the
    settings say how many; ``trees`` are how the last layer learns, which sees no validation. Raises ToslocError where
    no training report can teach anything.
    """
    from tosloc.reranking.terms.training import DualEncoderTrainingSet, fit  # torch, only where it is needed

    firsts, counts = learning(settings, stage, material, train)
    firsts, counts = firsts[-settings.train_reports :], counts[-settings.train_reports :]
    progress("bags of terms", 0, 2)
    newest = newest_files(firsts)
    words = material.words(vocabulary_of(settings, material, firsts, newest, counts), settings)
    progress("bags of terms", 1, 2)
    lists = lists_of(firsts, words, material)
    reports = words.reports(counts)
    progress("bags of terms", 2, 2)

    def started(number: int) -> Float32Array:
        some = newest_files(firsts[:number])
        return start_of(settings, words, material, some, lists[:number], reports.take(np.arange(number)), seed)

    def fitted(start: Float32Array, reports: SparseVectors, lists: Sequence[CandidateRows]) -> DualEncoder:
        training_set = DualEncoderTrainingSet(reports, words.contents, words.histories, lists)
        return fit(settings, start, training_set, seed=seed, progress=progress)

    def asked(cached: CachedDualEncoder, one: CandidateRows) -> FloatArray:
        return cached.parts(reports.take(np.array([one.report])), words.contents, words.histories, one)

    last = None
    if settings.last_layer:
        earlier = chained(
            lists, [first.case for first in firsts], lambda n: fitted(started(n), reports, lists[:n]), asked
        )
        features = [first.features for first in firsts]
        last = fit_last(trees, lists, features, earlier, seed=seed, weight=settings.last_layer)
    start = started(len(firsts))
    judged = Wording(
        settings,
        words.vocabulary,
        fitted(start, reports, lists),
        mix=settings.mix,
        last=last,
        learned_until=last_fix(firsts),
    )
    judged = replace(judged, tried=tried_mixes(judged, validation(), stage, words, material))
    if not gains(judged.tried):
        judged = replace(judged, mix=0.0, last=None)
    if not settings.refit or not judged.mix:
        return Learned(judged, judged, stage, words, material)
    later, more = learning(settings, stage, material, validation())
    lists += [replace(one, report=len(counts) + one.report) for one in lists_of(later, words, material)]
    final = replace(
        judged,
        encoder=fitted(start, words.reports([*counts, *more]), lists),
        learned_on=(*judged.learned_on, "validation"),
        learned_until=max(judged.learned_until, last_fix(later)),
    )
    return Learned(judged, final, stage, words, material)


def learning(
    settings: TermsSettings, stage: StageOne, material: Material, tables: Iterable[FeatureTable]
) -> tuple[list[First], list[dict[str, float]]]:
    """What is learned from: the first files by the linear score, with every fixed file, and the reports' terms."""
    firsts = [
        first_files(table, linear, linear, material, settings.depth, missed=True)
        for table in tables
        if table.fixed.any()
        for linear in [stage.linear(table.rows)]
    ]
    return firsts, [counts_of(Query(first.case.report)) for first in firsts]


def last_fix(firsts: Sequence[First]) -> int:
    """When the last of the reports was fixed, seconds since 1970; 0 without any."""
    return max((int(first.case.fixed_at) for first in firsts), default=0)


def newest_files(firsts: Sequence[First]) -> dict[int, int]:
    """Path -> blob of its newest version among the files, by number; paths in order."""
    newest: dict[int, int] = {}
    for first in firsts:
        newest.update(zip(first.files.tolist(), first.blobs.tolist(), strict=True))
    return dict(sorted(newest.items()))


def vocabulary_of(
    settings: TermsSettings,
    material: Material,
    firsts: Sequence[First],
    newest: Mapping[int, int],
    counts: Sequence[Mapping[str, float]],
) -> TermVocabulary:
    """The terms that count, by the newest training version of each file, the training reports, and the past then."""
    blobs, paths = material.named(list(newest.values()), list(newest))
    facts = material.facts
    tables = (
        facts(blobs[start : start + LOADED], paths[start : start + LOADED])[0] for start in range(0, len(paths), LOADED)
    )
    past = material.evidence.as_of(last_fix(firsts))
    return TermVocabulary.learned(
        tables,
        paths,
        counts,
        idf_of(past.commits),
        idf_of(past.reports),
        min_files=settings.min_files,
        min_reports=settings.min_reports,
    )


def idf_of(view: DocumentsView) -> dict[str, float]:
    """Inverse document frequency of each known term, and under "" that of an unknown one."""
    unknown = float(np.log1p((view.number + 0.5) / 0.5))
    return dict(zip(view.documents.vocabulary, view.idf.tolist(), strict=True)) | {"": unknown}


def start_of(
    settings: TermsSettings,
    words: FileWords,
    material: Material,
    newest: Mapping[int, int],
    lists: Sequence[CandidateRows],
    reports: SparseVectors,
    seed: int,
) -> Float32Array:
    """(V, d) vectors by which files, reports, and reports joined with their fixed files are told apart best."""
    terms = len(words.vocabulary)
    rows = words.content_rows(*material.named(list(newest.values()), list(newest)))
    contents, asked = words.contents.matrix(terms), reports.matrix(terms)
    fixed = [one.contents[np.flatnonzero(one.fixed)[:JOINED]] for one in lists]
    starts = np.cumsum([0, *map(len, fixed)])
    shares = np.repeat([1.0 / max(len(some), 1) for some in fixed], np.diff(starts))
    mean = sparse.csr_array((shares, np.concatenate(fixed), starts), shape=(len(lists), contents.shape[0]))
    return principal(
        sparse.vstack((contents[rows], asked, asked + mean @ contents), format="csr"), settings.width, seed
    )


def tried_mixes(
    wording: Wording, tables: Iterable[FeatureTable], stage: StageOne, words: FileWords, material: Material
) -> dict[str, tuple[float, float]]:
    """MRR and MAP of stage one, of both stages, and of some mixes of the encoder without the last layer."""
    sums: dict[str, FloatArray] = {}
    reports, cached = 0, CachedDualEncoder(wording.encoder)
    for table in tables:
        scores, linear = stage.scores(table.rows), stage.linear(table.rows)
        first = first_files(table, scores, linear, material, wording.settings.candidates, missed=False)
        parts, points = np.zeros((len(first.files), 2)), np.zeros(len(first.files))
        if wording.knew_by(first.case.report.opened_seconds):
            [one] = lists_of([first], words, material)
            parts = parts_of(cached, words, counts_of(Query(first.case.report)), one)
            points = wording.points(parts, first.features)
        reports += 1
        encoder = {f"vectors x {mix:g}": mix * parts.sum(axis=1) for mix in WEIGHTS}
        for name, added in {STAGE_ONE: np.zeros(len(points)), BOTH: points, **encoder}.items():
            ranks = [*fixed_ranks(first.scores + added, first.fixed).tolist(), *first.missed_ranks]
            sums[name] = sums.get(name, np.zeros(2)) + rr_and_ap(ranks)
    return {name: (float(pair[0]) / max(reports, 1), float(pair[1]) / max(reports, 1)) for name, pair in sums.items()}


def gains(tried: Mapping[str, tuple[float, float]] | None) -> bool:
    """Whether both stages gain on stage one in MRR + MAP by more than a margin, and lose in neither.

    One mix for every project and a yes or no of its own: some hundred reports cannot tell the best of several.
    """
    if not tried:
        return False
    gain = np.round(np.subtract(tried[BOTH], tried[STAGE_ONE]), 9)
    return bool(gain.min() >= 0 and gain.sum() > MARGIN)
