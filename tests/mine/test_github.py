"""Issues of GitHub itself, all or one of them, from a server of our own that answers as GitHub does."""

import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from tests.stubs import Answer, Stub
from tosloc.cli import main
from tosloc.errors import ToslocError
from tosloc.localizer import Localizer
from tosloc.mine.github import fetch, read_token


class GitHub(Stub):
    """``answers`` is asked for each question what to say."""

    def __init__(self) -> None:
        self.asked: list[Any] = []
        self.tokens: list[str | None] = []
        self.answers: Callable[[Any], Answer] = pages()
        super().__init__(self.answer)

    def answer(self, method: str, path: str, headers: Mapping[str, str], body: Any) -> Answer:
        self.asked.append(path if method == "GET" else body["variables"]["after"])
        self.tokens.append(headers.get("Authorization"))
        return self.answers(self.asked[-1])


def pages(changes: Mapping[int, dict[str, Any]] = MappingProxyType({})) -> Callable[[Any], Answer]:
    """Three pages of one issue each."""

    def answer(after: Any) -> Answer:
        number = int(after or 0) + 1
        issue = {"number": number, "url": f"https://github.com/ann/one/issues/{number}", "labels": {"nodes": []}}
        issue |= {"title": f"Crash number {number}", "body": "On save", "createdAt": "2001-09-09T01:00:00Z"}
        issue |= {"closedAt": "2001-09-10T01:00:00Z", "state": "CLOSED", "stateReason": "COMPLETED"}
        issue |= {"timelineItems": {"nodes": [{"closer": None}]}, "closedByPullRequestsReferences": {"nodes": []}}
        info = {"hasNextPage": number < 3, "endCursor": str(number)}
        found = {"totalCount": 3, "pageInfo": info, "nodes": [issue | changes.get(number, {})]}
        return 200, {"data": {"repository": {"issues": found}}}, {}

    return answer


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[GitHub]:
    made = GitHub()
    monkeypatch.setenv("GITHUB_API_URL", made.url)
    monkeypatch.setenv("GITHUB_TOKEN", "secret")
    monkeypatch.delenv("GH_TOKEN", raising=False)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/gh").write_text('#!/bin/sh\n[ "$*" = "auth token --hostname github.com" ] && echo ghi\n')
    (tmp_path / "bin/gh").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)
    monkeypatch.setattr("tosloc.mine.github.time.sleep", lambda seconds: None)
    yield made
    made.close()


def test_all_pages_are_read_also_of_a_server_that_fails_for_a_while(stub):
    failures = [502] * 4
    stub.answers = lambda after: (failures.pop(), {}, {}) if after == "1" and failures else pages()(after)
    assert [one["number"] for one in fetch("ann/one", "secret")] == [1, 2, 3]
    assert stub.asked == [None, *["1"] * 5, "2"]
    assert set(stub.tokens) == {"token secret"}


NOT_FOUND = {"data": {"repository": None}, "errors": [{"type": "NOT_FOUND", "message": "Could not resolve"}]}


def test_what_github_refuses_and_who_cannot_be_asked_is_one_sentence(stub, monkeypatch):
    def said(name: str = "ann/one") -> str:
        with pytest.raises(ToslocError) as error:
            fetch(name, "secret")
        return str(error.value)

    answers: dict[str, Answer] = {
        "GitHub answers 401 (Bad credentials)": (401, {"message": "Bad credentials"}, {}),
        "GitHub refuses it (Could not resolve)": (200, NOT_FOUND, {}),
        "GitHub answers 503": (503, [1], {}),
        "GitHub's answer cannot be read (KeyError); try again later": (200, {"wrong": [1]}, {}),
    }
    for sentence, answer in answers.items():
        stub.answers = lambda _, answer=answer: answer  # type: ignore[misc]
        assert said() == f"--github ann/one: {sentence}"
    stub.asked.clear()
    for name in ("flask", "a/b/c", "../x", "a/b?c"):
        assert "is no OWNER/NAME" in said(name)
    for address, sentence in (
        ("http://127.0.0.1:9", "GitHub does not answer ("),
        ("http://github.example.org/api/v3", "the token would be sent for all to read"),
        ("file:///etc", "the token would be sent for all to read"),
    ):
        monkeypatch.setenv("GITHUB_API_URL", address)
        assert sentence in said()
    assert stub.asked == []


