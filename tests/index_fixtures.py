"""Facts, versions and query contexts written down by hand."""

import os
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime

import numpy as np
import pytest

from tosloc.code.facts import Facts
from tosloc.code.languages import FIELDS
from tosloc.core.records import BugReport, Snapshot
from tosloc.retrieval.context import QueryContext, VersionIndex
from tosloc.retrieval.corpus import Corpus, pack_facts
from tosloc.retrieval.documents import Document, Documents
from tosloc.retrieval.history_index import HistoryIndex
from tosloc.retrieval.paths import PathTable
from tosloc.retrieval.postings import group_starts
from tosloc.retrieval.query import Query

# trees on tables this small gain nothing from a second thread, and wait for it where others use the processor
os.environ.setdefault("OMP_THREAD_LIMIT", "1")


def packed(fields, complexity):
    """The facts of a blob, of field -> words; "/" parts chunks in code, comments and strings stand in the first one."""
    counts = {}
    for name, words in fields.items():
        for term in words.replace("/", " ").split():
            counts.setdefault(term, [0] * len(FIELDS))[FIELDS.index(name)] += 1
    terms = sorted(counts)
    chunks = [Counter(piece.split()) for piece in fields.get("code", "").split("/")]
    chunks[0] += Counter(fields.get("comment", "").split()) + Counter(
        fields.get("string", "").split()
    )
    pairs = [
        (terms.index(term), count) for chunk in chunks for term, count in sorted(chunk.items())
    ]
    of_chunks = np.array(pairs, dtype=np.int32).reshape(-1, 2).T
    rows = np.array([counts[term] for term in terms], dtype=np.uint16).reshape(
        len(terms), len(FIELDS)
    )
    starts = group_starts([len(chunk) for chunk in chunks])
    return pack_facts(
        Facts(
            terms, rows, starts, of_chunks[0], of_chunks[1].astype(np.uint8), complexity=complexity
        )
    )


@pytest.fixture(scope="session")
def make_corpus():
    """Function (blob -> field -> words, complexity={}) -> Corpus."""

    def make(blobs, complexity=None):
        payloads = (
            packed(fields, (complexity or {}).get(blob, 0)) for blob, fields in blobs.items()
        )
        return Corpus.from_rows(list(blobs), payloads)

    return make


def report_of(summary="", description="", opened=1000 * 86_400):
    """A report opened on day 1000."""
    return BugReport("r", summary, description, datetime.fromtimestamp(opened, UTC))


DAY = 86_400


@pytest.fixture(scope="session")
def make_context(make_corpus):
    """Function (files, summary, description, commits, reports, complexity, gone) -> QueryContext on day 1000.

    ``files``: path -> field -> words, in path order. ``commits`` and ``reports``: (days before it, words, paths)
    or (days, words, paths, classes of stack frames). ``gone``: paths that the version lacks.
    """

    def make(files, summary="", description="", commits=(), reports=(), complexity=None, gone=()):
        texts = files if isinstance(files, Mapping) else {path: {} for path in files}
        snapshot = Snapshot.of("v", 0, {path: f"blob of {path}" for path in texts})
        blobs = {f"blob of {path}": fields for path, fields in texts.items()}
        table = make_corpus(
            blobs, {f"blob of {path}": value for path, value in (complexity or {}).items()}
        )
        paths = [*snapshot.paths, *gone]
        number = {path: place for place, path in enumerate(paths)}

        def documents(entries):
            made = []
            for place, (days, words, touched, *classes) in enumerate(entries):
                ids = tuple(number[path] for path in touched)
                at = int((1000 - days) * DAY)
                frames = tuple(classes[0]) if classes else ()
                made.append(
                    Document(
                        f"d{place}", at, place, f"c{place}", Counter(words.split()), ids, frames
                    )
                )
            return Documents.collect(made)

        version = VersionIndex(table, snapshot, PathTable.of(paths))
        history = HistoryIndex(documents(commits), documents(reports)).as_of(1000.0 * DAY)
        return QueryContext(Query(report_of(summary, description)), version, history)

    return make
