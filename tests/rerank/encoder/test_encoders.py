"""Encoders by folder: pieces, pooling, and one sentence for what cannot be used."""

import builtins
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest
import torch

from tests.rerank.made import report
from tosloc.errors import CheckpointError
from tosloc.rerank.encoder import encoders as module
from tosloc.rerank.encoder.encoders import Encoder, report_text, without_licence


def test_pieces_follow_each_other_with_their_marks(encoder_folder: Path) -> None:
    encoder = Encoder.load(str(encoder_folder), "mean")
    whole, cut = encoder.pieces(["door opens window fails key", ""], 4, 10), encoder.pieces(["door opens key"], 4)
    assert whole == [[[2, 7, 11, 3], [2, 8, 12, 3], [2, 10, 3]], [[2, 3]]]
    assert cut == [[[2, 7, 11, 3]]]
    assert encoder.pieces(["door \udce9 opens"], 9) == encoder.pieces(["door ? opens"], 9)  # half a character


def test_licences_and_frames_are_not_read() -> None:
    assert without_licence("// (c) 2020 us\n/* Licensed so */\nclass A {}") == "\nclass A {}"
    said = report("r", summary="Fails", description="at a.B.c(B.java:1)\nalways")
    assert report_text(said) == "Fails\nalways"


@pytest.mark.parametrize("pooling", ["mean", "first"])
@pytest.mark.parametrize("roberta", [False, True])
def test_padding_changes_no_vector(make_encoder: Callable[..., Path], pooling: str, roberta: bool) -> None:
    encoder = Encoder.load(str(make_encoder(roberta=roberta)), pooling).eval()
    assert encoder.longest == 34
    short, long = [2, 7, 8, 3], [2, *range(4, 12), 3]
    with torch.inference_mode():
        alone, together = encoder([short]), encoder([long, short])
    assert alone.shape == (1, encoder.width)
    assert torch.allclose(alone[0], together[1], atol=1e-6)
    assert np.allclose(encoder.vectors([short, long]), together.flip(0).numpy(), atol=1e-3)
    assert encoder.vectors([]).shape == (0, encoder.width)


def test_mean_leaves_no_token_out(encoder_folder: Path) -> None:
    first, mean = (Encoder.load(str(encoder_folder), pooling).eval() for pooling in ("first", "mean"))
    with torch.inference_mode():
        hidden = mean.model(input_ids=torch.tensor([[2, 7, 3]])).last_hidden_state[0]
        assert torch.allclose(mean([[2, 7, 3]])[0], hidden.mean(0), atol=1e-6)
        assert torch.allclose(first([[2, 7, 3]])[0], hidden[0])


def test_the_fingerprint_is_of_weights_and_pooling(make_encoder: Callable[..., Path], tmp_path: Path) -> None:
    one, other = make_encoder(seed=1), make_encoder(seed=2)
    saved = Encoder.load(str(one), "mean")
    saved.pieces(["door opens window"], 4)  # which no file of it must remember
    saved.save(tmp_path / "saved")
    assert Encoder.load(str(tmp_path / "saved"), "mean").fingerprint == saved.fingerprint
    assert Encoder.load(str(one), "mean").fingerprint == Encoder.load(str(one), "mean").fingerprint
    seen = {Encoder.load(str(place), pooling).fingerprint for place in (one, other) for pooling in ("mean", "first")}
    assert len(seen) == 4


