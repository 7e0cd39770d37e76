"""What an extra brings is missed in one sentence, and only by what needs it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from types import ModuleType

import pytest

import tosloc
from tests import toy
from tosloc.cli import main
from tosloc.localizer import Localizer


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Function (*packages): as if they were not installed, and nothing that needs them imported yet."""

    def hide(*packages: str) -> None:
        monkeypatch.setattr("tosloc.errors.find_spec", lambda name: None if name in packages else find_spec(name))

    def taken() -> dict[str, ModuleType]:
        names = [name for name in sys.modules if name.startswith(("tosloc.lab", "tosloc.plots", "tosloc.web"))]
        return {name: sys.modules.pop(name) for name in names}

    for folder in ("lab", "plots", "web"):  # what the package itself says of them, too
        monkeypatch.setattr(tosloc, folder, None, raising=False)
    before = taken()
    yield hide
    taken()
    sys.modules.update(before)


def test_without_torch_stage_one_is_learned_alone(without, tmp_path, capsys):
    project = toy.grow(tmp_path / "toy", bugs=12, themes=6)
    settings = tmp_path / "terms.toml"
    settings.write_text(toy.SETTINGS + '[stage_two]\nreranker = "terms"\n', encoding="utf-8")
    given = ["--repo", str(project.git.path), "--reports", str(project.reports()), "--store", str(project.store)]
    without("torch", "transformers", "accelerate", "matplotlib", "jinja2")
    encoder = tmp_path / "encoder.toml"
    encoder.write_text(toy.SETTINGS + '[stage_two]\ncode_encoder = "some/encoder"\n', encoding="utf-8")
    encoders = "the encoder reranker needs torch, transformers, accelerate"
    for name, lacking in ((settings, "learning term vectors needs torch"), (encoder, encoders)):
        one = tmp_path / name.stem
        assert main(["train", str(name), *given, "--out", str(one), "--keep-features"]) == 0
        said = capsys.readouterr().err
        assert f"tosloc: {lacking}" in said
        assert said.count("run: pip install 'tosloc[encoder]'; without it stage one is learned alone\n") == 1
        assert Localizer.load(one).reranker_ is None
        assert not (one / "stage_one").exists()
    # but who asks for the second stage alone gets it or an error
    assert main(["train", str(settings), *given, "--stage-one", str(one), "--out", str(tmp_path / "two")]) == 2
    assert "learning term vectors needs torch; run: pip install 'tosloc[encoder]'\n" in capsys.readouterr().err
    assert main(["evaluate", str(one), "--html", str(tmp_path / "page.html")]) == 2
    assert "a figure or page needs matplotlib, jinja2; run: pip install 'tosloc[report]'" in capsys.readouterr().err
    assert not (tmp_path / "page.html").exists()


LABELLED = ["--repo", ".", "--reports", "x", "--out", "out"]
TABLE = ["--out", "out", "--projects", "x"]
FIGURE = "a figure or page", "report", ["matplotlib"]


@pytest.mark.parametrize(
    ("part", "extra", "packages", "command"),
    [
        (*FIGURE, ["evaluate", "nowhere", "--html", "page.html"]),
        (*FIGURE, ["evaluate", "nowhere", "--figures", "figures"]),
        (*FIGURE, ["lab", "calibration", "nowhere", "--figure", "figure"]),
        (*FIGURE, ["lab", "truncation", "nowhere", "--figure", "figure"]),
        ("a page of answers", "serve", ["jinja2"], ["localize", "bug.md", "--html", "page.html"]),
        ("tosloc serve", "serve", ["starlette", "uvicorn"], ["serve", "--repo", "."]),
        ("a published technique", "lab", ["torch", "sklearn"], ["lab", "baselines", *LABELLED]),
        ("a table of the paper", "lab", ["torch", "sklearn"], ["lab", "reproduce", "table-2", *TABLE]),
        ("mining GitHub", "github", ["githubkit"], ["mine", "--github", "ann/one", "--repo", "."]),
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
    sentence = f"tosloc: {part} needs {', '.join(packages)}; run: pip install 'tosloc[{extra}]'\n"
    assert capsys.readouterr().err == sentence
    assert {path.name for path in repository.path.iterdir()} == {".git", "bug.md"}


def test_many_projects_need_no_extra():
    """Nor does BM25 need more than its library: heavy packages are not loaded."""
    program = "import sys, tosloc.lab.many_projects, tosloc.lab.bm25_runs, tosloc.lab.project_means, tosloc.lab.pool\n"
    program += "print(sorted({'torch', 'sklearn', 'matplotlib', 'transformers'} & sys.modules.keys()))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
