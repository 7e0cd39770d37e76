"""Stage one: features, learned weights, calibration, reasons, functions and excerpts.

It imports core, git, code, paths, reports, retrieval and storage.

Modules for other packages: background, calibration, excerpts, extraction, features, fitting,
functions, ranking_lists, reasons, stage_one, suspects, tables.
"""
