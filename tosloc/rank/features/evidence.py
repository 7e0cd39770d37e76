"""Find statements of a report about its fault, and raise the files that they point at.

A report describes its fault in words, and sometimes states directly where it is. Such a statement
is not a feature: a fit would give it little weight, because words suffice in most of the reports
that it learns from. Statements are therefore applied after everything that was learned, and only
here. They have four ranks:

1. **They bound.** A release or commit in which it works or fails, or the reporter's build, says
   which history counts (``tosloc.retrieval.history.bounds``). It points at no file.
2. **They accuse.** The file of such a statement comes first, whatever words suggest: a path in the
   title, a path that a sentence blames ("Bug in src/door.py"), the only file of a commit that the
   report blames, and the innermost own frame of a report that has little but a stack trace.
3. **They point.** The file of such a statement gets a raise. Words may still put another one first.
4. **They say nothing** beyond their words: a path in code, in a log or in a list of files; a path
   that several files can mean; frames of libraries and tests, and a second stack trace.

``KINDS`` lists the statements of ranks 2 and 3 with their raises. Its comments say how often the
files were fixed. ``tosloc lab evidence`` counts that; docs/method.md has its table.

If statements contradict each other, files of rank 2 come before files of rank 3. Files of the same
rank keep the order of their raised scores. Only the strongest statement about a file raises its
score: statements are never added, because they often repeat each other.

A new kind of statement is a row of ``KINDS``, and a line that yields it in ``find_statements``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from tosloc.code import text
from tosloc.code.literals import find_words
from tosloc.core.arrays import Float32Array, FloatArray
from tosloc.core.patterns import lazy_pattern
from tosloc.rank.features.named_files import Rows
from tosloc.rank.features.query_context import QueryContext
from tosloc.rank.features.registry import PAPER_NAMES
from tosloc.rank.features.word_rarity import EVERYDAY
from tosloc.reports.traces import Frame, Locations, Place, locations
from tosloc.retrieval.history import ReportMessages
from tosloc.retrieval.paths import VersionPaths
from tosloc.retrieval.query import Query
from tosloc.retrieval.texts import top_k

ACCUSES: Final = 100.0
"""Amount that is added to the value of an accusing statement, besides its raise."""
LEAD: Final = 1.0
"""Smallest lead in score of an accused file over all files that are not accused."""


class Kind(NamedTuple):
    """A kind of statement that points at a file."""

    name: str
    raised: float
    """Amount by which the file's score is raised, as a logarithm of odds, like scores."""
    accuses: bool = False
    """Whether the file comes before all files without an accusing statement."""

    @property
    def value(self) -> float:
        """Value in ``find_asserted`` of a file that such a statement points at."""
        return self.raised + (ACCUSES if self.accuses else 0.0)


class Statement(NamedTuple):
    """A statement of a report that points at one file."""

    kind: str
    """Name of the statement's kind."""
    row: int
    """Path row of the file."""


KINDS: Final = {
    kind.name: kind
    for kind in (
        Kind("path in the title", 0.4, accuses=True),  # 75 % of 4
        Kind("path that a sentence blames", 0.6, accuses=True),  # 1 of 1
        Kind("only file of a blamed commit", 0.6, accuses=True),
        Kind("innermost frame, little else", 0.6, accuses=True),  # 83 % of 12
        Kind("file of a blamed commit", 0.6),
        Kind("link", 0.6),  # 83 % of 36
        Kind("path in a sentence", 0.6),  # 74 % of 66
        Kind("quoted text", 0.6),  # 36 % of 55
        Kind("innermost frame", 0.4),  # 65 % of 83
        Kind("further frame", 0.3),  # 16 % of 140
        Kind("place with a line", 0.3),  # 81 % of 21
        Kind("path elsewhere", 0.0),  # 12 % of 76
    )
}
"""The kinds of statements by name, strongest first.

The comments say how many files of each kind were fixed. For the innermost frame of a vague report
they count reports with at most 8 words beside the trace, because few reports have fewer words. The
raises were chosen on development reports of 27 projects (docs/method.md). Most raises are small,
because the learned weights already follow these statements.
"""

