"""``import-run`` and ``export-run``, through the real commands."""

from pathlib import Path

import numpy as np
import pytest

from tests.published_toy import PUBLISHED_RANKS, WIDGET_PATH, commit_fixes, write_spreadsheet
from tosloc.cli import main
from tosloc.core.records import Ranking, ReportAttributes
from tosloc.evaluate.judgements import Judgement, write_judgements
from tosloc.evaluate.measures import Measure
from tosloc.evaluate.run_paths import read_scored_run
from tosloc.evaluate.runs import read_run, write_run

RUN = "7 Q0 a%20b.java 1 2 bm25\n7 Q0 c.java 2 1 bm25\n8 Q0 c.java 1 0.5 bm25\n"
QRELS = "7 0 c.java 1\n8 0 c.java 1\n"


@pytest.fixture
def trec(tmp_path):
    (tmp_path / "run.txt").write_text(RUN)
    (tmp_path / "qrels.txt").write_text(QRELS)
    return tmp_path / "run.txt"


def test_a_trec_run_becomes_ours(trec, tmp_path, tosloc):
    out = tmp_path / "ours"
    assert tosloc("import-run", trec, "--qrels", tmp_path / "qrels.txt", "--out", out)[1] == (
        f"tosloc: 2 rankings are in {out}\n"
    )
    judged = read_scored_run(out)
    assert judged.run.header["method"] == "bm25"
    assert judged.run.header["imported"]["name"] == "run.txt"
    assert judged.run.ranking("7").paths == ("a b.java", "c.java")
    assert judged.evaluation().mrr == 0.75
    assert "to judge them, name --qrels" in tosloc("import-run", trec, "--out", out)[1]
    left = sorted(file.name for file in out.iterdir())
    assert left == ["provenance.json", "run.jsonl.gz"]  # judgements of another run are gone


def test_published_ranks_become_a_run(repository, tmp_path, fails, tosloc):
    reports, out = (
        write_spreadsheet(tmp_path / "reports.xlsx", commit_fixes(repository), PUBLISHED_RANKS),
        tmp_path / "ltr",
    )
    command = ["import-run", reports, "--repo", repository.path, "--out", out]
    said = "tosloc: 3 of 4 all reports have published ranks; left out of the run and of its judgements: 1\n"
    assert tosloc(*command, "--split", "all")[1].startswith(said)
    judged = read_scored_run(out, "all")
    assert judged.run.header["left out"] == {"reports without published ranks": 1}
    one = judged.qrels["2"]
    assert (one.fixed, one.listed, one.searched) == ((WIDGET_PATH,), ("New.java", WIDGET_PATH), 3)
    assert one.attributes == ReportAttributes(True, False, 1)
    evaluation = judged.evaluation()
    assert [one.ranks for one in evaluation.per_report] == [(2,), (4,), ()]
    assert evaluation.values(Measure("bpref")).tolist() == [0, 0, 0]
    assert evaluation.length is None
    tosloc(*command)
    assert list(read_run(out / "test/run.jsonl.gz").orders) == ["4"]
    assert "only the ranks of some files are known" in fails(
        "export-run", out, "--out", tmp_path / "trec"
    )


