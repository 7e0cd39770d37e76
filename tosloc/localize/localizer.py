"""The entry point of the library: rank all files of a version for a bug report, with reasons."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from copy import copy
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Final, Literal, Self

from tosloc.core.errors import ToslocError
from tosloc.core.progress import Progress, ignore_progress
from tosloc.core.reports import BugReport
from tosloc.git import discovery
from tosloc.git.repository import Repository, Tags, WorkTreeState
from tosloc.localize.answer import Answer
from tosloc.localize.checkpoint import WEIGHTS_FILE
from tosloc.localize.compose import compose
from tosloc.localize.hits import NO_CHANGES_TO_SUSPECT, suspect_files
from tosloc.localize.language_model import ListedFiles, reorder
from tosloc.localize.model import Model, user_language_model
from tosloc.localize.question import Code, Question
from tosloc.localize.repository_notes import describe_work_tree
from tosloc.localize.scores import Scores, rank, rerank
from tosloc.localize.searchable_version import SearchableVersion
from tosloc.localize.settings import read_answer_settings
from tosloc.rank.suspects import Candidates, collect_candidates
from tosloc.rerank.base import Reranker
from tosloc.storage.cache import CacheEntry
from tosloc.storage.repository import IndexedRepository

if TYPE_CHECKING:
    from tosloc.rerank.llm.reranker import LanguageModelReranker

MAX_OPEN_VERSIONS: Final = 2
"""Number of versions that stay in memory: the current one, and the one before the branch moved."""
OTHER_TRAINING: Final = (
    "the weights that tosloc train kept for this folder learned from another repository, so the"
    " shipped weights are used; train again"
)


class Localizer:
    """Ranks the files of a repository, or of the version in a checkpoint, by a model.

    Several threads may call it at the same time; a lock answers their questions one after the
    other.
    """

    def __init__(
        self,
        model: Model | None = None,
        repository: IndexedRepository | None = None,
        rerank: Reranker | LanguageModelReranker | Literal["llm"] | None = None,
    ) -> None:
        """Make a localizer from a model and a repository; most users call ``open`` instead.

        ``model`` defaults to the shipped weights. ``close`` also closes ``repository``. Without a
        repository, the localizer ranks the version that the model contains. A ``Reranker`` replaces
        the model's second stage. With a ``LanguageModelReranker`` or "llm", a language model orders
        the first files of each answer: the report and code of these files are sent to it (see
        docs/guide.md). "llm" is the language model in the user's settings. Raises ConfigError if
        the settings name none, and MissingExtra if the client library is not installed.
        """
        self.model = Model() if model is None else model
        self.language_model: LanguageModelReranker | None = None
        if isinstance(rerank, Reranker):
            self.model = replace(self.model, reranker=rerank)
        elif isinstance(rerank, str):
            if rerank != "llm":
                raise ToslocError(f"{rerank!r} is no reranker; use 'llm'", about="rerank")
            self.language_model = user_language_model()
        else:
            self.language_model = rerank
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
        rerank: Reranker | LanguageModelReranker | Literal["llm"] | None = None,
        encoder: str | None = None,
        commit: str | None = None,
        ready: bool = True,
        progress: Progress = ignore_progress,
    ) -> Self:
        """Open a repository for questions, and choose the weights that rank its files.

        ``path`` is a folder in a repository, or a bare repository. ``checkpoint`` defaults to the
        checkpoint that ``tosloc train`` wrote for this repository, or to the shipped weights if
        there is none; "none" selects the shipped weights. ``rerank`` is as in the constructor.
        ``encoder`` names a pretrained encoder that reranks in place of the checkpoint's second
        stage (see ``Model.with_encoder``). With ``ready``, the version that ``commit`` names (None:
        the files on disk) is prepared now; other versions are prepared when a question needs them.

        Raises RepositoryError, UnknownCommit, CheckpointError or StoreError, ToslocError if the
        version contains no source file, and the errors of the constructor and
        ``Model.with_encoder``.

        >>> localizer = Localizer.open(shop())
        >>> answer = localizer.localize("Cart.add forgets an item that is equal to another one")
        >>> for hit in answer.hits[:5]:
        ...     print(hit.rank, hit.path, [f"{f.name}:{f.start}-{f.end}" for f in hit.functions])
        1 shop/cart.py ['Cart.add:7-9', 'Cart.__init__:4-5']
        2 shop/bill.py ['total:4-6']
        >>> answer.hits[0].reasons[0].text
        'Similar fix 00440910ba (2024-05-06): Fix #7: the cart takes an item twice'
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
                localizer.prepare(commit, progress)
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

    def with_language_model(self, language_model: LanguageModelReranker) -> Self:
        """Return a localizer of the same open repository whose answers a language model orders.

        Close only one of the two.
        """
        localizer = copy(self)
        localizer.language_model = language_model
        return localizer

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
        """The repository that ``open`` opened; None without a repository."""
        return None if self._repository is None else self._repository.repo

    def localize(  # noqa: PLR0913  # every option has a name
        self,
        report: BugReport | str,
        *,
        commit: str | None = Question.commit,
        include: Sequence[str] | None = Question.include,
        exclude: Sequence[str] | None = Question.exclude,
        tests: bool | None = Question.tests,
        all_files: bool = Question.all_files,
        min_confidence: float | None = Question.min_confidence,
        top: int = Question.top,
        functions: int = Question.functions,
        background: bool = Question.background,
        code: Code = Question.code,
        suspects: bool | None = Question.suspects,
        good: Sequence[str] = Question.good,
        bad: str | None = Question.bad,
        progress: Progress = ignore_progress,
    ) -> Answer:
        """Return the most suspicious files for a report, or for its text (see ``read_report``).

        The files on disk are ranked as they are now, committed or not. With a ``commit``, the files
        of the version that it names now are ranked; in a bare repository, by default those of HEAD.
        If nothing is committed yet, the files on disk are searched without history. Files that have
        changed since the last question are read again. ``Question`` explains the other arguments.

        Raises UnknownCommit; ReportError if the text is no report; ConfigError for the repository's
        settings; ToslocError for impossible arguments, for a glob that matches nothing, for a
        version without source files, and after ``close``.
        """
        question = Question(
            report,
            commit=commit,
            include=include,
            exclude=exclude,
            tests=tests,
            all_files=all_files,
            min_confidence=min_confidence,
            top=top,
            functions=functions,
            background=background,
            code=code,
            suspects=suspects,
            good=good,
            bad=bad,
        )
        return self.answer(question, progress)

    def localize_many(  # noqa: PLR0913  # every option has a name
        self,
        reports: Iterable[BugReport | str],
        *,
        commit: str | None = Question.commit,
        include: Sequence[str] | None = Question.include,
        exclude: Sequence[str] | None = Question.exclude,
        tests: bool | None = Question.tests,
        all_files: bool = Question.all_files,
        min_confidence: float | None = Question.min_confidence,
        top: int = Question.top,
        functions: int = Question.functions,
        background: bool = Question.background,
        code: Code = Question.code,
        suspects: bool | None = Question.suspects,
        good: Sequence[str] = Question.good,
        bad: str | None = Question.bad,
        on_error: Callable[[Question, Exception], None] | None = None,
        progress: Progress = ignore_progress,
    ) -> Iterator[Answer]:
        """Yield the answer of ``localize`` for each report, all from the files at the first report.

        Raises the errors of ``localize`` when an answer is requested. With ``on_error``, a report
        that cannot be answered does not end the iteration: the function is called with its question
        and the error.
        """
        ask = partial(
            Question,
            commit=commit,
            include=include,
            exclude=exclude,
            tests=tests,
            all_files=all_files,
            min_confidence=min_confidence,
            top=top,
            functions=functions,
            background=background,
            code=code,
            suspects=suspects,
            good=good,
            bad=bad,
        )
        questions = map(ask, reports)
        return self.answer_many(questions, on_error=on_error, progress=progress)

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
        so that it may come from a container. A test file is ranked among all files. Raises the
        errors of ``localize``, and ToslocError if the path is not a source file.
        """
        question = Question.about_file(report, path, commit=commit, functions=functions)
        return self.answer(question, progress)

    def answer(self, question: Question, progress: Progress = ignore_progress) -> Answer:
        """Return the answer to a question. Raises the errors of ``localize``."""
        return next(self.answer_many([question], progress=progress))

    def answer_many(
        self,
        questions: Iterable[Question],
        *,
        on_error: Callable[[Question, Exception], None] | None = None,
        progress: Progress = ignore_progress,
    ) -> Iterator[Answer]:
        """Yield the answer to each question.

        Questions without a ``commit`` are answered from the files that are on disk at the first of
        these questions. ``localize_many`` explains errors and ``on_error``.
        """
        versions: dict[str | None, SearchableVersion] = {}
        started = time.perf_counter()
        for question in questions:
            if question.commit not in versions:
                versions[question.commit] = self._searched_version(question.commit, progress)
            version = versions[question.commit]
            # Wrong globs and revisions are errors of the whole call, so they are raised here.
            version.select(question)
            if self.repository is not None:
                for revision in filter(None, (*question.good, question.bad)):
                    self.repository.resolve(revision)
            try:
                with self._lock:
                    answer = compose(self.rank(question, version, progress), question)
            except Exception as error:
                if on_error is None:
                    raise
                on_error(question, error)
            else:
                seconds = time.perf_counter() - started
                yield replace(answer, weights=self.model.weights, seconds=seconds)
            started = time.perf_counter()

    def language_model_messages(
        self, question: Question, progress: Progress = ignore_progress
    ) -> list[dict[str, str]]:
        """Return the first messages that a question would send to the language model; send nothing.

        Raises the errors of ``localize``, and ToslocError if the localizer has no language model.
        """
        if self.language_model is None:
            raise ToslocError("no language model is used", hint="open the repository with {rerank}")
        version = self._searched_version(question.commit, progress)
        with self._lock:
            scores = self._rank_by_stages(question, version, progress)
            files = ListedFiles(scores, question, self.language_model.depth)
            return self.language_model.first_prompt(files).messages

    def find_suspects(self, question: Question, progress: Progress = ignore_progress) -> Candidates:
        """Return the commits that may have introduced the bug, with the features that score them.

        Raises the errors of ``localize``, and ToslocError if no repository is open.
        """
        if self.repository is None:
            raise ToslocError(NO_CHANGES_TO_SUSPECT)
        version = self.prepare(question.commit, progress)
        with self._lock:
            scores = self.rank(question, version, progress)
            hits, blamed_files = suspect_files(scores, version.choose())
            context = scores.stage_one.context
            return collect_candidates(self.repository, context, hits, blamed_files)

    def rank(
        self,
        question: Question,
        version: SearchableVersion | None = None,
        progress: Progress = ignore_progress,
    ) -> Scores:
        """Return the scores of every file of a version, from which ``answer`` composes the answer.

        ``version`` defaults to the version that the question names. Raises the errors of
        ``localize``.
        """
        if version is None:
            version = self._searched_version(question.commit, progress)
        with self._lock:
            scores = self._rank_by_stages(question, version, progress)
            if self.language_model is not None:
                scores = reorder(scores, question, self.language_model, progress)
            return scores

    def _rank_by_stages(
        self, question: Question, version: SearchableVersion, progress: Progress
    ) -> Scores:
        """Return the scores by stages one and two, before a language model changes the order."""
        scores = rank(question, version, self.model)
        if self.model.reranker is not None:
            scores = rerank(scores, self.model.reranker, progress)
        return scores

    def prepare(
        self, commit: str | None = None, progress: Progress = ignore_progress
    ) -> SearchableVersion:
        """Prepare the version that a ``commit`` names (None: the files on disk), and return it.

        The next question about this version is then quick. Without a repository, the version in the
        checkpoint is prepared. Raises the errors of ``localize``.
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
                resolved = repo.revisions.checked_out()
                on_disk = indexed.work_tree_state(resolved)
            else:
                resolved = repo.resolve(commit)
            changes = on_disk.changes
            # All that can change the answers of a commit.
            clone = (repo.shallow, repo.git.promisor_packs, repo.remote_url())
            key = (resolved, changes, Tags.read(repo), *clone)
            if key not in self._versions:
                version = self.model.open_version(indexed, resolved, progress, changes)
                version.others = indexed.index_other_files(resolved, progress, changes)
                newest = [*self._versions.items(), (key, version)]
                self._versions = dict(newest[-MAX_OPEN_VERSIONS:])
            version = self._versions[key].with_notes(self._notes)
            if commit is None:
                searched = indexed.suffixes | frozenset(version.index.made_of)
                version = version.with_notes(describe_work_tree(repo, on_disk, searched))
            return version

    def _searched_version(self, commit: str | None, progress: Progress) -> SearchableVersion:
        """Return a prepared version with the current settings of the repository."""
        version = self.prepare(commit, progress)
        work_tree = None if self.repository is None else self.repository.work_tree
        return version.with_settings(read_answer_settings(work_tree))


def find_trained(repo: Repository) -> Path | None:
    """Return the folder of the checkpoint that ``tosloc train`` wrote for a repository, or None."""
    folder = CacheEntry.of(repo).trained / "checkpoint"
    return folder if (folder / WEIGHTS_FILE).exists() else None


def _may_be_trained_on(model: Model, repo: Repository) -> bool:
    """Return whether a model may have been trained on a repository.

    It was not if the repository does not contain the newest fix that the model learned from. The
    cache finds a checkpoint by the path of its repository, where another project may be now. The
    result is True if the checkpoint does not record the fix, or if the clone is shallow.
    """
    newest = model.provenance.get("newest fix")
    if not isinstance(newest, str) or repo.shallow:
        return True
    return repo.resolve_many([newest])[newest] is not None
