"""Candidates for suspect changes: commits that touched the first files of an answer.

They are older than the report, the searched version contains them, and they are within the bounds
that the report states. Commits that only format code or set a version are left out. The patches of
the leading candidates are read, newest first; they show which commit last wrote each line of the
files.

If the report states or implies a narrow range, the patches of its commits are read, whatever
files they change. Those that share terms with the report are also candidates.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

import numpy as np

from tosloc.core.answers import Hit
from tosloc.core.arrays import FloatArray, LongArray
from tosloc.git.patches import FilePatch, read_patches
from tosloc.git.repository import Repository, decode_text
from tosloc.rank.features.query_context import QueryContext
from tosloc.rank.features.text_features import rarities
from tosloc.rank.suspects.features import (
    FEATURES,
    HISTORY_WEIGHTS,
    WEIGHTS,
    TouchingCommit,
    history_features,
    patch_features,
)
from tosloc.rank.suspects.formatting import (
    is_formatting,
    read_ignored_revisions,
    sets_only_version,
)
from tosloc.rank.suspects.line_history import FileLines, without_moves
from tosloc.rank.suspects.origins import Origin, find_origins, with_heirs
from tosloc.rank.suspects.range_changes import RangeChanges, read_range
from tosloc.retrieval.texts import DocumentsView, top_k

MAX_FILES: Final = 10
"""Number of first files of an answer whose commits are candidates.

It is also the largest number of further files of blamed commits.
"""
MAX_PATCHES: Final = 40
"""Number of candidates whose patches are read."""
MAX_BYTES: Final = 2_000_000
"""Largest number of bytes of patches that are read."""
MAX_MOVERS: Final = 5
"""Number of leading candidates that are searched for lines moved from other files."""
MAX_MOVED_FILES: Final = 50
"""Largest number of source files that a commit which splits a file has; a first commit has more."""
MAX_TERMS: Final = 16
"""Number of the report's terms, those with the largest weights, that are searched for in lines."""
TEMPERATURE: Final = 0.7
"""Temperature of the softmax of suspects' scores, chosen on the projects of Denchmark."""
RANK_SHARE: Final = 0.1
"""Part of a file's share that depends on its rank alone, so that no file has a share of 0."""


@dataclass
class Candidates:
    """The candidates of one report with their features, in order of time."""

    commits: list[str]
    """(C,) full ids."""
    times: LongArray
    """(C,) committer times, in seconds since 1970."""
    positions: list[list[int]]
    """(C,) positions in the answer of the files that each commit touched, best first.

    They are empty for a commit that is a candidate only because of its text.
    """
    sizes: list[float]
    """(C,) number of source files that each commit touched."""
    features: FloatArray
    """(C, K) values of the features, in the order of ``FEATURES``."""
    files: list[FileLines]
    """(F,) files of the answer that were searched for changes."""
    patches: dict[str, list[FilePatch]]
    """Commit -> its changes of the files, under their present paths, for commits that were read."""
    terms: dict[str, float] = field(default_factory=dict)
    """The report's terms with the largest weights that files contain, with their weights."""
    range_changes: RangeChanges = field(default_factory=RangeChanges)
    """The changes in the narrow range that the report states; empty if it states none."""
    is_incomplete: bool = False
    """Whether some patches could not be read because blobs are missing."""

    def scores(self, weights: Mapping[str, float] = WEIGHTS) -> FloatArray:
        """Return (C,) the weighted sums of the features; features without a weight do not count."""
        vector = np.array([weights.get(name, 0.0) for name in FEATURES])
        scores: FloatArray = self.features @ vector
        return scores

    def leading_of_several_files(self) -> dict[str, int]:
        """Return commit -> time, for leading candidates that may have moved lines between files."""
        times = {}
        for place in top_k(self.scores(), MAX_MOVERS).tolist():
            if 1 < self.sizes[place] <= MAX_MOVED_FILES:
                times[self.commits[place]] = int(self.times[place])
        return times

    def log_odds(self) -> FloatArray:
        """Return (C,) the logarithm of the odds of each candidate, up to a constant."""
        return self.scores() / TEMPERATURE

    def likelihoods(self) -> FloatArray:
        """Return (C,) the probability of each candidate among all: the softmax of the log odds."""
        log_odds = self.log_odds()
        odds: FloatArray = np.exp(log_odds - log_odds.max(initial=0.0))
        odds /= odds.sum()
        return odds

    def feature(self, place: int, name: str) -> float:
        """Return the value of a feature of the candidate at a position."""
        return float(self.features[place, FEATURES.index(name)])


