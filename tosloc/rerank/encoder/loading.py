"""Read a model and its tokenizer from disk or the hub, without running any code of theirs."""

from __future__ import annotations

import logging
import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import torch
import transformers
from huggingface_hub import snapshot_download
from transformers import AutoConfig, AutoModel, AutoModelForTextEncoding, AutoTokenizer
from transformers.utils import logging as transformers_logging

_ENCODER_DECODERS: Final = ("t5", "mt5", "umt5")
"""Types of models of which only the encoder is loaded."""
_OLDER_NAMES: Final = {
    "nomic_bert": {
        "n_embd": "hidden_size",
        "n_head": "num_attention_heads",
        "n_inner": "intermediate_size",
        "n_layer": "num_hidden_layers",
        "n_positions": "max_position_embeddings",
        "layer_norm_epsilon": "layer_norm_eps",
    }
}
"""Type of model -> names of settings in old checkpoints and their present names in transformers."""
_UNUSED_WEIGHTS: Final = ("pooler.",)
"""Beginnings of the names of weights that no vector depends on, so that they may be missing."""
_HEADS: Final = ("classifier.", "cls.", "lm_head.", "pooler.")
"""Beginnings of the names of the weights of heads, which no vector depends on."""
_LAYER_WORDS: Final = ("layer", "attn", "attention", "mlp")
"""Words in the names of weights inside a model."""


def hub_is_allowed() -> bool:
    """Return whether the user allows requests to the hub, with TOSLOC_HUB=1."""
    return os.environ.get("TOSLOC_HUB") == "1"


def find_encoder(name: str) -> str:
    """Return the folder of an encoder, or its name if requests to the hub are allowed.

    Without the hub, an encoder must have been downloaded earlier. Otherwise the errors of
    huggingface_hub are raised.
    """
    location = str(Path(name).expanduser())
    if hub_is_allowed() or Path(location).is_dir():
        return location
    # For a name, transformers make requests whatever local_files_only says.
    return snapshot_download(location, local_files_only=True)


def load_tokenizer(location: str) -> Any:
    """Return a fast tokenizer whose class is part of transformers; else raise ValueError."""
    tokenizer = AutoTokenizer.from_pretrained(
        location, trust_remote_code=False, local_files_only=not hub_is_allowed()
    )
    if tokenizer.init_kwargs.pop("auto_map", None):
        _check_class(tokenizer.init_kwargs.get("tokenizer_class"))
    if not tokenizer.is_fast:
        raise ValueError("its tokenizer has no tokenizer.json")
    if tokenizer.pad_token is None:  # padding is masked, so that any token serves
        tokenizer.pad_token = tokenizer.eos_token
    if tokenizer.pad_token is None:
        raise ValueError("its tokenizer has neither a padding token nor an end of text")
    return tokenizer


def load_model(location: str) -> Any:
    """Return a model, in float32, whose class is part of transformers.

    A checkpoint may name code of its own in its auto_map. The code is never run; the class of
    transformers for its type of model reads the weights instead. Raises ValueError if there is no
    such class, or if the weights do not fit it.
    """
    local = not hub_is_allowed()
    config = AutoConfig.from_pretrained(location, trust_remote_code=False, local_files_only=local)
    has_own_code = bool(getattr(config, "auto_map", None))
    if has_own_code:
        for name in config.architectures or ():
            _check_class(name)
        del config.auto_map
    _read_older_names(config)
    if hasattr(config, "use_cache"):
        config.use_cache = False  # generation alone needs it, and it takes memory
    loader = AutoModelForTextEncoding if config.model_type in _ENCODER_DECODERS else AutoModel
    with quiet_transformers():
        model, report = loader.from_pretrained(
            location,
            config=config,
            dtype=torch.float32,
            trust_remote_code=False,
            use_safetensors=True,
            local_files_only=local,
            output_loading_info=True,
        )
    _check_weights(model, report["missing_keys"])
    if has_own_code:
        _check_ignored_weights(report["unexpected_keys"])
    return model


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """Let transformers log errors only, and show no progress bars, within the block.

    Otherwise it warns about each weight of a head that is not loaded, and its progress bars would
    appear among ours.
    """
    verbosity = transformers_logging.get_verbosity()
    shows_bars = transformers_logging.is_progress_bar_enabled()
    transformers_logging.set_verbosity(max(verbosity, logging.ERROR))
    transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        transformers_logging.set_verbosity(verbosity)
        if shows_bars:
            transformers_logging.enable_progress_bar()  # type: ignore[no-untyped-call]


def _check_class(name: str | None) -> None:
    """Raise ValueError unless the class is part of transformers."""
    if name is None or not hasattr(transformers, name):
        raise ValueError("its auto_map asks for custom code, which is never run")


def _read_older_names(config: Any) -> None:
    """Set the settings that an old checkpoint has under other names."""
    for old_name, name in _OLDER_NAMES.get(config.model_type, {}).items():
        value = getattr(config, old_name, None)
        if value is not None:
            setattr(config, name, value)
    if config.model_type == "nomic_bert" and hasattr(config, "n_embd"):
        config.head_dim = config.hidden_size // config.num_attention_heads
        base = getattr(config, "rotary_emb_base", None)
        if base:
            config.rope_parameters = {"rope_type": "default", "rope_theta": float(base)}


def _check_weights(model: Any, missing: Collection[str]) -> None:
    """Set missing weights that no vector depends on to 0.

    transformers makes them random, so that the encoder's fingerprint would differ each time. Raises
    ValueError if other weights are missing.
    """
    parameters = dict(model.named_parameters())
    for name in sorted(missing):
        if not name.startswith(_UNUSED_WEIGHTS):
            raise ValueError(f"it has no weights of {name}, which its type of model needs")
        if name in parameters:
            torch.nn.init.zeros_(parameters[name])


def _check_ignored_weights(unexpected: Collection[str]) -> None:
    """Raise ValueError if a layer has weights that the class of transformers does not read.

    The checkpoint's own code would compute other vectors with them.
    """
    for name in sorted(unexpected):
        is_inside = any(word in name.lower() for word in _LAYER_WORDS)
        if is_inside and not name.startswith(_HEADS):
            raise ValueError(f"its weights {name} need custom code, which is never run")
