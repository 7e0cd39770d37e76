"""A missing extra is named in one sentence by what needs it, and nothing heavy loads in vain."""

import json
import subprocess
import sys
import tomllib
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import pytest

import tosloc
from scripts import bench, gpu_check, random_encoders
from tests import toy
from tosloc.cli import main
from tosloc.cli.guard import run_guarded
from tosloc.core.errors import _install_command
from tosloc.localize.localizer import Localizer

ROOT = Path(__file__).parents[1]


def take_modules_with_extras():
    """Remove the modules that need extras from those that are imported, and return them."""
    prefixes = ("tosloc.lab", "tosloc.plots", "tosloc.web")
    names = [name for name in sys.modules if name.startswith(prefixes)]
    return {name: sys.modules.pop(name) for name in names}


@pytest.fixture
def hide_packages(monkeypatch):
    """Return a function (*packages) after which these seem not to be installed.

    What needs them seems not to have been imported yet.
    """

    def hide(*packages):
        def find_unless_hidden(name):
            return None if name in packages else find_spec(name)

        monkeypatch.setattr("tosloc.core.errors.find_spec", find_unless_hidden)

    for folder in ("lab", "plots", "web"):  # submodules are also attributes of the package
        monkeypatch.setattr(tosloc, folder, None, raising=False)
    before = take_modules_with_extras()
    yield hide
    take_modules_with_extras()
    sys.modules.update(before)


@pytest.fixture
def train(project, tmp_path):
    """Return a function (settings) -> exit code of a training with the project's reports.

    Its results are in the folder "out" of the test.
    """

    def run(settings):
        (tmp_path / "own.toml").write_text(settings, encoding="utf-8")
        command = ["train", str(tmp_path / "own.toml"), "--repo", str(project.git.path)]
        command += ["--reports", str(project.write_reports()), "--out", str(tmp_path / "out")]
        return main(command)

    return run


@pytest.mark.parametrize(
    ("stage_two", "missing"),
    [
        ('reranker = "terms"', "learning term vectors needs torch"),
        (
            'code_encoder = "some/encoder"',
            "the encoder reranker needs torch, transformers, accelerate",
        ),
    ],
    ids=["terms", "encoder"],
)
def test_without_torch_only_stage_one_is_learned(
    hide_packages, train, tmp_path, capsys, stage_two, missing
):
    hide_packages("torch", "transformers", "accelerate")
    assert train(f"{toy.SETTINGS}[stage_two]\n{stage_two}\n") == 0
    sentence = (
        f"tosloc: {missing}; run: {_install_command('encoder')}; "
        "without it only stage one is trained\n"
    )
    assert sentence in capsys.readouterr().err
    assert Localizer.load(tmp_path / "out").model.reranker is None
    assert not (tmp_path / "out/stage_one").exists()


REPORT_OPTIONS = ["--repo", ".", "--reports", "x", "--out", "out"]
TABLE_OPTIONS = ["--out", "out", "--projects", "x"]


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
        (
            "a published technique",
            "lab",
            ["torch", "sklearn"],
            ["lab", "baselines", *REPORT_OPTIONS],
        ),
        (
            "a table of the paper",
            "lab",
            ["torch", "sklearn"],
            ["lab", "reproduce", "table-2", *TABLE_OPTIONS],
        ),
        ("BM25 over whole files", "report", ["bm25s"], ["lab", "bm25", *REPORT_OPTIONS]),
        ("tosloc mcp", "mcp", ["mcp"], ["mcp"]),
        (
            "the encoder reranker",
            "encoder",
            ["torch", "transformers", "accelerate"],
            ["localize", "bug.md", "--encoder", "some/encoder"],
        ),
    ],
    ids=[
        "evaluate --html",
        "lab calibration",
        "localize --html",
        "serve",
        "lab baselines",
        "lab reproduce",
        "lab bm25",
        "mcp",
        "localize --encoder",
    ],
)
def test_a_command_names_its_missing_extra_before_it_begins(
    hide_packages, repository, monkeypatch, capsys, part, extra, packages, command
):
    monkeypatch.chdir(repository.path)
    monkeypatch.setenv("GITHUB_TOKEN", "secret")
    (repository.path / "bug.md").write_text("It fails\n", encoding="utf-8")
    hide_packages(*packages)
    assert main(command) == 2
    sentence = f"tosloc: {part} needs {', '.join(packages)}; run: {_install_command(extra)}\n"
    assert capsys.readouterr().err == sentence
    assert {path.name for path in repository.path.iterdir()} == {".git", "bug.md"}


