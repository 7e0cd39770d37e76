"""Pretrained encoders that rerank without training."""

import json

import numpy as np
import pytest
from transformers.utils import logging as transformers_logging

from tests.rerank.by_hand import candidates, report
from tosloc.core.config import Config
from tosloc.core.errors import CheckpointError, ToslocError
from tosloc.rerank.base import RerankingContext
from tosloc.rerank.encoder.encoders import Encoder
from tosloc.rerank.encoder.pretrained import (
    UNTRAINED_WEIGHT,
    pretrained_reranker,
    pretrained_settings,
)
from tosloc.rerank.encoder.reranker import EncoderReranker

TEXTS = {"a": "door opens " * 20, "b": "window fails", "c": ""}
QUESTION = candidates("a b c", of=report("1", 100, "window fails"))


@pytest.fixture
def context(tmp_path):
    """Return the texts of all blobs, and a file for vectors."""

    def texts(blobs):
        return [(blob, TEXTS.get(blob)) for blob in blobs]

    return RerankingContext(texts=texts, vectors=tmp_path / "vectors.sqlite")


def cosine(left, right):
    return left @ right / np.linalg.norm(left) / np.linalg.norm(right)


def test_scores_are_cosines_of_the_file_and_of_its_nearest_chunk(encoder_folder, context):
    encoder = Encoder.load(str(encoder_folder), "mean")
    vectors = []
    for text in ("window fails", TEXTS["a"]):
        [pieces] = encoder.pieces([text], 34, 10)
        vectors.append(encoder.vectors(pieces).astype(np.float64))
    [query], file = vectors
    reranked = pretrained_reranker(str(encoder_folder)).rerank(QUESTION, context)
    nearest = max(cosine(query, chunk) for chunk in file)
    expected = 5 * (cosine(query, file.mean(0)) + nearest)
    assert reranked.scores[0] == pytest.approx(UNTRAINED_WEIGHT * expected, abs=1e-5)


def test_equal_texts_are_nearest(encoder_folder, context):
    reranked = pretrained_reranker(str(encoder_folder)).rerank(QUESTION, context)
    assert (reranked.scores - QUESTION.scores).argmax() == 1
    assert reranked.scores[1] == pytest.approx(-1 + UNTRAINED_WEIGHT * 10, abs=1e-3)


def test_a_file_without_text_keeps_its_score(encoder_folder, context):
    reranked = pretrained_reranker(str(encoder_folder)).rerank(QUESTION, context)
    assert reranked.scores[2] == QUESTION.scores[2]


def test_a_second_question_encodes_no_file_again(encoder_folder, context, monkeypatch):
    first = pretrained_reranker(str(encoder_folder)).rerank(QUESTION, context)
    encoded = []
    encode = Encoder.vectors

    def count(encoder, pieces):
        encoded.append(len(pieces))
        return encode(encoder, pieces)

    monkeypatch.setattr(Encoder, "vectors", count)
    again = pretrained_reranker(str(encoder_folder)).rerank(QUESTION, context)
    assert encoded == [1]  # the report alone
    assert again.scores.tolist() == first.scores.tolist()


def test_the_note_says_that_the_weight_is_a_default(encoder_folder):
    assert pretrained_reranker(str(encoder_folder)).note == (
        f"{encoder_folder} reordered the first 50 files, with the default weight "
        f"{UNTRAINED_WEIGHT:g}, which no report of this repository has chosen"
    )


class OneValidationReport:
    """A training set that has nothing to learn from."""

    def candidates(self, part, depth, *, for_training=False, by_linear_score=False):
        """Yield the candidates of a part."""
        if part == "validation":
            yield candidates("a b c", "010", of=report("1", 100, "window fails"))


