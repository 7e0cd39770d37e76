"""Facts of small sources, term by term, and of sources made to break things."""

from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from tosloc.code import vocabulary
from tosloc.code.facts import analyse, split_component
from tosloc.code.languages import FIELDS, SOURCE_SUFFIXES, analyser_version, with_grammar_release
from tosloc.core.config import Config

SHOP = """/*
 * Licensed to nobody in particular.
 */
package org.example.shop;

import java.util.List;

/**
 * Sells <code>HTMLPages</code>, see {@link Page}.
 */
public class PageShop extends Base {
    // the limit
    private static final int MAX_SIZE = 10, other;
    public PageShop(String name) { super(name + "no\\nValue"); }
    List<Page> getURLFor(char c) { return c == 'x' ? other : MAX_SIZE; }
}
"""
COUNTS = """\
sell      0  1  0  0  0  0
html      0  1  0  0  0  0
page      3  2  0  1  1  0
htmlpages 0  1  0  0  0  0
pageshop  2  0  0  1  1  0
shop      2  0  0  1  1  0
base      1  0  0  0  0  0
limit     0  1  0  0  0  0
max       2  0  0  0  0  1
size      2  0  0  0  0  1
maxsize   2  0  0  0  0  1
name      2  0  0  0  0  0
valu      0  0  1  0  0  0
list      1  0  0  0  0  0
get       1  0  0  1  0  0
url       1  0  0  1  0  0
geturlfor 1  0  0  1  0  0
"""
"""Counts of each term in code, comments, strings, and names of methods, types and fields."""
EXPECTED = {term: tuple(map(int, counts)) for term, *counts in map(str.split, COUNTS.splitlines())}


def table(facts):
    """Return the counts of each term by field."""
    return {term: tuple(row) for term, row in zip(facts.terms, facts.counts.tolist(), strict=True)}


def chunks(facts):
    """Return the terms of each chunk with their counts."""
    pairs = []
    for place, count in zip(facts.chunk_terms, facts.chunk_counts.tolist(), strict=True):
        pairs.append((facts.terms[place], count))
    result = []
    for start, end in pairwise(facts.chunk_starts):
        chunk = pairs[start:end]
        assert chunk == sorted(chunk)
        result.append(dict(chunk))
    return result


def column(facts, field):
    """Return the terms of one field with their counts."""
    place = FIELDS.index(field)
    return Counter({term: row[place] for term, row in table(facts).items() if row[place]})


def test_every_term_is_counted_in_its_fields():
    facts = analyse(SHOP, ".java")
    assert table(facts) == EXPECTED
    assert facts.terms == sorted(facts.terms)
    assert facts.lines == 16
    assert facts.parsed


def test_complexity_is_zero_without_lizard():
    assert analyse(SHOP, ".java").complexity == 0


def test_short_text_is_one_chunk_of_code_comments_and_strings():
    expected = {term: sum(row[:3]) for term, row in EXPECTED.items()}
    assert chunks(analyse(SHOP, ".java")) == [expected]


def test_no_word_crosses_the_edge_of_a_string():
    facts = analyse('tree "apple$banana"\n', ".sh")
    assert column(facts, "string") == Counter(["appl"])
    assert column(facts, "code") == Counter(["tree", "banana"])


def test_characters_beyond_ascii_are_parts_of_words_or_end_them():
    facts = analyse('run("größe\u00a0\\Ωmega“zebra”")\n', ".py")
    assert column(facts, "string") == Counter(["größe", "mega", "zebra"])


def test_facts_are_the_same_after_the_vocabulary_was_full(monkeypatch):
    before = analyse(SHOP, ".java")
    monkeypatch.setattr(vocabulary, "_MAX_WORDS", 0)
    after = analyse(SHOP, ".java")
    assert after.terms == before.terms
    assert table(after) == table(before)
    assert chunks(after) == chunks(before)


def test_counts_take_little_memory():
    facts = analyse(SHOP, ".java")
    assert facts.counts.dtype == np.uint16
    assert facts.chunk_counts.dtype == np.uint8


