"""The served page in a real browser, without a head: as a person uses it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import GitRepository
from tests.web.test_serve import SECRET, serving
from tosloc.web.server import Questions

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine")]
playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed (pip install playwright)")

CODE = """class Parser:
    def parse_header(self, line):
        return line.split(':')[1]  # value

    def x(self): ...
"""
KINDS = ("keyword", "string", "number", "comment", "name")
REPORT = 'Parser drops the header\n\nparse_header loses it:\n\n  File "src/parser.py", line 3, in parse_header\n'


@pytest.fixture
def address(repository: GitRepository, tmp_path: Path) -> Iterator[str]:
    """Where a real server answers."""
    repository.commit({"src/parser.py": CODE, "src/other.py": "header = 1\n", "src/x.py": "y = 1\n"}, "Begin")
    questions = Questions(repository.path, editor="vscode://file{path}:{line}")
    with serving(questions) as port:
        yield f"http://127.0.0.1:{port}/{SECRET}/"
    questions.session.close()


@pytest.fixture
def page(address: str) -> Iterator[Any]:
    """A page of the browser at that address; what it asks of any other address, and its complaints, fail the test."""
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page()
        asked: list[str] = []
        said: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.goto(address)
        yield page
        assert all(url.startswith(address) for url in asked), asked
        assert [line for line in said if "server responded with a status of 4" not in line] == []
        browser.close()


def ask(page: Any, number: int, report: str = REPORT) -> None:
    """Ask by the form, and wait until it is answered."""
    page.fill("#text", report)
    page.click("button:has-text('Which files?')")
    page.wait_for_selector(f"#question-{number}[data-state=done]")


def shown(page: Any) -> list[str]:
    """The questions that stand on the page, from above."""
    found: list[str] = page.evaluate("[...document.querySelectorAll('article')].map((one) => one.id)")
    return found


def test_as_a_person_uses_it(page: Any, address: str, tmp_path: Path) -> None:
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "text"
    page.fill("#text", REPORT)
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("article[data-state=done]")
    assert page.url == f"{address}questions/1"
    assert page.inner_text(".hit >> nth=0 >> .path") == "src/parser.py"
    assert page.locator(".hit >> nth=0 >> .framed .no").inner_text().startswith("3")
    # by keys alone
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.className") == "hit"
    assert page.locator("details.source").first.get_attribute("open") is not None
    page.keyboard.press("Enter")
    assert page.locator("details.source").first.get_attribute("open") is None
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_selector(".copy:has-text('Copied')")
    assert page.evaluate("navigator.clipboard.readText()") == "src/parser.py"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.href").endswith("/repo/src/parser.py:2")
    page.keyboard.press("ArrowDown")
    assert page.evaluate("[...document.querySelectorAll('.hit')].indexOf(document.activeElement)") == 1
    # a second one, from a file
    (tmp_path / "issue.json").write_text('{"number": 12, "title": "header <img src=x onerror=alert(1)>", "body": "x"}')
    page.set_input_files("#file", tmp_path / "issue.json")
    page.wait_for_function("() => document.getElementById('text').value.includes('title')")
    page.click("button:has-text('Which files?')")
    page.wait_for_selector("#question-2[data-state=done]")
    assert shown(page) == ["question-2", "question-1"]
    assert page.locator("img").count() == 0
    # and one is taken away
    page.click("#question-2 .removal button")
    page.wait_for_function("() => document.querySelectorAll('article').length === 1")


def test_a_question_has_an_address_and_the_browser_goes_back_to_it(page: Any, address: str) -> None:
    ask(page, 1)
    ask(page, 2, "Other header")
    assert (page.url, page.input_value("#text")) == (f"{address}questions/2", "Other header")
    page.go_back()
    assert (page.url, shown(page), page.input_value("#text")) == (f"{address}questions/1", ["question-1"], REPORT)
    page.go_forward()
    assert (shown(page), page.input_value("#text")) == (["question-2", "question-1"], "Other header")
    page.reload()
    assert shown(page) == ["question-2", "question-1"]


def test_what_fails_says_why_beside_the_form_which_keeps_what_was_asked(page: Any, address: str) -> None:
    ask(page, 1)
    page.fill("input[name=commit]", "v9")
    page.fill("#text", "Other header")
    page.click("button:has-text('Which files?')")
    page.wait_for_selector("#ask #error:has-text(\"no commit 'v9'; check its spelling\")")
    assert (page.input_value("#text"), page.input_value("input[name=commit]")) == ("Other header", "v9")
    assert (page.url, shown(page)) == (f"{address}questions/2", ["question-1"])
    page.fill("#text", "https://github.com/a/b/issues/7")
    page.click("button:has-text('Which files?')")
    page.wait_for_selector("#ask #error:has-text('this is an address')")
    assert page.input_value("#text") == "https://github.com/a/b/issues/7"


def test_without_scripts_it_reloads_until_there_is_an_answer(address: str) -> None:
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_context(java_script_enabled=False).new_page()
        page.goto(address)
        page.fill("#text", REPORT)
        page.click("button:has-text('Which files?')")
        page.wait_for_selector("article[data-state=done]")
        assert page.inner_text(".hit >> nth=0 >> .path") == "src/parser.py"
        assert not page.locator(".copy:visible, .scripted:visible").count()
        browser.close()


def test_another_sites_name_and_form_are_not_let_in(address: str) -> None:
    with playwright.sync_playwright() as driver:
        rules = "--host-resolver-rules=MAP evil.example 127.0.0.1"
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", rules])
        page = browser.new_page()
        reply = page.goto(address.replace("127.0.0.1", "evil.example"))
        assert (reply.status, "by no other name" in page.inner_text("body")) == (403, True)
        form = f'<form method=post action="{address}questions"><input name=text value=x><button>go</button></form>'
        page.route("http://other.example/", lambda route: route.fulfill(body=form, content_type="text/html"))
        page.goto("http://other.example/")
        page.click("button")
        page.wait_for_url(f"{address}questions")
        assert "this comes from another page" in page.inner_text("body")
        assert "<article" not in page.goto(address).text()
        browser.close()


def test_a_file_that_is_too_large_is_not_sent(page: Any, tmp_path: Path) -> None:
    (tmp_path / "log.txt").write_text("x" * 2_000_001)
    page.set_input_files("#file", tmp_path / "log.txt")
    page.wait_for_function("() => document.getElementById('text').validationMessage.includes('larger than 2 MB')")
    assert page.input_value("#text") == ""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_narrow_and_wide_and_can_be_read(page: Any, scheme: str) -> None:
    page.emulate_media(color_scheme=scheme)
    ask(page, 1, f"{REPORT} {'x' * 200}")
    ask(page, 2)
    for width in (320, 390, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    for what in ("body", ".soft", "a", ".tool", ".code", "mark", ".no", *(f".code .{kind}" for kind in KINDS)):
        assert page.evaluate(CONTRAST, what) >= 4.5, what


# ratio of WCAG 2, between an element's text and what lies below it
CONTRAST = """(what) => {
  const one = document.querySelector(what);
  const parts = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const linear = (v) => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4;
  const light = ([r, g, b]) => [r, g, b].map((v) => linear(v / 255))
    .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
  let ground = one;
  while (ground && (parts(getComputedStyle(ground).backgroundColor)[3] === 0)) ground = ground.parentElement;
  const a = light(parts(getComputedStyle(one).color));
  const b = light(parts(getComputedStyle(ground || document.documentElement).backgroundColor));
  return (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
}"""
