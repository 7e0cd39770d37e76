"""Terms that count, sparse vectors of them, and the dense vectors that learning starts from."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from tosloc.analysis.facts import analyse
from tosloc.index.fact_table import FactTable
from tosloc.index.postings import idf
from tosloc.index.store import FactStore
from tosloc.reranking.terms.sparse_vectors import SparseVectorCache, SparseVectors, principal
from tosloc.reranking.terms.vocabulary import _FIELD_WEIGHTS, TermVocabulary, path_words, report_counts

TEXTS = {
    "a": "class CookieJar { int crumbs; /* sweet */ void bake() { bake(); } }",
    "b": 'class Socket { void bake() { open("cookie"); } }',
    "c": "class Planet { void bake() { } }",
}
PATHS = ("src/CookieJar.java", "src/net/Socket.java", "src/Planet.java")


@pytest.fixture(scope="module")
def table(tmp_path_factory) -> FactTable:
    with FactStore(tmp_path_factory.mktemp("terms") / "facts.sqlite") as store:
        store.put([(blob, "java", analyse(text, ".java")) for blob, text in TEXTS.items()])
        return store.load(list(TEXTS))


def learned(table: FactTable, **least: int) -> TermVocabulary:
    known = {"min_files": 2, "min_reports": 2} | least
    return TermVocabulary.learned(
        [table], PATHS[:1], [{"lost": 1.0}, {"lost": 2.0, "odd": 1.0}], {"": 3.0, "bake": 1.0}, {"": 2.0}, **known
    )


def test_terms_count_that_are_common_enough_or_in_a_path(table):
    vocabulary = learned(table)
    assert set(vocabulary.terms) == {"", "bake", "cooki", "lost", "src", "jar", "cookiejar"}
    assert list(vocabulary.terms) == sorted(vocabulary.terms)
    assert vocabulary.numbers(["bake", "odd"]).tolist() == [vocabulary.ids["bake"], 0]
    assert vocabulary.in_files[vocabulary.ids["bake"]] == pytest.approx(np.log(1 + 0.5 / 3.5))
    assert vocabulary.in_reports[vocabulary.ids["lost"]] == pytest.approx(np.log(1 + 0.5 / 2.5))
    assert vocabulary.in_commits[vocabulary.ids["bake"]] == 1
    assert vocabulary.in_commits[vocabulary.ids["jar"]] == 3
    assert "odd" in learned(table, min_reports=1).terms
    assert "crumb" in learned(table, min_files=1).terms


def test_vectors_of_reports_by_hand():
    vocabulary = TermVocabulary(("", "x", "y"), np.array([0, 1.0, 3.0]), np.array([0, 1.0, 1.0]), *np.zeros((2, 3)))
    vectors = vocabulary.of_reports([{"x": np.e, "y": 1.0, "unknown": 9.0}, {}], 2)
    # y: 1 x 2, x: 2 x 1, equal: the first number stands first
    assert vectors.terms.tolist() == [[1, 2], [0, 0]]
    assert vectors.weights[0].tolist() == pytest.approx([0.5**0.5] * 2)
    assert vocabulary.of_reports([{"x": 1.0, "y": 1.0}], 1).terms.tolist() == [[2]]


def test_vectors_of_contents_by_hand(table):
    vocabulary = learned(table)
    numbers = vocabulary.numbers(table.vocabulary)
    vectors = vocabulary.of_contents(table, numbers, np.array([0, -1]), PATHS[:2], 8)
    found = {
        vocabulary.terms[t]: w for t, w in zip(vectors.terms[0].tolist(), vectors.weights[0].tolist(), strict=True) if t
    }
    row = slice(int(table.starts[0]), int(table.starts[1]))
    count = dict(zip(table.terms[row].tolist(), (table.counts[row] @ _FIELD_WEIGHTS).tolist(), strict=True))
    words = path_words(PATHS[0])

    def weight(term: str) -> float:
        held = count.get(table.vocabulary.index(term), 0) if term in table.vocabulary else 0
        return np.log1p(held + words.get(term, 0)) * max(vocabulary.in_files[vocabulary.ids[term]], 0.1)

    wanted = {term: weight(term) for term in ("bake", "cooki", "cookiejar", "jar", "src")}
    length = np.sqrt(sum(value**2 for value in wanted.values()))
    assert found == pytest.approx({term: value / length for term, value in wanted.items()})
    # a file that could not be read has the known words of its path
    assert [vocabulary.terms[t] for t in vectors.terms[1] if t] == ["src"]


def test_a_vector_depends_on_its_own_row_alone(table):
    vocabulary = learned(table, min_files=1)
    numbers = vocabulary.numbers(table.vocabulary)
    all_of = vocabulary.of_contents(table, numbers, np.arange(3), PATHS, 4)
    for row in range(3):
        one = vocabulary.of_contents(table, numbers, np.array([row]), PATHS[row : row + 1], 4)
        assert np.array_equal(one.terms[0], all_of.terms[row])
        assert np.array_equal(one.weights[0], all_of.weights[row])
    assert (np.diff(all_of.weights, axis=1) <= 0).all()
    assert (all_of.weights**2).sum(axis=1) == pytest.approx(1, abs=1e-6)


def test_matrix_and_vectors_are_the_same():
    matrix = sparse.csr_array(np.array([[0, 3.0, 4.0], [0, 0, 0]]))
    vectors = SparseVectors.heaviest(matrix, 5)
    assert vectors.terms[0, :3].tolist() == [2, 1, 0]
    assert vectors.matrix(3).toarray() == pytest.approx(np.array([[0, 0.6, 0.8], [0, 0, 0]]))
    assert SparseVectors.heaviest(sparse.csr_array((0, 3)), 2).terms.shape == (0, 2)


def test_each_vector_is_made_once():
    cache, asked = SparseVectorCache(1), []

    def make(new):
        asked.append(new.tolist())
        return SparseVectors(new.astype(np.int32)[:, None] + 1, np.ones((len(new), 1), dtype=np.float32))

    assert cache.rows(["x", "y", "x"], make).tolist() == [0, 1, 0]
    assert cache.rows(["y", "z"], make).tolist() == [1, 2]
    assert asked == [[0, 1], [1]]
    assert cache.vectors.terms[:, 0].tolist() == [1, 2, 2]


def test_principal_vectors_span_the_rows():
    rng = np.random.default_rng(1)
    rows = rng.standard_normal((40, 3)) @ rng.standard_normal((3, 30))
    made = principal(sparse.csr_array(rows), 4, 0)
    assert made.shape == (30, 4)
    assert rows @ made[:, :3] @ made[:, :3].T == pytest.approx(rows, abs=1e-4)
    assert np.array_equal(made, principal(sparse.csr_array(rows), 4, 0))
    # fewer rows than the width: the rest is 0
    assert principal(sparse.csr_array(rows[:2]), 4, 0)[:, 2:] == pytest.approx(0)


def test_small_parts():
    assert idf(2, np.array([0, 2])).tolist() == pytest.approx([np.log(6), np.log(1.2)])
    assert report_counts({}, {"a": 1}) == {"a": 1.0}
    assert path_words("Makefile") == {"makefil": 6.0}
