"""A trained second stage on disk: safetensors and JSON, never pickle; encoders lie beside it or are named.

Weights stand under names of their content and the record, which names them, is written last: until it is, the folder
holds what it held before.
"""

from __future__ import annotations

import json
import shutil
import tempfile
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
from tosloc.reranking.encoder.encoders import Encoder, digest_of
from tosloc.reranking.encoder.model import RerankingModel
from tosloc.reranking.encoder.scoring_head import ScoringHead

SCHEMA = 1
RECORD = "second.json"
WEIGHTS = "model.safetensors"
ADAPTERS = "adapters.safetensors"


@dataclass(eq=False)
class EncoderModels:
    """Everything that reads candidates again: encoders, matching model, and how its scores meet stage one's."""

    settings: StageTwoSettings
    code: Encoder
    report: Encoder
    head: ScoringHead
    mix: float = 1.0
    """Points of the deep score for one of stage one's, chosen on validation; infinite for the deep order alone."""
    tried: Mapping[str, tuple[float, float]] | None = None
    """What validation saw: MRR and MAP by name."""
    learned_until: int = 0
    """When the last of the reports that it learned from was fixed, seconds since 1970."""

    def knew_by(self, opened: float) -> bool:
        """Whether all that it learned from was fixed when a report was opened; if not, stage one alone may rank it."""
        return opened >= self.learned_until

    @classmethod
    def fresh(cls, settings: StageTwoSettings, features: int = 0, seed: int = 7) -> Self:
        """An untrained second stage with the encoders that the settings name. Raises CheckpointError."""
        learns = settings.training.learns
        code = Encoder.load(settings.code_encoder, settings.pooling)
        named = settings.report_encoder
        apart = bool(named) and named != settings.code_encoder
        # a report encoder that learns alone must not drag along the code's, whose vectors are already made
        report = Encoder.load(named or settings.code_encoder, settings.pooling) if apart or learns == "report" else code
        made = cls.of(settings, code, report, features, seed)
        if settings.training.lora_rank:
            for encoder in made._learning.values():
                encoder.adapt(settings.training.lora_rank)
        return made

    @classmethod
    def of(cls, settings: StageTwoSettings, code: Encoder, report: Encoder, features: int = 0, seed: int = 7) -> Self:
        """An untrained second stage with encoders at hand. Raises CheckpointError when they do not fit together."""
        if report.width != code.width:
            raise CheckpointError(
                f"the encoders do not fit together: {code.name} gives {code.width} numbers, {report.name}"
                f" {report.width}; name two of one width"
            )
        torch.manual_seed(seed)
        return cls(settings, code, report, head_of(settings, code.width, features))

    @property
    def reader(self) -> RerankingModel:
        """The model for training and scoring; encoders that do not learn are left out of it."""
        learns = self.settings.training.learns
        return RerankingModel(
            self.report if learns in ("report", "both") else None,
            self.code if learns == "both" else None,
            self.head,
            self.settings.training.chunks_at_once,
        )

    @property
    def _encoders(self) -> dict[str, Encoder]:
        """By what they read: one alone where both are the same."""
        return {"code": self.code} | ({} if self.report is self.code else {"report": self.report})

    @property
    def _learning(self) -> dict[str, Encoder]:
        """Those of them that learn."""
        learns = self.settings.training.learns
        return {name: one for name, one in self._encoders.items() if learns in (name, "both")}

    def learned(self) -> None:
        """Take note that the encoders have learned: vectors that they made before are another encoder's."""
        for encoder in self._encoders.values():
            encoder.fingerprint = encoder.fingerprint_now()

    def save(self, folder: Path) -> None:
        """Write matching model, encoders that learned or their adapters, and last the record that names them.

        An interruption leaves the checkpoint that was there before.
        """
        folder.mkdir(parents=True, exist_ok=True)
        head = f"matcher-{digest_of(self.head.state_dict())}.safetensors"
        _write(folder / head, self.head.state_dict())
        kept = self._learning
        places = {name: f"{name}-{encoder.fingerprint}" for name, encoder in kept.items()}
        for name, encoder in kept.items():
            _write_encoder(folder / places[name], encoder)
        encoders = {name: _told(encoder, places.get(name)) for name, encoder in self._encoders.items()}
        record = {
            "schema": SCHEMA,
            "settings": self.settings.model_dump(mode="json"),
            "matcher": self.head.settings,
            "weights": head,
            "encoders": encoders,
            "mix": self.mix if self.mix != float("inf") else None,
            "validation": self.tried,
            "learned_until": self.learned_until,
        }
        write_text(folder / RECORD, json.dumps(record, indent=1) + "\n")
        for old in [*folder.glob("matcher-*"), *folder.glob("code-*"), *folder.glob("report-*")]:
            if old.name not in (head, *places.values()):
                shutil.rmtree(old) if old.is_dir() else old.unlink()

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
            told = record["encoders"]
            code = _encoder(folder, told["code"], settings)
            report = _encoder(folder, told["report"], settings) if "report" in told else code
            head = ScoringHead(**record["matcher"])
            values = safetensors.torch.load_file(folder / str(record["weights"]))
            mix = record["mix"] if record["mix"] is not None else float("inf")
            tried, learned_until = record["validation"], int(record["learned_until"])
        except CheckpointError:
            raise
        except (OSError, ValueError, KeyError, TypeError, safetensors.SafetensorError) as error:
            raise CheckpointError(
                f"{folder}: this second stage is incomplete or damaged ({' '.join(str(error).split())[:100]}); train it"
                " again, or copy the whole folder"
            ) from error
        try:
            head.load_state_dict(values)
        except RuntimeError as error:
            raise CheckpointError(
                f"{folder / record['weights']}: the weights are of other dimensions than {RECORD} says; copy the whole"
                " folder"
            ) from error
        if head.settings["width"] != code.width:
            raise CheckpointError(
                f"{folder}: made for an encoder of width {head.settings['width']}, but {code.name} has {code.width}"
            )
        return cls(settings, code, report, head, float(mix), tried, learned_until)


