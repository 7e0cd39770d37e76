"""The served page in a real headless browser, used as a person uses it."""

import shutil

import pytest

from tests.web.test_serve import SECRET, serving
from tosloc.web.server import Questions

CHROMIUM = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine"),
]
playwright = pytest.importorskip(
    "playwright.sync_api", reason="playwright is not installed (pip install playwright)"
)

CODE = """class Parser:
    def parse_header(self, line):
        return line.split(':')[1]  # value

    def x(self): ...
"""
KINDS = ("keyword", "string", "number", "comment", "name")
REPORT = """Parser drops the header

parse_header loses it:

  File "src/parser.py", line 3, in parse_header
"""
MIN_CONTRAST = 4.5
"""The ratio that WCAG 2 asks for at level AA."""


@pytest.fixture
def address(repository):
    """Yield the address of a real server."""
    repository.commit(
        {"src/parser.py": CODE, "src/other.py": "header = 1\n", "src/x.py": "y = 1\n"}, "Begin"
    )
    questions = Questions(repository.path, editor="vscode://file{path}:{line}")
    with serving(questions) as (_, port):
        yield f"http://127.0.0.1:{port}/{SECRET}/"
    questions.session.close()


@pytest.fixture
def browser():
    """Yield a headless Chromium."""
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def page(browser, address):
    """Yield a page of the browser at that address.

    The test fails if the page asks another address, or writes to the console.
    """
    page = browser.new_page()
    requested_addresses = []
    messages = []
    page.on("request", lambda request: requested_addresses.append(request.url))
    page.on("console", lambda message: messages.append(message.text))
    page.on("pageerror", lambda error: messages.append(str(error)))
    page.goto(address)
    yield page
    assert all(url.startswith(address) for url in requested_addresses), requested_addresses
    failures = [line for line in messages if "server responded with a status of 4" not in line]
    assert failures == []


def ask(page, report=REPORT):
    """Ask by the form, and wait for the answer."""
    page.fill("#text", report)
    page.click("button:has-text('Rank files')")
    page.wait_for_selector("article:first-child[data-state=done]")


def focused(page, attribute):
    """Return an attribute of the element that has the focus."""
    return page.evaluate(f"document.activeElement.{attribute}")


def number_in_address(page):
    return page.url.rpartition("/")[2]


def listed_numbers(page):
    """Return the numbers of the questions on the page, from top to bottom."""
    ids = page.evaluate("[...document.querySelectorAll('article')].map((article) => article.id)")
    return [name.removeprefix("question-") for name in ids]


def test_a_report_is_asked_by_keys_alone(page):
    page.keyboard.press("/")
    assert focused(page, "id") == "text"
    page.fill("#text", REPORT)
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("article[data-state=done]")
    assert number_in_address(page) == "1"
    assert listed_numbers(page) == ["1"]
    assert page.input_value("#text") == REPORT
    assert page.inner_text(".hit >> nth=0 >> .path") == "src/parser.py"
    assert page.locator(".hit >> nth=0 >> .framed .no").inner_text().startswith("3")


def test_files_are_walked_opened_and_copied_by_keys_alone(page):
    ask(page)
    focused_position = "[...document.querySelectorAll('.hit')].indexOf(document.activeElement)"
    source = page.locator("details.source").first
    page.keyboard.press("Escape")
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("ArrowDown")
    assert focused(page, "className") == "hit"
    assert source.get_attribute("open") == ""
    page.keyboard.press("Enter")
    assert source.get_attribute("open") is None
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_selector(".copy:has-text('Copied')")
    assert page.evaluate("navigator.clipboard.readText()") == "src/parser.py"
    page.keyboard.press("Tab")
    assert focused(page, "href").endswith("/repo/src/parser.py:2")
    page.keyboard.press("ArrowDown")
    assert page.evaluate(focused_position) == 0  # Less likely files are folded.
    page.click("summary:has-text('Why less likely files are listed')")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert page.evaluate(focused_position) == 1


