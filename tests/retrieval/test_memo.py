"""An object remembers results of functions of it, and they are freed with the object."""

import gc
import weakref

import pytest

from tosloc.retrieval.memo import KEPT_RESULTS, Remembering


class Numbers(Remembering):
    def __init__(self):
        self.calls = []


def times(numbers, factor):
    numbers.calls.append(factor)
    return [factor]


@pytest.fixture
def numbers():
    return Numbers()


def test_the_same_arguments_are_computed_once(numbers):
    first = numbers.remember(times, 3)
    assert numbers.remember(times, 3) is first
    assert numbers.calls == [3]


def test_two_objects_share_no_results(numbers):
    assert numbers.remember(times, 3) is not Numbers().remember(times, 3)


def test_the_result_used_longest_ago_is_forgotten(numbers):
    for factor in range(KEPT_RESULTS + 1):
        numbers.remember(times, factor)
    numbers.remember(times, 0)
    assert numbers.calls == [*range(KEPT_RESULTS + 1), 0]


def test_results_are_freed_with_their_object():
    numbers = Numbers()

    class Result:
        pass

    result = weakref.ref(numbers.remember(lambda _: Result()))
    assert result() is not None
    del numbers
    gc.collect()
    assert result() is None
