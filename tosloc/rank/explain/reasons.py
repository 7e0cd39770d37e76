"""Reasons for a file, each with what people need to check it: a frame, a name, a commit, words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Final

import numpy as np

from tosloc.code import text
from tosloc.code.functions import FunctionFacts
from tosloc.core.answers import Function, Reason
from tosloc.core.arrays import FloatArray, LongArray
from tosloc.git.fixes import first_issue, is_fix_message
from tosloc.rank.explain.functions import find_best_holder
from tosloc.rank.features.query_context import QueryContext
from tosloc.rank.features.text_features import find_defined_names
from tosloc.rank.features.word_rarity import EVERYDAY
from tosloc.reports.traces import Frame
from tosloc.retrieval.paths import file_stem
from tosloc.retrieval.texts import DocumentsView, bm25

MAX_WORDS: Final = 5
"""Most words of a reason."""
COMMON_SHARE: Final = 0.25
"""Share of the files from which on a word distinguishes no file; two such words do."""
MAX_NAMED_SHARE: Final = 0.5
"""Words that a larger share of the files contains are not named."""
RARE_SHARE: Final = 0.1
"""Largest share of the files with a word of the description alone, if it is to be named."""
MIN_RARE_WORDS: Final = 3
"""Rare words of the description that distinguish files without a word of the summary."""
MAX_NAMESAKES: Final = 5
"""A name that more files have is no reason for one of them."""
MIN_SIMILARITY: Final = 0.15
"""Cosine of the report and a commit message below which their shared words are chance."""
MIN_SIMILARITY_ONE_WORD: Final = 0.3
"""Cosine from which on one shared word is enough."""
MIN_SHARED_IDF: Final = 8.0
"""Least IDF of the words that a report and a commit share, if they share more than one.

The IDF of words of the summary and of identifiers is doubled."""
FIX_FACTOR: Final = 1.25
"""A fix comes before a commit whose similarity is at most this times as high."""
MAX_CHANGES_OF_FILE: Final = 3
"""Fixes, and commits, of a file that are examined: those nearest to the report."""
MAX_CHANGES_OF_PROJECT: Final = 10
"""The same for the whole project."""
MAX_RANGE_SHARE: Final = 0.25
"""Largest share of the files that changed between two releases, if a reason speaks of them."""
MIN_RANGE_FILES: Final = 20
"""So few changed files are no hindrance, however few files there are."""
MAX_SUBJECT: Final = 100
"""Most characters of a commit's subject that are shown."""
_PATH: Final = re.compile(
    r"(?<![\w$.\-/\\])[/\\]{0,3}+"
    r"((?:[\w.\-$]+[/\\])*[\w.\-$]*[\w\-$]\.[A-Za-z][A-Za-z+]{0,7})(?![\w(])"
)
_NOT_WRITTEN: Final = re.compile(r"https?://\S+|www\.\S+|<!--.*?(?:-->|\Z)", re.DOTALL)
"""Text that nobody wrote for this report: addresses, and the instructions of a form."""
_MODULE: Final = re.compile(r"(?<![\w./\\])[a-z_]\w*(?:\.[A-Za-z_]\w*){1,8}")


@dataclass(frozen=True)
class RepositoryLookups:
    """Functions that read from the repository what reasons show; by default they return nothing."""

    subject: Callable[[str], str | None] = lambda commit: None
    """Return the first line of a commit's message."""
    commit_url: Callable[[str], str | None] = lambda commit: None
    """Return the address where a commit can be read."""
    authors: Callable[[Sequence[str]], Mapping[str, str]] = lambda commits: {}
    """Return the author's name of each commit id."""
    owners: Callable[[str], Sequence[str]] = lambda path: ()
    """Return whom the version's CODEOWNERS names for a path."""


@dataclass(frozen=True, slots=True)
class PastChange:
    """An earlier commit, or fixed report, that touched a file and is similar to the report."""

    commit: str
    bug: str | None
    """The fixed report, if it is known by a number of its own."""
    at: int
    """Seconds since 1970."""
    fix: bool
    """Whether it is a fixed report."""
    similarity: float
    """Cosine with the report."""
    words: tuple[str, ...]
    """Terms that it shares with the report, rarest first."""
    rows: tuple[int, ...]
    """Path rows of the files that it touched."""


