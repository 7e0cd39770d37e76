"""Input from outside is answered, or refused in one sentence: reports, the page, coding agents.

Hostile git directories are tested in ``tests/git/test_hostile_git.py``, damaged checkpoints in
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

from conftest import make_shop
from tests.web.test_page import check_harmless
from tosloc.core.answers import Background, EarlierChange, Function, Hit, Person, Reason
from tosloc.core.errors import ReportError, RepositoryError
from tosloc.core.io import escape_unprintable
from tosloc.core.reports import BugReport
from tosloc.localize.answer import Answer, SearchScope
from tosloc.mcp.answers import choose_repository
from tosloc.reports.formats import read_reports
from tosloc.reports.issues import read_new_reports
from tosloc.web.render import answers_page
from tosloc.web.server import Questions, application

WHEN = datetime(2024, 5, 6, tzinfo=UTC)

# Texts: any characters, also halves of surrogate pairs, and markup
ANY_TEXT = st.text(st.characters(), max_size=40)
MARKUP = "<script> </script> <img/src=x> <!-- ]]> \" ' & {{ }} {% \0 \u202e \n a".split(" ")
TEXT = ANY_TEXT | st.lists(st.sampled_from(MARKUP)).map("".join)

# JSON values whose keys are often those of reports
KEYS = (
    "id number key iid title summary description body fields created created_at createdAt "
    "creation_time opened state resolution labels comments text url html_url fixed fix_commit "
    "version functions methods path name start"
).split()
NUMBER = st.none() | st.booleans() | st.integers() | st.floats()
PLAIN_VALUE = NUMBER | TEXT | st.sampled_from(["2024-05-06T07:08:09Z", "A.java"])


def containers(values):
    """Return a strategy of lists and objects of some values."""
    keys = st.sampled_from(KEYS) | TEXT
    return st.lists(values, max_size=3) | st.dictionaries(keys, values, max_size=6)


def to_lines(values):
    """Return JSON values as the content of a file, one a line."""
    return "\n".join(map(json.dumps, values)).encode()


VALUE = st.recursive(PLAIN_VALUE, containers, max_leaves=12)
GOOD_RECORD = {
    "id": "1",
    "summary": "s",
    "description": "d",
    "opened": "2024-05-06",
    "fixed": ["A.java"],
    "title": "t",
}
CHANGED_RECORD = st.dictionaries(st.sampled_from(KEYS), VALUE).map(
    lambda changes: GOOD_RECORD | changes
)

# Files: the beginning of some format followed by any bytes, or lines of JSON
BEGINNINGS = (
    b"",
    b"{",
    b"[",
    b"PK\3\4",
    b"<?xml version='1.0'?><a><table name='b'>",
    b"\xff\xfe",
    b"---\ntitle: x\n---\n",
)
BINARY_FILE = st.builds(bytes.__add__, st.sampled_from(BEGINNINGS), st.binary(max_size=60))
JSON_FILE = st.lists(VALUE | CHANGED_RECORD, min_size=1, max_size=3).map(to_lines)
FILE = BINARY_FILE | JSON_FILE


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder for all examples of a test."""
    return tmp_path_factory.mktemp("hostile")


def result_or_refusal(error, function, *arguments):
    """Return (result, None) of a function, or (None, sentence) of the error that it raises."""
    try:
        return function(*arguments), None
    except error as refusal:
        return None, str(refusal)


def check_refusal(sentence, path):
    """Check that a refusal begins with the file, and is one line when it is printed."""
    assert sentence.startswith(str(path))
    assert len(escape_unprintable(sentence).splitlines()) == 1


@given(FILE)
@example(json.dumps(GOOD_RECORD).encode())
@example(b'{"\\r": null}')
def test_a_file_of_new_reports_is_read_or_refused(folder, content):
    path = folder / "reports"
    path.write_bytes(content)
    reports, sentence = result_or_refusal(ReportError, read_new_reports, path)
    if reports is None:
        check_refusal(sentence, path)
        return
    assert reports
    for report in reports:
        assert report.id
        assert report.summary or report.description
        assert report.opened is None or report.opened.tzinfo is not None


