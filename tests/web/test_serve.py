"""The served page: asked as a browser asks, and as what should not be let in does."""

import html
import json
import re
import socket
import time
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from io import StringIO
from threading import Thread

import pytest
import uvicorn
from markupsafe import Markup
from starlette.testclient import TestClient

from conftest import repository as shop_at
from tests import stuck
from tosloc.core.errors import Interrupted
from tosloc.core.records import ignore_progress
from tosloc.reports.issues import read_report
from tosloc.web.render import Ask, page_of
from tosloc.web.server import KEPT, MOST_BYTES, Questions, application, listening, settings

HERE = "http://127.0.0.1:8765"
OWN = {"Origin": HERE}
SECRET = "s3-cret_"
REPORT = "The cart forgets an item\n\nCart.add drops what is equal to another one."


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    return shop_at(tmp_path_factory.mktemp("page") / "shop")


@pytest.fixture
def questions(shop):
    opened = Questions(shop, project="shop")
    yield opened
    opened.session.close()


@pytest.fixture
def client(questions):
    app = application(questions, SECRET)
    return TestClient(app, f"{HERE}/{SECRET}", follow_redirects=False)


def ask(client, text=REPORT, **more):
    return client.post("/questions", data={"text": text, **more}, headers=OWN)


def answer(client, number):
    """The article of a question, once it is not waiting any more; of one that has failed its page."""
    for _ in range(3000):
        page = client.get(f"/questions/{number}").text
        found = re.search(
            rf'<article id="question-{number}" data-state="(\w+)".*?</article>', page, re.S
        )
        if found is None or found[1] != "waiting":
            return page if found is None else found[0]
        time.sleep(0.02)
    raise AssertionError("no answer")


def shown(client, address="/"):
    """Numbers of the questions that stand on a page, from above."""
    return re.findall(r'<article id="question-(\d+)"', client.get(address).text)


def test_reports_are_asked_answered_below_each_other_and_taken_away(client):
    assert '<textarea id="text"' in client.get("/").text
    asked = ask(client, commit="HEAD")
    assert (asked.status_code, asked.headers["location"]) == (303, "questions/1")
    text = answer(client, 1)
    assert "shop/cart.py" in text
    assert "1 test file hidden" in text
    assert '<mark class="word">Cart</mark>' in text
    ask(client, "cart", tests="yes")
    assert "tests/test_cart.py" in answer(client, 2)
    assert (shown(client), shown(client, "/questions/1")) == (["2", "1"], ["1"])
    own = client.get("/questions/1").text
    assert "equal to another one.</textarea>" in own  # the form keeps what was asked
    assert 'href="../questions/2"' in own
    # all that the page asks of begins with the secret: it names itself from where it stands
    for address, root in (("/", "./"), ("/questions/1", "../")):
        addresses = re.findall(r'(?:action|href|src)="([^"]*)"', client.get(address).text)
        assert {f"{root}questions", f"{root}questions/1/forget"} <= {*addresses}
        assert not [address for address in addresses if address.startswith("/")]
    assert client.get("/questions/1/forget", headers=OWN).status_code == 405
    gone = client.post("/questions/1/forget", headers=OWN)
    assert (gone.status_code, gone.headers["location"]) == (303, "../../")
    assert shown(client) == ["2"]
    reply = client.get("/questions/1")
    assert (reply.status_code, "this question is not kept any more" in reply.text) == (404, True)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (" \n ", "the report: is empty; a report was expected"),
        ("a\0b", "is binary"),
        ('[{"title": "a"}, {"title": "b"}]', "holds 2 reports; give one"),
    ],
)
def test_what_is_no_report_is_said_and_stays_in_the_form(client, text, sentence):
    assert ask(client, text).status_code == 303
    answer(client, 1)
    said = client.get("/questions/1")
    assert said.status_code == 422
    assert sentence in said.text
    assert text_of_form(said) == text.replace("\0", r"\x00")


def text_of_form(page):
    [kept] = re.findall("<textarea.*?>(.*?)</textarea>", page.text, re.S)
    return html.unescape(kept)


def test_an_address_is_refused_at_once_and_stays_in_the_form(client, questions):
    said = ask(client, "https://github.com/a/b/issues/7")
    assert said.status_code == 422
    assert "this is an address, and nothing is asked of the web" in said.text
    assert text_of_form(said) == "https://github.com/a/b/issues/7"
    assert not questions.asked


