"""Issues of GitHub, all or one of them, from a server of ours that answers as GitHub does."""

import json
import os
from email.message import Message
from io import BytesIO
from urllib.error import HTTPError

import pytest

from tests.stubs import StubServer
from tests.trackers import GITHUB_CLI
from tosloc.cli import main
from tosloc.core.errors import ReportError, ToslocError
from tosloc.mine.github import fetch_issue, fetch_issues, read_token


class GitHubStub(StubServer):
    """A server that records requests and answers them by the function ``answers``.

    A request is its path, or for GraphQL the cursor after which issues are read.
    """

    def __init__(self):
        super().__init__(self._answer)
        self.requests = []
        self.tokens = []
        self.answers = None

    def _answer(self, method, path, headers, body):
        request = path if body is None else body["variables"]["after"]
        self.requests.append(request)
        self.tokens.append(headers.get("Authorization"))
        return self.answers(request)


@pytest.fixture
def stub(monkeypatch, tmp_path):
    """Yield a server that TosLoc asks with the token "secret"; ``gh`` has a token of github.com."""
    server = GitHubStub()
    monkeypatch.setenv("GITHUB_API_URL", server.url)
    monkeypatch.setenv("GITHUB_TOKEN", "secret")
    monkeypatch.delenv("GH_TOKEN", raising=False)
    (tmp_path / "gh").write_text(
        '#!/bin/sh\n[ "$*" = "auth token --hostname github.com" ] && echo ghi\n'
    )
    (tmp_path / "gh").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setattr("tosloc.mine.github.time.sleep", lambda seconds: None)
    yield server
    server.close()


def test_an_answer_that_is_an_error_is_closed(monkeypatch):
    body = BytesIO(b'{"message": "Not Found"}')
    error = HTTPError("https://example.org", 404, "Not Found", Message(), body)

    def refuse(request, timeout):
        raise error

    monkeypatch.setattr("tosloc.mine.github.urlopen", refuse)
    with pytest.raises(ReportError, match=r"GitHub answers 404 \(Not Found\)"):
        fetch_issue("ann/one", "8", "secret")
    assert body.closed


# All closed issues


OPENED = GITHUB_CLI | {
    "createdAt": "2001-09-09T01:00:00Z",
    "closedAt": None,
    "labels": {"nodes": []},
}


class Pages:
    """Answers to queries: one issue a page; the second page fails four times before it comes."""

    def __init__(self, issues):
        self.issues = issues
        self.failures = 4

    def __call__(self, after):
        if after == "1" and self.failures:
            self.failures -= 1
            return 502, {}, {}
        position = int(after or 0)
        number = position + 1
        info = {"hasNextPage": number < len(self.issues), "endCursor": str(number)}
        page = {
            "totalCount": len(self.issues),
            "pageInfo": info,
            "nodes": [OPENED | {"number": number} | self.issues[position]],
        }
        return 200, {"data": {"repository": {"issues": page}}}, {}


def test_all_pages_are_mined_also_of_a_server_that_fails_for_a_while(stub, repository, capsys):
    repository.commit({"a.py": "1\n"}, "Begin")
    merged = repository.commit({"a.py": "2\n"}, "Better (#9)")
    repository.commit({"a.py": "3\n"}, "Fixes ann/one#2")
    third = repository.commit({"a.py": "4\n"}, "Best")
    pull = {"number": 9, "mergeCommit": {"oid": merged}}
    stub.answers = Pages(
        [
            {"closedByPullRequestsReferences": {"nodes": [pull]}},
            {},
            {"timelineItems": {"nodes": [{"closer": {"oid": third}}, {"closer": None}]}},
        ]
    )
    assert main(["mine", "--github", "Ann/One", "--repo", str(repository.path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["linked"] == {
        "closing pull request": 1,
        "closing commit": 1,
        "closing keyword": 1,
    }


def test_a_page_is_requested_five_times_with_the_token(stub):
    stub.answers = Pages([{}, {}, {}])
    assert len(fetch_issues("ann/one", "secret")) == 3
    assert stub.requests == [None, "1", "1", "1", "1", "1", "2"]
    assert set(stub.tokens) == {"token secret"}


NOT_FOUND = {
    "data": {"repository": None},
    "errors": [{"type": "NOT_FOUND", "message": "Could not resolve"}],
}


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        ((401, {"message": "Bad credentials"}, {}), "GitHub answers 401 (Bad credentials)"),
        ((200, NOT_FOUND, {}), "GitHub refuses the request (Could not resolve)"),
        ((503, [1], {}), "GitHub answers 503"),
        (
            (200, b"[" * 1_000_000, {}),
            "GitHub's answer cannot be read (ValueError); try again later",
        ),
        ((401, b"[" * 1_000_000, {}), "GitHub answers 401"),
        ((200, {"wrong": [1]}, {}), "GitHub's answer cannot be read (KeyError); try again later"),
    ],
    ids=[
        "bad token",
        "no such repository",
        "server fails",
        "deep answer",
        "deep refusal",
        "odd answer",
    ],
)
def test_a_refusal_of_github_is_one_sentence(stub, answer, sentence):
    stub.answers = lambda _: answer
    with pytest.raises(ToslocError) as error:
        fetch_issues("ann/one", "secret")
    assert str(error.value) == f"ann/one: {sentence}"


@pytest.mark.parametrize("name", ["flask", "a/b/c", "../x", "a/b?c"])
def test_a_bad_name_of_a_project_is_not_requested(stub, name):
    with pytest.raises(ToslocError, match="is not of the form OWNER/NAME"):
        fetch_issues(name, "secret")
    assert stub.requests == []


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        ("http://127.0.0.1:9", r"GitHub does not answer \("),
        ("http://github.example.org/api/v3", "the token would be sent unencrypted"),
        ("file:///etc", "the token would be sent unencrypted"),
    ],
)
def test_a_bad_server_is_not_sent_the_token(stub, monkeypatch, address, sentence):
    monkeypatch.setenv("GITHUB_API_URL", address)
    with pytest.raises(ToslocError, match=sentence):
        fetch_issues("a/b", "secret")
    assert stub.requests == []


