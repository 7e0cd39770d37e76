"""Candidates with their files' texts in one small file: all that training an encoder needs on another machine.

Compressed JSON lines. Files stand by path, so that versions of one file, which differ by little, are neighbours.
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import numpy as np

from tosloc.arrays import load_arrays
from tosloc.code.languages import SOURCE_SUFFIXES
from tosloc.errors import ToslocError
from tosloc.experiment import fingerprint
from tosloc.git.repository import Repository
from tosloc.index.history_index import HistoryIndex
from tosloc.io import key_of, written_whole
from tosloc.localization import LabelledCandidates, texts_of
from tosloc.localizer import Localizer
from tosloc.rank.feature_tables import HISTORY_FILE, WORK, kept_blocks, read_blocks
from tosloc.records import BugReport, Progress, silent
from tosloc.reports.labelled import load_dataset
from tosloc.rerank.base import Candidates, RerankingContext

PARTS: Final = ("train", "validation", "test")
FORMAT = "tosloc-candidates/1"
LETTERS: Final = 40_000  # kept of each file
_FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 4, "dict_size": 64 * 2**20}]
"""A window that holds many versions of a file."""


@dataclass(frozen=True)
class BundleSettings:
    """How much of a training a bundle holds; 0 reports are all of them, another number the newest so many."""

    candidates: int = 50
    train_reports: int = 0
    scored_reports: int = 0


@dataclass(frozen=True, eq=False)
class CandidateBundle:
    """What ``bundle_training`` wrote."""

    parts: Mapping[str, Sequence[Candidates]]
    texts: Mapping[str, str]  # blob -> its text; blobs that could not be read are absent

    def read(self, blobs: Sequence[str]) -> Iterator[tuple[str, str | None]]:
        """Each blob with its text; None for one that could not be read."""
        return ((blob, self.texts.get(blob)) for blob in blobs)

    def for_reranking(self, vectors: Path) -> RerankingContext:
        """What a reranker may read: texts alone."""
        return RerankingContext(texts=self.read, vectors=vectors)

    def candidates(
        self, part: str, depth: int, *, for_training: bool = False, by_linear_score: bool = False
    ) -> Iterator[Candidates]:
        """All that was bundled of each report of a part, whatever the depth."""
        return iter(self.parts[part])


def bundle_training(
    run: Path, repository: Path, reports: Path, out: Path, settings: BundleSettings, progress: Progress = silent
) -> dict[str, int]:
    """Write the first files of a training folder's reports, with their texts; how many reports each part has."""
    blocks, localizer = kept_blocks(run), Localizer.load(run)
    suffixes = frozenset(localizer.config.data.named_suffixes) or SOURCE_SUFFIXES
    with Repository(repository) as repo:
        for name in HistoryIndex.from_arrays(load_arrays(run / WORK / HISTORY_FILE))[
            1
        ]:  # the tables' numbers of paths, before anything else is read
            repo.path_names.id(name)
        dataset = load_dataset(repo, reports, zone=localizer.config.data.zone, suffixes=suffixes, progress=progress)
        cases = {case.report.id: case for case in dataset.cases}
        training_set = LabelledCandidates(
            repo, suffixes, cases, localizer.stage_one, lambda part: read_blocks(blocks[part])
        )
        depth, parts = settings.candidates, {}
        for part in PARTS:
            candidates = training_set.candidates(part, depth, for_training=part == "train")
            newest = settings.train_reports if part == "train" else settings.scored_reports
            parts[part] = list(candidates)[-newest:]
        _write(out, bundle_key(run, reports, settings), parts, texts_of(repo), progress)
    return {part: len(made) for part, made in parts.items()}


def bundle_key(run: Path, reports: Path, settings: BundleSettings) -> str:
    """What a bundle of the training folder is made of; another one for another training, reports or settings."""
    blocks, checkpoint = kept_blocks(run), run / "checkpoint"
    files = [*(checkpoint / name for name in ("config.json", "weights.json", "ranker.npz")), reports]
    digests = [fingerprint(path) for path in files if path.exists()]
    names = [path.name for part in PARTS for path in blocks[part]]
    return key_of(digests, names, asdict(settings))


