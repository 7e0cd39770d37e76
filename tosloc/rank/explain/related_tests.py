"""Find the tests of a file by their names and folders.

All that an answer says about tests comes from here, so that its parts agree.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from tosloc.code.languages import language_name
from tosloc.paths.classify import FileClass
from tosloc.retrieval.paths import VersionPaths, file_stem

MAX_NAMESAKES: Final = 200
"""Largest number of files with a name; a name of more files, such as ``mod.rs``, shows no tests."""
_FAMILIES: Final = {
    "c": "cpp",
    "kotlin": "java",
    "scala": "java",
    "groovy": "java",
    "jsx": "javascript",
    "typescript": "javascript",
    "tsx": "javascript",
    "vue": "javascript",
}
"""Language -> a language whose tests may also test its files."""
_MARKED: Final = frozenset({"python", "go", "java", "csharp"})
"""Languages in which a test never has the very name of the file that it tests."""
_ROOTS: Final = frozenset(
    "src source sources lib java kotlin scala python testing unit integration functional".split()
)
"""Names of folders that say only where a project keeps its sources or its tests."""
_ENDS_OF_ROOTS: Final = ("main", "test", "tests", "spec", "specs")
"""Ends of such names: jvmTest, commonMain."""
_CLASSES_WITHOUT_TESTS: Final = (FileClass.TEST, FileClass.BUILD, FileClass.DOCUMENTATION)


def find_tests(paths: VersionPaths, row: int) -> list[int]:
    """Return the rows of a file's tests, the nearest first; empty if the file is a test itself.

    A test has the name of the file, with a mark such as ``test_``, and is in the same language or a
    related one. If other files have that name, it tests only those that are nearest by folders. A
    name of one word needs folders that agree, because many folders have a ``config``.
    """
    table = paths.table
    if table.file_class[row] in _CLASSES_WITHOUT_TESTS:
        return []
    same_name = np.flatnonzero(table.counterpart_group == table.counterpart_group[row])
    present = same_name[paths.present[same_name]].tolist()
    if len(present) > MAX_NAMESAKES:
        return []
    tested = [other for other in present if not table.test[other]]
    nearest = []
    for test in present:
        if not table.test[test] or not _may_test(paths, test, row):
            continue
        distance = _distance(paths, test, row)
        others = [other for other in tested if _may_test(paths, test, other)]
        if all(_distance(paths, test, other) >= distance for other in others):
            nearest.append((distance, test))
    return [test for _, test in sorted(nearest)]


def _may_test(paths: VersionPaths, test: int, row: int) -> bool:
    """Return whether a test may be one of a file, by language, name and folders."""
    table = paths.table
    family = _family(table.paths[row])
    stem = file_stem(table.paths[row])
    stem_of_test = file_stem(table.paths[test])
    if _family(table.paths[test]) != family or stem not in stem_of_test:
        return False
    folders = _telling_folders(table.paths[row])
    folders_of_test = _telling_folders(table.paths[test])
    if stem == stem_of_test:
        return family not in _MARKED and folders == folders_of_test
    if table.compound_stem[row]:
        return True
    return folders <= folders_of_test or folders_of_test <= folders


def _distance(paths: VersionPaths, test: int, row: int) -> int:
    """Return the number of folders that only one of two files is in, without roots."""
    table = paths.table
    return len(_telling_folders(table.paths[test]) ^ _telling_folders(table.paths[row]))


def _family(path: str) -> str:
    """Return the language of a file; languages that test each other count as one."""
    language = language_name(path)
    return _FAMILIES.get(language, language)


def _telling_folders(path: str) -> frozenset[str]:
    """Return the names of a file's folders, without those of roots of sources and tests.

    >>> sorted(_telling_folders("src/test/java/org/shop/CartTest.java"))
    ['org', 'shop']
    """
    telling = set()
    for folder in path.split("/")[:-1]:
        name = folder.strip("_").lower()
        # A module's own name may end so, too: android-test.
        is_root = name in _ROOTS or ("-" not in name and name.endswith(_ENDS_OF_ROOTS))
        if not is_root:
            telling.add(folder)
    return frozenset(telling)