def test_extra_of_evaluations_installs_no_torch():
    """The reference ranking of ``tosloc lab bm25`` needs a small package, no gigabytes."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    packages = " ".join(project["optional-dependencies"]["report"])
    assert "bm25s" in packages
    assert "torch" not in packages
    assert "tosloc[" not in packages


def test_random_encoders_name_the_command_that_installs_torch(hide_packages, tmp_path, capsys):
    hide_packages("torch", "transformers")
    arguments = [str(tmp_path / "pack"), str(tmp_path / "out")]
    assert run_guarded(lambda: random_encoders.main(arguments)) == 2
    sentence = f"writing encoders needs torch, transformers; run: {_install_command('encoder')}\n"
    assert capsys.readouterr().err == f"tosloc: {sentence}"


def test_gpu_check_names_the_command_that_installs_torch(hide_packages, capsys):
    hide_packages("torch", "transformers")
    assert run_guarded(lambda: gpu_check.main(["--tiny"])) == 2
    sentence = f"the GPU check needs torch, transformers; run: {_install_command('encoder')}\n"
    assert capsys.readouterr().err == f"tosloc: {sentence}"


@pytest.mark.parametrize(
    ("part", "package", "extra", "words"),
    [
        ("a comparison with ir-measures", "ir_measures", "dev", ["--only", "evaluation"]),
        ("a comparison with bm25s", "bm25s", "report", ["--only", "stage one"]),
        (
            "a benchmark of an encoder",
            "torch",
            "encoder",
            ["--only", "stage two", "--encoder", "e"],
        ),
    ],
)
def test_bench_names_a_missing_package_before_it_begins(
    hide_packages, capsys, part, package, extra, words
):
    hide_packages(package)
    assert run_guarded(lambda: bench.main(words)) == 2
    sentence = f"{part} needs {package}; run: {_install_command(extra)}\n"
    assert capsys.readouterr().err == f"tosloc: {sentence}"


def test_configuration_of_the_paper_needs_lizard(hide_packages, train, tmp_path, capsys):
    hide_packages("lizard")
    assert train('[stage_one]\nmethod = "paper"\n') == 2
    sentence = f"[stage_one] method = 'paper' needs lizard; run: {_install_command('lab')}\n"
    assert capsys.readouterr().err.endswith(sentence)
    assert not (tmp_path / "out").exists()


EDITABLE = {"url": "file:///a%20b", "dir_info": {"editable": True}}
FOLDER = {"url": "file:///src", "dir_info": {}}
CLONED = {"url": "https://host/t.git", "vcs_info": {"vcs": "git"}}


@pytest.mark.parametrize(
    ("direct_url", "prefix", "command"),
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
    ids=["editable", "folder", "package index", "uv tool", "pipx from git"],
)
def test_a_hint_uses_the_tool_that_installed_tosloc(monkeypatch, direct_url, prefix, command):
    """``direct_url`` is the installed package's direct_url.json (PEP 610)."""
    text = None if direct_url is None else json.dumps(direct_url)
    distribution = SimpleNamespace(read_text=lambda _: text)
    monkeypatch.setattr(metadata, "distribution", lambda _: distribution)
    monkeypatch.setattr(sys, "prefix", prefix)
    monkeypatch.setattr(sys, "executable", f"{prefix}/python")
    assert _install_command("mcp") == command


# A system without the OpenMP library, which LightGBM needs

RANKER_SETTINGS = toy.SETTINGS.replace("ranker = false", "ranker = true")


class WithoutOpenMP:
    """An import finder that fails as LightGBM does on a system that lacks the OpenMP library."""

    def find_spec(self, name, path=None, target=None):
        """Raise OSError for LightGBM; find nothing else."""
        if name == "lightgbm":
            raise OSError("libgomp.so.1: cannot open shared object file: No such file or directory")


@pytest.fixture
def without_openmp(monkeypatch):
    """Let the import of LightGBM fail."""
    monkeypatch.delitem(sys.modules, "lightgbm", raising=False)
    monkeypatch.setattr(sys, "meta_path", [WithoutOpenMP(), *sys.meta_path])


