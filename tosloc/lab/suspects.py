"""Measure how well suspect changes are found, with truth from git, and learn their weights.

The true commits of a report are those that last wrote the lines which its fix changed or removed.
They come from git blame of the version before the fix, without changes of white space and moves
within a file or between files that one commit changed. Blank lines, comments and tests do not
count, nor do commits that are not older than the report. Every commit before the report's opening
is ranked; a true commit that is not a candidate has no rank.

If reports of a project name the commits that introduced the bug, as ``tosloc mine`` reads them from
messages of fixes, only these reports are judged, and these commits are the truth. If a message
takes the place of a report, names of files are removed from it, because its author knew the fix.
Weights can be learned from projects with both kinds of truth together; each kind is judged
separately.

There are two baselines. One ranks the commits of the first file, newest first, then those of the
second file, and so on. The other is BM25 over commits, whose texts are message and changed lines,
as in Locus (Wen, Wu, Cheung, ASE 2016).
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from tosloc.code import text
from tosloc.code.languages import SOURCE_SUFFIXES
from tosloc.code.text import is_comment
from tosloc.core.arrays import BoolArray, Float32Array, FloatArray
from tosloc.core.errors import RepositoryError, ToslocError
from tosloc.core.io import content_key, parse_json, read_regular_file, write_text
from tosloc.core.progress import Progress, ignore_progress
from tosloc.core.reports import Case
from tosloc.evaluate.statistics import Interval
from tosloc.git.patches import FilePatch, read_patches
from tosloc.git.repository import Repository, suffix_matcher
from tosloc.lab.projects import Project, spread_evenly
from tosloc.lab.tracking import track
from tosloc.localize.localizer import Localizer
from tosloc.localize.question import Question
from tosloc.paths.classify import which_are_tests
from tosloc.rank.model.fitting import fit_listwise
from tosloc.rank.model.ranking_lists import RankingLists
from tosloc.rank.suspects import FEATURES, WEIGHTS, Candidates
from tosloc.reports.labelled import Dataset
from tosloc.retrieval.history import list_beside, report_terms, strip_trailers
from tosloc.retrieval.texts import (
    Document,
    Documents,
    DocumentsView,
    group_sum,
    length_norm,
    row_sums,
    saturate_tf,
)

OURS: Final = "suspect changes"
SHIPPED: Final = "suspect changes, shipped weights"
SAME_TRUTH: Final = "suspect changes, weights of projects with the same kind of truth"
NEWEST: Final = "newest commits of the first file"
BM25: Final = "BM25 over message and diff"
FIXED_FEATURES: Final = (
    *("blamed", "named", "age_of_break", "in_range", "range_text", "cosmetic"),
)
"""Features whose weights are not learned, because they are 0 for most reports."""
DEPTHS: Final = (1, 5, 10)
"""Depths at which accuracy is measured."""
MAX_COMMIT_CHARACTERS: Final = 200_000
"""Largest number of characters of a commit's changed lines that BM25 indexes."""
_COMMITS_AT_ONCE: Final = 500
_BYTES_AT_ONCE: Final = 200_000_000
_BLAMED: Final = re.compile(rb"([0-9a-f]{40}(?:[0-9a-f]{24})?) \d+ \d+")
_FILE_NAME: Final = re.compile(
    r"(?<![\w./-])(?:[\w.+-]{1,80}/){0,12}[\w+-]{1,80}\."
    r"(?:at|am|c|cc|cpp|cs|fish|go|h|hpp|in|java|js|json|kt|md|mk|php|py|rb|rs|rst|scala|sh|toml|ts|txt"
    r"|xml|ya?ml)\b"
)
"""Name of a file, with its folders."""
_TRUTH_VERSION: Final = 2
"""Version of the stored truth and BM25 ranks; raise it whenever they change."""


