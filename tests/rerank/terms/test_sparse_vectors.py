"""Terms that count, and reports, files and what was said of files before some time as sparse vectors of them."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from tests.rerank.made import candidates, report
from tosloc.code.facts import analyse
from tosloc.index.corpus import Corpus, pack_facts
from tosloc.index.documents import Document, Documents
from tosloc.index.history_index import HistoryIndex
from tosloc.rerank.base import RerankingContext
from tosloc.rerank.terms import sparse_vectors
from tosloc.rerank.terms.sparse_vectors import (
    FIX_WEIGHT,
    SparseVectors,
    Vocabulary,
    heaviest,
    path_words,
    report_counts,
)

TEXTS = {
    "a": "class CookieJar { int crumbs; /* sweet */ void bake() { bake(); } }",
    "b": 'class Socket { void bake() { open("cookie"); } }',
    "c": "class Planet { void bake() { } }",
}
PATHS = ("src/CookieJar.java", "src/net/Socket.java", "src/Planet.java")
FILES = list(zip(PATHS, TEXTS, strict=True))
YEARS = sparse_vectors._DECAY  # two


def document(name: str, at: float, paths: tuple[int, ...], **terms: int) -> Document:
    return Document(name, int(at), int(name, 36) % 8, name, Counter(terms), paths)


HISTORY = HistoryIndex(
    Documents.collect([document("0", 0, (0, 1), cooki=1, planet=1), document("1", YEARS, (0,), socket=2, unknown=1)]),
    Documents.collect([document("2", YEARS / 2, (0,), cooki=1)]),
)


@pytest.fixture(scope="module")
def context(tmp_path_factory) -> RerankingContext:
    payloads = {blob: pack_facts(analyse(text, ".java")) for blob, text in TEXTS.items()}

    def facts(blobs, _):
        return Corpus.from_rows(list(blobs), map(payloads.get, blobs)), np.arange(len(blobs), dtype=np.int64)

    return RerankingContext(facts, HISTORY, 3)


def learned(context: RerankingContext) -> Vocabulary:
    return Vocabulary.learned(context, dict(FILES), [{"lost": 1.0}, {"lost": 2.0, "odd": 1.0}], 3 * YEARS)


def made(context: RerankingContext, *terms: str) -> SparseVectors:
    """By terms whose inverse document frequencies are 1, 2 and so on."""
    return SparseVectors(Vocabulary(terms, *np.array([np.arange(len(terms)) + 1.0] * 4)), context)


def words(vectors: SparseVectors, row: sparse.csr_array) -> dict[str, float]:
    return {vectors.vocabulary.terms[t]: w for t, w in zip(row.indices.tolist(), row.data.tolist(), strict=True)}


def test_terms_count_that_are_common_enough_or_in_a_path(context, monkeypatch):
    monkeypatch.setattr(sparse_vectors, "_BLOCK", 2)
    found = learned(context)
    assert set(found.terms) == {"bake", "lost"} | {"src", "cooki", "jar", "cookiejar", "net", "socket", "planet"}
    assert list(found.terms) == sorted(found.terms)
    assert found.numbers(["bake", "odd"]).tolist() == [found.ids["bake"], -1]
    assert found.in_files[found.ids["bake"]] == pytest.approx(np.log(1 + 0.5 / 3.5))
    assert found.in_reports[found.ids["lost"]] == pytest.approx(np.log(1 + 0.5 / 2.5))
    # of two commits one says socket, none says jar
    assert found.in_commits[found.ids["socket"]] == pytest.approx(np.log(1 + 1.5 / 1.5))
    assert found.in_commits[found.ids["jar"]] == pytest.approx(np.log(1 + 2.5 / 0.5))


def test_counts_of_reports_and_paths_and_the_heaviest_terms():
    assert report_counts(report(summary="Cookie", description="Lost lost cookie")) == {"lost": 2.0, "cooki": 4.0}
    assert path_words("Makefile") == {"makefil": 6.0}
    found = heaviest(sparse.csr_array(np.array([[0, 3.0, 4.0], [0, 0, 0], [2.0, 2.0, 2.0]])), 2)
    assert found.toarray() == pytest.approx(np.array([[0, 0.6, 0.8], [0, 0, 0], [0.5**0.5, 0.5**0.5, 0]]))
    assert found.indices.tolist() == [2, 1, 0, 1]  # heaviest first, of equals the first ones


def test_vectors_of_reports_and_contents_by_hand(context):
    vectors = SparseVectors(Vocabulary(("x", "y"), np.array([1.0, 3.0]), np.ones(2), *np.ones((2, 2))), context)
    found = vectors.of_reports([{"x": np.e, "y": 1.0, "unknown": 9.0}, {}])
    # y: 1 x 2, x: 2 x 1
    assert found.toarray() == pytest.approx(np.array([[0.5**0.5] * 2, [0, 0]]))
    vectors = SparseVectors(learned(context), context)
    found = vectors.of_side["content"].take(vectors.of_contents([FILES[0], (PATHS[1], "gone")]))
    # bake is called, is a method's name, and stands in no other field
    fields = sparse_vectors._OF_FIELD
    counts = {"bake": 2 * fields["code"] + fields["method"], "src": 2.0, "jar": 6.0, "cooki": 6.0, "cookiejar": 6.0}
    for term in ("jar", "cooki", "cookiejar"):
        counts[term] += fields["code"] * (term == "cookiejar" or 1) + fields["type"]
    idf = {term: max(vectors.vocabulary.in_files[vectors.vocabulary.ids[term]], 0.1) for term in counts}
    wanted = {term: np.log1p(count) * idf[term] for term, count in counts.items()}
    length = np.linalg.norm(list(wanted.values()))
    assert words(vectors, found[[0]]) == pytest.approx({term: value / length for term, value in wanted.items()})
    # a file that could not be read has the words of its path
    assert set(words(vectors, found[[1]])) == {"src", "net", "socket"}


def test_a_history_by_hand_of_what_was_known_and_contained(context):
    def history(opened: float, **more) -> list[dict[str, float]]:
        """What was known of each candidate."""
        vectors = made(replace(context, **more), "cooki", "planet", "socket")
        one = candidates("a b c", of=report(opened=opened))
        found = vectors.of_side["history"].take(vectors.numbers(one)["history"])
        return [words(vectors, found[[row]]) for row in range(len(one))]

    found = history(2 * YEARS)
    first = np.array([1, 2, 0]) / 5**0.5 / 2**0.5 * np.exp(-1)  # by the document, cookie planet socket
    total = np.sqrt(first + np.array([FIX_WEIGHT * np.exp(-0.5), 0, 0]) + np.array([0, 0, 1]))
    wanted = dict(zip(("cooki", "planet", "socket"), total / np.linalg.norm(total), strict=True))
    assert found[0] == pytest.approx(wanted, abs=1e-6)
    assert found[1] == pytest.approx({"cooki": (1 / 3) ** 0.5, "planet": (2 / 3) ** 0.5}, abs=1e-6)
    assert found[2] == {}
    # strictly: the report of that second is not known
    assert history(YEARS / 2)[0].keys() == {"cooki", "planet"}
    assert history(0)[0] == {}
    contained = np.array([c != 0 for c in range(8)])
    assert history(2 * YEARS, contained=lambda version: contained)[0].keys() == {"cooki", "socket"}
