"""What was learned, on disk: JSON, arrays and safetensors; never pickle. Also the shipped weights.

One small file, written last, holds the SHA-256 of every other one: nothing is parsed before all of them fit.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import tosloc
from tosloc.arrays import check_numbers, load_arrays, pack_strings, prefixed, save_arrays, under, unpack_strings
from tosloc.calibration import HIGHEST, LOWEST
from tosloc.code.languages import analyser
from tosloc.errors import CheckpointError
from tosloc.index.documents import Documents
from tosloc.io import open_plain, parse_json, printable, read_plain, write_text
from tosloc.rank import features
from tosloc.rank.lambdamart import HeadRanker
from tosloc.rank.stage_one import StageOne
from tosloc.rank.trees import Trees
from tosloc.rerank import RERANKERS, reranker_class

if TYPE_CHECKING:
    from tosloc.rank.fitting import Choice
    from tosloc.rerank.base import Reranker

WEIGHTS_FILE: Final = "weights.json"
DIGESTS_FILE: Final = "digests.json"
"""{"sha256": {path in the folder: SHA-256 of the file}}"""
_LARGEST_WEIGHT: Final = 1e9
_LARGEST: Final = 1 << 26
"""Bytes of a record."""
_RANKER_FILE: Final = "ranker.npz"
LEARNED_ON: Final = "learned on"
"""Key of shipped weights under which stands what taught them."""
REPORTS_FILE: Final = "reports.npz"
VERSION_FILE: Final = "version.npz"
NOT_FITTING: Final = (KeyError, IndexError, ValueError, TypeError)
"""What arrays that are no checkpoint's raise when put together."""


def checkpoint_folder(folder: str | Path) -> Path:
    """The checkpoint that ``folder`` is, or holds. Raises CheckpointError when there is none."""
    path = Path(folder).expanduser()
    for candidate in (path, path / "checkpoint"):
        if (candidate / WEIGHTS_FILE).exists():
            return candidate
    raise CheckpointError(f"{path} holds no checkpoint (no {WEIGHTS_FILE}); name the folder that tosloc train wrote")


def write_digests(folder: Path) -> None:
    """Write the digests of all files of a checkpoint, as they are now; last of all.

    Raises CheckpointError for something in it that is neither a plain file nor a folder of them.
    """
    digests = {name: _digest(path) for name, path in _files(folder).items()}
    write_text(folder / DIGESTS_FILE, json.dumps({"sha256": digests}, indent=1, sort_keys=True) + "\n")


def check_digests(folder: Path) -> None:
    """Raise CheckpointError, naming the file, unless a checkpoint's files are those whose digests it holds."""
    digests, present = read_record(folder / DIGESTS_FILE).get("sha256"), _files(folder)
    if not isinstance(digests, dict):
        raise CheckpointError(f"{folder / DIGESTS_FILE} holds no digests; train again, or copy the whole folder")
    for name in sorted(digests.keys() | present.keys()):
        path = folder / printable(name)
        if name not in present:
            raise CheckpointError(f"{path} is missing; train again, or copy the whole folder")
        if name not in digests:
            raise CheckpointError(f"{path} is no part of this checkpoint ({DIGESTS_FILE} lacks it); take it away")
        if digests[name] != _digest(present[name]):
            why = f"is damaged or was changed ({DIGESTS_FILE} has another SHA-256 of it)"
            raise CheckpointError(f"{path} {why}; train again, or copy the whole folder")


def _files(folder: Path) -> dict[str, Path]:
    """Path within the folder -> each file, but for the digests and what has a hidden name."""
    found: dict[str, Path] = {}
    for parent, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in [*folders, *files]:
            path = Path(parent, name)
            if path.is_dir() and not path.is_symlink():
                continue
            if not name.startswith(".") and path != folder / DIGESTS_FILE:
                found[path.relative_to(folder).as_posix()] = path
    return found


def _digest(path: Path) -> str:
    try:
        with open_plain(path) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise CheckpointError(f"{path} cannot be read ({error.strerror or error}); copy the whole folder") from error


def weights_record(
    stage: StageOne, choice: Choice | None = None, temperature: float | None = None, *, lizard: bool = False
) -> dict[str, Any]:
    """What weights.json holds: stage one, learned with or without lizard's complexity, and the shares' temperature."""
    return {
        "tosloc": tosloc.__version__,
        "analyser": analyser(lizard),
        "weights": dict(zip(stage.features, stage.weights.tolist(), strict=True)),
        "ranker": None
        if stage.ranker is None
        else {"weight": stage.ranker.weight, "features": list(stage.ranker.features)},
        "temperature": temperature,
        "validation": {"taken": choice.taken, "tried": choice.tried} if choice is not None else None,
    }


