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
def place(plain_folder):
    """Every command begins outside of a repository."""
    return plain_folder


@pytest.fixture
def project(repository):
    repository.commit({"src/parser.py": "1\n"}, "Begin")
    repository.commit({"src/parser.py": "2\n"}, "Fix #7: the header lost its colon")
    return repository


def written(place, *records):
    (place / "issues.json").write_text(json.dumps(records))
    return str(place / "issues.json")


def test_lines_that_train_reads_and_a_table(project, place, monkeypatch, tosloc, tmp_path):
    export = written(place, ISSUE, ISSUE | {"number": 8, "labels": [{"name": "question"}]})
    monkeypatch.chdir(project.path / "src")
    out, err = tosloc("mine", export)
    words = [line.split() for line in out.splitlines() if line.strip(" ─")]
    assert [" ".join(line) for line in words] == [
        *("GitHub number", "linked by closing keyword 1"),
        *("left out: labelled as something else than a bug 1", "read 2"),
    ]
    [file] = tmp_path.glob("cache/*/reports.jsonl")
    assert err == f"tosloc: {file} holds 1 report; now run: tosloc train\n"
    [report] = read_reports(file, suffixes=[".py"])
    assert (report.report.id, report.commit, report.listed) == (
        "7",
        project.commits[1],
        ("src/parser.py",),
    )
    line = json.loads(file.read_text())
    assert (line["link"], line["url"], "weak" in line) == ("closing keyword", ISSUE["url"], False)
    assert project.git("status", "--porcelain") == ""


def test_json_and_a_file_of_ones_own(project, place, tosloc, tmp_path):
    own = tmp_path / "own.jsonl"
    out, err = tosloc("mine", written(place, ISSUE), "--repo", project.path, "--out", own, "--json")
    wanted = {
        "tracker": "GitHub",
        "linked": {"closing keyword": 1},
        "reports": 1,
        "weak": False,
        "read": 1,
    }
    assert json.loads(out) == wanted | {"left_out": {}, "file": str(own)}
    assert f"now run: tosloc train --repo {project.path} --reports {own}\n" in err
    assert not (tmp_path / "cache").exists()


def test_git_alone_says_that_its_reports_are_weak(project, tosloc):
    out = tosloc("mine", "--repo", project.path)[0]
    assert out.split()[:2] == ["git", "alone"]
    assert "weak: what commits say of their own fixes" in out


def test_what_goes_wrong_is_one_sentence_and_leaves_nothing(
    project, place, fails, tosloc, monkeypatch
):
    assert "not in a git repository; change to one, or name it with --repo" in fails("mine")
    monkeypatch.chdir(project.path)
    for records, options, says in (
        ([], [], "hold no issue; export closed ones, as: gh"),
        (
            [{"kind": "youtrack#issue"}],
            [],
            "issues.json, record 1: JSON of no known kind (keys: kind)",
        ),
        ([ISSUE], ["--pattern", "("], "'(' is no regular expression"),
    ):
        assert says in fails("mine", written(place, *records), *options)
    assert "nowhere.json: cannot be read (No such file" in fails("mine", "nowhere.json")
    assert "--pattern: says which issues commits name, and none are given" in fails(
        "mine", "--pattern", "(1)"
    )
    assert "Missing option '--reports'; or run tosloc mine first" in fails("train", "--out", "run")
    said = tosloc("mine", written(place, ISSUE | {"number": 9}), code=2)
    assert "none of 1 issues has a fix to learn from" in said[1]
