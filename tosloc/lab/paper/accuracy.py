"""Table 4: every system on every project, in two search spaces, and every system against every other.

All files of the version is the search that a user needs. "Ever fixed" keeps only files that some report of the data set
fixed, as the original experiments of most techniques did: it is chosen with the answers known, and flatters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, Literal, TypeAlias

from tosloc.evaluate.compare import Comparison, Difference, compare_all, comparison_values
from tosloc.evaluate.evaluate import Evaluation
from tosloc.evaluate.measures import AP, RR, Measure
from tosloc.evaluate.statistics import Interval
from tosloc.lab import baseline_runs
from tosloc.lab.paper.contents import contents
from tosloc.lab.paper.workspace import (
    PAPER,
    Cell,
    Key,
    PaperTable,
    Published,
    TableResult,
    Workspace,
    by_project,
    figure_of,
    is_ranked,
    rows_of,
    some,
)
from tosloc.lab.projects import Project
from tosloc.lab.restricted import restricted
from tosloc.records import Progress, silent
from tosloc.training import STAGE_ONE

Result: TypeAlias = Literal["wins", "ties", "loses"]
_Row: TypeAlias = list[str | Cell]

TITLES: Final[Mapping[str, str]] = {
    "buglocator": "BugLocator",
    "brtracer": "BRTracer",
    "bluir": "BLUiR",
    "amalgam": "AmaLgam",
    "blia": "BLIA",
    "dnnloc": "DNNLOC",
    "dreamloc": "DreamLoc",
    "paper-features": "the paper's four features",
    "stage-one": "TosLoc, stage one",
    "both-stages": "TosLoc, both stages",
}
ALL: Final = "all files"
EVER_FIXED: Final = "ever fixed"
SPACES: Final[Mapping[str, str]] = {
    ALL: "all files of the version",
    EVER_FIXED: "only files that some report fixed (flattering: chosen with the answers known)",
}
_MEASURES: Final[Mapping[str, Measure]] = {"MRR": RR, "MAP": AP}
OWN: Final = ("paper-features", "stage-one", "both-stages")
"""Our own systems; the first and the last stand in the table where there is a run of them."""
LEVEL: Final = 0.05
"""A difference is significant if its t-test's p, by Holm over all pairs of systems on the project, is below."""
TIES: Final = (
    f"Paired t-tests over the test reports; a tie is a difference with p of {LEVEL:g} or more after Holm's"
    " correction over all pairs of systems on the project."
)


def title_of(name: str) -> str:
    """What a system is called."""
    return TITLES.get(name, name)


def run_folder(work: Workspace, project: Project, name: str) -> Path | None:
    """The folder of a system's finished run, None where there is none."""
    if name in baseline_runs.SYSTEMS:
        return work.ranked(project, name)
    if name == "paper-features":
        return work.find(Path(f"{PAPER}{project.name}"), is_ranked)
    if name == "both-stages":
        return work.both_stages(project, is_ranked)
    trained = work.trained(project)
    return trained / STAGE_ONE if trained is not None and is_ranked(trained / STAGE_ONE) else trained


@dataclass(frozen=True)
class ScoredProject:
    """One project's systems, by what they are called, in each search space."""

    spaces: Mapping[str, Mapping[str, Evaluation]]
    pairs: Sequence[Comparison]

    def mean(self, space: str, title: str, measure: Measure) -> float | None:
        """A system's mean in a search space; None for one without a run."""
        evaluation = self.spaces[space].get(title)
        return None if evaluation is None else evaluation.mean(measure)

    def against(self, one: str, other: str) -> list[Against]:
        """How ``one`` stands against another system, by measure."""
        for pair in self.pairs:
            if {pair.a, pair.b} == {one, other}:
                return [Against(difference, 1 if pair.b == one else -1) for difference in pair.differences]
        raise KeyError(f"{one} and {other} are not compared")


@dataclass(frozen=True)
class Against:
    """One system against another in one measure."""

    difference: Difference
    sign: int
    """1 if the difference is of the one over the other, -1 if it is the other way round."""

    @property
    def mean(self) -> float:
        """How far the one is above the other."""
        return self.sign * self.difference.difference

    @property
    def p(self) -> float | None:
        """The p-value that counts: of the t-test, adjusted over all pairs if there are several."""
        adjusted = self.difference.p_t_holm
        return self.difference.p_t if adjusted is None else adjusted

    @property
    def result(self) -> Result:
        """Whether the one wins, ties or loses: only a significant difference is one."""
        if self.p is None or self.p >= LEVEL:
            return "ties"
        return "wins" if self.mean > 0 else "loses"

    def cells(self) -> _Row:
        """Difference with its interval, p, result, and on how many reports the one is better, equal or worse."""
        around, difference = self.difference.interval, self.difference
        ends = None if around is None else sorted((self.sign * around.low, self.sign * around.high))
        better, worse = (difference.wins, difference.losses)[:: self.sign]
        return [
            Cell(self.mean, "change", interval=None if ends is None else Interval(*ends)),
            Cell(self.p, "p"),
            self.result,
            f"{better} / {difference.ties} / {worse}",
        ]


