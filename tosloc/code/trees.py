"""Make syntax trees of source texts in a separate process with limits on memory and time.

Within one step, which nothing can stop, a parser may try so many ways to understand a text that it
takes gigabytes. It then ends only its own process: ``tosloc.code.parse`` starts this module as a
program, sends it texts and reads the captures of their trees.

For each grammar, a file of ``queries/`` says which nodes are comments, strings, imports, declared
names, functions and so on. A grammar's module is imported with the first file of its language.
"""

from __future__ import annotations

import importlib
import math
import os
import pickle
import re
import resource
import signal
import sys
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeAlias

import tree_sitter

from tosloc.code.languages import OTHER_GRAMMARS
from tosloc.code.names import definition_name

_MAX_ERROR_PIECES: Final = 2_000
"""Largest number of pieces of a text that is a single error.

A text with more is not a program, and a query over the pieces takes quadratic time.
"""
_MAX_DEPTHS: Final = 1_000_000_000
"""Largest sum of the depths of all nodes of a tree.

At each node a query checks everything that the nodes around it wait for. A program of two million
bytes has a sum of 40 million.
"""
_MAX_REPAIRS: Final = 5
"""Largest number of lines that are blanked because a parser skips the text after them."""
_STRIDE: Final = 256
"""Number of nodes for each node whose depth is measured."""
_READ_BYTES: Final = 4096
_FREE_STEPS: Final = 1000
_STEPS_PER_BYTE: Final = 0.2
_FREE_READS: Final = 200
_READS_PER_BYTE: Final = 20 / _READ_BYTES
"""Limit, for each byte of text, on a parser's progress reports and on its reads of the text.

Both counts depend on the text alone. Programs need a tenth of the limit; recovery from errors can
take the square of the length.
"""
_WINDOW: Final = 2048
_PIECE: Final = 12
_OPENS: Final = frozenset(b"<([{=:?!*/%+-&|^~@")
_CLOSES: Final = frozenset(b",;)}")
_KOTLIN: Final = "tree_sitter_kotlin"
_CONSTRUCTOR_ON_NEXT_LINE: Final = re.compile(
    rb"\bclass[ \t]++\w++[ \t]*+(?:<[^(){}\n]{0,300}>[ \t]*+)?\n\s*+"
    rb"(?:(?:@[\w.:]++(?:\([^()]{0,300}\))?|internal|private|protected|public|actual|expect)\s++)"
    rb"{0,9}+constructor\b"
)
"""A class of Kotlin with the keyword of its constructor on another line than its name."""
_CAPTURE = re.compile(r"@(\w+)")
_NAMED: Final = frozenset({"class", "function", "scope"})  # captures that are sent with a name

_FREE_MEMORY: Final = 96 * 2**20
_MEMORY_PER_BYTE: Final = 1_000
"""Bytes of memory that the process may take for each byte of text, its own code included.

Programs need a quarter of this: the heaviest of ten thousand source files took 240 bytes for each
byte.
"""
_FREE_SECONDS: Final = 3.0
_SECONDS_PER_BYTE: Final = 20e-6
"""Processor time in seconds for each byte of text. Programs need a twentieth of this."""

Captures: TypeAlias = dict[str, list[tuple[int, int, str]]]
"""Name of a query's capture -> start, end and name of each captured node, in bytes of the text.
Only definitions have a name."""


def find_captures(source: bytes, grammar: str, wanted: tuple[str, ...]) -> Captures | None:
    """Return the nodes that a grammar's query captures as one of ``wanted``.

    Return None if there is no tree. Also return None if declarations are wanted, and the tree has
    errors and no declaration.
    """
    grammar, root, parsed = best_tree(source, grammar)
    if root is None:
        return None
    try:
        nodes = tree_sitter.QueryCursor(_query(grammar, wanted)).captures(root)
    except (ValueError, RecursionError):
        return None
    if "method" in wanted and root.has_error and not (nodes.get("type") or nodes.get("method")):
        return None
    return {capture: _node_spans(parsed, capture, nodes[capture]) for capture in nodes}


