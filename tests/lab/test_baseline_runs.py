"""Published techniques on a small project: the harness that runs them, and the contract that all of them keep."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from tests import toy
from tosloc import experiment
from tosloc.cli import main
from tosloc.evaluate import evaluate_folder, read_run
from tosloc.git.repository import Repository
from tosloc.lab import baseline_runs as systems
from tosloc.lab.baselines.context import Baseline, BaselineQuery
from tosloc.records import FloatArray

pytestmark = pytest.mark.slow

CONFIG = toy.config(0.6, 0.2)
CLASSICAL = ("buglocator", "brtracer", "bluir", "amalgam", "blia")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> toy.Toy:
    return toy.grow(tmp_path_factory.mktemp("toy"), bugs=30)


def ranked(project: toy.Toy, chosen: Sequence[systems.Chosen], out: str, reports: Path | None = None) -> list[Path]:
    return systems.rank_with(chosen, CONFIG, project.git.path, reports or project.reports(), project.folder / out)


class Counting(Baseline):
    """Ranks by how often a file was fixed, and counts how often it is asked."""

    name = "counting"
    asked = 0
    broken_at = -1

    def scores(self, asked: BaselineQuery) -> FloatArray:
        if Counting.asked == Counting.broken_at:
            raise KeyboardInterrupt
        Counting.asked += 1
        return asked.version.from_paths(asked.history.fixes)

    def left_out(self, scores: FloatArray) -> int:
        return 2


@pytest.fixture
def counting() -> list[systems.Chosen]:
    Counting.asked, Counting.broken_at = 0, -1
    return [systems.Chosen("counting", Counting, Counting.Settings())]


def written(folder: Path) -> dict[str, bytes]:
    """All that a technique wrote but seconds."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != "seconds.json")
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def test_a_kill_at_the_very_end_leaves_nothing_out(
    project: toy.Toy, counting: list[systems.Chosen], monkeypatch: pytest.MonkeyPatch
) -> None:
    [place] = ranked(project, counting, "end")
    whole = written(place)
    (place / "provenance.json").unlink()
    (place / ".tosloc-work").mkdir()
    ranked(project, counting, "end")
    (place / ".tosloc-work").mkdir()
    ranked(project, counting, "end")
    assert not (place / ".tosloc-work").exists()

    def interrupted(path: Path, judgements: object) -> None:
        assert (path.parent / "left_out.json").exists()  # a part with judgements is finished
        raise KeyboardInterrupt

    (place / "test/qrels.jsonl").unlink()
    (place / "test/left_out.json").unlink()
    with monkeypatch.context() as patched:
        patched.setattr(experiment, "write_judgements", interrupted)
        with pytest.raises(KeyboardInterrupt):
            ranked(project, counting, "end")
    ranked(project, counting, "end")
    assert written(place) == whole