def test_a_report_that_cannot_be_read_in_time_fails_alone(client, questions, monkeypatch):
    questions.session.ask(
        stuck.tell, 1, progress=print, stopped=lambda: False
    ).result()  # its process has started
    monkeypatch.setattr("tosloc.localize.session.SECONDS_TO_READ", 1)
    with monkeypatch.context() as patch:
        patch.setattr("tosloc.localize.session.read_whole", stuck.read_for_ever)
        ask(client, "a\n\nslow report")
        assert client.get("/").status_code == 200  # the page goes on meanwhile
        said = answer(client, 1)
    assert client.get("/questions/1").status_code == 422
    assert "this report could not be read in 1 seconds; shorten it to what goes wrong" in said
    assert stuck.workers() == []
    monkeypatch.setattr("tosloc.localize.session.SECONDS_TO_READ", 30)
    ask(client)
    assert "shop/cart.py" in answer(client, 2)


def test_a_question_is_called_by_its_first_line_until_its_report_is_read(
    client, questions, monkeypatch
):
    monkeypatch.setattr(questions.session, "ask_about", lambda *_, **__: Future())
    ask(client, '\n {"title": "lost"}\nmore')
    assert questions.asked[1].name == 'report 1: {"title": "lost"}'


def test_a_question_is_called_by_what_its_report_says(client, questions):
    ask(client, '{"number": 7, "title": "The cart forgets an item", "body": ""}')
    answer(client, 1)
    assert questions.asked[1].name == "7: The cart forgets an item"


@pytest.mark.parametrize("number", ["1" * 5_000, "-1", "١", "x"])
def test_an_address_of_no_question_is_not_found(client, number):
    assert client.get(f"/questions/{number}").status_code == 404
    assert client.post(f"/questions/{number}/forget", headers=OWN).status_code == 404


def test_a_version_that_is_none_fails_that_question_alone(client):
    for more in ({"commit": "--output=/tmp/x"}, {"commit": "../../etc"}, {}):
        ask(client, **more)
    failed = answer(client, 2)
    assert client.get("/questions/2").status_code == 422
    assert (
        """role="alert">no commit &#39;../../etc&#39;; check its spelling, or run: git fetch"""
        in failed
    )
    assert 'value="../../etc"' in failed
    assert "another one.</textarea>" in failed
    assert shown(client, "/questions/2") == ["1"]
    assert "shop/cart.py" in answer(client, 3)
    assert client.get("/questions/3").text.count('data-state="failed"') == 2


def test_this_machines_own_names_are_let_in_and_no_others(client):
    for host in (
        "evil.example",
        "127.0.0.1.evil.example:8765",
        "localhost@evil.example",
        "",
        "0.0.0.0",
        "10.0.0.1",
    ):
        refused = client.get("/", headers={"Host": host})
        assert (refused.status_code, "<" in refused.text) == (403, False)
    for host in ("127.0.0.1:8765", "LOCALHOST", "[::1]:8765"):
        assert client.get("/", headers={"Host": host}).status_code == 200
        asked = client.post(
            "/questions", data={"text": " "}, headers={"Host": host, "Origin": f"http://{host}"}
        )
        assert asked.status_code == 303


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
def test_what_comes_from_another_page_changes_and_reads_nothing(client, questions, origin):
    headers = {} if origin is None else {"Origin": origin}
    for path in ("/questions", "/questions/1/forget"):
        assert client.post(path, data={"text": REPORT}, headers=headers).status_code == 403
    reply = client.get("/", headers=headers)
    assert reply.status_code == (200 if origin is None else 403)
    assert not {"access-control-allow-origin", "set-cookie"} & set(reply.headers)
    assert not questions.asked


@pytest.mark.parametrize(
    "path", ["/", "", f"/{SECRET[:-1]}/", f"/{SECRET}x/", "/caf\u00e9/", f"//{SECRET}/"]
)
def test_who_lacks_the_secret_sees_and_changes_nothing(questions, path):
    stranger = TestClient(application(questions, SECRET), base_url=HERE, follow_redirects=False)
    refused = stranger.get(path)
    assert (
        refused.status_code,
        "the secret of the page; open the whole address" in refused.text,
    ) == (403, True)
    assert stranger.post(f"{path}questions", data={"text": REPORT}, headers=OWN).status_code == 403
    assert not questions.asked


