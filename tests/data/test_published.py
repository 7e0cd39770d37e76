"""Published ranks joined with cases of a real repository."""

from pathlib import Path

import pytest

from tests.conftest import GitRepository
from tests.data.published_toy import RESULTS, SWT, fixes, spreadsheet
from tosloc.data.datasets import Dataset, load_dataset
from tosloc.data.git import Repository
from tosloc.data.published import published_ranks
from tosloc.errors import ReportError


def dataset(repository: GitRepository, folder: Path, results: list[str | None]) -> Dataset:
    path = spreadsheet(folder / "reports.xlsx", fixes(repository), results)
    with Repository(repository.path) as repo:
        return load_dataset(repo, path)


def test_ranks_of_the_files_that_exist(repository: GitRepository, tmp_path: Path) -> None:
    data = dataset(repository, tmp_path, RESULTS)
    published = published_ranks(data, data.cases)
    assert [case.report.id for case in published.cases] == ["2", "3", "4"]
    assert published.left_out == 1
    assert published.ranks == {"2": {SWT: 2}, "3": {"B.java": 4}, "4": {}}


def test_a_part_of_the_cases(repository: GitRepository, tmp_path: Path) -> None:
    data = dataset(repository, tmp_path, RESULTS)
    published = published_ranks(data, data.parts()["test"])
    assert (list(published.ranks), published.left_out) == (["4"], 0)
    with pytest.raises(ReportError, match=r"none of 3 reports has published ranks \(the column result\)"):
        published_ranks(dataset(repository, tmp_path, [None] * 3 + ["1:Other.java"]), data.parts()["train"][:3])


@pytest.mark.parametrize(
    ("result", "sentence"),
    [
        (f"2:{SWT} 2:B.java", "report 1: two fixed files have the same published rank"),
        (f"2:{SWT} 4:B.java", "report 1: B.java has the published rank 4, among 3 files"),
        ("0:B.java", "report 1: B.java has the published rank 0, among 3 files"),
    ],
)
def test_impossible_ranks_are_refused(repository: GitRepository, tmp_path: Path, result: str, sentence: str) -> None:
    data = dataset(repository, tmp_path, [result, *RESULTS[1:]])
    with pytest.raises(ReportError) as caught:
        published_ranks(data, data.cases)
    assert str(caught.value) == sentence
