"""DreamLoc: its words, wide features and matching by hand, and its leaks."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.lab.baselines import leaks
from tests.lab.baselines.techniques import SMALL, fitted, maker, project
from tests.lab.baselines.toy import Bug, ask, context, scores
from tosloc.analysis.complexity import complexity_of
from tosloc.analysis.parsed_source import parse_source
from tosloc.errors import ConfigError, ToslocError
from tosloc.lab.baselines import dreamloc
from tosloc.lab.baselines.context import BaselineContext
from tosloc.lab.baselines.dreamloc import (
    Cutter,
    Deep,
    DreamLoc,
    DreamLocSettings,
    Frequencies,
    Pool,
    Scales,
    Snippets,
    Vectors,
    Words,
    code,
    compounds,
    cut,
    drawn,
    loss_of,
    network,
    raised,
    recency,
    shortened,
    triples_of,
)
from tosloc.lab.baselines.settings import of


def settings(**values: object) -> DreamLocSettings:
    return of(DreamLocSettings, {**SMALL["dreamloc"], **values}, "test")


# Words


def test_more_best_snippets_than_snippets_are_refused() -> None:
    with pytest.raises(ConfigError, match="best_snippets"):
        settings(best_snippets=5)


def test_words_stay_whole_and_compounds_are_cut_too() -> None:
    assert Cutter()("The getURLFor parses x2 of MAX_VALUE; aB null") == (
        ["geturlfor", "url", "parses", "max_value", "max", "value", "ab"]
    )
    assert cut("aB") == ("ab", ())  # no part is longer than two letters
    assert compounds("a TreeViewer and a treeviewer") == ["treeviewer", "tree", "viewer"]


def test_a_long_report_keeps_its_compounds() -> None:
    words = [f"w{n}" for n in range(400)]
    keywords = [f"k{n}" for n in range(30)]
    assert shortened(words, keywords, 300) == words[:270] + keywords
    assert shortened(words, ["aa", "b", "cccc"], 2) == ["cccc", "aa"]


def test_code_is_read_behind_its_imports() -> None:
    text = '/* Licence */\npackage a.b;\nimport c.D;\n/** Doc. */ class E { String s = "text"; } // end'
    words = Cutter()(code(parse_source(text)))
    assert words == ["doc", "string", "text", "end"]


def test_vectors_of_compounds_are_means_of_their_parts() -> None:
    cutter = Cutter()
    texts = [cutter("TreeViewer shows tree"), cutter("viewer of trees")]
    vectors = Vectors.learned(texts, cutter.parts, settings(), 7)
    at = {word: vectors.vectors[number] for word, number in vectors.numbers.items()}
    assert at["treeviewer"] == pytest.approx((at["tree"] + at["viewer"]) / 2)
    assert vectors.unknown("treetop", ("tree", "top")) == pytest.approx(at["tree"])
    other = vectors.unknown("zebra", ())
    assert np.abs(other).max() <= 0.25
    assert other == pytest.approx(vectors.unknown("zebra", ()))
    again = Vectors.learned(texts, cutter.parts, settings(), 7)
    assert np.array_equal(vectors.vectors, again.vectors)


def test_smoothed_idf_and_its_copy() -> None:
    found = Frequencies.count([["a", "a"], ["a", "b"], []])
    assert found.idf(["a", "b", "z"]) == pytest.approx([math.log(4 / 3) + 1, math.log(2) + 1, math.log(4) + 1])
    assert Frequencies.read(found.arrays("x"), "x") == found


def test_snippets_hold_distinct_words_with_the_logs_of_their_counts() -> None:
    vectors = Vectors(["apple", "pear"], np.eye(2, dtype=np.float32))
    sources = [parse_source(text) for text in ("/** apple apple pear. apple pear */", "", "/** fig */")]
    snippets = Snippets(sources, vectors, 3, 2)
    assert snippets.sizes.tolist() == [2, 0, 1]
    ids, logs = snippets.padded(snippets.of_rows(np.array([0, 2])))
    assert ids[0].tolist() == [0, 1]
    assert np.exp(logs).tolist() == pytest.approx(np.array([[2, 1], [1, 1], [1, 0]]))
    assert ids[2, 0] == 2  # fig is not among the learned words
    assert snippets.table[2] == pytest.approx(vectors.unknown("fig", ()))


# Wide features


def test_recency_by_months_of_thirty_days() -> None:
    days = np.array([29, 30, 60, 365, -1, np.inf])
    assert recency(days * 86_400.0).tolist() == [1, 1 / 2, 1 / 3, 1 / 13, 1, 0]


def test_a_file_that_was_ever_fixed_stands_half_above_the_others() -> None:
    assert raised(np.array([0.0, 1.0, 4.0, 8.0]), 4.0) == pytest.approx(
        [0, 1 / (1 + math.exp(-0.25)), 0.731059, 0.731059]
    )


def test_complexity_is_the_sum_over_functions() -> None:
    text = "class A { void f(int a) { if (a > 1 && a < 3) {} } void g(int a) { if (a>1) {} if (a>2) {} if (a>3) {} } }"
    assert complexity_of(text, ".java").total == 7


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


def measured(made: BaselineContext, profile: str = "clean") -> DreamLoc:
    """With scales by hand: every word in 1 of 3 texts, keywords' IDF from 1 to 3."""
    technique = DreamLoc(settings(profile=profile), made)
    words = "apple seed rots bananapeel banana peel cherry browns".split()
    one = Frequencies(3, dict.fromkeys(words, 1))
    technique._scales = Scales(one, one, one, (1.0, 3.0), (2.0, 6.0), 4.0, 1.0)
    return technique


