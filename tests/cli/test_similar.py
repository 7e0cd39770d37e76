"""``tosloc similar`` and the similar reports of an answer."""

import json

import pytest

ISSUES = [
    {
        "number": 1,
        "title": "parse_header raises ZeroDivisionError for an empty mailbox",
        "body": "The import stops in count_lines, because the mailbox has no lines.",
        "state": "OPEN",
        "createdAt": "2001-09-01T00:00:00Z",
        "labels": [],
        "url": "https://github.com/ann/one/issues/1",
    },
    {
        "number": 2,
        "title": "Printing cuts the right margin",
        "body": "The last column of a table is missing on paper.",
        "state": "CLOSED",
        "createdAt": "2001-09-02T00:00:00Z",
        "closedAt": "2001-09-03T00:00:00Z",
        "stateReason": "NOT_PLANNED",
        "labels": [],
        "url": "https://github.com/ann/one/issues/2",
    },
    {
        "number": 3,
        "title": "parse_header raises ZeroDivisionError for an empty mailbox",
        "body": "The import stops in count_lines, because the mailbox has no lines.",
        "state": "OPEN",
        "createdAt": "2001-09-04T00:00:00Z",
        "labels": [],
        "url": "https://github.com/ann/one/pull/3",
    },
]
FILLERS = [
    "Folders are sorted by size",
    "Attachments open twice",
    "Fonts are blurred when zoomed",
    "The spelling dictionary is missing",
    "Replies lose their quotes",
    "Filters run in odd order",
]
ISSUES += [
    {**ISSUES[1], "number": number, "title": title, "body": "", "url": ""}
    for number, title in enumerate(FILLERS, start=4)
]
REPORT = (
    "ZeroDivisionError in parse_header with an empty mailbox\n\n"
    "The import stops in count_lines if the mailbox has no lines.\n"
)


@pytest.fixture
def project(plain_folder, repository, monkeypatch):
    """Make a repository the current folder, beside a report and an export of issues."""
    repository.commit({"src/parser.py": "def parse_header(): return 1\n"}, "Begin")
    monkeypatch.chdir(repository.path)
    (plain_folder / "issues.json").write_text(json.dumps(ISSUES))
    (plain_folder / "bug.md").write_text(REPORT)
    return plain_folder


def test_an_export_is_searched(project, tosloc):
    out, _ = tosloc("similar", project / "bug.md", "--issues", project / "issues.json")
    first, address = out.splitlines()
    title = "parse_header raises ZeroDivisionError for an empty mailbox"
    assert first.endswith(f"%  #1 (2001-09-01, open) {title}")
    assert address.strip() == "https://github.com/ann/one/issues/1"


def test_an_issue_of_unknown_state_is_neither_open_nor_closed(project, tosloc):
    issue = {name: value for name, value in ISSUES[0].items() if name != "state"}
    (project / "issues.json").write_text(json.dumps([issue, *ISSUES[1:]]))
    out, _ = tosloc("similar", project / "bug.md", "--issues", project / "issues.json")
    assert "#1 (2001-09-01) parse_header raises" in out
    tosloc("mine", project / "issues.json", code=2)
    values = json.loads(tosloc("similar", project / "bug.md", "--json")[0])
    assert values["similar"][0]["is_open"] is None


@pytest.mark.parametrize(
    "fact", [{"closedAt": "2001-09-03T00:00:00Z"}, {"stateReason": "COMPLETED"}]
)
def test_an_issue_that_was_closed_needs_no_state(project, tosloc, fact):
    issue = {name: value for name, value in ISSUES[0].items() if name != "state"}
    (project / "issues.json").write_text(json.dumps([issue | fact, *ISSUES[1:]]))
    out, _ = tosloc("similar", project / "bug.md", "--issues", project / "issues.json")
    assert "#1 (2001-09-01, closed) parse_header raises" in out


def test_mine_keeps_all_issues_but_pull_requests(project, tosloc):
    tosloc("mine", project / "issues.json", code=2)
    values = json.loads(tosloc("similar", project / "bug.md", "--json")[0])
    assert values["searched"] == 8
    [similar] = values["similar"]
    assert similar["id"] == "1"
    assert similar["is_open"] is True


def test_an_answer_names_similar_reports(project, tosloc):
    tosloc("mine", project / "issues.json", code=2)
    out, _ = tosloc("localize", project / "bug.md")
    assert "Similar report: #1 (2001-09-01, open) parse_header raises" in out
    answer = json.loads(tosloc("localize", project / "bug.md", "--json")[0])
    [similar] = answer["background"]["similar"]
    assert similar["issue"] == "#1"
    assert similar["url"] == "https://github.com/ann/one/issues/1"


def test_nothing_similar_is_said_in_a_sentence(project, tosloc):
    issues = project / "issues.json"
    out, _ = tosloc("similar", "the theme is light again", "--issues", issues)
    assert out == "None of the 8 issues is surely about the same problem.\n"


def test_missing_issues_are_one_sentence(project, fails):
    sentence = fails("similar", str(project / "bug.md"))
    assert "no issues of this project are known; run tosloc mine --github OWNER/NAME" in sentence
    assert "--issues: gh issue list --state all" in sentence


def test_missing_issues_are_noticed_before_a_report_is_fetched(project, repository, fails):
    repository.git("remote", "add", "origin", "git@github.com:ann/one.git")
    sentence = fails("similar", "#12")
    assert "no issues of this project are known; run tosloc mine --github ann/one, or" in sentence


def test_the_advice_names_the_repository(project, repository, fails, monkeypatch):
    monkeypatch.chdir(project)
    sentence = fails("similar", "the theme is light again", "--repo", repository.path)
    assert f"run tosloc mine --github OWNER/NAME --repo {repository.path}, or" in sentence


def test_mine_says_that_commits_are_not_enough(project, repository, tosloc):
    repository.git("remote", "add", "origin", "https://gitlab.com/ann/one.git")
    out, _ = tosloc("mine", code=2)
    sentence = " ".join(out.split())
    assert "tosloc similar needs them: name an export, or run tosloc mine --github OWNER/NAME" in (
        sentence
    )


def test_issues_without_a_fix_can_be_searched(project, tosloc):
    _, err = tosloc("mine", project / "issues.json", code=2)
    assert "no reports were written, but tosloc similar can search the issues" in err
    _, err = tosloc("mine", project / "issues.json", "--out", project / "x.jsonl", code=2)
    assert err.endswith("so no reports were written\n")


def test_the_page_links_similar_reports(project, tosloc):
    tosloc("mine", project / "issues.json", code=2)
    page = project / "answer.html"
    tosloc("localize", project / "bug.md", "--html", page)
    assert 'href="https://github.com/ann/one/issues/1"' in page.read_text()
