"""Commands that learn: ``pool`` and ``feature-ablation`` from many projects, ``pack`` and ``train-encoder`` elsewhere.

tosloc lab pack runs/tomcat --repo tomcat.git --reports Tomcat.xlsx --out tomcat.pack
torchrun --nproc_per_node 2 -m tosloc lab train-encoder tomcat.pack two.toml --out runs/tomcat-two
accelerate launch --multi_gpu -m tosloc lab train-encoder tomcat.pack two.toml --out runs/tomcat-two
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from tosloc.cli.judging import MarkdownOption
from tosloc.cli.lab.projects import PROJECTS, ReposOption, show_outcomes
from tosloc.cli.lab.results import means_table
from tosloc.cli.options import ClusterOption, JsonOption, ReportsOption, RepositoryOption
from tosloc.cli.printing import Form, Table, form_of, show

if TYPE_CHECKING:
    from tosloc.lab.pool_ablation import Ablation

FEW_OF_A_LANGUAGE: Final = 50
"""Reports of a language below which it has no column."""
PoolConfigOption = Annotated[
    Path | None, typer.Option("--config", help="TOML file of settings.", show_default="the defaults")
]
FoldsOption = Annotated[
    int, typer.Option("--leave-projects-out", metavar="K", min=1, help="Parts that are left out in turn.")
]


def pool(
    projects: Annotated[
        Path | None,
        typer.Option(
            "--projects",
            help="TOML file of projects, or a folder of JSON lines (with --repos). By default the tables in WORK.",
        ),
    ] = None,
    repos: ReposOption = None,
    config: PoolConfigOption = None,
    work: Annotated[
        Path, typer.Option("--work", help="Folder of feature tables and of the runs; what is in it is not made again.")
    ] = Path("pool"),
    out: Annotated[
        Path | None, typer.Option("--out", file_okay=False, help="Folder to write weights.json and ranker.npz to.")
    ] = None,
    folds: FoldsOption = 5,
    cluster: ClusterOption = None,
    as_json: JsonOption = False,
    as_markdown: MarkdownOption = False,
) -> None:
    """Learn the shipped weights from many projects.

    And rank each project by weights that never saw it: those runs stand in WORK/left-out, and their means are printed.
    """
    from tosloc.cli.progress import shown
    from tosloc.cluster import on_cluster
    from tosloc.config import Config, load_config
    from tosloc.experiment import results_folder
    from tosloc.lab.pool import LEFT_OUT, Pool, make_pool
    from tosloc.lab.project_means import ProjectMeans
    from tosloc.lab.projects import read_projects

    form = form_of(as_json, as_markdown)
    found = None if projects is None else read_projects(projects, repos)
    settings = Config() if config is None else load_config(config)
    reached = {project.repo: "" for project in (found.projects if found else ())}
    with results_folder(work), on_cluster(cluster, reached), shown() as callback:
        made = make_pool(Pool(work, settings), None if found is None else found.projects, folds, out, callback)
    means = ProjectMeans.of(made.evaluations)
    show(form, means.values() | {"temperature": made.temperature}, [means_table(means)])
    print(f"tosloc: the runs are in {work / LEFT_OUT}; see: tosloc lab evaluate {work / LEFT_OUT}", file=sys.stderr)
    if out is not None:
        print(f"tosloc: wrote {out / 'weights.json'}, temperature {made.temperature:g}", file=sys.stderr)
    if found is not None:
        show_outcomes(found, made.outcomes)


def feature_ablation(
    projects: Annotated[Path, PROJECTS],
    repos: ReposOption = None,
    config: PoolConfigOption = None,
    work: Annotated[
        Path, typer.Option("--work", help="Folder of feature tables, as tosloc lab pool makes them.")
    ] = Path("pool"),
    folds: FoldsOption = 5,
    features: Annotated[
        str, typer.Option("--features", metavar="NAMES", help="Leave out only these, each alone.")
    ] = "",
    as_json: JsonOption = False,
) -> None:
    """Show what each feature is worth: the change when it alone is left out.

    On projects that the weights never saw, and by language.
    """
    from tosloc.cli.progress import shown
    from tosloc.config import Config, load_config
    from tosloc.experiment import results_folder
    from tosloc.lab.pool import Pool
    from tosloc.lab.pool_ablation import ablation
    from tosloc.lab.project_means import NO_LANGUAGE
    from tosloc.lab.projects import read_projects

    found = read_projects(projects, repos)
    pool = Pool(work, Config() if config is None else load_config(config))
    asked = [name.strip() for name in features.split(",") if name.strip()]
    with results_folder(work), shown() as callback:
        measured = ablation(pool, found.projects, folds, asked, callback)
    reports = {one: measured.reports_of(one) for of_project in measured.languages.values() for one in of_project}
    languages = [one for one, number in reports.items() if number >= FEW_OF_A_LANGUAGE and one != NO_LANGUAGE]
    languages.sort(key=lambda one: (-reports[one], one))
    heads = ["left out", "MRR", "95 %", "MAP", "95 %", *(f"{one} MRR, MAP" for one in languages)]
    values, rows = zip(*(_values_and_row(measured, name, languages) for name in measured.values), strict=True)
    show(Form.json if as_json else Form.markdown, values, [Table(heads, rows)])
    show_outcomes(found, measured.outcomes)


def _values_and_row(measured: Ablation, name: str, languages: list[str]) -> tuple[dict[str, Any], list[str]]:
    """What leaving a feature out does, as plain values and as cells."""
    from tosloc.cli.tables import UNKNOWN
    from tosloc.lab.pool_ablation import WHOLE

    (mrr, map_), *of_languages = (measured.means(name, one).mean(axis=0).tolist() for one in ("", *languages))
    values: dict[str, Any] = {"left out": name, "mrr": mrr, "map": map_}
    values["languages"] = {
        one: {"mrr": pair[0], "map": pair[1]} for one, pair in zip(languages, of_languages, strict=True)
    }
    if name == WHOLE:
        cells = [f"{mrr:.4f}", "", f"{map_:.4f}", "", *(f"{one:.3f} {two:.3f}" for one, two in of_languages)]
        return values, [name, *cells]
    whole, *changes = (measured.change(name, one) for one in ("", *languages))
    cells = []
    for measure, change in zip(("mrr", "map"), whole, strict=True):
        ends = None if change.interval is None else [change.interval.low, change.interval.high]
        values[f"{measure} change"] = {"mean": change.mean, "interval": ends, "p": change.bootstrap_p}
        cells += [f"{change.mean:+.4f}", UNKNOWN if ends is None else f"[{ends[0]:+.4f}, {ends[1]:+.4f}]"]
    return values, [name, *cells, *(f"{mrr.mean:+.3f} {map_.mean:+.3f}" for mrr, map_ in changes)]


def pack(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder that tosloc train --keep-features wrote.")],
    repo: RepositoryOption,
    reports: ReportsOption,
    out: Annotated[Path, typer.Option("--out", help="File to write.")],
    candidates: Annotated[int, typer.Option("--candidates", min=1, help="Files of a report.")] = 50,
    train_reports: Annotated[
        int, typer.Option("--train-reports", min=0, help="Only so many, the newest; 0 for all.")
    ] = 0,
    scored_reports: Annotated[
        int, typer.Option("--judged-reports", min=0, help="The same for validation and for test.")
    ] = 0,
    letters: Annotated[int, typer.Option("--letters", min=1, help="Letters kept of each file.")] = 40_000,
) -> None:
    """Write a run's candidates and their texts.

    One small file, from which train-encoder learns on any machine.
    """
    from tosloc.cli.progress import shown
    from tosloc.lab.bundle import BundleSettings, bundle_training

    settings = BundleSettings(candidates, train_reports, scored_reports, letters)
    with shown() as callback:
        numbers = bundle_training(run, repo, reports, out, settings, callback)
    megabytes = out.stat().st_size / 2**20
    print(", ".join(f"{number:,} {part}" for part, number in numbers.items()) + f" reports, {megabytes:.1f} MiB")


def train_encoder(
    bundle: Annotated[Path, typer.Argument(metavar="PACK", help="File that tosloc lab pack wrote.")],
    config: Annotated[Path, typer.Argument(metavar="CONFIG", help="TOML file of settings, with [stage_two].")],
    out: Annotated[Path, typer.Option("--out", help="Folder to write.")],
) -> None:
    """Train an encoder reranker on a pack.

    On several processes or GPUs: torchrun -m tosloc lab train-encoder, or accelerate launch -m; they learn what one
    would. An interrupted training goes on.
    """
    from tosloc.cli.progress import shown
    from tosloc.config import load_config
    from tosloc.errors import require

    require("training an encoder", "encoder", "torch", "transformers", "accelerate")
    from tosloc.lab.ablation import train_on_bundle as train

    with shown() as callback:
        result = train(bundle, load_config(config), out, callback)
    if result is not None:
        print(json.dumps({key: value for key, value in result.items() if key != "curve"}, indent=1))
