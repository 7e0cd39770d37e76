"""Labelled reports resolved in small real repositories, and cut into what is learned from and measured on."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.conftest import GitRepository, git_environment
from tests.published_toy import RESULTS, SWT, fixes, spreadsheet
from tosloc.cli import main
from tosloc.config import Config
from tosloc.errors import ConfigError, ReportError
from tosloc.git.repository import CommitInfo, Repository
from tosloc.records import BugReport, Case, Snapshot
from tosloc.reports.labelled import Dataset, chronological, describe, load_dataset, published_ranks, settled

START = 1_000_000_000
HOUR = 3600


def iso(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")


def report(
    bug: str, commit: str | None, fixed: Sequence[str], opened: int = START, **more: object
) -> dict[str, object]:
    made: dict[str, object] = {"id": bug, "summary": f"bug {bug}", "description": "it fails", "opened": iso(opened)}
    return made | {"fix_commit": commit, "fixed": list(fixed)} | more


def lines(folder: Path, *reports: dict[str, object]) -> Path:
    path = folder / "reports.jsonl"
    path.write_text("\n".join(json.dumps(item) for item in reports), "utf-8")
    return path


@pytest.fixture
def history(repository: Any) -> Any:
    """Four commits an hour apart; ``ids`` are their ids."""
    ids = [
        repository.commit({"a b/A.java": "1", "B.java": "1", "notes.txt": "1"}, "start"),
        repository.commit({"a b/A.java": "2", "New.java": "1"}, "Bug 12: repair A"),
        repository.commit({"B.java": "2", "x/c/D.java": "1", "y/c/D.java": "1", "y/c/E.java": "1"}, "Fix 34 and 112"),
        repository.commit({"B.java": None, "x/c/D.java": "2"}, "remove, see 34"),
    ]
    return SimpleNamespace(path=repository.path, ids=ids)


def load(history: Any, path: Path, **options: Any) -> Dataset:
    with Repository(history.path) as repository:
        return load_dataset(repository, path, **options)


def test_cases(history: Any, tmp_path: Path) -> None:
    first, second, third, fourth = history.ids
    path = lines(
        tmp_path,
        report("34", third[:8], ["B.java", "y/c/E.java"], START + HOUR),
        report("12", second, ["a b/A.java", "New.java", "a b/A.java"]),
        report("12", fourth, ["y/c/D.java"], START + 4 * HOUR, description=None),
    )
    data = load(history, path)
    assert [case.report.id for case in data.cases] == ["12", "34", "12#2"]
    one, two, three = data.cases
    assert (one.fix_commit, one.version, one.fixed_at) == (second, first, START + HOUR)
    assert (one.listed, one.fixed) == (("New.java", "a b/A.java"), ("a b/A.java",))
    assert (two.fix_commit, two.fixed) == (third, ("B.java",))
    assert (three.version, three.fixed) == (third, ("y/c/D.java",))
    assert data.files == {"12": 2, "34": 3, "12#2": 6}
    assert data.unresolved == ()
    with pytest.raises(ReportError, match=r"no fix of its 1 report is in .*is it the right one"):
        load(history, lines(tmp_path, report("1", "f" * 40, ["B.java"])))
    with pytest.raises(ReportError, match=r"no version of its 1 report is in .*; is it the right one"):
        load(history, lines(tmp_path, report("1", None, ["B.java"], version="0" * 40)))
    assert data.labelled["12#2"].bug == "12"
    columns = ("reports", "listed", "existing", "empty", "no description", "opened after fix")
    rows = {row["part"]: tuple(row[column] for column in columns) for row in describe(data)}
    assert rows["all"] == (3, 5, 3, 0, 1, 1)
    assert rows["test"] == (1, 1, 1, 0, 1, 1)


def test_reports_opened_before_train_ended() -> None:
    def case(number: int, opened: int) -> Case:
        report = BugReport(str(number), "s", "", datetime.fromtimestamp(opened, UTC))
        return Case(report, str(number), "v", 100 + number, ("A.java",), ("A.java",))

    opened = [*range(8), 107, 106]  # the last fix of train is of 107
    cases = tuple(case(number, when) for number, when in enumerate(opened))
    rows = describe(Dataset(cases, (), {}, {case.report.id: 1 for case in cases}))
    told = {row["part"]: row["before train ended"] for row in rows}
    assert told == {"all": 0, "train": 0, "validation": 0, "test": 1}


def test_what_cannot_be_resolved_is_kept(history: Any, tmp_path: Path) -> None:
    first, second, *_ = history.ids
    path = lines(
        tmp_path,
        report("1", "f" * 40, ["B.java"]),
        report("12", second, ["B.java"]),
        report("2", first, ["B.java"]),
        report("3", "not a commit", ["B.java"]),
    )
    data = load(history, path)
    assert [case.report.id for case in data.cases] == ["12"]
    assert data.unresolved == ("1", "2", "3")
    assert describe(data)[0]["unresolved"] == 3


def test_merge_counts_from_its_first_parent(repository: Any, tmp_path: Path) -> None:
    root = repository.commit({"A.java": "1"})
    side = repository.commit({"Side.java": "1"}, parents=[root])
    main = repository.commit({"Main.java": "1"}, parents=[root])
    merge = repository.commit({"Side.java": "1"}, "merge", parents=[main, side])
    data = load(repository, lines(tmp_path, report("1", merge, ["Side.java", "Main.java"])))
    assert (data.cases[0].version, data.cases[0].fixed) == (main, ("Main.java",))


class Ambiguous:
    """A repository in which the abbreviation ``abcd`` means two commits: real ones collide too rarely."""

    path, path_names = Path("somewhere"), Snapshot.of("v", 0, {"A.java": "b"}).path_names

    def __init__(self, **messages: str) -> None:
        self.messages = messages

    def resolve_many(self, revisions: Sequence[str]) -> dict[str, str | None]:
        return dict.fromkeys(revisions)

    def candidates(self, abbreviation: str) -> list[str]:
        return list(self.messages)

    def commits(self, ids: Sequence[str]) -> list[CommitInfo]:
        return [CommitInfo(item, "t", ("v",), 5, self.messages[item]) for item in ids]

    def snapshot(self, revision: str, suffixes: frozenset[str]) -> Snapshot:
        return Snapshot.of(revision, 4, {"A.java": "b"})


def test_ambiguous_abbreviation(tmp_path: Path) -> None:
    path = lines(tmp_path, report("12", "abcd", ["A.java"]))
    one = cast(Repository, Ambiguous(abcd1="fix 112", abcd2="fix #12."))
    assert load_dataset(one, path).cases[0].fix_commit == "abcd2"
    both = cast(Repository, Ambiguous(abcd1="Bug 12", abcd2="fix #12."))
    with pytest.raises(ReportError, match="no fix of its 1 report is in"):
        load_dataset(both, path)


def repository_of_bugs(folder: Path, *bugs: tuple[str, str, Sequence[str]]) -> Path:
    """BugLocator's file of (id, date of fixing or "", files); all opened at START."""
    texts = ""
    for bug, fixed, files in bugs:
        named = "".join(f"<file>{file}</file>" for file in files)
        texts += f'<bug id="{bug}" opendate="{iso(START)}" fixdate="{fixed}"><fixedFiles>{named}</fixedFiles></bug>'
    path = folder / "bugs.xml"
    path.write_text(f'<bugrepository name="p">{texts}</bugrepository>', "utf-8")
    return path


