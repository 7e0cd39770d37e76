"""A synthetic repository of many files: ``synthetic.py OUT --files 100000 [--commits 3000] [--seed 0]``.

OUT becomes a bare git repository of so many Java and Python files that parsers read without an error, and of a history
that changes them. The same arguments give the same commit, with the same NumPy. It is for measuring what size costs:
what grows with the number of files, their lengths, their terms and their commits grows as in real repositories; what a
ranking is worth cannot be seen on it.

Fitted on Apache Tomcat, Eclipse Birt, Eclipse JDT UI and django, in this order: 2,819, 9,813, 12,458 and 2,834 Java and
Python files at their heads, facts as this package makes them; commits: the last 3,000. Here: 10,000 files.

==========================================  =============================  ======================
number                                      real                           here
==========================================  =============================  ======================
lines of a file: median                     116, 113, 16, 66               90 (``--lines 80``)
lines of a file: deviation of the log       .99, .97, 1.43, 1.55           .88 (lognormal)
terms by line                               2.9, 3.3, 3.8, 3.5             3.1
different terms ~ length of a file, power   .66, .65, .71, .66             .62
postings of chunks by postings of files     2.34, 2.34, 2.50, 2.40         2.61
Zipf's power, ranks 10 to 1,000             .86, .96, .94, .86             .88
Zipf's power, ranks beyond                  1.42, 1.32, 1.29, 1.36         1.36
Heaps' power: terms by files                .64, .64, .69, .75             .65
terms that one file alone holds, share      .59, .49, .51, .69             .52
identifiers of 1, 2, 3, more words          .28, .30, .23, .19 (Tomcat)    .24, .45, .17, .14
files of a folder: mean; deviation of log   10, 8.9, 3.1, 4.3; about 1     10; 1.15 (lognormal)
folders above a file: median                5, 10, 5, 3                    10
imports of a file: mean                     8.1, 10.5, 7.0, 5.1            7.0
files that are copies, share                0, .001, .106, .222            .011
source files of a commit: median, mean      1, 2, 2, 2; 4.6, 68, 7.2, 3.0  2; 3
words of a subject: mean                    6.1, 8.1, 9.3, 9.2             8.6
commits that name a bug or a fix, share     .19, .18, .60, 0               .32
==========================================  =============================  ======================

Files are a little shorter than those of Tomcat, so that a million of them and all that is made of them fit on a disk.
One commit brings all files, as where a project moves to git; the others change some, most of them of one folder, and
now and then add or remove one. Their messages name types and words of what they touch.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, pairwise
from pathlib import Path
from typing import IO, Final, TypeAlias

import numpy as np

from tosloc import processes
from tosloc.cli.guard import guarded
from tosloc.cli.progress import shown
from tosloc.errors import RepositoryError, ToslocError
from tosloc.git.process import clean_environment
from tosloc.io import written_whole
from tosloc.records import Progress

Words: TypeAlias = tuple[str, ...]
"""Of one identifier, in lower case."""

MEDIAN_LINES: Final = 80
DEVIATION: Final = 1.0
PYTHON: Final = 0.15
"""Share of modules."""
TESTS: Final = 0.3
"""Share of Java's folders that another folder tests."""
COPIES: Final = 0.015
FIXES: Final = 0.3
BEGIN: Final = 1_400_000_000
"""Seconds since 1970 of the first commit."""

_ENGLISH: Final = "the a of to is in for this if not and be it that with by or are on from".split()
"""What comments hold beside words of the code."""
_COMMON: Final[Words] = tuple(
    """get set value name type add list size create file key index test has string data node path id state result time
    object map count request parent entry item text start event remove read write listener source context property
    session update handler end info line init resource length user element buffer thread message response default model
    attribute error field stream config content open close option load method view factory server manager code column
    select process parse table format filter cache check call first connection service action output input find reader
    group builder target reference all util base last point exception label token number make image container version
    local order control system query tree""".split()
)
_SYLLABLES: Final = tuple(c + v for c in "b d f g h k l m n p r s t v w z br st tr pl".split() for v in "aeiou")
_COUNTS: Final = (0.28, 0.58, 0.81, 0.92, 0.98, 1.0)
"""Share of identifiers of at most 1, 2, ... words."""
_JDK: Final = "String Object List Map Set Integer Long Boolean Exception IOException".split()
_MASK: Final = (1 << 64) - 1


