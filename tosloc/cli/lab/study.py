"""The command ``study``: which measure of reproduction notices what. Heavy imports wait inside."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tosloc.cli.options import ProgressOption, StoreOption
from tosloc.errors import ToslocError


def study(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="Folder that tosloc train --keep-features wrote.")],
    repo: Annotated[
        Path | None,
        typer.Option("--repo", help="Its repository, for the steps of the vocabulary."),
    ] = None,
    reports: Annotated[Path | None, typer.Option("--reports", help="Its labelled reports.")] = None,
    store: StoreOption = None,
    work: Annotated[
        Path | None, typer.Option("--work", help="Folder that keeps feature tables.", show_default="RUN/study")
    ] = None,
    keep: Annotated[Path | None, typer.Option("--keep", help="Folder to write every run to.")] = None,
    figure: Annotated[
        Path | None, typer.Option("--figure", metavar="PATH", help="Draw ER against DeltaRI, as PATH.svg and PATH.png.")
    ] = None,
    pair_only: Annotated[bool, typer.Option("--pair-only", help="Write the original pair alone, for --keep.")] = False,
    progress: ProgressOption = None,
) -> None:
    """Show which measure of reproduction notices what.

    Stage one is degraded step by step and compared with itself. Without --repo the steps of the vocabulary, which need
    the features anew, are left out; a second call goes on where the first was interrupted.
    """
    from tosloc.cli.printing import markdown_table
    from tosloc.cli.progress import shown
    from tosloc.lab.agreement.effect_figure import effect_figure
    from tosloc.lab.agreement.study import Source, Study, correlation_table, effect_panels, run_table, trend_table
    from tosloc.plots.drawing import save_figure

    if pair_only and keep is None:
        raise ToslocError("--pair-only writes the original pair below a folder; name it with --keep")
    if (repo is None) != (reports is None):
        raise ToslocError("the vocabulary needs both --repo and --reports")
    steps = Study(folder, keep)
    if pair_only:
        steps.pair(steps.original)
        return
    source = Source(repo, reports, store, work or folder / "study") if repo and reports else None
    with shown(progress) as callback:
        compared = steps.run(source, callback)
    tables = run_table(compared), trend_table(compared), correlation_table(compared)
    print("\n".join(markdown_table(*table) for table in tables), end="")
    if figure is not None:
        save_figure(effect_figure(*effect_panels(compared)), figure)
