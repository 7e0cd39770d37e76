"""One version ready for questions: its index, its history and a reader of its repository."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from datetime import UTC, datetime
from difflib import get_close_matches
from functools import cached_property
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np

from tosloc.code.functions import NO_FUNCTIONS, FunctionFacts
from tosloc.code.languages import SOURCE_SUFFIXES, other_kind
from tosloc.core.errors import ToslocError
from tosloc.core.patterns import lazy_pattern
from tosloc.git.discovery import WebPages
from tosloc.git.repository import AuthorNames, Tags
from tosloc.localize.checkpoint import shipped
from tosloc.localize.code_owners import owners_of, read_code_owners
from tosloc.localize.globs import FileSelection, Globs, match_globs, select_files
from tosloc.localize.question import Question
from tosloc.localize.repository_notes import describe_gaps, describe_tags, describe_version
from tosloc.paths.classify import OWN_CLASSES, is_hidden_class
from tosloc.rank.explain import RepositoryLookups
from tosloc.rank.model import StageOne
from tosloc.reports.text import IssueTemplates, is_issue_template
from tosloc.rerank.base import Reranker, RerankingContext, texts_of
from tosloc.retrieval.history import Releases
from tosloc.retrieval.version_index import KnownReports, VersionIndex
from tosloc.storage.repository import IndexedRepository

if TYPE_CHECKING:
    from tosloc.localize.model import Model

ONLY_STAGE_ONE: Final = (
    "stage two needs the files' texts, so only stage one ranked them; open a repository to use both"
)
_OF_TOOLS: Final = lazy_pattern(
    r"""(?x) (?:[^/\n]{0,200}/){0,30} (?: \.[^/\n]\S{0,400}
      | (?:angular|bower|cargo|component|composer|deno|jsconfig|lerna|npm-shrinkwrap|nx|package
        |package-lock|pyproject|renovate|tsconfig[\w.-]{0,40}|turbo) \.(?:json|toml) )
    | [^/\n]{1,200}\.(?:json|toml)"""
)
"""Path of a file that lists packages or configures tools.

It has the name of such a file, or is JSON or TOML at the root, or begins with a dot, like a folder
around it.
"""
NO_SETTINGS: Final[Mapping[str, Any]] = {
    "include": (),
    "exclude": (),
    "tests": False,
    "min_confidence": 0.0,
}
"""Options that a repository's settings can change, and their values without settings."""


