"""Which tests are those of a file, by names and folders."""

import numpy as np
import pytest

from tosloc.rank.explain.reasons import FileReasons
from tosloc.rank.explain.related_tests import find_tests
from tosloc.retrieval.paths import PathTable, VersionPaths


def find_names(file, *others):
    """Return the tests of a file in a version with some other files."""
    paths = sorted((file, *others))
    version = VersionPaths(PathTable.of(paths), np.arange(len(paths), dtype=np.int32))
    return [paths[row] for row in find_tests(version, paths.index(file))]


@pytest.mark.parametrize(
    ("file", "test"),
    [
        ("src/flask/cli.py", "tests/test_cli.py"),
        ("java/org/shop/Cart.java", "test/org/shop/TestCart.java"),
        ("okhttp/src/main/kotlin/okhttp3/Dns.kt", "okhttp/src/test/java/okhttp3/DnsTest.java"),
        ("lib/rules/semi.js", "tests/lib/rules/semi.js"),
        ("src/store/state_adapter.ts", "src/store/tests/state_adapter.test.tsx"),
        ("monai/networks/nets/unet.py", "tests/networks/nets/test_unet.py"),
        ("runtime/vm/list.h", "runtime/vm/list_test.cc"),
    ],
)
def test_conventions_of_projects(file, test):
    assert find_names(file, test) == [test]


@pytest.mark.parametrize(
    ("file", "test"),
    [
        ("interop/server/server.go", "xds/server_test.go"),
        ("lib/src/query.c", "crates/cli/src/tests/query_test.rs"),
        ("src/shop/utils.py", "tests/utils.py"),
        ("src/shop/__init__.py", "tests/__init__.py"),
        ("CMakeLists.txt", "test/CMakeLists.txt"),
        ("src/test_util.ts", "src/tests/util.ts"),
    ],
)
def test_a_name_alone_is_not_enough(file, test):
    assert find_names(file, test) == []


def test_a_test_belongs_to_the_nearest_file_of_its_name():
    files = ("a/core/store.ts", "b/core/store.ts")
    tests = ("a/core/tests/store.test.ts", "b/core/tests/store.test.ts")
    assert find_names(files[0], files[1], *tests) == [tests[0]]
    assert find_names(files[1], files[0], *tests) == [tests[1]]


def test_the_nearest_test_comes_first():
    far = "tests/unit/TreeTest.java"
    near = "tests/garden/TreeTest.java"
    assert find_names("src/garden/Tree.java", far, near) == [near, far]


def test_a_name_of_very_many_files_shows_no_tests():
    others = [f"pack{number}/mod.ts" for number in range(200)]
    assert find_names("core/mod.ts", "core/mod.test.ts", *others) == []


def test_a_cited_test_is_among_the_tests_of_the_file(make_context):
    """A reason cites only tests that the line "Tests" names, too."""
    texts = {f"pack{number}/tests/TreeTest.java": {"code": "tree"} for number in range(4)}
    context = make_context(texts | {"src/Tree.java": {"code": "tree"}}, "Growing tree")
    reasons = FileReasons(context)
    paths = context.version.snapshot.paths
    row = int(reasons.paths.path_ids[paths.index("src/Tree.java")])
    tests = {reasons.paths.table.paths[test] for test in reasons.tests_named_like(row)}
    cited = set()
    for file, path in enumerate(paths):
        reason = reasons.counterpart(paths.index("src/Tree.java"), [file])
        if reason is not None:
            cited.add(path)
    assert cited == tests
