"""The served page: asked as a browser asks, and as what should not be let in does."""

from __future__ import annotations

import asyncio
import html
import re
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import uvicorn
from starlette.testclient import TestClient
from starlette.types import Message

from tests import stuck
from tests.conftest import GitRepository, git_environment
from tosloc.web.server import KEPT, MOST_BYTES, Questions, application, listening, settings

HERE = "http://127.0.0.1:8765"
OWN = {"Origin": HERE}
SECRET = "s3-cret_"
REPORT = "Parser drops the header\n\nparse_header loses everything after the second colon."


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("toy")
    project = GitRepository(folder, False, git_environment(folder))
    project.git("init", "-q", "-b", "main")
    code = "class Parser:\n    def parse_header(self, line):\n        return line.split(':')\n"
    project.commit({"src/parser.py": code, "src/pool.py": "x = 1\n", "tests/test_parser.py": "y = 2\n"}, "Begin")
    project.commit({"src/parser.py": code + "\n"}, "Fix #7: the header lost its colon")
    return folder


@pytest.fixture
def questions(toy: Path) -> Iterator[Questions]:
    opened = Questions(toy)
    yield opened
    opened.session.close()


@pytest.fixture
def client(questions: Questions) -> TestClient:
    return TestClient(
        application(questions, SECRET, project="toy"), base_url=f"{HERE}/{SECRET}", follow_redirects=False
    )


def answer(client: TestClient, number: int) -> str:
    """The article of a question, once it is not waiting any more; of one that has failed its page."""
    for _ in range(3000):
        page = client.get(f"/questions/{number}").text
        found = re.search(rf'<article id="question-{number}" data-state="(\w+)".*?</article>', page, re.S)
        if found is None or found[1] != "waiting":
            return page if found is None else found[0]
        time.sleep(0.02)
    raise AssertionError("no answer")


def shown(client: TestClient, address: str = "/") -> list[str]:
    """Numbers of the questions that stand on a page, from above."""
    return re.findall(r'<article id="question-(\d+)"', client.get(address).text)


def test_reports_are_asked_answered_below_each_other_and_taken_away(client: TestClient) -> None:
    assert '<textarea id="text"' in client.get("/").text
    asked = client.post("/questions", data={"text": REPORT, "commit": "HEAD"}, headers=OWN)
    assert (asked.status_code, asked.headers["location"]) == (303, "questions/1")
    text = answer(client, 1)
    assert "src/parser.py" in text
    assert "1 test file hidden" in text
    assert '<mark class="word">parse_header</mark>' in text
    client.post("/questions", data={"text": "parser", "tests": "yes"}, headers=OWN)
    assert "tests/test_parser.py" in answer(client, 2)
    assert (shown(client), shown(client, "/questions/2"), shown(client, "/questions/1")) == (
        ["2", "1"],
        ["2", "1"],
        ["1"],
    )
    own = client.get("/questions/1").text
    assert "loses everything after the second colon.</textarea>" in own  # the form keeps what was asked
    assert 'href="../questions/2"' in own
    # all that the page asks of begins with the secret: it names itself from where it stands
    for address, root in (("/", "./"), ("/questions/1", "../")):
        addresses = re.findall(r'(?:action|href|src)="([^"]*)"', client.get(address).text)
        assert {f"{root}questions", f"{root}questions/1/forget"} <= {*addresses}
        assert not [address for address in addresses if address.startswith("/")]
    gone = client.post("/questions/1/forget", headers=OWN)
    assert (gone.status_code, gone.headers["location"]) == (303, "../../")
    assert shown(client) == ["2"]
    assert "this question is not kept any more" in client.get("/questions/1").text
    assert client.get("/questions/1").status_code == 404


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"text": " \n "}, "the report: is empty; a report was expected"),
        ({"text": "a\0b"}, "is binary"),
        ({"text": '[{"title": "a"}, {"title": "b"}]'}, "holds 2 reports; give one"),
        ({"text": "https://github.com/a/b/issues/7"}, "this is an address, and nothing is asked of the web"),
    ],
)
def test_what_is_no_report_is_said_and_stays_in_the_form(
    client: TestClient, fields: dict[str, str], sentence: str
) -> None:
    said = client.post("/questions", data=fields, headers=OWN)
    assert said.status_code == 422
    assert sentence in said.text
    [kept] = re.findall("<textarea.*?>(.*?)</textarea>", said.text, re.S)
    assert html.unescape(kept) == fields["text"].replace("\0", r"\x00")


