"""Stack traces as people paste them."""

import pytest

from tosloc.reports.traces import Frame, frames, locations, qualified_names, without_frames

FOLDED = (
    "It fails on start: Mar 3, 2021 4:05:06 PM org.example.core.BasicShop openDoor SEVERE: "
    "Error opening the shop java.lang.IllegalStateException: Closed : no key "
    "\tat org.example.doors.WoodenDoor.setKey(WoodenDoor.java:138) "
    "\tat org.example.core.BasicShop.openDoor(BasicShop.java:5055) "
    "\tat org.example.core.BasicShop$Clerk.call(BasicShop.java:9) "
    "\tat sun.misc.Unsafe.park(Native Method) Caused by: org.example.KeyException: lost "
    "\tat org.example.keys.Ring.find(Unknown Source) ... 12 more "
    "root cause at org.example.keys.Pocket.<init>(Pocket.java) "
    "Please help, see org.example.Other for more."
)


def test_folded_java_trace():
    found = [
        (frame.type, frame.file, frame.method, frame.line, frame.cause) for frame in frames(FOLDED)
    ]
    assert found == [
        ("org.example.doors.WoodenDoor", "WoodenDoor.java", "setKey", 138, 0),
        ("org.example.core.BasicShop", "BasicShop.java", "openDoor", 5055, 0),
        ("org.example.core.BasicShop", "BasicShop.java", "call", 9, 0),
        ("sun.misc.Unsafe", "Unsafe.java", "park", 0, 0),
        ("org.example.keys.Ring", "Ring.java", "find", 0, 1),
        ("org.example.keys.Pocket", "Pocket.java", "<init>", 0, 2),
    ]
    names = "core.BasicShop doors.WoodenDoor KeyException keys.Ring keys.Pocket".split()
    assert [
        name[12:] for name in qualified_names(FOLDED) if name.startswith("org.example")
    ] == names
    assert " ".join(without_frames(FOLDED).split()) == (
        "It fails on start: Mar 3, 2021 4:05:06 PM org.example.core.BasicShop openDoor SEVERE: "
        "Error opening the shop java.lang.IllegalStateException: Closed : no key "
        "Caused by: org.example.KeyException: lost ... 12 more "
        "root cause Please help, see org.example.Other for more."
    )
    text = (
        "The root cause is unclear. Caused by: a.E: x at a.B.c(B.java:1)"
        " Caused by: a.F: y at a.D.e(D.java:2)"
    )
    assert [frame.cause for frame in frames(text)] == [
        0,
        1,
    ]  # none is counted before the first frame


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("at java.base/java.util.List.of(List.java:7)", ("java.util.List", "List.java", "of", 7)),
        ("at a.B$$Lambda$14/0x0000080.run(Unknown Source)", ("a.B", "B.java", "run", 0)),
        ("at com.sun.proxy.$Proxy0.go(Unknown Source)", ("com.sun.proxy.$Proxy0", "", "go", 0)),
        ("At a.B.c(B.java:3)", ("a.B", "B.java", "c", 3)),
        ("at a.Long\n.name(Long.java:1)", None),
        ("at Long(Long.java:1)", None),
        ("at a.B.c(Bro ken.java:1 2)", ("a.B", "Broken.java", "c", 12)),
        ("List(Control).send(Event) line: 33", ("Control", "Control.java", "send", 33)),
        ("at async Shop.open (file:///src/door.mjs:10:5)", ("", "door.mjs", "open", 10)),
        ('File "src/shop/door.py", line 3, in open', ("", "door.py", "open", 3)),
        (
            r"at Shop.Door`1.Open(String key) in C:\src\Door.cs:line 12",
            ("Shop.Door", "Door.cs", "Open", 12),
        ),
    ],
)  # fmt: skip
def test_one_frame(line, expected):
    found = [
        (frame.type, frame.file, frame.method, frame.line)
        for frame in frames(f"before {line} after")
    ]
    assert found == ([] if expected is None else [expected])
    kept = without_frames(f"before {line} after").split()
    assert kept == (f"before {line} after".split() if expected is None else ["before", "after"])


@pytest.mark.parametrize(
    ("path", "lines"),
    [("shop/dist/cjs/door.js", [0, 0]), ("shop/lib/door.js", [10, 20]), ("src/dist.js", [10, 20])],
)
def test_line_of_compiled_javascript_is_not_known(path, lines):
    text = f"Error: closed\n    at Shop.open (/app/{path}:10:5)\n    at /app/{path}:20:5"
    trace = locations(text).traces[0]
    assert [frame.line for frame in trace] == lines
    assert [frame.method for frame in trace] == ["open", ""]


