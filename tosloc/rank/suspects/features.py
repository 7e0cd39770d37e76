"""Features of commits that may have introduced the bug of a report, and their weights.

docs/method.md, section 6, describes them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from tosloc.core.arrays import FloatArray
from tosloc.core.patterns import lazy_pattern
from tosloc.git.patches import FilePatch
from tosloc.rank.explain.matching_terms import contained_terms
from tosloc.rank.features.query_context import QueryContext
from tosloc.rank.features.registry import scale_by_largest
from tosloc.rank.suspects.line_history import FileLines
from tosloc.retrieval.texts import DAY, K1, B, idf, length_norm, saturate_tf

FLOOR: Final = 0.01
"""Value that is added to shares before taking their logarithm, so that 0 has a logarithm."""
_COSMETIC: Final = lazy_pattern(
    r"(?i)\b(?:re)?format(?:s|ted|ting)?\b|\bclean[- ]?up|\btypos?\b|\bwhite ?space|\bindent"
    r"|\bcheckstyle\b|\blint|\bpep-?8\b|\bflake8\b|\bisort\b|\bblack\b|\bpyupgrade\b|\bprettier\b"
    r"|\bjavadoc|\bdocstrings?\b|\bcomments\b|\bspelling\b|\bno functional change"
)
"""Words of a commit's first line that promise a change without effect."""

HISTORY_WEIGHTS: Final = {
    "blamed": 100.0,  # the report says that it broke something; nothing outweighs that
    "share": 2.7,  # ln of the summed shares of the files that it touched
    "order": 1.2,  # 1 / (1 + number of newer commits of the first file that it touched)
    "age": -2.9,  # ln(1 + days before the report) / 10
    "similarity": 3.0,  # cosine of its message and the report; 0 for commits of many files
    "size": 0.3,  # ln(number of files that it touched) / 10
    "named": 1.6,  # the report names it
    "age_of_break": -3.0,  # the same as age if the report says that something worked before, else 0
    "in_range": 1.0,  # between the ends that the report states, or since a date when it worked
    "range_text": 0.5,  # BM25 of all its changed lines in a narrow range, over the highest
}
"""Weights of the features that need no patch of a file.

They choose the candidates whose patches of files are read."""
WEIGHTS: Final = HISTORY_WEIGHTS | {
    "cosmetic": -0.5,  # its subject promises a change without effect
    "wrote_function": 3.1,  # ln of the share of the likely functions' lines that it last wrote
    "wrote_file": -0.1,  # the same for all lines of the likely files
    "touched": 0.8,  # it changed lines beside or in a function, by rank of file and function
    "text": 1.4,  # ln of BM25 of its changed lines, over the highest
}
"""Feature -> its weight in a candidate's score; those not in ``HISTORY_WEIGHTS`` need a patch."""
FEATURES: Final = tuple(WEIGHTS)


class TouchingCommit(NamedTuple):
    """A commit that touched files of the answer; commits are ordered by time."""

    at: int
    """Committer time, in seconds since 1970."""
    number: int
    """Number of the commit in the history."""
    commit: str
    positions: list[int]
    """Positions in the answer of the files that the commit touched, best first.

    They are empty if the commit is a candidate because of its text.
    """
    size: float
    """Number of source files that the commit touched."""
    similarity: float
    """Cosine similarity of the commit's message to the report."""


def history_features(
    context: QueryContext, touching: Sequence[TouchingCommit], shares: FloatArray
) -> dict[str, FloatArray]:
    """Return feature -> its values (C,) for commits, oldest first, that need no patch."""
    order = np.zeros(len(touching))
    newer = [0] * len(shares)
    for place in range(len(touching) - 1, -1, -1):
        positions = touching[place].positions
        if positions:
            order[place] = 1 / (1 + newer[positions[0]])
        for position in positions:
            newer[position] += 1
    times = np.array([item.at for item in touching])
    days = np.maximum(context.history.opened - times, 0.0) / DAY
    history = context.named_history
    named = {change.commit for change in history.changes}
    blamed = np.array([item.commit in history.blamed_ids for item in touching], dtype=np.float64)
    between = history.bounds.range or frozenset()
    in_range = np.array([item.commit in between for item in touching], dtype=np.float64)
    worked_at = context.query.names.working_time(context.history.opened)
    if history.bounds.range is None and worked_at is not None:
        in_range = (times >= worked_at).astype(np.float64)
    age = np.log1p(days) / 10
    return {
        "blamed": blamed,
        "share": _log_share(np.array([shares[item.positions].sum() for item in touching])),
        "order": order,
        "age": age,
        "similarity": np.array([item.similarity for item in touching]),
        "size": np.log([item.size for item in touching]) / 10,
        "named": np.array([item.commit in named for item in touching], dtype=np.float64),
        "age_of_break": age * context.query.names.says_that_it_worked,
        "in_range": in_range,
    }


