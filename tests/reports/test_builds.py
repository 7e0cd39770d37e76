"""Output of builds: commands, and what compilers and linkers say."""

import pytest

from tests.reports.kinds import kind_of
from tosloc.reports.text.parts import split_report_text


def test_failed_object_is_an_error_with_the_path_of_its_source():
    parts = split_report_text(
        "```\nFAILED: src/CMakeFiles/a.dir/b.cpp.o\nninja: build stopped\n```"
    )
    assert parts.errors == "src/b.cpp"


def test_command_that_compiles_counts_by_its_sources():
    parts = split_report_text("```\n/usr/bin/c++ -DA_B -Wall -Iinc -c src/b.cpp -o b.o\n```")
    assert parts.log == "src/b.cpp"
    assert parts.code == ""


def test_command_of_the_reporter_keeps_its_options():
    line = "ffmpeg -i a.mp4 -vf scale -c:v copy -f mp4 b.mp4"
    assert kind_of(line, f"```\n{line}\n```") == ["code"]


@pytest.mark.parametrize(
    "line",
    [
        "src/b.cpp:3:7: error: no member named 'c'",
        "src/b.rs:3: error: no",
        "/usr/bin/ld: b.o: undefined reference to `c'",
    ],
)
def test_errors_of_linkers_and_compilers_beside_a_build_are_errors(line):
    log = "[1/9] Building a.o\n[2/9] Building b.o\nFAILED: b.o"
    assert kind_of(line, f"```\n{log}\n{line}\n```") == ["errors"]


@pytest.mark.parametrize(
    "line",
    [
        r"C:\src\b.cpp(14,9): error C2065: 'key': undeclared identifier",
        "Shop/Door.cs(14,9): error CS0103: The name 'key' does not exist",
        "src/b.ts(14,9): error TS2339: Property 'turn' does not exist",
        "src/b.ts:14:9 - error TS2339: Property 'turn' does not exist",
        "./web/b.go:12:9: undefined: key",
        "vet: web/b.go:12:9: undefined: key",
        "[ERROR] /a/src/main/java/B.java:[14,9] cannot find symbol",
        "[error] /a/src/main/scala/B.scala:14:9: value turn is not a member of Key",
        "e: file:///a/src/main/kotlin/B.kt:14:9 Unresolved reference: turn",
        "error[E0425]: cannot find value `key` in this scope",
        "  --> src/b.rs:14:9",
        "ERROR in ./src/b.js 14:9",
        "b.cpp:(.text+0x14): undefined reference to `Key::turn()'",
        "/a/b.swift:14:9: error: cannot find 'key' in scope",
        "src/main/java/B.java:14: error: cannot find symbol",
    ],
)
@pytest.mark.parametrize("begin", ["It fails:\n", "```\n"])
def test_what_compilers_say_is_an_error(line, begin):
    assert kind_of(line, f"{begin}{line}\n") == ["errors"]
