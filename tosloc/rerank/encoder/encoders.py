"""Load any Hugging Face encoder with its tokenizer; turn texts into pieces and these into vectors.

A piece is a number of tokens that the encoder reads at once; each piece gets one vector.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, Self, TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from accelerate import PartialState
from torch import Tensor, nn

from tosloc.core.errors import CheckpointError, ToslocError
from tosloc.core.io import truncate_text
from tosloc.core.progress import Progress, ignore_progress
from tosloc.core.reports import BugReport
from tosloc.reports.traces import without_frames
from tosloc.rerank.base import TextSource
from tosloc.rerank.encoder.loading import (
    find_encoder,
    load_model,
    load_tokenizer,
    quiet_transformers,
)
from tosloc.storage.store import FactStore

TokenPooling: TypeAlias = Literal["mean", "first", "last"]
"""How the vectors of a piece's tokens become one vector.

It is their mean, the first one (CodeBERT, RoBERTa), or the last one (models that read from left to
right, such as Qwen3).
"""
Float16Array: TypeAlias = npt.NDArray[np.float16]
Piece: TypeAlias = list[int]
"""Tokens that are read at once, including the tokenizer's marks around them."""

MAX_BATCH_TOKENS: Final = 16_384
"""Largest number of tokens, including padding, that go through the encoder at once."""
MAX_LETTERS_PER_TOKEN: Final = 12
"""Largest mean number of letters of a token; texts are cut by this before they are tokenized."""
_COMMENT: Final = re.compile(r"\s*(?:/\*.*?\*/|(?:(?://|#|--)[^\n]*(?:\n|\Z)\s*)+)", re.DOTALL)
_LICENCE: Final = re.compile(
    r"copyright|all rights reserved|licen[sc]ed? |SPDX-License|\(c\) *\d{4}"
    r"|program and the accompanying materials",
    re.I,
)

_MAX_CAUSE_CHARACTERS: Final = 160
"""Largest number of characters of the cause in the error that an encoder cannot be loaded."""
TEXT_VERSION: Final = "text2"
"""Version of the text that is read of files; a new version makes stored vectors outdated."""
FILES_PER_BATCH: Final = 256
"""Number of files that are encoded before their vectors are stored; a crash loses no more."""
_POSITIONS_AFTER_PADDING: Final = ("roberta", "xlm-roberta", "camembert")
"""Types of models that count positions from after their padding token."""