@given(FILE)
@example(json.dumps(GOOD_RECORD).encode())
def test_a_file_of_labelled_reports_is_read_or_refused(folder, content):
    path = folder / "reports"
    path.write_bytes(content)
    reports, sentence = result_or_refusal(ReportError, read_reports, path)
    if reports is None:
        check_refusal(sentence, path)
        return
    ids = [labelled.report.id for labelled in reports]
    assert all(ids)
    assert len(set(ids)) == len(ids)
    assert any(labelled.listed for labelled in reports)
    for labelled in reports:
        assert all(name.endswith(".java") for name in labelled.listed)


@pytest.fixture
def good_file(folder):
    """Return the path of a file with one good record."""
    record = {key: value for key, value in GOOD_RECORD.items() if key != "title"}
    path = folder / "good"
    path.write_text(json.dumps(record))
    return path


def test_a_good_record_is_read_as_a_new_report(good_file):
    expected = BugReport("1", "s", "d", datetime(2024, 5, 6, tzinfo=UTC))
    assert read_new_reports(good_file) == [expected]


def test_a_good_record_is_read_as_a_labelled_report(good_file):
    [labelled] = read_reports(good_file)
    assert labelled.report == BugReport("1", "s", "d", datetime(2024, 5, 6, tzinfo=UTC))
    assert labelled.listed == ("A.java",)


FORM = st.dictionaries(st.sampled_from(["text", "commit", "tests"]), TEXT)


@given(st.binary(max_size=60) | FORM)
def test_the_page_takes_or_refuses_any_form(folder, form):
    questions = Questions(folder)
    questions.session.ask_about = lambda *_, **__: Future()  # type: ignore[method-assign]
    server = application(questions, "secret")
    client = TestClient(server, "http://127.0.0.1/secret", follow_redirects=False)
    body = form if isinstance(form, bytes) else urlencode(form, errors="surrogatepass").encode()
    headers = {"Content-Type": "application/x-www-form-urlencoded", "Origin": "http://127.0.0.1"}
    answer = client.post("/questions", content=body, headers=headers)
    if questions.cards:
        assert answer.status_code == 303
    else:
        assert answer.status_code == 422
        assert 'role="alert"' in answer.text


@given(TEXT, TEXT, TEXT)
def test_the_page_escapes_any_text(first, second, third):
    url = "https://example.org/a"
    commit = "a" * 40
    reason = Reason(first, second, commit, third, (1, 2), url)
    hit = Hit(1, second, 1.0, 0.5, (Function(third, 1, 2, 1.0),), (reason,))
    answer = Answer(
        repository=f"/srv/{second}",
        commit="c" * 40,
        committed=WHEN,
        report=BugReport(first, second, third, WHEN),
        searched=SearchScope(1, 2),
        hits=(hit,),
        others=(hit,),
        background=Background(
            earlier=(EarlierChange(commit, WHEN, second, third, (first,), url),),
            people=(Person(second, WHEN),),
            owners=(first,),
            tests=(second,),
        ),
        notes=(first,),
    )
    html = answers_page([answer])
    check_harmless(html)
    html.encode()  # there are no halves of surrogate pairs in it


@pytest.fixture(scope="module")
def shop(folder):
    """Return the path of the one repository in which agents may search."""
    (folder / "outside").mkdir()
    return make_shop(folder / "shop")


PATH_PARTS = [".", "..", "~", "/", "shop", "outside", ".git", "\0", ""]


@given(ANY_TEXT | st.lists(st.sampled_from(PATH_PARTS)).map("/".join))
@example("")
@example("../outside")
def test_agents_get_the_allowed_repository_or_a_refusal(shop, name):
    repository, sentence = result_or_refusal(RepositoryError, choose_repository, [shop], name)
    if repository is None:
        assert f"there is no git repository in {shop}, where this server may search" in sentence
    else:
        assert repository in (shop, shop / ".git")


@pytest.mark.parametrize("name", ["", ".", "shop", "../shop/tests"])
def test_a_folder_of_the_allowed_repository_is_found(shop, name):
    assert choose_repository([shop], name) == shop


@pytest.mark.parametrize("name", ["..", "../outside", "/", "~", "nowhere"])
def test_a_folder_outside_of_the_allowed_repository_is_refused(shop, name):
    with pytest.raises(RepositoryError, match="where this server may search"):
        choose_repository([shop], name)
