"""The encoders and the scoring head of the encoder reranker, and how they lie on disk: safetensors and JSON, no pickle.

Weights stand under names of their content and the record, which names them, is written last: until it is, the folder
holds what it held before.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

import safetensors
import safetensors.torch
import torch

from tosloc.config import StageTwoSettings
from tosloc.errors import CheckpointError
from tosloc.files import beside, folder_written_whole, parse_json, read_plain, write_text, written_whole
from tosloc.reranking.encoder.encoders import Encoder, digest_of
from tosloc.reranking.encoder.model import RerankingModel
from tosloc.reranking.encoder.scoring_head import ScoringHead

_SCHEMA: Final = 2
RECORD: Final = "encoder.json"
_WEIGHTS: Final = "model.safetensors"
_ADAPTERS: Final = "adapters.safetensors"
_DAMAGED: Final = (
    *(OSError, ValueError, KeyError, TypeError, AttributeError, RuntimeError),
    safetensors.SafetensorError,
)
"""What a folder whose files are no reranker's raises when it is read."""


@dataclass(eq=False)
class EncoderModels:
    """Encoders of code and of reports, which may be one and the same, and the scoring head over their vectors."""

    settings: StageTwoSettings
    code: Encoder
    report: Encoder
    head: ScoringHead

    @classmethod
    def fresh(cls, settings: StageTwoSettings, seed: int = 7) -> Self:
        """Untrained, with the encoders that the settings name. Raises CheckpointError."""
        learns, named = settings.training.learns, settings.report_encoder
        code = Encoder.load(settings.code_encoder, settings.token_pooling)
        apart = bool(named) and named != settings.code_encoder
        report = code
        if apart or learns == "report":  # one that learns alone must not drag along the code's, whose vectors are made
            report = Encoder.load(named or settings.code_encoder, settings.token_pooling)
        models = cls.of(settings, code, report, seed)
        if settings.training.lora_rank:
            for encoder in models._learning.values():
                encoder.adapt(settings.training.lora_rank)
        return models

    @classmethod
    def of(cls, settings: StageTwoSettings, code: Encoder, report: Encoder, seed: int = 7) -> Self:
        """Untrained, with encoders at hand. Raises CheckpointError when they do not fit together."""
        if report.width != code.width:
            raise CheckpointError(
                f"the encoders do not fit together: {code.name} gives {code.width} numbers, {report.name}"
                f" {report.width}; name two of one width"
            )
        torch.manual_seed(seed)
        head = ScoringHead(
            code.width,
            settings.chunk_pooling,
            adapter_rank=settings.adapter_rank,
            cosine=settings.cosine,
            best_chunk=settings.best_chunk,
        )
        return cls(settings, code, report, head)

    @property
    def whole(self) -> RerankingModel:
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

    def renew_fingerprints(self) -> None:
        """Take note that the encoders have learned: vectors that they made before are another encoder's."""
        for encoder in self._encoders.values():
            encoder.fingerprint = encoder.fingerprint_now()

    def save(self, folder: Path, more: Mapping[str, Any]) -> None:
        """Write head, encoders that learned or their adapters, and last the record that names them, with ``more``.

        An interruption leaves the checkpoint that was there before.
        """
        folder.mkdir(parents=True, exist_ok=True)
        head = f"head-{digest_of(self.head.state_dict())}.safetensors"
        _write(folder / head, self.head.state_dict())
        learned = self._learning
        names = {name: f"{name}-{encoder.fingerprint}" for name, encoder in learned.items()}
        for name, encoder in learned.items():
            _write_encoder(folder / names[name], encoder)
        record = {
            "schema": _SCHEMA,
            "settings": self.settings.model_dump(mode="json"),
            "head": self.head.settings,
            "weights": head,
            "encoders": {name: _record_of(encoder, names.get(name)) for name, encoder in self._encoders.items()},
            **more,
        }
        write_text(folder / RECORD, json.dumps(record, indent=1) + "\n")
        for old in [*folder.glob("head-*"), *folder.glob("code-*"), *folder.glob("report-*")]:
            if old.name not in (head, *names.values()):
                shutil.rmtree(old) if old.is_dir() else old.unlink()

    @classmethod
    def load(cls, folder: Path) -> tuple[Self, dict[str, Any]]:
        """What ``save`` wrote, and its record.

        Raises CheckpointError when it is incomplete, of other dimensions, or an encoder is gone or another one.
        """
        try:
            record = parse_json(read_plain(folder / RECORD).decode("utf-8"), infinite=True)
            if record["schema"] > _SCHEMA:
                raise CheckpointError(f"{folder / RECORD}: written by a newer TosLoc; update TosLoc")
            settings = StageTwoSettings.model_validate(record["settings"])
            encoders = record["encoders"]
            code = _encoder(folder, encoders["code"], settings)
            report = _encoder(folder, encoders["report"], settings) if "report" in encoders else code
            values = safetensors.torch.load(read_plain(beside(folder, record["weights"])))
            with torch.device("meta"):  # dimensions alone: no memory is taken for those that the file does not have
                wanted = {name: value.shape for name, value in ScoringHead(**record["head"]).state_dict().items()}
            if wanted != {name: value.shape for name, value in values.items()}:
                raise CheckpointError(
                    f"{folder / record['weights']}: the weights are of other dimensions than {RECORD} says; copy the"
                    " whole folder"
                )
            head = ScoringHead(**record["head"])
            head.load_state_dict(values)
        except CheckpointError:
            raise
        except _DAMAGED as error:
            raise damaged_reranker(folder, error) from error
        if not all(bool(value.isfinite().all()) for value in values.values()):
            raise damaged_reranker(folder, ValueError("a weight is not finite"))
        if head.settings["width"] != code.width:
            raise CheckpointError(
                f"{folder}: made for an encoder of width {head.settings['width']}, but {code.name} has {code.width}"
            )
        return cls(settings, code, report, head), record


