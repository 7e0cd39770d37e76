"""Facts of small sources, term by term, and of sources made to break things."""

from __future__ import annotations

import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from tosloc.code.facts import analyse, analyse_all, apart
from tosloc.code.functions import functions_of
from tosloc.code.languages import FIELDS, LANGUAGES, SOURCE_SUFFIXES, analyser, analyser_of, language_of
from tosloc.code.terms import Facts

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
GOLDEN = {  # code, comment, string, method, type, field
    "sell": (0, 1, 0, 0, 0, 0),
    "html": (0, 1, 0, 0, 0, 0),
    "page": (3, 2, 0, 1, 1, 0),
    "htmlpages": (0, 1, 0, 0, 0, 0),
    "pageshop": (2, 0, 0, 1, 1, 0),
    "shop": (2, 0, 0, 1, 1, 0),
    "base": (1, 0, 0, 0, 0, 0),
    "limit": (0, 1, 0, 0, 0, 0),
    "max": (2, 0, 0, 0, 0, 1),
    "size": (2, 0, 0, 0, 0, 1),
    "maxsize": (2, 0, 0, 0, 0, 1),
    "name": (2, 0, 0, 0, 0, 0),
    "valu": (0, 0, 1, 0, 0, 0),
    "list": (1, 0, 0, 0, 0, 0),
    "get": (1, 0, 0, 1, 0, 0),
    "url": (1, 0, 0, 1, 0, 0),
    "geturlfor": (1, 0, 0, 1, 0, 0),
}


def table(facts: Facts) -> dict[str, tuple[int, ...]]:
    return {term: tuple(row) for term, row in zip(facts.terms, facts.counts.tolist(), strict=True)}


def chunks(facts: Facts) -> list[dict[str, int]]:
    found = []
    for start, end in zip(facts.chunk_starts[:-1], facts.chunk_starts[1:], strict=True):
        places = facts.chunk_terms[start:end]
        assert (np.diff(places) > 0).all()
        found.append(
            {facts.terms[p]: int(n) for p, n in zip(places.tolist(), facts.chunk_counts[start:end], strict=True)}
        )
    return found


def column(facts: Facts, field: str) -> Counter[str]:
    place = FIELDS.index(field)
    return Counter({term: row[place] for term, row in table(facts).items() if row[place]})


def test_golden_java() -> None:
    facts = analyse(SHOP, ".java")
    assert table(facts) == GOLDEN
    assert facts.terms == sorted(facts.terms)
    assert (facts.lines, facts.complexity) == (16, 0)
    assert facts.parsed
    assert chunks(facts) == [{term: sum(row[:3]) for term, row in GOLDEN.items()}]
    assert facts.counts.dtype == np.uint16
    assert facts.chunk_counts.dtype == np.uint8


def test_line_ends_do_not_matter() -> None:
    unix = analyse(SHOP, ".java")
    for end in ("\r\n", "\r"):
        other = analyse(SHOP.replace("\n", end), ".java")
        assert table(other) == table(unix)
        assert other.lines == unix.lines


def test_enums_records_annotations_and_inner_types() -> None:
    facts = analyse(
        """
        enum Colour { RED, GREEN { void paint() { } }; final int code; Colour() { } }
        record Point(int left, String top) { Point { check(); } static class Maker { } }
        @interface Retry { int times() default 3; String KEY = "k"; }
        interface Drawable { int LAYERS = 2; void draw(); }
        """,
        ".java",
    )
    assert column(facts, "type") == Counter(["colour", "point", "maker", "retri", "drawabl"])
    assert column(facts, "method") == Counter(["paint", "colour", "point", "time", "draw"])
    assert column(facts, "field") == Counter(["red", "green", "code", "left", "top", "kei", "layer"])