def head_of(settings: StageTwoSettings, width: int, features: int = 0) -> ScoringHead:
    """The matching model that the settings describe."""
    return ScoringHead(
        width,
        settings.fusion,
        queries=2 if settings.queries_apart else 1,
        rank=settings.side_rank,
        cosine=settings.cosine,
        best_chunk=settings.best_chunk,
        features=features,
    )


def _told(encoder: Encoder, place: str | None) -> dict[str, Any]:
    """What a record says of an encoder that lies beside it at ``place``, or is named."""
    known = {
        "place": encoder.name if place is None else f"./{place}",
        "fingerprint": encoder.fingerprint,
        "width": encoder.width,
    }
    if not encoder.rank:
        return known
    return known | {"rank": encoder.rank, "base": {"place": encoder.name, "fingerprint": encoder.base}}


def _encoder(folder: Path, told: Mapping[str, Any], settings: StageTwoSettings) -> Encoder:
    if "base" in told:
        return _adapted(folder, told, settings)
    place = str(told["place"])
    encoder = Encoder.load(str(folder / place) if place.startswith("./") else place, settings.pooling)
    if encoder.fingerprint != told["fingerprint"]:
        raise CheckpointError(
            f"{place}: not the encoder that {folder} was trained with; its vectors would mean nothing to it"
        )
    return encoder


def _adapted(folder: Path, told: Mapping[str, Any], settings: StageTwoSettings) -> Encoder:
    """The encoder that is named, with the adapters that lie beside the record."""
    place = str(told["base"]["place"])
    try:
        encoder = Encoder.load(place, settings.pooling)
    except CheckpointError as error:
        raise CheckpointError(
            f"{folder} holds adapters alone; the encoder that they adapt is missing: {error}"
        ) from error
    if encoder.fingerprint != told["base"]["fingerprint"]:
        raise CheckpointError(
            f"{place}: not the encoder that the adapters of {folder} were trained on; put that one (fingerprint"
            f" {told['base']['fingerprint']}) there"
        )
    values = safetensors.torch.load_file(folder / str(told["place"]) / ADAPTERS)
    encoder.adapt(int(told["rank"]))
    encoder.take_adapters(values)
    if encoder.fingerprint != told["fingerprint"]:
        raise CheckpointError(f"{folder / told['place']}: not the adapters that {RECORD} says; copy the whole folder")
    return encoder


def _write_encoder(place: Path, encoder: Encoder) -> None:
    """Write an encoder, or its adapters alone, into a folder that appears when it is whole."""
    temporary = Path(tempfile.mkdtemp(prefix=f".{place.name}.", dir=place.parent))
    try:
        if encoder.rank:
            _write(temporary / ADAPTERS, encoder.adapters)
        else:
            encoder.model.config.save_pretrained(temporary)
            encoder.words.tokenizer.save_pretrained(temporary)
            _write(temporary / WEIGHTS, encoder.model.state_dict())
        temporary.chmod(place.parent.stat().st_mode)
        if place.exists():
            shutil.rmtree(place)
        temporary.rename(place)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _write(path: Path, values: Mapping[str, torch.Tensor]) -> None:
    with written_whole(path) as temporary:
        # tensors that share memory are written twice rather than refused
        safetensors.torch.save_file({name: value.detach().cpu().clone() for name, value in values.items()}, temporary)
