"""Functions and classes of source texts: names, lines and terms, in each language and in what is no program."""

from __future__ import annotations

import time

import pytest

from tosloc.code.function_rows import KINDS
from tosloc.code.functions import MAX_FUNCTIONS, functions_of
from tosloc.code.languages import LANGUAGES as SUFFIXES
from tosloc.code.languages import has_grammar, language_of


def outline(text, suffix):
    """Name, first letter of the kind, first and last line of each definition."""
    facts = functions_of(text, suffix)
    rows = zip(facts.names, facts.kinds, facts.starts, facts.ends, strict=True)
    return [f"{name} {KINDS[kind][0]}{start}-{end}" for name, kind, start, end in rows]


def counts(text, suffix, name):
    """term -> (in code, in comments) of the first definition of a name."""
    facts = functions_of(text, suffix)
    pairs = slice(*facts.offsets[facts.names.index(name) :][:2].tolist())
    columns = (facts.places[pairs], facts.code[pairs], facts.comments[pairs])
    return {facts.terms[place]: (int(code), int(comments)) for place, code, comments in zip(*columns, strict=True)}


PYTHON = '''\
import os

# What draw is for
@cached
@retry(times=3)
def draw(canvas):
    """Draw a shape."""
    def inner():
        return "colour"
    return inner


class Shape(Base):
    """A closed figure."""
    sides = 3

    class Corner:
        @property
        def angle(self):
            return 1
        @angle.setter
        def angle(self, value):
            pass

    async def area(self): pass


double = lambda x: 2 * x
if True:
    def conditional(): pass
'''
JAVA = """\
package a;

/** A queue of jobs. */
@Deprecated
public class Queue<T> extends Base {
    /** Takes the next one. */
    @Override
    public T take() {
        return new Object() { void hidden() {} };
    }
    public T take(int timeout) { return null; }
    Runnable stopper = () -> stop();
    Queue() {}
    enum State { OPEN { void close() {} } }
    record Entry(int x) { Entry {} }
    @interface Marker { int value(); }
}
"""
JAVASCRIPT = """\
Queue.prototype.take = function () { return 1; };
exports.open = () => 1;
module.exports = { close: function() {}, again() {} };
const Timer = class { start() {} };
const handlers = { click: () => 2 };
export class View extends Base {
  state = {};
  render = () => {};
  get size() { return 1; }
  set size(value) {}
}
function* numbers() { [1].map(function () {}); }
export default function () {}
"""
TYPESCRIPT = """\
@Component({})
export class View {
  @Input() value = 1;
  handler = (event: Event): void => {};
  @Listener()
  draw(): void;
  draw(colour?: string): void {}
}
abstract class Base { abstract area(): number }
interface Shape { area(): number }
namespace inner { export function helper() {} }
enum Colour { red }
export const load = async (path: string) => 1;
"""
C = """\
static int *find(int key) { return 0; }
struct node { int key; };
#define MAX(a, b) \\
    ((a) > (b) ? (a) : (b))
int prototype(void);
"""
CPP = """\
namespace outer::inner {
// A list
template <class T>
class List : Base {
    List();
    ~List() {}
    T* at(int place) const { auto f = [](int x) { return x; }; }
    operator bool() { return true; }
};
}
template <> int* List<int>::at(int place) { return 0; }
void outer::inner::clear() {}
bool List::operator==(const List& other) {}
int (*choose(int))(int) {}
"""
GO = """\
package p

// Server serves.
type Server struct { port int }

// Serve does it.
func (s *Server) Serve() {}
func (list List[T]) Len() int { return 0 }
func main() { stop := func() {} }
var hook = func() {}
"""
CSHARP = """\
namespace N.M {
    [Serializable]
    class Queue<T> : Base {
        public Queue() {}
        int Size { get { return 1; } set { } }
        int this[int place] { get { return 1; } }
        public static Queue operator +(Queue a, Queue b) { return a; }
        void Take() { int Local(int x) { return x; } }
        void Take(int timeout) {}
    }
    record Entry(int X);
}
"""
RUST = """\
/// Finds it.
#[inline]
#[must_use]
fn find() { let inner = |x| x; }
impl<T> Trait for Queue<T> { fn take(&self) {} }
pub struct Queue { size: usize }
trait Trait { fn needed(&self); fn given(&self) {} }
mod tests { fn helper() {} }
macro_rules! twice { () => {} }
"""
KOTLIN = """\
package a

/** A queue. */
@Ann
class Queue(val size: Int) {
    companion object {
        fun empty() {}
    }
    constructor(text: String) : this(1) { }
    fun String.extended() = 1
    val twice = { x: Int -> 2 * x }
}
object Single {
    fun only() {}
}
val made = fun(x: Int): Int { return x }
"""
SCALA = """\
/** A queue. */
@ann class Queue(size: Int) {
  def take(n: Int): Int = { def inner = 1; n }
  def take(): Int = 1
  val twice = (x: Int) => 2 * x
}
object Single { def only = 1 }
trait Shape { def area: Int }
"""
PHP = """\
<?php
namespace N;
/** A queue. */
#[Attribute]
class Queue {
    public function take() { }
}
function open() {}
$close = function($x) { return 1; };
$again = fn($x) => $x;
interface Shape { function area(); }
"""
RUBY = """\
module Jobs
  # A queue
  class Queue < Base
    def take; end
    def self.open; end
    def empty?; end
  end
  STOP = ->(x) { x }
end
class Jobs::Other
  def ==(other); end
end
"""
SWIFT = """\
/// A queue
@objc
class Queue: Base {
  @IBAction func take(count: Int) { }
  init() {}
  deinit { }
  let twice = { (x: Int) in 2 * x }
}
extension Outer.Inner { func extended() {} }
protocol Shape { func area() }
"""
COMPONENT = """\
<template>
  <p @click="open">{{ title }}</p>
</template>
<script lang="ts">
export default {
  data() { return {}; },
  methods: {
    // Opens the panel
    open(event) { this.x = 1; },
  },
};
const size = () => 2;
</script>
<script setup>
class Helper { run() {} }
</script>
<style>p { color: red; }</style>
"""
LANGUAGES = {
    "vue": (".svelte", COMPONENT, "data f6-6; open f9-9; size f12-12; Helper c15-15; Helper.run m15-15"),
    "python": (
        ".py",
        PYTHON,
        "draw f4-10; draw.inner f8-9; Shape c13-25; Shape.Corner c17-23; Shape.Corner.angle m18-20; "
        "Shape.Corner.angle m21-23; Shape.area m25-25; double f28-28; conditional f30-30",
    ),
    "java": (
        ".java",
        JAVA,
        "Queue c4-17; Queue.take m7-10; Queue.take.hidden f9-9; Queue.take m11-11; Queue.stopper m12-12; "
        "Queue.Queue m13-13; Queue.State c14-14; Queue.State.close m14-14; Queue.Entry c15-15; "
        "Queue.Entry.Entry m15-15; Queue.Marker c16-16; Queue.Marker.value m16-16",
    ),
    "javascript": (
        ".js",
        JAVASCRIPT,
        "Queue.take m1-1; open f2-2; close f3-3; again f3-3; Timer c4-4; Timer.start m4-4; handlers.click m5-5; "
        "View c6-11; View.render m8-8; View.size m9-9; View.size m10-10; numbers f12-12",
    ),
    "typescript": (
        ".ts",
        TYPESCRIPT,
        "View c1-8; View.handler m4-4; View.draw m7-7; Base c9-9; Shape c10-10; helper f11-11; Colour c12-12; "
        "load f13-13",
    ),
    "c": (".c", C, "find f1-1; node c2-2; MAX f3-4"),
    "cpp": (
        ".cc",
        CPP,
        "List c3-9; List.~List m6-6; List.at m7-7; List.operator bool m8-8; List.at m11-11; "
        "outer.inner.clear m12-12; List.operator== m13-13; choose f14-14",
    ),
    "go": (
        ".go",
        GO,
        "Server c4-4; Server.Serve m7-7; List.Len m8-8; main f9-9; main.stop f9-9; hook f10-10",
    ),
    "csharp": (
        ".cs",
        CSHARP,
        "Queue c2-10; Queue.Queue m4-4; Queue.Size m5-5; Queue.this m6-6; Queue.operator + m7-7; "
        "Queue.Take m8-8; Queue.Take.Local f8-8; Queue.Take m9-9; Entry c11-11",
    ),
    "rust": (
        ".rs",
        RUST,
        "find f2-4; find.inner f4-4; Queue.take m5-5; Queue c6-6; Trait c7-7; Trait.given m7-7; helper f8-8; "
        "twice f9-9",
    ),
    "kotlin": (
        ".kt",
        KOTLIN,
        "Queue c4-12; Queue.Companion c6-8; Queue.Companion.empty m7-7; Queue.constructor m9-9; "
        "Queue.extended m10-10; Queue.twice m11-11; Single c13-15; Single.only m14-14; made f16-16",
    ),
    "scala": (
        ".scala",
        SCALA,
        "Queue c2-6; Queue.take m3-3; Queue.take.inner f3-3; Queue.take m4-4; Queue.twice m5-5; Single c7-7; "
        "Single.only m7-7; Shape c8-8; Shape.area m8-8",
    ),
    "php": (
        ".php",
        PHP,
        "Queue c4-7; Queue.take m6-6; open f8-8; close f9-9; again f10-10; Shape c11-11; Shape.area m11-11",
    ),
    "ruby": (
        ".rb",
        RUBY,
        "Jobs c1-9; Jobs.Queue c3-7; Jobs.Queue.take m4-4; Jobs.Queue.open m5-5; Jobs.Queue.empty? m6-6; "
        "Jobs.STOP m8-8; Jobs.Other c10-12; Jobs.Other.== m11-11",
    ),
    "swift": (
        ".swift",
        SWIFT,
        "Queue c2-8; Queue.take m4-4; Queue.init m5-5; Queue.deinit m6-6; Queue.twice m7-7; Outer.Inner c9-9; "
        "Outer.Inner.extended m9-9; Shape c10-10; Shape.area m10-10",
    ),
}
"""Language -> suffix, text, its definitions: names, the first letters of their kinds, their lines."""


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_language_has_its_definitions_with_their_lines(language):
    suffix, text, expected = LANGUAGES[language]
    assert language_of(suffix) == language
    assert outline(text, suffix) == expected.split("; ")