def test_wide_features_by_hand() -> None:
    made = context(FRUIT, FRUIT_BUGS)
    blobs = list(made.files.row_of_blob)
    made = replace(made, complexities={blobs[0]: 2, blobs[1]: 3, blobs[2]: 99})
    wide = measured(made).wide(ask(made, "3"))
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


def features(made: BaselineContext, profile: str) -> Mapping[str, list[float]]:
    query = ask(made, "3")
    return dict(zip(query.version.snapshot.paths, measured(made, profile).wide(query)[:, 2:].tolist(), strict=True))


def test_histories_of_the_public_code_tell_the_label() -> None:
    """The leak test of docs/method.md, section B.11: clean features pass it, those of the public code fail it."""
    first, second, third = FRUIT
    bugs = [
        Bug("1", "seed rots", opened=1, fixed_at=2, paths=[first, second]),
        Bug("2", "peel browns", opened=60, fixed_at=61, paths=[second]),
        Bug("3", "seed peel", opened=100, fixed_at=101, paths=[first]),
    ]
    other = [*bugs[:2], replace(bugs[2], paths=[third])]
    assert features(context(FRUIT, bugs), "clean") == features(context(FRUIT, other), "clean")
    said, swapped = (features(context(FRUIT, each), "upstream") for each in (bugs, other))
    assert said != swapped
    # what was fixed looks fresh; the other's history is that of the report before, when nothing had been fixed
    assert said[first][1] == pytest.approx(1 / (1 + math.exp(-0.25)))
    assert swapped[first][1] == 0.0
    # no report is known to be similar for a file that is not fixed now or later
    assert said[first][0] > 0
    assert swapped[first][0] == 0.0


def test_the_public_code_looks_up_to_the_fix_and_raises_keywords_twice() -> None:
    between = Bug("4", "seed", opened=10, fixed_at=80, paths=list(FRUIT)[2:])
    with_it, without = context(FRUIT, [*FRUIT_BUGS, between]), context(FRUIT, FRUIT_BUGS)
    cherry = list(FRUIT)[2]
    assert features(with_it, "clean") == features(without, "clean")
    assert features(without, "upstream")[cherry][0] == 0.0
    assert features(with_it, "upstream")[cherry][0] == pytest.approx(0.5)
    clean, upstream = (measured(without, profile).wide(ask(without, "3"))[:, 0] for profile in ("clean", "upstream"))
    assert upstream[0] < clean[0]
    assert upstream[1] != pytest.approx(clean[1])