def test_place_before_the_stack_has_the_method_of_its_frame():
    text = (
        "/app/door.js:10\nError: closed\n    at open (/app/door.js:10:5)\n    at /app/door.js:3:1"
    )
    trace = locations(text).traces[0]
    assert [frame.method for frame in trace] == ["open", "open", ""]


@pytest.mark.parametrize(
    ("frame", "qualified"),
    [
        (Frame(0, 1, type="org.example.Shop", file="Shop.java"), True),
        (Frame(0, 1, type="Shop.Door", path="C:/src/Door.cs"), False),
        (Frame(0, 1, path="src/shop/door.py"), False),
        (Frame(0, 1, method="open"), False),
    ],
)
def test_a_frame_is_qualified_by_a_type_without_a_path(frame, qualified):
    assert frame.qualified is qualified


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2021-03-03 10:11:12,123 ERROR [main] a.b.Shop - closed", ["a.b.Shop"]),
        ("10:11:12 CET a.b.Shop openDoor", ["a.b.Shop"]),
        ("a.b.ShopException: closed", ["a.b.ShopException"]),
        ("The class a.b.Shop is nice, a.b.ShopException too.", []),
    ],
)
def test_names_in_logs(text, expected):
    assert qualified_names(text) == expected


PYTHON = """It fails:
Traceback (most recent call last):
  File "/home/me/run.py", line 3, in <module>
    main()
  File "/env/lib/python3.8/site-packages/shop/door.py", line 14, in open
    key.turn()
KeyError: 1

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "shop/late.py", line 5, in close
    raise Closed
"""
NOTEBOOK = """
<ipython-input-3-1234> in <module>
----> 1 door.open()
~/site-packages/shop/door.py in open(self)
     13     key = self.key
---> 14     key.turn()
~/site-packages/shop/key.py in (key)
"""
GO = """panic: closed
goroutine 1 [running]:
main.(*Door).open(0x0)
\t/go/src/github.com/me/shop/door.go:14 +0x1b
main.main()
\t/go/src/main.go:3 +0x2
"""
RUST = """thread 'main' panicked at 'closed', src/door.rs:14:5
  12: shop::door::open
             at ./src/door.rs:14:5
  13: shop::main
             at src/main.rs:3
"""
RUBY = "lib/shop/door.rb:14:in `open': closed (Closed)\n\tfrom lib/shop.rb:3:in `<main>'"
PHP = "#0 /var/www/shop/Door.php(14): Door->open()\n#1 /var/www/index.php(3): main()\n"
GDB = "#0  0x00 in door_open (d=0x0) at src/door.c:14\n#1  0x01 in main () at src/main.c:3\n"
JULIA_0_5 = """ERROR: BoundsError
 in getindex(::Array{Int64,1}, ::Int64) at ./array.jl:340
 in #open#3(::Bool, ::Function) at /home/me/shop/src/door.jl:14
 in open at shop.jl:3
"""
JULIA_1_0 = """ERROR: BoundsError
Stacktrace:
 [1] getindex at ./array.jl:744 [inlined]
 [2] #open#3(::Bool, ::typeof(open), ::Array{Int64,1}) at /home/me/shop/src/door.jl:14
 [3] macro expansion at /home/me/shop/src/key.jl:7 [inlined]
 [4] top-level scope at REPL[2]:1
"""
JULIA_1_6 = """ERROR: BoundsError
Stacktrace:
  [1] getindex(A::Vector{Int64}, i1::Int64)
    @ Base ./array.jl:801
  [2] open!(x::Vector{Int64}; slowly::Bool)
    @ Shop ~/shop/src/door.jl:14 [inlined]
  [3] Shop.Keys.turn()
    @ ~/shop/src/key.jl:7
  [4] top-level scope
    @ REPL[2]:1
"""
JAVA = (
    "in main a.b.Closed:\n\tat org.shop.Door$Lock.open(Door.java:14)\n"
    "\tat org.shop.Main.main(Main.kt:3)\n"
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            PYTHON,
            [
                "/env/lib/python3.8/site-packages/shop/door.py 14, /home/me/run.py 3",
                "shop/late.py 5",
            ],
        ),
        (NOTEBOOK, ["~/site-packages/shop/key.py 0, ~/site-packages/shop/door.py 0"]),
        (GO, ["/go/src/github.com/me/shop/door.go 14, /go/src/main.go 3"]),
        (RUST, ["src/door.rs 14, ./src/door.rs 14, src/main.rs 3"]),
        (RUBY, ["lib/shop/door.rb 14, lib/shop.rb 3"]),
        (PHP, ["/var/www/shop/Door.php 14, /var/www/index.php 3"]),
        (GDB, ["src/door.c 14, src/main.c 3"]),
        (JULIA_0_5, ["./array.jl 340, /home/me/shop/src/door.jl 14, shop.jl 3"]),
        (JULIA_1_0, ["./array.jl 744, /home/me/shop/src/door.jl 14, /home/me/shop/src/key.jl 7"]),
        (JULIA_1_6, ["base/array.jl 801, ~/shop/src/door.jl 14, ~/shop/src/key.jl 7"]),
        (JAVA, ["org/shop/Door.java 14, org/shop/Main.kt 3"]),
    ],
)
def test_frames_innermost_first(text, expected):
    found = locations(text)
    assert [
        ", ".join(f"{frame.full_path} {frame.line}" for frame in trace) for trace in found.traces
    ] == expected
    assert not found.links


