"""Table 6 and figures 5 and 6: what the parts of the second stage are worth, and how many files it should read.

The models of table 6 and figure 6 are trained from a pack of a training that keeps its features; both lie under
``OUT/second``, with the results as ``ablate-PROJECT.json`` and ``sweep-PROJECT.json``. The same files, printed with
``--json`` by ``tosloc lab`` (ablate, sweep) away from the repository, are read with ``--from``. Figure 5 needs
stage one alone, so that it is made of the finished runs.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from tosloc.config import Config, load_config
from tosloc.errors import CheckpointError, ConfigError, RunError, ToslocError
from tosloc.evaluation.evaluate import Evaluation
from tosloc.evaluation.measures import Measure
from tosloc.files import write_text
from tosloc.lab.bundle import origin_of
from tosloc.lab.paper.accuracy import place_of_run
from tosloc.lab.paper.expected import Expected
from tosloc.lab.paper.projects import Project
from tosloc.lab.paper.tables import Cell, Outcome, PaperTable, Step
from tosloc.lab.paper.workspace import Workspace, by_project, told
from tosloc.records import Progress, silent

if TYPE_CHECKING:
    from tosloc.lab.ablation import AblationRunner, BundleSettings  # torch, only where something is trained

Kind: TypeAlias = Literal["ablate", "sweep"]

ABLATE: Final = "ablate"
SWEEP: Final = "sweep"
MEASURES: Final = {"MRR": "mrr", "MAP": "map"}
ORDERS: Final = {"deep": "deep order alone", "fused": "both stages"}
DEPTHS: Final = (1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 200, 300)
"""Candidates of figure 5."""


def result_path(work: Workspace, kind: Kind, project: str) -> Path:
    """Where the results of an experiment with the second stage are looked for."""
    return (work.source or work.out / "second") / f"{kind}-{project}.json"


def read_results(path: Path) -> list[dict[str, Any]]:
    """Rows that ``tosloc lab --json`` printed. Raises RunError for anything else."""
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        kind, _, project = path.stem.partition("-")
        raise RunError(
            f"{path}: cannot read it ({error.strerror or error}); make it with: tosloc lab {kind}"
            f" {project}.pack two.toml --out FOLDER --json > {path}, and name its folder with --from"
        ) from None
    except ValueError:
        raise RunError(f"{path}: not JSON; it is what tosloc lab prints with --json") from None
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) and "test" in row for row in rows):
        raise RunError(f"{path}: not a list of results on test; it is what tosloc lab prints with --json")
    return rows


# The experiments


def is_made(work: Workspace, project: Project) -> bool:
    """Whether the project's experiments are made here; without an encoder finished results are read."""
    return work.make and work.source is None and bool(settings_of(work, project).stage_two.code_encoder)


def settings_of(work: Workspace, project: Project) -> Config:
    """With what the project's second stages are trained: its own settings, if they name an encoder, else the table's.

    An encoder that the command names takes the place of the configured one. Raises ConfigError.
    """
    config, file = project.settings, work.second.config
    if file is not None and (config.stage_two.reranker != "encoder" or not config.stage_two.code_encoder):
        if not file.is_file():
            raise ConfigError(
                f"{file}: the settings of the second stage are not there; run it in TosLoc's own folder, or name the"
                " file in [second] of the expected numbers"
            )
        config = load_config(file)
    place = Path(work.encoder).expanduser()
    named = str(place.resolve()) if place.is_dir() else work.encoder  # the same folder, from wherever it is named
    changes = {"reranker": "encoder"} | ({"code_encoder": named} if work.encoder else {})
    return config.model_copy(update={"stage_two": config.stage_two.model_copy(update=changes)})


def depth_of(work: Workspace, project: Project, kind: Kind) -> int:
    """Candidates that the experiment's pack holds of a report."""
    return max(work.second.candidates) if kind == SWEEP else settings_of(work, project).stage_two.candidates


def ablation_runner(work: Workspace, project: Project, kind: Kind, progress: Progress = silent) -> AblationRunner:
    """Where the experiment is made, with a pack that may not be there yet."""
    from tosloc.lab.ablation import AblationRunner

    config, depth, folder = settings_of(work, project), depth_of(work, project, kind), work.out / "second"
    name = project.name if depth == config.stage_two.candidates else f"{project.name}-{depth}"
    vectors = folder / f"{project.name}.vectors.sqlite"
    return AblationRunner(folder / f"{name}.pack", config, folder / name, vectors, told(progress, project))


def packing_of(work: Workspace, project: Project, kind: Kind) -> BundleSettings:
    """What the experiment's pack holds."""
    from tosloc.lab.ablation import BundleSettings

    return BundleSettings(candidates=depth_of(work, project, kind), train_reports=work.second.train_reports)


