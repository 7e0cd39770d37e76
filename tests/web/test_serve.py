"""The served page: asked as a browser asks, and as something that should not be let in."""

import html
import json
import re
import socket
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager, suppress
from io import StringIO
from threading import Thread

import pytest
import uvicorn
from markupsafe import Markup
from starlette.testclient import TestClient

from conftest import make_shop
from tests import stand_ins
from tests.waiting import TIMEOUT_SECONDS, wait_until
from tosloc.core.errors import Interrupted
from tosloc.core.progress import ignore_progress
from tosloc.localize.question import Question
from tosloc.reports.issues import read_report
from tosloc.web.connections import MAX_CONNECTIONS
from tosloc.web.render import localize_and_render
from tosloc.web.server import (
    MAX_QUESTIONS,
    MAX_REQUEST_BYTES,
    Questions,
    application,
    open_socket,
    uvicorn_config,
)

HERE = "http://127.0.0.1:8765"
OWN_ORIGIN = {"Origin": HERE}
SECRET = "s3-cret_"
REPORT = "The cart forgets an item\n\nCart.add drops what is equal to another one."


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """Create a small repository and return its path."""
    return make_shop(tmp_path_factory.mktemp("page") / "shop")


@pytest.fixture
def questions(shop):
    """Yield the questions of a server of that repository."""
    questions = Questions(shop, project="shop")
    yield questions
    questions.session.close()


@pytest.fixture
def client(questions):
    """Return a client that knows the secret."""
    app = application(questions, SECRET)
    return TestClient(app, f"{HERE}/{SECRET}", follow_redirects=False)


def ask(client, text=REPORT, **fields):
    return client.post("/questions", data={"text": text, **fields}, headers=OWN_ORIGIN)


def wait_for_answer(client, number):
    """Return the HTML of a question that is answered, the whole page of one that has failed."""
    pattern = rf'<article id="question-{number}" data-state="(\w+)".*?</article>'
    pages = []

    def is_answered():
        pages.append(client.get(f"/questions/{number}").text)
        article = re.search(pattern, pages[-1], re.S)
        return article is None or article[1] != "waiting"

    wait_until(is_answered)
    article = re.search(pattern, pages[-1], re.S)
    return pages[-1] if article is None else article[0]


def listed_numbers(client, address="/"):
    """Return the numbers of the questions on a page, from top to bottom."""
    return re.findall(r'<article id="question-(\d+)"', client.get(address).text)


def text_in_form(page):
    [escaped_text] = re.findall("<textarea.*?>(.*?)</textarea>", page.text, re.S)
    return html.unescape(escaped_text)


def test_the_start_page_has_a_form(client):
    assert '<textarea id="text"' in client.get("/").text


def test_a_question_gets_an_address_and_an_answer(client):
    reply = ask(client, commit="HEAD")
    assert reply.status_code == 303
    assert reply.headers["location"] == "questions/1"
    text = wait_for_answer(client, 1)
    assert "shop/cart.py" in text
    assert "1 test file hidden" in text
    assert '<mark class="word">Cart</mark>' in text


def test_a_question_may_include_test_files(client):
    ask(client, "cart", tests="yes")
    assert "tests/test_cart.py" in wait_for_answer(client, 1)


def test_a_question_may_name_a_good_and_a_bad_commit(client):
    ask(client, good=" HEAD~1 ", bad="HEAD")
    answer = wait_for_answer(client, 1)
    assert "The cause is between HEAD~1, which worked, and HEAD: 1 commit" in answer
    assert 'name="good" value="HEAD~1"' in client.get("/questions/1").text


@pytest.fixture
def two_answers(client):
    """Return the client after two answered questions."""
    for number, text in enumerate((REPORT, "cart"), start=1):
        ask(client, text)
        wait_for_answer(client, number)
    return client


def test_the_newest_question_stands_above_older_ones(two_answers):
    assert listed_numbers(two_answers) == ["2", "1"]


def test_the_page_of_a_question_leaves_out_newer_ones(two_answers):
    assert listed_numbers(two_answers, "/questions/1") == ["1"]


def test_the_page_of_a_question_has_its_form_and_links_to_others(two_answers):
    text = two_answers.get("/questions/1").text
    assert "equal to another one.</textarea>" in text
    assert 'href="../questions/2"' in text


@pytest.mark.parametrize(("address", "root"), [("/", "./"), ("/questions/1", "../")])
def test_addresses_on_a_page_are_relative_and_so_keep_the_secret(two_answers, address, root):
    addresses = re.findall(r'(?:action|href|src)="([^"]*)"', two_answers.get(address).text)
    assert f"{root}questions" in addresses
    assert f"{root}questions/1/forget" in addresses
    assert [address for address in addresses if address.startswith("/")] == []


