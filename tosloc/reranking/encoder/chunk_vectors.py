"""Encoding blobs: texts to tokens to chunk vectors, only what the store lacks, in batches of bounded size."""

from __future__ import annotations

import copy
import platform
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias

import numpy as np
import torch

from tosloc.errors import ToslocError
from tosloc.records import Float16Array, IntArray, Progress, silent
from tosloc.reranking.base import TextSource
from tosloc.reranking.encoder.encoders import Encoder
from tosloc.reranking.encoder.texts import without_licence
from tosloc.reranking.encoder.vector_store import VectorStore

# n chunks of a file, d width of the encoder

Precision: TypeAlias = Literal["auto", "float32", "bfloat16"]

TEXT_VERSION: Final = "text1"
"""Changes when ``without_licence`` or the cutting does, so that old tokens are not taken for new ones."""
FILES: Final = 256
"""Files tokenised together; what a crash can lose."""
BATCH_TOKENS: Final = 16_384
"""Tokens, padding included, that go through the encoder at once."""


@dataclass(frozen=True, slots=True)
class Cut:
    """How a file is cut: at most ``chunks`` pieces of ``length`` tokens, marks included."""

    chunks: int
    length: int


def best_device() -> torch.device:
    """A CUDA GPU if there is one."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def dtype_of(precision: Precision, device: torch.device) -> torch.dtype:
    """The type that the encoder computes in; "auto" takes bfloat16 where the hardware has it."""
    if precision == "auto":
        if device.type == "cuda":
            return torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float32
        return torch.bfloat16 if _processor_has_bfloat16() else torch.float32
    return {"float32": torch.float32, "bfloat16": torch.bfloat16}[precision]


def _processor_has_bfloat16() -> bool:
    """Whether the processor multiplies bfloat16 itself; elsewhere it would be slower than single precision."""
    if platform.system() != "Linux":
        return False
    try:
        flags = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return " avx512_bf16" in flags or " amx_bf16" in flags


class CodeEncoding:
    """Chunk vectors of blobs by one encoder and one cut, through a store."""

    def __init__(
        self,
        encoder: Encoder,
        cut: Cut,
        store: VectorStore,
        *,
        device: torch.device | str = "cpu",
        precision: Precision = "auto",
    ) -> None:
        if cut.length > encoder.longest:
            raise ToslocError(
                f"[stage_two] chunk_tokens: {encoder.name} reads at most {encoder.longest} tokens, not {cut.length}"
            )
        self.encoder, self.cut, self.store = encoder, cut, store
        self.device = torch.device(device)
        self.dtype = dtype_of(precision, self.device)
        self.token_maker = f"{encoder.words.fingerprint} {TEXT_VERSION} {cut.chunks * cut.length}"

    @property
    def maker(self) -> str:
        """What vectors are kept under; changes with the encoder's weights, the cut and the precision."""
        return f"{self.encoder.fingerprint} {TEXT_VERSION} {self.cut.chunks}x{self.cut.length} {self.dtype}"

    def working(self) -> Encoder:
        """The encoder in the type that it computes in; a copy, since lower precision cannot be taken back."""
        if self.dtype == torch.float32:
            return self.encoder.to(self.device).eval()
        return copy.deepcopy(self.encoder).to(self.device, self.dtype).eval()

    def make(self, blobs: Iterable[str], texts: TextSource, progress: Progress = silent) -> int:
        """Encode the blobs whose vectors are missing; how many there were. A blob that cannot be read gets no chunk."""
        missing = self.store.missing(self.maker, blobs)
        model = self.working() if missing else self.encoder
        progress("encoding files", 0, len(missing))
        for start in range(0, len(missing), FILES):
            part = missing[start : start + FILES]
            tokens = self.tokens(part, texts)
            cuts = [self.encoder.words.chunks(tokens[blob], self.cut.length, self.cut.chunks) for blob in part]
            sizes = [len(cut) if len(tokens[blob]) else 0 for blob, cut in zip(part, cuts, strict=True)]
            chunks = [chunk for cut, size in zip(cuts, sizes, strict=True) for chunk in cut[:size]]
            made = encode(model, chunks, self.device)
            ends = np.cumsum([0, *sizes])
            self.store.put_vectors(self.maker, ((blob, made[ends[i] : ends[i + 1]]) for i, blob in enumerate(part)))
            progress("encoding files", start + len(part), len(missing))
        return len(missing)

    def tokens(self, blobs: Sequence[str], texts: TextSource) -> dict[str, IntArray]:
        """Blob -> its tokens, as many as are ever read; from the store or made now."""
        known = self.store.tokens(self.token_maker, blobs)
        wanted = [blob for blob in blobs if blob not in known]
        if wanted:
            most = self.cut.chunks * self.cut.length
            read = [(blob, without_licence(text or "")) for blob, text in texts(wanted)]
            # a token is hardly ever shorter than a letter: what lies beyond is never read
            made = self.encoder.words.tokens([text[: most * 12] for _, text in read])
            new = {blob: np.array(tokens[:most], dtype=np.int32) for (blob, _), tokens in zip(read, made, strict=True)}
            self.store.put_tokens(self.token_maker, ((blob, tokens.tolist()) for blob, tokens in new.items()))
            known |= new
        return known


@torch.inference_mode()
def encode(model: Encoder, sequences: Sequence[IntArray], device: torch.device) -> Float16Array:
    """(S, d) vectors of marked token sequences, those of like length together so that little is padding.

    Raises ToslocError when the device has too little memory.
    """
    made = np.zeros((len(sequences), model.width), dtype=np.float16)
    try:
        for batch in alike(sequences):
            tokens_SL, real_SL = model.padded([sequences[place] for place in batch], device)
            made[batch] = model(tokens_SL, real_SL).float().cpu().numpy().astype(np.float16)
    except torch.cuda.OutOfMemoryError as error:
        raise ToslocError("the GPU's memory is too small for the encoder; lower [stage_two] chunk_tokens") from error
    return made


def alike(sequences: Sequence[IntArray]) -> Iterator[list[int]]:
    """Places of sequences that go through the encoder together: of like length, ``BATCH_TOKENS`` at most."""
    order = sorted(range(len(sequences)), key=lambda place: (-len(sequences[place]), place))
    start = 0
    while start < len(order):
        number = max(1, BATCH_TOKENS // max(len(sequences[order[start]]), 1))
        yield order[start : start + number]
        start += number
