"""Which class a file has, by the conventions for paths and by what its text shows."""

import pytest

from tosloc.paths.classify import (
    FileClass,
    classify_content,
    classify_file,
    classify_paths,
    which_are_tests,
)

TESTS = """
src/test/java/org/x/Helper.java module/src/integrationTest/java/org/x/ParserIT.java
java/org/x/ParserTest.java test/org/apache/catalina/loader/TestWebappClassLoader.java
org.eclipse.jdt.ui.tests.refactoring/resources/PullUp/test49/in/A.java
nd4j/nd4j-backends/nd4j-tests/src/test/java/A.java src/commonTest/kotlin/ParserKt.kt
core/src/test/scala/ParserSuite.scala app/ParserSpec.scala tests/basic.py pkg/tests/helper.py
pkg/test_parser.py pkg/parser_test.py conftest.py testing/plugins_integration/django_settings.py
app/tests.py src/__tests__/parser.js src/parser.test.tsx src/parser.spec.ts
packages/a/test/parser.js addon-test.js cypress/e2e/login.cy.ts pkg/parser_test.go
pkg/testdata/input.go crates/a/tests/cli.rs crates/a/benches/bench.rs
crates/a/src/parser_tests.rs src/Newtonsoft.Json.Tests/Linq/JTokenTests.cs
src/A.UnitTests/Helper.cs spec/models/user_spec.rb test/test_helper.rb
actionmailbox/test/dummy/app/models/user.rb tests/Feature/LoginTest.php
Tests/AFNetworkingTests/Helper.swift AppUITests/Login.swift src/arena_unittest.cc
test/sframe/sframe_csv.cxx t/basic.t
"""
PRODUCT = """
latest.py src/latest/attestation.py contest/problem.py src/_pytest/fixtures.py
src/_pytest/unittest.py src/_pytest/python.py numpy/testing/utils.py django/test/client.py
django/contrib/staticfiles/testing.py sphinx/ext/autodoc/mock.py sympy/utilities/randtest.py
pylint/testutils/unittest_linter.py tools/triage_tests.py examples/inspection/plot_it.py
src/main/java/org/springframework/test/context/TestContext.java
spring-boot-test/src/main/java/org/springframework/boot/test/context/SpringBootTest.java
src/main/java/org/junit/Test.java src/main/kotlin/org/x/test/ParserTest.kt
org.eclipse.jdt.junit/src/org/eclipse/jdt/internal/junit/wizards/UpdateTestSuite.java
org.eclipse.jdt.junit.core/src/org/eclipse/jdt/internal/junit/model/TestRunSession.java
java/org/x/Testimony.java java/org/x/Commit.java java/client/model/V1SearchSpec.java
src/models/V1SearchSpec.ts src/TensorFlowNET.Core/Framework/Models/TensorSpec.cs
src/ray/raylet/task_spec.h cpp/open3d/geometry/IntersectionTest.cpp
crates/cli/src/test_highlight.rs crates/cli/src/test.rs src/Node/Expression/Test/DefinedTest.php
src/Framework/TestCase.php src/Illuminate/Testing/TestResponse.php lib/rack/test/methods.rb
lib/minitest/test.rb pkg/testing.go scripts/run_tests.sh src/contest.js src/speculative.rb
"""
BY_PATH = {
    "GENERATED": """
        api/shop_pb2.py api/shop_pb2_grpc.py api/shop.pb.go lib/model.g.dart Form1.Designer.cs
        pkg/zz_generated.deepcopy.go ply/parsetab.py src/gram.tab.c moc_window.cpp dist/app.js.map
    """,
    "MINIFIED": "js/app.min.js css/site-min.css static/main.bundle.js",
    "VENDORED": """
        vendor/github.com/a/b.go pip/_vendor/six.py third_party/zlib/inflate.c
        sphinx/themes/basic/static/jquery.js docs/_static/underscore.js lib/vendor/a.rb
        node_modules/a/index.js public/js/jquery-3.6.0.slim.js
    """,
    "TRANSLATION": """
        app/src/main/res/values-af/strings.xml app/res/values-pt-rBR/strings.xml
        sphinx/locale/de/LC_MESSAGES/sphinx.js src/i18n/fr.ts resources/lang/pt_BR/messages.php
        lang/app_de.ts locales/zh-CN.js src/translations/zh_Hans/app.ts
    """,
    "BUILD": """
        build.gradle app/build.gradle.kts settings.gradle cmake/Flags.cmake CMakeLists.txt Makefile
        rules.mk setup.py gulpfile.js webpack.config.js build.sh scripts/release.sh
        tools/install-deps.sh install.ps1 build.rs
    """,
    "EXAMPLE": "examples/plot.py demo/app.js src/samples/A.java",
    "DOCUMENTATION": "docs/conf.py website/src/index.js",
    "BENCHMARK": "benchmarks/run.py bench/benches/speed/x.py",
    "SOURCE": """
        src/i18n/index.ts locale/en/messages.js src/translation.py django/utils/translation/base.py
        src/main/java/org/x/vendor/Vendor.java app/models/vendor.rb src/jquery.js src/app.js
        src/generated_names.py lib/install.py src/build.c Package.java src/tools.py lang/parser.go
        jquery.validate/src/core.js bin/run.sh src/Designer.cs src/lang/lexer.ts
        app/res/values/strings.xml app/res/values-night/colors.xml app/res/values-v21/styles.xml
    """,
}
CALL = "function(e,t){return e+t},n="


