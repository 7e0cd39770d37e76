"""Any Hugging Face encoder with its tokenizer: texts become pieces of tokens, pieces become one vector each."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, Self, TypeAlias

import numpy as np
import torch
from accelerate import PartialState
from huggingface_hub import snapshot_download
from torch import Tensor, nn
from transformers import AutoModel, AutoTokenizer

from tosloc.core.errors import CheckpointError, ToslocError
from tosloc.core.records import BugReport, Float16Array, Progress, ignore_progress
from tosloc.reports.traces import without_frames
from tosloc.rerank.base import TextSource
from tosloc.storage.store import FactStore

# S pieces, L tokens of the longest, n chunks of a file, d width of the encoder

TokenPooling: TypeAlias = Literal["mean", "first"]
"""A piece's vector: mean of its tokens' vectors, or the first token's (CodeBERT, RoBERTa)."""
Piece: TypeAlias = list[
    int
]  # tokens that are read at once, with the marks that the tokenizer sets around them

BATCH_TOKENS: Final = 16_384  # tokens, padding included, that go through the encoder at once
LETTERS: Final = (
    12  # most letters of a token on average: what lies beyond a text's last token is not tokenised
)
_COMMENT: Final = re.compile(r"\s*(?:/\*.*?\*/|(?:(?://|#|--)[^\n]*(?:\n|\Z)\s*)+)", re.DOTALL)
_LICENCE: Final = re.compile(
    r"copyright|all rights reserved|licen[sc]ed? |SPDX-License|\(c\) *\d{4}|program and the accompanying materials",
    re.I,
)

TEXT_VERSION: Final = "text2"
"""Changes when what is read of a text does, so that old vectors are not taken for new ones."""
FILES: Final = 256  # files encoded together; what a crash can lose


class Encoder(nn.Module):
    """Tokens to vectors. Its name and fingerprint say which weights these are."""

    def __init__(self, model: Any, tokenizer: Any, pooling: TokenPooling, name: str) -> None:
        super().__init__()
        self.model: Any = model
        self.tokenizer, self.pooling, self.name = tokenizer, pooling, name
        self.width = int(model.config.hidden_size)
        self.fingerprint = self.compute_fingerprint()

    @classmethod
    def load(cls, name: str, pooling: TokenPooling) -> Self:
        """Load the encoder of a folder, or of a name on the hub.

        A name must have been fetched earlier, unless TOSLOC_HUB=1 allows fetching it now. None of
        the encoder's code is run. Raise CheckpointError when there is none, or its tokenizer does
        not belong to it.
        """
        local = os.environ.get("TOSLOC_HUB") != "1"
        try:
            where = str(Path(name).expanduser())
            if local and not Path(where).is_dir():
                # For a name, transformers make requests whatever local_files_only says.
                where = snapshot_download(where, local_files_only=True)
            tokenizer = AutoTokenizer.from_pretrained(
                where, trust_remote_code=False, local_files_only=local
            )
            model = AutoModel.from_pretrained(
                where,
                dtype=torch.float32,
                trust_remote_code=False,
                use_safetensors=True,
                local_files_only=local,
            )
            if getattr(model.config, "auto_map", None) or tokenizer.init_kwargs.get("auto_map"):
                raise ValueError("its auto_map asks for custom code, which is never run")
            if not tokenizer.is_fast:
                raise ValueError("its tokenizer has no tokenizer.json")
            if len(tokenizer) > model.get_input_embeddings().weight.shape[0]:
                raise CheckpointError(
                    f"{name}: tokenizer and encoder do not belong together; take both of one folder"
                )
            return cls(model, tokenizer, pooling, name)
        except (ToslocError, MemoryError):
            raise
        except Exception as error:  # files that are no encoder's raise anything
            raise CheckpointError(
                f"{name}: no encoder can be loaded from there ({' '.join(str(error).split())[:120]}); name a folder"
                " with config.json, model.safetensors and tokenizer, or set TOSLOC_HUB=1 to fetch a name from the hub"
            ) from error

    def save(self, folder: Path) -> None:
        """Write model and tokenizer as transformers do."""
        self.model.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device

    @property
    def max_tokens(self) -> int:
        """Tokens that the encoder can read at once, marks included."""
        config = self.model.config
        # RoBERTa counts positions from its padding token on
        offset = (
            config.pad_token_id + 1
            if config.model_type in ("roberta", "xlm-roberta", "camembert")
            else 0
        )
        positions = getattr(config, "max_position_embeddings", None)  # none where they are relative
        return int(self.tokenizer.model_max_length if positions is None else positions - offset)

    def compute_fingerprint(self) -> str:
        """Of the weights as they are now, the tokenizer and the pooling: what a vector depends on."""
        words = json.dumps(self.tokenizer.get_vocab(), sort_keys=True)
        digest = hashlib.sha256(f"{words} {self.pooling}".encode())
        for name, value in sorted(self.model.state_dict().items()):
            digest.update(name.encode())
            digest.update(value.detach().cpu().contiguous().view(torch.uint8).numpy())
        return digest.hexdigest()[:16]

    def pieces(self, texts: Sequence[str], length: int, most: int = 1) -> list[list[Piece]]:
        """Of each text its first ``most`` pieces of at most ``length`` tokens; of an empty one, the marks alone."""
        if not texts:
            return []
        found = self.tokenizer(
            [replace_lone_surrogates(text[: LETTERS * length * most]) for text in texts],
            truncation=True,
            max_length=length,
            return_overflowing_tokens=True,
            return_attention_mask=False,
            return_token_type_ids=False,
        )
        made = [list[Piece]() for _ in texts]
        for place, tokens in zip(
            found["overflow_to_sample_mapping"], found["input_ids"], strict=True
        ):
            made[place].append(tokens)
        return [pieces[:most] for pieces in made]

    def forward(self, pieces: Sequence[Piece]) -> Tensor:
        """(S, d) vectors."""
        padded = self.tokenizer.pad(
            {"input_ids": pieces}, padding_side="right", return_tensors="pt"
        ).to(self.device)
        hidden_SLd: Tensor = self.model(**padded).last_hidden_state
        if self.pooling == "first":
            return hidden_SLd[:, 0]
        mask_SL1: Tensor = padded["attention_mask"].unsqueeze(-1).to(hidden_SLd.dtype)
        return (hidden_SLd * mask_SL1).sum(1) / mask_SL1.sum(1).clamp(min=1)

    @torch.inference_mode()
    def vectors(self, pieces: Sequence[Piece]) -> Float16Array:
        """(S, d) the same without learning, pieces of like length together so that little is padding."""
        self.eval()
        made = np.zeros((len(pieces), self.width), dtype=np.float16)
        for places in batches_of_similar_length(pieces):
            made[places] = self([pieces[place] for place in places]).cpu().numpy()
        return made


