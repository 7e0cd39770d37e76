"""A trained second stage on disk: safetensors and JSON, never pickle; encoders lie beside it or are named."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import safetensors
import safetensors.torch
import torch

from tosloc.config import StageTwoSettings
from tosloc.errors import CheckpointError
from tosloc.files import write_text, written_whole
from tosloc.reranking.encoders import Encoder
from tosloc.reranking.model import Matcher
from tosloc.reranking.reader import Reader

SCHEMA = 1
RECORD = "second.json"
MATCHER = "matcher.safetensors"


@dataclass(eq=False)
class SecondStage:
    """Everything that reads candidates again: encoders, matching model, and how its scores meet stage one's."""

    settings: StageTwoSettings
    code: Encoder
    report: Encoder
    matcher: Matcher
    mix: float = 1.0
    """Points of the deep score for one of stage one's, chosen on validation; infinite for the deep order alone."""
    tried: Mapping[str, tuple[float, float]] | None = None
    """What validation saw: MRR and MAP by name."""

    @classmethod
    def fresh(cls, settings: StageTwoSettings, features: int = 0, seed: int = 7) -> Self:
        """An untrained second stage with the encoders that the settings name. Raises CheckpointError."""
        learns = settings.training.learns
        code = Encoder.load(settings.code_encoder, settings.pooling)
        named = settings.report_encoder
        apart = bool(named) and named != settings.code_encoder
        # a report encoder that learns alone must not drag along the code's, whose vectors are already made
        report = Encoder.load(named or settings.code_encoder, settings.pooling) if apart or learns == "report" else code
        if report.width != code.width:
            raise CheckpointError(
                f"the encoders do not fit together: {code.name} gives {code.width} numbers, {report.name}"
                f" {report.width}; name two of one width"
            )
        torch.manual_seed(seed)
        return cls(settings, code, report, matcher_of(settings, code.width, features))

    @property
    def reader(self) -> Reader:
        """The model for training and scoring; encoders that do not learn are left out of it."""
        learns = self.settings.training.learns
        return Reader(
            self.report if learns in ("report", "both") else None,
            self.code if learns == "both" else None,
            self.matcher,
            self.settings.training.chunks_at_once,
        )

    def learned(self) -> None:
        """Take note that the encoders have learned: vectors that they made before are another encoder's."""
        for encoder in {id(one): one for one in (self.code, self.report)}.values():
            encoder.fingerprint = encoder.fingerprint_now()

    def save(self, folder: Path) -> None:
        """Write matching model, encoders that learned, and last the record that makes it a checkpoint."""
        folder.mkdir(parents=True, exist_ok=True)
        _write(folder / MATCHER, self.matcher.state_dict())
        learns = self.settings.training.learns
        kept = {"report": self.report} if learns == "report" else {}
        if learns == "both":
            kept = {"code": self.code} if self.report is self.code else {"code": self.code, "report": self.report}
        for name, encoder in kept.items():
            place = folder / name
            place.mkdir(parents=True, exist_ok=True)
            encoder.model.config.save_pretrained(place)
            encoder.words.tokenizer.save_pretrained(place)
            _write(place / "model.safetensors", encoder.model.state_dict())
        record = {
            "schema": SCHEMA,
            "settings": self.settings.model_dump(mode="json"),
            "matcher": self.matcher.settings,
            "encoders": {
                name: {
                    "place": f"./{name}" if name in kept else encoder.name,
                    "fingerprint": encoder.fingerprint,
                    "width": encoder.width,
                }
                for name, encoder in (("code", self.code), ("report", self.report))
            },
            "shared": self.report is self.code,
            "mix": self.mix if self.mix != float("inf") else None,
            "validation": self.tried,
        }
        write_text(folder / RECORD, json.dumps(record, indent=1) + "\n")

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Second stage of a folder.

        Raises CheckpointError when it is incomplete, of other dimensions, or an encoder is gone or another one.
        """
        try:
            record = json.loads((folder / RECORD).read_text(encoding="utf-8"))
            settings = StageTwoSettings.model_validate(record["settings"])
            if record["schema"] > SCHEMA:
                raise CheckpointError(f"{folder / RECORD}: written by a newer TosLoc; update TosLoc")
            code = _encoder(folder, record["encoders"]["code"], settings)
            report = code if record["shared"] else _encoder(folder, record["encoders"]["report"], settings)
            matcher = Matcher(**record["matcher"])
            values = safetensors.torch.load_file(folder / MATCHER)
            mix = record["mix"] if record["mix"] is not None else float("inf")
            tried = record["validation"]
        except CheckpointError:
            raise
        except (OSError, ValueError, KeyError, TypeError, safetensors.SafetensorError) as error:
            raise CheckpointError(
                f"{folder}: this second stage is incomplete or damaged ({' '.join(str(error).split())[:100]}); train it"
                " again, or copy the whole folder"
            ) from error
        try:
            matcher.load_state_dict(values)
        except RuntimeError as error:
            raise CheckpointError(
                f"{folder / MATCHER}: the weights are of other dimensions than {RECORD} says; copy the whole folder"
            ) from error
        if matcher.settings["width"] != code.width:
            raise CheckpointError(
                f"{folder}: made for an encoder of width {matcher.settings['width']}, but {code.name} has {code.width}"
            )
        return cls(settings, code, report, matcher, float(mix), tried)


def matcher_of(settings: StageTwoSettings, width: int, features: int = 0) -> Matcher:
    """The matching model that the settings describe."""
    return Matcher(
        width,
        settings.fusion,
        queries=2 if settings.queries_apart else 1,
        rank=settings.side_rank,
        cosine=settings.cosine,
        best_chunk=settings.best_chunk,
        features=features,
    )


def _encoder(folder: Path, told: Mapping[str, Any], settings: StageTwoSettings) -> Encoder:
    place = str(told["place"])
    encoder = Encoder.load(str(folder / place) if place.startswith("./") else place, settings.pooling)
    if encoder.fingerprint != told["fingerprint"]:
        raise CheckpointError(
            f"{place}: not the encoder that {folder} was trained with; its vectors would mean nothing to it"
        )
    return encoder


def _write(path: Path, values: Mapping[str, torch.Tensor]) -> None:
    with written_whole(path) as temporary:
        # tensors that share memory are written twice rather than refused
        safetensors.torch.save_file({name: value.detach().cpu().clone() for name, value in values.items()}, temporary)
