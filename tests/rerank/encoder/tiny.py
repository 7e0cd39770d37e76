"""A tiny encoder of random weights, made here: nothing is downloaded; and progress that interrupts a training."""

from collections.abc import Sequence
from pathlib import Path

import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast, RobertaConfig, RobertaModel

MARKS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
WORDS = "a b c door window lock key opens fails class push pull red blue".split()


def tokenizer(words: Sequence[str]) -> PreTrainedTokenizerFast:
    made = Tokenizer(
        models.WordLevel({word: number for number, word in enumerate([*MARKS, *words])}, unk_token="[UNK]")
    )
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]"
    )


def write_encoder(
    folder: Path, *, width: int = 16, seed: int = 1, roberta: bool = False, words: Sequence[str] = WORDS
) -> Path:
    torch.manual_seed(seed)
    sizes = {
        "vocab_size": len(MARKS) + len(words),
        "hidden_size": width,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 32,
        "pad_token_id": 0,
    }
    model = (
        RobertaModel(RobertaConfig(max_position_embeddings=35, **sizes))
        if roberta
        else BertModel(BertConfig(max_position_embeddings=34, **sizes))
    )
    model.save_pretrained(folder)
    tokenizer(words).save_pretrained(folder)
    return folder


class Epochs:
    """Called as progress; raises KeyboardInterrupt within epoch ``interrupted`` (from 0), after its first step."""

    def __init__(self, interrupted: int | None = None) -> None:
        self.interrupted = interrupted
        self.begun: list[int] = []

    def __call__(self, what: str, done: int, total: int) -> None:
        kind, _, number = what.partition(" ")
        if kind != "epoch" or not number.isdigit():
            return
        epoch = int(number) - 1
        if epoch not in self.begun:
            self.begun.append(epoch)
        if epoch == self.interrupted:
            raise KeyboardInterrupt
