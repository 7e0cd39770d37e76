"""The tool itself: learn from labelled reports, rank every file of a version for a new one, say why."""

from __future__ import annotations

import difflib
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

import tosloc
from tosloc.analysis.facts import ANALYSER
from tosloc.analysis.store import FactTable
from tosloc.arrays import load_arrays, pack_strings, prefixed, save_arrays, under, unpack_strings
from tosloc.config import Config
from tosloc.data.git import Repository
from tosloc.errors import CheckpointError, ConfigError, StoreError, ToslocError
from tosloc.files import write_text
from tosloc.index.context import QueryContext, VersionIndex
from tosloc.index.corpus import Corpus, VersionView
from tosloc.index.documents import Documents
from tosloc.index.history_index import HistoryIndex
from tosloc.index.paths import PathTable, PathView
from tosloc.index.query import Query
from tosloc.index.repository import IndexedRepository
from tosloc.index.snapshots import snapshot_from_arrays, snapshot_to_arrays
from tosloc.learning.lambdamart import HeadRanker
from tosloc.records import (
    BugReport,
    Case,
    FloatArray,
    Hit,
    LongArray,
    Names,
    Progress,
    Ranking,
    Reason,
    Snapshot,
    silent,
)
from tosloc.reranking.candidates_of_tables import candidates_of
from tosloc.retrieval import features
from tosloc.retrieval.feature_tables import Extraction, FeatureTable, LabelledReports, ranking_lists, tasks_of
from tosloc.retrieval.fitting import Choice, fit_stage_one
from tosloc.retrieval.reasons import Explainer
from tosloc.retrieval.stage_one import StageOne

if TYPE_CHECKING:
    from tosloc.reranking.encoder.checkpoint import EncoderModels
    from tosloc.reranking.encoder.reranker import Rereading
    from tosloc.reranking.terms.reranker import Learned, Material, Rewording, Wording

SCHEMA = 1
"""Version of the checkpoint's layout."""
SECOND = "second"
"""Folder of the second stage in a checkpoint."""
VECTORS = "vectors.npz"
"""Chunk vectors of the version carried along, in it."""
TERMS = "terms"
"""Folder of a second stage of term vectors in a checkpoint."""
NOTHING_TO_LEARN = (
    "no training report has a fixed file in its version; are these the reports of this repository, and its suffixes?"
)


@dataclass(eq=False)
class OpenVersion:
    """One version made ready for questions, with the evidence about its files."""

    snapshot: Snapshot
    place: VersionIndex
    evidence: HistoryIndex
    notes: tuple[str, ...] = ()
    rereading: Rereading | None = None
    """The second stage with the version's files at hand, where there is one."""
    rewording: Rewording | None = None
    """The same for one of term vectors."""

    @classmethod
    def of(
        cls,
        snapshot: Snapshot,
        corpus: Corpus,
        evidence: HistoryIndex,
        paths: Sequence[str],
        notes: tuple[str, ...] = (),
    ) -> Self:
        """OpenVersion of a version; ``paths`` are what the evidence's numbers mean.

        Files that are gone stay in the evidence, after the version's own: what was said of them is heard through their
        names, here as in training.
        """
        compact = Snapshot.of(
            snapshot.commit, snapshot.committed_at, dict(zip(snapshot.paths, snapshot.blobs, strict=True))
        )
        numbers = np.array([compact.path_names.id(path) for path in paths], dtype=np.int32)
        table = PathTable(compact.path_names.names)
        place = VersionIndex(
            VersionView(corpus, compact, resident=True), PathView(table, compact.path_ids, resident=True)
        )
        renumbered = HistoryIndex(evidence.commits.renumbered(numbers), evidence.reports.renumbered(numbers))
        return cls(compact, place, renumbered, notes)


