"""``tosloc localize --encoder``: a pretrained encoder orders the first files."""

import json

import pytest

from tests import toy
from tests.rerank.encoder.tiny import write_encoder
from tosloc import Localizer
from tosloc.cli import main

REPORT = "openParser loses the first byte of a socket"


@pytest.fixture
def encoder(tmp_path):
    """Return the folder of a tiny encoder."""
    return write_encoder(tmp_path / "encoder", words=toy.WORDS)


@pytest.fixture
def localize(project, tmp_path, capsys, monkeypatch):
    """Return a function that runs ``tosloc localize --json`` and returns the hits."""
    monkeypatch.setenv("TOSLOC_CACHE", str(tmp_path / "cache"))

    def run(*options):
        arguments = ["localize", REPORT, "--repo", str(project.git.path), "--json", *options]
        assert main(arguments) == 0
        return json.loads(capsys.readouterr().out)["hits"]

    return run


def test_an_encoder_scores_the_first_files_anew(localize, encoder):
    by_stage_one = localize()
    by_both = localize("--encoder", str(encoder))
    assert [hit["confidence"] for hit in by_both] != [hit["confidence"] for hit in by_stage_one]
    assert sorted(hit["path"] for hit in by_both) == sorted(hit["path"] for hit in by_stage_one)


def test_the_answer_says_which_encoder_reordered_it(project, encoder, tmp_path, monkeypatch):
    monkeypatch.setenv("TOSLOC_CACHE", str(tmp_path / "cache"))
    with Localizer.open(project.git.path, encoder=str(encoder)) as localizer:
        answer = localizer.localize(REPORT)
    notes = [note for note in answer.notes if note.startswith(str(encoder))]
    assert len(notes) == 1
    assert "with the default weight 0.2" in notes[0]
    assert notes[0] not in answer.warnings


def test_the_same_question_has_the_same_answer(localize, encoder):
    assert localize("--encoder", str(encoder)) == localize("--encoder", str(encoder))


def test_only_the_first_question_encodes_files(project, encoder, tmp_path, monkeypatch):
    monkeypatch.setenv("TOSLOC_CACHE", str(tmp_path / "cache"))
    steps = []

    def progress(what, done, total):
        steps.append(what)

    with Localizer.open(project.git.path, encoder=str(encoder)) as localizer:
        localizer.localize(REPORT, progress=progress)
        assert "encoding files" in steps
        steps.clear()
        localizer.localize(REPORT, progress=progress)
        assert "encoding files" not in steps


def test_an_unknown_encoder_is_one_sentence(project, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("TOSLOC_CACHE", str(tmp_path / "cache"))
    arguments = ["localize", REPORT, "--repo", str(project.git.path), "--encoder", "acme/none"]
    assert main(arguments) == 2
    error = capsys.readouterr().err.strip()
    assert error.startswith("tosloc: acme/none: no encoder can be loaded from this")
    assert error.count("\n") == 0
