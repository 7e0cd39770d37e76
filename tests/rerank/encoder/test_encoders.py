"""Encoders and rerankers on disk: pieces, pooling, hostile folders, and cached vectors."""

import builtins
import json
import os
import shutil

import numpy as np
import pytest
import safetensors.torch
import torch
from transformers import AutoTokenizer

from tests.rerank.by_hand import report
from tosloc.core.config import Config
from tosloc.core.errors import CheckpointError, ToslocError
from tosloc.rerank.encoder import encoders
from tosloc.rerank.encoder.encoders import ChunkReader, Encoder, report_text, strip_licence
from tosloc.rerank.encoder.reranker import HEAD, RECORD, EncoderReranker


@pytest.fixture(scope="module")
def encoder(encoder_folder):
    return Encoder.load(str(encoder_folder), "mean")


def test_pieces_follow_each_other_with_their_marks(encoder):
    pieces = encoder.pieces(["door opens window fails key", ""], 4, 10)
    assert pieces == [[[2, 7, 11, 3], [2, 8, 12, 3], [2, 10, 3]], [[2, 3]]]


def test_only_the_first_pieces_are_kept(encoder):
    assert encoder.pieces(["door opens key"], 4) == [[[2, 7, 11, 3]]]


def test_half_a_character_is_read_as_a_question_mark(encoder):
    assert encoder.pieces(["door \udce9 opens"], 9) == encoder.pieces(["door ? opens"], 9)


def test_each_piece_begins_with_the_prefix(encoder):
    pieces = encoder.prefixed_pieces(["door opens window fails key", ""], 5, "red ", 10)
    assert pieces == [[[2, 16, 7, 11, 3], [2, 16, 8, 12, 3], [2, 16, 10, 3]], [[2, 16, 3]]]


def test_only_the_first_prefixed_pieces_are_kept(encoder):
    pieces = encoder.prefixed_pieces(["door opens key", "key"], 5, "red ")
    assert pieces == [[[2, 16, 7, 11, 3]], [[2, 16, 10, 3]]]


def test_without_a_prefix_pieces_are_plain(encoder):
    assert encoder.prefixed_pieces(["door opens"], 4, "") == encoder.pieces(["door opens"], 4)


def test_a_prefix_that_fills_a_piece_is_refused(encoder):
    with pytest.raises(ToslocError, match="fills all of 4 tokens"):
        encoder.prefixed_pieces(["door"], 4, "red blue")


def test_licences_are_not_read():
    code = "// (c) 2020 us\n/* Licensed so */\nclass A {}"
    assert strip_licence(code) == "\nclass A {}"


def test_stack_frames_are_not_read():
    with_frame = report(summary="Fails", description="at a.B.c(B.java:1)\nalways")
    assert report_text(with_frame) == "Fails\nalways"


KINDS_OF_ENCODER = pytest.mark.parametrize(
    ("pooling", "kind"),
    [
        ("mean", "bert"),
        ("first", "bert"),
        ("last", "bert"),
        ("mean", "roberta"),
        ("first", "nomic_bert"),
        ("mean", "modernbert"),
        ("last", "qwen2"),
        ("last", "qwen3"),
        ("mean", "t5"),
    ],
)
SHORT = [2, 7, 8, 3]
LONG = [2, *range(4, 12), 3]


@KINDS_OF_ENCODER
def test_max_tokens_does_not_count_positions_before_the_first(make_encoder, pooling, kind):
    assert Encoder.load(str(make_encoder(kind=kind)), pooling).max_tokens == 34


@KINDS_OF_ENCODER
def test_padding_changes_no_vector(make_encoder, pooling, kind):
    encoder = Encoder.load(str(make_encoder(kind=kind)), pooling).eval()
    with torch.inference_mode():
        alone = encoder([SHORT])
        together = encoder([LONG, SHORT])
    assert torch.allclose(alone[0], together[1], atol=1e-6)
    assert np.allclose(encoder.vectors([SHORT, LONG]), together.flip(0).numpy(), atol=1e-3)


@KINDS_OF_ENCODER
def test_pooling_takes_a_token_or_the_mean_of_all(make_encoder, pooling, kind):
    encoder = Encoder.load(str(make_encoder(kind=kind)), pooling).eval()
    with torch.inference_mode():
        vector = encoder([SHORT])[0]
        hidden = encoder.model(input_ids=torch.tensor([SHORT])).last_hidden_state[0]
    expected = {"first": hidden[0], "mean": hidden.mean(0), "last": hidden[-1]}[pooling]
    assert torch.allclose(vector, expected, atol=1e-6)


def test_the_fingerprint_depends_on_weights_and_pooling(make_encoder):
    fingerprints = set()
    for folder in (make_encoder(seed=1), make_encoder(seed=2)):
        for pooling in ("mean", "first", "last"):
            fingerprints.add(Encoder.load(str(folder), pooling).fingerprint)
    assert len(fingerprints) == 6


