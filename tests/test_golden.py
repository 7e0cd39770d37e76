"""Answers and runs are the same bytes however they are computed; see ``tests/golden.py``."""

import pytest

from tests import golden


@pytest.fixture(scope="module", params=golden.REPOSITORY_KINDS)
def digests(request, tmp_path_factory):
    """Return the digests of each kind of repository, by part."""
    kind = request.param
    digests = golden.compute_digests(tmp_path_factory.mktemp(kind), kind)
    return {name.removeprefix(f"{kind}, "): digest for name, digest in digests.items()}


@pytest.mark.slow
def test_warm_answers_are_those_of_a_cold_start(digests):
    assert digests["answers, warm"] == digests["answers, cold"]


@pytest.mark.slow
def test_another_commit_changes_the_answers(digests):
    assert digests["answers, one commit later"] != digests["answers, warm"]


@pytest.mark.slow
def test_answers_after_a_commit_are_those_of_a_cold_start(digests):
    assert digests["answers, one commit later"] == digests["answers, one commit later, cold"]


@pytest.mark.slow
@pytest.mark.parametrize("part", ["run", "qrels"])
def test_two_processes_rank_as_one_does(digests, part):
    assert digests[f"rank, 1 jobs: {part}"] == digests[f"rank, 2 jobs: {part}"]


def test_a_repository_is_always_the_same(tmp_path):
    """The reports contain the ids of the fixes, and so depend on every file."""
    contents = []
    for name in ("first", "second"):
        project, _ = golden.make_repository(tmp_path / name, "mixed")
        contents.append(project.write_reports().read_bytes())
    assert contents[0] == contents[1]
    assert len(contents[0].splitlines()) == golden.NUMBER_OF_REPORTS
