"""Issues of GitHub itself, all or one of them, from a server of our own that answers as GitHub does."""

import json
import os
from io import BytesIO
from urllib.error import HTTPError

import pytest

from tests.stubs import StubServer
from tests.trackers import GITHUB_CLI
from tosloc.cli import main
from tosloc.core.errors import ReportError, ToslocError
from tosloc.mine.github import fetch_issue, fetch_issues, read_token


@pytest.fixture
def stub(monkeypatch, tmp_path):
    """A server that is asked with a token, or by ``gh`` of github.com with another; set ``answers``."""

    def answer(method, path, headers, body):
        made.asked.append(path if body is None else body["variables"]["after"])
        made.tokens.append(headers.get("Authorization"))
        return made.answers(made.asked[-1])

    made = StubServer(answer)
    made.asked, made.tokens = [], []
    monkeypatch.setenv("GITHUB_API_URL", made.url)
    monkeypatch.setenv("GITHUB_TOKEN", "secret")
    monkeypatch.delenv("GH_TOKEN", raising=False)
    (tmp_path / "gh").write_text(
        '#!/bin/sh\n[ "$*" = "auth token --hostname github.com" ] && echo ghi\n'
    )
    (tmp_path / "gh").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setattr("tosloc.mine.github.time.sleep", lambda seconds: None)
    yield made
    made.close()


def test_an_answer_that_is_an_error_is_closed(monkeypatch):
    body = BytesIO(b'{"message": "Not Found"}')

    error = HTTPError("https://example.org", 404, "Not Found", {}, body)

    def refuse(request, timeout):
        raise error

    monkeypatch.setattr("tosloc.mine.github.urlopen", refuse)
    with pytest.raises(ReportError, match=r"GitHub answers 404 \(Not Found\)"):
        fetch_issue("ann/one", "8", "secret")
    assert body.closed


def test_all_pages_are_read_also_of_a_server_that_fails_for_a_while(stub, repository, capsys):
    repository.commit({"a.py": "1\n"}, "Begin")
    merged = repository.commit({"a.py": "2\n"}, "Better (#9)")
    repository.commit({"a.py": "3\n"}, "Fixes ann/one#2")
    third = repository.commit({"a.py": "4\n"}, "Best")
    opened = GITHUB_CLI | {
        "createdAt": "2001-09-09T01:00:00Z",
        "closedAt": None,
        "labels": {"nodes": []},
    }
    pulls = {
        "closedByPullRequestsReferences": {"nodes": [{"number": 9, "mergeCommit": {"oid": merged}}]}
    }
    closers = {"timelineItems": {"nodes": [{"closer": {"oid": third}}, {"closer": None}]}}
    failures = [502] * 4

    def pages(after):
        if after == "1" and failures:
            return failures.pop(), {}, {}
        number = int(after or 0) + 1
        issue = opened | {"number": number} | {1: pulls, 3: closers}.get(number, {})
        info = {"hasNextPage": number < 3, "endCursor": str(number)}
        found = {"totalCount": 3, "pageInfo": info, "nodes": [issue]}
        return 200, {"data": {"repository": {"issues": found}}}, {}

    stub.answers = pages
    assert main(["mine", "--github", "Ann/One", "--repo", str(repository.path), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["linked"] == {"closing pull request": 1, "closing commit": 1, "closing keyword": 1}
    assert stub.asked == [None, *["1"] * 5, "2"]
    assert set(stub.tokens) == {"token secret"}


NOT_FOUND = {
    "data": {"repository": None},
    "errors": [{"type": "NOT_FOUND", "message": "Could not resolve"}],
}


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        ((401, {"message": "Bad credentials"}, {}), "GitHub answers 401 (Bad credentials)"),
        ((200, NOT_FOUND, {}), "GitHub refuses it (Could not resolve)"),
        ((503, [1], {}), "GitHub answers 503"),
        ((200, {"wrong": [1]}, {}), "GitHub's answer cannot be read (KeyError); try again later"),
    ],
)
def test_what_github_refuses_is_one_sentence(stub, answer, sentence):
    stub.answers = lambda _: answer
    with pytest.raises(ToslocError) as error:
        fetch_issues("ann/one", "secret")
    assert str(error.value) == f"ann/one: {sentence}"


