"""Which files are tests, by the conventions of each language, and what only looks like one; which globs choose."""

from tosloc.paths.classify import which_are_tests

TESTS = """
src/test/java/org/x/Helper.java module/src/integrationTest/java/org/x/ParserIT.java java/org/x/ParserTest.java
test/org/apache/catalina/loader/TestWebappClassLoader.java
org.eclipse.jdt.ui.tests.refactoring/resources/PullUp/test49/in/A.java
nd4j/nd4j-backends/nd4j-tests/src/test/java/A.java src/commonTest/kotlin/ParserKt.kt
core/src/test/scala/ParserSuite.scala app/ParserSpec.scala tests/basic.py pkg/tests/helper.py pkg/test_parser.py
pkg/parser_test.py conftest.py testing/plugins_integration/django_settings.py app/tests.py src/__tests__/parser.js
src/parser.test.tsx src/parser.spec.ts packages/a/test/parser.js addon-test.js cypress/e2e/login.cy.ts
pkg/parser_test.go pkg/testdata/input.go crates/a/tests/cli.rs crates/a/benches/bench.rs crates/a/src/parser_tests.rs
src/Newtonsoft.Json.Tests/Linq/JTokenTests.cs src/A.UnitTests/Helper.cs spec/models/user_spec.rb test/test_helper.rb
actionmailbox/test/dummy/app/models/user.rb tests/Feature/LoginTest.php Tests/AFNetworkingTests/Helper.swift
AppUITests/Login.swift src/arena_unittest.cc test/sframe/sframe_csv.cxx t/basic.t
"""
PRODUCT = """
latest.py src/latest/attestation.py contest/problem.py src/_pytest/fixtures.py src/_pytest/unittest.py
src/_pytest/python.py numpy/testing/utils.py django/test/client.py django/contrib/staticfiles/testing.py
sphinx/ext/autodoc/mock.py sympy/utilities/randtest.py pylint/testutils/unittest_linter.py tools/triage_tests.py
examples/inspection/plot_it.py src/main/java/org/springframework/test/context/TestContext.java
spring-boot-test/src/main/java/org/springframework/boot/test/context/SpringBootTest.java
src/main/java/org/junit/Test.java src/main/kotlin/org/x/test/ParserTest.kt
org.eclipse.jdt.junit/src/org/eclipse/jdt/internal/junit/wizards/UpdateTestSuite.java
org.eclipse.jdt.junit.core/src/org/eclipse/jdt/internal/junit/model/TestRunSession.java java/org/x/Testimony.java
java/org/x/Commit.java java/client/model/V1SearchSpec.java src/models/V1SearchSpec.ts
src/TensorFlowNET.Core/Framework/Models/TensorSpec.cs src/ray/raylet/task_spec.h
cpp/open3d/geometry/IntersectionTest.cpp crates/cli/src/test_highlight.rs crates/cli/src/test.rs
src/Node/Expression/Test/DefinedTest.php src/Framework/TestCase.php src/Illuminate/Testing/TestResponse.php
lib/rack/test/methods.rb lib/minitest/test.rb pkg/testing.go scripts/run_tests.sh src/contest.js src/speculative.rb
"""


def test_tests_are_told_by_their_paths():
    tests = [
        *TESTS.split(),
        "bundles/org.eclipse.swt/Eclipse SWT Tests/win32/org/eclipse/swt/widgets/DPITestUtil.java",
    ]
    assert [
        path for path, found in zip(tests, which_are_tests(tests), strict=True) if not found
    ] == []
    product = [*PRODUCT.split(), "", "noname", ".hidden", "a/b."]
    assert [
        path for path, found in zip(product, which_are_tests(product), strict=True) if found
    ] == []
    assert which_are_tests([]).tolist() == []
