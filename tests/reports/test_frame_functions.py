"""Functions of frames in languages that write them beside the file."""

import pytest

from tosloc.reports.traces import locations


@pytest.mark.parametrize(
    ("frame", "function"),
    [
        ("a.com/x/shop.(*Door).Open(0xc017e9, {0x1, 0x2})\n\t/go/src/door.go:12 +0x9f", "Open"),
        ("main.open(...)\n\tdoor.go:12", "open"),
        ("shop.(*Door).Open.func1.2(0xc0)\n\t/go/src/door.go:12", "Open"),
        ("shop.Map[...].Get(0xc0)\n\t/go/src/door.go:12", "Get"),
        ("created by shop.Open\n\t/go/src/door.go:12 +0x9f", "Open"),
        ("created by shop.Open in goroutine 7\n\t/go/src/door.go:12", "Open"),
        ("shop_1  | shop.Open(0x1)\nshop_1  |   /go/src/door.go:12", "Open"),
        ("> shop.Open(0x1)\n>\t/go/src/door.go:12", "Open"),
        ("example.com/shop.(*Door).Open\n\t/go/src/door.go:12", "Open"),
        ("example.com/shop.Open.func1\n\t/go/src/door.go:12", "Open"),
        ("It fails.\n\t/go/src/door.go:12", ""),
        ("shop.Open(0x1)\nsee door.go:12", ""),
        ("#1 0x4f2c1 in shop::Door::open(int) /src/door.cpp:12:5", "open"),
        ("#1  0x4f2c1 in open_door (key=3) at src/door.c:12", "open_door"),
        ("#0 shop::Door<int>::open(std::map<int, int>) door.hpp:12", "open"),
        ("#2 0x4f in (anonymous namespace)::open(int) door.cc:12", "open"),
        ("#2 0x4f in shop::Door::~Door() door.cc:12", "~Door"),
        ("see issue #1 in door.c:12", ""),
        ("4: shop::door::open\n             at ./src/door.rs:12:9", "open"),
        ("4: <shop::Door as shop::Open>::open::h0123456789abcdef\n  at door.rs:12", "open"),
        ("12: 0x55 - shop::open::{{closure}}\n  at /rustc/1a/door.rs:12", "open"),
        ("It fails.\n  at door.rs:12", ""),
        ("1   Shop   0x0000000102b3c4d5 Door.open(key:) + 132 (Door.swift:12)", "open"),
        ("2 Shop 0x0000000102b3c4d5 closure #1 in Door.body.getter + 60 (Door.swift:12)", "body"),
        ("(shop 0.1.0) lib/shop/door.ex:12: Shop.Door.open!/2", "open!"),
        ("lib/shop/door.ex:12: undefined function", ""),
    ],
)
def test_function_of_a_frame(frame, function):
    ((location,),) = locations(f"It fails\n\n{frame}\n").traces
    assert location.method == function
    assert location.line == 12
