"""The store of vectors, and that each blob goes through the encoder once."""

import os
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
import torch

from tosloc.errors import StoreError, StoreWarning, ToslocError
from tosloc.reranking.encoder.chunk_vectors import CodeEncoding, Cut, dtype_of, encode
from tosloc.reranking.encoder.encoders import Encoder
from tosloc.reranking.encoder.vector_store import VectorStore

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
    with VectorStore(tmp_path / "v.sqlite") as store:
        store.put_vectors("m", [("a", made), ("b", made[:0])])
        assert store.missing("m", ["a", "c", "b", "c"]) == ["c"]
        assert store.missing("other", ["a"]) == ["a"]
    with VectorStore(tmp_path / "v.sqlite") as store:
        found = store.vectors("m", ["b", "a", "c"])
        assert sorted(found) == ["a", "b"]
        assert np.array_equal(found["a"], made)
        assert found["b"].shape == (0, 4)


def test_tokens_come_back(tmp_path: Path) -> None:
    with VectorStore(tmp_path / "v.sqlite") as store:
        store.put_tokens("t", [("a", [1, 70_000, 3]), ("b", [])])
        found = store.tokens("t", ["a", "b", "c"])
        assert {blob: tokens.tolist() for blob, tokens in found.items()} == {"a": [1, 70_000, 3], "b": []}


@pytest.mark.parametrize("damage", ["data = x'00'", "width = 1", "data = (SELECT data FROM vectors WHERE blob = 'b')"])
def test_what_is_damaged_is_said_and_made_again(tmp_path: Path, damage: str) -> None:
    made = {name: np.full((2, 4), n, dtype=np.float16) for n, name in enumerate("ab")}
    with VectorStore(tmp_path / "v.sqlite") as store:
        store.put_vectors("m", made.items())
        store._kept.execute(f"UPDATE vectors SET {damage} WHERE blob = 'a'")
        with pytest.warns(StoreWarning, match=r"v\.sqlite: vectors of 1 files were damaged and are made again"):
            assert list(store.vectors("m", ["a", "b"])) == ["b"]
        assert store.missing("m", ["a", "b"]) == ["a"]


def test_an_earlier_versions_store_gets_checksums(tmp_path: Path) -> None:
    made = {name: np.full((2, 4), n, dtype=np.float16) for n, name in enumerate("ab")}
    with VectorStore(tmp_path / "v.sqlite") as store:
        store.put_vectors("m", made.items())
        store.put_tokens("t", [("a", [1, 2])])
        for table in ("vectors", "tokens"):
            store._kept.execute(f"ALTER TABLE {table} DROP COLUMN checksum")
        store._kept.execute("PRAGMA user_version = 1")
    with pytest.warns(StoreWarning, match="written by an earlier TosLoc"):
        store = VectorStore(tmp_path / "v.sqlite")
    assert np.array_equal(store.vectors("m", ["b"])["b"], made["b"])
    assert store.tokens("t", ["a"])["a"].tolist() == [1, 2]
    VectorStore(tmp_path / "v.sqlite")


def test_what_is_no_store_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no database, but long enough to be taken for one" * 100)
    with pytest.raises(StoreError, match="delete it to have the vectors made again"):
        VectorStore(tmp_path / "text")
    with pytest.raises(StoreError, match="text"):
        VectorStore(tmp_path / "text" / "below")


def test_an_interrupted_write_leaves_nothing(tmp_path: Path) -> None:
    def broken() -> Iterator[tuple[str, np.ndarray]]:
        yield "a", np.zeros((1, 2), dtype=np.float16)
        raise KeyboardInterrupt

    with VectorStore(tmp_path / "v.sqlite") as store:
        with pytest.raises(KeyboardInterrupt):
            store.put_vectors("m", broken())
        assert store.missing("m", ["a"]) == ["a"]
        store.put_vectors("m", [("a", np.zeros((1, 2), dtype=np.float16))])
        assert store.missing("m", ["a"]) == []


