"""The term reranker: its weight, its files, its dual encoder, and sparse vectors by hand."""

import json
import shutil
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import sparse

from tests.rerank.by_hand import candidates, report
from tosloc.code.facts import analyse
from tosloc.core.arrays import FloatArray
from tosloc.core.errors import CheckpointError
from tosloc.reports.text.shared_lines import SharedLines
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
from tosloc.retrieval.history.history_index import HistoryIndex
from tosloc.retrieval.texts.corpus import Corpus, pack_facts
from tosloc.retrieval.texts.documents import Document, Documents

torch.set_num_threads(1)

# The weight that validation chooses


class GivenScores(TermReranker):
    """A term reranker whose scores are given."""

    def __init__(self, scores):
        self.given = np.array(scores)

    def _score_by_terms(self, candidates, context):
        assert not candidates.fixed.any()
        return self.given, lambda position: ()


def make_validation_report(fixed):
    """Return candidates of a report opened at second 5, with a further fixed file at rank 9."""
    blobs = " ".join("abcdefg"[: len(fixed)])
    return candidates(blobs, fixed, of=report(opened=5), missed_ranks=(9,))


@pytest.mark.parametrize(
    ("scores", "fixed", "weight"),
    [
        ((0, 0, 0), "010", 0),
        ((0, 9, 0), "010", 0.2),
        ((0, 1.5, 0), "010", 0.8),
        ((3, 1, 2), "010", 0),
        # the first fixed file rises and two others fall, so that RR gains and AP loses
        ((0, 90, 0, 0, 80, 70, 60), "0111000", 0),
    ],
    ids=[
        "no change",
        "rises at any weight",
        "rises from 0.8 on",
        "falls",
        "gains in one measure alone",
    ],
)
def test_validation_chooses_the_weight_that_gains_most(scores, fixed, weight):
    reranker = GivenScores(scores)
    reranker._choose_weight([make_validation_report(fixed)], RerankingContext())
    assert reranker.weight == weight


def test_results_of_each_weight_are_recorded():
    reranker = GivenScores((0, 9, 0))
    reranker._choose_weight([make_validation_report("010")], RerankingContext())
    results = reranker.validation_results
    assert results["stage one"] == pytest.approx((1 / 2, (1 / 2 + 2 / 9) / 2))
    assert results["weight 0.2"] == pytest.approx((1, (1 + 2 / 9) / 2))


@pytest.mark.parametrize(
    ("scores", "sentence"),
    [
        (
            (0, 9, 0),
            "Adding stage two with weight 0.2: MRR 1.000, MAP 0.611 on the validation reports, "
            "which chose the weight; stage one alone has MRR 0.500, MAP 0.361.",
        ),
        (
            (3, 1, 2),
            "Keeping stage one's order: on the validation reports no weight of stage two gains "
            "enough over stage one alone (MRR 0.500, MAP 0.361).",
        ),
    ],
    ids=["gain", "no gain"],
)
def test_the_choice_is_one_sentence(scores, sentence):
    reranker = GivenScores(scores)
    assert reranker.choice == ""
    reranker._choose_weight([make_validation_report("010")], RerankingContext())
    assert reranker.choice == sentence


def test_reports_opened_before_the_last_fix_do_not_choose_a_weight():
    reranker = GivenScores((0, 9, 0))
    reranker.trained_until = 6
    reranker._choose_weight([make_validation_report("010")], RerankingContext())
    assert reranker.weight == 0


# Files of a checkpoint


def check_refusal(folder):
    with pytest.raises(CheckpointError, match=r"\A[^\n]*incomplete or damaged[^\n]*\Z"):
        TermReranker.load(folder)


@pytest.fixture
def saved_folder(world, tmp_path):
    """Return a copy of a saved term reranker."""
    return shutil.copytree(world.model_folder / "terms", tmp_path / "terms")


@pytest.mark.parametrize(
    "changes",
    [{"terms": ["a"]}, {"gains": {}}, {"weight": None}, {"validation": {"x": 1}}],
    ids=lambda changes: next(iter(changes)),
)
def test_a_damaged_record_is_refused_in_one_sentence(saved_folder, changes):
    record = json.loads((saved_folder / "terms.json").read_text())
    (saved_folder / "terms.json").write_text(json.dumps(record | changes))
    check_refusal(saved_folder)


