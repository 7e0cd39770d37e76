"""What was learned, on disk: JSON, arrays and safetensors; never pickle. Also the shipped weights."""

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
from tosloc.core.arrays import from_arrays, open_arrays, save_arrays, to_arrays, unpack_words
from tosloc.core.errors import CheckpointError
from tosloc.core.io import parse_json, read_regular_file, write_text
from tosloc.localize.answer import Weights
from tosloc.rank import features
from tosloc.rank.calibration import DEFAULT_TEMPERATURE, MAX_TEMPERATURE, MIN_TEMPERATURE
from tosloc.rank.stage_one import HeadRanker, StageOne, Trees
from tosloc.rerank.base import RERANKERS, reranker_class
from tosloc.retrieval.documents import Documents, check_documents
from tosloc.storage.prepared import PreparedVersion, load_untrusted_version

if TYPE_CHECKING:
    from tosloc.rank.fitting import Choice
    from tosloc.rerank.base import Reranker

_SHIPPED: Final = Path(__file__).parents[1] / "defaults"
LARGE: Final = 1000  # source files; the four projects have 1,500 to 7,600
WEIGHTS_FILE: Final = "weights.json"
_LARGEST_WEIGHT: Final = 1e9
_LARGEST: Final = 1 << 26  # bytes of a record
_RANKER_FILE: Final = "ranker.npz"
LEARNED_ON: Final = "learned on"  # key of shipped weights under which stands what taught them
TRAINING: Final = (
    "training"  # key of weights.json: what is known of the training, as an answer has it
)
_REPORTS_FILE: Final = "reports.npz"
VERSION_FILE: Final = "version.npz"
FILES: Final = (WEIGHTS_FILE, _RANKER_FILE, _REPORTS_FILE, VERSION_FILE)


def checkpoint_folder(folder: str | Path) -> Path:
    """The checkpoint that ``folder`` is, or holds. Raises CheckpointError when there is none."""
    path = Path(folder).expanduser()
    for candidate in (path, path / "checkpoint"):
        if (candidate / WEIGHTS_FILE).exists():
            return candidate
    raise CheckpointError(
        f"{path} holds no checkpoint (no {WEIGHTS_FILE}); name the folder that tosloc train wrote"
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
    """Write stage one, learned with or without lizard: its ranker, and weights.json with ``more`` in it."""
    ranker = stage.ranker
    if ranker is not None:
        save_arrays(folder / _RANKER_FILE, ranker.trees.to_arrays())
    record = {
        "tosloc": tosloc.__version__,
        "analyser": analyser_version(lizard),
        "weights": dict(zip(stage.features, stage.weights.tolist(), strict=True)),
        "ranker": None
        if ranker is None
        else {"weight": ranker.weight, "features": list(ranker.features)},
        "temperature": temperature,
        "choice": None if choice is None else asdict(choice),
    }
    write_text(folder / WEIGHTS_FILE, json.dumps({**record, **more}, indent=1) + "\n")


def read_stage_one(folder: Path) -> tuple[StageOne, float, dict[str, Any]]:
    """Stage one of weights.json and, where that names a learned ranker, of ranker.npz beside it; the temperature of its
    shares; and all of the record. Raises CheckpointError.
    """
    where = folder / WEIGHTS_FILE
    record = read_record(where)
    weights, ranker = record.get("weights"), record.get("ranker")
    if not isinstance(weights, dict) or not weights or not all(map(_is_number, weights.values())):
        raise CheckpointError(f"{where} holds no weights of features, a number each; train again")
    if unknown := [name for name in weights if name not in features.ALL]:
        raise CheckpointError(
            f"{where} weighs a feature that this version does not know, {unknown[0]!r}; train again"
        )
    temperature = record.get("temperature", DEFAULT_TEMPERATURE)
    if not (_is_number(temperature) and MIN_TEMPERATURE <= temperature <= MAX_TEMPERATURE):
        raise CheckpointError(
            f"{where} has a temperature that is no number of {MIN_TEMPERATURE:g} to {MAX_TEMPERATURE:g}; train again"
        )
    stage = StageOne(tuple(weights), np.array(list(weights.values()), dtype=np.float64))
    if ranker is not None:
        with open_arrays(folder / _RANKER_FILE) as arrays:
            names, weight = tuple(ranker["features"]), ranker["weight"]
            if not _is_number(weight) or weight < 0 or not set(names) <= weights.keys():
                raise ValueError("its weight or features are none")
            trees = Trees.from_arrays(arrays, len(names) + 2)
            stage = replace(stage, ranker=HeadRanker(names, trees, float(weight)))
    return stage, temperature, record


def _is_number(value: Any) -> bool:
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and abs(value) <= _LARGEST_WEIGHT
    )


