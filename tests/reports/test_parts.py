"""Which part of a report each line of its description is."""

from tosloc.reports.parts import split_report_text


def test_an_indented_first_line_is_prose():
    parts = split_report_text("    It hangs\nafter a while")
    assert parts.prose == "    It hangs\nafter a while"


def test_an_indented_line_after_code_is_code():
    parts = split_report_text("x = open(path);\n    and then it hangs")
    assert parts.code == "x = open(path);\n    and then it hangs"
    assert parts.prose == ""


def test_an_indented_line_after_a_blank_line_of_code_is_code():
    parts = split_report_text("x = open(path);\n\n    and then it hangs")
    assert parts.code == "x = open(path);\n    and then it hangs"


def test_an_indented_line_after_a_heading_of_the_form_is_prose():
    parts = split_report_text("x = open(path);\n## To Reproduce\n    and then it hangs")
    assert parts.code == "x = open(path);"
    assert parts.prose == "    and then it hangs"


def test_each_block_between_fences_begins_without_code():
    parts = split_report_text("x = open(path);\n```\nrun(3)\n```\n    and then it hangs")
    assert parts.code == "x = open(path);\nrun(3)"
    assert parts.prose == "    and then it hangs"


def test_lines_of_dashes_are_left_out_of_prose():
    assert split_report_text("It hangs\n-----\nafter a while").prose == "It hangs\nafter a while"


def test_quoted_lines_are_a_part_of_their_own():
    parts = split_report_text("I read\n> it is fixed\n> since long\nbut no")
    assert parts.quoted == "it is fixed\nsince long"
    assert parts.prose == "I read\nbut no"


def test_pictures_and_comments_are_left_out():
    text = "It hangs ![the cart](https://x.org/a.png) here <img src='b.png'>\n<!-- Fill in -->"
    assert split_report_text(text).prose.split() == ["It", "hangs", "here"]


def test_settings_are_data():
    assert split_report_text("```yaml\nserver:\n  port: 1\n```").data == "server:\n  port: 1"


def test_line_without_breaks_is_prose_whatever_it_begins_with():
    text = "2020-01-02 10:11:12 INFO " + "it hangs and then " * 99
    assert split_report_text(text).prose == text
