"""Which part of a report each line of its description is."""

import pytest

from tosloc.reports.text.parts import split_report_text


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


def test_code_keeps_its_markup():
    text = "`<a href='x'>` fails\n```html\n<a target='_blank'><!-- door -->![cart](c.png)\n```"
    parts = split_report_text(text)
    assert parts.prose == "`<a href='x'>` fails"
    assert parts.code == "<a target='_blank'><!-- door -->![cart](c.png)"


def test_attributes_of_tags_are_left_out_and_their_text_stays():
    text = 'See <a href="https://x.org" target="_blank">the cart</a><br>and <b class="c">doors</b>'
    assert "".join(split_report_text(text).prose.split()) == "Seehttps://x.orgthecartanddoors"


def test_component_that_looks_like_a_tag_stays():
    assert "CartList" in split_report_text("It fails in <CartList items={1}> only").prose


def test_template_in_a_block_is_the_form():
    text = "It hangs\n```\ndepot --self-test\nrun(3)\n```"
    parts = split_report_text(text, {"depot self test"})
    assert parts.form == "depot --self-test"
    assert parts.code == "run(3)"


NGINX = "server {\n  server_name x.org;\n  location / {\n    proxy_pass http://b;\n  }\n}"
APACHE = '<VirtualHost *:80>\nServerName x.org\nDocumentRoot "/srv"\n</VirtualHost>'
SYSTEMD = "[Unit]\nDescription=Cart\n[Service]\nExecStart=/bin/cart\nWantedBy=multi-user.target"
COMPOSE = "services:\n  db:\n    container_name: db\n    depends_on:\n      - cache_server"
DOCKER = "FROM debian\nENV DEBIAN_FRONTEND=none\nRUN apt-get install libpq_dev"


@pytest.mark.parametrize("block", [NGINX, APACHE, SYSTEMD, COMPOSE, DOCKER])
def test_configuration_of_another_program_is_environment(block):
    parts = split_report_text(f"It hangs\n```\n{block}\n```", is_own_term=frozenset().__contains__)
    assert parts.environment == block


@pytest.mark.parametrize("block", [NGINX, COMPOSE])
def test_configuration_of_names_that_files_contain_is_evidence(block):
    own_terms = {"servername", "containername"}
    parts = split_report_text(f"It hangs\n```\n{block}\n```", is_own_term=own_terms.__contains__)
    assert parts.environment == ""


@pytest.mark.parametrize(
    "block",
    ["run(door)\nopen_door(3)\nclose_door(3)", '{\n"door_id": 1,\n"cart_id": 2,\n"c": 3\n}'],
    ids=["code", "json"],
)
def test_other_block_of_unknown_names_is_no_environment(block):
    parts = split_report_text(f"```\n{block}\n```", is_own_term=frozenset().__contains__)
    assert parts.environment == ""
