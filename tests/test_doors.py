"""Whatever comes in by a door is answered or refused in a sentence: files of reports, the page, coding agents.

The doors of git's directory and of a checkpoint are in ``tests/git/test_hostile_git.py``, ``tests/test_checkpoint.py``.
"""

import json
from concurrent.futures import Future
from contextlib import suppress
from datetime import UTC, datetime
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient

from conftest import repository as shop_at
from tests.web.test_page import check_harmless
from tosloc.answer import Answer, Searched
from tosloc.errors import ReportError, RepositoryError
from tosloc.mcp.answers import repository_in
from tosloc.records import Background, BugReport, EarlierChange, Function, Hit, Person, Reason
from tosloc.reports.formats import read_reports
from tosloc.reports.issues import read_new_reports
from tosloc.web.render import page
from tosloc.web.server import Questions, application

WHEN = datetime(2024, 5, 6, tzinfo=UTC)
ANY = st.text(st.characters(), max_size=40)  # halves of surrogate pairs, too
MARKUP = st.lists(st.sampled_from("<script> </script> <img/src=x> <!-- ]]> \" ' & {{ }} {% \0 \u202e \n a".split(" ")))
TEXT = ANY | MARKUP.map("".join)
KEYS = (
    "id number key iid title summary description body fields created created_at createdAt creation_time opened state"
    " resolution labels comments text url html_url fixed fix_commit version functions methods path name start"
).split()
NUMBER = st.none() | st.booleans() | st.integers() | st.floats()
PLAIN = NUMBER | TEXT | st.sampled_from(["2024-05-06T07:08:09Z", "A.java"])


def nested(inner):
    return st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS) | TEXT, inner, max_size=6)


VALUE = st.recursive(PLAIN, nested, max_leaves=12)
GOOD = {"id": "1", "summary": "s", "description": "d", "opened": "2024-05-06", "fixed": ["A.java"], "title": "t"}
RECORD = st.dictionaries(st.sampled_from(KEYS), VALUE).map(lambda changed: GOOD | changed)
LINES = st.lists(VALUE | RECORD, min_size=1, max_size=3).map(lambda values: "\n".join(map(json.dumps, values)).encode())
BEGUN = (b"", b"{", b"[", b"PK\3\4", b"<?xml version='1.0'?><a><table name='b'>", b"\xff\xfe", b"---\ntitle: x\n---\n")
FILE = st.builds(bytes.__add__, st.sampled_from(BEGUN), st.binary(max_size=60)) | LINES


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("doors")


@given(FILE)
def test_a_file_of_reports(folder, content):
    (folder / "reports").write_bytes(content)
    with suppress(ReportError):
        assert all(isinstance(one, BugReport) for one in read_new_reports(folder / "reports"))
    with suppress(ReportError):
        assert all(one.listed or one.report.id for one in read_reports(folder / "reports"))


@given(st.binary(max_size=60) | st.dictionaries(st.sampled_from(["text", "commit", "tests"]), TEXT), TEXT)
def test_the_form_of_the_page(folder, sent, path):
    questions = Questions(folder)
    questions.session.ask_about = lambda *_, **__: Future()  # type: ignore[method-assign]
    client = TestClient(application(questions, "secret"), "http://127.0.0.1/secret", follow_redirects=False)
    body = sent if isinstance(sent, bytes) else urlencode(sent, errors="surrogatepass").encode()
    headers = {"Content-Type": "application/x-www-form-urlencoded", "Origin": "http://127.0.0.1"}
    answer = client.post("/questions", content=body, headers=headers)
    assert answer.status_code == (303 if questions.asked else 422)
    assert questions.asked or 'role="alert"' in answer.text


@given(TEXT, TEXT, TEXT)
def test_what_the_page_says(one, two, three):
    reason = Reason(one, two, "a" * 40, three, (1, 2), "https://example.org/a")
    hit = Hit(1, two, 1.0, 0.5, (Function(three, 1, 2, 1.0),), (reason,))
    report = BugReport(one, two, three, WHEN)
    earlier = EarlierChange("a" * 40, one, two, three, (one,), "https://example.org/a")
    past = Background((earlier,), (Person(two, three),), (one,), (two,))
    answer = Answer(f"/srv/{two}", "c" * 40, WHEN, report, Searched(1, 2), (hit,), (hit,), past, (one,))
    text = page([answer])
    check_harmless(text)
    text.encode()


@pytest.fixture(scope="module")
def shop(folder):
    (folder / "outside").mkdir()
    return shop_at(folder / "shop")


@given(ANY | st.lists(st.sampled_from([".", "..", "~", "/", "shop", "outside", ".git", "\0", ""])).map("/".join))
def test_a_repository_that_an_agent_names(shop, name):
    with suppress(RepositoryError):
        assert repository_in([shop], name) in (shop, shop / ".git")
