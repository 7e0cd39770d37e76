"""Find the past commits that may have introduced the fault of a report.

Candidates are commits that touched the first files of an answer, before the report was opened and
contained in the searched version. The patches of the leading candidates are read, newest first, and
show which commit last wrote each line of the files' functions. A weighted sum of features orders
the candidates.

Letters in shapes: C candidates, H files of the answer, K features.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final, NamedTuple

import numpy as np

from tosloc.core.records import FloatArray, Function, Hit, LongArray, SuspectChange
from tosloc.git.patches import FilePatch, Hunk, read_patches
from tosloc.git.repository import Repository, decode_text
from tosloc.rank.excerpts import contained_terms, distinctive_terms
from tosloc.rank.reasons import FileReasons, RepositoryLookups
from tosloc.retrieval.context import QueryContext
from tosloc.retrieval.documents import DAY
from tosloc.retrieval.postings import top_k

MAX_SUSPECTS: Final = 3
"""Most suspect changes of an answer."""
MAX_FILES: Final = 5
"""First files of an answer whose commits are candidates."""
MAX_PATCHES: Final = 60
"""Candidates whose patches are read."""
MAX_BYTES: Final = 2_000_000
"""Bytes of patches that are read."""
DIFF_LINES: Final = 6
"""Most lines of a suspect's hunk that are shown."""
MAX_LINES: Final = 20_000
"""Lines of a file whose last changes are looked for. A longer file was made by a program."""

HISTORY_WEIGHTS: Final = {
    "file": 2.0,  # 1 / rank of the first file that it touched
    "files": 1.0,  # sum of 1 / rank over the files that it touched
    "order": 2.0,  # 1 / (1 + number of newer commits of that first file)
    "age": -1.0,  # ln(1 + days before the report) / 10
    "similarity": 2.0,  # cosine of its message and the report
    "size": -1.0,  # ln(number of files that it touched) / 10
}
"""Weights of the features that need no patch; they choose the candidates whose patches are read."""
WEIGHTS: Final = HISTORY_WEIGHTS | {
    "read": 0.5,  # its patch was read
    "wrote": 3.0,  # share of the functions' lines that it last wrote, by rank of file and function
    "wrote_first": 1.0,  # the same for the first function of the first file alone
    "wrote_words": 3.0,  # share of the report's words in the files' lines that it last wrote
    "wrote_file": 1.0,  # share of the files' lines that it last wrote, by rank of the file
    "touched": 1.0,  # it changed lines beside or in a function, by rank of file and function
    "added_words": 1.0,  # share of the report's words that its added lines contain
    "lines": 0.0,  # ln(1 + lines that it added or removed) / 10
    "adds_file": -1.0,  # it added the first file that it touched
}
"""Weight of each feature in a candidate's score."""
FEATURES: Final = tuple(WEIGHTS)


class SuspectSearch(NamedTuple):
    """Suspect changes for one report, and what hindered the search."""

    changes: tuple[SuspectChange, ...]
    """The most suspect first."""
    notes: tuple[str, ...] = ()
    """Sentences for the user."""