@pytest.mark.parametrize("line_end", ["\r\n", "\r"], ids=["CR LF", "CR"])
def test_line_ends_do_not_matter(line_end):
    facts = analyse(SHOP.replace("\n", line_end), ".java")
    assert table(facts) == EXPECTED
    assert facts.lines == 16


def test_comments_before_the_package_and_imports_are_dropped():
    text = (
        "package a;\n/* Copyright Giant */\nimport b.Zebra;\n"
        "/** Tiger */ class A { /* Copyright lion */ }"
    )
    facts = analyse(text, ".java")
    assert column(facts, "comment") == Counter(["tiger", "copyright", "lion"])
    assert "zebra" not in table(facts)


@pytest.mark.parametrize(
    ("text", "suffix"),
    [
        ("/** Tiger */ class A { }", ".java"),
        ("// Copyright Giant\n// all of it\n\n// Tiger\nint a;\n", ".c"),
        ("#!/bin/sh\n# Copyright Giant\n# all of it\n\n# Tiger\nx=1\n", ".sh"),
    ],
    ids=["javadoc", "line comments", "script"],
)
def test_only_the_licence_of_the_head_is_dropped(text, suffix):
    assert column(analyse(text, suffix), "comment").keys() - {"bin", "sh"} == {"tiger"}


@pytest.mark.parametrize("last", ["", "\n"], ids=["no line break", "line break"])
def test_chunks_have_fifty_lines_and_ten_of_overlap(last):
    names = [f"n{number:03}" for number in range(165)]
    facts = analyse("\n".join(names) + last, ".txt")
    assert [list(chunk) for chunk in chunks(facts)] == [
        names[0:60],
        names[50:110],
        names[100:160],
        names[150:165],
    ]


def test_terms_of_all_fields_are_in_the_chunk_of_their_line():
    text = "class A {\n" + "\n".join(['apple(); /* pear */ "plum".size();'] * 65) + "}"
    assert [chunk["plum"] for chunk in chunks(analyse(text, ".java"))] == [59, 16]


def test_escaped_line_breaks_of_a_string_count_as_lines():
    text = "x = 'a\\\n" + "b\\\n" * 60 + "plum'\n"
    assert ["plum" in chunk for chunk in chunks(analyse(text, ".js"))] == [False, True]


def test_counts_stop_at_their_largest_value():
    facts = analyse("apple " * 70_000, ".txt")
    assert table(facts) == {"appl": (65_535, 0, 0, 0, 0, 0)}
    assert chunks(facts) == [{"appl": 255}]


BROKEN = [
    "",
    "\0\x01\xff\ufffd" * 50,
    "\ud800 lone surrogate",
    "}}}} ((( /* never closed",
    'class A { String s = "never closed; }',
    "(" * 60_000,
    "new A(){" * 3_000,
    "x" * 300_000,
    '<script>"',
    "\0<script>\0",
]


@pytest.mark.parametrize(
    "suffix",
    [
        ".java",
        ".py",
        pytest.param(".kt", marks=pytest.mark.slow),
        pytest.param(".vue", marks=pytest.mark.slow),
        pytest.param(".unknown", marks=pytest.mark.slow),
    ],
)
def test_broken_texts_have_facts(suffix):
    for text in BROKEN:
        facts = analyse(text, suffix)
        assert len(facts.terms) == len(facts.counts)
        assert facts.chunk_starts[-1] == len(facts.chunk_terms)
        assert len(facts.chunk_terms) == len(facts.chunk_counts)
        assert len(facts.chunk_starts) >= 2


DECLARED = [
    part.split("\n", 1)
    for part in Path(__file__).with_name("declarations.txt").read_text().split("==== ")[1:]
]
"""Suffix and sample: the names that a text declares, field by field, above the text."""


