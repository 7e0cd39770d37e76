"""The commands in process, against stand-ins for the work that they call."""

import errno
import io
import json
import os
import subprocess
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

import numpy as np
import pytest

import tosloc
from tests.conftest import GitRepository
from tosloc.answer import Answer, Searched
from tosloc.cli import commands, main
from tosloc.config import Config
from tosloc.errors import StoreError
from tosloc.evaluate import Judgement, write_judgements, write_run
from tosloc.records import BugReport, Hit, Ranking, Reason

LONG = "java/org/apache/catalina/core/deeply/nested/packages/of/a/large/project/StandardContext.java"


@dataclass
class Built:
    files: int
    seconds: float


@dataclass
class FakeLocalizer:
    hits: list[Hit]
    notes: tuple[str, ...] = ()
    asked: list[dict[str, Any]] = field(default_factory=list)
    version_: Any = None
    repository = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def localize_many(
        self, reports: Sequence[BugReport], *, top: int, progress: Any, **options: Any
    ) -> Iterator[Answer]:
        for report in reports:
            self.asked.append({"report": report, **options})
            progress("ranking", 1, 1)
            when = datetime(2014, 1, 15, 7, 30, tzinfo=UTC)
            asked = BugReport("bug", "Context does not start", "", None)
            yield Answer("there", "c" * 40, when, asked, Searched(2, 1), tuple(self.hits[:top]), self.notes)


HITS = [
    Hit(1, LONG, 2.5, 0.9, (), (Reason("frame", "first frame of the trace"), Reason("words", "context start " * 20))),
    Hit(2, "caf\udce9/[bold]\x1b.java", 0.25, 0.1),
    Hit(3, "C.java", -1.0, 0.0),
]


@pytest.fixture
def localizer(monkeypatch: pytest.MonkeyPatch) -> FakeLocalizer:
    fake = FakeLocalizer(HITS, ("no word of the report occurs in the files",))

    class Localizer:
        @staticmethod
        def load(folder: Path) -> FakeLocalizer:
            fake.asked.append({"loaded": folder})
            return fake

        @staticmethod
        def open(path: Path, checkpoint: Path | None, **options: Any) -> FakeLocalizer:
            fake.asked.append({"opened": path, "checkpoint": checkpoint, **options})
            return fake

    module = types.ModuleType("tosloc.localizer")
    module.Localizer = Localizer  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "tosloc.localizer", module)
    return fake


@pytest.fixture
def experiment(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, Callable[..., Any]], None]:
    modules = {name: types.ModuleType(name) for name in ("tosloc.experiment", "tosloc.training")}
    modules["tosloc.training"].configured_reranker = lambda config: None  # type: ignore[attr-defined]
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
        monkeypatch.setattr(name, module, raising=False)

    def replace(name: str, function: Callable[..., Any]) -> None:
        setattr(modules["tosloc.training" if name == "train" else "tosloc.experiment"], name, function)

    return replace


@pytest.fixture
def report(tmp_path: Path) -> Path:
    path = tmp_path / "bug.md"
    path.write_text("Context does not start\n\nIt says nothing.")
    return path


def write_split(folder: Path) -> None:
    rankings = [Ranking(bug, ("A.java", "B.java"), np.array([2.0, 1.0])) for bug in ("1", "2")]
    write_run(folder / "run.jsonl.gz", {}, rankings)
    judgements = [Judgement("1", ("A.java",), ("A.java",), 2), Judgement("2", ("B.java",), ("B.java", "N.java"), 2)]
    write_judgements(folder / "qrels.jsonl", judgements)