def test_fix_found_by_message_and_date(history: Any, tmp_path: Path) -> None:
    _, second, third, fourth = history.ids
    near, far = iso(START + 2 * HOUR + 60), iso(START + 30 * HOUR)
    for bug, fixed, commit in [
        ("12", "", second),
        ("34", near, third),
        ("34", far, fourth),
        ("34", "", fourth),
        ("P-112", "", third),
    ]:
        data = load(history, repository_of_bugs(tmp_path, (bug, fixed, ["c.E.java"])))
        assert data.cases[0].fix_commit == commit
    data = load(history, repository_of_bugs(tmp_path, ("12", "", ["B.java"]), ("2", "", ["B.java"])))
    assert data.unresolved == ("2",)


def test_commit_long_before_the_report_names_something_else(repository: Any, tmp_path: Path) -> None:
    repository.commit({"A.java": "1"}, when=START - 90 * HOUR)
    repository.commit({"A.java": "2"}, "version 12", when=START - 80 * HOUR)
    fix = repository.commit({"A.java": "3"}, "bug 12", when=START - HOUR)
    path = repository_of_bugs(tmp_path, ("12", iso(START - 79 * HOUR), ["A.java"]))
    assert load(repository, path).cases[0].fix_commit == fix


def test_commit_that_names_a_bug_comes_before_a_mere_number(repository: Any, tmp_path: Path) -> None:
    repository.commit({"A.java": "1"}, "start")
    fix = repository.commit({"A.java": "2"}, "Bug 12: repair A")
    other = repository.commit({"A.java": "3"}, "PROJ-12: another tracker")
    mere = repository.commit({"A.java": "4"}, "allow 12 rows")
    for bug, commit in [("12", fix), ("PROJ-12", other)]:
        path = repository_of_bugs(tmp_path, (bug, iso(START + HOUR), ["A.java"]))
        assert load(repository, path).cases[0].fix_commit == commit
    path = repository_of_bugs(tmp_path, ("PROJ-12", iso(START + 3 * HOUR), ["A.java"]))
    assert load(repository, path).cases[0].fix_commit == other != mere


