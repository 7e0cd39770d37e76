"""``localize --html``: one page that needs nothing else, and in which text is never HTML."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import GitRepository, RepositoryFactory
from tests.pages import Elements
from tosloc.cli import main
from tosloc.localizer import Localizer
from tosloc.web.render import View, answered, page

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"' {{ 7*7 }} {% raise %} <!-- ]]> \u202e\x07"
ALLOWED = {"http-equiv", "content", "name", "charset", "class", "id", "href", "rel", "tabindex", "open", "role", "lang"}
ALLOWED |= {"aria-label", "aria-live", "aria-hidden", "data-state", "type"}
ALLOWED |= {"viewbox", "preserveaspectratio", "width", "height"}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOSLOC_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def written(repository: GitRepository, tmp_path: Path) -> Callable[..., str]:
    """Function (report, *arguments) -> the text of the page that ``localize --html`` writes."""

    def run(report: str, *arguments: str) -> str:
        (tmp_path / "bug.md").write_text(report, encoding="utf-8")
        html = tmp_path / "page.html"
        where = ["--repo", str(repository.path), "--html", str(html)]
        assert main(["localize", str(tmp_path / "bug.md"), *where, *arguments]) == 0
        return html.read_text(encoding="utf-8")

    return run


def check_harmless(text: str) -> Elements:
    """A page that holds one style and one script, ours by their digests, and nothing that loads or runs."""
    found = Elements(text)
    [policy] = [one["content"] or "" for one in found.all("meta") if one.get("http-equiv") == "Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; ")
    for tag in ("script", "style"):
        [inside] = found.inline[tag]
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    names = {name for _, given in found.found for name in given}
    assert names <= ALLOWED, names - ALLOWED
    tags = {tag for tag, _ in found.found}
    assert not tags & {"img", "iframe", "object", "embed", "link", "base", "form", "input", "video", "audio"}
    for tag, given in found.found:
        if href := given.get("href"):
            assert re.match(r"https://|#", href), (tag, href)
    return found


def test_a_page_of_a_real_repository(repository: GitRepository, written: Callable[..., str]) -> None:
    code = "class Parser:\n    def parse_header(self, line):\n        return line.split(':')\n"
    repository.commit({"src/parser.py": code, "src/other.py": "x = 1\n", "tests/test_parser.py": "y = 2\n"}, "Begin")
    repository.commit({"src/parser.py": code + "\n"}, "Fix #7: the header lost its colon")
    repository.git("remote", "add", "origin", "https://github.com/ada/toy.git")
    report = 'Parser drops the header\n\nparse_header loses it:\n\n  File "src/parser.py", line 3, in parse_header\n'
    text = written(report)
    found = check_harmless(text)
    commit = repository.made[-1]
    links = {one["href"] for one in found.all("a")}
    assert f"https://github.com/ada/toy/commit/{commit}" in links
    assert f"https://github.com/ada/toy/blob/{commit}/src/parser.py" in links
    assert f"https://github.com/ada/toy/blob/{commit}/src/parser.py#L2-L3" in links
    assert '<mark class="word">parse_header</mark>(self, line)' in text
    assert '<mark class="frame">src/parser.py</mark>' in text
    assert len(found.all("div", class_="line framed")) == 1
    said = " ".join(found.text.split())
    for words in ("2 files of ada/toy at", "1 test file hidden", f"earlier fix {commit[:10]}"):
        assert words in said
    assert str(repository.path) not in text  # where it lies is nobody's business
    assert "the report has no date" not in said  # nothing that a reader should act on
    assert written(report) == text
    assert written("parser " * 1_000).count("parser ") < 150


@pytest.mark.parametrize("bare", [False, True])
def test_the_served_page_opens_the_files_of_a_work_tree_in_the_editor(
    make_repository: RepositoryFactory, bare: bool
) -> None:
    project = make_repository("my {line}", bare=bare)
    project.commit({"src/parser.py": "x = 1\ndef parser(): pass\n"})
    with Localizer.open(project.path) as localizer:
        answer = localizer.localize("the parser")
        links = Elements(answered(View.of(answer, localizer, "x://open?{path}&{line}"))).all("a", class_="tool")
        sent = page([View.of(answer, localizer)])
    path = f"{project.path.parent}/my%20%7Bline%7D/src/parser.py"
    assert [one["href"] for one in links] == ([] if bare else [f"x://open?{path}&2", f"x://open?{path}&1"])
    assert str(project.path.parent) not in sent


def test_what_a_report_a_path_a_commit_and_a_file_say_is_never_html(
    repository: GitRepository, written: Callable[..., str]
) -> None:
    path = "src/<img src=x onerror=alert(3)>&\"'{{ 1 }}.py"
    repository.commit({path: f"def parser():\n    # parser {HOSTILE}\n    pass\n", "b.py": "z = 1\n"}, "Begin")
    repository.commit({path: f"def parser():\n    # parser {HOSTILE}\n    pass\n\n"}, f"Fix #1: parser alert {HOSTILE}")
    repository.git("remote", "add", "origin", "https://github.com/ada/toy.git")
    found = check_harmless(written(f"The parser alert {HOSTILE}\n\n{HOSTILE}\n{path}\n"))
    assert "\u202e" not in found.text
    assert "alert(1)" in found.text
    assert "onerror=alert(3)" in found.text
    assert "{{ 7*7 }}" in found.text


def test_many_reports_stand_below_each_other(repository: GitRepository, written: Callable[..., str]) -> None:
    repository.commit({"parser.py": "def parser(): pass\n"})
    found = check_harmless(written("".join(json.dumps({"summary": f"parser {number}"}) + "\n" for number in range(3))))
    assert [one["id"] for one in found.all("article")] == ["question-1", "question-2", "question-3"]
    assert [one["href"] for one in found.all("a")][:3] == ["#question-1", "#question-2", "#question-3"]


def test_what_cannot_become_a_page_is_said_before_anything_is_made(
    repository: GitRepository, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    repository.commit({"parser.py": "def parser(): pass\n"})
    given = tmp_path / "reports.jsonl"
    many = "a page holds 100 answers, and there are 101 reports; use --jsonl"
    for reports, target, sentence in ((1, "", "is a directory"), (101, "page.html", many)):
        given.write_text('{"summary": "parser"}\n' * reports)
        command = ["localize", str(given), "--repo", str(repository.path), "--html", str(tmp_path / target)]
        assert main(command) == 2
        assert sentence in capsys.readouterr().err
    assert not list(tmp_path.glob("cache")) + list(tmp_path.glob("page.html"))
