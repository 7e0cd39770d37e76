"""Write encoders of CodeBERT's and RoBERTa's size with random weights.

``random_encoders.py PACK OUT`` writes ``OUT/code`` and ``OUT/report``, which ``code_encoder`` and
``report_encoder`` may name: 12 layers of width 768 (or as ``--layers`` and ``--width`` say), each
with a vocabulary of its own, learned from a pack's files, and from its training reports and files.
They know nothing. They show whether training runs, what memory it takes and how long a step is,
where the published encoders are not available.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tosloc.cli.guard import run_guarded
from tosloc.core.errors import require

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast, RobertaConfig

SPECIAL_TOKENS: Final = {
    "bos_token": "<s>",
    "pad_token": "<pad>",
    "eos_token": "</s>",
    "unk_token": "<unk>",
    "mask_token": "<mask>",
}
"""Name of a special token -> its text; a token's id is its position here."""


def write_encoders(pack: Path, out: Path, config: RobertaConfig) -> None:
    """Write both encoders of a pack, of this architecture. Raises ToslocError for a wrong pack.

    A vocabulary is a byte-level BPE, as RoBERTa's, of at most ``config.vocab_size`` tokens.
    """
    from tosloc.lab.bundle import read_bundle
    from tosloc.rerank.encoder.encoders import report_text

    bundle = read_bundle(pack)
    code = list(bundle.texts.values())
    reports = [report_text(case.report) for case in bundle.parts["train"]]
    for seed, (name, texts) in enumerate({"code": code, "report": reports + code}.items()):
        write_encoder(out / name, texts, config, seed)


def write_encoder(folder: Path, texts: list[str], config: RobertaConfig, seed: int) -> None:
    """Write an encoder of this architecture with a vocabulary learned from texts."""
    import torch
    from transformers import RobertaModel

    tokenizer = _train_tokenizer(texts, config)
    torch.manual_seed(seed)
    model = RobertaModel(config)
    tokenizer.save_pretrained(folder)
    model.save_pretrained(folder)
    parameters = sum(values.numel() for values in model.parameters())
    print(f"{folder}: {len(tokenizer):,} tokens, {parameters / 1e6:.1f} million parameters")


def _train_tokenizer(texts: list[str], config: RobertaConfig) -> PreTrainedTokenizerFast:
    """Learn a vocabulary from texts and return its tokenizer."""
    from tokenizers import ByteLevelBPETokenizer
    from tokenizers.processors import RobertaProcessing
    from transformers import PreTrainedTokenizerFast

    special_tokens = list(SPECIAL_TOKENS.values())
    bpe = ByteLevelBPETokenizer()
    bpe.train_from_iterator(
        texts, config.vocab_size, show_progress=False, special_tokens=special_tokens
    )
    backend = bpe._tokenizer
    end = ("</s>", special_tokens.index("</s>"))
    begin = ("<s>", special_tokens.index("<s>"))
    backend.post_processor = RobertaProcessing(end, begin)
    max_tokens = config.max_position_embeddings - 2
    return PreTrainedTokenizerFast(
        tokenizer_object=backend, model_max_length=max_tokens, **SPECIAL_TOKENS
    )  # type: ignore[no-untyped-call]


def main(arguments: Sequence[str] | None = None) -> int:
    """Write both encoders, by default in the published models' size.

    Raises MissingExtra if torch or transformers is not installed.
    """
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("pack", type=Path, metavar="PACK", help="file that tosloc lab pack wrote")
    parser.add_argument("out", type=Path, metavar="OUT", help="folder to write the encoders to")
    parser.add_argument("--layers", type=int, default=12, help="number of layers; default: 12")
    parser.add_argument(
        "--width", type=int, default=768, help="width, up to 64 or a multiple of it; default: 768"
    )
    options = parser.parse_args(arguments)
    require("writing encoders", "encoder", "torch", "transformers")
    from transformers import RobertaConfig

    size = RobertaConfig(
        num_hidden_layers=options.layers,
        hidden_size=options.width,
        num_attention_heads=max(1, options.width // 64),
        intermediate_size=4 * options.width,
        max_position_embeddings=514,  # of which RoBERTa uses 512
    )
    write_encoders(options.pack, options.out, size)
    return 0


if __name__ == "__main__":
    raise SystemExit(run_guarded(main))
