"""Training of a checkpoint from labelled reports, and runs with the rankings of many reports.

It imports localize, evaluate and all packages below them.

Modules for other packages: experiment, training.
"""
