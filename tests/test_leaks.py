"""Nothing of the future counts: not in a feature, not in what is learned; for rankings see the contract of rankers."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests import toy
from tests.toy import INSIDE, KINDS, SECRET, plant
from tosloc import training
from tosloc.config import Config
from tosloc.evaluate.run_paths import read_scored
from tosloc.experiment import ExperimentContext
from tosloc.git.repository import Repository
from tosloc.index.history_index import HistoryAsOf, HistoryIndex
from tosloc.rank import features
from tosloc.rank.feature_tables import read_blocks
from tosloc.records import BoolArray

CONFIG = toy.config(0.5, 0.2)
ASKED = "1010"
"""The report that is asked about; ten fixes precede it."""


@pytest.fixture
def project(tmp_path: Path) -> toy.Toy:
    made = toy.grow(tmp_path, bugs=14, themes=7)
    # words and frames that what is planted could act upon
    made.records[10]["description"] += " at org.app.p0.ParserService.Inner.x(ParserService.java:1) parser cookie crash"
    return made


def opened_at(made: toy.Toy) -> int:
    """When the report that is asked about was opened: one day before its fix."""
    return toy.START + 11 * 2 * toy.DAY - toy.DAY


def extracted(made: toy.Toy, records: Sequence[dict[str, Any]], name: str) -> dict[str, list[float]]:
    """Path -> every feature of the asked report in its version, as training sees them."""
    with Repository(made.git.path) as repo:
        reports = made.reports(f"{name}.jsonl", records)
        with ExperimentContext.set_up(CONFIG, repo, reports) as experiment:
            extraction = experiment.extraction(made.folder / f"work {name}", features.ALL)
            cases = [case for case in experiment.dataset.cases if case.report.id == ASKED]
            [table] = read_blocks(extraction.run(cases, jobs=1))
            names = [repo.path_names.names[number] for number in table.path_ids.tolist()]
            return dict(zip(names, table.rows.tolist(), strict=True))


def changed(made: toy.Toy, records: Sequence[dict[str, Any]], before: dict[str, list[float]]) -> set[str]:
    """Features that these records change."""
    after = extracted(made, records, "after")
    return {features.ALL[n] for path in before for n in np.flatnonzero(np.subtract(before[path], after[path]))}


def same(one: dict[str, Any], two: dict[str, Any]) -> None:
    """Equal but for the last bits, which the numbering of terms may change."""
    assert list(one) == list(two) or sorted(one) == sorted(two)
    for path, values in one.items():
        assert two[path] == pytest.approx(values, rel=1e-5, abs=1e-6), path


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_planted_later_does_not_matter(project, kind):
    before = extracted(project, project.records, "before")
    records = plant(project, kind, opened_at(project), project.records[10]["description"])
    same(extracted(project, records, "after"), before)


def test_without_the_rule_of_time_the_plant_inside_the_version_is_seen(project, monkeypatch):
    """So that the test above can fail: containment alone does not hide what has a later clock."""
    as_of = HistoryIndex.as_of

    def timeless(self: HistoryIndex, opened: float, contained: BoolArray | None = None) -> HistoryAsOf:
        return replace(as_of(self, math.inf, contained), opened=opened)

    monkeypatch.setattr(HistoryIndex, "as_of", timeless)
    before = extracted(project, project.records, "before")
    records = plant(project, INSIDE, opened_at(project), project.records[10]["description"])
    assert {"file_documents", "near_reports", "near_commits", "history"} <= changed(project, records, before)


def test_the_same_planted_earlier_does_matter(project):
    """So that the test above can fail: an early fix in the version's own line changes history and texts."""
    before = extracted(project, project.records, "before")
    third = project.records[2]
    records = [*project.records, third | {"id": "9", "summary": SECRET, "description": SECRET}]
    assert {"file_documents", "near_reports", "history"} <= changed(project, records, before)


def test_its_own_fix_never_counts(project):
    """A report opened, by its clock, after its own fix was committed: only what hangs on the clock may differ."""
    early = extracted(project, project.records, "before")
    late_records = [dict(record) for record in project.records]
    fixed_at = toy.START + 11 * 2 * toy.DAY
    late_records[10]["opened"] = datetime.fromtimestamp(fixed_at + 5, UTC).isoformat()
    late = extracted(project, late_records, "late")
    [own] = late_records[10]["fixed"]
    other_records = [record for record in late_records if record["id"] != ASKED]
    dropped = late_records[10] | {"fixed": [toy.path_of("Rocket")]}
    # with another label of its own nothing changes, so its own fix is in none of the features
    same(extracted(project, [*other_records, dropped], "dropped"), late)
    for name in ("near_reports", "file_documents", "near_commits", "text", "code"):
        place = features.ALL.index(name)
        assert late[own][place] == pytest.approx(early[own][place], abs=0.02), name


@pytest.mark.parametrize("fixed", [["src/org/app/p3/WidgetService.java"], ["not/there.java"]])
def test_its_own_label_changes_no_feature(project, fixed):
    before = extracted(project, project.records, "before")
    records = [record | {"fixed": fixed} if record["id"] == ASKED else record for record in project.records]
    same(extracted(project, records, "after"), before)


# What is learned


def trained(made: toy.Toy, records: Sequence[dict[str, Any]], name: str, config: Config) -> Path:
    out = made.folder / name
    reports = made.reports(f"{name}.jsonl", records)
    training.train(config, made.git.path, reports, out, embed_version=False)
    return out


def permuted(records: Sequence[dict[str, Any]], seed: int) -> list[dict[str, Any]]:
    """The same reports and fixes with the labels dealt out anew."""
    labels = [record["fixed"] for record in records]
    random.Random(seed).shuffle(labels)
    return [record | {"fixed": fixed} for record, fixed in zip(records, labels, strict=True)]


@pytest.mark.slow
def test_shuffled_labels_fall_to_chance(tmp_path):
    """One fixed file among n at random: expected AP = H_n / n, .15 for 29 files; 101 reports, standard error .02.

    A feature that saw a report's own label would find even a random one.
    """
    config, large = toy.config(0.3, 0.1), toy.grow(tmp_path, bugs=168)
    true = read_scored(trained(large, large.records, "true", config), "test").evaluation()
    shuffled = read_scored(trained(large, permuted(large.records, 3), "shuffled", config), "test").evaluation()
    files = len(large.git.git("ls-tree", "-r", "--name-only", "main").split("\n"))
    chance = sum(1 / rank for rank in range(1, files + 1)) / files
    assert len(true.per_report) == len(shuffled.per_report) == 101
    assert true.map > 0.7
    assert shuffled.map == pytest.approx(chance, abs=0.08)


@pytest.mark.parametrize("fit", ["listwise", "differential_evolution"])
def test_nothing_is_fitted_on_test(tmp_path, fit):
    large = toy.grow(tmp_path, bugs=70)
    config = toy.config(0.4, 0.2, fit=fit, features=["code", "path", "near_reports", "popularity"])
    first = large.records[: len(large.records) * 6 // 10]
    test = large.records[len(first) :]
    true = trained(large, large.records, f"true {fit}", config)
    other = trained(large, [*first, *permuted(test, 4)], f"other {fit}", config)
    weights = [(out / "checkpoint/weights.json").read_bytes() for out in (true, other)]
    assert weights[0] == weights[1]
    assert read_scored(true, "test").evaluation().map > read_scored(other, "test").evaluation().map + 0.3
    assert (true / "validation/run.jsonl.gz").exists()
