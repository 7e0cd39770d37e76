"""Features of the places that reports name, with values worked by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tosloc.rank import features

FILES = (
    "docs/conf.py",
    "shop/__init__.py",
    "shop/door.py",
    "shop/key.py",
    "shop/old/door.py",
    "third_party/x/door.c",
)
TRACEBACK = """Traceback (most recent call last):
  File "/home/me/run.py", line 3, in <module>
  File "/env/lib/python3.8/site-packages/shop/key.py", line 4, in turn
  File "/env/lib/python3.8/site-packages/shop/door.py", line 14, in open
  File "/env/lib/python3.8/site-packages/other/key.py", line 4, in turn
  File "/env/lib/python3.8/json/door.py", line 4, in load
"""


def of(name, context):
    return features.FEATURES[name].values(context)


def test_frames_of_the_projects_own_files_count_from_the_innermost(make_context):
    context = make_context(FILES, "x", TRACEBACK)
    assert of("own_frame", context).tolist() == [0, 0, 1, 1 / 2, 0, 0]


def test_a_second_trace_counts_less(make_context):
    context = make_context(
        FILES, "x", f'{TRACEBACK}\nTraceback (most recent call last):\n  File "docs/conf.py", line 3\n'
    )
    assert of("own_frame", context) == pytest.approx([1 / math.sqrt(2), 0, 1, 1 / 2, 0, 0])


def test_a_name_that_two_files_have_is_divided(make_context):
    context = make_context(FILES, "x", 'File "door.py", line 3, in open')
    assert of("own_frame", context).tolist() == [0, 0, 1 / 2, 0, 1 / 2, 0]


def test_links_and_written_paths_in_their_order(make_context):
    said = (
        "See https://github.com/me/shop/blob/abc/shop/key.py#L3 and https://github.com/me/shop/blob/abc/docs/conf.py."
    )
    context = make_context(FILES, "x", f"{said} In old/door.py and key.py, as run by `python docs/conf.py`.")
    assert of("linked", context) == pytest.approx([1 / math.sqrt(2), 0, 0, 1, 0, 0])
    assert of("written_path", context).tolist() == [0, 0, 0, 1 / 2, 1, 0]


def test_kinds_of_places(make_context):
    context = make_context(FILES)
    assert of("example", context).tolist() == [1, 0, 0, 0, 0, 0]
    assert of("setup", context).tolist() == [1, 0, 0, 0, 0, 0]
    assert of("vendored", context).tolist() == [0, 0, 0, 0, 0, 1]


def test_namesake(make_context):
    shares = np.array([0.0, 0.1, 0.5, 0.1, 0.2, 0.1])
    assert of_prior("namesake", make_context(FILES), shares) == [0, 0, 0.2, 0, 0.5, 0]


def of_prior(name, context, shares):
    return features.FEATURES[name].values(context, shares).tolist()


def test_a_report_that_names_nothing(make_context):
    context = make_context(FILES, "It fails.", "Nothing is to be seen.")
    for name in ("own_frame", "linked", "written_path"):
        assert of(name, context).tolist() == [0] * len(FILES)