@pytest.mark.parametrize(
    ("text", "functions"),
    [
        (JULIA_0_5, ["getindex", "open", "open"]),
        (JULIA_1_0, ["getindex", "open", ""]),
        (JULIA_1_6, ["getindex", "open!", "turn"]),
    ],
    ids=["0.5", "1.0", "1.6"],
)
def test_functions_of_julia_frames(text, functions):
    [trace] = locations(text).traces
    assert [frame.method for frame in trace] == functions


def test_functions_of_julia_frames_whose_lines_were_joined():
    [trace] = locations(" ".join(JULIA_1_6.split())).traces
    assert [frame.method for frame in trace] == ["getindex", "open!", "turn"]


def test_a_place_in_julia_code_alone_has_no_function():
    [[frame]] = locations("[1] first point\nsee at src/door.jl:14").traces
    assert frame.method == ""


@pytest.mark.parametrize(
    ("line", "place", "method"),
    [
        ("File ~/a/b.py:3, in Door.open(self)", "~/a/b.py", "open"),
        ("a/b.rb:3:in 'Door#open'", "a/b.rb", "open"),
        ("a/b.rb:3:in `open?'", "a/b.rb", "open?"),
        ("a/b.rb:3:in 'block in Door#open!'", "a/b.rb", "open!"),
        ("a/b.rb:3:in `key='", "a/b.rb", "key="),
        ("Is it line a/b.rb:3 in open?", "a/b.rb", "open"),
        ("at open (webpack:///./a/b.ts?1a2b:3:5)", "///./a/b.ts", "open"),
        ("Fatal error in /a/b.php on line 3.", "/a/b.php", ""),
        ("[ERROR] /a/B.java:[3,5] no key", "/a/B.java", ""),
        (" --> src/b.rs:3:5", "src/b.rs", ""),
        ("e: /a/b.kt: (3, 5): no key", "/a/b.kt", ""),
        ("ERROR in ./a/b.ts 3:5-9", "./a/b.ts", ""),
        ("ERROR in ./a/b.vue 3:5", "./a/b.vue", ""),
        ("/a/b.cpp:3:5 in shop::Door::open(int)", "/a/b.cpp", "open"),
        ("called at a/b.hs:3:5 in shop-0.1:Door", "a/b.hs", ""),
    ],
    ids=[
        *("python", "ruby", "ruby question", "ruby bang", "ruby setter", "question"),
        *("webpack frame", "php", "maven", "rust"),
        *("kotlin", "webpack", "webpack without columns", "asan", "haskell"),
    ],
)
def test_line_that_names_one_place(line, place, method):
    [[frame]] = locations(line).traces
    assert frame.full_path == place
    assert frame.line == 3
    assert frame.method == method


