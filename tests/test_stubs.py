"""The stub server ends requests without an answer, and prints nothing about them."""

import threading
from concurrent.futures import ThreadPoolExecutor
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from tests.stubs import NO_ANSWER, StubServer
from tests.waiting import TIMEOUT_SECONDS, wait_until


def wait_for_threads(names):
    """Wait until all threads but these have ended."""
    wait_until(lambda: {thread.name for thread in threading.enumerate()} <= names)


@pytest.fixture
def thread_names():
    return {thread.name for thread in threading.enumerate()}


def test_a_request_without_an_answer_ends_quietly_with_the_server(thread_names, capsys):
    asked = threading.Event()

    def give_no_answer(*_):
        asked.set()
        return NO_ANSWER

    server = StubServer(give_no_answer)
    with ThreadPoolExecutor(1) as threads:
        response = threads.submit(urlopen, server.url, timeout=TIMEOUT_SECONDS)
        assert asked.wait(TIMEOUT_SECONDS)
        assert not response.done()
        server.close()
        with pytest.raises((ConnectionError, URLError)):
            response.result()
    wait_for_threads(thread_names)
    assert capsys.readouterr().err == ""


def test_a_cut_connection_prints_no_traceback(thread_names, capsys):
    def cut_connection(*_):
        raise ConnectionAbortedError

    server = StubServer(cut_connection)
    with pytest.raises((ConnectionError, URLError)):
        urlopen(server.url, timeout=TIMEOUT_SECONDS)
    server.close()
    wait_for_threads(thread_names)
    assert capsys.readouterr().err == ""


def test_a_wrong_answer_prints_its_traceback(thread_names, capsys):
    server = StubServer(lambda *_: None)
    with pytest.raises((ConnectionError, URLError)):
        urlopen(server.url, timeout=TIMEOUT_SECONDS)
    server.close()
    wait_for_threads(thread_names)
    assert "TypeError: cannot unpack non-iterable NoneType" in capsys.readouterr().err
