"""What a path says about a file: its class, the globs that match it, its owners.

It imports core.

Modules for other packages: classify, code_owners, globs.
"""
