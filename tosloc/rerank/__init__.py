"""Stage two: rerankers, which score the first files anew. They know candidates and history, not stage one."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

from tosloc.errors import require

if TYPE_CHECKING:
    from tosloc.rerank.base import Reranker

RERANKERS: Final = {
    "terms": ("tosloc.rerank.terms.reranker", "TermReranker"),
    "encoder": ("tosloc.rerank.encoder.reranker", "EncoderReranker"),
}
"""Name in ``[stage_two] reranker`` -> module and class; loaded when first asked for, since encoders bring torch."""


def reranker_class(name: str) -> type[Reranker]:
    """The class of a reranker, by its name in the configuration."""
    if name == "encoder":
        require("the encoder reranker", "encoder", "torch", "transformers", "accelerate")
    module, kind = RERANKERS[name]
    found: type[Reranker] = getattr(import_module(module), kind)
    return found
