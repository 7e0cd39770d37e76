"""Pretrained encoders that rerank without training on the repository."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from huggingface_hub import snapshot_download

from tosloc.core.config import (
    Config,
    StageTwoSettings,
    find_config,
    load_config,
    shipped_configs_folder,
)
from tosloc.core.errors import CheckpointError, ToslocError
from tosloc.core.io import parse_json, read_regular_file
from tosloc.rerank.encoder.encoders import Encoder
from tosloc.rerank.encoder.loading import find_encoder, hub_is_allowed
from tosloc.rerank.encoder.reranker import EncoderReranker
from tosloc.rerank.encoder.scoring import RerankingModel

UNTRAINED_WEIGHT: Final = 0.2
"""Weight of the encoder's score, beside stage one's, if there are no validation reports.

The weight is small, so that the encoder changes the order only of files with similar scores in
stage one. all-MiniLM-L6-v2 with this weight gained .010 MRR on Tomcat's validation reports and lost
.010 on its test reports; larger weights lost more there (docs/results.md).
"""
_PROMPTS_FILE: Final = "config_sentence_transformers.json"
_POOLING_FILE: Final = "1_Pooling/config.json"
_POOLINGS: Final = {
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_cls_token": "first",
    "pooling_mode_lasttoken": "last",
}
"""Key in the settings of sentence-transformers -> name of our pooling."""


def pretrained_reranker(name: str) -> EncoderReranker:
    """Return a reranker that compares the vectors of a pretrained encoder.

    ``name`` is the encoder's folder, its name on the hub, or a configuration with [stage_two]. The
    score is 5 * (cosine of report and the file's mean vector + cosine of report and nearest chunk).
    Raises CheckpointError if no encoder can be loaded, and ToslocError or ConfigError for a
    configuration that does not describe one.
    """
    settings = pretrained_settings(name)
    encoder = Encoder.load(settings.code_encoder, settings.token_pooling)
    lengths = {
        "chunk_tokens": min(settings.chunk_tokens, encoder.max_tokens),
        "report_tokens": min(settings.report_tokens, encoder.max_tokens),
    }
    model = RerankingModel(settings.model_copy(update=lengths), encoder, encoder, Config().run.seed)
    model.head.weigh_chunks_equally()
    reranker = EncoderReranker(model)
    reranker.weight = UNTRAINED_WEIGHT
    reranker.note = (
        f"{settings.code_encoder} reordered the first {reranker.depth} files, with the default "
        f"weight {UNTRAINED_WEIGHT:g}, which no report of this repository has chosen"
    )
    return reranker


def pretrained_settings(name: str) -> StageTwoSettings:
    """Return the settings for an encoder, from a configuration or from its folder.

    The configuration is the one that ``name`` means, or a shipped configuration that names the
    encoder. A folder may contain the settings of sentence-transformers; without these, pooling is
    the mean.
    """
    if Path(name).expanduser().is_dir():
        return _settings_of_folder(name)
    file = find_config(name)
    if file.is_file():
        return _comparable(load_config(file).stage_two, name)
    for file in sorted(shipped_configs_folder().glob("*.toml")):
        settings = load_config(file).stage_two
        if settings.code_encoder == name and not settings.report_encoder:
            return _comparable(settings, name)
    return _settings_of_folder(name)


def _comparable(settings: StageTwoSettings, name: str) -> StageTwoSettings:
    """Return the settings with cosine scores and without any training.

    Raises ToslocError unless they name one encoder for reports and code.
    """
    if settings.reranker != "encoder" or not settings.code_encoder:
        raise ToslocError(f"{name}: this configuration names no encoder in [stage_two]")
    if settings.report_encoder not in ("", settings.code_encoder):
        raise ToslocError(
            f"{name}: this configuration names two encoders, whose vectors can be compared only "
            "after training; train it with tosloc train --config"
        )
    training = settings.training.model_copy(update={"learns": "head"})
    return settings.model_copy(update={"scoring": "cosine", "training": training})


def _settings_of_folder(name: str) -> StageTwoSettings:
    """Return settings from the files of sentence-transformers, or defaults if there are none."""
    folder = _folder_with_settings(name)
    pooling = _read_json(folder / _POOLING_FILE)
    prompts = _read_json(folder / _PROMPTS_FILE).get("prompts") or {}
    values: dict[str, Any] = {"code_encoder": name}
    chosen = [key for key, value in pooling.items() if key in _POOLINGS and value is True]
    if len(chosen) == 1:
        values["token_pooling"] = _POOLINGS[chosen[0]]
    elif pooling:
        raise CheckpointError(
            f"{name}: its pooling is not supported; TosLoc takes the mean of the tokens' vectors, "
            "the first or the last one"
        )
    values["query_prefix"] = prompts.get("query") or ""
    values["code_prefix"] = prompts.get("document") or prompts.get("passage") or ""
    return StageTwoSettings.of(values, name)


def _folder_with_settings(name: str) -> Path:
    """Return the folder with an encoder's settings; an empty path if there is none.

    If the name is wrong, ``Encoder.load`` explains it later.
    """
    try:
        location = find_encoder(name)
        if not Path(location).is_dir() and hub_is_allowed():
            location = snapshot_download(location, allow_patterns=[_POOLING_FILE, _PROMPTS_FILE])
    except Exception:  # The hub, or its cache, can raise anything.
        return Path("no such folder")
    return Path(location)


def _read_json(file: Path) -> dict[str, Any]:
    """Return the JSON object in a file; an empty one if the file is missing.

    Raises CheckpointError if the file is damaged.
    """
    try:
        values = parse_json(read_regular_file(file))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{file} cannot be read ({error})") from error
    if not isinstance(values, dict):
        raise CheckpointError(f"{file} is not a JSON object")
    return values
