"""Pages that must stay true: links, files and commands that they name, packages, and sections that docstrings cite."""

import re
from pathlib import Path

import pytest
from typer.core import TyperGroup
from typer.main import get_command

from tests.test_layers import LAYERS
from tosloc.cli.app import app
from tosloc.rank.features import NAMES as FEATURES

ROOT = Path(__file__).parents[1]
NAMES = (
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "action/README.md",
    "checkpoints/README.md",
    "scripts/example/README.md",
)
PAGES = [*(ROOT / name for name in NAMES), *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"^```.*?^```$", re.M | re.S)
CONSOLE = re.compile(r"^```(?:console|sh|bash)\n(.*?)^```$", re.M | re.S)
INLINE = re.compile(r"`(?:\w+=\S+ )*(?:\S+ -m )?tosloc ([^`]+)`")
CALL = re.compile(r"(?:^(?:\$ )?(?:\w+=\S+ )*|\) |&& |\| |-m )tosloc ((?:(?!&&|\||  #).)*)", re.M)
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#{1,6} (.+)$", re.M)
SECTION = re.compile(r"^#{1,6} ((?:B\.)?\d+(?:\.\d+)*|B)\.? ", re.M)
NAMED = re.compile(r"`((?:tosloc|tests|configs|scripts|docs|checkpoints)/[\w./-]*)`")
COMMAND = get_command(app)
CITED = re.compile(r"docs/method\.md,\s+section\s+((?:B\.)?\d+(?:\.\d+)*)")


def anchor(heading):
    """The fragment that GitHub gives a heading.

    >>> anchor("Table 4: every system, in `two` spaces")
    'table-4-every-system-in-two-spaces'
    """
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def prose(page):
    """A page without its blocks of code."""
    return FENCE.sub("", page.read_text(encoding="utf-8"))


def missing_links(page):
    """Links of a page to files, and to headings, that do not exist."""
    found = []
    for link in LINK.findall(prose(page)):
        name, _, fragment = link.partition("#")
        target = page.parent / name if name else page
        if re.match(r"[a-z]+:", link) or (target.exists() and not fragment):
            continue
        if not target.exists() or fragment not in {
            anchor(heading) for heading in HEADING.findall(prose(target))
        }:
            found.append(link)
    return found


def commands_of(page):
    """Calls of ``tosloc`` in a page's blocks of commands, each with what stands behind it up to the next command.

    And those within its sentences.
    """
    text = page.read_text(encoding="utf-8")
    blocks = "\n".join(CONSOLE.findall(text)).replace("\\\n", " ")
    return [*CALL.findall(blocks), *INLINE.findall(FENCE.sub("", text))]


def unknown_in(call):
    """Words of a call that are no command, and options that its command does not have."""
    command = COMMAND
    words = [word for word in call.split() if word != "..."]
    while words and isinstance(command, TyperGroup) and not words[0].startswith("-"):
        name = words.pop(0)
        command = command.commands.get(name)
        if command is None:
            return [name]
        command.make_context(
            name, [], resilient_parsing=True
        )  # those of the laboratory are not known before
    known = {
        option
        for parameter in command.params
        for option in (*parameter.opts, *parameter.secondary_opts)
    }
    return [word for word in words if word.startswith("--") and word.partition("=")[0] not in known]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_files_and_commands_of_pages_exist(page):
    assert missing_links(page) == []
    names = [name for name in NAMED.findall(prose(page)) if "NAME" not in name]
    assert [name for name in names if not (ROOT / name).exists()] == []
    assert [(call, unknown) for call in commands_of(page) if (unknown := unknown_in(call))] == []


def test_every_feature_has_its_row():
    text = (ROOT / "docs/features.md").read_text()
    assert not [name for name in FEATURES if f"`{name}`" not in text]


def test_what_is_wrong_is_seen(tmp_path):
    assert unknown_in("lab reproduce table-4 --out runs") == []
    assert unknown_in("lab produce table-4") == ["produce"]
    assert unknown_in("train --repo x --rounds 3") == ["--rounds"]
    assert unknown_in("data ... --zone x") == unknown_in("lab ...") == unknown_in("--version") == []
    page = tmp_path / "page.md"
    page.write_text(
        "# Top\n[a](page.md#top) [b](gone.md) [c](#gone) [d](https://x.org/y)\n```\n[e](gone.md)\n```\n"
    )
    assert missing_links(page) == ["gone.md", "#gone"]


def test_table_of_packages_is_complete():
    table = (
        (ROOT / "docs/architecture.md")
        .read_text(encoding="utf-8")
        .partition("## Packages")[2]
        .partition("\n## ")[0]
    )
    packages = set().union(*LAYERS)
    assert sorted(package for package in packages if f"`tosloc/{package}/`" not in table) == []


def test_cited_sections_of_the_method_exist():
    sections = set(SECTION.findall((ROOT / "docs/method.md").read_text(encoding="utf-8")))
    code = [
        path
        for folder in ("tosloc", "tests", "scripts", "configs")
        for path in (ROOT / folder).rglob("*.*")
    ]
    texts = {
        path: path.read_text(encoding="utf-8") for path in code if path.suffix in {".py", ".toml"}
    }
    cited = {
        (str(path), section) for path, text in texts.items() for section in CITED.findall(text)
    }
    assert len(cited) > 20
    assert [(path, section) for path, section in cited if section not in sections] == []