@dataclass(eq=False)
class Localization:
    """The answer to one report: a full ranking, and reasons for as many of its files as are asked for."""

    ranking: Ranking
    context: QueryContext
    columns: Mapping[str, FloatArray]
    stage_one: StageOne
    notes: tuple[str, ...]
    first_scores: FloatArray | None = None
    """(F,) stage one's scores, where a second stage has read the first files again."""
    rewording: Rewording | None = None
    """The second stage that did so by term vectors."""

    @cached_property
    def _explainer(self) -> Explainer:
        weights = dict(zip(self.stage_one.features, self.stage_one.weights.tolist(), strict=True))
        return Explainer(self.context, self.columns, weights)

    @cached_property
    def _given(self) -> FloatArray:
        """(F,) what the second stage gave to each file."""
        final = dict(zip(self.ranking.paths, self.ranking.scores.tolist(), strict=True))
        given: FloatArray = (
            np.array([final[path] for path in self.context.version.text.snapshot.paths]) - self.first_scores
        )
        return given

    @cached_property
    def _first_order(self) -> LongArray:
        """(F,) the files in stage one's order."""
        assert self.first_scores is not None
        order: LongArray = np.argsort(-self.first_scores, kind="stable")
        return order

    def top(self, number: int) -> list[Hit]:
        """The first files with their reasons."""
        place = {path: file for file, path in enumerate(self.context.version.text.snapshot.paths)}
        return [
            Hit(rank, path, round(float(score), 6), self._why(place[path], rank))
            for rank, (path, score) in enumerate(
                zip(self.ranking.paths[:number], self.ranking.scores[:number].tolist(), strict=True), start=1
            )
        ]

    def _why(self, file: int, rank: int) -> tuple[Reason, ...]:
        why = tuple(self._explainer.why(file))
        if self.first_scores is None:
            return why
        before = int((self.first_scores > self.first_scores[file]).sum()) + 1
        if before == rank:
            return why
        way = f"{'up' if rank < before else 'down'} from place {before}"
        moved = f"read again by the deep model: {way}"
        if self.rewording is not None:
            matches = self.rewording.why(self.context, file) if rank < before else []
            words = ", ".join(self._explainer.as_answered(asked, found) for asked, found in matches)
            moved = f"read again by its words: {way}" + (f" ({words})" if words else "")
        # beside the file that stood here before: all of the head may have been raised
        given = self._given
        return (Reason("deep", round(float(given[file] - given[self._first_order[rank - 1]]), 6), moved), *why)