def test_headers_are_dropped_and_javadoc_is_kept() -> None:
    between = (
        "package a;\n/* Copyright (c) Giant Corp. */\nimport b.Zebra;\n/** Tiger */ class A { /* Copyright lion */ }"
    )
    assert column(analyse(between, ".java"), "comment") == Counter(["tiger", "copyright", "lion"])
    assert "zebra" not in table(analyse(between, ".java"))
    bare = "/** Tiger */ class A { }"
    assert column(analyse(bare, ".java"), "comment") == Counter(["tiger"])
    lines = "// Copyright Giant\n// all of it\n\n// Tiger\nint a;\n"
    assert column(analyse(lines, ".c"), "comment") == Counter(["tiger"])
    hashes = "#!/bin/sh\n# Copyright Giant\n# all of it\n\n# Tiger\nx=1\n"
    assert "tiger" in table(analyse(hashes, ".sh"))
    assert "giant" not in table(analyse(hashes, ".sh"))


@pytest.mark.parametrize("last", ["", "\n"])
def test_chunks_are_fifty_lines_and_ten_more(last: str) -> None:
    names = [f"n{i:03}" for i in range(165)]
    facts = analyse("\n".join(names) + last, ".txt")
    assert [list(chunk) for chunk in chunks(facts)] == [names[0:60], names[50:110], names[100:160], names[150:165]]
    text = "\n".join(['apple /* pear */ "plum"'] * 55)
    assert chunks(analyse(text, ".java")) == [{"appl": 55, "pear": 55, "plum": 55}]
    text = "class A {\n" + "\n".join(['apple(); /* pear */ "plum".size();'] * 65) + "}"
    assert [chunk["plum"] for chunk in chunks(analyse(text, ".java"))] == [59, 16]


def test_counts_have_a_ceiling() -> None:
    facts = analyse("apple " * 70_000, ".txt")
    assert table(facts) == {"appl": (65_535, 0, 0, 0, 0, 0)}
    assert chunks(facts) == [{"appl": 255}]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\0\x01\xff\ufffd" * 50,
        "\ud800 lone surrogate",
        "}}}} ((( /* never closed",
        'class A { String s = "never closed; }',
        "(" * 60_000,
        "class A{void m(){" + "if(a){" * 5_000,
        "class A { int x = " + "a+" * 20_000 + "1; }",
        "new A(){" * 3_000,
        '"' * 20_001,
        "x" * 300_000,
        "\n" * 100_000,
        "<script>}}} (((",
        '<script>"',
        "\0<script>\0",
    ],
    ids=lambda text: repr(text[:12]),
)
@pytest.mark.parametrize("suffix", [".java", ".py", ".kt", ".lua", ".vue", ".unknown"])
def test_broken_texts_have_facts(text: str, suffix: str) -> None:
    facts = analyse(text, suffix)
    assert len(facts.terms) == len(facts.counts)
    assert facts.chunk_starts[-1] == len(facts.chunk_terms) == len(facts.chunk_counts)
    assert len(facts.chunk_starts) >= 2


def test_nothing_is_lost_when_the_parser_gives_up() -> None:
    facts = analyse('gibberish ((( here /* with a remark */ and "some text" ]]] }', ".java")
    assert not facts.parsed
    assert {"gibberish", "remark", "text"} <= set(facts.terms)
    assert column(facts, "comment") == Counter(["remark"])