def _log_share(values: FloatArray) -> FloatArray:
    """Return ln(1 + values / FLOOR) / 5: 0 for the value 0, and .92 for 1."""
    result: FloatArray = np.log1p(values / FLOOR) / 5
    return result


def patch_features(
    subjects: Sequence[str],
    patches: Mapping[str, Sequence[FilePatch]],
    files: Sequence[FileLines],
    terms: Mapping[str, float],
    formatting: Collection[str] = (),
) -> dict[str, FloatArray]:
    """Return feature -> its values (C,) for commits, newest first, that need their patches.

    ``subjects`` are the first lines of their messages. ``patches`` maps the commits, in the same
    order, to their changes of ``files``. ``terms`` are the report's terms with their weights. The
    newest of these commits that wrote a line of the files becomes the line's writer; commits in
    ``formatting`` write no lines.
    """
    cosmetic = [_COSMETIC.search(subject) is not None for subject in subjects]
    return {
        "cosmetic": np.array(cosmetic, dtype=np.float64),
        **_line_features(patches, files, formatting),
        "text": _log_share(scale_by_largest(score_changes(patches, terms))),
    }


def _line_features(
    patches: Mapping[str, Sequence[FilePatch]],
    files: Sequence[FileLines],
    formatting: Collection[str],
) -> dict[str, FloatArray]:
    """Return the features that tell which lines of the answer's files each commit wrote or touched.

    ``patches`` are those of the commits, newest first: the newest commit that added a line wrote it
    last.
    """
    files_by_path = {file.path: file for file in files}
    wrote_function = np.zeros(len(patches))
    wrote_file = np.zeros(len(patches))
    touched = np.zeros(len(patches))
    for number, of_commit in enumerate(patches.values()):
        for patch in of_commit:
            for path in (patch.path, *patch.heirs):
                file = files_by_path[path]
                if patch.commit in formatting:
                    file.pass_on(patch)
                    continue
                written, rank = file.assign(patch)
                if rank:
                    value = 1 / (1 + file.position) / rank
                    touched[number] = max(touched[number], value)
                wrote_function[number] += file.share * float(file.by_function[written].sum())
                part = len(written) / max(float(file.telling.sum()), 1.0)
                wrote_file[number] += file.share * part
    return {
        "wrote_function": _log_share(wrote_function),
        "wrote_file": _log_share(wrote_file),
        "touched": touched,
    }


def score_changes(
    patches: Mapping[str, Sequence[FilePatch]],
    terms: Mapping[str, float],
    *,
    by_rarity: bool = False,
) -> FloatArray:
    """Return (C,) BM25 of the changed lines of commits; a term counts once for each line.

    ``by_rarity`` multiplies the weight of a term by its IDF among these commits.
    """
    lines: list[str] = []
    owners: list[int] = []
    for number, of_commit in enumerate(patches.values()):
        for patch in of_commit:
            for hunk in patch.hunks:
                changed = [line[1:] for line in hunk.lines if not line.startswith(" ")]
                lines += changed
                owners += [number] * len(changed)
    frequency = np.zeros((len(patches), len(terms)))
    np.add.at(frequency, owners, contained_terms(lines, terms))
    lengths = np.bincount(np.array(owners, dtype=np.int64), minlength=len(patches))
    norm = length_norm(lengths.astype(np.float64), max(float(lengths.mean()), 1.0), K1, B)
    gains = np.array([*terms.values()])
    if by_rarity:
        gains = gains * idf(len(patches), (frequency > 0).sum(axis=0))
    scores: FloatArray = saturate_tf(frequency, norm[:, None], K1) @ gains
    return scores
