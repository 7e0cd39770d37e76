"""Git repositories: object store, revisions, trees, blobs and history.

It imports core.

Modules for other packages: change_names, discovery, fixes, history, patches, process, repository.
"""
