"""The page: whole without a network, safe with any path, the same each time."""

import re

import numpy as np
import pytest

from tests.pages import Elements
from tosloc.evaluate import Judgement, Qrels, Run, ScoredRun
from tosloc.evaluate.measures import Measure
from tosloc.evaluate.runs import Order
from tosloc.evaluate.tables import Results, results_of
from tosloc.plots.page import named_above, page
from tosloc.records import Ranking, ReportAttributes

EVIL = "src/<script>alert('x')</script>&\"/caf\udce9\x1b.java"
FILES = (EVIL, *[f"src/F{number:03}.java" for number in range(1, 400)])
HEADER = {
    "config": {"run": {"seed": 7}, "data": {"suffixes": [".java"]}},
    "command": "tosloc train <b>",
    "reports": {"name": "x.xlsx", "sha256": "ab" * 32},
}


def results(searched: int | None = 400, header: dict[str, object] | None = None) -> Results:
    run = Run.of(
        HEADER if header is None else header,
        [Ranking(report, FILES, -np.arange(400.0)) for report in ("1", "2", "<3>")],
    )
    judgements = [
        Judgement(
            "1", (EVIL, "src/F011.java"), (EVIL, "src/F011.java"), searched, attributes=ReportAttributes(True, True, 2)
        ),
        Judgement(
            "2",
            ("src/F399.java",),
            ("src/F399.java", "src/<i>New.java"),
            searched,
            attributes=ReportAttributes(False, False, 0),
            summary="It <b>fails</b>",
        ),
        Judgement("<3>", (), ("Gone.java",), searched, attributes=ReportAttributes(True, False, 0)),
    ]
    return results_of(ScoredRun("a <name>", run, Qrels.of(judgements)), [Measure("nDCG", 10)])


@pytest.fixture(scope="module")
def text() -> str:
    return page(results())


def test_it_is_well_formed_and_nothing_comes_from_elsewhere(text: str) -> None:
    reader = Elements(text)
    ids = [attributes["id"] for _, attributes in reader.found if "id" in attributes]
    assert len(set(ids)) == len(ids)
    links = [attributes["href"] for tag, attributes in reader.found if tag == "a"]
    assert {str(link).removeprefix("#") for link in links} <= set(map(str, ids))
    for tag, attributes in reader.found:
        assert tag not in {"link", "img", "iframe", "base"}
        assert "src" not in attributes
        for name in ("href", "xlink:href"):
            assert (attributes.get(name) or "#").startswith("#")
    assert all(place.startswith("#") for place in re.findall(r"url\(([^)]*)\)", text))
    assert "@import" not in text


def test_foreign_text_stays_text(text: str) -> None:
    reader = Elements(text)
    assert [tag for tag, _ in reader.found if tag in ("script", "i", "b")] == ["script"]
    assert r"src/<script>alert('x')</script>&\"/caf\xe9\x1b.java".replace('\\"', '"') in reader.text
    assert "src/<i>New.java" in reader.text
    assert "<3>" in reader.text
    assert "tosloc train <b>" in reader.text
    text.encode("utf-8")


def test_the_worst_reports_come_first_with_ranks_and_kinds(text: str) -> None:
    rows = re.findall(r'<tr><th scope="row">(.*?)</th><td class="n short" data-name="AP">(.*?)</td>', text)
    second = '2 <span class="title">It &lt;b&gt;fails&lt;/b&gt;</span>'
    assert rows == [("&lt;3&gt;", "0.000"), (second, "0.003"), ("1", "0.583")]
    assert '<span class="rank">400</span><span class="path">src/F399.java</span>' in text
    assert '<s class="path">Gone.java</s>' in text
    assert "stack trace, names 2" in text


def test_what_stands_above_the_first_fixed_file_is_named(text: str) -> None:
    assert text.count('<details class="above">') == 1
    [above] = re.findall(
        r'<details class="above"><summary>above: 399 files</summary><ol>(.*?)</ol>(.*?)</details>', text
    )
    assert above[0].count('<span class="path">') == 3
    assert "F001.java" in above[0]
    assert 'class="why"' not in above[0]
    assert above[1] == '<span class="soft">and 396 more</span>'
    assert "train it with <code>--keep-features</code>" in text


def test_two_runs_stand_beside_each_other_and_why_files_stand_above_is_told() -> None:
    first = results()
    assert named_above(first) == {"2": ("src/F399.java", [EVIL, "src/F001.java", "src/F002.java"])}
    told = {("2", EVIL): [("bm25f", 0.5), ("path", 0.254)], ("2", "src/F001.java"): []}
    worse = [Ranking(report, FILES[::-1], -np.arange(400.0)) for report in ("1", "2", "<3>")]
    other = results_of(ScoredRun("other <b>", Run.of({}, worse), first.scored.qrels), [Measure("nDCG", 10)])
    text = page(first, other, told)
    Elements(text)
    [one, second, third] = re.findall(r"<li><span class=.path.>[^<]*</span>(.*?)</li>", text)
    assert one == '<span class="why">bm25f +0.50, path +0.25</span>'
    assert (second, third) == ('<span class="why">raised by the second stage</span>', "")
    assert "--keep-features" not in text
    assert "fixed files, with rank here and in other &lt;b&gt;" in text
    assert '<span class="rank">400</span><span class="rank beside">1</span><span class="path">src/F399.java' in text
    assert re.search(r'<th scope="row">MAP</th>(<td class="n">[^<]+</td>){4}<td class="soft">', text)


def test_the_headline_has_intervals_and_the_parts_are_there(text: str) -> None:
    reader = Elements(text)
    assert re.search(r'<th scope="row">MAP</th><td class="n">0\.195</td><td class="n">0\.\d{3} to 0\.\d{3}</td>', text)
    assert re.search(r'<th scope="row">length</th><td class="n">1\.000</td>', text)
    assert '<th scope="row">nDCG@10</th>' in text
    assert sum(tag == "svg" for tag, _ in reader.found) == 4
    assert all(attributes["role"] == "img" for tag, attributes in reader.found if tag == "svg")
    assert "a diagnostic, not a result" in reader.text
    assert "config.run.seed" not in reader.text
    assert "run.seed" in reader.text


def test_what_is_not_known_is_said() -> None:
    known = results(searched=None, header={})
    orders = {
        report: Order(order.files[:1], order.scores[:0], order.files[:1] + 1)
        for report, order in known.scored.run.orders.items()
    }
    partial = ScoredRun("known ranks", Run({}, known.scored.run.names, orders), known.scored.qrels)
    text = page(results_of(partial))
    reader = Elements(text)
    assert "Not known: report 1: neither its ranking's length nor the number of files searched" in reader.text
    assert "The run's file does not say." in reader.text
    assert re.search(r'<th scope="row">length</th><td class="n">not known</td>', text)