@pytest.mark.parametrize(
    ("suffix", "text", "types", "methods", "fields", "comments", "strings"),
    [
        (
            ".py",
            'import os\nclass Tree:\n    """Oak or elm."""\n    size = 1\n'
            '    def grow(self):\n        self.leaf = f"bud {os}"  # spring\n',
            ["Tree"], ["grow"], ["size", "leaf"], ["oak", "elm", "spring"], ["bud"],
        ),
        (
            ".js",
            "import x from 'y';\n// oak\nclass Tree { leaf = 1; grow() { return `bud ${sun}`; } }\n"
            "const shrink = () => 'twig';\n",
            ["Tree"], ["grow", "shrink"], ["leaf"], ["oak"], ["bud", "twig"],
        ),
        (".jsx", "class Tree { grow() { return <Oak/>; } } // elm\n", ["Tree"], ["grow"], [], ["elm"], []),
        (
            ".c",
            '#include <oak.h>\n/* elm */ struct tree { int leaf; char *twig; };\n'
            'static int grow(int x) { return puts("bud"); }\n',
            ["tree"], ["grow"], ["leaf", "twig"], ["elm"], ["bud"],
        ),
        (
            ".cpp",
            'class Tree { int leaf; void grow(); };\nvoid Tree::grow() { log("bud"); } // elm\n',
            ["Tree"], ["grow", "grow"], ["leaf"], ["elm"], ["bud"],
        ),
        (
            ".go",
            'package wood\nimport "oak"\n// elm\ntype Tree struct { leaf int }\n'
            'func (t *Tree) Grow() string { return "bud" }\n',
            ["Tree"], ["Grow"], ["leaf"], ["elm"], ["bud"],
        ),
        (
            ".cs",
            'using Oak;\nnamespace Wood { /* elm */ class Tree { int leaf; int Twig { get; set; }\n'
            'void Grow() { var s = "bud"; } } }\n',
            ["Tree"], ["Grow"], ["leaf", "Twig"], ["elm"], ["bud"],
        ),
        (
            ".kt",
            'package wood\nimport oak.Oak\n// elm\nclass Tree(val twig: Int, other: Int) {\n    val leaf = 1\n'
            '    fun grow(): String { val inner = "bud"; return inner }\n}\nenum class Kind { PINE }\nobject Plant\n'
            'fun List<Tree>.water() {}\n',
            ["Tree", "Kind", "Plant"], ["grow", "water"], ["twig", "leaf", "pine"], ["elm"], ["bud"],
        ),
        (
            ".ts",
            "import x from 'y';\nnamespace Wood.Old { }\n// oak\n"
            "export abstract class Tree<T> extends Base { private leaf = 1;\n"
            "grow(): string { return `bud ${sun}`; } }\ninterface Plant { root: number; water(): void; }\n"
            "const shrink = () => 'twig';\ntype Kind = { bark: string };\nenum Colour { Red, Green = 'moss' }\n",
            ["Tree", "Plant", "Kind", "Colour"], ["grow", "water", "shrink"],
            ["leaf", "root", "bark", "red", "green"], ["oak"], ["bud", "twig", "moss"],
        ),
        (
            ".tsx",
            "// elm\nexport function Tree(props: Props) { return <Oak leaf={props.leaf}/>; }\n"
            "class Shrub { twig = 'bud'; }\n",
            ["Shrub"], ["Tree"], ["twig"], ["elm"], ["bud"],
        ),
        (
            ".rs",
            'use oak::Oak;\n/// elm\npub struct Tree { leaf: u8 }\nenum Kind { Pine(u8), Larch }\n'
            'const MOSS: &str = r"bud";\nimpl Tree { fn grow(&self) -> char { \'x\' } }\n'
            'trait Plant { fn water(&self); }\nmacro_rules! prune { () => {} }\n',
            ["Tree", "Kind", "Plant"], ["grow", "water", "prune"], ["leaf", "pine", "larch", "moss"], ["elm"], ["bud"],
        ),
        (
            ".scala",
            'package wood\nimport oak.Oak\n/* elm */ case class Tree(leaf: Int) { val twig = 1\n'
            '  def grow: String = { val inner = "bud"; inner } }\nobject Plant { type Root = Int; def water(): Unit }\n'
            'trait Shrub\n',
            ["Tree", "Plant", "Root", "Shrub"], ["grow", "water"], ["leaf", "twig"], ["elm"], ["bud"],
        ),
        (
            ".php",
            '<?php\nnamespace Wood\\Old;\nuse Oak\\Oak;\n# elm\n'
            'final class Tree { const MOSS = \'bud\'; private $leaf;\n'
            'function grow() { return "twig $x"; } }\ninterface Plant { function water(); }\ntrait Shrub {}\n'
            'enum Kind { case Pine; }\nfunction prune() {}\n',
            ["Tree", "Plant", "Shrub", "Kind"], ["grow", "water", "prune"], ["moss", "leaf", "pine"], ["elm"],
            ["bud", "twig"],
        ),
        (
            ".rb",
            "require 'oak'\n# elm\nmodule Wood\n  class Tree < Base\n    attr_reader :leaf\n    MOSS = 1\n"
            "    def grow\n      @twig = \"bud #{sun}\"\n    end\n    def self.water; end\n  end\nend\n",
            ["Wood", "Tree"], ["grow", "water"], ["leaf", "moss", "twig"], ["elm"], ["bud"],
        ),
        (
            ".swift",
            'import Oak\n// elm\nstruct Tree: Plant { let leaf = 1\n func grow() -> String { '
            'let inner = "bud \\(sun)"; return inner } }\n'
            'protocol Plant { func water(); var root: Int { get } }\nenum Kind { case pine, larch }\n'
            'extension Tree { func prune() {} }\n',
            ["Tree", "Plant", "Kind"], ["grow", "water", "prune"], ["leaf", "root", "pine", "larch"], ["elm"], ["bud"],
        ),
        (
            ".cu",
            '#include <oak.h>\n// elm\ntemplate <class T> __global__ void grow(T *leaf) { printf("bud"); }\n'
            "struct Tree { int twig; };\nvoid water() { grow<<<1, 2>>>(0); }\n",
            ["Tree"], ["grow", "water"], ["twig"], ["elm"], ["bud"],
        ),
        (
            ".tpp",
            'template <class T> void Tree<T>::grow() { log("bud"); } // elm\n',
            [], ["grow"], [], ["elm"], ["bud"],
        ),
        (
            ".vue",
            '<!-- elm -->\n<template><p :title="bud">{{ sun }}</p></template>\n<script lang="ts">\n// pine\n'
            "import x from 'oak';\nexport default { methods: { grow() { return `twig ${x}`; } } };\n"
            "class Tree { leaf: number = 1; }\n</script>\n<style>p { color: green }</style>\n",
            ["Tree"], ["grow"], ["leaf"], ["elm", "pine"], ["bud", "twig", "t"],
        ),
        (
            ".svelte",
            "<script context='module'>import x from 'oak';</script>\n<script>\n  // elm\n"
            "  function grow() { return 'bud'; }\n</script>\n{#if sun}<p>it's</p>{/if}\n",
            [], ["grow"], [], ["elm"], ["bud", "modul"],
        ),
        (
            ".astro",
            "---\nimport x from 'oak';\n// elm\nconst grow = () => 'bud';\n---\n<p>{grow()}</p>\n",
            [], ["grow"], [], ["elm"], ["bud"],
        ),
        (
            ".pyx",
            'from oak cimport oak\ncdef class Tree:\n    cdef int grow(self, int x) nogil:\n        pass  # elm\n'
            '    cpdef water(self): return "bud"\n    def prune(self): pass\n    cdef unsigned int[:] twig\n',
            ["Tree"], ["grow", "water", "prune"], [], ["elm"], ["bud"],
        ),
        (".sql", "-- elm\nselect leaf from tree where twig = 'bud'\n", [], [], [], ["elm"], ["bud"]),
    ],
)  # fmt: skip
def test_other_languages(suffix, text, types, methods, fields, comments, strings) -> None:
    facts = analyse(text, suffix)
    assert sum(column(facts, "type").values()) >= len(types)
    assert column(facts, "method") == Counter(name.lower() for name in methods)
    assert column(facts, "field") == Counter(name.lower() for name in fields)
    assert column(facts, "comment") == Counter(comments)
    assert column(facts, "string") == Counter(strings)
    assert "oak" not in column(facts, "code") or suffix in (".jsx", ".tsx")
    assert facts.parsed == (suffix not in (".sql", ".pyx"))