def test_tokens(stub, monkeypatch):
    monkeypatch.setenv("GITHUB_TOKEN", " ")
    assert read_token() == ""  # gh knows no token of this server
    monkeypatch.delenv("GITHUB_API_URL")
    assert read_token() == "ghi"
    monkeypatch.setenv("GH_TOKEN", "def")
    assert read_token() == "def"
    monkeypatch.setenv("GITHUB_TOKEN", "a b\nc")
    with pytest.raises(ToslocError, match="holds no token; a token is one word"):
        read_token()


def test_the_command(stub, repository, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("TOSLOC_CACHE", str(tmp_path / "cache"))
    repository.commit({"a.py": "1\n"}, "Begin")
    merged = repository.commit({"a.py": "2\n"}, "Better (#9)")
    repository.commit({"a.py": "3\n"}, "Fixes ann/one#2")
    third = repository.commit({"a.py": "4\n"}, "Best")
    reference = {"nodes": [{"number": 9, "mergeCommit": {"oid": merged}}]}
    closer = {"nodes": [{"closer": {"oid": third}}]}
    stub.answers = pages({1: {"closedByPullRequestsReferences": reference}, 3: {"timelineItems": closer}})
    assert main(["mine", "--github", "Ann/One", "--repo", str(repository.path), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["linked"] == {"closing pull request": 1, "closing commit": 1, "closing keyword": 1}
    monkeypatch.delenv("GITHUB_TOKEN")
    assert main(["mine", "--github", "Ann/One", "--repo", str(repository.path)]) == 2
    assert "needs a token that may read the repository; put it into GITHUB_TOKEN" in capsys.readouterr().err


def conversation(path: str) -> Answer:
    """Issue 7 of a project that was called old, with more comments than a page has."""
    if "/old/" in path:
        return 301, {}, {"Location": path.replace("old", "one")}
    written = [{"user": {"login": "ann"}, "body": f"I said {n}"} for n in range(99)]
    others = [{"user": {"login": "bob"}, "body": "it is parser.py"}, {"user": None, "body": "cookies.py"}]
    reported = {"number": 7, "title": "Header lost", "body": "After a colon", "created_at": "2001-09-09T01:00:00Z"}
    return {
        "/repos/ann/one/issues/7": (200, reported | {"user": {"login": "ann"}, "comments": 101}, {}),
        "/repos/ann/one/issues/7/comments?per_page=100&page=1": (200, [*others, *written[:98]], {}),
        "/repos/ann/one/issues/7/comments?per_page=100&page=2": (200, written[98:], {}),
        "/repos/ann/one/issues/9": (200, [1], {}),
    }.get(path, (404, {"message": "Not Found"}, {}))


def test_an_issue_is_localized_with_what_its_reporter_said(stub, repository, plain_folder, monkeypatch, capsys):
    seen: list[Any] = []
    real = Localizer.localize_many

    def localize_many(self: Localizer, reports: Any, **options: Any) -> Any:
        seen.extend(reports)
        return real(self, reports, **options)

    monkeypatch.setattr(Localizer, "localize_many", localize_many)
    repository.commit({"parser.py": "def header(colon): pass\n"}, "Begin")
    repository.git("remote", "add", "origin", "git@github.com:ann/one.git")
    monkeypatch.chdir(repository.path)
    stub.answers = conversation
    for given in ("#7", "ann/old#7", "https://github.com/ann/one/issues/7#issuecomment-1", "github.com/ann/one/pull/7"):
        assert main(["localize", given]) == 0
        assert capsys.readouterr().out.startswith("7: Header lost\n")
    [report] = set(seen)
    assert (report.id, report.summary, report.opened_seconds) == ("7", "Header lost", 999_997_200)
    assert report.description == "\n\n".join(["After a colon", *(f"I said {n}" for n in range(99))])
    assert stub.tokens[stub.asked.index("/repos/ann/old/issues/7") + 1] is None  # where a redirect leads gets no token
    repository.git("remote", "set-url", "origin", "https://gitlab.com/ann/one")
    assert main(["localize", "#7"]) == 2
    said = "tosloc: #7: the remote called origin is not at github.com; give OWNER/REPO#7\n"
    assert capsys.readouterr() == ("", said)


def test_an_issue_that_cannot_be_read_is_one_sentence(stub, monkeypatch, capsys):
    stub.answers = conversation
    monkeypatch.delenv("GITHUB_TOKEN")
    for number, sentence in (
        (8, "GitHub answers 404 (Not Found); a token in GITHUB_TOKEN may read more"),
        (9, "GitHub's answer cannot be read (TypeError); try again later"),
    ):
        assert main(["localize", f"ann/one#{number}"]) == 2
        assert capsys.readouterr() == ("", f"tosloc: ann/one#{number}: {sentence}\n")
    assert stub.tokens == [None, None]
