"""Frames of stack traces that are recognized by their shape."""

import pytest

from tests.reports.kinds import kind_of


@pytest.mark.parametrize(
    "line",
    [
        "x.org/shop/web.(*Server).Serve(0xc0001de820)",
        "\t/home/u/shop/web/server.go:5 +0x7a7",
        "main.total(…)",
        "goroutine 54 [running]:",
        "#1  0x0000555 in main () at main.c:3",
        "#0 /app/src/Cart.php(12): total()",
        "    (shop 0.1.0) lib/cart.ex:12: Cart.total/1",
        "   1: shop::cart::total",
        "             at ./src/cart.rs:12:9",
        "    from app/main.rb:3:in `run'",
        "3   Shop    0x0000000100003f2a total + 52",
        "0 [inlined] Cart.total() in shop at /a/Cart.swift:12:9",
        "1 0x000055 main in shop at /a/main.swift:3:1",
        "    frame #1: 0x0000000101 shop`main at main.c:3:1",
        "    at 1   shop.kexe  0x10a3d kfun:org.shop.Cart#total(){} + 96 (/a/Cart.kt:14:9)",
        "#0      Cart.total (package:shop/cart.dart:14:9)",
        "\tsrc/cart.lua:12: in function 'total'",
        "\tShop::Cart::total('x') called at bin/shop.pl line 3",
        "   @ Shop ~/shop/src/cart.jl:14",
        "   @ ~/.julia/packages/Shop/x1Yz2/src/cart.jl:14 [inlined]",
        "   @ REPL[2]:1",
        "  [1] total(x::Vector{Int64}; tax::Bool)",
        " [2] total at ./cart.jl:14 [inlined]",
        " [12] (::Shop.Cart{T})(x::T) where T",
        " [3] top-level scope",
        " in total(::Int64) at ./cart.jl:14",
        "total@webpack-internal:///./src/cart.js:12:9",
        "        lib/shop/cart.ex:14: Shop.Cart.total/1",
        "\tfrom bin/shop:3:in `<main>'",
    ],
)
def test_frames_of_other_languages_are_traces(line):
    assert kind_of(line, f"```\npanic\n{line}\n```") == ["trace"]


@pytest.mark.parametrize("line", ["[12] cart opened", "[12] Cart::open(x) done"])
def test_numbered_lines_of_logs_are_no_frames_of_julia(line):
    assert kind_of(line, f"```\n{line}\n```") == ["log"]


@pytest.mark.parametrize(
    "line", ["ray.init()", "f(x)", "#1 is the cart", "at last", "from me", "me@x.org"]
)
def test_code_and_prose_are_no_traces(line):
    assert "trace" not in kind_of(line, f"```\n{line}\n```")
