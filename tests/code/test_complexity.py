"""Where lizard is asked, complexity is its own, number for number."""

import lizard
import pytest

from tosloc.code import complexity as module
from tosloc.code.complexity import keyword_complexity, lizard_complexity

JAVA = """
package a;
@interface Note { int value() default 1; }
public class Shop<T extends Comparable<? super T>> {
    private final int x = ~1 + ~ 2;
    // #lizard forgives
    int skipped(int a) { if (a > 0) { return 1; } return 2; }
    int open(int a, String b) throws E {
        for (int i = 0; i < a && b != null || i > 3; i++) { a = a > 1 ? 2 : 3; } return a; }
    void lambda() { run(() -> { if (x) { go(); } }); new Thread() { public void run() { while (true) { } } }.start(); }
    enum Kind { A { int f() { return 1; } }, B;
        int f() { switch (this) { case A: return 1; case B: return 2; } return 0; } }
    record Pair(int a, String b) { Pair { if (a < 0) { throw new X(); } } int sum() { return a; } }
    String text() { return "if (a && b) {" + '"' + "\\" }"; }
    /* if (commented) { */
    void tail() { try { go(); } catch (E e) { } finally { } }
}
"""


NESTED = "".join(f"{' ' * depth}def f{depth}(a, b=(1, 2)):\n" for depth in range(12)) + " " * 12 + "return a or b\n"
GO = "func (a A) F() func(int) int { return func(b int) int { if b > 1 && b < 3 { return 1 }; return 2 } }\n"


@pytest.mark.parametrize(
    ("text", "suffix"),
    [
        (JAVA, ".java"),
        (JAVA[::-1], ".java"),
        ("function f(a) { return a && b ? 1 : 2 }\nconst g = () => { if (x) {} }\n", ".js"),
        (NESTED, ".py"),
        ("namespace a { struct B::C { int f(int a) { return a && 1; } int g(x) const; }; }", ".cpp"),
        (GO, ".go"),
    ],
)
def test_same_number_as_all_of_lizard(text, suffix):
    functions = lizard.analyze_file.analyze_source_code(f"x{suffix}", text).function_list
    assert lizard_complexity(text, suffix) == sum(function.cyclomatic_complexity for function in functions)


def test_a_failing_or_slow_lizard_is_replaced_by_keywords(monkeypatch):
    monkeypatch.setattr(module, "MAX_SECONDS", -1.0)
    assert lizard_complexity(JAVA, ".java") == keyword_complexity(JAVA)
    monkeypatch.undo()
    # lizard's own names double with each level: of 40 levels it never came back
    nested = "".join(f"{' ' * depth}def f{depth}():\n" for depth in range(300))
    assert lizard_complexity(nested + " " * 300 + "pass\n", ".py") == 300
    monkeypatch.setattr(lizard, "get_reader_for", None)
    assert lizard_complexity(JAVA, ".java") == keyword_complexity(JAVA)


@pytest.mark.parametrize(
    ("text", "suffix"),
    [
        ('\\"' * 20_000, ".ts"),
        ("/* " * 20_000, ".rs"),
        ("x = [" + "/[" * 20_000, ".js"),
        ("<? extends A" + ", ? extends A" * 30 + " & B>", ".java"),
        ('\\"""' * 10_000, ".py"),
        ("{" * 20_000, ".ts"),
    ],
)
def test_what_lizard_would_never_finish_is_counted_by_keywords(text, suffix):
    assert lizard_complexity(text, suffix) == keyword_complexity(text)