@pytest.mark.usefixtures("without_openmp")
def test_training_without_openmp_names_its_package_before_any_work(
    train, tmp_path, capsys, monkeypatch
):
    # The first long part of a training would fail.
    monkeypatch.setattr("tosloc.rank.features.extraction.Extraction.run", None)
    assert train(RANKER_SETTINGS.replace("[run]", "shipped = false\n[run]")) == 2
    error = capsys.readouterr().err
    assert "does not load here (libgomp.so.1: cannot open shared object file" in error
    assert "apt-get install libgomp1 (Debian, Ubuntu)" in error
    assert "brew install libomp (macOS)" in error
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("without_openmp")
def test_few_reports_are_learned_without_openmp(train):
    assert train(RANKER_SETTINGS) == 0


@pytest.mark.usefixtures("without_openmp")
def test_the_shipped_weights_answer_without_openmp(project):
    with Localizer.open(project.git.path) as localizer:
        assert localizer.localize("openParser loses the first byte").hits


# What is heavy loads only when a command needs it

HEAVY = set(
    "torch transformers scipy sklearn lightgbm pandas tree_sitter lizard git openpyxl matplotlib "
    "jinja2".split()
)
NOT_FOR_SECOND_QUESTION = {
    "tosloc.core.config",
    "tosloc.train.experiment",
    "tosloc.train.training",
    "tosloc.storage.build",
    "tosloc.code.facts",
    "tosloc.code.parse",
    "tosloc.rank.model.fitting",
    "tosloc.cli.bisect",
    "tosloc.cli.commands",
    "tosloc.cli.serve",
    "tosloc.mine.github",
    "tosloc.reports.failures.junit",
    "tosloc.reports.failures.python",
    "http.client",
    "numpy.ma",
}
"""Modules without which a version and functions that are ready can be searched."""
RUN_COMMAND = "import sys; from tosloc.cli import main; assert main(sys.argv[1:]) == 0"
ANALYSE = """
from tosloc.code.facts import analyse
assert "method" in str(analyse("class A { int methods() { return a ? 1 : 2; } }", ".java").terms)
"""
IMPORT_LAB = "import tosloc.lab.projects, tosloc.lab.bm25_runs, tosloc.lab.pretraining"


def loaded_modules(code, *arguments):
    """Run a program in a new process; return the names of the modules loaded at its end."""
    program = f"{code}\nimport sys\nprint(*sys.modules, file=sys.stderr)"
    command = [sys.executable, "-c", program, *arguments]
    result = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=True)
    return set(result.stderr.split())


def test_facts_need_no_lizard_and_no_other_grammar():
    """Parsers are loaded in a process of their own."""
    tops = {name for name in loaded_modules(ANALYSE) if "." not in name}
    assert [name for name in tops if name.partition("_")[0] in ("lizard", "tree")] == []


def test_a_second_question_loads_no_more_than_it_needs(repository, tmp_path):
    """The version and the functions of its files are known: no parser and no learner is needed."""
    files = {"Door.java": "class Door { void open() { } }", "Key.java": "class Key { }"}
    repository.commit(files, "Fix #3: key")
    repository.git("remote", "add", "origin", "https://github.com/me/door.git")
    report = tmp_path / "bug.md"
    report.write_text("Door does not open")
    with Localizer.open(repository.path) as localizer:
        assert localizer.localize("Door does not open").hits[0].functions
    loaded = loaded_modules(RUN_COMMAND, "localize", str(report), "--repo", str(repository.path))
    assert loaded & (HEAVY | NOT_FOR_SECOND_QUESTION) == set()


@pytest.mark.parametrize(
    ("code", "arguments", "allowed"),
    [
        ("import tosloc", [], set()),
        ("import scripts.random_encoders", [], set()),
        ("import scripts.gpu_check", [], set()),
        (RUN_COMMAND, ["--help"], set()),
        (RUN_COMMAND, ["localize", "--help"], set()),
        pytest.param(IMPORT_LAB, [], {"tree_sitter", "scipy", "git"}, marks=pytest.mark.slow),
    ],
    ids=["import", "random_encoders", "gpu_check", "--help", "localize --help", "lab"],
)
def test_nothing_heavy_is_loaded(code, arguments, allowed):
    assert loaded_modules(code, *arguments) & (HEAVY - allowed) == set()