def is_packed(work: Workspace, project: Project, kind: Kind, run: Path, pack: Path) -> bool:
    """Whether a file is the pack that the experiment needs, of this training."""
    from tosloc.lab.ablation import bundle_key

    return origin_of(pack) == bundle_key(run, project.reports, packing_of(work, project, kind))


def results(work: Workspace, project: Project, kind: Kind, progress: Progress = silent) -> list[dict[str, Any]]:
    """The experiment's results, of which what is missing is made now.

    Raises ToslocError where that cannot be: no encoder, or a training that keeps no features.
    """
    path = result_path(work, kind, project.name)
    if not is_made(work, project):
        if work.make and work.source is None and not path.exists():
            raise RunError(without_encoder(project, kind, path))
        return read_results(path)
    from tosloc.lab.ablation import bundle_training

    bench = ablation_runner(work, project, kind, progress)
    _ = bench.encoders  # a wrong one is said before hours of work
    run = training_of(work, project, progress)
    if not is_packed(work, project, kind, run, bench.pack):
        bundle_training(
            run, project.repo, project.reports, bench.pack, packing_of(work, project, kind), told(progress, project)
        )
    rows = bench.ablation() if kind == ABLATE else bench.sweep(work.second.candidates)
    write_text(path, json.dumps(rows, indent=1) + "\n")
    return rows


def training_of(work: Workspace, project: Project, progress: Progress = silent) -> Path:
    """The folder of a training that keeps its features; made now if there is no training. Raises RunError."""
    place = work.with_features(project)
    if place is None:
        trained = work.trained(project)
        if trained is not None:
            raise RunError(without_features(work, project, trained))
        place = work.train(project, progress)
    work.judged(project, place)  # of the same reports
    return place


def without_encoder(project: Project, kind: Kind, path: Path) -> str:
    """What to do where neither an encoder is named nor results are there, in a sentence."""
    return (
        f"{project.name}: no encoder to train on is named; name a folder, or a name on the hub, with --encoder, or"
        f" with --from a folder of {path.name}, which tosloc lab {kind} prints with --json"
    )


def without_features(work: Workspace, project: Project, trained: Path) -> str:
    """What to do about a training that keeps no features, in a sentence."""
    elsewhere = (
        f", or leave out --runs to have it trained in {work.out / project.name}" if work.runs is not None else ""
    )
    return (
        f"{trained} keeps no feature tables, from which candidates are taken; train it with --keep-features{elsewhere}"
    )


def _plan(kind: Kind) -> Callable[[Workspace], list[Step]]:
    def plan(work: Workspace) -> list[Step]:
        return [step for project in work.projects for step in _steps(work, project, kind)]

    return plan


plan_ablation = _plan(ABLATE)
plan_sweep = _plan(SWEEP)


def _steps(work: Workspace, project: Project, kind: Kind) -> list[Step]:
    place = result_path(work, kind, project.name)
    if not is_made(work, project):
        if place.exists():
            return [Step(f"{project.name}: results of tosloc lab {kind}", place, "finished")]
        if work.make and work.source is None:
            return [Step(without_encoder(project, kind, place), place, "missing")]
        how = f"tosloc lab {kind} {project.name}.pack two.toml --out FOLDER --json > {place}"
        return [Step(f"{project.name}: {how}", place, "missing")]
    from tosloc.lab.ablation import CONFIGURED, VARIANTS

    bench = ablation_runner(work, project, kind)
    steps = []
    try:
        _ = bench.encoders
    except CheckpointError as error:
        steps.append(Step(f"{project.name}: {error}", Path(bench.config.stage_two.code_encoder), "missing"))
    run, trained = work.with_features(project), work.trained(project)
    if run is None and trained is not None:
        steps.append(Step(f"{project.name}: {without_features(work, project, trained)}", trained, "missing"))
    else:
        made: Literal["finished", "to be made"] = "to be made" if run is None else "finished"
        steps.append(Step(f"{project.name}: TosLoc, stage one", run or work.out / project.name, made))
    packed = run is not None and is_packed(work, project, kind, run, bench.pack)
    steps.append(Step(f"{project.name}: pack candidates", bench.pack, "finished" if packed else "to be made"))
    known = packed and all(step.state != "missing" for step in steps)
    for variant in VARIANTS if kind == ABLATE else [CONFIGURED]:
        found = known and bench.kept(variant) is not None
        what = f"{project.name}: train {variant.name}"
        steps.append(Step(what, bench.place(variant), "finished" if found else "to be made"))
    return steps


def _made_with(work: Workspace) -> list[str]:
    """What the experiments that are made here were made with, as notes."""
    said = []
    for project in work.projects:
        if is_made(work, project):
            encoder = Path(settings_of(work, project).stage_two.code_encoder).name
            number = work.second.train_reports
            learned = f"the {number:,} newest training reports" if number else "all training reports"
            said.append(f"{project.name}: encoder {encoder}, trained on {learned}")
    return said


# The tables


