"""What the term reranker learns, when both stages are taken, what it is on disk, and its sparse vectors."""

import json
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import sparse

from tests.rerank.made import candidates, report
from tosloc.code.facts import analyse
from tosloc.errors import CheckpointError
from tosloc.index.corpus import Corpus, pack_facts
from tosloc.index.documents import Document, Documents
from tosloc.index.history_index import HistoryIndex
from tosloc.rerank.base import Candidates, RerankingContext
from tosloc.rerank.terms import sparse_vectors, training
from tosloc.rerank.terms.reranker import TermReranker
from tosloc.rerank.terms.sparse_vectors import (
    FILE_SIDES,
    FIX_WEIGHT,
    SIDES,
    DualEncoder,
    SparseVectors,
    Vector,
    Vocabulary,
    heaviest,
    path_words,
    report_counts,
    stacked,
)
from tosloc.rerank.terms.training import Lessons, fit_dual_encoder


class Fixed(TermReranker):
    """Says what is known beforehand."""

    def __init__(self, *said: float, until: int = 0) -> None:
        super().__init__()
        self._given, self.trained_until = np.array(said), until

    def _reranked(self, one, context):
        assert not one.fixed.any()
        return self._given, lambda position: ()

    def chosen_by(self, one: Candidates) -> float:
        """The weight by one report of validation."""
        self._choose([one], RerankingContext())
        return self.weight


def test_the_weight_is_taken_that_gains_most_on_validation():
    one = candidates("a b c", "010", of=report(opened=5), missed_ranks=(9,))
    assert Fixed(0, 0, 0).chosen_by(one) == 0  # as stage one
    assert Fixed(0, 9, 0).chosen_by(one) == 0.2  # the fixed file rises at any weight: the least
    assert Fixed(0, 1.5, 0).chosen_by(one) == 0.8
    assert Fixed(3, 1, 2).chosen_by(one) == 0  # it falls
    assert Fixed(0, 9, 0, until=6).chosen_by(one) == 0  # opened before what was learned
    # of seven the first fixed file rises, two others fall: a gain in one measure alone is not taken
    many = candidates("a b c d e f g", "0111000", of=report(opened=5))
    assert Fixed(0, 90, 0, 0, 80, 70, 60).chosen_by(many) == 0
    made = Fixed(0, 9, 0)
    made.chosen_by(one)
    assert made.validation_["stage one"] == pytest.approx((1 / 2, (1 / 2 + 2 / 9) / 2))
    assert made.validation_["weight 0.2"] == pytest.approx((1, (1 + 2 / 9) / 2))


@pytest.mark.parametrize(
    ("name", "kept", "content"),
    [
        *(("terms.json", None, changes) for changes in ({"terms": ["a"]}, {"terms": ["a", "a"]}, {"gains": {}})),
        *(("terms.json", None, changes) for changes in ({"weight": None}, {"validation": {"x": 1}})),
        *(("vectors.safetensors", 50, b""), ("terms.json", 0, b"[]")),
    ],
)
def test_what_is_damaged_is_one_sentence(tmp_path, name, kept, content):
    rng = np.random.default_rng(0)
    tables = {side: rng.standard_normal((2, 3)).astype(np.float32) for side in SIDES}
    saved = TermReranker()
    saved._vocabulary = Vocabulary(("cooki", "größe"), *rng.random((4, 2)))
    saved._encoder = DualEncoder(tables, dict.fromkeys(FILE_SIDES, 1.5))
    saved.save(tmp_path)
    TermReranker.load(tmp_path)
    whole = (tmp_path / name).read_bytes()
    damaged = json.dumps(json.loads(whole) | content).encode() if kept is None else whole[:kept] + content
    (tmp_path / name).write_bytes(damaged)
    with pytest.raises(CheckpointError, match=r"\A[^\n]*incomplete or damaged[^\n]*\Z"):
        TermReranker.load(tmp_path)


torch.set_num_threads(1)
V, D = 8, 4
START = np.random.default_rng(0).standard_normal((V, D)).astype(np.float32)


def vectors(*rows: tuple[int, ...]) -> sparse.csr_array:
    """Sparse vectors of equal weights."""
    made = np.zeros((len(rows), V), dtype=np.float32)
    for row, some in enumerate(rows):
        made[row, list(some)] = max(len(some), 1) ** -0.5
    return sparse.csr_array(made)