@pytest.mark.parametrize(("suffix", "sample"), DECLARED, ids=[suffix for suffix, _ in DECLARED])
def test_declared_names_of_each_language(suffix, sample):
    head, _, text = sample.partition("----\n")
    facts = analyse(text, suffix)
    for line in head.splitlines():
        field, _, names = line.partition(":")
        assert column(facts, field) == Counter(names.lower().split()), field
    assert "oak" not in column(facts, "code") or suffix in (".jsx", ".tsx")
    assert facts.parsed == (suffix not in (".sql", ".pyx"))


def test_version_of_facts_names_lizard_only_if_it_was_used():
    assert "lizard" not in with_grammar_release("java", analyser_version())
    assert "lizard" in with_grammar_release("java", analyser_version(lizard=True))


def test_settings_can_name_every_source_suffix():
    Config.of({"data": {"suffixes": sorted(SOURCE_SUFFIXES)}}, "my.toml")


def test_version_of_facts_depends_on_the_grammar_alone():
    assert with_grammar_release("vue", "1") == with_grammar_release("typescript", "1")


def test_text_that_no_parser_understands_is_read_by_the_lexer():
    text = 'gibberish ((( here /* with a remark */ and "some text" ]]] }'
    facts = analyse(text, ".java")
    assert not facts.parsed
    assert column(facts, "comment") == Counter(["remark"])
    assert {"gibberish", "remark", "text"} <= set(facts.terms)


def test_letters_of_any_script_are_words():
    facts = analyse('x = "größe_alt naïve $übel" # straße ٣٤ –日本語', ".py")
    assert {"größe", "alt", "naïv", "übel"} <= column(facts, "string").keys()
    assert {"straße", "日本", "本語"} <= column(facts, "comment").keys()


def test_string_that_ends_behind_the_text_is_cut_there():
    # Kotlin's grammar gives a string without an end one byte too many after some broken texts.
    facts = analyse('/**/abstract class ein\nE m>,$i"t\n    }\n}', ".kt")
    assert column(facts, "type") == Counter(["ein"])


@pytest.mark.parametrize(
    ("source", "script"),
    [
        (b'<SCRIPT setup lang="ts" generic="T extends A<B>">a</SCRIPT >', b"a"),
        (b"<script>a</script><script setup>b</script>", b"a                       b"),
        (b"<!-- <script>a</script> --><script>b</script>", b"b"),
        (b"\n---\na\n---\n<script>b</script>", b"a\n   \n        b"),
        (b"---\na", b"a"),
        (b"<script>a", b"a"),
        (b"<p>---\na\n---\n</p>", b""),
    ],
    ids=[
        "attributes",
        "two scripts",
        "commented out",
        "front matter",
        "only front matter",
        "no end",
        "dashes in the text",
    ],
)
def test_component_is_split_into_scripts_and_the_rest(source, script):
    scripts, rest = split_component(source)
    assert scripts.strip() == script
    assert len(scripts) == len(source)
    assert len(rest) == len(source)
    blank = ord(" ")
    for in_scripts, in_rest, original in zip(scripts, rest, source, strict=True):
        assert original in (in_scripts, in_rest)
        assert in_scripts == in_rest or blank in (in_scripts, in_rest)


@pytest.mark.parametrize(
    ("suffix", "line"),
    [
        (".lua", 'local oak = require("elm")'),
        (".zig", 'const oak = @import("elm.zig");'),
        (".ex", "  alias Oak.Elm"),
    ],
)
def test_import_has_no_words(suffix, line):
    terms = analyse(f"{line}\nash = 1\n", suffix).terms
    assert "ash" in terms
    assert not {"oak", "elm"} & set(terms)


def test_tests_of_rust_inside_a_source_file_have_no_words():
    inner = "mod tests {\n    #[test]\n    fn elm() { ash() }\n    fn fir() {}\n}\n"
    text = f"fn oak() {{}}\n#[cfg(test)]\n{inner}"
    facts = analyse(text, ".rs")
    assert "oak" in facts.terms
    assert not {"elm", "ash", "fir"} & set(facts.terms)