def measure(work: Workspace, published: Published, progress: Progress = silent) -> TableResult:
    """Table 4."""
    wanted = some(work.systems, [*baseline_runs.SYSTEMS, *OWN])
    techniques = [name for name in wanted if name in baseline_runs.SYSTEMS]
    found: dict[str, ScoredProject] = {}
    missing: list[str] = []
    for project in by_project(work.projects, "projects", progress):
        if work.make:
            if len(techniques) < len(wanted):
                work.train(project, progress)
            work.rank(project, techniques, progress)
        folders = {name: run_folder(work, project, name) for name in wanted}
        missing += [f"{title_of(name)} on {project.name}" for name in techniques if folders[name] is None]
        there = {title_of(name): folder for name, folder in folders.items() if folder is not None}
        found[project.name] = score_runs(work, project, there, progress)
    printed = {key[2] for key in published.numbers if len(key) > 2}
    titles = [
        title
        for title in map(title_of, wanted)
        if title in printed or any(title in one.spaces[ALL] for one in found.values())
    ]
    notes = [f"{space}: {meaning}" for space, meaning in SPACES.items()]
    if missing:
        notes.append(f"no run of {', '.join(missing)}")
    bars = {
        project: {
            title: (
                one.mean(ALL, title, AP),
                one.mean(EVER_FIXED, title, AP),
                published.numbers.get((ALL, "MAP", title, project)),
            )
            for title in titles
        }
        for project, one in found.items()
    }
    return TableResult(
        [
            *accuracy_tables(found, titles, published.numbers),
            *statistics_tables(found, titles),
        ],
        notes,
        {"table-4": figure_of("spaces_figure", bars, "MAP")} if titles else {},
        {"pairs": {project: [comparison_values(one, 0) for one in has.pairs] for project, has in found.items()}},
    )


def score_runs(
    work: Workspace, project: Project, folders: Mapping[str, Path], progress: Progress = silent
) -> ScoredProject:
    """The evaluations of a project's finished runs, and all pairs of them compared."""
    kept = contents(project, work.out, progress).ever_fixed
    spaces: dict[str, dict[str, Evaluation]] = {space: {} for space in SPACES}
    for number, (title, folder) in enumerate(folders.items(), start=1):
        run = work.scored(project, folder)
        spaces[ALL][title] = run.evaluation()
        spaces[EVER_FIXED][title] = restricted(run, kept).evaluation()
        progress(f"{project.name}: reading runs", number, len(folders))
    measures = list(_MEASURES.values())
    pairs = compare_all(spaces[ALL], all_pairs=True, measures=measures) if len(folders) > 1 else []
    return ScoredProject(spaces, pairs)


def accuracy_tables(
    found: Mapping[str, ScoredProject], titles: Sequence[str], paper: Mapping[Key, float]
) -> list[PaperTable]:
    """MRR and MAP of every system on every project in each search space, and what the flattering space adds."""

    def cell(space: str, name: str, title: str, project: str) -> Cell:
        return Cell(found[project].mean(space, title, _MEASURES[name]), paper=paper.get((space, name, title, project)))

    def added(name: str, title: str, project: str) -> Cell:
        easier, whole = (cell(space, name, title, project) for space in (EVER_FIXED, ALL))
        return Cell(_less(easier.value, whole.value), "change", _less(easier.paper, whole.paper))

    kinds = {f"{name}, {space}": partial(cell, space, name) for space in SPACES for name in _MEASURES}
    kinds |= {f"{name}, {EVER_FIXED} - {ALL}": partial(added, name) for name in _MEASURES}
    return [PaperTable([head, *found], rows_of(titles, found, kind)) for head, kind in kinds.items()]


def _less(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one - other


def statistics_tables(found: Mapping[str, ScoredProject], titles: Sequence[str]) -> list[PaperTable]:
    """TosLoc against every system on each project, how often it wins, and every system against every other."""
    heads = [
        head
        for name, measure in _MEASURES.items()
        for head in (name, "p, Holm", "TosLoc", f"{measure!r}: better / equal / worse")
    ]
    against_tables = []
    counts: dict[str, list[str]] = {name: [] for name in _MEASURES}
    for project, one in found.items():
        ours = champion(one)
        others = [title for title in titles if ours and title in one.spaces[ALL] and title != ours]
        against = {other: one.against(ours, other) for other in others}
        for number, name in enumerate(_MEASURES):
            results = [pair[number].result for pair in against.values()]
            counts[name].append(" / ".join(str(results.count(result)) for result in ("wins", "ties", "loses")))
        if others:
            rows: list[_Row] = [
                [other, *(cell for one in pair for cell in one.cells())] for other, pair in against.items()
            ]
            against_tables.append(PaperTable([f"{project}: {ours} against", *heads], rows))
    summary: list[_Row] = [[name, *cells] for name, cells in counts.items()]
    tables = []
    if against_tables:
        heads = ["TosLoc wins / ties / loses against systems", *found]
        tables = [PaperTable(heads, summary, TIES), *against_tables]
    return [*tables, *(_matrix(project, one, titles) for project, one in found.items() if len(one.spaces[ALL]) > 2)]


def champion(one: ScoredProject) -> str:
    """Which of ours stands against the others: both stages where there are two."""
    known = one.spaces[ALL]
    return next((title for name in ("both-stages", "stage-one") if (title := title_of(name)) in known), "")


def _matrix(project: str, one: ScoredProject, titles: Sequence[str]) -> PaperTable:
    """Row less column, with a star where it is significant: MAP below the diagonal, MRR above it."""
    there = [title for title in titles if title in one.spaces[ALL]]
    mrr, map_ = (list(_MEASURES).index(name) for name in ("MRR", "MAP"))
    rows: list[_Row] = []
    for number, title in enumerate(there):
        cells: _Row = []
        for column, other in enumerate(there):
            if column == number:
                cells.append("")
                continue
            pair = one.against(title, other)[map_ if column < number else mrr]
            cells.append(Cell(pair.mean, "change", mark="" if pair.result == "ties" else "*"))
        rows.append([title, *cells])
    title = f"{project}: row - column, MAP below the diagonal and MRR above it; * significant."
    return PaperTable([f"{project}: MAP \\ MRR", *there], rows, title)