def test_no_connection_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[sqlite3.Connection] = []
    real = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *args, **more: made.append(real(*args, **more)) or made[-1])
    vectors = np.ones((1, 2), dtype=np.float16)

    def closed() -> list[bool]:
        found = []
        for connection in made:
            try:
                connection.execute("SELECT 1")
                found.append(False)
            except sqlite3.ProgrammingError:
                found.append(True)
        return found

    store = VectorStore(tmp_path / "v.sqlite")
    store.put_vectors("m", [("a", vectors)])
    assert store.missing("m", ["a", "b"]) == ["b"]
    assert len(made) > 2
    assert all(closed())
    made.clear()
    with store:
        store.put_tokens("m", [("a", [1])])
        assert store.vectors("m", ["a"])["a"].tolist() == [[1, 1]]
        assert closed() == [False]  # one for the whole block
    assert closed() == [True]
    assert store.tokens("m", ["a"])["a"].tolist() == [1]
    (tmp_path / "v.sqlite").write_bytes(b"text" * 999)
    with pytest.raises(StoreError, match="the store of vectors cannot be used"):
        store.missing("m", ["a"])
    assert all(closed())


def test_each_blob_is_encoded_once(encoder_folder: Path, tmp_path: Path) -> None:
    encoder, asked = Encoder.load(str(encoder_folder), "mean"), Asked()
    with VectorStore(tmp_path / "v.sqlite") as store:
        encoding = CodeEncoding(encoder, Cut(3, 8), store, precision="float32")
        assert encoding.make(["1", "2", "3", "1"], asked) == 3
        assert sorted(asked.blobs) == ["1", "2", "3"]
        assert encoding.make(["3", "4", "2"], asked) == 1
        found = store.vectors(encoding.maker, list(TEXTS))
        assert {blob: len(vectors) for blob, vectors in found.items()} == {"1": 1, "2": 3, "3": 0, "4": 3}
        with torch.inference_mode():
            [alone] = encoder(*encoder.padded([np.array([2, 7, 11, 3])], "cpu"))
        assert np.allclose(found["1"][0], alone.numpy(), atol=1e-3)
        # another encoder of the same words: other vectors, the same tokens
        other = CodeEncoding(Encoder.load(str(encoder_folder), "first"), Cut(3, 8), store, precision="float32")
        asked.blobs.clear()
        assert other.make(["1", "2"], asked) == 2
        assert asked.blobs == []
        assert not np.array_equal(store.vectors(other.maker, ["1"])["1"], found["1"])


def test_the_order_of_files_changes_no_vector(encoder_folder: Path, tmp_path: Path) -> None:
    made = []
    for order in (["1", "2", "4"], ["4", "2", "1"]):
        with VectorStore(tmp_path / f"{order[0]}.sqlite") as store:
            encoding = CodeEncoding(Encoder.load(str(encoder_folder), "mean"), Cut(3, 8), store, precision="float32")
            encoding.make(order, Asked())
            made.append(store.vectors(encoding.maker, sorted(TEXTS)))
    assert made[0].keys() == made[1].keys()
    for blob, vectors in made[0].items():
        assert np.allclose(vectors, made[1][blob], atol=1e-3)


def test_too_long_chunks_are_refused(encoder_folder: Path, tmp_path: Path) -> None:
    with VectorStore(tmp_path / "v.sqlite") as store, pytest.raises(ToslocError, match="reads at most 34 tokens"):
        CodeEncoding(Encoder.load(str(encoder_folder), "mean"), Cut(3, 35), store)


def test_nothing_to_encode_is_nothing(encoder_folder: Path) -> None:
    encoder = Encoder.load(str(encoder_folder), "mean")
    assert encode(encoder, [], torch.device("cpu")).shape == (0, 16)
    assert dtype_of("float32", torch.device("cpu")) == torch.float32
    assert os.name != "posix" or dtype_of("auto", torch.device("cpu")) in (torch.float32, torch.bfloat16)