def test_languages_and_suffixes() -> None:
    assert language_of(".JAVA") == "java"
    assert language_of(".md") != "text"
    assert language_of(".nothing") == "text"
    assert {".java", ".kt", ".scala", ".py", ".h", ".tsx", ".rs", ".sh"} <= SOURCE_SUFFIXES
    assert not {".md", ".xml", ".properties", ".txt"} & SOURCE_SUFFIXES
    assert SOURCE_SUFFIXES <= LANGUAGES.keys()
    assert analyser() in analyser_of("java")
    assert "lizard" not in analyser_of("java")
    assert "lizard" in analyser_of("java", lizard=True)
    assert analyser_of("java") != analyser_of("python")
    assert analyser_of("vue").endswith(analyser_of("typescript").partition("+")[2])
    prose = analyse("if this and that while those?", ".md")
    assert prose.complexity == 0


def test_facts_do_not_depend_on_what_is_analysed_beside_them() -> None:
    texts = [(SHOP, ".java"), ("", ".py"), ('über = "naïve\\n" # straße\n' * 120, ".py"), ("word\n" * 300, ".txt")]
    together = analyse_all([*texts, *reversed(texts)])
    for text, facts in zip([*texts, *reversed(texts)], together, strict=True):
        own = analyse(*text)
        assert (facts.terms, table(facts), chunks(facts)) == (own.terms, table(own), chunks(own))
        assert facts.lines == own.lines
        assert facts.counts.dtype == np.uint16
        assert facts.chunk_starts[-1] == len(facts.chunk_terms) == len(facts.chunk_counts)


