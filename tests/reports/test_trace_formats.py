"""Every format of stack traces has a sample, and is recognized by its own row of the table."""

import re
from pathlib import Path

import pytest

from tosloc.reports.traces import is_traced, locations, without_frames
from tosloc.reports.traces.table import FORMATS

SAMPLES = {
    "Java, Kotlin, Scala": "\tat org.shop.Cart.total(Cart.java:12)",
    ".NET": r"   at Shop.Cart.Total(Int32 tax) in C:\src\Cart.cs:line 12",
    "JavaScript (Node, Chrome)": "    at Cart.total (/app/src/cart.js:12:5)",
    "JavaScript (Firefox, Safari)": "total@webpack-internal:///./src/cart.js:12:9",
    "Python": '  File "src/cart.py", line 12, in total',
    "Java debugger": "Cart.total(int) line: 12",
    "Go": "main.total(...)\n\t/home/u/cart.go:12 +0x1d",
    "Rust": "   1: shop::cart::total\n             at ./src/cart.rs:12:9",
    "gdb, sanitizers, valgrind": "#0  0x00005555 in total (c=0x0) at src/cart.c:12",
    "lldb": "    frame #1: 0x0000000101 shop`total at cart.c:12:1",
    "Kotlin/Native": "    at 1   shop.kexe  0x10a3d kfun:Cart#total(){} + 96 (/a/Cart.kt:12:9)",
    "Swift": "3   Shop  0x0000000100003f2a Cart.total() + 52 (Cart.swift:12)",
    "PHP": "#0 /app/src/Cart.php(12): Shop\\Cart->total()",
    "Ruby": "app/cart.rb:12:in `total': no key",
    "Elixir": "    (shop 0.1.0) lib/cart.ex:12: Shop.Cart.total/1",
    "Terraform": '  on cart.tf line 12, in resource "aws_lambda_function" "total":',
    "Dart": "#0      Cart.total (package:shop/cart.dart:12:5)",
    "Julia": "  [2] total(x::Vector{Int64})\n    @ Shop ~/shop/src/cart.jl:12",
    "Lua": "\tsrc/cart.lua:12: in function 'total'",
    "Perl": "\tShop::Cart::total('x') called at lib/Cart.pm line 12",
}
"""Name of a format -> a frame in line 12 of a cart."""


def test_every_format_has_a_sample():
    assert [form.name for form in FORMATS] == list(SAMPLES)


def test_every_format_is_in_the_docs():
    page = (Path(__file__).parents[2] / "docs/formats.md").read_text(encoding="utf-8")
    assert [form.name for form in FORMATS if f"| {form.name} |" not in page] == []


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
def test_sample_matches_the_row_of_its_format(form):
    first_line = SAMPLES[form.name].partition("\n")[0].strip()
    assert re.match(form.line or form.frame, first_line, re.VERBOSE)


@pytest.mark.parametrize("name", SAMPLES)
def test_no_line_of_a_trace_is_left_in_prose(name):
    without_traces = without_frames(SAMPLES[name])
    assert all(is_traced(line) for line in without_traces.splitlines() if line.strip())


@pytest.mark.parametrize("name", [name for name in SAMPLES if name != "Java debugger"])
def test_file_and_line_of_a_sample_are_found(name):
    [[frame]] = locations(SAMPLES[name]).traces
    assert frame.full_path.rpartition("/")[2].lower().startswith("cart.")
    assert frame.line == 12


@pytest.mark.parametrize("form", [form for form in FORMATS if form.complete], ids=lambda f: f.name)
def test_function_of_a_sample_is_found(form):
    [[frame]] = locations(SAMPLES[form.name]).traces
    assert frame.method == "total"


def test_suffixes_belong_to_one_format():
    suffixes = [suffix for form in FORMATS for suffix in form.suffixes]
    assert len(suffixes) == len(set(suffixes))