@pytest.mark.parametrize(
    ("name", "address", "sentence"),
    [
        *((name, None, "is no OWNER/NAME") for name in ("flask", "a/b/c", "../x", "a/b?c")),
        ("a/b", "http://127.0.0.1:9", "GitHub does not answer ("),
        ("a/b", "http://github.example.org/api/v3", "the token would be sent for all to read"),
        ("a/b", "file:///etc", "the token would be sent for all to read"),
    ],
)
def test_who_cannot_be_asked_is_not(stub, monkeypatch, name, address, sentence):
    monkeypatch.setenv("GITHUB_API_URL", address or stub.url)
    with pytest.raises(ToslocError, match=sentence.replace("(", r"\(")):
        fetch_issues(name, "secret")
    assert stub.asked == []


def test_tokens(stub, monkeypatch):
    with pytest.raises(
        ToslocError,
        match="a token that may read the repository is needed; put one into GITHUB_TOKEN",
    ):
        fetch_issues("ann/one", "")
    monkeypatch.setenv("GITHUB_TOKEN", " ")
    assert read_token() == ""  # gh knows no token of this server
    monkeypatch.delenv("GITHUB_API_URL")
    assert read_token() == "ghi"
    monkeypatch.setenv("GH_TOKEN", "def")
    assert read_token() == "def"
    monkeypatch.setenv("GITHUB_TOKEN", "a b\nc")
    with pytest.raises(ToslocError, match="holds no token; a token is one word"):
        read_token()


def conversation(path):
    """Issue 7 of a project that was called old, with more comments than a page has."""
    if "/old/" in path:
        return 301, {}, {"Location": path.replace("old", "one")}
    written = [{"user": {"login": "ann"}, "body": f"I said {n}"} for n in range(99)]
    others = [
        {"user": {"login": "bob"}, "body": "it is parser.py"},
        {"user": None, "body": "cookies.py"},
    ]
    reported = {
        "number": 7,
        "title": "Header lost",
        "body": "After a colon",
        "created_at": "2001-09-09T01:00:00Z",
    }
    known = {
        "7": reported | {"user": {"login": "ann"}, "comments": 101},
        "7/comments?per_page=100&page=1": [*others, *written[:98]],
        "7/comments?per_page=100&page=2": written[98:],
        "9": [1],
    }
    found = known.get(path.removeprefix("/repos/ann/one/issues/"))
    return (404, {"message": "Not Found"}, {}) if found is None else (200, found, {})


def test_of_an_issue_what_its_reporter_said_is_read(stub):
    stub.answers = conversation
    issue = fetch_issue("ann/old", "7", "secret")
    assert stub.tokens[:2] == ["token secret", None]  # where a redirect leads gets no token
    assert issue.pop("body") == "\n\n".join(["After a colon", *(f"I said {n}" for n in range(99))])
    assert issue == {"number": 7, "title": "Header lost", "created_at": "2001-09-09T01:00:00Z"}


@pytest.mark.parametrize(
    "given",
    ["#7", "ann/one#7", "https://github.com/ann/one/issues/7#x", "github.com/ann/one/pull/7"],
)
def test_an_issue_is_localized(stub, repository, monkeypatch, capsys, given):
    repository.commit({"parser.py": "def header(colon): pass\n"}, "Begin")
    repository.git("remote", "add", "origin", "git@github.com:ann/one.git")
    monkeypatch.chdir(repository.path)
    stub.answers = conversation
    assert main(["localize", given]) == 0
    assert capsys.readouterr().out.startswith("7: Header lost\n")


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ("#7", "the remote called origin is not at github.com; give OWNER/REPO#7"),
        ("ann/one#8", "GitHub answers 404 (Not Found); a token in GITHUB_TOKEN may read more"),
        ("ann/one#9", "GitHub's answer cannot be read (TypeError); try again later"),
    ],
)
def test_an_issue_that_cannot_be_read_is_one_sentence(
    stub, repository, monkeypatch, capsys, given, sentence
):
    monkeypatch.chdir(repository.path)
    monkeypatch.delenv("GITHUB_TOKEN")
    stub.answers = conversation
    assert main(["localize", given]) == 2
    assert capsys.readouterr() == ("", f"tosloc: {given}: {sentence}\n")
    assert not any(stub.tokens)
