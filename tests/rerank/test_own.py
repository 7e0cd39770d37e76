"""Rerankers that a user wrote: what is refused, and in which words."""

import sys
from pathlib import Path

import pytest

from tests.rerank.by_hand import candidates, report
from tosloc.core.config import Config
from tosloc.core.errors import ToslocError
from tosloc.localize.model import Model
from tosloc.rerank.base import Reranked, Reranker, RerankingContext

EXAMPLE = Path(__file__).parents[2] / "examples/write_reranker.py"
RETURNS = "return Reranked(candidates.scores + self.weight * counts)"
REFUSED = "report r: the reranker IdentifierReranker "


@pytest.fixture
def load(tmp_path, monkeypatch):
    """Return a function that loads the reranker of the example with a part of its text replaced."""
    monkeypatch.setattr("sys.path", [*sys.path])

    def load_changed(old, new):
        source = EXAMPLE.read_text(encoding="utf-8")
        assert old in source
        file = tmp_path / "own.py"
        file.write_text(source.replace(old, new), encoding="utf-8")
        return Model(configuration=Config()).with_reranker(f"{file}:IdentifierReranker").reranker

    return load_changed


def rerank(reranker):
    """Return what a reranker makes of three candidates without text."""
    context = RerankingContext(texts=lambda blobs: [(blob, "") for blob in blobs])
    three = candidates("a b c", "...", of=report(opened=5))
    return reranker.rerank(three, context)


@pytest.mark.parametrize(
    ("result", "problem"),
    [
        ("Reranked(np.zeros(2))", "returned 2 scores for 3 candidates"),
        ("Reranked(np.zeros((3, 2)))", "returned 3x2 scores for 3 candidates"),
        ("Reranked(np.float64(1))", "returned 1 scores for 3 candidates"),
        ("Reranked(np.array([0, np.nan, 1]))", "gave src/b.java the score nan"),
        ("Reranked(np.array([0, 1, -np.inf]))", "gave src/c.java the score -inf"),
        ("Reranked(np.array([1e308, -1e308, 0]))", "gave src/a.java the score 1e+308"),
        ("Reranked(np.array(['x', 'y', 'z']))", "returned scores that are no numbers"),
        ("counts", "returned ndarray in place of Reranked"),
        ("None", "returned NoneType in place of Reranked"),
    ],
)
def test_scores_that_are_not_one_finite_number_a_candidate_are_refused(load, result, problem):
    reranker = load(RETURNS, f"return {result}")
    with pytest.raises(ToslocError) as refused:
        rerank(reranker)
    assert str(refused.value) == (
        f"{REFUSED}{problem}; let its method score return Reranked with one finite score for each"
        " candidate"
    )


def test_exception_is_reported_with_the_line_of_the_users_file(load, tmp_path):
    reranker = load(RETURNS, "return np.zeros(len({}['key']))")
    with pytest.raises(ToslocError, match="^" + REFUSED) as refused:
        rerank(reranker)
    line = 1 + (tmp_path / "own.py").read_text().split("\n").index(
        "        return np.zeros(len({}['key']))"
    )
    assert f"raised KeyError: 'key' ({tmp_path}/own.py, line {line}); " in str(refused.value)


def test_exception_of_an_instance_stays_an_exception():
    class Failing(Reranker):
        depth = 3
        weight = 1.0
        fit = save = from_config = from_record = None

        def score(self, candidates, context, progress=None):
            raise KeyError("key")

    with pytest.raises(KeyError):
        rerank(Failing())


def test_file_may_import_its_neighbours(load, tmp_path):
    (tmp_path / "neighbour_of_own.py").write_text("BONUS = [3, 2, 1]\n", encoding="utf-8")
    reranker = load(RETURNS, "import neighbour_of_own as n; return Reranked(n.BONUS)")
    assert rerank(reranker).scores.tolist() == [3.0, 2.0, 1.0]


def test_list_of_scores_is_as_good_as_an_array(load):
    reranked = rerank(load(RETURNS, "return Reranked([3, 2, 1])"))
    assert isinstance(reranked, Reranked)
    assert reranked.scores.tolist() == [3.0, 2.0, 1.0]


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("import re\n", "import re re\n", "its module raised SyntaxError: "),
        ("import re\n", "import nothing_here\n", "its module raised ModuleNotFoundError: "),
        ("import re\n", "raise SystemExit\n", "its module raised SystemExit ("),
        ("    depth = 20\n", "", "has no depth, "),
        ("    depth = 20\n", "    depth = 0\n", "has no depth, "),
        ("def fit(", "def train(", "from_config raised TypeError: "),
        ("return cls()", "return cls(1 / 0)", "from_config raised ZeroDivisionError: "),
    ],
)
def test_class_that_cannot_be_used_is_refused(load, old, new, problem):
    with pytest.raises(ToslocError, match=r"^reranker: .*own\.py:IdentifierReranker") as refused:
        load(old, new)
    assert problem in str(refused.value)
