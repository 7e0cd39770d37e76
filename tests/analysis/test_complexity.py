"""Decisions counted in the syntax tree, language by language."""

from __future__ import annotations

import pytest

from tosloc.analysis.complexity import Complexity
from tosloc.analysis.facts import analyse
from tosloc.analysis.grammars import GRAMMARS
from tosloc.analysis.languages import language_named, language_of

CASES = [
    (
        ".java",
        """class Shop<T extends Base & Other<? super T>> {
            static { if (outside) { } }
            abstract void no();
            Shop() { }
            int open(int a, String b) {
                for (int i = 0; i < a && b != null || i > 3; i++) { a = a > 1 ? 2 : 3; }
                for (String c : d) { do { } while (x); }
                Runnable r = () -> { if (b) { } };
                try { } catch (A | B e) { } finally { }
                switch (a) { case 1: case 2: default: }
                return switch (a) { case 3, 4 -> 1; default -> 2; }; // if else
            } }""",
        (13, 2),
    ),
    (
        ".py",
        """if outside: pass
def f(x):
    if x and y or not z: pass
    elif x: pass
    else: pass
    while x: pass
    for i in x: pass
    try: pass
    except A: pass
    except (B, C): pass
    finally: pass
    match x:
        case 1: pass
        case _: pass
    return [a if b else c for a in d if e] + "if and"
class A:
    async def g(self):
        def inner(): return 1 or 2
""",
        (17, 3),
    ),
    (
        ".js",
        """if (outside) {}
function f(a) { for (;;) {} for (const b of a) {} while (1) {} do {} while (2); if (a && b || c) {} else if (d) {}
  switch (a) { case 1: case 2: break; default: } try {} catch (e) {} finally {} return a ? b ?? c : d?.e }
const g = () => { if (x) {} }, h = function () {};
class A { m() {} get p() { return 1 } }""",
        (19, 5),
    ),
    (
        ".ts",
        """abstract class A { abstract m(): void; n(a?: number): number { return a && b ? 1 : 2; } }
type C = A extends B ? 1 : 2;
const g = (x?: string) => { if (x) {} };
declare function no(): void;""",
        (5, 2),
    ),
    (
        ".tsx",
        "function F(p) { return <A b={p.c ? 1 : 2}>{p.d && <B/>} if for</A>; }",
        (3, 1),
    ),
    (
        ".c",
        """#if defined(A) && B
#endif
#define MAX(a, b) ((a) > (b) ? (a) : (b))
int no(int a);
static int f(int a) { if (a && ~a) { return a ? 1 : 2; } else if (a || b) { }
  for (;;) { while (1) { do { } while (2); } } switch (a) { case 1: case 2: default: ; } }""",
        (11, 1),
    ),
    (
        ".cpp",
        """struct A { A(A&& other); int f(int&& x) { try { } catch (...) { }
  for (auto& y : z) { } return x and y or z; } };
A::~A() { auto g = [&](int a) { if (a) { } }; }""",
        (7, 2),
    ),
    (
        ".go",
        """package a
func f(a int) { if a > 1 && b { } else if c { }; for { }; for range x { }; switch a { case 1, 2: default: }
  select { case <-c: default: }; g := func() { if a { } } }
func (t *T) M() bool { return a || b }""",
        (12, 3),
    ),
    (
        ".cs",
        """class A { A() { } ~A() { } int P { get { return a ?? 1; } set; } abstract void No();
  int F(int? a) { foreach (var b in c) { } for (;;) { } while (x) { } if (a && b || d) { } else if (e) { }
    switch (a) { case 1: case 2: break; default: break; } try { } catch (E e) when (f) { } return a > 1 ? 1 : 2; }
  static A operator +(A a, A b) { int Local() { return 1; } return a switch { 1 => b, _ => a }; } }""",
        (20, 6),
    ),
    (
        ".rs",
        """impl T for A { fn f(a: i32) -> Option<i32> {
  if a > 3 && b { } else if let Some(x) = y { } while t || u { } for i in 0..3 { } loop { break; }
  match a { 1 => 2, 2 | 3 => 4, _ if z => 5, _ => 6 }; g()?; let c = |x| if x { 1 } else { 2 }; None } }
trait No { fn q(&self); }
fn main() { }""",
        (15, 2),
    ),
    (
        ".kt",
        """class A { val p: Int get() { return 1 }
  constructor(a: Int) : this() { }
  abstract fun no()
  fun f(a: Int?) = when (a) { 1, 2 -> 3; is B -> 4; else -> 5 }
  fun g() { if (a && b || c) { } else if (d) { }
    for (i in 1..2) { }
    while (x) { }
    do { } while (x)
    try { } catch (e: E) { }
    val h = x ?: y } }""",
        (16, 4),
    ),
    (
        ".scala",
        """object A { def no(): Unit
  def f(x: Int) = if (x > 1 && x < 9 || y) 1 else x match { case 2 => 3; case _ if z => 4 }
  def g = { for (i <- 1 to 2 if i > 1) yield i; while (t) { }; do { } while (u)
    try { } catch { case e: E => 1 } } }""",
        (13, 2),
    ),
    (
        ".php",
        """<?php
function f($a) { foreach ($a as $b) { if ($b and $a || $c && $d xor $e) { } elseif ($z) { } else if ($q) { } }
  for (;;) { } while (1) { } do { } while (2); switch ($a) { case 1: case 2: default: } try { } catch (E $e) { }
  $a ?? $b; $a ? 1 : 2; $x = match ($a) { 1 => 2, 3, 4 => 5, default => 3 }; $g = fn($x) => $x; $h = function () { }; }
enum No: string { case A = 'a'; }
abstract class B { abstract function q(); }""",
        (21, 3),
    ),
    (
        ".rb",
        """class A
  def f(a)
    return 1 if a && b || c and d or e
    if a then 1 elsif b then 2 else 3 end
    a.each { |c| c unless d }
    while x do end
    until y do end
    for i in z do end
    case v
    when 1, 2 then 3
    else 4
    end
    case w
    in 1 then 2
    end
    begin
    rescue E => e
    ensure
    end
    a ? :b : :c
    "if and"
  end
  def self.g; end
end""",
        (17, 2),
    ),
    (
        ".swift",
        """class A { init(a: Int) { } deinit { } var p: Int { get { return 1 } set { } }
  func f(a: Int) -> Int { guard a > 1 else { return 2 }; if a > 3 && b || c { } else if d { }
    for i in x where i > 1 { }
    while t { }
    repeat { } while u
    switch v { case 1, 2: break; case 3 where x: break; default: break }
    do { try z() } catch E.a { } catch { }
    return a > 3 ? 4 : b ?? 5 } }
protocol No { func q() }""",
        (19, 5),
    ),
]  # fmt: skip


