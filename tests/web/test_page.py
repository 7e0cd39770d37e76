"""``localize --html``: one page that needs nothing else, and in which text is never HTML."""

import base64
import hashlib
import json
import re

import pytest

from tests.pages import Elements
from tosloc.cli import main
from tosloc.localize.localizer import Localizer
from tosloc.web.render import answered, page

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"' {{ 7*7 }} {% raise %} <!-- ]]> \u202e\x07"
ALLOWED = set(
    "http-equiv content name charset class id href rel tabindex open role lang aria-label aria-live aria-hidden"
    " data-state type viewbox preserveaspectratio width height".split()
)
CODE = "class Parser:\n    def parse_header(self, line):\n        return line.split(':')\n"


@pytest.fixture
def asked(repository, tmp_path, monkeypatch):
    """Function (reports, file) -> the exit code of ``localize --html``."""
    monkeypatch.setenv("TOSLOC_CACHE", str(tmp_path / "cache"))

    def run(text, target="page.html"):
        (tmp_path / "bug.md").write_text(text, encoding="utf-8")
        where = ["--repo", str(repository.path), "--html", str(tmp_path / target)]
        return main(["localize", str(tmp_path / "bug.md"), *where])

    return run


@pytest.fixture
def written(asked, tmp_path):
    """Function (reports) -> the text of the page that ``localize --html`` writes."""
    return lambda text: asked(text) or (tmp_path / "page.html").read_text(encoding="utf-8")


def check_harmless(text):
    """A page that holds one style and one script, ours by their digests, and nothing that loads or runs."""
    found = Elements(text)
    [policy] = [
        one["content"] or ""
        for one in found.all("meta")
        if one.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policy.startswith("default-src 'none'; ")
    for tag in ("script", "style"):
        [inside] = found.inline[tag]
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    names = {name for _, given in found.found for name in given}
    assert names <= ALLOWED, names - ALLOWED
    tags = {tag for tag, _ in found.found}
    assert not tags & {
        "img",
        "iframe",
        "object",
        "embed",
        "link",
        "base",
        "form",
        "input",
        "video",
        "audio",
    }
    for tag, given in found.found:
        if href := given.get("href"):
            assert re.match(r"https://|#", href), (tag, href)
    return found


def test_a_page_of_a_real_repository(repository, written):
    repository.commit(
        {"src/parser.py": CODE, "src/other.py": "x = 1\n", "tests/test_parser.py": "y = 2\n"},
        "Begin",
    )
    commit = repository.commit({"src/parser.py": CODE + "\n"}, "Fix #7: the header lost its colon")
    repository.git("remote", "add", "origin", "https://github.com/ada/toy.git")
    report = 'Parser drops the header\n\nparse_header loses it:\n\n  File "src/parser.py", line 3, in parse_header\n'
    text = written(report)
    found = check_harmless(text)
    place = f"https://github.com/ada/toy/blob/{commit}/src/parser.py"
    links = {one["href"] for one in found.all("a")}
    assert {f"https://github.com/ada/toy/commit/{commit}", place, f"{place}#L2-L3"} <= links
    assert '<mark class="word">parse_header</mark>(self, line)' in text
    assert '<mark class="frame">src/parser.py</mark>' in text
    assert len(found.all("div", class_="line framed")) == 1
    said = " ".join(found.text.split())
    for words in (
        "2 files of ada/toy at",
        "1 test file hidden",
        "; weights: shipped",
        f"earlier fix {commit[:10]}",
    ):
        assert words in said
    assert str(repository.path) not in text  # where it lies is nobody's business
    assert "the report has no date" not in said  # nothing that a reader should act on
    assert written(report) == text
    assert written("parser " * 1_000).count("parser ") < 150


@pytest.mark.parametrize("bare", [False, True])
def test_the_served_page_opens_the_files_of_a_work_tree_in_the_editor(make_repository, bare):
    project = make_repository("my {line}", bare=bare)
    project.commit({"src/parser.py": "x = 1\ndef parser(): pass\n"})
    with Localizer.open(project.path) as localizer:
        answer = localizer.localize("the parser")
        links = Elements(answered(answer, localizer, "x://open?{path}&{line}")).all(
            "a", class_="tool"
        )
        sent = page([answer], localizer)
    address = f"x://open?{project.path.parent}/my%20%7Bline%7D/src/parser.py"
    assert [one["href"] for one in links] == ([] if bare else [f"{address}&2", f"{address}&1"])
    assert str(project.path.parent) not in sent
    assert "of my {line} at" in sent  # without a remote the folder's name


def test_what_a_report_a_path_a_commit_and_a_file_say_is_never_html(repository, written):
    path = "src/<img src=x onerror=alert(3)>&\"'{{ 1 }}.py"
    code = f"def parser():\n    # parser {HOSTILE}\n    pass\n"
    repository.commit({path: code, "b.py": "z = 1\n"}, "Begin")
    repository.commit({path: code + "\n"}, f"Fix #1: parser alert {HOSTILE}")
    repository.git("remote", "add", "origin", "https://github.com/ada/toy.git")
    said = check_harmless(written(f"The parser alert {HOSTILE}\n\n{HOSTILE}\n{path}\n")).text
    assert "\u202e" not in said
    assert all(words in said for words in ("alert(1)", "onerror=alert(3)", "{{ 7*7 }}"))


def test_many_reports_stand_below_each_other(repository, written):
    repository.commit({"parser.py": "def parser(): pass\n"})
    found = check_harmless(
        written("".join(json.dumps({"summary": f"parser {number}"}) + "\n" for number in range(3)))
    )
    assert [one["id"] for one in found.all("article")] == ["question-1", "question-2", "question-3"]
    assert [one["href"] for one in found.all("a")][:3] == [
        "#question-1",
        "#question-2",
        "#question-3",
    ]


def test_what_cannot_become_a_page_is_said_before_anything_is_made(asked, tmp_path, capsys):
    many = "--html for 100, not 101; use --jsonl"
    for number, target, said in ((1, "", "is a directory"), (101, "page.html", many)):
        assert asked('{"summary": "parser"}\n' * number, target) == 2
        assert said in capsys.readouterr().err
    assert {path.name for path in tmp_path.iterdir()} == {"bug.md", "repo"}