class FileReasons:
    """Reasons for the files of one answered query; a file is its number in the version."""

    def __init__(self, context: QueryContext) -> None:
        self.context = context
        self.paths = context.version.paths
        self._spelling_by_term: dict[str, str] = {}
        """Terms of the report, each with the first spelling in the report."""
        for source in (context.query.text.title, context.query.text.prose):
            for word in text.words(_NOT_WRITTEN.sub(" ", source)):
                for part in (*text.split_identifier(word), word):
                    for term in text.identifier_terms(part)[-1:]:
                        self._spelling_by_term.setdefault(term, part)

    @cached_property
    def _subject_terms(self) -> frozenset[str]:
        """Terms that say what the report is about: words of the summary, and identifiers."""
        terms = (*self.context.query.summary_counts, *self.context.query.names.compounds)
        return frozenset(terms) & self._spelling_by_term.keys()

    def describe_match(self, report_term: str, file_term: str) -> str:
        """Return a report's term as written, with the file's term that matches if it differs."""
        spelling = self._spelling_by_term.get(report_term, report_term)
        return spelling if report_term == file_term else f"{spelling} ~ {file_term}"

    def join_words(self, terms: Sequence[str]) -> str:
        """Return the first terms as the report spells them, without parts of words before them."""
        words: list[str] = []
        for term in terms:
            word = self._spelling_by_term.get(term, term)
            if not any(word.lower() in other.lower() for other in words):
                words.append(word)
        return ", ".join(words[:MAX_WORDS])

    def _row(self, file: int) -> int:
        """Return the path row of a file."""
        return int(self.paths.path_ids[file])

    # Frames and names

    def frame(self, file: int) -> Reason | None:
        """Return the first stack frame in the file; its line is that of the report's version."""
        row = self._row(file)
        for trace in self.context.query.places.locations.traces:
            for location in trace:
                rows = self.context.named_files.find_rows(location)
                # A single location without a method may be no stack frame.
                if row in rows and (len(trace) > 1 or location.method):
                    return _frame_reason(location, len(rows))
        return None

    def name(self, file: int) -> Reason | None:
        """Return the reason that the report writes the file's path, its module or its name."""
        row = self._row(file)
        if row in self._spelling_by_row:
            return Reason("name", f"The report names {self._spelling_by_row[row]}")
        stem = file_stem(self.paths.table.paths[row])
        looks_like_name = stem[:1].isupper() or "_" in stem
        if stem not in self.context.query.names.mentions or not looks_like_name:
            return None
        namesakes = len(self.paths.find_by_stem(stem))
        if namesakes > MAX_NAMESAKES:
            return None
        if self.paths.table.compound_stem[row]:
            verb = f"names {stem}"
        else:
            verb = f"contains {stem}, the file's name"
        return Reason("name", f"The report {verb}{_one_of(namesakes)}")

    @cached_property
    def _spelling_by_row(self) -> dict[int, str]:
        """Path row -> how the report spells the file, for files that a spelling means alone."""
        spellings: dict[int, str] = {}
        paths = self.paths.table.paths
        for source in (self.context.query.text.title, self.context.query.text.written):
            for spelling in dict.fromkeys(_PATH.findall(source)):
                rows = self.paths.find_by_frame_path(spelling)
                if len(rows) == 1 and not self._is_foreign(spelling):
                    spellings.setdefault(rows[0], _common_path_end(spelling, paths[rows[0]]))
            for spelling in dict.fromkeys(_MODULE.findall(source)):
                row = self._find_module(spelling)
                if row is not None:
                    spellings.setdefault(row, spelling)
        locations = self.context.query.places.locations
        # What a build could not make has no line.
        failed = (trace[0] for trace in locations.traces if not trace[0].line)
        for location in (*locations.paths, *locations.links, *failed):
            rows = list(self.context.named_files.find_rows(location))
            if len(rows) == 1 and not location.method:
                spellings.setdefault(rows[0], location.path)
        for name, name_rows, _ in self.context.named_files.by_compound_name:
            for row in name_rows:
                spellings.setdefault(row, name.written)
        return spellings

    def _is_foreign(self, spelling: str) -> bool:
        """Return whether a path is within a link to a file of another project."""
        foreign_projects = self.context.query.places.foreign_projects
        return any(f"/{project}/" in spelling for project in foreign_projects)

    def _find_module(self, dotted: str) -> int | None:
        """Return the path row of the module that a dotted name begins with.

        The longest beginning of two names or more that means exactly one file counts.
        """
        names = dotted.split(".")
        for length in range(len(names), 1, -1):
            module = ".".join(names[:length])
            for qualified in (module, f"{module}.__init__"):
                rows = self.paths.find_by_class(qualified)
                if len(rows) == 1:
                    return rows[0]
        return None

    def defined_name(self, file: int, functions: FunctionFacts | None = None) -> Reason | None:
        """Return the reason that the file defines a function or type that the report names.

        The name must have two words or more, and few files may define it. Terms have neither
        capitals nor underscores; if the file's ``functions`` are given, one must have exactly the
        name.
        """
        row = int(self.context.version.text.rows[file])
        function_names = {name for _, name in functions.last_names} if functions else set()
        heaviest_first = sorted(find_defined_names(self.context), key=lambda name: -name.weight)
        for defined in heaviest_first:
            written = defined.name.written
            if function_names and written not in function_names:
                continue
            if defined.name.compound and defined.files <= MAX_NAMESAKES and row in defined.rows:
                others = f" (one of {defined.files} files that do)" if defined.files > 1 else ""
                return Reason("name", f"Defines {written}, which the report names{others}")
        return None

    def message(self, file: int) -> Reason | None:
        """Return the reason that a string of the file contains a message of the report."""
        row = int(self.context.version.text.rows[file])
        message = self.context.messages.find(row)
        if message is None or not message.is_distinctive:
            return None
        return Reason("message", f'A string in the file contains "{_shorten(message.text)}"')

    # Earlier changes

    def past(self, file: int | None = None) -> list[PastChange]:
        """Return earlier fixes and commits that are similar to the report, the best first.

        They are those of a file, or of the whole project if ``file`` is None.
        """
        context = self.context
        history = context.history
        changes: dict[str, PastChange] = {}
        for change in self._similar_documents(
            history.reports, context.similar_documents.report_similarities, file, is_fix=True
        ):
            changes.setdefault(change.commit, change)
        for change in self._similar_documents(
            history.commits, context.similar_documents.commit_similarities, file, is_fix=False
        ):
            changes.setdefault(change.commit, change)

        def order(change: PastChange) -> float:
            return -change.similarity * (FIX_FACTOR if change.fix else 1.0)

        return sorted(changes.values(), key=order)

    def _similar_documents(
        self, view: DocumentsView, similarities: FloatArray, file: int | None, *, is_fix: bool
    ) -> Iterator[PastChange]:
        """Yield the documents of a file, or of all, that are most similar to the report."""
        if file is None:
            numbers: LongArray = np.arange(len(similarities))
            most = MAX_CHANGES_OF_PROJECT
        else:
            numbers = view.documents.find_by_file(self._row(file))
            most = MAX_CHANGES_OF_FILE
        near = numbers[similarities[numbers] >= MIN_SIMILARITY]
        nearest_first = near[np.argsort(-similarities[near], kind="stable")]
        for number in nearest_first[:most].tolist():
            change = self._past_change(view, number, float(similarities[number]), is_fix)
            if change is not None:
                yield change

    def _past_change(
        self, view: DocumentsView, number: int, similarity: float, is_fix: bool
    ) -> PastChange | None:
        """Return a document as a past change; None if the words that it shares may be chance."""
        documents = view.documents
        start, end = documents.starts[number : number + 2].tolist()
        weights: dict[str, float] = {}
        for term in documents.terms[start:end].tolist():
            word = documents.vocabulary[term]
            if word in self._spelling_by_term and word not in EVERYDAY:
                factor = 2.0 if word in self._subject_terms else 1.0
                weights[word] = float(view.idf[term]) * factor
        shared = sorted(weights, key=lambda term: (-weights[term], term))
        shares_several = len(shared) > 1 and sum(weights.values()) >= MIN_SHARED_IDF
        shares_subject = bool(self._subject_terms.intersection(shared))
        is_near = similarity >= MIN_SIMILARITY_ONE_WORD
        if not shares_several and not (is_near and shares_subject):
            return None
        commit = documents.commit_ids[number]
        identity = documents.ids[number]
        # A report that was mined from commits alone is called by the beginning of its commit's id,
        # which is no number of a bug.
        is_commit_id = len(identity) > 6 and commit.startswith(identity)
        bug = identity.partition("#")[0] if is_fix and not is_commit_id else None
        first, last = documents.file_starts[number : number + 2].tolist()
        rows = tuple(documents.files[first:last].tolist())
        at = int(documents.times[number])
        return PastChange(commit, bug, at, is_fix, similarity, tuple(shared), rows)

    def describe_change(self, change: PastChange, lookups: RepositoryLookups) -> Reason:
        """Return an earlier change as a reason: which, when, its subject and the shared words.

        It is called a fix if a fixed report is known, or if its own subject says so.
        """
        subject = lookups.subject(change.commit)
        is_fix = change.fix and (
            subject is None or change.bug is not None or is_fix_message(subject)
        )
        label = "Earlier fix" if is_fix else "Commit"
        of_bug = f" of bug {change.bug}" if change.bug else ""
        sentence = f"{label} {change.commit[:10]}{of_bug} ({day(change.at)})"
        shared = self.join_words(change.words)
        if subject:
            sentence += f": {_shorten(subject)}"
            if change.words[0] in text.terms(_NOT_WRITTEN.sub(" ", subject)):
                # The subject shows what it shares.
                shared = ""
        if shared:
            sentence += f"; shares the words {shared}"
        issue = change.bug
        if not issue and subject is not None:
            issue = first_issue(subject)
        return Reason(
            "fix" if is_fix else "commit",
            sentence,
            change.commit,
            issue or None,
            url=lookups.commit_url(change.commit),
        )

    def named_change(self, file: int, lookups: RepositoryLookups) -> Reason | None:
        """Return the reason that the report blames or names a change that touched the file."""
        row = self._row(file)
        named = self.context.named_history
        for change in named.changes:
            if row in change.rows:
                subject = lookups.subject(change.commit)
                title = f": {_shorten(subject)}" if subject else ""
                verb = "blames" if named.blames(change) else "names"
                text = f"Changed by {change.written}, which the report {verb}"
                return Reason(
                    "change",
                    f"{text} ({day(change.at)}){title}",
                    change.commit,
                    change.name or None,
                    url=lookups.commit_url(change.commit),
                )
        return None

    @cached_property
    def _range_is_narrow(self) -> bool:
        """Whether few of the version's files changed between the ends that the report names."""
        weights = self.context.to_files(self.context.named_history.range_weights)
        most = max(MAX_RANGE_SHARE * len(weights), MIN_RANGE_FILES)
        return int((weights > 0).sum()) <= most

    def changed_in_range(self, file: int, lookups: RepositoryLookups) -> Reason | None:
        """Return the reason that the file changed between good and bad ends, where it broke.

        It cites the commit that is most similar to the report.
        """
        named = self.context.named_history
        if not named.range or not self._range_is_narrow:
            return None
        bounds = named.bounds
        row = self._row(file)
        history = self.context.history
        similarities = self.context.similar_documents.commit_similarities
        for view in (history.commits, history.merges):
            touching = np.intersect1d(view.documents.find_by_file(row), named.in_range(view))
            if not len(touching):
                continue
            newest_first = touching[::-1]
            if view is history.commits:
                newest_first = newest_first[np.argsort(-similarities[newest_first], kind="stable")]
            number = int(newest_first[0])
            commit = view.documents.commit_ids[number]
            subject = lookups.subject(commit)
            title = f": {_shorten(subject)}" if subject else ""
            change = f"{commit[:10]} ({day(int(view.documents.times[number]))}){title}"
            sentence = f"Changed {bounds.when}: {change}"
            return Reason("range", sentence, commit, url=lookups.commit_url(commit))
        return None

    # Words

    def words(self, file: int) -> tuple[list[str], bool]:
        """Return the terms that the report and the file share, and whether they distinguish it.

        The terms that contribute most to the score come first.
        """
        rarity_by_term = self._shared_terms(file)
        subject_terms = []
        other_terms = []
        for term, rarity in rarity_by_term.items():
            if term in self._subject_terms:
                if rarity >= np.log(1 / MAX_NAMED_SHARE):
                    subject_terms.append(term)
            elif rarity >= np.log(1 / RARE_SHARE):
                other_terms.append(term)
        has_rare_subject = any(
            rarity_by_term[term] >= np.log(1 / COMMON_SHARE) for term in subject_terms
        )
        has_rare_others = len(other_terms) >= MIN_RARE_WORDS
        if len(subject_terms) > 1 or has_rare_subject or has_rare_others:
            missing = max(0, MIN_RARE_WORDS - len(subject_terms))
            return subject_terms + other_terms[:missing], True
        return [*rarity_by_term], False

    def _shared_terms(self, file: int) -> dict[str, float]:
        """Return the IDF of the terms that the report and the file share, best score first."""
        context = self.context
        view = context.version.text
        hits = context.matches.hits
        row = int(view.rows[file])
        shared, counts = hits.terms_in_row(row)
        frequency = bm25.WHOLE(view, counts, np.full(len(shared), row, dtype=np.int32))
        scores = frequency * hits.idf[shared] * context.matches.weights[shared]
        rarity_by_term: dict[str, float] = {}
        for number in shared[np.argsort(-scores, kind="stable")].tolist():
            term = context.matches.words[number]
            if term in self._spelling_by_term:
                rarity_by_term[term] = float(hits.idf[number])
        return rarity_by_term

    def describe_words(
        self, words: Sequence[str], functions: FunctionFacts | None, listed: Sequence[Function]
    ) -> Reason:
        """Return shared words as a reason.

        If a ``listed`` function of the file contains some of them, the reason names the function
        that contains most, and these words alone.
        """
        shown = list(words[:MAX_WORDS])
        holder = None
        if functions is not None:
            holder = find_best_holder(functions, shown, listed)
        if functions is None or holder is None:
            return Reason("words", f"Matching words: {self.join_words(words)}")
        number, contained = holder
        inside = self.join_words([word for word in shown if word in contained])
        lines = int(functions.starts[number]), int(functions.ends[number])
        return Reason(
            "words", f"Matching words in {functions.names[number]}: {inside}", lines=lines
        )

    def name_words(self, file: int) -> list[str]:
        """Return the words of the file's name that the report is about, heaviest first.

        Only words that few file names have count.
        """
        stem_terms = frozenset(text.terms(file_stem(self.paths.table.paths[self._row(file)])))
        term_ids = self.paths.table.term_ids
        weights = self.context.query.weights
        rare = []
        for term in stem_terms & self._subject_terms:
            if self.paths.name_idf[term_ids[term]] >= np.log(1 / RARE_SHARE):
                rare.append(term)
        return sorted(rare, key=lambda term: (-weights.get(term, 0.0), term))

    # Related files

    def counterpart(self, file: int, leading: Sequence[int]) -> Reason | None:
        """Return the reason that a ``leading`` file is a test of this one, or tested by this one.

        Tests are found by their names.
        """
        table = self.paths.table
        row = self._row(file)
        for rank, other in enumerate(leading, start=1):
            other_row = self._row(other)
            is_related = table.counterpart_group[other_row] == table.counterpart_group[row]
            is_pair = is_related and table.test[other_row] != table.test[row]
            other_path = table.paths[other_row]
            if is_pair and file_stem(other_path) != file_stem(table.paths[row]):
                is_test = table.test[other_row]
                relation = "Its test" if is_test else "It tests"
                return Reason("test", f"{relation} {other_path}, which has rank {rank}")
        return None