@dataclass
class FileLines:
    """The lines of one file of the answer, and which commit last wrote each."""

    path: str
    functions: tuple[Function, ...]
    lines: list[str]
    position: int
    """Place of the file in the answer, from 0."""
    words: FloatArray
    """(lines,) weight of the report's words in each line."""
    writers: dict[int, str] = field(default_factory=dict)
    """Position of a line -> commit that last wrote it, of those whose patches were read."""

    def __post_init__(self) -> None:
        self.positions_by_text: dict[str, list[int]] = defaultdict(list)
        """Text of a line without white space -> its positions, of lines that say something."""
        for position, line in enumerate(self.lines):
            text = "".join(line.split())
            if is_telling(text):
                self.positions_by_text[text].append(position)
        self.telling: LongArray = np.zeros(len(self.lines), dtype=np.int64)
        """(lines,) 1 for a line that says something, else 0."""
        for positions in self.positions_by_text.values():
            self.telling[positions] = 1
        self.ranks: LongArray = np.zeros(len(self.lines), dtype=np.int64)
        """(lines,) rank of the best function that contains the line, from 1; 0 outside."""
        for rank in range(len(self.functions), 0, -1):
            function = self.functions[rank - 1]
            self.ranks[function.start - 1 : function.end] = rank

    def positions_of(self, rank: int) -> LongArray:
        """Return the positions of a function's lines that say something; rank 0: of all lines."""
        inside = (self.ranks == rank) if rank else np.ones(len(self.lines), dtype=np.bool_)
        return np.flatnonzero(inside & (self.telling > 0))

    def assign(self, patch: FilePatch) -> list[int]:
        """Let a patch's commit be the writer of the lines that it added and no later one did.

        Return the positions of these lines. A line that the patch also removes was only moved.
        """
        removed = set()
        for hunk in patch.hunks:
            for line in hunk.lines:
                if line.startswith("-"):
                    removed.add("".join(line[1:].split()))
        positions = []
        for hunk in patch.hunks:
            number = hunk.new_start - 1
            for line in hunk.lines:
                if line.startswith("-"):
                    continue
                text = "".join(line[1:].split())
                if line.startswith("+") and text not in removed:
                    position = self._nearest_free(text, number)
                    if position is not None:
                        self.writers[position] = patch.commit
                        positions.append(position)
                number += 1
        return positions

    def _nearest_free(self, text: str, number: int) -> int | None:
        """Return the position nearest to a line number with a text and without a writer."""
        free = [
            place for place in self.positions_by_text.get(text, ()) if place not in self.writers
        ]
        return min(free, key=lambda place: abs(place - number), default=None)

    def touched_rank(self, hunk: Hunk) -> int:
        """Return the rank of the best function that has a line of a hunk; 0 if none has."""
        ranks = []
        for line in hunk.lines:
            for position in self.positions_by_text.get("".join(line[1:].split()), ()):
                if self.ranks[position]:
                    ranks.append(int(self.ranks[position]))
        return min(ranks, default=0)


def is_telling(text: str) -> bool:
    """Return whether a line without white space says more than a bracket or a keyword, as code.

    >>> is_telling("returnself.cart"), is_telling("}else{"), is_telling("#thecartisempty")
    (True, False, False)
    """
    is_comment = text.startswith(("#", "//", "/*", "*", "<!--", '"""'))
    return sum(map(str.isalnum, text)) > len("return") and not is_comment


@dataclass
class Candidates:
    """The candidates of one report with their features, in order of time."""

    documents: LongArray
    """(C,) their numbers among the history's commits."""
    commits: list[str]
    """(C,) full ids."""
    features: FloatArray
    """(C, K) in the order of ``FEATURES``."""
    files: list[FileLines]
    """(H,) the files of the answer that were searched."""
    patches: dict[str, list[FilePatch]]
    """Commit -> its changes of the files, if they were read."""
    unreadable: int = 0
    """Number of patches that could not be read because blobs are missing."""

    def scores(self, weights: Mapping[str, float] = WEIGHTS) -> FloatArray:
        """Return (C,) the weighted sums of the features."""
        scores: FloatArray = self.features @ np.array([weights[name] for name in FEATURES])
        return scores


def find_suspects(
    repository: Repository,
    reasons: FileReasons,
    hits: Sequence[Hit],
    lookups: RepositoryLookups,
    most: int = MAX_SUSPECTS,
) -> SuspectSearch:
    """Return the commits that most likely introduced the fault of an answered report.

    ``reasons`` are those of the answered query; its history ends before the report's opening, and
    the searched version contains all of it. ``hits`` are the first files of the answer with their
    functions: the first ``MAX_FILES`` of them count. Missing blobs give a note, not an error.
    """
    candidates = collect_candidates(repository, reasons.context, hits)
    scores = candidates.scores()
    changes = []
    for place in top_k(scores, most).tolist():
        changes.append(_describe(candidates, place, reasons, lookups))
    notes = []
    if candidates.unreadable:
        notes.append("some changes could not be read, because this clone lacks their contents")
    return SuspectSearch(tuple(changes), tuple(notes))