@pytest.mark.parametrize(
    ("line", "method"),
    [
        ("File “src/cart.py”, line 12, in total", "total"),
        ("File „src/cart.py“, line 12, in total", "total"),
        ("File «src/cart.py», line 12, in total", "total"),
        ("File &quot;src/cart.py&quot;, line 12, in total", "total"),
        ("src/cart.rb:12:in ‘total’: no key", "total"),
        ("src/cart.rb:12:in ‘block in total’", "total"),
        ("src/cart.lua:12: in function ‘total’", "total"),
        ("no key in ‘src/cart.php’ on line 12", ""),
    ],
)
def test_quotation_marks_may_be_typographic(line, method):
    [[frame]] = locations(line).traces
    assert frame.full_path.startswith("src/cart.")
    assert frame.line == 12
    assert frame.method == method


def test_python_frame_with_typographic_quotation_marks_is_no_prose():
    assert without_frames("It fails: File “src/cart.py”, line 12, in total") == "It fails:  "


@pytest.mark.parametrize(
    ("warning", "error"),
    [
        ("src/a.c:3:5: warning: no key", "src/b.c:4:6: error: no door"),
        ("src/a.cs(3,5): warning CS0168: no key", "src/b.cs(4,6): error CS0103: no door"),
        ("src/a.ts(3,5): warning TS1: no key", "src/b.ts:4:6 - error TS2322: no door"),
        ("warning: no key\n --> src/a.rs:3:5", "error[E0308]: no door\n --> src/b.rs:4:6"),
        ("w: src/a.kt: (3, 5): no key", "e: src/b.kt: (4, 6): no door"),
        ("src/a.java:3: note: no key\nsrc/a.java:3: warning: x", "src/b.java:4: error: no door"),
    ],
    ids=["gcc", "c#", "typescript", "rust", "kotlin", "java"],
)
@pytest.mark.parametrize("between", ["\n", f"\n{'x ' * 400}\n"], ids=["near", "far"])
def test_errors_of_a_compiler_come_before_its_warnings(warning, error, between):
    traces = locations(f"{warning}{between}{error}\n").traces
    places = [frame.path.partition(".")[0] for trace in traces for frame in trace]
    assert list(dict.fromkeys(places)) == ["src/b", "src/a"]


def test_warnings_without_an_error_keep_their_order():
    [trace] = locations("a.c:3:5: warning: no key\nb.c:4:6: warning: no door\n").traces
    assert [frame.path for frame in trace] == ["a.c", "b.c"]


def test_what_stands_apart_links_and_lines_that_are_shown():
    assert locations("b.py:3.1 and c.py:4x").traces == ()  # versions are no lines
    text = f"at open (a.js:1:1)\n{'x ' * 400}at close (b.js:1:1)"
    assert [[frame.full_path for frame in trace] for trace in locations(text).traces] == [
        ["a.js"],
        ["b.js"],
    ]
    found = locations(
        "I ran `python3 -u examples/run.py` and bash go.sh; door.py is wrong."
    )  # commands run the others
    assert [place.path for place in found.paths] == ["door.py"]
    found = locations(
        "See https://github.com/me/shop/blob/master/src/door.py#L14-L16 and\n\n"
        "shop/src/key.py\n\n\n"
        "         Line 12\n      in\n      5809c29\n\n"
        "but not src/lock.py or the 2.5.1 release."
    )
    assert [(place.path, place.line) for place in found.links] == [
        ("src/door.py", 14),
        ("shop/src/key.py", 12),
    ]
    assert [place.path for place in found.paths] == ["src/lock.py"]
    assert found.traces == ()


@pytest.mark.parametrize(
    ("address", "path", "project"),
    [
        ("https://github.com/me/shop/blob/main/src/a.py", "src/a.py", "me/shop"),
        ("github.com/me/shop/tree/main/src/a.py", "src/a.py", "me/shop"),
        ("https://raw.githubusercontent.com/me/shop/main/src/a.py", "src/a.py", "me/shop"),
        (
            "https://raw.githubusercontent.com/me/shop/refs/heads/main/src/a.py",
            "src/a.py",
            "me/shop",
        ),
        ("https://gitlab.com/us/web/shop/-/blob/main/src/a.py", "src/a.py", "us/web/shop"),
        ("https://bitbucket.org/me/shop/src/main/src/a.py", "src/a.py", "me/shop"),
        ("https://codeberg.org/me/shop/src/branch/main/src/a.py", "src/a.py", "me/shop"),
        ("lib/blob/raw/a.py", "a.py", ""),
    ],
)
def test_project_of_a_linked_file(address, path, project):
    [link] = locations(f"See {address}").links
    assert link.path == path
    assert link.project == project


