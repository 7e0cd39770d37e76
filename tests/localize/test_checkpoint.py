"""Checkpoints: those that are shipped, those of earlier versions, and damaged ones."""

import json
import os
import shutil
from collections import Counter
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import toy
from tosloc.core.arrays import load_arrays, pack_words, save_arrays
from tosloc.core.errors import CheckpointError, ToslocError
from tosloc.core.io import escape_unprintable
from tosloc.core.reports import BugReport
from tosloc.git.repository import Repository
from tosloc.localize.answer import Weights
from tosloc.localize.localizer import Localizer
from tosloc.localize.model import Model
from tosloc.localize.question import Question
from tosloc.rank.features import registry
from tosloc.rank.model.fitting import AS_SHIPPED
from tosloc.rank.model.stage_one import StageOne
from tosloc.reports.text.shared_lines import SharedLines
from tosloc.retrieval.texts.documents import Document, Documents
from tosloc.retrieval.version_index import KnownReports
from tosloc.storage.repository import IndexedRepository

SHIPPED = sorted(
    path.parent for path in (Path(__file__).parents[2] / "checkpoints").glob("*/weights.json")
)
JSON_FILES = ("config.json", "provenance.json", "weights.json")
REPORT = BugReport(
    "r", "Cookie is lost", "The table flickers when it is painted", datetime(2026, 1, 1, tzinfo=UTC)
)


@pytest.fixture(scope="module")
def checkpoint(project, tmp_path_factory):
    """Return the folder of a checkpoint of hand-written weights, a version and known reports."""
    document = Document(
        id="1",
        at=5,
        commit=0,
        commit_id="c" * 40,
        terms=Counter({"cooki": 2}),
        paths=(0, 2),
        classes=("a.B",),
    )
    model = Model(
        StageOne(registry.NAMES, np.ones(len(registry.NAMES))),
        known_reports=KnownReports(
            Documents.collect([document]),
            ("a.java", "b.java", "c.java"),
            SharedLines(["which depot", "which shop"], np.array([1.5, 2.0])),
        ),
        weights=Weights("trained"),
        provenance={},
        configuration=toy.small_config(),
    )
    folder = tmp_path_factory.mktemp("checkpoint")
    with Repository(project.git.path) as repo:
        indexed = IndexedRepository(repo, None, (".java",), 1)
        model.with_version(indexed.index_version("HEAD")).save(folder)
        indexed.close()
    return folder


@pytest.fixture
def copy(checkpoint, tmp_path):
    """Return the folder of a copy of the checkpoint, which a test may change."""
    return Path(shutil.copytree(checkpoint, tmp_path / "copy"))


def check_refused(folder, words):
    """Check that loading a checkpoint fails with one line that matches these words."""
    with pytest.raises(CheckpointError, match=rf"\A[^\n]*{words}[^\n]*\Z"):
        Localizer.load(folder)


def test_shipped_checkpoints_are_small():
    paths = [path for folder in SHIPPED for path in folder.rglob("*")]
    assert sum(path.stat().st_size for path in paths) < 5_000_000


def test_a_shipped_checkpoint_answers_from_its_version():
    models = [Model.load(folder) for folder in SHIPPED]
    model = next(model for model in models if model.version is not None)
    answer = Localizer(model).rank(Question(REPORT))
    assert len(answer.ranking) == len(model.version.snapshot)
    assert len(toy.top_hits(answer, 3)) == 3


def test_saving_leaves_nothing_of_an_earlier_checkpoint(copy):
    model = Model.load(copy)
    replace(model, provenance={"again": True}, known_reports=None, version=None).save(copy)
    again = Model.load(copy)
    assert again.provenance == {"again": True}
    assert again.known_reports is None
    assert again.version is None


