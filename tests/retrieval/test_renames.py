"""Documents under the present paths of their files, as of a time in a version."""

from collections import Counter

import numpy as np
import pytest

from tosloc.core.arrays import to_arrays
from tosloc.retrieval.history.history_index import HistoryIndex
from tosloc.retrieval.history.renames import PathEvent, Renames, check_renames
from tosloc.retrieval.texts.documents import Document, Documents

A, B, C, D = range(4)


def make_document(commit, *paths):
    """Return a commit as document; its time is its number."""
    name = f"c{commit}"
    return Document(name, commit, commit, name, Counter("x"), paths)


def moves(*events):
    """Return events from tuples (commit, old path, new path); the time is the commit's number."""
    return [PathEvent(commit, commit, old, new) for commit, old, new in events]


def make_history(documents, renames, additions=()):
    """Return a history. Additions are tuples (commit, path), beside the new paths of renames."""
    added = [(commit, path) for commit, _, path in renames] + list(additions)
    events = [PathEvent(commit, commit, path) for commit, path in sorted(added)]
    collected = Documents.collect(documents)
    return HistoryIndex(collected, collected, Renames.collect(moves(*renames), events))


def files_by_commit(documents):
    """Return commit -> path numbers of its document."""
    files = {}
    for number, name in enumerate(documents.ids):
        first, last = documents.file_starts[number : number + 2]
        files[int(name[1:])] = documents.files[first:last].tolist()
    return files


def followed(documents, renames, additions=(), opened=100.0, contained=None):
    history = make_history(documents, renames, additions)
    return files_by_commit(history.as_of(opened, contained).commits.documents)


def test_earlier_commits_of_the_old_path_count_for_the_new_one():
    assert followed([make_document(1, A), make_document(2, C)], [(5, A, B)]) == {1: [B], 2: [C]}


def test_reports_follow_renames():
    history = make_history([make_document(1, A)], [(5, A, B)])
    assert files_by_commit(history.as_of(9.0).reports.documents) == {1: [B]}


def test_former_paths_are_those_of_all_renames_nearest_first():
    renames = Renames.collect(moves((5, A, B), (7, B, C)), [])
    assert renames.former_paths(C) == [B, A]
    assert renames.former_paths(D) == []


def test_former_paths_of_a_file_moved_back_end():
    renames = Renames.collect(moves((5, A, B), (7, B, A)), [])
    assert renames.former_paths(A) == [B]


def test_renames_are_followed_one_after_the_other():
    documents = [make_document(1, A), make_document(6, B), make_document(8, C)]
    assert followed(documents, [(5, A, B), (7, B, C)]) == {1: [C], 6: [C], 8: [C]}


def test_a_rename_touches_one_file():
    history = make_history([make_document(5, A, B, C)], [(5, A, B)])
    documents = history.as_of(9.0).commits.documents
    assert files_by_commit(documents) == {5: [B, C]}
    assert documents.sizes.tolist() == [2.0]


@pytest.mark.parametrize("opened", [4.0, 5.0])
def test_a_rename_after_the_opening_is_not_known(opened):
    assert followed([make_document(1, A)], [(5, A, B)], opened=opened) == {1: [A]}


def test_a_rename_that_the_version_does_not_contain_is_not_known():
    contained = np.array([True] * 5 + [False] * 5)
    assert followed([make_document(1, A)], [(5, A, B)], contained=contained) == {1: [A]}


def test_without_known_renames_documents_stay_the_same_object():
    history = make_history([make_document(1, A)], [(5, A, B)])
    assert history.as_of(4.0).commits.documents is history.commits


def test_the_same_renames_give_the_same_documents():
    history = make_history([make_document(1, A)], [(5, A, B)])
    assert history.as_of(8.0).commits.documents is history.as_of(9.0).commits.documents


def test_commits_of_other_branches_follow_a_rename_before_them():
    """Commit 7 still knows the file as A, since it is on a branch without the rename."""
    assert followed([make_document(7, A)], [(5, A, B)]) == {7: [B]}


def test_a_path_that_is_added_again_has_its_own_commits():
    documents = [make_document(6, A), make_document(8, A)]
    assert followed(documents, [(5, A, B)], [(7, A)]) == {6: [A, B], 8: [A]}


def test_commits_before_a_split_count_for_both_paths():
    history = make_history([make_document(1, A, C)], [(5, A, B)], [(7, A)])
    documents = history.as_of(9.0).commits.documents
    assert files_by_commit(documents) == {1: [A, B, C]}
    assert documents.sizes.tolist() == [2.0]


def test_a_split_after_the_opening_is_not_known():
    assert followed([make_document(1, A)], [(5, A, B)], [(7, A)], opened=6.0) == {1: [B]}


def test_files_that_swap_their_paths_swap_their_commits():
    renames = [(5, A, C), (6, B, A), (7, C, B)]
    documents = [make_document(1, A), make_document(2, B), make_document(8, A)]
    assert followed(documents, renames)[8] == [A]
    assert B in followed(documents, renames)[1]
    assert A in followed(documents, renames)[2]


def test_renames_forth_and_back_end():
    assert followed([make_document(1, A)], [(5, A, B), (6, B, A), (7, A, B)])[1] == [A, B]


def test_documents_keep_their_terms():
    history = make_history([make_document(1, A)], [(5, A, B)])
    view = history.as_of(9.0).commits
    assert view.frequency.tolist() == [1]
    assert view.documents.postings.rows.tolist() == [0]


# Untrusted arrays

GOOD = to_arrays({"r": Renames.collect(moves((5, A, B)), [PathEvent(6, 6, A)])})


def test_arrays_of_renames_are_accepted():
    check_renames(GOOD, "r", 4)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("old", np.array([4], dtype=np.int32)),
        ("new", np.array([-1], dtype=np.int32)),
        ("added", np.array([0, 0], dtype=np.int32)),
        ("times", np.array([2**62], dtype=np.int64)),
        ("commits", np.array([-1], dtype=np.int64)),
        ("add_commits", np.array([2**40], dtype=np.int64)),
        ("commits", np.array([0.5])),
    ],
)
def test_damaged_arrays_of_renames_are_refused(name, values):
    with pytest.raises(ValueError, match=name):
        check_renames(GOOD | {f"r.{name}": values}, "r", 4)
