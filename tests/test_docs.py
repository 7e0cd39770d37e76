"""Links, files, commands and packages that the docs mention exist, and so do cited sections."""

import re
import runpy
from pathlib import Path

import pytest
from typer.core import TyperGroup
from typer.main import get_command

import tosloc
from scripts import features
from tests.test_layers import LAYERS
from tosloc.cli.app import app

ROOT = Path(__file__).parents[1]
PAGE_NAMES = (
    "README.md",
    "AGENTS.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "action/README.md",
    "checkpoints/README.md",
    "scripts/example/README.md",
    "examples/README.md",
)
PAGES = [*(ROOT / name for name in PAGE_NAMES), *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"^```.*?^```$", re.M | re.S)
CONSOLE = re.compile(r"^```(?:console|sh|bash)\n(.*?)^```$", re.M | re.S)
INLINE = re.compile(r"`(?:\w+=\S+ )*(?:\S+ -m )?tosloc ([^`]+)`")
CALL = re.compile(r"(?:^(?:\$ )?(?:\w+=\S+ )*|\) |&& |\| |-m )tosloc ((?:(?!&&|\||  #).)*)", re.M)
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#{1,6} (.+)$", re.M)
SECTION = re.compile(r"^#{1,6} ((?:B\.)?\d+(?:\.\d+)*|B)\.? ", re.M)
MENTIONED_PATH = re.compile(
    r"`((?:tosloc|tests|configs|scripts|docs|checkpoints|examples)/[\w./-]*)`"
)
COMMAND = get_command(app)
REFERENCE = re.compile(r"^### `(\S+)`$", re.M)
CITED = re.compile(r"docs/method\.md,\s+section\s+((?:B\.)?\d+(?:\.\d+)*)")


def anchor(heading):
    """Return the fragment that GitHub gives a heading.

    >>> anchor("Table 4: every system, in `two` spaces")
    'table-4-every-system-in-two-spaces'
    """
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def read_prose(page):
    """Return the text of a page without its blocks of code."""
    return FENCE.sub("", page.read_text(encoding="utf-8"))


def missing_links(page):
    """Return the links of a page to files, and to headings, that do not exist."""
    return [link for link in LINK.findall(read_prose(page)) if is_broken(link, page)]


def is_broken(link, page):
    """Return whether a link of a page leads to no file or to no heading; web addresses are kept."""
    if re.match(r"[a-z]+:", link):
        return False
    name, _, fragment = link.partition("#")
    target = page.parent / name if name else page
    if not target.exists():
        return True
    if not fragment:
        return False
    return fragment not in map(anchor, HEADING.findall(read_prose(target)))


def find_commands(page):
    """Return the calls of ``tosloc`` in a page's blocks of commands and in its sentences.

    A call of a block is given with what follows it up to the next command.
    """
    text = page.read_text(encoding="utf-8")
    blocks = "\n".join(CONSOLE.findall(text)).replace("\\\n", " ")
    return [*CALL.findall(blocks), *INLINE.findall(FENCE.sub("", text))]


def find_unknown_words(call):
    """Return the words of a call that are no command, and options that its command lacks."""
    command = COMMAND
    words = [word for word in call.split() if word != "..."]
    while words and isinstance(command, TyperGroup) and not words[0].startswith("-"):
        name = words.pop(0)
        command = command.commands.get(name)
        if command is None:
            return [name]
        # The commands of the laboratory are only known once a context is made.
        command.make_context(name, [], resilient_parsing=True)
    known_options = set()
    for parameter in command.params:
        known_options.update(parameter.opts, parameter.secondary_opts)
    options = [word for word in words if word.startswith("--")]
    return [option for option in options if option.partition("=")[0] not in known_options]


all_pages = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


@all_pages
def test_links_of_pages_exist(page):
    assert missing_links(page) == []


