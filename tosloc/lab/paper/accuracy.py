"""Table 4: every system on every project, in two search spaces, and every system against every other.

All files of the version is the search that a user needs. "Ever fixed" keeps only files that some report of the data set
fixed, as the original experiments of most techniques did: it is chosen with the answers known, and flatters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from tosloc.evaluation.compare import Comparison, Difference, compare_all, comparison_values
from tosloc.evaluation.evaluate import Evaluation
from tosloc.evaluation.measures import AP, RR, Measure
from tosloc.lab import baseline_runs as systems
from tosloc.lab.paper.contents import contents, is_kept, place_of
from tosloc.lab.paper.expected import Expected, Key
from tosloc.lab.paper.projects import Project
from tosloc.lab.paper.tables import Cell, Outcome, PaperTable, Step
from tosloc.lab.paper.workspace import BASELINES, PAPER, Workspace, by_project, is_ranked, some
from tosloc.lab.restricted import restricted
from tosloc.records import Progress, silent
from tosloc.training import STAGE_ONE

Result: TypeAlias = Literal["wins", "ties", "loses"]

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
"""System -> what it is called; techniques that are not named here go by their own name."""
ALL: Final = "all files"
EVER_FIXED: Final = "ever fixed"
SPACES: Final[Mapping[str, str]] = {
    ALL: "all files of the version",
    EVER_FIXED: "only files that some report fixed (flattering: chosen with the answers known)",
}
MEASURES: Final[Mapping[str, Measure]] = {"MRR": RR, "MAP": AP}
LEVEL: Final = 0.05
"""A difference is significant if its t-test's p, by Holm over all pairs of systems on the project, is below."""


def names() -> list[str]:
    """Every system, in the order of the table."""
    own = ["paper-features", "stage-one", "both-stages"]
    return [*systems.SYSTEMS, *own]


def title_of(name: str) -> str:
    """What a system is called."""
    return TITLES.get(name, name)


def place_of_run(work: Workspace, project: Project, name: str) -> Path | None:
    """The folder of a system's finished run, None where there is none."""
    if name in systems.SYSTEMS:
        return work.ranked(project, name)
    if name == "paper-features":
        return work.find(Path(f"{PAPER}{project.name}"), is_ranked)
    if name == "both-stages":
        return work.both_stages(project, is_ranked)
    trained = work.trained(project)
    if trained is None:
        return None
    return trained / STAGE_ONE if is_ranked(trained / STAGE_ONE) else trained


def plan(work: Workspace) -> list[Step]:
    """What table 4 needs."""
    steps = []
    for project in work.projects:
        state: Literal["finished", "to be made"] = "finished" if is_kept(project, work.out) else "to be made"
        steps.append(Step(f"{project.name}: list the files that were ever fixed", place_of(project, work.out), state))
        for name in some(work.systems, names()):
            place = place_of_run(work, project, name)
            optional = name in ("paper-features", "both-stages")
            if place is None and optional:
                continue
            made_at = work.out / BASELINES / project.name / name if name in systems.SYSTEMS else work.out / project.name
            missing: Literal["to be made", "missing"] = "to be made" if work.make else "missing"
            steps.append(
                Step(f"{project.name}: {title_of(name)}", place or made_at, missing if place is None else "finished")
            )
    return steps


@dataclass(frozen=True)
class Scored:
    """One project's systems, by what they are called, in each search space."""

    spaces: Mapping[str, Mapping[str, Evaluation]]
    pairs: Sequence[Comparison]
    """Every system against each before it, on all files."""

    def against(self, one: str, other: str) -> list[tuple[Difference, int]]:
        """The differences between two systems by measure, and 1 if they are of ``one`` over ``other``, else -1."""
        for pair in self.pairs:
            if {pair.a, pair.b} == {one, other}:
                return [(difference, 1 if pair.b == one else -1) for difference in pair.differences]
        raise KeyError(f"{one} and {other} are not compared")