def test_a_version_that_is_none_fails_that_question_alone(client: TestClient) -> None:
    client.post("/questions", data={"text": REPORT, "commit": "--output=/tmp/x"}, headers=OWN)
    client.post("/questions", data={"text": REPORT, "commit": "../../etc"}, headers=OWN)
    client.post("/questions", data={"text": REPORT}, headers=OWN)
    failed = answer(client, 2)
    assert client.get("/questions/2").status_code == 422
    assert """role="alert">no commit &#39;../../etc&#39;; check its spelling</p>""" in failed  # and no git command
    assert 'value="../../etc"' in failed
    assert "second colon.</textarea>" in failed
    assert shown(client, "/questions/2") == ["1"]
    assert "src/parser.py" in answer(client, 3)
    assert client.get("/questions/3").text.count('data-state="failed"') == 2


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example:8765", "localhost@evil.example", "", "0.0.0.0", "10.0.0.1"]
)
def test_another_host_is_not_let_in(client: TestClient, host: str) -> None:
    refused = client.get("/", headers={"Host": host})
    assert (refused.status_code, "<" in refused.text) == (403, False)


@pytest.mark.parametrize("host", ["127.0.0.1:8765", "LOCALHOST", "[::1]:8765"])
def test_this_machines_own_names_are(client: TestClient, host: str) -> None:
    assert client.get("/", headers={"Host": host}).status_code == 200
    asked = client.post("/questions", data={"text": " "}, headers={"Host": host, "Origin": f"http://{host}"})
    assert asked.status_code == 422


@pytest.mark.parametrize(
    "origin", [None, "null", "http://evil.example", "http://127.0.0.1:8766", "https://127.0.0.1:8765", f"{HERE}/"]
)
def test_what_comes_from_another_page_changes_and_reads_nothing(client: TestClient, origin: str | None) -> None:
    headers = {} if origin is None else {"Origin": origin}
    for path in ("/questions", "/questions/1/forget"):
        assert client.post(path, data={"text": REPORT}, headers=headers).status_code == 403
    assert client.get("/", headers=headers).status_code == (200 if origin is None else 403)
    assert "<article" not in client.get("/").text
    assert not {"access-control-allow-origin", "set-cookie"} & set(client.get("/").headers)


@pytest.mark.parametrize("path", ["/", "", f"/{SECRET[:-1]}/", f"/{SECRET}x/", "/caf\u00e9/", f"//{SECRET}/"])
def test_who_lacks_the_secret_sees_and_changes_nothing(questions: Questions, path: str) -> None:
    stranger = TestClient(application(questions, SECRET), base_url=HERE, follow_redirects=False)
    refused = stranger.get(path)
    assert (refused.status_code, "the secret of the page; open the whole address" in refused.text) == (403, True)
    assert stranger.post(f"{path}questions", data={"text": REPORT}, headers=OWN).status_code == 403
    assert not questions.articles()


@pytest.mark.parametrize("path", ["*", ""])
def test_a_request_for_no_path_is_refused(questions: Questions, path: str) -> None:
    scope = {"type": "http", "method": "GET", "path": path, "headers": [(b"host", b"127.0.0.1:8765")], "state": {}}
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    asyncio.run(application(questions, SECRET)(scope, receive, send))
    assert sent[0]["status"] == 403
    assert b"lacks the secret" in sent[1]["body"]


@pytest.mark.parametrize("content", [b"x" * (MOST_BYTES + 1), iter([b"text=", b"x" * MOST_BYTES])])
def test_too_much_is_not_read(client: TestClient, content: Any) -> None:
    headers = OWN | {"Content-Type": "application/x-www-form-urlencoded"}
    refused = client.post("/questions", content=content, headers=headers)
    assert refused.status_code == 413
    assert "more than 2 MB were sent" in refused.text


