"""Answers and runs are the same bytes however they came to be: see ``tests/golden.py``."""

import pytest

from tests import golden


@pytest.mark.slow  # commands in processes of their own
@pytest.mark.parametrize("kind", golden.KINDS)
def test_cold_warm_later_and_two_processes_agree(kind, tmp_path):
    found = {
        name.removeprefix(f"{kind}, "): value
        for name, value in golden.digests(tmp_path, kind).items()
    }
    assert found["answers, cold"] == found["answers, warm"] != found["answers, one commit later"]
    assert found["answers, one commit later"] == found["answers, one commit later, cold"]
    for part in ("run", "qrels"):
        assert found[f"rank, 1 jobs: {part}"] == found[f"rank, 2 jobs: {part}"]


def test_a_repository_is_always_the_same(tmp_path):
    one, other = (
        golden.make(tmp_path / name, "mixed")[0].write_reports().read_bytes()
        for name in ("one", "other")
    )
    assert one == other  # the fixes' ids among it
    assert len(one.splitlines()) == golden.REPORTS
