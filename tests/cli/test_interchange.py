"""``import-run`` and ``export-run`` as people type them."""

from pathlib import Path

import numpy as np
import pytest

from tests.published_toy import PUBLISHED_RANKS, WIDGET_PATH, commit_fixes, write_spreadsheet
from tosloc.cli import main
from tosloc.core.rankings import Ranking
from tosloc.core.reports import ReportAttributes
from tosloc.evaluate.measures import Measure
from tosloc.evaluate.run_paths import ScoredRun
from tosloc.evaluate.runs.judgements import Judgement, write_judgements
from tosloc.evaluate.runs.run import read_run, write_run

RUN = "7 Q0 a%20b.java 1 2 bm25\n7 Q0 c.java 2 1 bm25\n8 Q0 c.java 1 0.5 bm25\n"
QRELS = "7 0 c.java 1\n8 0 c.java 1\n"


@pytest.fixture
def trec(tmp_path):
    """Write a run and its judgements in TREC's format; return the path of the run."""
    (tmp_path / "run.txt").write_text(RUN)
    (tmp_path / "qrels.txt").write_text(QRELS)
    return tmp_path / "run.txt"


@pytest.fixture
def imported(trec, tmp_path, tosloc):
    """Import that run and return its folder."""
    tosloc("import-run", trec, "--qrels", tmp_path / "qrels.txt", "--out", tmp_path / "ours")
    return tmp_path / "ours"


def test_a_trec_run_is_imported_with_its_judgements(imported):
    scored = ScoredRun.read(imported)
    assert scored.run.header["method"] == "bm25"
    assert scored.run.header["imported"]["name"] == "run.txt"
    assert scored.run.ranking("7").paths == ("a b.java", "c.java")
    assert scored.evaluation().mrr == 0.75


def test_an_import_counts_rankings(trec, tmp_path, tosloc):
    out = tmp_path / "ours"
    _, err = tosloc("import-run", trec, "--qrels", tmp_path / "qrels.txt", "--out", out)
    assert err == f"tosloc: wrote 2 rankings to {out}\n"


def test_an_import_without_judgements_removes_those_of_another_run(imported, trec, tosloc):
    _, err = tosloc("import-run", trec, "--out", imported)
    assert "to evaluate them, name judgements with --qrels" in err
    files = sorted(file.name for file in imported.iterdir())
    assert files == ["provenance.json", "run.jsonl.gz"]


@pytest.fixture
def published(repository, tmp_path, tosloc):
    """Import the published ranks of all reports; return the command, output and folder."""
    reports = write_spreadsheet(
        tmp_path / "reports.xlsx", commit_fixes(repository), PUBLISHED_RANKS
    )
    out = tmp_path / "ltr"
    command = ["import-run", reports, "--repo", repository.path, "--out", out]
    return command, tosloc(*command, "--split", "all")[1], out


def test_reports_without_published_ranks_are_counted(published):
    _, err, out = published
    assert err.startswith(
        "tosloc: 3 of 4 reports in the split all have published ranks;"
        " left out of the run and its judgements: 1\n"
    )
    header = ScoredRun.read(out, "all").run.header
    assert header["left out"] == {"reports without published ranks": 1}


def test_published_ranks_have_judgements(published):
    judgement = ScoredRun.read(published[2], "all").qrels["2"]
    assert judgement.fixed == (WIDGET_PATH,)
    assert judgement.listed == ("New.java", WIDGET_PATH)
    assert judgement.searched == 3
    assert judgement.attributes == ReportAttributes(True, False, 1)


def test_published_ranks_are_evaluated(published):
    evaluation = ScoredRun.read(published[2], "all").evaluation()
    assert [scores.ranks for scores in evaluation.per_report] == [(2,), (4,), ()]
    assert evaluation.values(Measure("bpref")).tolist() == [0, 0, 0]
    assert evaluation.length is None


def test_published_ranks_of_the_test_split_are_the_default(published, tosloc):
    command, _, out = published
    tosloc(*command)
    assert list(read_run(out / "test/run.jsonl.gz").orders) == ["4"]


def test_published_ranks_are_not_exported(published, tosloc, fails, tmp_path):
    command, _, out = published
    tosloc(*command)
    message = "only the ranks of some files are known"
    assert message in fails("export-run", out, "--out", tmp_path / "trec")


PATHS = ("a b.java", "c%.java", "caf\udce9.java")


@pytest.fixture
def linear(tmp_path):
    """Write a run of two reports with its judgements; return its folder."""
    rankings = [Ranking(report, PATHS, np.array([2.0, 2.0, 1.0])) for report in ("7", "8")]
    folder = tmp_path / "linear"
    write_run(folder / "test/run.jsonl.gz", {}, rankings)
    judgements = [
        Judgement("7", PATHS[2:], PATHS[2:], 3, "v"),
        Judgement("8", (), ("New.java",), 3, "v"),
    ]
    write_judgements(folder / "test/qrels.jsonl", judgements)
    return folder


@pytest.fixture
def exported(linear, tmp_path, tosloc):
    """Export that run and return the folder of its files."""
    tosloc("export-run", linear, "--out", tmp_path / "trec")
    return tmp_path / "trec"


