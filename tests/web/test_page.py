"""``localize --html``: one page that needs nothing else, and in which text is never HTML."""

import base64
import hashlib
import json
import re

import pytest

from tests.pages import ParsedPage
from tosloc.cli import main
from tosloc.localize.localizer import Localizer
from tosloc.web.render import answers_page, render_answer

HOSTILE = (
    "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"' {{ 7*7 }} {% raise %}"
    " <!-- ]]> \u202e\x07"
)
ALLOWED_ATTRIBUTES = set(
    "http-equiv content name charset class id href rel tabindex open role lang"
    " aria-label aria-hidden start data-state type viewbox preserveaspectratio"
    " width height".split()
)
FORBIDDEN_TAGS = set("img iframe object embed link base form input video audio".split())
SUSPECTS = '<h3 class="section">Changes that may have introduced the bug</h3>'
CODE = "class Parser:\n    def parse_header(self, line):\n        return line.split(':')\n"
REPORT = """Parser drops the header

parse_header loses it:

  File "src/parser.py", line 3, in parse_header
"""


@pytest.fixture
def localize_html(repository, tmp_path, monkeypatch):
    """Return a function (reports, file name) -> the exit code of ``localize --html``."""
    monkeypatch.setenv("TOSLOC_CACHE", str(tmp_path / "cache"))

    def run(text, target="page.html"):
        (tmp_path / "bug.md").write_text(text, encoding="utf-8")
        where = ["--repo", str(repository.path), "--html", str(tmp_path / target)]
        return main(["localize", str(tmp_path / "bug.md"), *where])

    return run


@pytest.fixture
def write_page(localize_html, tmp_path):
    """Return a function (reports) -> the text of the page that ``localize --html`` writes."""

    def write(text):
        assert localize_html(text) == 0
        return (tmp_path / "page.html").read_text(encoding="utf-8")

    return write


