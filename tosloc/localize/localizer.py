"""The entry point of the library: rank all files of a version for a bug report, with reasons."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from difflib import get_close_matches
from io import StringIO
from pathlib import Path, PurePosixPath
from threading import RLock
from typing import TYPE_CHECKING, Any, Final, Self, Unpack

from tosloc.core.errors import ToslocError
from tosloc.core.progress import Progress, ignore_progress
from tosloc.core.reports import BugReport
from tosloc.core.settings import read_answer_settings
from tosloc.git import discovery
from tosloc.git.repository import Change, Repository, WorkTreeState
from tosloc.localize.answer import Answer
from tosloc.localize.checkpoint import WEIGHTS_FILE
from tosloc.localize.localization import Localization
from tosloc.localize.model import Model
from tosloc.localize.options import LocalizeOptions, complete_options
from tosloc.localize.repository_notes import describe_work_tree
from tosloc.localize.searchable_version import SearchableVersion
from tosloc.paths.globs import FileSelection
from tosloc.reports.issues import read_report
from tosloc.storage.cache import CacheEntry
from tosloc.storage.repository import IndexedRepository

if TYPE_CHECKING:
    from tosloc.rerank.llm.reranker import LanguageModelReranker

MAX_OPEN_VERSIONS: Final = 2
"""Versions that stay in memory: the current one, and the one before the branch moved."""
OTHER_TRAINING: Final = (
    "the weights that tosloc train kept for this folder learned from another repository, so the"
    " shipped weights are used; train again"
)
DEFAULT_SETTINGS: Final[dict[str, Any]] = {
    "include": (),
    "exclude": (),
    "tests": False,
    "min_share": 0.0,
}
"""Options that a repository's settings can change, and their values without settings."""


