"""Find every regular expression of the package, and texts that would make a bad one slow.

A text consists of a part that the pattern accepts, a piece repeated many times, and an end that the
pattern refuses, which makes a backtracking matcher try again. The pieces come from the pattern's
own syntax tree, and from a list of pieces that suit patterns for prose, code and paths.
"""

import ast
import importlib.util
import itertools
import pkgutil
import random
import re
import sys
import time
from collections import defaultdict
from importlib import import_module
from pathlib import Path
from typing import Any

import tosloc
from tosloc.core.patterns import LazyPattern

ROOT = Path(__file__).parents[1]
METHODS = ("match", "fullmatch", "search", "finditer", "findall", "sub", "subn", "split")
SIZES = (40, 160, 640, 2560, 10240)
"""Lengths of a text, each four times the one before."""
MAX_RATIO = 8.0
"""Largest ratio of two times. Four times the text takes 4 to 5 times as long if time grows with
n log n, 16 times if it grows with n²."""
LINEAR_RATIO = 6.0
"""A ratio with which a pattern is not measured again."""
MIN_SECONDS = 0.003
"""Times below are noise."""
MANY_SECONDS = 0.2
"""Times from which a pattern is slow without a look at a longer text."""
LOOKS = 5
"""Number of times that a pattern is measured before it is called slow."""
SECONDS_BETWEEN_LOOKS = 0.2
# fmt: off
SINGLE_CHARACTERS = (
    " ", "\n", "\t", "a", "A", "0", "_", ".", "-", "/", "*", "#", "=", ",", ":", "`", '"', "(", "<",
    "[", "{", "\\", "é",
)
LONGER_PIECES = (
    "a ", " a", "a.", "a/", "a,", "a:", "a(", "aA", "a0", "a-", "a\n", "\n\n ", "#1 ", "# ", "- ",
    "<!--", "-->", "at a.b(",
)
# fmt: on
COMMON_PIECES = (*SINGLE_CHARACTERS, *LONGER_PIECES)
sre: Any = import_module("re._constants")  # typeshed does not know these modules
sre_parser: Any = import_module("re._parser")
REPEATS = (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT)
MAX_ITEMS = 1000
"""Longer lists are tables of data, in which no pattern is searched for."""
MAX_LETTERS_OF_SET = 6
MAX_COMBINATIONS = 600
"""Combinations of a beginning and a piece that are tried; of more, some are drawn."""
MIN_REPETITIONS = 10
"""A part that may repeat at least this often is worth an attack."""
CATEGORY_SAMPLES = {
    sre.CATEGORY_DIGIT: "0",
    sre.CATEGORY_SPACE: " ",
    sre.CATEGORY_WORD: "a",
    sre.CATEGORY_NOT_DIGIT: "a",
    sre.CATEGORY_NOT_SPACE: "a",
    sre.CATEGORY_NOT_WORD: " ",
}
PASSED_ON = {
    "tosloc.code.facts._MARKUP": ["sub"],
    "tosloc.code.facts._ESCAPE": ["sub"],
    "tosloc.paths.classify._OF_SUFFIX": ["fullmatch"],
    "tosloc.paths.classify._OF_OTHERS": ["fullmatch"],
}
"""Methods of patterns that the package calls by another name."""
MATCHED_LINES = "tosloc.reports.failures."
"""Modules whose patterns, if nothing else is known of them, are matched with lines."""


def module_patterns():
    """Return each compiled pattern of the package's modules and of the action by its full name.

    A pattern that several modules have is listed once, by the first name.
    """
    modules = []
    for info in pkgutil.walk_packages(tosloc.__path__, "tosloc."):
        if not info.name.endswith("__main__"):
            modules.append((info.name, importlib.import_module(info.name)))
    modules.append(("action.run", import_action()))
    patterns = {}
    for module_name, module in modules:
        for variable, value in vars(module).items():
            for name, pattern in inner_patterns(value, variable):
                key = (pattern.pattern, pattern.flags)
                patterns.setdefault(key, (f"{module_name}.{name}", pattern))
    return dict(patterns.values())


def import_action():
    """Return the module of the action's program, which is in no package."""
    specification = importlib.util.spec_from_file_location("action_run", ROOT / "action/run.py")
    module = importlib.util.module_from_spec(specification)
    sys.modules["action_run"] = module
    specification.loader.exec_module(module)
    return module


