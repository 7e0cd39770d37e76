"""The tool itself: one bug report, every file of a version ranked, with reasons."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from io import StringIO
from itertools import islice
from pathlib import Path, PurePosixPath
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np

from tosloc import checkpoint
from tosloc.answer import Answer
from tosloc.calibration import UNFITTED
from tosloc.candidates import candidates_of_answer, final_scores
from tosloc.errors import CheckpointError, ToslocError
from tosloc.git import discovery
from tosloc.git.repository import Repository
from tosloc.index.context import QueryContext
from tosloc.index.documents import Documents
from tosloc.index.live import OPEN_VERSIONS, LiveRepository
from tosloc.index.prepared import PreparedVersion
from tosloc.index.query import Query
from tosloc.index.repository import IndexedRepository
from tosloc.io import write_text
from tosloc.localization import UNDATED, Localization
from tosloc.open_version import (
    OpenVersion,
    functions_source,
    read_version,
    sources_of,
    texts_of,
    vectors_path,
    write_version,
)
from tosloc.rank.stage_one import StageOne, StageOneAnswer
from tosloc.records import (
    BugReport,
    Progress,
    Ranking,
    Snapshot,
    silent,
)
from tosloc.reports.globs import PathFilter
from tosloc.reports.issues import read_report
from tosloc.rerank.base import Reranker

if TYPE_CHECKING:
    from types import TracebackType

    from tosloc.config import Config
    from tosloc.rank.fitting import Choice

TOGETHER: Final = 8
"""Reports of one call whose answers are made together, at most: what is held of one is a table of all files."""
FILES_TOGETHER: Final = 200_000
"""Files of all of them together."""
FUNCTIONS_TOGETHER: Final = 1_000
"""Files whose functions are read for them together: no more than are remembered."""


class Localizer:
    """Stage one and, where there is one, a reranker; learned by ``tosloc.training``, or shipped."""

    def __init__(self, config: Config | None = None) -> None:
        self._config = config
        self.stage_one_: StageOne | None = None
        self.choice_: Choice | None = None
        """What training tried and took for stage one."""
        self.temperature_: float | None = None
        """Of shares, fitted on validation."""
        self.reranker_: Reranker | None = None
        self.reports_: tuple[Documents, tuple[str, ...]] | None = None
        """Fixed reports that training knew, with the paths that their numbers mean."""
        self.version_: OpenVersion | None = None
        """The version that was opened last, or that a checkpoint carries along."""
        self._live: LiveRepository | None = None
        self._versions: dict[str, OpenVersion] = {}
        self._reranking = Lock()
        self.provenance_: dict[str, Any] = {}

    @property
    def config(self) -> Config:
        """The settings; those of every key's default, which take long to load, when they are asked for."""
        if self._config is None:
            from tosloc.config import Config

            self._config = Config()
        return self._config

    @config.setter
    def config(self, config: Config) -> None:
        self._config = config

    @property
    def stage_one(self) -> StageOne:
        """What was learned. Raises ToslocError before training or ``load``."""
        if self.stage_one_ is None:
            raise ToslocError("this localizer has learned nothing yet; train it, or load a checkpoint")
        return self.stage_one_

    @property
    def temperature(self) -> float:
        """Of the softmax that makes shares of scores: the fitted one, where one was."""
        return UNFITTED if self.temperature_ is None else self.temperature_

    # Localizing

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        checkpoint: str | os.PathLike[str] | None = None,
        *,
        commit: str | None = "HEAD",
        store: Path | None = None,
        progress: Progress = silent,
    ) -> Self:
        """A localizer that keeps a repository ready: its version, the history of its files, and the weights.

        ``path`` is a folder of the repository, or a bare one; the weights are the shipped ones, or those of a
        ``checkpoint``; ``commit`` is made ready now (None: nothing is), others when they are asked for. Facts are
        kept in the file ``store``, by default in the user's cache. Several threads may ask at the same time. Raises
        RepositoryError, UnknownCommit, CheckpointError, StoreError, and ToslocError when the version holds no source
        file.

        >>> localizer = Localizer.open(shop())
        >>> answer = localizer.localize("Cart.add forgets an item that is equal to another one")
        >>> for hit in answer.top(5):
        ...     print(hit.rank, hit.path, [f"{f.name}:{f.start}-{f.end}" for f in hit.functions])
        1 shop/cart.py ['Cart.add:7-9', 'Cart:1-9', 'Cart.__init__:4-5']
        2 shop/bill.py ['total:4-6']
        >>> answer.hits[0].why[0].text
        'earlier fix 00440910ba, 2024-05-06: Fix #7: the cart takes an item twice'
        >>> localizer.close()
        """
        localizer = cls.default() if checkpoint is None else cls.load(Path(checkpoint))
        repo = Repository(discovery.containing(Path(path).expanduser().absolute()))
        localizer._live = LiveRepository(localizer.indexed(repo, store))
        localizer.version_ = None if commit is None else localizer._opened(commit, progress)
        return localizer

    def close(self) -> None:
        """End what ``open`` began; the localizer cannot be asked of that repository afterwards."""
        if self._live is not None:
            self._live.close()
            self._versions = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def localize(
        self,
        report: BugReport | str,
        *,
        commit: str = "HEAD",
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        tests: bool = False,
        top: int = 10,
        functions: int = 3,
        progress: Progress = silent,
    ) -> Answer:
        """The first files for a report, or for the text of one (see ``read_report``), with functions and reasons.

        They are those of the version that ``commit`` names now: what is new since the last question is read first. Of a
        localizer that was loaded with a version, they are that version's. ``include`` and ``exclude`` are globs as
        ``.gitignore`` has them; test files are left out unless ``tests``. At most ``top`` files, each with at most that
        many ``functions``. Raises UnknownCommit, ReportError for a text that is no report, ToslocError for a glob
        that matches nothing, for a version without source files, and after ``close``.
        """
        answers = self.localize_many(
            [report],
            commit=commit,
            include=include,
            exclude=exclude,
            tests=tests,
            top=top,
            functions=functions,
            progress=progress,
        )
        return next(answers)

    def localize_many(
        self,
        reports: Iterable[BugReport | str],
        *,
        commit: str = "HEAD",
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        tests: bool = False,
        top: int = 10,
        functions: int = 3,
        progress: Progress = silent,
    ) -> Iterator[Answer]:
        """``localize`` for each of many reports, in their order, all of the version that ``commit`` names at the start.

        The same answers; up to ``TOGETHER`` are made together, which read what they share once: ``seconds`` is their
        mean.
        Raises as ``localize`` does, when the first answer is asked for.
        """
        started = time.perf_counter()
        waiting = iter(reports)
        first = next(waiting, None)
        if first is None:
            return
        asked = _report_of(first)
        version = self._opened(commit, progress) if self._live is not None else self._carried()
        chosen = version.choose(PathFilter(tuple(include), tuple(exclude), tests))
        path = None if self._live is None else self._live.path
        together = max(
            1, min(TOGETHER, FILES_TOGETHER // max(len(version.snapshot), 1), FUNCTIONS_TOGETHER // max(top, 1))
        )
        some = [asked]
        while some:
            some += map(_report_of, islice(waiting, together - len(some)))
            found = [self.localization(report, version) for report in some]
            if functions and len(found) > 1:
                # which are remembered
                version.functions_of([file for one in found for file in one.first(top, chosen)])
            answers = [one.answer(top, chosen, path, functions=functions) for one in found]
            del found  # tables of all files
            seconds = (time.perf_counter() - started) / len(answers)
            yield from (replace(answer, seconds=seconds) for answer in answers)
            started = time.perf_counter()
            some = list(map(_report_of, islice(waiting, 1)))

    def explain(
        self,
        report: BugReport | str,
        path: str,
        *,
        commit: str = "HEAD",
        functions: int = 10,
        progress: Progress = silent,
    ) -> Answer:
        """The place of one file for a report, with its functions and why it stands there: an answer of one hit.

        ``path`` is relative to the root of the repository; the place of a test file is that among all files. Raises as
        ``localize`` does, and ToslocError for a path that is no source file of the version.
        """
        started = time.perf_counter()
        asked = _report_of(report)
        version = self._opened(commit, progress) if self._live is not None else self._carried()
        paths = version.snapshot.paths
        if path not in paths:
            same = [other for other in paths if PurePosixPath(other).name == PurePosixPath(path).name]
            near = ", ".join(same[:3]) or "paths begin at the root of the repository"
            raise ToslocError(f"{path} is no source file of version {version.snapshot.commit[:10]}; {near}")
        chosen = version.choose(PathFilter())
        if not chosen.kept[paths.index(path)]:
            chosen = version.choose(PathFilter(tests=True))
        repository = None if self._live is None else self._live.path
        answer = self.localization(asked, version).answer(1, chosen, repository, functions=functions, only=path)
        return replace(answer, seconds=time.perf_counter() - started)

    def files(self, commit: str = "HEAD") -> Sequence[str]:
        """Paths of the files that ``localize`` would rank; nothing is made of them. Raises as it does."""
        return self._carried().snapshot.paths if self._live is None else self._live.files(commit).paths

    def localization(self, report: BugReport, version: OpenVersion | None = None) -> Localization:
        """Every file of a version ranked for a report: a function of both, and of no clock.

        Without a ``version`` it is the one that was opened last, or that a checkpoint carries along.
        """
        version = version or self._carried()
        notes = version.notes
        if report.opened is None:
            report = replace(report, opened=version.newest)
            notes += (f"{UNDATED}; it is asked as if opened at {report.opened:%Y-%m-%d %H:%M} UTC",)
        context = QueryContext(Query(report), version.index, version.history.as_of(report.opened_seconds))
        first = StageOneAnswer.of(context, self.stage_one)
        scores, reranked = first.scores, None
        reranker = None if version.reranking is None else self.reranker_
        if reranker is not None and version.reranking is not None and reranker.may_score(report.opened_seconds):
            with self._reranking:
                candidates = [candidates_of_answer(first, reranker.depth)]
                [reranked] = reranker.rerank(candidates, version.reranking)
            scores = scores if reranked is None else final_scores(scores, reranked)
        if not context.shares_words:
            notes += ("no word of the report occurs in any file; the order says only which files change most",)
        if not np.isfinite(scores).all():
            raise CheckpointError("the weights give scores that are no numbers; train again")
        return Localization(first, scores, notes, reranker, reranked, self.temperature, version)

    def rank(self, report: BugReport, version: Snapshot) -> Ranking:
        """Every file of the opened version, most suspicious first. Raises ToslocError for another version."""
        if self.version_ is None or self.version_.snapshot.commit != version.commit:
            raise ToslocError(f"version {version.commit[:12]} is not open; call open_version(indexed, revision) first")
        return self.localization(report, self.version_).ranking

    def indexed(self, repo: Repository, store_path: Path | None = None) -> IndexedRepository:
        """A repository with the files that these weights are for, and where its facts are kept."""
        # shipped weights serve any language, a learned checkpoint the files that it learned on
        suffixes = () if self.provenance_.get("shipped") else self.config.data.named_suffixes
        jobs = -1 if self._config is None else self.config.run.jobs
        lizard = self._config is not None and self.config.stage_one.lizard
        return IndexedRepository(repo, store_path, suffixes, jobs, lizard=lizard)

    def open_version(self, indexed: IndexedRepository, revision: str = "HEAD", progress: Progress = silent) -> Self:
        """Get ready to rank one version of a repository that others have open: for training, and for experiments."""
        prepared = indexed.prepared(revision, progress)
        self.version_ = self._ready(prepared, indexed, indexed.repo)
        return self

    @property
    def commit(self) -> str:
        """Full id of the version that was opened last, or that a checkpoint carries. Raises ToslocError without one."""
        return self._carried().snapshot.commit

    @property
    def repository(self) -> LiveRepository | None:
        """What ``open`` opened; None without."""
        return self._live

    def _carried(self) -> OpenVersion:
        if self.version_ is None:
            raise ToslocError("this checkpoint carries no version of its project; name a repository with --repo")
        return self.version_

    def _opened(self, commit: str, progress: Progress) -> OpenVersion:
        """The version of the live repository that a revision names now."""
        assert self._live is not None
        live = self._live
        prepared = live.version(commit, progress)
        # read once, replaced as a whole: other threads ask at the same time, and the same twice does no harm
        found = self._versions.get(prepared.snapshot.commit)
        if found is None or found.index is not prepared.index:
            found = self._ready(prepared, live.indexed, live)
            self._versions = dict([*self._versions.items(), (prepared.snapshot.commit, found)][-OPEN_VERSIONS:])
        return found

    def _ready(
        self, prepared: PreparedVersion, indexed: IndexedRepository, repo: Repository | LiveRepository
    ) -> OpenVersion:
        """A prepared version with what these weights have beside it."""
        history = prepared.history if self.reports_ is None else prepared.with_reports(*self.reports_)
        notes = tuple(indexed.repo.notes(prepared.missing, len(history.reports)))
        version = OpenVersion.of(prepared, notes, history)
        if self.reranker_ is not None:
            version.reranking = version.for_reranking(texts_of(repo), vectors_path(indexed.store_path))
        version.sources = sources_of(repo)
        version.functions = functions_source(repo, indexed.store_path, indexed.suffixes)
        return version

    # Keeping

    def save(self, folder: Path) -> None:
        """Write the checkpoint: configuration, weights, fixed reports and, if opened, the version carried along."""
        stage = self.stage_one
        folder.mkdir(parents=True, exist_ok=True)
        write_text(folder / "config.json", json.dumps(self.config.as_dict(), indent=1, sort_keys=True) + "\n")
        checkpoint.write_stage_one(folder, stage)
        if self.reports_ is not None:
            checkpoint.write_known_reports(folder / checkpoint.REPORTS_FILE, *self.reports_)
        record = checkpoint.weights_record(stage, self.choice_, self.temperature_, lizard=self.config.stage_one.lizard)
        if self.version_ is not None:
            write_version(folder / checkpoint.VERSION_FILE, self.version_)
        if self.reranker_ is not None:
            if self.version_ is not None and self.version_.reranking is not None:
                self.reranker_.carry(self.version_.reranking, sorted(set(self.version_.snapshot.blobs)))
            self.reranker_.save(folder / self.reranker_.name)
            record |= {"stage_two": self.reranker_.name}
        write_text(folder / "provenance.json", json.dumps(self.provenance_, indent=1, sort_keys=True) + "\n")
        # last, because a folder without it is no checkpoint
        write_text(folder / checkpoint.WEIGHTS_FILE, json.dumps(record, indent=1) + "\n")
        checkpoint.write_digests(folder)

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Localizer from a checkpoint folder, or from a training folder that holds one. Never unpickles.

        Raises CheckpointError when it is missing, incomplete, damaged or made by a newer version.
        """
        path = checkpoint.checkpoint_folder(folder)
        checkpoint.check_digests(path)
        from tosloc.config import Config

        config = path / "config.json"
        localizer = cls(_of_this_machine(Config.of(checkpoint.read_record(config), str(config))))
        record = checkpoint.read_record(path / checkpoint.WEIGHTS_FILE)
        localizer.stage_one_ = checkpoint.read_stage_one(record, path)
        localizer.temperature_ = checkpoint.read_temperature(record, path)
        localizer.provenance_ = checkpoint.read_record(path / "provenance.json")
        if (path / checkpoint.REPORTS_FILE).exists():
            localizer.reports_ = checkpoint.read_known_reports(path / checkpoint.REPORTS_FILE)
        localizer.reranker_ = checkpoint.read_reranker(record, path)
        if (path / checkpoint.VERSION_FILE).exists():
            localizer.version_ = version = read_version(path / checkpoint.VERSION_FILE)
            context = version.for_reranking()
            if localizer.reranker_ is not None and localizer.reranker_.can_score(context):
                version.reranking = context
        return localizer

    @classmethod
    def default(cls) -> Self:
        """Localizer with the shipped weights: learned on 128 projects, for any repository."""
        localizer = cls()
        localizer.stage_one_, localizer.temperature_ = checkpoint.shipped()
        localizer.provenance_ = {"shipped": True}
        return localizer


def _report_of(said: BugReport | str) -> BugReport:
    """A report, or the text of one. Raises ReportError."""
    return read_report(StringIO(said)) if isinstance(said, str) else said


def _of_this_machine(config: Config) -> Config:
    """The settings, where those of a machine with more cores asked for too many processes with as many as there are."""
    if config.run.jobs <= (os.cpu_count() or 1):
        return config
    return config.model_copy(update={"run": config.run.model_copy(update={"jobs": -1})})
