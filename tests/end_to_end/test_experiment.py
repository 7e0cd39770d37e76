"""From a project with forty bugs to a checkpoint, runs, measures and answers."""

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from types import SimpleNamespace

import numpy as np
import pytest

from tests import toy
from tests.conftest import open_files, with_proc
from tests.local_cluster import differing_files
from tosloc.cli import main
from tosloc.code.languages import SOURCE_SUFFIXES
from tosloc.core.errors import ToslocError
from tosloc.core.reports import BugReport, Case
from tosloc.evaluate.run_paths import ScoredRun
from tosloc.evaluate.runs.run import TRAINED_ON, read_run
from tosloc.git.repository import Repository
from tosloc.lab.reliability import judged_answers
from tosloc.localize.answer import Weights
from tosloc.localize.checkpoint import shipped
from tosloc.localize.localizer import Localizer
from tosloc.localize.model import Model
from tosloc.localize.question import Question
from tosloc.rank.features.extraction import SAMPLED_FILES
from tosloc.rank.features.tables import FeatureTable, TableFolder
from tosloc.rank.model.calibration import fit_temperature, shares
from tosloc.storage.cache import CacheEntry
from tosloc.train import experiment, training
from tosloc.train.experiment import ExperimentContext

CONFIG = toy.small_config(0.6, 0.2, ranker=True)
FEW_REPORTS_CONFIG = toy.small_config(0.6, 0.2, ranker=True, train_reports=9, shipped=True)
LATER = datetime.fromtimestamp(toy.START + 100 * toy.DAY, UTC)
NEW_REPORT = BugReport("1", "openParser", "", None)


def train(project, name, config=CONFIG, records=None, **options):
    """Train with some records of a project, by default with all; return the folder of the results.

    ``name`` names the folder and the file of reports.
    """
    out = project.folder / name
    reports = project.write_reports(f"{name}.jsonl", records)
    training.train(config, project.git.path, reports, out, **options)
    return out


@pytest.fixture(scope="module")
def out(project):
    """Return the folder of a training on all reports."""
    return train(project, "out")


def mark_weak(records):
    """Return the records as if the reports were commit messages."""
    return [record | {"weak": True} for record in records]


@pytest.fixture(scope="module")
def weak_out(project):
    """Return the folder of a training on the same reports, as if they were commit messages."""
    return train(project, "weak", records=mark_weak(project.records))


def rank_by_shipped_weights(project, out, split):
    """Rank the reports of a split by the shipped weights, with the settings of the trainings."""
    localizer = Localizer(Model(configuration=CONFIG))
    experiment.rank_reports(localizer, project.git.path, project.write_reports(), out, split)


def read_weights(out):
    """Return the record of stage one in a checkpoint."""
    return json.loads((out / "checkpoint/weights.json").read_text())


def evaluate(out, split):
    return ScoredRun.read(out, split).evaluation()


# What training writes


def test_all_test_reports_are_ranked_over_all_files(out):
    counts = {"reports": 8, "relevant": 8, "dropped": 0, "empty": 0, "length": 1.0, "weak": 0}
    assert evaluate(out, "test").counts == counts


def test_training_ranks_far_better_than_chance(out):
    """A random ranking has an MRR of .14."""
    assert evaluate(out, "test").mrr > 0.6


def test_map_is_mrr_for_one_fixed_file_a_report(out):
    evaluation = evaluate(out, "test")
    assert evaluation.map == evaluation.mrr


def test_the_choice_on_validation_is_what_evaluation_measures(out):
    validation = evaluate(out, "validation")
    choice = read_weights(out)["choice"]
    expected = pytest.approx([validation.mrr, validation.map])
    assert choice["tried"][choice["taken"]] == expected


def test_shipped_weights_are_not_tried_if_settings_exclude_them(out):
    assert not any("shipped" in name for name in read_weights(out)["choice"]["tried"])