@dataclass(frozen=True, eq=False)
class JudgedReport:
    """The candidates of one report, with its true commits and the ranks of the baselines."""

    report: str
    rows: Float32Array
    """(C, K) features in the order of ``FEATURES``."""
    guilty: BoolArray
    """(C,) whether each candidate is a true commit."""
    truth: int
    """Number of true commits, whether or not they are candidates."""
    baseline_ranks: Mapping[str, int | None]
    """Baseline -> rank of the first true commit."""

    def rank(self, weights: FloatArray) -> int | None:
        """Return the rank of the first true commit by weights (K,); None if it is no candidate.

        Of candidates with equal scores the newest comes first.
        """
        scores = self.rows[::-1] @ weights
        guilty = self.guilty[::-1][np.argsort(-scores, kind="stable")]
        places = np.flatnonzero(guilty)
        return int(places[0]) + 1 if len(places) else None


class ProjectReports(NamedTuple):
    """The judged reports of one project, and the number of reports without true commits."""

    name: str
    judged: list[JudgedReport]
    without_truth: int
    truth: str = "blame"
    """Kind of truth: "blame", or "declared" if the project's reports name the commits."""
    weight: float = 1.0
    """Weight of each report when weights are learned."""


# ---- truth


def find_inducing_commits(
    repository: Repository, case: Case, suffixes: Iterable[str] = SOURCE_SUFFIXES
) -> dict[str, int]:
    """Return commit -> number of lines that it last wrote and that a fix changed or removed.

    Only source files other than tests count, and only commits older than the report. Lines that the
    fix moves within a file do not count.
    """
    fix = f"{case.fix_commit} {case.before_commit}"
    changed: dict[str, list[int]] = {}
    for patch in _source_patches(repository, [fix], suffixes):
        lines = list(_removed_lines(patch))
        if lines and not patch.adds_file:
            changed[patch.path] = lines
    writers: Counter[str] = Counter()
    for path, lines in changed.items():
        writers.update(_blame(repository, case.before_commit, path, lines))
    opened = case.report.opened_seconds
    infos = repository.commits(writers)
    return {info.id: writers[info.id] for info in infos if info.committed_at < opened}


def _source_patches(
    repository: Repository,
    commits: Sequence[str],
    suffixes: Iterable[str],
    most_bytes: int = _BYTES_AT_ONCE,
) -> list[FilePatch]:
    """Return the changes of source files other than tests."""
    is_source = suffix_matcher(suffixes)
    patches = read_patches(repository, commits, most_bytes=most_bytes).files
    sources = [patch for patch in patches if is_source(patch.path.encode("utf-8", "replace"))]
    are_tests = which_are_tests([patch.path for patch in sources]).tolist()
    return [patch for patch, is_test in zip(sources, are_tests, strict=True) if not is_test]


def _removed_lines(patch: FilePatch) -> Iterator[int]:
    """Yield the numbers of the lines of code that a patch removes and does not add elsewhere."""
    added: set[str] = set()
    for hunk in patch.hunks:
        added.update("".join(line[1:].split()) for line in hunk.lines if line.startswith("+"))
    for hunk in patch.hunks:
        number = hunk.old_start
        for line in hunk.lines:
            if line.startswith("-"):
                code = "".join(line[1:].split())
                if code and not is_comment(code) and code not in added:
                    yield number
            number += not line.startswith("+")


def _blame(repository: Repository, commit: str, path: str, lines: Sequence[int]) -> Counter[str]:
    """Return commit -> number of the given lines of a file that it last wrote, as of ``commit``."""
    ranges = []
    for line in lines:
        ranges += ["-L", f"{line},{line}"]
    command = ["blame", "-w", "-M", "-C", "--porcelain", *ranges, commit, "--", path]
    writers: Counter[str] = Counter()
    with suppress(RepositoryError), repository.git.stream(command) as output:
        for header in output:
            match = _BLAMED.match(header)
            if match:
                writers[match[1].decode("ascii")] += 1
    return writers


# ---- BM25 over commits


