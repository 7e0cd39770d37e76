"""Indexes of one version and its history, and the queries that search them.

It imports core, git, code, paths and reports.

Modules for other packages: history, paths, query, text_matches, texts, version_index.
"""
