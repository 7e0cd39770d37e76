"""Encoders of every kind that is in use, tiny and random: trained, saved, and asked to rerank."""

from dataclasses import dataclass

import numpy as np
import pytest

from tests.rerank.by_hand import candidates, report
from tests.rerank.encoder.tiny import KINDS, has_kind
from tosloc.core.config import Config, load_config
from tosloc.rerank.base import RerankingContext
from tosloc.rerank.encoder.encoders import Encoder
from tosloc.rerank.encoder.reranker import EncoderReranker

TEXTS = {
    "a": "class door opens key push pull",
    "b": "class window fails " * 6,
    "c": "class lock red blue",
}
POOLINGS = {"qwen2": "last", "qwen3": "last", "nomic_bert": "first", "roberta": "first"}
"""Pooling that encoders of a kind were trained with; the others' is the mean."""
REPORTS = [
    candidates("a b c", "001", of=report("1", 100, "red lock"), fixed_at=200),
    candidates("b c a", "001", of=report("2", 110, "door push"), fixed_at=210),
]
LATE_REPORTS = [candidates("c a b", "001", of=report("3", 300, "window fails"), fixed_at=400)]


@dataclass
class TwoParts:
    """A training set of three reports."""

    def candidates(self, part, depth, *, for_training=False, by_linear_score=False):
        """Yield the candidates of a part."""
        yield from REPORTS if part == "train" else LATE_REPORTS


@pytest.fixture
def context(tmp_path):
    """Return the texts of all blobs, and a file for vectors."""

    def texts(blobs):
        return [(blob, TEXTS.get(blob)) for blob in blobs]

    return RerankingContext(texts=texts, vectors=tmp_path / "vectors.sqlite")


@pytest.fixture(params=list(KINDS))
def kind(request):
    """Return the name of a kind of encoder, one after the other."""
    if not has_kind(request.param):
        pytest.skip("these transformers do not have it")
    return request.param


def untrained(encoder_folder, kind, learns):
    """Return a reranker with prefixes on both sides."""
    stage_two = {
        "code_encoder": str(encoder_folder),
        "token_pooling": POOLINGS.get(kind, "mean"),
        "query_prefix": "a ",
        "code_prefix": "b ",
        "chunks": 3,
        "chunk_tokens": 12,
        "report_tokens": 12,
        "training": {"learns": learns, "epochs": 2, "pairs": 4, "chunks_at_once": 2},
    }
    return EncoderReranker.from_config(Config.of({"stage_two": stage_two}, "two.toml"))


def scores(reranker, context):
    """Return the reranker's own scores of the late report's candidates."""
    return next(iter(reranker.encoder_scores(LATE_REPORTS, context)))


@pytest.mark.parametrize("learns", ["head", "both"])
def test_each_kind_learns_and_ranks_alike_when_loaded(
    make_encoder, kind, learns, context, tmp_path
):
    reranker = untrained(make_encoder(kind=kind), kind, learns)
    reranker.fit(TwoParts(), context, tmp_path / "work", seed=3)
    after = scores(reranker, context)
    _, first_epoch, second_epoch = reranker.training_curve
    assert np.isfinite(after).all()
    assert second_epoch["loss"] != first_epoch["loss"]
    reranker.weight = 1.0
    reranker.save(tmp_path / "saved")
    loaded = EncoderReranker.load(tmp_path / "saved")
    assert scores(loaded, context).tolist() == after.tolist()
    reranked = loaded.rerank(LATE_REPORTS[0], context)
    assert reranked.scores.tolist() == (LATE_REPORTS[0].scores + after).tolist()


def test_a_trained_kind_is_loaded_as_what_it_was(make_encoder, kind, tmp_path):
    encoder = Encoder.load(str(make_encoder(kind=kind)), "mean")
    encoder.save(tmp_path / "saved")
    copy = Encoder.load(str(tmp_path / "saved"), "mean")
    assert type(copy.model) is type(encoder.model)
    assert copy.fingerprint == encoder.fingerprint
    assert copy.max_tokens == encoder.max_tokens


def test_prefixes_change_the_scores(encoder_folder, context):
    with_prefixes = untrained(encoder_folder, "bert", "head")
    settings = with_prefixes.settings
    plain = with_prefixes.settings.model_copy(update={"query_prefix": "", "code_prefix": ""})
    before = scores(with_prefixes, context)
    for name in ("query_prefix", "code_prefix"):
        with_prefixes.settings = settings.model_copy(update={name: ""})
        assert not np.allclose(scores(with_prefixes, context), before)
    with_prefixes.settings = plain
    assert not np.allclose(scores(with_prefixes, context), before)


@pytest.mark.parametrize(
    ("name", "pooling", "prefix"),
    [
        ("coderankembed", "first", "Represent this query for searching relevant code: "),
        ("qwen3-embedding", "last", "Instruct: "),
        ("unixcoder", "mean", ""),
    ],
)
def test_shipped_configurations_read_encoders_as_they_were_trained(name, pooling, prefix):
    settings = load_config(name).stage_two
    assert settings.enabled
    assert settings.token_pooling == pooling
    assert settings.query_prefix.startswith(prefix)