def collect_candidates(
    repository: Repository,
    context: QueryContext,
    hits: Sequence[Hit],
    blamed_files: Sequence[Hit] = (),
    excluded: Collection[str] = (),
) -> Candidates:
    """Return the commits that touched the first files of an answer, with their features.

    ``blamed_files`` are further files, which blamed commits changed; only the blamed ones among
    their commits are candidates. Commits whose ids are ``excluded`` are never candidates.
    """
    first_files = min(len(hits), MAX_FILES)
    hits = [*hits[:MAX_FILES], *blamed_files[:MAX_FILES]]
    terms = _report_terms(context)
    range_changes = read_range(repository, context, terms)
    files = SearchedFiles(context, hits, first_files)
    candidates = _collect(repository, files, terms, range_changes, excluded)
    movers = candidates.leading_of_several_files()
    origins = find_origins(repository, candidates.files, movers, files.present_paths)
    if origins:
        files = SearchedFiles(context, hits, first_files, origins)
        candidates = _collect(repository, files, terms, range_changes, excluded)
    return candidates


@dataclass
class SearchedFiles:
    """The files whose commits are candidates, with all paths that they and their lines had."""

    context: QueryContext
    hits: Sequence[Hit]
    first_files: int
    """Number of first files of which all commits count; of later files only blamed ones count."""
    origins: Sequence[Origin] = ()
    """Files from which commits moved lines into these files."""

    @cached_property
    def present_paths(self) -> dict[str, str]:
        """Each path that a file or its lines have or had -> the path that the file has now."""
        table = self.context.version.table
        numbers = self.context.version.snapshot.path_names.ids
        present_paths = {hit.path: hit.path for hit in self.hits}
        for origin in self.origins:
            present_paths.setdefault(origin.path, self.hits[origin.position].path)
        for path, present_path in list(present_paths.items()):
            if path in numbers:
                for former in self.context.history.renames.former_paths(numbers[path]):
                    present_paths.setdefault(table.paths[former], present_path)
        return present_paths


def _collect(
    repository: Repository,
    files: SearchedFiles,
    terms: Mapping[str, float],
    range_changes: RangeChanges,
    excluded: Collection[str],
) -> Candidates:
    """Return the commits that touched files, and those of a range, with their features."""
    touching = [*_find_touching(files)]
    of_files = {item.commit for item in touching}
    touching += [item for item in range_changes.commits if item.commit not in of_files]
    touching = sorted(item for item in touching if item.commit not in excluded)
    features = np.zeros((len(touching), len(FEATURES)))
    candidates = Candidates(
        [item.commit for item in touching],
        np.array([item.at for item in touching], dtype=np.int64),
        [item.positions for item in touching],
        [item.size for item in touching],
        features,
        [],
        {},
        dict(terms),
        range_changes,
    )
    if touching:
        texts = [range_changes.scores.get(item.commit, 0.0) for item in touching]
        features[:, FEATURES.index("range_text")] = texts
        shares = file_shares(files.hits)
        for name, values in history_features(files.context, touching, shares).items():
            features[:, FEATURES.index(name)] = values
        formatting = _read_leading(repository, files, candidates, shares)
        _remove(candidates, formatting)
    return candidates


def _remove(candidates: Candidates, commits: Collection[str]) -> None:
    """Remove some commits from the candidates."""
    kept = [place for place, commit in enumerate(candidates.commits) if commit not in commits]
    candidates.commits = [candidates.commits[place] for place in kept]
    candidates.times = candidates.times[kept]
    candidates.positions = [candidates.positions[place] for place in kept]
    candidates.sizes = [candidates.sizes[place] for place in kept]
    candidates.features = candidates.features[kept]


def file_shares(hits: Sequence[Hit]) -> FloatArray:
    """Return (F,) the probability of each file, with the sum 1: mostly its confidence.

    A file without confidence gets a probability by its rank.
    """
    by_rank: FloatArray = 1.0 / np.arange(1, len(hits) + 1)
    by_rank /= by_rank.sum()
    shares = np.array([hit.confidence for hit in hits])
    total = float(shares.sum())
    if total <= 0:
        return by_rank
    return (1 - RANK_SHARE) * (shares / total) + RANK_SHARE * by_rank


def _find_touching(files: SearchedFiles) -> Iterator[TouchingCommit]:
    """Yield the known commits that touched files of an answer under any of their paths.

    Commits outside the bounds that the report states are left out, unless it blames them. Commits
    that touched only files after the first ones are yielded if the report blames them.
    """
    context = files.context
    bounds = context.named_history.bounds
    blamed = context.named_history.blamed_ids
    for view in (context.history.commits, context.history.large):
        documents = view.documents
        for number, positions in _documents_of_files(files, view).items():
            commit = documents.commit_ids[number]
            is_possible = positions[0] < files.first_files and bounds.allow(commit)
            if not is_possible and commit not in blamed:
                continue
            similarity = 0.0
            if view is context.history.commits:
                similarity = float(context.similar_documents.commit_similarities[number])
            yield TouchingCommit(
                int(documents.times[number]),
                int(documents.commits[number]),
                commit,
                positions,
                float(documents.sizes[number]),
                similarity,
            )