REPORTS = vectors((0,), (1,), (2,), (0, 1))
FILES = {"content": vectors((3,), (4,), (5,), (6,)), "history": vectors((7,), (), (3, 4), (0,))}


def rows_of(matrix: sparse.csr_array) -> list[Vector]:
    return [(row.indices, row.data) for row in (matrix[[place]] for place in range(matrix.shape[0]))]


def files(*rows: int, history: int | None = None) -> dict[str, sparse.csr_array]:
    past = list(rows) if history is None else [history] * len(rows)
    return {"content": FILES["content"][list(rows)], "history": FILES["history"][past]}


def test_scores_by_hand():
    tables = {side: np.zeros((V, 2), dtype=np.float32) for side in SIDES}
    tables["report"][0] = (2, 0)
    tables["content"][3], tables["content"][4] = (3, 0), (1, 1)
    tables["history"][7] = (-1, 0)
    encoder = DualEncoder(tables, {"content": 1.0, "history": 0.5})
    assert encoder.scores(REPORTS[[0]], FILES) == pytest.approx([1 - 0.5, 0.5**0.5, 0, 0], abs=1e-6)
    assert encoder.matches(REPORTS[[0]], files(1), 3) == [(0, 4)]
    assert encoder.matches(REPORTS[[0]], files(3), 3) == []


def test_learning_brings_the_fixed_file_first_whatever_stage_one_said(monkeypatch):
    """Report r is fixed in file r, which shares no term with it; all files have the first one's history."""
    small = {"_EPOCHS": 40, "_LEARNING_RATE": 0.05, "_REPORTS": 4, "_DROPOUT": 0.0, "_NEGATIVES": 3}
    for name, value in small.items():
        monkeypatch.setattr(training, name, value)
    known = {"content": rows_of(FILES["content"]), "history": rows_of(FILES["history"])[:1] * 4}
    lists = [candidates("a b c d", "0" * (r % 3) + "1", scores=np.linspace(1, 0, 4)) for r in range(4)]

    def first(some: DualEncoder) -> int:
        return sum(some.scores(REPORTS[[r]], files(0, 1, 2, 3, history=0)).argmax() == r for r in range(3))

    before = DualEncoder(dict.fromkeys(SIDES, START), dict.fromkeys(FILE_SIDES, 1.0))
    encoder = fit_dual_encoder(START, Lessons(REPORTS, lists, [known] * 4), seed=1)
    assert first(before) < first(encoder) == 3
    # only terms of the report and of the file, those that help
    matches = encoder.matches(REPORTS[[3]], files(2), 3)
    assert matches
    assert {asked for asked, _ in matches} <= {0, 1}
    assert {found for _, found in matches} <= {3, 4, 5}


# Terms that count, and reports, files and what was said of files before some time as sparse vectors of them


TEXTS = {
    "a": "class CookieJar { int crumbs; /* sweet */ void bake() { bake(); } }",
    "b": 'class Socket { void bake() { open("cookie"); } }',
    "c": "class Planet { void bake() { } }",
}
PATHS = ("src/CookieJar.java", "src/net/Socket.java", "src/Planet.java")
SOURCES = list(zip(PATHS, TEXTS, strict=True))
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

    def facts(blobs):
        return Corpus.from_rows(list(blobs), map(payloads.get, blobs))

    return RerankingContext(facts, HISTORY, 3)


def learned(context: RerankingContext) -> Vocabulary:
    return Vocabulary.learned(context, dict(SOURCES), [{"lost": 1.0}, {"lost": 2.0, "odd": 1.0}], 3 * YEARS)


def made(context: RerankingContext, *terms: str) -> SparseVectors:
    """By terms whose inverse document frequencies are 1, 2 and so on."""
    return SparseVectors(Vocabulary(terms, *np.array([np.arange(len(terms)) + 1.0] * 4)), context)


def words(vectors: SparseVectors, row: sparse.csr_array) -> dict[str, float]:
    return {vectors.vocabulary.terms[t]: w for t, w in zip(row.indices.tolist(), row.data.tolist(), strict=True)}


def test_terms_count_that_are_common_enough_or_in_a_path(context):
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
    found = stacked(vectors.of_contents([SOURCES[0], (PATHS[1], "gone")]), len(vectors.vocabulary))
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
        found = stacked(vectors.of_candidates(one)["history"], 3)
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
