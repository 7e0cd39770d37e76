"""Find the past commits that may have introduced the fault of a report.

Candidates are commits that touched the first files of an answer, before the report was opened and
contained in the searched version. The patches of the leading candidates are read, newest first, and
show which commit last wrote each line of the files' functions. A weighted sum of features orders
the candidates; docs/method.md, section 6, describes features and weights.

Letters in shapes: C candidates, H files of the answer, K features, L lines of a file, T terms.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final, NamedTuple

import numpy as np

from tosloc.core.errors import pluralize
from tosloc.core.records import FloatArray, Function, Hit, LongArray, SuspectChange
from tosloc.git.patches import FilePatch, Hunk, read_patches
from tosloc.git.repository import Repository, decode_text
from tosloc.rank.excerpts import contained_terms
from tosloc.rank.features import scale_by_largest
from tosloc.rank.reasons import FileReasons, RepositoryLookups
from tosloc.rank.text_features import rarities
from tosloc.retrieval.context import QueryContext
from tosloc.retrieval.documents import DAY
from tosloc.retrieval.formulas import K1, B, length_norm, saturate_tf
from tosloc.retrieval.postings import top_k

MAX_SUSPECTS: Final = 3
"""Most suspect changes of an answer."""
MAX_FILES: Final = 5
"""First files of an answer whose commits are candidates."""
MAX_PATCHES: Final = 40
"""Candidates whose patches are read."""
MAX_BYTES: Final = 2_000_000
"""Bytes of patches that are read."""
MAX_TERMS: Final = 16
"""Terms of the report that are looked for in lines: those with the largest weights."""
MAX_LINES: Final = 20_000
"""Lines of a file whose last changes are looked for. A longer file was made by a program."""
MAX_HUNK_LINES: Final = 400
"""First lines of a hunk that may be shown."""
DIFF_LINES: Final = 6
"""Most lines of a suspect's hunk that are shown."""
RANK_SHARE: Final = 0.1
"""Part of a file's share that follows from its rank alone, so that no file has a share of 0."""
FLOOR: Final = 0.01
"""Added to shares before their logarithm, so that a commit without any share has a value."""
MISSING_BLOBS: Final = "some changes could not be read, because this clone lacks their contents"
_TELLING: Final = re.compile(r"(?:[^\W_][\W_]*){7}")
"""More letters and digits than "return" has."""
_WHITE_SPACE: Final = dict.fromkeys(map(ord, " \t\r\f\v"))
_COSMETIC: Final = re.compile(
    r"(?i)\b(?:re)?format(?:s|ted|ting)?\b|\bclean[- ]?up|\btypos?\b|\bwhite ?space|\bindent"
    r"|\bcheckstyle\b|\blint|\bpep-?8\b|\bflake8\b|\bisort\b|\bblack\b|\bpyupgrade\b|\bprettier\b"
    r"|\bjavadoc|\bdocstrings?\b|\bcomments\b|\bspelling\b|\bno functional change"
)
"""Words of a subject that promise a change without effect."""