def test_a_training_leaves_no_work_folder(out):
    assert not (out / ".tosloc-work").exists()


def test_provenance_counts_the_reports_of_each_split(out):
    provenance = json.loads((out / "provenance.json").read_text())
    assert provenance["splits"] == {"train": 24, "validation": 8, "test": 8}


@with_proc
def test_reports_that_cannot_be_used_leave_no_open_file(project, monkeypatch):
    def fail(*arguments):
        raise ToslocError("the history cannot be read")

    monkeypatch.setattr("tosloc.git.history.History.read", fail)
    with Repository(project.git.path) as repo:
        folder = CacheEntry.of(repo).folder
        before = open_files(folder)  # an earlier training keeps its last extraction open
        with pytest.raises(ToslocError, match="the history cannot be read") as error:
            ExperimentContext(CONFIG, repo, project.write_reports())
        assert open_files(folder) == before
    assert error.traceback  # the traceback, which refers to open objects, is still alive


# Temperature and shares


def fit_temperature_on(scored, qrels):
    """Return the temperature that fits the answers of a run to these judgements."""
    return fit_temperature(judged_answers(scored.run, qrels))


def test_the_temperature_is_fitted_on_validation(out):
    validation = ScoredRun.read(out, "validation")
    expected = pytest.approx(fit_temperature_on(validation, validation.qrels), rel=1e-3)
    assert read_weights(out)["temperature"] == expected


def test_the_header_of_a_run_has_the_temperature(out):
    header = ScoredRun.read(out, "test").run.header
    assert header["temperature"] == read_weights(out)["temperature"]


def test_shares_of_an_answer_follow_from_the_temperature(out):
    localizer = Localizer.load(out)
    answer = localizer.localize(NEW_REPORT, tests=True)
    scores = np.array([hit.score for hit in answer.hits])
    temperature = read_weights(out)["temperature"]
    presence = localizer.rank(Question(answer.report)).presence
    expected = presence * shares(scores, temperature)
    assert [hit.confidence for hit in answer.hits] == pytest.approx(expected.tolist(), abs=1e-5)


def mean_first_share(out, temperature=None):
    """Return the mean share of the first file of the validation reports.

    The temperature is by default that in the header of the run.
    """
    scored = ScoredRun.read(out, "validation")
    if temperature is None:
        temperature = scored.run.header["temperature"]
    judged = judged_answers(scored.run, scored.qrels)
    return np.mean([shares(answer.scores, temperature)[0] for answer in judged])


def test_weak_reports_leave_answers_as_sure_as_shipped_ones(weak_out, project, tmp_path):
    ranked = tmp_path / "shipped"
    rank_by_shipped_weights(project, ranked, "validation")
    trained = mean_first_share(weak_out, read_weights(weak_out)["temperature"])
    assert trained == pytest.approx(mean_first_share(ranked), abs=0.002)


def test_weak_reports_change_the_temperature(weak_out, out):
    expected = pytest.approx(read_weights(out)["temperature"], rel=0.05)
    assert read_weights(weak_out)["temperature"] != expected


def test_weak_reports_change_no_ranking(weak_out, out):
    for split in ("validation", "test"):
        orders = ScoredRun.read(out, split).run.orders
        weak_orders = ScoredRun.read(weak_out, split).run.orders
        files = [order.files.tolist() for order in orders.values()]
        assert [order.files.tolist() for order in weak_orders.values()] == files


def test_a_real_report_in_validation_fits_the_temperature_alone(project, out):
    validation = ScoredRun.read(out, "validation")
    last = list(validation.qrels)[-1]
    records = [
        record if record["id"] == last else record | {"weak": True} for record in project.records
    ]
    mixed_out = train(project, "mixed", records=records)
    fitted = fit_temperature_on(validation, {last: validation.qrels[last]})
    assert read_weights(mixed_out)["temperature"] == pytest.approx(fitted, rel=1e-3)