def test_markup_in_code_is_read_by_the_grammars_that_know_it():
    component = "export const App = () => <div onClick={() => 1}/>;\n"
    assert outline(component, ".tsx") == outline(component, ".jsx") == ["App f1-1"]


def test_every_grammar_has_its_definitions():
    """A language with a grammar but without a query of definitions would have no functions."""
    parsed = {language for language in SUFFIXES.values() if has_grammar(language)}
    assert parsed == LANGUAGES.keys() | {"jsx", "tsx"}


@pytest.mark.parametrize("language", LANGUAGES)
def test_broken_source_keeps_what_is_whole(language):
    suffix, text, expected = LANGUAGES[language]
    broken = text + "\n}}} def ( class {{{ '\n"
    expected = set(expected.split("; "))
    assert len(set(outline(broken, suffix)) & expected) >= len(expected) // 2
    assert functions_of(text[: len(text) // 2], suffix) is not None


@pytest.mark.parametrize("text", ["", "\0\0\0", "\ud800def f(): pass", "\ufeffdef f(): pass", "def f(): pass\r\n" * 3])
def test_odd_texts_do_no_harm(text):
    for suffix in (".py", ".java", ".unheard-of", ".sql"):
        functions_of(text, suffix)


def test_a_functions_text_is_its_comment_its_decorators_and_its_body():
    terms = counts(PYTHON, ".py", "draw")
    assert terms["draw"] == (1, 2)  # the name; the comment above and the documentation
    assert terms["retri"] == (1, 0)
    assert terms["colour"] == (1, 0)  # a nested function is part of the one around it
    assert "import" not in terms


def test_a_class_is_what_is_left_of_it_without_its_methods():
    terms = counts(PYTHON, ".py", "Shape")
    assert terms["figur"] == (0, 1)
    assert terms["side"] == (1, 0)
    assert not {"angl", "area", "corner"} & set(terms)


def test_a_comment_belongs_to_what_follows_it_at_once():
    text = "/* far */\n\n/* near */\n// nearer\nint f() { return a; }\n\nint unrelated;\n/* last */\n"
    terms = counts(text, ".c", "f")
    assert terms["near"] == terms["nearer"] == (0, 1)
    assert not {"far", "unrel", "last"} & set(terms)


def test_counts_end_at_255():
    assert counts("def f():\n" + "    call()\n" * 300, ".py", "f")["call"] == (255, 0)


def test_more_functions_than_a_file_has_are_left_out():
    begin = time.process_time()
    facts = functions_of("def f(): pass\n" * 20_000, ".py")
    assert len(facts) == MAX_FUNCTIONS
    assert time.process_time() - begin < 5


def test_deep_nesting_is_bounded():
    depth = 300
    nested = "".join("    " * level + f"def level{level}():\n" for level in range(depth))
    nested += "    " * depth + "deepest()\n"
    facts = functions_of(nested, ".py")
    assert len(facts) == 8
    assert "deepest" in counts(nested, ".py", facts.names[-1])
    assert max(map(len, facts.names)) < 100
    braces = "function f() {" * 3_000 + "}" * 3_000
    assert len(functions_of(braces, ".js")) <= 8
