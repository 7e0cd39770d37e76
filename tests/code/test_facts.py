"""Facts of small sources, term by term, and of sources made to break things."""

from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from tosloc.code.facts import analyse, split_component
from tosloc.code.languages import FIELDS, analyser_version, with_grammar_release

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
"""Of each term in code, comments, strings, names of methods, types and fields."""
GOLDEN = {term: tuple(map(int, counts)) for term, *counts in map(str.split, COUNTS.splitlines())}


def table(facts):
    return {term: tuple(row) for term, row in zip(facts.terms, facts.counts.tolist(), strict=True)}


def chunks(facts):
    pairs = [
        (facts.terms[p], n)
        for p, n in zip(facts.chunk_terms, facts.chunk_counts.tolist(), strict=True)
    ]
    found = [pairs[start:end] for start, end in pairwise(facts.chunk_starts)]
    assert found == list(map(sorted, found))
    return list(map(dict, found))


def column(facts, field):
    place = FIELDS.index(field)
    return Counter({term: row[place] for term, row in table(facts).items() if row[place]})


def test_golden_java():
    facts = analyse(SHOP, ".java")
    assert table(facts) == GOLDEN
    assert facts.terms == sorted(facts.terms)
    assert (facts.lines, facts.parsed, facts.complexity) == (16, True, 0)
    assert chunks(facts) == [{term: sum(row[:3]) for term, row in GOLDEN.items()}]
    assert (facts.counts.dtype, facts.chunk_counts.dtype) == (np.uint16, np.uint8)
    for end in ("\r\n", "\r"):
        other = analyse(SHOP.replace("\n", end), ".java")
        assert (table(other), other.lines) == (table(facts), facts.lines)


def test_headers_are_dropped_and_javadoc_is_kept():
    text = "package a;\n/* Copyright Giant */\nimport b.Zebra;\n/** Tiger */ class A { /* Copyright lion */ }"
    facts = analyse(text, ".java")
    assert column(facts, "comment") == Counter(["tiger", "copyright", "lion"])
    assert "zebra" not in table(facts)
    for text, suffix in (
        ("/** Tiger */ class A { }", ".java"),
        ("// Copyright Giant\n// all of it\n\n// Tiger\nint a;\n", ".c"),
        ("#!/bin/sh\n# Copyright Giant\n# all of it\n\n# Tiger\nx=1\n", ".sh"),
    ):
        assert column(analyse(text, suffix), "comment").keys() - {"bin", "sh"} == {"tiger"}


@pytest.mark.parametrize("last", ["", "\n"])
def test_chunks_are_fifty_lines_and_ten_more(last):
    names = [f"n{i:03}" for i in range(165)]
    facts = analyse("\n".join(names) + last, ".txt")
    assert [list(chunk) for chunk in chunks(facts)] == [
        names[0:60],
        names[50:110],
        names[100:160],
        names[150:165],
    ]
    text = "class A {\n" + "\n".join(['apple(); /* pear */ "plum".size();'] * 65) + "}"
    assert [chunk["plum"] for chunk in chunks(analyse(text, ".java"))] == [59, 16]
    continued = "x = 'a\\\n" + "b\\\n" * 60 + "plum'\n"  # what is no word may hold ends of lines
    assert ["plum" in chunk for chunk in chunks(analyse(continued, ".js"))] == [False, True]
    facts = analyse("apple " * 70_000, ".txt")
    assert (table(facts), chunks(facts)) == ({"appl": (65_535, 0, 0, 0, 0, 0)}, [{"appl": 255}])


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
        *(pytest.param(one, marks=pytest.mark.slow) for one in (".kt", ".vue", ".unknown")),
    ],
)
def test_broken_texts_have_facts(suffix):
    for text in BROKEN:
        facts = analyse(text, suffix)
        assert len(facts.terms) == len(facts.counts)
        assert facts.chunk_starts[-1] == len(facts.chunk_terms) == len(facts.chunk_counts)
        assert len(facts.chunk_starts) >= 2


DECLARED = [
    part.split("\n", 1)
    for part in Path(__file__).with_name("declarations.txt").read_text().split("==== ")[1:]
]
"""Suffix, and what is declared in a text, field by field, above that text."""


@pytest.mark.parametrize(("suffix", "sample"), DECLARED, ids=[suffix for suffix, _ in DECLARED])
def test_what_is_declared_in_each_language(suffix, sample):
    head, _, text = sample.partition("----\n")
    facts = analyse(text, suffix)
    for line in head.splitlines():
        field, _, names = line.partition(":")
        assert column(facts, field) == Counter(names.lower().split()), field
    assert "oak" not in column(facts, "code") or suffix in (".jsx", ".tsx")
    assert facts.parsed == (suffix not in (".sql", ".pyx"))


def test_analysers():
    assert (
        "lizard"
        not in with_grammar_release("java", analyser_version())
        != with_grammar_release("java", analyser_version(lizard=True))
    )
    assert with_grammar_release("vue", "1") == with_grammar_release("typescript", "1")


def test_words_and_strings_that_are_odd():
    facts = analyse(
        'gibberish ((( here /* with a remark */ and "some text" ]]] }', ".java"
    )  # the parser gives up
    assert (facts.parsed, column(facts, "comment")) == (False, Counter(["remark"]))
    assert {"gibberish", "remark", "text"} <= set(facts.terms)
    facts = analyse('x = "größe_alt naïve $übel" # straße ٣٤ –日本語', ".py")
    assert {"größe", "alt", "naïv", "übel"} <= column(facts, "string").keys()
    assert {"straße", "日本語"} <= column(facts, "comment").keys()
    # Kotlin's grammar gives a string that does not end one byte more than there is, after some broken texts
    assert column(analyse('/**/abstract class ein\nE m>,$i"t\n    }\n}', ".kt"), "type") == Counter(
        ["ein"]
    )


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
)
def test_a_component_is_taken_apart(source, script):
    found, rest = split_component(source)
    assert found.strip() == script
    assert len(found) == len(rest) == len(source)
    for own, other, both in zip(found, rest, source, strict=True):
        assert both in (own, other)
        assert own == other == both or 32 in (own, other)