def index_changes(
    repository: Repository,
    commit_ids: Sequence[str],
    suffixes: Iterable[str] = SOURCE_SUFFIXES,
    progress: Progress = ignore_progress,
) -> Documents:
    """Return all commits as documents that contain their messages and changed lines.

    The numbers of the documents are the positions in ``commit_ids``.
    """
    documents = []
    for start in track(range(0, len(commit_ids), _COMMITS_AT_ONCE), "reading changes", progress):
        block = commit_ids[start : start + _COMMITS_AT_ONCE]
        lines_by_commit: defaultdict[str, list[str]] = defaultdict(list)
        for patch in _source_patches(repository, block, suffixes):
            for hunk in patch.hunks:
                changed = [line[1:] for line in hunk.lines if not line.startswith(" ")]
                lines_by_commit[patch.commit] += changed
        for number, info in enumerate(repository.commits(block), start=start):
            changes = "\n".join(lines_by_commit[info.id])[:MAX_COMMIT_CHARACTERS]
            terms = Counter(text.terms(strip_trailers(info.message)))
            terms.update(text.terms(changes))
            # Documents are kept for the files that they touch; one number stands for all.
            at = info.committed_at
            documents.append(Document(info.id, at, number, info.id, terms, (0,)))
    return Documents.collect(documents)


def rank_by_bm25(
    documents: Documents, known: BoolArray, query: Mapping[str, float], truth: Iterable[str]
) -> int | None:
    """Return the rank of the first true commit among the known commits; None if none is known.

    ``known`` (D,) says which documents count. The parameters are those of Robertson and Zaragoza
    (2009): k1 = 1.2, b = .75.
    """
    view = DocumentsView(documents, known)
    terms, weights = view.known_terms(query)
    selection = documents.postings.select(terms)
    lengths = row_sums(documents.counts, documents.starts)
    norm = length_norm(lengths, float(lengths[known].mean()) if known.any() else 1.0, 1.2, 0.75)
    frequency = saturate_tf(selection.values.astype(np.float64), norm[selection.rows], 1.2)
    scores = group_sum(selection.rows, selection.expand(weights) * frequency, len(documents))
    true_numbers = [documents.by_name[commit][0] for commit in truth if commit in documents.by_name]
    true_numbers = [number for number in true_numbers if known[number]]
    if not true_numbers:
        return None
    best = float(scores[true_numbers].max())
    # Of equal commits the newest comes first.
    newest = max(number for number in true_numbers if scores[number] == best)
    before = known & (scores == best)
    return int((known & (scores > best)).sum() + before[newest + 1 :].sum()) + 1


# ---- judging


def judge_project(
    project: Project, work: Path, progress: Progress = ignore_progress
) -> ProjectReports:
    """Return the candidates of a project's reports, with truth and baselines.

    Truth by blame and the ranks of BM25, which take longest, are stored in the folder ``work``. For
    declared truth there are no ranks of BM25.
    """
    kept: dict[str, dict[str, Any]]
    with Repository(project.repo) as repository:
        cases, declared = find_declared(repository, project, progress)
        if declared:
            kept = {report: {"truth": truth, "bm25": None} for report, truth in declared.items()}
        else:
            cases = find_cases(repository, project, progress)
            kept = _read_or_find_truth(repository, project, cases, work, progress)
    judged = []
    with Localizer.open(project.repo, checkpoint="none", ready=False) as localizer:
        for case in track(cases, f"{project.name}: finding suspects", progress):
            truth = kept[case.report.id]["truth"]
            if not truth:
                continue
            candidates = localizer.find_suspects(Question(case.report, commit=case.before_commit))
            ranks: dict[str, int | None] = {NEWEST: _rank_newest(candidates, truth)}
            if not declared:
                ranks[BM25] = kept[case.report.id]["bm25"]
            judged.append(
                JudgedReport(
                    case.report.id,
                    candidates.features.astype(np.float32),
                    np.array([commit in truth for commit in candidates.commits], dtype=np.bool_),
                    len(truth),
                    ranks,
                )
            )
    truth_kind = "declared" if declared else "blame"
    without_truth = len(cases) - len(judged)
    return ProjectReports(project.name, judged, without_truth, truth_kind, project.weight)


def find_cases(
    repository: Repository, project: Project, progress: Progress = ignore_progress
) -> list[Case]:
    """Return the labelled reports of a project that name their fix, at most ``at_most`` of them."""
    dataset = Dataset.load(
        repository, project.reports, suffixes=frozenset(SOURCE_SUFFIXES), progress=progress
    )
    cases = [case for case in dataset.cases if case.fix_commit and case.fixed]
    return spread_evenly(cases, project.at_most)