HISTORY_WEIGHTS: Final = {
    "share": 1.5,  # ln of the summed shares of the files that it touched
    "order": 1.1,  # 1 / (1 + number of newer commits of the first file that it touched)
    "age": -0.8,  # ln(1 + days before the report) / 10
    "similarity": 2.1,  # cosine of its message and the report; 0 for commits of many files
    "size": 1.5,  # ln(number of files that it touched) / 10
    "named": 1.6,  # the report names it
    "age_of_break": -3.0,  # the same as age if the report says that something worked before, else 0
    "in_range": 1.0,  # it is between the releases in which, by the report, it worked and failed
}
"""Weights of the features that need no patch; they choose the candidates whose patches are read."""
WEIGHTS: Final = HISTORY_WEIGHTS | {
    "cosmetic": -0.4,  # its subject promises a change without effect
    "wrote_function": 2.1,  # ln of the share of the likely functions' lines that it last wrote
    "wrote_file": 1.1,  # the same for all lines of the likely files
    "touched": 0.8,  # it changed lines beside or in a function, by rank of file and function
    "text": 1.3,  # ln of BM25 of its changed lines, over the highest
}
"""Weight of each feature in a candidate's score; those after ``HISTORY_WEIGHTS`` need its patch."""
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
    position: int
    """Place of the file in the answer, from 0."""
    share: float
    """How likely the file is; the shares of all files sum to 1."""
    functions: tuple[Function, ...]
    positions_by_text: Mapping[str, list[int]]
    """Text of a line without white space -> its positions, of lines that say something."""
    ranks: LongArray
    """(L,) rank of the best function that contains the line, from 1; 0 outside."""
    telling: FloatArray
    """(L,) 1 for a line that says something, else 0."""
    by_function: FloatArray
    """(L,) how likely each line is faulty by its function; the sum is 1 if there are functions."""
    writers: dict[int, str] = field(default_factory=dict)
    """Position of a line -> commit that last wrote it, of those whose patches were read."""

    @classmethod
    def of(cls, hit: Hit, position: int, share: float, text: str) -> FileLines:
        """Return the lines of a file with a text, which the answer has at a position."""
        lines = text.splitlines()[:MAX_LINES]
        positions_by_text: defaultdict[str, list[int]] = defaultdict(list)
        for number, line in enumerate(without_white_space(lines)):
            if is_telling(line):
                positions_by_text[line].append(number)
        telling = np.zeros(len(lines))
        for positions in positions_by_text.values():
            telling[positions] = 1.0
        ranks = np.zeros(len(lines), dtype=np.int64)
        for rank in range(len(hit.functions), 0, -1):
            function = hit.functions[rank - 1]
            ranks[function.start - 1 : function.end] = rank
        by_function = _normalize(_weigh_functions(hit.functions, np.where(telling > 0, ranks, 0)))
        return cls(
            hit.path,
            position,
            share,
            hit.functions,
            positions_by_text,
            ranks,
            telling,
            by_function,
        )

    def telling_lines(self, rank: int) -> int:
        """Return the number of lines of a function, by its rank, that say something."""
        return int(((self.ranks == rank) & (self.telling > 0)).sum())

    def assign(self, patch: FilePatch) -> tuple[list[int], int]:
        """Let a patch's commit be the writer of the lines that it added and no later one did.

        Return the positions of these lines, and the rank of the best function that has a line of
        the patch, changed or beside a change; 0 if none has.
        """
        written = []
        touched: set[int] = set()
        for hunk in patch.hunks:
            number = hunk.new_start - 1
            for line, text in zip(hunk.lines, line_texts(hunk), strict=True):
                positions = self.positions_by_text.get(text, ())
                touched.update(positions)
                if positions and line.startswith("+"):
                    position = self._nearest_free(positions, number)
                    if position is not None:
                        self.writers[position] = patch.commit
                        written.append(position)
                number += not line.startswith("-")
        ranks = self.ranks[list(touched)]
        ranks = ranks[ranks > 0]
        return written, int(ranks.min()) if len(ranks) else 0

    def line_ranks(self, hunk: Hunk) -> list[int]:
        """Return for each line of a hunk the rank of the best function that has it; 0 for none."""
        ranks = []
        for text in line_texts(hunk):
            positions = self.positions_by_text.get(text, ())
            in_functions = [int(rank) for rank in self.ranks[list(positions)] if rank]
            ranks.append(min(in_functions, default=0))
        return ranks

    def _nearest_free(self, positions: Sequence[int], number: int) -> int | None:
        """Return the position nearest to a line number that has no writer."""
        free = [position for position in positions if position not in self.writers]
        if len(free) < 2:
            return free[0] if free else None
        return min(free, key=lambda position: abs(position - number))