def test_too_much_is_not_read(client):
    refused = client.post("/questions", content=iter([b"text=", b"x" * MOST_BYTES]), headers=OWN)
    assert refused.status_code == 413


def test_every_reply_has_the_headers(client):
    for reply in (
        client.get("/"),
        client.get("/nowhere"),
        client.get("/", headers={"Host": "evil.example"}),
    ):
        assert (reply.headers["x-content-type-options"], reply.headers["cache-control"]) == (
            "nosniff",
            "no-store",
        )
        assert reply.headers["cross-origin-resource-policy"] == "same-origin"
        assert reply.headers["content-security-policy"].startswith(
            "default-src 'none'; style-src 'sha256-"
        )
        assert "frame-ancestors 'none'" in reply.headers["content-security-policy"]


def test_what_a_report_says_is_text(client):
    hostile = "</textarea><script>alert(1)</script> cart"
    ask(client, hostile, commit='"><script>alert(2)</script>')
    answer(client, 1)
    ask(client, f'{{"{hostile}', commit='"><script>')
    answer(client, 2)
    for text in (client.get("/").text, client.get("/questions/2").text):
        assert text.count("<script>") == 1
        assert "<script>alert" not in text


def name_on_page(shop, report, number):
    """Return the name under which the page shows a report, asked as a question with this number."""
    name, _ = page_of(report, number, shop, None, Ask(), "", ignore_progress)
    return name


def test_pasted_text_is_called_a_report_with_the_number_of_its_question(shop):
    assert name_on_page(shop, read_report(StringIO(REPORT)), 2).startswith("report 2")


def test_a_report_with_an_id_of_its_own_keeps_it(shop):
    exported = json.dumps(
        {"number": 52, "title": "The cart forgets an item", "body": "", "createdAt": "2024-05-06"}
    )
    assert name_on_page(shop, read_report(StringIO(exported)), 2).startswith("52")


def test_questions_wait_for_each_other_and_the_oldest_are_forgotten(questions, client, monkeypatch):
    given = []

    def held(*question, progress, stopped):
        given.append((Future(), progress, stopped))
        return given[-1][0]

    monkeypatch.setattr(questions.session, "ask_about", held)
    for _ in range(KEPT):
        ask(client)
    given[0][1]("analysing", 3, 7)
    waiting = client.get("/questions/2").text
    assert all(
        said in waiting
        for said in ("analysing, 3 of 7", "waits for its turn", '<noscript><meta http-equiv="re')
    )
    full = ask(client, "one more")
    assert (full.status_code, "<noscript>" in full.text) == (422, False)
    assert all(words in full.text for words in (f"{KEPT} questions wait already", ">one more<"))
    client.post("/questions/1/forget", headers=OWN)
    assert [stopped() for _, _, stopped in given[:2]] == [True, False]  # its process may be killed
    given[0][0].set_exception(Interrupted())
    given[1][0].set_exception(BrokenProcessPool())
    given[2][0].set_exception(KeyError("/secret/path"))
    given[3][0].set_result(("4: found", Markup("<b>found</b>")))
    assert "a worker process was killed" in answer(client, 2)
    assert "an error of the program; its terminal says more" in answer(client, 3)
    for _ in range(2):
        ask(client)
    assert (client.get("/questions/2").status_code, client.get("/questions/3").status_code) == (
        404,
        422,
    )
    assert "<b>found</b>" in answer(client, 4)


@contextmanager
def serving(questions):
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


def test_a_form_that_breaks_off_leaves_no_traceback_and_no_question(questions, capfd):
    headers = "Host: localhost\r\nOrigin: http://localhost\r\nContent-Length: 9\r\n\r\n"
    with (
        serving(questions) as port,
        socket.create_connection(("127.0.0.1", port), timeout=10) as broken,
    ):
        broken.sendall(f"POST /{SECRET}/questions HTTP/1.1\r\n{headers}text".encode())
        broken.close()
        time.sleep(0.2)
    assert capfd.readouterr() == ("", "")
    assert not questions.asked