def test_a_folder_like_one_of_a_host_is_no_link():
    assert not locations("app/src/commit/door/a.py fails").links


PLACES = {
    "swift error": (
        "Fatal error: out of range: file Shop/Cart.swift, line 12",
        "Shop/Cart.swift",
        "",
    ),
    "swift trace": (
        "3   Shop  0x0000000100003f2a Cart.total() + 52 (Cart.swift:12)",
        "Cart.swift",
        "total",
    ),
    "kotlin": ("at org.x.CartKt.total(Cart.kt:12)", "org/x/Cart.kt", "total"),
    "php trace": ("#0 /app/src/Cart.php(12): Shop\\Cart->total()", "/app/src/Cart.php", ""),
    "php error": ("PHP Warning: no key in /app/src/Cart.php on line 12", "/app/src/Cart.php", ""),
    "ruby": ("app/cart.rb:12:in `total': no key", "app/cart.rb", "total"),
    "ruby block": ("from app/cart.rb:12:in `block in total'", "app/cart.rb", "total"),
    "ruby 3.4": ("app/cart.rb:12:in 'Cart#total': no key", "app/cart.rb", "total"),
    "elixir": ("(shop 0.1.0) lib/cart.ex:12: Shop.Cart.total/1", "lib/cart.ex", "total"),
    "gdb": ("#0  0x00005555 in cart_total (c=0x0) at src/cart.c:12", "src/cart.c", "cart_total"),
    "address sanitizer": (
        "#0 0x4f in cart_total /home/u/cart.c:12:5",
        "/home/u/cart.c",
        "cart_total",
    ),
    "rust panic": ("thread 'main' panicked at src/cart.rs:12:9:", "src/cart.rs", ""),
    "rust trace": (
        "1: shop::cart::total\n             at ./src/cart.rs:12:9",
        "./src/cart.rs",
        "total",
    ),
    "go": ("main.total(...)\n\t/home/u/cart.go:12 +0x1d", "/home/u/cart.go", "total"),
    "node": ("at Cart.total (/app/src/cart.js:12:5)", "/app/src/cart.js", "total"),
    "lua": ("src/cart.lua:12: in function 'total'", "src/cart.lua", "total"),
    "lua chunk": ("src/cart.lua:12: in main chunk", "src/cart.lua", ""),
    "dart": ("#0  Cart.total (package:shop/cart.dart:12:5)", "shop/cart.dart", ""),
    "tsc": ("src/cart.ts(12,5): error TS2322: no", "src/cart.ts", ""),
    "cargo": ("error[E0308]: no\n  --> src/cart.rs:12:5", "src/cart.rs", ""),
    "javac": ("src/Cart.java:12: error: cannot find symbol", "src/Cart.java", ""),
    "gcc": ("src/cart.cpp:12:3: error: no member", "src/cart.cpp", ""),
    "msbuild": ("src\\Cart.cs(12,5): error CS0103: no", "src/Cart.cs", ""),
    "chinese": ("在src/cart.py:12中出错", "src/cart.py", ""),
}


@pytest.mark.parametrize("name", PLACES)
def test_place_in_a_trace_or_a_build(name):
    text, place, method = PLACES[name]
    [[frame]] = locations(text).traces
    assert frame.full_path == place
    assert frame.line == 12
    assert frame.method == method


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("FAILED: src/CMakeFiles/a.dir/b/cart.cpp.o", ["src/b/cart.cpp"]),
        ("FAILED: src/liba.so.p/cart.c.o", ["src/cart.c"]),
        ("make[2]: *** [x.make:76: CMakeFiles/a.dir/src/cart.cpp.o] Error 1", ["src/cart.cpp"]),
        ("[ 4%] Building CXX object CMakeFiles/a.dir/src/cart.cpp.o", []),
        ("FAILED: src/cart.o", []),
    ],
    ids=["cmake", "meson", "make", "built", "no source"],
)
def test_objects_that_failed_name_their_sources(text, paths):
    found = locations(text)
    assert [frame.path for trace in found.traces for frame in trace] == paths
    assert found.paths == ()


def test_file_that_a_command_compiles_is_no_named_file():
    assert locations("/usr/bin/c++ -O2 -c src/cart.cpp -o cart").paths == ()


def test_shifted_places_have_other_offsets():
    [[frame]] = locations("a.py:12").shift(lambda offset: offset + 5).traces
    assert frame.offset == 5
    assert frame.end == 9