def inner_patterns(value, name):
    """Yield the patterns that a value is or contains, with their names."""
    if isinstance(value, re.Pattern):
        yield name, value
    elif isinstance(value, LazyPattern):
        yield name, value.compiled
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from inner_patterns(item, f"{name}[{key!r}]")
    elif isinstance(value, tuple | list) and len(value) <= MAX_ITEMS:
        for number, item in enumerate(value):
            yield from inner_patterns(item, f"{name}[{number}]")
    elif hasattr(value, "__dataclass_fields__") and not isinstance(value, type):
        for field in value.__dataclass_fields__:
            yield from inner_patterns(getattr(value, field), f"{name}.{field}")


def parsed_sources():
    """Yield (path, node) for each syntax node of the package and of the action."""
    for path in (*(ROOT / "tosloc").rglob("*.py"), ROOT / "action/run.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            yield path, node


def used_methods():
    """Return the methods that are called on each variable, by (module, variable).

    The module "" has those that are called on a variable of this name in any module.
    """
    methods = defaultdict(set)
    for path, node in parsed_sources():
        if not isinstance(node, ast.Attribute) or node.attr not in METHODS:
            continue
        holder = node.value
        while isinstance(holder, ast.Subscript):
            holder = holder.value
        if isinstance(holder, ast.Name | ast.Attribute):
            module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            name = holder.id if isinstance(holder, ast.Name) else holder.attr
            methods[module, name].add(node.attr)
            methods["", name].add(node.attr)
    return methods


def literal_calls():
    """Yield location, method and pattern of each call such as ``re.sub("a+", ...)``."""
    for path, node in parsed_sources():
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        owner = node.func.value
        method = node.func.attr
        is_of_re = isinstance(owner, ast.Name) and owner.id == "re" and method in METHODS
        if is_of_re and node.args and isinstance(node.args[0], ast.Constant):
            pattern: Any = node.args[0].value  # a string or bytes
            location = f"{path.relative_to(ROOT)}:{node.lineno}"
            yield location, method, re.compile(pattern)


def sample(tree):
    """Return a text that a parsed pattern accepts, as far as the tree shows it."""
    return "".join(sample_of_node(node) for node in tree)


def sample_of_node(node):
    """Return a text that a node of a parsed pattern accepts; "" for what matches no characters."""
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
    if kind in REPEATS:
        least, most, repeated = value
        return sample(repeated) * max(least, min(1, int(most)))
    return ""


def sample_of_set(items):
    """Return a letter that a set accepts."""
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
    """Return one letter of each of the first parts of a set."""
    letters = []
    for kind, value in items:
        if kind is sre.LITERAL:
            letters.append(chr(value))
        elif kind is sre.RANGE:
            letters.append(chr(value[0]))
        elif kind is sre.CATEGORY:
            letters.append(CATEGORY_SAMPLES.get(value, "a"))
    return letters[:MAX_LETTERS_OF_SET]


def called_methods(name, methods):
    """Return the methods called on the pattern with this full name, in the order of ``METHODS``.

    ``methods`` are those of ``used_methods``. A private name is used in its own module only.
    """
    base = name.split("[")[0]
    if base in PASSED_ON:
        return PASSED_ON[base]
    module, _, variable = base.rpartition(".")
    called = methods[module if variable.startswith("_") else "", variable]
    if not called and name.startswith(MATCHED_LINES):
        return ["match"]
    return [method for method in METHODS if method in called]


def children(node):
    """Return the trees inside a node."""
    kind, value = node
    if kind is sre.BRANCH:
        return value[1]
    if kind is sre.SUBPATTERN:
        return [value[3]]
    if kind is sre.ATOMIC_GROUP:
        return [value]
    if kind in REPEATS:
        return [value[2]]
    if kind in (sre.ASSERT, sre.ASSERT_NOT):
        return [value[1]]
    return []


def repeats(tree, before=""):
    """Yield (text before, repeated text) of each part that may repeat often."""
    for node in tree:
        kind, value = node
        if kind in REPEATS and value[1] >= MIN_REPETITIONS:
            repeated = value[2]
            yield before, sample(repeated) or "a"
            if len(repeated) == 1 and repeated[0][0] is sre.IN:
                for letter in letters_of_set(repeated[0][1]):
                    yield before, letter
        for child in children(node):
            yield from repeats(child, before)
        before += sample_of_node(node)


def without_duplicates(values):
    """Return the values as a list, each at its first place."""
    return list(dict.fromkeys(values))


def attacks(pattern, *, thorough):
    """Yield (text before, piece, end) of the texts that a pattern is tried with.

    Without ``thorough`` it leaves out most combinations of beginnings, pieces and ends.
    """
    source = pattern.pattern
    flags = pattern.flags
    if isinstance(source, bytes):
        source = source.decode("latin-1")
        flags |= re.ASCII
    tree = sre_parser.parse(source, flags)
    repeated_parts = without_duplicates(repeats(tree))
    befores = without_duplicates(before for before, _ in repeated_parts)
    pieces = without_duplicates(piece for _, piece in repeated_parts)
    refused = without_duplicates(refused_letters(tree))
    if thorough:
        further_pieces = (*pieces, *COMMON_PIECES)
        ends = ["\x00", "", "!", "\n", "\n\x00", "a", *refused]
    else:
        befores = befores[:6]
        further_pieces = (*pieces[:4], " ")
        ends = ["\x00", "", *refused[:2]]
    pairs = [*repeated_parts]
    pairs += [("", piece) for piece in (*pieces, sample(tree), *COMMON_PIECES) if piece]
    # The beginning of a match, again and again: the matcher tries each one to the end of the text.
    pairs += [("", before + piece) for before, piece in repeated_parts]
    combinations = list(itertools.product(befores, further_pieces))
    if len(combinations) > MAX_COMBINATIONS:
        combinations = random.Random(source).sample(combinations, MAX_COMBINATIONS)
    pairs += combinations
    for before, piece in without_duplicates(pairs):
        for end in without_duplicates(ends):
            yield before, piece, end


def least_seconds(pattern, method, text, times=1):
    """Return the least CPU time of some runs of a method over a text."""
    call = getattr(pattern, method)
    least = float("inf")
    for _ in range(times):
        started = time.process_time()
        if method in ("sub", "subn"):
            call(text[:0], text)
        elif method == "finditer":
            for _ in call(text):
                pass
        else:
            call(text)
        least = min(least, time.process_time() - started)
    return least


def find_slow_text(pattern, methods, *, thorough=False):
    """Return a text on which a pattern takes more than n log n time, or None.

    The text is described by the method, the attack, its length, and the times for a quarter of the
    text and for all of it.
    """
    sizes = SIZES if thorough else SIZES[:-1]
    for attack in attacks(pattern, thorough=thorough):
        texts = [attack_text(pattern, attack, size) for size in sizes]
        for method in methods:
            for smaller, text in itertools.pairwise(texts):
                if least_seconds(pattern, method, text) < MIN_SECONDS:
                    continue
                seconds = measure_growth(pattern, method, smaller, text)
                if seconds is None:
                    continue
                if seconds[1] < MANY_SECONDS:
                    # A repetition with a limit, such as {0,500}, grows fast only until it is there.
                    longer = attack_text(pattern, attack, 4 * len(text))
                    if measure_growth(pattern, method, text, longer) is None:
                        continue
                return method, attack, len(text), *seconds
    return None


def attack_text(pattern, attack, size):
    """Return the text of an attack for a pattern, with about ``size`` characters."""
    before, piece, end = attack
    text = before + piece * (size // len(piece)) + end
    return text.encode("utf-8") if isinstance(pattern.pattern, bytes) else text


def measure_growth(pattern, method, smaller, text):
    """Return the times for a text and a four times longer one if they grow too much, else None.

    Other work on the machine only makes a run longer, so the least times of several looks, some
    time apart, are compared.
    """
    smaller_seconds = seconds = float("inf")
    for look in range(LOOKS):
        time.sleep(SECONDS_BETWEEN_LOOKS * look)
        smaller_seconds = min(smaller_seconds, least_seconds(pattern, method, smaller, 3))
        seconds = min(seconds, least_seconds(pattern, method, text, 3))
        if seconds < MIN_SECONDS or seconds <= LINEAR_RATIO * smaller_seconds:
            return None
    return (smaller_seconds, seconds) if seconds > MAX_RATIO * smaller_seconds else None
