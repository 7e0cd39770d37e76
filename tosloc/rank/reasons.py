"""What can be said for a file, each thing with what people need to check it: a frame, a name, a commit, words."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Final

import numpy as np

from tosloc.code import text
from tosloc.code.functions import FunctionFacts
from tosloc.core.records import Function, Reason
from tosloc.git.fixes import first_issue, is_fix_message
from tosloc.rank.functions import find_best_holder
from tosloc.rank.text_features import find_defined_names
from tosloc.retrieval import bm25
from tosloc.retrieval.context import EVERYDAY, QueryContext
from tosloc.retrieval.documents import DocumentsView
from tosloc.retrieval.paths import file_stem

WORDS_SHOWN: Final = 5  # words a reason, at most
COMMON_SHARE: Final = 0.25  # words that stand in a larger part of the files tell none from another, unless two of them do
MAX_NAMED_SHARE: Final = 0.5  # words that stand in a larger part of the files are not named
RARE: Final = 0.1
"""Words of the description alone are named where they stand in no larger part of the files, and MIN_RARE_WORDS of them do."""
MIN_RARE_WORDS: Final = 3
NAMESAKES: Final = 5  # a name that more files have says nothing of one of them
MIN_SIMILARITY: Final = (
    0.15  # cosine between the report and a commit message below which they share words by chance
)
MIN_SIMILARITY_ONE_WORD: Final = 0.3  # cosine from which on one shared word is enough
MIN_SHARED_IDF: Final = 8.0
"""Sum of the IDF of the words that a report shares with a commit, doubled for words of its summary and identifiers."""
FIX_BEFORE_COMMIT: Final = (
    1.25  # a fix is told before a commit that is at most so many times nearer to the report
)
NEAREST: Final = 3  # fixes and commits of a file that are looked at: those nearest to the report
NEAREST_OF_ALL: Final = 10  # the same of the whole project
SUBJECT: Final = 100  # letters of a commit's subject that are shown
_PATH: Final = re.compile(
    r"(?<![\w$.\-/\\])[/\\]{0,3}+((?:[\w.\-$]+[/\\])*[\w.\-$]*[\w\-$]\.[A-Za-z][A-Za-z+]{0,7})(?![\w(])"
)
_NOT_SAID: Final = re.compile(r"https?://\S+|www\.\S+|<!--.*?(?:-->|\Z)", re.DOTALL)
"""Of a report's text, what nobody has said: addresses, and what a form tells those who fill it in."""
_MODULE: Final = re.compile(r"(?<![\w./\\])[a-z_]\w*(?:\.[A-Za-z_]\w*){1,8}")


@dataclass(frozen=True)
class RepositoryLookups:
    """What reasons may read of the repository beside the facts; by default nothing."""

    subject: Callable[[str], str | None] = lambda commit: None  # first line of a commit's message
    commit_url: Callable[[str], str | None] = lambda commit: None  # where a commit can be read
    authors: Callable[[Sequence[str]], Mapping[str, str]] = lambda commits: {}
    """Commit ids -> the names of their authors."""
    owners: Callable[[str], Sequence[str]] = lambda path: ()
    """Whom the version's CODEOWNERS names for a path."""


@dataclass(frozen=True, slots=True)
class PastChange:
    """An earlier commit, or fixed report, that touched a file and speaks like the report."""

    commit: str
    bug: str | None  # the fixed report, where it is known by a number of its own
    at: int  # seconds since 1970
    fix: bool
    similarity: float
    words: tuple[str, ...]  # terms that it shares with the report, rarest first
    rows: tuple[int, ...]  # path rows of the files that it touched


