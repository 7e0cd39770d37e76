"""Candidates with their files' texts in one small file: all that training an encoder needs on another machine.

Compressed JSON lines. Files stand by path, so that versions of one file, which differ by little, are neighbours.
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import numpy as np

from tosloc.code.languages import SOURCE_SUFFIXES
from tosloc.core.arrays import load_arrays, unpack_words
from tosloc.core.errors import ToslocError
from tosloc.core.io import atomic_write, content_key
from tosloc.core.records import BugReport, Progress, ignore_progress
from tosloc.git.repository import Repository
from tosloc.localize.localization import texts_of
from tosloc.localize.model import Model
from tosloc.rank.extraction import HISTORY_FILE
from tosloc.rank.tables import PARTS, WORK_FOLDER, list_blocks, read_blocks
from tosloc.reports.labelled import load_dataset
from tosloc.rerank.base import Candidates, RerankingContext
from tosloc.train.candidates import LabelledCandidates
from tosloc.train.experiment import fingerprint

FORMAT = "tosloc-candidates/2"
LETTERS: Final = 40_000  # kept of each file
_ARRAYS: Final[Mapping[str, Any]] = {"path_ids": np.int32, "scores": np.float64, "fixed": np.bool_}
_FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 4, "dict_size": 64 * 2**20}]
"""A window that holds many versions of a file."""


@dataclass(frozen=True, eq=False)
class CandidateBundle:
    """What ``bundle_training`` wrote."""

    parts: Mapping[str, Sequence[Candidates]]
    texts: Mapping[str, str]  # blob -> its text; blobs that could not be read are absent

    def for_reranking(self, vectors: Path) -> RerankingContext:
        """What a reranker may read: texts alone, None for one that could not be read."""
        return RerankingContext(
            texts=lambda blobs: ((blob, self.texts.get(blob)) for blob in blobs), vectors=vectors
        )

    def candidates(
        self, part: str, depth: int, *, for_training: bool = False, by_linear_score: bool = False
    ) -> Iterator[Candidates]:
        """All that was bundled of each report of a part, whatever the depth."""
        return iter(self.parts[part])


def bundle_training(
    run: Path,
    repository: Path,
    reports: Path,
    out: Path,
    depth: int = 50,
    newest: int = 0,
    progress: Progress = ignore_progress,
) -> dict[str, int]:
    """Write the first files of a training folder's reports, with their texts; how many reports each part has. Of the
    training reports only so many of the ``newest``; 0: all.
    """
    blocks, model = list_blocks(run), Model.load(run)
    suffixes = frozenset(model.config.data.named_suffixes) or SOURCE_SUFFIXES
    stage_one, _ = model.stage_one_for(())
    with Repository(repository) as repo:
        # the tables' numbers of paths, before anything else is read
        for name in unpack_words(load_arrays(run / WORK_FOLDER / HISTORY_FILE)["paths"]):
            repo.path_names.id(name)
        dataset = load_dataset(
            repo, reports, zone=model.config.data.zone, suffixes=suffixes, progress=progress
        )
        cases = {case.report.id: case for case in dataset.cases}
        training_set = LabelledCandidates(
            repo, suffixes, cases, stage_one, lambda part: read_blocks(blocks[part])
        )
        parts = {
            part: list(training_set.candidates(part, depth, for_training=part == "train"))
            for part in PARTS
        }
        parts["train"] = parts["train"][-newest:]
        listed = [(part, one) for part in PARTS for one in parts[part]]
        path_of = {
            blob: name for _, one in listed for blob, name in zip(one.blobs, one.paths, strict=True)
        }
        blobs = sorted(path_of, key=lambda blob: (path_of[blob], blob))
        with (
            atomic_write(out) as temporary,
            lzma.open(
                temporary, "wt", encoding="utf-8", format=lzma.FORMAT_XZ, filters=_FILTERS
            ) as file,
        ):
            file.write(json.dumps({"format": FORMAT}) + "\n")
            for part, one in listed:
                file.write(json.dumps({"part": part, **asdict(one)}, default=_plain) + "\n")
            for number, (blob, text) in enumerate(texts_of(repo)(blobs), start=1):
                if text is not None:
                    file.write(json.dumps({"blob": blob, "text": text[:LETTERS]}) + "\n")
                progress("packing files", number, len(blobs))
    return {part: len(made) for part, made in parts.items()}


def bundle_key(run: Path, reports: Path, *settings: int) -> str:
    """What a bundle of the training folder is made of; another one for another training, reports or settings."""
    return content_key(
        [fingerprint(path) for path in (*sorted((run / "checkpoint").glob("*.*")), reports)],
        settings,
    )


def read_bundle(path: Path) -> CandidateBundle:
    """CandidateBundle of a file. Raises ToslocError when it is no bundle, or damaged."""
    parts: dict[str, list[Candidates]] = {part: [] for part in PARTS}
    texts: dict[str, str] = {}
    try:
        with lzma.open(path, "rt", encoding="utf-8") as file:
            if json.loads(next(file)).get("format") != FORMAT:
                raise ToslocError(
                    f"{path}: not a pack of the form {FORMAT}; make one with: tosloc lab pack"
                )
            for line in file:
                value = json.loads(line)
                if "blob" in value:
                    texts[value["blob"]] = value["text"]
                else:
                    parts[value.pop("part")].append(_candidates(**value))
    except OSError as error:
        raise ToslocError(f"{path}: cannot read the pack: {error.strerror or error}") from None
    except (
        lzma.LZMAError,
        EOFError,
        StopIteration,
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
    ) as error:
        raise ToslocError(
            f"{path}: no pack, or a damaged one ({error}); make it with: tosloc lab pack"
        ) from None
    return CandidateBundle(parts, texts)


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value.tolist()


def _candidates(report: dict[str, Any], **values: Any) -> Candidates:
    opened = datetime.fromisoformat(report.pop("opened"))
    made: dict[str, Any] = {
        name: np.array(values.pop(name), dtype=kind) for name, kind in _ARRAYS.items()
    }
    made |= {
        name: tuple(value) if isinstance(value, list) else value for name, value in values.items()
    }
    return Candidates(BugReport(**report, opened=opened), **made)
