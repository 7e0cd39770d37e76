"""The command reproduce-check, in process."""

import json
from pathlib import Path

import pytest

from tests.lab.agreement.test_levels import FILES, QRELS, judgements, known_ranks, pair
from tosloc.cli import main
from tosloc.evaluate import write_judgements, write_run
from tosloc.evaluate.runs import write_known_ranks


@pytest.fixture
def folders(tmp_path: Path) -> Path:
    """Folders of an original pair (b, a), ours (b2, a2), another project's (b3, a3) and one of known ranks (b4, a4)."""
    files = FILES[:15]
    made = {"": (QRELS, pair(QRELS)), "2": (QRELS, pair(QRELS, seed=7, high=0.4))}
    other = judgements([f"X{number}" for number in range(9)], files, seed=3)
    made["3"] = (other, pair(other, seed=5, high=0.5, files=files))
    for number, (qrels, two) in made.items():
        for name, one in (("b", two.baseline), ("a", two.advanced)):
            folder = tmp_path / f"{name}{number}" / "test"
            write_run(folder / "run.jsonl.gz", {}, one.run.rankings())
            write_judgements(folder / "qrels.jsonl", qrels.judgements.values())
    for name, one in (("b4", made[""][1].baseline), ("a4", made[""][1].advanced)):
        run = known_ranks(one).run
        ranks = (
            (report, {run.names[file]: int(rank) for file, rank in zip(order.files, order.known_ranks, strict=True)})
            for report, order in run.orders.items()
        )
        write_known_ranks(tmp_path / name / "test" / "run.jsonl.gz", {}, ranks)
        write_judgements(tmp_path / name / "test" / "qrels.jsonl", QRELS.judgements.values())
    return tmp_path


def check(folders: Path, number: str, *options: str, original: bool = True) -> int:
    named = ["--baseline", str(folders / "b"), "--advanced", str(folders / "a")] if original else []
    ours = ["--our-baseline", str(folders / f"b{number}"), "--our-advanced", str(folders / f"a{number}")]
    return main(["lab", "reproduce-check", *named, *ours, *options])


def test_a_table_for_a_narrow_terminal(folders, capsys):
    assert check(folders, "2") == 0
    printed = capsys.readouterr().out
    assert printed.startswith("replication: the same 12 reports")
    assert "…" not in printed
    lines = [line.rstrip() for line in printed.splitlines()]
    levels = [line.split()[0] for line in lines[4:-3] if line]
    assert levels == ["order"] * 2 + ["effectiveness"] * 3 + ["effect"] * 9 + ["statistics"] * 3 + ["mean"] * 9


def test_the_same_pair_is_found_again(folders, capsys):
    assert check(folders, "", "--json", "--measures", "RR,P@5") == 0
    values = json.loads(capsys.readouterr().out)
    assert values["same_reports"] is True
    assert values["advanced"]["tau"] == 1.0
    assert values["effects"].keys() == {"RR", "P@5"}
    assert values["effects"]["RR"]["ER"] == 1.0


def test_another_project(folders, capsys):
    assert check(folders, "3") == 0
    printed = capsys.readouterr().out
    assert printed.startswith("reproduction: 12 reports of the original, 9 others of ours")
    assert "other reports were judged: order and RMSE, which need the same ones, do not apply" in printed


def test_known_ranks(folders, capsys):
    assert check(folders, "4") == 0
    assert "whole rankings, does not apply" in capsys.readouterr().out


def test_markdown(folders, capsys):
    assert check(folders, "2", "--markdown", "--depth", "5") == 0
    lines = capsys.readouterr().out.splitlines()
    assert "| level | measure | baseline | advanced | effect |" in lines
    assert lines[-1].startswith("- region ")


def test_published_means(folders, capsys):
    options = ["--published-baseline", ".3", "--published-advanced", ".4", "--measure", "AP"]
    assert check(folders, "2", *options, original=False) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("our 12 reports against published means of AP")
    assert [line.split()[0] for line in printed.splitlines()[4:7]] == ["baseline", "advanced", "improvement"]
    assert check(folders, "2", *options, "--json", original=False) == 0
    assert json.loads(capsys.readouterr().out)["baseline"]["published"] == 0.3


@pytest.mark.parametrize(
    ("original", "options", "said"),
    [
        (False, [], "name the original pair by --baseline and --advanced, or by --published-baseline"),
        (False, ["--published-baseline", ".3", "--published-advanced", ".4"], "published means are of one measure"),
        (True, ["--measures", "AP,Q@5"], "no measure Q@5"),
        (True, ["--split", "train"], "no finished run of the split 'train'"),
    ],
)
def test_wrong_input_is_one_sentence(folders, capsys, original, options, said):
    assert check(folders, "2", *options, original=original) == 2
    printed = capsys.readouterr()
    assert said in printed.err
    assert printed.err.count("\n") == 1
    assert printed.out == ""