class Law:
    """Ranks from 1 without end: p(r) falls with r to the power ``head`` as far as ``corner``, with ``tail`` beyond."""

    def __init__(self, head: float, tail: float, corner: float) -> None:
        self.head, self.tail, self.corner = head, tail, corner
        self._below = (corner ** (1 - head) - 1) / (1 - head)
        self._all = self._below + corner ** (1 - head) / (tail - 1)

    def rank(self, share: float) -> int:
        """The rank below which ``share`` (0 to 1) of all draws fall."""
        mass = share * self._all
        if mass < self._below:
            return int((1 + mass * (1 - self.head)) ** (1 / (1 - self.head)))
        left = max(self._all - mass, 1e-12) * (self.tail - 1) / self.corner ** (self.tail - self.head)
        return int(min(left ** (1 / (1 - self.tail)), 2.0**40))


WORDS: Final = Law(0.8, 1.75, 400)
IDENTIFIERS: Final = Law(0.75, 1.42, 900)


def mixed(*numbers: int) -> int:
    """64 bits that depend on all the numbers (splitmix64)."""
    state = 0
    for number in numbers:
        state = (state + number + 0x9E3779B97F4A7C15) & _MASK
        state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & _MASK
        state ^= state >> 31
    return state


def share_of(*numbers: int) -> float:
    """A number from 0 to 1 that depends on all the numbers."""
    return mixed(*numbers) / 2.0**64