@pytest.mark.parametrize(("suffix", "text", "expected"), CASES, ids=[case[0] for case in CASES])
def test_decisions_of_functions(suffix: str, text: str, expected: tuple[int, int]) -> None:
    facts = analyse(text, suffix)
    assert (facts.complexity, facts.functions) == expected
    assert facts.counted


def test_every_grammar_counts() -> None:
    assert {language_of(case[0]) for case in CASES} | {"jsx"} == GRAMMARS.keys()
    assert all(language_named(language).lizard for language in GRAMMARS)


def test_without_a_grammar_keywords_are_counted() -> None:
    facts = analyse("function f(a) if a and b then while c do end elseif d then end end", ".lua")
    assert (facts.complexity, facts.functions, facts.counted) == (4, 1, False)


def test_by_lizard_where_it_is_asked() -> None:
    text = "class A { int f(Map<?, ?> a) { if (a) { } return b ? 1 : 2; } }"
    assert Complexity(3, 1, True) == Complexity(*_counted(text, lizard=False))
    assert Complexity(3, 1, True) == Complexity(*_counted(text, lizard=True))
    assert _counted("#if A && B\n#endif\nint f() { return 1; }", suffix=".c", lizard=True)[0] == 1
    assert not _counted("x = 1", suffix=".sh", lizard=True)[2]


def _counted(text: str, *, suffix: str = ".java", lizard: bool) -> tuple[int, int, bool]:
    facts = analyse(text, suffix, lizard=lizard)
    return facts.complexity, facts.functions, facts.counted
