"""The feature tables that a training folder keeps: which of its blocks are train, validation and test."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tosloc.arrays import load_arrays
from tosloc.errors import CheckpointError, ToslocError
from tosloc.files import beside, parse_json, read_plain, write_text
from tosloc.index.history_index import HistoryIndex
from tosloc.learning.ranking_lists import RankingLists
from tosloc.retrieval.feature_tables import FeatureTable, ranking_lists, read_block

LISTING = "blocks.json"
WORK: Final = ".tosloc-work"
"""Folder, in one of results, of what a command keeps while it works: a name that no folder of a user's has."""
PARTS: Final = ("train", "validation", "test")


def write_listing(work: Path, names: Sequence[str], blocks: Mapping[str, Sequence[Path]]) -> None:
    """Note which blocks of a kept work folder are train, validation and test."""
    record = {
        "features": list(names),
        "blocks": {part: [path.name for path in paths] for part, paths in blocks.items()},
    }
    write_text(work / LISTING, json.dumps(record, indent=1) + "\n")


def keeps_tables(folder: Path) -> bool:
    """Whether a training folder keeps its feature tables, for ``StoredFeatureTables.read``."""
    return (folder / WORK / LISTING).is_file()


@dataclass(frozen=True, eq=False)
class StoredFeatureTables:
    """The kept feature tables of one training folder."""

    name: str
    work: Path
    features: tuple[str, ...]
    blocks: Mapping[str, tuple[str, ...]]

    @classmethod
    def read(cls, folder: Path) -> StoredFeatureTables:
        """Raises ToslocError when the folder keeps no tables."""
        path = folder / WORK / LISTING
        try:
            record = parse_json(read_plain(path))
            blocks = {part: tuple(beside(path.parent, name).name for name in record["blocks"][part]) for part in PARTS}
            return cls(folder.name, path.parent, tuple(map(str, record["features"])), blocks)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise ToslocError(f"{folder} keeps no feature tables; train it with --keep-features") from error

    def history(self) -> tuple[HistoryIndex, tuple[str, ...]]:
        """The history that the tables were made with, and the paths that numbers in both mean.

        Raises CheckpointError when it is damaged.
        """
        path = self.work / "evidence.npz"
        try:
            return HistoryIndex.from_arrays(load_arrays(path))
        except (KeyError, ValueError) as error:
            raise CheckpointError(f"{path} is damaged ({error}); train again with --keep-features") from error

    def tables(self, part: str, paths: int | None = None) -> Iterator[FeatureTable]:
        """The tables of train, validation or test, in order; ``paths`` is how many there are, if that is known.

        Raises CheckpointError when they are damaged.
        """
        for name in self.blocks[part]:
            for table in read_block(self.work / name):
                last = table.path_ids.max(initial=-1)
                if table.rows.shape[1] != len(self.features) or (paths is not None and last >= paths):
                    raise CheckpointError(
                        f"{self.work / name} has other features or paths than the rest of the folder; train again with"
                        " --keep-features"
                    )
                yield table

    def train(self) -> RankingLists:
        """The training part, for the fits."""
        return ranking_lists(self.tables("train"))