class SearchableVersion:
    """One version ready for questions: its index, its history and, if known, its repository.

    Code of its files and messages of commits are read from the repository.
    """

    uncommitted = 0
    """Number of files on disk that differ from the commit: changed, new or deleted."""
    others: VersionIndex | None = None
    """Index of the files other than source; None for checkpoints and in experiments."""
    reranking: RerankingContext | None = None
    """Data that the reranker reads; None if only stage one ranks."""
    settings: Mapping[str, Any] = NO_SETTINGS
    """The repository's own settings for answers: option -> value."""

    def __init__(
        self,
        repository: IndexedRepository | None,
        index: VersionIndex,
        known_reports: KnownReports | None,
        reranker: Reranker | None,
    ) -> None:
        """Make a version ready.

        Functions, texts and commit messages are read from ``repository``; it is None if a
        checkpoint contains the version. ``known_reports`` are the labelled reports that training
        read.
        """
        self.snapshot = index.snapshot
        self.index = index
        self.repository = repository
        self.history = index.history
        self._committed_template = frozenset(index.template)
        self._selections: dict[Question, FileSelection] = {}
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
            about_tags = describe_tags(Tags.read(repository.repo))
            self.notes = (*about_repository, *about_tags, *self.notes)
        if reranker is not None:
            context = self.for_reranking()
            if reranker.can_score(context):
                self.reranking = context
            elif reranker.weight:
                self.notes += (ONLY_STAGE_ONE,)

    def with_notes(self, notes: Iterable[str]) -> Self:
        """Return the same version with further notes."""
        version = self._copy()
        version.notes = (*self.notes, *notes)
        return version

    def with_settings(self, settings: Mapping[str, Any]) -> Self:
        """Return the same version with the repository's own settings for answers."""
        version = self._copy()
        version.settings = {**NO_SETTINGS, **settings}
        version._selections = {}
        return version

    def _copy(self) -> Self:
        """Return a copy that shares what every question needs, which is computed only once."""
        for name in ("_shipped", "unsearched", "template", "sources"):
            getattr(self, name)
        return copy(self)

    @property
    def newest(self) -> datetime:
        """Time of opening of a report without a date: a second after the version's commit.

        The newest commit of the history is not used, because one wrong clock there would make all
        other commits look old.
        """
        return datetime.fromtimestamp(max(self.snapshot.committed_at, 0) + 1, UTC)

    @cached_property
    def _shipped(self) -> tuple[StageOne, float]:
        """The shipped weights for the version's files, and their temperature."""
        return shipped(self.snapshot.paths)

    def weights(self, model: Model) -> tuple[StageOne, float]:
        """Return a model's weights for the version's files, and their temperature."""
        if model.stage_one is None:
            return self._shipped
        return model.stage_one, model.temperature

    def complete(self, question: Question) -> Question:
        """Return the question with the repository's settings for the options that are None.

        If the question is about one file, no settings apply, because they could hide that file.
        """
        settings = self.settings if question.path is None else NO_SETTINGS
        values = {}
        for name, value in settings.items():
            if getattr(question, name) is None:
                values[name] = value
        return replace(question, **values)

    def select(self, question: Question) -> FileSelection:
        """Select the files that the answer to a question may list.

        Raises ToslocError for a path that is not a source file, for a pattern that is not a glob,
        and for a glob in the question that matches no file or names a submodule. Globs in settings
        may match no file.
        """
        if question.path is not None:
            file = self.find_file(question.path)
            selection = self.choose()
            return selection if selection.kept[file] else self.choose(all_files=True)
        # Questions about many reports have the same options.
        key = replace(question, report="")
        if key not in self._selections:
            options = self.complete(question)
            self._check_no_submodule(question.include or ())
            may_miss = []
            for name in ("include", "exclude"):
                if getattr(question, name) is None:
                    may_miss.append(name)
            self._selections[key] = self.choose(
                options.include or (),
                options.exclude or (),
                tests=bool(options.tests),
                all_files=options.all_files,
                may_miss=may_miss,
            )
        return self._selections[key]

    def _check_no_submodule(self, globs: Sequence[str]) -> None:
        """Raise ToslocError for a glob of files in a submodule, which versions never contain."""
        for pattern in globs:
            path = pattern.removeprefix("./").strip("/")
            for submodule in self.index.submodules:
                if path == submodule or path.startswith(f"{submodule}/"):
                    repo = shlex.quote(submodule)
                    raise ToslocError(
                        f"{submodule} is a submodule, whose files are not searched",
                        hint=f"ask in the submodule itself, or name it with {{repo}} {repo}",
                    )

    def find_file(self, path: str) -> int:
        """Return the number of the file that the user means by a path.

        An absolute path is matched by its end. Raises ToslocError if there is no such file.
        """
        paths = self.snapshot.paths
        if path in paths:
            return paths.index(path)
        path = path.replace("\\", "/")
        if path.startswith("/"):
            endings = [known for known in paths if "/" in known and path.endswith(f"/{known}")]
            path = max(endings, key=len, default=path)
        if path in paths:
            return paths.index(path)
        searched = f"version {self.snapshot.commit[:10]}"
        if self.uncommitted:
            searched = "the files on disk"
        self._check_searched(path, searched)
        name = PurePosixPath(path).name
        same_name = [known for known in paths if PurePosixPath(known).name == name]
        closest = get_close_matches(path, same_name, cutoff=0)
        hint = "give the path relative to the root of the repository"
        if closest:
            hint = f"did you mean {' or '.join(closest)}?"
        raise ToslocError(f"{path} is not a source file of {searched}", hint=hint)

    def _check_searched(self, path: str, searched: str) -> None:
        """Raise ToslocError if a file with this path exists, but is not ranked; it says why."""
        if self.others is None:
            return
        others = self.others.snapshot.paths
        if path.startswith("/"):
            endings = [known for known in others if "/" in known and path.endswith(f"/{known}")]
            path = max(endings, key=len, default=path)
        if path not in others:
            return
        ending = PurePosixPath(path).suffix
        if ending.lower() in SOURCE_SUFFIXES:
            reason = "is not searched, because the settings name the suffixes of other files"
        elif other_kind(path) is None:
            kind = f"{ending} files" if ending else "files without a suffix"
            reason = f"is not searched, because {kind} are not source, pages or configuration"
        else:
            kind = f"pages and configuration ({other_kind(path)})"
            reason = f"has no rank, because {kind} are searched apart from source files"
        raise ToslocError(f"{path} is in {searched}, but {reason}")

    def choose(
        self,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        *,
        tests: bool = False,
        all_files: bool = False,
        may_miss: Collection[str] = (),
    ) -> FileSelection:
        """Select the files that an answer may list (see ``tosloc.localize.globs.select_files``)."""
        paths = self.index.paths
        are_tests = paths.table.test[paths.path_ids]
        selection = select_files(
            self.snapshot.paths,
            are_tests,
            Globs(include, exclude, may_miss),
            tests=tests,
            are_others_hidden=is_hidden_class(self.index.file_class),
            all_files=all_files,
        )
        if self.others is None or not (include or exclude):
            return selection
        # A glob that matches only source files is no mistake here.
        globs = Globs(include, exclude, may_miss=("include", "exclude"))
        others = match_globs(self.others.snapshot.paths, globs)
        return selection._replace(others=others)

    @cached_property
    def unsearched(self) -> dict[str, int]:
        """Kind -> number of its text files that are not ranked, the most frequent kind first.

        Tests, generated files, documentation and examples are left out. So are files that list
        packages or configure tools, which the smallest project has, too.
        """
        if self.others is None:
            return {}
        paths = self.others.snapshot.paths
        is_own = np.isin(self.others.file_class, OWN_CLASSES)
        kinds: Counter[str] = Counter()
        for path, own in zip(paths, is_own.tolist(), strict=True):
            kind = other_kind(path)
            if own and kind is not None and not _OF_TOOLS.fullmatch(path):
                kinds[kind] += 1
        return dict(kinds.most_common())

    @cached_property
    def searched_share(self) -> float:
        """Share of the version's text files that are ranked, apart from tests and the like."""
        ranked = int(np.isin(self.index.file_class, OWN_CLASSES).sum())
        return ranked / max(ranked + sum(self.unsearched.values()), 1)

    @cached_property
    def template(self) -> frozenset[str]:
        """Lines of the project's own issue forms; those on disk if files on disk are searched."""
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
        """Functions that read the repository for reasons."""
        if self.repository is None:
            return RepositoryLookups()
        repo = self.repository.repo
        pages = WebPages.of(repo.remote_url())
        rules = read_code_owners(repo, self.snapshot.commit)
        return RepositoryLookups(
            repo.subject,
            lambda commit: None if pages is None else pages.commit(commit),
            AuthorNames(repo, self.snapshot.commit).read,
            lambda path: owners_of(rules, path),
            repo.committed,
        )

    def functions_of(self, files: Sequence[int]) -> Sequence[FunctionFacts]:
        """Return the functions of each file; empty for each file if there is no repository."""
        if self.repository is None:
            return [NO_FUNCTIONS] * len(files)
        blobs = [self.snapshot.blob(file) for file in files]
        paths = [self.snapshot.path(file) for file in files]
        functions = self.repository.functions.read(dict(zip(blobs, paths, strict=True)))
        return [functions.get(blob, NO_FUNCTIONS) for blob in blobs]

    def for_reranking(self) -> RerankingContext:
        """Return the data of this version that a reranker may read."""
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
