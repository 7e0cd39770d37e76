"""The store of vectors, and that each blob goes through the encoder once."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
import torch

from tosloc.errors import StoreError, ToslocError
from tosloc.rerank.encoder.encoders import Encoder
from tosloc.rerank.encoder.vectors import ChunkReader, VectorStore

TEXTS = {"1": "door opens", "2": "/* Copyright */ window fails lock " * 4, "3": "", "4": "key " * 50}


class Asked:
    """Texts of blobs, and which were asked for."""

    def __init__(self) -> None:
        self.blobs: list[str] = []

    def __call__(self, blobs: Sequence[str]) -> Iterator[tuple[str, str | None]]:
        self.blobs += blobs
        return ((blob, TEXTS.get(blob)) for blob in blobs)


def test_vectors_come_back_in_half_precision(tmp_path: Path) -> None:
    made = np.random.default_rng(1).normal(size=(3, 4)).astype(np.float16)
    VectorStore(tmp_path / "new/v.sqlite").put("m", {"a": made, "b": made[:0]})
    store = VectorStore(tmp_path / "new/v.sqlite")
    found = store.get("m", ["b", "a", "c", "a"])
    assert sorted(found) == ["a", "b"]
    assert np.array_equal(found["a"], made)
    assert found["b"].shape == (0, 4)
    assert store.get("other", ["a"]) == {}
    assert len(store.get("m", [*map(str, range(2000)), "a"])) == 1


def test_what_does_not_open_is_made_again(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no database, but long enough to be taken for one" * 100)
    store = VectorStore(tmp_path / "text")
    store.put("m", {"a": np.ones((1, 2), np.float16)})
    assert sorted(store.get("m", ["a"])) == ["a"]
    with pytest.raises(StoreError, match="cannot be kept there"):
        VectorStore(tmp_path / "text" / "below")
    with pytest.raises(StoreError, match="cannot be kept there"):
        VectorStore(tmp_path)


def test_each_blob_is_encoded_once(encoder_folder: Path, tmp_path: Path) -> None:
    encoder, asked, store = Encoder.load(str(encoder_folder), "mean"), Asked(), VectorStore(tmp_path / "v.sqlite")
    reader = ChunkReader(encoder, 3, 8, asked)
    reader.vectors(["1", "2", "3", "1"], store)
    assert asked.blobs == ["1", "2", "3"]
    found = reader.vectors(list(TEXTS), store)
    assert asked.blobs == ["1", "2", "3", "4"]
    assert {blob: len(vectors) for blob, vectors in found.items()} == {"1": 1, "2": 3, "3": 0, "4": 3}
    with torch.inference_mode():
        [alone] = encoder([[2, 7, 11, 3]])
    assert np.allclose(found["1"][0], alone.numpy(), atol=1e-3)
    for other in (
        ChunkReader(encoder, 2, 8, asked),
        ChunkReader(Encoder.load(str(encoder_folder), "first"), 3, 8, asked),
    ):
        asked.blobs.clear()
        other.vectors(["1"], store)
        assert asked.blobs == ["1"]


def test_the_order_of_files_changes_no_vector(encoder_folder: Path, tmp_path: Path) -> None:
    reader = ChunkReader(Encoder.load(str(encoder_folder), "mean"), 3, 8, Asked())
    together = reader.vectors(TEXTS, VectorStore(tmp_path / "together"))
    for blob, vectors in together.items():
        alone = reader.vectors([blob], VectorStore(tmp_path / "alone"))[blob]
        assert np.allclose(vectors, alone, atol=1e-3)


def test_too_long_chunks_are_refused(encoder_folder: Path) -> None:
    with pytest.raises(ToslocError, match="reads at most 34 tokens"):
        ChunkReader(Encoder.load(str(encoder_folder), "mean"), 3, 35, Asked())
