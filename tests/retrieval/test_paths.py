"""What paths alone say: tests, test counterparts, classes, BM25 of their words."""

import numpy as np

from tosloc.retrieval.paths import PathTable, PathView

PATHS = (
    "java/org/apache/Tomcat.java",
    "java/org/apache/core/StandardContext.java",
    "java/org/apache/core/Standard Wrapper.java",
    "test/org/apache/core/TestStandardContext.java",
    "java/com/core/StandardContext.java",
    "Root.java",
)


def view_of(paths, present=None):
    table = PathTable.of(paths)
    rows = range(len(paths)) if present is None else present
    return PathView(table, np.array(list(rows), dtype=np.int32))


def test_files_and_their_tests_share_a_group():
    names = "Foo.java FooTest.java FooTests.java FooTestCase.java TestFoo.java x/Foo.test.ts y/Foo_test.go".split()
    assert len(set(PathTable.of((*names, "z/Test_Foo.py")).counterpart_group.tolist())) == 1
    groups = PathTable.of(PATHS).counterpart_group
    assert groups[1] == groups[3] == groups[4]
    assert len({int(groups[row]) for row in (0, 1, 2, 5)}) == 4


def test_rows_of_a_qualified_class():
    view = view_of(PATHS)
    for spelled, rows in (
        ("org.apache.core.StandardContext", [1]),
        ("org.apache.core.StandardContext$Inner$1", [1]),
        ("org.apache.core.StandardContext.Inner", [1]),
        ("StandardContext", [1, 4]),
        ("com.core.StandardContext", [4]),
        ("pache.core.StandardContext", []),
        ("org.apache.core.Missing", []),
        ("org.apache.core.Standard Wrapper", [2]),
        ("Root", [5]),
        ("org.Root", []),
        ("", []),
        (".", []),
    ):
        assert view.find_by_class(spelled) == rows, spelled
    # Inner.java of another version must not hide that Outer.Inner is part of Outer.java
    paths = ("org/x/Outer.java", "org/x/Inner.java", "org/x/Outer/Inner.java")
    assert view_of(paths, [0]).find_by_class("org.x.Outer.Inner") == [0]
    assert view_of(paths).find_by_class("org.x.Outer.Inner") == [2]


def test_rows_of_a_file_that_a_frame_spells():
    view = view_of(("app/core/views.py", "app/admin/views.py", "lib/app/core/views.py"), [0, 1])
    for spelled, rows in {
        "/usr/lib/app/core/views.py": [0],
        "C:\\app\\admin\\views.py": [1],
        "other/views.py": [0, 1],
        "core/views.js": [],
        "": [],
    }.items():
        assert view.find_by_frame_path(spelled) == rows, spelled


OWN = (
    "python/shop/door.py",
    "python/shop/old/door.py",
    "setup.py",
    "src/shop/Door.java",
    "src/door.h",
    "web/util.js",
)


def test_rows_of_a_written_place():
    view = view_of(OWN)
    for spelled, rows in (
        ("/home/me/python/shop/door.py", [0]),
        ("shop/door.py", [0]),
        ("door.py", [0, 1]),
        ("/env/lib/python3.8/site-packages/shop/door.py", [0]),
        ("/env/lib/python3.8/site-packages/other/door.py", []),
        ("/env/lib/python3.8/site-packages/setup.py", [2]),
        ("/env/lib/python3.8/site-packages/door.py", []),
        ("/env/lib/python3.8/door.py", []),
        ("/usr/lib/python3/dist-packages/old/door.py", [1]),
        ("site-packages/shop-1.2-py3.6.egg/shop/door.py", [0]),
        ("site-packages/other/python/shop/door.py", []),
        ("node_modules/@shop/web/util.js", [5]),
        ("/home/me/moved/old/door.py", [1]),
        ("node_modules/other/util.js", []),
        ("door.cpp", []),
        ("", []),
        ("/..", []),
    ):
        assert view.find_by_location(spelled) == rows, spelled
    assert view.find_by_location("shop/Door.java", qualified=True) == [3]
    assert view.find_by_location("other/Door.java", qualified=True) == []