class Localizer:
    """Stage one, learned or with the shipped weights. ``fit`` forgets what an earlier ``fit`` learned."""

    def __init__(self, config: Config | None = None) -> None:
        self.config = config or Config()
        self.stage_one_: StageOne | None = None
        self.choice_: Choice | None = None
        self.second_: EncoderModels | None = None
        """The deep model that reads the first files again, where one was learned."""
        self.wording_: Wording | None = None
        """The term vectors that do so, where they were learned."""
        self.reports_: tuple[Documents, tuple[str, ...]] | None = None
        """Fixed reports that training knew, with the paths that their numbers mean."""
        self.version_: OpenVersion | None = None
        self.provenance_: dict[str, Any] = {}

    # Learning

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Features that the configuration names, or all of its method."""
        settings = self.config.stage_one
        names = settings.features or (tuple(features.PAPER) if settings.method == "paper" else features.NAMES)
        unknown = [name for name in names if name not in features.ALL]
        if unknown:
            near = difflib.get_close_matches(unknown[0], features.ALL, n=1)
            hint = f", did you mean {near[0]!r}?" if near else f"; known are {', '.join(features.ALL)}"
            raise ConfigError(f"[stage_one] features: no feature is called {unknown[0]!r}{hint}")
        return tuple(names)

    def training_tasks(self, train: Sequence[Case]) -> tuple[Sequence[Case], int]:
        """The training reports that the fit looks at, and how many wrong files of each (0: all).

        Raises ToslocError when no report has a fixed file.
        """
        settings = self.config.stage_one
        useful = [case for case in train if case.fixed]
        if not useful:
            raise ToslocError(NOTHING_TO_LEARN)
        if settings.fit == "differential_evolution":
            return useful[-settings.evolution.train_reports :], 0
        return useful, settings.sampled_negatives

    def fit(
        self,
        extraction: Extraction,
        train: Sequence[Path],
        validation: Sequence[Path],
        *,
        default: StageOne | None = None,
        progress: Progress = silent,
    ) -> Self:
        """Learn from extracted feature tables: weights on train, every choice on validation."""
        learned = ranking_lists(extraction.tables(train))
        if not len(learned):
            raise ToslocError(NOTHING_TO_LEARN)
        self.stage_one_, self.choice_ = fit_stage_one(
            self.config.stage_one,
            self.feature_names,
            learned,
            lambda: extraction.tables(validation),
            default,
            self.config.run.seed,
            progress,
        )
        return self

    def fit_second(
        self,
        project: IndexedRepository,
        labelled: LabelledReports,
        train: Callable[[], Iterable[FeatureTable]],
        validation: Callable[[], Iterable[FeatureTable]],
        work: Path,
        progress: Progress = silent,
    ) -> Self:
        """Learn the second stage on the first files of stage one; ``work`` holds what an interruption leaves."""
        from tosloc.reranking.encoder.checkpoint import EncoderModels

        settings, seed = self.config.stage_two, self.config.run.seed
        stage = self.stage_one
        number = len(stage.features) + 1 if settings.stage_one_features else 0
        self.second_ = EncoderModels.fresh(settings, number, seed)
        rereading = self.rereading(project)
        depth = settings.candidates
        chosen = candidates_of(train(), labelled, stage, depth, train=True) if settings.training.epochs else ()
        learned, judged = rereading.lists(chosen), rereading.lists(candidates_of(validation(), labelled, stage, depth))
        rereading.fit(learned, judged, work, seed=seed, progress=progress)
        return self

    def fit_wording(
        self,
        material: Material,
        train: Iterable[FeatureTable],
        validation: Callable[[], Iterable[FeatureTable]],
        progress: Progress = silent,
    ) -> Learned:
        """Learn a second stage of term vectors on the first files of stage one; also what ranks validation."""
        from tosloc.reranking.terms.reranker import learn

        settings, trees, seed = self.config.stage_two.terms, self.config.stage_one.ranker, self.config.run.seed
        learned = learn(settings, trees, self.stage_one, material, train, validation, seed=seed, progress=progress)
        self.wording_ = learned.final
        return learned

    def reranked(
        self,
        project: IndexedRepository,
        tables: Iterable[FeatureTable],
        labelled: LabelledReports,
        progress: Progress = silent,
    ) -> Iterator[Ranking]:
        """Rankings by both stages from extracted feature tables of all files."""
        return self.rereading(project).rankings(tables, labelled, self.stage_one, progress)

    @property
    def stage_one(self) -> StageOne:
        """What was learned. Raises ToslocError before ``fit`` or ``load``."""
        if self.stage_one_ is None:
            raise ToslocError("this localizer has learned nothing yet; call fit, or load a checkpoint")
        return self.stage_one_

    def rank_table(self, table: FeatureTable, paths: Sequence[str]) -> Ranking:
        """Ranking from an extracted feature table of all files."""
        return table.ranking(self.stage_one.scores(table.rows), paths)

    # Localizing

    def open(self, project: IndexedRepository, revision: str = "HEAD", progress: Progress = silent) -> Self:
        """Get ready to localize in a version: make missing facts, read the history, keep both in memory."""
        self.version_ = self._ground(project, project.sources(revision), progress)
        return self

    def _ground(self, project: IndexedRepository, snapshot: Snapshot, progress: Progress) -> OpenVersion:
        built = project.index([snapshot], progress)
        notes = []
        if built.missing:
            notes.append(
                f"{built.missing} files could not be read from the repository; they are ranked by their paths alone"
            )
        past = project.cached_history(snapshot.commit, self.config.history.max_files, progress)
        evidence = past.history
        if self.reports_ is not None:
            evidence = HistoryIndex(evidence.commits, _adopt(self.reports_, past.commit_numbers, past.paths))
        if not len(evidence.reports):
            notes.append("no earlier fix is known in this repository; history adds nothing to the ranking")
        version = OpenVersion.of(snapshot, project.corpus([snapshot]), evidence, past.paths.names, tuple(notes))
        if self.second_ is not None:
            version.rereading = self.rereading(project)
        self._reword(version)
        return version

    def _reword(self, version: OpenVersion) -> None:
        """Give the version the term vectors, where they were learned."""
        if self.wording_ is not None:
            from tosloc.reranking.terms.reranker import Rewording

            place = version.place
            version.rewording = Rewording.of(self.wording_, place.text.corpus, version.evidence, len(place.paths.table))

    def rereading(self, project: IndexedRepository) -> Rereading:
        """The second stage on a project's files, whose vectors are kept beside its facts."""
        from tosloc.reranking.encoder.reranker import (
            Encoded,
            Rereading,
            texts_of,
            vectors_path,
        )  # torch, only where it is needed
        from tosloc.reranking.encoder.vector_store import VectorStore

        assert self.second_ is not None
        store = VectorStore(vectors_path(project.store_path))
        return Rereading(self.second_, Encoded(self.second_, texts_of(project.repo), store))

    def localize(
        self,
        report: BugReport,
        repo: Repository | None = None,
        revision: str = "HEAD",
        store_path: Path | None = None,
        progress: Progress = silent,
    ) -> Localization:
        """Rank every file of a version for a report, with reasons; without a repository, of the version carried along.

        Raises ToslocError when neither a repository nor a carried version is there.
        """
        if repo is not None:
            project = IndexedRepository(repo, store_path, self._suffixes(), self.config.run.jobs)
            try:
                self.open(project, revision, progress)
            finally:
                project.close()
        if self.version_ is None:
            raise ToslocError("this checkpoint carries no version of its project; name a repository with --repo")
        return self.answer(report, self.version_)

    def _suffixes(self) -> tuple[str, ...]:
        # shipped weights serve any language, a learned checkpoint the files that it learned on
        return () if self.provenance_.get("shipped") else self.config.data.suffixes

    def answer(self, report: BugReport, version: OpenVersion) -> Localization:
        """Rank the files of a version that is ready."""
        stage = self.stage_one
        query = Query(report)
        context = QueryContext(query, version.place, version.evidence.as_of(report.opened_seconds))
        columns = features.columns(context, stage.features)
        table = np.empty((len(version.snapshot), len(stage.features)), dtype=np.float32)
        for place, name in enumerate(stage.features):
            table[:, place] = columns[name]
        scores, first = stage.scores(table), None
        if version.rereading is not None:
            first, scores = scores, version.rereading.reread(report, version.snapshot, table, scores)
        elif version.rewording is not None:
            first, scores = scores, version.rewording.reread(context, table, stage.linear(table), scores)
        ranking = Ranking.from_scores(report.id, version.snapshot.paths, scores)
        notes = list(version.notes)
        if not context.shares_words:
            notes.append("no word of the report occurs in any file; the order says only which files change most")
        return Localization(ranking, context, columns, stage, tuple(notes), first, version.rewording)

    def rank(self, report: BugReport, snapshot: Snapshot) -> Ranking:
        """Every file of the opened version, most suspicious first. Raises ToslocError for another version."""
        if self.version_ is None or self.version_.snapshot.commit != snapshot.commit:
            raise ToslocError(f"version {snapshot.commit[:12]} is not open; call open(project, revision) first")
        return self.answer(report, self.version_).ranking

    def candidates(self, ranking: Ranking) -> tuple[str, ...]:
        """The head of a ranking that a second stage reads again."""
        return ranking.paths[: self.config.stage_one.candidates]

    # Keeping

    def save(self, folder: Path) -> None:
        """Write the checkpoint: configuration, weights, fixed reports and, if opened, the version carried along."""
        stage = self.stage_one
        folder.mkdir(parents=True, exist_ok=True)
        write_text(folder / "config.json", json.dumps(self.config.as_dict(), indent=1, sort_keys=True) + "\n")
        if stage.ranker is not None:
            write_text(folder / "ranker.txt", stage.ranker.text())
        if self.reports_ is not None:
            documents, paths = self.reports_
            used = np.unique(documents.files)
            numbers = np.full(len(paths), -1, dtype=np.int32)
            numbers[used] = np.arange(len(used), dtype=np.int32)
            kept = documents.renumbered(numbers).to_arrays()
            names = pack_strings([paths[number] for number in used.tolist()])
            save_arrays(folder / "reports.npz", prefixed("reports", kept) | prefixed("paths", names))
        if self.version_ is not None:
            version = self.version_
            save_arrays(
                folder / "version.npz",
                {
                    **prefixed("version", snapshot_to_arrays(version.snapshot)),
                    **prefixed("facts", version.place.text.corpus.table.save_arrays()),
                    **prefixed("evidence", version.evidence.to_arrays(version.place.paths.table.paths)),
                },
            )
        if self.second_ is not None:
            self.second_.save(folder / SECOND)
            if self.version_ is not None and self.version_.rereading is not None:
                blobs = sorted(set(self.version_.snapshot.blobs))
                save_arrays(folder / SECOND / VECTORS, self.version_.rereading.carried(blobs))
        if self.wording_ is not None:
            self.wording_.save(folder / TERMS)
        write_text(folder / "provenance.json", json.dumps(self.provenance_, indent=1, sort_keys=True) + "\n")
        # last, because a folder without it is no checkpoint
        record = weights_record(stage, self.choice_) | ({} if self.wording_ is None else {"stage_two": TERMS})
        write_text(folder / "weights.json", json.dumps(record, indent=1) + "\n")

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Localizer from a checkpoint folder, or from a training folder that holds one. Never unpickles.

        Raises CheckpointError when it is missing, incomplete or made by a newer version.
        """
        place = Path(folder).expanduser()
        if not (place / "weights.json").exists() and (place / "checkpoint" / "weights.json").exists():
            place = place / "checkpoint"
        if not (place / "weights.json").exists():
            raise CheckpointError(
                f"{place} holds no checkpoint (no weights.json); name the folder that tosloc train wrote"
            )
        localizer = cls(Config.of(_json(place / "config.json"), str(place / "config.json")))
        record = _json(place / "weights.json")
        localizer.stage_one_ = stage_from(record, place, localizer.config)
        localizer.provenance_ = _json(place / "provenance.json")
        if (place / "reports.npz").exists():
            localizer.reports_ = _reports(place / "reports.npz")
        if (place / "version.npz").exists():
            localizer.version_ = _carried(place / "version.npz")
        if record.get("stage_two") == TERMS:
            localizer._load_wording(place / TERMS)
        elif (place / SECOND).exists():
            localizer._load_second(place / SECOND)
        return localizer

    def _load_wording(self, folder: Path) -> None:
        from tosloc.reranking.terms.reranker import Wording

        self.wording_ = Wording.load(folder)
        if self.version_ is not None:
            self._reword(self.version_)

    def _load_second(self, folder: Path) -> None:
        from tosloc.reranking.encoder.checkpoint import EncoderModels
        from tosloc.reranking.encoder.reranker import Rereading, carried_from  # torch, only where it is needed

        self.second_ = EncoderModels.load(folder)
        if self.version_ is not None and (folder / VECTORS).exists():
            self.version_.rereading = Rereading(self.second_, carried_from(load_arrays(folder / VECTORS)))

    @classmethod
    def default(cls) -> Self:
        """Localizer with the shipped weights: learned on the training parts of four projects, for any repository."""
        localizer = cls()
        localizer.stage_one_ = shipped()
        localizer.provenance_ = {"shipped": True}
        return localizer


def weights_record(stage: StageOne, choice: Choice | None = None) -> dict[str, Any]:
    """What weights.json holds."""
    return {
        "schema": SCHEMA,
        "tosloc": tosloc.__version__,
        "analyser": ANALYSER,
        "weights": dict(zip(stage.features, stage.weights.tolist(), strict=True)),
        "mix": stage.ranker.weight_ if stage.ranker is not None else None,
        "validation": {"taken": choice.taken, "tried": choice.tried} if choice is not None else None,
    }


def stage_from(record: Mapping[str, Any], folder: Path, config: Config) -> StageOne:
    """Stage one from weights.json and, where it names a mix, ranker.txt beside it."""
    where = folder / "weights.json"
    schema, weights, mix = (record.get(key) for key in ("schema", "weights", "mix"))
    if not isinstance(schema, int):
        raise CheckpointError(f"{where} is not what tosloc train wrote (it has no schema); train again")
    if schema > SCHEMA:
        raise CheckpointError(f"{where} was made by a newer TosLoc (schema {schema}); update TosLoc")
    if not isinstance(weights, dict) or not weights or not all(map(_is_number, weights.values())):
        raise CheckpointError(f"{where} holds no weights of features, a number each; train again")
    unknown = [name for name in weights if name not in features.ALL]
    if unknown:
        raise CheckpointError(f"{where} weighs a feature that this version does not know, {unknown[0]!r}; train again")
    ranker = None
    if mix is not None:
        if not _is_number(mix):
            raise CheckpointError(f"{where} mixes in the learned ranker by no number; train again")
        try:
            text = (folder / "ranker.txt").read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise CheckpointError(f"{folder / 'ranker.txt'} cannot be read ({error}); copy the whole folder") from error
        try:
            ranker = HeadRanker.from_text(text, config.stage_one.ranker, float(mix))
        except CheckpointError as error:
            raise CheckpointError(f"{folder / 'ranker.txt'}: {error}") from error
    return StageOne(tuple(weights), np.array(list(weights.values()), dtype=np.float64), ranker)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def ships() -> bool:
    """Whether this copy of TosLoc has shipped weights: they are learned by ``tosloc/cli/lab/pool.py``."""
    return resources.files("tosloc").joinpath("defaults", "weights.json").is_file()


def shipped() -> StageOne:
    """The shipped stage one. Raises CheckpointError where there is none."""
    if not ships():
        raise CheckpointError(
            "this copy of TosLoc ships no weights; train on a project first, and name its folder with --checkpoint"
        )
    with resources.as_file(resources.files("tosloc") / "defaults") as folder:
        return stage_from(_json(folder / "weights.json"), folder, Config())


_NOT_FITTING = (KeyError, IndexError, ValueError, TypeError)
"""What arrays that are no checkpoint's raise when put together."""


