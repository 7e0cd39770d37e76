"""What the term reranker learns, when both stages are taken, what it is on disk, and its sparse vectors."""

import json
import shutil
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import sparse

from tests.rerank.made import candidates, report
from tosloc.code.facts import analyse
from tosloc.core.errors import CheckpointError
from tosloc.rerank.base import RerankingContext
from tosloc.rerank.terms import sparse_vectors, training
from tosloc.rerank.terms.reranker import TermReranker
from tosloc.rerank.terms.sparse_vectors import (
    FIX_WEIGHT,
    SIDES,
    DualEncoder,
    SparseVectors,
    Vocabulary,
    keep_heaviest,
    path_words,
    report_counts,
    stack_vectors,
)
from tosloc.retrieval.corpus import Corpus, pack_facts
from tosloc.retrieval.documents import Document, Documents
from tosloc.retrieval.history_index import HistoryIndex


class Fixed(TermReranker):
    """Says what is known beforehand."""

    def _score_by_terms(self, one, context):
        assert not one.fixed.any()
        return np.array(self.said), lambda position: ()


@pytest.mark.parametrize(
    ("said", "fixed", "weight"),
    [
        ((0, 0, 0), "010", 0),  # as stage one
        ((0, 9, 0), "010", 0.2),  # the fixed file rises at any weight: the least
        ((0, 1.5, 0), "010", 0.8),
        ((3, 1, 2), "010", 0),  # it falls
        # of seven the first fixed file rises, two others fall: a gain in one measure alone is not taken
        ((0, 90, 0, 0, 80, 70, 60), "0111000", 0),
    ],
)
def test_the_weight_is_taken_that_gains_most_on_validation(said, fixed, weight):
    one, reranker = (
        candidates(
            "a b c d e f g"[: 2 * len(said) - 1], fixed, of=report(opened=5), missed_ranks=(9,)
        ),
        Fixed(),
    )
    reranker.said = said
    reranker._choose_weight([one], RerankingContext())
    assert reranker.weight == weight
    if weight == 0.2:
        assert reranker.validation_results["stage one"] == pytest.approx(
            (1 / 2, (1 / 2 + 2 / 9) / 2)
        )
        assert reranker.validation_results["weight 0.2"] == pytest.approx((1, (1 + 2 / 9) / 2))
        reranker.trained_until = 6  # opened before what was learned
        reranker._choose_weight([one], RerankingContext())
        assert reranker.weight == 0


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        *(
            ("terms.json", changes)
            for changes in ({"terms": ["a"]}, {"gains": {}}, {"weight": None})
        ),
        ("terms.json", {"validation": {"x": 1}}),
        ("vectors.safetensors", None),
    ],
)
def test_what_is_damaged_is_one_sentence(world, tmp_path, name, changes):
    saved = shutil.copytree(world.learned / "terms", tmp_path / "terms")
    whole = (saved / name).read_bytes()
    (saved / name).write_bytes(
        whole[:50] if changes is None else json.dumps(json.loads(whole) | changes).encode()
    )
    with pytest.raises(CheckpointError, match=r"\A[^\n]*incomplete or damaged[^\n]*\Z"):
        TermReranker.load(saved)


torch.set_num_threads(1)


def test_scores_by_hand():
    tables = {side: np.zeros((8, 2), dtype=np.float32) for side in SIDES}
    tables["report"][0] = (2, 0)
    tables["content"][3], tables["content"][4] = (3, 0), (1, 1)
    tables["history"][7] = (-1, 0)
    encoder = DualEncoder(tables, {"content": 1.0, "history": 0.5})
    report, content, history = (
        sparse.csr_array(np.eye(8, dtype=np.float32)[rows]) for rows in ([0], [3, 4, 5], [7, 6, 6])
    )
    assert encoder.scores(report, {"content": content, "history": history}) == pytest.approx(
        [1 - 0.5, 0.5**0.5, 0]
    )
    for place, found in ((0, [(0, 3)]), (1, [(0, 4)]), (2, [])):
        assert (
            encoder.matches(report, {"content": content[[place]], "history": history[[place]]}, 3)
            == found
        )


def test_learning_brings_the_fixed_file_first_whatever_stage_one_said(monkeypatch):
    """Report r is fixed in file r, which shares no term with it."""
    for name, value in {"_EPOCHS": 40, "_LEARNING_RATE": 0.05, "_DROPOUT": 0.0}.items():
        monkeypatch.setattr(training, name, value)
    reports, files = (
        sparse.csr_array(np.eye(6, dtype=np.float32)[rows]) for rows in ([0, 1, 2], [3, 4, 5])
    )
    known = [(row.indices, row.data) for row in (files[[place]] for place in range(3))]
    lists = [candidates("a b c", "0" * r + "1", scores=np.linspace(1, 0, 3)) for r in range(3)]
    start = np.random.default_rng(0).standard_normal((6, 4)).astype(np.float32)
    lessons = training.TrainingData(
        reports, lists, [dict.fromkeys(sparse_vectors.FILE_SIDES, known)] * 3
    )
    encoder = training.fit_dual_encoder(start, lessons, seed=1)
    both = dict.fromkeys(sparse_vectors.FILE_SIDES, files)
    assert [int(encoder.scores(reports[[r]], both).argmax()) for r in range(3)] == [0, 1, 2]


# Terms that count, and reports, files and what was said of files before some time as sparse vectors of them


