"""``--rerank llm``: the language model of the user's settings, asked by commands."""

import json

import pytest

from tests.rerank.llm.model_server import Server, completion
from tosloc.cli import main

pytest.importorskip("httpx2")

REPORT = "openParser loses the first byte of a socket"


@pytest.fixture
def server(tmp_path, monkeypatch):
    """Return a local server that the user's settings name."""
    running = Server()
    settings = tmp_path / "llm.toml"
    settings.write_text(f'url = "{running.stub.url}/v1"\nmodel = "qwen"\n', encoding="utf-8")
    monkeypatch.setenv("TOSLOC_LLM", str(settings))
    monkeypatch.setenv("TOSLOC_CACHE", str(tmp_path / "cache"))
    yield running
    running.stub.close()


@pytest.fixture
def localize(project, capsys):
    """Return a function that runs ``tosloc localize`` and returns its output."""

    def run(*options):
        assert main(["localize", REPORT, "--repo", str(project.git.path), *options]) == 0
        return capsys.readouterr()

    return run


def hit_paths(text):
    return [hit["path"] for hit in json.loads(text)["hits"]]


def test_model_orders_the_answer(server, localize):
    own_order = hit_paths(localize("--json").out)
    server.answer = lambda body: completion('{"order": [2]}')
    assert hit_paths(localize("--json", "--rerank", "llm").out)[0] == own_order[1]


def test_note_says_first_where_the_code_goes(server, localize):
    lines = localize("--rerank", "llm").err.splitlines()
    host = server.stub.url.removeprefix("http://")
    assert lines[0].startswith("tosloc: sending the report, the paths of ")
    assert lines[0].endswith(f"to the language model qwen at {host}")


def test_nothing_is_sent_without_the_option(server, localize):
    localize()
    assert server.requests == []


def test_dry_run_prints_the_prompt_and_sends_nothing(server, localize):
    printed = localize("--rerank", "llm", "--dry-run").out
    assert server.requests == []
    localize("--rerank", "llm")
    [(_, _, body)] = server.requests
    for message in body["messages"]:
        assert f"[{message['role']}]\n{message['content']}\n" in printed


def test_settings_of_a_repository_cannot_ask_a_model(server, repository, capsys):
    repository.commit({"a.py": "def parser(): pass\n", ".tosloc.toml": 'rerank = "llm"\n'})
    assert main(["localize", REPORT, "--repo", str(repository.path)]) == 2
    assert "rerank" in capsys.readouterr().err
    assert server.requests == []


def test_dry_run_without_a_model_is_one_sentence(project, capsys):
    assert main(["localize", REPORT, "--repo", str(project.git.path), "--dry-run"]) == 2
    sentence = "tosloc: --dry-run prints the prompt for a language model; add --rerank llm\n"
    assert capsys.readouterr().err == sentence


def test_dry_run_needs_neither_settings_nor_the_client(project, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("TOSLOC_LLM", str(tmp_path / "none.toml"))
    monkeypatch.setattr("tosloc.core.errors.find_spec", lambda name: None)
    repo = ["--repo", str(project.git.path)]
    assert main(["localize", REPORT, *repo, "--rerank", "llm", "--dry-run"]) == 0
    assert capsys.readouterr().out.startswith("[system]\n")


def test_missing_settings_are_one_sentence(project, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("TOSLOC_LLM", str(tmp_path / "none.toml"))
    arguments = ["localize", REPORT, "--repo", str(project.git.path), "--rerank", "llm"]
    assert main(arguments) == 2
    assert "none.toml: no such file, so no language model is set up" in capsys.readouterr().err


def test_rank_measures_the_model_with_its_cost(server, project, tmp_path, capsys):
    out = tmp_path / "ranked"
    labelled = ["--repo", str(project.git.path), "--reports", str(project.write_reports())]
    command = ["rank", *labelled, "--out", str(out), "--split", "test", "--rerank", "llm"]
    assert main(command) == 0
    asked = len(server.requests)
    notes = capsys.readouterr().err
    assert f"tosloc: {asked} language model questions: {100 * asked:,} tokens in" in notes
    provenance = json.loads((out / "provenance.json").read_text())
    assert provenance["language model"]["questions"] == asked
    assert main(["evaluate", str(out), "--split", "test"]) == 0
    assert asked > 0


def test_second_ranking_asks_no_question_again(server, project, tmp_path, capsys):
    labelled = ["--repo", str(project.git.path), "--reports", str(project.write_reports())]
    options = ["--split", "test", "--rerank", "llm"]
    assert main(["rank", *labelled, "--out", str(tmp_path / "first"), *options]) == 0
    asked = len(server.requests)
    assert main(["rank", *labelled, "--out", str(tmp_path / "second"), *options]) == 0
    assert len(server.requests) == asked
