"""The evaluation page: complete without a network, safe with any path, the same each time."""

import re
from dataclasses import replace

import numpy as np
import pytest

from tests.pages import ParsedPage
from tests.toy import make_run
from tosloc.core.rankings import Ranking
from tosloc.core.reports import ReportAttributes
from tosloc.evaluate.measures import Measure
from tosloc.evaluate.run_paths import ScoredRun
from tosloc.evaluate.runs.judgements import Judgement, to_qrels
from tosloc.evaluate.runs.run import Order, Run
from tosloc.evaluate.tables import Results
from tosloc.plots.page import page

EVIL_PATH = "src/<script>alert('x')</script>&\"/caf\udce9\x1b.java"
FILES = (EVIL_PATH, *[f"src/F{number:03}.java" for number in range(1, 400)])
HEADER = {
    "config": {"run": {"seed": 7}, "data": {"suffixes": [".java"]}},
    "command": "tosloc train <b>",
    "reports": {"name": "x.xlsx", "sha256": "ab" * 32},
}
QRELS = to_qrels(
    [
        Judgement(
            "1",
            fixed=(EVIL_PATH, "src/F011.java"),
            listed=(EVIL_PATH, "src/F011.java"),
            searched=400,
            attributes=ReportAttributes(True, True, 2),
        ),
        Judgement(
            "2",
            fixed=("src/F399.java",),
            listed=("src/F399.java", "src/<i>New.java"),
            searched=400,
            attributes=ReportAttributes(False, False, 0),
            summary="It <b>fails</b>",
        ),
        Judgement(
            "<3>",
            fixed=(),
            listed=("Gone.java",),
            searched=400,
            attributes=ReportAttributes(True, False, 0),
        ),
    ]
)
RUN = make_run([Ranking(report, FILES, -np.arange(400.0)) for report in QRELS], HEADER)


@pytest.fixture(scope="module")
def text():
    return page(Results(ScoredRun("a <name>", RUN, QRELS), [Measure("nDCG", 10)]))


@pytest.fixture(scope="module")
def parsed_page(text):
    return ParsedPage(text)


def test_ids_are_unique_and_links_lead_to_them(parsed_page):
    ids = [attributes["id"] for _, attributes in parsed_page.elements if "id" in attributes]
    assert len(set(ids)) == len(ids)
    links = [attributes["href"] for tag, attributes in parsed_page.elements if tag == "a"]
    assert {link.removeprefix("#") for link in links} <= set(ids)


def test_nothing_is_loaded_from_elsewhere(text, parsed_page):
    for tag, attributes in parsed_page.elements:
        assert tag not in {"link", "iframe", "base"}
        assert (attributes.get("src") or "data:").startswith("data:")
        for name in ("href", "xlink:href"):
            assert (attributes.get(name) or "#").startswith("#")
    assert "url(" not in text
    assert "@import" not in text


def test_foreign_text_becomes_no_element(parsed_page):
    tags = [tag for tag, _ in parsed_page.elements if tag in ("script", "i", "b")]
    assert tags == ["script"]


@pytest.mark.parametrize(
    "foreign",
    [
        r"""src/<script>alert('x')</script>&"/caf\xe9\x1b.java""",
        "src/<i>New.java",
        "<3>",
        "tosloc train <b>",
    ],
    ids=["ranked path", "listed path", "report id", "header"],
)
def test_foreign_text_is_shown(parsed_page, foreign):
    assert foreign in parsed_page.text


def test_a_page_can_be_written_as_utf_8(text):
    assert text.encode("utf-8")


def test_the_worst_reports_come_first(text):
    row = r'<tr><th scope="row">(.*?)</th><td class="n short" data-name="AP">(.*?)</td>'
    second = '2 <span class="title">It &lt;b&gt;fails&lt;/b&gt;</span>'
    assert re.findall(row, text) == [("&lt;3&gt;", "0.000"), (second, "0.003"), ("1", "0.583")]


def test_a_row_has_ranks_missing_files_and_kinds(text):
    assert '<span class="rank">400</span><span class="path">src/F399.java</span>' in text
    assert '<s class="path">Gone.java</s>' in text
    assert "stack trace, names 2" in text


def test_a_row_names_the_first_files_above_the_fixed_ones(text):
    assert text.count('<details class="above">') == 1
    above = text.partition("above: 399 files")[2].partition("and 396 more")[0]
    assert above.count('<span class="path">') == 3
    assert "F002.java" in above


def test_the_headline_has_intervals(text):
    value = r'<th scope="row">map</th><td class="n">0\.195</td>'
    assert re.search(value + r'<td class="n">0\.\d{3} to 0\.\d{3}</td>', text)
    assert re.search(r'<th scope="row">length</th><td class="n">1\.000</td>', text)
    assert '<th scope="row">nDCG@10</th>' in text


def test_both_figures_are_there(parsed_page):
    images = [attributes["alt"] for tag, attributes in parsed_page.elements if tag == "img"]
    assert images == ["coverage at k and any at k", "rank of the first fixed file"]


def test_the_header_of_the_run_is_there(parsed_page):
    assert '"seed": 7' in parsed_page.text


@pytest.fixture(scope="module")
def small_text():
    """Return the page of two reports with one fixed file each, searched in 60 files."""
    run = make_run([Ranking(report, FILES[:60], -np.arange(60.0)) for report in "12"], HEADER)
    qrels = to_qrels(Judgement(report, (EVIL_PATH,), (EVIL_PATH,), 60) for report in "12")
    return page(Results(ScoredRun("small", run, qrels)))


def test_measures_that_are_1_of_necessity_are_left_out(small_text):
    assert '<th scope="row">any50</th>' in small_text
    assert '<th scope="row">any100</th>' not in small_text


def test_kinds_that_every_report_is_of_are_left_out(small_text):
    assert '<th scope="row">1 fixed file</th>' not in small_text
    assert '<a href="#kinds">' not in small_text


@pytest.fixture(scope="module")
def text_of_known_ranks():
    """Return the page of a run without header, of which only one rank a report is known."""
    orders = {}
    for report, order in RUN.orders.items():
        first = order.files[:1]
        orders[report] = Order(first, order.scores[:0], known_ranks=first + 1)
    qrels = to_qrels(replace(judgement, searched=None) for judgement in QRELS.values())
    return page(Results(ScoredRun("known ranks", Run({}, RUN.names, orders), qrels)))


def test_a_run_without_header_has_no_origin(text_of_known_ranks):
    assert "The run's file does not contain this." in ParsedPage(text_of_known_ranks).text


def test_an_unknown_length_is_said(text_of_known_ranks):
    row = r'<th scope="row">length</th><td class="n">unknown</td>'
    assert re.search(row, text_of_known_ranks)