def test_the_public_code_cannot_read_a_report_without_a_label() -> None:
    made = context(FRUIT, FRUIT_BUGS)
    query = ask(made, "3")
    with pytest.raises(ToslocError, match="use clean"):
        measured(made, "upstream").wide(replace(query, report=replace(query.report, id="new")))


# The deep part


@pytest.mark.parametrize(("fusion", "parameters"), [(100, 22_626), (50, 17_726)])
def test_the_published_number_of_parameters(fusion: int, parameters: int) -> None:
    model = network(DreamLocSettings(fusion_hidden=fusion), 7)
    assert sum(value.numel() for value in model.parameters()) == parameters


def plain(deep: Deep, report: list[str], file: list[str], vectors: Vectors, idf: Mapping[str, float]) -> float:
    """The deep part as docs/method.md, section B.9.4: every word of report and file, snippets with padding."""
    told = deep.settings
    d, length, most = vectors.vectors.shape[1], told.snippet_length, told.snippets
    gates = np.exp([idf[word] for word in report])
    total = 0.0
    for gate, word in zip(gates / gates.sum(), report, strict=True):
        r = vectors.vectors[vectors.numbers[word]]
        matches = []
        for start in range(0, length * most, length):
            words = file[start : start + length]
            if not words:
                matches.append(deep.fill)
                continue
            code_words = np.array([vectors.vectors[vectors.numbers[each]] for each in words])
            attention = np.exp(code_words @ r - (code_words @ r).max())
            seen = (attention / attention.sum()) @ code_words
            both = (r / np.linalg.norm(r)) * (seen / np.linalg.norm(seen))
            with torch.no_grad():
                matches.append(float(deep.model["match"](torch.from_numpy(both.reshape(1, d)).float())))
        best = sorted(matches, reverse=True)[: told.best_snippets]
        with torch.no_grad():
            total += gate * float(deep.model["pool"](torch.tensor([best])))
    return total


def deep_of(texts: list[str], **values: object) -> tuple[Deep, Vectors]:
    rng = np.random.default_rng(5)
    words = ["apple", "pear", "fig", "plum", "lime"]
    vectors = Vectors(words, rng.normal(size=(5, 6)).astype(np.float32))
    told = settings(**values)
    snippets = Snippets([parse_source(f"/** {text} */") for text in texts], vectors, told.snippet_length, told.snippets)
    return Deep(network(told, 3), snippets, told, torch.device("cpu")), vectors


def asked_words(report: list[str], vectors: Vectors, idf: Mapping[str, float]) -> Words:
    counted = Counter(report)
    distinct = sorted(counted)
    weights = np.array([counted[word] * math.exp(idf[word]) for word in distinct])
    rows = np.array([vectors.vectors[vectors.numbers[word]] for word in distinct])
    return Words(tuple(distinct), rows, (weights / weights.sum()).astype(np.float32))


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
@pytest.mark.parametrize("empty", ["zero", "minus_one"])
def test_batches_over_distinct_words_give_what_the_formula_does(
    empty: str, usual: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dreamloc, "USUAL", usual)
    deep, vectors = deep_of(TEXTS, empty_snippet=empty)
    words = asked_words(REPORT, vectors, IDF)
    wanted = [plain(deep, REPORT, text.split(), vectors, IDF) for text in TEXTS]
    rows = np.array([4, 0, 1, 1, 2, 3, -1], dtype=np.int32)
    found = deep.of_files(words, rows)
    expected = [wanted[row] for row in rows.tolist()[:-1]]
    assert found == pytest.approx([*expected, wanted[3]], abs=1e-5)  # a file that could not be read is an empty one
    pairs = deep.of_pairs([(words, row) for row in rows.tolist()[:-1]])
    assert pairs.detach().numpy() == pytest.approx(np.array(expected), abs=1e-5)


