"""What an extra brings is missed in one sentence, and only by what needs it; nothing heavy is loaded in vain."""

import json
import subprocess
import sys
from importlib import metadata
from importlib.util import find_spec
from types import SimpleNamespace

import pytest

import tosloc
from tests import toy
from tosloc.cli import main
from tosloc.core.errors import _install_command
from tosloc.localize.localizer import Localizer


@pytest.fixture
def without(monkeypatch):
    """Function (*packages): as if they were not installed, and nothing that needs them imported yet."""

    def hide(*packages):
        monkeypatch.setattr(
            "tosloc.core.errors.find_spec",
            lambda name: None if name in packages else find_spec(name),
        )

    def taken():
        names = [
            name
            for name in sys.modules
            if name.startswith(("tosloc.lab", "tosloc.plots", "tosloc.web"))
        ]
        return {name: sys.modules.pop(name) for name in names}

    for folder in ("lab", "plots", "web"):  # what the package itself says of them, too
        monkeypatch.setattr(tosloc, folder, None, raising=False)
    before = taken()
    yield hide
    taken()
    sys.modules.update(before)


@pytest.mark.parametrize(
    ("two", "lacking"),
    [
        ('reranker = "terms"', "learning term vectors needs torch"),
        (
            'code_encoder = "some/encoder"',
            "the encoder reranker needs torch, transformers, accelerate",
        ),
    ],
)
def test_without_torch_stage_one_is_learned_alone(without, project, tmp_path, capsys, two, lacking):
    settings, out = tmp_path / "own.toml", tmp_path / "out"
    settings.write_text(f"{toy.SETTINGS}[stage_two]\n{two}\n", encoding="utf-8")
    without("torch", "transformers", "accelerate")
    given = ["--repo", str(project.git.path), "--reports", str(project.write_reports())]
    assert main(["train", str(settings), *given, "--out", str(out)]) == 0
    said = capsys.readouterr().err
    assert (
        f"tosloc: {lacking}; run: {_install_command('encoder')}; without it stage one is learned alone\n"
        in said
    )
    assert Localizer.load(out).model.reranker is None
    assert not (out / "stage_one").exists()


LABELLED = ["--repo", ".", "--reports", "x", "--out", "out"]
TABLE = ["--out", "out", "--projects", "x"]


@pytest.mark.parametrize(
    ("part", "extra", "packages", "command"),
    [
        (
            "a figure or page",
            "report",
            ["matplotlib"],
            ["evaluate", "nowhere", "--html", "page.html"],
        ),
        (
            "a figure or page",
            "report",
            ["jinja2"],
            ["lab", "calibration", "nowhere", "--figure", "figure"],
        ),
        ("a page of answers", "serve", ["jinja2"], ["localize", "bug.md", "--html", "page.html"]),
        ("tosloc serve", "serve", ["starlette", "uvicorn"], ["serve", "--repo", "."]),
        ("a published technique", "lab", ["torch", "sklearn"], ["lab", "baselines", *LABELLED]),
        (
            "a table of the paper",
            "lab",
            ["torch", "sklearn"],
            ["lab", "reproduce", "table-2", *TABLE],
        ),
        ("BM25 over whole files", "lab", ["bm25s"], ["lab", "bm25", *LABELLED]),
        ("tosloc mcp", "mcp", ["mcp"], ["mcp"]),
    ],
)
def test_what_a_command_lacks_is_said_before_it_begins(
    without, repository, monkeypatch, capsys, part, extra, packages, command
):
    monkeypatch.chdir(repository.path)
    monkeypatch.setenv("GITHUB_TOKEN", "secret")
    (repository.path / "bug.md").write_text("It fails\n", encoding="utf-8")
    without(*packages)
    assert main(command) == 2
    sentence = f"tosloc: {part} needs {', '.join(packages)}; run: {_install_command(extra)}\n"
    assert capsys.readouterr().err == sentence
    assert {path.name for path in repository.path.iterdir()} == {".git", "bug.md"}


def test_configuration_of_the_paper_needs_lizard(without, project, tmp_path, capsys):
    without("lizard")
    settings = tmp_path / "own.toml"
    settings.write_text('[stage_one]\nmethod = "paper"\n', encoding="utf-8")
    out = tmp_path / "out"
    command = ["train", str(settings), "--repo", str(project.git.path), "--out", str(out)]
    assert main([*command, "--reports", str(project.write_reports())]) == 2
    sentence = f"[stage_one] method = 'paper' needs lizard; run: {_install_command('lab')}\n"
    assert capsys.readouterr().err.endswith(sentence)
    assert not out.exists()


EDITABLE = {"url": "file:///a%20b", "dir_info": {"editable": True}}
FOLDER = {"url": "file:///src", "dir_info": {}}
CLONED = {"url": "https://host/t.git", "vcs_info": {"vcs": "git"}}


