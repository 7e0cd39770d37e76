"""DreamLoc: its words, wide features and matching by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.lab.baselines.by_hand import Bug, ask, context
from tests.lab.baselines.techniques import small
from tosloc.lab.baselines.context import BaselineContext
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

# Words


def test_vectors_of_compounds_are_means_of_their_parts() -> None:
    parts: dict[str, tuple[str, ...]] = {}
    texts = [dream_words(text, parts) for text in ("TreeViewer shows tree", "viewer of trees")]
    vectors = WordVectors.learned(texts, parts, width=6, epochs=1, seed=7)
    tree, viewer = vectors.of("tree", ()), vectors.of("viewer", ())
    assert vectors.of("treeviewer", ()) == pytest.approx((tree + viewer) / 2)
    assert vectors.of("treetop", ("tree", "top")) == pytest.approx(tree)
    other = vectors.of("zebra", ())
    assert np.abs(other).max() <= 0.25
    assert other == pytest.approx(vectors.of("zebra", ()))
    again = WordVectors.learned(texts, parts, width=6, epochs=1, seed=7)
    assert np.array_equal(vectors.vectors, again.vectors)


def test_snippets_hold_distinct_words_with_the_logs_of_their_counts() -> None:
    vectors = WordVectors(["apple", "pear"], np.eye(2, dtype=np.float32))
    sources = [parse_source(text) for text in ("/** apple apple pear. apple pear */", "", "/** fig */")]
    snippets = Snippets(sources, vectors, 3, 2)
    assert list(map(len, snippets.of_blob)) == [2, 0, 1]
    words, logs = snippets.padded([*snippets.of_blob[0], *snippets.of_blob[2]])
    assert words[0].tolist() == [0, 1]
    assert logs.exp().numpy() == pytest.approx(np.array([[2, 1], [1, 1], [1, 0]]))
    assert snippets.table[words[2, 0]].numpy() == pytest.approx(vectors.of("fig", ()))  # is not among the learned ones


# Wide features


FRUIT = {
    "src/Apple.java": "class Apple { } // seed seed rots",
    "src/Banana.java": "class BananaPeel { } // seed",
    "src/Cherry.java": "class Cherry { }",
}
FRUIT_BUGS = [
    Bug("1", "Bug 1 seed rots", opened=1, fixed_at=2, paths=list(FRUIT)[:2]),
    Bug("2", "Bug 2 peel browns", opened=3, fixed_at=4, paths=list(FRUIT)[1:2]),
    Bug("3", "Bug 3 seed BananaPeel", opened=64, fixed_at=90, paths=list(FRUIT)[2:], description="seed BananaPeel"),
]


def wide_features(made: BaselineContext) -> WideFeatures:
    """With statistics by hand: every word in 1 of 3 texts, keywords' IDF from 1 to 3."""
    words = "apple seed rots bananapeel banana peel cherry browns".split()
    one = DocumentFrequencies(3, dict.fromkeys(words, 1))
    return WideFeatures(made, WideStatistics(one, one, one, (1.0, 3.0), (2.0, 6.0), 4.0, 1.0))


def test_wide_features_by_hand() -> None:
    made = context(FRUIT, FRUIT_BUGS)
    made.files.sources = [
        replace(one, complexity=value) for one, value in zip(made.files.sources, (2, 3, 99), strict=True)
    ]
    wide = wide_features(made).of(ask(made, "3"))
    idf = math.log(4 / 2) + 1
    boost = 1 + (idf - 1) / 2
    report = np.array([2, 2 * boost, 2 * boost, 2 * boost]) * idf  # seed, and the compound with its parts
    norm = math.sqrt((report**2).sum())
    # Apple: apple seed seed rots; Banana: bananapeel banana peel seed; every word weighs the same
    assert wide[:, 0] == pytest.approx([report[0] * 2 / norm / math.sqrt(6), report.sum() / norm / 2, 0.0])
    assert wide[:, 1] == pytest.approx([0.0, 0.25, 1.0])
    # summaries: B is seed bananapeel banana peel; Apple: seed rots; Banana: seed rots peel browns; words of known IDF
    assert wide[:, 2] == pytest.approx([1 / math.sqrt(4 * 2), 2 / math.sqrt(4 * 4), 0.0])
    sigmoid = [1 / (1 + math.exp(-x)) for x in (0.25, 0.5, 1 / 3)]
    assert wide[:, 3] == pytest.approx([sigmoid[0], sigmoid[1], 0.0])
    assert wide[:, 4] == pytest.approx([sigmoid[2], sigmoid[2], 0.0])  # 62 and 60 days: two whole months


# The deep part


