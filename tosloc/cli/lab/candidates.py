"""The command ``candidate-features``: what features of the first files add to stage one. Heavy imports wait inside."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tosloc.cli.lab.pool import FoldsOption, PoolConfigOption, PoolProjectsOption
from tosloc.cli.options import JsonOption, ProgressOption, ReposOption, StoresOption
from tosloc.errors import ToslocError, counted

if TYPE_CHECKING:
    from tosloc.lab.second_stage import Gain


def candidate_features(
    projects: PoolProjectsOption,
    repos: ReposOption = None,
    config: PoolConfigOption = None,
    work: Annotated[
        Path, typer.Option("--work", help="Folder of tosloc lab pool; what is in it is not made again.")
    ] = Path("pool"),
    vectors: Annotated[
        Path | None, typer.Option("--vectors", help="Archive of pretrained term vectors, for the features of words.")
    ] = None,
    features: Annotated[
        list[str] | None,
        typer.Option(metavar="NAMES", help="Features to look at together: uses.callee,uses.user; repeatable."),
    ] = None,
    folds: FoldsOption = 5,
    stores: StoresOption = None,
    as_json: JsonOption = False,
    progress: ProgressOption = None,
) -> None:
    """Show what features of the first 100 files add to stage one.

    Each project is ranked by weights that never saw it, and so are the features' weights learned.
    """
    from tosloc.cli.many import show_outcomes
    from tosloc.cli.printing import markdown_table, print_json
    from tosloc.cli.progress import shown
    from tosloc.config import Config, load_config
    from tosloc.experiment import results_folder
    from tosloc.lab.candidate_features import USES, WORDS, CandidateFeatures, TermVectors, uses
    from tosloc.lab.pool import Pool
    from tosloc.lab.projects import read_projects
    from tosloc.lab.second_stage import study

    groups = {"uses": CandidateFeatures(USES, uses)}
    if vectors is not None:
        groups["words"] = CandidateFeatures(WORDS, TermVectors.read(vectors).words)
    found = read_projects(projects, repos)
    settings = Config() if config is None else load_config(config)
    chosen = [names.split(",") for names in features or []]
    if vectors is None and any(name.startswith("words.") for names in chosen for name in names):
        raise ToslocError("features of words need pretrained vectors; name their archive with --vectors")
    with results_folder(work), shown(progress) as callback:
        made = study(Pool(work, settings, stores), found.projects, groups, chosen, folds, callback)
    if as_json:
        print_json(made.values())
    else:
        heads = ["features", "MRR", "MAP", "loss", "gain in MRR", "p", "gain in MAP", "p", "in loss"]
        plain = ["stage one", *(f"{value:.4f}" for value in made.stage_one), *[""] * 5]
        print(markdown_table(heads, [plain, *map(_row, made.gains)]))
        print(f"{counted(made.projects, 'project')}, {counted(made.reports, 'report')}")
    show_outcomes(found, made.outcomes)


def _row(gain: Gain) -> list[str]:
    differences = [
        text
        for one in (gain.mrr, gain.map)
        for text in (f"{one.mean:+.4f} [{one.interval.low:+.4f}, {one.interval.high:+.4f}]", f"{one.p:.3f}")
    ]
    return [", ".join(gain.features), *(f"{value:.4f}" for value in gain.values), *differences, f"{gain.loss:+.4f}"]
