"""The tool itself: one bug report, every file of a version ranked, with reasons."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from difflib import get_close_matches
from functools import cached_property
from io import StringIO
from pathlib import Path, PurePosixPath
from threading import RLock
from typing import TYPE_CHECKING, Any, Final, Self

from tosloc.core.arrays import save_arrays
from tosloc.core.errors import ToslocError
from tosloc.core.records import BugReport, Progress, ignore_progress
from tosloc.core.settings import read_answer_settings
from tosloc.git import discovery
from tosloc.git.repository import Change, Repository
from tosloc.localize import checkpoint as stored
from tosloc.localize.answer import Answer, Weights
from tosloc.localize.localization import Localization, OpenVersion
from tosloc.localize.repository_notes import describe_sparse_checkout
from tosloc.rank.calibration import DEFAULT_TEMPERATURE
from tosloc.rank.stage_one import StageOne
from tosloc.reports.issues import read_report
from tosloc.rerank.base import Reranker
from tosloc.retrieval.documents import Documents
from tosloc.storage.cache import trained_folder
from tosloc.storage.prepared import PreparedVersion
from tosloc.storage.repository import IndexedRepository

if TYPE_CHECKING:
    from tosloc.core.config import Config
    from tosloc.rank.fitting import Choice

NO_CHECKPOINT: Final = (
    "none"  # in place of a checkpoint's folder: the shipped weights, whatever was trained
)
OPEN_VERSIONS: Final = (
    2  # versions that stay in memory: the one that is asked, and the one before a branch moved
)


class Localizer:
    """Stage one and, where there is one, a reranker; learned by ``tosloc.train.training``, or shipped."""

    stage_one: StageOne
    is_shipped = False  # whether each version decides which of the shipped weights it is ranked by
    _closed = False

    def __init__(self, config: Config | None = None) -> None:
        if config is not None:
            self.config = config
        self.choice_: Choice | None = None  # what training tried and took for stage one
        self.weights = Weights("trained")  # what answers say about the weights
        self.temperature = (
            DEFAULT_TEMPERATURE  # of the softmax that makes shares of scores; fitted on validation
        )
        self.reranker_: Reranker | None = None
        # fixed reports that training knew, with the paths that their numbers mean
        self.reports_: tuple[Documents, Sequence[str]] | None = None
        self.version_: OpenVersion | None = (
            None  # that was opened last, or that a checkpoint carries along
        )
        self.provenance_: dict[str, Any] = {}
        self._repository: IndexedRepository | None = None
        self._versions: dict[
            tuple[str, frozenset[Change]], OpenVersion
        ] = {}  # by commit, and what is not committed
        self._lock = RLock()  # of all that reads the repository, and what was computed of a version

    @cached_property
    def config(self) -> Config:
        """The settings; the defaults take long to load, and are when they are asked for."""
        from tosloc.core.config import Config

        return Config()

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        checkpoint: str | os.PathLike[str] | None = None,
        *,
        commit: str | None = None,
        ready: bool = True,
        progress: Progress = ignore_progress,
    ) -> Self:
        """A localizer that keeps a repository ready: its version, the history of its files, and the weights.

        ``path`` is a folder of the repository, or a bare one; the weights are those of a ``checkpoint``, by default the
        one that ``tosloc train`` has left for the repository, else the shipped ones (which "none" asks for). ``commit``
        (None: the files as they are on disk) is made ready now, unless ``ready`` is False, others when they are asked
        for. Several threads may ask at the same time. Raises RepositoryError, UnknownCommit, CheckpointError,
        StoreError, and ToslocError when the version holds no source file.

        >>> localizer = Localizer.open(shop())
        >>> answer = localizer.localize("Cart.add forgets an item that is equal to another one")
        >>> for hit in answer.top(5):
        ...     print(hit.rank, hit.path, [f"{f.name}:{f.start}-{f.end}" for f in hit.functions])
        1 shop/cart.py ['Cart.add:7-9', 'Cart.__init__:4-5']
        2 shop/bill.py ['total:4-6']
        >>> answer.hits[0].why[0].text
        'earlier fix 00440910ba, 2024-05-06: Fix #7: the cart takes an item twice'
        >>> localizer.close()
        """
        folder = discovery.enclosing_repository(path)
        with ExitStack() as opened:  # whatever is raised below, nothing stays open
            repo = opened.enter_context(Repository(folder))
            if (
                checkpoint is None
                and (trained_folder(repo) / "checkpoint" / stored.WEIGHTS_FILE).exists()
            ):
                checkpoint = trained_folder(repo)
            localizer = cls.default() if checkpoint is None else cls.load(Path(checkpoint))
            localizer._repository = opened.enter_context(closing(localizer.indexed(repo)))
            localizer.version_ = localizer.version(commit, progress) if ready else None
            opened.pop_all()  # from here on the localizer closes them
        return localizer

    def close(self) -> None:
        """End what ``open`` began; the localizer cannot be asked of that repository afterwards."""
        with self._lock:
            self._versions = {}
            if self._repository is not None:
                self._repository.close()
                self._repository.repo.close()
                self._closed = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def localize(
        self,
        report: BugReport | str,
        *,
        commit: str | None = None,
        include: Sequence[str] | None = None,
        exclude: Sequence[str] | None = None,
        tests: bool | None = None,
        min_share: float | None = None,
        top: int = 10,
        functions: int = 3,
        background: bool = True,
        progress: Progress = ignore_progress,
    ) -> Answer:
        """The first files for a report, or for the text of one (see ``read_report``), with functions and reasons.

        They are those of the work tree as they are on disk now, committed or not; with a ``commit``, or in a bare
        repository, those of the version that it (or HEAD) names now. If nothing is committed yet, the files on disk
        are searched without history. What is new since the last question is read first.
        Of a localizer that was loaded with a version, they are that version's.

        ``include`` and ``exclude`` are globs as ``.gitignore`` has them; test files are left out unless ``tests``, and
        files with less than ``min_share``. Arguments left as None fall back to the repository's settings (see
        ``tosloc.core.settings``). The answer has at most ``top`` files, each with at most ``functions`` functions. With
        ``background`` it also has earlier changes like the report, and people and tests of its first file.

        Raises UnknownCommit, ReportError for a text that is no report, ConfigError for settings, ToslocError for a glob
        that matches nothing, for a version without source files, and after ``close``; ValueError for ``top`` 0.
        """
        options: dict[str, Any] = {
            "commit": commit,
            "include": include,
            "exclude": exclude,
            "tests": tests,
            "min_share": min_share,
            "top": top,
            "functions": functions,
            "background": background,
            "progress": progress,
        }
        return next(self.localize_many([report], **options))

    def localize_many(
        self,
        reports: Iterable[BugReport | str],
        *,
        commit: str | None = None,
        include: Sequence[str] | None = None,
        exclude: Sequence[str] | None = None,
        tests: bool | None = None,
        min_share: float | None = None,
        top: int = 10,
        functions: int = 3,
        background: bool = True,
        progress: Progress = ignore_progress,
    ) -> Iterator[Answer]:
        """``localize`` for each of many reports, in their order, all of the files as they are at the start.
        Raises as ``localize`` does, when an answer is asked for.
        """
        started = time.perf_counter()
        if top < 1 or functions < 0 or isinstance(include, str) or isinstance(exclude, str):
            raise ValueError(
                "top is 1 or more, functions 0 or more, include and exclude are lists of globs"
            )
        version = self.version(commit, progress)
        given = {"include": include, "exclude": exclude, "tests": tests, "min_share": min_share}
        named: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        own = read_answer_settings(None if self.repository is None else self.repository.work_tree)
        shown: dict[str, Any] = (
            {"include": (), "exclude": (), "tests": False, "min_share": 0.0} | own | named
        )
        globs, may_miss = (shown["include"], shown["exclude"]), given.keys() - named.keys()
        chosen = version.choose(*globs, tests=shown["tests"], may_miss=may_miss)
        for report in reports:
            with self._lock:
                localization = self.localization(_report_of(report), version)
                answer = localization.answer(
                    top,
                    chosen,
                    functions=functions,
                    min_share=shown["min_share"],
                    background=background,
                )
            yield replace(answer, weights=self.weights, seconds=time.perf_counter() - started)
            started = time.perf_counter()

    def explain(
        self,
        report: BugReport | str,
        path: str,
        *,
        commit: str | None = None,
        functions: int = 10,
        progress: Progress = ignore_progress,
    ) -> Answer:
        """The place of one file for a report, with its functions and why it stands there: an answer of one hit.
        ``path`` is relative to the root of the repository, or ends so, where it is absolute; the place of a test file
        is that among all files. Raises as ``localize`` does, and ToslocError for a path that is no source file.
        """
        started = time.perf_counter()
        asked, version = _report_of(report), self.version(commit, progress)
        paths = version.snapshot.paths
        if path not in paths:  # it may be that of a container, or of Windows
            path = path.replace("\\", "/")
            ends = (
                (one for one in paths if "/" in one and path.endswith(f"/{one}"))
                if path.startswith("/")
                else ()
            )
            path = max(ends, key=len, default=path)
        if path not in paths:
            alike = [
                other for other in paths if PurePosixPath(other).name == PurePosixPath(path).name
            ]
            near = " or ".join(get_close_matches(path, alike, cutoff=0))
            hint = f"did you mean {near}?" if near else "paths begin at the root of the repository"
            of = (
                "the files on disk"
                if version.uncommitted
                else f"version {version.snapshot.commit[:10]}"
            )
            raise ToslocError(f"{path} is no source file of {of}; {hint}")
        file, chosen = paths.index(path), version.choose()
        chosen = chosen if chosen.kept[file] else version.choose(tests=True)
        with self._lock:
            answer = self.localization(asked, version).answer(
                1, chosen, functions=functions, only=file
            )
        return replace(answer, weights=self.weights, seconds=time.perf_counter() - started)

    def version(
        self, commit: str | None = None, progress: Progress = ignore_progress
    ) -> OpenVersion:
        """The files that ``localize`` ranks for a ``commit``, ready for queries; without a repository those of the
        version that is carried along. Raises as ``localize`` does.
        """
        place = self._repository
        if place is None:
            if self.version_ is None:
                raise ToslocError(
                    "this checkpoint contains no version of its project",
                    hint="name a repository with {repo}",
                )
            return self.version_
        with self._lock:
            if self._closed:
                raise ToslocError(f"{place.repo.path}: this repository was closed; open it again")
            resolved = place.repo.checked_out() if commit is None else place.repo.resolve(commit)
            changes = place.uncommitted(resolved) if commit is None else frozenset()
            key = resolved, changes
            if key not in self._versions:
                prepared = place.prepared(resolved, progress, changes)
                made = OpenVersion(place, prepared, self.reports_, self.reranker_)
                made.others, made.uncommitted = (
                    place.other_files(resolved, progress, changes),
                    len(changes),
                )
                if commit is None:
                    made.notes += tuple(describe_sparse_checkout(place.repo, place.suffixes))
                self._versions = dict([*self._versions.items(), (key, made)][-OPEN_VERSIONS:])
            return self._versions[key]

    def localization(self, report: BugReport, version: OpenVersion | None = None) -> Localization:
        """Every file of a version ranked for a report: a function of both, and of no clock. Without a ``version`` it is
        the one that was opened last, or that a checkpoint carries along.
        """
        version = version or self.version_ or self.version()
        own = self.stage_one, self.temperature
        stage, temperature = version.shipped if self.is_shipped else own
        with self._lock:
            return Localization(report, version, stage, self.reranker_, temperature)

    def indexed(self, repo: Repository) -> IndexedRepository:
        """A repository with the files that these weights are for."""
        if "config" not in vars(self):  # not loaded in vain: all languages, all cores
            return IndexedRepository(repo)
        data, run, stage = self.config.data, self.config.run, self.config.stage_one
        return IndexedRepository(repo, None, data.named_suffixes, run.jobs, lizard=stage.lizard)

    def open_version(
        self,
        indexed: IndexedRepository,
        revision: str = "HEAD",
        progress: Progress = ignore_progress,
    ) -> Self:
        """Get ready to rank one version of a repository that others have open: for training, and for experiments."""
        self.version_ = OpenVersion(
            indexed, indexed.prepared(revision, progress), self.reports_, self.reranker_
        )
        return self

    @property
    def repository(self) -> Repository | None:
        """What ``open`` opened; None without."""
        return None if self._repository is None else self._repository.repo

    def save(self, folder: Path) -> None:
        """Write the checkpoint: configuration, weights, fixed reports and, if opened, the version carried along."""
        folder.mkdir(parents=True, exist_ok=True)
        for name in stored.FILES:  # of an earlier one
            (folder / name).unlink(missing_ok=True)
        stored.write_record(folder / "config.json", self.config.as_dict())
        if self.reports_ is not None:
            stored.write_known_reports(folder, *self.reports_)
        version, reranker = self.version_, self.reranker_
        more: dict[str, Any] = {stored.TRAINING: self.weights.as_dict()}
        if version is not None:
            carried = PreparedVersion(version.index, version.history)
            save_arrays(folder / stored.VERSION_FILE, carried.to_arrays())
        if reranker is not None:
            reranker.save(folder / reranker.name)
            more["stage_two"] = reranker.name
        stored.write_record(folder / "provenance.json", self.provenance_)
        # last, because a folder without weights is no checkpoint
        stored.write_stage_one(
            folder,
            self.stage_one,
            self.temperature,
            more,
            self.choice_,
            lizard=self.config.stage_one.lizard,
        )

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Localizer from a checkpoint folder, or from a training folder that holds one; "none": the shipped weights.
        Never unpickles. Raises CheckpointError when it is missing, incomplete, damaged or made by a newer version.
        """
        if str(folder) == NO_CHECKPOINT:
            return cls.default()
        path = stored.checkpoint_folder(folder)
        from tosloc.core.config import Config

        config = Config.of(stored.read_record(path / "config.json"), str(path / "config.json"))
        if config.run.jobs > (os.cpu_count() or 1):  # those of a machine with more cores
            config = config.model_copy(update={"run": config.run.model_copy(update={"jobs": -1})})
        localizer = cls(config)
        localizer.stage_one, localizer.temperature, record = stored.read_stage_one(path)
        localizer.provenance_ = stored.read_record(path / "provenance.json")
        localizer.weights = stored.read_weights(record, localizer.provenance_, path)
        localizer.reports_ = stored.read_known_reports(path)
        localizer.reranker_ = stored.read_reranker(record, path)
        if (carried := stored.read_version(path)) is not None:
            localizer.version_ = OpenVersion(None, carried, None, localizer.reranker_)
        return localizer

    @classmethod
    def default(cls) -> Self:
        """Localizer with the shipped weights, for any repository; which of them, each version decides."""
        localizer = cls()
        localizer.stage_one, localizer.temperature = stored.shipped()
        localizer.provenance_, localizer.is_shipped = {"shipped": True}, True
        localizer.weights = Weights("shipped")
        return localizer


def _report_of(said: BugReport | str) -> BugReport:
    """A report, or the text of one. Raises ReportError, and TypeError for anything else."""
    if not isinstance(said, str | BugReport):
        raise TypeError(f"a report is a BugReport or its text, not {type(said).__name__}")
    return read_report(StringIO(said)) if isinstance(said, str) else said
