"""The folder of one split's run: the rankings, and the judgements that score them."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

from tosloc.core.io import atomic_write
from tosloc.core.rankings import Ranking
from tosloc.evaluate.runs.judgements import Judgement, Qrels, read_judgements, write_judgements
from tosloc.evaluate.runs.run import Run, read_run, write_known_ranks, write_run

RUN_FILE: Final = "run.jsonl.gz"
_JUDGEMENTS_FILE: Final = "qrels.jsonl"
_FUNCTIONS: Final = "functions"
_BM25: Final = "functions-bm25"
_SHIPPED: Final = "shipped"


@dataclass(frozen=True, slots=True)
class RunFolder:
    """A folder with the run of one split and its judgements.

    Judgements are written last, because a folder that contains them is a finished run.
    """

    path: Path

    @property
    def run_file(self) -> Path:
        """The file of the rankings."""
        return self.path / RUN_FILE

    @property
    def judgements_file(self) -> Path:
        """The file of the judgements."""
        return self.path / _JUDGEMENTS_FILE

    @property
    def is_finished(self) -> bool:
        """Whether the run and its judgements are complete."""
        return self.judgements_file.is_file()

    @property
    def functions(self) -> Self:
        """Folder of the run of functions, within the folder of a run of files."""
        return type(self)(self.path / _FUNCTIONS)

    @property
    def functions_bm25(self) -> Self:
        """Folder of the run of functions by BM25, within the folder of a run of files."""
        return type(self)(self.path / _BM25)

    @property
    def shipped(self) -> Self:
        """Folder of the shipped weights' run of the same split, beside the runs of a training."""
        return type(self)(self.path.parent / _SHIPPED / self.path.name)

    def read(self) -> Run:
        """Read the run. Raises RunError under the conditions of ``read_run``."""
        return read_run(self.run_file)

    def read_judgements(self) -> Qrels:
        """Read the judgements. Raises RunError under the conditions of ``read_judgements``."""
        return read_judgements(self.judgements_file)

    def write(
        self,
        header: Mapping[str, Any],
        rankings: Iterable[Ranking],
        judgements: Iterable[Judgement] | None,
    ) -> None:
        """Write the rankings of a run one after the other, and then its judgements.

        ``judgements`` is None if the run has none. An earlier run in the folder is replaced, and
        its runs of functions are removed. If a ranking raises an error, it stays as it was.
        """
        with atomic_write(self.run_file) as temporary:
            write_run(temporary, header, rankings)
            self.judgements_file.unlink(missing_ok=True)
            for earlier in (self.functions, self.functions_bm25):
                shutil.rmtree(earlier.path, ignore_errors=True)
        if judgements is not None:
            self.write_judgements(judgements)

    def write_known_ranks(
        self,
        header: Mapping[str, Any],
        ranks: Mapping[str, Mapping[str, int]],
        judgements: Iterable[Judgement],
    ) -> None:
        """Write a run of which only the ranks of some files are known.

        ``ranks`` maps reports to paths to ranks, from 1.
        """
        self.judgements_file.unlink(missing_ok=True)
        write_known_ranks(self.run_file, header, ranks.items())
        self.write_judgements(judgements)

    def write_judgements(self, judgements: Iterable[Judgement]) -> None:
        """Write the judgements alone."""
        write_judgements(self.judgements_file, judgements)
