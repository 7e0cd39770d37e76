"""A tiny encoder of random weights, made here: nothing is downloaded; and progress that interrupts a training."""

import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast, RobertaConfig, RobertaModel

MARKS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
WORDS = "a b c door window lock key opens fails class push pull red blue".split()


def write_encoder(folder, *, width=16, seed=1, roberta=False, words=WORDS):
    torch.manual_seed(seed)
    sizes = {
        "vocab_size": len(MARKS) + len(words),
        "hidden_size": width,
        "intermediate_size": 32,
        "pad_token_id": 0,
    }
    sizes |= {
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "max_position_embeddings": 35 if roberta else 34,
    }
    model = RobertaModel(RobertaConfig(**sizes)) if roberta else BertModel(BertConfig(**sizes))
    model.save_pretrained(folder)
    vocabulary = {word: number for number, word in enumerate([*MARKS, *words])}
    made = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    marks = [("[CLS]", 2), ("[SEP]", 3)]
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=marks
    )
    tokens = dict(zip(("pad_token", "unk_token", "cls_token", "sep_token"), MARKS, strict=True))
    PreTrainedTokenizerFast(tokenizer_object=made, **tokens).save_pretrained(folder)
    return folder


class Epochs:
    """Called as progress; raises KeyboardInterrupt within epoch ``interrupted`` (from 0), after its first step."""

    def __init__(self, interrupted=None):
        self.interrupted = interrupted
        self.begun = []

    def __call__(self, what, done, total):
        kind, _, number = what.partition(" ")
        if kind != "epoch" or not number.isdigit():
            return
        epoch = int(number) - 1
        self.begun += [epoch] if epoch not in self.begun else []
        if epoch == self.interrupted:
            raise KeyboardInterrupt
