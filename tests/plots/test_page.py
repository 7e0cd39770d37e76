"""The page: whole without a network, safe with any path, the same each time."""

import re
from dataclasses import replace

import numpy as np
import pytest

from tests.pages import ParsedPage
from tests.toy import make_run
from tosloc.core.records import Ranking, ReportAttributes
from tosloc.evaluate.judgements import Judgement, to_qrels
from tosloc.evaluate.measures import Measure
from tosloc.evaluate.run_paths import ScoredRun
from tosloc.evaluate.runs import Order, Run
from tosloc.evaluate.tables import Results
from tosloc.plots.page import page

EVIL = "src/<script>alert('x')</script>&\"/caf\udce9\x1b.java"
FILES = (EVIL, *[f"src/F{number:03}.java" for number in range(1, 400)])
HEADER = {
    "config": {"run": {"seed": 7}, "data": {"suffixes": [".java"]}},
    "command": "tosloc train <b>",
    "reports": {"name": "x.xlsx", "sha256": "ab" * 32},
}
QRELS = to_qrels(
    [
        Judgement(
            "1",
            (EVIL, "src/F011.java"),
            (EVIL, "src/F011.java"),
            400,
            None,
            ReportAttributes(True, True, 2),
        ),
        Judgement(
            *("2", ("src/F399.java",), ("src/F399.java", "src/<i>New.java"), 400),
            attributes=ReportAttributes(False, False, 0),
            summary="It <b>fails</b>",
        ),
        Judgement("<3>", (), ("Gone.java",), 400, None, ReportAttributes(True, False, 0)),
    ]
)


RUN = make_run([Ranking(report, FILES, -np.arange(400.0)) for report in QRELS], HEADER)


@pytest.fixture(scope="module")
def text():
    return page(Results(ScoredRun("a <name>", RUN, QRELS), [Measure("nDCG", 10)]))


def test_it_is_well_formed_and_nothing_comes_from_elsewhere(text):
    reader = ParsedPage(text)
    ids = [attributes["id"] for _, attributes in reader.elements if "id" in attributes]
    assert len(set(ids)) == len(ids)
    links = [attributes["href"] for tag, attributes in reader.elements if tag == "a"]
    assert {str(link).removeprefix("#") for link in links} <= set(map(str, ids))
    for tag, attributes in reader.elements:
        assert tag not in {"link", "iframe", "base"}
        assert (attributes.get("src") or "data:").startswith("data:")
        for name in ("href", "xlink:href"):
            assert (attributes.get(name) or "#").startswith("#")
    assert "url(" not in text
    assert "@import" not in text


def test_foreign_text_stays_text(text):
    reader = ParsedPage(text)
    assert [tag for tag, _ in reader.elements if tag in ("script", "i", "b")] == ["script"]
    assert r"src/<script>alert('x')</script>&\"/caf\xe9\x1b.java".replace('\\"', '"') in reader.text
    assert all(foreign in reader.text for foreign in ("src/<i>New.java", "<3>", "tosloc train <b>"))
    text.encode("utf-8")


def test_the_worst_reports_come_first_with_ranks_kinds_and_what_stands_above(text):
    rows = re.findall(
        r'<tr><th scope="row">(.*?)</th><td class="n short" data-name="AP">(.*?)</td>', text
    )
    second = '2 <span class="title">It &lt;b&gt;fails&lt;/b&gt;</span>'
    assert rows == [("&lt;3&gt;", "0.000"), (second, "0.003"), ("1", "0.583")]
    assert '<span class="rank">400</span><span class="path">src/F399.java</span>' in text
    assert '<s class="path">Gone.java</s>' in text
    assert "stack trace, names 2" in text
    assert text.count('<details class="above">') == 1
    above = text.partition("above: 399 files")[2].partition("and 396 more")[0]
    assert above.count('<span class="path">') == 3
    assert "F002.java" in above


def test_the_headline_has_intervals_and_the_parts_are_there(text):
    reader = ParsedPage(text)
    assert re.search(
        r'<th scope="row">map</th><td class="n">0\.195</td><td class="n">0\.\d{3} to 0\.\d{3}</td>',
        text,
    )
    assert re.search(r'<th scope="row">length</th><td class="n">1\.000</td>', text)
    assert '<th scope="row">nDCG@10</th>' in text
    assert [attributes["alt"] for tag, attributes in reader.elements if tag == "img"] == [
        "coverage at k and any at k",
        "rank of the first fixed file",
    ]
    assert '"seed": 7' in reader.text


def test_rows_that_say_nothing_are_left_out():
    fewer = make_run([Ranking(report, FILES[:60], -np.arange(60.0)) for report in "12"], HEADER)
    small = to_qrels(Judgement(report, (EVIL,), (EVIL,), 60) for report in "12")
    text = page(Results(ScoredRun("small", fewer, small)))
    assert '<th scope="row">any50</th>' in text
    assert '<th scope="row">any100</th>' not in text
    assert '<th scope="row">1 fixed file</th>' not in text  # each report is one
    assert '<a href="#kinds">' not in text


def test_what_is_not_known_is_said():
    known = {
        one: Order(of.files[:1], of.scores[:0], of.files[:1] + 1) for one, of in RUN.orders.items()
    }
    unknown = to_qrels(replace(one, searched=None) for one in QRELS.values())
    text = page(Results(ScoredRun("known ranks", Run({}, RUN.names, known), unknown)))
    assert "The run's file does not say." in ParsedPage(text).text
    assert re.search(r'<th scope="row">length</th><td class="n">not known</td>', text)