def batches_of_similar_length(pieces: Sequence[Piece]) -> Iterator[list[int]]:
    """Places of pieces that go through an encoder together: of like length, ``BATCH_TOKENS`` at most."""
    order = sorted(range(len(pieces)), key=lambda place: -len(pieces[place]))
    number = max(1, BATCH_TOKENS // max([1, *map(len, pieces)]))
    for start in range(0, len(order), number):
        yield order[start : start + number]


def process_state() -> PartialState:
    """The processes that learn together, and this one's device: its GPU, else the CPU."""
    return PartialState(cpu=not torch.cuda.is_available())


def replace_lone_surrogates(text: str) -> str:
    """Text with "?" for half a character, which a report may hold and no tokenizer takes."""
    return text.encode("utf-8", "replace").decode("utf-8")


def strip_licence(code: str) -> str:
    r"""Code without the comments at its head that speak of copyright or a licence; what follows stays as it is.

    >>> strip_licence("/* Copyright 2020 */\n\npackage a;"), strip_licence("// What this does\npackage a;")
    ('\n\npackage a;', '// What this does\npackage a;')
    """
    start = 0
    while (found := _COMMENT.match(code, start)) and _LICENCE.search(found[0]):
        start = found.end()
    return code[start:]


def report_text(report: BugReport) -> str:
    """Summary and description without stack frames, which stage one reads (the paper, 3.3)."""
    return f"{report.summary}\n{without_frames(report.description).strip()}".strip()


@dataclass(frozen=True)
class ChunkReader:
    """Chunks of blobs for one encoder: at most ``most`` pieces of ``length`` tokens of each."""

    encoder: Encoder
    most: int
    length: int
    texts: TextSource

    def chunks(self, blobs: Sequence[str]) -> dict[str, list[Piece]]:
        """Blob -> its pieces; none of a blob that is blank or cannot be read."""
        made: dict[str, list[Piece]] = {blob: [] for blob in blobs}
        read = {blob: strip_licence(text or "") for blob, text in self.texts(blobs)}
        whole = {blob: text for blob, text in read.items() if text.strip()}
        return made | dict(
            zip(whole, self.encoder.pieces([*whole.values()], self.length, self.most), strict=True)
        )

    def vectors(
        self, blobs: Sequence[str], path: Path, progress: Progress = ignore_progress
    ) -> dict[str, Float16Array]:
        """Blob -> (n, d) chunk vectors, in half precision; those that the store in a file lacks are made now, and kept.
        No blob is named twice. Several processes may use the file at once. Raises StoreError.
        """
        key = f"{self.encoder.fingerprint} {TEXT_VERSION} {self.most}x{self.length}"
        with FactStore(path) as store:
            read = zip(blobs, store.read(dict.fromkeys(blobs, key)), strict=True)
            kept = {blob: data for blob, data in read if data is not None}
            missing = [blob for blob in blobs if blob not in kept]
            progress("encoding files", 0, len(missing))
            for start in range(0, len(missing), FILES):
                chunks = self.chunks(missing[start : start + FILES])
                vectors = self.encoder.vectors(
                    [piece for pieces in chunks.values() for piece in pieces]
                )
                ends = np.cumsum([len(pieces) for pieces in chunks.values()])
                parts = np.split(vectors.astype("<f2"), ends[:-1])
                made = {blob: part.tobytes() for blob, part in zip(chunks, parts, strict=True)}
                store.write((blob, key, data) for blob, data in made.items())
                kept |= made
                progress("encoding files", start + len(chunks), len(missing))
        return {
            blob: np.frombuffer(kept[blob], "<f2").reshape(-1, self.encoder.width) for blob in blobs
        }
