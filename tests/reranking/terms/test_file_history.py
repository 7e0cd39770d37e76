"""What was said of files before some time, as sparse vectors."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from tosloc.index.documents import Document, Documents
from tosloc.index.history_index import HistoryIndex
from tosloc.reranking.terms.file_history import REPORT_WEIGHT, YEAR, FileHistories
from tosloc.reranking.terms.vocabulary import TermVocabulary

TERMS = ("", "cooki", "planet", "socket")
VOCABULARY = TermVocabulary(TERMS, *np.array([[0, 1.0, 2.0, 3.0]] * 4))


def document(name: str, at: float, paths: tuple[int, ...], **terms: int) -> Document:
    return Document(name, int(at), int(name, 36) % 8, name, Counter(terms), paths)


COMMITS = Documents.collect(
    [document("0", 0, (0, 1), cooki=1, planet=1), document("1", YEAR, (0,), socket=2, unknown=1)]
)
REPORTS = Documents.collect([document("2", YEAR / 2, (0,), cooki=1)])


def histories(size: int = 3, years: float = 1.0) -> tuple[FileHistories, HistoryIndex]:
    history_index = HistoryIndex(COMMITS, REPORTS)
    return FileHistories(history_index, VOCABULARY, 3, size, years), history_index


def vector(made: FileHistories, row: int) -> dict[str, float]:
    vectors = made.cache.vectors
    return {TERMS[t]: w for t, w in zip(vectors.terms[row].tolist(), vectors.weights[row].tolist(), strict=True) if t}


def test_a_history_by_hand():
    made, history_index = histories()
    rows = made.rows(np.array([0, 1, 2], dtype=np.int32), history_index.as_of(2 * YEAR))
    first = np.array([1, 2, 0]) / 5**0.5 / 2**0.5 * np.exp(-1)  # by the document, cookie planet socket
    total = np.sqrt(first + np.array([REPORT_WEIGHT * np.exp(-0.5), 0, 0]) + np.array([0, 0, 1]))
    wanted = dict(zip(TERMS[1:], total / np.linalg.norm(total), strict=True))
    assert vector(made, int(rows[0])) == pytest.approx(wanted, abs=1e-6)
    root = np.sqrt([1, 2])
    assert vector(made, int(rows[1])) == pytest.approx(
        dict(zip(("cooki", "planet"), root / np.linalg.norm(root), strict=True)), abs=1e-6
    )
    assert vector(made, int(rows[2])) == {}


def test_only_what_was_known_and_contained_is_heard():
    made, history_index = histories()
    files = np.array([0], dtype=np.int32)
    early = made.rows(files, history_index.as_of(YEAR / 2))  # strictly: the report of that second is not known
    assert vector(made, int(early[0])).keys() == {"cooki", "planet"}
    contained = np.array([c != 0 for c in range(8)])
    without = made.rows(files, history_index.as_of(2 * YEAR, contained))
    assert vector(made, int(without[0])).keys() == {"cooki", "socket"}
    assert vector(made, int(made.rows(files, history_index.as_of(0))[0])) == {}


def test_what_says_the_same_is_made_once():
    made, history_index = histories()
    files = np.array([0, 1], dtype=np.int32)
    rows = made.rows(files, history_index.as_of(2 * YEAR))
    assert made.rows(files[::-1], history_index.as_of(9 * YEAR)).tolist() == rows[::-1].tolist()
    earlier = made.rows(files, history_index.as_of(YEAR - 1))
    assert earlier[0] != rows[0]
    assert earlier[1] == rows[1]
    # and it does not matter with which others it was made
    alone, history_index = histories()
    row = alone.rows(files[1:], history_index.as_of(2 * YEAR))
    assert vector(alone, int(row[0])) == vector(made, int(rows[1]))


def test_the_heaviest_terms_stay():
    made, history_index = histories(size=1)
    rows = made.rows(np.array([0], dtype=np.int32), history_index.as_of(2 * YEAR))
    assert vector(made, int(rows[0])) == {"cooki": 1.0}