@all_pages
def test_files_that_pages_mention_exist(page):
    """Paths with NAME stand for any name."""
    paths = [path for path in MENTIONED_PATH.findall(read_prose(page)) if "NAME" not in path]
    assert [path for path in paths if not (ROOT / path).exists()] == []


@all_pages
def test_commands_and_options_of_pages_exist(page):
    unknown = {call: find_unknown_words(call) for call in find_commands(page)}
    assert {call: words for call, words in unknown.items() if words} == {}


def test_tables_of_features_are_those_of_the_registry():
    assert features.main(["--check"]) == 0


@pytest.mark.parametrize(
    ("call", "unknown"),
    [
        ("lab reproduce table-4 --out runs", []),
        ("lab produce table-4", ["produce"]),
        ("train --repo x --rounds 3", ["--rounds"]),
        ("data ... --zone x", []),
        ("lab ...", []),
        ("--version", []),
    ],
)
def test_unknown_commands_and_options_are_found(call, unknown):
    assert find_unknown_words(call) == unknown


def test_every_public_name_is_in_the_api_reference():
    references = REFERENCE.findall((ROOT / "docs/api.md").read_text(encoding="utf-8"))
    public_names = [name for name in tosloc.__all__ if not name.startswith("_")]
    assert [name for name in public_names if f"tosloc.{name}" not in references] == []


def test_api_reference_is_that_of_the_code():
    """Run ``python scripts/api_page.py`` to write the page anew."""
    namespace = runpy.run_path(str(ROOT / "scripts/api_page.py"))
    assert (ROOT / "docs/api.md").read_text(encoding="utf-8") == namespace["api_page"]()


def test_every_page_is_in_the_navigation_of_the_site():
    navigation = (ROOT / "zensical.toml").read_text(encoding="utf-8")
    pages = [path.relative_to(ROOT).as_posix() for path in PAGES]
    shown_pages = [page for page in pages if not page.startswith("scripts/")]
    assert [page for page in shown_pages if f'"{page}"' not in navigation] == []


def test_missing_links_are_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "# Top\n[a](page.md#top) [b](gone.md) [c](#gone) [d](https://x.org/y)\n"
        "```\n[e](gone.md)\n```\n"
    )
    assert missing_links(page) == ["gone.md", "#gone"]


def test_table_of_packages_is_complete():
    text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    table = text.partition("## Packages")[2].partition("\n## ")[0]
    packages = sorted(set().union(*LAYERS))
    assert [package for package in packages if f"`tosloc/{package}/`" not in table] == []


def find_citations():
    """Return (path, section) of each section of docs/method.md that code or settings cite."""
    citations = set()
    for folder in ("tosloc", "tests", "scripts", "configs"):
        for path in (ROOT / folder).rglob("*.*"):
            if path.suffix in {".py", ".toml"}:
                sections = CITED.findall(path.read_text(encoding="utf-8"))
                citations.update((str(path), section) for section in sections)
    return citations


def test_cited_sections_of_the_method_exist():
    sections = set(SECTION.findall((ROOT / "docs/method.md").read_text(encoding="utf-8")))
    citations = find_citations()
    assert len(citations) > 20
    assert [citation for citation in citations if citation[1] not in sections] == []


SHAPE = re.compile(r"\((?=[A-Z])\w(?:\+\d)?,(?: (?:\w|\d{1,2})(?:\+\d)?)?(?:, \w)?\)")


def test_letters_of_shapes_have_a_meaning():
    page = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    known = set(re.findall(r"^\| (\w) \| ", page, re.M))
    unknown = set()
    paths = set((ROOT / "tosloc").rglob("*.py")) - set((ROOT / "tosloc/lab").rglob("*.py"))
    for path in paths:
        for shape in SHAPE.findall(path.read_text(encoding="utf-8")):
            letters = set(re.findall("[A-Za-z]", shape))
            if not letters <= known:
                unknown.add((path.name, shape))
    assert unknown == set()
