"""Stage one: features, learned weights, calibration, reasons, functions and excerpts.

It imports core, git, code, paths, reports, retrieval and storage.

Modules for other packages: background, calibration, evidence, excerpts, extraction, features,
fitting, functions, later_fixes, line_history, presence, ranking_lists, reasons, stage_one,
suspect_candidates, suspect_features, suspects, tables.
"""