def test_a_run_goes_out_and_comes_back(tmp_path, fails, tosloc):
    paths, linear, out, back = (
        ("a b.java", "c%.java", "caf\udce9.java"),
        *(tmp_path / one for one in ("linear", "trec", "back")),
    )
    rankings = [Ranking(report, paths, np.array([2.0, 2.0, 1.0])) for report in ("7", "8")]
    write_run(linear / "test/run.jsonl.gz", {}, rankings)
    judgements = [
        Judgement("7", paths[2:], paths[2:], 3, "v"),
        Judgement("8", (), ("New.java",), 3, "v"),
    ]
    write_judgements(linear / "test/qrels.jsonl", judgements)
    tosloc("export-run", linear, "--out", out)
    assert (out / "qrels.trec").read_text() == "7 0 caf%E9.java 1\n8 0 - 0\n"
    assert (out / "run.trec").read_text().splitlines()[:3] == [
        "7 Q0 a%20b.java 1 3 linear",
        "7 Q0 c%25.java 2 2 linear",
        "7 Q0 caf%E9.java 3 1 linear",
    ]
    tosloc("import-run", out / "run.trec", "--qrels", out / "qrels.trec", "--out", back)
    for name in ("AP", "RR", "nDCG", "bpref"):
        before, after = (
            read_scored_run(place).evaluation().values(Measure(name)) for place in (linear, back)
        )
        assert before.tolist() == after.tolist()
    # every other file is judged as not fixed, where the rankings are known to hold every file
    tosloc("export-run", linear, "--out", out, "--others")
    judged = (out / "qrels.trec").read_text().splitlines()[:3]
    assert judged == ["7 0 a%20b.java 0", "7 0 c%25.java 0", "7 0 caf%E9.java 1"]
    assert "leave out --others" in fails("export-run", back, "--out", out, "--others")
    truth = linear / "test/qrels.jsonl"  # our own judgements tell what was searched
    tosloc("import-run", out / "run.trec", "--qrels", truth, "--out", back)
    assert read_scored_run(back).qrels == read_scored_run(linear).qrels


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["qrels.txt"], "qrels.txt line 1: '7 0 c.java 1' is not report Q0 path rank score tag"),
        (["nowhere"], "nowhere: cannot read it"),
        (["run.txt", "--qrels", "other.txt"], "no judgement for 1 of 2 reports, first 8"),
        (
            ["run.txt", "--qrels", "run.txt", "--repo", "repo"],
            "labelled reports contain their judgements",
        ),
    ],
)
@pytest.mark.usefixtures("repository")
def test_what_is_no_run_is_one_sentence(trec, tmp_path, monkeypatch, fails, words, says):
    monkeypatch.chdir(tmp_path)
    Path("other.txt").write_text("7 0 c.java 1\n")
    assert says in fails("import-run", *words, "--out", "out")


@pytest.mark.parametrize(
    ("command", "name"), [("import-run", "qrels.jsonl"), ("export-run", "run.trec")]
)
def test_a_folder_with_other_things_is_refused_and_stays(
    trec, tmp_path, fails, tosloc, command, name
):
    tosloc("import-run", trec, "--qrels", tmp_path / "qrels.txt", "--out", tmp_path / "ours")
    source = trec if command == "import-run" else tmp_path / "ours"
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / name).write_text("mine")
    said = fails(command, source, "--out", tmp_path / "thesis")
    assert (
        said
        == f"{tmp_path}/thesis holds other things, such as {name!r}; name a new folder for the results"
    )


@pytest.mark.parametrize("command", ["import-run", "export-run"])
def test_a_folder_of_results_is_written_again(trec, tmp_path, tosloc, command):
    tosloc("import-run", trec, "--qrels", tmp_path / "qrels.txt", "--out", tmp_path / "ours")
    source = trec if command == "import-run" else tmp_path / "ours"
    (tmp_path / "out").mkdir()
    for _ in range(2):
        tosloc(command, source, "--out", tmp_path / "out")
        assert (tmp_path / "out/provenance.json").is_file()
        assert not (tmp_path / "out/.tosloc-work").exists()


def test_an_import_that_was_cut_short_is_made_again(trec, tmp_path, tosloc, monkeypatch):
    def cut_short(*_):
        raise ZeroDivisionError

    with monkeypatch.context() as patch:
        patch.setattr("tosloc.evaluate.judgements.write_judgements", cut_short)
        with pytest.raises(ZeroDivisionError):
            main(
                [
                    "import-run",
                    str(trec),
                    "--qrels",
                    str(tmp_path / "qrels.txt"),
                    "--out",
                    str(tmp_path / "out"),
                ]
            )
    assert (tmp_path / "out/run.jsonl.gz").is_file()
    tosloc("import-run", trec, "--qrels", tmp_path / "qrels.txt", "--out", tmp_path / "out")
    assert (tmp_path / "out/qrels.jsonl").is_file()
    assert not (tmp_path / "out/.tosloc-work").exists()


def test_where_nothing_can_be_written_or_judged_is_one_sentence(trec, repository, tmp_path, fails):
    for command in ("import-run", "export-run"):
        assert "run.txt' is a file" in fails(command, trec, "--out", trec)
    assert "no judgements beside the run" in fails("export-run", trec, "--out", tmp_path / "out")
    reports = write_spreadsheet(tmp_path / "reports.xlsx", commit_fixes(repository), [None] * 4)
    command = ["import-run", reports, "--repo", repository.path, "--out", tmp_path / "ltr"]
    assert "reports.xlsx: split test: none of 1 report has published ranks" in fails(*command)