def test_tests_are_told_by_their_paths():
    tests = [
        *TESTS.split(),
        "bundles/org.eclipse.swt/Eclipse SWT Tests/win32/org/eclipse/swt/widgets/DPITestUtil.java",
    ]
    others = [path for path, test in zip(tests, which_are_tests(tests), strict=True) if not test]
    assert others == []


def test_product_files_are_no_tests():
    product = [*PRODUCT.split(), "", "noname", ".hidden", "a/b."]
    tests = [path for path, test in zip(product, which_are_tests(product), strict=True) if test]
    assert tests == []


def test_no_paths_have_no_classes():
    assert which_are_tests([]).tolist() == []
    assert classify_paths([]).tolist() == []


@pytest.mark.parametrize("name", [name for name in BY_PATH if name != "BENCHMARK"])
def test_paths_tell_the_class(name):
    paths = BY_PATH[name].split()
    classes = [FileClass(number).name for number in classify_paths(paths)]
    assert dict(zip(paths, classes, strict=True)) == dict.fromkeys(paths, name)


def test_benchmarks_are_told_by_their_folder():
    assert classify_file("benchmarks/run.py") == FileClass.BENCHMARK


GENERATED = {
    "go": ("go", "// Code generated by protoc-gen-go. DO NOT EDIT.\n\npackage a\n"),
    "at-generated": ("js", "/**\n * @generated SignedSource<<1>>\n */\nrun()\n"),
    "c#": ("cs", "//------\n// <auto-generated>\n//     This code was generated by a tool.\n"),
    "after a licence": ("java", "/*\n * Copyright A\n */\n// Do not edit this file.\nclass A {}\n"),
    "docstring": ("py", '"""\nThis file is automatically generated by x.\n"""\na = 1\n'),
    "auto-generated file": ("c", "/* AUTO-GENERATED FILE, DO NOT MODIFY */\nint a;\n"),
    "auto-generated": ("c", "// Autogenerated.\nint a;\n"),
    "bison": ("c", "/* A Bison parser, made by GNU Bison 3.8.  */\nint a;\n"),
    "tree-sitter": ("c", "/* Automatically generated by tree-sitter v0.20.8 */\n#define A\n"),
    "rails schema": ("rb", "# This file is auto-generated from the current state\nActive\n"),
    "php": ("php", "<?php\n// Generated from grammar.y\nclass A {}\n"),
}
WRITTEN_BY_PEOPLE = {
    "a generator": ("py", 'MARK = "# Code generated by us. DO NOT EDIT."\n'),
    "mark below the code": ("go", "package a\n\n// Code generated by b. DO NOT EDIT.\n"),
    "about generated code": ("py", "# Reads files that were generated by protoc.\nimport a\n"),
    "sphinx-quickstart": (
        "py",
        "#\n# Note that not all values are present in this\n# autogenerated file.\nimport os\n",
    ),
    "django migration": ("py", "# Generated by Django 3.2 on 2021-01-01\nimport a\n"),
    "gradle scaffold": (
        "gradle",
        "/*\n * This file was generated by the Gradle 'init' task.\n */\na\n",
    ),
    "docstring on one line": ("py", '"""Write files."""\n# plain\nx = "auto-generated"\n'),
    "empty": ("py", ""),
}


@pytest.mark.parametrize("name", GENERATED)
def test_head_comments_tell_generated_files(name):
    suffix, text = GENERATED[name]
    assert classify_content(text, suffix) == FileClass.GENERATED


@pytest.mark.parametrize("name", WRITTEN_BY_PEOPLE)
def test_files_of_people_are_not_taken_for_generated_ones(name):
    suffix, text = WRITTEN_BY_PEOPLE[name]
    assert classify_content(text, suffix) == FileClass.SOURCE


@pytest.mark.parametrize(
    ("suffix", "text"),
    [
        ("js", "/*! a licence */\n" + CALL * 99),
        ("css", ".a{color:red}.b{margin:0}" * 99),
        ("js", "/******/ (() => { // webpackBootstrap\n  var a = 1;\n})();\n"),
        ("js", "var a = 1;\n//# sourceMappingURL=a.js.map\n"),
    ],
    ids=["minified", "style", "webpack", "source map"],
)
def test_shape_tells_minified_and_bundled_files(suffix, text):
    assert classify_content(text, suffix) == FileClass.MINIFIED


@pytest.mark.parametrize(
    ("suffix", "text"),
    [
        ("js", "const a = 1;\n" * 999),
        ("js", "const text = '" + "words of a long sentence " * 99 + "';\n"),
        ("py", CALL * 99),
        ("js", CALL),
    ],
    ids=["many lines", "prose", "no script", "short"],
)
def test_long_lines_alone_do_not_tell_minified_files(suffix, text):
    assert classify_content(text, suffix) == FileClass.SOURCE


@pytest.mark.parametrize(
    "text",
    [
        '<?xml version="1.0" encoding="utf-8"?>\n<!DOCTYPE TS>\n<TS version="2.1">',
        '<!DOCTYPE TS><TS version="2.1">',
        '\ufeff<TS version="2.1" language="de">',
    ],
)
def test_qt_translations_are_told_from_typescript(text):
    assert classify_content(text, "ts") == FileClass.TRANSLATION


def test_typescript_is_no_translation():
    assert classify_content("const a = <TS>(b: TS) => b;\n", "ts") == FileClass.SOURCE


def test_content_goes_before_the_path():
    text = "// Code generated by b. DO NOT EDIT.\n"
    assert classify_file("examples/a.go", text) == FileClass.GENERATED