class Localizer:
    """Ranks the files of a repository, or of the version in a checkpoint, by a model.

    Several threads may ask at the same time; a lock answers their questions one after the other.
    """

    def __init__(
        self,
        model: Model | None = None,
        repository: IndexedRepository | None = None,
        rerank: LanguageModelReranker | None = None,
    ) -> None:
        """Make a localizer from a model and a repository; most users call ``open`` instead.

        ``model`` defaults to the shipped weights. The localizer closes ``repository``; without one
        it ranks the version that the model contains. With ``rerank``, a language model orders the
        first files of each answer: the report and code of these files are sent to it (see
        docs/guide.md).
        """
        self.rerank = rerank
        self.model = Model() if model is None else model
        self._repository = repository
        self._closed = False
        self._notes: tuple[str, ...] = ()
        """Notes of every answer."""
        self._lock = RLock()  # for the repository, and everything that is computed from a version
        self._versions: dict[Hashable, SearchableVersion] = {}
        """Open versions by everything of the repository that their answers depend on."""
        self._embedded: SearchableVersion | None = None
        if self.model.version is not None:
            self._embedded = SearchableVersion(None, self.model.version, None, self.model.reranker)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        checkpoint: str | os.PathLike[str] | None = None,
        *,
        rerank: LanguageModelReranker | None = None,
        encoder: str | None = None,
        commit: str | None = None,
        ready: bool = True,
        progress: Progress = ignore_progress,
    ) -> Self:
        """Open a repository for questions: a version, the history of its files, and the weights.

        ``path`` is a folder in a repository, or a bare repository. ``checkpoint`` defaults to the
        one that ``tosloc train`` wrote for this repository, else to the shipped weights; "none"
        selects the shipped weights. ``rerank`` is as in the constructor. ``encoder`` names a
        pretrained encoder that reranks in place of the checkpoint's second stage (see
        ``Model.with_encoder``). With ``ready``, the version that ``commit`` names (None: the files
        on disk) is prepared now; others are prepared when a question needs them.

        Raises RepositoryError, UnknownCommit, CheckpointError, StoreError, and ToslocError if the
        version contains no source file.

        >>> localizer = Localizer.open(shop())
        >>> answer = localizer.localize("Cart.add forgets an item that is equal to another one")
        >>> for hit in answer.top(5):
        ...     print(hit.rank, hit.path, [f"{f.name}:{f.start}-{f.end}" for f in hit.functions])
        1 shop/cart.py ['Cart.add:7-9', 'Cart.__init__:4-5']
        2 shop/bill.py ['total:4-6']
        >>> answer.hits[0].why[0].text
        'Earlier fix 00440910ba (2024-05-06): Fix #7: the cart takes an item twice'
        >>> localizer.close()
        """
        folder = discovery.enclosing_repository(path)
        with ExitStack() as on_error:
            repo = on_error.enter_context(Repository(folder))
            trained = find_trained(repo) if checkpoint is None else Path(checkpoint)
            model = Model() if trained is None else Model.load(trained)
            is_of_another = checkpoint is None and not _may_be_trained_on(model, repo)
            if is_of_another:
                model = Model()
            if encoder is not None:
                model = model.with_encoder(encoder)
            # Without a configuration the defaults are not loaded, which takes long.
            indexed = IndexedRepository.configured(repo, model.configuration)
            localizer = cls(model, indexed, rerank)
            localizer._notes = (OTHER_TRAINING,) if is_of_another else ()
            on_error.callback(localizer.close)
            if ready:
                localizer.version(commit, progress)
            on_error.pop_all()
        return localizer

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Load a checkpoint without a repository, to rank the version that it contains.

        ``folder`` is a checkpoint folder, or a training folder that contains one; "none" selects
        the shipped weights. Raises CheckpointError if the checkpoint is missing, incomplete,
        damaged or from a newer version of TosLoc.
        """
        return cls(Model.load(folder))

    def close(self) -> None:
        """Close the repository; questions raise ToslocError afterwards."""
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

    @property
    def repository(self) -> Repository | None:
        """The repository that ``open`` opened, if any."""
        return None if self._repository is None else self._repository.repo

    def localize(
        self,
        report: BugReport | str,
        *,
        progress: Progress = ignore_progress,
        **options: Unpack[LocalizeOptions],
    ) -> Answer:
        """Return the most suspicious files for a report, or for its text (see ``read_report``).

        The files are those on disk now, committed or not. With a ``commit``, or in a bare
        repository, they are those of the version that it (or HEAD) names now. If nothing is
        committed yet, the files on disk are searched without history. Changes since the last
        question are read first.

        Raises UnknownCommit; ReportError if the text is no report; ConfigError for the repository's
        settings; ToslocError for a glob that matches nothing, for a version without source files,
        and after ``close``; ValueError and TypeError for wrong options.
        """
        return next(self.localize_many([report], progress=progress, **options))

    def localize_many(
        self,
        reports: Iterable[BugReport | str],
        *,
        on_error: Callable[[BugReport | str, Exception], None] | None = None,
        progress: Progress = ignore_progress,
        **options: Unpack[LocalizeOptions],
    ) -> Iterator[Answer]:
        """Yield the answer of ``localize`` for each report, all for the files at the first one.

        Raises as ``localize`` does, when the first answer is requested. With ``on_error``, a report
        that cannot be answered ends nothing: the function is called with the report and the error
        in place of its answer.
        """
        started = time.perf_counter()
        wanted = complete_options(options)
        version = self.version(wanted["commit"], progress)
        settings, from_settings = self._with_settings(wanted)
        selection = _select(version, settings, from_settings, wanted["every_class"])
        for report in reports:
            try:
                with self._lock:
                    localization = self.localization(_parse_report(report), version, progress)
                    if self.rerank is not None:
                        localization.reorder(self.rerank, selection, progress, wanted["suspects"])
                    answer = localization.answer(
                        wanted["top"],
                        selection,
                        functions=wanted["functions"],
                        min_share=settings["min_share"],
                        background=wanted["background"],
                        code=wanted["code"],
                        suspects=wanted["suspects"],
                    )
            except Exception as error:
                if on_error is None:
                    raise
                on_error(report, error)
            else:
                seconds = time.perf_counter() - started
                yield replace(answer, weights=self.model.weights, seconds=seconds)
            started = time.perf_counter()

    def language_model_messages(
        self,
        report: BugReport | str,
        *,
        progress: Progress = ignore_progress,
        **options: Unpack[LocalizeOptions],
    ) -> list[dict[str, str]]:
        """Return exactly what ``localize`` would send to the language model; nothing is sent.

        The localizer needs a ``rerank``. Raises as ``localize`` does.
        """
        assert self.rerank is not None
        wanted = complete_options(options)
        version = self.version(wanted["commit"], progress)
        settings, from_settings = self._with_settings(wanted)
        selection = _select(version, settings, from_settings, wanted["every_class"])
        with self._lock:
            localization = self.localization(_parse_report(report), version)
            _, cards = localization.cards(self.rerank.depth, selection, wanted["suspects"])
        return self.rerank.messages(localization.stage_one.context.query.report, cards)

    def _with_settings(self, options: LocalizeOptions) -> tuple[dict[str, Any], frozenset[str]]:
        """Return what to select files by, and which of it comes from the repository's settings."""
        work_tree = None if self.repository is None else self.repository.work_tree
        settings = DEFAULT_SETTINGS | read_answer_settings(work_tree)
        from_settings = set(DEFAULT_SETTINGS)
        for name, value in options.items():
            if name in DEFAULT_SETTINGS and value is not None:
                settings[name] = value
                from_settings.remove(name)
        return settings, frozenset(from_settings)

    def explain(
        self,
        report: BugReport | str,
        path: str,
        *,
        commit: str | None = None,
        functions: int = 10,
        progress: Progress = ignore_progress,
    ) -> Answer:
        """Return an answer with one hit: the rank of a file for a report, with the reasons.

        ``path`` is relative to the root of the repository; an absolute path is matched by its end,
        so that it may come from a container. The rank of a test file is its rank among all files.
        Raises as ``localize`` does, and ToslocError if the path is no source file.
        """
        started = time.perf_counter()
        report = _parse_report(report)
        version = self.version(commit, progress)
        path = _match_path(path, version)
        file = version.snapshot.paths.index(path)
        selection: FileSelection = version.choose()
        if not selection.kept[file]:
            selection = version.choose(every_class=True)
        with self._lock:
            localization = self.localization(report, version, progress)
            if self.rerank is not None:
                localization.reorder(self.rerank, selection, progress)
            answer = localization.answer(1, selection, functions=functions, only=file, code=True)
        seconds = time.perf_counter() - started
        return replace(answer, weights=self.model.weights, seconds=seconds)

    def version(
        self, commit: str | None = None, progress: Progress = ignore_progress
    ) -> SearchableVersion:
        """Return the version that ``localize`` ranks for a ``commit``, prepared for questions.

        Without a repository it is the version in the checkpoint. Raises as ``localize`` does.
        """
        indexed = self._repository
        if indexed is None:
            if self._embedded is None:
                raise ToslocError(
                    "this checkpoint contains no version of its project",
                    hint="name a repository with {repo}",
                )
            return self._embedded
        with self._lock:
            if self._closed:
                raise ToslocError(f"{indexed.repo.path}: this repository was closed; open it again")
            repo = indexed.repo
            on_disk = WorkTreeState()
            if commit is None:
                resolved = repo.checked_out()
                on_disk = indexed.work_tree_state(resolved)
            else:
                resolved = repo.resolve(commit)
            changes = on_disk.changes
            # Everything that may change while a commit stays the same, and its answers with it.
            clone = (repo.shallow, repo.promisor_packs, repo.remote_url())
            key = (resolved, changes, repo.tags(), *clone)
            if key not in self._versions:
                version = self.open_version(indexed, resolved, progress, changes)
                version.others = indexed.index_other_files(resolved, progress, changes)
                newest = [*self._versions.items(), (key, version)]
                self._versions = dict(newest[-MAX_OPEN_VERSIONS:])
            version = self._versions[key].with_notes(self._notes)
            if commit is None:
                version = version.with_notes(describe_work_tree(repo, on_disk, indexed.suffixes))
            return version

    def open_version(
        self,
        indexed: IndexedRepository,
        revision: str = "HEAD",
        progress: Progress = ignore_progress,
        changes: frozenset[Change] = frozenset(),
    ) -> SearchableVersion:
        """Prepare a version with uncommitted changes; the caller keeps the repository open."""
        index = indexed.index_version(revision, progress, changes)
        version = SearchableVersion(indexed, index, self.model.known_reports, self.model.reranker)
        version.uncommitted = len(changes)
        return version

    def localization(
        self,
        report: BugReport,
        version: SearchableVersion | None = None,
        progress: Progress = ignore_progress,
    ) -> Localization:
        """Rank every file of a version (default: ``self.version()``) for a report.

        The result depends on the report, the version and the model alone, not on the current time.
        """
        if version is None:
            version = self.version()
        with self._lock:
            stage_one, temperature = version.shipped
            if self.model.stage_one is not None:
                stage_one, temperature = self.model.stage_one, self.model.temperature
            return Localization(
                report, version, stage_one, self.model.reranker, temperature, progress
            )