MAX_FILES_OF_BLAMED: Final = 20
"""Largest number of files of a blamed commit that points at them.

A larger commit says too little about each file.
"""
_MAX_WORDS_OF_VAGUE_REPORT: Final = 6
"""Largest number of words, without everyday words, that a vague report has beside its trace.

The innermost frame of such a report decides.
"""
_WORDS_BEFORE_PATH: Final = 100
"""Number of characters before a path in which a sentence may blame it."""
_BLAMES: Final = lazy_pattern(
    r"""(?ix)
    (?: \b(?:bugs?|errors?|defects?|faults?|flaws?|issues?|leaks?|mistakes?|problems?|regressions?
          |typos?|broken|wrong) \s (?:[^.!?;\n]{0,30}\s)? (?:at|from|in|inside|of|with)
      | \b(?:because\ of|caused\ by|culprit\ is|due\ to)
    ) \s (?:(?:the|file|module|script)\s){0,2} [`'"(\[*]{0,3} \Z"""
)
"""Text before a path that a sentence blames."""
_QUOTE: Final = lazy_pattern(
    r"""`{1,3}([^`\n]{3,200})`|["\u201c]([^"\u201c\u201d\n]{3,200})["\u201d]"""
)
"""A text in backticks or in double quotes."""
_ROUTE: Final = lazy_pattern(r"(?<![\w/.:\\-])/?[\w-]{1,60}(?:/[\w-]{1,60}){1,10}/?(?![\w/.:\\-])")
"""A route of a service, such as ``api/ws/status``, which has no suffix, unlike a file's path."""
_MAX_QUOTES: Final = 50
"""Largest number of quoted texts of a report that are searched for, the first ones."""
_MAX_BLOBS_WITH_QUOTES: Final = 30
"""Largest number of blobs that are compared with quoted texts: those with their rarest words."""
_THROWN: Final = lazy_pattern(
    r'\A\s{0,20}(?:Caused by: |Exception in thread "[^"\n]{0,100}" )?'
    r"[\w.$]{1,200}(?:Error|Exception|Throwable)(?::|\s{0,5}\Z)"
)
"""Beginning of a line with an exception and its message, which belongs to a stack trace."""


def find_asserted(context: QueryContext, names: Sequence[str]) -> FloatArray:
    """Return (F,) the value of the strongest statement that points at each file; 0 without one.

    ``names`` are the features of stage one. All values are 0 for the paper's features, because the
    paper's method has no statements.
    """
    asserted = np.zeros(context.all_paths)
    if set(names) <= set(PAPER_NAMES):
        return context.to_files(asserted)
    for statement in find_statements(context):
        value = KINDS[statement.kind].value
        asserted[statement.row] = max(asserted[statement.row], value)
    return context.to_files(asserted)


def raise_asserted(scores: FloatArray, asserted: FloatArray | Float32Array) -> FloatArray:
    """Return scores (F,) raised by the values (F,) of ``find_asserted``.

    Accused files keep the order of their raised scores. They lead all other files by at least
    ``LEAD``.
    """
    if not asserted.any():
        return scores
    accused = asserted >= ACCUSES
    raised = scores + np.where(accused, asserted - ACCUSES, asserted)
    if not accused.any() or accused.all():
        return raised
    least = float(raised[~accused].max()) + LEAD
    for file in np.flatnonzero(accused)[np.argsort(raised[accused], kind="stable")].tolist():
        raised[file] = max(float(raised[file]), least)
        least = float(np.nextafter(raised[file], np.inf))
    return raised


def find_statements(context: QueryContext) -> Iterator[Statement]:
    """Yield the statements of a report; each points at one file of the version.

    Test files are left out, because reports name the tests that fail. Places that several files can
    mean are left out as well. A statement about a commit that changed several files is yielded once
    for each of them.
    """
    paths = context.version.paths
    places = _find_places(context.query, paths)
    for kind, rows in (*places, *_find_blamed(context), *_find_quotes(context)):
        if len(rows) == 1 and not paths.table.test[rows[0]]:
            yield Statement(kind, rows[0])


