"""Facts, versions and query contexts written by hand."""

import os
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime

import numpy as np
import pytest

from tosloc.code.facts import Facts
from tosloc.code.languages import FIELDS
from tosloc.code.literals import find_literal_pairs
from tosloc.code.parse import lex
from tosloc.core.reports import BugReport
from tosloc.core.versions import Snapshot
from tosloc.git.repository import Tag
from tosloc.rank.features.query_context import QueryContext
from tosloc.retrieval.history.history_index import HistoryIndex
from tosloc.retrieval.history.releases import Releases
from tosloc.retrieval.paths.path_index import PathTable
from tosloc.retrieval.query import Query
from tosloc.retrieval.texts.corpus import Corpus, pack_facts
from tosloc.retrieval.texts.documents import Document, Documents
from tosloc.retrieval.texts.postings import group_starts
from tosloc.retrieval.version_index import VersionIndex

# Trees on tables this small gain nothing from a second thread, and wait for it on a busy machine.
os.environ.setdefault("OMP_THREAD_LIMIT", "1")

DAY = 86_400
REPORT_DAY = 1000
"""Day, counted from 1970, on which every report is opened."""


def make_facts(words_by_field, complexity):
    """Return the packed facts of a blob.

    ``words_by_field``: name of a field -> its words. "/" separates the chunks of the code; comments
    and strings belong to the first chunk. The field "literals" has the text of string literals,
    separated by "/", which are in no other field.
    """
    counts = {}
    literals = words_by_field.get("literals", "")
    for field, words in words_by_field.items():
        if field == "literals":
            continue
        for term in words.replace("/", " ").split():
            counts.setdefault(term, [0] * len(FIELDS))[FIELDS.index(field)] += 1
    terms = sorted(counts)
    chunks = [Counter(piece.split()) for piece in words_by_field.get("code", "").split("/")]
    for field in ("comment", "string"):
        chunks[0] += Counter(words_by_field.get(field, "").split())
    chunk_terms = []
    chunk_counts = []
    for chunk in chunks:
        for term, count in sorted(chunk.items()):
            chunk_terms.append(terms.index(term))
            chunk_counts.append(count)
    rows = np.array([counts[term] for term in terms], dtype=np.uint16)
    facts = Facts(
        terms,
        rows.reshape(len(terms), len(FIELDS)),
        group_starts([len(chunk) for chunk in chunks]),
        np.array(chunk_terms, dtype=np.int32),
        np.array(chunk_counts, dtype=np.uint8),
        complexity=complexity,
    )
    source = ", ".join(f'"{literal}"' for literal in literals.split("/")).encode()
    facts.literal_pairs = find_literal_pairs(source, lex(source, "c").spans)
    return pack_facts(facts)


@pytest.fixture(scope="session")
def make_corpus():
    """Return a function (blob -> field -> words, blob -> complexity) -> Corpus."""

    def make(blobs, complexity=None):
        complexity_by_blob = complexity or {}
        payloads = []
        for blob, words_by_field in blobs.items():
            payloads.append(make_facts(words_by_field, complexity_by_blob.get(blob, 0)))
        return Corpus.from_rows(list(blobs), payloads)

    return make


@pytest.fixture(scope="session")
def make_context(make_corpus):
    """Return a function that makes the query context of a report opened on day ``REPORT_DAY``.

    Its arguments are (files, summary, description, commits, reports, complexity, gone, merges,
    tags, bounds):

    - ``files``: path -> field -> words, in path order, or a list of paths;
    - ``commits`` and ``reports``: tuples (days before the report, words, paths), of reports also
      with the classes of their stack frames as a fourth value, of commits with their names;
    - ``complexity``: path -> complexity;
    - ``gone``: paths that the version no longer has;
    - ``merges``: tuples (days before the report, names, paths);
    - ``tags``: tag -> days before the report;
    - ``bounds``: what git's ancestry would say about the ends that the report names.
    """

    def make(
        files,
        summary="",
        description="",
        commits=(),
        reports=(),
        complexity=None,
        gone=(),
        **named,
    ):
        texts = files if isinstance(files, Mapping) else {path: {} for path in files}
        snapshot = Snapshot.of("v", 0, {path: f"blob of {path}" for path in texts})
        blobs = {f"blob of {path}": words_by_field for path, words_by_field in texts.items()}
        complexity_by_blob = {
            f"blob of {path}": value for path, value in (complexity or {}).items()
        }
        corpus = make_corpus(blobs, complexity_by_blob)
        paths = [*snapshot.paths, *gone]
        version = VersionIndex(corpus, snapshot, PathTable.of(paths))
        named_merges = [
            (days, "", touched, names) for days, names, touched in named.get("merges", ())
        ]
        index = HistoryIndex(
            collect_documents(commits, paths),
            collect_documents(reports, paths),
            merges=collect_documents(named_merges, paths, prefix="m"),
            releases=Releases.collect(make_tag(*tag) for tag in named.get("tags", {}).items()),
        )
        opened = REPORT_DAY * DAY
        report = BugReport("r", summary, description, datetime.fromtimestamp(opened, UTC))
        context = QueryContext(Query(report), version, index.as_of(float(opened)))
        if "bounds" in named:
            bounds = named["bounds"]
            vars(context.named_history).update(bounds=bounds, range=bounds.range)
        return context

    return make


def make_tag(name, days):
    """Return a tag that was made so many days before the report."""
    at = int((REPORT_DAY - days) * DAY)
    return Tag(name, at, at)


def collect_documents(entries, paths, prefix="c"):
    """Return the documents of commits or reports, in the form that ``make_context`` describes.

    ``prefix`` begins the ids of their commits.
    """
    documents = []
    for number, (days, words, touched, *classes) in enumerate(entries):
        document = Document(
            id=f"d{number}",
            at=int((REPORT_DAY - days) * DAY),
            commit=number,
            commit_id=f"{prefix}{number}",
            terms=Counter(words.split()),
            paths=tuple(paths.index(path) for path in touched),
            classes=tuple(classes[0]) if classes else (),
        )
        documents.append(document)
    return Documents.collect(documents)
