"""Table 6 and figures 5 and 6: what the parts of the encoder reranker are worth, and how many files it should read.

Models are trained from a bundle under ``OUT/second``, with results as ``ablate-PROJECT.json`` and
``sweep-PROJECT.json``. Figure 5 needs stage one alone, so that it is made of the finished runs.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from tosloc.config import Config, load_config
from tosloc.errors import RunError, ToslocError
from tosloc.evaluate.evaluate import Evaluation
from tosloc.evaluate.measures import Measure
from tosloc.io import write_text
from tosloc.lab.bundle import BundleSettings, bundle_key, bundle_training, origin_of
from tosloc.lab.paper.accuracy import run_folder
from tosloc.lab.paper.workspace import (
    Cell,
    PaperTable,
    Published,
    TableResult,
    Workspace,
    by_project,
    figure_of,
    named,
    rows_of,
)
from tosloc.lab.projects import Project
from tosloc.records import Progress, silent

if TYPE_CHECKING:
    from tosloc.lab.ablation import AblationRunner  # torch, only where something is trained

Kind: TypeAlias = Literal["ablate", "sweep"]
_Row: TypeAlias = Mapping[str, Any]
Curves: TypeAlias = tuple[Sequence[int], Mapping[str, Sequence[float]]]
"""Numbers of candidates, and what it is called -> a value for each."""

MEASURES: Final = {"MRR": "mrr", "MAP": "map"}
ORDERS: Final = {"deep": "deep order alone", "fused": "both stages"}
DEPTHS: Final = (1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 200, 300)


@dataclass(frozen=True)
class Experiment:
    """The models of table 6 (ablate) or of figure 6 (sweep) on one project."""

    work: Workspace
    project: Project
    kind: Kind

    @cached_property
    def config(self) -> Config:
        """The project's own settings, if they name an encoder, else the table's. Raises ConfigError."""
        config, named_file = self.project.configured(), self.work.reranker.config
        if named_file and (config.stage_two.reranker != "encoder" or not config.stage_two.code_encoder):
            config = load_config(named_file)
        folder = Path(self.work.encoder).expanduser()
        encoder = str(folder.resolve()) if folder.is_dir() else self.work.encoder  # the same from wherever it is named
        changes = {"reranker": "encoder"} | ({"code_encoder": encoder} if self.work.encoder else {})
        return config.model_copy(update={"stage_two": config.stage_two.model_copy(update=changes)})

    @property
    def is_made(self) -> bool:
        """Whether the models are trained here; without an encoder finished results are read."""
        return self.work.make and bool(self.config.stage_two.code_encoder)

    @property
    def result_path(self) -> Path:
        """Where the results are kept."""
        return self.work.out / "second" / f"{self.kind}-{self.project.name}.json"

    @property
    def bundle_settings(self) -> BundleSettings:
        """What the experiment's bundle holds."""
        depths, configured = self.work.reranker.candidates, self.config.stage_two.candidates
        candidates = max(depths) if self.kind == "sweep" else configured
        return BundleSettings(candidates=candidates, train_reports=self.work.reranker.train_reports)

    def runner(self, progress: Progress = silent) -> AblationRunner:
        """What trains the models, from a bundle that may not be there yet."""
        from tosloc.lab.ablation import AblationRunner

        folder, depth = self.work.out / "second", self.bundle_settings.candidates
        name = self.project.name if depth == self.config.stage_two.candidates else f"{self.project.name}-{depth}"
        vectors = folder / f"{self.project.name}.vectors.sqlite"
        progress = named(progress, self.project)
        return AblationRunner(folder / f"{name}.pack", self.config, folder / name, vectors, progress)

    def results(self, progress: Progress = silent) -> list[dict[str, Any]]:
        """The experiment's results, of which what is missing is made now. Raises ToslocError."""
        if not self.is_made:
            return self._stored_results()
        runner, project = self.runner(progress), self.project
        _ = runner.encoders  # a wrong one is said before hours of work
        run = self._training(progress)
        settings = self.bundle_settings
        if origin_of(runner.path) != bundle_key(run, project.reports, settings):
            progress = named(progress, project)
            bundle_training(run, project.repo, project.reports, runner.path, settings, progress)
        rows = runner.ablation() if self.kind == "ablate" else runner.sweep(sorted(set(self.work.reranker.candidates)))
        write_text(self.result_path, json.dumps(rows, indent=1) + "\n")
        return rows

    def made_with(self) -> str:
        """What the models that are trained here learn with, as a note."""
        number = self.work.reranker.train_reports
        learned = f"the {number:,} newest training reports" if number else "all training reports"
        return f"{self.project.name}: encoder {Path(self.config.stage_two.code_encoder).name}, trained on {learned}"

    def _training(self, progress: Progress) -> Path:
        """The folder of a training that keeps its features; made now if there is no training. Raises RunError."""
        folder = self.work.with_features(self.project)
        if folder is None:
            trained = self.work.trained(self.project)
            if trained is not None:
                elsewhere = f", or leave out --runs to have it trained in {self.work.out / self.project.name}"
                raise RunError(
                    f"{trained} keeps no feature tables, from which candidates are taken; train it with --keep-features"
                    f"{elsewhere if self.work.runs is not None else ''}"
                )
            folder = self.work.train(self.project, progress)
        self.work.scored(self.project, folder)  # of the same reports
        return folder

    def _stored_results(self) -> list[dict[str, Any]]:
        path = self.result_path
        try:
            rows = json.loads(path.read_text(encoding="utf-8"))
        except OSError:
            why = f"no results in {path}; leave out --finished to make them"
            if self.work.make:
                why = (
                    "no encoder to train on is named; name a folder, or a name on the hub, with --encoder, or put"
                    f" finished results to {path}"
                )
            raise RunError(f"{self.project.name}: {why}") from None
        except ValueError:
            raise RunError(f"{path}: not JSON; delete it and make it again") from None
        if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) and "test" in row for row in rows):
            raise RunError(f"{path}: not a list of results on test; delete it and make it again")
        return rows