def test_no_path_leads_to_a_file(client: TestClient) -> None:
    for path in ("/etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/questions/x", "/page.css"):
        assert client.get(path).status_code in (403, 404)  # 403 where the client resolves the dots
    assert client.get(f"/questions/{'9' * 5_000}").status_code == 404


def test_every_reply_has_the_headers(client: TestClient) -> None:
    for reply in (client.get("/"), client.get("/nowhere"), client.get("/", headers={"Host": "evil.example"})):
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert reply.headers["x-frame-options"] == "DENY"
        assert reply.headers["cache-control"] == "no-store"
        assert reply.headers["content-security-policy"].startswith("default-src 'none'; style-src 'sha256-")
        assert "frame-ancestors 'none'" in reply.headers["content-security-policy"]


def test_what_a_report_says_is_text(client: TestClient) -> None:
    hostile = "</textarea><script>alert(1)</script> parser"
    client.post("/questions", data={"text": hostile, "commit": '"><script>alert(2)</script>'}, headers=OWN)
    answer(client, 1)
    page = client.get("/").text
    said = client.post("/questions", data={"text": f'{{"{hostile}', "commit": '"><script>'}, headers=OWN).text
    for text in (page, said):
        assert text.count("<script>") == 1
        assert "<script>alert" not in text


@pytest.fixture
def begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that tells that a question of ``tests.stuck`` has begun."""
    monkeypatch.setattr("tosloc.web.server.page_of", stuck.page_answer)
    monkeypatch.setenv(stuck.BEGUN, str(tmp_path / "begun"))
    return tmp_path / "begun"


@pytest.mark.slow
def test_questions_wait_for_each_other_and_none_blocks_the_others_for_ever(
    questions: Questions, client: TestClient, begun: Path
) -> None:
    client.post("/questions", data={"text": "seized"}, headers=OWN)
    for _ in range(KEPT - 1):
        client.post("/questions", data={"text": REPORT}, headers=OWN)
    while not begun.exists():
        time.sleep(0.02)
    assert "waits for 1 other question" in client.get("/questions/2").text
    full = client.post("/questions", data={"text": "one more"}, headers=OWN)
    assert full.status_code == 422
    assert f"{KEPT} questions wait already" in full.text
    assert "one more" in full.text
    assert "<noscript>" not in full.text
    assert '<noscript><meta http-equiv="refresh" content="3"></noscript>' in client.get("/questions/1").text
    client.post("/questions/1/forget", headers=OWN)
    assert "src/parser.py" in answer(client, KEPT)
    client.post("/questions", data={"text": "dies"}, headers=OWN)
    assert "a process died of this" in answer(client, KEPT + 1)
    client.post("/questions", data={"text": "a mistake"}, headers=OWN)
    assert "an error of the program; its terminal says more" in answer(client, KEPT + 2)
    begun.unlink()
    client.post("/questions", data={"text": "asleep"}, headers=OWN)  # the oldest are forgotten
    assert (client.get("/questions/3").status_code, client.get("/questions/4").status_code) == (404, 200)
    while not begun.exists():
        time.sleep(0.02)
    before = time.monotonic()
    questions.session.close()
    assert time.monotonic() - before < 5
    assert stuck.workers() == []


@contextmanager
def serving(questions: Questions) -> Iterator[int]:
    """Port of a real server."""
    with listening(0) as place:
        server = uvicorn.Server(settings(application(questions, SECRET)))
        thread = Thread(target=server.run, kwargs={"sockets": [place]})
        thread.start()
        while not server.started:
            time.sleep(0.01)
        yield place.getsockname()[1]
        server.should_exit = True
        thread.join()


def test_a_form_that_breaks_off_leaves_no_traceback(questions: Questions, capfd: pytest.CaptureFixture[str]) -> None:
    headers = "Host: localhost\r\nOrigin: http://localhost\r\nContent-Length: 9\r\n\r\n"
    with serving(questions) as port, socket.create_connection(("127.0.0.1", port), timeout=10) as broken:
        broken.sendall(f"POST /{SECRET}/questions HTTP/1.1\r\n{headers}text".encode())
        broken.close()
        time.sleep(0.2)
    assert capfd.readouterr() == ("", "")
