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
    "share": 2.0,  # ln of the summed shares of the files that it touched
    "order": 1.0,  # 1 / (1 + number of newer commits of the first file that it touched)
    "age": -1.0,  # ln(1 + days before the report) / 10
    "similarity": 2.0,  # cosine of its message and the report; 0 for commits of many files
    "size": 1.0,  # ln(number of files that it touched) / 10
    "named": 1.0,  # the report names it
    "in_range": 1.0,  # it is between the releases in which, by the report, it worked and failed
}
"""Weights of the features that need no patch; they choose the candidates whose patches are read."""
WEIGHTS: Final = HISTORY_WEIGHTS | {
    "cosmetic": 0.0,  # its subject promises a change without effect
    "wrote_function": 1.0,  # ln of the share of the likely functions' lines that it last wrote
    "wrote_words": 1.0,  # the same for their lines with words of the report
    "wrote_file": 1.0,  # the same for all lines of the likely files
    "touched": 1.0,  # it changed lines beside or in a function, by rank of file and function
    "text": 1.0,  # ln of BM25 of its changed lines, over the highest
    "added_text": 1.0,  # BM25 of its added lines, over the highest
    "lines": 0.0,  # ln(1 + lines that it added or removed) / 10
}
"""Weight of each feature in a candidate's score; those after ``HISTORY_WEIGHTS`` need its patch."""
FEATURES: Final = tuple(WEIGHTS)


class SuspectSearch(NamedTuple):
    """Suspect changes for one report, and what hindered the search."""

    changes: tuple[SuspectChange, ...]
    """The most suspect first."""
    notes: tuple[str, ...] = ()
    """Sentences for the user."""