TEXTS = {
    "a": "class CookieJar { int crumbs; /* sweet */ void bake() { bake(); } }",
    "b": 'class Socket { void bake() { open("cookie"); } }',
    "c": "class Planet { void bake() { } }",
}
PATHS = ("src/CookieJar.java", "src/net/Socket.java", "src/Planet.java")
SOURCES = list(zip(PATHS, TEXTS, strict=True))
YEARS = sparse_vectors._DECAY  # two


def document(name, at, paths, **terms):
    return Document(name, int(at), int(name, 36) % 8, name, Counter(terms), paths)


HISTORY = HistoryIndex(
    Documents.collect(
        [
            document("0", 0, (0, 1), cooki=1, planet=1),
            document("1", YEARS, (0,), socket=2, unknown=1),
        ]
    ),
    Documents.collect([document("2", YEARS / 2, (0,), cooki=1)]),
)


@pytest.fixture(scope="module")
def context(tmp_path_factory):
    payloads = {blob: pack_facts(analyse(text, ".java")) for blob, text in TEXTS.items()}

    def facts(blobs):
        return Corpus.from_rows(list(blobs), map(payloads.get, blobs))

    return RerankingContext(facts, HISTORY)


def learned(context):
    return Vocabulary.from_training(
        context, dict(SOURCES), [{"lost": 1.0}, {"lost": 2.0, "odd": 1.0}], 3 * YEARS
    )


def made(context, *terms):
    """By terms whose inverse document frequencies are 1, 2 and so on."""
    return SparseVectors(Vocabulary(terms, *np.array([np.arange(len(terms)) + 1.0] * 4)), context)


def words(vectors, row):
    return {
        vectors.vocabulary.terms[t]: w
        for t, w in zip(row.indices.tolist(), row.data.tolist(), strict=True)
    }


def test_a_fixed_report_counts_half_as_much_again_as_a_commit_message():
    assert FIX_WEIGHT == 1.5


def test_terms_count_that_are_common_enough_or_in_a_path(context):
    found = learned(context)
    assert found.terms == (
        "bake",
        "cooki",
        "cookiejar",
        "jar",
        "lost",
        "net",
        "planet",
        "socket",
        "src",
    )
    assert found.term_ids(["bake", "odd"]).tolist() == [0, -1]
    for frequencies, term, documents, holding in (
        (found.in_files, "bake", 3, 3),
        (found.in_reports, "lost", 2, 2),
        (found.in_commits, "socket", 2, 1),
        (found.in_commits, "jar", 2, 0),
    ):
        wanted = np.log(1 + (documents - holding + 0.5) / (holding + 0.5))
        assert frequencies[found.id_by_term[term]] == pytest.approx(wanted)


def test_counts_of_reports_and_paths_and_the_heaviest_terms():
    assert report_counts(report(summary="Cookie", description="Lost lost cookie")) == {
        "lost": 2.0,
        "cooki": 4.0,
    }
    assert path_words("Makefile") == {"makefil": 6.0}
    found = keep_heaviest(
        sparse.csr_array(np.array([[0, 3.0, 4.0], [0, 0, 0], [2.0, 2.0, 2.0]])), 2
    )
    assert found.toarray() == pytest.approx(
        np.array([[0, 0.6, 0.8], [0, 0, 0], [0.5**0.5, 0.5**0.5, 0]])
    )
    assert found.indices.tolist() == [2, 1, 0, 1]  # heaviest first, of equals the first ones


def test_vectors_of_reports_and_contents_by_hand(context):
    vectors = SparseVectors(
        Vocabulary(("x", "y"), np.array([1.0, 3.0]), np.ones(2), *np.ones((2, 2))), context
    )
    found = vectors.report_vectors([{"x": np.e, "y": 1.0, "unknown": 9.0}, {}])
    # y: 1 x 2, x: 2 x 1
    assert found.toarray() == pytest.approx(np.array([[0.5**0.5] * 2, [0, 0]]))
    vectors = made(context, "bake", "cooki", "jar", "net", "socket", "src")
    found = stack_vectors(vectors.content_vectors([SOURCES[0], (PATHS[1], "gone")]), 6)
    # bake is called twice and a method's name; cookie and jar stand in the name of the file and of its type
    counts = {"bake": 2 * 1.0 + 2.0, "cooki": 6.0 + 1.0 + 6.0, "jar": 6.0 + 1.0 + 6.0, "src": 2.0}
    wanted = np.array(
        [
            np.log1p(count) * (1 + vectors.vocabulary.id_by_term[term])
            for term, count in counts.items()
        ]
    )
    assert words(vectors, found[[0]]) == pytest.approx(
        dict(zip(counts, wanted / np.linalg.norm(wanted), strict=True))
    )
    # a file that could not be read has the words of its path
    assert words(vectors, found[[1]]).keys() == {"src", "net", "socket"}


def test_a_history_by_hand_of_what_was_known_and_contained(context):
    def history(opened, **more):
        """What was known of each candidate."""
        vectors = made(replace(context, **more), "cooki", "planet", "socket")
        one = candidates("a b c", of=report(opened=opened))
        found = stack_vectors(vectors.candidate_vectors(one)["history"], 3)
        return [words(vectors, found[[row]]) for row in range(len(one))]

    found = history(2 * YEARS)
    first = (
        np.array([1, 2, 0]) / 5**0.5 / 2**0.5 * np.exp(-1)
    )  # by the document, cookie planet socket
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
