"""What paths show by themselves: tests, test counterparts, and files that names mean."""

import numpy as np
import pytest

from tosloc.retrieval.paths.path_index import PathTable, VersionPaths

PATHS = (
    "java/org/apache/Tomcat.java",
    "java/org/apache/core/StandardContext.java",
    "java/org/apache/core/Standard Wrapper.java",
    "test/org/apache/core/TestStandardContext.java",
    "java/com/core/StandardContext.java",
    "Root.java",
)


def make_view(paths, present=None):
    """Return a version with the rows ``present`` of some paths, by default with all."""
    rows = range(len(paths)) if present is None else present
    return VersionPaths(PathTable.of(paths), np.array(list(rows), dtype=np.int32))


@pytest.mark.parametrize(
    "name",
    [
        "FooTest.java",
        "FooTests.java",
        "FooTestCase.java",
        "TestFoo.java",
        "x/Foo.test.ts",
        "y/Foo_test.go",
        "z/Test_Foo.py",
    ],
)
def test_a_file_and_its_test_share_a_group(name):
    file_group, test_group = PathTable.of(("Foo.java", name)).counterpart_group
    assert file_group == test_group


def test_only_files_with_the_same_name_share_a_group():
    """The three files of StandardContext do; each other file has a group of its own."""
    groups = PathTable.of(PATHS).counterpart_group.tolist()
    assert groups[1] == groups[3]
    assert groups[1] == groups[4]
    assert len({groups[0], groups[1], groups[2], groups[5]}) == 4


@pytest.mark.parametrize(
    ("qualified", "rows"),
    [
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
    ],
)
def test_a_class_name_means_the_files_whose_folders_end_with_its_packages(qualified, rows):
    assert make_view(PATHS).find_by_class(qualified) == rows


NESTED = ("org/x/Outer.java", "org/x/Inner.java", "org/x/Outer/Inner.java")


def test_files_of_other_versions_do_not_hide_an_inner_class():
    """Inner.java is not in the version, so that Outer.Inner is a part of Outer.java."""
    assert make_view(NESTED, [0]).find_by_class("org.x.Outer.Inner") == [0]


def test_a_file_comes_before_an_inner_class_of_the_same_name():
    assert make_view(NESTED).find_by_class("org.x.Outer.Inner") == [2]


@pytest.mark.parametrize(
    ("path", "rows"),
    [
        ("/usr/lib/app/core/views.py", [0]),
        ("C:\\app\\admin\\views.py", [1]),
        ("other/views.py", [0, 1]),
        ("core/views.js", []),
        ("", []),
    ],
)
def test_a_path_in_a_frame_means_the_files_that_share_most_folders(path, rows):
    """The third file would share more folders, but is not in the version."""
    paths = ("app/core/views.py", "app/admin/views.py", "lib/app/core/views.py")
    assert make_view(paths, [0, 1]).find_by_frame_path(path) == rows


PROJECT_PATHS = (
    "python/shop/door.py",
    "python/shop/old/door.py",
    "setup.py",
    "src/shop/Door.java",
    "src/door.h",
    "web/util.js",
)


@pytest.mark.parametrize(
    ("path", "rows"),
    [
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
    ],
)
def test_a_location_means_the_files_that_agree_with_it_from_the_end(path, rows):
    assert make_view(PROJECT_PATHS).find_by_location(path) == rows


@pytest.mark.parametrize(("path", "rows"), [("shop/Door.java", [3]), ("other/Door.java", [])])
def test_a_qualified_location_agrees_in_all_its_folders(path, rows):
    assert make_view(PROJECT_PATHS).find_by_location(path, qualified=True) == rows


def test_a_whole_path_agrees_better_than_one_that_differs():
    """Both files share two names with the location, but only the second one ends there."""
    assert make_view(("y/b/door.py", "b/door.py")).find_by_location("/home/x/b/door.py") == [1]


CRATES = ("crates/door/src/lib.rs", "crates/shop/src/lib.rs", "src/lib.rs", "crates/cart/lib.rs")
REGISTRY = "/home/me/.cargo/registry/src/index-1ec"


@pytest.mark.parametrize(
    ("path", "rows"),
    [
        (f"{REGISTRY}/door-0.4.8/src/lib.rs", [0]),
        (f"{REGISTRY}/my-door-0.4.8/src/lib.rs", [0]),
        ("/go/pkg/mod/example.com/shop@v1.2.0-rc1/src/lib.rs", [1]),
        ("/var/lib/gems/2.7.0/gems/shop-1.2/src/lib.rs", [1]),
        (f"{REGISTRY}/other-0.4.8/src/lib.rs", [2]),
        (f"{REGISTRY}/other-0.4.8/cart/lib.rs", []),
        ("/build/shop-1.2/src/lib.rs", [1]),
        ("/build/shop-1/src/lib.rs", [2]),
    ],
)
def test_location_in_a_release_means_the_package_of_this_name(path, rows):
    assert make_view(CRATES).find_by_location(path) == rows