def best_tree(source: bytes, grammar: str) -> tuple[str, tree_sitter.Node | None, bytes]:
    """Return the grammar that parses a text best, the root of its tree, and the parsed text.

    It is ``grammar``, or the grammar that is tried in its place. Offsets in the parsed text are the
    same as in ``source``.
    """
    root, parsed = _repaired_tree(source, grammar)
    other = OTHER_GRAMMARS.get(grammar)
    if other is not None and (root is None or root.has_error):
        other_root, other_parsed = _repaired_tree(source, other)
        if _error_bytes(other_root) < _error_bytes(root):
            return other, other_root, other_parsed
    return grammar, root, parsed


def _error_bytes(root: tree_sitter.Node | None) -> float:
    """Return the number of bytes of a tree that are in errors; infinity if there is no tree."""
    if root is None:
        return math.inf
    total = 0
    nodes = [root]
    while nodes:
        node = nodes.pop()
        if node.type == "ERROR":
            total += node.end_byte - node.start_byte
        elif node.is_missing:
            total += 1
        elif node.has_error:
            nodes += node.children
    return total


def _repaired_tree(source: bytes, grammar: str) -> tuple[tree_sitter.Node | None, bytes]:
    """Return the root of a text's syntax tree, or None, and the text that was parsed.

    At a line that the grammar does not know, a parser may skip the rest of the text. That line is
    then blanked, at most a few times, so that the functions below it are found.
    """
    root = syntax_tree(source, grammar)
    for _ in range(_MAX_REPAIRS):
        if root is None:
            break
        place = _skipped_from(source, root)
        if place < 0:
            break
        start = source.rfind(b"\n", 0, place) + 1
        end = source.find(b"\n", place)
        repaired_source = source[:start] + b" " * (end - start) + source[end:]
        repaired = syntax_tree(repaired_source, grammar)
        if repaired is None or 0 <= _skipped_from(repaired_source, repaired) <= place:
            break
        root = repaired
        source = repaired_source
    return root, source


def _skipped_from(source: bytes, root: tree_sitter.Node) -> int:
    """Return the start of the last token before lines that a parser skipped; -1 if it skipped none.

    Skipped lines belong to an error at the top of the tree, and to no token in it.
    """
    errors = [root] if root.type == "ERROR" else root.children
    for error in errors:
        if error.type != "ERROR":
            continue
        last = error
        while last.child_count:
            last = last.children[-1]
        if source.count(b"\n", last.end_byte, error.end_byte) > 1:
            return last.start_byte
    return -1


def syntax_tree(source: bytes, grammar: str) -> tree_sitter.Node | None:
    """Return the root of a text's syntax tree; None if the text is no program or takes too long.

    A text may crash this process.
    """
    if _repeats_an_opening(source):
        return None
    if grammar == _KOTLIN:
        source = _prepare_kotlin(source)
    most_steps = _FREE_STEPS + len(source) * _STEPS_PER_BYTE
    most_reads = _FREE_READS + len(source) * _READS_PER_BYTE
    steps = reads = 0
    parsed = False  # from then on queries read, to compare names

    def read(offset: int, _: object) -> bytes:
        nonlocal reads
        reads += 1
        piece = source[offset : offset + _READ_BYTES]
        if reads <= most_reads or parsed:
            return piece
        # Within one step a scanner may read the rest of a line again from each of its characters,
        # so the rest becomes one word. A text that ends earlier than at first makes tree-sitter
        # crash.
        return b"a" * len(piece)

    def too_much(_: int, __: bool) -> bool:
        nonlocal steps
        steps += 1
        return steps > most_steps or reads > most_reads

    try:
        root = parser(grammar).parse(read, progress_callback=too_much).root_node
    except ValueError:
        if steps <= most_steps and reads <= most_reads:
            raise MemoryError from None  # the parser ended because it could not call too_much
        return None
    parsed = True
    return None if reads > most_reads or _is_no_program(root) else root


def _prepare_kotlin(source: bytes) -> bytes:
    """Return a text of Kotlin that its grammar can parse, with the same offsets.

    The grammar's scanner looks for a line end instead of the end of the text, and never stops if
    there is none. It also ends a class at the end of the line with its name.
    """
    if not source.endswith(b"\n"):
        source += b"\n"
    return _CONSTRUCTOR_ON_NEXT_LINE.sub(lambda match: match[0].replace(b"\n", b" "), source)


def parser(grammar: str) -> tree_sitter.Parser:
    """Return a new parser for a grammar."""
    return tree_sitter.Parser(_language(grammar))