def _weigh_functions(functions: Sequence[Function], ranks: LongArray) -> FloatArray:
    """Return for each line (L,) the softmax of its function's score, over the function's lines."""
    weights = np.zeros(len(ranks))
    if functions:
        scores = np.array([function.score for function in functions])
        likely = np.exp(scores - scores.max())
        for rank in range(1, len(functions) + 1):
            positions = np.flatnonzero(ranks == rank)
            weights[positions] = likely[rank - 1] / max(len(positions), 1)
    return weights


def _normalize(values: FloatArray) -> FloatArray:
    """Return values divided by their sum."""
    total = float(values.sum())
    return values / total if total > 0 else values


def line_texts(hunk: Hunk) -> list[str]:
    """Return the lines of a hunk without signs and white space."""
    return without_white_space([line[1:] for line in hunk.lines])


def without_white_space(lines: Sequence[str]) -> list[str]:
    """Return lines without blanks and tabs.

    >>> without_white_space(["  return cart", "}"])
    ['returncart', '}']
    """
    return "\n".join(lines).translate(_WHITE_SPACE).split("\n") if lines else []


def is_telling(text: str) -> bool:
    """Return whether a line without white space says more than a bracket or a keyword, as code.

    >>> is_telling("returnself.cart"), is_telling("}else{"), is_telling("#thecartisempty")
    (True, False, False)
    """
    return _TELLING.search(text) is not None and not is_comment(text)


def is_comment(text: str) -> bool:
    """Return whether a line without white space begins like a comment, and not like #include.

    >>> is_comment("#thecartisempty"), is_comment("//empty"), is_comment("#include<cart.h>")
    (True, True, False)
    """
    if text.startswith(("#include", "#define", "#if", "#el", "#end", "#pragma", "#[")):
        return False
    return text.startswith(("#", "//", "/*", "*", "<!--", '"""'))


@dataclass
class Candidates:
    """The candidates of one report with their features, in order of time."""

    commits: list[str]
    """(C,) full ids."""
    times: LongArray
    """(C,) committer times, in seconds since 1970."""
    positions: list[list[int]]
    """(C,) places in the answer of the files that each touched, best first."""
    features: FloatArray
    """(C, K) in the order of ``FEATURES``."""
    files: list[FileLines]
    """(H,) the files of the answer that were searched."""
    patches: dict[str, list[FilePatch]]
    """Commit -> its changes of the files, under their present paths, if they were read."""
    terms: dict[str, float] = field(default_factory=dict)
    """The report's weightiest terms that files contain, with their weights."""
    is_incomplete: bool = False
    """Whether patches could not be read because blobs are missing."""

    def scores(self, weights: Mapping[str, float] = WEIGHTS) -> FloatArray:
        """Return (C,) the weighted sums of the features; those without a weight do not count."""
        vector = np.array([weights.get(name, 0.0) for name in FEATURES])
        scores: FloatArray = self.features @ vector
        return scores

    def feature(self, place: int, name: str) -> float:
        """Return a feature of the candidate at a place."""
        return float(self.features[place, FEATURES.index(name)])


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
    # Of equal candidates the newest comes first.
    last = len(candidates.commits) - 1
    best = [last - place for place in top_k(candidates.scores()[::-1], most).tolist()]
    changes = [_describe(candidates, place, reasons, lookups) for place in best]
    notes = (MISSING_BLOBS,) if candidates.is_incomplete else ()
    return SuspectSearch(tuple(changes), notes)


def collect_candidates(
    repository: Repository, context: QueryContext, hits: Sequence[Hit]
) -> Candidates:
    """Return the commits that touched the first files of an answer, with their features."""
    hits = hits[:MAX_FILES]
    touching = sorted(_find_touching(context, hits))
    features = np.zeros((len(touching), len(FEATURES)))
    candidates = Candidates(
        [item.commit for item in touching],
        np.array([item.at for item in touching], dtype=np.int64),
        [item.positions for item in touching],
        features,
        [],
        {},
    )
    if touching:
        shares = file_shares(hits)
        for name, values in _history_features(context, touching, shares).items():
            features[:, FEATURES.index(name)] = values
        _read_leading(repository, context, hits, candidates, shares)
    return candidates