def collect_candidates(
    repository: Repository, context: QueryContext, hits: Sequence[Hit]
) -> Candidates:
    """Return the commits that touched the first files of an answer, with their features."""
    view = context.history.commits
    documents = view.documents
    path_numbers = context.version.text.snapshot.path_names.ids
    files_by_document: defaultdict[int, list[int]] = defaultdict(list)
    newer = np.zeros(len(documents), dtype=np.int64)
    for position, hit in enumerate(hits[:MAX_FILES]):
        touching = documents.find_by_file(path_numbers[hit.path])
        touching = touching[view.known[touching]]
        for number, document in enumerate(touching[::-1].tolist()):
            if document not in files_by_document:
                newer[document] = number
            files_by_document[document].append(position)
    numbers = np.array(sorted(files_by_document), dtype=np.int64)
    columns = _history_features(context, numbers, files_by_document, newer[numbers])
    commits = [documents.commit_ids[number] for number in numbers.tolist()]
    features = np.zeros((len(commits), len(FEATURES)))
    for name, values in columns.items():
        features[:, FEATURES.index(name)] = values
    candidates = Candidates(numbers, commits, features, [], {})
    if commits:
        _read_candidates(repository, context, hits, candidates)
    return candidates


def _history_features(
    context: QueryContext,
    numbers: LongArray,
    files_by_document: Mapping[int, list[int]],
    newer: LongArray,
) -> dict[str, FloatArray]:
    """Return the features (C,) of candidates that need no patch."""
    documents = context.history.commits.documents
    file = []
    files = []
    for number in numbers.tolist():
        ranks = [1 / (1 + position) for position in files_by_document[number]]
        file.append(max(ranks))
        files.append(sum(ranks))
    days = np.maximum(context.history.opened - documents.times[numbers], 0.0) / DAY
    return {
        "file": np.array(file),
        "files": np.array(files),
        "order": 1 / (1 + newer),
        "age": np.log1p(days) / 10,
        "similarity": context.commit_similarities[numbers],
        "size": np.log(documents.sizes[numbers]) / 10,
    }


def _read_candidates(
    repository: Repository, context: QueryContext, hits: Sequence[Hit], candidates: Candidates
) -> None:
    """Read the patches of the leading candidates, and add the features that depend on them."""
    history_weights = dict.fromkeys(FEATURES, 0.0) | HISTORY_WEIGHTS
    leading = top_k(candidates.scores(history_weights), MAX_PATCHES)
    newest_first = np.sort(leading)[::-1].tolist()
    terms = distinctive_terms(context.query, context.version)
    candidates.files = _read_files(repository, context, hits[:MAX_FILES], terms)
    files_by_path = {file.path: file for file in candidates.files}
    commits = [candidates.commits[place] for place in newest_first]
    patches = read_patches(repository, commits, list(files_by_path), MAX_BYTES)
    candidates.unreadable = patches.unreadable
    by_commit: defaultdict[str, list[FilePatch]] = defaultdict(list)
    for patch in patches.files:
        by_commit[patch.commit].append(patch)
    candidates.patches = dict(by_commit)
    words_by_commit = _added_words(by_commit, terms)
    columns = {name: FEATURES.index(name) for name in FEATURES}
    for place in newest_first:
        commit = candidates.commits[place]
        values = _patch_features(by_commit.get(commit, ()), files_by_path)
        values["added_words"] = words_by_commit.get(commit, 0.0)
        for name, value in values.items():
            candidates.features[place, columns[name]] = value