def test_without_epochs_validation_chooses_the_weight(encoder_folder, context, tmp_path):
    stage_two: dict[str, object] = {
        "code_encoder": str(encoder_folder),
        "training": {"epochs": 0},
        "chunk_tokens": 34,
        "report_tokens": 34,
    }
    reranker = EncoderReranker.from_config(Config.of({"stage_two": stage_two}, "two.toml"))
    reranker.fit(OneValidationReport(), context, tmp_path / "work", seed=3)
    untrained = pretrained_reranker(str(encoder_folder))
    untrained.weight = reranker.weight
    assert reranker.weight > 0
    scores = untrained.rerank(QUESTION, context).scores
    assert reranker.rerank(QUESTION, context).scores.tolist() == scores.tolist()


def test_loading_and_saving_show_no_bars(encoder_folder, tmp_path, capfd):
    transformers_logging.enable_progress_bar()
    Encoder.load(str(encoder_folder), "mean").save(tmp_path / "saved")
    assert capfd.readouterr().err == ""
    assert transformers_logging.is_progress_bar_enabled()


# How an encoder is read


def write_settings(folder, pooling=None, prompts=None):
    """Write what sentence-transformers write beside an encoder."""
    if pooling is not None:
        (folder / "1_Pooling").mkdir()
        (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling))
    if prompts is not None:
        text = json.dumps({"prompts": prompts})
        (folder / "config_sentence_transformers.json").write_text(text)


def test_without_other_settings_pooling_is_the_mean(encoder_folder):
    settings = pretrained_settings(str(encoder_folder))
    assert settings.token_pooling == "mean"
    assert settings.query_prefix == ""
    assert settings.code_prefix == ""


@pytest.mark.parametrize(
    ("key", "pooling"),
    [
        ("pooling_mode_mean_tokens", "mean"),
        ("pooling_mode_cls_token", "first"),
        ("pooling_mode_lasttoken", "last"),
    ],
)
def test_pooling_is_that_of_sentence_transformers(make_encoder, key, pooling):
    folder = make_encoder()
    other_keys = dict.fromkeys(("pooling_mode_max_tokens", "word_embedding_dimension"), False)
    write_settings(folder, other_keys | {key: True})
    assert pretrained_settings(str(folder)).token_pooling == pooling


def test_prefixes_are_the_prompts_of_sentence_transformers(make_encoder):
    folder = make_encoder()
    write_settings(folder, prompts={"query": "red ", "document": "blue "})
    settings = pretrained_settings(str(folder))
    assert settings.query_prefix == "red "
    assert settings.code_prefix == "blue "


def test_another_pooling_is_refused(make_encoder):
    folder = make_encoder()
    write_settings(folder, {"pooling_mode_max_tokens": True})
    with pytest.raises(CheckpointError, match="its pooling is not supported"):
        pretrained_settings(str(folder))


@pytest.mark.parametrize("text", ["{", "[]"], ids=["no JSON", "no object"])
def test_damaged_settings_are_refused(make_encoder, text):
    folder = make_encoder()
    (folder / "config_sentence_transformers.json").write_text(text)
    with pytest.raises(CheckpointError, match=r"config_sentence_transformers\.json"):
        pretrained_settings(str(folder))


@pytest.mark.parametrize("name", ["coderankembed", "nomic-ai/CodeRankEmbed"])
def test_a_shipped_configuration_says_how_to_read_its_encoder(name):
    settings = pretrained_settings(name)
    assert settings.code_encoder == "nomic-ai/CodeRankEmbed"
    assert settings.token_pooling == "first"
    assert settings.query_prefix.startswith("Represent this query")


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("tomcat", "names no encoder in"),
        ("paper", "names two encoders, whose vectors can be compared only after training"),
    ],
)
def test_a_configuration_without_one_comparable_encoder_is_refused(name, sentence):
    with pytest.raises(ToslocError, match=sentence):
        pretrained_reranker(name)


def test_an_unknown_name_is_refused_without_a_request(requested_hosts):
    with pytest.raises(CheckpointError, match="no encoder can be loaded from this"):
        pretrained_reranker("acme/no-such-encoder")
    assert requested_hosts == []
