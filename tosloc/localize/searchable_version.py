"""One version ready for questions: its index, its history and what is read from its repository."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from copy import copy
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Final, Self

from tosloc.code.functions import NO_FUNCTIONS, FunctionFacts
from tosloc.git.discovery import WebPages
from tosloc.localize.checkpoint import shipped
from tosloc.localize.repository_notes import describe_gaps, describe_tags, describe_version
from tosloc.paths.classify import is_hidden_class
from tosloc.paths.code_owners import owners_of
from tosloc.paths.globs import FileSelection, match_globs, select_files
from tosloc.rank.explain import RepositoryLookups, read_code_owners
from tosloc.rank.model import StageOne
from tosloc.reports.text import IssueTemplates, is_issue_template
from tosloc.rerank.base import Reranker, RerankingContext, texts_of
from tosloc.retrieval.history import Releases
from tosloc.retrieval.version_index import KnownReports, VersionIndex
from tosloc.storage.repository import IndexedRepository

ONLY_STAGE_ONE: Final = (
    "stage two needs the files' texts, so only stage one ranked them; open a repository to use both"
)


class SearchableVersion:
    """One version ready for questions: its index, its history and, if known, its repository."""

    uncommitted = 0
    """Number of files on disk that differ from the commit: changed, new or deleted."""
    others: VersionIndex | None = None
    """Files that are not source code; None for the version of a checkpoint, and in experiments."""
    reranking: RerankingContext | None = None
    """What the reranker reads; None if only stage one ranks."""

    def __init__(
        self,
        repository: IndexedRepository | None,
        index: VersionIndex,
        known_reports: KnownReports | None,
        reranker: Reranker | None,
    ) -> None:
        """Make a version ready.

        Functions, texts and commit messages are read from ``repository``; None if a checkpoint
        contains the version. ``known_reports`` are the labelled reports that training knew.
        """
        self.snapshot = index.snapshot
        self.index = index
        self.repository = repository
        self.history = index.history
        self._committed_template = frozenset(index.template)
        if known_reports is not None:
            self.history = index.with_reports(known_reports)
        if repository is not None:
            # Tags may come and go while the version stays the same.
            releases = Releases.read(repository.repo)
            self.history = replace(self.history, releases=releases)
        self.notes: tuple[str, ...] = tuple(describe_version(index))
        if repository is not None:
            fixes = int((self.history.reports.commits >= 0).sum())
            about_repository = describe_gaps(repository.repo, index.missing, fixes)
            about_tags = describe_tags(repository.repo.tags())
            self.notes = (*about_repository, *about_tags, *self.notes)
        if reranker is not None:
            context = self.for_reranking()
            if reranker.can_score(context):
                self.reranking = context
            elif reranker.weight:
                self.notes += (ONLY_STAGE_ONE,)

    def with_notes(self, notes: Iterable[str]) -> Self:
        """Return the same version with further notes."""
        version = copy(self)
        version.notes = (*self.notes, *notes)
        return version

    @property
    def newest(self) -> datetime:
        """The second after the version's own commit: the opening of a report without a date.

        It does not follow the newest commit of the history, because one wrong clock there would
        make all other commits look old.
        """
        return datetime.fromtimestamp(max(self.snapshot.committed_at, 0) + 1, UTC)

    @cached_property
    def shipped(self) -> tuple[StageOne, float]:
        """The shipped weights for these files, and their temperature."""
        return shipped(self.snapshot.paths)

    def choose(
        self,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        *,
        tests: bool = False,
        every_class: bool = False,
        may_miss: Collection[str] = (),
    ) -> FileSelection:
        """Select the files that an answer may list (see ``tosloc.paths.globs.select_files``)."""
        paths = self.index.paths
        are_tests = paths.table.test[paths.path_ids]
        selection = select_files(
            self.snapshot.paths,
            are_tests,
            include,
            exclude,
            tests=tests,
            may_miss=may_miss,
            are_others_hidden=is_hidden_class(self.index.file_class),
            every_class=every_class,
        )
        if self.others is None or not (include or exclude):
            return selection
        # A glob that matches only source files is no mistake here.
        others = match_globs(
            self.others.snapshot.paths, include, exclude, may_miss=("include", "exclude")
        )
        return selection._replace(others=others)

    @cached_property
    def template(self) -> frozenset[str]:
        """Lines of the project's own issue forms, those on disk if its files are searched."""
        if self.others is None or self.repository is None:
            return self._committed_template
        snapshot = self.others.snapshot
        blobs = [
            snapshot.blob(file)
            for file, path in enumerate(snapshot.paths)
            if is_issue_template(path)
        ]
        return IssueTemplates(self.repository.repo).of_blobs(blobs)

    @cached_property
    def sources(self) -> RepositoryLookups:
        """What reasons read from the repository."""
        if self.repository is None:
            return RepositoryLookups()
        repo = self.repository.repo
        pages = WebPages.of(repo.remote_url())
        rules = read_code_owners(repo, self.snapshot.commit)
        return RepositoryLookups(
            repo.subject,
            lambda commit: None if pages is None else pages.commit(commit),
            lambda commits: repo.authors(commits, self.snapshot.commit),
            lambda path: owners_of(rules, path),
        )

    def functions_of(self, files: Sequence[int]) -> Sequence[FunctionFacts]:
        """Return the functions of each file; none if there is no repository."""
        if self.repository is None:
            return [NO_FUNCTIONS] * len(files)
        blobs = [self.snapshot.blob(file) for file in files]
        paths = [self.snapshot.path(file) for file in files]
        functions = self.repository.functions.read(dict(zip(blobs, paths, strict=True)))
        return [functions.get(blob, NO_FUNCTIONS) for blob in blobs]

    def for_reranking(self) -> RerankingContext:
        """Return what a reranker may read of the version."""
        texts = None
        vectors = None
        if self.repository is not None:
            texts = texts_of(self.repository.repo)
            vectors = self.repository.vectors_path
        return RerankingContext(
            lambda blobs: self.index.text.corpus,
            self.history,
            texts=texts,
            vectors=vectors,
            template=lambda commit: self.template,
        )