def test_cut_vectors_are_refused_in_one_sentence(saved_folder):
    vectors = saved_folder / "vectors.safetensors"
    vectors.write_bytes(vectors.read_bytes()[:50])
    check_refusal(saved_folder)


# The dual encoder


def one_hot_rows(width, terms):
    """Return one row for each term, which contains only that term."""
    return sparse.csr_array(np.eye(width, dtype=np.float32)[terms])


@pytest.fixture
def encoder():
    """Return a dual encoder of 8 terms: 0 of reports, 3 and 4 of contents, 7 of histories."""
    tables = {side: np.zeros((8, 2), dtype=np.float32) for side in SIDES}
    tables["report"][0] = (2, 0)
    tables["content"][3] = (3, 0)
    tables["content"][4] = (1, 1)
    tables["history"][7] = (-1, 0)
    return DualEncoder(tables, {"content": 1.0, "history": 0.5})


REPORT = one_hot_rows(8, [0])
CONTENT = one_hot_rows(8, [3, 4, 5])
HISTORY = one_hot_rows(8, [7, 6, 6])


def test_a_score_is_the_sum_of_cosines_times_gains(encoder):
    scores = encoder.scores(REPORT, {"content": CONTENT, "history": HISTORY})
    assert scores == pytest.approx([1 - 0.5, 0.5**0.5, 0])


@pytest.mark.parametrize(("file", "pairs"), [(0, [(0, 3)]), (1, [(0, 4)]), (2, [])])
def test_matches_are_the_terms_that_add_to_the_score(encoder, file, pairs):
    vectors = {"content": CONTENT[[file]], "history": HISTORY[[file]]}
    assert encoder.matches(REPORT, vectors, 3) == pairs


def test_learning_ranks_the_fixed_file_first_whatever_stage_one_did(monkeypatch):
    """Report r is fixed in file r, which shares no term with it."""
    monkeypatch.setattr(training, "_EPOCHS", 40)
    monkeypatch.setattr(training, "_LEARNING_RATE", 0.05)
    monkeypatch.setattr(training, "_DROPOUT", 0.0)
    reports = one_hot_rows(6, [0, 1, 2])
    files = one_hot_rows(6, [3, 4, 5])
    rows = [files[[number]] for number in range(3)]
    vectors = [(row.indices, row.data) for row in rows]
    lists = [candidates("a b c", "0" * r + "1", scores=np.linspace(1, 0, 3)) for r in range(3)]
    data = training.TrainingData(
        reports, lists, [dict.fromkeys(sparse_vectors.FILE_SIDES, vectors)] * 3
    )
    start = np.random.default_rng(0).standard_normal((6, 4)).astype(np.float32)
    encoder = training.fit_dual_encoder(start, data, seed=1)
    both_sides = dict.fromkeys(sparse_vectors.FILE_SIDES, files)
    best = [int(encoder.scores(reports[[r]], both_sides).argmax()) for r in range(3)]
    assert best == [0, 1, 2]


# Terms that count, and sparse vectors by hand


TEXTS = {
    "a": "class CookieJar { int crumbs; /* sweet */ void bake() { bake(); } }",
    "b": 'class Socket { void bake() { open("cookie"); } }',
    "c": "class Planet { void bake() { } }",
}
PATHS = ("src/CookieJar.java", "src/net/Socket.java", "src/Planet.java")
SOURCES = list(zip(PATHS, TEXTS, strict=True))
TWO_YEARS = sparse_vectors._DECAY


def document(name, at, paths, **terms):
    return Document(name, int(at), int(name, 36) % 8, name, Counter(terms), paths)


COMMITS = [
    document("0", 0, (0, 1), cooki=1, planet=1),
    document("1", TWO_YEARS, (0,), socket=2, unknown=1),
]
FIXED_REPORTS = [document("2", TWO_YEARS / 2, (0,), cooki=1)]
HISTORY_INDEX = HistoryIndex(Documents.collect(COMMITS), Documents.collect(FIXED_REPORTS))


@pytest.fixture(scope="module")
def context():
    payloads = {blob: pack_facts(analyse(text, ".java")) for blob, text in TEXTS.items()}

    def facts(blobs):
        return Corpus.from_rows(list(blobs), map(payloads.get, blobs))

    return RerankingContext(facts, HISTORY_INDEX)


