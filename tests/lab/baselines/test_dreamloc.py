"""DreamLoc: its words, wide features and matching by hand."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.lab.baselines.by_hand import Bug, ask, context
from tests.lab.baselines.techniques import SMALL
from tosloc.lab.baselines.context import BaselineContext
from tosloc.lab.baselines.dreamloc import ReportFiles, margin_loss, network, triples_of
from tosloc.lab.baselines.dreamloc.network import DreamLocModel, ReportWords, dreamloc_network
from tosloc.lab.baselines.dreamloc.wide import WideFeatures, WideStatistics
from tosloc.lab.baselines.dreamloc.words import (
    DocumentFrequencies,
    DreamLocSettings,
    DreamLocTokenizer,
    Snippets,
    WordVectors,
)
from tosloc.lab.baselines.parsed_source import parse_source


def settings(**values: object) -> DreamLocSettings:
    return DreamLocSettings.of({**SMALL["dreamloc"], **values}, "test")


# Words


def test_vectors_of_compounds_are_means_of_their_parts() -> None:
    tokenizer = DreamLocTokenizer()
    texts = [tokenizer("TreeViewer shows tree"), tokenizer("viewer of trees")]
    vectors = WordVectors.learned(texts, tokenizer.parts, settings(), 7)
    at = {word: vectors.vectors[number] for word, number in vectors.row_of_word.items()}
    assert at["treeviewer"] == pytest.approx((at["tree"] + at["viewer"]) / 2)
    assert vectors.unknown("treetop", ("tree", "top")) == pytest.approx(at["tree"])
    other = vectors.unknown("zebra", ())
    assert np.abs(other).max() <= 0.25
    assert other == pytest.approx(vectors.unknown("zebra", ()))
    again = WordVectors.learned(texts, tokenizer.parts, settings(), 7)
    assert np.array_equal(vectors.vectors, again.vectors)


def test_snippets_hold_distinct_words_with_the_logs_of_their_counts() -> None:
    vectors = WordVectors(["apple", "pear"], np.eye(2, dtype=np.float32))
    sources = [parse_source(text) for text in ("/** apple apple pear. apple pear */", "", "/** fig */")]
    snippets = Snippets(sources, vectors, 3, 2)
    assert snippets.sizes.tolist() == [2, 0, 1]
    ids, logs = snippets.padded(snippets.of_rows(np.array([0, 2])))
    assert ids[0].tolist() == [0, 1]
    assert np.exp(logs).tolist() == pytest.approx(np.array([[2, 1], [1, 1], [1, 0]]))
    assert ids[2, 0] == 2  # fig is not among the learned words
    assert snippets.table[2] == pytest.approx(vectors.unknown("fig", ()))


# Wide features


FRUIT = {
    "src/Apple.java": "class Apple { } // seed seed rots",
    "src/Banana.java": "class BananaPeel { } // seed",
    "src/Cherry.java": "class Cherry { }",
}
FRUIT_BUGS = [
    Bug("1", "Bug 1 seed rots", opened=1, fixed_at=2, paths=list(FRUIT)[:2]),
    Bug("2", "Bug 2 peel browns", opened=3, fixed_at=4, paths=list(FRUIT)[1:2]),
    Bug("3", "Bug 3 seed BananaPeel", opened=65, fixed_at=90, paths=list(FRUIT)[2:], description="seed BananaPeel"),
]


def wide_features(made: BaselineContext) -> WideFeatures:
    """With statistics by hand: every word in 1 of 3 texts, keywords' IDF from 1 to 3."""
    words = "apple seed rots bananapeel banana peel cherry browns".split()
    one = DocumentFrequencies(3, dict.fromkeys(words, 1))
    return WideFeatures(made, WideStatistics(one, one, one, (1.0, 3.0), (2.0, 6.0), 4.0, 1.0))


def test_wide_features_by_hand() -> None:
    made = context(FRUIT, FRUIT_BUGS)
    blobs = list(made.files.row_of_blob)
    made = replace(made, complexities={blobs[0]: 2, blobs[1]: 3, blobs[2]: 99})
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
    assert wide[:, 4] == pytest.approx([sigmoid[2], sigmoid[2], 0.0])  # 63 and 61 days: two whole months


# The deep part


@pytest.mark.parametrize(("fusion", "parameters"), [(100, 22_626), (50, 17_726)])
def test_the_published_number_of_parameters(fusion: int, parameters: int) -> None:
    model = dreamloc_network(DreamLocSettings(fusion_hidden=fusion), 7)
    assert sum(value.numel() for value in model.parameters()) == parameters