def test_what_words_gave_files_is_remembered_until_the_model_learns(monkeypatch: pytest.MonkeyPatch) -> None:
    deep, vectors = deep_of(TEXTS)
    matched = deep._matched
    query: list[tuple[int, list[int]]] = []

    def noted(vectors: Any, rows: Any) -> Any:
        query.append((len(vectors), rows.tolist()))
        return matched(vectors, rows)

    monkeypatch.setattr(deep, "_matched", noted)
    one, two = asked_words(["apple", "pear"], vectors, IDF), asked_words(["pear", "fig"], vectors, IDF)
    deep.of_files(one, np.array([0, 1], dtype=np.int32))
    later = deep.of_files(two, np.array([1, 0, 2], dtype=np.int32))
    assert query == [(2, [0, 1]), (1, [0, 1, 2]), (1, [2])]
    deep.forget()
    assert later == pytest.approx(deep.of_files(two, np.array([1, 0, 2], dtype=np.int32)), abs=1e-6)


def test_a_small_memory_changes_no_value() -> None:
    (small, vectors), (large, _) = deep_of(TEXTS, cache_mb=0), deep_of(TEXTS)
    rows = np.arange(5, dtype=np.int32)
    for report in (["apple", "pear"], ["pear", "fig"], ["apple"]):
        words = asked_words(report, vectors, IDF)
        assert small.of_files(words, rows) == pytest.approx(large.of_files(words, rows), abs=1e-6)
    assert not small._known


def test_a_report_without_words() -> None:
    deep, _ = deep_of(TEXTS)
    words = Words((), np.zeros((0, 6), dtype=np.float32), np.zeros(0, dtype=np.float32))
    assert deep.of_files(words, np.array([0, -1], dtype=np.int32)).tolist() == [0.0, 0.0]
    assert deep.of_pairs([(words, 0)]).tolist() == [0.0]


# Learning


def test_every_drawn_file_is_used_once_and_fixed_ones_in_turn() -> None:
    empty = Words((), np.zeros((0, 6), dtype=np.float32), np.zeros(0, dtype=np.float32))
    pools = [
        Pool(empty, np.arange(size), np.zeros((size, 5), dtype=np.float32), fixed) for size, fixed in ((5, 2), (3, 0))
    ]
    assert triples_of(pools).tolist() == [[0, 0, 2], [0, 1, 3], [0, 0, 4]]


def test_as_many_wrong_files_as_fixed_ones() -> None:
    rng = np.random.default_rng(0)
    assert len(drawn(20, np.arange(7), 3, rng)) == 7
    assert len(drawn(20, np.arange(2), 3, rng)) == 3
    assert not set(drawn(20, np.arange(7), 3, rng).tolist()) & set(range(7))


def test_the_loss_is_the_margin_between_the_scores() -> None:
    deep, vectors = deep_of(TEXTS)
    words = asked_words(REPORT, vectors, IDF)
    wide = np.random.default_rng(1).random((3, 5)).astype(np.float32)
    pool = Pool(words, np.array([0, 1, 2]), wide, 1)
    with torch.no_grad():
        values = deep.of_pairs([(words, row) for row in (0, 1, 2)])[:, None]
        right, one, two = deep.model["fusion"](
            torch.cat([deep.model["wide"](torch.from_numpy(wide)), values], 1)
        ).squeeze(-1)
        expected = (max(1e-6, 2 - right + one) + max(1e-6, 2 - right + two)) / 2
    loss = loss_of(deep, [pool], np.array([[0, 0, 1], [0, 0, 2]]), 2.0)
    assert float(loss.detach()) == pytest.approx(float(expected), abs=1e-6)


def test_the_public_code_sees_the_labels_and_later_reports(tmp_path: Path) -> None:
    assert leaks.sees_the_labels(maker("dreamloc", tmp_path / "1", profile="upstream"))
    assert leaks.sees_what_comes_later(maker("dreamloc", tmp_path / "2", profile="upstream"))


def test_every_file_gets_a_finite_score_and_the_same_again(tmp_path: Path) -> None:
    made = project()
    technique = fitted("dreamloc", made, tmp_path)
    found = scores(technique, "3")
    assert set(found) == set(leaks.FILES)
    assert np.isfinite(list(found.values())).all()
    assert len(set(found.values())) > 1
    assert scores(technique, "3") == found
