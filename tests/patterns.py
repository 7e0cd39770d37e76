"""Find every regular expression of the package, and texts that would make a bad one slow.

A text is made of a part that the pattern accepts, a piece repeated many times, and an end that the
pattern refuses: what makes a backtracking matcher try again. The pieces come from the pattern's own
syntax tree, with some that suit patterns for prose, code and paths.
"""

import ast
import importlib.util
import pkgutil
import re
import sys
import time
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from re import _constants as sre
from re import _parser as sre_parser

import tosloc

ROOT = Path(__file__).parents[1]
METHODS = ("match", "fullmatch", "search", "finditer", "findall", "sub", "subn", "split")
SIZES = (40, 160, 640, 2560, 10240)
"""Lengths of a text, each four times the one before."""
MAX_RATIO = 8.0
"""Largest ratio of two times. Four times the text takes 4 to 5 times as long in n log n, 16 in n²."""
MIN_SECONDS = 0.003
"""Times below are noise."""
COMMON_PIECES = (
    *(
        " ",
        "\n",
        "\t",
        "a",
        "A",
        "0",
        "_",
        ".",
        "-",
        "/",
        "*",
        "#",
        "=",
        ",",
        ":",
        "`",
        '"',
        "(",
        "<",
        "[",
        "{",
        "\\",
        "é",
    ),
    *(
        "a ",
        " a",
        "a.",
        "a/",
        "a,",
        "a:",
        "a(",
        "aA",
        "a0",
        "a-",
        "a\n",
        "\n\n ",
        "#1 ",
        "# ",
        "- ",
        "<!--",
        "-->",
        "at a.b(",
    ),
)
PASSED_ON = {
    "tosloc.code.facts._MARKUP": ["sub"],
    "tosloc.code.facts._ESCAPE": ["sub"],
    "tosloc.paths.classify._OF_SUFFIX": ["fullmatch"],
    "tosloc.paths.classify._OF_OTHERS": ["fullmatch"],
}
"""Methods of patterns that the package calls by another name."""


def module_patterns():
    """Return each compiled pattern of the package's modules by its full name."""
    patterns = {}
    for info in pkgutil.walk_packages(tosloc.__path__, "tosloc."):
        if info.name.endswith("__main__"):
            continue
        module = importlib.import_module(info.name)
        for name, value in vars(module).items():
            for where, pattern in inner_patterns(value, name):
                patterns.setdefault(
                    (pattern.pattern, pattern.flags), (f"{info.name}.{where}", pattern)
                )
    action = ROOT / "action/run.py"
    specification = importlib.util.spec_from_file_location("action_run", action)
    module = importlib.util.module_from_spec(specification)
    sys.modules["action_run"] = module
    specification.loader.exec_module(module)
    for name, value in vars(module).items():
        for where, pattern in inner_patterns(value, name):
            patterns.setdefault((pattern.pattern, pattern.flags), (f"action.run.{where}", pattern))
    return dict(patterns.values())


def inner_patterns(value, name):
    """Yield the patterns that a value is or contains, with their names."""
    if isinstance(value, re.Pattern):
        yield name, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from inner_patterns(item, f"{name}[{key!r}]")
    elif isinstance(value, tuple | list) and len(value) < 1000:
        for number, item in enumerate(value):
            yield from inner_patterns(item, f"{name}[{number}]")
    elif hasattr(value, "__dataclass_fields__") and not isinstance(value, type):
        for field in value.__dataclass_fields__:
            yield from inner_patterns(getattr(value, field), f"{name}.{field}")


def used_methods():
    """Return the methods that the package calls on each name, by module and name; module "" for all."""
    methods = defaultdict(set)
    for path in (*(ROOT / "tosloc").rglob("*.py"), ROOT / "action/run.py"):
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and node.attr in METHODS:
                holder = node.value
                while isinstance(holder, ast.Subscript):
                    holder = holder.value
                if isinstance(holder, ast.Name | ast.Attribute):
                    name = holder.id if isinstance(holder, ast.Name) else holder.attr
                    methods[module, name].add(node.attr)
                    methods["", name].add(node.attr)
    return methods


def literal_calls():
    """Yield name, method and pattern of each call such as ``re.sub("a+", ...)`` with a literal pattern."""
    for path in (*(ROOT / "tosloc").rglob("*.py"), ROOT / "action/run.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not (
                isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args
            ):
                continue
            owner, method = node.func.value, node.func.attr
            if not (isinstance(owner, ast.Name) and owner.id == "re" and method in METHODS):
                continue
            if isinstance(node.args[0], ast.Constant):
                yield (
                    f"{path.relative_to(ROOT)}:{node.lineno}",
                    method,
                    re.compile(node.args[0].value),
                )


def sample(tree):
    """Return a text that a parsed pattern accepts, as far as that can be seen."""
    return "".join(sample_of_node(node) for node in tree)


def sample_of_node(node):
    kind, value = node
    if kind is sre.LITERAL:
        return chr(value)
    if kind is sre.NOT_LITERAL:
        return "a" if value != ord("a") else "b"
    if kind is sre.ANY:
        return "a"
    if kind is sre.IN:
        return sample_of_set(value)
    if kind is sre.BRANCH:
        return sample(value[1][0])
    if kind is sre.SUBPATTERN:
        return sample(value[3])
    if kind is sre.ATOMIC_GROUP:
        return sample(value)
    if kind in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
        least, most, body = value
        return sample(body) * max(least, min(1, int(most)))
    return ""


