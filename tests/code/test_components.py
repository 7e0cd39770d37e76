"""Components of pages: their scripts are parsed, whatever stands around them."""

from __future__ import annotations

import pytest

from tosloc.code.facts import analyse, apart
from tosloc.code.functions import functions_of
from tosloc.code.languages import analyser_of


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


@pytest.mark.parametrize(
    "text", ["", "<p>no script</p>", "<!-- a", "<script>}}} (((", '<script>"', "---", "\0<script>\0"]
)
def test_odd_components_have_facts(text: str) -> None:
    analyse(text, ".vue")
    functions_of(text, ".vue")


def test_what_is_no_script_any_more_is_still_searched() -> None:
    facts = analyse("<p>oak</p><script>" + "x = {" * 3000 + "; elm()</script>", ".vue")
    assert {"oak", "elm"} <= set(facts.terms)


def test_its_facts_have_the_grammars_release_in_their_key() -> None:
    assert analyser_of("vue").endswith(analyser_of("typescript").partition("+")[2])
