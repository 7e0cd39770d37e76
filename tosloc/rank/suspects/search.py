"""Find the past commits that may have introduced the bug of a report.

Candidates are commits that touched the first files of an answer. They are ordered by a weighted sum
of features; docs/method.md, section 6, describes features and weights.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from tosloc.core.answers import Hit, SuspectChange
from tosloc.core.errors import pluralize
from tosloc.git.history import changed_paths
from tosloc.git.repository import Repository
from tosloc.rank.explain.lookups import RepositoryLookups
from tosloc.rank.explain.reasons import FileReasons
from tosloc.rank.features.named_history import BlamedCommit, NamedHistory
from tosloc.rank.features.query_context import QueryContext
from tosloc.rank.suspects.candidates import Candidates, collect_candidates
from tosloc.rank.suspects.descriptions import describe_suspect
from tosloc.rank.suspects.sweeps import find_unfinished_sweep
from tosloc.retrieval.history import find_first_release, list_brought
from tosloc.retrieval.texts import top_k

MAX_SUSPECTS: Final = 3
"""Largest number of suspect changes in an answer."""
MIN_LIKELIHOOD: Final = 0.05
"""Smallest softmax of a suspect that the report does not name and that is in no stated range.

Of less likely commits among the first three, 13 of 134 were right on development data.
"""
MISSING_BLOBS: Final = "some changes could not be read, because this clone lacks their contents"


class SuspectSearch(NamedTuple):
    """Suspect changes for one report, and notes on what hindered the search."""

    changes: tuple[SuspectChange, ...]
    """Suspect changes, the most suspect first."""
    notes: tuple[str, ...] = ()
    """Sentences for the user."""


def find_suspects(
    repository: Repository,
    reasons: FileReasons,
    hits: Sequence[Hit],
    lookups: RepositoryLookups,
    most: int = MAX_SUSPECTS,
    blamed_files: Sequence[Hit] = (),
    later_fix: str = "",
) -> SuspectSearch:
    """Return the commits that most likely introduced the bug of an answered report.

    ``reasons`` are those of the answered query, whose history ends before the report's opening.
    ``hits`` are the first files of the answer with their functions; only the first
    ``candidates.MAX_FILES`` count. ``blamed_files`` are further files, which blamed commits
    changed. ``later_fix`` is the id of the commit that probably fixed the report; it is never a
    suspect. Missing blobs give a note, not an error.
    """
    context = reasons.context
    fixing = _list_fixing(repository, later_fix) if later_fix else frozenset()
    candidates = collect_candidates(repository, context, hits, blamed_files, fixing)
    best = _best_places(candidates, context.named_history, most)
    found = [describe_suspect(repository, candidates, place, reasons, lookups) for place in best]
    changes = [*_blamed_elsewhere(repository, context, candidates.commits, lookups), *found][:most]
    changes = _add_origins(repository, context, changes, lookups)
    changes = _add_sweeps(repository, context, changes, [file.path for file in candidates.files])
    bounds = context.named_history.bounds
    notes = list(bounds.notes)
    touching = zip(candidates.commits, candidates.positions, strict=True)
    if bounds.range and bounds.range.isdisjoint(commit for commit, files in touching if files):
        notes.append(f"no commit {bounds.words} touches the first files of the answer")
    if candidates.is_incomplete:
        notes.append(MISSING_BLOBS)
    return SuspectSearch(tuple(changes), tuple(notes))


def _best_places(candidates: Candidates, history: NamedHistory, most: int) -> list[int]:
    """Return the positions of the candidates with the highest scores, the best first.

    If some candidates are in the range that the report states or implies, only these and blamed
    ones are returned. Otherwise only likely candidates and those that the report names are
    returned.
    """
    allowed = (history.bounds.range or frozenset()).intersection(candidates.commits)
    if allowed:
        allowed |= history.blamed_ids
    # Of equal candidates the newest comes first.
    last = len(candidates.commits) - 1
    newest_first = top_k(candidates.scores()[::-1], len(candidates.commits))
    likelihoods = candidates.likelihoods()
    named = history.blamed_ids.union(change.commit for change in history.changes)
    best = []
    for place in (last - newest_first).tolist():
        commit = candidates.commits[place]
        is_likely = likelihoods[place] >= MIN_LIKELIHOOD or commit in named
        if commit in allowed or (not allowed and is_likely):
            best.append(place)
    return best[:most]


def _add_origins(
    repository: Repository,
    context: QueryContext,
    changes: Sequence[SuspectChange],
    lookups: RepositoryLookups,
) -> list[SuspectChange]:
    """Return the changes with their authors, pull requests and first releases."""
    commits = [change.commit for change in changes]
    authors = lookups.authors(commits)
    releases = context.history.releases.known_before(context.history.opened)
    complete = []
    for change, info in zip(changes, repository.commits(commits), strict=True):
        release = find_first_release(repository, releases, info.id, info.committed_at)
        complete.append(
            replace(
                change,
                author=authors.get(info.id, ""),
                release=release,
                pull_request=info.pull_request,
            )
        )
    return complete


def _add_sweeps(
    repository: Repository,
    context: QueryContext,
    changes: Sequence[SuspectChange],
    paths: Sequence[str],
) -> list[SuspectChange]:
    """Return the changes, with a further reason for those that replaced a name incompletely.

    ``paths`` are the candidate files. The old name is searched for in them and in the files that
    the change touched.
    """
    version = context.version.text.snapshot.commit
    complete = []
    for change in changes:
        sweep = find_unfinished_sweep(repository, version, change.commit, paths)
        reasons = change.reasons if sweep is None else (*change.reasons, str(sweep))
        complete.append(replace(change, reasons=reasons))
    return complete


def _list_fixing(repository: Repository, fix: str) -> frozenset[str]:
    """Return the ids of a fix and, if it is a merge, of the commits that it brought."""
    [info] = repository.commits([fix])
    if len(info.parents) < 2:
        return frozenset([fix])
    return list_brought(repository, fix, info.parents[0]) | {fix}


def _blamed_elsewhere(
    repository: Repository,
    context: QueryContext,
    candidates: Sequence[str],
    lookups: RepositoryLookups,
) -> Iterator[SuspectChange]:
    """Yield the blamed commits in the version that changed none of the searched source files."""
    for blamed in context.named_history.blamed:
        if not blamed.is_contained or not blamed.brought.isdisjoint(candidates):
            continue
        [path, *_] = changed_paths(repository, blamed.commit) or [""]
        yield SuspectChange(
            blamed.commit,
            lookups.committed(blamed.commit, blamed.at),
            blamed.subject,
            path,
            "",
            (SuspectChange.BLAMED,),
            (),
            lookups.commit_url(blamed.commit),
        )


def describe_statements(history: NamedHistory, lookups: RepositoryLookups) -> tuple[str, ...]:
    """Return sentences: which commits the report blames, and between which ends the cause is."""
    return tuple(_describe(history, lookups))


def _describe(history: NamedHistory, lookups: RepositoryLookups) -> Iterator[str]:
    """Yield the sentences of ``describe_statements``, blamed commits first.

    A range that the report states is left out if a blamed commit is in it: no other commit of the
    range can be the cause then, by the report. A range that the report only implies is left out if
    any commit is blamed, and a given range if all its commits are.
    """
    for blamed in history.blamed:
        yield _describe_blamed(blamed, lookups)
    if history.range is None and not history.has_given_ends:
        return
    if not history.bounds.sentence:
        return
    within = history.range or frozenset()
    if history.has_given_ends:
        is_known = bool(within) and within <= history.blamed_ids
    elif history.bounds.commits is None:
        is_known = bool(history.blamed)
    else:
        is_known = not within.isdisjoint(history.blamed_ids)
    if not is_known:
        yield history.bounds.sentence


def _describe_blamed(blamed: BlamedCommit, lookups: RepositoryLookups) -> str:
    """Return a sentence that the report blames a commit, with the commit's date and subject."""
    text = f"The report blames {blamed.commit[:10]}"
    if blamed.at:
        text += f" ({lookups.committed(blamed.commit, blamed.at).date()})"
    if blamed.brought != {blamed.commit}:
        text += f", a merge of {pluralize(len(blamed.brought), 'commit')}"
    if blamed.subject:
        text += f": {blamed.subject}"
    return text if blamed.is_contained else f"{text}; the searched version does not contain it"
