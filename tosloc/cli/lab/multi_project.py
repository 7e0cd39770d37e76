"""The command ``feature-ablation``: over several training folders, or over many projects. Heavy imports wait inside."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tosloc.cli.lab.pool import FoldsOption, PoolConfigOption
from tosloc.cli.lab.projects import PROJECTS, ReposOption, StoresOption, show_outcomes
from tosloc.cli.options import JsonOption, ProgressOption
from tosloc.cli.printing import Table, markdown, print_json
from tosloc.errors import RunError

if TYPE_CHECKING:
    from tosloc.lab.pool_ablation import Ablation

FEW_OF_A_LANGUAGE = 50
"""Reports of a language below which it has no column."""
FoldersArgument = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="[RUN]...", help="Folders that tosloc train --keep-features wrote; or none, with --projects."
    ),
]


def feature_ablation(
    folders: FoldersArgument = None,
    projects: Annotated[Path | None, PROJECTS] = None,
    repos: ReposOption = None,
    config: PoolConfigOption = None,
    work: Annotated[
        Path, typer.Option("--work", help="Folder of feature tables, as tosloc lab pool makes them.")
    ] = Path("pool"),
    folds: FoldsOption = 5,
    features: Annotated[
        str, typer.Option("--features", metavar="NAMES", help="With --projects: leave out only these, each alone.")
    ] = "",
    stores: StoresOption = None,
    as_json: JsonOption = False,
    progress: ProgressOption = None,
) -> None:
    """Show what each feature is worth.

    The change when it alone is left out. Of training folders: on train and validation, per project and on average; test
    is not looked at. With --projects: on projects that the weights never saw, by language too.
    """
    if projects is not None:
        if folders:
            raise RunError(f"{folders[0]}: --projects has tables of its own; leave out the training folders")
        _of_many(projects, repos, config, work, folds, features, stores, as_json, progress)
        return
    if not folders:
        raise RunError("name training folders, or many projects with --projects")
    for name, value in {"features": features, "config": config, "repos": repos, "stores": stores}.items():
        if value:
            raise RunError(f"--{name}: goes with --projects; of training folders every feature is left out in turn")
    from tosloc.cli.progress import shown
    from tosloc.lab.multi_project import feature_ablation
    from tosloc.rank.feature_tables import StoredFeatureTables

    read = [StoredFeatureTables.read(folder) for folder in folders]
    with shown(progress) as callback:
        changes = {one.name: feature_ablation(one, callback) for one in read}
    if as_json:
        print_json({name: {one: worth._asdict() for one, worth in found.items()} for name, found in changes.items()})
        return
    rows = []
    for feature in next(iter(changes.values())):
        found = [of_project[feature] for of_project in changes.values() if feature in of_project]
        sign = "" if feature == "all" else "+"
        cells = [f"{one.loss:{sign}.3f} {one.mrr:{sign}.3f} {one.map:{sign}.3f}" for one in found]
        mrr, map_ = sum(one.mrr for one in found) / len(found), sum(one.map for one in found) / len(found)
        rows.append([feature, *cells, f"{mrr:{sign}.4f} {map_:{sign}.4f}"])
    print(markdown(Table(["left out", *(f"{name} loss, MRR, MAP" for name in changes), "mean MRR, MAP"], rows)), end="")


def _of_many(
    projects: Path,
    repos: Path | None,
    config: Path | None,
    work: Path,
    folds: int,
    features: str,
    stores: Path | None,
    as_json: bool,
    progress: bool | None,
) -> None:
    from tosloc.cli.progress import shown
    from tosloc.config import Config, load_config
    from tosloc.experiment import results_folder
    from tosloc.lab.pool import Pool
    from tosloc.lab.pool_ablation import ablation
    from tosloc.lab.project_means import language_of_report
    from tosloc.lab.projects import read_projects

    found = read_projects(projects, repos)
    pool = Pool(work, Config() if config is None else load_config(config), stores)
    asked = [name.strip() for name in features.split(",") if name.strip()]
    with results_folder(work), shown(progress) as callback:
        measured = ablation(pool, found.projects, folds, language_of_report, asked, callback)
    languages = _languages(measured)
    if as_json:
        print_json([_values(measured, name, languages) for name in measured.values])
    else:
        heads = ["left out", "MRR", "95 %", "MAP", "95 %", *(f"{one} MRR, MAP" for one in languages)]
        print(markdown(Table(heads, [_row(measured, name, languages) for name in measured.values])), end="")
    show_outcomes(found, measured.outcomes)


def _languages(measured: Ablation) -> list[str]:
    """Languages of enough reports, those of most first."""
    from tosloc.lab.project_means import NO_LANGUAGE

    reports = {one: measured.reports_of(one) for of_project in measured.languages.values() for one in of_project}
    enough = [one for one, number in reports.items() if number >= FEW_OF_A_LANGUAGE and one != NO_LANGUAGE]
    return sorted(enough, key=lambda one: (-reports[one], one))


def _row(measured: Ablation, name: str, languages: list[str]) -> list[str]:
    from tosloc.cli.cells import UNKNOWN
    from tosloc.lab.pool_ablation import WHOLE

    if name == WHOLE:
        means = [measured.means(name, one).mean(axis=0).tolist() for one in ("", *languages)]
        (mrr, map_), *of_languages = means
        return [name, f"{mrr:.4f}", "", f"{map_:.4f}", "", *(f"{one:.3f} {two:.3f}" for one, two in of_languages)]
    changes = [measured.change(name, one) for one in ("", *languages)]
    cells = []
    for change in changes[0]:
        interval = change.interval
        within = UNKNOWN if interval is None else f"[{interval.low:+.4f}, {interval.high:+.4f}]"
        cells += [f"{change.mean:+.4f}", within]
    return [name, *cells, *(f"{mrr.mean:+.3f} {map_.mean:+.3f}" for mrr, map_ in changes[1:])]


def _values(measured: Ablation, name: str, languages: list[str]) -> dict[str, Any]:
    """One row as plain values."""
    from tosloc.lab.pool_ablation import WHOLE

    mrr, map_ = measured.means(name).mean(axis=0).tolist()
    values: dict[str, Any] = {"left out": name, "mrr": mrr, "map": map_}
    of_languages = {one: measured.means(name, one).mean(axis=0).tolist() for one in languages}
    values["languages"] = {one: {"mrr": pair[0], "map": pair[1]} for one, pair in of_languages.items()}
    if name != WHOLE:
        for measure, change in zip(("mrr", "map"), measured.change(name), strict=True):
            interval = change.interval
            values[f"{measure} change"] = {
                "mean": change.mean,
                "interval": None if interval is None else [interval.low, interval.high],
                "p": change.bootstrap_p,
            }
    return values
