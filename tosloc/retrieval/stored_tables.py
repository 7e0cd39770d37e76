"""The feature tables that a training folder keeps: which of its blocks are train, validation and test."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tosloc.errors import ToslocError
from tosloc.files import write_text
from tosloc.learning.ranking_lists import RankingLists
from tosloc.retrieval.feature_tables import FeatureTable, ranking_lists, read_block

LISTING = "blocks.json"


def write_listing(work: Path, names: Sequence[str], blocks: Mapping[str, Sequence[Path]]) -> None:
    """Note which blocks of a kept work folder are train, validation and test."""
    record = {
        "features": list(names),
        "blocks": {part: [path.name for path in paths] for part, paths in blocks.items()},
    }
    write_text(work / LISTING, json.dumps(record, indent=1) + "\n")


def keeps_tables(folder: Path) -> bool:
    """Whether a training folder keeps its feature tables, for ``StoredFeatureTables.read``."""
    return (folder / "work" / LISTING).is_file()


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
        path = folder / "work" / LISTING
        try:
            record = json.loads(path.read_text(encoding="utf-8"))
            blocks = {part: tuple(names) for part, names in record["blocks"].items()}
            return cls(folder.name, path.parent, tuple(record["features"]), blocks)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise ToslocError(f"{folder} keeps no feature tables; train it with --keep-features") from error

    @property
    def history_path(self) -> Path:
        """The history that the tables were made with."""
        return self.work / "evidence.npz"

    def tables(self, part: str) -> Iterator[FeatureTable]:
        """The tables of train, validation or test, in order."""
        for name in self.blocks[part]:
            yield from read_block(self.work / name)

    def train(self) -> RankingLists:
        """The training part, for the fits."""
        return ranking_lists(self.tables("train"))
