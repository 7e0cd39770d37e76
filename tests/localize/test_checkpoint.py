"""The checkpoints that are shipped, made by earlier versions and still understood; and those that are damaged."""

import json
import os
import shutil
from collections import Counter
from contextlib import suppress
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
from tosloc.core.records import BugReport
from tosloc.git.repository import Repository
from tosloc.localize.answer import Weights
from tosloc.localize.localizer import Localizer
from tosloc.localize.model import Model
from tosloc.rank import features
from tosloc.rank.fitting import AS_SHIPPED
from tosloc.rank.stage_one import StageOne
from tosloc.retrieval.documents import Document, Documents
from tosloc.storage.repository import IndexedRepository

SHIPPED = sorted(
    path.parent for path in (Path(__file__).parents[2] / "checkpoints").glob("*/weights.json")
)
RECORDS = ("config.json", "provenance.json", "weights.json")
REPORT = BugReport(
    "r", "Cookie is lost", "The table flickers when it is painted", datetime(2026, 1, 1, tzinfo=UTC)
)


@pytest.fixture(scope="module")
def made(project, tmp_path_factory):
    """A checkpoint of hand-written weights with a version and known reports."""
    document = Document("1", 5, 0, "c" * 40, Counter({"cooki": 2}), (0, 2), ("a.B",))
    model = Model(
        StageOne(features.NAMES, np.ones(len(features.NAMES))),
        known_reports=(Documents.collect([document]), ("a.java", "b.java", "c.java")),
        weights=Weights("trained"),
        provenance={},
        configuration=toy.small_config(),
    )
    folder = tmp_path_factory.mktemp("made")
    with Repository(project.git.path) as repo:
        opened = IndexedRepository(repo, None, (".java",), 1)
        model.with_version(opened.prepare("HEAD")).save(folder)
        opened.close()
    return folder


@pytest.fixture
def copy(made, tmp_path):
    """A copy to be damaged."""
    return Path(shutil.copytree(made, tmp_path / "copy"))


def refused(folder, words):
    with pytest.raises(CheckpointError, match=rf"\A[^\n]*{words}[^\n]*\Z"):
        Localizer.load(folder)


def test_what_is_shipped_answers_from_its_version_and_saving_leaves_nothing_of_an_earlier_one(copy):
    assert sum(path.stat().st_size for folder in SHIPPED for path in folder.rglob("*")) < 5_000_000
    shipped = next(model for model in map(Model.load, SHIPPED) if model.version is not None)
    answer = Localizer(shipped).localization(REPORT)
    assert len(answer.ranking) == len(shipped.version.snapshot)
    assert len(toy.top_hits(answer, 3)) == 3
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
        ("version", "text.terms", lambda a: a[:-9], "starts is of another type or length"),
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
            "files of the version are counted wrongly",
        ),
        ("version", "committed_at", lambda a: a - 10**15, "committed_at are out of bounds"),
        ("reports", "reports.times", lambda a: a - 10**15, "times are out of bounds"),
    ],
)
def test_hostile_arrays_are_one_sentence(copy, file, name, change, words):
    path = copy / f"{file}.npz"
    arrays = load_arrays(path)
    save_arrays(path, arrays | {name: change(arrays[name])})
    refused(copy, rf"{file}\.npz is damaged or of another version .*{words}")


def test_an_array_of_other_things_than_numbers_is_refused(copy):
    np.savez(copy / "reports.npz", words=np.array(["text"]))
    refused(copy, r"reports\.npz is damaged \(it holds other things than numbers\)")


@pytest.mark.parametrize(
    "ranker",
    [
        {"features": ["bm25f"], "weight": -1.0},
        {"features": ["path"], "weight": 1.0},
        {"features": [], "weight": "1"},
    ],
)
def test_a_ranker_of_unknown_features_or_weight_is_refused(copy, ranker):
    (copy / "weights.json").write_text(json.dumps({"weights": {"bm25f": 1.0}, "ranker": ranker}))
    save_arrays(copy / "ranker.npz", {})
    refused(copy, "its weight or features are none")