def _read_files(
    repository: Repository, context: QueryContext, hits: Sequence[Hit], terms: Mapping[str, float]
) -> list[FileLines]:
    """Return the lines of the files of an answer."""
    snapshot = context.version.text.snapshot
    blob_by_path = dict(zip(snapshot.paths, snapshot.blobs, strict=True))
    blobs = [blob_by_path[hit.path] for hit in hits]
    texts = dict(repository.texts(list(dict.fromkeys(blobs))))
    gains = np.array([*terms.values()])
    files = []
    for position, hit in enumerate(hits):
        lines = decode_text(texts.get(blobs[position]) or b"").splitlines()[:MAX_LINES]
        words = contained_terms(lines, terms) @ gains if terms else np.zeros(len(lines))
        files.append(FileLines(hit.path, hit.functions, lines, position, words))
    return files


def _patch_features(
    patches: Iterable[FilePatch], files_by_path: Mapping[str, FileLines]
) -> dict[str, float]:
    """Return the features of a candidate that depend on its patch."""
    values = dict.fromkeys(
        ("wrote", "wrote_first", "wrote_words", "wrote_file", "touched", "adds_file"), 0.0
    )
    values["read"] = 1.0
    lines = 0
    for patch in patches:
        file = files_by_path[patch.path]
        weight = 1 / (1 + file.position)
        for hunk in patch.hunks:
            lines += sum(not line.startswith(" ") for line in hunk.lines)
            rank = file.touched_rank(hunk)
            if rank:
                values["touched"] = max(values["touched"], weight / rank)
        written = file.assign(patch)
        values["adds_file"] = max(values["adds_file"], weight * patch.adds_file)
        if not written:
            continue
        values["wrote_file"] += weight * len(written) / max(int(file.telling.sum()), 1)
        all_words = float(file.words[file.telling > 0].sum())
        if all_words:
            values["wrote_words"] += weight * float(file.words[written].sum()) / all_words
        ranks = np.bincount(file.ranks[written], minlength=len(file.functions) + 1)
        for rank in range(1, len(ranks)):
            if not ranks[rank]:
                continue
            share = int(ranks[rank]) / max(len(file.positions_of(rank)), 1)
            values["wrote"] += weight / rank * share
            if rank == 1 and file.position == 0:
                values["wrote_first"] = share
    values["lines"] = float(np.log1p(lines)) / 10
    return values


def _added_words(
    patches: Mapping[str, Sequence[FilePatch]], terms: Mapping[str, float]
) -> dict[str, float]:
    """Return for each commit the share of the report's words that its added lines contain."""
    lines: list[str] = []
    owners: list[int] = []
    for number, files in enumerate(patches.values()):
        for patch in files:
            for hunk in patch.hunks:
                added = [line[1:] for line in hunk.lines if line.startswith("+")]
                lines += added
                owners += [number] * len(added)
    if not terms or not lines:
        return {}
    contained = np.zeros((len(patches), len(terms)), dtype=np.bool_)
    np.logical_or.at(contained, owners, contained_terms(lines, terms))
    gains = np.array([*terms.values()])
    shares = contained @ gains / gains.sum()
    return dict(zip(patches, shares.tolist(), strict=True))


# ---- suspects in words


def _describe(
    candidates: Candidates, place: int, reasons: FileReasons, lookups: RepositoryLookups
) -> SuspectChange:
    """Return a candidate as an answer shows it."""
    commit = candidates.commits[place]
    documents = reasons.context.history.commits.documents
    number = int(candidates.documents[place])
    seconds = int(documents.times[number])
    patch = _best_patch(candidates, commit)
    if patch is None:
        touched = {int(row) for row in documents.files[_file_slice(documents.file_starts, number)]}
        numbers = reasons.context.version.text.snapshot.path_names.ids
        file = next(file for file in candidates.files if numbers[file.path] in touched)
        function = ""
        diff: tuple[str, ...] = ()
    else:
        file = next(file for file in candidates.files if file.path == patch.path)
        function = _best_function(file, patch)
        diff = _best_lines(file, patch)
    return SuspectChange(
        commit,
        datetime.fromtimestamp(seconds, UTC),
        lookups.subject(commit) or "",
        file.path,
        function,
        tuple(_reasons_in_words(candidates, place, file, function, reasons)),
        diff,
        lookups.commit_url(commit),
    )


