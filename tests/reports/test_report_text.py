"""What the lines of a description are: prose, code or data."""

from tosloc.reports.text import parts


def test_an_indented_first_line_is_prose():
    assert parts("    It hangs\nafter a while").prose == "    It hangs\nafter a while"


def test_an_indented_line_after_code_is_code():
    found = parts("x = open(path);\n    and then it hangs")
    assert found.code == "x = open(path);\n    and then it hangs"
    assert found.prose == ""


def test_an_indented_line_after_a_blank_line_of_code_is_code():
    assert (
        parts("x = open(path);\n\n    and then it hangs").code
        == "x = open(path);\n    and then it hangs"
    )


def test_an_indented_line_after_a_heading_of_the_form_is_prose():
    found = parts("x = open(path);\n## To Reproduce\n    and then it hangs")
    assert found.code == "x = open(path);"
    assert found.prose == "    and then it hangs"


def test_each_block_between_fences_begins_without_code():
    found = parts("x = open(path);\n```\nrun(3)\n```\n    and then it hangs")
    assert found.code == "x = open(path);\nrun(3)"
    assert found.prose == "    and then it hangs"


def test_lines_of_dashes_are_left_out_of_prose():
    assert parts("It hangs\n-----\nafter a while").prose == "It hangs\nafter a while"
