"""Earlier changes that a report names, as the history knows them."""

from collections import Counter

import numpy as np
import pytest

from tests.index_fixtures import make_context, make_corpus
from tosloc.rank.features.named_history import MIN_ISSUES_OF_TRACKER
from tosloc.rank.features.named_history import _known_documents as known_documents
from tosloc.reports.text import NamedChange
from tosloc.retrieval.texts.documents import Document, Documents, DocumentsView

__all__ = ["make_context", "make_corpus"]

NUMBERS = range(1, MIN_ISSUES_OF_TRACKER + 1)
COMMITS = [
    *((9, "x", "a", [f"SHOP-{number}"]) for number in NUMBERS),
    *((8, "x", "b", [f"DOOR-{number}"]) for number in NUMBERS),
    (7, "x", "b", ["DOOR", "CIFAR-10", "#12"]),
]


@pytest.fixture
def find_names(make_context):
    """Return a function from a report's description to the names that its history knows."""

    def find(description):
        context = make_context(list("ab"), "x", description, COMMITS)
        return [change.name for change in context.named_history.changes]

    return find


def test_issues_of_several_trackers_are_found(find_names):
    assert find_names("SHOP-1 and DOOR-2") == ["SHOP-1", "DOOR-2"]


def test_a_name_like_an_issue_of_no_tracker_is_left_out(find_names):
    assert find_names("CIFAR-10, #12 and SHOP-3") == ["#12", "SHOP-3"]


def test_an_unknown_document_makes_no_id_ambiguous():
    ids = ["1234567a", "1234567b"]
    documents = Documents.collect(
        Document(commit, number, number, commit, Counter(), (0,))
        for number, commit in enumerate(ids)
    )
    named = NamedChange("1234567", commit="1234567")
    assert known_documents(DocumentsView(documents, np.array([True, False])), named) == [0]
    assert known_documents(DocumentsView(documents, np.array([True, True])), named) == []


class CountedNames(dict[str, list[int]]):
    """Documents by name; it counts how often all names are read."""

    readings = 0

    def items(self):
        """Return all names with their documents."""
        self.readings += 1
        return super().items()


@pytest.mark.parametrize(
    ("description", "readings"),
    [(" ".join(f"SHOP-{number}" for number in NUMBERS), 1), ("SHOP-1 DOOR-1", 1), ("since #12", 0)],
    ids=["one tracker", "two trackers", "no issue of a tracker"],
)
def test_all_names_are_read_at_most_once_for_a_report(make_context, description, readings):
    context = make_context(list("ab"), "x", description, COMMITS)
    documents = context.history.commits.documents
    names = CountedNames(documents.by_name)
    vars(documents)["by_name"] = names
    assert context.named_history.changes
    assert names.readings == readings
