"""What the paper prints in a table, each number under a key of words, and what the table is made of.

A file ``configs/published/TABLE.toml`` holds the numbers as nested tables: ``[paper."all files".MRR]`` with the line
``BugLocator = { tomcat = 0.42 }`` is the number of the key ("all files", "MRR", "BugLocator", "tomcat").
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Annotated, Any, Final, TypeAlias

from pydantic import Field, Strict

from tosloc.config import Section, Words, read_toml, shipped_configs

Key: TypeAlias = tuple[str, ...]
FOLDER: Final = shipped_configs() / "published"


class RerankerExperiments(Section):
    """``[second]``: what an experiment with the encoder reranker is made with."""

    config: str = ""
    """File of its settings, seen from the table's, for projects whose own name no encoder."""
    train_reports: Annotated[int, Field(ge=0)] = 0
    """How many of the training reports, the newest, it learns from; 0 for all."""
    candidates: Annotated[tuple[Annotated[int, Field(ge=1)], ...], Strict(False)] = (10, 20, 50)
    """Numbers of files that are reranked, ascending, where they are varied."""


class Published(Section):
    """The content of a file, under the name of its table."""

    title: str
    source: str
    """Where the paper's numbers stand."""
    projects: Words = ()
    """Projects that the table needs, in the order of its columns."""
    split: str = ""
    """Which reports."""
    space: str = ""
    """Which files are searched."""
    left_out: Words = ()
    paper: Mapping[str, Any] = Field(default_factory=dict)
    second: RerankerExperiments = RerankerExperiments()

    @cached_property
    def numbers(self) -> Mapping[Key, float]:
        """The paper's numbers."""
        return dict(_numbers(self.paper, ()))


def read_published(table: str) -> Published:
    """The numbers of a table. Raises ConfigError that names the file and the key."""
    path = FOLDER / f"{table}.toml"
    found = Published.of(read_toml(path, "published numbers"), str(path))
    config = str(FOLDER / found.second.config) if found.second.config else ""
    return found.model_copy(update={"second": found.second.model_copy(update={"config": config})})


def _numbers(values: Any, above: Key) -> Iterator[tuple[Key, float]]:
    if not isinstance(values, dict):
        yield above, float(values)
        return
    for key, value in values.items():
        yield from _numbers(value, (*above, key))
