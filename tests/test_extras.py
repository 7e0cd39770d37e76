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
from tosloc.errors import MissingExtra
from tosloc.localizer import Localizer
from tosloc.rerank.base import reranker_class


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


def test_the_encoder_reranker_needs_its_extra(without):
    without("transformers", "accelerate")
    with pytest.raises(MissingExtra, match=r"needs transformers, accelerate; run: pip install 'tosloc\[encoder\]'"):
        reranker_class("encoder")


def test_without_torch_stage_one_is_learned_alone(without, tmp_path, capsys):
    project = toy.grow(tmp_path / "toy", bugs=12, themes=6)
    settings = tmp_path / "terms.toml"
    settings.write_text(toy.SETTINGS + '[stage_two]\nreranker = "terms"\n', encoding="utf-8")
    given = ["--repo", str(project.git.path), "--reports", str(project.reports()), "--store", str(project.store)]
    without("torch", "transformers", "accelerate", "matplotlib", "jinja2")
    encoder = tmp_path / "encoder.toml"
    encoder.write_text(toy.SETTINGS + '[stage_two]\ncode_encoder = "some/encoder"\n', encoding="utf-8")
    for name, lacking in (
        (settings, "learning term vectors needs torch"),
        (encoder, "the encoder reranker needs torch"),
    ):
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


@pytest.mark.parametrize(
    "command",
    [
        ["evaluate", "nowhere", "--html", "page.html"],
        ["evaluate", "nowhere", "--figures", "figures"],
        ["lab", "calibration", "nowhere", "--figure", "figure"],
        ["lab", "truncation", "nowhere", "--figure", "figure"],
    ],
)
def test_what_draws_says_so_before_it_begins(without, monkeypatch, tmp_path, capsys, command):
    monkeypatch.chdir(tmp_path)
    without("matplotlib")
    assert main(command) == 2
    sentence = "tosloc: a figure or page needs matplotlib; run: pip install 'tosloc[report]'\n"
    assert capsys.readouterr().err == sentence
    assert list(tmp_path.iterdir()) == []


def test_a_page_of_answers_says_what_it_needs_before_it_begins(without, monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bug.md").write_text("It fails\n", encoding="utf-8")
    without("jinja2")
    assert main(["localize", "bug.md", "--html", "page.html"]) == 2
    sentence = "tosloc: a page of answers needs jinja2; run: pip install 'tosloc[serve]'\n"
    assert capsys.readouterr().err == sentence
    assert [path.name for path in tmp_path.iterdir()] == ["bug.md"]


def test_the_server_says_what_it_needs(without, tmp_path, capsys):
    without("starlette", "uvicorn")
    assert main(["serve", "--repo", str(tmp_path)]) == 2
    sentence = "tosloc: tosloc serve needs starlette, uvicorn; run: pip install 'tosloc[serve]'\n"
    assert capsys.readouterr().err == sentence


@pytest.mark.parametrize("command", ["baselines", "reproduce"])
def test_the_laboratory_says_what_it_needs(without, monkeypatch, tmp_path, capsys, command):
    monkeypatch.chdir(tmp_path)
    without("torch", "sklearn")
    given = {
        "baselines": ["--repo", ".", "--reports", "x", "--out", "out"],
        "reproduce": ["table-2", "--out", "out", "--projects", "x"],
    }
    assert main(["lab", command, *given[command]]) == 2
    assert "needs torch, sklearn; run: pip install 'tosloc[lab]'" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_many_projects_need_no_extra():
    """Nor does BM25 need more than its library: heavy packages are not loaded."""
    program = "import sys, tosloc.lab.many_projects, tosloc.lab.bm25_runs, tosloc.lab.project_means, tosloc.lab.pool\n"
    program += "print(sorted({'torch', 'sklearn', 'matplotlib', 'transformers'} & sys.modules.keys()))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_mining_github_needs_its_client(without, monkeypatch, repository, capsys):
    without("githubkit")
    monkeypatch.setenv("GITHUB_TOKEN", "secret")
    assert main(["mine", "--github", "ann/one", "--repo", str(repository.path)]) == 2
    assert "mining GitHub needs githubkit; run: pip install 'tosloc[github]'" in capsys.readouterr().err


def test_bm25_over_whole_files_needs_its_library(without, tmp_path, capsys):
    without("bm25s")
    given = ["--repo", str(tmp_path), "--reports", "x", "--out", str(tmp_path / "out")]
    assert main(["lab", "bm25", *given]) == 2
    assert "BM25 over whole files needs bm25s; run: pip install 'tosloc[lab]'" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_the_server_for_agents_needs_its_extra(without, capsys):
    without("mcp")
    assert main(["mcp"]) == 2
    assert capsys.readouterr().err == "tosloc: tosloc mcp needs mcp; run: pip install 'tosloc[mcp]'\n"
