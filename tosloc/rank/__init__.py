"""Stage one: features, learned weights, calibration, reasons, functions and excerpts.

It imports core, git, code, paths, reports, retrieval and storage.

Modules for other packages: explain, features, features.extraction, model, model.fitting, suspects.
"""