def _file_slice(starts: LongArray, number: int) -> slice:
    return slice(int(starts[number]), int(starts[number + 1]))


def _best_patch(candidates: Candidates, commit: str) -> FilePatch | None:
    """Return the change of the first file whose functions a commit touched; None if unread."""
    files = {file.path: file for file in candidates.files}
    best: FilePatch | None = None
    best_worth = -1.0
    for patch in candidates.patches.get(commit, ()):
        file = files[patch.path]
        worth = sum(_line_worths(file, patch, hunk).sum() for hunk in patch.hunks)
        worth = (worth + 1e-6) / (1 + file.position)
        if worth > best_worth:
            best = patch
            best_worth = worth
    return best


def _line_worths(file: FileLines, patch: FilePatch, hunk: Hunk) -> FloatArray:
    """Return for each line of a hunk how much it says about the fault."""
    worths = np.zeros(len(hunk.lines))
    for number, line in enumerate(hunk.lines):
        if line.startswith(" "):
            continue
        positions = file.positions_by_text.get("".join(line[1:].split()), [])
        worths[number] = 0.01
        for position in positions:
            rank = int(file.ranks[position])
            is_written = file.writers.get(position) == patch.commit
            worth = (1.0 if is_written else 0.3) * (1 / rank if rank else 0.2)
            worths[number] = max(worths[number], worth + 0.3 * float(file.words[position]))
    return worths


def _best_function(file: FileLines, patch: FilePatch) -> str:
    """Return the name of the listed function that a patch changed most; "" if it changed none."""
    worth_by_rank: defaultdict[int, float] = defaultdict(float)
    for position, commit in file.writers.items():
        rank = int(file.ranks[position])
        if commit == patch.commit and rank:
            worth_by_rank[rank] += 1 / rank
    if not worth_by_rank:
        ranks = [file.touched_rank(hunk) for hunk in patch.hunks]
        touched = [rank for rank in ranks if rank]
        return file.functions[min(touched) - 1].name if touched else ""
    best = max(worth_by_rank, key=lambda rank: (worth_by_rank[rank], -rank))
    return file.functions[best - 1].name


def _best_lines(file: FileLines, patch: FilePatch) -> tuple[str, ...]:
    """Return the neighbouring lines of a patch that say most, at most ``DIFF_LINES``."""
    best: tuple[str, ...] = ()
    best_worth = -1.0
    for hunk in patch.hunks:
        worths = _line_worths(file, patch, hunk)
        for start in range(max(1, len(worths) - DIFF_LINES + 1)):
            worth = float(worths[start : start + DIFF_LINES].sum())
            if worth > best_worth + 1e-9:
                best_worth = worth
                best = hunk.lines[start : start + DIFF_LINES]
    return best


def _reasons_in_words(
    candidates: Candidates, place: int, file: FileLines, function: str, reasons: FileReasons
) -> list[str]:
    """Return why a candidate is suspect, the strongest reason first."""
    commit = candidates.commits[place]
    texts = []
    name = f"`{function}`" if function else file.path.rpartition("/")[2]
    written = [position for position, writer in file.writers.items() if writer == commit]
    if function:
        rank = next(
            number for number, item in enumerate(file.functions, 1) if item.name == function
        )
        telling = len(file.positions_of(rank))
        count = sum(int(file.ranks[position]) == rank for position in written)
        if count:
            texts.append(f"last changed {count} of the {telling} lines of {name}")
        else:
            texts.append(f"changed {name}")
    elif written:
        texts.append(f"last changed {len(written)} lines of {name}")
    column = FEATURES.index("order")
    if candidates.features[place, column] == 1:
        texts.append(f"newest change of {file.path.rpartition('/')[2]}")
    return texts
