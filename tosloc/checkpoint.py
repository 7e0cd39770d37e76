"""What was learned, on disk: JSON, LightGBM's text, arrays and safetensors; never pickle. Also the shipped weights."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any, Final

import numpy as np

import tosloc
from tosloc.analysis.facts import ANALYSER
from tosloc.arrays import load_arrays, pack_strings, prefixed, save_arrays, under, unpack_strings
from tosloc.config import Config
from tosloc.errors import CheckpointError
from tosloc.files import write_text
from tosloc.index.documents import Documents
from tosloc.learning.lambdamart import HeadRanker
from tosloc.reranking import RERANKERS, reranker_class
from tosloc.reranking.base import Reranker
from tosloc.retrieval import features
from tosloc.retrieval.fitting import Choice
from tosloc.retrieval.stage_one import StageOne

_SCHEMA: Final = 1
"""Version of the checkpoint's layout."""
WEIGHTS_FILE: Final = "weights.json"
_RANKER_FILE: Final = "ranker.txt"
REPORTS_FILE: Final = "reports.npz"
VERSION_FILE: Final = "version.npz"
OLD_ENCODER: Final = "second"
"""Folder in which earlier checkpoints hold an encoder reranker."""
NOT_FITTING: Final = (KeyError, IndexError, ValueError, TypeError)
"""What arrays that are no checkpoint's raise when put together."""


def checkpoint_folder(folder: str | Path) -> Path:
    """The checkpoint that ``folder`` is, or holds. Raises CheckpointError when there is none."""
    path = Path(folder).expanduser()
    for candidate in (path, path / "checkpoint"):
        if (candidate / WEIGHTS_FILE).exists():
            return candidate
    raise CheckpointError(f"{path} holds no checkpoint (no {WEIGHTS_FILE}); name the folder that tosloc train wrote")


def weights_record(stage: StageOne, choice: Choice | None = None) -> dict[str, Any]:
    """What weights.json holds of stage one."""
    return {
        "schema": _SCHEMA,
        "tosloc": tosloc.__version__,
        "analyser": ANALYSER,
        "weights": dict(zip(stage.features, stage.weights.tolist(), strict=True)),
        "mix": stage.ranker.weight_ if stage.ranker is not None else None,
        "validation": {"taken": choice.taken, "tried": choice.tried} if choice is not None else None,
    }


def write_stage_one(folder: Path, stage: StageOne) -> None:
    """Write the learned ranker, if there is one; the weights are for the caller to write, last of all."""
    if stage.ranker is not None:
        write_text(folder / _RANKER_FILE, stage.ranker.text())


def read_stage_one(record: Mapping[str, Any], folder: Path, config: Config) -> StageOne:
    """Stage one from weights.json and, where it gives the learned ranker a weight, ranker.txt beside it."""
    where = folder / WEIGHTS_FILE
    schema, weights, weight = (record.get(key) for key in ("schema", "weights", "mix"))
    if not isinstance(schema, int):
        raise CheckpointError(f"{where} is not what tosloc train wrote (it has no schema); train again")
    if schema > _SCHEMA:
        raise CheckpointError(f"{where} was made by a newer TosLoc (schema {schema}); update TosLoc")
    if not isinstance(weights, dict) or not weights or not all(map(_is_number, weights.values())):
        raise CheckpointError(f"{where} holds no weights of features, a number each; train again")
    unknown = [name for name in weights if name not in features.ALL]
    if unknown:
        raise CheckpointError(f"{where} weighs a feature that this version does not know, {unknown[0]!r}; train again")
    ranker = None
    if weight is not None:
        if not _is_number(weight):
            raise CheckpointError(f"{where} mixes in the learned ranker by no number; train again")
        ranker = _ranker(folder / _RANKER_FILE, config, float(weight))
    return StageOne(tuple(weights), np.array(list(weights.values()), dtype=np.float64), ranker)


def _ranker(path: Path, config: Config, weight: float) -> HeadRanker:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CheckpointError(f"{path} cannot be read ({error}); copy the whole folder") from error
    try:
        return HeadRanker.from_text(text, config.stage_one.ranker, weight)
    except CheckpointError as error:
        raise CheckpointError(f"{path}: {error}") from error


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def is_shipped() -> bool:
    """Whether this copy of TosLoc has shipped weights: they are learned by ``tosloc lab pool``."""
    return resources.files("tosloc").joinpath("defaults", WEIGHTS_FILE).is_file()


def shipped_stage_one() -> StageOne:
    """The shipped stage one. Raises CheckpointError where there is none."""
    if not is_shipped():
        raise CheckpointError(
            "this copy of TosLoc ships no weights; train on a project first, and name its folder with --checkpoint"
        )
    with resources.as_file(resources.files("tosloc") / "defaults") as folder:
        return read_stage_one(read_record(folder / WEIGHTS_FILE), folder, Config())


def read_reranker(record: Mapping[str, Any], folder: Path) -> Reranker | None:
    """The reranker of a checkpoint, if it has one. Raises CheckpointError."""
    name = record.get("stage_two")
    if name is None and (folder / OLD_ENCODER).exists():
        raise CheckpointError(
            f"{folder / OLD_ENCODER}: written by an earlier TosLoc, whose encoders are kept otherwise; train again"
        )
    if name is None:
        return None
    if name not in RERANKERS:
        raise CheckpointError(
            f"{folder / WEIGHTS_FILE} names a reranker that this version does not know, {name!r}; train again"
        )
    return reranker_class(name).load(folder / name)


def write_known_reports(path: Path, documents: Documents, paths: tuple[str, ...]) -> None:
    """Write fixed reports; ``paths`` are what their numbers mean, of which those that occur are kept."""
    used = np.unique(documents.files)
    numbers = np.full(len(paths), -1, dtype=np.int32)
    numbers[used] = np.arange(len(used), dtype=np.int32)
    kept = documents.renumbered(numbers).to_arrays()
    names = pack_strings([paths[number] for number in used.tolist()])
    save_arrays(path, prefixed("reports", kept) | prefixed("paths", names))


def read_known_reports(path: Path) -> tuple[Documents, tuple[str, ...]]:
    """What ``write_known_reports`` wrote. Raises CheckpointError."""
    stored = load_arrays(path)
    try:
        return Documents.from_arrays(under("reports", stored)), unpack_strings(stored, "paths")
    except NOT_FITTING as error:
        raise damaged(path, error) from error


def damaged(path: Path, error: Exception) -> CheckpointError:
    """What to say of arrays that do not fit together."""
    return CheckpointError(f"{path} is damaged or of another version ({error}); train again")


def read_record(path: Path) -> dict[str, Any]:
    """A JSON object of a checkpoint. Raises CheckpointError."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise CheckpointError(f"{path} cannot be read ({error}); train again, or copy the whole folder") from error
    if not isinstance(record, dict):
        raise CheckpointError(f"{path} is not a JSON object; train again, or copy the whole folder")
    return record
