"""Nothing of the future counts: not in a feature, not in what is learned.

For rankings see the contract of rankers, ``tests/test_contract.py``.
"""

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
from tosloc.evaluate.run_paths import ScoredRun
from tosloc.git.repository import Repository
from tosloc.rank.features import registry
from tosloc.rank.features.tables import FeatureTable
from tosloc.reports.text.shared_lines import MIN_REPORTS
from tosloc.retrieval.history.history_index import HistoryIndex
from tosloc.train import training
from tosloc.train.experiment import ExperimentContext

CONFIG = toy.small_config(0.5, 0.2)
ASKED = 10
"""Index of the report that is asked about; as many fixes precede it."""
FIXED_AT = toy.START + (ASKED + 1) * 2 * toy.DAY
"""When its fix was committed, in seconds since 1970; it was opened a day before."""


@pytest.fixture
def project(tmp_path):
    """Return a project whose asked report has words and a frame that planted evidence matches."""
    project = toy.make_project(tmp_path, bugs=14, themes=7)
    project.records[ASKED]["description"] += (
        " at org.app.p0.ParserService.Inner.x(ParserService.java:1) parser cookie crash"
    )
    return project


def extract_features(project, records):
    """Return every feature of the asked report as training sees them: path -> values."""
    folder = Path(tempfile.mkdtemp(dir=project.folder))
    reports = project.write_reports("asked.jsonl", records)
    identity = project.records[ASKED]["id"]
    with (
        Repository(project.git.path) as repo,
        ExperimentContext(CONFIG, repo, reports) as experiment,
    ):
        extraction = experiment.extraction(folder, registry.ALL)
        cases = [case for case in experiment.dataset.cases if case.report.id == identity]
        [table] = FeatureTable.read_blocks(extraction.run(cases, jobs=1))
        paths = [repo.path_names.names[path_id] for path_id in table.path_ids.tolist()]
        return dict(zip(paths, table.rows.tolist(), strict=True))


@pytest.fixture
def clean_features(project):
    """Return the features before anything is planted."""
    return extract_features(project, project.records)


def planted_features(project, kind):
    """Return the features after planting evidence that must not matter."""
    description = project.records[ASKED]["description"]
    records = plant_evidence(project, kind, FIXED_AT - toy.DAY, description)
    return extract_features(project, records)


def changed_features(before, after):
    """Return the names of features that differ for any file."""
    names = set()
    for path, values in before.items():
        for position in np.flatnonzero(np.subtract(values, after[path])):
            names.add(registry.ALL[position])
    return names


def check_same(first, second):
    """Check that features are equal except for the last bits, which depend on term numbers."""
    assert first.keys() == second.keys()
    for path, values in first.items():
        assert second[path] == pytest.approx(values, rel=1e-5, abs=1e-6), path


def relabel(project, **changes):
    """Return the records, with other values in that of the asked report."""
    records = list(project.records)
    records[ASKED] = records[ASKED] | changes
    return records


@pytest.mark.parametrize("kind", PLANT_KINDS)
def test_what_is_planted_later_changes_no_feature(project, clean_features, kind):
    check_same(planted_features(project, kind), clean_features)


def test_without_the_rule_of_time_a_plant_inside_the_version_is_seen(project, monkeypatch):
    """The test above can fail: containment alone does not hide what has a later clock."""
    as_of = HistoryIndex.as_of

    def ignore_time(self, opened, contained=None):
        return replace(as_of(self, math.inf, contained), opened=opened)

    monkeypatch.setattr(HistoryIndex, "as_of", ignore_time)
    before = extract_features(project, project.records)
    names = changed_features(before, planted_features(project, INSIDE_VERSION))
    assert {"file_documents", "near_reports", "near_commits", "history"} <= names


def test_an_earlier_fix_changes_features(project, clean_features):
    """The test above can fail: a fix in the version's own line changes history and texts."""
    early = project.records[2] | {"id": "9", "summary": PLANTED_TEXT, "description": PLANTED_TEXT}
    names = changed_features(clean_features, extract_features(project, [*project.records, early]))
    assert {"file_documents", "near_reports", "history"} <= names


def add_repeating_reports(project, opened):
    """Return the records with reports that repeat the text of the asked report.

    The first was opened at ``opened``, in seconds since 1970. All have the newest fix.
    """
    text = project.records[ASKED]["description"]
    newest = project.records[-1]
    records = list(project.records)
    for number in range(MIN_REPORTS):
        identity = str(90 + number)
        record = toy.labelled_record(
            identity, "Again", text, opened + number, newest["fix_commit"], newest["fixed"]
        )
        records.append(record)
    return records


