"""What the first file of a language model's answer is worth, by TosLoc's own rank of it."""

from pathlib import Path

import pytest

from tosloc.rerank.llm.agreement import AGREEMENTS, find_agreement

RESULTS = Path(__file__).parents[3] / "docs" / "results.md"


@pytest.mark.parametrize(
    ("rank", "name"),
    [
        (1, "first"),
        (2, "second or third"),
        (3, "second or third"),
        (4, "further down"),
        (9_000, "further down"),
    ],
)
def test_every_rank_is_in_one_range(rank, name):
    assert find_agreement(rank).name == name


def test_note_quotes_the_counts_of_the_results():
    text = RESULTS.read_text(encoding="utf-8")
    for agreement in AGREEMENTS:
        assert f"| {agreement.name} | {agreement.tasks} | {agreement.right} |" in text
