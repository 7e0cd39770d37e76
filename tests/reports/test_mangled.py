"""Mangled names of functions become readable ones."""

import pytest

from tosloc.core.reports import BugReport
from tosloc.reports.traces import demangle
from tosloc.retrieval.query import Query


@pytest.mark.parametrize(
    ("mangled", "call"),
    [
        ("_ZN7Kakoune10run_serverENS_6StringEi", "Kakoune::run_server()"),
        ("__ZN4shop4Door4openEv", "shop::Door::open()"),
        ("_Z9open_doori", "open_door()"),
        ("_ZZN4shop4openEvENKUlvE_clEv", "shop::open()"),
        ("_ZN12_GLOBAL__N_14openEv.isra.0", "open()"),
        ("_ZNK4shop3MapILi5ESt6vectorIiSaIiEEE3getEi", "shop::Map::get()"),
        ("_ZN4shop5ValueILNS_4KindE1EdE4dumpEv", "shop::Value::dump()"),
        ("_ZNSt6vectorIiSaIiEE2atEm", "vector::at()"),
        ("_ZN4shop4DoorC2Ev", "shop::Door()"),
        ("_ZN4shop4door4open17h0123456789abcdefE", "shop::door::open()"),
    ],
)
def test_mangled_name_becomes_a_call(mangled, call):
    assert demangle(mangled).rstrip() == call


@pytest.mark.parametrize("mangled", ["_ZN7Kakoune10run_serverENS_6StringEi", "_ZN1a1b1c1d1e1fE"])
def test_demangled_text_keeps_its_length(mangled):
    assert len(demangle(mangled)) == len(mangled)


@pytest.mark.parametrize("text", ["_ZONE_MAP", "_Z1", "my_Z3foo", "_ZN99abcE", "_Zebra3"])
def test_other_names_stay(text):
    assert demangle(text) == text


def test_function_of_a_mangled_frame_is_a_name_of_the_report():
    frame = "kak(_ZN7Kakoune10run_serverENS_6StringE+0x1f) [0x55d0c1]"
    query = Query(BugReport("r", "It crashes", frame, None))
    assert "run_server" in [name.written for name, _ in query.names.identifiers]
    assert "en" not in query.weights


def test_mangled_frame_with_a_file_has_its_function():
    frame = "#1 0x4f2c1 in _ZN4shop4Door4openEv /src/door.cpp:12"
    query = Query(BugReport("r", "It crashes", frame, None))
    [[place]] = query.places.locations.traces
    assert place.method == "open"