def test_lines_that_later_reports_share_change_no_feature(project, clean_features):
    records = add_repeating_reports(project, FIXED_AT - toy.DAY)
    check_same(extract_features(project, records), clean_features)


def test_lines_that_earlier_reports_share_change_features(project, clean_features):
    """The test above can fail."""
    records = add_repeating_reports(project, FIXED_AT - toy.DAY - MIN_REPORTS)
    names = changed_features(clean_features, extract_features(project, records))
    assert {"bm25f", "code"} <= names


OPENED_LATE = datetime.fromtimestamp(FIXED_AT + 5, UTC).isoformat()
"""Time of opening of a report that was opened, by its clock, after its own fix was committed."""


def test_the_label_of_a_late_report_changes_no_feature(project):
    """If the fix of a report counted for the report itself, its label would change features."""
    late = extract_features(project, relabel(project, opened=OPENED_LATE))
    relabelled = relabel(project, opened=OPENED_LATE, fixed=[toy.class_path("Rocket")])
    check_same(extract_features(project, relabelled), late)


def test_the_fix_of_a_late_report_does_not_count(project, clean_features):
    """Opening a report later changes only what depends on the clock."""
    [fixed] = project.records[ASKED]["fixed"]
    late = extract_features(project, relabel(project, opened=OPENED_LATE))
    for name in ("near_reports", "file_documents", "near_commits", "text", "code"):
        position = registry.ALL.index(name)
        expected = pytest.approx(clean_features[fixed][position], abs=0.02)
        assert late[fixed][position] == expected, name


@pytest.mark.parametrize(
    "fixed", [toy.class_path("Widget"), "not/there.java"], ids=["another file", "no file"]
)
def test_the_label_of_a_report_changes_no_feature(project, clean_features, fixed):
    check_same(extract_features(project, relabel(project, fixed=[fixed])), clean_features)


def train(project, records, config):
    """Train with these records, and return the folder of the results."""
    out = Path(tempfile.mkdtemp(dir=project.folder))
    reports = project.write_reports("learned.jsonl", records)
    training.train(config, project.git.path, reports, out, embed_version=False)
    return out


def shuffle_labels(records):
    """Return the same reports and fixes with the labels permuted."""
    labels = [record["fixed"] for record in records]
    random.Random(3).shuffle(labels)
    return [record | {"fixed": fixed} for record, fixed in zip(records, labels, strict=True)]


@pytest.fixture(scope="module")
def large_project(tmp_path_factory):
    """Return a project with 168 bugs, of which a training with these shares tests 101."""
    return toy.make_project(tmp_path_factory.mktemp("large"), bugs=168)


def evaluate_test_split(project, records):
    """Train on few of the reports, and return the evaluation of the 101 test reports."""
    out = train(project, records, toy.small_config(0.3, 0.1))
    evaluation = ScoredRun.read(out, "test").evaluation()
    assert len(evaluation.per_report) == 101
    return evaluation


@pytest.mark.slow
def test_true_labels_are_learned(large_project):
    assert evaluate_test_split(large_project, large_project.records).map > 0.7


@pytest.mark.slow
def test_shuffled_labels_fall_to_chance(large_project):
    """A feature that saw a report's own label would find even a random one.

    With one fixed file at random among n, the expected AP is H_n / n, .15 for 29 files; its
    standard error over 101 reports is .02.
    """
    evaluation = evaluate_test_split(large_project, shuffle_labels(large_project.records))
    listed = large_project.git.git("ls-tree", "-r", "--name-only", "main")
    files = len(listed.split("\n"))
    chance = sum(1 / rank for rank in range(1, files + 1)) / files
    assert evaluation.map == pytest.approx(chance, abs=0.08)


@pytest.mark.parametrize("fit", ["listwise", "differential_evolution"])
def test_nothing_is_fitted_on_test(tmp_path, fit):
    """With shuffled labels of the test reports the weights are the same, and the MAP is worse."""
    project = toy.make_project(tmp_path, bugs=70)
    names = ["code", "path", "near_reports", "popularity"]
    config = toy.small_config(0.4, 0.2, fit=fit, features=names)
    shuffled = [*project.records[:42], *shuffle_labels(project.records[42:])]
    out = train(project, project.records, config)
    shuffled_out = train(project, shuffled, config)
    weights = (out / "checkpoint/weights.json").read_bytes()
    assert (shuffled_out / "checkpoint/weights.json").read_bytes() == weights
    shuffled_map = ScoredRun.read(shuffled_out, "test").evaluation().map
    assert ScoredRun.read(out, "test").evaluation().map > shuffled_map + 0.3
