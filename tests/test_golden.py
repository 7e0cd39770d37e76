"""Answers and runs are the same bytes however they came to be: see ``tests/golden.py``."""

from pathlib import Path

import pytest

from tests import golden


@pytest.mark.slow  # commands in processes of their own
@pytest.mark.parametrize("kind", golden.KINDS)
def test_cold_warm_later_and_two_processes_agree(kind: str, tmp_path: Path) -> None:
    found = golden.all_digests(tmp_path, kinds=[kind])
    for one, other in (
        ("answers, cold", "answers, warm"),
        ("answers, one commit later", "answers, one commit later, cold"),
        ("rank, 1 process: run", "rank, 2 processes: run"),
        ("rank, 1 process: qrels", "rank, 2 processes: qrels"),
    ):
        assert found[f"{kind}, {one}"] == found[f"{kind}, {other}"]
    assert found[f"{kind}, answers, cold"] != found[f"{kind}, answers, one commit later"]


def test_the_same_seed_makes_the_same_repository(tmp_path: Path) -> None:
    one, other = (golden.make(tmp_path / name, "mixed") for name in ("one", "other"))
    assert one.reports.read_bytes() == other.reports.read_bytes()  # the fixes' ids among it
    assert len(one.reports.read_text().splitlines()) == golden.REPORTS
