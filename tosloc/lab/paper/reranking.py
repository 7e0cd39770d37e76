"""Table 6 and figures 5 and 6: parts of the encoder reranker, and the number of its candidates.

Models are trained from a bundle under ``OUT/second``; the results are ``ablate-PROJECT.json`` and
``sweep-PROJECT.json`` there. Figure 5 needs only stage one, and is made from the finished runs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from tosloc.core.config import Config, load_config
from tosloc.core.errors import RunError
from tosloc.core.io import content_key, write_text
from tosloc.evaluate.measures import Measure
from tosloc.lab.bundle import bundle_key, bundle_training, read_bundle
from tosloc.lab.paper.workspace import (
    STAGE_ONE_SYSTEM,
    Cell,
    Curves,
    PaperResult,
    PaperTable,
    Row,
    Workspace,
    missing_training_error,
    table_rows,
)
from tosloc.lab.projects import Project
from tosloc.rank.features import TableFolder

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Experiment = Literal["ablate", "sweep"]
"""``ablate`` exchanges parts of the model (table 6), ``sweep`` the number of candidates (figure
6)."""
MEASURES: Final = (("MRR", "mrr"), ("MAP", "map"))
"""Title of each measure, and its key in the results."""
ORDERS: Final = {"deep": "second stage alone", "fused": "both stages"}
"""Title of each order of files, by its key in the results."""
DEFAULT_CONFIG: Final = "second"
"""Configuration of the reranker for projects whose own settings name no encoder."""
TRAIN_REPORTS: Final = 400
"""Number of the newest training reports that the reranker learns from."""
CANDIDATES: Final = (10, 20, 50, 100, 200)
"""Numbers of files that figure 6 has reranked."""
DEPTHS: Final = (1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 200, 300)
"""Numbers of candidates of figure 5."""
TICKS: Final = (1, 5, 10, 20, 50, 100, 200, 300)
"""Numbers of candidates that the axes label."""
PANEL_INCHES: Final = 3.6
"""Width of a panel."""


def experiment_rows(
    work: Workspace, project: Project, experiment: Experiment
) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the results of an experiment on a project, and notes on how they were made.

    Missing models are trained now. If the workspace must not make anything, or no encoder is named,
    the results of an earlier call are read. Raises ToslocError.
    """
    path = work.out / "second" / f"{experiment}-{project.name}.json"
    config = _reranker_config(work, project)
    if not work.make or not config.stage_two.code_encoder:
        return _read_rows(project, path), []
    # This imports torch, which reading results does not need.
    from tosloc.lab.ablation import Ablation

    # The encoders are loaded first, so that a wrong name is refused before hours of work.
    encoders = _encoder_fingerprints(config)
    run = work.training_folder(project)
    if run is None or not TableFolder(run).has_tables:
        raise RunError(
            f"{run} has no feature tables, from which candidates are taken",
            hint="train it with {keep_features}, or leave out {runs}",
        )
    work.evaluate_run(project, run)  # raises if the run is of other reports
    depth = max(CANDIDATES) if experiment == "sweep" else config.stage_two.candidates
    key = content_key(
        bundle_key(run, project.reports, depth, TRAIN_REPORTS),
        encoders,
        config.stage_two.model_dump(mode="json", exclude={"code_encoder", "report_encoder"}),
        config.run.seed,
    )
    folder = path.with_name(f"{project.name}-{key[:12]}")
    progress = work.project_progress(project)
    pack = folder / "pack"
    if not pack.exists():
        bundle_training(run, project.repo, project.reports, pack, depth, TRAIN_REPORTS, progress)
    vectors = path.with_name(f"{project.name}.vectors.sqlite")
    ablation = Ablation(read_bundle(pack), config, folder, vectors, progress)
    rows = ablation.rows() if experiment == "ablate" else ablation.sweep(CANDIDATES)
    write_text(path, json.dumps(rows, indent=1) + "\n")
    encoder = Path(config.stage_two.code_encoder).name
    trained_on = f"trained on the {TRAIN_REPORTS} newest training reports"
    return rows, [f"{project.name}: encoder {encoder}, {trained_on}"]


def _read_rows(project: Project, path: Path) -> list[dict[str, Any]]:
    """Return the results of an earlier call, or raise RunError if there are none."""
    try:
        rows: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise RunError(
            f"{project.name}: no results in {path}",
            hint=(
                "name an encoder to train, a folder or a name on the hub, with {encoder}, "
                "and leave out {finished}"
            ),
        ) from None
    return rows


def _encoder_fingerprints(config: Config) -> list[str]:
    """Return the fingerprints of the encoders' weights, which do not depend on their folders."""
    from tosloc.rerank.encoder.reranker import EncoderReranker

    encoders = EncoderReranker.from_config(config).model.encoders
    return [encoder.fingerprint for encoder in encoders.values()]