def test_a_saved_encoder_keeps_its_fingerprint(make_encoder, tmp_path):
    encoder = Encoder.load(str(make_encoder()), "mean")
    before = encoder.fingerprint
    encoder.pieces(["door opens window"], 4)  # sets options of the tokenizer
    encoder.save(tmp_path / "saved")
    assert Encoder.load(str(tmp_path / "saved"), "mean").fingerprint == before


def change_json(file, **values):
    file.write_text(json.dumps(json.loads(file.read_text()) | values))


class FolderMaker:
    """An object whose unpickling makes a folder."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def add_custom_code(folder, owned, architecture="OwnModel"):
    """Add code that makes the folder ``owned``, and is needed for an architecture."""
    code = f"import os\nos.mkdir({str(owned)!r})\nfrom transformers import BertConfig, BertModel\n"
    (folder / "own.py").write_text(code)
    auto_map = {"AutoConfig": "own.BertConfig", "AutoModel": "own.BertModel"}
    change_json(folder / "config.json", auto_map=auto_map, architectures=[architecture])


def name_code_of_the_hub(folder, owned):
    auto_map = {"AutoConfig": "acme/evil--own.BertConfig"}
    change_json(folder / "config.json", auto_map=auto_map, model_type="own")


def name_code_of_a_tokenizer(folder, owned):
    auto_map = {"AutoTokenizer": ["own.Own", "own.Own"]}
    change_json(folder / "tokenizer_config.json", auto_map=auto_map, tokenizer_class="Own")


def rename_weights(folder, old, new):
    """Rename the weights that begin with ``old``."""
    file = folder / "model.safetensors"
    weights = {}
    for name, value in safetensors.torch.load_file(file).items():
        weights[new + name.removeprefix(old) if name.startswith(old) else name] = value
    safetensors.torch.save_file(weights, file, {"format": "pt"})


def name_weights_that_transformers_lack(folder, owned):
    add_custom_code(folder, owned, "BertModel")
    rename_weights(folder, "encoder.layer.0.output.dense", "encoder.layer.0.mlp.gate")


def add_weights_that_transformers_ignore(folder, owned):
    add_custom_code(folder, owned, "BertModel")
    file = folder / "model.safetensors"
    weights = safetensors.torch.load_file(file) | {"encoder.layer.0.gate": torch.ones(1)}
    safetensors.torch.save_file(weights, file, {"format": "pt"})


def pickle_harmless_weights(folder, owned):
    write_pickle(folder, safetensors.torch.load_file(folder / "model.safetensors"))


def pickle_weights_with_code(folder, owned):
    weights = safetensors.torch.load_file(folder / "model.safetensors")
    write_pickle(folder, [weights, FolderMaker(owned)])


def write_pickle(folder, value):
    (folder / "model.safetensors").unlink()
    torch.save(value, folder / "pytorch_model.bin")


def add_words_to_tokenizer(folder, owned):
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    tokenizer["model"]["vocab"] |= {f"word{number}": 100 + number for number in range(40)}
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))


@pytest.mark.parametrize(
    "damage",
    [
        add_custom_code,
        name_code_of_the_hub,
        name_code_of_a_tokenizer,
        name_weights_that_transformers_lack,
        add_weights_that_transformers_ignore,
        pickle_weights_with_code,
        pickle_harmless_weights,
    ],
)
def test_no_code_of_an_encoder_is_run(make_encoder, tmp_path, monkeypatch, requested_hosts, damage):
    monkeypatch.setattr(builtins, "input", lambda *_: "y")  # a user who is asked says yes
    folder = make_encoder()
    damage(folder, tmp_path / "owned")
    with pytest.raises(CheckpointError, match="no encoder can be loaded from this"):
        Encoder.load(str(folder), "mean")
    assert not (tmp_path / "owned").exists()
    assert requested_hosts == []


def test_a_long_cause_ends_in_dots(monkeypatch):
    def refuse(_):
        raise ValueError("cause " * 100)

    monkeypatch.setattr(encoders, "find_encoder", refuse)
    with pytest.raises(CheckpointError, match=r"\(cause .*\.\.\.\); name a folder"):
        Encoder.load("acme/none", "mean")


def test_transformers_own_class_reads_a_checkpoint_with_custom_code(
    make_encoder, tmp_path, requested_hosts
):
    folder = make_encoder()
    expected = Encoder.load(str(folder), "mean").fingerprint
    add_custom_code(folder, tmp_path / "owned", "BertModel")
    encoder = Encoder.load(str(folder), "mean")
    assert type(encoder.model).__module__ == "transformers.models.bert.modeling_bert"
    assert encoder.fingerprint == expected
    assert not (tmp_path / "owned").exists()
    assert requested_hosts == []


def test_a_saved_copy_names_no_custom_code(make_encoder, tmp_path):
    folder = make_encoder()
    add_custom_code(folder, tmp_path / "owned", "BertModel")
    Encoder.load(str(folder), "mean").save(tmp_path / "saved")
    assert "auto_map" not in json.loads((tmp_path / "saved" / "config.json").read_text())


def test_a_checkpoint_without_pooler_is_the_same_encoder_each_time(make_encoder):
    folder = make_encoder(kind="roberta")  # saved with a head for masked words, as roberta-base
    encoder = Encoder.load(str(folder), "mean")
    assert not any(value.any() for value in encoder.model.pooler.parameters())
    assert Encoder.load(str(folder), "mean").fingerprint == encoder.fingerprint


def test_a_tokenizer_without_padding_pads_with_the_end_of_text(make_encoder):
    folder = make_encoder(kind="qwen3")
    change_json(folder / "tokenizer_config.json", pad_token=None, eos_token="[SEP]")
    encoder = Encoder.load(str(folder), "last").eval()
    with torch.inference_mode():
        assert torch.allclose(encoder([SHORT])[0], encoder([LONG, SHORT])[1], atol=1e-6)


def test_the_tokenizer_of_another_encoder_is_refused(make_encoder, tmp_path):
    folder = make_encoder()
    add_words_to_tokenizer(folder, tmp_path)
    with pytest.raises(CheckpointError, match="do not belong together"):
        Encoder.load(str(folder), "mean")


UNKNOWN_NAME = "acme/no-such-encoder"


def test_the_hub_is_not_asked_by_itself(requested_hosts):
    with pytest.raises(CheckpointError, match="TOSLOC_HUB=1 to fetch a name from the hub"):
        Encoder.load(UNKNOWN_NAME, "mean")
    assert requested_hosts == []


def test_the_hub_is_asked_where_the_user_allows_it(monkeypatch):
    requests = []

    def from_pretrained(_, *, trust_remote_code, local_files_only):
        requests.append({"remote code": trust_remote_code, "local": local_files_only})
        raise OSError

    monkeypatch.setattr(AutoTokenizer, "from_pretrained", from_pretrained)
    monkeypatch.setenv("TOSLOC_HUB", "1")
    with pytest.raises(CheckpointError):
        Encoder.load(UNKNOWN_NAME, "mean")
    assert requests == [{"remote code": False, "local": False}]


def test_a_fetched_name_is_loaded_without_a_request(
    monkeypatch, tmp_path, make_encoder, requested_hosts
):
    folder = tmp_path / "models--acme--tiny"
    shutil.copytree(make_encoder(), folder / "snapshots" / ("a" * 40))
    (folder / "refs").mkdir()
    (folder / "refs" / "main").write_text("a" * 40)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    assert Encoder.load("acme/tiny", "mean").name == "acme/tiny"
    assert requested_hosts == []


# Vectors of blobs, which are cached


TEXTS = {
    "1": "door opens",
    "2": "/* Copyright */ window fails lock " * 4,
    "3": "",
    "4": "key " * 50,
}


class CountingTexts:
    """A source of texts that records which blobs were read."""

    def __init__(self):
        self.read = []

    def __call__(self, blobs):
        self.read.extend(blobs)
        return ((blob, TEXTS.get(blob)) for blob in blobs)


@pytest.fixture
def texts():
    return CountingTexts()


def test_each_blob_is_encoded_once(encoder, texts, tmp_path):
    reader = ChunkReader(encoder, 3, 8, texts)
    reader.vectors(["1", "2", "3"], tmp_path / "new/v.sqlite")
    first = reader.vectors(list(TEXTS), tmp_path / "new/v.sqlite")
    second = reader.vectors(list(TEXTS), tmp_path / "new/v.sqlite")
    assert texts.read == ["1", "2", "3", "4"]
    assert list(second) == list(first)
    for blob, vectors in first.items():
        assert second[blob].tolist() == vectors.tolist()


def test_each_piece_of_a_blob_has_a_vector(encoder, texts, tmp_path):
    vectors = ChunkReader(encoder, 3, 8, texts).vectors(list(TEXTS), tmp_path / "v.sqlite")
    assert {blob: len(rows) for blob, rows in vectors.items()} == {"1": 1, "2": 3, "3": 0, "4": 3}
    with torch.inference_mode():
        expected = encoder([[2, 7, 11, 3]])[0].numpy()
    assert np.allclose(vectors["1"][0], expected, atol=1e-3)


def test_other_chunks_and_other_encoders_have_their_own_vectors(
    encoder, encoder_folder, texts, tmp_path
):
    other = Encoder.load(str(encoder_folder), "first")
    for reader in (
        ChunkReader(encoder, 3, 8, texts),
        ChunkReader(encoder, 2, 8, texts),
        ChunkReader(other, 3, 8, texts),
        ChunkReader(encoder, 3, 8, texts, "red "),
    ):
        reader.vectors(["1"], tmp_path / "v.sqlite")
    assert texts.read == ["1", "1", "1", "1"]


# An encoder reranker on disk


def make_reranker(encoder_folder, learns="head", **settings):
    """Return an untrained reranker with these settings of stage two."""
    values = {
        "code_encoder": str(encoder_folder),
        "chunk_tokens": 16,
        "report_tokens": 16,
        "training": {"learns": learns},
        **settings,
    }
    return EncoderReranker.from_config(Config.of({"stage_two": values}, "two.toml"))


DAMAGED = "incomplete or damaged"


def check_refusal(folder, sentence):
    with pytest.raises(CheckpointError, match=rf"\A[^\n]*{sentence}[^\n]*\Z"):
        EncoderReranker.load(folder)


@pytest.fixture
def saved_folder(encoder_folder, tmp_path):
    """Return a folder with a saved reranker."""
    make_reranker(encoder_folder).save(tmp_path / "saved")
    return tmp_path / "saved"


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"schema": 99}, "written by another version of TosLoc"),
        ({"weight": -1}, "a weight is out of bounds"),
        ({"encoders": {}}, DAMAGED),
        ({"settings": {"magic": 1}}, DAMAGED),
        (
            {"encoders": {"code": {"place": UNKNOWN_NAME, "fingerprint": ""}}},
            f"{UNKNOWN_NAME}: no encoder can be loaded",
        ),
    ],
    ids=["other schema", "negative weight", "no encoder", "unknown setting", "unknown encoder"],
)
def test_a_damaged_record_is_refused_in_one_sentence(
    saved_folder, requested_hosts, values, sentence
):
    change_json(saved_folder / RECORD, **values)
    check_refusal(saved_folder, sentence)
    assert requested_hosts == []


def test_another_encoder_than_the_recorded_one_is_refused(saved_folder, make_encoder):
    entry = {"place": str(make_encoder(seed=2)), "fingerprint": "0"}
    change_json(saved_folder / RECORD, encoders={"code": entry})
    check_refusal(saved_folder, "not the encoder that")


@pytest.mark.parametrize(
    "head",
    [safetensors.torch.save({"a": torch.ones(1)}), b"x"],
    ids=["other weights", "not safetensors"],
)
def test_a_damaged_head_is_refused_in_one_sentence(saved_folder, head):
    (saved_folder / HEAD).write_bytes(head)
    check_refusal(saved_folder, DAMAGED)


def test_encoders_of_different_widths_are_refused(encoder_folder, make_encoder):
    with pytest.raises(CheckpointError, match="differ in width"):
        make_reranker(encoder_folder, report_encoder=str(make_encoder(width=32)))


@pytest.mark.parametrize("setting", ["chunk_tokens", "report_tokens"])
def test_longer_texts_than_the_encoder_reads_are_refused(encoder_folder, setting):
    with pytest.raises(ToslocError, match=f"{setting}: .* reads at most 34 tokens, not 35"):
        make_reranker(encoder_folder, **{setting: 35})


@pytest.mark.parametrize("setting", ["query_prefix", "code_prefix"])
def test_a_prefix_that_leaves_too_little_room_is_refused(encoder_folder, setting):
    with pytest.raises(ToslocError, match=f"{setting}: its 9 tokens are more than half of"):
        make_reranker(encoder_folder, **{setting: "red " * 9})


def test_a_folder_with_other_things_is_not_overwritten(encoder_folder, make_encoder):
    other = make_encoder()
    with pytest.raises(CheckpointError, match="contains files that are not a second stage"):
        make_reranker(encoder_folder).save(other)
    assert (other / "model.safetensors").exists()


@pytest.mark.parametrize(
    ("learns", "saved_encoders", "scoring"),
    [("head", [], "cosine"), ("both", ["code"], "dot")],
    ids=["head alone", "head and encoder"],
)
def test_a_saved_reranker_comes_back(encoder_folder, tmp_path, learns, saved_encoders, scoring):
    reranker = make_reranker(encoder_folder, learns, scoring=scoring)
    with torch.no_grad():
        for value in reranker.model.trainable_parameters.values():
            value.add_(0.1)
    for encoder in reranker.model.trainable_encoders.values():
        encoder.fingerprint = encoder.compute_fingerprint()
    reranker.save(tmp_path / "saved")
    folders = [path.name for path in (tmp_path / "saved").iterdir() if path.is_dir()]
    assert folders == saved_encoders
    loaded = EncoderReranker.load(tmp_path / "saved").model.state_dict()
    for name, value in reranker.model.state_dict().items():
        assert torch.equal(value, loaded[name])