class FileReasons:
    """What can be said of the files of one answered query; files are named by their number in the version."""

    def __init__(self, context: QueryContext) -> None:
        self.context, self.paths = context, context.version.paths
        self._written: dict[str, str] = {}
        """Terms of what the report says, each as it is written there first."""
        for source in (context.query.report.summary, context.query.prose):
            for word in text.words(_NOT_SAID.sub(" ", source)):
                for part in (*text.split_identifier(word), word):
                    for term in text.identifier_terms(part)[-1:]:
                        self._written.setdefault(term, part)

    @cached_property
    def _strong(self) -> frozenset[str]:
        """Terms that say what the report is about: those of its summary, and identifiers."""
        said = (*self.context.query.summary_counts, *self.context.query.compounds)
        return frozenset(said) & self._written.keys()

    def describe_match(self, asked: str, found: str) -> str:
        """A term of the report as it was written, and the term of a file that answers it, where that is another."""
        return self._written.get(asked, asked) + ("" if asked == found else f" ~ {found}")

    def join_words(self, terms: Sequence[str]) -> str:
        """The first terms, each as it was written in the report, without parts of those before."""
        shown: list[str] = []
        for word in (self._written.get(term, term) for term in terms):
            if not any(word.lower() in other.lower() for other in shown):
                shown.append(word)
        return ", ".join(shown[:WORDS_SHOWN])

    def _path(self, file: int) -> int:
        """Number of the file's path."""
        return int(self.paths.path_ids[file])

    # Frames and names

    def frame(self, file: int) -> Reason | None:
        """The first stack frame in the file; its line is that of the report's version."""
        row = self._path(file)
        for trace in self.context.query.locations.traces:
            for place in trace:
                rows = self.context.frame_rows(place)
                if row in rows and (len(trace) > 1 or place.method):
                    named = ".".join(filter(None, (place.type.rpartition(".")[2], place.method)))
                    where = f", line {place.line} in the report's version" if place.line else ""
                    said = f"stack frame{f' {named}' if named else ''}{where}{_one_of(len(rows))}"
                    return Reason(
                        "frame", said, lines=(place.line, place.line) if place.line else None
                    )
        return None

    def name(self, file: int) -> Reason | None:
        """That the report writes the file's path, its module, or its name."""
        row = self._path(file)
        if row in self._spelled:
            return Reason("name", f"the report names {self._spelled[row]}")
        stem = file_stem(self.paths.table.paths[row])
        if stem not in self.context.query.mentions or not (stem[:1].isupper() or "_" in stem):
            return None
        same = len(self.paths.find_by_stem(stem))
        said = (
            f"names {stem}"
            if self.paths.table.compound_stem[row]
            else f"says {stem}, the file's name"
        )
        return None if same > NAMESAKES else Reason("name", f"the report {said}{_one_of(same)}")

    @cached_property
    def _spelled(self) -> dict[int, str]:
        """Path row -> how the report spells the file: as a path or a name with its suffix, or as a dotted module."""
        found: dict[int, str] = {}
        for source in (self.context.query.report.summary, self.context.query.prose):
            for spelled in dict.fromkeys(_PATH.findall(source)):
                rows = self.paths.find_by_frame_path(spelled)
                if len(rows) == 1:
                    found.setdefault(rows[0], _tail(spelled, self.paths.table.paths[rows[0]]))
            for spelled in dict.fromkeys(_MODULE.findall(source)):
                names = spelled.split(".")  # of them the first two or more
                meant = (
                    names[:length] + more
                    for length in range(len(names), 1, -1)
                    for more in ([], ["__init__"])
                )
                files = (self.paths.find_by_class(".".join(module)) for module in meant)
                if alone := next((rows for rows in files if len(rows) == 1), None):
                    found.setdefault(alone[0], spelled)
        return found

    def defined_name(self, file: int, functions: FunctionFacts | None = None) -> Reason | None:
        """That the file defines a function or type, of two words or more, that the report names and few define. Terms
        know no capitals and underscores: where its ``functions`` are known, one is called just so.
        """
        row = int(self.context.version.text.rows[file])
        names = {name for _, name in functions.last_names} if functions else set()
        for one in sorted(find_defined_names(self.context), key=lambda one: -one.weight):
            if names and one.name.written not in names:
                continue
            if one.name.compound and one.files <= NAMESAKES and row in one.rows:
                text = f"it defines {one.name.written}, which the report names"
                return Reason(
                    "name", text + (f" (one of {one.files} files that do)" if one.files > 1 else "")
                )
        return None

    # Earlier changes

    def past(self, file: int | None = None) -> list[PastChange]:
        """Earlier fixes and commits, of a file or of the whole project, that speak like the report, the one to tell
        first first.
        """
        context, found = self.context, dict[str, PastChange]()
        for view, similarities, fix in (
            (context.history.reports, context.report_similarities, True),
            (context.history.commits, context.commit_similarities, False),
        ):
            near = (
                np.arange(len(similarities))
                if file is None
                else view.documents.find_by_file(self._path(file))
            )
            near = near[similarities[near] >= MIN_SIMILARITY]
            near = near[np.argsort(-similarities[near], kind="stable")]
            for number in near[: NEAREST_OF_ALL if file is None else NEAREST].tolist():
                change = self._change(view, number, float(similarities[number]), fix)
                if change is not None:
                    found.setdefault(change.commit, change)
        return sorted(
            found.values(),
            key=lambda one: -one.similarity * (FIX_BEFORE_COMMIT if one.fix else 1.0),
        )

    def _change(
        self, view: DocumentsView, number: int, similarity: float, fix: bool
    ) -> PastChange | None:
        """A document as an earlier change; None where what it shares with the report is chance."""
        documents, weights = view.documents, dict[str, float]()
        for term in documents.terms[slice(*documents.starts[number : number + 2])].tolist():
            word = documents.vocabulary[term]
            if word in self._written and word not in EVERYDAY:
                weights[word] = float(view.idf[term]) * (2.0 if word in self._strong else 1.0)
        shared = sorted(weights, key=lambda term: (-weights[term], term))
        enough = len(shared) > 1 and sum(weights.values()) >= MIN_SHARED_IDF
        if not (
            enough or (similarity >= MIN_SIMILARITY_ONE_WORD and self._strong.intersection(shared))
        ):
            return None
        commit, identity = documents.commit_ids[number], documents.ids[number]
        # mined from commits alone, a report is called by the beginning of its commit's id: no bug of that name is known
        bug = (
            None
            if (len(identity) > 6 and commit.startswith(identity)) or not fix
            else identity.partition("#")[0]
        )
        rows = documents.files[slice(*documents.file_starts[number : number + 2])]
        at = int(documents.times[number])
        return PastChange(commit, bug, at, fix, similarity, tuple(shared), tuple(rows.tolist()))

    def describe_change(self, change: PastChange, sources: RepositoryLookups) -> Reason:
        """An earlier change in words: which, when, and what it says of itself or shares with the report. It is called a
        fix where a fixed report is known, or where its own first line says so.
        """
        subject = sources.subject(change.commit)
        fix = change.fix and (subject is None or change.bug is not None or is_fix_message(subject))
        of_bug = f" of bug {change.bug}" if change.bug else ""
        said = (
            f"{'earlier fix' if fix else 'commit'} {change.commit[:10]}{of_bug}, {day(change.at)}"
        )
        shared = self.join_words(change.words)
        if subject:
            said = f"{said}: {subject if len(subject) <= SUBJECT else subject[: SUBJECT - 2].rstrip() + ' …'}"
            if change.words[0] in text.terms(_NOT_SAID.sub(" ", subject)):
                shared = ""  # the subject shows what it shares
        issue = change.bug or (None if subject is None else first_issue(subject))
        said += f"; it says {shared}" if shared else ""
        return Reason(
            "fix" if fix else "commit",
            said,
            change.commit,
            issue,
            url=sources.commit_url(change.commit),
        )

    # Words

    def words(self, file: int) -> tuple[list[str], bool]:
        """Terms that the report and the file's text share, those that tell most first; whether they tell anything."""
        view, hits = self.context.version.text, self.context.hits
        row = int(view.rows[file])
        shared, counts = hits.terms_in_row(row)
        frequency = bm25.WHOLE(view, counts, np.full(len(shared), row, dtype=np.int32))
        order = np.argsort(
            -(frequency * hits.idf[shared] * self.context.text_terms[1][shared]), kind="stable"
        )
        best = {
            self.context.known_words[term]: float(hits.idf[term]) for term in shared[order].tolist()
        }
        by_gain = {term: rarity for term, rarity in best.items() if term in self._written}
        about = [
            term
            for term in by_gain
            if term in self._strong and by_gain[term] >= np.log(1 / MAX_NAMED_SHARE)
        ]
        others = [
            term
            for term in by_gain
            if term not in self._strong and by_gain[term] >= np.log(1 / RARE)
        ]
        if (
            len(about) > 1
            or any(by_gain[term] >= np.log(1 / COMMON_SHARE) for term in about)
            or len(others) >= MIN_RARE_WORDS
        ):
            return about + others[: max(0, MIN_RARE_WORDS - len(about))], True
        return [*by_gain], False

    def describe_words(
        self, words: Sequence[str], functions: FunctionFacts | None, listed: Sequence[Function]
    ) -> Reason:
        """Words that met; those that the ``listed`` function of the file with the most of them holds, if one does."""
        shown = list(words[:WORDS_SHOWN])
        if functions is None or (found := find_best_holder(functions, shown, listed)) is None:
            return Reason("words", f"words {self.join_words(words)}")
        number, held = found
        inside = self.join_words([word for word in shown if word in held])
        lines = int(functions.starts[number]), int(functions.ends[number])
        return Reason("words", f"words {inside} in {functions.names[number]}", lines=lines)

    def name_words(self, file: int) -> list[str]:
        """Words of the file's name that say what the report is about, and that few names have; heaviest first."""
        stem = frozenset(text.terms(file_stem(self.paths.table.paths[self._path(file)])))
        ids, known = self.paths.table.term_ids, self.context.query.weights
        held = [
            term
            for term in stem & self._strong
            if self.paths.name_idf[ids[term]] >= np.log(1 / RARE)
        ]
        return sorted(held, key=lambda term: (-known.get(term, 0.0), term))

    # Related files

    def counterpart(self, file: int, leading: Sequence[int]) -> Reason | None:
        """A file among the ``leading`` ones that is a test by this one's name, or whose name this one tests."""
        table, row = self.paths.table, self._path(file)
        for place, other in enumerate(leading, start=1):
            there = self._path(other)
            related = table.counterpart_group[there] == table.counterpart_group[row]
            other_kind = table.test[there] != table.test[row]
            if (
                related
                and other_kind
                and file_stem(table.paths[there]) != file_stem(table.paths[row])
            ):
                what = "a test of this name," if table.test[there] else "what it tests by its name,"
                return Reason(
                    "test", f"{what} {table.paths[there]}, is number {place} of all files"
                )
        return None


def _tail(spelled: str, path: str) -> str:
    """The end of a path as a report spells it, as far as it is that of the file.

    >>> _tail("github.com/x/y/blob/12ab/src/a.py", "src/a.py"), _tail("..\\\\lib\\\\a.py", "src/a.py")
    ('src/a.py', 'a.py')
    """
    own, theirs = path.split("/"), spelled.replace("\\", "/").split("/")
    return next(("/".join(own[-n:]) for n in range(len(own), 0, -1) if own[-n:] == theirs[-n:]), "")


def _one_of(files: int) -> str:
    return f" (one of {files} files so called)" if files > 1 else ""


def day(seconds: int) -> str:
    """The date, in UTC, of seconds since 1970."""
    return datetime.fromtimestamp(seconds, UTC).date().isoformat()
