"""Rank the commits of a narrow range that a report states or implies by the text of their changes.

Changes of all files count, also of files that no answer lists, such as deleted files, documentation
and settings. A term is rare here if few commits of the range change lines with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from tosloc.git.patches import FilePatch, read_patches
from tosloc.git.repository import Repository
from tosloc.rank.features.query_context import QueryContext
from tosloc.rank.features.registry import scale_by_largest
from tosloc.rank.suspects.features import TouchingCommit, score_changes
from tosloc.rank.suspects.formatting import (
    is_formatting,
    read_ignored_revisions,
    sets_only_version,
)

MAX_COMMITS: Final = 200
"""Largest number of commits of a narrow range."""
MAX_BYTES: Final = 4_000_000
"""Largest number of bytes of the patches of these commits that are read, the newest first."""


@dataclass(frozen=True)
class RangeChanges:
    """The commits of a range that change lines with terms of the report."""

    commits: Sequence[TouchingCommit] = ()
    """The commits, without positions of files of the answer."""
    scores: Mapping[str, float] = field(default_factory=dict)
    """Commit -> BM25 of its changed lines, divided by the highest BM25."""
    patches: Mapping[str, Sequence[FilePatch]] = field(default_factory=dict)
    """Commit -> its changes of files."""


def read_range(
    repository: Repository, context: QueryContext, terms: Mapping[str, float]
) -> RangeChanges:
    """Return the commits of the range that a report states, scored by the text of their changes.

    If the report only states that something broke in a release, the range begins with the release
    before. The result is empty if the range is not narrow. ``terms`` are the report's terms with
    their weights. Merges and commits that only format code or set a version are left out.
    """
    between = context.named_history.bounds.range
    if not terms or between is None or not 0 < len(between) <= MAX_COMMITS:
        return RangeChanges()
    ignored = read_ignored_revisions(repository, context.version.text.snapshot.commit)
    own_names = context.history.releases.own_names
    infos = []
    for info in repository.commits(sorted(between)):
        is_form = is_formatting(info.message.partition("\n")[0], own_names=own_names)
        is_known = info.committed_at < context.history.opened
        if len(info.parents) < 2 and is_known and not is_form and info.id not in ignored:
            infos.append(info)
    infos.sort(key=lambda info: (-info.committed_at, info.id))
    patches: dict[str, list[FilePatch]] = {info.id: [] for info in infos}
    for patch in read_patches(repository, list(patches), most_bytes=MAX_BYTES).files:
        patches[patch.commit].append(patch)
    scores = scale_by_largest(score_changes(patches, terms, by_rarity=True))
    commits = []
    matching = {}
    for info, score in zip(infos, scores.tolist(), strict=True):
        subject = info.message.partition("\n")[0]
        if score > 0 and not sets_only_version(subject, patches[info.id]):
            matching[info.id] = score
            size = float(max(len(patches[info.id]), 1))
            commits.append(TouchingCommit(info.committed_at, -1, info.id, [], size, 0.0))
    return RangeChanges(commits, matching, patches)