def file_shares(hits: Sequence[Hit]) -> FloatArray:
    """Return (H,) how likely each file is, summing to 1: mostly its share, if it has one."""
    by_rank = _normalize(1.0 / np.arange(1, len(hits) + 1))
    shares = np.array([hit.share for hit in hits])
    if shares.sum() <= 0:
        return by_rank
    return (1 - RANK_SHARE) * _normalize(shares) + RANK_SHARE * by_rank


# ---- features of the history


class _TouchingCommit(NamedTuple):
    """A commit that touched files of the answer; ordered by time."""

    at: int
    """Committer time, in seconds since 1970."""
    number: int
    """Its number in the history."""
    commit: str
    positions: list[int]
    """Places of these files in the answer, best first."""
    size: float
    """Number of source files that it touched."""
    similarity: float
    """Cosine of its message and the report."""


def _find_touching(context: QueryContext, hits: Sequence[Hit]) -> Iterator[_TouchingCommit]:
    """Yield the known commits that touched files of an answer under any of their paths.

    Commits that came after a release which fails, by the report, are left out.
    """
    latest = context.named_history.latest_cause
    path_numbers = context.version.text.snapshot.path_names.ids
    for view in (context.history.commits, context.history.large):
        documents = view.documents
        positions_by_document: defaultdict[int, list[int]] = defaultdict(list)
        for position, hit in enumerate(hits):
            numbers = documents.find_by_file(path_numbers[hit.path])
            is_possible = view.known[numbers] & (documents.times[numbers] <= latest)
            for number in numbers[is_possible].tolist():
                positions_by_document[number].append(position)
        for number, positions in positions_by_document.items():
            similarity = 0.0
            if view is context.history.commits:
                similarity = float(context.commit_similarities[number])
            yield _TouchingCommit(
                int(documents.times[number]),
                int(documents.commits[number]),
                documents.commit_ids[number],
                positions,
                float(documents.sizes[number]),
                similarity,
            )


def _history_features(
    context: QueryContext, touching: Sequence[_TouchingCommit], shares: FloatArray
) -> dict[str, FloatArray]:
    """Return the features (C,) of commits, oldest first, that need no patch."""
    order = np.zeros(len(touching))
    newer = [0] * len(shares)
    for place in range(len(touching) - 1, -1, -1):
        positions = touching[place].positions
        order[place] = 1 / (1 + newer[positions[0]])
        for position in positions:
            newer[position] += 1
    times = np.array([item.at for item in touching])
    days = np.maximum(context.history.opened - times, 0.0) / DAY
    named = {change.commit for change in context.named_history.changes}
    release_range = context.named_history.release_range
    in_range = np.zeros(len(touching), dtype=np.bool_)
    if release_range is not None:
        in_range = (times > release_range.after) & (times <= release_range.until)
    age = np.log1p(days) / 10
    return {
        "share": _log_share(np.array([shares[item.positions].sum() for item in touching])),
        "order": order,
        "age": age,
        "similarity": np.array([item.similarity for item in touching]),
        "size": np.log([item.size for item in touching]) / 10,
        "named": np.array([item.commit in named for item in touching], dtype=np.float64),
        "age_of_break": age * context.query.says_that_it_worked,
        "in_range": in_range.astype(np.float64),
    }


def _log_share(values: FloatArray) -> FloatArray:
    """Return ln(1 + values / FLOOR) / 5, which is 0 for 0, and .92 for 1."""
    result: FloatArray = np.log1p(values / FLOOR) / 5
    return result


# ---- features of patches


