"""Tiny encoders of random weights, made without downloads; progress that interrupts training."""

import json

import torch
import transformers
from tokenizers import ByteLevelBPETokenizer, Tokenizer, models, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

MARKS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
WORDS = "a b c door window lock key opens fails class push pull red blue".split()
QWEN_END = "<|endoftext|>"
"""Mark that every tokenizer of Qwen has."""
MAX_TOKENS = 34
"""Tokens that every tiny encoder reads."""
MARK_IDS = {"pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3}
QWEN = {"num_key_value_heads": 2, **MARK_IDS}
MODERNBERT = {"cls_token_id": 2, "sep_token_id": 3, **MARK_IDS}
KINDS = {
    "bert": ("Bert", "BertModel", {"pad_token_id": 0}),
    # RoBERTa counts positions from its padding token on.
    "roberta": (
        "Roberta",
        "RobertaForMaskedLM",
        {"pad_token_id": 0, "max_position_embeddings": MAX_TOKENS + 1},
    ),
    "nomic_bert": ("NomicBert", "NomicBertModel", {"pad_token_id": 0}),
    "modernbert": ("ModernBert", "ModernBertForMaskedLM", MODERNBERT),
    "qwen2": ("Qwen2", "Qwen2ForCausalLM", QWEN),
    "qwen3": ("Qwen3", "Qwen3ForCausalLM", QWEN | {"head_dim": 8}),
    "t5": ("T5", "T5ForConditionalGeneration", {"pad_token_id": 0, "eos_token_id": 3}),
}
"""Kind of encoder -> its name in transformers, the class that the hub has of it, and settings.

The hub's checkpoints of most kinds have a head, which no vector depends on."""


def write_encoder(folder, *, width=16, seed=1, kind="bert", words=WORDS):
    """Write an encoder of a kind as the hub has it, and return the folder.

    It reads 34 tokens. Its tokens are whole words, the first of which has number 4, after the
    marks; only Qwen's are pieces of words.
    """
    tokenizer = make_tokenizer(kind, words)
    torch.manual_seed(seed)
    make_model(kind, width, tokenizer.get_vocab_size()).save_pretrained(folder)
    if kind == "nomic_bert":
        use_older_names(folder / "config.json")
    save_tokenizer(tokenizer, folder, kind)
    return folder


def has_kind(kind):
    """Return whether the installed transformers have a kind of encoder."""
    return hasattr(transformers, KINDS[kind][1])


def make_model(kind, width, vocabulary):
    """Return a model of random weights with two heads of attention."""
    name, class_name, options = KINDS[kind]
    sizes = {
        "vocab_size": vocabulary,
        "hidden_size": width,
        "intermediate_size": 32,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "max_position_embeddings": MAX_TOKENS,
    }
    if kind == "t5":
        sizes = {
            "vocab_size": vocabulary,
            "d_model": width,
            "d_kv": width // 2,
            "d_ff": 32,
            "num_layers": 1,
            "num_heads": 2,
            "decoder_start_token_id": 0,
        }
    config = getattr(transformers, f"{name}Config")(**(sizes | options))
    return getattr(transformers, class_name)(config)


def use_older_names(file):
    """Write settings as the hub's checkpoints of NomicBert have them, which also name own code."""
    config = json.loads(file.read_text())
    code = "nomic-ai/nomic-bert-2048--modeling_hf_nomic_bert"
    older = {
        "architectures": ["NomicBertModel"],
        "auto_map": {
            "AutoConfig": f"{code}.NomicBertConfig",
            "AutoModel": f"{code}.NomicBertModel",
        },
        "model_type": "nomic_bert",
        "n_embd": config["hidden_size"],
        "n_head": config["num_attention_heads"],
        "n_inner": config["intermediate_size"],
        "n_layer": config["num_hidden_layers"],
        "n_positions": config["max_position_embeddings"],
        "layer_norm_epsilon": config["layer_norm_eps"],
        "rotary_emb_base": 1000,
        "vocab_size": config["vocab_size"],
    }
    file.write_text(json.dumps(older))


def make_tokenizer(kind, words):
    """Return a tokenizer; those of Qwen and T5 set no mark before a text.

    Qwen's reads bytes, since transformers take no tokenizer of whole words for it.
    """
    if kind in ("qwen2", "qwen3"):
        bpe = ByteLevelBPETokenizer()
        bpe.train_from_iterator(words, 300, show_progress=False, special_tokens=[*MARKS, QWEN_END])
        tokenizer = bpe._tokenizer
    else:
        vocabulary = {word: number for number, word in enumerate([*MARKS, *words])}
        tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
        tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    template = "$A [SEP]" if kind in ("qwen2", "qwen3", "t5") else "[CLS] $A [SEP]"
    tokenizer.post_processor = processors.TemplateProcessing(
        single=template, special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return tokenizer


def save_tokenizer(tokenizer, folder, kind):
    """Write a tokenizer as transformers do."""
    pad, unknown, first, last = MARKS
    options = {"model_max_length": MAX_TOKENS} if kind == "t5" else {}
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=pad,
        unk_token=unknown,
        cls_token=first,
        sep_token=last,
        **options,
    ).save_pretrained(folder)


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
