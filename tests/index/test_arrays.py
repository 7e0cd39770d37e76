"""HistoryIndex and versions as arrays and back, byte for byte, without unpickling."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from tosloc.errors import CheckpointError
from tosloc.index import arrays
from tosloc.index.documents import Document, Documents
from tosloc.index.history_index import HistoryIndex
from tosloc.records import Names, Snapshot

ODD = ("", "a/b c.java", "ü/ß.java", b"\xff\xe9/x.java".decode("utf-8", "surrogateescape"), "new\nline.java", "")


def documents(*names):
    return Documents.collect(
        Document(name, 10 * place, place, f"c{place}", Counter(words), (place, 3), classes)
        for place, (name, words, classes) in enumerate(names)
    )


def same(one, two):
    assert one.ids == two.ids
    assert one.commit_ids == two.commit_ids
    assert one.vocabulary == two.vocabulary
    assert one.classes == two.classes
    for name in ("times", "commits", "starts", "terms", "counts", "file_starts", "files", "sizes"):
        assert getattr(one, name).tolist() == getattr(two, name).tolist()
        assert getattr(one, name).dtype == getattr(two, name).dtype


@pytest.mark.parametrize("strings", [ODD, (), ("",), ("", "")])
def test_strings(strings):
    assert arrays.unpack(arrays.prefixed("x", arrays.pack(strings)), "x") == strings


def test_names_of_arrays():
    held = {"a": np.zeros(1), "b.c": np.ones(1)}
    named = arrays.prefixed("x", held)
    assert set(named) == {"x.a", "x.b.c"}
    assert set(arrays.under("x", named | {"xa.b": np.zeros(1)})) == {"a", "b.c"}


def test_documents():
    made = documents(("ü", "aab", ()), ("two", "", ("x.A", "x.B")), ("three", "c", ("y.C",)))
    same(arrays.documents_from(arrays.documents_arrays(made)), made)
    same(arrays.documents_from(arrays.documents_arrays(Documents.collect([]))), Documents.collect([]))


def test_evidence_through_a_file(tmp_path):
    evidence = HistoryIndex(documents(("m", "ab", ())), documents(("r", "c", ("x.A",))))
    path = tmp_path / "evidence.npz"
    arrays.save(path, arrays.history_arrays(evidence, ODD))
    read, paths = arrays.history_from(arrays.load(path))
    same(read.commits, evidence.commits)
    same(read.reports, evidence.reports)
    assert paths == ODD


def test_a_version_with_any_paths():
    files = {path: f"blob{place}" for place, path in enumerate(ODD) if path}
    snapshot = Snapshot.of("c" * 40, 123, files)
    names = Names()
    names.id("an earlier path")
    read = arrays.snapshot_from(arrays.snapshot_arrays(snapshot), names)
    assert (read.commit, read.committed_at) == (snapshot.commit, 123)
    assert read.paths == snapshot.paths
    assert read.blobs == snapshot.blobs
    assert 0 not in read.path_ids


def test_the_same_arrays_give_the_same_bytes(tmp_path):
    held = {"b": np.arange(5), "a": np.ones((2, 3), dtype=np.float32)[:, ::2]}
    arrays.save(tmp_path / "one.npz", held)
    arrays.save(tmp_path / "two.npz", dict(reversed(held.items())))
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "two.npz").read_bytes()
    read = arrays.load(tmp_path / "one.npz")
    assert read["a"].tolist() == [[1, 1], [1, 1]]
    assert read["b"].dtype == np.arange(5).dtype


def test_what_cannot_be_read(tmp_path):
    path = tmp_path / "x.npz"
    with pytest.raises(CheckpointError, match="missing"):
        arrays.load(path)
    path.write_bytes(b"not an archive")
    with pytest.raises(CheckpointError, match="damaged"):
        arrays.load(path)
    arrays.save(path, {"a": np.arange(1000)})
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(CheckpointError, match="damaged"):
        arrays.load(path)


def test_nothing_is_unpickled(tmp_path):
    path = tmp_path / "x.npz"
    np.savez(path, a=np.array([{"anything": 1}], dtype=object))
    with pytest.raises(CheckpointError, match="damaged"):
        arrays.load(path)
