"""Encoders of CodeBERT's and RoBERTa's size with random weights, where the published ones are not at hand.

    python scripts/random_encoders.py tomcat.pack encoders

writes ``encoders/code`` and ``encoders/report``, which ``code_encoder`` and ``report_encoder`` may name: 12 layers of
width 768, each with a vocabulary of its own, learned from a pack's files, and from its training reports and files. They
know nothing: they are for seeing that training runs, what memory it takes and how long a step is.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

import torch
from tokenizers import ByteLevelBPETokenizer
from tokenizers.processors import RobertaProcessing
from transformers import PreTrainedTokenizerFast, RobertaConfig, RobertaModel

from tosloc.lab.bundle import read_bundle
from tosloc.reranking.encoder.texts import report_text

MARKS = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")


def random_encoder(folder: Path, texts: Iterable[str], config: RobertaConfig, seed: int) -> tuple[int, int]:
    """Write an encoder of this architecture to the folder; its numbers of tokens and of parameters.

    The vocabulary is a byte-level BPE, as RoBERTa's, of at most ``config.vocab_size`` tokens.
    """
    bpe = ByteLevelBPETokenizer()
    bpe.train_from_iterator(
        texts, vocab_size=config.vocab_size, min_frequency=2, special_tokens=list(MARKS), show_progress=False
    )
    backend = bpe._tokenizer
    backend.post_processor = RobertaProcessing(("</s>", MARKS.index("</s>")), ("<s>", MARKS.index("<s>")))
    tokenizer = PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=backend,
        bos_token="<s>",
        eos_token="</s>",
        pad_token="<pad>",
        unk_token="<unk>",
        mask_token="<mask>",
        model_max_length=config.max_position_embeddings - 2,
    )
    torch.manual_seed(seed)
    model = RobertaModel(config)
    tokenizer.save_pretrained(folder)
    model.save_pretrained(folder)
    return len(tokenizer), sum(values.numel() for values in model.parameters())


def main(pack: Path, out: Path, config: RobertaConfig | None = None) -> None:
    """Both encoders of a pack."""
    # the published models' sizes; 514 places, of which RoBERTa uses 512
    config = config or RobertaConfig(
        vocab_size=50265, max_position_embeddings=514, type_vocab_size=1, layer_norm_eps=1e-5
    )
    bundle = read_bundle(pack)
    code = list(bundle.texts.values())
    reports = [report_text(one.report) for one in bundle.parts["train"]]
    for seed, (name, texts) in enumerate({"code": code, "report": reports + code}.items()):
        tokens, parameters = random_encoder(out / name, texts, config, seed)
        print(f"{out / name}: {tokens:,} tokens, {parameters / 1e6:.1f} million parameters")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