def damaged_reranker(folder: Path, error: Exception) -> CheckpointError:
    """What to say of a folder that cannot be read."""
    return CheckpointError(
        f"{folder}: this second stage is incomplete or damaged ({' '.join(str(error).split())[:100]}); train it"
        " again, or copy the whole folder"
    )


def _record_of(encoder: Encoder, folder: str | None) -> dict[str, Any]:
    """What a record says of an encoder that lies beside it in ``folder``, or is named."""
    known = {
        "place": encoder.name if folder is None else f"./{folder}",
        "fingerprint": encoder.fingerprint,
        "width": encoder.width,
    }
    if not encoder.rank:
        return known
    return known | {"rank": encoder.rank, "base": {"place": encoder.name, "fingerprint": encoder.base}}


def _encoder(folder: Path, record: Mapping[str, Any], settings: StageTwoSettings) -> Encoder:
    if "base" in record:
        return _adapted(folder, record, settings)
    place = str(record["place"])
    own = beside(folder, place.removeprefix("./")) if place.startswith("./") else None
    encoder = Encoder.load(place if own is None else str(own), settings.token_pooling)
    if encoder.fingerprint != record["fingerprint"]:
        raise CheckpointError(
            f"{place}: not the encoder that {folder} was trained with; its vectors would mean nothing to it"
        )
    return encoder


def _adapted(folder: Path, record: Mapping[str, Any], settings: StageTwoSettings) -> Encoder:
    """The encoder that is named, with the adapters that lie beside the record."""
    place = str(record["base"]["place"])
    try:
        encoder = Encoder.load(place, settings.token_pooling)
    except CheckpointError as error:
        raise CheckpointError(
            f"{folder} holds adapters alone; the encoder that they adapt is missing: {error}"
        ) from error
    if encoder.fingerprint != record["base"]["fingerprint"]:
        raise CheckpointError(
            f"{place}: not the encoder that the adapters of {folder} were trained on; put that one (fingerprint"
            f" {record['base']['fingerprint']}) there"
        )
    values = safetensors.torch.load(read_plain(beside(folder, str(record["place"]).removeprefix("./")) / _ADAPTERS))
    encoder.adapt(int(record["rank"]))
    encoder.take_adapters(values)
    if encoder.fingerprint != record["fingerprint"]:
        raise CheckpointError(f"{folder / record['place']}: not the adapters that {RECORD} says; copy the whole folder")
    return encoder


def _write_encoder(folder: Path, encoder: Encoder) -> None:
    """Write an encoder, or its adapters alone, into a folder that appears when it is whole."""
    with folder_written_whole(folder) as temporary:
        if encoder.rank:
            _write(temporary / _ADAPTERS, encoder.adapters)
        else:
            encoder.model.config.save_pretrained(temporary)
            encoder.words.tokenizer.save_pretrained(temporary)
            _write(temporary / _WEIGHTS, encoder.model.state_dict())


def _write(path: Path, values: Mapping[str, torch.Tensor]) -> None:
    with written_whole(path) as temporary:
        # tensors that share memory are written twice rather than refused
        plain = {name: value.detach().cpu().clone() for name, value in values.items()}
        temporary.write_bytes(safetensors.torch.save(plain))  # save_file has a temporary file of its own