def _write(
    path: Path,
    made_of: str,
    parts: Mapping[str, Sequence[Candidates]],
    texts: Callable[[Sequence[str]], Iterable[tuple[str, str | None]]],
    progress: Progress,
) -> None:
    reports = [one for of_part in parts.values() for one in of_part]
    path_of = {blob: name for one in reports for blob, name in zip(one.blobs, one.paths, strict=True)}
    blobs = sorted(path_of, key=lambda blob: (path_of[blob], blob))
    with (
        written_whole(path) as temporary,
        lzma.open(temporary, "wt", encoding="utf-8", format=lzma.FORMAT_XZ, filters=_FILTERS) as file,
    ):
        file.write(json.dumps({"format": FORMAT, "made of": made_of}) + "\n")
        for part, of_part in parts.items():
            for one in of_part:
                file.write(json.dumps({"part": part, **_values(one)}) + "\n")
        for number, (blob, text) in enumerate(texts(blobs), start=1):
            if text is not None:
                file.write(json.dumps({"blob": blob, "text": text[:LETTERS]}) + "\n")
            progress("packing files", number, len(blobs))


def read_bundle(path: Path) -> CandidateBundle:
    """CandidateBundle of a file. Raises ToslocError when it is no bundle, or damaged."""
    parts: dict[str, list[Candidates]] = {part: [] for part in PARTS}
    texts: dict[str, str] = {}
    try:
        with lzma.open(path, "rt", encoding="utf-8") as file:
            if json.loads(next(file)).get("format") != FORMAT:
                raise ToslocError(f"{path}: not a pack of the form {FORMAT}; make one with: tosloc lab pack")
            for line in file:
                value = json.loads(line)
                if "blob" in value:
                    texts[value["blob"]] = value["text"]
                else:
                    parts[value.pop("part")].append(_candidates(value))
    except OSError as error:
        raise ToslocError(f"{path}: cannot read the pack: {error.strerror or error}") from None
    except (lzma.LZMAError, EOFError, StopIteration, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ToslocError(f"{path}: no pack, or a damaged one ({error}); make it with: tosloc lab pack") from None
    return CandidateBundle(parts, texts)


def origin_of(path: Path) -> str | None:
    """What a bundle was made of, as its first line says; None where there is no such bundle."""
    try:
        with lzma.open(path, "rt", encoding="utf-8") as file:
            head = json.loads(next(file))
    except (OSError, lzma.LZMAError, EOFError, StopIteration, ValueError):
        return None
    return head.get("made of") if isinstance(head, dict) and head.get("format") == FORMAT else None


def _values(one: Candidates) -> dict[str, Any]:
    report = one.report
    return {
        "report": report.id,
        "summary": report.summary,
        "description": report.description,
        "opened": datetime.fromtimestamp(report.opened_seconds, UTC).isoformat(),
        "version": one.version,
        "paths": one.paths,
        "blobs": one.blobs,
        "fixed": np.flatnonzero(one.fixed).tolist(),
        "scores": one.scores.tolist(),
        "missed_ranks": one.missed_ranks,
        "relevant": one.relevant,
        "fixed_at": one.fixed_at,
    }


def _candidates(value: Mapping[str, Any]) -> Candidates:
    number = len(value["blobs"])
    fixed = np.zeros(number, dtype=np.bool_)
    fixed[value["fixed"]] = True
    opened = datetime.fromisoformat(value["opened"])
    return Candidates(
        BugReport(value["report"], value["summary"], value["description"], opened),
        value["version"],
        tuple(value["paths"]),
        tuple(value["blobs"]),
        np.arange(number, dtype=np.int32),
        np.array(value["scores"], dtype=np.float64),
        fixed,
        tuple(value["missed_ranks"]),
        value["relevant"],
        int(value["fixed_at"]),
    )