CATEGORY_SAMPLES = {
    sre.CATEGORY_DIGIT: "0",
    sre.CATEGORY_SPACE: " ",
    sre.CATEGORY_WORD: "a",
    sre.CATEGORY_NOT_DIGIT: "a",
    sre.CATEGORY_NOT_SPACE: "a",
    sre.CATEGORY_NOT_WORD: " ",
}


def sample_of_set(items):
    if items[0][0] is sre.NEGATE:
        refused = {chr(value) for kind, value in items if kind is sre.LITERAL}
        return next(letter for letter in "a Z0.-" if letter not in refused)
    kind, value = items[0]
    if kind is sre.LITERAL:
        return chr(value)
    if kind is sre.RANGE:
        return chr(value[0])
    return CATEGORY_SAMPLES.get(value, "a")


def refused_letters(tree):
    """Yield the letters that negated sets refuse: ends of a text that make a pattern fail late."""
    for node in tree:
        kind, value = node
        if kind is sre.IN and value[0][0] is sre.NEGATE:
            yield from letters_of_set(value[1:])
        if kind is sre.NOT_LITERAL:
            yield chr(value)
        for child in children(node):
            yield from refused_letters(child)


def letters_of_set(items):
    """Return up to four letters of a set: one of each of its parts."""
    letters = []
    for kind, value in items:
        if kind is sre.LITERAL:
            letters.append(chr(value))
        elif kind is sre.RANGE:
            letters.append(chr(value[0]))
        elif kind is sre.CATEGORY:
            letters.append(CATEGORY_SAMPLES.get(value, "a"))
    return letters[:6]


def methods_of(name, methods):
    """Return the methods that are called on the pattern with this full name, in the order of METHODS."""
    base = name.split("[")[0]
    if base in PASSED_ON:
        return PASSED_ON[base]
    module, _, variable = base.rpartition(".")
    called = methods[module, variable] if variable.startswith("_") else methods["", variable]
    return [method for method in METHODS if method in called]


def children(node):
    kind, value = node
    if kind is sre.BRANCH:
        return value[1]
    if kind is sre.SUBPATTERN:
        return [value[3]]
    if kind is sre.ATOMIC_GROUP:
        return [value]
    if kind in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
        return [value[2]]
    if kind in (sre.ASSERT, sre.ASSERT_NOT):
        return [value[1]]
    return []


def repeats(tree, before=""):
    """Yield (text before, text repeated) of each part that may repeat ten times or more."""
    for node in tree:
        kind, value = node
        if kind in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT) and value[1] >= 10:
            yield before, sample(value[2]) or "a"
            if len(value[2]) == 1 and value[2][0][0] is sre.IN:
                for letter in letters_of_set(value[2][0][1]):
                    yield before, letter
        for child in children(node):
            yield from repeats(child, before)
        before += sample_of_node(node)


def attacks(pattern, *, thorough):
    """Yield (text before, piece, end) of the texts that a pattern is tried with."""
    source, flags = pattern.pattern, pattern.flags
    if isinstance(source, bytes):
        source = source.decode("latin-1")
        flags |= re.ASCII
    tree = sre_parser.parse(source, flags)
    own = list(dict.fromkeys(repeats(tree)))
    befores = list(dict.fromkeys(before for before, _ in own))
    most = len(befores) if thorough else 6
    pieces = list(dict.fromkeys(piece for _, piece in own))
    whole = sample(tree)
    found = [*own]
    found += [("", piece) for piece in (*pieces, whole, *COMMON_PIECES) if piece]
    # The beginning of a match, again and again: each is tried to the end of the text.
    beginnings = dict.fromkeys(before + piece for before, piece in own)
    found += [("", beginning) for beginning in beginnings]
    further = (*pieces, *COMMON_PIECES) if thorough else (*pieces[:4], " ")
    found += [(before, piece) for before in befores[:most] for piece in further]
    refused = list(dict.fromkeys(refused_letters(tree)))
    ends = ["\x00", "", *refused[:2]]
    if thorough:
        ends = ["\x00", "", "!", "\n", "\n\x00", "a", *refused]
    for before, piece in dict.fromkeys(found):
        for end in dict.fromkeys(ends):
            yield before, piece, end


def seconds(pattern, method, text, times=1):
    """Return the least CPU time of some runs of a method over a text."""
    call = getattr(pattern, method)
    best = float("inf")
    for _ in range(times):
        started = time.process_time()
        if method in ("sub", "subn"):
            call(text[:0], text)
        elif method == "finditer":
            for _ in call(text):
                pass
        else:
            call(text)
        best = min(best, time.process_time() - started)
    return best


def slow_text(pattern, methods, *, thorough=False):
    """Return a method, an attack and the times that grow worse than n log n; None if there are none."""
    is_bytes = isinstance(pattern.pattern, bytes)
    for before, piece, end in attacks(pattern, thorough=thorough):
        texts = []
        for size in SIZES if thorough else SIZES[:-1]:
            text = before + piece * (size // len(piece)) + end
            texts.append(text.encode("utf-8") if is_bytes else text)
        for method in methods:
            last = None
            for smaller, text in pairwise(texts):
                now = seconds(pattern, method, text)
                if now < MIN_SECONDS:
                    continue
                last = seconds(pattern, method, smaller, 3)
                if now > MAX_RATIO * last:  # A busy machine may have slowed one run: look again.
                    now = seconds(pattern, method, text, 7)
                if now > MIN_SECONDS and now > MAX_RATIO * last:
                    return method, (before, piece, end), len(text), last, now
    return None