def measure(work: Workspace, expected: Expected, progress: Progress = silent) -> Outcome:
    """Table 4."""
    wanted = some(work.systems, names())
    found: dict[str, Scored] = {}
    missing: list[str] = []
    for project in by_project(work.projects, "projects", progress):
        if work.make:
            if any(name not in systems.SYSTEMS for name in wanted):
                work.train(project, progress)
            work.rank(project, [name for name in wanted if name in systems.SYSTEMS], progress)
        places = {name: place_of_run(work, project, name) for name in wanted}
        missing += [
            f"{title_of(name)} on {project.name}"
            for name, place in places.items()
            if place is None and name in systems.SYSTEMS
        ]
        there = {title_of(name): place for name, place in places.items() if place is not None}
        found[project.name] = scored(work, project, there, progress)
    titles = [
        title_of(name)
        for name in wanted
        if any(title_of(name) in one.spaces[ALL] for one in found.values())
        or any(key[2:3] == (title_of(name),) for key in expected.paper)
    ]
    notes = [f"{space}: {said}" for space, said in SPACES.items()]
    if missing:
        notes.append(f"no run of {', '.join(missing)}")
    return Outcome(
        [
            *accuracy_tables(found, titles, expected.paper),
            *difference_tables(found, titles, expected.paper),
            *statistics_tables(found, titles),
        ],
        notes,
        {"table-4": _figure(found, titles, expected.paper)} if titles else {},
        {"pairs": {project: [comparison_values(one, 0) for one in has.pairs] for project, has in found.items()}},
    )


def scored(work: Workspace, project: Project, places: Mapping[str, Path], progress: Progress = silent) -> Scored:
    """The evaluations of a project's finished runs, and all pairs of them compared."""
    kept = contents(project, work.out, progress).ever_fixed
    spaces: dict[str, dict[str, Evaluation]] = {space: {} for space in SPACES}
    for number, (title, place) in enumerate(places.items(), start=1):
        judged = work.judged(project, place)
        spaces[ALL][title] = judged.evaluation()
        spaces[EVER_FIXED][title] = restricted(judged, kept).evaluation()
        progress(f"{project.name}: reading runs", number, len(places))
    measures = list(MEASURES.values())
    pairs = compare_all(spaces[ALL], all_pairs=True, measures=measures) if len(places) > 1 else []
    return Scored(spaces, pairs)


def accuracy_tables(found: Mapping[str, Scored], titles: Sequence[str], paper: Mapping[Key, float]) -> list[PaperTable]:
    """MRR and MAP of every system on every project, a table for each search space."""
    tables = []
    for space in SPACES:
        for measured, measure in MEASURES.items():
            rows: list[list[str | Cell]] = []
            for title in titles:
                row: list[str | Cell] = [title]
                for project, one in found.items():
                    evaluation = one.spaces[space].get(title)
                    key = (space, measured, title, project)
                    value = None if evaluation is None else evaluation.mean(measure)
                    row.append(Cell(value, "share", key, paper.get(key)))
                rows.append(row)
            tables.append(PaperTable([f"{measured}, {space}", *found], rows))
    return tables


def difference_tables(
    found: Mapping[str, Scored], titles: Sequence[str], paper: Mapping[Key, float]
) -> list[PaperTable]:
    """What the flattering space adds to each system."""
    tables = []
    for measured, measure in MEASURES.items():
        rows: list[list[str | Cell]] = []
        for title in titles:
            row: list[str | Cell] = [title]
            for project, one in found.items():
                ours = [one.spaces[space].get(title) for space in (EVER_FIXED, ALL)]
                theirs = [paper.get((space, measured, title, project)) for space in (EVER_FIXED, ALL)]
                change = None if ours[0] is None or ours[1] is None else ours[0].mean(measure) - ours[1].mean(measure)
                published = None if theirs[0] is None or theirs[1] is None else theirs[0] - theirs[1]
                row.append(Cell(change, "change", None, published))
            rows.append(row)
        tables.append(PaperTable([f"{measured}, {EVER_FIXED} - {ALL}", *found], rows))
    return tables