WEIGHTS = '{"weights": {"bm25f": %s}}'
HOT = '{"weights": {"bm25f": 1}, "temperature": %s}'


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("weights.json", "{}", "no weights"),
        ("weights.json", '{"weights": {"magic": 1.0}}', "does not know"),
        *(
            ("weights.json", WEIGHTS % one, "")
            for one in ("1e308", "NaN", "1" * 5_000, "[[1]]", "true")
        ),
        *(
            ("weights.json", HOT % one, "a temperature that is no number")
            for one in ("0", '"1"', "true")
        ),
        (
            "weights.json",
            '{"weights": {"bm25f": 1}, "stage_two": "magic"}',
            "names a reranker that this version does",
        ),
        ("reports.npz", "", "damaged"),
        ("provenance.json", "[]", "not a JSON object"),
        ("config.json", '{"a": ' * 100_000, r"cannot be read \(nested too deeply\)"),
        *((name, None, "more than 67,108,864 bytes") for name in RECORDS),
    ],
)
def test_other_content_is_one_sentence(copy, name, content, words):
    if content is None:
        os.truncate(copy / name, (1 << 26) + 1)
    else:
        (copy / name).write_text(content)
    refused(copy, f"{name}.*{words}")


@pytest.mark.parametrize(
    ("training", "words"),
    [
        ("1", "training"),
        ("{}", "training.kind: Field required"),
        ('{"kind": "borrowed"}', "training.kind: Input should be 'shipped' or 'trained'"),
        ('{"kind": "trained", "date": "yesterday"}', "training.date: "),
        ('{"kind": "trained", "reports": -1}', "training.reports: is negative"),
        ('{"kind": "trained", "weak": "some"}', "training.weak: "),
    ],
)
def test_a_damaged_record_of_the_training_is_one_sentence(copy, training, words):
    (copy / "weights.json").write_text(f'{{"weights": {{"bm25f": 1}}, "training": {training}}}')
    refused(copy, f"weights.json: {words}.*train again")


@pytest.mark.parametrize(
    ("provenance", "choice", "weights"),
    [
        ({}, None, Weights("trained")),
        ({"splits": {"train": 844}}, {"taken": "own weights"}, Weights("trained", reports=844)),
        ({"splits": {"train": 12}}, {"taken": AS_SHIPPED}, Weights("shipped", reports=12)),
    ],
)
def test_a_checkpoint_of_an_earlier_version_says_what_it_knows(copy, provenance, choice, weights):
    record = json.loads((copy / "weights.json").read_text())
    del record["training"]
    (copy / "weights.json").write_text(json.dumps(record | {"choice": choice}))
    (copy / "provenance.json").write_text(json.dumps(provenance))
    assert Model.load(copy).weights == weights


def test_saving_keeps_what_is_said_about_the_weights(copy):
    weights = Weights("trained", date(2026, 11, 26), 269, weak=True)
    replace(Model.load(copy), weights=weights).save(copy)
    assert Model.load(copy).weights == weights


def test_no_checkpoint(tmp_path):
    refused(tmp_path, "no checkpoint")


DAMAGES = {
    "turned": lambda part: bytes(byte ^ 85 for byte in part),
    "blanked": lambda part: bytes(len(part)),
    "doubled": lambda part: part * 2,
    "lost": lambda part: b"",
    "a number": lambda part: b"9" * 20,
}


@given(
    st.sampled_from((*RECORDS, "version.npz", "reports.npz")),
    st.floats(0, 0.999),
    st.sampled_from((1, 4, 64, 512)),
    st.sampled_from(sorted(DAMAGES)),
    st.booleans(),
)
def test_no_damage_of_any_file_is_more_than_a_sentence(made, name, place, length, how, cut):
    """A stretch of a file is damaged, or its end is cut off, too."""
    data = (made / name).read_bytes()
    start = int(place * len(data))
    part, rest = data[start : start + length], data[start + length :]
    (made / name).write_bytes(data[:start] + DAMAGES[how](part) + (b"" if cut else rest))
    try:
        with suppress(ToslocError):
            toy.top_hits(Localizer.load(made).localization(REPORT), 5)
    finally:
        (made / name).write_bytes(data)
