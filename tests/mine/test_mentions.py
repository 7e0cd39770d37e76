"""How messages name issues."""

import time

import pytest

from tosloc.errors import ConfigError
from tosloc.mine.mentions import BODY, CLOSES, NAMES, NUMBER, compiled, mentions

KNOWN = {"1", "12", "34", "567", "58522", "LANG-9"}


@pytest.mark.parametrize(
    ("message", "found"),
    [
        ("Fix crash\n\nFixes #12", {"12": CLOSES}),
        ("fix: crash, closes #12, #34 and #567", {"12": CLOSES, "34": CLOSES, "567": CLOSES}),
        ("Crash\n\nCloses https://github.com/Ann/One/issues/12.", {"12": CLOSES}),
        ("Crash\n\nFixes ann/one#12", {"12": CLOSES}),
        ("Crash\n\nFixes bob/two#12 and https://github.com/bob/two/issues/34", {}),
        ("Fix https://bz.apache.org/bugzilla/show_bug.cgi?id=58522", {"58522": CLOSES}),
        ("Fix bug 58522 and LANG-9", {"58522": CLOSES, "LANG-9": CLOSES}),
        ("Fixes 12 of the 34 failures", {}),
        ("Issue #12: mind the gap", {"12": NAMES}),
        ("LANG-9 Mind the gap", {"LANG-9": NAMES}),
        ("Mind the gap (#12)", {"12": NUMBER}),
        ("Mind the gap\n\nIt was wide: #12.", {"12": BODY}),
        ("Follow-up to #12, as in issue #34, refs #567", {}),
        ("Closes https://github.com/ann/one/pull/12", {}),
        ("Merge 12 files, v1.12, 34%, #120, a#12b, &#12;", {}),
        ("See #1, #12 and #34. Fixes #567", {"567": CLOSES}),
        ("Mind the gap\n\nsee the talk in https://github.com/ann/one/issues/12#issuecomment-9", {}),
        ("Update\n\n- Mind it ([#12](https://github.com/bob/two/pull/12))", {}),
        ("Lock\n\n  #34  0x00005 in g ()", {}),
        ("Add a failing test for #12", {}),
    ],
)
def test_what_a_message_names(message, found):
    assert mentions(message, KNOWN, {"ann/one"}) == found


def test_numbers_alone_are_issues_of_bugzilla_and_a_pattern_names_the_id_in_a_group():
    assert mentions("58522: mind the gap", KNOWN, ()) == {}
    for message in ("58522: mind the gap", "PR 58522: mind the gap", "[58522] mind the gap\n58522"):
        assert mentions(message, KNOWN, (), bare=True) == {"58522": NAMES}
    with pytest.raises(ConfigError, match="has no group; put what is the id in one"):
        compiled(r"Bug-Id: \d+")


@pytest.mark.parametrize("text", ["fix " * 5000, "https://a" + "/b" * 9000, "a" * 19000 + "/", "#1," * 6000])
def test_long_texts_take_no_long_time(text):
    began = time.process_time()
    mentions(text, KNOWN, ())
    assert time.process_time() - began < 0.5
