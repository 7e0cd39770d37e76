"""Pairs of words that follow each other in one string literal, in many languages."""

import pytest

from tosloc.code.facts import analyse, outline_source
from tosloc.code.languages import language_name
from tosloc.code.literals import MAX_PAIRS, find_literal_pairs, hash_words, pair_keys


def has_pair(keys, first, second, *, across_field=False):
    [key] = pair_keys(hash_words([first]), hash_words([second]), across_field=across_field)
    return key in keys


def pairs_of(source, suffix):
    data = source.encode()
    return find_literal_pairs(data, outline_source(data, language_name(suffix)).spans)


WITH_FIELD = [
    (".py", "fail('no file %s in folder' % name)"),
    (".py", "fail(f'no file {name!r} in folder')"),
    (".py", "fail('no file {} in folder'.format(name))"),
    (".py", "fail('no file ' + name + ' in folder')"),
    (".java", 'class A { void f() { fail("no file " + this.name() + " in folder"); } }'),
    (".js", "fail(`no file ${name} in folder`)"),
    (".go", 'package a\nfunc f() { fail("no file %v in folder", name) }'),
    (".rb", 'fail "no file #{name} in folder"'),
    (".php", '<?php fail("no file $name in folder");'),
    (".php", '<?php fail("no file " . $name . " in folder");'),
    (".swift", 'fail("no file \\(name) in folder")'),
    (".kt", 'fun f() { fail("no file $name in folder") }'),
    (".cs", 'class A { void F() { Fail($"no file {name} in folder"); } }'),
    (".rs", 'fn f() { panic!("no file {} in folder", name) }'),
    (".cpp", 'void f() { out << "no file " << name << " in folder"; }'),
    (".c", 'void f() { fail("no file %-5.2f in folder", x); }'),
    (".lua", 'fail("no file " .. name .. " in folder")'),
]


@pytest.mark.parametrize(("suffix", "source"), WITH_FIELD)
def test_words_beside_a_format_field_are_a_pair_across_it(suffix, source):
    keys = pairs_of(source, suffix)
    assert has_pair(keys, "no", "file")
    assert has_pair(keys, "in", "folder")
    assert has_pair(keys, "file", "in", across_field=True)
    assert not has_pair(keys, "file", "in")


@pytest.mark.parametrize(
    ("suffix", "source"),
    [
        (".py", "fail('no ' 'file')"),
        (".py", "fail('no '\n     f'file')"),
        (".java", 'class A { String s = "no " +\n "file"; }'),
        (".cpp", 'char *s = "no " "file";'),
        (".py", r"fail('no\nfile')"),
    ],
)
def test_pieces_of_a_literal_are_joined(suffix, source):
    assert has_pair(pairs_of(source, suffix), "no", "file")


@pytest.mark.parametrize(
    ("suffix", "source"),
    [
        (".py", "fail('no', 'file')"),
        (".py", "fail('no'); fail('file')"),
        (".py", "x = no, file"),
        (".py", "# no file"),
        (".js", "x = {'no': 'file'}"),
    ],
)
def test_words_of_two_literals_are_no_pair(suffix, source):
    assert not has_pair(pairs_of(source, suffix), "no", "file")


def test_case_does_not_matter():
    assert has_pair(pairs_of("fail('No FILE')", ".py"), "no", "file")


def test_facts_have_the_pairs():
    assert has_pair(analyse("fail('no file')", "a.py").literal_pairs, "no", "file")


def test_keys_are_sorted_and_unique():
    keys = pairs_of("fail('b a b a b', 'c d')", ".py").tolist()
    assert keys == sorted(set(keys))


def test_text_with_many_pairs_keeps_the_first():
    source = ", ".join(f"'first{number} second'" for number in range(MAX_PAIRS + 10))
    keys = pairs_of(f"x = [{source}]", ".py")
    assert len(keys) == MAX_PAIRS
    assert has_pair(keys, "first0", "second")
    assert not has_pair(keys, f"first{MAX_PAIRS + 1}", "second")
