"""Texts of files and of the history as postings, and the formulas that score them."""

from tosloc.retrieval.texts.bm25 import min_max
from tosloc.retrieval.texts.corpus import NO_FACTS, Corpus, pack_facts
from tosloc.retrieval.texts.documents import (
    DAY,
    Document,
    Documents,
    DocumentsView,
    check_documents,
)
from tosloc.retrieval.texts.formulas import K1, B, idf, length_norm, saturate_tf
from tosloc.retrieval.texts.payloads import pack, unpack
from tosloc.retrieval.texts.postings import (
    group_starts,
    group_sum,
    positions_by_name,
    row_sums,
    top_k,
)

__all__ = [
    "DAY",
    "K1",
    "NO_FACTS",
    "B",
    "Corpus",
    "Document",
    "Documents",
    "DocumentsView",
    "check_documents",
    "group_starts",
    "group_sum",
    "idf",
    "length_norm",
    "min_max",
    "pack",
    "pack_facts",
    "positions_by_name",
    "row_sums",
    "saturate_tf",
    "top_k",
    "unpack",
]
