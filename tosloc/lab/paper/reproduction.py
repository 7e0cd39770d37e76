"""Every table and figure that can be made again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from tosloc.errors import ToslocError
from tosloc.lab.paper import accuracy, contents, lengths, reranking, speed
from tosloc.lab.paper.workspace import Published, TableResult, Workspace, read_published
from tosloc.lab.projects import read_projects
from tosloc.records import Progress, silent

TABLES: Final[Mapping[str, Callable[[Workspace, Published, Progress], TableResult]]] = {
    "table-2": lengths.measure,
    "table-3": contents.measure,
    "table-4": accuracy.measure,
    "table-5": speed.measure,
    "table-6": reranking.measure_ablation,
    "figure-5": reranking.measure_coverage,
    "figure-6": reranking.measure_sweep,
}
"""What is made again -> its measuring, which makes what is missing."""
DATA: Final = "https://figshare.com/articles/dataset/The_dataset_of_six_open_source_Java_projects/951967"


@dataclass(frozen=True)
class Reproduced:
    """A table as it was measured, with what the paper prints."""

    table: str
    published: Published
    outcome: TableResult

    def draw(self, folder: Path) -> None:
        """Write its figures to a folder, as SVG and PNG."""
        from tosloc.plots.drawing import save_figure

        for name, figure in self.outcome.figures.items():
            save_figure(figure(), folder / name)


def reproduce(
    table: str, projects: Path, only: Sequence[str], work: Workspace, progress: Progress = silent
) -> Reproduced:
    """Make a table, of the projects of a file that it needs, or of ``only`` some; ``work`` has none so far."""
    if table not in TABLES:
        raise ToslocError(f"no table of the paper is called {table!r} here; there are {', '.join(TABLES)}")
    published, known = read_published(table), {project.name: project for project in read_projects(projects).projects}
    names = list(only) or published.projects or list(known)
    for name in names:
        if name not in known:
            raise ToslocError(
                f'{projects}: {name} is missing; add [{name}] repo = "..." reports = "..." (published at {DATA}), or go'
                f" on without it: --only {','.join(known)}"
            )
    work = replace(work, projects=[known[name] for name in names], reranker=published.second)
    return Reproduced(table, published, TABLES[table](work, published, progress))
