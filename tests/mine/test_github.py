"""Issues of GitHub itself, all or one of them, from a server of our own that answers as GitHub does."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import GitRepository
from tests.stubs import Answer, Stub
from tosloc.cli import main
from tosloc.errors import ToslocError
from tosloc.localizer import Localizer
from tosloc.mine.github import fetch, read_token

pytest.importorskip("githubkit", reason="needs tosloc[github]", exc_type=ImportError)


class GitHub(Stub):
    """``answers`` is asked for each question what to say."""

    def __init__(self) -> None:
        self.asked: list[Any] = []
        self.tokens: list[str | None] = []
        self.answers: Callable[[Any], Answer] = pages(3)
        super().__init__(self.answer)

    def answer(self, method: str, path: str, headers: Mapping[str, str], body: Any) -> Answer:
        asked = path if method == "GET" else body["variables"]
        self.asked.append(asked)
        self.tokens.append(headers.get("Authorization"))
        return self.answers(asked)


def issue(number: int) -> dict[str, Any]:
    return {
        "number": number,
        "title": f"Crash number {number}",
        "body": "On save",
        "createdAt": "2001-09-09T01:00:00Z",
        "closedAt": "2001-09-10T01:00:00Z",
        "state": "CLOSED",
        "stateReason": "COMPLETED",
        "url": f"https://github.com/ann/one/issues/{number}",
        "labels": {"nodes": []},
        "timelineItems": {"nodes": [{"closer": None}]},
        "closedByPullRequestsReferences": {"nodes": []},
    }


def pages(number: int, change: Callable[[dict[str, Any]], dict[str, Any]] = dict) -> Callable[[dict[str, Any]], Answer]:
    """So many pages of one issue each."""

    def answer(variables: dict[str, Any]) -> Answer:
        page = int(variables.get("after") or 0)
        info = {"hasNextPage": page + 1 < number, "endCursor": str(page + 1)}
        found = {"totalCount": number, "pageInfo": info, "nodes": [change(issue(page + 1))]}
        return 200, {"data": {"repository": {"issues": found}}}, {}

    return answer


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Iterator[GitHub]:
    made = GitHub()
    monkeypatch.setenv("GITHUB_API_URL", made.url)
    monkeypatch.setenv("GITHUB_TOKEN", "secret")
    monkeypatch.setattr("githubkit.core.time.sleep", lambda seconds: None)
    yield made
    made.close()


def failing_at(page: str, answer: Answer, times: int = 1_000) -> Callable[[dict[str, Any]], Answer]:
    left = [times]

    def choose(variables: dict[str, Any]) -> Answer:
        if str(variables.get("after")) == page and left[0]:
            left[0] -= 1
            return answer
        return pages(3)(variables)

    return choose


def says(tmp_path: Path) -> str:
    with pytest.raises(ToslocError) as error:
        fetch("ann/one", tmp_path / "pages", "secret")
    return str(error.value)


def test_all_pages_are_read_once_and_kept(stub: GitHub, tmp_path: Path) -> None:
    found = fetch("ann/one", tmp_path / "pages", "secret")
    assert [one["number"] for one in found] == [1, 2, 3]
    assert [one.get("after") for one in stub.asked] == [None, "1", "2"]
    assert set(stub.tokens) == {"token secret"}
    assert fetch("ann/one", tmp_path / "pages", "secret") == found
    assert len(stub.asked) == 3
    old = time.time() - 25 * 3600
    for file in (tmp_path / "pages").iterdir():
        os.utime(file, (old, old))
        assert "secret" not in file.read_text()
    stub.answers = failing_at("1", (503, {}, {}), times=3)  # it fails for a while
    assert fetch("ann/one", tmp_path / "pages", "secret") == found
    assert len(stub.asked) == 9
    (tmp_path / "pages/00002.json").write_text("{")  # it and those after it are asked for again
    assert fetch("ann/one", tmp_path / "pages", "secret") == found
    assert [one.get("after") for one in stub.asked[9:]] == ["1", "2"]


LIMITED = (200, {"data": None, "errors": [{"type": "RATE_LIMITED", "message": "API rate limit exceeded"}]})


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        ((*LIMITED, {"x-ratelimit-reset": "4000000000"}), "GitHub's rate limit is reached until 2096-10-02 07:06"),
        ((403, {"message": "secondary rate limit"}, {"retry-after": "3000"}), "GitHub's rate limit is reached until"),
        ((502, {}, {}), "GitHub answers 502"),
    ],
)
def test_an_interruption_keeps_what_it_has_and_resumes(stub: GitHub, tmp_path: Path, answer: Answer, sentence) -> None:
    stub.answers = failing_at("2", answer)
    said = says(tmp_path)
    assert said.startswith(sentence)
    assert "2 issues are kept: run the same command again" in said
    stub.asked.clear()
    stub.answers = pages(3)
    assert len(fetch("ann/one", tmp_path / "pages", "secret")) == 3
    assert [one.get("after") for one in stub.asked] == ["2"]


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        ((401, {"message": "Bad credentials"}, {}), "GitHub refuses the token (401); is it whole, and not expired?"),
        (
            (
                200,
                {"data": {"repository": None}, "errors": [{"type": "NOT_FOUND", "message": "Could not resolve"}]},
                {},
            ),
            "--github ann/one: no such repository, or one that the token may not read",
        ),
        (
            (200, {"data": None, "errors": [{"type": "X", "message": "Something went wrong"}]}, {}),
            "--github ann/one: GitHub refuses the question (Something went wrong)",
        ),
        ((200, {"wrong": [1]}, {}), "GitHub's answer cannot be read (ValidationError)"),
    ],
)
def test_what_github_refuses_is_one_sentence(stub: GitHub, tmp_path: Path, answer: Answer, sentence: str) -> None:
    stub.answers = lambda _: answer
    assert says(tmp_path).startswith(sentence)
    assert not (tmp_path / "pages").exists()


def test_nobody_answers_or_can_be_asked(stub: GitHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("flask", "a/b/c", "../x", "a/b?c"):
        with pytest.raises(ToslocError, match="is no OWNER/NAME"):
            fetch(name, tmp_path / "pages", "secret")
    monkeypatch.setenv("GITHUB_API_URL", "http://127.0.0.1:9")
    assert says(tmp_path).startswith("GitHub does not answer (")
    monkeypatch.setenv("GITHUB_API_URL", "http://github.example.org/api/v3")
    assert "the token would be sent for all to read" in says(tmp_path)


def test_tokens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", " ")
    monkeypatch.setenv("GH_TOKEN", "def")
    assert read_token() == "def"
    monkeypatch.delenv("GH_TOKEN")
    (tmp_path / "gh").write_text('#!/bin/sh\n[ "$*" = "auth token --hostname github.com" ] && echo ghi\n')
    (tmp_path / "gh").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.delenv("GITHUB_API_URL", raising=False)
    assert read_token() == "ghi"
    monkeypatch.setenv("GITHUB_API_URL", "https://github.example.org/api/v3")  # gh knows no token of it
    assert read_token() == ""
    monkeypatch.setenv("GH_TOKEN", "a b\nc")
    with pytest.raises(ToslocError, match="holds no token; a token is one word"):
        read_token()


def test_the_command(stub: GitHub, repository: GitRepository, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setenv("TOSLOC_CACHE", str(tmp_path / "cache"))
    repository.commit({"a.py": "1\n"}, "Begin")
    merged = repository.commit({"a.py": "2\n"}, "Better (#9)")
    repository.commit({"a.py": "3\n"}, "Fixes ann/one#2")
    third = repository.commit({"a.py": "4\n"}, "Best")

    def change(one: dict[str, Any]) -> dict[str, Any]:
        reference = {"nodes": [{"number": 9, "mergeCommit": {"oid": merged}}]}
        more = {
            1: {"closedByPullRequestsReferences": reference},
            3: {"timelineItems": {"nodes": [{"closer": {"oid": third}}]}},
        }
        return one | more.get(one["number"], {})

    stub.answers = pages(3, change)
    assert main(["mine", "--github", "Ann/One", "--repo", str(repository.path), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["linked"] == {"closing pull request": 1, "closing commit": 1, "closing keyword": 1}
    monkeypatch.delenv("GITHUB_TOKEN")
    monkeypatch.delenv("GH_TOKEN", raising=False)
    monkeypatch.setattr("tosloc.mine.github.subprocess.run", no_program)
    assert main(["mine", "--github", "Ann/One", "--repo", str(repository.path)]) == 2
    assert "needs a token that may read the repository; put it into GITHUB_TOKEN" in capsys.readouterr().err


def no_program(*_: Any, **__: Any) -> None:
    raise FileNotFoundError


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
    }.get(path, (404, {"message": "Not Found"}, {}))


def test_an_issue_is_localized_with_what_its_reporter_said(
    stub: GitHub, repository: GitRepository, plain_folder: Path, monkeypatch, capsys
) -> None:
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
    repository.git("remote", "set-url", "origin", "https://gitlab.com/ann/one")
    assert main(["localize", "#7"]) == 2
    said = "tosloc: #7: the remote called origin is not at github.com; give OWNER/REPO#7\n"
    assert capsys.readouterr() == ("", said)


def asked_for_an_issue(capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["localize", "ann/one#8"]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    return printed.err


def test_an_issue_that_cannot_be_read_is_one_sentence(stub: GitHub, monkeypatch, capsys) -> None:
    stub.answers = conversation
    assert asked_for_an_issue(capsys) == "tosloc: ann/one#8: no such issue, or one that the token may not read (404)\n"
    stub.answers = lambda _: (200, [1], {})
    assert "GitHub's answer cannot be read (TypeError)" in asked_for_an_issue(capsys)
    for name in ("GITHUB_TOKEN", "GH_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("tosloc.mine.github.subprocess.run", no_program)
    stub.answers = conversation
    assert "one that only a token may read; put it into GITHUB_TOKEN (404)" in asked_for_an_issue(capsys)
    assert stub.tokens == ["token secret", "token secret", None]
    stub.answers = lambda _: (403, {}, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "4000000000"})
    assert "until 2096-10-02 07:06:40 UTC (with a token in GITHUB_TOKEN it is higher)" in asked_for_an_issue(capsys)
    monkeypatch.setenv("GITHUB_API_URL", "http://127.0.0.1:9")
    assert "GitHub does not answer (" in asked_for_an_issue(capsys)