# What a checkpoint was made of


@pytest.fixture(scope="module")
def kept_out(project):
    """Return the folder of a training on weak reports that are too few to learn from."""
    return train(project, "kept", FEW_REPORTS_CONFIG, mark_weak(project.records))


def test_too_few_weak_reports_keep_the_shipped_weights(kept_out):
    expected = Weights("shipped", datetime.now(UTC).date(), 9, weak=True)
    assert Model.load(kept_out).weights == expected


def test_too_few_weak_reports_keep_the_shipped_temperature(kept_out):
    _, temperature = shipped()
    assert Model.load(kept_out).temperature == temperature


def test_train_returns_the_model_that_it_saves(project, tmp_path):
    reports = project.write_reports("kept.jsonl", mark_weak(project.records))
    model = training.train(FEW_REPORTS_CONFIG, project.git.path, reports, tmp_path)
    saved = Model.load(tmp_path)
    assert model.weights == saved.weights
    assert model.temperature == saved.temperature


def test_a_checkpoint_knows_how_many_reports_it_learned_from(out):
    today = datetime.now(UTC).date()
    assert Model.load(out).weights == Weights("trained", today, 24, weak=False)


def test_a_checkpoint_knows_that_its_reports_were_weak(weak_out):
    today = datetime.now(UTC).date()
    assert Model.load(weak_out).weights == Weights("trained", today, 24, weak=True)


def test_an_answer_says_what_its_weights_learned_from(weak_out):
    answer = Localizer.load(weak_out).localize(NEW_REPORT)
    today = datetime.now(UTC).date()
    weights = f"weights trained on {today} from 24 commit messages"
    assert answer.weights.sentence == f"ranked with {weights}"


# Beside the shipped weights


def test_training_keeps_the_shipped_ranking_of_the_test_reports(out, project, tmp_path):
    ranked = tmp_path / "shipped"
    rank_by_shipped_weights(project, ranked, "test")
    expected = ScoredRun.read(ranked, "test").run
    kept = ScoredRun.read(out, "test").shipped.run
    assert kept.names == expected.names
    assert kept.header["temperature"] == expected.header["temperature"]
    for report, order in expected.orders.items():
        assert kept.orders[report].files.tolist() == order.files.tolist()
        assert kept.orders[report].scores.tolist() == order.scores.tolist()


@pytest.fixture
def evaluate_command(capsys):
    """Return a function (folder, options) that evaluates; it returns the output and the notes."""

    def run(folder, *options):
        assert main(["evaluate", str(folder), *options]) == 0
        return capsys.readouterr()

    return run


def test_evaluate_compares_with_the_shipped_weights(out, evaluate_command):
    output, _ = evaluate_command(out, "--json")
    difference = json.loads(output)["against_shipped"]["RR"]
    assert difference["b"] == pytest.approx(evaluate(out, "test").mrr)
    assert difference["a"] == pytest.approx(evaluate(out / "shipped", "test").mrr)


def test_evaluate_says_whether_training_helped(out, evaluate_command):
    _, notes = evaluate_command(out, "--json")
    trained = evaluate(out, "test").mrr
    by_shipped = evaluate(out / "shipped", "test").mrr
    [line] = notes.splitlines()
    assert line.startswith("tosloc: did training help? ")
    assert f"MRR {trained:.3f} with the trained weights" in line
    assert f", {by_shipped:.3f} with the shipped ones" in line
    assert "on the same 8 held-out reports" in line


def test_evaluate_notes_that_reports_are_weak(weak_out, evaluate_command):
    _, notes = evaluate_command(weak_out, "--json")
    assert "weak: 8 of 8 reports are commit messages; their authors knew" in notes


def test_reports_that_chose_the_weights_do_not_judge_them(out, evaluate_command):
    _, notes = evaluate_command(out, "--split", "validation")
    assert "did training help" not in notes


# Which reports and files are used


