"""Locations that reports name: frames of many languages, innermost first; links and paths."""

from __future__ import annotations

import pytest

from tosloc.analysis.report_locations import report_locations

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
~/env/lib/python3.6/site-packages/shop/door.py in open(self)
     13     key = self.key
---> 14     key.turn()
~/env/lib/python3.6/site-packages/shop/key.py in (key)
"""
GO = """panic: closed
goroutine 1 [running]:
main.(*Door).open(0x0)
\t/go/src/github.com/me/shop/door/door.go:14 +0x1b
main.main()
\t/go/src/github.com/me/shop/main.go:3 +0x2
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
SANITIZER = "    #0 0x4f in open /src/shop/door.cc:14:3\n    #1 0x5a in main /src/shop/main.cc:3:1\n"
NODE = "Error: closed\n    at Door.open (/app/src/door.js:14:7)\n    at /app/src/main.ts:3:1\n"
JAVA = """Exception in thread "main" a.b.Closed: closed
\tat org.shop.Door$Lock.open(Door.java:14)
\tat org.shop.Main.main(Main.kt:3)
"""
WINDOWS = r"   at Shop.Door.Open(String key) in C:\src\Shop\Door.cs:line 14"
COMPILER = "src/door.cpp:14:9: error: no key\nsrc/door.h(3): warning C4100"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            PYTHON,
            [[("/env/lib/python3.8/site-packages/shop/door.py", 14), ("/home/me/run.py", 3)], [("shop/late.py", 5)]],
        ),
        (
            NOTEBOOK,
            [
                [
                    ("~/env/lib/python3.6/site-packages/shop/key.py", 0),
                    ("~/env/lib/python3.6/site-packages/shop/door.py", 0),
                ]
            ],
        ),
        (GO, [[("/go/src/github.com/me/shop/door/door.go", 14), ("/go/src/github.com/me/shop/main.go", 3)]]),
        (RUST, [[("src/door.rs", 14), ("./src/door.rs", 14), ("src/main.rs", 3)]]),
        (RUBY, [[("lib/shop/door.rb", 14), ("lib/shop.rb", 3)]]),
        (PHP, [[("/var/www/shop/Door.php", 14), ("/var/www/index.php", 3)]]),
        (GDB, [[("src/door.c", 14), ("src/main.c", 3)]]),
        (SANITIZER, [[("/src/shop/door.cc", 14), ("/src/shop/main.cc", 3)]]),
        (NODE, [[("/app/src/door.js", 14), ("/app/src/main.ts", 3)]]),
        (JAVA, [[("org/shop/Door.java", 14), ("org/shop/Main.kt", 3)]]),
        (WINDOWS, [[("/src/Shop/Door.cs", 14)]]),
        (COMPILER, [[("src/door.cpp", 14), ("src/door.h", 3)]]),
    ],
)
def test_frames_innermost_first(text: str, expected: list[list[tuple[str, int]]]) -> None:
    locations = report_locations(text)
    assert [[(frame.path, frame.line) for frame in trace] for trace in locations.traces] == expected
    assert not locations.links


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('File "a/b.py", line 3, in open', ("a/b.py", 3, "open")),
        ("File ~/a/b.py:3, in Door.open(self)", ("~/a/b.py", 3, "open")),
        ("~/a/b.py in open(self)", ("~/a/b.py", 0, "open")),
        ("a/b.py:3: in open", ("a/b.py", 3, "open")),
        ("a/b.rb:3:in `open'", ("a/b.rb", 3, "open")),
        ("a/b.rb:3:in 'Door#open'", ("a/b.rb", 3, "open")),
        ("at open (webpack:///./a/b.ts?1a2b:3:5)", ("///./a/b.ts", 3, "open")),
        ("Fatal error in /a/b.php on line 3.", ("/a/b.php", 3, "")),
        ("died at a/b.pm line 3.", ("a/b.pm", 3, "")),
        ("[ERROR] /a/B.java:[3,5] no key", ("/a/B.java", 3, "")),
        ("B.cs(3,5): error CS1002", ("B.cs", 3, "")),
        (" --> src/b.rs:3:5", ("src/b.rs", 3, "")),
    ],
)
def test_one_frame(line: str, expected: tuple[str, int, str]) -> None:
    [[frame]] = report_locations(line).traces
    assert (frame.path, frame.line, frame.function) == expected


def test_a_version_is_no_line() -> None:
    assert report_locations("b.py:3.1 and c.py:4x").traces == ()


def test_traces_far_apart_are_two() -> None:
    text = f"at open (a.js:1:1)\n{'x ' * 400}at close (b.js:1:1)"
    assert [[frame.path for frame in trace] for trace in report_locations(text).traces] == [["a.js"], ["b.js"]]


def test_links_and_lines_that_are_shown() -> None:
    text = (
        "See https://github.com/me/shop/blob/master/src/door.py#L14-L16 and\n\nshop/src/key.py\n\n\n"
        "         Line 12\n      in\n      5809c29\n\nbut not src/lock.py or the 2.5.1 release."
    )
    locations = report_locations(text)
    assert [(place.path, place.line) for place in locations.links] == [("src/door.py", 14), ("shop/src/key.py", 12)]
    assert [place.path for place in locations.paths] == ["src/lock.py"]
    assert locations.traces == ()


def test_what_a_command_runs_is_no_written_path() -> None:
    locations = report_locations("I ran `python3 -u examples/run.py` and bash go.sh; door.py is wrong.")
    assert [place.path for place in locations.paths] == ["door.py"]