class Encoder(nn.Module):
    """A model and its tokenizer, with a name and a fingerprint of its weights."""

    def __init__(self, model: Any, tokenizer: Any, pooling: TokenPooling, name: str) -> None:
        super().__init__()
        self.model: Any = model
        self.tokenizer = tokenizer
        self.pooling = pooling
        self.name = name
        self.width = int(model.config.hidden_size)
        self.fingerprint = self.compute_fingerprint()

    @classmethod
    def load(cls, name: str, pooling: TokenPooling) -> Self:
        """Return the encoder in a folder, or with a name on the hub.

        An encoder on the hub must have been downloaded earlier, unless TOSLOC_HUB=1 allows
        downloading it now. None of the encoder's code is run. Raises CheckpointError if there is no
        encoder, or if its tokenizer does not belong to it.
        """
        try:
            location = find_encoder(name)
            tokenizer = load_tokenizer(location)
            model = load_model(location)
            if len(tokenizer) > model.get_input_embeddings().weight.shape[0]:
                raise CheckpointError(
                    f"{name}: the tokenizer and the encoder do not belong together; take both from"
                    " the same folder"
                )
            return cls(model, tokenizer, pooling, name)
        except (ToslocError, MemoryError):
            raise
        except Exception as error:  # files that are no encoder's can raise anything
            cause = truncate_text(" ".join(str(error).split()), _MAX_CAUSE_CHARACTERS)
            raise CheckpointError(
                f"{name}: no encoder can be loaded from this folder or name ({cause}); name a"
                " folder with config.json, model.safetensors and tokenizer, or set TOSLOC_HUB=1"
                " to fetch a name from the hub"
            ) from error

    def save(self, folder: Path) -> None:
        """Write model and tokenizer in the format of transformers."""
        with quiet_transformers():
            self.model.save_pretrained(folder)
            self.tokenizer.save_pretrained(folder)

    @property
    def device(self) -> torch.device:
        """Device of the weights."""
        return next(self.parameters()).device

    @property
    def max_tokens(self) -> int:
        """Number of tokens that the encoder can read at once, including marks."""
        config = self.model.config
        positions = getattr(config, "max_position_embeddings", None)
        if positions is None:  # positions are relative, so that the model sets no limit
            return int(self.tokenizer.model_max_length)
        if config.model_type in _POSITIONS_AFTER_PADDING:
            positions -= config.pad_token_id + 1
        return int(positions)

    def compute_fingerprint(self) -> str:
        """Return a digest of everything that a vector depends on.

        This is the current weights, the tokenizer's vocabulary and the pooling.
        """
        words = json.dumps(self.tokenizer.get_vocab(), sort_keys=True)
        digest = hashlib.sha256(f"{words} {self.pooling}".encode())
        for name, value in sorted(self.model.state_dict().items()):
            digest.update(name.encode())
            digest.update(value.detach().cpu().contiguous().view(torch.uint8).numpy())
        return digest.hexdigest()[:16]

    def pieces(self, texts: Sequence[str], length: int, most: int = 1) -> list[list[Piece]]:
        """Return the first ``most`` pieces, of at most ``length`` tokens, of each text.

        An empty text has one piece with only the tokenizer's marks.
        """
        if not texts:
            return []
        tokenized = self.tokenizer(
            [self._cut(text, length, most) for text in texts],
            truncation=True,
            max_length=length,
            return_overflowing_tokens=True,
            return_attention_mask=False,
            return_token_type_ids=False,
        )
        pieces_by_text = [list[Piece]() for _ in texts]
        for text_number, tokens in zip(
            tokenized["overflow_to_sample_mapping"], tokenized["input_ids"], strict=True
        ):
            pieces_by_text[text_number].append(tokens)
        return [pieces[:most] for pieces in pieces_by_text]

    def prefixed_pieces(
        self, texts: Sequence[str], length: int, prefix: str, most: int = 1
    ) -> list[list[Piece]]:
        """Return pieces as ``pieces`` does, but each begins with a prefix, such as "query: ".

        The prefix and the text after it are tokenized together, as in the encoder's own training.
        Raises ToslocError if the prefix leaves no room for a text.
        """
        if not prefix:
            return self.pieces(texts, length, most)
        room = length - self.count_tokens(prefix)
        if room <= self.tokenizer.num_special_tokens_to_add():
            raise ToslocError(f"{self.name}: the prefix {prefix!r} fills all of {length} tokens")
        parts = []
        for text in self._split(texts, room, most):
            parts.append([prefix + part for part in text])
        first_pieces = iter(self.pieces([part for text in parts for part in text], length))
        return [[next(first_pieces)[0] for _ in text] for text in parts]

    def count_tokens(self, text: str) -> int:
        """Return the number of tokens of a text, without the tokenizer's marks."""
        return len(self.tokenizer(text, add_special_tokens=False)["input_ids"])

    def _split(self, texts: Sequence[str], length: int, most: int) -> list[list[str]]:
        """Return the first ``most`` parts, of at most ``length`` tokens, of each text.

        The tokenizer's marks count as tokens.
        """
        cut_texts = [self._cut(text, length, most) for text in texts]
        if not cut_texts:
            return []
        tokenized = self.tokenizer(
            cut_texts,
            truncation=True,
            max_length=length,
            return_overflowing_tokens=True,
            return_offsets_mapping=True,
        )
        parts = [list[str]() for _ in texts]
        ends = [0] * len(texts)
        for text_number, offsets in zip(
            tokenized["overflow_to_sample_mapping"], tokenized["offset_mapping"], strict=True
        ):
            start = ends[text_number]
            ends[text_number] = max(end for _, end in offsets)
            parts[text_number].append(cut_texts[text_number][start : ends[text_number]])
        return [text_parts[:most] for text_parts in parts]

    @staticmethod
    def _cut(text: str, length: int, most: int) -> str:
        """Return the beginning of a text that fits into ``most`` pieces by any tokenizer."""
        return replace_lone_surrogates(text[: MAX_LETTERS_PER_TOKEN * length * most])

    def forward(self, pieces: Sequence[Piece]) -> Tensor:
        """Return (S, d) vectors of S pieces."""
        padded = self.tokenizer.pad(
            {"input_ids": pieces}, padding_side="right", return_tensors="pt"
        ).to(self.device)
        hidden_SLd: Tensor = self.model(**padded).last_hidden_state
        if self.pooling == "first":
            return hidden_SLd[:, 0]
        if self.pooling == "last":
            last_S = padded["attention_mask"].sum(1) - 1
            return hidden_SLd[torch.arange(len(pieces), device=self.device), last_S]
        mask_SL1: Tensor = padded["attention_mask"].unsqueeze(-1).to(hidden_SLd.dtype)
        return (hidden_SLd * mask_SL1).sum(1) / mask_SL1.sum(1).clamp(min=1)

    @torch.inference_mode()
    def vectors(self, pieces: Sequence[Piece]) -> Float16Array:
        """Return (S, d) vectors of S pieces in half precision, without gradients."""
        self.eval()
        vectors = np.zeros((len(pieces), self.width), dtype=np.float16)
        for positions in batches_of_similar_length(pieces):
            vectors[positions] = self([pieces[position] for position in positions]).cpu().numpy()
        return vectors


