"""Stack traces as people paste them."""

from __future__ import annotations

import time

import pytest

from tosloc.analysis.traces import frames, qualified_names, without_frames

FOLDED = (
    "It fails on start: Mar 3, 2021 4:05:06 PM org.example.core.BasicShop openDoor SEVERE: Error opening the "
    "shop java.lang.IllegalStateException: Closed : no key "
    "\tat org.example.doors.WoodenDoor.setKey(WoodenDoor.java:138) "
    "\tat org.example.core.BasicShop.openDoor(BasicShop.java:5055) "
    "\tat org.example.core.BasicShop$Clerk.call(BasicShop.java:9) "
    "\tat sun.misc.Unsafe.park(Native Method) Caused by: org.example.KeyException: lost "
    "\tat org.example.keys.Ring.find(Unknown Source) ... 12 more "
    "root cause at org.example.keys.Pocket.<init>(Pocket.java) "
    "Please help, see org.example.Other for more."
)


def test_folded_java_trace() -> None:
    found = [(frame.type, frame.file, frame.method, frame.line, frame.cause) for frame in frames(FOLDED)]
    assert found == [
        ("org.example.doors.WoodenDoor", "WoodenDoor.java", "setKey", 138, 0),
        ("org.example.core.BasicShop", "BasicShop.java", "openDoor", 5055, 0),
        ("org.example.core.BasicShop", "BasicShop.java", "call", 9, 0),
        ("sun.misc.Unsafe", "Unsafe.java", "park", 0, 0),
        ("org.example.keys.Ring", "Ring.java", "find", 0, 1),
        ("org.example.keys.Pocket", "Pocket.java", "<init>", 0, 2),
    ]
    assert FOLDED[frames(FOLDED)[0].offset :].startswith("at org.example.doors")


def test_the_log_header_comes_before_the_first_frame() -> None:
    assert qualified_names(FOLDED) == [
        "org.example.core.BasicShop",
        "java.lang.IllegalStateException",
        "org.example.doors.WoodenDoor",
        "sun.misc.Unsafe",
        "org.example.KeyException",
        "org.example.keys.Ring",
        "org.example.keys.Pocket",
    ]


def test_text_without_frames_keeps_the_messages() -> None:
    rest = without_frames(FOLDED).split()
    assert " ".join(rest) == (
        "It fails on start: Mar 3, 2021 4:05:06 PM org.example.core.BasicShop openDoor SEVERE: Error opening the shop "
        "java.lang.IllegalStateException: Closed : no key Caused by: org.example.KeyException: lost ... 12 more "
        "root cause Please help, see org.example.Other for more."
    )


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("at java.base/java.util.List.of(List.java:7)", ("java.util.List", "List.java", "of", 7)),
        ("at java.base@17.0.1/a.B.c(B.java:9)", ("a.B", "B.java", "c", 9)),
        ("at app//a.B.c(B.java:9) ~[shop.jar:1.2]", ("a.B", "B.java", "c", 9)),
        ("at a.B$$Lambda$14/0x0000080.run(Unknown Source)", ("a.B", "B.java", "run", 0)),
        ("at com.sun.proxy.$Proxy0.go(Unknown Source)", ("com.sun.proxy.$Proxy0", "", "go", 0)),
        ("at a.B.access$000(B.java:3)", ("a.B", "B.java", "access$000", 3)),
        ("at a.Long\n.name(Long.java:1)", None),
        ("at a.B.c(Bro ken.java:1 2)", ("a.B", "Broken.java", "c", 12)),
        ("at a.B.c(B.java:-1)", ("a.B", "B.java", "c", 0)),
        ("at a.Bk.c(B.kt:4)", ("a.Bk", "B.kt", "c", 4)),
        ("at Main.main(Main.java:2)", ("Main", "Main.java", "main", 2)),
        ("List(Control).send(Event) line: 33", ("Control", "Control.java", "send", 33)),
        ("a.Display.loop() line: 44 [local]", ("a.Display", "Display.java", "loop", 44)),
        ("at open (src/shop/door.js:10:5)", ("", "door.js", "open", 10)),
        ("at async Shop.open (file:///src/door.mjs:10:5)", ("", "door.mjs", "open", 10)),
        ("at /src/door.tsx:10:5", ("", "door.tsx", "", 10)),
        ('File "src/shop/door.py", line 3, in open', ("", "door.py", "open", 3)),
        ('File "door.py", line 3', ("", "door.py", "", 3)),
        (r"at Shop.Door`1.Open(String key) in C:\src\Door.cs:line 12", ("Shop.Door", "Door.cs", "Open", 12)),
        ("look at shop.door(x) please", None),
        ("at home (alone)", None),
        ("that.is.it(It.java:1)", None),
    ],
)  # fmt: skip
def test_one_frame(line: str, expected: tuple[str, str, str, int] | None) -> None:
    found = [(frame.type, frame.file, frame.method, frame.line) for frame in frames(f"before {line} after")]
    assert found == ([] if expected is None else [expected])
    kept = without_frames(f"before {line} after").split()
    assert kept == (f"before {line} after".split() if expected is None else ["before", "after"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2021-03-03 10:11:12,123 ERROR [main] a.b.Shop - closed", ["a.b.Shop"]),
        ("03-Mar-2021 10:11:12.123 SEVERE [main] a.b.Shop.openDoor closed", ["a.b.Shop"]),
        ("10:11:12 CET a.b.Shop openDoor", ["a.b.Shop"]),
        ("WARN: [a.b.Shop] closed", ["a.b.Shop"]),
        ("a.b.Shop open INFO: ready", ["a.b.Shop"]),
        ("a.b.ShopException: closed", ["a.b.ShopException"]),
        ("The class a.b.Shop is nice, a.b.ShopException too.", []),
        ("", []),
    ],
)
def test_names_in_logs(text: str, expected: list[str]) -> None:
    assert qualified_names(text) == expected


def test_no_cause_is_counted_before_the_first_frame() -> None:
    text = "The root cause is unclear. Caused by: a.E: x at a.B.c(B.java:1) Caused by: a.F: y at a.D.e(D.java:2)"
    assert [frame.cause for frame in frames(text)] == [0, 1]


@pytest.mark.parametrize(
    "text",
    ["x at ", "at a(", "a.", "12:00:00 ", "a.b.C ", "INFO ", 'File "', "at ", "(", "A.", "at a.B.c(B ", "[", "line: "],
)
def test_long_texts_take_no_time(text: str) -> None:
    start = time.process_time()
    qualified_names(text * 20_000)
    without_frames(text * 20_000)
    assert time.process_time() - start < 3