def _frame_reason(location: Frame, files: int) -> Reason:
    """Return a stack frame as a reason; ``files`` is the number of files that it can mean."""
    class_name = location.type.rpartition(".")[2]
    names = ".".join(filter(None, (class_name, location.method)))
    sentence = f"Stack frame {names}" if names else "Stack frame"
    lines = None
    if location.line:
        sentence += f", line {location.line} in the report's version"
        lines = (location.line, location.line)
    elif not names:
        sentence += f" in {location.place.rpartition('/')[2]}"
    return Reason("frame", f"{sentence}{_one_of(files)}", lines=lines)


def _common_path_end(spelling: str, path: str) -> str:
    """Return the end of a path as far as a report's spelling of it agrees.

    >>> _common_path_end("github.com/x/y/blob/12ab/src/a.py", "src/a.py")
    'src/a.py'
    >>> _common_path_end("..\\\\lib\\\\a.py", "src/a.py")
    'a.py'
    """
    names = path.split("/")
    spelled_names = spelling.replace("\\", "/").split("/")
    for length in range(len(names), 0, -1):
        if names[-length:] == spelled_names[-length:]:
            return "/".join(names[-length:])
    return ""


def _shorten(subject: str) -> str:
    """Return a commit's subject with single blanks, cut off if it is too long."""
    subject = " ".join(subject.split())
    if len(subject) <= MAX_SUBJECT:
        return subject
    return subject[: MAX_SUBJECT - 2].rstrip() + " …"


def _one_of(files: int) -> str:
    """Return a remark that a name is that of several files; "" if it is not."""
    return f" (one of {files} files with this name)" if files > 1 else ""


def day(seconds: int) -> str:
    """Return the date, in UTC, of seconds since 1970."""
    return datetime.fromtimestamp(seconds, UTC).date().isoformat()