def statistics_tables(found: Mapping[str, Scored], titles: Sequence[str]) -> list[PaperTable]:
    """TosLoc against every system on each project, how often it wins, and every system against every other."""
    against: list[PaperTable] = []
    totals: dict[str, list[dict[Result, list[str]]]] = {measured: [] for measured in MEASURES}
    for project, one in found.items():
        ours = champion(one)
        rows: list[list[str | Cell]] = []
        sums: dict[str, dict[Result, list[str]]] = {name: {"wins": [], "ties": [], "loses": []} for name in MEASURES}
        for other in [title for title in titles if ours and title in one.spaces[ALL] and title != ours]:
            row: list[str | Cell] = [other]
            for measured, (difference, sign) in zip(MEASURES, one.against(ours, other), strict=True):
                said = result(difference, sign)
                sums[measured][said].append(other)
                row += _difference_cells(difference, sign, said)
            rows.append(row)
        for measured, each in sums.items():
            totals[measured].append(each)
        if rows:
            heads = [
                word
                for measured, measure in MEASURES.items()
                for word in (measured, "p, Holm", "TosLoc", f"{measure!r}: better / equal / worse")
            ]
            against.append(PaperTable([f"{project}: {ours} against", *heads], rows))
    summary: list[list[str | Cell]] = []
    for measured, each_project in totals.items():
        cells = [" / ".join(str(len(each[said])) for said in ("wins", "ties", "loses")) for each in each_project]
        summary.append([measured, *cells])
    tables = []
    if against:
        heads = ["TosLoc wins / ties / loses against systems", *found]
        tables = [PaperTable(heads, summary, _meaning()), *against]
    return [*tables, *[table for project, one in found.items() if (table := _matrix(project, one, titles))]]


def _meaning() -> str:
    return (
        f"Paired t-tests over the test reports; a tie is a difference with p of {LEVEL:g} or more after Holm's"
        " correction over all pairs of systems on the project."
    )


def champion(one: Scored) -> str:
    """Which of ours stands against the others: both stages where there are two."""
    known = one.spaces[ALL]
    return next((title for name in ("both-stages", "stage-one") if (title := title_of(name)) in known), "")


def result(difference: Difference, sign: int) -> Result:
    """Whether a system wins, ties or loses: only a significant difference is one."""
    p = p_of(difference)
    if p is None or p >= LEVEL:
        return "ties"
    return "wins" if difference.paired.mean * sign > 0 else "loses"


def p_of(difference: Difference) -> float | None:
    """The p-value that counts: of the t-test, adjusted over all pairs if there are several."""
    return difference.paired.t_test.p if difference.holm_t is None else difference.holm_t


def _difference_cells(difference: Difference, sign: int, said: Result) -> list[str | Cell]:
    around = difference.paired.interval
    ends = None if around is None else (sign * around.low, sign * around.high)
    interval = None if ends is None else (min(ends), max(ends))
    better, worse = (difference.wins, difference.losses)[::sign]
    return [
        Cell(sign * difference.paired.mean, "change", interval=interval),
        Cell(p_of(difference), "p"),
        said,
        f"{better} / {difference.ties} / {worse}",
    ]


def _matrix(project: str, one: Scored, titles: Sequence[str]) -> PaperTable | None:
    """Row less column, with a star where it is significant: MAP below the diagonal, MRR above it."""
    there = [title for title in titles if title in one.spaces[ALL]]
    if len(there) < 3:
        return None
    rows: list[list[str | Cell]] = []
    for number, row in enumerate(there):
        cells: list[str | Cell] = []
        for place, column in enumerate(there):
            if place == number:
                cells.append("")
                continue
            below, above = (list(MEASURES).index(name) for name in ("MAP", "MRR"))
            difference, sign = one.against(row, column)[below if place < number else above]
            star = "" if result(difference, sign) == "ties" else "*"
            cells.append(Cell(sign * difference.paired.mean, "change", mark=star))
        rows.append([row, *cells])
    title = f"{project}: row - column, MAP below the diagonal and MRR above it; * significant."
    return PaperTable([f"{project}: MAP \\ MRR", *there], rows, title)


def _figure(found: Mapping[str, Scored], titles: Sequence[str], paper: Mapping[Key, float]) -> Callable[[], Any]:
    def draw() -> Any:
        from tosloc.lab.paper.spaces_figure import Bar, spaces_figure

        def value(one: Scored, space: str, title: str) -> float | None:
            evaluation = one.spaces[space].get(title)
            return None if evaluation is None else evaluation.mean(AP)

        bars = {
            project: {
                title: Bar(
                    value(one, ALL, title), value(one, EVER_FIXED, title), paper.get((ALL, "MAP", title, project))
                )
                for title in titles
            }
            for project, one in found.items()
        }
        return spaces_figure(bars, "MAP")

    return draw