def test_an_answer_is_announced_by_its_first_file(page):
    ask(page)
    page.wait_for_function("() => document.getElementById('news').textContent")
    announcement = "Answered: report 1: Parser drops the header. First file: src/parser.py"
    assert page.text_content("#news") == announcement


def test_an_empty_form_gets_a_sentence_and_the_focus(page):
    page.click("button:has-text('Rank files')")
    page.wait_for_selector("#error:has-text('the form is empty')")
    assert focused(page, "id") == "text"


def test_a_report_from_a_file_is_asked_and_removed(page, tmp_path):
    ask(page)
    (tmp_path / "issue.json").write_text(
        '{"number": 12, "title": "header <img src=x onerror=alert(1)>", "body": "x"}'
    )
    page.set_input_files("#file", tmp_path / "issue.json")
    page.wait_for_function("() => document.getElementById('text').value.includes('title')")
    page.click("button:has-text('Rank files')")
    page.wait_for_selector("#question-2[data-state=done]")
    assert listed_numbers(page) == ["2", "1"]
    assert page.locator("img").count() == 0
    page.click("#question-2 .removal button")
    page.wait_for_function("() => document.querySelectorAll('article').length === 1")


def test_a_failure_is_shown_beside_the_form_and_the_browser_goes_back(page):
    ask(page)
    page.fill("input[name=commit]", "v9")
    page.fill("#text", "Other header")
    page.click("button:has-text('Rank files')")
    page.wait_for_selector("#ask #error:has-text(\"no commit 'v9'; check its spelling\")")
    assert number_in_address(page) == "2"
    assert listed_numbers(page) == ["1"]
    assert page.input_value("#text") == "Other header"
    page.go_back()
    assert number_in_address(page) == "1"
    assert listed_numbers(page) == ["1"]
    assert page.input_value("#text") == REPORT


def test_without_scripts_it_reloads_until_there_is_an_answer(browser, address):
    page = browser.new_context(java_script_enabled=False).new_page()
    page.goto(address)
    ask(page)
    assert page.inner_text(".hit >> nth=0 >> .path") == "src/parser.py"
    assert not page.locator(".copy:visible, .scripted:visible").count()


def test_a_file_that_is_too_large_is_not_sent(page, tmp_path):
    (tmp_path / "log.txt").write_text("x" * 2_000_001)
    page.set_input_files("#file", tmp_path / "log.txt")
    page.wait_for_function(
        "() => document.getElementById('text').validationMessage.includes('larger than 2 MB')"
    )
    assert page.input_value("#text") == ""


@pytest.mark.parametrize("width", [320, 390, 1280])
def test_a_page_fits_narrow_and_wide_screens(page, width):
    ask(page, f"{REPORT} {'x' * 200}")
    page.set_viewport_size({"width": width, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_has_enough_contrast(page, scheme):
    page.emulate_media(color_scheme=scheme)
    ask(page, f"{REPORT} {'x' * 200}")
    kinds = [f".code .{kind}" for kind in KINDS]
    for selector in ("body", ".soft", "a", ".tool", ".code", "mark", ".no", *kinds):
        assert page.evaluate(CONTRAST, selector) >= MIN_CONTRAST, selector


CONTRAST = """(selector) => {
  // the ratio of WCAG 2 between an element's text and the colour below it
  const element = document.querySelector(selector);
  const parts = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const linear = (v) => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4;
  const light = ([r, g, b]) => [r, g, b].map((v) => linear(v / 255))
    .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
  const isClear = (node) => parts(getComputedStyle(node).backgroundColor)[3] === 0;
  let ground = element;
  while (ground && isClear(ground)) ground = ground.parentElement;
  const below = ground || document.documentElement;
  const a = light(parts(getComputedStyle(element).color));
  const b = light(parts(getComputedStyle(below).backgroundColor));
  return (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
}"""