def ablation(work: Workspace, expected: Expected, progress: Progress = silent) -> Outcome:
    """Table 6."""
    tables = []
    for project in by_project(work.projects, "projects", progress):
        rows = results(work, project, ABLATE, progress)
        for order, said in ORDERS.items():
            lines: list[list[str | Cell]] = []
            if order == "fused":
                lines.append(_line(rows[0], "stage one", "stage one", (project.name, said), expected))
            for row in rows:
                lines.append(_line(row, str(row.get("name")), order, (project.name, said), expected))
            tables.append(PaperTable([f"{project.name}, {said}", *MEASURES], lines))
    note = "the deep order alone is comparable with the paper's; both stages are mixed by validation"
    return Outcome(tables, [note, *_made_with(work)])


def _line(
    row: Mapping[str, Any], name: str, order: str, above: tuple[str, str], expected: Expected
) -> list[str | Cell]:
    line: list[str | Cell] = [name]
    for measure, short in MEASURES.items():
        key = (*above, name, measure)
        line.append(
            Cell(_value(row, "test", order, short), "share", key, expected.paper.get((above[0], name, measure)))
        )
    return line


def sweep(work: Workspace, expected: Expected, progress: Progress = silent) -> Outcome:
    """Figure 6."""
    tables = []
    drawn: dict[str, tuple[list[int], dict[str, list[float]]]] = {}
    for project in by_project(work.projects, "projects", progress):
        rows = results(work, project, SWEEP, progress)
        lines: list[list[str | Cell]] = []
        series: dict[str, list[float]] = {f"{name}, {said}": [] for name in MEASURES for said in ORDERS.values()}
        for row in rows:
            depth = str(row.get("candidates"))
            line: list[str | Cell] = [depth]
            for order, said in ORDERS.items():
                for name, short in MEASURES.items():
                    value = _value(row, "test", order, short)
                    series[f"{name}, {said}"].append(value)
                    line.append(Cell(value, "share", (project.name, said, depth, name)))
            lines.append(line)
        heads = [f"{name}, {said}" for said in ORDERS.values() for name in MEASURES]
        tables.append(PaperTable([f"{project.name}: files read again", *heads], lines))
        drawn[project.name] = [int(str(row.get("candidates"))) for row in rows], series
    return Outcome(tables, _made_with(work), {"figure-6": _figure(drawn, "test reports, mean")})


def plan_coverage(work: Workspace) -> list[Step]:
    """What figure 5 needs."""
    steps = []
    for project in work.projects:
        place = place_of_run(work, project, "stage-one")
        missing: Any = "to be made" if work.make else "missing"
        steps.append(
            Step(
                f"{project.name}: TosLoc, stage one", place or work.out / project.name, "finished" if place else missing
            )
        )
    return steps


def coverage(work: Workspace, expected: Expected, progress: Progress = silent) -> Outcome:
    """Figure 5."""
    found: dict[str, Evaluation] = {}
    for project in by_project(work.projects, "projects", progress):
        found[project.name] = _stage_one(work, project, progress)
    rows: list[list[str | Cell]] = []
    shares: dict[str, Callable[[Evaluation, int], float]] = {
        "fixed files": lambda one, depth: one.coverage(depth),
        "reports with any": lambda one, depth: one.mean(Measure("Hit", depth)),
    }
    for depth in DEPTHS:
        line: list[str | Cell] = [str(depth)]
        for name_of, one in found.items():
            line += [Cell(share(one, depth), "share", (name, str(depth), name_of)) for name, share in shares.items()]
        rows.append(line)
    heads = [f"{project}: {name}" for project in found for name in shares]
    drawn = {
        project: (list(DEPTHS), {name: [share(one, depth) for depth in DEPTHS] for name, share in shares.items()})
        for project, one in found.items()
    }
    return Outcome([PaperTable(["candidates", *heads], rows)], [], {"figure-5": _figure(drawn, "share, on test")})


def _stage_one(work: Workspace, project: Project, progress: Progress) -> Evaluation:
    if work.make:
        work.train(project, progress)
    place = place_of_run(work, project, "stage-one")
    if place is None:
        raise ToslocError(f"{project.name}: no finished training; name its folder with --runs, or leave out --finished")
    return work.judged(project, place).evaluation()


def _value(row: Mapping[str, Any], *keys: str) -> float:
    value: Any = row
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    if not isinstance(value, int | float):
        raise RunError(f"results of {row.get('name', row.get('candidates'))!r} hold no number at {'.'.join(keys)}")
    return float(value)


def _figure(drawn: Mapping[str, tuple[Sequence[int], Mapping[str, Sequence[float]]]], said: str) -> Callable[[], Any]:
    def draw() -> Any:
        from tosloc.lab.paper.depth_figure import Panel, candidates_figure

        return candidates_figure([Panel(depths, series, project, said) for project, (depths, series) in drawn.items()])

    return draw
