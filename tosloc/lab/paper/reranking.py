"""Table 6 and figures 5 and 6: what the parts of the encoder reranker are worth, and how many files it should read.

Models are trained from a bundle under ``OUT/second``, with results as ``ablate-PROJECT.json`` and
``sweep-PROJECT.json``. Figure 5 needs stage one alone, so that it is made of the finished runs.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from tosloc.config import Config, load_config
from tosloc.errors import RunError
from tosloc.evaluate.evaluate import Evaluation
from tosloc.evaluate.measures import Measure
from tosloc.io import write_text
from tosloc.lab.bundle import BundleSettings, bundle_key, bundle_training, origin_of
from tosloc.lab.paper.workspace import (
    Cell,
    Curves,
    PaperTable,
    Result,
    Row,
    Workspace,
    is_trained,
    no_training,
)
from tosloc.lab.projects import Project
from tosloc.rank.feature_tables import keeps_tables

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Kind = Literal["ablate", "sweep"]
MEASURES: Final = {"MRR": "mrr", "MAP": "map"}
ORDERS: Final = {"deep": "deep order alone", "fused": "both stages"}
CONFIG: Final = "second"  # of the reranker, for projects whose own settings name no encoder
TRAIN_REPORTS: Final = 400  # the newest, which it learns from
CANDIDATES: Final = (10, 20, 50, 100, 200)  # numbers of files that figure 6 has reranked
DEPTHS: Final = (1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 200, 300)
TICKS: Final = (1, 5, 10, 20, 50, 100, 200, 300)
WIDTH: Final = 3.6  # inches of a panel


def results(work: Workspace, project: Project, kind: Kind) -> tuple[list[dict[str, Any]], list[str]]:
    """The results of table 6 (ablate) or of figure 6 (sweep) on one project, of which what lacks is made now, unless
    nothing is to be made or no encoder is named; and how they were made. Raises ToslocError.
    """
    path = work.out / "second" / f"{kind}-{project.name}.json"
    config = _config(work, project)
    if not work.make or not config.stage_two.code_encoder:
        why = "name an encoder to train on, a folder or a name on the hub, with --encoder, without --finished"
        try:
            return json.loads(path.read_text(encoding="utf-8")), []
        except (OSError, ValueError):
            raise RunError(f"{project.name}: no results in {path}; {why}") from None
    from tosloc.lab.ablation import AblationRunner  # torch, only where something is trained

    depth = max(CANDIDATES) if kind == "sweep" else config.stage_two.candidates
    name = project.name if depth == config.stage_two.candidates else f"{project.name}-{depth}"
    pack, vectors = path.with_name(f"{name}.pack"), path.with_name(f"{project.name}.vectors.sqlite")
    runner = AblationRunner(pack, config, path.with_name(name), vectors, work.of(project))
    _ = runner.encoders  # a wrong one is said before hours of work
    run = work.find(project.name, ready=lambda folder: is_trained(folder) and keeps_tables(folder))
    run = run or work.trained(project)
    if run is None or not keeps_tables(run):
        raise RunError(
            f"{run} keeps no feature tables, from which candidates are taken; train it with --keep-features, or leave"
            " out --runs"
        )
    work.evaluation(project, run)  # of the same reports
    settings = BundleSettings(candidates=depth, train_reports=TRAIN_REPORTS)
    if origin_of(pack) != bundle_key(run, project.reports, settings):
        bundle_training(run, project.repo, project.reports, pack, settings, work.of(project))
    rows = runner.ablation() if kind == "ablate" else runner.sweep(CANDIDATES)
    write_text(path, json.dumps(rows, indent=1) + "\n")
    encoder = Path(config.stage_two.code_encoder).name
    return rows, [f"{project.name}: encoder {encoder}, trained on the {TRAIN_REPORTS} newest training reports"]


def _config(work: Workspace, project: Project) -> Config:
    """The project's own settings, if they name an encoder, else the table's. Raises ConfigError."""
    config = project.config
    if config.stage_two.reranker != "encoder" or not config.stage_two.code_encoder:
        config = load_config(CONFIG)
    changes = {"reranker": "encoder"}
    if work.encoder:
        folder = Path(work.encoder).expanduser()  # the same from wherever it is named
        changes["code_encoder"] = str(folder.resolve()) if folder.is_dir() else work.encoder
    return config.model_copy(update={"stage_two": config.stage_two.model_copy(update=changes)})


def ablation(work: Workspace) -> Result:
    """Table 6."""
    tables, notes = [], ["the deep order alone is comparable with the paper's; both stages are mixed by validation"]
    paper = work.published.numbers
    for project in work.each():
        rows, made = results(work, project, "ablate")
        notes += made
        for order, title in ORDERS.items():
            found = [(row["name"], row["test"][order]) for row in rows]
            if order == "fused":
                found.insert(0, ("stage one", rows[0]["test"]["stage one"]))
            lines: list[Row] = [
                [name, *(Cell(of[key], paper=paper.get((project.name, name, one))) for one, key in MEASURES.items())]
                for name, of in found
            ]
            tables.append(PaperTable([f"{project.name}, {title}", *MEASURES], lines))
    return Result(tables, notes)


def sweep(work: Workspace) -> Result:
    """Figure 6."""
    notes, curves = list[str](), dict[str, Curves]()
    for project in work.each():
        rows, made = results(work, project, "sweep")
        notes += made
        series = {
            f"{name}, {title}": [row["test"][order][key] for row in rows]
            for order, title in ORDERS.items()
            for name, key in MEASURES.items()
        }
        curves[project.name] = [row["candidates"] for row in rows], series
    return _figure("files read again", curves, "test reports, mean", notes)


def coverage(work: Workspace) -> Result:
    """Figure 5."""
    shares: dict[str, Callable[[Evaluation, int], float]] = {
        "fixed files": lambda one, depth: one.coverage(depth),
        "reports with any": lambda one, depth: one.mean(Measure("Hit", depth)),
    }
    curves: dict[str, Curves] = {}
    for project in work.each():
        folder = work.run(project, "stage-one")
        if folder is None:
            raise no_training(project)
        one = work.evaluation(project, folder)
        curves[project.name] = DEPTHS, {name: [of(one, depth) for depth in DEPTHS] for name, of in shares.items()}
    return _figure("candidates", curves, "share, on test")


def _figure(head: str, curves: Mapping[str, Curves], label: str, notes: Sequence[str] = ()) -> Result:
    """Curves of the same numbers of candidates, and their table."""
    columns = [(project, name) for project, (_, series) in curves.items() for name in series]
    candidates = next(iter(curves.values()))[0]
    rows: list[Row] = [
        [str(number), *(Cell(curves[project][1][name][place]) for project, name in columns)]
        for place, number in enumerate(candidates)
    ]
    table = PaperTable([head, *(f"{project}: {name}" for project, name in columns)], rows)
    return Result([table], notes, curves, label)


def candidates_figure(projects: Mapping[str, Curves], label: str) -> Figure:
    """A panel for each project, all of the same series and on one scale, over a logarithmic axis."""
    from tosloc.plots.figures import GREYS, STROKES, drawing

    with drawing(WIDTH * len(projects), WIDTH) as (figure, only):
        only.remove()
        panels = figure.subplots(1, len(projects), sharey=True, squeeze=False)[0]
        for axes, (project, (candidates, series)) in zip(panels, projects.items(), strict=True):
            for (line, marker), color, (name, values) in zip(STROKES, GREYS, series.items(), strict=False):
                axes.plot(candidates, values, color=color, linestyle=line, marker=marker, markersize=4.5, label=name)
            axes.set(xscale="log", xlabel="candidates (logarithmic)")
            axes.set_title(project, fontsize="medium")
            axes.minorticks_off()
            ticks = [tick for tick in TICKS if tick in candidates]
            axes.set_xticks(ticks, [str(tick) for tick in ticks])
        panels[0].set_ylabel(label)
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=2, fontsize=8, handlelength=3)
        return figure