def make_vectors(context, *terms):
    """Return sparse vectors by terms whose inverse document frequencies are 1, 2 and so on."""
    frequencies: FloatArray = np.arange(1, len(terms) + 1, dtype=np.float64)
    return SparseVectors(Vocabulary(terms, *[frequencies] * 4), context)


def weights_by_term(vectors, row):
    """Return the weights of a sparse row by the names of its terms."""
    terms = [vectors.vocabulary.terms[term] for term in row.indices.tolist()]
    return dict(zip(terms, row.data.tolist(), strict=True))


def test_a_fixed_report_counts_half_as_much_again_as_a_commit_message():
    assert FIX_WEIGHT == 1.5


@pytest.fixture(scope="module")
def vocabulary(context):
    reports = [{"lost": 1.0}, {"lost": 2.0, "odd": 1.0}]
    return Vocabulary.from_training(context, dict(SOURCES), reports, 3 * TWO_YEARS)


def test_terms_count_that_are_common_enough_or_in_a_path(vocabulary):
    common = ["bake", "lost"]
    in_paths = ["cooki", "cookiejar", "jar", "net", "planet", "socket", "src"]
    assert vocabulary.terms == tuple(sorted(common + in_paths))


def test_terms_that_do_not_count_have_no_number(vocabulary):
    assert vocabulary.term_ids(["bake", "odd"]).tolist() == [0, -1]


@pytest.mark.parametrize(
    ("name", "term", "documents", "containing"),
    [
        ("in_files", "bake", 3, 3),
        ("in_reports", "lost", 2, 2),
        ("in_commits", "socket", 2, 1),
        ("in_commits", "jar", 2, 0),
    ],
)
def test_inverse_document_frequencies_by_hand(vocabulary, name, term, documents, containing):
    expected = np.log(1 + (documents - containing + 0.5) / (containing + 0.5))
    frequencies = getattr(vocabulary, name)
    assert frequencies[vocabulary.id_by_term[term]] == pytest.approx(expected)


def test_a_term_of_the_summary_counts_three_times_more():
    counts = report_counts(report(summary="Cookie", description="Lost lost cookie"))
    assert counts == {"lost": 2.0, "cooki": 4.0}


def test_terms_of_form_lines_do_not_count():
    asked = report(summary="Cookie", description="Which depot?\nlost")
    assert report_counts(asked, frozenset({"which depot"})) == {"lost": 1.0, "cooki": 3.0}


def test_form_lines_are_those_of_the_template_and_of_earlier_reports():
    shared_lines = SharedLines(["which depot", "which shop"], np.array([1.0, 5.0]))
    context = RerankingContext(
        history=replace(HISTORY_INDEX, shared_lines=shared_lines),
        template=lambda commit: frozenset({f"which part of {commit}"}),
    )
    form_lines = context.form_lines(report(opened=5), "v")
    assert form_lines == {"which depot", "which part of v"}


def test_the_form_adds_no_score(vocabulary, context):
    asked = candidates("a b", "10", of=report(summary="Cookie", description="Lost jar"))
    form = frozenset({"lost jar"})
    without = replace(asked, report=replace(asked.report, description=""))
    reranker = TermReranker()
    reranker._vocabulary = vocabulary
    tables = {side: np.eye(len(vocabulary), dtype=np.float32) for side in SIDES}
    reranker._encoder = DualEncoder(tables, {"content": 1.0, "history": 1.0})
    scores, _ = reranker._score_by_terms(asked, replace(context, template=lambda commit: form))
    expected, _ = reranker._score_by_terms(without, context)
    unread, _ = reranker._score_by_terms(asked, context)
    assert scores == pytest.approx(expected)
    assert scores != pytest.approx(unread)


def test_the_name_of_a_file_without_folder_counts_six_times():
    assert path_words("Makefile") == {"makefil": 6.0}


MATRIX = sparse.csr_array(np.array([[0, 3.0, 4.0], [0, 0, 0], [2.0, 2.0, 2.0]]))


def test_the_heaviest_terms_are_unit_vectors():
    expected = np.array([[0, 0.6, 0.8], [0, 0, 0], [0.5**0.5, 0.5**0.5, 0]])
    assert keep_heaviest(MATRIX, 2).toarray() == pytest.approx(expected)


def test_the_heaviest_terms_come_first_and_of_equal_ones_the_first():
    assert keep_heaviest(MATRIX, 2).indices.tolist() == [2, 1, 0, 1]


