"""A tiny encoder of random weights, made without downloads; progress that interrupts training."""

import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast, RobertaConfig, RobertaModel

MARKS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
WORDS = "a b c door window lock key opens fails class push pull red blue".split()


def write_encoder(folder, *, width=16, seed=1, roberta=False, words=WORDS):
    """Write an encoder whose tokens are whole words, and return the folder.

    It reads 34 tokens; the first word's number is 4, after the marks.
    """
    torch.manual_seed(seed)
    sizes = {
        "vocab_size": len(MARKS) + len(words),
        "hidden_size": width,
        "intermediate_size": 32,
        "pad_token_id": 0,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
    }
    if roberta:  # counts positions from its padding token on
        model = RobertaModel(RobertaConfig(**sizes, max_position_embeddings=35))
    else:
        model = BertModel(BertConfig(**sizes, max_position_embeddings=34))
    model.save_pretrained(folder)
    vocabulary = {word: number for number, word in enumerate([*MARKS, *words])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    pad, unknown, first, last = MARKS
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=pad,
        unk_token=unknown,
        cls_token=first,
        sep_token=last,
    ).save_pretrained(folder)
    return folder


class Epochs:
    """Progress that records the epochs begun.

    It raises KeyboardInterrupt after the first step of the epoch ``interrupted`` (from 0).
    """

    def __init__(self, interrupted=None):
        self.interrupted = interrupted
        self.begun = []

    def __call__(self, what, done, total):
        kind, _, number = what.partition(" ")
        if kind != "epoch" or not number.isdigit():
            return
        epoch = int(number) - 1
        if epoch not in self.begun:
            self.begun.append(epoch)
        if epoch == self.interrupted:
            raise KeyboardInterrupt