def test_a_removed_question_is_gone(two_answers):
    reply = two_answers.post("/questions/1/forget", headers=OWN_ORIGIN)
    assert reply.status_code == 303
    assert reply.headers["location"] == "../../"
    assert listed_numbers(two_answers) == ["2"]
    page = two_answers.get("/questions/1")
    assert page.status_code == 404
    assert "this question is no longer available" in page.text


def test_a_question_is_not_removed_by_following_a_link(two_answers):
    assert two_answers.get("/questions/1/forget", headers=OWN_ORIGIN).status_code == 405


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\0b", "is binary"),
        ('[{"title": "a"}, {"title": "b"}]', "contains 2 reports; give exactly one"),
    ],
    ids=["binary", "two reports"],
)
def test_a_text_that_is_no_report_fails_and_stays_in_the_form(client, text, message):
    assert ask(client, text).status_code == 303
    wait_for_answer(client, 1)
    page = client.get("/questions/1")
    assert page.status_code == 422
    assert message in page.text
    assert text_in_form(page) == text.replace("\0", r"\x00")


@pytest.mark.parametrize("text", ["", " \n\t"])
def test_an_empty_form_is_refused_at_once(client, questions, text):
    page = ask(client, text)
    assert page.status_code == 422
    assert "the form is empty; describe what goes wrong, or paste a report" in page.text
    assert not questions.cards


def test_a_page_without_questions_says_what_to_do(client):
    assert "No question yet. Paste a report into the form" in client.get("/").text


def test_an_address_is_refused_at_once_and_stays_in_the_form(client, questions):
    page = ask(client, "https://github.com/a/b/issues/7")
    assert page.status_code == 422
    assert "this is an address, and TosLoc does not fetch anything from the web" in page.text
    assert text_in_form(page) == "https://github.com/a/b/issues/7"
    assert not questions.cards


def test_a_report_that_cannot_be_read_in_time_fails_alone(client, questions, monkeypatch):
    # The first call waits until the process has started.
    questions.session.ask(stand_ins.count_steps, 1, progress=print, stopped=lambda: False).result()
    monkeypatch.setattr("tosloc.localize.session.SECONDS_TO_READ", 1)
    with monkeypatch.context() as patch:
        patch.setattr("tosloc.localize.session.read_whole", stand_ins.read_forever)
        ask(client, "a\n\nslow report")
        assert client.get("/").status_code == 200  # The server answers meanwhile.
        text = wait_for_answer(client, 1)
    assert client.get("/questions/1").status_code == 422
    assert "this report could not be read in 1 seconds; shorten it to what goes wrong" in text
    assert stand_ins.list_workers() == []
    monkeypatch.setattr("tosloc.localize.session.SECONDS_TO_READ", 30)
    ask(client)
    assert "shop/cart.py" in wait_for_answer(client, 2)


def test_the_name_of_an_unread_report_is_its_first_line(client, questions, monkeypatch):
    monkeypatch.setattr(questions.session, "ask_about", lambda *_, **__: Future())
    ask(client, '\n {"title": "lost"}\nmore')
    assert questions.cards[1].name == 'report 1: {"title": "lost"}'


def test_the_name_of_an_unread_report_has_no_marks_of_a_heading(client, questions, monkeypatch):
    monkeypatch.setattr(questions.session, "ask_about", lambda *_, **__: Future())
    ask(client, "## The cart forgets an item")
    assert questions.cards[1].name == "report 1: The cart forgets an item"


def test_the_name_of_a_read_report_is_its_number_and_title(client, questions):
    ask(client, '{"number": 7, "title": "The cart forgets an item", "body": ""}')
    wait_for_answer(client, 1)
    assert questions.cards[1].name == "7: The cart forgets an item"


@pytest.mark.parametrize(
    "number", ["1" * 5_000, "-1", "١", "x"], ids=["long", "negative", "Arabic digit", "letter"]
)
def test_an_address_that_is_no_question_is_not_found(client, number):
    assert client.get(f"/questions/{number}").status_code == 404
    assert client.post(f"/questions/{number}/forget", headers=OWN_ORIGIN).status_code == 404


def test_an_unknown_version_fails_that_question_alone(client):
    for fields in ({"commit": "--output=/tmp/x"}, {"commit": "../../etc"}, {}):
        ask(client, **fields)
    page = wait_for_answer(client, 2)
    assert client.get("/questions/2").status_code == 422
    message = "no commit &#39;../../etc&#39;; check its spelling, or run: git fetch"
    assert f'role="alert">{message}' in page
    assert 'value="../../etc"' in page
    assert "another one.</textarea>" in page
    assert listed_numbers(client, "/questions/2") == ["1"]
    assert "shop/cart.py" in wait_for_answer(client, 3)
    assert client.get("/questions/3").text.count('data-state="failed"') == 2


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "127.0.0.1.evil.example:8765",
        "localhost@evil.example",
        "",
        "0.0.0.0",
        "10.0.0.1",
    ],
)
def test_a_request_by_another_name_is_refused(client, host):
    reply = client.get("/", headers={"Host": host})
    assert reply.status_code == 403
    assert "<" not in reply.text


