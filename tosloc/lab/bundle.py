"""Bundles of candidates and the texts of their files, for training an encoder elsewhere.

A bundle is one small file of compressed JSON lines with everything that training needs on another
machine. Texts are ordered by path, so that similar versions of one file are neighbours and compress
well.
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
from tosloc.core.errors import ToslocError
from tosloc.core.io import atomic_write, content_key, fingerprint
from tosloc.core.progress import Progress, ignore_progress
from tosloc.core.reports import BugReport
from tosloc.git.repository import Repository
from tosloc.localize.model import Model
from tosloc.rank.features import PARTS, FeatureTable, TableFolder
from tosloc.rank.features.extraction import Extraction
from tosloc.reports.labelled import Dataset
from tosloc.rerank.base import Candidates, RerankingContext, texts_of
from tosloc.train.candidates import LabelledCandidates

FORMAT = "tosloc-candidates/2"
MAX_CHARACTERS: Final = 40_000
"""Characters of a file that are kept."""
_ARRAYS: Final[Mapping[str, Any]] = {"path_ids": np.int32, "scores": np.float64, "fixed": np.bool_}
_FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 4, "dict_size": 64 * 2**20}]
"""Compression with a window that covers many versions of a file."""


@dataclass(frozen=True, eq=False)
class CandidateBundle:
    """The content of a file that ``bundle_training`` wrote; a training set for a reranker."""

    parts: Mapping[str, Sequence[Candidates]]
    """Candidates of the reports of each part."""
    texts: Mapping[str, str]
    """Blob -> its text; blobs that could not be read are absent."""

    def for_reranking(self, vectors: Path) -> RerankingContext:
        """Return what a reranker may read: texts, with None for a blob that could not be read.

        ``vectors`` is the file that caches vectors.
        """
        return RerankingContext(
            texts=lambda blobs: ((blob, self.texts.get(blob)) for blob in blobs), vectors=vectors
        )

    def candidates(
        self, part: str, depth: int, *, for_training: bool = False, by_linear_score: bool = False
    ) -> Iterator[Candidates]:
        """Yield all bundled candidates of each report of a part; other arguments are ignored."""
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
    """Write the first ``depth`` files of a training folder's reports, with their texts.

    Of the training reports only the ``newest`` are written, or all for 0. Return part -> number of
    its reports.
    """
    tables = TableFolder(run)
    blocks = tables.list_blocks()
    model = Model.load(run)
    suffixes = frozenset(model.config.data.named_suffixes) or SOURCE_SUFFIXES
    stage_one, _ = model.stage_one_for(())
    with Repository(repository) as repo:
        # The tables number paths, so that the numbers must be assigned before anything else is
        # read.
        for name in Extraction.read_paths(tables.work):
            repo.path_names.id(name)
        dataset = Dataset.load(
            repo, reports, zone=model.config.data.zone, suffixes=suffixes, progress=progress
        )
        case_by_report = {case.report.id: case for case in dataset.cases}
        training_set = LabelledCandidates(
            repo,
            suffixes,
            case_by_report,
            stage_one,
            lambda part: FeatureTable.read_blocks(blocks[part]),
        )
        parts: dict[str, list[Candidates]] = {}
        for part in PARTS:
            candidates = training_set.candidates(part, depth, for_training=part == "train")
            parts[part] = list(candidates)
        parts["train"] = parts["train"][-newest:]
        _write_bundle(out, parts, repo, progress)
    return {part: len(candidates) for part, candidates in parts.items()}


def _write_bundle(
    out: Path, parts: Mapping[str, Sequence[Candidates]], repo: Repository, progress: Progress
) -> None:
    """Write the candidates of each report, then the texts of their blobs."""
    path_by_blob: dict[str, str] = {}
    for part_candidates in parts.values():
        for candidates in part_candidates:
            path_by_blob.update(zip(candidates.blobs, candidates.paths, strict=True))
    blobs = sorted(path_by_blob, key=lambda blob: (path_by_blob[blob], blob))
    with (
        atomic_write(out) as temporary,
        lzma.open(
            temporary, "wt", encoding="utf-8", format=lzma.FORMAT_XZ, filters=_FILTERS
        ) as file,
    ):
        file.write(json.dumps({"format": FORMAT}) + "\n")
        for part, part_candidates in parts.items():
            for candidates in part_candidates:
                record = {"part": part, **asdict(candidates)}
                file.write(json.dumps(record, default=_to_plain) + "\n")
        for number, (blob, text) in enumerate(texts_of(repo)(blobs), start=1):
            if text is not None:
                file.write(json.dumps({"blob": blob, "text": text[:MAX_CHARACTERS]}) + "\n")
            progress("packing files", number, len(blobs))


def bundle_key(run: Path, reports: Path, *settings: int) -> str:
    """Return a key of a bundle's content, which depends on the training, reports and settings."""
    files = (*sorted((run / "checkpoint").glob("*.*")), reports)
    return content_key([fingerprint(path) for path in files], settings)


def read_bundle(path: Path) -> CandidateBundle:
    """Return the bundle in a file. Raises ToslocError if the file is damaged or is no bundle."""
    parts: dict[str, list[Candidates]] = {part: [] for part in PARTS}
    texts: dict[str, str] = {}
    try:
        with lzma.open(path, "rt", encoding="utf-8") as file:
            if json.loads(next(file)).get("format") != FORMAT:
                raise ToslocError(
                    f"{path}: this is not a pack in the format {FORMAT}; create one with: tosloc"
                    " lab pack"
                )
            for line in file:
                record = json.loads(line)
                if "blob" in record:
                    texts[record["blob"]] = record["text"]
                else:
                    parts[record.pop("part")].append(_parse_candidates(**record))
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
            f"{path}: this is not a pack, or it is damaged ({error}); create one with: tosloc lab"
            " pack"
        ) from None
    return CandidateBundle(parts, texts)


def _to_plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value.tolist()


def _parse_candidates(report: dict[str, Any], **record: Any) -> Candidates:
    """Return the candidates in a JSON record; lists become arrays or tuples."""
    opened = datetime.fromisoformat(report.pop("opened"))
    values: dict[str, Any] = {}
    for name, value in record.items():
        if name in _ARRAYS:
            values[name] = np.array(value, dtype=_ARRAYS[name])
        else:
            values[name] = tuple(value) if isinstance(value, list) else value
    return Candidates(BugReport(**report, opened=opened), **values)