def write_stage_one(folder: Path, stage: StageOne) -> None:
    """Write the learned ranker, if there is one; the weights are for the caller to write, last of all."""
    if stage.ranker is not None:
        save_arrays(folder / _RANKER_FILE, stage.ranker.trees.to_arrays())


def read_stage_one(record: Mapping[str, Any], folder: Path) -> StageOne:
    """Stage one from weights.json and, where it names a learned ranker, ranker.npz beside it."""
    where = folder / WEIGHTS_FILE
    weights, ranker = record.get("weights"), record.get("ranker")
    if not isinstance(weights, dict) or not weights or not all(map(_is_number, weights.values())):
        raise CheckpointError(f"{where} holds no weights of features, a number each; train again")
    unknown = [name for name in weights if name not in features.ALL]
    if unknown:
        raise CheckpointError(f"{where} weighs a feature that this version does not know, {unknown[0]!r}; train again")
    values = np.array(list(weights.values()), dtype=np.float64)
    return StageOne(tuple(weights), values, None if ranker is None else _ranker(ranker, weights, folder))


def _ranker(record: Any, weights: Mapping[str, Any], folder: Path) -> HeadRanker:
    path = folder / _RANKER_FILE
    try:
        names, weight = tuple(record["features"]), record["weight"]
        if not _is_number(weight) or weight < 0 or not set(names) <= weights.keys():
            raise ValueError("its weight or features are none")
        return HeadRanker(names, Trees.from_arrays(load_arrays(path), len(names) + 2), float(weight))
    except NOT_FITTING as error:
        raise damaged(path, error) from error


def read_temperature(record: Mapping[str, Any], folder: Path) -> float | None:
    """The temperature of shares in weights.json; None where none was fitted."""
    value = record.get("temperature")
    if value is None:
        return None
    if not _is_number(value) or not LOWEST <= value <= HIGHEST:
        raise CheckpointError(
            f"{folder / WEIGHTS_FILE} has a temperature that is no number from {LOWEST:g} to {HIGHEST:g}; train again"
        )
    return float(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= _LARGEST_WEIGHT


def shipped_stage_one() -> StageOne:
    """The shipped stage one."""
    return shipped()[0]


def shipped() -> tuple[StageOne, float | None]:
    """The shipped stage one, which ``tosloc lab pool`` learns, and its shares' temperature."""
    with resources.as_file(resources.files("tosloc") / "defaults") as folder:
        check_digests(folder)
        record = read_record(folder / WEIGHTS_FILE)
        return read_stage_one(record, folder), read_temperature(record, folder)


def shipped_projects() -> frozenset[str]:
    """Names of the projects that taught the shipped weights, as their list called them; none where they do not say."""
    with resources.as_file(resources.files("tosloc") / "defaults") as folder:
        learned_on = read_record(folder / WEIGHTS_FILE).get(LEARNED_ON)
    projects = learned_on.get("projects") if isinstance(learned_on, dict) else None
    return frozenset(projects) if isinstance(projects, dict) else frozenset()


def read_reranker(record: Mapping[str, Any], folder: Path) -> Reranker | None:
    """The reranker of a checkpoint, if it has one. Raises CheckpointError."""
    name = record.get("stage_two")
    if name is None:
        return None
    if not isinstance(name, str) or name not in RERANKERS:
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
        documents, paths = Documents.from_arrays(under("reports", stored)), unpack_strings(stored, "paths")
        check_numbers(documents.files, len(paths), "files")
        return documents, paths
    except NOT_FITTING as error:
        raise damaged(path, error) from error


def damaged(path: Path, error: Exception) -> CheckpointError:
    """What to say of arrays that do not fit together."""
    return CheckpointError(f"{path} is damaged or of another version ({error}); train again")


def read_record(path: Path) -> dict[str, Any]:
    """A JSON object of a checkpoint. Raises CheckpointError."""
    try:
        record = parse_json(read_plain(path, _LARGEST).decode("utf-8"))
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{path} cannot be read ({error}); train again, or copy the whole folder") from error
    if not isinstance(record, dict):
        raise CheckpointError(f"{path} is not a JSON object; train again, or copy the whole folder")
    return record
