"""A closing cache closes each value that it forgets, and the others when Python exits."""

import subprocess
import sys

import pytest

from tosloc.core.closing_cache import closing_cache


class Opened:
    def __init__(self, name, closed):
        self.name = name
        self.closed = closed

    def close(self):
        self.closed.append(self.name)


@pytest.fixture
def closed():
    """Build the list of the names of values that were closed, in order."""
    return []


@pytest.fixture
def opened(closed):
    """Build a function of a name that keeps its last two results open."""
    return closing_cache(2)(lambda name: Opened(name, closed))


def test_the_same_arguments_give_the_same_value(opened, closed):
    assert opened("a") is opened("a")
    assert closed == []


def test_the_value_used_longest_ago_is_closed(opened, closed):
    opened("a")
    opened("b")
    opened("a")
    opened("c")
    assert closed == ["b"]


def test_a_value_is_closed_before_another_is_opened(closed):
    opened = closing_cache(1)(lambda name: Opened(f"{name} after {closed}", closed))
    opened("a")
    assert opened("b").name == "b after ['a after []']"


def test_a_forgotten_value_is_opened_again(opened):
    first = opened("a")
    opened("b")
    opened("c")
    assert opened("a") is not first


def test_an_error_is_not_kept(closed):
    def fail_at_first(name):
        if not closed:
            closed.append(name)
            raise OSError("not now")
        return Opened(name, closed)

    opened = closing_cache(1)(fail_at_first)
    with pytest.raises(OSError, match="not now"):
        opened("a")
    assert opened("a").name == "a"


PROGRAM = """
from tosloc.core.closing_cache import closing_cache

class Opened:
    def close(self):
        print("closed")

closing_cache(2)(lambda name: Opened())("a")
print("end of the program")
"""


def test_values_are_closed_when_python_exits():
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    assert done.stdout == "end of the program\nclosed\n"
