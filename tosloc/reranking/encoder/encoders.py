"""Any Hugging Face encoder with its tokenizer: texts become tokens, tokens become one vector."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, Self, TypeAlias

import numpy as np
import torch
from huggingface_hub import constants
from torch import Tensor, nn
from transformers import AutoModel, AutoTokenizer
from transformers.utils import logging as transformers_logging

from tosloc.errors import CheckpointError, ToslocError, require
from tosloc.records import IntArray

# S sequences, L tokens of the longest, d width of the encoder

TokenPooling: TypeAlias = Literal["mean", "first"]
"""A sequence's vector: mean of its tokens' vectors, or the first token's (CodeBERT, RoBERTa)."""

PROJECTIONS: Final = (("query", "value"), ("q_proj", "v_proj"), ("q_lin", "v_lin"), ("q", "v"), ("Wqkv",))
"""What transformers call the layers that adapters stand beside: those of queries and values."""


@dataclass(frozen=True, eq=False)
class MarkedTokenizer:
    """A tokenizer and how it marks a sequence."""

    tokenizer: Any
    before: tuple[int, ...]
    after: tuple[int, ...]
    padding: int
    fingerprint: str

    @classmethod
    def of(cls, tokenizer: Any) -> Self:
        """Marks are found by tokenizing a text that is one word."""
        [inner] = tokenizer(["a"], add_special_tokens=False)["input_ids"]
        [whole] = tokenizer(["a"], add_special_tokens=True)["input_ids"]
        start = next(i for i in range(len(whole)) if whole[i : i + len(inner)] == inner)
        padding = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else 0
        backend = getattr(tokenizer, "backend_tokenizer", None)
        made_of = backend.to_str() if backend is not None else repr(sorted(tokenizer.get_vocab().items()))
        return cls(
            tokenizer,
            tuple(whole[:start]),
            tuple(whole[start + len(inner) :]),
            padding,
            hashlib.sha256(made_of.encode()).hexdigest()[:16],
        )

    def tokens(self, texts: Sequence[str]) -> list[list[int]]:
        """Tokens of each text, without marks and however long."""
        # half a character, which a report may hold, is none to a tokenizer
        whole = [text.encode("utf-8", "replace").decode("utf-8") for text in texts]
        # a tokenizer warns of long texts, which are cut into chunks later
        found: list[list[int]] = self.tokenizer(
            whole, add_special_tokens=False, return_attention_mask=False, verbose=False
        )["input_ids"]
        return found

    def marked(self, tokens: Sequence[int] | IntArray, length: int) -> IntArray:
        """(<= length,) the first tokens with the marks around them."""
        room = length - len(self.before) - len(self.after)
        return np.array((*self.before, *tokens[:room], *self.after), dtype=np.int32)

    def chunks(self, tokens: Sequence[int] | IntArray, length: int, most: int) -> list[IntArray]:
        """At most ``most`` consecutive pieces of a file, each with its marks at most ``length`` long; at least one."""
        room = length - len(self.before) - len(self.after)
        starts = range(0, max(len(tokens), 1), room)
        return [self.marked(tokens[start : start + room], length) for start in starts[:most]]


