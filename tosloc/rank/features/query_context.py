"""Values that features share for one query and one version, each computed once when needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

from tosloc.core.arrays import FloatArray
from tosloc.core.errors import ToslocError
from tosloc.git.repository import Repository
from tosloc.rank.features.named_files import NamedFiles
from tosloc.rank.features.named_history import NamedHistory
from tosloc.rank.features.stated_ends import NO_ENDS, Ends
from tosloc.rank.features.word_rarity import WordRarity
from tosloc.retrieval.history import HistoryAsOf, ReportMessages, SimilarDocuments
from tosloc.retrieval.query import Query
from tosloc.retrieval.text_matches import TextMatches
from tosloc.retrieval.version_index import VersionIndex


@dataclass(eq=False)
class QueryContext:
    """A query, the version that is searched, and the history known when the report was opened.

    A feature has a value for each of the F files of the version, in the order of their paths, which
    are ``version.snapshot.paths``. The history has N paths, including those that no longer exist;
    ``to_files`` selects the values of the version's files. ``version.paths`` is the index of the
    words of paths.
    """

    query: Query
    """The report, prepared for retrieval: its text, names, places and weighted terms."""
    version: VersionIndex
    """The searched version: the texts and paths of its files."""
    history: HistoryAsOf
    """The history that was known when the report was opened."""
    repository: Repository | None = None
    """Repository in which the ancestry of named commits and releases is read, if there is one."""
    given: Ends = NO_ENDS
    """Commits that work or fail according to the question; empty if it names none."""

    def with_ends(self, good: Sequence[str], bad: str | None) -> Self:
        """Return a context with the revisions that the question names as good and bad.

        Raises UnknownCommit for a revision that names no commit. Raises ToslocError if a good
        commit contains the bad commit, or if there is no repository.
        """
        if not good and bad is None:
            return self
        if self.repository is None:
            raise ToslocError(
                "good and bad commits are those of a repository, and there is none",
                hint="name it with {repo}",
            )
        return replace(self, given=Ends.resolve(self.repository, good, bad))

    @property
    def files(self) -> int:
        """F, the number of files."""
        return self.version.text.files

    @property
    def all_paths(self) -> int:
        """N, the number of paths of the version and its history."""
        return len(self.version.table)

    def to_files(self, values: FloatArray) -> FloatArray:
        """Return (F,) values of the version's files from values (N,) of all paths."""
        return values.take(self.version.paths.path_ids)

    @cached_property
    def matches(self) -> TextMatches:
        """Terms of the report in the files' texts."""
        return TextMatches(self.query, self.version)

    @cached_property
    def word_rarity(self) -> WordRarity:
        """Numbers of files that contain the report's words, and which words distinguish files."""
        return WordRarity(self.query, self.version, self.matches)

    @cached_property
    def history_rarities(self) -> dict[str, tuple[float, float]]:
        """Term of the query -> its rarity among earlier reports, and its rarity among commits."""
        reports = self.history.reports
        commits = self.history.commits
        return {term: (reports.rarity(term), commits.rarity(term)) for term in self.query.weights}

    @cached_property
    def path_scores(self) -> tuple[FloatArray, FloatArray]:
        """(F,) BM25 of the words in each file's folders, and in its whole path."""
        return self.version.paths.bm25(self.query.weights)

    @cached_property
    def named_files(self) -> NamedFiles:
        """Files that the report names."""
        return NamedFiles(self.query, self.version.paths)

    @cached_property
    def similar_documents(self) -> SimilarDocuments:
        """Commit messages and fixed reports that are similar to the report."""
        return SimilarDocuments(self.query, self.history, self.version.paths)

    @cached_property
    def named_history(self) -> NamedHistory:
        """Earlier changes and releases that the report names."""
        return NamedHistory(self.query, self.version, self.history, self.repository, self.given)

    @cached_property
    def messages(self) -> ReportMessages:
        """Messages of the report that are in string literals of the files."""
        return ReportMessages(self.query.text.message_lines, self.version.text)

    @property
    def shares_words(self) -> bool:
        """Whether any term of the report occurs in a file or a path."""
        file_terms = self.version.corpus.terms
        path_terms = self.version.table.term_ids
        return any(term in file_terms or term in path_terms for term in self.query.weights)

    @property
    def distinguishes_files(self) -> bool:
        """Whether the report contains anything that distinguishes files.

        A named file of the version, a named earlier change, or words can distinguish files.
        Everyday words do not count. The report may be in any language: if the code uses another
        language, usually only names of the report occur in files.
        """
        if self.named_files.mentioned_rows or self.named_files.project_frames:
            return True
        return bool(self.named_history.changes) or self.word_rarity.distinguishes_files
