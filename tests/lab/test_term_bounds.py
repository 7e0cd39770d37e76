"""Which terms of a report count."""

from __future__ import annotations

import pytest

from tests.index_fixtures import make_table, report_of
from tosloc.index.corpus import Corpus, VersionView
from tosloc.index.query import Query
from tosloc.lab.agreement.term_bounds import NO_BOUNDS, TermBounds
from tosloc.records import Snapshot

__all__ = ["make_table"]
FILES = {"A.java": {"code": "tree leaf"}, "B.java": {"code": "tree"}, "C.java": {"code": "tree node"}, "D.java": {}}


@pytest.fixture(scope="module")
def view(make_table):
    snapshot = Snapshot.of("v", 0, {path: f"blob of {path}" for path in FILES})
    return VersionView(Corpus(make_table({f"blob of {path}": text for path, text in FILES.items()})), snapshot)


@pytest.mark.parametrize(
    ("vocabulary", "kept"),
    [
        (NO_BOUNDS, ["leaf", "node", "moss", "tree"]),
        (TermBounds(least=1), ["leaf", "node", "tree"]),
        (TermBounds(least=2), ["tree"]),
        (TermBounds(most=0.75), ["leaf", "node", "moss", "tree"]),
        (TermBounds(most=0.74), ["leaf", "node", "moss"]),
        (TermBounds(least=1, most=0.25), ["leaf", "node"]),
        (TermBounds(least=5), []),
    ],
)
def test_bounds_on_the_files_that_hold_a_term(view, vocabulary, kept):
    query = Query(report_of("tree Leaf", "moss node leaf"), vocabulary(view))
    assert set(query.weights) == set(kept)
    assert set(query.lead_weights) == set(query.plain_weights) == set(kept)
    assert set(query.summary_weights) == set(kept) & {"tree", "leaf"}
    assert "Leaf" in query.mentions


def test_the_whole_vocabulary_asks_nothing(view):
    assert NO_BOUNDS(view) is None