def _find_places(query: Query, paths: VersionPaths) -> Iterator[tuple[str, Rows]]:
    """Yield the kind of each statement about a place, and the rows of the files it can mean."""
    in_title = _written_places(locations(query.text.title))
    for place in in_title:
        yield "path in the title", _rows(place, paths)
    prose = query.text.parts.prose
    in_prose = _written_places(locations(prose))
    for place in in_prose:
        before = prose[max(place.offset - _WORDS_BEFORE_PATH, 0) : place.offset]
        blamed = _BLAMES.search(before) is not None
        kind = "path that a sentence blames" if blamed else "path in a sentence"
        yield kind, _rows(place, paths)
    counted = {place.path for place in (*in_title, *in_prose)}
    for place in query.places.locations.paths:
        if place.path not in counted:
            yield "path elsewhere", _rows(place, paths)
    for place in query.places.locations.links:
        yield "link", _rows(place, paths)
    for trace in query.places.locations.traces:
        if len(trace) == 1:
            yield "place with a line", _rows(trace[0], paths)
    for position, rows in enumerate(own_frames(query, paths)):
        if position:
            yield "further frame", rows
        elif _is_vague(query):
            yield "innermost frame, little else", rows
        else:
            yield "innermost frame", rows


def _find_blamed(context: QueryContext) -> Iterator[tuple[str, Rows]]:
    """Yield each source file that blamed commits changed, with the kind of the statement.

    Test files are left out, because a change is committed together with its tests.
    """
    paths = context.version.paths
    blamed = np.array(context.named_history.blamed_rows, dtype=np.int64)
    rows = blamed[np.isin(blamed, paths.path_ids) & ~paths.table.test[blamed]].tolist()
    if len(rows) > MAX_FILES_OF_BLAMED:
        return
    kind = "only file of a blamed commit" if len(rows) == 1 else "file of a blamed commit"
    for row in rows:
        yield kind, (row,)


def _rows(place: Frame | Place, paths: VersionPaths) -> Rows:
    """Return the path rows of the project's own files that a place can mean."""
    return tuple(paths.find_by_place(place))


def _written_places(found: Locations) -> list[Frame | Place]:
    """Return the paths in a text, and its places with a line that are not in a stack trace."""
    alone = [trace[0] for trace in found.traces if len(trace) == 1]
    return [*found.paths, *alone]


def own_frames(query: Query, paths: VersionPaths) -> list[Rows]:
    """Return the project's own files in the first stack trace that contains any, innermost first.

    Each file is returned once. Frames after the last "Caused by" come first, because this part
    failed first. In 29 reports with causes, the innermost own frame of this part was in a fixed
    file 15 times, and the innermost own frame of the whole trace 9 times.
    """
    for trace in query.places.locations.traces:
        if len(trace) == 1:
            continue
        by_cause = sorted(trace, key=lambda frame: -frame.cause)
        own = []
        for rows in dict.fromkeys(_rows(frame, paths) for frame in by_cause):
            if rows and not paths.table.test[list(rows)].any():
                own.append(rows)
        if own:
            return own
    return []


def _find_quotes(context: QueryContext) -> Iterator[tuple[str, Rows]]:
    """Yield the kind of each quoted text or route in string literals, and the rows of its files."""
    quotes = _quoted_texts(context.query)
    if not quotes:
        return
    texts = context.version.text
    messages = ReportMessages(quotes, texts)
    blobs_by_quote: defaultdict[str, list[int]] = defaultdict(list)
    for blob in top_k(messages.rarity, _MAX_BLOBS_WITH_QUOTES).tolist():
        message = messages.find(blob)
        if message is not None:
            blobs_by_quote[message.text].append(blob)
    for quote in quotes:
        files = np.flatnonzero(np.isin(texts.rows, blobs_by_quote[quote]))
        yield "quoted text", tuple(context.version.paths.path_ids[files].tolist())


def _quoted_texts(query: Query) -> list[str]:
    """Return the quoted texts and routes that have two words or more, without quotation marks."""
    told = f"{query.text.title}\n{query.text.parts.prose}\n{query.text.parts.errors}"
    written = [match[match.lastindex or 0] for match in _QUOTE.finditer(told)]
    written += _ROUTE.findall(told)
    texts: dict[str, None] = {}
    for quote in written[:_MAX_QUOTES]:
        words = list(find_words(quote))
        if len(words) > 1:
            texts[quote[words[0].start() : words[-1].end()]] = None
    return list(texts)


def _is_vague(query: Query) -> bool:
    """Return whether a report says little besides its stack trace."""
    words = set(text.terms(query.text.title))
    for line in query.text.parts.prose.splitlines():
        if not _THROWN.match(line):
            words.update(text.terms(line))
    return len(words - EVERYDAY) <= _MAX_WORDS_OF_VAGUE_REPORT
