"""Read and write checkpoints as JSON, arrays and safetensors, never pickle.

This module also reads the shipped weights.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import tosloc
from tosloc.code.languages import analyser_version
from tosloc.core.arrays import open_arrays, save_arrays
from tosloc.core.errors import CheckpointError
from tosloc.core.io import parse_json, read_regular_file, write_text
from tosloc.localize.answer import Weights
from tosloc.rank import features
from tosloc.rank.model import (
    DEFAULT_TEMPERATURE,
    TEMPERATURES,
    HeadRanker,
    StageOne,
    Trees,
)
from tosloc.rerank.base import RERANKERS, reranker_class
from tosloc.retrieval.version_index import KnownReports, VersionIndex

if TYPE_CHECKING:
    from tosloc.rank.model.fitting import Choice
    from tosloc.rerank.base import Reranker

_SHIPPED: Final = Path(__file__).parents[1] / "defaults"
MIN_FILES_OF_LARGE_TREE: Final = 1000
"""Number of source files from which a Java tree gets the weights for large Java trees.

The eight projects that these weights were learned on have 1,500 to 10,000 source files.
"""
WEIGHTS_FILE: Final = "weights.json"
_MAX_WEIGHT: Final = 1e9
_MAX_RECORD_BYTES: Final = 1 << 26
_RANKER_FILE: Final = "ranker.npz"
LEARNED_ON: Final = "learned on"
"""Key in the record of shipped weights for the projects that they were learned on."""
TRAINING: Final = "training"
"""Key in weights.json: facts about the training, as in ``Answer.weights``."""
_REPORTS_FILE: Final = "reports.npz"
VERSION_FILE: Final = "version.npz"
FILES: Final = (WEIGHTS_FILE, _RANKER_FILE, _REPORTS_FILE, VERSION_FILE)


def checkpoint_folder(folder: str | Path) -> Path:
    """Return the checkpoint folder that ``folder`` is or contains, or raise CheckpointError."""
    path = Path(folder).expanduser()
    for candidate in (path, path / "checkpoint"):
        if (candidate / WEIGHTS_FILE).exists():
            return candidate
    raise CheckpointError(
        f"{path} contains no checkpoint ({WEIGHTS_FILE} is missing)",
        hint="name the folder that tosloc train wrote",
    )


def write_stage_one(
    folder: Path,
    stage: StageOne,
    temperature: float,
    more: Mapping[str, Any],
    choice: Choice | None = None,
    *,
    lizard: bool = False,
) -> None:
    """Write stage one: its learned ranker, and weights.json, to which ``more`` is added.

    ``lizard`` says whether lizard measured the complexity in the features that it learned from.
    """
    ranker = stage.ranker
    ranker_record = None
    if ranker is not None:
        save_arrays(folder / _RANKER_FILE, ranker.trees.to_arrays())
        ranker_record = {"weight": ranker.weight, "features": list(ranker.features)}
    record = {
        "tosloc": tosloc.__version__,
        "analyser": analyser_version(lizard),
        "weights": dict(zip(stage.features, stage.weights.tolist(), strict=True)),
        "ranker": ranker_record,
        "temperature": temperature,
        "choice": None if choice is None else asdict(choice),
    }
    write_text(folder / WEIGHTS_FILE, json.dumps({**record, **more}, indent=1) + "\n")


def read_stage_one(folder: Path) -> tuple[StageOne, float, dict[str, Any]]:
    """Return stage one, the softmax temperature of its scores, and all values of weights.json.

    A learned ranker is read from ranker.npz. Raises CheckpointError if a file is missing or
    invalid.
    """
    file = folder / WEIGHTS_FILE
    record = read_record(file)
    weights = record.get("weights")
    if not isinstance(weights, dict) or not weights or not all(map(_is_weight, weights.values())):
        raise CheckpointError(f"{file} does not contain one number for each feature; train again")
    for name in weights:
        if name not in features.ALL:
            raise CheckpointError(
                f"{file} has a weight for the feature {name!r}, which this version does not have;"
                " train again"
            )
    temperature = record.get("temperature", DEFAULT_TEMPERATURE)
    if not (_is_weight(temperature) and TEMPERATURES[0] <= temperature <= TEMPERATURES[1]):
        raise CheckpointError(
            f"{file} has a temperature that is not a number from {TEMPERATURES[0]:g} to"
            f" {TEMPERATURES[1]:g}; train again"
        )
    stage = StageOne(tuple(weights), np.array(list(weights.values()), dtype=np.float64))
    if record.get("ranker") is not None:
        ranker = _read_ranker(folder / _RANKER_FILE, record["ranker"], weights)
        stage = replace(stage, ranker=ranker)
    return stage, temperature, record


def _read_ranker(file: Path, record: Any, weights: Mapping[str, float]) -> HeadRanker:
    """Read the learned ranker that a record describes, or raise CheckpointError."""
    with open_arrays(file) as arrays:
        names = tuple(record["features"])
        weight = record["weight"]
        if not _is_weight(weight) or weight < 0 or not set(names) <= weights.keys():
            raise ValueError("its weight or its features are invalid")
        trees = Trees.from_arrays(arrays, len(names) + 2)
        return HeadRanker(names, trees, float(weight))


def _is_weight(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) <= _MAX_WEIGHT


def shipped(paths: Sequence[str] = ()) -> tuple[StageOne, float]:
    """Return the shipped weights for a version with these files, and their softmax temperature.

    ``tosloc lab pretrain`` learned them. Large Java trees have weights of their own, learned on
    eight such projects and their Bugzilla, because common weights would be worse for these trees
    and for projects on GitHub (docs/results.md).
    """
    java_files = sum(path.endswith(".java") for path in paths)
    is_java = len(paths) >= MIN_FILES_OF_LARGE_TREE and 2 * java_files >= len(paths)
    return _read_shipped("java" if is_java else "")


@cache
def _read_shipped(kind: str) -> tuple[StageOne, float]:
    stage, temperature, _ = read_stage_one(_SHIPPED / kind)
    return stage, temperature


def read_weights(record: Mapping[str, Any], provenance: Mapping[str, Any], folder: Path) -> Weights:
    """Return the facts about the training of a checkpoint's weights. Raises CheckpointError.

    A checkpoint of an earlier version of TosLoc only records how many reports it learned from, and
    whether it kept the shipped weights.
    """
    # These are imported here because the shipped weights, the usual case, don't need them.
    from pydantic import TypeAdapter, ValidationError

    from tosloc.rank.model.fitting import AS_SHIPPED

    training = record.get(TRAINING)
    if training is None:
        splits = provenance.get("splits")
        choice = record.get("choice")
        kept = isinstance(choice, dict) and choice.get("taken") == AS_SHIPPED
        reports = splits.get("train") if isinstance(splits, dict) else None
        training = {"kind": "shipped" if kept else "trained", "reports": reports}
    try:
        weights = TypeAdapter(Weights).validate_python(training)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, (TRAINING, *first["loc"])))
        raise CheckpointError(
            f"{folder / WEIGHTS_FILE}: {key}: {first['msg']}; train again"
        ) from None
    if weights.reports is not None and weights.reports < 0:
        raise CheckpointError(
            f"{folder / WEIGHTS_FILE}: {TRAINING}.reports must not be negative; train again"
        )
    return weights


def read_reranker(record: Mapping[str, Any], folder: Path) -> Reranker | None:
    """Return the reranker of a checkpoint; None if it has none. Raises CheckpointError."""
    name = record.get("stage_two")
    if name is None:
        return None
    if name not in list(RERANKERS):
        raise CheckpointError(
            f"{folder / WEIGHTS_FILE} names the reranker {name!r}, which this version does not"
            " have; train again"
        )
    return reranker_class(name).load(folder / name)


def write_known_reports(folder: Path, known: KnownReports) -> None:
    """Write labelled reports."""
    save_arrays(folder / _REPORTS_FILE, known.to_arrays())


def read_known_reports(folder: Path) -> KnownReports | None:
    """Return the reports that ``write_known_reports`` wrote; None if it wrote none.

    Raises CheckpointError for a damaged file.
    """
    if not (folder / _REPORTS_FILE).exists():
        return None
    with open_arrays(folder / _REPORTS_FILE) as arrays:
        return KnownReports.from_untrusted_arrays(arrays)


def read_version(folder: Path) -> VersionIndex | None:
    """Return the version in a checkpoint; None if it contains none. Raises CheckpointError."""
    if not (folder / VERSION_FILE).exists():
        return None
    with open_arrays(folder / VERSION_FILE) as arrays:
        return VersionIndex.from_untrusted_arrays(arrays)


def write_record(path: Path, record: Mapping[str, Any]) -> None:
    """Write a JSON object to a file, with sorted keys."""
    write_text(path, json.dumps(record, indent=1, sort_keys=True) + "\n")


def read_record(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file of a checkpoint, or raise CheckpointError."""
    try:
        record = parse_json(read_regular_file(path, _MAX_RECORD_BYTES).decode("utf-8"))
    except (OSError, ValueError) as error:
        raise CheckpointError(
            f"{path} cannot be read ({error}); train again, or copy the whole folder"
        ) from error
    if not isinstance(record, dict):
        raise CheckpointError(f"{path} is not a JSON object; train again, or copy the whole folder")
    return record