def find_declared(
    repository: Repository, project: Project, progress: Progress = ignore_progress
) -> tuple[list[Case], dict[str, dict[str, int]]]:
    """Return the reports whose fixes name the commits that introduced the bug, and these commits.

    The commits are given by report id. Only commits count that are older than the report, and that
    the report's version contains.
    """
    dataset = Dataset.load(
        repository, project.reports, suffixes=frozenset(SOURCE_SUFFIXES), progress=progress
    )
    cases = []
    for case in dataset.cases:
        if case.fix_commit and case.fixed and dataset.labelled[case.report.id].introduced_by:
            cases.append(case)
    cases = spread_evenly(cases, project.at_most)
    truth: dict[str, dict[str, int]] = {}
    for number, case in enumerate(cases):
        entry = dataset.labelled[case.report.id]
        if entry.weak:
            summary = _FILE_NAME.sub("", case.report.summary)
            description = _FILE_NAME.sub("", case.report.description)
            report = replace(case.report, summary=summary, description=description)
            cases[number] = replace(case, report=report)
        resolved = repository.resolve_many(entry.introduced_by).values()
        commits = [commit for commit in resolved if commit is not None]
        beside = list_beside(repository, commits, case.before_commit)
        known = [commit for commit in commits if commit not in beside]
        truth[case.report.id] = {
            info.id: 1
            for info in repository.commits(known)
            if info.committed_at < case.report.opened_seconds
        }
    return cases, truth


def _rank_newest(candidates: Candidates, truth: Mapping[str, int]) -> int | None:
    """Return the rank of the first true commit by position of the file, then newest first."""
    places = [place for place, files in enumerate(candidates.positions) if files]
    order = sorted(places, key=lambda place: (candidates.positions[place][0], -place))
    for rank, place in enumerate(order, start=1):
        if candidates.commits[place] in truth:
            return rank
    return None


def _read_or_find_truth(
    repository: Repository,
    project: Project,
    cases: Sequence[Case],
    work: Path,
    progress: Progress,
) -> dict[str, dict[str, Any]]:
    """Return report id -> its true commits and their rank by BM25."""
    path = work / f"{project.name}.json"
    ids = [[case.report.id, case.fix_commit] for case in cases]
    key = content_key([_TRUTH_VERSION, ids])
    with suppress(OSError, ValueError, KeyError):
        record = parse_json(read_regular_file(path))
        if record["key"] == key:
            kept: dict[str, dict[str, Any]] = record["reports"]
            return kept
    reports: dict[str, dict[str, Any]] = {}
    for case in track(cases, f"{project.name}: blaming lines", progress):
        reports[case.report.id] = {"truth": find_inducing_commits(repository, case), "bm25": None}
    tips = [case.before_commit for case in cases if reports[case.report.id]["truth"]]
    commit_ids = _list_commits(repository, tips)
    documents = index_changes(repository, commit_ids, progress=progress)
    for case in track(cases, f"{project.name}: ranking commits", progress):
        truth = reports[case.report.id]["truth"]
        if truth:
            contained = set(_list_commits(repository, [case.before_commit]))
            is_contained = [commit in contained for commit in documents.commit_ids]
            known = np.array(is_contained) & (documents.times < case.report.opened_seconds)
            query = report_terms(case.report)
            reports[case.report.id]["bm25"] = rank_by_bm25(documents, known, query, truth)
    work.mkdir(parents=True, exist_ok=True)
    write_text(path, json.dumps({"key": key, "reports": reports}, indent=1) + "\n")
    return reports


def _list_commits(repository: Repository, tips: Iterable[str]) -> list[str]:
    """Return the ids of all commits, without merges, that the ``tips`` contain."""
    with repository.git.stream(
        ["rev-list", "--stdin", "--no-merges"], dict.fromkeys(tips)
    ) as output:
        return output.read().decode("ascii").split()


# ---- learning and results


def judge_projects(
    projects: Iterable[Project], work: Path, progress: Progress = ignore_progress
) -> list[ProjectReports]:
    """Return the judged reports of projects. Raises ToslocError if no report has a true commit."""
    judged = [judge_project(project, work, progress) for project in projects]
    judged = [project for project in judged if project.judged]
    if not judged:
        raise ToslocError("no fix changes or removes a line that is older than its report")
    return judged


