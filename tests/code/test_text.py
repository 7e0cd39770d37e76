"""Terms of text: splitting, stopping, stemming, compounds."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tosloc.code.text import compounds, identifier_compounds, identifier_terms, terms, words


@pytest.mark.parametrize(
    ("identifier", "expected"),
    [
        ("getURLFor", ("get", "url", "geturlfor")),  # "for" is a stop word, the compound keeps it
        ("HTMLParser_2", ("html", "parser", "htmlparser2")),
        ("MAX_VALUE", ("max", "valu", "maxvalue")),
        ("StandardContext", ("standard", "context", "standardcontext")),
        ("URLs", ("url",)),
        ("Outer$InnerType", ("outer", "inner", "type", "innertype")),
        ("__init__", ("init",)),
        ("inheritDoc", ()),
        ("class", ()),
        ("42", ()),
        ("0xCAFE", ()),
        ("getÜberÉcole", ("get", "über", "école", "getüberécole")),
        ("A" * 201, ()),
    ],
)
def test_terms_of_an_identifier(identifier, expected):
    assert identifier_terms(identifier) == expected


@given(st.text())
def test_any_text_has_terms_that_are_the_sum_of_its_words(line):
    found = terms(line)
    counted: Counter[str] = Counter()
    for word, n in Counter(words(line)).items():
        for term in identifier_terms(word):
            counted[term] += n
    assert Counter(found) == counted
    assert all(term and not any(character.isspace() for character in term) for term in found)
    assert compounds(line) == [compound for word in words(line) for compound in identifier_compounds(word)]