class Encoder(nn.Module):
    """Tokens to vectors. Its name and fingerprint say which weights these are."""

    def __init__(self, model: Any, words: MarkedTokenizer, pooling: TokenPooling, name: str, fingerprint: str) -> None:
        super().__init__()
        self.model: Any = model
        self.words, self.pooling, self.name, self.fingerprint = words, pooling, name, fingerprint
        self.width = int(self.model.config.hidden_size)
        self.rank = 0
        """Rank of its adapters; 0 = none."""
        self.base = fingerprint
        """Fingerprint of the weights as they were loaded, which adapters leave as they are."""

    @classmethod
    def load(cls, name: str, pooling: TokenPooling) -> Self:
        """The encoder of a folder, or of a name on the hub: fetched earlier, or now where TOSLOC_HUB=1 allows it.

        None of its code is run. Raises CheckpointError when there is none, or its tokenizer does not belong to it.
        """
        local = os.environ.get("TOSLOC_HUB") != "1"
        bars, offline = transformers_logging.is_progress_bar_enabled(), constants.HF_HUB_OFFLINE
        transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]
        constants.HF_HUB_OFFLINE = offline or local  # local_files_only alone still makes requests
        try:
            folder = Path(name).expanduser()
            where = str(folder) if folder.is_dir() else name
            tokenizer = AutoTokenizer.from_pretrained(where, trust_remote_code=False, local_files_only=local)
            model = AutoModel.from_pretrained(
                where, dtype=torch.float32, trust_remote_code=False, use_safetensors=True, local_files_only=local
            )
            if getattr(model.config, "auto_map", None) or tokenizer.init_kwargs.get("auto_map"):
                raise ValueError("its auto_map asks for custom code, which is never run")
            return cls.of(model, tokenizer, pooling, name)
        except (ToslocError, MemoryError):
            raise
        except Exception as error:  # files that are no encoder's raise anything
            raise CheckpointError(
                f"{name}: no encoder can be loaded from there ({' '.join(str(error).split())[:120]}); name a folder"
                " with config.json, model.safetensors and tokenizer, or set TOSLOC_HUB=1 to fetch a name from the hub"
            ) from error
        finally:
            constants.HF_HUB_OFFLINE = offline
            if bars:
                transformers_logging.enable_progress_bar()  # type: ignore[no-untyped-call]

    @classmethod
    def of(cls, model: Any, tokenizer: Any, pooling: TokenPooling, name: str) -> Self:
        """Encoder of a model at hand. Raises CheckpointError when the tokenizer does not belong to it."""
        known = model.get_input_embeddings().weight.shape[0]
        if len(tokenizer) > known:
            raise CheckpointError(
                f"{name}: the tokenizer has {len(tokenizer)} tokens but the encoder knows {known}; they do not belong"
                " together, take both from one folder"
            )
        words = MarkedTokenizer.of(tokenizer)
        return cls(model, words, pooling, name, _fingerprint(model, words, pooling))

    @property
    def longest(self) -> int:
        """Tokens that the encoder can read at once, marks included."""
        config = self.model.config
        # RoBERTa counts positions from its padding token on
        offset = config.pad_token_id + 1 if config.model_type in ("roberta", "xlm-roberta", "camembert") else 0
        return int(config.max_position_embeddings) - offset

    def adapt(self, rank: int) -> None:
        """Add low-rank adapters beside the projections of queries and values (LoRA).

        From now on they alone learn; at first they change nothing. Raises ToslocError where there is no place for them.
        """
        require("lora_rank", "encoder", "peft")
        from peft import LoraConfig, inject_adapter_in_model

        linear = {name.rpartition(".")[2] for name, part in self.model.named_modules() if isinstance(part, nn.Linear)}
        targets = next((list(names) for names in PROJECTIONS if linear.issuperset(names)), None)
        if targets is None:
            raise ToslocError(
                f"{self.name}: no query and value projections in it that adapters could stand beside; set"
                " [stage_two.training] lora_rank = 0"
            )
        inject_adapter_in_model(
            LoraConfig(r=rank, lora_alpha=2 * rank, lora_dropout=0.0, target_modules=targets), self.model
        )
        self.rank, self.fingerprint = rank, self.fingerprint_now()

    @property
    def adapters(self) -> dict[str, Tensor]:
        """Name -> values of the adapters."""
        return {name: value for name, value in self.model.state_dict().items() if ".lora_" in name}

    def take_adapters(self, values: Mapping[str, Tensor]) -> None:
        """Have these adapters. Raises ValueError when they are another model's."""
        own = self.adapters
        if {name: value.shape for name, value in own.items()} != {name: v.shape for name, v in values.items()}:
            raise ValueError("these adapters are another model's")
        with torch.no_grad():
            for name, value in own.items():
                value.copy_(values[name])
        self.fingerprint = self.fingerprint_now()

    def fingerprint_now(self) -> str:
        """Fingerprint of the weights as they are now."""
        return _fingerprint(self.model, self.words, self.pooling)

    def forward(self, tokens_SL: Tensor, real_SL: Tensor) -> Tensor:
        """(S, d) vectors of padded token sequences."""
        hidden_SLd: Tensor = self.model(input_ids=tokens_SL, attention_mask=real_SL.to(torch.long)).last_hidden_state
        if self.pooling == "first":
            return hidden_SLd[:, 0]
        mask_SL1 = real_SL.unsqueeze(-1).to(hidden_SLd.dtype)
        return (hidden_SLd * mask_SL1).sum(1) / mask_SL1.sum(1).clamp(min=1)

    def padded(self, sequences: Sequence[IntArray], device: torch.device | str) -> tuple[Tensor, Tensor]:
        """(S, L) tokens and which of them are real."""
        longest = max(len(sequence) for sequence in sequences)
        tokens_SL = np.full((len(sequences), longest), self.words.padding, dtype=np.int64)
        real_SL = np.zeros((len(sequences), longest), dtype=np.bool_)
        for row, sequence in enumerate(sequences):
            tokens_SL[row, : len(sequence)] = sequence
            real_SL[row, : len(sequence)] = True
        return torch.from_numpy(tokens_SL).to(device), torch.from_numpy(real_SL).to(device)


def _fingerprint(model: nn.Module, words: MarkedTokenizer, pooling: TokenPooling) -> str:
    """Of the weights, the tokenizer and the pooling: what a vector depends on."""
    return digest_of(model.state_dict(), f"{words.fingerprint} {pooling}")


def digest_of(values: Mapping[str, Tensor], more: str = "") -> str:
    """Digest of named values, and of what else is given."""
    digest = hashlib.sha256(more.encode())
    for name, value in sorted(values.items()):
        digest.update(name.encode())
        digest.update(value.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()[:16]