def answer_requests() -> None:
    """Answer the requests that arrive on standard input, until it ends.

    A request consists of the arguments of ``find_captures``. The answer is its result, or the error
    that loading the grammar raises. A text that needs too much memory or time ends the process.
    """
    signal.signal(signal.SIGPROF, signal.SIG_DFL)  # which ends the process
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    while True:
        try:
            source, grammar, wanted = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        answer: Captures | Exception | None
        try:
            _query(grammar, wanted)
        except Exception as error:
            answer = error
        else:
            answer = _find_within_limits(source, grammar, wanted)
        pickle.dump(answer, sys.stdout.buffer)
        sys.stdout.buffer.flush()


def _find_within_limits(source: bytes, grammar: str, wanted: tuple[str, ...]) -> Captures | None:
    """Return what ``find_captures`` returns; end the process if it takes too much.

    The limits are on memory and time.
    """
    _limit_memory(_FREE_MEMORY + _MEMORY_PER_BYTE * len(source))
    signal.setitimer(signal.ITIMER_PROF, _FREE_SECONDS + _SECONDS_PER_BYTE * len(source))
    try:
        captures = find_captures(source, grammar, wanted)
    except Exception:  # too little memory raises anything
        os.abort()
    signal.setitimer(signal.ITIMER_PROF, 0)
    _limit_memory(resource.RLIM_INFINITY)
    return captures


def _limit_memory(max_bytes: int) -> None:
    """Limit the memory of this process to ``max_bytes``, or to its hard limit if that is lower."""
    _, hard_limit = resource.getrlimit(resource.RLIMIT_DATA)
    if hard_limit != resource.RLIM_INFINITY:
        is_unlimited = max_bytes == resource.RLIM_INFINITY
        max_bytes = hard_limit if is_unlimited else min(max_bytes, hard_limit)
    resource.setrlimit(resource.RLIMIT_DATA, (max_bytes, hard_limit))


def _node_spans(
    source: bytes, capture: str, nodes: list[tree_sitter.Node]
) -> list[tuple[int, int, str]]:
    if capture in _NAMED:
        return [(node.start_byte, node.end_byte, definition_name(source, node)) for node in nodes]
    return [(node.start_byte, node.end_byte, "") for node in nodes]


@cache
def _language(grammar: str) -> tree_sitter.Language:
    module, _, function = grammar.partition(" ")
    return tree_sitter.Language(getattr(importlib.import_module(module), function or "language")())


@cache
def _query(grammar: str, wanted: tuple[str, ...]) -> tree_sitter.Query:
    """Return the part of the grammar's query that captures one of the ``wanted`` names."""
    name = grammar.partition(" ")[0].removeprefix("tree_sitter_")
    text = Path(__file__).with_name("queries").joinpath(f"{name}.scm").read_text("ascii")
    query = tree_sitter.Query(_language(grammar), text)
    for number in range(query.pattern_count):
        start = query.start_byte_for_pattern(number)
        end = query.end_byte_for_pattern(number)
        if set(wanted).isdisjoint(_CAPTURE.findall(text[start:end])):
            query.disable_pattern(number)
    return query


def _is_no_program(root: tree_sitter.Node) -> bool:
    """Return whether a tree is mostly errors, or so deeply nested that a query would not end."""
    if root.type == "ERROR" and root.child_count > _MAX_ERROR_PIECES:
        return True
    cursor: Any = root.walk()
    left = _MAX_DEPTHS // _STRIDE
    for node in range(0, root.descendant_count, _STRIDE):
        cursor.goto_descendant(node)
        left -= cursor.depth
        if left < 0:
            return True
    return False


def _repeats_an_opening(source: bytes) -> bool:
    """Return whether a part of the text repeats an opening that never closes, such as ``A<A<``.

    At the end of such a part a parser tries all ways to understand it, in one step that takes
    gigabytes.
    """
    for start in range(0, len(source) - _WINDOW + 1, _WINDOW):
        middle = start + _WINDOW // 2
        end = start + _WINDOW
        piece = source[middle : middle + _PIECE]
        often = source.count(piece, start, end) > _WINDOW // (4 * _PIECE)
        opens = not _OPENS.isdisjoint(piece)
        if often and opens and _CLOSES.isdisjoint(source[start:end]):
            return True
    return False
