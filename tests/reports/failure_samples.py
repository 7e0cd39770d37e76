"""What a failed run writes, in each format, about a shop whose cart takes a rebate twice."""

from typing import NamedTuple


class Sample(NamedTuple):
    """The output of a run, and what its first report must have."""

    text: str
    summary: str
    path: str
    """Path of the innermost own frame."""
    line: int
    method: str = ""
    number: int = 1
    """Number of distinct failures."""
    noise: str = ""
    """What no report may contain."""


TAB = "\t"
PYTEST = """\
============================= test session starts ==============================
platform linux -- Python 3.12.3, pytest-8.3.2, pluggy-1.5.0
rootdir: /srv/shop
collected 3 items

tests/test_cart.py F.F                                                   [100%]

=================================== FAILURES ===================================
___________________________ CartTest.test_rebate[0.5] __________________________

self = <tests.test_cart.CartTest object at 0x7f12>, share = 0.5

    @pytest.mark.parametrize("share", [0.5])
    def test_rebate(self, share):
        cart = Cart([2, 4])
>       assert cart.total(share) == 3

tests/test_cart.py:12:
_ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _

self = <shop.cart.Cart object at 0x7f13>, share = 0.5

    def total(self, share):
        amount = sum(self.prices)
>       return amount - amount * self.rebate[share]
E       TypeError: 'float' object is not subscriptable

shop/cart.py:21: TypeError
----------------------------- Captured stdout call -----------------------------
opening the door
____________________________ ERROR at setup of test_door _______________________
tests/test_door.py:4: in key
    return cut_key()
/usr/lib/python3.12/functools.py:8: in wrapper
    return call()
shop/door.py:7: in cut_key
    raise KeyError("blank")
E   KeyError: 'blank'
=========================== short test summary info ============================
FAILED tests/test_cart.py::CartTest::test_rebate[0.5] - TypeError: 'float' ob...
ERROR tests/test_door.py::test_door - KeyError: 'blank'
========================= 1 failed, 1 passed, 1 error in 0.12s =================
"""
UNITTEST = """\
.F
======================================================================
FAIL: test_rebate (tests.test_cart.CartTest.test_rebate)
The rebate counts once.
----------------------------------------------------------------------
Traceback (most recent call last):
  File "/srv/shop/tests/test_cart.py", line 12, in test_rebate
    check(cart)
  File "/srv/shop/shop/cart.py", line 21, in total
    raise ValueError("rebate counted twice")
ValueError: rebate counted twice

----------------------------------------------------------------------
Ran 2 tests in 0.001s

FAILED (failures=1)
"""
GO = """\
ok  	example.com/shop/door	0.004s
--- FAIL: TestCart (0.00s)
    --- FAIL: TestCart/rebate (0.00s)
        cart_test.go:14: total = 3, want 4.5
--- FAIL: TestKey (0.00s)
panic: runtime error: index out of range [3] with length 3 [recovered]
	panic: runtime error: index out of range [3] with length 3

goroutine 8 [running]:
testing.tRunner.func1.2({0x10, 0x20})
	/usr/local/go/src/testing/testing.go:1631 +0x24a
example.com/shop/door.(*Key).Turn(...)
	/srv/shop/door/key.go:33
example.com/shop/door.TestKey(0xc0000)
	/srv/shop/door/key_test.go:9 +0x1d
FAIL	example.com/shop	0.004s
FAIL
"""
GO_VERBOSE = """\
=== RUN   TestDoor
--- PASS: TestDoor (0.00s)
=== RUN   TestCart
    cart_test.go:14: total = 3, want 4.5
--- FAIL: TestCart (0.00s)
FAIL
exit status 1
"""
GO_JSON = """\
{"Time":"2024-05-06T07:08:09Z","Action":"run","Package":"shop","Test":"TestCart"}
{"Time":"2024-05-06T07:08:09Z","Action":"output","Test":"TestCart","Output":"=== RUN   TestCart\\n"}
{"Time":"2024-05-06T07:08:09Z","Action":"output","Output":"    cart_test.go:14: total = 3\\n"}
{"Time":"2024-05-06T07:08:09Z","Action":"output","Output":"--- FAIL: TestCart (0.00s)\\n"}
{"Time":"2024-05-06T07:08:09Z","Action":"fail","Package":"shop","Test":"TestCart"}
"""
CARGO = """\
   Compiling shop v0.1.0 (/srv/shop)
    Finished `test` profile [unoptimized + debuginfo] target(s) in 0.50s
     Running unittests src/lib.rs (target/debug/deps/shop-1a2b)

running 2 tests
test door::tests::opens ... ok
test cart::tests::rebate ... FAILED

failures:

---- cart::tests::rebate stdout ----

thread 'cart::tests::rebate' panicked at src/cart.rs:21:9:
assertion `left == right` failed
  left: 3
 right: 4
note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace


failures:
    cart::tests::rebate

test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out
"""
JEST = """\
> shop@1.0.0 test
> jest

PASS test/door.test.js
FAIL test/cart.test.js
  Cart
    ✓ adds (2 ms)
    ✕ takes the rebate once (3 ms)

  ● Console

    console.log
      opening the door

  ● Cart › takes the rebate once

    TypeError: Cannot read properties of undefined (reading 'share')

      19 |   total(rebate) {
      20 |     const amount = this.sum();
    > 21 |     return amount * (1 - rebate.share);
         |                                 ^
      22 |   }

      at Cart.total (src/cart.js:21:33)
      at Object.total (test/cart.test.js:8:17)
      at Promise.then (node_modules/jest-circus/build/run.js:3:1)

Test Suites: 1 failed, 1 passed, 2 total
Tests:       1 failed, 2 passed, 3 total
"""
VITEST = """\

 RUN  v2.1.1 /srv/shop

 ❯ test/cart.test.ts (2 tests | 1 failed) 5ms
   × Cart > takes the rebate once 4ms
     → expected 3 to be 4 // Object.is equality

⎯⎯⎯⎯⎯⎯⎯ Failed Tests 1 ⎯⎯⎯⎯⎯⎯⎯

 FAIL  test/cart.test.ts > Cart > takes the rebate once
AssertionError: expected 3 to be 4 // Object.is equality
 ❯ applyRebate src/cart.ts:21:7
     19|   const amount = sum()
     21|   return check(amount)
       |          ^
 ❯ test/cart.test.ts:8:17

⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯[1/1]⎯

 Test Files  1 failed (1)
      Tests  1 failed | 1 passed (2)
"""
MOCHA = """\

  Cart
    ✔ adds
    1) takes the rebate once

  1 passing (5ms)
  1 failing

  1) Cart
       takes the rebate once:

      AssertionError: expected 3 to equal 4
      + expected - actual

      -3
      +4

      at applyRebate (src/cart.js:21:9)
      at Context.<anonymous> (test/cart.js:8:17)
      at process.processImmediate (node:internal/timers:476:21)
"""
RSPEC = """\
.F

Failures:

  1) Cart takes the rebate once
     Failure/Error: raise ArgumentError, "rebate counted twice"

     ArgumentError:
       rebate counted twice
     # ./lib/cart.rb:21:in `total'
     # ./spec/cart_spec.rb:8:in `block (2 levels) in <top (required)>'
     # /usr/lib/ruby/gems/3.2.0/gems/rspec-core-3.13/exe/rspec:4:in `<main>'

Finished in 0.002 seconds (files took 0.1 seconds to load)
2 examples, 1 failure

Failed examples:

rspec ./spec/cart_spec.rb:7 # Cart takes the rebate once
"""
PHPUNIT = """\
PHPUnit 10.5.1 by Sebastian Bergmann and contributors.

Runtime:       PHP 8.2.1

.F                                                                  2 / 2 (100%)

Time: 00:00.004, Memory: 8.00 MB

There was 1 failure:

1) Shop\\Tests\\CartTest::testRebate
Failed asserting that 3 matches expected 4.

/srv/shop/src/Cart.php:21
/srv/shop/tests/CartTest.php:8
/srv/shop/vendor/phpunit/phpunit/src/Framework/TestCase.php:99

FAILURES!
Tests: 2, Assertions: 2, Failures: 1.
"""
MAVEN = """\
[INFO] Scanning for projects...
[INFO] --- surefire:3.2.5:test (default-test) @ shop ---
[INFO] Running org.shop.CartTest
[ERROR] Tests run: 2, Failures: 1, Errors: 0, Skipped: 0, Time elapsed: 0.1 s <<< FAILURE! -- in o
[ERROR] org.shop.CartTest.takesRebateOnce -- Time elapsed: 0.008 s <<< ERROR!
java.lang.IllegalStateException: rebate counted twice
	at org.shop.Cart.total(Cart.java:21)
	at org.shop.CartTest.takesRebateOnce(CartTest.java:8)
	at java.base/java.lang.reflect.Method.invoke(Method.java:580)

[INFO] Results:
[ERROR] Errors:
[ERROR]   CartTest.takesRebateOnce:8 IllegalState rebate counted twice
[INFO] BUILD FAILURE
"""
MAVEN_COMPILER = """\
[INFO] Scanning for projects...
[ERROR] COMPILATION ERROR :
[INFO] -------------------------------------------------------------
[ERROR] /srv/shop/src/main/java/org/shop/Cart.java:[21,17] cannot find symbol
  symbol:   method takeRebate()
[INFO] 1 error
[ERROR] Failed to execute goal compile: Compilation failure
[ERROR] /srv/shop/src/main/java/org/shop/Cart.java:[21,17] cannot find symbol
"""
GRADLE = """\
> Task :compileJava
> Task :test FAILED

CartTest > takesRebateOnce() FAILED
    java.lang.IllegalStateException: rebate counted twice
        at org.shop.Cart.total(Cart.java:21)
        at org.shop.CartTest.takesRebateOnce(CartTest.java:8)

2 tests completed, 1 failed

FAILURE: Build failed with an exception.
"""
CTEST = f"""\
Test project /srv/shop/build
    Start 1: door_test
1/2 Test #1: door_test ........................   Passed    0.01 sec
    Start 2: cart_test
2/2 Test #2: cart_test ........................***Failed    0.02 sec
/srv/shop/src/cart.cc:21: Failure
Expected equality of these values: 3 and 4

50% tests passed, 1 tests failed out of 2

The following tests FAILED:
{TAB}  2 - cart_test (Failed)
Errors while running CTest
"""
DOTNET = """\
  Determining projects to restore...
Test run for /srv/shop/bin/Shop.Tests.dll (.NETCoreApp,Version=v8.0)
Starting test execution, please wait...
[xUnit.net 00:00:00.37]     Shop.Tests.CartTests.RebateCountsOnce [FAIL]
  Failed Shop.Tests.CartTests.RebateCountsOnce [11 ms]
  Error Message:
   System.InvalidOperationException : rebate counted twice
  Stack Trace:
     at Shop.Cart.Total(Decimal share) in /srv/shop/src/Cart.cs:line 21
   at Shop.Tests.CartTests.RebateCountsOnce() in /srv/shop/tests/CartTests.cs:line 8
   at System.Reflection.MethodBaseInvoker.InvokeWithNoArgs(Object obj, BindingFlags invokeAttr)
  Standard Output Messages:
 opening the door

Failed!  - Failed:     1, Passed:     4, Skipped:     0, Total:     5, Duration: 33 ms
"""
JUNIT = """\
<?xml version="1.0" encoding="utf-8"?>
<!-- results -->
<testsuites><testsuite name="cart" tests="3" failures="2">
<testcase classname="org.shop.DoorTest" name="opens" time="0.1"/>
<testcase classname="org.shop.CartTest" name="takesRebateOnce" time="0.1">
<failure message="rebate counted twice" type="java.lang.AssertionError">
java.lang.AssertionError: rebate counted twice
	at org.junit.Assert.fail(Assert.java:89)
	at org.shop.Cart.total(Cart.java:21)
	at org.shop.CartTest.takesRebateOnce(CartTest.java:8)
</failure><system-out>opening the door</system-out></testcase>
<testcase classname="org.shop.KeyTest" name="turns" file="KeyTest.java">
<error message="no key" type="x"/></testcase>
</testsuite></testsuites>
"""
SENTRY = """\
{"event_id": "5f1c", "timestamp": "2024-05-06T07:08:09Z", "platform": "python",
 "release": "shop@1.4.2+107", "transaction": "checkout",
 "exception": {"values": [
  {"type": "KeyError", "value": "'share'", "stacktrace": {"frames": [
   {"filename": "django/core/handlers/base.py", "function": "get", "lineno": 99, "in_app": false},
   {"filename": "shop/views.py", "function": "pay", "lineno": 8, "in_app": true},
   {"filename": "shop/cart.py", "function": "total", "lineno": 21, "in_app": true,
    "context_line": "    return amount * rebate['share']"}]}}]}}
"""
SENTRY_API = """\
{"eventID": "5f1c", "title": "TypeError: no share", "culprit": "total(src/cart)",
 "dateCreated": "2024-05-06T07:08:09Z", "entries": [{"type": "exception", "data": {"values": [
  {"type": "TypeError", "value": "no share", "stacktrace": {"frames": [
   {"filename": "./src/pay.ts", "function": "pay", "lineNo": 8, "inApp": true},
   {"filename": "./src/cart.ts", "function": "total", "lineNo": 21, "inApp": true,
    "context": [[20, "total() {"], [21, "  return rebate.share"]]}]}}]}}]}
"""
COMPILERS = """\
make: Entering directory '/srv/shop'
src/cart.c:21:10: error: use of undeclared identifier 'rebate'
   21 |   return rebate;
      |          ^
src/door.c:7:3: warning: unused variable 'key'
make: *** [Makefile:3: cart.o] Error 1
"""
RUSTC = """\
   Compiling shop v0.1.0 (/srv/shop)
error[E0425]: cannot find value `rebate` in this scope
  --> src/cart.rs:21:5
   |
21 |     rebate
   |     ^^^^^^ not found in this scope

For more information about this error, try `rustc --explain E0425`.
error: could not compile `shop` (lib) due to 1 previous error
"""
TSC = """\
> shop@1.0.0 build
> tsc

src/cart.ts(21,5): error TS2304: Cannot find name 'rebate'.
"""
KOTLINC = """\
> Task :compileKotlin FAILED
e: file:///srv/shop/src/Cart.kt:21:5 Unresolved reference: rebate

FAILURE: Build failed with an exception.
"""
TWICE = "rebate counted twice"
SAMPLES = {
    "pytest": Sample(
        PYTEST,
        "CartTest.test_rebate[0.5]: TypeError: 'float' object is not subscriptable",
        "shop/cart.py",
        21,
        "total",
        number=2,
        noise="opening",
    ),
    "unittest": Sample(
        UNITTEST,
        f"test_rebate (tests.test_cart.CartTest.test_rebate): ValueError: {TWICE}",
        "/srv/shop/shop/cart.py",
        21,
        "total",
        noise="Ran 2",
    ),
    "go test": Sample(
        GO, "TestCart/rebate: cart_test.go:14: total = 3, want 4.5", "cart_test.go", 14, number=2
    ),
    "go test -v": Sample(
        GO_VERBOSE, "TestCart: cart_test.go:14: total = 3, want 4.5", "cart_test.go", 14
    ),
    "go test -json": Sample(
        GO_JSON, "TestCart: cart_test.go:14: total = 3", "cart_test.go", 14, noise="Action"
    ),
    "cargo test": Sample(
        CARGO,
        "cart::tests::rebate: assertion `left == right` failed",
        "src/cart.rs",
        21,
        noise="RUST_BACKTRACE",
    ),
    "jest": Sample(
        JEST,
        "Cart › takes the rebate once: TypeError: Cannot read properties of undefined"
        " (reading 'share')",
        "src/cart.js",
        21,
        "total",
        noise="node_modules",
    ),
    "vitest": Sample(
        VITEST,
        "Cart > takes the rebate once: AssertionError: expected 3 to be 4 // Object.is equality",
        "src/cart.ts",
        21,
        "applyRebate",
        noise="const amount",
    ),
    "mocha": Sample(
        MOCHA,
        "Cart takes the rebate once: AssertionError: expected 3 to equal 4",
        "src/cart.js",
        21,
        "applyRebate",
        noise="node:internal",
    ),
    "RSpec": Sample(
        RSPEC,
        f"Cart takes the rebate once: ArgumentError: {TWICE}",
        "./lib/cart.rb",
        21,
        "total",
        noise="rspec-core",
    ),
    "PHPUnit": Sample(
        PHPUNIT,
        "Shop\\Tests\\CartTest::testRebate: Failed asserting that 3 matches expected 4.",
        "/srv/shop/src/Cart.php",
        21,
        noise="vendor",
    ),
    "Maven": Sample(
        MAVEN,
        f"org.shop.CartTest.takesRebateOnce: java.lang.IllegalStateException: {TWICE}",
        "org/shop/Cart.java",
        21,
        "total",
        noise="reflect",
    ),
    "Maven's compiler": Sample(
        MAVEN_COMPILER,
        "compilation: cannot find symbol",
        "/srv/shop/src/main/java/org/shop/Cart.java",
        21,
    ),
    "Gradle": Sample(
        GRADLE,
        f"CartTest > takesRebateOnce(): java.lang.IllegalStateException: {TWICE}",
        "org/shop/Cart.java",
        21,
        "total",
        noise="Task",
    ),
    "ctest": Sample(
        CTEST,
        "cart_test: Expected equality of these values: 3 and 4",
        "/srv/shop/src/cart.cc",
        21,
        noise="Start",
    ),
    "dotnet test": Sample(
        DOTNET,
        "Shop.Tests.CartTests.RebateCountsOnce: System.InvalidOperationException : "
        "rebate counted twice",
        "/srv/shop/src/Cart.cs",
        21,
        "Total",
        noise="opening",
    ),
    "JUnit": Sample(
        JUNIT,
        f"org.shop.CartTest.takesRebateOnce: {TWICE}",
        "org/shop/Cart.java",
        21,
        "total",
        number=2,
        noise="org.junit",
    ),
    "Sentry": Sample(
        SENTRY, "checkout: KeyError: 'share'", "shop/cart.py", 21, "total", noise="django"
    ),
    "Sentry's interface": Sample(
        SENTRY_API, "total(src/cart): TypeError: no share", "./src/cart.ts", 21, "total"
    ),
    "compilers": Sample(
        COMPILERS,
        "compilation: use of undeclared identifier 'rebate'",
        "src/cart.c",
        21,
        noise="unused",
    ),
    "compilers: Rust": Sample(
        RUSTC,
        "compilation: cannot find value `rebate` in this scope",
        "src/cart.rs",
        21,
        noise="explain",
    ),
    "compilers: TypeScript": Sample(
        TSC, "compilation: Cannot find name 'rebate'.", "src/cart.ts", 21
    ),
    "compilers: Kotlin": Sample(
        KOTLINC,
        "compilation: Unresolved reference: rebate",
        "///srv/shop/src/Cart.kt",
        21,
        noise="FAILURE",
    ),
}
"""Name of a format -> a sample of it."""