@pytest.fixture
def nine_cases(monkeypatch):
    """Return nine cases, the eighth without a fixed file; evolution uses three of them."""
    monkeypatch.setattr(training, "MAX_EVOLUTION_REPORTS", 3)
    cases = []
    for number in range(9):
        report = BugReport(str(number), "a", "b", LATER)
        fixed = () if number == 7 else ("A.java",)
        cases.append(Case(report, "", "v", 0, ("A.java",), fixed))
    return cases


@pytest.mark.parametrize(
    ("fit", "train_reports", "ids", "sampled"),
    [
        ("differential_evolution", 0, "568", 0),
        ("listwise", 0, "01234568", SAMPLED_FILES),
        ("listwise", 2, "68", SAMPLED_FILES),
    ],
    ids=["evolution", "listwise", "listwise, two reports"],
)
def test_which_reports_and_files_a_fit_uses(nine_cases, fit, train_reports, ids, sampled):
    """Evolution uses all files of the newest reports with a fixed file, the other fit a sample."""
    config = toy.small_config(fit=fit, train_reports=train_reports)
    cases, sampled_files = training.training_cases(config, {"train": nine_cases})
    assert [case.report.id for case in cases] == list(ids)
    assert sampled_files == sampled


@pytest.fixture(scope="module")
def few_out(project):
    """Return the folder of a training on the nine newest reports, with its features."""
    return train(project, "few", FEW_REPORTS_CONFIG, keep_features=True)


@pytest.mark.slow
def test_stage_one_learns_from_the_newest_reports(few_out, project):
    reports = {}
    for part, blocks in TableFolder(few_out).list_blocks().items():
        reports[part] = [table.report for table in FeatureTable.read_blocks(blocks)]
    counts = {part: len(identities) for part, identities in reports.items()}
    assert counts == {"train": 9, "validation": 8, "test": 8}
    assert reports["train"] == [record["id"] for record in project.records[15:24]]


@pytest.mark.slow
def test_few_reports_are_also_learned_on_top_of_the_shipped_weights(few_out):
    assert any("shipped" in name for name in read_weights(few_out)["choice"]["tried"])


@pytest.fixture
def rank_with(project, tmp_path):
    """Return a function (checkpoint, split) -> folder of a ranking without training.

    The checkpoint None stands for the shipped weights.
    """

    def rank(checkpoint, split):
        ranked = tmp_path / "ranked"
        localizer = Localizer.load("none" if checkpoint is None else checkpoint)
        experiment.rank_reports(localizer, project.git.path, project.write_reports(), ranked, split)
        return ranked

    return rank


@pytest.mark.slow
@pytest.mark.parametrize(
    ("checkpoint", "split", "learned_from"),
    [("checkpoint", "all", 24), ("", "validation", None), (None, "all", None)],
    ids=["trained, all", "trained, validation", "shipped, all"],
)
def test_a_run_says_how_many_of_its_reports_the_checkpoint_learned_from(
    out, rank_with, checkpoint, split, learned_from
):
    ranked = rank_with(None if checkpoint is None else out / checkpoint, split)
    assert read_run(ranked / split / "run.jsonl.gz").header.get(TRAINED_ON) == learned_from


@pytest.mark.slow
def test_the_shipped_weights_are_chosen_for_the_oldest_version(project, rank_with, monkeypatch):
    """The choice depends on the paths of a version; one choice serves all reports."""
    stage_one_for = Model.stage_one_for
    paths_of_choices = []

    def record(self, paths):
        paths_of_choices.append(list(paths))
        return stage_one_for(self, paths)

    monkeypatch.setattr(Model, "stage_one_for", record)
    rank_with(None, "all")
    oldest = f"{project.records[0]['fix_commit']}~1"
    listed = project.git.git("ls-tree", "-r", "--name-only", oldest).splitlines()
    assert paths_of_choices == [listed]


