"""What the term reranker has learned, and how it lies on disk: safetensors, arrays and JSON, never pickle."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

import numpy as np
import safetensors
import safetensors.numpy

from tosloc.arrays import check_numbers, checked, load_arrays, save_arrays
from tosloc.config import TermsSettings
from tosloc.errors import CheckpointError
from tosloc.files import beside, parse_json, read_plain, write_text, written_whole
from tosloc.learning.lambdamart import HeadRanker
from tosloc.learning.trees import Trees
from tosloc.records import Float32Array, FloatArray
from tosloc.reranking.terms.combiner import combiner_rows
from tosloc.reranking.terms.dual_encoder import DualEncoder
from tosloc.reranking.terms.vocabulary import TermVocabulary

_SCHEMA: Final = 1
RECORD: Final = "terms.json"
IDFS: Final = ("in_files", "in_reports", "in_commits", "in_fixes")


@dataclass(frozen=True, eq=False)
class TermModel:
    """The terms that count, their vectors, the combiner, and the weight of both beside stage one's score."""

    settings: TermsSettings
    vocabulary: TermVocabulary
    encoder: DualEncoder
    weight: float = 0.0
    """Of the component scores beside stage one's score; 0 leaves all to stage one."""
    combiner: HeadRanker | None = None
    """Its weight is its own."""
    validation: Mapping[str, tuple[float, float]] | None = None
    """What was tried on validation: name -> MRR and MAP."""
    learned_on: tuple[str, ...] = ("train",)
    trained_until: int = 0
    """When the last of the reports that it learned from was fixed, seconds since 1970."""

    def added(self, component_scores: FloatArray, features: Float32Array) -> FloatArray:
        """(C,) what is added to stage one's scores, from (C, 2) component scores and (C, K + 2) features."""
        added: FloatArray = self.weight * component_scores.sum(axis=1)
        if self.combiner is None:
            return added
        return added + self.combiner.weight * self.combiner.trees.scores(combiner_rows(features, component_scores))

    def save(self, folder: Path) -> None:
        """Write vectors and frequencies under a name of their content, and last the record that names them."""
        folder.mkdir(parents=True, exist_ok=True)
        weights = f"vectors-{self.encoder.digest}.safetensors"
        idfs = {name: getattr(self.vocabulary, name).astype(np.float64) for name in IDFS}
        with written_whole(folder / weights) as temporary:
            # save_file has a temporary file of its own
            temporary.write_bytes(safetensors.numpy.save({**self.encoder.to_arrays(), **idfs}))
        kept, last = {weights}, None
        if self.combiner is not None:
            columns = self.combiner.trees.to_arrays()
            digest = hashlib.sha256(b"".join(array.tobytes() for array in columns.values())).hexdigest()
            trees = f"last-{digest[:16]}.npz"
            save_arrays(folder / trees, columns)
            kept, last = {weights, trees}, {"trees": trees, "mix": self.combiner.weight}
        record = {
            "schema": _SCHEMA,
            "settings": self.settings.model_dump(mode="json"),
            "weights": weights,
            "gains": dict(self.encoder.gains),
            "mix": self.weight,
            "last": last,
            "validation": self.validation,
            "learned_on": self.learned_on,
            "learned_until": self.trained_until,
            "terms": self.vocabulary.terms,
        }
        write_text(folder / RECORD, json.dumps(record, indent=1, ensure_ascii=False) + "\n")
        for old in [*folder.glob("vectors-*"), *folder.glob("last-*")]:
            if old.name not in kept:
                old.unlink()

    @classmethod
    def load(cls, folder: Path) -> Self:
        """What ``save`` wrote. Raises CheckpointError when it is incomplete, damaged or of a newer version."""
        try:
            record = parse_json(read_plain(folder / RECORD).decode("utf-8"))
            if record["schema"] > _SCHEMA:
                raise CheckpointError(f"{folder / RECORD}: written by a newer TosLoc; update TosLoc")
            arrays = safetensors.numpy.load(read_plain(beside(folder, record["weights"])))
            encoder = DualEncoder.from_arrays(arrays, record["gains"])
            vocabulary = _vocabulary(record["terms"], arrays)
            if len(vocabulary) != encoder.shape[0] or max(abs(gain) for gain in encoder.gains.values()) > _LARGEST:
                raise ValueError("terms and vectors do not fit together")
            validation, last = record["validation"], record["last"]
            trees = None if last is None else Trees.from_arrays(load_arrays(beside(folder, last["trees"])), 10_000)
            weights = [float(record["mix"]), 0.0 if last is None else float(last["mix"])]
            if max(map(abs, weights)) > _LARGEST:
                raise ValueError("a weight is out of bounds")
            return cls(
                TermsSettings.model_validate(record["settings"]),
                vocabulary,
                encoder,
                weights[0],
                None if trees is None else HeadRanker((), trees, weights[1]),
                None if validation is None else {name: (mrr, map_) for name, (mrr, map_) in validation.items()},
                tuple(map(str, record["learned_on"])),
                int(record["learned_until"]),
            )
        except CheckpointError:
            raise
        except (OSError, ValueError, KeyError, TypeError, AttributeError, safetensors.SafetensorError) as error:
            raise CheckpointError(
                f"{folder}: this second stage is incomplete or damaged ({' '.join(str(error).split())[:100]}); train it"
                " again, or copy the whole folder"
            ) from error


_LARGEST: Final = 1e9


def _vocabulary(terms: object, arrays: Mapping[str, np.ndarray]) -> TermVocabulary:
    """The terms with their frequencies. Raises KeyError or ValueError when they are none."""
    if not isinstance(terms, list) or not terms or not all(isinstance(term, str) for term in terms):
        raise ValueError("the terms are no texts")
    if len(set(terms)) < len(terms):
        raise ValueError("a term comes twice")
    idfs = {name: checked(arrays, name, np.float64, len(terms)) for name in IDFS}
    for name, idf in idfs.items():
        check_numbers(idf, _LARGEST, name)
    return TermVocabulary(tuple(terms), **idfs)  # type: ignore[arg-type]
