"""Runs, judgements, measures, statistics and comparison, independent of every model.

It imports core, git, code, paths and reports.

Modules for other packages: compare, measures, run_paths, runs, statistics, tables.
"""