def test_threads_analyse_beside_each_other() -> None:
    texts = [f"class A{name}{n} {{ int b{n}{name}; }} // {name}\n" * 200 for n in range(5) for name in "abcdefgh"]
    switches = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            made = list(pool.map(lambda text: table(analyse(text, ".java")), texts))
    finally:
        sys.setswitchinterval(switches)
    assert made == [table(analyse(text, ".java")) for text in texts]


def test_letters_of_every_script_are_words() -> None:
    facts = analyse('x = "größe_alt naïve $übel" # straße ٣٤ –日本語', ".py")
    assert {"größe", "alt", "naïv", "übel"} <= column(facts, "string").keys()
    assert {"straße", "日本語"} <= column(facts, "comment").keys()


def test_a_string_that_does_not_end_stays_in_its_file() -> None:
    """The Kotlin grammar gives such a string one byte more than there is, after some texts that it cannot parse."""
    assert column(analyse('/**/abstract class ein\nE m>,$i"t\n    }\n}', ".kt"), "type") == Counter(["ein"])


# Pages with scripts


@pytest.mark.parametrize(
    ("source", "script"),
    [
        (b"<p>a</p>", b""),
        (b"<script>a</script>", b"a"),
        (b'<SCRIPT setup lang="ts" generic="T extends A<B>">a</SCRIPT >', b"a"),
        (b"<script>a</script><script setup>b</script>", b"a                       b"),
        (b"<!-- <script>a</script> --><script>b</script>", b"b"),
        (b"<script>a", b"a"),
        (b"<script", b""),
        (b"<scripts>a</scripts>", b""),
        (b"---\na\n---\n<p>{a}</p>", b"a"),
        (b"\n---\na\n---\n<script>b</script>", b"a\n   \n        b"),
        (b"---\na", b"a"),
        (b"<p>---\na\n---\n</p>", b""),
    ],
)
def test_a_component_is_taken_apart(source: bytes, script: bytes) -> None:
    found, rest = apart(source)
    assert found.strip() == script
    assert len(found) == len(rest) == len(source)
    for own, other, both in zip(found, rest, source, strict=True):
        assert both in (own, other)
        assert own == other == both or 32 in (own, other)


def test_lines_are_those_of_the_file() -> None:
    text = "<template>\n<p/>\n</template>\n\n<script>\nfunction grow() {\n}\n</script>\n"
    found = functions_of(text, ".vue")
    assert (found.names, found.starts.tolist(), found.ends.tolist()) == (("grow",), [6], [7])
