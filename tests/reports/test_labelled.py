"""Labelled reports resolved in small real repositories, and cut into what is learned from and measured on."""

import json
from datetime import UTC, datetime

import pytest

from tests.published_toy import RESULTS, SWT, fixes, spreadsheet
from tosloc.config import Config
from tosloc.errors import ConfigError, ReportError
from tosloc.git.repository import Repository
from tosloc.records import BugReport, Case
from tosloc.reports.labelled import Dataset, chronological, describe, load_dataset, published_ranks, settled

START = 1_000_000_000
HOUR = 3600


def iso(hours):
    """So many hours after START."""
    return datetime.fromtimestamp(START + HOUR * hours, UTC).strftime("%Y-%m-%d %H:%M:%S")


def report(bug, commit, fixed, opened=0, **more):
    made = {"id": bug, "summary": f"bug {bug}", "description": "it fails", "opened": iso(opened)}
    return made | {"fix_commit": commit, "fixed": list(fixed)} | more


def lines(folder, *reports):
    path = folder / "reports.jsonl"
    path.write_text("\n".join(json.dumps(item) for item in reports), "utf-8")
    return path


@pytest.fixture
def history(repository):
    """A repository of four commits an hour apart."""
    repository.commit({"a b/A.java": "1", "B.java": "1", "notes.txt": "1"}, "start")
    repository.commit({"a b/A.java": "2", "New.java": "1"}, "Bug 12: repair A")
    three = {"B.java": "2", "x/c/D.java": "1", "y/c/D.java": "1", "y/c/E.java": "1"}
    repository.commit(three, "Fix 34 and 112")
    repository.commit({"B.java": None, "x/c/D.java": "2"}, "remove, see 34")
    return repository


def load(history, path, **options):
    with Repository(history.path) as repository:
        return load_dataset(repository, path, **options)


def test_published_ranks_of_the_files_that_exist(repository, tmp_path):
    ids = fixes(repository)

    def published(result):
        data = load(repository, spreadsheet(tmp_path / "a.xlsx", ids, [result, *RESULTS[1:]]))
        return published_ranks(data, data.cases)

    assert published(None) == {"2": {SWT: 2}, "3": {"B.java": 4}, "4": {}}
    for wrong in (f"2:{SWT} 2:B.java", "0:B.java"):
        with pytest.raises(ReportError, match=r"report 1: published ranks .* of 3 files cannot be"):
            published(wrong)


def test_cases(history, tmp_path):
    first, second, third, fourth = history.made
    path = lines(
        tmp_path,
        report("1", "f" * 40, ["B.java"]),
        report("34", third[:8], ["B.java", "y/c/E.java"], 1),
        report("12", second, ["a b/A.java", "New.java", "a b/A.java"]),
        report("12", fourth, ["y/c/D.java"], 4, description=None),
        report("2", first, ["B.java"]),
        report("3", "not a commit", ["B.java"]),
        report("5", None, ["B.java", "New.java"], version=second[:9]),  # that is searched itself, not its parent
        report("6", None, ["B.java"], version="0" * 40),
    )
    data = load(history, path)
    found = {case.report.id: (case.fix_commit, case.version, case.listed, case.fixed) for case in data.cases}
    assert found == {
        "5": ("", second, ("B.java", "New.java"), ("B.java", "New.java")),
        "12": (second, first, ("New.java", "a b/A.java"), ("a b/A.java",)),
        "34": (third, second, ("B.java", "y/c/E.java"), ("B.java",)),
        "12#2": (fourth, third, ("y/c/D.java",), ("y/c/D.java",)),
    }
    assert [case.report.id for case in data.cases] == ["5", "12", "34", "12#2"]
    assert data.cases[1].fixed_at == START + HOUR
    assert data.files == {"5": 3, "12": 2, "34": 3, "12#2": 6}
    assert data.unresolved == ("1", "2", "3", "6")
    assert data.labelled["12#2"].bug == "12"
    columns = ("reports", "listed", "existing", "empty", "no description", "opened after fix", "unresolved")
    rows = {row["part"]: tuple(row[column] for column in columns) for row in describe(data)}
    assert rows["all"] == (4, 7, 5, 0, 1, 1, 4)
    assert rows["test"] == (1, 1, 1, 0, 1, 1, 0)
    with pytest.raises(ReportError, match=r"no fix of its 1 report is in .*is it the right one"):
        load(history, lines(tmp_path, report("1", "f" * 40, ["B.java"])))
    with pytest.raises(ReportError, match=r"no version of its 1 report is in .*; is it the right one"):
        load(history, lines(tmp_path, report("1", None, ["B.java"], version="0" * 40)))


def test_merge_counts_from_its_first_parent(repository, tmp_path):
    root = repository.commit({"A.java": "1"})
    side = repository.commit({"Side.java": "1"}, parents=[root])
    main = repository.commit({"Main.java": "1"}, parents=[root])
    merge = repository.commit({"Side.java": "1"}, "merge", parents=[main, side])
    [case] = load(repository, lines(tmp_path, report("1", merge, ["Side.java", "Main.java"]))).cases
    assert (case.version, case.fixed) == (main, ("Main.java",))


