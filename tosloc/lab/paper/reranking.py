"""Table 6 and figures 5 and 6: what the parts of the encoder reranker are worth, and how many files it should read.

Models are trained from a bundle under ``OUT/second``, with results as ``ablate-PROJECT.json`` and
``sweep-PROJECT.json``. Figure 5 needs stage one alone, so that it is made of the finished runs.
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
    Cell,
    Curves,
    PaperTable,
    Result,
    Row,
    Workspace,
    no_training,
    rows_of,
)
from tosloc.lab.projects import Project
from tosloc.rank.tables import has_tables

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Kind = Literal["ablate", "sweep"]
MEASURES: Final = (("MRR", "mrr"), ("MAP", "map"))
ORDERS: Final = {"deep": "deep order alone", "fused": "both stages"}
CONFIG: Final = "second"  # of the reranker, for projects whose own settings name no encoder
TRAIN_REPORTS: Final = 400  # the newest, which it learns from
CANDIDATES: Final = (10, 20, 50, 100, 200)  # numbers of files that figure 6 has reranked
DEPTHS: Final = (1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 200, 300)
TICKS: Final = (1, 5, 10, 20, 50, 100, 200, 300)
WIDTH: Final = 3.6  # inches of a panel


def results(
    work: Workspace, project: Project, kind: Kind
) -> tuple[list[dict[str, Any]], list[str]]:
    """The results of table 6 (ablate) or of figure 6 (sweep) on one project, of which what lacks is made now, unless
    nothing is to be made or no encoder is named; and how they were made. Raises ToslocError.
    """
    path = work.out / "second" / f"{kind}-{project.name}.json"
    config = _config(work, project)
    two = config.stage_two
    if not work.make or not two.code_encoder:
        hint = "name an encoder to train, a folder or a name on the hub, with {encoder}, and leave out {finished}"
        try:
            return json.loads(path.read_text(encoding="utf-8")), []
        except (OSError, ValueError):
            raise RunError(f"{project.name}: no results in {path}", hint=hint) from None
    from tosloc.lab.ablation import Ablation  # torch, only where something is trained
    from tosloc.rerank.encoder.reranker import EncoderReranker

    # a wrong encoder is said before hours of work; it is what its weights are, not where it lies
    encoders = [
        one.fingerprint for one in EncoderReranker.from_config(config).model.encoders.values()
    ]
    run = work.trained(project)
    if run is None or not has_tables(run):
        raise RunError(
            f"{run} keeps no feature tables, from which candidates are taken",
            hint="train it with {keep_features}, or leave out {runs}",
        )
    work.evaluation(project, run)  # of the same reports
    depth = max(CANDIDATES) if kind == "sweep" else two.candidates
    settings = two.model_dump(mode="json", exclude={"code_encoder", "report_encoder"})
    made_of = [
        bundle_key(run, project.reports, depth, TRAIN_REPORTS),
        encoders,
        settings,
        config.run.seed,
    ]
    folder = path.with_name(f"{project.name}-{content_key(*made_of)[:12]}")
    if not (pack := folder / "pack").exists():
        bundle_training(
            run, project.repo, project.reports, pack, depth, TRAIN_REPORTS, work.of(project)
        )
    vectors = path.with_name(f"{project.name}.vectors.sqlite")
    made = Ablation(read_bundle(pack), config, folder, vectors, work.of(project))
    rows = made.rows() if kind == "ablate" else made.sweep(CANDIDATES)
    write_text(path, json.dumps(rows, indent=1) + "\n")
    encoder = Path(two.code_encoder).name
    return rows, [
        f"{project.name}: encoder {encoder}, trained on the {TRAIN_REPORTS} newest training reports"
    ]


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
    tables, notes = (
        [],
        [
            "the deep order alone is comparable with the paper's; both stages are mixed by validation"
        ],
    )
    for project in work.each():
        rows, made = results(work, project, "ablate")
        notes += made
        for order, title in ORDERS.items():
            found = {row["name"]: row["test"][order] for row in rows}
            if order == "fused":
                found = {"stage one": rows[0]["test"]["stage one"], **found}
            lines: list[Row] = [
                [
                    name,
                    *(
                        Cell(of[key], paper=work.published.number(project.name, name, one))
                        for one, key in MEASURES
                    ),
                ]
                for name, of in found.items()
            ]
            tables.append(PaperTable([f"{project.name}, {title}", *dict(MEASURES)], lines))
    return Result(tables, notes)


def sweep(work: Workspace) -> Result:
    """Figure 6."""
    notes, curves = list[str](), dict[str, Curves]()
    for project in work.each():
        rows, made = results(work, project, "sweep")
        notes += made
        curves[project.name] = {
            f"{name}, {title}": {row["candidates"]: row["test"][order][key] for row in rows}
            for order, title in ORDERS.items()
            for name, key in MEASURES
        }
    return _figure("files read again", curves, "test reports, mean", notes)


def coverage(work: Workspace) -> Result:
    """Figure 5."""
    curves: dict[str, Curves] = {}
    for project in work.each():
        folder = work.run(project, "stage-one")
        if folder is None:
            raise no_training(project)
        one = work.evaluation(project, folder)
        curves[project.name] = {
            "fixed files": {depth: one.coverage(depth) for depth in DEPTHS},
            "reports with any": {depth: one.mean(Measure("Hit", depth)) for depth in DEPTHS},
        }
    return _figure("candidates", curves, "share, on test")


def _figure(
    head: str, curves: Mapping[str, Curves], label: str, notes: Sequence[str] = ()
) -> Result:
    """Curves of the same numbers of candidates, and their table."""
    columns = {
        f"{project}: {name}": one
        for project, series in curves.items()
        for name, one in series.items()
    }
    rows = rows_of(
        next(iter(columns.values())), columns, lambda number, name: Cell(columns[name][number])
    )
    return Result([PaperTable([head, *columns], rows)], notes, curves, label)


def candidates_figure(projects: Mapping[str, Curves], label: str) -> Figure:
    """A panel for each project, all of the same series and on one scale, over a logarithmic axis."""
    from tosloc.plots.figures import COLOURS, STROKES, drawing

    with drawing(WIDTH * len(projects), WIDTH) as (figure, only):
        only.remove()
        panels = figure.subplots(1, len(projects), sharey=True, squeeze=False)[0]
        for axes, (project, series) in zip(panels, projects.items(), strict=True):
            for (line, marker), color, (name, values) in zip(
                STROKES, COLOURS, series.items(), strict=False
            ):
                how = {
                    "color": color,
                    "linestyle": line,
                    "marker": marker,
                    "markersize": 4.5,
                    "label": name,
                }
                axes.plot(list(values), list(values.values()), **how)
                axes.set(xscale="log", xlabel="candidates (logarithmic)", title=project)
                axes.minorticks_off()
                axes.set_xticks(
                    ticks := [tick for tick in TICKS if tick in values], list(map(str, ticks))
                )
        panels[0].set_ylabel(label)
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(
            handles, labels, loc="outside lower center", ncols=2, fontsize=8, handlelength=3
        )
        return figure