def test_a_report_vector_weighs_terms_by_frequency_and_rarity(context):
    vocabulary = Vocabulary(("x", "y"), np.array([1.0, 3.0]), np.ones(2), np.ones(2), np.ones(2))
    vectors = SparseVectors(vocabulary, context)
    # x: (1 + ln e) * (1 + 1) / 2 = 2; y: (1 + ln 1) * (3 + 1) / 2 = 2
    matrix = vectors.report_vectors([{"x": np.e, "y": 1.0, "unknown": 9.0}, {}])
    assert matrix.toarray() == pytest.approx(np.array([[0.5**0.5, 0.5**0.5], [0, 0]]))


CONTENT_TERMS = ("bake", "cooki", "jar", "net", "socket", "src")


def test_a_content_vector_weighs_terms_by_field_path_and_rarity(context):
    vectors = make_vectors(context, *CONTENT_TERMS)
    matrix = stack_vectors(vectors.content_vectors([SOURCES[0]]), len(CONTENT_TERMS))
    counts = {
        "bake": 2 * 1.0 + 2.0,  # twice in code, once as a method's name
        "cooki": 6.0 + 1.0 + 6.0,  # in the file's name, in code, and as a type's name
        "jar": 6.0 + 1.0 + 6.0,
        "src": 2.0,  # in a folder's name
    }
    weights = []
    for term, count in counts.items():
        rarity = 1 + CONTENT_TERMS.index(term)
        weights.append(np.log1p(count) * rarity)
    expected = dict(zip(counts, np.array(weights) / np.linalg.norm(weights), strict=True))
    assert weights_by_term(vectors, matrix[[0]]) == pytest.approx(expected)


def test_an_unreadable_file_has_the_words_of_its_path(context):
    vectors = make_vectors(context, *CONTENT_TERMS)
    matrix = stack_vectors(vectors.content_vectors([(PATHS[1], "gone")]), len(CONTENT_TERMS))
    assert weights_by_term(vectors, matrix[[0]]).keys() == {"src", "net", "socket"}


HISTORY_TERMS = ("cooki", "planet", "socket")


def make_histories(context, opened, **changes):
    """Return the history vectors of three files as they were known when a report was opened."""
    vectors = make_vectors(replace(context, **changes), *HISTORY_TERMS)
    three = candidates("a b c", of=report(opened=opened))
    matrix = stack_vectors(vectors.candidate_vectors(three)["history"], len(HISTORY_TERMS))
    return [weights_by_term(vectors, matrix[[row]]) for row in range(3)]


def test_a_history_vector_sums_documents_that_fade_with_age(context):
    # Of the first file: commit 0 (two files, two years older than the newest), the fixed report
    # (one year older), and commit 1. The IDF of the terms are 1, 2 and 3.
    first_commit = np.array([1, 2, 0]) / 5**0.5 / 2**0.5 * np.exp(-1)
    fixed_report = np.array([1, 0, 0]) * FIX_WEIGHT * np.exp(-0.5)
    second_commit = np.array([0, 0, 1])
    total = np.sqrt(first_commit + fixed_report + second_commit)
    expected = dict(zip(HISTORY_TERMS, total / np.linalg.norm(total), strict=True))
    assert make_histories(context, 2 * TWO_YEARS)[0] == pytest.approx(expected, abs=1e-6)


def test_the_age_of_a_single_document_does_not_matter(context):
    expected = {"cooki": (1 / 3) ** 0.5, "planet": (2 / 3) ** 0.5}
    assert make_histories(context, 2 * TWO_YEARS)[1] == pytest.approx(expected, abs=1e-6)


def test_a_file_that_nothing_touched_has_no_history(context):
    assert make_histories(context, 2 * TWO_YEARS)[2] == {}


def test_documents_of_the_second_of_opening_are_not_known(context):
    assert make_histories(context, TWO_YEARS / 2)[0].keys() == {"cooki", "planet"}
    assert make_histories(context, 0)[0] == {}


def test_commits_that_the_version_lacks_are_not_known(context):
    all_but_the_first = np.array([commit != 0 for commit in range(8)])
    histories = make_histories(context, 2 * TWO_YEARS, contained=lambda commit: all_but_the_first)
    assert histories[0].keys() == {"cooki", "socket"}
