"""The process that parses takes little memory for any text, and reads the next one."""

import os
import pickle
import signal
import subprocess
import sys
from concurrent.futures.process import BrokenProcessPool

import pytest

from tests.code import hostile
from tosloc.code import parse
from tosloc.code.facts import analyse
from tosloc.code.functions import find_functions
from tosloc.code.languages import get_language
from tosloc.code.parse import capture_nodes

GREEDY = "/" + "(,a " * 5000 + ";"
HONEST = "class Door {\n  void open(int a) {}\n}\n"
MAX_MEGABYTES = 500
MAX_SECONDS_OF_A_READING = 5.0


def parser_id():
    """Return the id of the running parser's process."""
    return parse._PARSER._process.pid


@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
@pytest.mark.parametrize(
    ("size", "number"),
    [
        (5_000, 0),
        pytest.param(20_000, 0, marks=pytest.mark.slow),
        pytest.param(80_000, 300, marks=pytest.mark.slow),
    ],
)
def test_no_text_takes_much_memory_or_time(size, number):
    command = [sys.executable, "-m", "tests.code.hostile", str(size), str(number)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    megabytes, seconds = map(float, done.stdout.split())
    assert megabytes < MAX_MEGABYTES
    assert seconds < 2 * MAX_SECONDS_OF_A_READING  # a text is read for its facts, then functions


@pytest.mark.parametrize(("suffix", "text"), [(".cs", GREEDY), (".c", ";*" * 30000)])
def test_a_greedy_text_is_read_by_the_lexer(suffix, text):
    assert not analyse(text, suffix).parsed
    assert len(find_functions(text, suffix)) == 0


def test_a_greedy_text_leaves_the_next_one_parsed():
    analyse(GREEDY, ".cs")
    assert analyse(HONEST, ".java").parsed


def test_memory_that_earlier_texts_took_does_not_matter(monkeypatch):
    analyse(HONEST, ".java")
    used = parser_id()
    started = []
    start = parse._Parser._start

    def count_starts(self):
        started.append(1)
        start(self)

    monkeypatch.setattr(parse._Parser, "_start", count_starts)
    assert not analyse(GREEDY, ".cs").parsed
    assert started == [1]  # the new process decides
    analyse(HONEST, ".java")
    assert parser_id() != used


def test_a_parser_that_is_killed_by_others_is_started_again():
    analyse(HONEST, ".java")
    os.kill(parser_id(), signal.SIGKILL)
    assert analyse(HONEST, ".java").parsed


def test_a_parser_that_is_always_killed_is_an_error(monkeypatch):
    start = parse._Parser._start

    def start_and_kill(self):
        start(self)
        self._process.kill()

    parse._PARSER.close()
    monkeypatch.setattr(parse._Parser, "_start", start_and_kill)
    with pytest.raises(BrokenProcessPool, match="killed at every file"):
        analyse(HONEST, ".java")


def test_a_text_that_takes_too_long_is_read_by_the_lexer(monkeypatch):
    class Late(parse._Parser):
        def _start(self):
            super()._start()
            os.kill(self._process.pid, signal.SIGPROF)

    late = Late()
    monkeypatch.setattr(parse, "_PARSER", late)
    assert not analyse(HONEST, ".java").parsed
    late.close()


def test_an_interrupted_request_is_not_answered_by_the_next_one(monkeypatch):
    def interrupt(_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(pickle, "load", interrupt)
        with pytest.raises(KeyboardInterrupt):
            analyse(HONEST, ".java")
    captures = capture_nodes(b"class A {}", get_language("java"), ("type", "method"))
    assert captures == {"type": [(6, 7, "")]}


def test_a_forked_process_has_a_parser_of_its_own():
    analyse(HONEST, ".java")
    ours = parser_id()
    child = os.fork()
    if child == 0:
        analyse(HONEST, ".java")
        os._exit(int(parser_id() == ours))
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert analyse(HONEST, ".java").parsed


def test_a_grammar_that_cannot_be_loaded_is_an_error():
    with pytest.raises(AttributeError, match="nothing"):
        parse._PARSER.captures(b"a", "tree_sitter_java nothing", ("type",))
    assert capture_nodes(b"class A {}", get_language("java"), ("type",)) is not None


def test_every_family_is_of_a_language_with_a_grammar():
    assert {suffix for suffix, *_ in hostile.FAMILIES} <= {*hostile.GRAMMARS}