def word(rank: int) -> str:
    """The word of a rank: the first ones are English, the others are made of syllables; different ranks, other words.

    >>> word(1), word(1000), word(10**6) != word(10**6 + 1)
    ('get', 'zutroke', True)
    """
    if rank <= len(_COMMON):
        return _COMMON[rank - 1]
    n = len(_SYLLABLES)
    syllables = 3
    rank -= len(_COMMON)
    while rank >= n**syllables:
        rank -= n**syllables
        syllables += 1
    code = rank * 7_368_787 % n**syllables  # a prime: neighbours look unlike
    return "".join(_SYLLABLES[code // n**place % n] for place in range(syllables))


@lru_cache(maxsize=1 << 19)
def identifier(rank: int) -> Words:
    """The words of the identifier of a rank; the more frequent ones have fewer."""
    draw = share_of(rank, 1) * (0.58 if rank < 300 else 1.0)
    number = next(place for place, share in enumerate(_COUNTS, 1) if draw <= share)
    return tuple(word(WORDS.rank(share_of(rank, 2, place))) for place in range(number))


def pascal(words: Words) -> str:
    """Of a type.

    >>> pascal(("get", "name")), camel(("get", "name")), camel(("class",))
    ('GetName', 'getName', 'aClass')
    """
    return "".join(map(str.capitalize, words))


def camel(words: Words) -> str:
    """Of a variable or method."""
    name = words[0] + "".join(map(str.capitalize, words[1:]))
    return f"a{name.capitalize()}" if name in _KEYWORDS else name


def snake(words: Words) -> str:
    """The same in Python."""
    name = "_".join(words)
    return f"{name}_" if name in _KEYWORDS else name


_KEYWORDS: Final = frozenset(
    "class default for if in is it new not or and return this with from void int static public try catch import".split()
)

# Templates: T a type, v a variable, m a method, w a word, n a number, stands between braces.

_JAVA_STATEMENTS: Final = """\
        {T} {v} = {v}.{m}();
        {v}.{m}({v});
        this.{v} = {v};
        {v}++;

        {v} = new {T}({n});
        if ({v} == null) {{
            return null;
        }}
        // {w} {w} {w} {w} {w} {w}
        // {w} {w} {w} {w} {w} {w} {w} {w}
        // {w} {w} {w} {w}

        for (int i = {n}; i < {v}.{m}(); i++) {{
            {m}({v}[i]);
        }}
        log.debug("{w} {w} {w}: " + {v});

        try {{
            {v}.{m}();
        }} catch ({T} e) {{
            throw new {T}("{w} {w} {w} {w}", e);
        }}
        if ({v}.{m}()) {{
            {m}({n});
        }} else {{
            break;
        }}
        while ({v} != null) {{
            {v} = {v}.{m}();
        }}
        {T}.{m}("{w}.{w}", {v});

"""
_PYTHON_STATEMENTS: Final = """\
        {v} = self.{v}.{m}({v})
        self.{v} = {v}

        {v}.{m}({v}={n})
        if {v} is None:
            {v} = {T}()
        # {w} {w} {w} {w} {w} {w}
        # {w} {w} {w} {w} {w} {w} {w}
        for {v} in {v}.{m}():
            {m}({v}[{n}])
        log.debug("{w} {w} {w} {w}")

        {v} = [{m}(i) for i in {v} if i]
        try:
            {v} = {m}("{w}")
        except {T}:
            pass

"""
_JAVA_METHODS: Final = (
    "\n    /**\n     * {w} {w} {w} {w} {w} {w}.\n     *\n     * @param {v} {w} {w} {w}\n     * @return {w} {w}\n"
    "     */\n    public {T} {m}({T} {v}) {{\n",
    "\n    private void {m}({T} {v}, int {v}) throws {T} {{\n",
    "\n    /** {w} {w} {w} {w} {w}. */\n    protected static {T} {m}({T} {v}, {T} {v}) {{\n",
    "\n    @Override\n    public boolean {m}() {{\n",
)
_JAVA_END: Final = "        return {v};\n    }}\n"
_JAVA_FIELDS: Final = (
    "\n    /**\n     * {w} {w} {w} {w} {w} {w}.\n     */\n    private {T} {v};\n",
    "    protected final {T} {v} = new {T}();\n",
    "    // {w} {w} {w} {w}\n    private static final int {v} = {n};\n",
)
_PYTHON_METHODS: Final = (
    '\n    def {m}(self, {v}, {v}=None):\n        """{w} {w} {w} {w} {w} {w}."""\n',
    "\n    def {m}(self, {v}):\n",
    "\n    @property\n    def {m}(self):\n",
)
_PYTHON_END: Final = "        return {v}\n"


def _blocks(text: str) -> list[str]:
    """Statements with what is indented below them; a line that closes one belongs to it."""
    found: list[str] = []
    for line in text.splitlines(keepends=True):
        if found and (line.startswith(" " * 9) or re.match(r" {8}(\}\}|except)", line)):
            found[-1] += line
        else:
            found.append(line)
    return found


@dataclass(frozen=True, slots=True)
class Template:
    """Text with a ``%s`` for each slot, and the kinds of the slots."""

    text: str
    kinds: str
    lines: int

    @classmethod
    def of(cls, text: str) -> Template:
        """Of a text with letters in braces."""
        kinds = "".join(re.findall(r"(?<!\{)\{(\w)\}", text))
        spaced = re.sub(r"(?<!\{)\{\w\}", "%s", text.replace("%", "%%"))
        return cls(spaced.replace("{{", "{").replace("}}", "}"), kinds, text.count("\n"))


@dataclass(frozen=True, slots=True)
class Language:
    """What files of a language are made of."""

    suffix: str
    statements: tuple[Template, ...]
    methods: tuple[Template, ...]
    end: Template
    fields: tuple[Template, ...]
    spelled: Callable[[Words], str]

    @classmethod
    def of(
        cls,
        suffix: str,
        statements: str,
        methods: Sequence[str],
        end: str,
        fields: Sequence[str],
        spelled: Callable[[Words], str],
    ) -> Language:
        """From texts of templates."""
        made = [tuple(map(Template.of, texts)) for texts in (_blocks(statements), methods, fields)]
        return cls(suffix, made[0], made[1], Template.of(end), made[2], spelled)


JAVA: Final = Language.of(".java", _JAVA_STATEMENTS, _JAVA_METHODS, _JAVA_END, _JAVA_FIELDS, camel)
PYTHON_LANGUAGE: Final = Language.of(".py", _PYTHON_STATEMENTS, _PYTHON_METHODS, _PYTHON_END, (), snake)


@dataclass(frozen=True, slots=True)
class Folder:
    """One folder to be filled."""

    number: int
    path: str
    package: str
    module: int
    files: int
    language: Language
    tested: int = -1
    """Number of the folder that its files test."""


class Plan:
    """All folders of a repository, and what stands in each: made again whenever it is asked for.

    Raises ToslocError for a number of files, commits or lines that is none.
    """

    def __init__(self, files: int, seed: int = 0, lines: int = MEDIAN_LINES) -> None:
        if files < 1:
            raise ToslocError(f"--files is a number of files, at least 1, not {files}")
        if lines < 5:
            raise ToslocError(f"--lines is the median length of a file, at least 5, not {lines}")
        self.files, self.seed, self.lines = files, seed, lines
        self.folders: list[Folder] = []
        self.module_starts: list[int] = []
        left = files
        taken: set[str] = set()
        while left > 0:
            left -= self._add_module(left, taken)
        self.module_starts.append(len(self.folders))

    def random(self, *numbers: int) -> np.random.Generator:
        """Draws that depend on the seed and the numbers alone."""
        return np.random.Generator(np.random.PCG64(mixed(self.seed, *numbers)))

    def _add_module(self, left: int, taken: set[str]) -> int:
        """A module's folders, with at most ``left`` files in all; how many they are."""
        module = len(self.module_starts)
        self.module_starts.append(len(self.folders))
        draws = self.random(1, module)
        number = max(1, round(float(np.exp(draws.normal(2.4, 0.9)))))
        sizes = np.maximum(1, np.exp(draws.normal(1.75, 1.1, number))).astype(int)
        sizes = sizes[: int(np.searchsorted(np.cumsum(sizes), left)) + 1]
        sizes[-1] -= max(0, int(sizes.sum()) - left)
        theme = self.theme(module)
        group = word(len(_COMMON) + 1 + int(draws.random() ** 2 * (3 + module**0.5)))
        name = theme[0]
        while f"{group}/{name}" in taken:
            name += word(len(_COMMON) + 1 + int(draws.integers(1000)))
        taken.add(f"{group}/{name}")
        java = draws.random() >= PYTHON
        packages = [f"org.{group}.{name}" if java else name]
        used = set(packages)
        for place, size in enumerate(sizes.tolist()):
            if place:
                above = packages[int(draws.integers(len(packages)))]
                package = f"{above}.{theme[int(draws.integers(1, len(theme)))]}"
                while package in used:
                    package += word(len(_COMMON) + 1 + int(draws.integers(1000)))
                used.add(package)
                packages.append(package)
            package = packages[-1]
            here = len(self.folders)
            main = f"{group}/{name}/src/main/java/" if java else f"{group}/{name}/"
            if java and place and size > 1 and draws.random() < TESTS and self.folders[-1].tested < 0:
                before = self.folders[-1]
                path = before.path.replace("/main/", "/test/")
                folder = Folder(here, path, before.package, module, size, JAVA, before.number)
            else:
                language = JAVA if java else PYTHON_LANGUAGE
                folder = Folder(here, main + package.replace(".", "/"), package, module, size, language)
            self.folders.append(folder)
        return int(sizes.sum())

    def theme(self, module: int) -> Words:
        """Words of a module: those of its folders, and some of its identifiers; most are rare elsewhere."""
        ranks = (WORDS.rank(0.6 + 0.4 * share_of(self.seed, 2, module, place)) for place in range(24))
        return tuple(word(max(rank, len(_COMMON) + 1)) for rank in ranks)

    @lru_cache(maxsize=4096)  # noqa: B019 - one plan lives as long as the process
    def types(self, folder: int) -> tuple[Words, ...]:
        """Of each file of a folder the words of its type."""
        here = self.folders[folder]
        if here.tested >= 0:
            tested = self.types(here.tested)
            more = tuple(
                identifier(IDENTIFIERS.rank(share_of(self.seed, 3, folder, place))) for place in range(here.files)
            )
            names = [(*words, "test") for words in (*tested, *more)[: here.files]]
        else:
            theme = self.theme(here.module)
            names = []
            for place in range(here.files):
                words = identifier(IDENTIFIERS.rank(share_of(self.seed, 3, folder, place)))[:3]
                own = theme[mixed(self.seed, 4, folder, place) % len(theme)]
                names.append((*words, own) if share_of(self.seed, 5, folder, place) < 0.6 else (*words, words[0]))
        unique: dict[str, Words] = {}
        for place, words in enumerate(names):
            while pascal(words).lower() in unique:
                words = (word(len(_COMMON) + 1 + mixed(self.seed, 6, folder, place, len(words)) % 50_000), *words)
            unique[pascal(words).lower()] = words
        return tuple(unique.values())

    @lru_cache(maxsize=64)  # noqa: B019
    def pool(self, folder: int) -> tuple[Words, ...]:
        """Identifiers that the files of a folder share: of its module's words, of new ones, and of everybody's."""
        here = self.folders[folder]
        theme = self.theme(here.module)
        draws = self.random(7, folder).random((20 + 5 * here.files, 3))
        made = []
        for which, first, second in draws.tolist():
            if which < 0.35:
                words: Words = (theme[int(first * first * len(theme))], word(WORDS.rank(second)))
            elif which < 0.45:  # new words
                words = (word(WORDS.rank(0.9 + 0.1 * first)), word(WORDS.rank(second)))
            else:
                words = identifier(IDENTIFIERS.rank(first))
            made.append(words)
        return tuple(made)

    def texts(self, folder: int) -> list[tuple[str, str]]:
        """(path, text) of the files of a folder."""
        here = self.folders[folder]
        draws = self.random(8, folder)
        pool = self.pool(folder)
        types = self.types(folder)
        known = self._imported(here, draws)
        found = []
        for words in types:
            lines = float(np.exp(draws.normal(np.log(self.lines), DEVIATION)))
            text = self._text(here, words, min(lines, 20_000.0), known, pool, draws)
            name = pascal(words) if here.language is JAVA else snake(words)
            found.append((f"{here.path}/{name}{here.language.suffix}", text))
            if draws.random() < COPIES:
                found.append((f"{here.path}/old/{name}{here.language.suffix}", text))
        return found[: here.files]  # a copy takes the place of the last

    def _imported(self, here: Folder, draws: np.random.Generator) -> list[tuple[str, str]]:
        """(package, type) that files of a folder may import: of its module, and of folders that everybody uses."""
        own = range(self.module_starts[here.module], self.module_starts[here.module + 1])
        found = []
        for which, first, second in draws.random((24, 3)).tolist():
            folder = own[int(first * len(own))] if which < 0.6 else int(first**4 * len(self.folders))
            other = self.folders[folder]
            if other.language is here.language and other.tested < 0:
                types = self.types(folder)
                found.append((other.package, types[int(second * second * len(types))]))
        return [(package, pascal(words)) for package, words in dict.fromkeys(found)]

    def _text(
        self,
        here: Folder,
        words: Words,
        lines: float,
        known: Sequence[tuple[str, str]],
        pool: Sequence[Words],
        draws: np.random.Generator,
    ) -> str:
        """A file of about so many lines."""
        language = here.language
        imported = [known[i] for i in sorted({int(i) for i in draws.integers(0, len(known), 8)})] if known else []
        imported = imported[: 1 + int(lines / 6)]
        # the file's own identifiers: the longer it is, the more
        size = 2 + int(0.75 * lines**0.78)
        own = []
        for which, first in draws.random((size, 2)).tolist():
            own.append(pool[int(first * first * len(pool))] if which < 0.4 else identifier(IDENTIFIERS.rank(first)))
        spelled = list(map(language.spelled, own))
        said = [one for each in own for one in each]
        name = pascal(words)
        types = [name, *(type_ for _, type_ in imported), *_JDK]
        # which templates, then what stands in their slots
        chosen: list[Template] = []
        left = lines - len(imported) - 8
        starts: list[int] = []  # of the methods
        for template in language.fields:
            if left > 8:
                chosen += [template] * max(1, int(left / 40))
                left -= template.lines * max(1, int(left / 40))
        while True:
            method = language.methods[int(draws.integers(len(language.methods)))]
            starts.append(len(chosen))
            chosen.append(method)
            body = [
                language.statements[i]
                for i in draws.integers(0, len(language.statements), 1 + int(draws.exponential(5))).tolist()
            ]
            chosen += [*body, language.end]
            left -= method.lines + language.end.lines + sum(template.lines for template in body)
            if left < 3:
                break
        shares = iter((draws.random(sum(len(template.kinds) for template in chosen)) ** 2).tolist())
        values = {"v": spelled, "m": [*spelled[1:], spelled[0]], "T": types, "w": said}
        slots = []
        starts.append(len(chosen))
        for first_template, end in pairwise([0, *starts]):
            # a method has words of its own, and repeats them
            here_first = int(draws.random() * size)
            for template in chosen[first_template:end]:
                for kind, share in zip(template.kinds, shares, strict=False):
                    if kind == "n":
                        slots.append(str(int(share * 64)))
                    elif kind == "w" and share < 0.16:
                        slots.append(_ENGLISH[int(share * 125)])
                    elif kind == "w" and share < 0.25:
                        slots.append(word(WORDS.rank((share - 0.16) / 0.09)))
                    elif kind == "T" or share > 0.2:
                        of_kind = values[kind]
                        slots.append(of_kind[int(share * len(of_kind))])
                    else:
                        of_kind = values[kind]
                        slots.append(of_kind[(here_first + int(share * 40)) % len(of_kind)])
        body_text = "".join(template.text for template in chosen) % tuple(slots)
        comment = " ".join(said[:9])
        if language is JAVA:
            imports = "".join(f"import {package}.{type_};\n" for package, type_ in imported)
            above = f" extends {imported[0][1]}" if imported and draws.random() < 0.3 else ""
            head = f"package {here.package};\n\nimport java.util.*;\n{imports}\n/**\n * {comment}.\n */\n"
            return f"{head}public class {name}{above} {{\n{body_text}}}\n"
        imports = "".join(f"from {package} import {type_}\n" for package, type_ in imported)
        return f'"""{comment}."""\n\nimport os\n{imports}\n\nclass {name}:\n    """{comment}."""\n{body_text}'


# ---- the history


@dataclass(frozen=True, slots=True)
class Change:
    """One commit after the first: what it says, and the new text of each file, None for one that goes."""

    message: str
    files: dict[str, str | None]


def changes(plan: Plan, commits: int) -> Iterator[Change]:
    """Commits that change some files each, one after the other."""
    texts: dict[str, str | None] = {}
    """Of the files that were changed."""

    @lru_cache(maxsize=16)
    def first_texts(folder: int) -> dict[str, str]:
        return dict(plan.texts(folder))

    for number in range(commits):
        draws = plan.random(9, number)
        folder = int(draws.random() ** 1.5 * len(plan.folders))
        here = plan.folders[folder]
        wanted = min(40, max(1, round(float(np.exp(draws.normal(0.6, 0.8))))))
        start, end = plan.module_starts[here.module : here.module + 2]
        touched: dict[str, str | None] = {}
        for _ in range(wanted):
            near = folder if draws.random() < 0.7 else int(draws.integers(start, end))
            now = {path: texts.get(path, text) for path, text in first_texts(near).items()}
            path = sorted(now)[int(draws.integers(len(now)))]
            text = now[path]
            if text is None or path in touched:
                continue
            if draws.random() < 0.01:
                touched[path] = None
            else:
                touched[path] = _edited(text, plan.pool(near), plan.folders[near].language, draws)
        if draws.random() < 0.04 or not touched:
            words = (*plan.theme(here.module)[:1], word(WORDS.rank(float(draws.random()))), f"new{number}")
            name = pascal(words) if here.language is JAVA else snake(words)
            text = plan._text(here, words, plan.lines / 2, plan._imported(here, draws), plan.pool(folder), draws)
            touched[f"{here.path}/{name}{here.language.suffix}"] = text
        texts |= touched
        yield Change(_message(touched, draws), touched)


def _edited(text: str, pool: Sequence[Words], language: Language, draws: np.random.Generator) -> str:
    """The text with some statements exchanged or added."""
    lines = text.splitlines(keepends=True)
    plain = [place for place, line in enumerate(lines) if re.match(r" {8}(\w.*;|self\..*)\n$", line)]
    simple = [template for template in language.statements if template.lines == 1]
    if not plain:
        return f"{text}\n"
    for _ in range(1 + int(draws.exponential(3))):
        template = simple[int(draws.integers(len(simple)))]
        names = [language.spelled(pool[int(i)]) for i in draws.integers(0, len(pool), len(template.kinds))]
        slots = [
            str(len(name)) if kind == "n" else name.capitalize() if kind == "T" else name
            for kind, name in zip(template.kinds, names, strict=True)
        ]
        place = plain[int(draws.integers(len(plain)))]
        new = template.text % tuple(slots)
        # a "return" stays the last statement
        lines[place] = new if draws.random() < 0.5 and "return" not in lines[place] else new + lines[place]
    return "".join(lines)


def _message(touched: dict[str, str | None], draws: np.random.Generator) -> str:
    """What a commit says: a type that it touches, and words of one of the texts."""
    path = next(iter(touched))
    found = re.findall(r"[A-Za-z]{4,}", touched[path] or path)
    said = [found[int(i)] for i in draws.integers(0, len(found), 5)]
    name = path.rpartition("/")[2].partition(".")[0]
    if draws.random() < FIXES:
        number = 1_000 + int(draws.integers(400_000))
        return (
            f"Bug {number}: {said[0]} of {name} is wrong when {said[1]} {said[2]}\n\nThe {said[3]} was not {said[4]}.\n"
        )
    verb = ("Add", "Remove", "Simplify", "Move", "Use", "Update")[int(draws.integers(6))]
    return f"{verb} {said[0]} in {name} for {said[1]} and {said[2]}\n"


# ---- git


def write_repository(out: Path, plan: Plan, commits: int, progress: Progress) -> str:
    """Write the bare repository of a plan, whole or not at all; the id of its last commit.

    Raises ToslocError when ``out`` exists, its parent does not, or git fails.
    """
    if commits < 0:
        raise ToslocError(f"--commits is how many follow the first, at least 0, not {commits}")
    if out.exists() or out.is_symlink():
        raise ToslocError(f"{out} exists; name another path, or remove it")
    if not out.parent.is_dir():
        raise ToslocError(f"{out.parent}: no such folder; make it first")
    git, environment = "git", clean_environment()
    with written_whole(out) as folder:
        base = [git, f"--git-dir={folder}", "-c", "core.bigFileThreshold=512m", "-c", "fastimport.unpackLimit=1"]
        _run([*base, "init", "--quiet", "--bare", "--template=", "--initial-branch=main", str(folder)], environment)
        with tempfile.TemporaryFile() as complaint:
            # no deltas: texts that follow each other have little in common
            importer = processes.start([*base, "fast-import", "--quiet", "--depth=0"], environment, stderr=complaint)
            assert importer.stdin is not None
            assert importer.stdout is not None
            try:
                with importer.stdin as pipe:
                    _write_commits(pipe, plan, commits, progress)
                ended = importer.wait()
            except BrokenPipeError:
                ended = importer.wait() or 1
            except BaseException:
                importer.kill()
                importer.wait()
                raise
            finally:
                importer.stdout.close()
            if ended:
                complaint.seek(0)
                said = complaint.read(2000).decode("utf-8", "replace").strip().splitlines()
                raise RepositoryError(
                    f"{out}: git fast-import failed ({said[0] if said else ended}); see that the disk has room"
                )
        return _run([*base, "rev-parse", "main"], environment).strip()


def _run(command: Sequence[str], environment: dict[str, str]) -> str:
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RepositoryError(f"git failed ({done.stderr.strip()[:200]})")
    return done.stdout


def _write_commits(pipe: IO[bytes], plan: Plan, commits: int, progress: Progress) -> None:
    """The stream that ``git fast-import`` reads."""
    pipe.write(_head(BEGIN, "Import\n"))
    done = 0
    for folder in range(len(plan.folders)):
        for path, text in plan.texts(folder):
            pipe.write(_file(path, text))
            done += 1
        progress("writing files", done, plan.files)
    times = accumulate(plan.random(10).exponential(20_000, commits).astype(int).tolist(), initial=BEGIN + 1)
    for number, (at, change) in enumerate(zip(times, changes(plan, commits), strict=False), 1):
        pipe.write(_head(at, change.message))
        for path, new in change.files.items():
            pipe.write(f"D {path}\n".encode() if new is None else _file(path, new))
        progress("writing commits", number, commits)


def _head(at: int, message: str) -> bytes:
    said = message.encode()
    return b"commit refs/heads/main\ncommitter Synthetic <synthetic@example.org> %d +0000\ndata %d\n%b\n" % (
        at,
        len(said),
        said,
    )


def _file(path: str, text: str) -> bytes:
    content = text.encode()
    return b"M 100644 inline %b\ndata %d\n%b\n" % (path.encode(), len(content), content)


def main(arguments: Sequence[str] | None = None) -> int:
    """Write a repository and print the id of its last commit."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, metavar="OUT", help="bare repository to write; nothing is there yet")
    parser.add_argument("--files", type=int, default=10_000, help="files of the first commit")
    parser.add_argument("--commits", type=int, default=3_000, help="commits after the first")
    parser.add_argument("--lines", type=int, default=MEDIAN_LINES, help="median length of a file")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    with shown(True, sys.stderr) as progress:
        plan = Plan(options.files, options.seed, options.lines)
        print(write_repository(options.out, plan, options.commits, progress))
    return 0


if __name__ == "__main__":
    raise SystemExit(guarded(main))