def test_class_names(history: Any, tmp_path: Path) -> None:
    # before the last commit there are x/c/D.java and y/c/D.java, but one c/E.java
    names = ["c.E.java", "c.D.java", "x.c.D.java", "c.Gone.java", "B.java", "E.java"]
    case = load(history, repository_of_bugs(tmp_path, ("34", iso(START + 3 * HOUR), names))).cases[0]
    assert case.listed == ("B.java", "E.java", "c.D.java", "c.Gone.java", "x/c/D.java", "y/c/E.java")
    assert case.fixed == ("B.java", "x/c/D.java", "y/c/E.java")


def test_the_oldest_share_is_cut_as_the_split_is():
    cases = tuple(f"case {number}" for number in range(11))
    whole = Dataset(cases, (), {}, {})  # type: ignore[arg-type]
    assert len(whole.oldest(0.5).cases) == 5
    assert whole.oldest(0.5).cases == cases[:5]
    assert whole.oldest(1.0).cases == cases


def test_reports_may_name_the_version_to_search(history: Any, tmp_path: Path) -> None:
    first, second, third, _ = history.ids
    path = lines(
        tmp_path,
        report("1", None, ["B.java", "New.java"], version=second[:9]),
        report("2", third, ["B.java"]),
        report("3", None, ["B.java"], version="0" * 40),
        report("4", None, ["B.java"], version="no-such-branch"),
        report("5", None, ["B.java"], version=first),
    )
    data = load(history, path)
    assert [case.report.id for case in data.cases] == ["5", "1", "2"]
    by_id = {case.report.id: case for case in data.cases}
    # the version itself, not its parent; without a fix
    assert (by_id["1"].version, by_id["1"].fix_commit, by_id["1"].fixed_at) == (second, "", START + HOUR)
    assert by_id["1"].fixed == ("B.java", "New.java")
    assert by_id["5"].version == first
    assert by_id["2"].version == second
    assert data.unresolved == ("3", "4")
    assert describe(data)[0]["unresolved"] == 2