@pytest.mark.parametrize(
    ("file", "name", "change", "words"),
    [
        ("version", "text.postings.rows", lambda a: a + 10**6, "rows are out of bounds"),
        ("version", "text.postings.starts", lambda a: a[::-1].copy(), "starts do not go from 0"),
        ("version", "text.terms", lambda a: a[:-9], "starts has an unexpected type or length"),
        (
            "version",
            "commit",
            lambda a: pack_words(["--upload-pack=x"]),
            "the commit has no name that git gives",
        ),
        ("version", "rows", lambda a: a[:0], "files of the version are counted wrongly"),
        (
            "version",
            "text.chunk_starts",
            lambda a: a * 0,
            "chunks of the version are counted wrongly",
        ),
        ("version", "committed_at", lambda a: a - 10**15, "committed_at are out of bounds"),
        (
            "version",
            "text.literal_rows",
            lambda a: np.zeros(3, a.dtype),
            "rows has an unexpected type",
        ),
        (
            "version",
            "text.literal_pairs",
            lambda a: np.array([2, 1], a.dtype),
            "literals are in no order",
        ),
        ("reports", "reports.times", lambda a: a - 10**15, "times are out of bounds"),
        ("reports", "shared_lines.times", lambda a: a * np.inf, "times are out of bounds"),
        ("reports", "shared_lines.times", lambda a: a[:1], "times has an unexpected type"),
        ("version", "shared_lines.times", lambda a: a[::-1].copy(), "lines are in no order"),
    ],
    ids=[
        "rows of postings",
        "starts of postings",
        "terms",
        "commit",
        "rows of files",
        "starts of chunks",
        "time of the commit",
        "rows of literals",
        "order of literals",
        "times of reports",
        "times of shared lines",
        "number of shared lines",
        "order of shared lines",
    ],
)
def test_hostile_arrays_are_refused(copy, file, name, change, words):
    path = copy / f"{file}.npz"
    arrays = load_arrays(path)
    save_arrays(path, arrays | {name: change(arrays[name])})
    check_refused(copy, rf"{file}\.npz is damaged or was written by another version .*{words}")


def test_an_array_of_other_things_than_numbers_is_refused(copy):
    np.savez(copy / "reports.npz", words=np.array(["text"]))
    check_refused(copy, r"reports\.npz is damaged \(it contains values that are not numbers\)")


@pytest.mark.parametrize(
    "ranker",
    [
        {"features": ["bm25f"], "weight": -1.0},
        {"features": ["path"], "weight": 1.0},
        {"features": [], "weight": "1"},
    ],
    ids=["negative weight", "unknown feature", "weight as text"],
)
def test_a_ranker_of_unknown_features_or_weight_is_refused(copy, ranker):
    (copy / "weights.json").write_text(json.dumps({"weights": {"bm25f": 1.0}, "ranker": ranker}))
    save_arrays(copy / "ranker.npz", {})
    check_refused(copy, "its weight or its features are invalid")


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("weights.json", "{}", "one number for each feature"),
        (
            "weights.json",
            '{"weights": {"magic": 1.0}}',
            "the feature 'magic', which this version does not have",
        ),
        (
            "weights.json",
            '{"weights": {"bm25f": 1}, "stage_two": "magic"}',
            "names the reranker",
        ),
        ("reports.npz", "", "damaged"),
        ("provenance.json", "[]", "not a JSON object"),
        ("config.json", '{"a": ' * 100_000, r"cannot be read \(nested too deeply\)"),
    ],
    ids=[
        "one number for each feature",
        "unknown feature",
        "unknown reranker",
        "empty",
        "list",
        "nested",
    ],
)
def test_other_content_is_refused(copy, name, content, words):
    (copy / name).write_text(content)
    check_refused(copy, f"{name}.*{words}")


@pytest.mark.parametrize(
    "weight",
    ["1e308", "NaN", "1" * 5_000, "[[1]]", "true"],
    ids=["too large", "NaN", "too long", "list", "boolean"],
)
def test_a_weight_that_is_no_usable_number_is_refused(copy, weight):
    (copy / "weights.json").write_text(f'{{"weights": {{"bm25f": {weight}}}}}')
    check_refused(copy, "weights.json")


@pytest.mark.parametrize("temperature", ["0", '"1"', "true"], ids=["zero", "text", "boolean"])
def test_a_temperature_that_is_no_positive_number_is_refused(copy, temperature):
    content = f'{{"weights": {{"bm25f": 1}}, "temperature": {temperature}}}'
    (copy / "weights.json").write_text(content)
    check_refused(copy, "weights.json.*a temperature that is not a number")


@pytest.mark.parametrize("name", JSON_FILES)
def test_a_huge_file_is_refused(copy, name):
    os.truncate(copy / name, (1 << 26) + 1)
    check_refused(copy, f"{name}.*more than 67,108,864 bytes")


