"""Find the files from which commits moved lines into the files of an answer.

A commit that splits a file did not write the lines that it moved. The commits that wrote these
lines in their former file count instead. The former file may itself be a file of the answer.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from tosloc.git.patches import FilePatch, read_patches
from tosloc.git.repository import Repository
from tosloc.rank.suspects.line_history import (
    FileLines,
    is_telling,
    line_texts,
    without_white_space,
)

MIN_MOVED_LINES: Final = 10
"""Smallest number of lines that a commit moves from one file to another on purpose."""
MAX_BYTES: Final = 2_000_000
"""Largest number of bytes of patches that are read."""


class Origin(NamedTuple):
    """A file from which a commit moved lines into a file of the answer."""

    path: str
    position: int
    """Position of the answer's file in the answer, from 0."""
    moved_at: int
    """Committer time of the commit that moved the lines, in seconds since 1970."""


def find_origins(
    repository: Repository,
    files: Sequence[FileLines],
    times: Mapping[str, int],
    known_paths: Collection[str],
) -> list[Origin]:
    """Return the files from which commits moved lines into ``files``.

    Only commits in ``times`` can have moved lines: commits that touched several files, with their
    committer times. ``known_paths`` are the paths that ``files`` have or had.
    """
    written = _written_lines(files, times)
    commits = dict.fromkeys(commit for commit, _ in written)
    patches = read_patches(repository, list(commits), most_bytes=MAX_BYTES).files if commits else []
    removed: defaultdict[str, list[FilePatch]] = defaultdict(list)
    for patch in patches:
        if patch.path not in known_paths:
            removed[patch.commit].append(patch)
    origins = []
    for (commit, position), texts in written.items():
        counts: Counter[str] = Counter()
        for patch in removed[commit]:
            counts[patch.path] += len(texts.intersection(_changed_texts(patch, "-")))
        for path, number in counts.most_common(1):
            if number >= MIN_MOVED_LINES:
                origins.append(Origin(path, position, times[commit]))
    return origins


def with_heirs(patches: Mapping[str, Sequence[FilePatch]]) -> dict[str, list[FilePatch]]:
    """Return the patches of commits, newest first, with the heirs of each patch's file.

    A file is an heir if a newer commit moved ``MIN_MOVED_LINES`` lines or more to it.
    """
    heirs: defaultdict[str, list[str]] = defaultdict(list)
    result = {}
    for commit, of_commit in patches.items():
        result[commit] = [patch._replace(heirs=tuple(heirs[patch.path])) for patch in of_commit]
        for source, target in _moves_between_files(of_commit):
            for heir in (target, *heirs[target]):
                if heir != source and heir not in heirs[source]:
                    heirs[source].append(heir)
    return result


def _moves_between_files(patches: Sequence[FilePatch]) -> Iterator[tuple[str, str]]:
    """Yield the paths of two files, if one commit moved lines from the first to the second."""
    removed: defaultdict[str, set[str]] = defaultdict(set)
    added: defaultdict[str, set[str]] = defaultdict(set)
    for patch in patches:
        removed[patch.path].update(filter(is_telling, _changed_texts(patch, "-")))
        added[patch.path].update(filter(is_telling, _changed_texts(patch, "+")))
    for source, removed_texts in removed.items():
        for target, added_texts in added.items():
            if source != target and len(removed_texts & added_texts) >= MIN_MOVED_LINES:
                yield source, target


def _written_lines(
    files: Sequence[FileLines], commits: Collection[str]
) -> dict[tuple[str, int], set[str]]:
    """Return (commit, position of a file) -> the lines that the commit last wrote in the file.

    The lines are without white space. The position is that of the file in the answer. Fewer than
    ``MIN_MOVED_LINES`` lines are left out.
    """
    written = {}
    for file in files:
        positions_by_writer: defaultdict[str, list[int]] = defaultdict(list)
        for position, commit in file.writers.items():
            if commit in commits:
                positions_by_writer[commit].append(position)
        lines = file.text.splitlines() if positions_by_writer else []
        for commit, positions in positions_by_writer.items():
            if len(positions) >= MIN_MOVED_LINES:
                texts = without_white_space([lines[position] for position in positions])
                written[commit, file.position] = set(texts)
    return written


def _changed_texts(patch: FilePatch, sign: str) -> Iterator[str]:
    """Yield the lines with a sign ("+" or "-") of a patch, without white space."""
    for hunk in patch.hunks:
        for line, text in zip(hunk.lines, line_texts(hunk), strict=True):
            if line.startswith(sign):
                yield text