def test_what_is_no_encoder_is_one_sentence(make_encoder: Callable[..., Path], tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(CheckpointError, match="no encoder can be loaded from there"):
        Encoder.load(str(tmp_path / "empty"), "mean")
    half = make_encoder()
    (half / "model.safetensors").unlink()
    with pytest.raises(CheckpointError, match="no encoder can be loaded from there"):
        Encoder.load(str(half), "mean")


def test_a_foreign_tokenizer_is_one_sentence(make_encoder: Callable[..., Path]) -> None:
    folder = make_encoder()
    told = json.loads((folder / "tokenizer.json").read_text())
    for number in range(9):
        told["model"]["vocab"][f"more{number}"] = 100 + number
    told["model"]["vocab"] |= {f"word{number}": 200 + number for number in range(30)}
    (folder / "tokenizer.json").write_text(json.dumps(told))
    with pytest.raises(CheckpointError, match="do not belong together"):
        Encoder.load(str(folder), "mean")


def changed(file: Path, **values: Any) -> None:
    file.write_text(json.dumps(json.loads(file.read_text()) | values))


class Touching:
    """Unpickled, it makes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.path),)


def ask_for_code(folder: Path, owned: Path, **config: str) -> None:
    own = f"import os\nos.mkdir({str(owned)!r})\nfrom transformers import BertConfig, BertModel\n"
    (folder / "own.py").write_text(own)
    changed(folder / "config.json", auto_map={"AutoConfig": "own.BertConfig", "AutoModel": "own.BertModel"}, **config)


def code_of_a_type_that_is_known(folder: Path, owned: Path) -> None:
    ask_for_code(folder, owned)


def code_of_an_unknown_type(folder: Path, owned: Path) -> None:
    ask_for_code(folder, owned, model_type="own")


def code_of_a_tokenizer(folder: Path, owned: Path) -> None:
    changed(folder / "tokenizer_config.json", auto_map={"AutoTokenizer": ["own.Own", "own.Own"]}, tokenizer_class="Own")


def code_of_the_hub(folder: Path, owned: Path) -> None:
    changed(folder / "config.json", model_type="own", auto_map={"AutoConfig": "acme/evil--own.BertConfig"})


def a_pickle(folder: Path, owned: Path) -> None:
    (folder / "model.safetensors").unlink()
    torch.save({"weight": Touching(owned)}, folder / "pytorch_model.bin")


def a_model_for_a_tokenizer(folder: Path, owned: Path) -> None:
    changed(folder / "tokenizer_config.json", tokenizer_class="BertModel")


@pytest.mark.parametrize(
    "hostile",
    [
        *(code_of_a_type_that_is_known, code_of_an_unknown_type, code_of_a_tokenizer, code_of_the_hub),
        *(a_pickle, a_model_for_a_tokenizer),
    ],
)
def test_no_file_of_an_encoder_is_run(
    make_encoder: Callable[..., Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    asked_hosts: list[str],
    hostile: Callable[[Path, Path], None],
) -> None:
    monkeypatch.setattr(builtins, "input", lambda *_: "y")  # who is asked says yes
    folder, owned = make_encoder(), tmp_path / "owned"
    hostile(folder, owned)
    with pytest.raises(CheckpointError, match="no encoder can be loaded from there"):
        Encoder.load(str(folder), "mean")
    assert not owned.exists()
    assert asked_hosts == []


@pytest.mark.parametrize("name", ["acme/no-such-encoder", "a/b/c", "~nobody-of-this-name/encoder"])
def test_a_name_is_not_looked_for_on_the_hub(asked_hosts: list[str], name: str) -> None:
    with pytest.raises(CheckpointError, match="TOSLOC_HUB=1 to fetch a name from the hub"):
        Encoder.load(name, "mean")
    assert asked_hosts == []


def test_the_hub_is_asked_where_the_user_allows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    offline = module.constants.HF_HUB_OFFLINE
    seen: list[tuple[bool, bool]] = []

    def ask(_: str, *, trust_remote_code: bool, local_files_only: bool) -> NoReturn:
        assert not trust_remote_code
        seen.append((local_files_only, module.constants.HF_HUB_OFFLINE))
        raise OSError

    monkeypatch.setattr(module.AutoTokenizer, "from_pretrained", ask)
    for allowed in ("", "1"):
        monkeypatch.setenv("TOSLOC_HUB", allowed)
        with pytest.raises(CheckpointError):
            Encoder.load("acme/no-such-encoder", "mean")
    assert seen == [(True, True), (False, offline)]
    assert module.constants.HF_HUB_OFFLINE == offline