def plain(
    model: DreamLocModel, report: list[str], file: list[str], vectors: WordVectors, idf: Mapping[str, float]
) -> float:
    """The deep part as docs/method.md, section B.9.4: every word of report and file, snippets with padding."""
    given = model.settings
    d, length, most = vectors.vectors.shape[1], given.snippet_length, given.snippets
    gates = np.exp([idf[word] for word in report])
    total = 0.0
    for gate, word in zip(gates / gates.sum(), report, strict=True):
        r = vectors.vectors[vectors.row_of_word[word]]
        matches = []
        for start in range(0, length * most, length):
            words = file[start : start + length]
            if not words:
                matches.append(0.0)
                continue
            code_words = np.array([vectors.vectors[vectors.row_of_word[each]] for each in words])
            attention = np.exp(code_words @ r - (code_words @ r).max())
            seen = (attention / attention.sum()) @ code_words
            both = (r / np.linalg.norm(r)) * (seen / np.linalg.norm(seen))
            with torch.no_grad():
                matches.append(float(model.network["match"](torch.from_numpy(both.reshape(1, d)).float())))
        best = sorted(matches, reverse=True)[: given.best_snippets]
        with torch.no_grad():
            total += gate * float(model.network["pool"](torch.tensor([best])))
    return total


def model_of(texts: list[str], **values: object) -> tuple[DreamLocModel, WordVectors]:
    rng = np.random.default_rng(5)
    words = ["apple", "pear", "fig", "plum", "lime"]
    vectors = WordVectors(words, rng.normal(size=(5, 6)).astype(np.float32))
    given = settings(**values)
    snippets = Snippets(
        [parse_source(f"/** {text} */") for text in texts], vectors, given.snippet_length, given.snippets
    )
    return DreamLocModel(dreamloc_network(given, 3), snippets, given, torch.device("cpu")), vectors


def report_words(report: list[str], vectors: WordVectors, idf: Mapping[str, float]) -> ReportWords:
    counted = Counter(report)
    distinct = sorted(counted)
    weights = np.array([counted[word] * math.exp(idf[word]) for word in distinct])
    rows = np.array([vectors.vectors[vectors.row_of_word[word]] for word in distinct])
    return ReportWords(tuple(distinct), rows, (weights / weights.sum()).astype(np.float32))


TEXTS = [
    "apple pear apple fig apple",
    "plum lime fig pear apple apple fig fig lime plum pear pear pear lime",
    "apple lime plum fig " * 6,
    "",
    "fig",
]
IDF = {"apple": 1.0, "pear": 2.5, "fig": 1.5, "plum": 3.0, "lime": 1.0}
REPORT = ["apple", "plum", "apple", "pear"]


@pytest.mark.parametrize("usual", [0, 50], ids=["words of the files", "all words"])
def test_batches_over_distinct_words_give_what_the_formula_does(usual: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "USUAL", usual)
    model, vectors = model_of(TEXTS)
    words = report_words(REPORT, vectors, IDF)
    wanted = [plain(model, REPORT, text.split(), vectors, IDF) for text in TEXTS]
    rows = np.array([4, 0, 1, 1, 2, 3, -1], dtype=np.int32)
    found = model.deep_of_files(words, rows)
    expected = [wanted[row] for row in rows.tolist()[:-1]]
    assert found == pytest.approx([*expected, wanted[3]], abs=1e-5)  # a file that could not be read is an empty one
    pairs = model.deep_of_pairs([(words, row) for row in rows.tolist()[:-1]])
    assert pairs.detach().numpy() == pytest.approx(np.array(expected), abs=1e-5)


# Learning


def test_the_loss_is_the_margin_between_the_scores() -> None:
    model, vectors = model_of(TEXTS)
    words = report_words(REPORT, vectors, IDF)
    wide = np.random.default_rng(1).random((3, 5)).astype(np.float32)
    pool = ReportFiles(words, np.array([0, 1, 2]), wide, np.array([0]), 1)
    with torch.no_grad():
        values = model.deep_of_pairs([(words, row) for row in (0, 1, 2)])[:, None]
        right, one, other = model.network["fusion"](
            torch.cat([model.network["wide"](torch.from_numpy(wide)), values], 1)
        ).squeeze(-1)
        expected = (max(1e-6, 2 - right + one) + max(1e-6, 2 - right + other)) / 2
    two = ReportFiles(words, np.arange(5), wide, np.array([0, 1]), 2)  # fixed files in turn, each wrong one once
    assert triples_of([pool, two]).tolist() == [[0, 0, 1], [0, 0, 2], [1, 0, 2], [1, 1, 3], [1, 0, 4]]
    loss = margin_loss(model, [pool], triples_of([pool]), 2.0)
    assert float(loss.detach()) == pytest.approx(float(expected), abs=1e-6)
