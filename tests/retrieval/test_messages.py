"""Messages that a report shares with string literals, and how they are shown."""

import pytest

from tests.index_fixtures import make_context, make_corpus
from tosloc.retrieval.history import messages
from tosloc.retrieval.history.messages import MAX_VALUE_WORDS
from tosloc.retrieval.texts.formulas import idf

__all__ = ["make_context", "make_corpus"]

FILES = {
    "a": {"literals": "cannot open %s for reading at %d / door is locked"},
    "b": {"literals": "locked door"},
    **{f"c{number}": {"literals": "a door is here"} for number in range(9)},
}


@pytest.fixture
def message_of(make_context):
    """Return a function from a report's description to the message that file a shares with it."""

    def find(description, summary="x"):
        context = make_context(FILES, summary, description)
        return context.messages.find(int(context.version.text.rows[0]))

    return find


def test_message_is_shown_as_the_report_writes_it(message_of):
    message = message_of("It said: The Door is LOCKED, then nothing")
    assert message.text == "Door is LOCKED"
    assert message.words == 3


def test_value_of_a_field_is_left_out(message_of):
    message = message_of("Error: cannot open /x/y.txt for reading at 7")
    assert message.text == "cannot open … for reading at"
    assert message.words == 5


def test_value_with_too_many_words_joins_nothing(message_of):
    value = " ".join("abcdefghijkl"[: MAX_VALUE_WORDS + 1])
    assert message_of(f"cannot open {value} for reading").text == "cannot open"


def test_title_may_have_the_message(message_of):
    assert message_of("", "door is locked").text == "door is locked"


def test_longest_message_is_that_with_the_rarest_pairs(message_of):
    assert message_of("door is locked. cannot open").text == "door is locked"


def test_words_in_another_order_are_no_message(message_of):
    assert message_of("open cannot") is None


def test_files_of_the_rarest_pair_are_counted(message_of):
    assert message_of("door is").fewest_files == 10
    assert message_of("door is locked").fewest_files == 1


def test_short_message_is_not_distinctive(message_of):
    assert message_of("door is locked").is_distinctive
    assert not message_of("cannot open").is_distinctive


def test_message_of_many_files_is_not_distinctive(make_context):
    context = make_context(FILES, "x", "a door is here")
    message = context.messages.find(int(context.version.text.rows[2]))
    assert message.words == 4
    assert not message.is_distinctive


def test_report_without_words_has_no_message(message_of):
    assert message_of("", "") is None


def test_rarities_are_computed_once_for_all_files_of_a_report(make_context, monkeypatch):
    context = make_context(FILES, "x", "the door is locked here")
    messages = context.messages
    calls = []

    def count_calls(documents, frequency):
        calls.append(documents)
        return idf(documents, frequency)

    monkeypatch.setattr("tosloc.retrieval.history.messages.idf", count_calls)
    for row in range(len(FILES)):
        messages.find(row)
    assert len(calls) == 1


@pytest.mark.parametrize("separator", [" ", "\n"], ids=["one line", "many lines"])
def test_words_are_looked_up_to_a_limit(make_context, monkeypatch, separator):
    """Also within a line, because a report of megabytes may be one line."""
    monkeypatch.setattr(messages, "MAX_WORDS", 20)
    context = make_context(FILES, "x", separator.join(map(str, range(1000))))
    assert len(context.messages._words) == 20
