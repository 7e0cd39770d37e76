"""Sections of configuration, which are listed as functions are."""

import pytest

from tests.code.test_functions import outline
from tosloc.code.functions import MAX_DEPTH, find_functions
from tosloc.code.sections import find_sections

WORKFLOW = """---
name: CI
on:
  push:
    branches: [main]
jobs:
  build:
    runs-on: oak
    steps:
      - uses: checkout
      - name: Run tests
        run: |
          name: no key
          elm:
            ash
      - name: "Upload 1.2"  # fir
        uses: pine

  other:
    deep:
      deeper:
        x: 1
"""
TASKS = """- name: Install oak
  apt:
    name: oak
- block:
    - name: Start oak
      service: oak
- debug: oak
"""
SETTINGS = """x = 1
[tool.oak]
elm = 2

[[tool.ash]] # fir
pine = 3
"""


def test_keys_and_named_items_of_yaml_are_sections():
    assert outline(WORKFLOW, ".yml") == [
        "on c3-5",
        "on.push m4-5",
        "jobs c6-22",
        "jobs.build c7-17",
        "jobs.build.Run tests m11-15",
        "jobs.build.Upload 1 2 m16-17",
        "jobs.other m19-22",
    ]


def test_tasks_of_ansible_are_sections():
    assert outline(TASKS, ".yaml") == ["Install oak f1-3", "Start oak f5-6"]


def test_items_may_be_as_far_to_the_left_as_their_key():
    text = "steps:\n- name: Run\n  run: oak\n- name: Stop\n  run: elm\nlast:\n  x: 1\n"
    assert outline(text, ".yml") == [
        "steps c1-5",
        "steps.Run m2-3",
        "steps.Stop m4-5",
        "last f6-7",
    ]


@pytest.mark.parametrize("path", ["a.toml", "a.ini", "a.cfg", "A.CONF"])
def test_headers_are_sections(path):
    assert outline(SETTINGS, path) == ["tool oak f2-3", "tool ash f5-6"]


def test_sections_have_their_words():
    facts = find_functions(TASKS, "a.yml")
    terms = {facts.terms[place] for place in facts.places[facts.offsets[1] : facts.offsets[2]]}
    assert terms == {"name", "start", "oak", "servic"}


@pytest.mark.parametrize("path", ["a.json", "a.properties", "Makefile", "a.dart"])
def test_other_files_have_no_sections(path):
    assert len(find_functions(WORKFLOW + SETTINGS, path)) == 0


@pytest.mark.parametrize("text", ["", "\n", ":", "- ", "a:", "a: |", "[", "[]", "\t- name: x"])
def test_fragments_raise_nothing(text):
    for path in ("a.yml", "a.ini"):
        assert all(section.start < section.end for section in find_sections(text, path))


def test_depth_of_sections_is_limited():
    text = "".join(f"{'  ' * depth}- name: x\n{'  ' * depth}  y:\n" for depth in range(50))
    assert len(find_functions(text, "a.yml")) == MAX_DEPTH


def test_line_ends_of_windows_are_read():
    assert outline(TASKS.replace("\n", "\r\n"), ".yml") == outline(TASKS, ".yml")
