"""Training: labelled reports to a checkpoint, and rankings of many reports to runs.

It imports localize, evaluate and all packages below them.

Modules for other packages: experiment, training.
"""