# ---- without commits: BugLocator's files


def found_for(repository, folder, bug, fixed, files):
    """The cases of BugLocator's file of one bug, with its date of fixing; all are opened at START."""
    named = "".join(f"<file>{file}</file>" for file in files)
    text = f'<bug id="{bug}" opendate="{iso(0)}" fixdate="{fixed}"><fixedFiles>{named}</fixedFiles></bug>'
    (folder / "bugs.xml").write_text(f'<bugrepository name="p">{text}</bugrepository>', "utf-8")
    return load(repository, folder / "bugs.xml").cases[0]


def test_fix_found_by_message_and_date(history, tmp_path):
    _, second, third, fourth = history.made
    for bug, fixed, commit in [
        ("12", "", second),
        ("34", iso(2.01), third),
        ("34", iso(30), fourth),
        ("34", "", fourth),
        ("P-112", "", third),
    ]:
        assert found_for(history, tmp_path, bug, fixed, ["c.E.java"]).fix_commit == commit
    with pytest.raises(ReportError, match="no fix of its 1 report"):
        found_for(history, tmp_path, "2", "", ["B.java"])
    # class names: before the last commit there are x/c/D.java and y/c/D.java, but one c/E.java
    names = ["c.E.java", "c.D.java", "x.c.D.java", "c.Gone.java", "B.java", "E.java"]
    case = found_for(history, tmp_path, "34", iso(3), names)
    assert case.listed == ("B.java", "E.java", "c.D.java", "c.Gone.java", "x/c/D.java", "y/c/E.java")
    assert case.fixed == ("B.java", "x/c/D.java", "y/c/E.java")


def test_which_commit_means_a_bug(repository, tmp_path):
    def commit(number, message, hours):
        return repository.commit({"A.java": f"{number}"}, message, when=START + hours * HOUR)

    commit(1, "start", -90)
    commit(2, "bug 12", -80)  # long before the report: something else
    fix, other = commit(3, "Bug 12: repair A", -1), commit(4, "PROJ-12: another tracker", 1)
    commit(5, "allow 12 rows", 2)  # a mere number
    for bug, fixed, meant in (("12", -79, fix), ("12", -1, fix), ("PROJ-12", 1, other), ("PROJ-12", 3, other)):
        assert found_for(repository, tmp_path, bug, iso(fixed), ["A.java"]).fix_commit == meant


# ---- the split


def case(number, fixed_at=None, commit="c", opened=0):
    asked = BugReport(str(number), "s", "", datetime.fromtimestamp(opened, UTC))
    return Case(asked, commit, "v", number if fixed_at is None else fixed_at, ("A.java",), ())


def test_the_chronological_split():
    for size, *parts in ((1056, 844, 106, 106), (4151, 3320, 415, 416), (10, 8, 1, 1), (1, 0, 0, 1), (0, 0, 0, 0)):
        assert list(map(len, chronological([case(number) for number in range(size)]))) == parts
    cases = [case(3, 10, "b"), case(1, 20, "a"), case(2, 10, "b"), case(9, 10, "a"), case(4, 5, "z")]
    parts = chronological(cases, 0.6, 0.2)  # by time of the fix, then commit, then report
    assert [[item.report.id for item in part] for part in parts] == [["4", "9", "2"], ["3"], ["1"]]
    for shares in ((0.9, 0.1), (-0.1, 0.5), (0.5, -0.1)):
        with pytest.raises(ConfigError, match="their sum below 1"):
            chronological(cases, *shares)
    opened = [*range(8), 107, 106]  # the last fix of train is of 107
    cases = tuple(case(number, 100 + number, opened=when) for number, when in enumerate(opened))
    rows = describe(Dataset(cases, (), {}, dict.fromkeys(map(str, range(10)), 1)))
    before = {row["part"]: row["before train ended"] for row in rows}
    assert before == {"all": 0, "train": 0, "validation": 0, "test": 1}
    assert Dataset(cases, (), {}, {}).oldest(0.55).cases == cases[:5]


def test_a_language_is_searched_where_a_tenth_of_the_reports_fixed_it(tmp_path):
    def of(fixed, config):
        return settled(config, lines(tmp_path, *(report(str(n), "f" * 40, files) for n, files in enumerate(fixed))))

    javascript = (".cjs", ".js", ".mjs")
    for fixed, suffixes in (
        ([["src/A.JAVA", "README.md"], ["pom.xml"]], (".java",)),
        ([["a.js"]] * 9 + [["b.lua"]], (".cjs", ".js", ".lua", ".mjs")),
        ([["a.js"]] * 10 + [["b.lua", "c.lua", "d.lua"]], javascript),
        ([["a.js", "b.py"]] + [["a.js", "b.md"]] * 10 + [["c.md"]] * 99, javascript),
    ):
        assert of(fixed, Config()).data.suffixes == suffixes
    for named in ([".java", ".js"], []):  # what settings name stands
        config = Config.of({"data": {"suffixes": named}}, "my.toml")
        assert of([["a.js"]], config) == config
    with pytest.raises(ReportError, match="no listed file ends with one of .* suffixes"):
        of([["a.md"]], Config())