def check_harmless(text):
    """Check that a page has our style and script, and nothing else that loads or runs."""
    page = ParsedPage(text)
    [policy] = [
        meta["content"] or ""
        for meta in page.find_all("meta")
        if meta.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policy.startswith("default-src 'none'; ")
    for tag in ("script", "style"):
        [inline_text] = page.inline_texts[tag]
        digest = base64.b64encode(hashlib.sha256(inline_text.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    for tag, attributes in page.elements:
        assert tag not in FORBIDDEN_TAGS
        assert set(attributes) <= ALLOWED_ATTRIBUTES
        if href := attributes.get("href"):
            assert re.match(r"https://|#", href), (tag, href)
    return page


@pytest.fixture
def project(repository):
    """Create a repository with a fixed bug, and a remote on GitHub."""
    repository.commit(
        {"src/parser.py": CODE, "src/other.py": "x = 1\n", "tests/test_parser.py": "y = 2\n"},
        "Begin",
    )
    repository.commit({"src/parser.py": CODE + "\n"}, "Fix #7: the header lost its colon")
    repository.git("remote", "add", "origin", "https://github.com/ada/toy.git")
    return repository


def test_a_page_links_its_commit_its_files_and_their_functions(project, write_page):
    commit = project.git("rev-parse", "HEAD")
    page = check_harmless(write_page(REPORT))
    links = {link["href"] for link in page.find_all("a")}
    file_link = f"https://github.com/ada/toy/blob/{commit}/src/parser.py"
    assert f"https://github.com/ada/toy/commit/{commit}" in links
    assert file_link in links
    assert f"{file_link}#L2-L3" in links


def test_a_page_marks_words_and_frames(project, write_page):
    text = write_page(REPORT)
    assert '<mark class="word">parse_header</mark>(self, line)' in text
    assert '<mark class="frame">src/parser.py</mark>' in text
    assert len(ParsedPage(text).find_all("div", class_="line framed")) == 1


def test_a_page_says_what_was_searched_and_why_a_file_is_listed(project, write_page):
    commit = project.git("rev-parse", "HEAD")
    text = write_page(REPORT)
    words = " ".join(ParsedPage(text).text.split())
    assert f"2 files of ada/toy at {commit[:10]}" in words
    assert "1 test file hidden" in words
    assert "ranked with" not in words
    assert "is ignored" not in words
    assert f"Similar fix {commit[:10]}" in words
    assert str(project.path) not in text
    assert "the report has no date" not in words  # A note that asks nothing of the reader.


def test_a_page_says_first_that_a_report_is_fixed_already(project, write_page):
    commit = project.git("rev-parse", "HEAD")
    report = f"#7: {REPORT}"
    text = write_page(report)
    check_harmless(text)
    link = f'<a href="https://github.com/ada/toy/commit/{commit}" rel="noopener noreferrer">'
    sentence = f"Probably fixed already by {link}{commit[:10]}</a>"
    assert text.index(sentence) < text.index('<ol class="hits"')


def test_a_page_folds_the_diffs_of_suspect_changes(project, write_page):
    text = write_page(f"{REPORT}\nIt used to work.\n")
    check_harmless(text)
    assert SUSPECTS in text
    assert '<details class="source">\n<summary>Diff' in text
    assert re.search(r'<div class="line added"><span class="no">\d+ \+</span><code>', text)


def test_a_commit_that_the_report_blames_comes_first_and_is_a_link(project, write_page):
    commit = project.git("rev-parse", "HEAD")
    text = write_page(f"{REPORT}\nThe first bad commit is {commit[:9]}.\n")
    check_harmless(text)
    link = f'<a href="https://github.com/ada/toy/commit/{commit[:10]}" rel="noopener noreferrer">'
    statement = text.index(f"The report blames {link}{commit[:10]}</a>")
    assert statement < text.index(SUSPECTS) < text.index('<ol class="hits"')


def test_without_a_blamed_commit_the_files_come_before_suspect_changes(project, write_page):
    text = write_page(f"{REPORT}\nIt used to work.\n")
    assert text.index('<ol class="hits"') < text.index(SUSPECTS)


def test_less_likely_files_are_one_line_and_their_detail_is_folded(project, write_page):
    text = write_page(REPORT)
    line = text.index('<p class="rest"><span class="soft">Less likely:</span> <a class="path"')
    fold = text.index("<summary>Why less likely files are listed (1)</summary>")
    assert text.index("Parser.parse_header") < line < fold
    assert fold < text.index('<span class="unseen"> src/other.py</span>')


def test_matching_words_are_no_reason_beside_the_lines_that_mark_them(project, write_page):
    card = write_page(REPORT).partition("Less likely")[0]
    assert "Matching words" not in card


def test_a_page_without_suspect_changes_has_no_list_of_them(project, write_page):
    assert SUSPECTS not in write_page(REPORT)


def test_a_page_is_the_same_for_the_same_report(project, write_page):
    assert write_page(REPORT) == write_page(REPORT)


def test_a_long_report_is_cut(project, write_page):
    assert write_page("parser " * 1_000).count("parser ") < 150


def test_a_page_before_the_first_commit_has_no_commit(repository, write_page):
    (repository.path / "parser.py").write_text(CODE)
    repository.git("remote", "add", "origin", "https://github.com/ada/toy.git")
    page = check_harmless(write_page("the parser"))
    assert "1 file on disk in ada/toy; nothing is committed yet" in " ".join(page.text.split())
    assert "0000000000" not in page.text
    assert "not committed" not in page.text
    assert not page.find_all("a")


@pytest.mark.parametrize("bare", [False, True], ids=["work tree", "bare"])
def test_a_served_page_opens_files_of_a_work_tree_in_the_editor(make_repository, bare):
    project = make_repository("my {line}", bare=bare)
    project.commit({"src/parser.py": "x = 1\ndef parser(): pass\n"})
    with Localizer.open(project.path) as localizer:
        answer = localizer.localize("the parser")
        html = render_answer(answer, localizer, "x://open?{path}&{line}")
    addresses = [link["href"] for link in ParsedPage(html).find_all("a", class_="tool")]
    address = f"x://open?{project.path.parent}/my%20%7Bline%7D/src/parser.py"
    assert addresses == ([] if bare else [f"{address}&2", f"{address}&1"])


def test_a_page_that_may_be_sent_names_the_folder_without_its_path(make_repository):
    project = make_repository("my {line}")
    project.commit({"src/parser.py": "x = 1\ndef parser(): pass\n"})
    with Localizer.open(project.path) as localizer:
        text = answers_page([localizer.localize("the parser")], localizer)
    assert str(project.path.parent) not in text
    assert "of my {line} at" in text


def test_texts_of_reports_paths_commits_and_files_are_never_html(repository, write_page):
    path = "src/<img src=x onerror=alert(3)>&\"'{{ 1 }}.py"
    code = f"def parser():\n    # parser {HOSTILE}\n    pass\n"
    repository.commit({path: code, "b.py": "z = 1\n"}, "Begin")
    repository.commit({path: code + "\n"}, f"Fix #1: parser alert {HOSTILE}")
    repository.git("remote", "add", "origin", "https://github.com/ada/toy.git")
    report = f"The parser alert {HOSTILE}\n\n{HOSTILE}\n{path}\n"
    text = check_harmless(write_page(report)).text
    assert "\u202e" not in text
    assert "alert(1)" in text
    assert "onerror=alert(3)" in text
    assert "{{ 7*7 }}" in text


def test_a_page_of_many_reports_lists_them(repository, write_page):
    repository.commit({"parser.py": "def parser(): pass\n"})
    reports = "".join(json.dumps({"summary": f"parser {number}"}) + "\n" for number in range(3))
    page = check_harmless(write_page(reports))
    names = ["question-1", "question-2", "question-3"]
    assert [article["id"] for article in page.find_all("article")] == names
    assert [link["href"] for link in page.find_all("a")][:3] == [f"#{name}" for name in names]


@pytest.mark.parametrize(
    ("reports", "target", "message"),
    [
        (1, "", "is a directory"),
        (101, "page.html", "--html at most 100, but there are 101; use --jsonl"),
    ],
    ids=["a folder", "too many reports"],
)
def test_a_page_that_cannot_be_written_fails_first(
    localize_html, tmp_path, capsys, reports, target, message
):
    assert localize_html('{"summary": "parser"}\n' * reports, target) == 2
    assert message in capsys.readouterr().err
    assert {path.name for path in tmp_path.iterdir()} <= {"bug.md", "repo", "cache"}
