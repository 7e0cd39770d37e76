"""The store of vectors, and that each blob goes through the encoder once."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
import torch

from tosloc.errors import StoreError, ToslocError
from tosloc.rerank.encoder.encoders import ChunkReader, Encoder

TEXTS = {"1": "door opens", "2": "/* Copyright */ window fails lock " * 4, "3": "", "4": "key " * 50}


class Asked:
    """Texts of blobs, and which were asked for."""

    def __init__(self) -> None:
        self.blobs: list[str] = []

    def __call__(self, blobs: Sequence[str]) -> Iterator[tuple[str, str | None]]:
        self.blobs += blobs
        return ((blob, TEXTS.get(blob)) for blob in blobs)


def test_what_is_no_table_is_made_again(encoder_folder: Path, tmp_path: Path) -> None:
    reader = ChunkReader(Encoder.load(str(encoder_folder), "mean"), 3, 8, Asked())
    (tmp_path / "text").write_text("no database, but long enough to be taken for one" * 100)
    assert sorted(reader.vectors(["1"], tmp_path / "text")) == ["1"]
    for path in (tmp_path / "text" / "below", tmp_path):
        with pytest.raises(StoreError, match="cannot be kept there"):
            reader.vectors(["1"], path)


def test_each_blob_is_encoded_once(encoder_folder: Path, tmp_path: Path) -> None:
    encoder, asked, path = Encoder.load(str(encoder_folder), "mean"), Asked(), tmp_path / "new/v.sqlite"
    reader = ChunkReader(encoder, 3, 8, asked)
    reader.vectors(["1", "2", "3", "1"], path)
    assert asked.blobs == ["1", "2", "3"]
    found = reader.vectors(list(TEXTS), path)
    assert asked.blobs == ["1", "2", "3", "4"]
    again = reader.vectors(list(TEXTS), path)
    assert {blob: vectors.tolist() for blob, vectors in again.items()} == {b: v.tolist() for b, v in found.items()}
    assert {blob: len(vectors) for blob, vectors in found.items()} == {"1": 1, "2": 3, "3": 0, "4": 3}
    with torch.inference_mode():
        [alone] = encoder([[2, 7, 11, 3]])
    assert np.allclose(found["1"][0], alone.numpy(), atol=1e-3)
    for other in (
        ChunkReader(encoder, 2, 8, asked),
        ChunkReader(Encoder.load(str(encoder_folder), "first"), 3, 8, asked),
    ):
        asked.blobs.clear()
        other.vectors(["1"], path)
        assert asked.blobs == ["1"]


def test_too_long_chunks_are_refused(encoder_folder: Path) -> None:
    with pytest.raises(ToslocError, match="reads at most 34 tokens"):
        ChunkReader(Encoder.load(str(encoder_folder), "mean"), 3, 35, Asked())
