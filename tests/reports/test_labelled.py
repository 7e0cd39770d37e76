"""Labelled reports resolved in small real repositories, and their split."""

import json
from datetime import UTC, datetime

import pytest

from tests.published_toy import PUBLISHED_RANKS, WIDGET_PATH, commit_fixes, write_spreadsheet
from tosloc.core.config import Config
from tosloc.core.errors import ReportError, RepositoryError
from tosloc.core.reports import BugReport, Case
from tosloc.git.repository import Repository
from tosloc.reports.labelled import Dataset, resolve_suffixes

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
    """Return a repository of four commits an hour apart."""
    repository.commit({"a b/A.java": "1", "B.java": "1", "notes.txt": "1"}, "start")
    repository.commit({"a b/A.java": "2", "New.java": "1"}, "Bug 12: repair A")
    three = {"B.java": "2", "x/c/D.java": "1", "y/c/D.java": "1", "y/c/E.java": "1"}
    repository.commit(three, "Fix 34 and 112")
    repository.commit({"B.java": None, "x/c/D.java": "2"}, "remove, see 34")
    return repository


def load(history, path, **options):
    with Repository(history.path) as repository:
        return Dataset.load(repository, path, **options)


@pytest.mark.parametrize("ranks", [f"2:{WIDGET_PATH} 2:B.java", "0:B.java", "9:B.java"])
def test_published_ranks_that_cannot_be(repository, tmp_path, ranks):
    data = load(
        repository,
        write_spreadsheet(
            tmp_path / "a.xlsx", commit_fixes(repository), [ranks, *PUBLISHED_RANKS[1:]]
        ),
    )
    with pytest.raises(
        ReportError, match=r"report 1: the published ranks .* are impossible for 3 files"
    ):
        data.published_ranks(data.cases)


def test_cases(history, tmp_path):
    first, second, third, fourth = history.commits
    path = lines(
        tmp_path,
        report("1", "f" * 40, ["B.java"]),
        report("34", third[:8], ["B.java", "y/c/E.java"], 1),
        report("12", second, ["a b/A.java", "New.java", "a b/A.java"]),
        report("12", fourth, ["y/c/D.java"], 4, description=None),
        report("2", first, ["B.java"]),
        report(
            "5", None, ["B.java", "New.java"], version=second[:9]
        ),  # that is searched itself, not its parent
        report("6", None, ["B.java"], version="0" * 40),
    )
    data = load(history, path)
    found = [
        (one.report.id, one.fix_commit, one.before_commit, one.listed, one.fixed)
        for one in data.cases
    ]
    assert found == [
        ("5", "", second, ("B.java", "New.java"), ("B.java", "New.java")),
        ("12", second, first, ("New.java", "a b/A.java"), ("a b/A.java",)),
        ("34", third, second, ("B.java", "y/c/E.java"), ("B.java",)),
        ("12#2", fourth, third, ("y/c/D.java",), ("y/c/D.java",)),
    ]
    assert data.cases[1].fixed_at == START + HOUR
    assert data.files == {"5": 3, "12": 2, "34": 3, "12#2": 6}
    assert data.unresolved == ("1", "2", "6")
    rows = {row["part"]: list(row.values())[1:] for row in data.describe()}
    assert rows["all"] == [4, 7, 5, 0, 1, 1, 3.5, 3, 0]
    assert rows["test"] == [1, 1, 1, 0, 1, 1, 6.0, 0, 0]
    for more, what in (({}, "fix"), ({"version": "0" * 40}, "version")):
        with pytest.raises(
            ReportError, match=rf"none of its 1 report has a {what} in .*; is it the right repo"
        ):
            load(
                history,
                lines(tmp_path, report("1", None if more else "f" * 40, ["B.java"], **more)),
            )


@pytest.mark.parametrize("label", ["HEAD@{99999}", "main@{u}", ":/nothing"])
def test_a_label_that_names_no_commit_leaves_the_other_reports(history, tmp_path, label):
    good = report("1", history.commits[1], ["B.java"])
    data = load(history, lines(tmp_path, report("7", label, ["B.java"]), good))
    assert [case.report.id for case in data.cases] == ["1"]
    assert data.unresolved == ("7",)


def test_a_version_that_cannot_be_read_is_named_with_its_report(history, tmp_path):
    version = history.commits[1]
    path = lines(tmp_path, report("7", None, ["B.java"], version=version))
    history.lose(f"{version}^{{tree}}")
    with pytest.raises(RepositoryError, match=r"reports\.jsonl: report 7: .*git ls-tree failed"):
        load(history, path)


def test_merge_counts_from_its_first_parent(repository, tmp_path):
    root = repository.commit({"A.java": "1"})
    side = repository.commit({"Side.java": "1"}, parents=[root])
    main = repository.commit({"Main.java": "1"}, parents=[root])
    merge = repository.commit({"Side.java": "1"}, "merge", parents=[main, side])
    [case] = load(repository, lines(tmp_path, report("1", merge, ["Side.java", "Main.java"]))).cases
    assert case.before_commit == main
    assert case.fixed == ("Main.java",)


