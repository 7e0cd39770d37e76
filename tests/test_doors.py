"""Whatever comes in by a door is answered or refused in a sentence: files of reports, the page, coding agents.

Those of git's directory are in ``tests/git/test_hostile_git.py``, those of a checkpoint in
``tests/localize/test_checkpoint.py``.
"""

import json
from concurrent.futures import Future
from datetime import UTC, datetime
from urllib.parse import urlencode

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from starlette.testclient import TestClient

from conftest import repository as shop_at
from tests.web.test_page import check_harmless
from tosloc.core.errors import ReportError, RepositoryError
from tosloc.core.io import escape_unprintable
from tosloc.core.records import Background, BugReport, EarlierChange, Function, Hit, Person, Reason
from tosloc.localize.answer import Answer, SearchScope
from tosloc.mcp.answers import choose_repository
from tosloc.reports.formats import read_reports
from tosloc.reports.issues import read_new_reports
from tosloc.web.render import answers_page
from tosloc.web.server import Questions, application

WHEN = datetime(2024, 5, 6, tzinfo=UTC)
ANY = st.text(st.characters(), max_size=40)  # halves of surrogate pairs, too
MARKUP = st.lists(
    st.sampled_from(
        "<script> </script> <img/src=x> <!-- ]]> \" ' & {{ }} {% \0 \u202e \n a".split(" ")
    )
)
TEXT = ANY | MARKUP.map("".join)
KEYS = (
    "id number key iid title summary description body fields created created_at createdAt creation_time opened state"
    " resolution labels comments text url html_url fixed fix_commit version functions methods path name start"
).split()
NUMBER = st.none() | st.booleans() | st.integers() | st.floats()
PLAIN = NUMBER | TEXT | st.sampled_from(["2024-05-06T07:08:09Z", "A.java"])


def nested(inner):
    return st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(KEYS) | TEXT, inner, max_size=6
    )


VALUE = st.recursive(PLAIN, nested, max_leaves=12)
GOOD = {
    "id": "1",
    "summary": "s",
    "description": "d",
    "opened": "2024-05-06",
    "fixed": ["A.java"],
    "title": "t",
}
RECORD = st.dictionaries(st.sampled_from(KEYS), VALUE).map(lambda changed: GOOD | changed)
LINES = st.lists(VALUE | RECORD, min_size=1, max_size=3).map(
    lambda values: "\n".join(map(json.dumps, values)).encode()
)
BEGUN = (
    b"",
    b"{",
    b"[",
    b"PK\3\4",
    b"<?xml version='1.0'?><a><table name='b'>",
    b"\xff\xfe",
    b"---\ntitle: x\n---\n",
)
FILE = st.builds(bytes.__add__, st.sampled_from(BEGUN), st.binary(max_size=60)) | LINES


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("doors")


def answer_or_refusal(error, function, *arguments):
    """What a function returns, and None; or None, and the sentence of the error that refuses the arguments."""
    try:
        return function(*arguments), None
    except error as refusal:
        return None, str(refusal)


@given(FILE)
@example(json.dumps(GOOD).encode())
@example(b'{"\\r": null}')
def test_a_file_of_new_reports_is_read_or_refused_in_one_line(folder, content):
    path = folder / "reports"
    path.write_bytes(content)
    reports, sentence = answer_or_refusal(ReportError, read_new_reports, path)
    if reports is None:
        assert sentence.startswith(str(path))
        assert len(escape_unprintable(sentence).splitlines()) == 1
        return
    assert reports
    for report in reports:
        assert report.id
        assert report.summary or report.description
        assert report.opened is None or report.opened.tzinfo is not None


@given(FILE)
@example(json.dumps(GOOD).encode())
def test_a_file_of_labelled_reports_is_read_or_refused_in_one_line(folder, content):
    path = folder / "reports"
    path.write_bytes(content)
    reports, sentence = answer_or_refusal(ReportError, read_reports, path)
    if reports is None:
        assert sentence.startswith(str(path))
        assert len(escape_unprintable(sentence).splitlines()) == 1
        return
    ids = [labelled.report.id for labelled in reports]
    assert all(ids)
    assert len(set(ids)) == len(ids)
    assert any(labelled.listed for labelled in reports)
    for labelled in reports:
        assert all(name.endswith(".java") for name in labelled.listed)


def test_a_good_record_is_read_both_as_a_new_and_as_a_labelled_report(folder):
    record = {key: value for key, value in GOOD.items() if key != "title"}
    path = folder / "good"
    path.write_text(json.dumps(record))
    [new] = read_new_reports(path)
    [labelled] = read_reports(path)
    assert new == BugReport("1", "s", "d", datetime(2024, 5, 6, tzinfo=UTC))
    assert labelled.report == new
    assert labelled.listed == ("A.java",)


@given(
    st.binary(max_size=60) | st.dictionaries(st.sampled_from(["text", "commit", "tests"]), TEXT),
    TEXT,
)
def test_the_form_of_the_page(folder, sent, path):
    questions = Questions(folder)
    questions.session.ask_about = lambda *_, **__: Future()  # type: ignore[method-assign]
    client = TestClient(
        application(questions, "secret"), "http://127.0.0.1/secret", follow_redirects=False
    )
    body = sent if isinstance(sent, bytes) else urlencode(sent, errors="surrogatepass").encode()
    headers = {"Content-Type": "application/x-www-form-urlencoded", "Origin": "http://127.0.0.1"}
    answer = client.post("/questions", content=body, headers=headers)
    assert answer.status_code == (303 if questions.cards else 422)
    assert questions.cards or 'role="alert"' in answer.text


@given(TEXT, TEXT, TEXT)
def test_what_the_page_says(one, two, three):
    reason = Reason(one, two, "a" * 40, three, (1, 2), "https://example.org/a")
    hit = Hit(1, two, 1.0, 0.5, (Function(three, 1, 2, 1.0),), (reason,))
    report = BugReport(one, two, three, WHEN)
    earlier = EarlierChange("a" * 40, one, two, three, (one,), "https://example.org/a")
    past = Background((earlier,), (Person(two, three),), (one,), (two,))
    answer = Answer(
        f"/srv/{two}", "c" * 40, WHEN, report, SearchScope(1, 2), (hit,), (hit,), past, (one,)
    )
    text = answers_page([answer])
    check_harmless(text)
    text.encode()


@pytest.fixture(scope="module")
def shop(folder):
    (folder / "outside").mkdir()
    return shop_at(folder / "shop")


@given(
    ANY
    | st.lists(st.sampled_from([".", "..", "~", "/", "shop", "outside", ".git", "\0", ""])).map(
        "/".join
    )
)
@example("")
@example("../outside")
def test_a_repository_that_an_agent_names_is_the_allowed_one_or_refused_in_one_line(shop, name):
    found, sentence = answer_or_refusal(RepositoryError, choose_repository, [shop], name)
    if found is None:
        assert f"no git repository in {shop}, where this server may look" in sentence
    else:
        assert found in (shop, shop / ".git")


@pytest.mark.parametrize("name", ["", ".", "shop", "../shop/tests"])
def test_a_folder_of_the_allowed_repository_is_found(shop, name):
    assert choose_repository([shop], name) == shop


@pytest.mark.parametrize("name", ["..", "../outside", "/", "~", "nowhere"])
def test_a_folder_outside_of_the_allowed_repository_is_refused(shop, name):
    with pytest.raises(RepositoryError, match="where this server may look"):
        choose_repository([shop], name)
