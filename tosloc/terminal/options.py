"""Options that the commands of ``cli`` and ``lab`` share."""

from __future__ import annotations

from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer


class Level(StrEnum):
    """Unit that is ranked and judged: files or functions."""

    file = "file"
    function = "function"


class Split(StrEnum):
    """Parts of the labelled reports, split by the time of their fix."""

    train = "train"
    validation = "validation"
    test = "test"
    all = "all"


OutOption = Annotated[Path, typer.Option(file_okay=False, help="Folder to write the results to.")]
ClusterOption = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="Address of a Dask scheduler to run the work on, such as tcp://10.0.0.5:8786.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
RunsArgument = Annotated[
    list[Path],
    typer.Argument(
        metavar="RUN",
        help="Folder that train or rank wrote, the folder of one split, or a run file.",
    ),
]
SplitOption = Annotated[
    Split | None,
    typer.Option(
        help="Part of the reports whose run is read from a folder.",
        show_default="test, or the only part in the folder",
    ),
]
QrelsOption = Annotated[
    Path | None,
    typer.Option(help="File with judgements.", show_default="qrels.jsonl beside the run"),
]
MeasuresOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAMES", help="Additional measures, such as nDCG@10,Acc@5.", show_default="none"
    ),
]
NoTestsOption = Annotated[
    bool,
    typer.Option("--no-tests", help="Leave test files out of rankings and judgements."),
]
MarkdownOption = Annotated[bool, typer.Option("--markdown", help="Print the result as Markdown.")]
CommonOption = Annotated[
    bool, typer.Option("--common", help="Compare only the reports that are judged in both runs.")
]
LevelOption = Annotated[
    Level,
    typer.Option(
        help="Evaluate rankings of files, or the rankings of functions that rank --functions"
        " wrote, together with those of BM25."
    ),
]


def check_drawing(output: Path | None, module: str = "tosloc.plots") -> None:
    """Raise MissingExtra if a figure or page is wanted, but the packages for it are not installed.

    Call it before any work. ``output`` is the file to write, or None; ``module`` draws it.
    """
    if output is not None:
        import_module(module)