@pytest.mark.parametrize("host", ["127.0.0.1:8765", "LOCALHOST", "[::1]:8765"])
def test_a_request_by_a_name_of_this_machine_is_answered(client, host):
    assert client.get("/", headers={"Host": host}).status_code == 200
    own_headers = {"Host": host, "Origin": f"http://{host}"}
    assert client.post("/questions", data={"text": "x"}, headers=own_headers).status_code == 303


@pytest.mark.parametrize(
    "origin",
    [
        None,
        "null",
        "http://evil.example",
        "http://127.0.0.1:8766",
        "https://127.0.0.1:8765",
        f"{HERE}/",
    ],
)
def test_a_request_from_another_page_changes_and_reads_nothing(client, questions, origin):
    headers = {} if origin is None else {"Origin": origin}
    for path in ("/questions", "/questions/1/forget"):
        assert client.post(path, data={"text": REPORT}, headers=headers).status_code == 403
    reply = client.get("/", headers=headers)
    assert reply.status_code == (200 if origin is None else 403)
    assert "access-control-allow-origin" not in reply.headers
    assert "set-cookie" not in reply.headers
    assert not questions.cards


@pytest.mark.parametrize(
    "path", ["/", "", f"/{SECRET[:-1]}/", f"/{SECRET}x/", "/caf\u00e9/", f"//{SECRET}/"]
)
def test_a_request_without_the_secret_sees_and_changes_nothing(questions, path):
    stranger = TestClient(application(questions, SECRET), base_url=HERE, follow_redirects=False)
    reply = stranger.get(path)
    assert reply.status_code == 403
    assert "the secret of the page; open the complete address" in reply.text
    posted = stranger.post(f"{path}questions", data={"text": REPORT}, headers=OWN_ORIGIN)
    assert posted.status_code == 403
    assert not questions.cards


def test_a_body_that_is_too_large_is_refused(client):
    body = iter([b"text=", b"x" * MAX_REQUEST_BYTES])
    assert client.post("/questions", content=body, headers=OWN_ORIGIN).status_code == 413


@pytest.mark.parametrize(
    ("path", "headers"),
    [("/", {}), ("/nowhere", {}), ("/", {"Host": "evil.example"})],
    ids=["answered", "not found", "refused"],
)
def test_every_reply_has_the_security_headers(client, path, headers):
    reply = client.get(path, headers=headers)
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert reply.headers["cache-control"] == "no-store"
    assert reply.headers["cross-origin-resource-policy"] == "same-origin"
    policy = reply.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "frame-ancestors 'none'" in policy


def test_what_a_form_contains_is_text(client):
    hostile = "</textarea><script>alert(1)</script> cart"
    ask(client, hostile, commit='"><script>alert(2)</script>')
    wait_for_answer(client, 1)
    ask(client, f'{{"{hostile}', commit='"><script>')
    wait_for_answer(client, 2)
    for text in (client.get("/").text, client.get("/questions/2").text):
        assert text.count("<script>") == 1
        assert "<script>alert" not in text


def name_on_page(shop, report, number):
    """Return the name under which the page shows a report, asked as a question with this number."""
    name, _ = localize_and_render(Question(report), number, shop, None, "", ignore_progress)
    return name


def test_the_name_of_a_pasted_report_has_the_number_of_its_question(shop):
    assert name_on_page(shop, read_report(StringIO(REPORT)), 2).startswith("report 2")


def test_a_report_with_an_id_of_its_own_keeps_it(shop):
    exported = json.dumps(
        {"number": 52, "title": "The cart forgets an item", "body": "", "createdAt": "2024-05-06"}
    )
    assert name_on_page(shop, read_report(StringIO(exported)), 2).startswith("52")


class HeldQuestion:
    """A question that the session has accepted and that a test answers."""

    def __init__(self, progress, stopped):
        self.answer = Future()
        self.progress = progress
        self.stopped = stopped


@pytest.fixture
def held(questions, client, monkeypatch):
    """Ask as many questions as are kept, and return them as the session has accepted them."""
    held_questions = []

    def hold(*_question, progress, stopped):
        held_questions.append(HeldQuestion(progress, stopped))
        return held_questions[-1].answer

    monkeypatch.setattr(questions.session, "ask_about", hold)
    for _ in range(MAX_QUESTIONS):
        ask(client)
    return held_questions


