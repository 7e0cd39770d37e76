"""Labelled reports from a project's own issue tracker and history.

It imports localize and all packages below it, but not train.

Modules for other packages: github, mining.
"""
