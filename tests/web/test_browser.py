"""The served page in a real browser, without a head: as a person uses it."""

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
REPORT = 'Parser drops the header\n\nparse_header loses it:\n\n  File "src/parser.py", line 3, in parse_header\n'


@pytest.fixture
def address(repository):
    """Where a real server answers."""
    repository.commit(
        {"src/parser.py": CODE, "src/other.py": "header = 1\n", "src/x.py": "y = 1\n"}, "Begin"
    )
    questions = Questions(repository.path, editor="vscode://file{path}:{line}")
    with serving(questions) as port:
        yield f"http://127.0.0.1:{port}/{SECRET}/"
    questions.session.close()


@pytest.fixture
def browser():
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture
def page(browser, address):
    """A page of the browser at that address; what it asks of any other address, and its complaints, fail the test."""
    page, asked, said = browser.new_page(), [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(address)
    yield page
    assert all(url.startswith(address) for url in asked), asked
    assert [line for line in said if "server responded with a status of 4" not in line] == []


def ask(page, report=REPORT):
    """Ask by the form, and wait until it is answered."""
    page.fill("#text", report)
    page.click("button:has-text('Which files?')")
    page.wait_for_selector("article:first-child[data-state=done]")


def focused(page, what):
    return page.evaluate(f"document.activeElement.{what}")


def state(page):
    """The number in the address, the questions that stand on the page, what is in the form."""
    shown = page.evaluate("[...document.querySelectorAll('article')].map((one) => one.id)")
    return (
        page.url.rpartition("/")[2],
        [one.removeprefix("question-") for one in shown],
        page.input_value("#text"),
    )


def test_as_a_person_uses_it(page, tmp_path):
    page.keyboard.press("/")
    assert focused(page, "id") == "text"
    page.fill("#text", REPORT)
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("article[data-state=done]")
    assert state(page) == ("1", ["1"], REPORT)
    assert page.inner_text(".hit >> nth=0 >> .path") == "src/parser.py"
    assert page.locator(".hit >> nth=0 >> .framed .no").inner_text().startswith("3")
    # by keys alone
    source = page.locator("details.source").first
    page.keyboard.press("ArrowDown")
    assert (focused(page, "className"), source.get_attribute("open")) == ("hit", "")
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
    assert (
        page.evaluate("[...document.querySelectorAll('.hit')].indexOf(document.activeElement)") == 1
    )
    # a second one, from a file
    (tmp_path / "issue.json").write_text(
        '{"number": 12, "title": "header <img src=x onerror=alert(1)>", "body": "x"}'
    )
    page.set_input_files("#file", tmp_path / "issue.json")
    page.wait_for_function("() => document.getElementById('text').value.includes('title')")
    page.click("button:has-text('Which files?')")
    page.wait_for_selector("#question-2[data-state=done]")
    assert state(page)[1] == ["2", "1"]
    assert page.locator("img").count() == 0
    # and one is taken away
    page.click("#question-2 .removal button")
    page.wait_for_function("() => document.querySelectorAll('article').length === 1")


def test_what_fails_says_why_beside_the_form_and_the_browser_goes_back(page):
    ask(page)
    page.fill("input[name=commit]", "v9")
    page.fill("#text", "Other header")
    page.click("button:has-text('Which files?')")
    page.wait_for_selector("#ask #error:has-text(\"no commit 'v9'; check its spelling\")")
    assert state(page) == ("2", ["1"], "Other header")
    page.go_back()
    assert state(page) == ("1", ["1"], REPORT)


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


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_narrow_and_wide_and_can_be_read(page, scheme):
    page.emulate_media(color_scheme=scheme)
    ask(page, f"{REPORT} {'x' * 200}")
    for width in (320, 390, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    for what in (
        "body",
        ".soft",
        "a",
        ".tool",
        ".code",
        "mark",
        ".no",
        *(f".code .{kind}" for kind in KINDS),
    ):
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