def test_localize_prints_exactly_an_answer(
    localizer: FakeLocalizer, repository: GitRepository, report: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["localize", "--repo", str(repository.path), "--report", str(report), "--top", "2", "--json"]
    assert main(arguments) == 0
    printed = capsys.readouterr()
    answer = json.loads(printed.out)
    assert 0 <= answer.pop("seconds") < 60
    assert answer == {
        "schema": "tosloc.answer/1",
        "tosloc": tosloc.__version__,
        "repository": "there",
        "commit": "c" * 40,
        "committed": "2014-01-15T07:30:00Z",
        "report": {"id": "bug", "summary": "Context does not start", "opened": None},
        "searched": {"files": 2, "hidden_tests": 1},
        "hits": [
            {
                "rank": 1,
                "path": LONG,
                "score": 2.5,
                "share": 0.9,
                "functions": [],
                "why": [
                    {"kind": "frame", "text": "first frame of the trace"},
                    {"kind": "words", "text": "context start " * 20},
                ],
            },
            {"rank": 2, "path": "caf\udce9/[bold]\x1b.java", "score": 0.25, "share": 0.1, "functions": [], "why": []},
        ],
        "notes": ["no word of the report occurs in the files"],
    }
    assert printed.err == "tosloc: no word of the report occurs in the files\n"
    opened, asked = localizer.asked
    assert opened == {"opened": repository.path, "checkpoint": None, "commit": None, "store": None}
    assert asked.pop("report").summary == "Context does not start"
    assert asked == {"commit": "HEAD", "include": (), "exclude": (), "tests": False, "functions": 3}


def test_when_the_report_was_opened_can_be_stated(
    localizer: FakeLocalizer, repository: GitRepository, report: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["localize", "--repo", str(repository.path), "--report", str(report)]
    assert main(arguments) == main([*arguments, "--opened", "2014-01-15 07:30"]) == 0
    opened = [asked["report"].opened for asked in localizer.asked[1::2]]
    assert opened == [None, datetime(2014, 1, 15, 7, 30, tzinfo=UTC)]
    assert main([*arguments, "--opened", "soon"]) == 2
    assert "--opened: 'soon' is no time" in capsys.readouterr().err


def test_localize_table_keeps_paths_whole_and_controls_out(
    localizer: FakeLocalizer, report: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    localizer.version_ = "carried"
    assert main(["localize", "--checkpoint", "my/checkpoint", "--report", str(report)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:4] == [
        "bug: Context does not start",
        "2 files of cccccccccc, 2014-01-15; 1 test file hidden (--tests)",
        f"1   90%  {LONG}",
        "    first frame of the trace",
    ]
    assert lines[5:] == ["2   10%  caf\\xe9/[bold]\\x1b.java", "3    0%  C.java"]
    assert localizer.asked[0] == {"loaded": Path("my/checkpoint")}
    assert len(localizer.asked) == 2


def test_a_report_from_standard_input(
    localizer: FakeLocalizer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"NPE in Valve\n")))
    arguments = ["localize", "--repo", "/r", "--checkpoint", "c", "--report", "-", "--commit", "v1", "--store", "s.db"]
    assert main(arguments) == 0
    opened, asked = localizer.asked
    assert opened == {"opened": Path("/r"), "checkpoint": Path("c"), "commit": None, "store": Path("s.db")}
    assert (asked["report"].summary, asked["commit"]) == ("NPE in Valve", "v1")


def test_without_repository_and_checkpoint_the_current_folder_is_searched(
    localizer: FakeLocalizer, repository: GitRepository, report: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repository.path)
    assert main(["localize", "--report", str(report)]) == 0
    assert localizer.asked[0]["opened"] == repository.path


@pytest.mark.parametrize("commit", ["v1", "HEAD"])
def test_a_commit_is_one_of_a_repository_and_not_what_a_checkpoint_carries(
    commit: str,
    localizer: FakeLocalizer,
    repository: GitRepository,
    report: Path,
    plain_folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    localizer.version_ = "carried"
    asking = ["localize", str(report), "--checkpoint", "c", "--commit", commit]
    monkeypatch.chdir(repository.path)
    assert main(asking) == 0
    opened, asked = localizer.asked
    assert (opened["opened"], asked["commit"]) == (repository.path, commit)
    capsys.readouterr()
    monkeypatch.chdir(plain_folder)
    assert main(asking) == 2
    assert "not in a git repository; go to one, or name it with --repo" in capsys.readouterr().err


def test_train_calls_the_experiment_and_prints_validation(
    experiment: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    called: dict[str, Any] = {}

    def train(
        config: Config, repo: Path, reports: Path, out: Path, store: Path | None, progress: Any, **options: Any
    ) -> Any:
        called.update(options, config=config, repo=repo, reports=reports, out=out, store=store, progress=progress)
        write_split(out / "validation")
        settled = Config.of({"data": {"suffixes": [".js", ".mjs"]}}, "settled")
        return types.SimpleNamespace(provenance_={"splits": {"validation": 2}}, choice_=None, config=settled)

    experiment("train", train)
    (tmp_path / "my.toml").write_text("[run]\nseed = 9")
    out = tmp_path / "out"
    assert main(["train", str(tmp_path / "my.toml"), "--repo", "r", "--reports", "x", "--out", str(out)]) == 0
    assert called.pop("progress")("", 0, 0) is None
    assert called.pop("config") == Config.of({"run": {"seed": 9}}, "here")
    paths = {"repo": Path("r"), "reports": Path("x"), "out": out, "store": None}
    assert called == paths | {"carry": True, "keep_features": False}
    printed = capsys.readouterr()
    assert printed.out.splitlines()[1].split() == ["all", "reports", "validation", "[95", "%]"]
    assert printed.err.splitlines() == [
        "tosloc: the files searched are .js .mjs, as the reports' fixed files are",
        f"tosloc: for the test reports, run: tosloc evaluate {out} --split test",
    ]


def test_rank_and_index_call_the_experiment(
    experiment: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    called: list[dict[str, Any]] = []
    experiment("rank_reports", lambda **options: called.append(options))

    def index(**options: Any) -> Built:
        called.append(options)
        return Built(1536, 1.25)

    experiment("index", index)
    common = ["--repo", "r", "--store", "s"]
    assert main(["rank", *common, "--checkpoint", "c", "--reports", "x", "--out", str(tmp_path), "--split", "all"]) == 0
    assert main(["rank", *common, "--reports", "x", "--out", str(tmp_path)]) == 0
    (tmp_path / "my.toml").write_text("[run]\nseed = 9")
    assert main(["index", *common, "--commit", "v1", "--config", str(tmp_path / "my.toml")]) == 0
    assert main(["index", *common, "--json"]) == 0
    for one in called:
        del one["progress"]
    ranked = {
        "functions": False,
        "repo_path": Path("r"),
        "reports_path": Path("x"),
        "out": tmp_path,
        "store_path": Path("s"),
        "config": None,
    }
    indexed = {"repo_path": Path("r"), "store_path": Path("s")}
    assert called == [
        {**ranked, "checkpoint": Path("c"), "split": "all"},
        {**ranked, "checkpoint": None, "split": "validation"},
        {**ranked, "checkpoint": None, "split": "test"},
        {**indexed, "revision": "v1", "config": Config.of({"run": {"seed": 9}}, "here")},
        {**indexed, "revision": "HEAD", "config": None},
    ]
    text, _, last = capsys.readouterr().out.partition("{")
    assert [line.split() for line in text.splitlines() if "." in line or "," in line] == [
        ["files", "1,536"],
        ["seconds", "1.250"],
    ]
    assert json.loads("{" + last) == {"files": 1536, "seconds": 1.25}


def test_index_takes_the_repository_around_the_folder(
    experiment: Any, repository: GitRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    called: list[Path] = []

    def index(**options: Any) -> Built:
        called.append(options["repo_path"])
        return Built(1, 1.0)

    experiment("index", index)
    repository.commit({"src/A.java": "class A {}"})
    monkeypatch.chdir(repository.path / "src")
    assert main(["index", "--json"]) == 0
    assert called == [repository.path]


def test_data_prints_counts_of_every_part(
    repository: GitRepository, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    repository.commit({"A.java": "class A {}"})
    fix = repository.commit({"A.java": "class A { int x; }", "B.java": "class B {}"})
    line = {"id": "1", "summary": "s", "description": "d", "opened": "2001-01-01T00:00:00Z", "fix_commit": fix}
    (tmp_path / "bugs.jsonl").write_text(json.dumps({**line, "fixed": ["A.java", "B.java"]}) + "\n")
    arguments = ["data", "--repo", str(repository.path), "--reports", str(tmp_path / "bugs.jsonl")]
    assert main([*arguments, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {key: rows[0][key] for key in ("part", "reports", "listed", "existing")} == {
        "part": "all",
        "reports": 1,
        "listed": 2,
        "existing": 1,
    }
    assert main(arguments) == 0
    printed = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert printed[1] == ["part", "all", "train", "validation", "test"]
    assert ["listed", "2"] in [row[:2] for row in printed]
    assert set(rows[0]) - {"part"} == set(commands._COUNTED)  # each count is explained
    assert ["reports", "left", "without", "any"] == next(row for row in printed if row[:1] == ["empty"])[5:]
    assert main(["index", "--repo", str(repository.path), "--store", str(tmp_path / "facts")]) == 0
    printed = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [row[0] for row in printed if row and row[0] in commands._INDEXED] == list(commands._INDEXED)
    assert ["known", "0", "were", "analysed", "before"] in printed


def raising(error: BaseException) -> Callable[..., None]:
    def work(**options: Any) -> None:
        raise error

    return work


FULL = "no room left on the disk; make room and run the same command again to go on"


@pytest.mark.parametrize(
    ("error", "code", "sentence"),
    [
        (
            StoreError("facts.db: made by a newer TosLoc;\nname another"),
            2,
            "facts.db: made by a newer TosLoc; name another",
        ),
        (OSError(errno.ENOSPC, "No space left on device", "/x/facts.db"), 2, f"/x/facts.db: {FULL}"),
        (OSError(errno.ENOSPC, "No space left on device"), 2, FULL),
        (PermissionError(errno.EACCES, "Permission denied", "/x"), 2, "/x: Permission denied"),
    ],
)
def test_an_error_is_one_sentence(
    experiment: Any, capsys: pytest.CaptureFixture[str], error: BaseException, code: int, sentence: str
) -> None:
    experiment("index", raising(error))
    assert main(["index", "--repo", "r"]) == code
    assert capsys.readouterr() == ("", f"tosloc: {sentence}\n")


def test_our_own_mistakes_are_not_hidden(experiment: Any) -> None:
    experiment("index", raising(ZeroDivisionError("a defect")))
    with pytest.raises(ZeroDivisionError, match="a defect"):
        main(["index", "--repo", "r"])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["evaluate", "nowhere", "--json"], "nowhere: no such file or folder; check the path of the run"),
        (["evaluate", "nowhere", "--split", "tset"], "tset"),
        (["localize", "--repo", "nowhere"], "no report is given"),
        (["localize", "--report", "nowhere.md"], "nowhere.md"),
        (["localize", "--report", "x", "--top", "0"], "--top"),
        (["data", "--repo", "nowhere", "--reports", "x"], "nowhere"),
        (["train", "nowhere.toml", "--repo", "r", "--reports", "x", "--out", "o"], "nowhere.toml: cannot read"),
        (["train", "--repo", "r", "--reports", "x", "--out", __file__], "is a file"),
        (["nonsense"], "nonsense"),
    ],
)
def test_wrong_input_ends_with_two(
    experiment: Any,
    localizer: FakeLocalizer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    words: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert words in printed.err
    assert "Traceback" not in printed.err
    assert list(tmp_path.iterdir()) == []


def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == "tosloc 0.1.0\n"
    assert main(["--help"]) == 0
    names = ("localize", "index", "train", "rank", "evaluate", "compare", "data")
    printed = capsys.readouterr().out
    for name in names:
        assert f"\n  {name} " in printed
        assert main([name, "--help"]) == 0


def test_help_of_the_laboratory_is_plain_text_like_all_other(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lab", "train-encoder", "--help"]) == 0
    printed = capsys.readouterr().out
    assert "with [stage_two]" in " ".join(printed.split())  # no markup of a library's that is taken away
    assert "│" not in printed


def test_output_that_cannot_be_written(tmp_path: Path) -> None:
    write_split(tmp_path / "test")
    command = [sys.executable, "-m", "tosloc", "evaluate", str(tmp_path), "--json"]
    reader, writer = os.pipe()
    os.close(reader)
    closed = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert (closed.returncode, closed.stderr) == (1, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_under_the_output(tmp_path: Path) -> None:
    write_split(tmp_path / "test")
    command = [sys.executable, "-m", "tosloc", "evaluate", str(tmp_path), "--json"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, f"tosloc: {FULL}\n")