@pytest.mark.parametrize(
    ("training", "words"),
    [
        ("1", "training"),
        ("{}", "training.kind: Field required"),
        ('{"kind": "borrowed"}', "training.kind: Input should be 'shipped' or 'trained'"),
        ('{"kind": "trained", "date": "yesterday"}', "training.date: "),
        ('{"kind": "trained", "reports": -1}', "training.reports must not be negative"),
        ('{"kind": "trained", "weak": "some"}', "training.weak: "),
    ],
    ids=["number", "no kind", "kind", "date", "reports", "weak"],
)
def test_a_damaged_record_of_the_training_is_refused(copy, training, words):
    (copy / "weights.json").write_text(f'{{"weights": {{"bm25f": 1}}, "training": {training}}}')
    check_refused(copy, f"weights.json: {words}.*train again")


@pytest.mark.parametrize(
    ("provenance", "choice", "weights"),
    [
        ({}, None, Weights("trained")),
        ({"splits": {"train": 844}}, {"taken": "own weights"}, Weights("trained", reports=844)),
        ({"splits": {"train": 12}}, {"taken": AS_SHIPPED}, Weights("shipped", reports=12)),
    ],
    ids=["nothing", "own weights", "shipped weights"],
)
def test_a_checkpoint_of_an_earlier_version_is_understood(copy, provenance, choice, weights):
    record = json.loads((copy / "weights.json").read_text())
    del record["training"]
    (copy / "weights.json").write_text(json.dumps(record | {"choice": choice}))
    (copy / "provenance.json").write_text(json.dumps(provenance))
    assert Model.load(copy).weights == weights


def test_saving_keeps_the_lines_that_reports_share(copy):
    shared_lines = Model.load(copy).known_reports.shared_lines
    assert shared_lines.keys == ["which depot", "which shop"]
    assert shared_lines.times.tolist() == [1.5, 2.0]


def test_a_version_in_a_checkpoint_has_the_lines_that_reports_share(copy):
    history = Model.load(copy).version.history
    assert history.as_of(2.0).shared_lines == {"which depot"}


@pytest.mark.parametrize("file", ["reports", "version"])
def test_a_checkpoint_of_an_earlier_version_has_no_shared_lines(copy, file):
    path = copy / f"{file}.npz"
    arrays = load_arrays(path)
    del arrays["shared_lines.keys"]
    del arrays["shared_lines.times"]
    save_arrays(path, arrays)
    model = Model.load(copy)
    history = model.known_reports if file == "reports" else model.version.history
    assert not len(history.shared_lines.keys)


def test_saving_keeps_the_description_of_the_weights(copy):
    weights = Weights("trained", date(2026, 11, 26), 269, weak=True)
    replace(Model.load(copy), weights=weights).save(copy)
    assert Model.load(copy).weights == weights


def test_a_folder_without_a_checkpoint_is_refused(tmp_path):
    check_refused(tmp_path, "no checkpoint")


DAMAGES = {
    "turned": lambda part: bytes(byte ^ 85 for byte in part),
    "blanked": lambda part: bytes(len(part)),
    "doubled": lambda part: part * 2,
    "lost": lambda part: b"",
    "a number": lambda part: b"9" * 20,
}
"""Name of a damage -> function from a part of a file to what replaces it."""


def find_refusal(folder):
    """Return the sentence of the error if a checkpoint does not answer, else an empty text."""
    try:
        toy.top_hits(Localizer.load(folder).rank(Question(REPORT)), 5)
    except ToslocError as error:
        return str(error)
    return ""


@given(
    st.sampled_from((*JSON_FILES, "version.npz", "reports.npz")),
    st.floats(0, 0.999),
    st.sampled_from((1, 4, 64, 512)),
    st.sampled_from(sorted(DAMAGES)),
    st.booleans(),
)
def test_no_damage_of_any_file_is_worse_than_a_sentence(
    checkpoint, name, position, length, damage, cut
):
    """A part of a file is damaged at ``position``, a share of its size; ``cut`` loses the rest."""
    data = (checkpoint / name).read_bytes()
    start = int(position * len(data))
    end = start + length
    rest = b"" if cut else data[end:]
    (checkpoint / name).write_bytes(data[:start] + DAMAGES[damage](data[start:end]) + rest)
    try:
        sentence = find_refusal(checkpoint)
    finally:
        (checkpoint / name).write_bytes(data)
    assert len(escape_unprintable(sentence).splitlines()) <= 1