def found_for(repository, folder, bug, fixed, files):
    """Return the cases of BugLocator's file of one bug with its date of fixing.

    The bug was opened at START.
    """
    named = "".join(f"<file>{file}</file>" for file in files)
    dates = f'opendate="{iso(0)}" fixdate="{fixed}"'
    text = f'<bug id="{bug}" {dates}><fixedFiles>{named}</fixedFiles></bug>'
    (folder / "bugs.xml").write_text(f'<bugrepository name="p">{text}</bugrepository>', "utf-8")
    return load(repository, folder / "bugs.xml").cases[0]


def test_class_names_stand_for_the_one_file_that_ends_with_them(history, tmp_path):
    # before the last commit there are x/c/D.java and y/c/D.java, but one c/E.java
    names = ["c.E.java", "c.D.java", "x.c.D.java", "c.Gone.java", "B.java", "E.java"]
    case = found_for(history, tmp_path, "P-112", "", names)
    assert case.fix_commit == history.commits[2]
    case = found_for(history, tmp_path, "34", "", names)
    assert case.fix_commit == history.commits[3]
    assert case.fixed == ("B.java", "x/c/D.java", "y/c/E.java")
    assert case.listed == (
        "B.java",
        "E.java",
        "c.D.java",
        "c.Gone.java",
        "x/c/D.java",
        "y/c/E.java",
    )
    with pytest.raises(ReportError, match="none of its 1 report has a fix"):
        found_for(history, tmp_path, "2", "", ["B.java"])


def test_which_commit_means_a_bug(repository, tmp_path):
    for number, (message, hours) in enumerate(MESSAGES):
        repository.commit({"A.java": f"{number}"}, message, when=START + hours * HOUR)
    for bug, fixed, meant in (
        ("12", -79, 2),
        ("12", -1, 2),
        ("PROJ-12", 1, 3),
        ("PROJ-12", 3, 3),
        ("13", 9, 4),
    ):
        assert (
            found_for(repository, tmp_path, bug, iso(fixed), ["A.java"]).fix_commit
            == repository.commits[meant]
        )


MESSAGES = (
    ("start", -90),
    ("bug 12", -80),  # long before the report: something else
    ("Bug 12: repair A", -1),
    ("PROJ-12: another tracker", 1),
    ("allow 12 or 13 rows", 2),  # mere numbers
)


def case(number, fixed_at=None, commit="c", opened=0):
    asked = BugReport(str(number), "s", "", datetime.fromtimestamp(opened, UTC))
    return Case(asked, commit, "v", number if fixed_at is None else fixed_at, ("A.java",), ())


def test_the_chronological_split():
    for size, *parts in ((1056, 844, 106, 106), (4151, 3320, 415, 416), (1, 0, 0, 1)):
        assert list(map(len, Dataset((case(0),) * size, (), {}, {}).split().values())) == [
            size,
            *parts,
        ]
    cases = [
        case(3, 10, "b"),
        case(1, 20, "a"),
        case(2, 10, "b"),
        case(9, 10, "a"),
        case(4, 5, "z"),
    ]
    # The order is by time of the fix, then commit, then report.
    in_order = tuple(sorted(cases, key=Case.fix_order))
    split = Dataset(in_order, (), {}, {}).split(0.7, 0.1)
    ids = {name: "".join(item.report.id for item in part) for name, part in split.items()}
    assert ids == {"all": "49231", "train": "492", "validation": "3", "test": "1"}
    in_order = tuple(map(case, range(10)))
    assert Dataset(in_order, (), {}, {}).oldest(0.55).cases == in_order[:5]


def test_a_language_is_searched_where_a_tenth_of_the_reports_fixed_it(tmp_path):
    def of(fixed, config):
        return resolve_suffixes(
            config,
            lines(tmp_path, *(report(str(n), "f" * 40, files) for n, files in enumerate(fixed))),
        )

    javascript = (".cjs", ".js", ".mjs")
    for fixed, suffixes in (
        ([["src/A.JAVA", "README.md"], ["pom.xml"]], (".java",)),
        ([["a.js"]] * 10 + [["b.lua", "c.lua", "d.lua"]], javascript),
        ([["a.js", "b.py"]] + [["a.js", "b.md"]] * 10 + [["c.md"]] * 99, javascript),
    ):
        assert of(fixed, Config()).data.suffixes == suffixes
    for named in ([".java", ".js"], []):  # what settings name stands
        config = Config.of({"data": {"suffixes": named}}, "my.toml")
        assert of([["a.js"]], config) == config
    with pytest.raises(ReportError, match=r"no listed file has one of the \d+ searched suffixes"):
        of([["a.md"]], Config())
    with pytest.raises(ReportError, match="the reports list no file of a kind that is searched"):
        of([["a.json"], ["Makefile"]], Config())


def test_configuration_is_searched_where_more_reports_fixed_it_than_sources(tmp_path):
    def suffixes(*fixed):
        reports = [report(str(number), "f" * 40, files) for number, files in enumerate(fixed)]
        return resolve_suffixes(Config(), lines(tmp_path, *reports)).data.suffixes

    tasks = ["roles/a/tasks/main.yml"]
    assert suffixes(tasks, tasks, ["a.py"]) == (".py", ".pyi", ".pyw", ".yaml", ".yml")
    assert suffixes(tasks, ["a.py", "b.yml"], ["a.py"]) == (".py", ".pyi", ".pyw")
    assert suffixes(tasks, ["a.json"], ["a.json"]) == (".yaml", ".yml")
