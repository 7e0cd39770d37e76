"""Experiments for researchers: published techniques, tables of the paper, ablations.

It imports train and all packages below that, and terminal for its commands; only cli imports it.

Modules for other packages: commands.
"""