@pytest.mark.slow
def test_evaluate_notes_reports_that_the_checkpoint_learned_from(out, rank_with, evaluate_command):
    ranked = rank_with(out / "checkpoint", "all")
    _, notes = evaluate_command(ranked, "--split", "all", "--json")
    assert "the checkpoint was trained on 24 reports of these" in notes


# Folders of results


@pytest.fixture
def thesis(tmp_path):
    """Return a folder with the work of somebody else."""
    folder = tmp_path / "thesis"
    (folder / "draft").mkdir(parents=True)
    (folder / "draft/chapter.tex").write_text("mine")
    return folder


@pytest.fixture
def linked_results(tmp_path, thesis):
    """Return a folder of results whose work folder is a link to the thesis."""
    folder = tmp_path / "linked"
    folder.mkdir()
    (folder / ".tosloc-work").symlink_to(thesis)
    return folder


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ("", "searched .java files of the before-fix version: at least a tenth of the reports"),
        ("[data]\nsuffixes = ['.java']\n", None),
    ],
)
def test_rank_says_what_it_searched_unless_settings_do(
    project, tmp_path, capsys, settings, sentence
):
    (tmp_path / "own.toml").write_text(settings)
    options = ["--repo", str(project.git.path), "--reports", str(project.write_reports())]
    options += ["--config", str(tmp_path / "own.toml"), "--split", "test"]
    assert main(["rank", *options, "--out", str(tmp_path / "out")]) == 0
    notes = capsys.readouterr().err
    assert (sentence or "wrote the rankings") in notes
    assert ("searched" in notes) == (sentence is not None)
    header = ScoredRun.read(tmp_path / "out").run.header
    assert header["search space"] == ".java files of the before-fix version"


@pytest.mark.parametrize(
    ("suffixes", "files"),
    [
        (SOURCE_SUFFIXES, "all source"),
        (SOURCE_SUFFIXES | {".html", ".yml"}, "all source, .html, .yml"),
        ({".py", ".html"}, ".html, .py"),
    ],
)
def test_search_space_names_all_kinds_of_files(suffixes, files):
    context = object.__new__(ExperimentContext)
    vars(context)["indexed"] = SimpleNamespace(suffixes=frozenset(suffixes))
    assert context.search_space == f"{files} files of the before-fix version"


def test_rank_says_which_runs_in_its_folder_are_of_an_earlier_command(project, tmp_path, capsys):
    options = ["--repo", str(project.git.path), "--reports", str(project.write_reports())]
    options += ["--out", str(tmp_path / "out")]
    assert main(["rank", *options]) == 0
    assert "earlier command" not in capsys.readouterr().err
    assert main(["rank", *options, "--split", "all"]) == 0
    assert "wrote: test, validation\n" in capsys.readouterr().err


def test_rank_says_that_reports_are_commit_messages(project, tmp_path, capsys):
    reports = project.write_reports("weak.jsonl", mark_weak(project.records))
    options = ["--repo", str(project.git.path), "--reports", str(reports)]
    assert main(["rank", *options, "--out", str(tmp_path / "out")]) == 0
    ranked = sum(
        len(ScoredRun.read(tmp_path / "out", part).qrels) for part in ("validation", "test")
    )
    expected = f"tosloc: {ranked} of {ranked} reports are commit messages; "
    assert expected in capsys.readouterr().err


@pytest.mark.parametrize("command", ["train", "rank"])
@pytest.mark.parametrize(("name", "first"), [("thesis", "draft"), ("linked", ".tosloc-work")])
@pytest.mark.usefixtures("linked_results")
def test_a_folder_with_other_things_is_refused(
    command, name, first, project, thesis, tmp_path, capsys
):
    out = str(tmp_path / name)
    options = ["--repo", str(project.git.path), "--reports", str(project.write_reports())]
    assert main([command, *options, "--out", out]) == 2
    expected = f"tosloc: {out} contains other files, such as {first!r}"
    assert capsys.readouterr().err == f"{expected}; name a new folder for the results\n"
    assert [path.name for path in thesis.rglob("*")] == ["draft", "chapter.tex"]


