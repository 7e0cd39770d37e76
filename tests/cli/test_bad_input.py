"""Input that is at fault: exit code 2, one sentence, and nothing half-written."""

import json
import os
import shlex
import shutil
from pathlib import Path

import numpy as np
import pytest

from tests import toy
from tosloc.git.repository import Repository
from tosloc.localize.model import Model
from tosloc.rank.features import registry
from tosloc.rank.model.stage_one import StageOne
from tosloc.storage.repository import IndexedRepository

RECORD = {
    "id": "1",
    "summary": "s",
    "description": "d",
    "opened": "2001-01-01T00:00:00Z",
    "fixed": ["A.java"],
}


@pytest.fixture(scope="module")
def checkpoint(project):
    """Save a checkpoint of hand-written weights that contains a version; return its folder."""
    stage_one = StageOne(registry.NAMES, np.ones(len(registry.NAMES)))
    model = Model(stage_one, configuration=toy.small_config())
    with Repository(project.git.path) as repository:
        indexed = IndexedRepository.configured(repository, model.config)
        model = model.with_version(indexed.index_version("HEAD"))
        indexed.close()
    model.save(project.folder / "checkpoint")
    return project.folder / "checkpoint"


@pytest.fixture(autouse=True)
def folder(plain_folder, checkpoint):
    """Make a folder the current one that contains faulty input; return it."""
    (plain_folder / "plain").mkdir()
    (plain_folder / "bug.md").write_text("Cookie lost\n\nThe cookie is lost after a click.\n")
    (plain_folder / "binary").write_bytes(b"\x7fELF\0\0\1")
    (plain_folder / "zero.toml").symlink_to("/dev/zero")
    (plain_folder / "deep.toml").write_text("a = " + "[" * 100_000)
    (plain_folder / "broken.jsonl").write_text(json.dumps(RECORD) + "\n\n{oh}\n")
    unknown_commit = RECORD | {"fix_commit": "f" * 40}
    (plain_folder / "elsewhere.jsonl").write_text(json.dumps(unknown_commit))
    other_files = RECORD | {"fixed": ["A.md"]}
    (plain_folder / "others.jsonl").write_text(json.dumps(other_files))
    for name, missing_file in (("half", "provenance.json"), ("lean", "version.npz")):
        ignore = shutil.ignore_patterns(missing_file)
        shutil.copytree(checkpoint, plain_folder / name, ignore=ignore)
    return plain_folder


LOCALIZE_HERE = "localize bug.md --checkpoint {checkpoint}"
LOCALIZE = "localize --repo {repo} --checkpoint {checkpoint}"
RANK = "rank --repo {repo} --reports {reports} --out out"
NOT_A_REPOSITORY = [
    (f"{LOCALIZE_HERE} --repo {{}}", "plain", "git"),
    ("index --repo {}", "bug.md", "git"),
    ("train --reports {reports} --out out --repo {}", "nowhere", "no such"),
    ("rank --checkpoint {checkpoint} --reports {reports} --out out --repo {}", "bug.md", "git"),
    (
        f"{LOCALIZE_HERE} --commit {{}}",
        "HEAD",
        "not in a git repository; change to one, or name it with --repo",
    ),
]
NOT_A_COMMIT = [
    (f"{LOCALIZE} bug.md --commit={{}}", name, "git fetch") for name in ("v99", "0" * 40, "--all")
]
NOT_A_COMMIT += [
    (f"{LOCALIZE} bug.md --good={{}}", "v99", "no commit 'v99'"),
    (f"{LOCALIZE} bug.md --bad={{}}", "v99", "no commit 'v99'"),
    (f"{LOCALIZE} bug.md --good={{}} --bad=HEAD", "HEAD", "--good: the good commit HEAD contains"),
    (f"{LOCALIZE} bug.md --good={{}} --no-suspects", "HEAD", "--suspects: good and bad commits"),
]
NOT_A_REPORT = [
    (f"{LOCALIZE} {{}}", "binary", "is binary"),
    (f"{LOCALIZE} {{}}", "plain", "is a folder, which only restricts the search; add a report"),
    (f"{LOCALIZE} {{}}", "nowhere.md", "no such file"),
    (f"{LOCALIZE} {{}}", "https://gitlab.com/ann/one/-/issues/7", "or a GitHub issue"),
]
NOT_SETTINGS = [
    ("train {} --out out --repo {repo} --reports {reports}", name, "")
    for name in ("zero.toml", "deep.toml")
]
NOT_LABELLED_REPORTS = [
    (f"{command} --repo {{repo}} --reports {{}}.jsonl", name, message)
    for name, message in (
        ("broken", "line 3"),
        ("elsewhere", "is it the right repository?"),
        ("others", "suffixes"),
    )
    for command in ("data", "train --out out", "rank --checkpoint {checkpoint} --out out")
]
NOT_A_CHECKPOINT = [
    ("localize bug.md --checkpoint {}", "plain", "no checkpoint"),
    (f"{RANK} --checkpoint {{}}", "nowhere", "no checkpoint"),
    (f"{RANK} --checkpoint {{}}", "half", "copy the whole folder"),
    ("localize bug.md --checkpoint lean{}", "", "or name it with --repo"),
]


