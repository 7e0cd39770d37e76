"""Recognize output of builds in reports: commands, steps, and errors of compilers and linkers."""

from __future__ import annotations

from typing import Final

from tosloc.core.patterns import lazy_pattern
from tosloc.reports.text.line_shapes import LONGEST_SHAPED_LINE

_COMPILER: Final = lazy_pattern(
    r"""(?x) \s{0,9} (?:[\w./+~\-]{0,120}/)? (?: (?:[\w]{1,20}-){0,4}(?:g?cc|g\+\+|clang(?:\+\+)?
      |c\+\+|ld|ar|emcc)(?:-[\d.]{1,8})?
      | cl\.exe | rustc | javac | nvcc | ccache | libtool ) (?:\.exe)? \s"""
)
"""A command that compiles or links."""
_FLAG: Final = lazy_pattern(r"(?<!\S)-[\w\-]\S*+")
_COMPILER_FLAG: Final = lazy_pattern(
    r"(?<!\S)-(?:D\w|W[a-z]|I\S|isystem\b|std=|O[0-3s]\b|f[a-z]+-[a-z]|m(?:arch|tune|cpu)=)"
)
_MIN_FLAGS: Final = 3
"""Number of compiler flags that make a line a build command, whatever its program is called."""
_SOURCES_IN_COMMAND: Final = lazy_pattern(
    r"(?<!\S)[\w./+~\-]{1,300}\.(?:c|cc|cpp|cxx|m|mm|cu|rs|java|kt|swift|f90)(?!\S)"
)
"""The source files in a command that compiles."""
_BUILD_STEP: Final = lazy_pattern(
    r"""(?x) \s{0,9} (?: \[\s?\d{1,5}(?:%|/\d{1,6})\] | (?:g?make|ninja|scons
      |msbuild)(?:\[\d{1,3}\])?: | --\s
      | (?:Scanning|Consolidate|Built)\ | (?:CC|CXX|LD|AR|GEN|INSTALL|LINK)\s{1,9}\S | >\s?Task\s:
        | Compiling\ \S{1,60}\ v\d
      | In\ file\ included\ from | \s{1,20}from\ \S{1,200}:\d{1,7}[,:](?!in\b) )"""
)
"""A line of a build that only shows its progress."""
_DIAGNOSTIC: Final = lazy_pattern(
    r"""(?x)
      :\d{1,7}(?::\d{1,7})?:\ (?:fatal\ )?(?:error|warning|note)\b
      # Visual Studio, C#, TypeScript
    | \(\d{1,7}(?:,\d{1,7}){0,3}\)\ ?:\ (?:fatal\ )?(?:error|warning)\b
    | :\d{1,7}:\d{1,7}\ -\ (?:error|warning)\ TS\d
      # Go, Maven, Kotlin
    | \.go:\d{1,7}:\d{1,7}:\s | \.(?:java|kt|scala|groovy):\[\d{1,7},\d{1,7}\]\s
    | \A\s{0,9}e:\ \S{1,300}\.kts?:
      # Rust, webpack, linkers, Gradle
    | \A\s{0,9}error\[E\d{4}\]:\s | \A\s{0,9}-->\ \S{1,300}:\d{1,7}:\d
    | \A\s{0,9}ERROR\ in\ \.{0,2}/\S
    | \bundefined\ (?:reference\ to|symbols?)\b.{0,9}[`'":] | \A\s{0,9}>\ Task\ \S{1,100}\ FAILED"""
)
"""Text in a compiler's message about a line."""
_BUILD_FAILURE: Final = lazy_pattern(
    r"""(?x) FAILED:\s | \*\*\*\ | :\d{1,7}(?::\d{1,7})?:\ (?:fatal\ )?(?:error|warning|note)\b |
      \berror(?:\[E\d{1,5}\]|\ [A-Z]{1,3}\d{1,5})?:\s
      | \bundefined\ (?:reference|symbol) | \bfatal\ error\b | >\s?Task\s\S{1,100}\ FAILED |
        BUILD\ FAILED"""
)
"""Text that a build prints when something fails."""
_FAILED_BUILD: Final = lazy_pattern(
    r"(?m)^\s{0,9}FAILED:\s\S|\.\w{1,4}:\d{1,7}:(?:\d{1,7}:)? (?:fatal )?error\b"
    r"|\.\w{1,4}\(\d{1,7}(?:,\d{1,7})?\) ?: (?:fatal )?error\b"
    r"|^(?:make|ninja)(?:\[\d\])?: \*\*\*\s|^error\[E\d{4}\]:"
)
"""Text that shows, anywhere in a description, that a build failed."""


def shows_failed_build(description: str) -> bool:
    """Return whether a description contains text that a build prints when it fails.

    >>> shows_failed_build("FAILED: a.dir/b.cpp.o"), shows_failed_build("b.cpp:3:1: error: no")
    (True, True)
    >>> shows_failed_build("The build failed")
    False
    """
    return _FAILED_BUILD.search(description) is not None


def is_built(line: str) -> bool:
    """Return whether a line belongs to a build: a command, a step, or an error."""
    if len(line) > 5 * LONGEST_SHAPED_LINE:
        return False
    return (
        _BUILD_STEP.match(line) is not None
        or is_failed_target(line)
        or is_compiler_command(line)
        or _DIAGNOSTIC.search(line) is not None
    )


def is_failed_target(line: str) -> bool:
    """Return whether a line names a target that ninja failed to build."""
    return line.lstrip().startswith("FAILED: ")


def is_compiler_command(line: str) -> bool:
    """Return whether a line is a command that compiles or links, by its program or its flags."""
    if " -" not in line:
        return False
    return len(_COMPILER_FLAG.findall(line)) >= _MIN_FLAGS or _COMPILER.match(line) is not None


def is_build_error(line: str) -> bool:
    """Return whether a line of a build says what failed, or is a compiler's message."""
    return _BUILD_FAILURE.search(line) is not None or _DIAGNOSTIC.search(line) is not None


def compiled_sources(command: str) -> list[str]:
    """Return the source files in a command that compiles.

    >>> compiled_sources("/usr/bin/c++ -DA_B -Wall -Iinc -c src/b.cpp -o b.o")
    ['src/b.cpp']
    """
    return _SOURCES_IN_COMMAND.findall(_FLAG.sub(" ", command))