# Tokens


def test_issues_are_not_fetched_without_a_token():
    sentence = "a token that may read the repository is needed; put one into GITHUB_TOKEN"
    with pytest.raises(ToslocError, match=sentence):
        fetch_issues("ann/one", "")


def test_gh_has_no_token_of_another_server(stub, monkeypatch):
    monkeypatch.setenv("GITHUB_TOKEN", " ")
    assert read_token() == ""


def test_the_token_of_gh_is_used_for_github(stub, monkeypatch):
    monkeypatch.setenv("GITHUB_TOKEN", " ")
    monkeypatch.delenv("GITHUB_API_URL")
    assert read_token() == "ghi"


def test_gh_token_comes_before_the_token_of_gh(stub, monkeypatch):
    monkeypatch.setenv("GITHUB_TOKEN", " ")
    monkeypatch.delenv("GITHUB_API_URL")
    monkeypatch.setenv("GH_TOKEN", "def")
    assert read_token() == "def"


def test_a_token_of_several_words_is_refused(monkeypatch):
    monkeypatch.setenv("GITHUB_TOKEN", "a b\nc")
    with pytest.raises(ToslocError, match="does not contain a token; a token is one word"):
        read_token()


# One issue


def answer_issue(path):
    """Answer for the issues of ann/one, which was called ann/old.

    Issue 7 has more comments than a page, 99 of them by its reporter; issue 9 is malformed.
    """
    if "/old/" in path:
        return 301, {}, {"Location": path.replace("old", "one")}
    own_comments = [{"user": {"login": "ann"}, "body": f"I said {n}"} for n in range(99)]
    other_comments = [
        {"user": {"login": "bob"}, "body": "it is parser.py"},
        {"user": None, "body": "cookies.py"},
    ]
    issue = {
        "number": 7,
        "title": "Header lost",
        "body": "After a colon",
        "created_at": "2001-09-09T01:00:00Z",
        "user": {"login": "ann"},
        "comments": 101,
    }
    answers = {
        "7": issue,
        "7/comments?per_page=100&page=1": [*other_comments, *own_comments[:98]],
        "7/comments?per_page=100&page=2": own_comments[98:],
        "9": [1],
    }
    answer = answers.get(path.removeprefix("/repos/ann/one/issues/"))
    if answer is None:
        return 404, {"message": "Not Found"}, {}
    return 200, answer, {}


def test_a_server_on_this_machine_is_asked_without_a_proxy(stub, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    stub.answers = answer_issue
    assert fetch_issue("ann/one", "7", "secret")["number"] == 7


def test_an_issue_contains_the_comments_of_its_reporter_only(stub):
    stub.answers = answer_issue
    issue = fetch_issue("ann/old", "7", "secret")
    own_texts = ["After a colon", *(f"I said {n}" for n in range(99))]
    assert issue == {
        "number": 7,
        "title": "Header lost",
        "created_at": "2001-09-09T01:00:00Z",
        "body": "\n\n".join(own_texts),
    }


def test_the_token_does_not_follow_a_redirect(stub):
    stub.answers = answer_issue
    fetch_issue("ann/old", "7", "secret")
    assert stub.tokens[:2] == ["token secret", None]


@pytest.mark.parametrize(
    "reference",
    ["#7", "ann/one#7", "https://github.com/ann/one/issues/7#x", "github.com/ann/one/pull/7"],
)
def test_an_issue_is_localized(stub, repository, monkeypatch, capsys, reference):
    repository.commit({"parser.py": "def header(colon): pass\n"}, "Begin")
    repository.git("remote", "add", "origin", "git@github.com:ann/one.git")
    monkeypatch.chdir(repository.path)
    stub.answers = answer_issue
    assert main(["localize", reference]) == 0
    assert capsys.readouterr().out.startswith("7  Header lost\n")


@pytest.mark.parametrize(
    ("reference", "sentence"),
    [
        ("#7", "the remote named origin is not on github.com; write OWNER/REPO#7"),
        ("ann/one#8", "GitHub answers 404 (Not Found); a token in GITHUB_TOKEN may have access"),
        ("ann/one#9", "GitHub's answer cannot be read (TypeError); try again later"),
    ],
)
def test_an_issue_that_cannot_be_read_is_one_sentence(
    stub, repository, monkeypatch, capsys, reference, sentence
):
    monkeypatch.chdir(repository.path)
    monkeypatch.delenv("GITHUB_TOKEN")
    stub.answers = answer_issue
    assert main(["localize", reference]) == 2
    assert capsys.readouterr() == ("", f"tosloc: {reference}: {sentence}\n")
    assert not any(stub.tokens)