def test_published_ranks_of_the_files_that_exist(repository: Any, tmp_path: Path) -> None:
    ids = fixes(repository)
    with Repository(repository.path) as repo:
        for result, sentence in (
            (f"2:{SWT} 2:B.java", "report 1: two fixed files have the same published rank"),
            ("0:B.java", "report 1: B.java has the published rank 0, among 3 files"),
            (None, ""),
        ):
            data = load_dataset(repo, spreadsheet(tmp_path / "a.xlsx", ids, [result, *RESULTS[1:]]))
            if sentence:
                with pytest.raises(ReportError, match=sentence):
                    published_ranks(data, data.cases)
            else:
                assert published_ranks(data, data.cases) == {"2": {SWT: 2}, "3": {"B.java": 4}, "4": {}}


def case(number: int, fixed_at: int | None = None, commit: str = "c") -> Case:
    report = BugReport(str(number), "s", "", datetime(2020, 1, 1, tzinfo=UTC))
    return Case(report, commit, "v", number if fixed_at is None else fixed_at, ("A.java",), ())


@pytest.mark.parametrize(
    ("size", "train", "validation", "test"),
    [(1056, 844, 106, 106), (4151, 3320, 415, 416), (6274, 5019, 627, 628), (10, 8, 1, 1), (1, 0, 0, 1), (0, 0, 0, 0)],
)
def test_sizes_of_the_chronological_split(size: int, train: int, validation: int, test: int) -> None:
    splits = chronological([case(number) for number in range(size)])
    assert (len(splits.train), len(splits.validation), len(splits.test)) == (train, validation, test)


def test_order_is_by_time_of_fix_then_commit_then_report() -> None:
    cases = [case(3, 10, "b"), case(1, 20, "a"), case(2, 10, "b"), case(9, 10, "a"), case(4, 5, "z")]
    splits = chronological(cases, 0.6, 0.2)
    parts = (splits.train, splits.validation, splits.test)
    assert [[item.report.id for item in part] for part in parts] == [["4", "9", "2"], ["3"], ["1"]]
    for shares in ((0.9, 0.1), (-0.1, 0.5), (0.5, -0.1)):
        with pytest.raises(ConfigError, match="their sum below 1"):
            chronological(cases, *shares)


# ---- which files a training searches: those that its settings name, else those of the languages that reports fixed

JAVASCRIPT = (".cjs", ".js", ".mjs")


def fixing(folder: Path, fixed: list[list[str]]) -> Path:
    """A file of reports that fixed these files."""
    return lines(folder, *(report(str(number), "f" * 40, files) for number, files in enumerate(fixed)))


@pytest.mark.parametrize(
    ("fixed", "suffixes"),
    [
        ([["src/A.JAVA", "README.md"], ["pom.xml"]], (".java",)),
        ([["a.js"]] * 9 + [["b.lua"]], (".cjs", ".js", ".lua", ".mjs")),
        ([["a.js"]] * 10 + [["b.lua", "c.lua", "d.lua"]], JAVASCRIPT),
        ([["a.js", "b.py"]] + [["a.js", "b.md"]] * 10 + [["c.md"]] * 99, JAVASCRIPT),
    ],
)
def test_a_language_is_searched_where_a_tenth_of_the_reports_fixed_it(
    tmp_path: Path, fixed: list[list[str]], suffixes: tuple[str, ...]
) -> None:
    assert settled(Config(), fixing(tmp_path, fixed)).data.suffixes == suffixes


def test_what_settings_name_stands(tmp_path: Path) -> None:
    path = fixing(tmp_path, [["a.js"]])
    for suffixes in ([".java", ".js"], []):
        config = Config.of({"data": {"suffixes": suffixes}}, "my.toml")
        assert settled(config, path) == config


def test_reports_that_fixed_no_source(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = fixing(tmp_path, [["a.md"]])
    git = GitRepository(tmp_path, False, git_environment(tmp_path))
    git.git("init", "-q")
    given = ["--repo", str(tmp_path), "--reports", str(path)]
    assert main(["train", *given, "--out", str(tmp_path / "out")]) == 2
    assert "no listed file ends with a suffix that TosLoc knows; name its source suffixes" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