def shipped(paths: Sequence[str] = ()) -> tuple[StageOne, float]:
    """The shipped stage one for a version of these files, which ``tosloc lab pretrain`` learned, and the temperature of
    its shares. Large Java trees have one of their own, learned on four such projects and their Bugzilla: one for all
    serves neither them nor GitHub's projects as well (docs/results.md).
    """
    java = len(paths) >= LARGE and 2 * sum(path.endswith(".java") for path in paths) >= len(paths)
    return _shipped("java" if java else "")


@cache
def _shipped(kind: str) -> tuple[StageOne, float]:
    return read_stage_one(_SHIPPED / kind)[:2]


def read_weights(record: Mapping[str, Any], provenance: Mapping[str, Any], folder: Path) -> Weights:
    """Return what a checkpoint says about the training of its weights. Raises CheckpointError.

    A checkpoint of an earlier version says how many reports it learned from, and whether it kept the shipped weights.
    """
    from pydantic import (
        TypeAdapter,
        ValidationError,
    )  # here, as below: the shipped weights are used without it

    from tosloc.rank.fitting import AS_SHIPPED

    said = record.get(TRAINING)
    if said is None:
        splits, choice = provenance.get("splits"), record.get("choice")
        kept = isinstance(choice, dict) and choice.get("taken") == AS_SHIPPED
        reports = splits.get("train") if isinstance(splits, dict) else None
        said = {"kind": "shipped" if kept else "trained", "reports": reports}
    try:
        weights = TypeAdapter(Weights).validate_python(said)
    except ValidationError as error:
        first = error.errors()[0]
        what = ".".join(map(str, (TRAINING, *first["loc"])))
        raise CheckpointError(
            f"{folder / WEIGHTS_FILE}: {what}: {first['msg']}; train again"
        ) from None
    if weights.reports is not None and weights.reports < 0:
        raise CheckpointError(
            f"{folder / WEIGHTS_FILE}: {TRAINING}.reports: is negative; train again"
        )
    return weights


def read_reranker(record: Mapping[str, Any], folder: Path) -> Reranker | None:
    """The reranker of a checkpoint, if it has one. Raises CheckpointError."""
    name = record.get("stage_two")
    if name is None:
        return None
    if name not in list(RERANKERS):
        raise CheckpointError(
            f"{folder / WEIGHTS_FILE} names a reranker that this version does not know, {name!r}; train again"
        )
    return reranker_class(name).load(folder / name)


def write_known_reports(folder: Path, documents: Documents, paths: Sequence[str]) -> None:
    """Write fixed reports; ``paths`` are what their numbers mean, of which those that occur are kept."""
    used = np.unique(documents.files)
    numbers = np.full(len(paths), -1, dtype=np.int32)
    numbers[used] = np.arange(len(used), dtype=np.int32)
    names = [paths[number] for number in used.tolist()]
    save_arrays(
        folder / _REPORTS_FILE,
        to_arrays({"paths": names, "reports": documents.renumber_files(numbers)}),
    )


def read_known_reports(folder: Path) -> tuple[Documents, Sequence[str]] | None:
    """What ``write_known_reports`` wrote, if it did. Raises CheckpointError for a damaged file."""
    if not (folder / _REPORTS_FILE).exists():
        return None
    with open_arrays(folder / _REPORTS_FILE) as arrays:
        paths = unpack_words(arrays["paths"])
        check_documents(arrays, "reports", len(paths))
        return from_arrays(Documents, arrays, "reports"), paths


def read_version(folder: Path) -> PreparedVersion | None:
    """The version that a checkpoint carries, to localize in without a repository. Raises CheckpointError."""
    if not (folder / VERSION_FILE).exists():
        return None
    with open_arrays(folder / VERSION_FILE) as arrays:
        return load_untrusted_version(arrays)


def write_record(path: Path, record: Mapping[str, Any]) -> None:
    """Write a JSON object with its keys in order."""
    write_text(path, json.dumps(record, indent=1, sort_keys=True) + "\n")


def read_record(path: Path) -> dict[str, Any]:
    """A JSON object of a checkpoint. Raises CheckpointError."""
    try:
        record = parse_json(read_regular_file(path, _LARGEST).decode("utf-8"))
    except (OSError, ValueError) as error:
        raise CheckpointError(
            f"{path} cannot be read ({error}); train again, or copy the whole folder"
        ) from error
    if not isinstance(record, dict):
        raise CheckpointError(f"{path} is not a JSON object; train again, or copy the whole folder")
    return record
