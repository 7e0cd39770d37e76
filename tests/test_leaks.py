"""Nothing of the future counts: not in a feature, not in what is learned; for rankings see the contract of rankers."""

import math
import random
import tempfile
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from tests import toy
from tests.toy import INSIDE_VERSION, PLANT_KINDS, PLANTED_TEXT, plant_evidence
from tosloc.evaluate.run_paths import read_scored_run
from tosloc.git.repository import Repository
from tosloc.rank import features
from tosloc.rank.tables import read_blocks
from tosloc.retrieval.history_index import HistoryIndex
from tosloc.train import training
from tosloc.train.experiment import ExperimentContext

CONFIG = toy.small_config(0.5, 0.2)
ASKED = 10  # number of the report that is asked about; as many fixes precede it
FIXED_AT = toy.START + 11 * 2 * toy.DAY  # when its fix was committed, a day after it was opened


@pytest.fixture
def project(tmp_path):
    made = toy.make_project(tmp_path, bugs=14, themes=7)
    # words and frames that what is planted could act upon
    frame = " at org.app.p0.ParserService.Inner.x(ParserService.java:1) parser cookie crash"
    made.records[ASKED]["description"] += frame
    return made


def extracted(made, records):
    """Path -> every feature of the asked report in its version, as training sees them."""
    with Repository(made.git.path) as repo:
        with ExperimentContext(
            CONFIG, repo, made.write_reports("asked.jsonl", records)
        ) as experiment:
            extraction = experiment.extraction(
                Path(tempfile.mkdtemp(dir=made.folder)), features.ALL
            )
            cases = [
                case
                for case in experiment.dataset.cases
                if case.report.id == made.records[ASKED]["id"]
            ]
            [table] = read_blocks(extraction.run(cases, jobs=1))
            names = [repo.path_names.names[number] for number in table.path_ids.tolist()]
            return dict(zip(names, table.rows.tolist(), strict=True))


@pytest.fixture
def before(project):
    """Before anything was planted."""
    return extracted(project, project.records)


def planted(made, kind):
    """With something planted that must not matter."""
    return extracted(
        made, plant_evidence(made, kind, FIXED_AT - toy.DAY, made.records[ASKED]["description"])
    )


def changed(before, after):
    """Features that differ."""
    return {
        features.ALL[n]
        for path in before
        for n in np.flatnonzero(np.subtract(before[path], after[path]))
    }


def same(one, two):
    """Equal but for the last bits, which the numbering of terms may change."""
    assert one.keys() == two.keys()
    for path, values in one.items():
        assert two[path] == pytest.approx(values, rel=1e-5, abs=1e-6), path


@pytest.mark.parametrize("kind", PLANT_KINDS)
def test_what_is_planted_later_does_not_matter(project, before, kind):
    same(planted(project, kind), before)


def test_without_the_rule_of_time_the_plant_inside_the_version_is_seen(project, monkeypatch):
    """So that the test above can fail: containment alone does not hide what has a later clock."""
    as_of = HistoryIndex.as_of

    def timeless(self, opened, contained=None):
        return replace(as_of(self, math.inf, contained), opened=opened)

    monkeypatch.setattr(HistoryIndex, "as_of", timeless)
    seen = changed(extracted(project, project.records), planted(project, INSIDE_VERSION))
    assert {"file_documents", "near_reports", "near_commits", "history"} <= seen


def test_the_same_planted_earlier_does_matter(project, before):
    """So that the test above can fail: an early fix in the version's own line changes history and texts."""
    early = project.records[2] | {"id": "9", "summary": PLANTED_TEXT, "description": PLANTED_TEXT}
    seen = changed(before, extracted(project, [*project.records, early]))
    assert {"file_documents", "near_reports", "history"} <= seen


def relabelled(made, **changes):
    """The records, that of the asked report with other values."""
    return [
        record | changes if record is made.records[ASKED] else record for record in made.records
    ]


def test_its_own_fix_never_counts(project, before):
    """A report opened, by its clock, after its own fix was committed: only what hangs on the clock may differ."""
    opened, [own] = (
        datetime.fromtimestamp(FIXED_AT + 5, UTC).isoformat(),
        project.records[ASKED]["fixed"],
    )
    late = extracted(project, relabelled(project, opened=opened))
    # with another label of its own nothing changes, so its own fix is in none of the features
    same(
        extracted(project, relabelled(project, opened=opened, fixed=[toy.class_path("Rocket")])),
        late,
    )
    for name in ("near_reports", "file_documents", "near_commits", "text", "code"):
        place = features.ALL.index(name)
        assert late[own][place] == pytest.approx(before[own][place], abs=0.02), name


@pytest.mark.parametrize("fixed", [toy.class_path("Widget"), "not/there.java"])
def test_its_own_label_changes_no_feature(project, before, fixed):
    same(extracted(project, relabelled(project, fixed=[fixed])), before)


def trained(made, records, config):
    """Where one learned from these records."""
    out = Path(tempfile.mkdtemp(dir=made.folder))
    training.train(
        config,
        made.git.path,
        made.write_reports("learned.jsonl", records),
        out,
        embed_version=False,
    )
    return out


def permuted(records):
    """The same reports and fixes with the labels dealt out anew."""
    labels = [record["fixed"] for record in records]
    random.Random(3).shuffle(labels)
    return [{**record, "fixed": fixed} for record, fixed in zip(records, labels, strict=True)]


@pytest.mark.slow
def test_shuffled_labels_fall_to_chance(tmp_path):
    """One fixed file among n at random: expected AP = H_n / n, .15 for 29 files; 101 reports, standard error .02.

    A feature that saw a report's own label would find even a random one.
    """
    large = toy.make_project(tmp_path, bugs=168)
    tested = [
        read_scored_run(trained(large, records, toy.small_config(0.3, 0.1)), "test").evaluation()
        for records in (large.records, permuted(large.records))
    ]
    files = len(large.git.git("ls-tree", "-r", "--name-only", "main").split("\n"))
    chance = sum(1 / rank for rank in range(1, files + 1)) / files
    assert [len(one.per_report) for one in tested] == [101, 101]
    assert tested[0].map > 0.7
    assert tested[1].map == pytest.approx(chance, abs=0.08)


@pytest.mark.parametrize("fit", ["listwise", "differential_evolution"])
def test_nothing_is_fitted_on_test(tmp_path, fit):
    large = toy.make_project(tmp_path, bugs=70)
    config = toy.small_config(
        0.4, 0.2, fit=fit, features=["code", "path", "near_reports", "popularity"]
    )
    both = large.records, [*large.records[:42], *permuted(large.records[42:])]
    true, other = (trained(large, records, config) for records in both)
    assert (true / "checkpoint/weights.json").read_bytes() == (
        other / "checkpoint/weights.json"
    ).read_bytes()
    true_map, other_map = (read_scored_run(out, "test").evaluation().map for out in (true, other))
    assert true_map > other_map + 0.3
