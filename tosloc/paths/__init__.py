"""The class of a file, by its path and its content.

It imports core.

Modules for other packages: classify.
"""