def _documents_of_files(files: SearchedFiles, view: DocumentsView) -> dict[int, list[int]]:
    """Return document -> positions of the files that the document touched, in ascending order.

    The key is the document's number. If lines were moved from a file, only the file's documents
    before the move count.
    """
    path_numbers = files.context.version.snapshot.path_names.ids
    positions_by_document: defaultdict[int, set[int]] = defaultdict(set)

    def find(path: str) -> list[int]:
        numbers = view.documents.find_by_file(path_numbers[path])
        return [*map(int, numbers[view.known[numbers]])]

    for position, hit in enumerate(files.hits):
        for number in find(hit.path):
            positions_by_document[number].add(position)
    times = view.documents.times
    for origin in files.origins:
        if origin.path in path_numbers:
            for number in find(origin.path):
                if times[number] < origin.moved_at:
                    positions_by_document[number].add(origin.position)
    return {number: sorted(places) for number, places in positions_by_document.items()}


def _read_leading(
    repository: Repository, files: SearchedFiles, candidates: Candidates, shares: FloatArray
) -> frozenset[str]:
    """Read the patches of the leading candidates, and fill in the features that need patches.

    Return the candidates that only format code or set a version. The lines that they wrote count as
    written by earlier commits.
    """
    context = files.context
    ignored = read_ignored_revisions(repository, context.version.snapshot.commit)
    leading = set(top_k(candidates.scores(HISTORY_WEIGHTS), MAX_PATCHES).tolist())
    listed = [place for place, commit in enumerate(candidates.commits) if commit in ignored]
    leading.update(listed[-MAX_PATCHES:])
    newest_first = sorted(leading, reverse=True)
    commits = [candidates.commits[place] for place in newest_first]
    candidates.files = _read_files(repository, context, files.hits, shares)
    patches, is_incomplete = _read_patches(repository, files.present_paths, commits)
    candidates.patches = patches
    candidates.is_incomplete = is_incomplete
    subjects = []
    for info in repository.commits(commits):
        subjects.append(info.message.partition("\n")[0])
    formatting = set(ignored)
    own_names = context.history.releases.own_names
    for place, subject in zip(newest_first, subjects, strict=True):
        commit = candidates.commits[place]
        is_form = is_formatting(subject, candidates.sizes[place], own_names)
        if is_form or sets_only_version(subject, patches[commit]):
            formatting.add(commit)
    formatting -= context.named_history.blamed_ids
    columns = patch_features(subjects, patches, candidates.files, candidates.terms, formatting)
    for name, values in columns.items():
        candidates.features[newest_first, FEATURES.index(name)] = values
    return frozenset(formatting)


def _read_files(
    repository: Repository, context: QueryContext, hits: Sequence[Hit], shares: FloatArray
) -> list[FileLines]:
    """Return the lines of each file of an answer; a file whose blob is missing has no lines."""
    snapshot = context.version.snapshot
    blob_by_path = dict(zip(snapshot.paths, snapshot.blobs, strict=True))
    texts = dict(repository.texts(list(dict.fromkeys(blob_by_path[hit.path] for hit in hits))))
    files = []
    for position, hit in enumerate(hits):
        text = decode_text(texts.get(blob_by_path[hit.path]) or b"")
        files.append(FileLines.of(hit, position, float(shares[position]), text))
    return files


def _read_patches(
    repository: Repository, present_paths: Mapping[str, str], commits: Sequence[str]
) -> tuple[dict[str, list[FilePatch]], bool]:
    """Return each commit's changes of the files of an answer, under their present paths.

    The commits are ordered from the newest to the oldest. Lines that a commit only moves count as
    unchanged. The second result is whether some patches could not be read because blobs are
    missing.
    """
    read = read_patches(repository, commits, list(present_paths), MAX_BYTES)
    patches: dict[str, list[FilePatch]] = {commit: [] for commit in commits}
    for patch in read.files:
        present = present_paths[patch.path]
        patches[patch.commit].append(patch._replace(path=present, path_then=patch.path))
    for commit, files in with_heirs(patches).items():
        patches[commit] = without_moves(files)
    return patches, read.unreadable > 0


def _report_terms(context: QueryContext) -> dict[str, float]:
    """Return term -> weight for the report's terms that files contain, the largest weight first."""
    weights = context.query.weights_without_trace
    gains = {}
    for term, rarity in rarities(context.version, weights).items():
        gains[term] = weights[term] * rarity
    best = sorted(gains, key=lambda term: (-gains[term], term))
    return {term: gains[term] for term in best[:MAX_TERMS]}
