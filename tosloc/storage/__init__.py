"""Facts of blobs on disk, and building and opening an indexed version.

It imports core, git, code, paths, reports and retrieval.

Modules for other packages: cache, repository, store.
"""