def _reports(path: Path) -> tuple[Documents, tuple[str, ...]]:
    stored = load_arrays(path)
    try:
        return Documents.from_arrays(under("reports", stored)), unpack_strings(stored, "paths")
    except _NOT_FITTING as error:
        raise CheckpointError(f"{path} is damaged or of another version ({error}); train again") from error


def _carried(path: Path) -> OpenVersion:
    stored = load_arrays(path)
    try:
        snapshot = snapshot_from_arrays(under("version", stored), Names())
        evidence, paths = HistoryIndex.from_arrays(under("evidence", stored))
        table = FactTable.from_arrays(under("facts", stored))
        return OpenVersion.of(snapshot, Corpus(table), evidence, paths)
    except (*_NOT_FITTING, StoreError) as error:
        raise CheckpointError(f"{path} is damaged or of another version ({error}); train again") from error


def _adopt(reports: tuple[Documents, tuple[str, ...]], index: Mapping[str, int], names: Names) -> Documents:
    """Carried reports whose fix the history contains, with its numbers for commits and files."""
    documents, paths = reports
    chosen = np.array([n for n, commit in enumerate(documents.commit_ids) if commit in index], dtype=np.int64)
    kept = documents.take(chosen)
    numbers = np.array([names.id(path) for path in paths], dtype=np.int32)
    moved = kept.renumbered(numbers)
    moved.commits[:] = [index[commit] for commit in kept.commit_ids]
    return moved


def _json(path: Path) -> dict[str, Any]:
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise CheckpointError(f"{path} cannot be read ({error}); train again, or copy the whole folder") from error
    if not isinstance(record, dict):
        raise CheckpointError(f"{path} is not a JSON object; train again, or copy the whole folder")
    return record


__all__ = ["Localization", "Localizer", "OpenVersion", "tasks_of"]