def learn_weights(projects: Iterable[ProjectReports]) -> FloatArray:
    """Return the weights (K,) that fit the listwise loss on reports with a true candidate.

    Weights of ``FIXED_FEATURES`` are not learned. Raises ToslocError if there are no such reports.
    """
    weights = np.array([WEIGHTS[name] for name in FEATURES])
    learned = [column for column, name in enumerate(FEATURES) if name not in FIXED_FEATURES]
    lists = []
    report_weights = []
    for project in projects:
        for report in project.judged:
            if report.guilty.any():
                ones = np.ones(len(report.rows), dtype=np.float32)
                rows = np.ascontiguousarray(report.rows[:, learned])
                lists.append((rows, report.guilty, ones))
                report_weights.append(project.weight)
    if not lists:
        raise ToslocError("weights can only be learned from other projects; name at least two")
    joined = replace(RankingLists.of(lists), report_weights=np.array(report_weights))
    weights[learned] = fit_listwise(joined)
    return weights


class Quality(NamedTuple):
    """How well one technique ranks commits."""

    technique: str
    reports: int
    accuracy: dict[int, float]
    """Depth -> share of the reports with a true commit among the first ``depth`` commits."""
    ranked: float
    """Share of the reports in which a true commit is a candidate."""
    mrr: float
    interval: Interval | None
    """95 % bootstrap interval of the share at depth 1."""


def summarize(technique: str, ranks: Sequence[int | None]) -> Quality:
    """Return the quality of a technique from the rank of each report's first true commit.

    None means that the commit has no rank.
    """
    accuracy = {}
    for depth in DEPTHS:
        hits = sum(rank is not None and rank <= depth for rank in ranks)
        accuracy[depth] = hits / len(ranks)
    mrr = sum(0.0 if rank is None else 1 / rank for rank in ranks) / len(ranks)
    first = np.array([float(rank == 1) for rank in ranks])
    ranked = sum(rank is not None for rank in ranks) / len(ranks)
    return Quality(technique, len(ranks), accuracy, ranked, mrr, Interval.of_mean(first))


def judge_left_out(projects: Sequence[ProjectReports]) -> dict[str, list[Quality]]:
    """Return kind of truth -> quality of suspects and of the baselines.

    Each project is judged by weights learned from all other projects. If there are both kinds of
    truth, weights learned from the other projects of the same kind are also judged.
    """
    ranks: dict[str, defaultdict[str, list[int | None]]] = {}
    for project in projects:
        others = [other for other in projects if other is not project]
        weights = {OURS: learn_weights(others)}
        alike = [other for other in others if other.truth == project.truth]
        if alike and len(alike) < len(others):
            weights[SAME_TRUTH] = learn_weights(alike)
        _add_ranks(ranks.setdefault(project.truth, defaultdict(list)), project, weights)
    return {truth: _summarize_all(by_technique) for truth, by_technique in ranks.items()}


def judge_unseen(projects: Sequence[ProjectReports], weights: FloatArray) -> list[Quality]:
    """Return the quality of suspects by the given weights (K,), and of the baselines."""
    ranks: defaultdict[str, list[int | None]] = defaultdict(list)
    for project in projects:
        _add_ranks(ranks, project, {OURS: weights})
    return _summarize_all(ranks)


def _summarize_all(ranks: Mapping[str, Sequence[int | None]]) -> list[Quality]:
    return [summarize(technique, of_technique) for technique, of_technique in ranks.items()]


def _add_ranks(
    ranks: Mapping[str, list[int | None]],
    project: ProjectReports,
    weights: Mapping[str, FloatArray],
) -> None:
    """Add the rank of the first true commit in each report of a project to ``ranks``, by technique.

    ``weights`` maps techniques to weights (K,); the shipped weights are added.
    """
    shipped = np.array([WEIGHTS[name] for name in FEATURES])
    for report in project.judged:
        for technique, vector in {**weights, SHIPPED: shipped}.items():
            ranks[technique].append(report.rank(vector))
        for name, rank in report.baseline_ranks.items():
            ranks[name].append(rank)
