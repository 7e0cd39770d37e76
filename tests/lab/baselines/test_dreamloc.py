"""DreamLoc: its words, wide features and matching by hand."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.lab.baselines.by_hand import Bug, ask, context
from tests.lab.baselines.techniques import small
from tosloc.lab.baselines.dreamloc import DreamLocNetwork, DreamLocSettings, ReportFiles, triples_of
from tosloc.lab.baselines.dreamloc_inputs import (
    DocumentFrequencies,
    Snippets,
    WideFeatures,
    WideStatistics,
    WordVectors,
    dream_words,
)
from tosloc.lab.baselines.texts import parse_source
from tosloc.lab.baselines.training import seeded


def test_vectors_of_compounds_are_means_of_their_parts():
    parts = {}
    texts = [dream_words(text, parts) for text in ("TreeViewer shows tree", "viewer of trees")]
    vectors, again = (
        WordVectors.learned(texts, parts, width=6, epochs=1, seed=7) for _ in range(2)
    )
    tree, viewer = vectors.of("tree", ()), vectors.of("viewer", ())
    assert vectors.of("treeviewer", ()) == pytest.approx((tree + viewer) / 2)
    assert vectors.of("treetop", ("tree", "top")) == pytest.approx(tree)
    assert np.abs(vectors.of("zebra", ())).max() <= 0.25
    assert vectors.of("zebra", ()).tolist() == again.of("zebra", ()).tolist()
    assert np.array_equal(vectors.vectors, again.vectors)


def test_wide_features_by_hand():
    a, b, c = "src/Apple.java", "src/Banana.java", "src/Cherry.java"
    files = {
        a: "class Apple { } // seed seed rots",
        b: "class BananaPeel { } // seed",
        c: "class Cherry { }",
    }
    bugs = [
        Bug("1", "Bug 1 seed rots", opened=1, fixed_at=2, paths=[a, b]),
        Bug("2", "Bug 2 peel browns", opened=3, fixed_at=4, paths=[b]),
        Bug(
            "3",
            "Bug 3 seed BananaPeel",
            opened=64,
            fixed_at=90,
            paths=[c],
            description="seed BananaPeel",
        ),
    ]
    made = context(files, bugs)
    given = zip(made.files.sources, (2, 3, 99), strict=True)
    made.files.sources = [replace(one, complexity=value) for one, value in given]
    # every word stands in 1 of 3 texts; keywords' IDF from 1 to 3
    words = "apple seed rots bananapeel banana peel cherry browns".split()
    one = DocumentFrequencies(3, dict.fromkeys(words, 1))
    statistics = WideStatistics(one, one, one, (1.0, 3.0), (2.0, 6.0), 4.0, 1.0)
    text, complexity, similar, often, recent = WideFeatures(made, statistics).of(ask(made, "3")).T
    boost = 1 + (math.log(4 / 2) + 1 - 1) / 2
    report = np.array([2, 2 * boost, 2 * boost, 2 * boost])  # seed, and the compound with its parts
    norm = math.sqrt((report**2).sum())
    # Apple: apple seed seed rots; Banana: bananapeel banana peel seed; every word weighs the same
    assert text == pytest.approx(
        [report[0] * 2 / norm / math.sqrt(6), report.sum() / norm / 2, 0.0]
    )
    assert complexity == pytest.approx([0.0, 0.25, 1.0])
    # summaries: asked is seed bananapeel banana peel; Apple: seed rots; Banana: seed rots peel browns
    assert similar == pytest.approx([1 / math.sqrt(4 * 2), 2 / math.sqrt(4 * 4), 0.0])
    quarter, half, third = (1 / (1 + math.exp(-x)) for x in (0.25, 0.5, 1 / 3))
    assert often == pytest.approx([quarter, half, 0.0])
    assert recent == pytest.approx([third, third, 0.0])  # 62 and 60 days: two whole months


@pytest.mark.parametrize(("fusion", "parameters"), [(100, 22_626), (50, 17_726)])
def test_the_published_number_of_parameters(fusion, parameters):
    network = DreamLocNetwork(
        DreamLocSettings(fusion_hidden=fusion), Snippets([], WordVectors([], np.eye(2)), 1, 1)
    )
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
"""Distinct words: how often each stands, x e^IDF."""
GATES = np.array(list(REPORT.values())) / sum(REPORT.values())


def files_of(rows, fixed=1):
    """A report with files of the texts, of which the first are fixed."""
    vectors = torch.from_numpy(np.array([VECTORS.of(word, ()) for word in REPORT]))
    wide = torch.from_numpy(np.random.default_rng(1).random((len(rows), 5)).astype(np.float32))
    weights = torch.from_numpy(GATES.astype(np.float32))
    return ReportFiles(vectors, weights, np.array(rows), wide, np.arange(fixed), fixed)


def plain(network, file):
    """The deep part as docs/method.md, section B.9.4: every word of a file, snippets with padding."""
    length, most = network.settings.snippet_length, network.settings.snippets
    total = 0.0
    for gate, word in zip(GATES, REPORT, strict=True):
        r, matches = VECTORS.of(word, ()), [0.0] * most
        for place in range(most):
            if words := file[place * length : (place + 1) * length]:
                code_words = np.array([VECTORS.of(each, ()) for each in words])
                attention = np.exp(code_words @ r)
                seen = (attention / attention.sum()) @ code_words
                both = (r / np.linalg.norm(r)) * (seen / np.linalg.norm(seen))
                matches[place] = float(network.match(torch.from_numpy(both.reshape(1, -1)).float()))
        best = sorted(matches, reverse=True)[: network.settings.best_snippets]
        total += gate * float(network.pool(torch.tensor([best])))
    return total


@torch.no_grad()
def test_batches_over_distinct_words_give_what_the_formula_does(monkeypatch):
    settings = small("dreamloc").settings
    sources = [parse_source(f"/** {text} */") for text in TEXTS]
    snippets = Snippets(sources, VECTORS, settings.snippet_length, settings.snippets)
    network = seeded(3, lambda: DreamLocNetwork(settings, snippets))
    one = files_of([4, 0, 1, 2, 3, -1, 2])  # a file that could not be read is an empty one
    deep = [[plain(network, TEXTS[row].split() if row >= 0 else [])] for row in one.rows.tolist()]
    fused = (
        network.fusion(torch.cat([network.wide(one.wide), torch.tensor(deep).float()], dim=1))
        .squeeze(-1)
        .numpy()
    )
    for at_once in (1, 30, 1000):
        monkeypatch.setattr("tosloc.lab.baselines.dreamloc.AT_ONCE", at_once)
        assert network.ranked(one) == pytest.approx(fused, abs=2e-5)
    assert network(one, np.array([5, 0])).numpy() == pytest.approx(fused[[5, 0]], abs=1e-5)
    assert np.ptp(deep) > 1e-3


def test_every_wrong_file_teaches_once_beside_fixed_ones_in_turn():
    found = triples_of([files_of([0, 1, 2]), files_of([0, 1, 2, 3, 4], fixed=2)])
    assert found.tolist() == [[0, 0, 1], [0, 0, 2], [1, 0, 2], [1, 1, 3], [1, 0, 4]]
