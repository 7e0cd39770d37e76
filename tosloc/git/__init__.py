"""Git repositories: object store, revisions, trees, blobs and history.

It imports core.

Modules for other packages: discovery, fixes, history, patches, process, repository.
"""