@pytest.mark.parametrize(
    ("stated", "prefix", "command"),
    [
        (EDITABLE, "/v", "/v/python -m pip install --editable '/a b[mcp]'"),
        (FOLDER, "/v", "/v/python -m pip install '/src[mcp]'"),
        (None, "/v", "/v/python -m pip install 'tosloc[mcp]'"),
        (
            FOLDER,
            "/h/uv/tools/tosloc",
            "uv pip install --python /h/uv/tools/tosloc/python '/src[mcp]'",
        ),
        (
            CLONED,
            "/h/pipx/venvs/tosloc",
            "pipx inject tosloc 'tosloc[mcp] @ git+https://host/t.git'",
        ),
    ],
)
def test_a_hint_is_a_command_of_the_tool_that_installed_it(monkeypatch, stated, prefix, command):
    said = None if stated is None else json.dumps(stated)
    monkeypatch.setattr(
        metadata, "distribution", lambda _: SimpleNamespace(read_text=lambda _: said)
    )
    monkeypatch.setattr(sys, "prefix", prefix)
    monkeypatch.setattr(sys, "executable", f"{prefix}/python")
    assert _install_command("mcp") == command


# What is heavy loads only when a command needs it

HEAVY = set(
    "torch transformers scipy sklearn lightgbm pandas tree_sitter lizard git openpyxl matplotlib jinja2".split()
)
NOT_ASKED = "config experiment training index.build code.facts code.parse rank.fitting"
MAIN = "import sys; from tosloc.cli import main; assert main(sys.argv[1:]) == 0"


class WithoutOpenMP:
    """An import finder that fails as LightGBM does on a system that lacks the OpenMP library."""

    def find_spec(self, name, path=None, target=None):
        if name == "lightgbm":
            raise OSError("libgomp.so.1: cannot open shared object file: No such file or directory")


@pytest.fixture
def without_openmp(monkeypatch):
    monkeypatch.delitem(sys.modules, "lightgbm", raising=False)
    monkeypatch.setattr(sys, "meta_path", [WithoutOpenMP(), *sys.meta_path])


def test_training_without_openmp_names_its_package_before_any_work(
    without_openmp, project, tmp_path, capsys, monkeypatch
):
    settings = tmp_path / "own.toml"
    settings.write_text(
        toy.SETTINGS.replace("ranker = false", "ranker = true\nshipped = false"), encoding="utf-8"
    )
    monkeypatch.setattr(
        "tosloc.rank.extraction.Extraction.run", None
    )  # the first long part of a training
    given = ["--repo", str(project.git.path), "--reports", str(project.write_reports())]
    code = main(["train", str(settings), *given, "--out", str(tmp_path / "out")])
    assert code == 2
    error = capsys.readouterr().err
    assert "does not load here (libgomp.so.1: cannot open shared object file" in error
    assert "apt-get install libgomp1 (Debian, Ubuntu)" in error
    assert "brew install libomp (macOS)" in error
    assert not (tmp_path / "out").exists()


def test_few_reports_are_learned_without_openmp(without_openmp, project, tmp_path):
    settings, out = tmp_path / "own.toml", tmp_path / "out"
    settings.write_text(toy.SETTINGS.replace("ranker = false", "ranker = true"), encoding="utf-8")
    given = ["--repo", str(project.git.path), "--reports", str(project.write_reports())]
    assert main(["train", str(settings), *given, "--out", str(out)]) == 0


def test_the_shipped_weights_answer_without_openmp(without_openmp, project):
    with Localizer.open(project.git.path) as localizer:
        assert localizer.localize("openParser loses the first byte").hits


ANALYSE = """
from tosloc.code.facts import analyse
assert "method" in str(analyse("class A { int methods() { return a ? 1 : 2; } }", ".java").terms)
"""


def loaded(code, *arguments):
    """Modules that a program has loaded at its end."""
    program = f"{code}\nimport sys\nprint(*sys.modules, file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], stderr=subprocess.PIPE, text=True, check=True
    )
    return set(done.stderr.split())


def test_facts_need_no_lizard_and_no_other_grammar():
    names = {
        name
        for name in loaded(ANALYSE)
        if name.partition("_")[0] in ("lizard", "tree") and "." not in name
    }
    assert names == set()  # Parsers are loaded in a process of their own.


def test_a_second_question_loads_no_more_than_it_needs(repository, tmp_path):
    """The version is ready, the functions of its files are known: neither parsers nor what learns have a part."""
    repository.commit(
        {"Door.java": "class Door { void open() { } }", "Key.java": "class Key { }"}, "Fix #3: key"
    )
    (tmp_path / "bug.md").write_text("Door does not open")
    with Localizer.open(repository.path) as localizer:
        assert localizer.localize("Door does not open").hits[0].functions
    found = loaded(MAIN, "localize", str(tmp_path / "bug.md"), "--repo", str(repository.path))
    unwanted = HEAVY - {"git"} | {
        "joblib",
        *(f"tosloc.{name}" for name in NOT_ASKED.split()),
    }  # git finds it
    assert found & unwanted == set()


LAB = "import tosloc.lab.projects, tosloc.lab.bm25_runs, tosloc.lab.pretraining"


@pytest.mark.parametrize(
    ("code", "arguments", "less"),
    [
        ("import tosloc", [], set()),
        (MAIN, ["--help"], set()),
        (MAIN, ["localize", "--help"], set()),
        pytest.param(LAB, [], {"tree_sitter", "scipy", "git"}, marks=pytest.mark.slow),
    ],
)
def test_nothing_heavy_is_loaded(code, arguments, less):
    assert loaded(code, *arguments) & (HEAVY - less) == set()