def find_trained(repo: Repository) -> Path | None:
    """Return the folder of the checkpoint that ``tosloc train`` wrote for a repository, if any."""
    folder = CacheEntry.of(repo).trained / "checkpoint"
    return folder if (folder / WEIGHTS_FILE).exists() else None


def _may_be_trained_on(model: Model, repo: Repository) -> bool:
    """Return whether a repository has the newest fix that a model learned from, if that is known.

    The cache finds a training by the path of its repository, where another project may be now.
    """
    newest = model.provenance.get("newest fix")
    if not isinstance(newest, str) or repo.shallow:
        return True
    return repo.resolve_many([newest])[newest] is not None


def _select(
    version: SearchableVersion,
    settings: Mapping[str, Any],
    from_settings: frozenset[str],
    every_class: bool = False,
) -> FileSelection:
    """Select the files that an answer may list."""
    return version.choose(
        settings["include"],
        settings["exclude"],
        tests=settings["tests"],
        every_class=every_class,
        may_miss=from_settings,
    )


def _match_path(path: str, version: SearchableVersion) -> str:
    """Return the path of the version that the user means. Raises ToslocError if there is none."""
    paths = version.snapshot.paths
    if path in paths:
        return path
    path = path.replace("\\", "/")
    if path.startswith("/"):
        endings = [known for known in paths if "/" in known and path.endswith(f"/{known}")]
        path = max(endings, key=len, default=path)
    if path in paths:
        return path
    name = PurePosixPath(path).name
    same_name = [known for known in paths if PurePosixPath(known).name == name]
    closest = get_close_matches(path, same_name, cutoff=0)
    hint = "give the path relative to the root of the repository"
    if closest:
        hint = f"did you mean {' or '.join(closest)}?"
    searched = f"version {version.snapshot.commit[:10]}"
    if version.uncommitted:
        searched = "the files on disk"
    raise ToslocError(f"{path} is not a source file of {searched}", hint=hint)


def _parse_report(report: BugReport | str) -> BugReport:
    """Return a report, parsed if it is a text. Raises ReportError; TypeError for another type."""
    if isinstance(report, str):
        return read_report(StringIO(report))
    if not isinstance(report, BugReport):
        raise TypeError(f"a report must be a BugReport or its text, not {type(report).__name__}")
    return report
