"""Generators of texts that once took a parser gigabytes or minutes, and of random texts like them.

As a program: print the most memory that reading some texts took, in MB, and the most processor
seconds that one text took. Its arguments are the length of the known families' texts and how many
random texts follow.
"""

import os
import random
import re
import resource
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from tosloc.code import parse
from tosloc.code.facts import analyse
from tosloc.code.functions import find_functions
from tosloc.code.languages import LANGUAGE_BY_SUFFIX, get_language, has_grammar

GRAMMARS = sorted(
    get_language(name).suffixes[0] for name in set(LANGUAGE_BY_SUFFIX.values()) if has_grammar(name)
)
TOKENS = (
    '( ) [ ] { } < > , ; : . = == => -> + - * / % & && | || ^ ! ? @ # $ ~ \\ " \' ` """ /* */ //'
    " <!-- --> a b x 1 0x 1.5 's' \"s\" if else for while do switch case class struct enum def func"
    " fn fun let var const return new async await yield lambda template typename operator using"
    " import package from in is as where match when try catch throw int void static public #if"
    " #endif #define /[ <% %> <<< >>> .. ... :: \n \t é \0 <?php ?> ${ #{ %q( begin end module"
    " sizeof unsafe fixed checked delegate event goto label: override"
).split(" ")
FAMILIES = (
    (".cs", "/", "(,a ", ";"),
    (".c", "", ";*", ""),
    (".java", "#endif${", "<;a", ""),
    (".java", ":: set", "(;", ""),
    (".java", "ain ", "(;a", ""),
    (".swift", "", "A<", ""),
    (".cpp", "", "A<", ";"),
    (".ts", "", "(a,", ";"),
    (".rs", "$yield", "<,a ", ""),
    (".go", "#define&", "<;a", ""),
    (".swift", "sizeof/ ", "(a,", ""),
    (".tsx", "#) ", "[a,", ""),
    (".c", "catch", "(;a", ";"),
)
"""Suffix, beginning, what is repeated, and end."""


def repeated(unit: str, size: int) -> str:
    """Return a text of about ``size`` characters that repeats a unit."""
    return unit * (size // max(1, len(unit)))


def tokens(source: random.Random, number: int) -> str:
    """Return some random tokens, with and without blanks between."""
    return "".join(source.choice(TOKENS) + source.choice(("", "", " ")) for _ in range(number))


def random_text(seed: int) -> tuple[str, str]:
    """Return a suffix and a text of 1 to 80 kB, made from a seed."""
    source = random.Random(seed)
    suffix = source.choice(GRAMMARS)
    size = int(1000 * 80 ** source.random())
    kind = source.choice(("repeat", "opening", "two", "soup"))
    if kind == "soup":
        return suffix, tokens(source, size // 3)
    if kind == "opening":
        unit = source.choice("([{<") + source.choice((",", ";", ",a ", ";a", "a,", ""))
        return suffix, tokens(source, 2) + repeated(unit, size) + source.choice(";,)")
    first = repeated(tokens(source, source.randint(1, 6)), size // 2)
    middle = tokens(source, source.randint(0, 3))
    if kind == "repeat":
        return suffix, middle + first + first + source.choice(("", ";", "}"))
    return suffix, first + middle + repeated(tokens(source, source.randint(1, 4)), size // 2)


def texts(size: int, number: int) -> Iterator[tuple[str, str]]:
    """Generate a text of each known family, then random texts."""
    for suffix, beginning, unit, ending in FAMILIES:
        yield suffix, beginning + repeated(unit, size) + ending
    for seed in range(number):
        yield random_text(seed)


def processor_seconds() -> float:
    """Return the processor time of this process and of all its parsers, the running one included.

    The system adds a parser's whole time to that of its parent's children, but only when it ends.
    """
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = time.process_time() + ended.ru_utime + ended.ru_stime
    process = parse._PARSER._process
    if process is not None:
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        user_ticks = int(fields[11])
        system_ticks = int(fields[12])
        seconds += (user_ticks + system_ticks) / os.sysconf("SC_CLK_TCK")
    return seconds


def main() -> None:
    most_seconds = 0.0
    for suffix, text in texts(int(sys.argv[1]), int(sys.argv[2])):
        start = processor_seconds()
        analyse(text, suffix)
        find_functions(text, suffix)
        most_seconds = max(most_seconds, processor_seconds() - start)
    parse._PARSER.close()
    # Not ru_maxrss of this process, which counts the memory of the one that started it.
    status = Path("/proc/self/status").read_text()
    own = int(re.search(r"VmHWM:\s*(\d+) kB", status)[1])
    parsers = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    print(max(own, parsers) // 1024, most_seconds)


if __name__ == "__main__":
    main()