def test_an_interrupted_call_goes_on_to_runs_like_those_of_rank(
    project: toy.Toy, counting: list[systems.Chosen], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(systems, "BLOCK", 2)
    [whole] = ranked(project, counting, "whole")
    assert Counting.asked == 12
    summary = evaluate_folder(whole, "test").summary()
    assert (summary["reports"], summary["length"]) == (6, 1.0)
    header = read_run(whole / "test/run.jsonl.gz").header
    assert header["search space"] == "all source files of the before-fix version"
    assert (header["system"], header["settings"], header["split"]) == ("counting", {"profile": "clean"}, "test")
    said = json.loads((whole / "test/left_out.json").read_text())
    assert said == {"reports": 6, "files left out by the published system, a report": 2.0}
    assert not (whole / ".tosloc-work").exists()
    Counting.asked, Counting.broken_at = 0, 9
    with pytest.raises(KeyboardInterrupt):
        ranked(project, counting, "broken")
    assert not (project.folder / "broken/counting/test/qrels.jsonl").exists()
    Counting.asked, Counting.broken_at = 0, -1
    [again] = ranked(project, counting, "broken")
    assert Counting.asked == 4  # six of validation and two of test were kept
    for split in systems.SPLITS:
        for name in ("run.jsonl.gz", "qrels.jsonl", "left_out.json"):
            assert (again / split / name).read_bytes() == (whole / split / name).read_bytes()
    Counting.asked = 0
    ranked(project, counting, "broken")
    assert Counting.asked == 0  # finished runs are left alone


@pytest.mark.parametrize("name", CLASSICAL)
@pytest.mark.parametrize("profile", ["clean", "upstream"])
def test_every_technique_ranks_every_file(project: toy.Toy, name: str, profile: str) -> None:
    out = f"contract-{profile}"
    [place] = ranked(project, systems.choose_techniques([name], profile), out)
    assert place.name == (name if profile == "clean" else f"{name}-upstream")
    summary = evaluate_folder(place, "test").summary()
    assert summary["length"] == 1.0
    assert summary["mrr"] > 0.2  # by chance .14; BRTracer nearly silences files below the median length
    with Repository(project.git.path) as repo:
        for report, order in read_run(place / "test/run.jsonl.gz").orders.items():
            assert order.length == len(repo.snapshot("HEAD", (".java",))), report


@pytest.mark.parametrize("name", CLASSICAL)
def test_nothing_later_than_the_opening_counts(project: toy.Toy, name: str) -> None:
    """Other words in reports that were not yet fixed when the asked ones were opened change no score of them."""
    changed = [
        record | {"summary": "Turbine canyon marble wrong", "description": "TurbineService CanyonService"}
        if number >= 24
        else record
        for number, record in enumerate(project.records)
    ]
    reports = project.reports("changed.jsonl", changed)
    [one] = ranked(project, systems.choose_techniques([name]), "leak-one")
    [two] = ranked(project, systems.choose_techniques([name]), "leak-two", reports)
    before, after = (read_run(place / "validation/run.jsonl.gz") for place in (one, two))
    assert len(before.orders) == 6
    for report in before.orders:
        first, second = before.ranking(report), after.ranking(report)
        assert first.paths == second.paths
        np.testing.assert_allclose(first.scores, second.scores)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["blur"], "no technique is called 'blur'"),
        (["blia", "--settings", "nowhere"], "nowhere is no folder"),
    ],
)
def test_wrong_input_gets_one_sentence(
    project: toy.Toy, capsys: pytest.CaptureFixture[str], arguments: list[str], sentence: str
) -> None:
    given = ["--repo", str(project.git.path), "--reports", str(project.reports()), "--out", str(project.folder / "no")]
    assert main(["lab", "baselines", *arguments, *given]) == 2
    assert sentence in capsys.readouterr().err
    assert not (project.folder / "no").exists()


def test_restricted_runs_from_the_command_line(
    project: toy.Toy, counting: list[systems.Chosen], capsys: pytest.CaptureFixture[str]
) -> None:
    [place] = ranked(project, counting, "whole-space")
    kept = project.folder / "ever.txt"
    kept.write_text("\n".join({path for record in project.records for path in record["fixed"]}))
    assert main(["lab", "restrict", str(place), "--to", str(kept), "--out", str(project.folder / "restricted")]) == 0
    assert "restricted/counting" in capsys.readouterr().out
    small = evaluate_folder(project.folder / "restricted/counting", "test").summary()
    assert small["length"] == 1.0
    assert small["mrr"] >= evaluate_folder(place, "test").summary()["mrr"]


@pytest.mark.parametrize(
    ("name", "small"),
    [
        (
            "dnnloc",
            "train_reports = 12\nprojection = 8\nprojection_epochs = 1\nrelevancy_epochs = 1\ncombiner_epochs = 2\n",
        ),
        ("dreamloc", "train_reports = 12\nembedding = 8\nepochs = 1\nmatch_hidden = 8\nfusion_hidden = 8\n"),
    ],
)
def test_a_learned_technique_learns_and_ranks_every_file(
    project: toy.Toy, tmp_path: Path, name: str, small: str
) -> None:
    (tmp_path / f"{name}.toml").write_text(small)
    [place] = ranked(project, systems.choose_techniques([name], folder=tmp_path), "learned")
    assert evaluate_folder(place, "test").summary()["length"] == 1.0
    record = json.loads((place / "provenance.json").read_text())
    assert ("chosen on validation" in record) == (name == "dnnloc")
    assert not (place / ".tosloc-work").exists()