def test_waiting_questions_say_how_far_they_are_and_the_page_reloads(held, client):
    held[0].progress("analysing", 3, 7)
    page = client.get("/questions/2").text
    assert "analysing, 3 of 7" in page
    assert "Waiting for earlier questions." in page
    assert "reads its history, which takes up to a few minutes" in page
    assert '<noscript><meta http-equiv="re' in page


@pytest.mark.usefixtures("held")
def test_a_question_is_refused_while_too_many_wait(client):
    page = ask(client, "one more")
    assert page.status_code == 422
    assert f"{MAX_QUESTIONS} questions are waiting already" in page.text
    assert ">one more<" in page.text
    assert "<noscript>" not in page.text


def test_the_process_of_a_removed_question_may_be_killed(held, client):
    client.post("/questions/1/forget", headers=OWN_ORIGIN)
    assert held[0].stopped()
    assert not held[1].stopped()
    held[0].answer.set_exception(Interrupted())


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (BrokenProcessPool(), "a worker process was killed"),
        (
            KeyError("/secret/path"),
            "an internal error occurred; see the terminal in which tosloc serve runs",
        ),
    ],
    ids=["killed", "internal"],
)
def test_an_error_becomes_a_sentence_in_place_of_the_answer(held, client, error, message):
    held[1].answer.set_exception(error)
    page = wait_for_answer(client, 2)
    assert message in page
    assert "/secret/path" not in page
    assert client.get("/questions/2").status_code == 422


def test_the_oldest_answered_questions_are_forgotten_for_new_ones(held, client):
    for question in held[1:3]:
        question.answer.set_result(("2: found", Markup("<b>older</b>")))
    held[3].answer.set_result(("4: found", Markup("<b>newer</b>")))
    for _ in range(2):
        ask(client)
    assert client.get("/questions/1").status_code == 200
    assert client.get("/questions/2").status_code == 404
    assert client.get("/questions/3").status_code == 404
    assert "<b>newer</b>" in wait_for_answer(client, 4)


@contextmanager
def serving(questions):
    """Run a real server and yield it with its port."""
    with open_socket(0) as listener:
        server = uvicorn.Server(uvicorn_config(application(questions, SECRET)))
        thread = Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        wait_until(lambda: server.started)
        try:
            yield server, listener.getsockname()[1]
        finally:
            server.should_exit = True
            thread.join()


def connect(port):
    return socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT_SECONDS)


def is_cut(connection):
    """Wait until the server ends a connection; TimeoutError after a minute."""
    try:
        while connection.recv(100_000):
            pass
    except ConnectionError:
        pass
    return True


REQUEST = f"GET /{SECRET}/ HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
HALF_SENT = {
    "nothing": b"",
    "half a line": b"GET /",
    "half the headers": REQUEST[:-4],
    "half a body": b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\ntext",
    "half a second request": REQUEST + REQUEST[:-4],
}


@pytest.mark.parametrize("data", HALF_SENT.values(), ids=HALF_SENT)
def test_a_request_that_does_not_arrive_is_cut(questions, monkeypatch, capfd, data):
    monkeypatch.setattr("tosloc.web.connections.REQUEST_SECONDS", 0.5)
    with serving(questions) as (_, port), connect(port) as connection:
        with suppress(ConnectionError):  # a busy machine may have cut it already
            connection.sendall(data)
        assert is_cut(connection)
    assert capfd.readouterr() == ("", "")


def test_many_connections_do_not_keep_others_out(questions, monkeypatch, capfd):
    monkeypatch.setattr("tosloc.web.connections.REQUEST_SECONDS", 600)
    with serving(questions) as (_, port), ExitStack() as opened:
        waiting = []
        for _ in range(2 * MAX_CONNECTIONS):
            connection = opened.enter_context(connect(port))
            connection.sendall(REQUEST[:-4])
            waiting.append(connection)
        with connect(port) as connection:
            connection.sendall(REQUEST)
            assert connection.recv(100_000).startswith(b"HTTP/1.1 200 OK")
        assert all(is_cut(connection) for connection in waiting[:MAX_CONNECTIONS])
        waiting[-1].sendall(REQUEST[-4:])
        assert waiting[-1].recv(100_000).startswith(b"HTTP/1.1 200 OK")
    assert capfd.readouterr() == ("", "")


def test_a_form_that_breaks_off_leaves_no_traceback_and_no_question(questions, capfd):
    headers = "Host: localhost\r\nOrigin: http://localhost\r\nContent-Length: 9\r\n\r\n"
    with (
        serving(questions) as (server, port),
        socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT_SECONDS) as connection,
    ):
        connection.sendall(f"POST /{SECRET}/questions HTTP/1.1\r\n{headers}text".encode())
        wait_until(lambda: server.server_state.tasks)
        connection.close()
        wait_until(lambda: not server.server_state.tasks)
    assert capfd.readouterr() == ("", "")
    assert not questions.cards