def _read_leading(
    repository: Repository,
    context: QueryContext,
    hits: Sequence[Hit],
    candidates: Candidates,
    shares: FloatArray,
) -> None:
    """Read the patches of the leading candidates, and fill in the features that need them."""
    leading = top_k(candidates.scores(HISTORY_WEIGHTS), MAX_PATCHES)
    newest_first = np.sort(leading)[::-1].tolist()
    commits = [candidates.commits[place] for place in newest_first]
    candidates.terms = _report_terms(context)
    snapshot = context.version.text.snapshot
    blob_by_path = dict(zip(snapshot.paths, snapshot.blobs, strict=True))
    texts = dict(repository.texts(list(dict.fromkeys(blob_by_path[hit.path] for hit in hits))))
    for position, hit in enumerate(hits):
        text = decode_text(texts.get(blob_by_path[hit.path]) or b"")
        file = FileLines.of(hit, position, float(shares[position]), text)
        candidates.files.append(file)
    present_paths = _present_paths(context, [hit.path for hit in hits])
    read = read_patches(repository, commits, list(present_paths), MAX_BYTES)
    candidates.is_incomplete = read.unreadable > 0
    patches: dict[str, list[FilePatch]] = {commit: [] for commit in commits}
    for patch in read.files:
        patches[patch.commit].append(patch._replace(path=present_paths[patch.path]))
    patches = {commit: without_moves(files) for commit, files in patches.items()}
    candidates.patches = patches
    infos = repository.commits(commits)
    cosmetic = [_COSMETIC.search(info.message.partition("\n")[0]) is not None for info in infos]
    columns = {"cosmetic": np.array(cosmetic, dtype=np.float64)}
    columns |= _line_features(commits, patches, candidates.files)
    columns["text"] = _text_feature(commits, patches, candidates.terms)
    for name, values in columns.items():
        candidates.features[newest_first, FEATURES.index(name)] = values


def _report_terms(context: QueryContext) -> dict[str, float]:
    """Return the report's terms that files contain, with their weights, the largest first."""
    weights = context.query.weights_without_trace
    gains = {}
    for term, rarity in rarities(context.version, weights).items():
        gains[term] = weights[term] * rarity
    best = sorted(gains, key=lambda term: (-gains[term], term))
    return {term: gains[term] for term in best[:MAX_TERMS]}


def _present_paths(context: QueryContext, paths: Iterable[str]) -> dict[str, str]:
    """Return each path that some files have or had, with the path that the file has now."""
    table = context.version.paths.table
    numbers = context.version.text.snapshot.path_names.ids
    present_paths = {path: path for path in paths}
    for path in list(present_paths):
        for former in context.history.renames.former_paths(numbers[path]):
            present_paths.setdefault(table.paths[former], path)
    return present_paths


def without_moves(patches: Sequence[FilePatch]) -> list[FilePatch]:
    """Return the patches of one commit, in which lines that it only moves count as unchanged.

    A line is moved if the commit adds and removes its text, in the same file or in two.
    """
    texts_by_patch = [[line_texts(hunk) for hunk in patch.hunks] for patch in patches]
    added: set[str] = set()
    removed: set[str] = set()
    for patch, hunk_texts in zip(patches, texts_by_patch, strict=True):
        for hunk, texts in zip(patch.hunks, hunk_texts, strict=True):
            for line, text in zip(hunk.lines, texts, strict=True):
                if line[0] == "+":
                    added.add(text)
                elif line[0] == "-":
                    removed.add(text)
    moved = added & removed
    if not moved:
        return list(patches)
    result = []
    for patch, hunk_texts in zip(patches, texts_by_patch, strict=True):
        hunks = []
        for hunk, texts in zip(patch.hunks, hunk_texts, strict=True):
            kept = _keep_moved_lines(hunk, texts, moved)
            if any(line[0] != " " for line in kept.lines):
                hunks.append(kept)
        if hunks:
            result.append(patch._replace(hunks=tuple(hunks)))
    return result