@pytest.mark.parametrize(
    ("command", "name", "message"),
    [
        *NOT_A_REPOSITORY,
        *NOT_A_COMMIT,
        *NOT_A_REPORT,
        *NOT_SETTINGS,
        *NOT_LABELLED_REPORTS,
        *NOT_A_CHECKPOINT,
    ],
)
def test_a_command_names_the_input_at_fault(fails, project, checkpoint, command, name, message):
    words = command.format(
        name, checkpoint=checkpoint, repo=project.git.path, reports=project.write_reports()
    )
    sentence = fails(*shlex.split(words))
    assert name in sentence or name == "HEAD"
    assert message in sentence


def test_a_file_as_cache_is_one_sentence(fails, project, folder, monkeypatch):
    monkeypatch.setenv("TOSLOC_CACHE", str(folder / "bug.md"))
    sentence = fails("index", "--repo", project.git.path)
    assert "name another folder for the cache with $TOSLOC_CACHE" in sentence


def test_a_cache_that_cannot_be_written_is_replaced(tosloc, project, folder, monkeypatch):
    monkeypatch.setenv("TOSLOC_CACHE", str(folder / "bug.md"))
    out, err = tosloc("localize", folder / "bug.md", "--repo", project.git.path)
    assert "files of" in out
    assert err.startswith(f"tosloc: the cache {folder / 'bug.md'} cannot be written (")
    assert Path(os.environ["TOSLOC_CACHE"]).is_dir()


def localized_repository(tosloc, folder, checkpoint):
    """Localize with a checkpoint and return the repository that the answer names."""
    out = tosloc("localize", folder / "bug.md", "--checkpoint", checkpoint, "--json")[0]
    return json.loads(out)["repository"]


def test_outside_of_a_repository_the_checkpoints_version_answers(checkpoint, folder, tosloc):
    assert localized_repository(tosloc, folder, checkpoint) is None


def test_in_its_repository_the_work_tree_answers(checkpoint, folder, project, monkeypatch, tosloc):
    monkeypatch.chdir(project.git.path)
    assert localized_repository(tosloc, folder, checkpoint) == str(project.git.path)


def test_evaluate_without_a_run_needs_a_training(fails, project, monkeypatch):
    monkeypatch.chdir(project.git.path)
    message = "nothing was trained for this repository; name a run, or run: tosloc train"
    assert fails("evaluate") == f"{project.git.path}: {message}"


@pytest.fixture
def one_report(project):
    """Return options that name a single labelled report and the new folder ``one``."""
    reports = project.write_reports("few1.jsonl", project.records[:1])
    return ["--repo", str(project.git.path), "--reports", str(reports), "--out", "one"]


def test_one_report_is_too_few_for_a_training(fails, one_report):
    assert fails("train", *one_report).startswith(
        "training needs 25 reports with a fixed file, because it learns from the oldest 80 % of"
        " them and needs 20 of these; there are 1; give more reports of this repository, or use"
    )


def test_one_report_is_ranked_only_with_split_all(fails, tosloc, checkpoint, one_report):
    assert "--split=all" in fails("rank", *one_report, "--checkpoint", checkpoint)
    _, err = tosloc("rank", *one_report, "--checkpoint", checkpoint, "--split", "all")
    assert err.endswith(
        "tosloc: wrote the rankings to one; now run: tosloc evaluate one --split all\n"
    )
    out, _ = tosloc("evaluate", "one", "--split", "all")
    assert "reports" in out


@pytest.mark.parametrize(
    ("options", "is_said"), [((), True), (("--split", "test"), False), (("--split", "all"), False)]
)
def test_rank_says_how_many_reports_the_default_splits_leave_out(
    tosloc, project, checkpoint, options, is_said
):
    reports = project.write_reports("ten.jsonl", project.records[:10])
    named = ["--repo", str(project.git.path), "--reports", str(reports), "--out", "ten"]
    _, err = tosloc("rank", *named, "--checkpoint", checkpoint, *options)
    sentence = (
        "ranked 2 of 10 reports, those of the splits validation and test; to rank all of them,"
        " add: --split all"
    )
    assert (sentence in err) == is_said


@pytest.fixture
def training_output(tosloc, project, folder):
    """Train on two reports, none for validation, into ``out``; return standard error."""
    reports = project.write_reports("few2.jsonl", project.records[:2])
    (folder / "small.toml").write_text(
        "[data]\ntrain = 0.8\nvalidation = 0.1\n[run]\njobs = 1\n"
        "[stage_one]\nfit = 'listwise'\nfeatures = ['bm25f', 'path', 'recency']\nranker = false\n"
    )
    options = ["--repo", project.git.path, "--reports", reports, "--out", "out"]
    return tosloc("train", "small.toml", *options)[1]


def test_a_training_without_validation_is_evaluated_on_test_alone(fails, tosloc, training_output):
    assert "no report is left for validation" in training_output
    tosloc("evaluate", "out")
    assert (
        fails("evaluate", "out", "--split", "validation")
        == "out/validation/qrels.jsonl: the file is empty"
    )


@pytest.mark.usefixtures("training_output")
def test_runs_of_a_training_are_not_overwritten(fails, one_report):
    sentence = fails("rank", *one_report[:-1], "out", "--split", "all")
    assert (
        sentence == "out contains a training, whose runs would be overwritten; name another folder"
    )
