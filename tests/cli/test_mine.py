"""``tosloc mine`` as people type it, and ``tosloc train`` after it."""

import json

import pytest

from tosloc.reports.formats import read_reports

ISSUE = {
    "number": 7,
    "title": "The header loses its colon",
    "body": "parse_header drops it",
    "createdAt": "2001-09-09T01:50:00Z",
    "labels": [],
    "url": "https://github.com/ann/one/issues/7",
}


@pytest.fixture(autouse=True)
def folder(plain_folder):
    """Make a folder outside of a repository the current one; return it."""
    return plain_folder


@pytest.fixture
def project(repository):
    """Create a repository with a fix."""
    repository.commit({"src/parser.py": "1\n"}, "Begin")
    repository.commit({"src/parser.py": "2\n"}, "Fix #7: the header lost its colon")
    return repository


@pytest.fixture
def export(folder):
    """Return a function (*records) -> the path of an export of issues."""

    def write(*records):
        (folder / "issues.json").write_text(json.dumps(records))
        return str(folder / "issues.json")

    return write


def test_mine_counts_links_and_issues_left_out(project, export, monkeypatch, tosloc):
    monkeypatch.chdir(project.path / "src")
    question = ISSUE | {"number": 8, "labels": [{"name": "question"}]}
    out, _ = tosloc("mine", export(ISSUE, question))
    rows = [" ".join(line.split()) for line in out.splitlines() if line.strip(" ─")]
    assert rows == [
        "GitHub issues",
        "linked: closing keyword 1",
        "left out: its labels say that it is not a bug 1",
        "all issues that were read 2",
    ]


@pytest.fixture
def mined_file(project, export, monkeypatch, tosloc, tmp_path):
    """Mine one issue in a repository; return the file of reports in the cache."""
    monkeypatch.chdir(project.path / "src")
    _, err = tosloc("mine", export(ISSUE))
    [file] = tmp_path.glob("cache/*/reports.jsonl")
    assert err == f"tosloc: wrote 1 report to {file}; now run: tosloc train\n"
    return file


def test_mine_writes_reports_that_train_reads(project, mined_file):
    [report] = read_reports(mined_file, suffixes=[".py"])
    assert report.report.id == "7"
    assert report.commit == project.commits[1]
    assert report.listed == ("src/parser.py",)


def test_mine_writes_how_a_report_was_linked(mined_file):
    record = json.loads(mined_file.read_text())
    assert record["link"] == "closing keyword"
    assert record["url"] == ISSUE["url"]
    assert "weak" not in record


@pytest.mark.usefixtures("mined_file")
def test_mine_leaves_the_repository_as_it_is(project):
    assert project.git("status", "--porcelain") == ""


def test_mine_prints_json_and_writes_to_out(project, export, tosloc, tmp_path):
    file = tmp_path / "own.jsonl"
    options = ["--repo", project.path, "--out", file, "--json"]
    out, err = tosloc("mine", export(ISSUE), *options)
    assert json.loads(out) == {
        "tracker": "GitHub",
        "linked": {"closing keyword": 1},
        "left_out": {},
        "with_cause": 0,
        "reports": 1,
        "weak": False,
        "read": 1,
        "file": str(file),
    }
    assert f"now run: tosloc train --repo {project.path} --reports {file}\n" in err
    assert not (tmp_path / "cache").exists()


def test_reports_from_commit_messages_are_called_weak(project, tosloc):
    out = tosloc("mine", "--repo", project.path)[0]
    assert out.split()[:2] == ["commit", "messages"]
    assert "These reports are weak: a commit message describes its own fix" in out


def test_all_commits_are_counted(project, tosloc):
    out = tosloc("mine", "--repo", project.path)[0]
    rows = [" ".join(line.split()) for line in out.splitlines()]
    assert "used: commit message 1" in rows
    assert "left out: the message does not say that the commit fixes a bug 1" in rows
    assert "all commits that were read 2" in rows


def test_a_file_that_cannot_be_written_is_refused_before_anything_is_read(
    project, fails, monkeypatch, tmp_path
):
    def fail(*_, **options):
        raise AssertionError

    monkeypatch.setattr("tosloc.mine.mining.mine_reports", fail)
    (tmp_path / "file").write_text("")
    options = ["--repo", project.path, "--out", tmp_path / "file/mined.jsonl"]
    sentence = f"{tmp_path}/file/mined.jsonl cannot be written, because {tmp_path}/file is not a"
    assert sentence in fails("mine", *options)
    monkeypatch.setenv("TOSLOC_CACHE", str(tmp_path / "file"))
    assert "name another file with --out" in fails("mine", *options[:2])


def test_mine_outside_of_a_repository_is_one_sentence(fails):
    assert "not in a git repository; change to one, or name it with --repo" in fails("mine")


@pytest.mark.parametrize(
    ("records", "options", "message"),
    [
        ([], [], "contain no issue; export them with: gh"),
        (
            [{"kind": "youtrack#issue"}],
            [],
            "issues.json, record 1: unknown kind of JSON (keys: kind)",
        ),
        ([ISSUE], ["--pattern", "("], "'(' is not a regular expression"),
    ],
    ids=["no issue", "unknown tracker", "wrong pattern"],
)
def test_a_wrong_export_is_one_sentence(
    project, export, fails, monkeypatch, records, options, message
):
    monkeypatch.chdir(project.path)
    assert message in fails("mine", export(*records), *options)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            "mine nowhere.json",
            "nowhere.json: no such file; check the path, let --github fetch the issues of a GitHub"
            " project, or export them with: gh issue list --state all",
        ),
        ("mine --pattern (1)", "--pattern links commits to issues, but no issues are given"),
        (
            "train --out run",
            "Missing option '--reports'; name a file of labelled reports, or run tosloc mine first",
        ),
    ],
)
def test_missing_input_is_one_sentence(project, fails, monkeypatch, words, message):
    monkeypatch.chdir(project.path)
    assert message in fails(*words.split())


def test_issues_without_a_fix_are_one_sentence(project, export, tosloc, monkeypatch):
    monkeypatch.chdir(project.path)
    _, err = tosloc("mine", export(ISSUE | {"number": 9}), code=2)
    assert "no usable fix was found for 1 issue, so no reports were written" in err


def test_mine_says_how_to_complete_a_shallow_clone(project, tmp_path, monkeypatch, tosloc):
    address = f"file://{project.path}"
    project.git("clone", "-q", "--depth=1", address, str(tmp_path / "shallow"))
    monkeypatch.chdir(tmp_path / "shallow")
    _, err = tosloc("mine", code=2)
    assert err.endswith(
        "; this is a shallow clone, which lacks earlier commits; run: git fetch --unshallow\n"
    )
