"""The words of paths, and the files that a path written in a report means."""

from tosloc.retrieval.paths.path_index import PathTable, VersionPaths, file_stem

__all__ = ["PathTable", "VersionPaths", "file_stem"]