def fail_after_making(folder, part):
    """Raise RuntimeError in a results folder, after making a folder in it if ``part`` names one."""
    with experiment.results_folder(folder, own=True):
        (folder / part).mkdir(exist_ok=True)
        raise RuntimeError


@pytest.mark.parametrize("part", ["", "validation"], ids=["nothing", "a folder"])
def test_results_can_continue_after_an_error(tmp_path, part):
    folder = tmp_path / "results"
    with pytest.raises(RuntimeError):
        fail_after_making(folder, part)
    with experiment.results_folder(folder, own=True) as work:
        assert work.name == ".tosloc-work"
        assert work.is_dir()


@pytest.mark.parametrize(
    ("part", "remains"), [("", False), ("validation", True)], ids=["empty", "with a folder"]
)
def test_an_error_removes_an_empty_results_folder(tmp_path, part, remains):
    folder = tmp_path / "results"
    with pytest.raises(RuntimeError):
        fail_after_making(folder, part)
    assert folder.exists() is remains


def test_a_folder_below_a_file_cannot_be_made_for_results(tmp_path):
    (tmp_path / "file").write_text("mine")
    sentence = r"results cannot be created \(.*\); name a folder that is writable$"
    with (
        pytest.raises(ToslocError, match=sentence),
        experiment.results_folder(tmp_path / "file/results", own=True),
    ):
        pass


# Other trainings


@pytest.fixture(scope="module")
def paper_out(project):
    """Return the folder of a training with the paper's method, without a version."""
    config = toy.small_config(0.6, 0.2, method="paper", fit="differential_evolution")
    return train(project, "paper", config, embed_version=False)


@pytest.mark.slow
def test_the_paper_s_method_learns(paper_out):
    assert evaluate(paper_out, "test").mrr > 0.4


@pytest.mark.slow
def test_the_paper_s_method_has_four_features_with_weights_from_0_to_1(paper_out):
    stage_one = Model.load(paper_out).stage_one
    assert stage_one.features == ("text", "trace", "history", "complexity")
    assert (stage_one.weights >= 0).all()
    assert (stage_one.weights <= 1).all()


@pytest.mark.slow
def test_a_checkpoint_without_a_version_does_not_answer_alone(paper_out):
    with pytest.raises(ToslocError, match="contains no version"):
        Localizer.load(paper_out).localize("openViolin loses a click")


def test_reports_without_a_fixed_file_are_refused(project):
    records = [record | {"fixed": ["gone.java"]} for record in project.records]
    sentence = r"training needs 34 reports with a fixed file, .* oldest 60 % .*; there are 0"
    with pytest.raises(ToslocError, match=sentence):
        train(project, "gone", records=records)


@pytest.mark.slow
def test_one_and_two_threads_of_linear_algebra_give_the_same_bytes(tmp_path):
    """The project is large enough that the libraries would split the products."""
    project = toy.make_project(tmp_path, bugs=120, themes=24)
    settings = toy.SETTINGS.replace("ranker = false", "") + '[stage_two]\nreranker = "terms"\n'
    (tmp_path / "own.toml").write_text(settings)
    command = [sys.executable, "-m", "tosloc", "train", tmp_path / "own.toml", "--keep-features"]
    command += ["--repo", project.git.path, "--reports", project.write_reports()]
    variables = (
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "OMP_THREAD_LIMIT",
    )
    for threads in ("1", "2"):
        environment = os.environ | dict.fromkeys(variables, threads)
        out = ["--out", tmp_path / threads]
        subprocess.run([*command, *out], env=environment, check=True, stdout=subprocess.DEVNULL)
    assert differing_files(tmp_path / "1", tmp_path / "2") == []