class _LineWeights(NamedTuple):
    """How likely each line (L,) of a file is faulty, by three views; each sums to 1."""

    by_function: FloatArray
    by_words: FloatArray
    by_file: FloatArray


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
    weights: _LineWeights
    writers: dict[int, str] = field(default_factory=dict)
    """Position of a line -> commit that last wrote it, of those whose patches were read."""

    @classmethod
    def of(
        cls, hit: Hit, position: int, share: float, text: str, terms: Mapping[str, float]
    ) -> FileLines:
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
        telling_ranks = np.where(telling > 0, ranks, 0)
        by_function = _weigh_functions(hit.functions, telling_ranks)
        inside = np.flatnonzero(telling_ranks)
        words = np.zeros(len(lines))
        if terms and len(inside):
            contained = contained_terms([lines[number] for number in inside.tolist()], terms)
            words[inside] = contained @ np.array([*terms.values()])
        by_words = words if words.any() else by_function
        weights = _LineWeights(*map(_normalize, (by_function, by_words, telling)))
        return cls(hit.path, position, share, hit.functions, positions_by_text, ranks, weights)

    def telling_lines(self, rank: int) -> int:
        """Return the number of lines of a function, by its rank, that say something."""
        return int(((self.ranks == rank) & (self.weights.by_file > 0)).sum())

    def assign(self, patch: FilePatch) -> list[int]:
        """Let a patch's commit be the writer of the lines that it added and no later one did.

        Return the positions of these lines.
        """
        positions = []
        for hunk in patch.hunks:
            number = hunk.new_start - 1
            for line in hunk.lines:
                if line.startswith("+"):
                    position = self._nearest_free(line[1:].translate(_WHITE_SPACE), number)
                    if position is not None:
                        self.writers[position] = patch.commit
                        positions.append(position)
                number += not line.startswith("-")
        return positions

    def _nearest_free(self, text: str, number: int) -> int | None:
        """Return the position nearest to a line number with a text and without a writer."""
        positions = self.positions_by_text.get(text, ())
        free = [position for position in positions if position not in self.writers]
        return min(free, key=lambda position: abs(position - number), default=None)

    def touched_rank(self, hunk: Hunk) -> int:
        """Return the rank of the best function that has a line of a hunk; 0 if none has."""
        ranks = []
        for line in hunk.lines:
            for position in self.positions_by_text.get(line[1:].translate(_WHITE_SPACE), ()):
                if self.ranks[position]:
                    ranks.append(int(self.ranks[position]))
        return min(ranks, default=0)


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
    """Yield the known commits that touched files of an answer under any of their paths."""
    path_numbers = context.version.text.snapshot.path_names.ids
    for view in (context.history.commits, context.history.large):
        documents = view.documents
        positions_by_document: defaultdict[int, list[int]] = defaultdict(list)
        for position, hit in enumerate(hits):
            numbers = documents.find_by_file(path_numbers[hit.path])
            for number in numbers[view.known[numbers]].tolist():
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
    return {
        "share": _log_share(np.array([shares[item.positions].sum() for item in touching])),
        "order": order,
        "age": np.log1p(days) / 10,
        "similarity": np.array([item.similarity for item in touching]),
        "size": np.log([item.size for item in touching]) / 10,
        "named": np.array([item.commit in named for item in touching], dtype=np.float64),
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
    terms = _report_terms(context)
    snapshot = context.version.text.snapshot
    blob_by_path = dict(zip(snapshot.paths, snapshot.blobs, strict=True))
    texts = dict(repository.texts(list(dict.fromkeys(blob_by_path[hit.path] for hit in hits))))
    for position, hit in enumerate(hits):
        text = decode_text(texts.get(blob_by_path[hit.path]) or b"")
        file = FileLines.of(hit, position, float(shares[position]), text, terms)
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
    columns |= _text_features(commits, patches, terms)
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
    added: set[str] = set()
    removed: set[str] = set()
    for patch in patches:
        for hunk in patch.hunks:
            for line in hunk.lines:
                if line[0] != " ":
                    texts = added if line[0] == "+" else removed
                    texts.add(line[1:].translate(_WHITE_SPACE))
    moved = added & removed
    if not moved:
        return list(patches)
    result = []
    for patch in patches:
        hunks = [_keep_moved_lines(hunk, moved) for hunk in patch.hunks]
        changing = [hunk for hunk in hunks if any(line[0] != " " for line in hunk.lines)]
        if changing:
            result.append(patch._replace(hunks=tuple(changing)))
    return result


def _keep_moved_lines(hunk: Hunk, moved: set[str]) -> Hunk:
    """Return a hunk in which moved lines are context where they are added, and else absent."""
    lines = []
    for line in hunk.lines:
        if line[0] == " " or line[1:].translate(_WHITE_SPACE) not in moved:
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
    wrote = np.zeros((len(_LineWeights._fields), len(commits)))
    touched = np.zeros(len(commits))
    lines = np.zeros(len(commits))
    for number, commit in enumerate(commits):
        for patch in patches[commit]:
            file = files_by_path[patch.path]
            for hunk in patch.hunks:
                lines[number] += sum(not line.startswith(" ") for line in hunk.lines)
                rank = file.touched_rank(hunk)
                if rank:
                    value = 1 / (1 + file.position) / rank
                    touched[number] = max(touched[number], value)
            written = file.assign(patch)
            for view, weights in enumerate(file.weights):
                wrote[view, number] += file.share * float(weights[written].sum())
    by_function, by_words, by_file = map(_log_share, wrote)
    return {
        "wrote_function": by_function,
        "wrote_words": by_words,
        "wrote_file": by_file,
        "touched": touched,
        "lines": np.log1p(lines) / 10,
    }


def _text_features(
    commits: Sequence[str], patches: Mapping[str, Sequence[FilePatch]], terms: Mapping[str, float]
) -> dict[str, FloatArray]:
    """Return BM25 of the changed, and of the added, lines of commits; a term counts once a line."""
    lines: list[str] = []
    owners: list[int] = []
    added: list[bool] = []
    for number, commit in enumerate(commits):
        for patch in patches[commit]:
            for hunk in patch.hunks:
                for line in hunk.lines:
                    if not line.startswith(" "):
                        lines.append(line[1:])
                        owners.append(number)
                        added.append(line.startswith("+"))
    contained = contained_terms(lines, terms)
    gains = np.array([*terms.values()])

    def bm25(kept: Sequence[int]) -> FloatArray:
        owner = np.array(owners, dtype=np.int64)[kept]
        frequency = np.zeros((len(commits), len(terms)))
        np.add.at(frequency, owner, contained[kept])
        lengths = np.bincount(owner, minlength=len(commits)).astype(np.float64)
        norm = length_norm(lengths, max(float(lengths.mean()), 1.0), K1, B)
        return scale_by_largest(saturate_tf(frequency, norm[:, None], K1) @ gains)

    of_changed = bm25(range(len(lines)))
    of_added = bm25([place for place, is_added in enumerate(added) if is_added])
    return {"text": _log_share(of_changed), "added_text": of_added}


# ---- suspects in words


def _describe(
    candidates: Candidates, place: int, reasons: FileReasons, lookups: RepositoryLookups
) -> SuspectChange:
    """Return a candidate as an answer shows it."""
    commit = candidates.commits[place]
    patch = _best_patch(candidates, commit)
    function = ""
    diff: tuple[str, ...] = ()
    if patch is None:
        file = candidates.files[candidates.positions[place][0]]
    else:
        file = next(file for file in candidates.files if file.path == patch.path)
        function = _best_function(file, patch)
        diff = _best_lines(file, patch)
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


def _best_patch(candidates: Candidates, commit: str) -> FilePatch | None:
    """Return the change of a file by a commit that says most about the fault; None if unread."""
    files = {file.path: file for file in candidates.files}
    best: FilePatch | None = None
    best_worth = -1.0
    for patch in candidates.patches.get(commit, ()):
        file = files[patch.path]
        worth = sum(float(_line_worths(file, patch, hunk).sum()) for hunk in patch.hunks)
        worth /= 1 + file.position
        if worth > best_worth:
            best = patch
            best_worth = worth
    return best


def _line_worths(file: FileLines, patch: FilePatch, hunk: Hunk) -> FloatArray:
    """Return for each line of a hunk how much it says about the fault.

    Lines that are still as the patch wrote them say most, then those of the likely functions and
    those with words of the report.
    """
    worths = np.zeros(len(hunk.lines))
    for number, line in enumerate(hunk.lines):
        if line.startswith(" "):
            continue
        worths[number] = 0.001
        for position in file.positions_by_text.get(line[1:].translate(_WHITE_SPACE), ()):
            worth = 0.1 * file.weights.by_file[position]
            worth += file.weights.by_function[position] + file.weights.by_words[position]
            if file.writers.get(position) != patch.commit:
                worth *= 0.3
            worths[number] = max(worths[number], 0.001 + worth)
    return worths


def _best_function(file: FileLines, patch: FilePatch) -> str:
    """Return the name of the listed function that a patch changed most; "" if it changed none."""
    worth_by_rank: defaultdict[int, float] = defaultdict(float)
    for position, commit in file.writers.items():
        rank = int(file.ranks[position])
        if commit == patch.commit and rank:
            worth_by_rank[rank] += float(file.weights.by_function[position])
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
    candidates: Candidates, place: int, file: FileLines, function: str, context: QueryContext
) -> Iterator[str]:
    """Yield why a candidate is suspect, the strongest reason first."""
    commit = candidates.commits[place]
    for change in context.named_history.changes:
        if change.commit == commit:
            yield f"the report names {change.written}"
    release_range = context.named_history.release_range
    if release_range is not None and candidates.feature(place, "in_range"):
        yield f"within {release_range.name}"
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
        yield f"last changed {len(written)} of the lines of {name}"
    if candidates.feature(place, "order") == 1:
        yield f"newest change of {name}"