def test_frame_in_a_release_means_the_package_of_this_name():
    assert make_view(CRATES).find_by_frame_path("shop-0.4.8/src/lib.rs") == [1]


COMPILED = (
    "src/cart/wheel.ts",
    "src/main.ts",
    "src/cart/index.ts",
    "packages/shop/src/door.tsx",
    "packages/bank/src/door.ts",
    "src/cart/wheel.css",
)


@pytest.mark.parametrize(
    ("path", "rows"),
    [
        ("/app/node_modules/shop/dist/cjs/cart/wheel.js", [0]),
        ("/app/dist/cart/wheel.js", [0]),
        ("/app/node_modules/@our/shop/dist/door.mjs", [3]),
        ("/app/node_modules/other/lib/main.js", []),
        ("/app/node_modules/other/dist/cart/index.js", []),
        ("/app/node_modules/other/cart/wheel.js", []),
        ("/app/dist/cart/wheel.py", []),
        ("/home/me/lib/app/dist/cart/wheel.js", [0]),
        ("/home/me/cart/wheel.js", []),
    ],
)
def test_compiled_javascript_means_its_source(path, rows):
    assert make_view(COMPILED).find_by_location(path) == rows


@pytest.mark.parametrize(
    ("path", "rows"),
    [
        ("/app/node_modules/shop/lib/cart.js", [0]),
        ("/app/node_modules/@our/shop/lib/cart.js", [0]),
        ("/app/node_modules/shop/lib/deep/cart.js", []),
        ("/app/node_modules/shop/lib/index.js", []),
        ("/app/node_modules/shop/main.js", []),
        ("/app/site-packages/shop/lib/cart.js", []),
    ],
)
def test_package_in_node_modules_may_be_the_project(path, rows):
    assert make_view(("lib/cart.js", "lib/index.js", "main.js")).find_by_location(path) == rows


def test_compiled_javascript_of_the_version_means_itself():
    paths = (*COMPILED, "dist/cart/wheel.js")
    assert make_view(paths).find_by_location("/app/dist/cart/wheel.js") == [len(COMPILED)]


JULIA = ("src/Shop.jl", "src/cart.jl", "src/array.jl")


@pytest.mark.parametrize(
    ("path", "rows"),
    [
        ("/home/me/.julia/packages/Shop/x1Yz2/src/cart.jl", [1]),
        ("/home/me/.julia/dev/Shop/src/cart.jl", [1]),
        ("/home/me/.julia/v0.6/Shop/src/cart.jl", [1]),
        ("/home/me/.julia/packages/Bank/x1Yz2/src/cart.jl", []),
        ("/usr/share/julia/stdlib/v1.6/Dates/src/cart.jl", []),
        ("base/array.jl", []),
    ],
)
def test_path_in_a_julia_package(path, rows):
    assert make_view(JULIA).find_by_location(path) == rows


COMMANDS = ("cmd-kill-window.c", "cmd-new-window.c", "cmd-list.c", "newWindow.js", "window.c")


def test_find_by_words_in_every_spelling():
    shares = make_view(COMMANDS).names.find_by_words(["new", "window"])
    assert list(shares) == [1, 3]
    assert shares[3] == 1
    assert 0.3 < shares[1] < 1


def test_find_by_words_finds_only_neighbours_in_order():
    paths = ("kill_the_window.py", "window_kill.py")
    assert make_view(paths).names.find_by_words(["kill", "window"]) == {}


def test_find_by_words_of_words_that_few_names_have_is_large():
    paths = [f"cmd-{word}.c" for word in ("alpha", "beta", "gamma", "delta", "new-pane")]
    assert make_view(paths).names.find_by_words(["new", "pane"])[4] > 0.8


def test_find_by_words_leaves_out_files_of_other_versions():
    assert list(make_view(COMMANDS, [0, 1, 2]).names.find_by_words(["new", "window"])) == [1]


def test_find_by_words_of_keywords_alone():
    paths = ("TryCatchFinallyRule.kt", "Catch_Try.kt", "try-catch.md", "retrycatcher.kt")
    shares = make_view(paths).names.find_by_words(["try", "catch"])
    assert list(shares) == [0, 2]
    assert shares[2] == 1
    assert 0 < shares[0] < 1


def test_find_by_words_of_an_unknown_word_is_empty():
    assert make_view(COMMANDS).names.find_by_words(["new", "door"]) == {}


def test_find_by_words_without_a_term_is_empty():
    assert make_view(COMMANDS).names.find_by_words(["1", "2"]) == {}
