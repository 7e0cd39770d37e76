"""DreamLoc: its words, wide features and matching by hand."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.lab.baselines.by_hand import Bug, make_context, make_query
from tests.lab.baselines.techniques import small_technique
from tosloc.code.parsed_source import parse_source
from tosloc.lab.baselines.dreamloc import (
    DreamLocNetwork,
    DreamLocSettings,
    ReportFiles,
    training_triples,
)
from tosloc.lab.baselines.dreamloc_inputs import (
    DocumentFrequencies,
    Snippets,
    WideFeatures,
    WideStatistics,
    WordVectors,
    dream_words,
)
from tosloc.lab.baselines.training import build_seeded


def learn_vectors():
    parts_by_word = {}
    texts = ["TreeViewer shows tree", "viewer of trees"]
    words = [dream_words(text, parts_by_word) for text in texts]
    return WordVectors.learn(words, parts_by_word, width=6, epochs=1, seed=7)


def test_vectors_of_compounds_are_means_of_their_parts():
    vectors = learn_vectors()
    tree = vectors.vector("tree", ())
    viewer = vectors.vector("viewer", ())
    assert vectors.vector("treeviewer", ()) == pytest.approx((tree + viewer) / 2)


def test_vector_of_an_unknown_compound_is_the_mean_of_known_parts():
    vectors = learn_vectors()
    tree = vectors.vector("tree", ())
    assert vectors.vector("treetop", ("tree", "top")) == pytest.approx(tree)


def test_vector_of_an_unknown_word_is_small():
    assert np.abs(learn_vectors().vector("zebra", ())).max() <= 0.25


def test_learning_vectors_again_gives_the_same():
    first = learn_vectors()
    second = learn_vectors()
    assert np.array_equal(first.vectors, second.vectors)
    assert first.vector("zebra", ()).tolist() == second.vector("zebra", ()).tolist()


APPLE, BANANA, CHERRY = "src/Apple.java", "src/Banana.java", "src/Cherry.java"
KEYWORD_WEIGHT = 1 + (math.log(4 / 2) + 1 - 1) / 2
"""Weight of a compound or its part: all words are in 1 of 3 texts, and the range is 1 to 3."""


@pytest.fixture(scope="module")
def wide_features():
    """Return the five wide features of the three files for bug 3."""
    files = {
        APPLE: "class Apple { } // seed seed rots",
        BANANA: "class BananaPeel { } // seed",
        CHERRY: "class Cherry { }",
    }
    bugs = [
        Bug("1", "Bug 1 seed rots", opened=1, fixed_at=2, paths=[APPLE, BANANA]),
        Bug("2", "Bug 2 peel browns", opened=3, fixed_at=4, paths=[BANANA]),
        Bug(
            "3",
            "Bug 3 seed BananaPeel",
            opened=64,
            fixed_at=90,
            paths=[CHERRY],
            description="seed BananaPeel",
        ),
    ]
    context = make_context(files, bugs)
    context.files.sources = [
        replace(source, complexity=complexity)
        for source, complexity in zip(context.files.sources, (2, 3, 99), strict=True)
    ]
    words = "apple seed rots bananapeel banana peel cherry browns".split()
    frequencies = DocumentFrequencies(3, dict.fromkeys(words, 1))
    statistics = WideStatistics(
        text=frequencies,
        summary=frequencies,
        report=frequencies,
        keyword=(1.0, 3.0),
        complexity=(2.0, 6.0),
        fixes=4.0,
        recency=1.0,
    )
    return WideFeatures(context, statistics).compute(make_query(context, "3")).T


def test_text_similarity_raises_compounds_and_their_parts(wide_features):
    # Each word occurs twice in the report: seed, and the compound with its two parts.
    report = np.array([2, 2 * KEYWORD_WEIGHT, 2 * KEYWORD_WEIGHT, 2 * KEYWORD_WEIGHT])
    norm = math.sqrt((report**2).sum())
    # Apple is apple seed seed rots, Banana bananapeel banana peel seed; all words weigh the same.
    expected = [report[0] * 2 / norm / math.sqrt(6), report.sum() / norm / 2, 0.0]
    assert wide_features[0] == pytest.approx(expected)


def test_complexity_is_scaled_to_its_range_and_clipped(wide_features):
    assert wide_features[1] == pytest.approx([0.0, 0.25, 1.0])


def test_similar_reports_compare_joined_summaries(wide_features):
    # The summary is seed bananapeel banana peel. The summaries fixed in Apple are seed rots, those
    # in Banana seed rots peel browns.
    expected = [1 / math.sqrt(4 * 2), 2 / math.sqrt(4 * 4), 0.0]
    assert wide_features[2] == pytest.approx(expected)


def sigmoid(value):
    return 1 / (1 + math.exp(-value))


def test_number_of_fixes_is_a_sigmoid_of_its_share(wide_features):
    assert wide_features[3] == pytest.approx([sigmoid(0.25), sigmoid(0.5), 0.0])


def test_recency_counts_whole_months(wide_features):
    # The last fixes are 62 and 60 days old, two whole months.
    assert wide_features[4] == pytest.approx([sigmoid(1 / 3), sigmoid(1 / 3), 0.0])


@pytest.mark.parametrize(("fusion", "parameters"), [(100, 22_626), (50, 17_726)])
def test_number_of_parameters_is_the_published_one(fusion, parameters):
    no_snippets = Snippets([], WordVectors([], np.eye(2, dtype=np.float32)), 1, 1)
    network = DreamLocNetwork(DreamLocSettings(fusion_hidden=fusion), no_snippets)
    assert sum(value.numel() for value in network.parameters()) == parameters


WORDS = ["apple", "pear", "fig", "plum", "lime"]
VECTORS = WordVectors(WORDS, np.random.default_rng(5).normal(size=(5, 6)).astype(np.float32))
TEXTS = [
    "apple pear apple fig apple",
    "plum lime fig pear apple apple fig fig lime unknown pear pear pear lime",
    "apple lime plum fig " * 6,
    "",
    "fig",
]
REPORT = {"apple": 2 * math.exp(1.0), "pear": math.exp(2.5), "plum": math.exp(3.0)}
"""For each distinct word how often it occurs, times e^IDF."""
GATES = np.array(list(REPORT.values())) / sum(REPORT.values())


def report_files(rows, fixed=1):
    """Return the report with the texts of these rows, the first ``fixed`` of which are fixed."""
    vectors = torch.from_numpy(np.array([VECTORS.vector(word, ()) for word in REPORT]))
    wide = torch.from_numpy(np.random.default_rng(1).random((len(rows), 5)).astype(np.float32))
    weights = torch.from_numpy(GATES.astype(np.float32))
    return ReportFiles(vectors, weights, np.array(rows), wide, np.arange(fixed), fixed)


def slow_match(network, word, snippet):
    """Return how a report word matches a snippet, given as words."""
    word_vector = VECTORS.vector(word, ())
    code_vectors = np.array([VECTORS.vector(code_word, ()) for code_word in snippet])
    attention = np.exp(code_vectors @ word_vector)
    attended = (attention / attention.sum()) @ code_vectors
    normalized_word = word_vector / np.linalg.norm(word_vector)
    products = normalized_word * (attended / np.linalg.norm(attended))
    return float(network.match(torch.from_numpy(products.reshape(1, -1)).float()))


def slow_deep_score(network, file_words):
    """Return the deep part as docs/method.md, section B.9.4, has it.

    Every word of a file is compared, and missing snippets count 0.
    """
    length = network.settings.snippet_length
    total = 0.0
    for gate, word in zip(GATES, REPORT, strict=True):
        matches = []
        for number in range(network.settings.snippets):
            snippet = file_words[number * length : (number + 1) * length]
            matches.append(slow_match(network, word, snippet) if snippet else 0.0)
        best = sorted(matches, reverse=True)[: network.settings.best_snippets]
        total += gate * float(network.pool(torch.tensor([best])))
    return total


@torch.no_grad()
def test_batched_scores_equal_the_formula(monkeypatch):
    settings = small_technique("dreamloc").settings
    sources = [parse_source(f"/** {text} */") for text in TEXTS]
    snippets = Snippets(sources, VECTORS, settings.snippet_length, settings.snippets)
    network = build_seeded(3, lambda: DreamLocNetwork(settings, snippets))
    files = report_files([4, 0, 1, 2, 3, -1, 2])
    deep = []
    for row in files.rows.tolist():
        file_words = TEXTS[row].split() if row >= 0 else []  # an unreadable file counts as empty
        deep.append([slow_deep_score(network, file_words)])
    fusion_inputs = torch.cat([network.wide(files.wide), torch.tensor(deep).float()], dim=1)
    expected = network.fusion(fusion_inputs).squeeze(-1).numpy()
    for at_once in (1, 30, 1000):
        monkeypatch.setattr("tosloc.lab.baselines.dreamloc.MAX_MATCHES_AT_ONCE", at_once)
        assert network.rounded_scores(files) == pytest.approx(expected, abs=2e-5)
    selected_scores = network(files, np.array([5, 0])).numpy()
    assert selected_scores == pytest.approx(expected[[5, 0]], abs=1e-5)
    assert np.ptp(deep) > 1e-3


def test_triples_have_each_wrong_file_once_and_fixed_files_in_turn():
    reports = [report_files([0, 1, 2]), report_files([0, 1, 2, 3, 4], fixed=2)]
    triples = training_triples(reports)
    assert triples.tolist() == [[0, 0, 1], [0, 0, 2], [1, 0, 2], [1, 1, 3], [1, 0, 4]]
