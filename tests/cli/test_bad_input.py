"""Input that is at fault, through the real commands: exit code 2, one sentence, and nothing half-written."""

import json
import shlex
import shutil

import numpy as np
import pytest

from tests import toy
from tosloc.git.repository import Repository
from tosloc.localize.model import Model
from tosloc.rank import features
from tosloc.rank.stage_one import StageOne
from tosloc.storage.repository import IndexedRepository

LINE = {
    "id": "1",
    "summary": "s",
    "description": "d",
    "opened": "2001-01-01T00:00:00Z",
    "fixed": ["A.java"],
}


@pytest.fixture(scope="module")
def checkpoint(project):
    """A checkpoint of hand-written weights with a version."""
    stage_one = StageOne(features.NAMES, np.ones(len(features.NAMES)))
    model = Model(stage_one, configuration=toy.small_config())
    with Repository(project.git.path) as repo:
        opened = IndexedRepository.configured(repo, model.config)
        model = model.with_version(opened.prepare("HEAD"))
        opened.close()
    model.save(project.folder / "checkpoint")
    return project.folder / "checkpoint"


@pytest.fixture(autouse=True)
def place(plain_folder, checkpoint):
    """The folder to stand in, with what commands are given."""
    (plain_folder / "plain").mkdir()
    (plain_folder / "bug.md").write_text("Cookie lost\n\nThe cookie is lost after a click.\n")
    (plain_folder / "binary").write_bytes(b"\x7fELF\0\0\1")
    (plain_folder / "zero.toml").symlink_to("/dev/zero")
    (plain_folder / "deep.toml").write_text("a = " + "[" * 100_000)
    for name, text in (
        ("broken", json.dumps(LINE) + "\n\n{oh}\n"),
        ("elsewhere", json.dumps(LINE | {"fix_commit": "f" * 40})),
        ("others", json.dumps(LINE | {"fixed": ["A.md"]})),
    ):
        (plain_folder / f"{name}.jsonl").write_text(text)
    for name, without in (("half", "provenance.json"), ("lean", "version.npz")):
        shutil.copytree(checkpoint, plain_folder / name, ignore=shutil.ignore_patterns(without))
    return plain_folder


LOCALIZE = "localize bug.md --checkpoint {checkpoint}"
ASK = "localize --repo {repo} --checkpoint {checkpoint}"
RANK = "rank --repo {repo} --reports {reports} --out out"


@pytest.mark.parametrize(
    ("command", "name", "words"),
    [
        (f"{LOCALIZE} --repo {{}}", "plain", "git"),
        ("index --repo {}", "bug.md", "git"),
        ("train --reports {reports} --out out --repo {}", "nowhere", "no such"),
        ("rank --checkpoint {checkpoint} --reports {reports} --out out --repo {}", "bug.md", "git"),
        *(
            (f"{ASK} bug.md --commit={{}}", name, "git fetch")
            for name in ("v99", "0" * 40, "--all")
        ),
        (f"{ASK} {{}}", "binary", "is binary"),
        (f"{ASK} {{}}", "plain", "is a folder to search; name a report, too"),
        (f"{ASK} {{}}", "nowhere.md", "no such file"),
        (f"{ASK} {{}}", "https://gitlab.com/ann/one/-/issues/7", "or an issue at github.com"),
        *(
            ("train {} --out out --repo {repo} --reports {reports}", name, "")
            for name in ("zero.toml", "deep.toml")
        ),
        *(
            (f"{command} --repo {{repo}} --reports {{}}.jsonl", name, words)
            for name, words in (
                ("broken", "line 3"),
                ("elsewhere", "is it the right one?"),
                ("others", "suffixes"),
            )
            for command in ("data", "train --out out", "rank --checkpoint {checkpoint} --out out")
        ),
        ("localize bug.md --checkpoint {}", "plain", "no checkpoint"),
        (f"{RANK} --checkpoint {{}}", "nowhere", "no checkpoint"),
        (f"{RANK} --checkpoint {{}}", "half", "copy the whole folder"),
        ("localize bug.md --checkpoint lean{}", "", "or name it with --repo"),
        (
            f"{LOCALIZE} --commit {{}}",
            "HEAD",
            "not in a git repository; change to one, or name it with --repo",
        ),
    ],
)
def test_a_command_names_what_is_wrong(fails, project, checkpoint, command, name, words):
    given = {"checkpoint": checkpoint, "repo": project.git.path, "reports": project.write_reports()}
    said = fails(*shlex.split(command.format(name, **given)))
    assert name in said or name == "HEAD"
    assert words in said