def batches_of_similar_length(pieces: Sequence[Piece]) -> Iterator[list[int]]:
    """Yield the positions of pieces that go through an encoder together.

    The pieces of a batch have similar lengths, so that there is little padding. Together they have
    at most ``MAX_BATCH_TOKENS`` tokens.
    """
    order = sorted(range(len(pieces)), key=lambda position: -len(pieces[position]))
    longest = max([1, *map(len, pieces)])
    size = max(1, MAX_BATCH_TOKENS // longest)
    for start in range(0, len(order), size):
        yield order[start : start + size]


def process_state() -> PartialState:
    """Return the processes that learn together, and this process's device: its GPU, or the CPU."""
    return PartialState(cpu=not torch.cuda.is_available())


def replace_lone_surrogates(text: str) -> str:
    """Return the text with "?" for each half of a character, which no tokenizer accepts."""
    return text.encode("utf-8", "replace").decode("utf-8")


def strip_licence(code: str) -> str:
    r"""Return the code without the comments at its head about copyright or a licence.

    >>> strip_licence("/* Copyright 2020 */\n\npackage a;")
    '\n\npackage a;'
    >>> strip_licence("// What this does\npackage a;")
    '// What this does\npackage a;'
    """
    start = 0
    while True:
        comment = _COMMENT.match(code, start)
        if comment is None or not _LICENCE.search(comment[0]):
            return code[start:]
        start = comment.end()


def report_text(report: BugReport) -> str:
    """Return a report's summary and description without stack frames, which only stage one reads.

    Source: section 3.3 of the paper.
    """
    return f"{report.summary}\n{without_frames(report.description).strip()}".strip()


@dataclass(frozen=True)
class ChunkReader:
    """Reads blobs for one encoder: at most ``most`` pieces of ``length`` tokens from each blob.

    Each piece begins with ``prefix``.
    """

    encoder: Encoder
    most: int
    length: int
    texts: TextSource
    prefix: str = ""

    def chunks(self, blobs: Sequence[str]) -> dict[str, list[Piece]]:
        """Return blob -> its pieces; empty for a blob that is blank or cannot be read."""
        chunks: dict[str, list[Piece]] = {blob: [] for blob in blobs}
        codes = {}
        for blob, text in self.texts(blobs):
            code = strip_licence(text or "")
            if code.strip():
                codes[blob] = code
        pieces = self.encoder.prefixed_pieces(
            list(codes.values()), self.length, self.prefix, self.most
        )
        chunks.update(zip(codes, pieces, strict=True))
        return chunks

    def vectors(
        self, blobs: Sequence[str], path: Path, progress: Progress = ignore_progress
    ) -> dict[str, Float16Array]:
        """Return blob -> (U, d) vectors of its U chunks, in half precision.

        Vectors that are missing in the store at ``path`` are computed and stored. Several processes
        may use the store at once. ``blobs`` must be distinct. Raises StoreError.
        """
        key = f"{self.encoder.fingerprint} {TEXT_VERSION} {self.most}x{self.length}"
        if self.prefix:
            key += f" after {self.prefix!r}"
        data_by_blob = {}
        missing = []
        with FactStore(path) as store:
            stored = store.read(dict.fromkeys(blobs, key))
            for blob, data in zip(blobs, stored, strict=True):
                if data is None:
                    missing.append(blob)
                else:
                    data_by_blob[blob] = data
            if missing:
                progress("encoding files", 0, len(missing))
            for start in range(0, len(missing), FILES_PER_BATCH):
                batch = missing[start : start + FILES_PER_BATCH]
                new_data = self._encode(batch)
                store.write((blob, key, data) for blob, data in new_data.items())
                data_by_blob.update(new_data)
                progress("encoding files", start + len(batch), len(missing))
        vectors = {}
        for blob in blobs:
            numbers = np.frombuffer(data_by_blob[blob], "<f2")
            vectors[blob] = numbers.reshape(-1, self.encoder.width)
        return vectors

    def _encode(self, blobs: Sequence[str]) -> dict[str, bytes]:
        """Return blob -> its chunk vectors as bytes: little-endian numbers of half precision."""
        pieces_by_blob = self.chunks(blobs)
        all_pieces = []
        for pieces in pieces_by_blob.values():
            all_pieces.extend(pieces)
        vectors = self.encoder.vectors(all_pieces).astype("<f2")
        data = {}
        start = 0
        for blob, pieces in pieces_by_blob.items():
            end = start + len(pieces)
            data[blob] = vectors[start:end].tobytes()
            start = end
        return data