def _keep_moved_lines(hunk: Hunk, texts: Sequence[str], moved: set[str]) -> Hunk:
    """Return a hunk in which moved lines are context where they are added, and else absent."""
    lines = []
    for line, text in zip(hunk.lines, texts, strict=True):
        if line[0] == " " or text not in moved:
            lines.append(line)
        elif line[0] == "+":
            lines.append(f" {line[1:]}")
    return hunk._replace(lines=tuple(lines))


def _line_features(
    commits: Sequence[str],
    patches: Mapping[str, Sequence[FilePatch]],
    files: Sequence[FileLines],
) -> dict[str, FloatArray]:
    """Return features of commits, newest first: the lines that they last wrote and touched."""
    files_by_path = {file.path: file for file in files}
    wrote_function = np.zeros(len(commits))
    wrote_file = np.zeros(len(commits))
    touched = np.zeros(len(commits))
    for number, commit in enumerate(commits):
        for patch in patches[commit]:
            file = files_by_path[patch.path]
            written, rank = file.assign(patch)
            if rank:
                value = 1 / (1 + file.position) / rank
                touched[number] = max(touched[number], value)
            wrote_function[number] += file.share * float(file.by_function[written].sum())
            wrote_file[number] += file.share * len(written) / max(float(file.telling.sum()), 1.0)
    return {
        "wrote_function": _log_share(wrote_function),
        "wrote_file": _log_share(wrote_file),
        "touched": touched,
    }


def _text_feature(
    commits: Sequence[str], patches: Mapping[str, Sequence[FilePatch]], terms: Mapping[str, float]
) -> FloatArray:
    """Return BM25 of the changed lines of commits, over the highest; a term counts once a line."""
    lines: list[str] = []
    owners: list[int] = []
    for number, commit in enumerate(commits):
        for patch in patches[commit]:
            for hunk in patch.hunks:
                changed = [line[1:] for line in hunk.lines if not line.startswith(" ")]
                lines += changed
                owners += [number] * len(changed)
    frequency = np.zeros((len(commits), len(terms)))
    np.add.at(frequency, owners, contained_terms(lines, terms))
    lengths = np.bincount(np.array(owners, dtype=np.int64), minlength=len(commits))
    norm = length_norm(lengths.astype(np.float64), max(float(lengths.mean()), 1.0), K1, B)
    scores = saturate_tf(frequency, norm[:, None], K1) @ np.array([*terms.values()])
    return _log_share(scale_by_largest(scores))


# ---- suspects in words


def _describe(
    candidates: Candidates, place: int, reasons: FileReasons, lookups: RepositoryLookups
) -> SuspectChange:
    """Return a candidate as an answer shows it."""
    commit = candidates.commits[place]
    best = _find_best_change(candidates, commit)
    if best is None:
        file = candidates.files[candidates.positions[place][0]]
        function = ""
        diff: tuple[str, ...] = ()
    else:
        file = best.file
        rank = _find_best_function(best)
        function = file.functions[rank - 1].name if rank else ""
        diff = _best_lines(best, rank)
    return SuspectChange(
        commit,
        datetime.fromtimestamp(int(candidates.times[place]), UTC),
        lookups.subject(commit) or "",
        file.path,
        function,
        tuple(_reasons_in_words(candidates, place, file, function, reasons.context)),
        diff,
        lookups.commit_url(commit),
    )


class _Change(NamedTuple):
    """The change of a file of the answer by a commit."""

    file: FileLines
    patch: FilePatch
    worths: list[FloatArray]
    """How much each line of each hunk says about the fault; 0 for context."""

    @property
    def worth(self) -> float:
        """How much the change says about the fault."""
        return sum(float(worths.sum()) for worths in self.worths) / (1 + self.file.position)


def _find_best_change(candidates: Candidates, commit: str) -> _Change | None:
    """Return the change of a file by a commit that says most about the fault; None if unread."""
    files = {file.path: file for file in candidates.files}
    changes = []
    for patch in candidates.patches.get(commit, ()):
        file = files[patch.path]
        worths = [_line_worths(file, commit, hunk, candidates.terms) for hunk in patch.hunks]
        changes.append(_Change(file, patch, worths))
    return max(changes, key=lambda change: change.worth, default=None)