def _reranker_config(work: Workspace, project: Project) -> Config:
    """Return the project's own settings if they name an encoder, or else the table's settings.

    If the workspace names an encoder, it replaces the encoder of the settings. Raises ConfigError.
    """
    config = project.config
    if config.stage_two.reranker != "encoder" or not config.stage_two.code_encoder:
        config = load_config(DEFAULT_CONFIG)
    changes = {"reranker": "encoder"}
    if work.encoder:
        # A folder becomes absolute, so that it is the same from every current folder.
        folder = Path(work.encoder).expanduser()
        changes["code_encoder"] = str(folder.resolve()) if folder.is_dir() else work.encoder
    return config.model_copy(update={"stage_two": config.stage_two.model_copy(update=changes)})


def ablate_reranker(work: Workspace) -> PaperResult:
    """Return table 6, the effect of each part of the reranker."""
    tables: list[PaperTable] = []
    notes = [
        "compare the paper's numbers with the second stage alone; the weight that combines both"
        " stages was chosen on validation"
    ]
    for project in work.track_projects():
        rows, project_notes = experiment_rows(work, project, "ablate")
        notes += project_notes
        for order, title in ORDERS.items():
            means_by_name = {row["name"]: row["test"][order] for row in rows}
            if order == "fused":
                means_by_name = {"stage one": rows[0]["test"]["stage one"], **means_by_name}
            table_lines = [
                _ablation_row(work, project, name, means) for name, means in means_by_name.items()
            ]
            heads = [f"{project.name}, {title}", *(measure for measure, _ in MEASURES)]
            tables.append(PaperTable(heads, table_lines))
    return PaperResult(tables, notes)


def _ablation_row(work: Workspace, project: Project, name: str, means: Mapping[str, float]) -> Row:
    row: Row = [name]
    for measure, key in MEASURES:
        row.append(Cell(means[key], paper=work.published.number(project.name, name, measure)))
    return row


def sweep_candidates(work: Workspace) -> PaperResult:
    """Return figure 6, the effect of the number of files that are reranked."""
    notes: list[str] = []
    curves: dict[str, Curves] = {}
    for project in work.track_projects():
        rows, project_notes = experiment_rows(work, project, "sweep")
        notes += project_notes
        project_curves: dict[str, Mapping[int, float]] = {}
        for order, title in ORDERS.items():
            for name, key in MEASURES:
                curve = {row["candidates"]: row["test"][order][key] for row in rows}
                project_curves[f"{name}, {title}"] = curve
        curves[project.name] = project_curves
    return _figure_result("number of candidates", curves, "mean over test reports", notes)


def measure_coverage(work: Workspace) -> PaperResult:
    """Return figure 5, the share of fixed files among the first files of stage one."""
    curves: dict[str, Curves] = {}
    for project in work.track_projects():
        folder = work.run_folder(project, STAGE_ONE_SYSTEM)
        if folder is None:
            raise missing_training_error(project)
        evaluation = work.evaluate_run(project, folder)
        curves[project.name] = {
            "fixed files": {depth: evaluation.coverage(depth) for depth in DEPTHS},
            "reports with any fixed file": {
                depth: evaluation.mean(Measure("Hit", depth)) for depth in DEPTHS
            },
        }
    return _figure_result("candidates", curves, "fraction found, test part")


def _figure_result(
    head: str, curves: Mapping[str, Curves], label: str, notes: Sequence[str] = ()
) -> PaperResult:
    """Return a result with curves over the same numbers of candidates, and their table."""
    columns: dict[str, Mapping[int, float]] = {}
    for project, project_curves in curves.items():
        for name, curve in project_curves.items():
            columns[f"{project}: {name}"] = curve
    numbers = next(iter(columns.values()))
    rows = table_rows(numbers, columns, lambda number, name: Cell(columns[name][number]))
    return PaperResult([PaperTable([head, *columns], rows)], notes, curves, label)


def candidates_figure(projects: Mapping[str, Curves], label: str) -> Figure:
    """Draw the curves of each project in a panel of its own, with a logarithmic axis.

    All projects must have the same curves. The panels share one scale.
    """
    from tosloc.plots.figures import drawing

    with drawing(PANEL_INCHES * len(projects), PANEL_INCHES) as (figure, empty_axes):
        empty_axes.remove()
        panels = figure.subplots(1, len(projects), sharey=True, squeeze=False)[0]
        for axes, (project, curves) in zip(panels, projects.items(), strict=True):
            axes.set_title(project)
            _draw_curves(axes, curves)
        panels[0].set_ylabel(label)
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(
            handles, labels, loc="outside lower center", ncols=2, fontsize=8, handlelength=3
        )
        return figure


def _draw_curves(axes: Axes, curves: Curves) -> None:
    from tosloc.plots.figures import series_style

    for number, (name, values) in enumerate(curves.items()):
        axes.plot(list(values), list(values.values()), label=name, **series_style(number))
    axes.set(xscale="log", xlabel="candidates (logarithmic)")
    axes.minorticks_off()
    numbers = next(iter(curves.values()))
    ticks = [tick for tick in TICKS if tick in numbers]
    axes.set_xticks(ticks, [str(tick) for tick in ticks])