def measure_ablation(work: Workspace, published: Published, progress: Progress = silent) -> TableResult:
    """Table 6."""
    tables = []
    made = [Experiment(work, project, "ablate") for project in work.projects]
    for one in by_project(made, "projects", progress):
        rows, project = one.results(progress), one.project.name
        for order, title in ORDERS.items():
            asked = [("stage one", rows[0], "stage one")] if order == "fused" else []
            asked += [(str(row.get("name")), row, order) for row in rows]
            lines: list[list[str | Cell]] = []
            for name, row, of in asked:
                cells = (
                    Cell(_number(row, "test", of, short), paper=published.numbers.get((project, name, measure)))
                    for measure, short in MEASURES.items()
                )
                lines.append([name, *cells])
            tables.append(PaperTable([f"{project}, {title}", *MEASURES], lines))
    note = "the deep order alone is comparable with the paper's; both stages are mixed by validation"
    return TableResult(tables, [note, *(one.made_with() for one in made if one.is_made)])


def measure_sweep(work: Workspace, published: Published, progress: Progress = silent) -> TableResult:
    """Figure 6."""
    made = [Experiment(work, project, "sweep") for project in work.projects]
    columns = [(measure, order) for order in ORDERS for measure in MEASURES]
    tables, curves = [], dict[str, Curves]()
    for one in by_project(made, "projects", progress):
        by_depth = {int(str(row.get("candidates"))): row for row in one.results(progress)}
        found = {
            column: [_number(row, "test", column[1], MEASURES[column[0]]) for row in by_depth.values()]
            for column in columns
        }
        heads = [
            f"{one.project.name}: files read again",
            *(f"{measure}, {ORDERS[order]}" for measure, order in columns),
        ]
        lines = zip(*found.values(), strict=True)
        rows: list[list[str | Cell]] = [
            [str(depth), *map(Cell, line)] for depth, line in zip(by_depth, lines, strict=True)
        ]
        tables.append(PaperTable(heads, rows))
        series = {f"{name}, {title}": found[name, order] for name in MEASURES for order, title in ORDERS.items()}
        curves[one.project.name] = list(by_depth), series
    notes = [one.made_with() for one in made if one.is_made]
    return TableResult(tables, notes, {"figure-6": figure_of("candidates_figure", curves, "test reports, mean")})


def measure_coverage(work: Workspace, published: Published, progress: Progress = silent) -> TableResult:
    """Figure 5."""
    found = {
        project.name: _stage_one(work, project, progress) for project in by_project(work.projects, "projects", progress)
    }
    shares: dict[str, Callable[[Evaluation, int], float]] = {
        "fixed files": lambda one, depth: one.coverage(depth),
        "reports with any": lambda one, depth: one.mean(Measure("Hit", depth)),
    }

    def cell(depth: int, column: tuple[str, str]) -> Cell:
        project, name = column
        return Cell(shares[name](found[project], depth))

    rows = rows_of(DEPTHS, product(found, shares), cell)
    heads = [f"{project}: {name}" for project in found for name in shares]
    curves: dict[str, Curves] = {
        project: (DEPTHS, {name: [share(one, depth) for depth in DEPTHS] for name, share in shares.items()})
        for project, one in found.items()
    }
    figure = figure_of("candidates_figure", curves, "share, on test")
    return TableResult([PaperTable(["candidates", *heads], rows)], [], {"figure-5": figure})


def _stage_one(work: Workspace, project: Project, progress: Progress) -> Evaluation:
    if work.make:
        work.train(project, progress)
    folder = run_folder(work, project, "stage-one")
    if folder is None:
        raise ToslocError(f"{project.name}: no finished training; name its folder with --runs, or leave out --finished")
    return work.scored(project, folder).evaluation()


def _number(row: _Row, *keys: str) -> float:
    """The number at nested keys of a row. Raises RunError when there is none."""
    value: Any = row
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    if not isinstance(value, int | float):
        raise RunError(f"results of {row.get('name', row.get('candidates'))!r} hold no number at {'.'.join(keys)}")
    return float(value)