@pytest.mark.parametrize(("fusion", "parameters"), [(100, 22_626), (50, 17_726)])
def test_the_published_number_of_parameters(fusion: int, parameters: int) -> None:
    network = DreamLocNetwork(DreamLocSettings(fusion_hidden=fusion), Snippets([], WordVectors([], np.eye(2)), 1, 1))
    assert sum(value.numel() for value in network.parameters()) == parameters


WORDS = ["apple", "pear", "fig", "plum", "lime"]
VECTORS = WordVectors(WORDS, np.random.default_rng(5).normal(size=(5, 6)).astype(np.float32))
TEXTS = [
    "apple pear apple fig apple",
    "plum lime fig pear apple apple fig fig lime plum pear pear pear lime",
    "apple lime plum fig " * 6,
    "",
    "fig",
]
REPORT = {"apple": 2 * math.exp(1.0), "pear": math.exp(2.5), "plum": math.exp(3.0)}
"""Distinct words: how often each stands, x e^IDF."""
GATES = np.array(list(REPORT.values())) / sum(REPORT.values())


@pytest.fixture(scope="module")
def network() -> DreamLocNetwork:
    settings = small("dreamloc").settings
    sources = [parse_source(f"/** {text} */") for text in TEXTS]
    snippets = Snippets(sources, VECTORS, settings.snippet_length, settings.snippets)
    made: DreamLocNetwork = seeded(3, lambda: DreamLocNetwork(settings, snippets))
    return made


def files_of(rows: list[int]) -> ReportFiles:
    """A report with files of the texts, of which the first is fixed."""
    vectors = torch.from_numpy(np.array([VECTORS.of(word, ()) for word in REPORT]))
    wide = torch.from_numpy(np.random.default_rng(1).random((len(rows), 5)).astype(np.float32))
    return ReportFiles(vectors, torch.from_numpy(GATES.astype(np.float32)), np.array(rows), wide, np.array([0]), 1)


@torch.no_grad()
def plain(network: DreamLocNetwork, file: list[str]) -> float:
    """The deep part as docs/method.md, section B.9.4: every word of a file, snippets with padding."""
    length, most = network.settings.snippet_length, network.settings.snippets
    total = 0.0
    for gate, word in zip(GATES, REPORT, strict=True):
        r = VECTORS.of(word, ())
        matches = []
        for start in range(0, length * most, length):
            words = file[start : start + length]
            if not words:
                matches.append(0.0)
                continue
            code_words = np.array([VECTORS.of(each, ()) for each in words])
            attention = np.exp(code_words @ r - (code_words @ r).max())
            seen = (attention / attention.sum()) @ code_words
            both = (r / np.linalg.norm(r)) * (seen / np.linalg.norm(seen))
            matches.append(float(network.match(torch.from_numpy(both.reshape(1, -1)).float())))
        best = sorted(matches, reverse=True)[: network.settings.best_snippets]
        total += gate * float(network.pool(torch.tensor([best])))
    return float(total)


def test_batches_over_distinct_words_give_what_the_formula_does(
    network: DreamLocNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = np.array([4, 0, 1, 2, 3, -1])  # a file that could not be read is an empty one
    wanted = [plain(network, TEXTS[row].split() if row >= 0 else []) for row in rows.tolist()]
    one = files_of([0])
    for at_once in (1, 30, 1000):
        monkeypatch.setattr("tosloc.lab.baselines.dreamloc.AT_ONCE", at_once)
        found = one.weights @ network.word_values(one.vectors, rows)
        assert found.detach().numpy() == pytest.approx(np.array(wanted), abs=1e-5)


def test_wide_and_deep_are_fused_and_chosen_files_have_their_scores(network: DreamLocNetwork) -> None:
    one = files_of([2, 0, 2, -1])
    with torch.no_grad():
        deep = torch.tensor([[plain(network, words)] for words in map(str.split, (TEXTS[2], TEXTS[0], TEXTS[2], ""))])
        wanted = network.fusion(torch.cat([network.wide(one.wide), deep], dim=1)).squeeze(-1).numpy()
        assert network(one, np.array([3, 0])).numpy() == pytest.approx(wanted[[3, 0]], abs=1e-5)
    assert network.ranked(one) == pytest.approx(wanted, abs=2e-5)


def test_every_wrong_file_teaches_once_beside_fixed_ones_in_turn() -> None:
    one = files_of([0, 1, 2])
    two = replace(files_of([0, 1, 2, 3, 4]), fixed=np.array([0, 1]))
    assert triples_of([one, two]).tolist() == [[0, 0, 1], [0, 0, 2], [1, 0, 2], [1, 1, 3], [1, 0, 4]]