def test_an_exported_run_has_encoded_paths_and_falling_scores(exported):
    assert (exported / "run.trec").read_text().splitlines()[:3] == [
        "7 Q0 a%20b.java 1 3 linear",
        "7 Q0 c%25.java 2 2 linear",
        "7 Q0 caf%E9.java 3 1 linear",
    ]


def test_exported_judgements_have_a_line_for_each_fixed_file(exported):
    assert (exported / "qrels.trec").read_text() == "7 0 caf%E9.java 1\n8 0 - 0\n"


def import_back(tosloc, exported, qrels, out):
    tosloc("import-run", exported / "run.trec", "--qrels", qrels, "--out", out)


@pytest.mark.parametrize("name", ["AP", "RR", "nDCG", "bpref"])
def test_a_run_that_comes_back_has_the_same_values(linear, exported, tmp_path, tosloc, name):
    import_back(tosloc, exported, exported / "qrels.trec", tmp_path / "back")
    values = ScoredRun.read(tmp_path / "back").evaluation().values(Measure(name))
    expected = ScoredRun.read(linear).evaluation().values(Measure(name))
    assert values.tolist() == expected.tolist()


def test_a_run_that_comes_back_may_have_our_judgements(linear, exported, tmp_path, tosloc):
    import_back(tosloc, exported, linear / "test/qrels.jsonl", tmp_path / "back")
    assert ScoredRun.read(tmp_path / "back").qrels == ScoredRun.read(linear).qrels


def test_others_judges_every_other_file_as_not_fixed(linear, tmp_path, tosloc):
    tosloc("export-run", linear, "--out", tmp_path / "trec", "--others")
    lines = (tmp_path / "trec/qrels.trec").read_text().splitlines()[:3]
    assert lines == ["7 0 a%20b.java 0", "7 0 c%25.java 0", "7 0 caf%E9.java 1"]


def test_others_is_refused_if_rankings_may_lack_files(exported, tmp_path, tosloc, fails):
    import_back(tosloc, exported, exported / "qrels.trec", tmp_path / "back")
    sentence = fails("export-run", tmp_path / "back", "--out", exported, "--others")
    assert "leave out --others" in sentence


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["qrels.txt"], "qrels.txt line 1: '7 0 c.java 1' is not of the form 'report Q0 path"),
        (["nowhere"], "nowhere: cannot read it"),
        (["run.txt", "--qrels", "other.txt"], "no judgement for 1 of 2 reports, such as 8"),
        (
            ["run.txt", "--qrels", "run.txt", "--repo", "repo"],
            "labelled reports contain their judgements",
        ),
    ],
    ids=["judgements", "missing file", "judgements of other reports", "judgements twice"],
)
@pytest.mark.usefixtures("repository", "trec")
def test_a_wrong_run_is_one_sentence(tmp_path, monkeypatch, fails, words, message):
    monkeypatch.chdir(tmp_path)
    Path("other.txt").write_text("7 0 c.java 1\n")
    assert message in fails("import-run", *words, "--out", "out")


@pytest.mark.parametrize(
    ("command", "name"), [("import-run", "qrels.jsonl"), ("export-run", "run.trec")]
)
def test_a_folder_with_other_files_is_refused(trec, imported, tmp_path, fails, command, name):
    source = trec if command == "import-run" else imported
    out = tmp_path / "thesis"
    out.mkdir()
    (out / name).write_text("mine")
    message = f"contains other files, such as {name!r}; name a new folder for the results"
    assert fails(command, source, "--out", out) == f"{out} {message}"


@pytest.mark.parametrize("command", ["import-run", "export-run"])
def test_a_folder_of_results_is_written_again(trec, imported, tmp_path, tosloc, command):
    source = trec if command == "import-run" else imported
    (tmp_path / "out").mkdir()
    for _ in range(2):
        tosloc(command, source, "--out", tmp_path / "out")
        assert (tmp_path / "out/provenance.json").is_file()
        assert not (tmp_path / "out/.tosloc-work").exists()


def test_an_import_that_was_cut_short_is_made_again(trec, tmp_path, monkeypatch):
    def fail(*_):
        raise ZeroDivisionError

    out = tmp_path / "out"
    words = ["import-run", str(trec), "--qrels", str(tmp_path / "qrels.txt"), "--out", str(out)]
    with monkeypatch.context() as patch:
        patch.setattr("tosloc.evaluate.runs.folder.write_judgements", fail)
        with pytest.raises(ZeroDivisionError):
            main(words)
    assert (out / "run.jsonl.gz").is_file()
    assert main(words) == 0
    assert (out / "qrels.jsonl").is_file()
    assert not (out / ".tosloc-work").exists()


@pytest.mark.parametrize("command", ["import-run", "export-run"])
def test_a_file_as_folder_of_results_is_one_sentence(trec, fails, command):
    assert "run.txt' is a file" in fails(command, trec, "--out", trec)


def test_a_run_without_judgements_is_not_exported(trec, tmp_path, fails):
    assert "no judgements beside the run" in fails("export-run", trec, "--out", tmp_path / "out")


def test_reports_without_any_published_rank_are_one_sentence(repository, tmp_path, fails):
    reports = write_spreadsheet(tmp_path / "reports.xlsx", commit_fixes(repository), [None] * 4)
    command = ["import-run", reports, "--repo", repository.path, "--out", tmp_path / "ltr"]
    sentence = "reports.xlsx: none of the 1 report in the split test has published ranks"
    assert sentence in fails(*command)