def test_a_place_that_can_hold_no_facts(fails, project, place, monkeypatch):
    monkeypatch.setenv("TOSLOC_CACHE", str(place / "bug.md"))
    sentence = fails("index", "--repo", project.git.path)
    assert "name another folder for the cache with $TOSLOC_CACHE" in sentence
    assert fails("localize", "bug.md", "--repo", project.git.path) == sentence


def test_a_carried_version_answers_outside_of_its_repository_and_its_work_tree_inside(
    checkpoint, place, project, monkeypatch, tosloc
):
    for folder, repository in ((place, None), (project.git.path, str(project.git.path))):
        monkeypatch.chdir(folder)
        out = tosloc("localize", place / "bug.md", "--checkpoint", checkpoint, "--json")[0]
        assert json.loads(out)["repository"] == repository


def test_evaluate_without_a_run_needs_a_training_of_the_repository_around(
    fails, project, monkeypatch
):
    monkeypatch.chdir(project.git.path)
    sentence = fails("evaluate")
    assert (
        sentence
        == f"{project.git.path}: nothing was trained here; name a run, or run: tosloc train"
    )


@pytest.fixture
def one_report(project):
    """Options of a command that reads a single labelled report and writes the folder ``one``."""
    reports = project.write_reports("few1.jsonl", project.records[:1])
    return ["--repo", str(project.git.path), "--reports", str(reports), "--out", "one"]


def test_one_report_is_too_few_for_a_training(fails, one_report):
    needed = "training needs 25 reports with a fixed file, since it learns from the oldest 80 % and from at least 20"
    sentence = fails("train", *one_report)
    assert sentence.startswith(f"{needed}; 1 found; give more reports of this repository, or use")


def test_one_report_is_ranked_and_evaluated_with_split_all_alone(
    fails, tosloc, checkpoint, one_report
):
    assert "--split=all" in fails("rank", *one_report, "--checkpoint", checkpoint)
    _, err = tosloc("rank", *one_report, "--checkpoint", checkpoint, "--split", "all")
    assert err.endswith("tosloc: ranked; now run: tosloc evaluate one --split all\n")
    out, _ = tosloc("evaluate", "one", "--split", "all")
    assert "reports" in out


@pytest.fixture
def trained_without_validation(tosloc, project, place):
    """What training on two reports says on standard error; its folder is ``out``."""
    two = project.write_reports("few2.jsonl", project.records[:2])
    (place / "small.toml").write_text(
        "[data]\ntrain = 0.8\nvalidation = 0.1\n[run]\njobs = 1\n"
        "[stage_one]\nfit = 'listwise'\nfeatures = ['bm25f', 'path', 'recency']\nranker = false\n"
    )
    return tosloc(
        "train", "small.toml", "--repo", project.git.path, "--reports", two, "--out", "out"
    )[1]


def test_a_training_without_validation_reports_is_evaluated_on_test_alone(
    fails, tosloc, trained_without_validation
):
    assert "no report is left for validation" in trained_without_validation
    tosloc("evaluate", "out")
    assert fails("evaluate", "out", "--split", "validation") == "out/validation/qrels.jsonl: empty"


def test_runs_of_a_training_are_not_overwritten(fails, trained_without_validation, one_report):
    sentence = fails("rank", *one_report[:-1], "out", "--split", "all")
    assert sentence == "out holds a training, whose runs would be lost; name another folder"
