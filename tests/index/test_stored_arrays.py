"""HistoryIndex and versions as arrays and back, byte for byte, without unpickling."""

from __future__ import annotations

from collections import Counter

from tosloc.arrays import load_arrays, save_arrays
from tosloc.index.documents import Document, Documents
from tosloc.index.history_index import HistoryIndex

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


def test_documents():
    made = documents(("ü", "aab", ()), ("two", "", ("x.A", "x.B")), ("three", "c", ("y.C",)))
    same(Documents.from_arrays(made.to_arrays()), made)
    same(Documents.from_arrays(Documents.collect([]).to_arrays()), Documents.collect([]))


def test_history_through_a_file(tmp_path):
    history = HistoryIndex(documents(("m", "ab", ())), documents(("r", "c", ("x.A",))))
    path = tmp_path / "history.npz"
    save_arrays(path, history.to_arrays(ODD))
    read, paths = HistoryIndex.from_arrays(load_arrays(path))
    same(read.commits, history.commits)
    same(read.reports, history.reports)
    assert paths == ODD
