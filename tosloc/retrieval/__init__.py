"""Indexes of one version and its history, and the queries that are asked of them.

It imports core, git, code, paths and reports.

Modules for other packages: bm25, context, corpus, documents, formulas, history_index, messages,
named_history, paths, payloads, postings, query, releases, renames.
"""