def _line_worths(
    file: FileLines, commit: str, hunk: Hunk, terms: Mapping[str, float]
) -> FloatArray:
    """Return for each line of a commit's hunk how much it says about the fault; 0 for context.

    Lines of likely functions count by their likelihood, less if a later commit wrote them again.
    Words of the report count beside. Of long hunks only the first lines count.
    """
    worths = np.zeros(len(hunk.lines))
    lines = hunk.lines[:MAX_HUNK_LINES]
    gains = np.array([*terms.values()])
    words = contained_terms([line[1:] for line in lines], terms) @ gains
    words /= max(float(gains.sum()), 1e-9)
    texts = line_texts(hunk._replace(lines=lines))
    for number, (line, text) in enumerate(zip(lines, texts, strict=True)):
        if line.startswith(" "):
            continue
        likelihood = 0.0
        for position in file.positions_by_text.get(text, ()):
            is_current = file.writers.get(position) == commit
            factor = 1.0 if is_current else 0.3
            likelihood = max(likelihood, factor * float(file.by_function[position]))
        worths[number] = 0.001 + 0.1 * words[number] + likelihood
    return worths


def _find_best_function(change: _Change) -> int:
    """Return the rank of the listed function that a change is most about; 0 if of none."""
    worth_by_rank: defaultdict[int, float] = defaultdict(float)
    for hunk, worths in zip(change.patch.hunks, change.worths, strict=True):
        # Lines of context say in which function a line was removed.
        for rank, worth in zip(change.file.line_ranks(hunk), worths.tolist(), strict=True):
            worth_by_rank[rank] += worth + 1e-6
    worth_by_rank.pop(0, None)
    return max(worth_by_rank, key=lambda rank: (worth_by_rank[rank], -rank), default=0)


def _best_lines(change: _Change, function: int) -> tuple[str, ...]:
    """Return the neighbouring lines of a change that say most, at most ``DIFF_LINES``.

    They come from the hunks that have a line of the function with this rank; 0 for all hunks.
    """
    best: tuple[str, ...] = ()
    best_worth = -1.0
    for hunk, worths in zip(change.patch.hunks, change.worths, strict=True):
        if function and function not in change.file.line_ranks(hunk):
            continue
        sums = np.convolve(worths, np.ones(DIFF_LINES))[DIFF_LINES - 1 :]
        start = int(sums.round(9).argmax())
        start = max(0, min(start, len(worths) - DIFF_LINES))
        if sums[start] > best_worth + 1e-9:
            best_worth = float(sums[start])
            best = hunk.lines[start : start + DIFF_LINES]
    return best


def _reasons_in_words(
    candidates: Candidates, place: int, file: FileLines, function: str, context: QueryContext
) -> Iterator[str]:
    """Yield why a candidate is suspect, the strongest reason first."""
    commit = candidates.commits[place]
    for change in context.named_history.changes:
        if change.commit == commit:
            yield f"the report names {change.written}"
    release_range = context.named_history.release_range
    if release_range is not None and candidates.feature(place, "in_range"):
        if release_range.last:
            yield f"within {release_range.name}"
        else:
            yield f"after {release_range.first}, which worked"
    name = file.path.rpartition("/")[2]
    written = [position for position, writer in file.writers.items() if writer == commit]
    if function:
        names = [item.name for item in file.functions]
        rank = 1 + names.index(function)
        lines = int((file.ranks[written] == rank).sum())
        if lines:
            yield f"last changed {lines} of the {file.telling_lines(rank)} lines of `{function}`"
        else:
            yield f"changed `{function}`"
    elif written:
        yield f"last changed {pluralize(len(written), 'line')} of {name}"
    if candidates.feature(place, "order") == 1:
        yield f"newest change of {name}"
