"""A synthetic repository of many files: ``synthetic.py OUT --files 100000 [--commits 3000] [--seed 0]``.

OUT becomes a bare git repository of so many Java files that a parser reads without an error, and of a history that
changes them. The same arguments give the same commit, with the same NumPy. It is for measuring what size costs: what
grows with the number of files, their lengths, their terms and their commits grows as in real repositories; what a
ranking is worth cannot be seen on it.

Fitted on Apache Tomcat, Eclipse Birt, Eclipse JDT UI and django, in this order: 2,819, 9,813, 12,458 and 2,834 Java and
Python files at their heads, facts as this package makes them; commits: the last 3,000. Here: 3,000 files.

==========================================  =============================  ======================
number                                      real                           here
==========================================  =============================  ======================
lines of a file: median                     116, 113, 16, 66               86 (``--lines 80``)
lines of a file: deviation of the log       .99, .97, 1.43, 1.55           .86 (lognormal)
terms by line                               2.9, 3.3, 3.8, 3.5             2.7
different terms ~ length of a file, power   .66, .65, .71, .66             .63
postings of chunks by postings of files     2.34, 2.34, 2.50, 2.40         2.57
Zipf's power, ranks 10 to 1,000             .86, .96, .94, .86             .89
Heaps' power: terms by files                .64, .64, .69, .75             .54
terms that one file alone holds, share      .59, .49, .51, .69             .45
files of a folder: mean                     10, 8.9, 3.1, 4.3              10
folders above a file: median                5, 10, 5, 3                    11
imports of a file: mean                     8.1, 10.5, 7.0, 5.1            6.1
source files of a commit: median, mean      1, 2, 2, 2; 4.6, 68, 7.2, 3.0  2; 2.2
commits that name a bug or a fix, share     .19, .18, .60, 0               .29
==========================================  =============================  ======================

One commit brings all files, as where a project moves to git; the others change some, most of them of one folder.
Their messages name types and words of what they touch.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import zlib
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import IO, NamedTuple, TypeAlias

import numpy as np

from tosloc.cli.guard import guarded
from tosloc.cli.progress import shown
from tosloc.errors import RepositoryError, ToslocError
from tosloc.git.process import clean_environment
from tosloc.io import written_whole
from tosloc.records import Progress

Words: TypeAlias = tuple[str, ...]
"""Of one identifier, in lower case."""

MEDIAN_LINES = 80
BEGIN = 1_400_000_000
"""Seconds since 1970 of the first commit."""
ENGLISH = "the a of to is in for this if not and be it that with by or are on from".split()
"""What comments hold beside words of the code."""
COMMON = """get set value name type add list size create file key index test has string data node path id state result
    time object map count request parent entry item text start event remove read write listener source context property
    session update handler end info line init resource length user element buffer thread message response default model
    attribute error field stream config content open close option load method view factory server manager code column
    select process parse table format filter cache check call first connection service action output input find reader
    group builder target reference all util base last point exception label token number make image container version
    local order control system query tree""".split()
SYLLABLES = [first + vowel for first in "b d f g h k l m n p r s t v w z br st tr pl".split() for vowel in "aeiou"]
RESERVED = {"class", "default", "for", "if", "new", "not", "return", "this", "void", "int", "static", "public", "try"}
JDK = "String Object List Map Set Integer Long Boolean Exception IOException".split()

STATEMENTS = """\
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
"""T a type, v a variable, m a method, w a word, n a number."""
METHODS = (
    "\n    /**\n     * {w} {w} {w} {w} {w} {w}.\n     *\n     * @param {v} {w} {w} {w}\n     * @return {w} {w}\n"
    "     */\n    public {T} {m}({T} {v}) {{\n",
    "\n    private void {m}({T} {v}, int {v}) throws {T} {{\n",
    "\n    /** {w} {w} {w} {w} {w}. */\n    protected static {T} {m}({T} {v}, {T} {v}) {{\n",
    "\n    @Override\n    public boolean {m}() {{\n",
)
FIELDS = (
    "\n    /**\n     * {w} {w} {w} {w} {w} {w}.\n     */\n    private {T} {v};\n",
    "    protected final {T} {v} = new {T}();\n",
    "    // {w} {w} {w} {w}\n    private static final int {v} = {n};\n",
)


class Template(NamedTuple):
    """Text with a ``%s`` for each slot, and the kinds of the slots."""

    text: str
    kinds: str
    lines: int

    @classmethod
    def of(cls, text: str) -> Template:
        """Of a text with letters in braces."""
        kinds = "".join(re.findall(r"(?<!\{)\{(\w)\}", text))
        spaced = re.sub(r"(?<!\{)\{\w\}", "%s", text)
        return cls(spaced.replace("{{", "{").replace("}}", "}"), kinds, text.count("\n"))


# statements with what is indented below them; a line that closes one belongs to it
BLOCKS = [Template.of(text) for text in re.findall(r"(?:\n| {8}\S.*\n(?: {9}.*\n| {8}\}\}.*\n)*)", STATEMENTS)]
HEADS, MEMBERS = list(map(Template.of, METHODS)), list(map(Template.of, FIELDS))
END = Template.of("        return {v};\n    }}\n")


class Law(NamedTuple):
    """Ranks from 1 without end: p(r) falls with r to the power ``head`` as far as ``corner``, with ``tail`` beyond."""

    head: float
    tail: float
    corner: float

    def rank(self, share: float) -> int:
        """The rank below which ``share`` (0 to 1) of all draws fall."""
        below = (self.corner ** (1 - self.head) - 1) / (1 - self.head)
        whole = below + self.corner ** (1 - self.head) / (self.tail - 1)
        mass = share * whole
        if mass < below:
            return int((1 + mass * (1 - self.head)) ** (1 / (1 - self.head)))
        left = max(whole - mass, 1e-12) * (self.tail - 1) / self.corner ** (self.tail - self.head)
        return int(min(left ** (1 / (1 - self.tail)), 2.0**40))


WORDS, IDENTIFIERS = Law(0.8, 1.75, 400), Law(0.75, 1.42, 900)


def share_of(*numbers: int) -> float:
    """A number from 0 to 1 that depends on all the numbers."""
    return zlib.crc32(repr(numbers).encode()) / 2.0**32


def word(rank: int) -> str:
    """The word of a rank: the first ones are English, the others are made of syllables; different ranks, other words.

    >>> word(1), word(1000), word(10**6) != word(10**6 + 1)
    ('get', 'vunafe', True)
    """
    if rank <= len(COMMON):
        return COMMON[rank - 1]
    size, syllables = len(SYLLABLES), 3
    rank -= len(COMMON)
    while rank >= size**syllables:
        rank -= size**syllables
        syllables += 1
    code = rank * 7_368_787 % size**syllables  # a prime: neighbours look unlike
    return "".join(SYLLABLES[code // size**place % size] for place in range(syllables))


@lru_cache(maxsize=1 << 19)
def identifier(rank: int) -> Words:
    """The words of the identifier of a rank; the more frequent ones have fewer."""
    draw = share_of(rank) * (0.58 if rank < 300 else 1.0)
    number = 1 + sum(draw > share for share in (0.28, 0.58, 0.81, 0.92, 0.98))
    return tuple(word(WORDS.rank(share_of(rank, place))) for place in range(number))


def pascal(words: Words) -> str:
    """Of a type."""
    return "".join(map(str.capitalize, words))


def camel(words: Words) -> str:
    """Of a variable or method.

    >>> pascal(("get", "name")), camel(("get", "name")), camel(("class",))
    ('GetName', 'getName', 'aClass')
    """
    name = words[0] + pascal(words[1:])
    return f"a{name.capitalize()}" if name in RESERVED else name


class Folder(NamedTuple):
    """One folder to be filled."""

    path: str
    package: str
    module: int
    files: int


class Plan:
    """All folders of a repository, and what stands in each: made again whenever it is asked for.

    Raises ToslocError for a number of files or lines that is none.
    """

    def __init__(self, files: int, seed: int = 0, lines: int = MEDIAN_LINES) -> None:
        if files < 1:
            raise ToslocError(f"--files is a number of files, at least 1, not {files}")
        if lines < 5:
            raise ToslocError(f"--lines is the median length of a file, at least 5, not {lines}")
        self.files, self.seed, self.lines = files, seed, lines
        self.folders: list[Folder] = []
        draws, left, module, packages = self.random(0), files, -1, [""]
        while left:
            if not self.folders or draws.random() < 0.06:
                module += 1
                group = word(200 + int(draws.random() ** 2 * (3 + module**0.5)))
                packages = [f"org.{group}.{word(10_000 + module)}"]
            else:
                above = packages[int(draws.integers(len(packages)))]
                packages.append(f"{above}.{word(1_000_000 + len(self.folders))}")
            number = min(left, max(1, int(np.exp(draws.normal(1.75, 1.1)))))
            path = f"{packages[0].partition('.')[2].replace('.', '/')}/src/main/java/{packages[-1].replace('.', '/')}"
            self.folders.append(Folder(path, packages[-1], module, number))
            left -= number

    def random(self, *numbers: int) -> np.random.Generator:
        """Draws that depend on the seed and the numbers alone."""
        return np.random.default_rng((self.seed, *numbers))

    @lru_cache(maxsize=4096)  # noqa: B019 - one plan lives as long as the process
    def types(self, number: int) -> tuple[Words, ...]:
        """Of each file of a folder the words of its type."""
        unique: dict[str, Words] = {}
        for place in range(self.folders[number].files):
            words = identifier(IDENTIFIERS.rank(share_of(self.seed, number, place)))[:3] + self.theme(number)[:1]
            while pascal(words).lower() in unique:
                words = (word(200 + zlib.crc32(repr((number, place, words)).encode()) % 50_000), *words)
            unique[pascal(words).lower()] = words
        return tuple(unique.values())

    def theme(self, number: int) -> Words:
        """Words of a folder's module; most are rare elsewhere."""
        module = self.folders[number].module
        return tuple(word(WORDS.rank(0.6 + 0.4 * share_of(self.seed, 2, module, place))) for place in range(24))

    @lru_cache(maxsize=64)  # noqa: B019
    def pool(self, number: int) -> tuple[Words, ...]:
        """Identifiers that the files of a folder share: of its module's words, of new ones, and of everybody's."""
        theme = self.theme(number)
        made: list[Words] = []
        for which, first, second in self.random(1, number).random((20 + 5 * self.folders[number].files, 3)).tolist():
            if which < 0.5:
                rank = WORDS.rank(0.93 + 0.07 * first)
                own = theme[int(first * first * len(theme))] if which < 0.35 else word(rank)
                made.append((own, word(WORDS.rank(second))))
            else:
                made.append(identifier(IDENTIFIERS.rank(first)))
        return tuple(made)

    def texts(self, number: int) -> dict[str, str]:
        """Path -> text of the files of a folder."""
        here, draws = self.folders[number], self.random(2, number)
        found = {}
        known = self._imported(number, draws)
        for words in self.types(number):
            lines = min(float(np.exp(draws.normal(np.log(self.lines), 1.0))), 20_000.0)
            found[f"{here.path}/{pascal(words)}.java"] = self._text(number, words, lines, known, draws)
        return found

    def _imported(self, number: int, draws: np.random.Generator) -> list[tuple[str, str]]:
        """(package, type) that files of a folder may import: of folders near it, and of those that everybody uses."""
        found = []
        for which, first, second in draws.random((24, 3)).tolist():
            near = max(0, number - int(first * 16))
            other = near if which < 0.6 else int(first**4 * len(self.folders))
            types = self.types(other)
            found.append((self.folders[other].package, pascal(types[int(second * second * len(types))])))
        return list(dict.fromkeys(found))

    def _text(
        self,
        number: int,
        words: Words,
        lines: float,
        known: Sequence[tuple[str, str]],
        draws: np.random.Generator,
    ) -> str:
        """A file of about so many lines."""
        pool = self.pool(number)
        imported = [known[place] for place in sorted(set(draws.integers(0, len(known), 8).tolist()))]
        imported = imported[: 1 + int(lines / 6)]
        # the file's own identifiers: the longer it is, the more
        own = [
            pool[int(first * first * len(pool))] if which < 0.4 else identifier(IDENTIFIERS.rank(first))
            for which, first in draws.random((2 + int(0.75 * lines**0.78), 2)).tolist()
        ]
        left = lines - len(imported) - 8
        parts = [MEMBERS * max(1, int(left / 40))] if left > 8 else []
        left -= sum(template.lines for part in parts for template in part)
        while not parts or left > 3 or parts[-1][-1] is not END:
            chosen = draws.integers(0, len(BLOCKS), 1 + int(draws.exponential(5))).tolist()
            parts.append([HEADS[int(draws.integers(len(HEADS)))], *(BLOCKS[place] for place in chosen), END])
            left -= sum(template.lines for template in parts[-1])
        said = [one for each in own for one in each]
        name, types = pascal(words), [type_ for _, type_ in imported] + JDK
        names = list(map(camel, own))
        values = {"v": names, "m": [*names[1:], names[0]], "T": [name, *types], "w": said}
        body = "".join(_filled(part, values, draws) for part in parts)
        imports = "".join(f"import {package}.{type_};\n" for package, type_ in imported)
        above = f" extends {imported[0][1]}" if draws.random() < 0.3 else ""
        head = f"package {self.folders[number].package};\n\nimport java.util.*;\n{imports}\n/**\n * "
        return f"{head}{' '.join(said[:9])}.\n */\npublic class {name}{above} {{\n{body}}}\n"


def _filled(part: Sequence[Template], values: Mapping[str, Sequence[str]], draws: np.random.Generator) -> str:
    """Templates with something in their slots; a method has words of its own, and repeats them."""
    first = int(draws.random() * len(values["v"]))
    kinds = "".join(template.kinds for template in part)
    slots = []
    for kind, share in zip(kinds, (draws.random(len(kinds)) ** 2).tolist(), strict=True):
        if kind == "n":
            slots.append(str(int(share * 64)))
        elif kind == "w" and share < 0.16:
            slots.append(ENGLISH[int(share * 125)])
        elif kind == "w" and share < 0.25:
            slots.append(word(WORDS.rank((share - 0.16) / 0.09)))
        else:
            near = kind != "T" and share <= 0.2
            place = first + int(share * 40) if near else int(share * len(values[kind]))
            slots.append(values[kind][place % len(values[kind])])
    return "".join(template.text for template in part) % tuple(slots)


def changes(plan: Plan, commits: int) -> Iterator[tuple[str, dict[str, str | None]]]:
    """(message, path -> new text, None for one that goes) of commits that change some files, one after the other."""
    texts: dict[str, str | None] = {}
    first_texts = lru_cache(maxsize=16)(plan.texts)
    for commit in range(commits):
        draws = plan.random(3, commit)
        number = int(draws.random() ** 1.5 * len(plan.folders))
        touched: dict[str, str | None] = {}
        for _ in range(min(40, max(1, round(float(np.exp(draws.normal(0.6, 0.8))))))):
            near = number if draws.random() < 0.7 else max(0, number - int(draws.integers(16)))
            path, first = list(first_texts(near).items())[int(draws.integers(plan.folders[near].files))]
            text = texts.get(path, first)
            if text is not None and path not in touched:
                touched[path] = None if draws.random() < 0.01 else _edited(text, plan.pool(near), draws)
        if draws.random() < 0.04 or not touched:
            words = (*plan.theme(number)[:1], word(WORDS.rank(float(draws.random()))), f"new{commit}")
            text = plan._text(number, words, plan.lines / 2, plan._imported(number, draws), draws)
            touched[f"{plan.folders[number].path}/{pascal(words)}.java"] = text
        texts |= touched
        path, text = next(iter(touched.items()))
        found = re.findall(r"[A-Za-z]{4,}", text or path)
        said, name = [found[int(place)] for place in draws.integers(0, len(found), 4)], Path(path).stem
        if draws.random() < 0.3:
            bug = f"Bug {1_000 + int(draws.integers(400_000))}"
            yield f"{bug}: {said[0]} of {name} is wrong when {said[1]} {said[2]}\n\nIt was not {said[3]}.\n", touched
        else:
            verb = ("Add", "Remove", "Simplify", "Move", "Use", "Update")[int(draws.integers(6))]
            yield f"{verb} {said[0]} in {name} for {said[1]} and {said[2]}\n", touched


def _edited(text: str, pool: Sequence[Words], draws: np.random.Generator) -> str:
    """The text with some statements added."""
    lines = text.splitlines(keepends=True)
    plain = [place for place, line in enumerate(lines) if re.match(r" {8}\w.*;\n$", line)]
    for place in draws.choice(plain, 1 + int(draws.exponential(3))).tolist():
        first, second = (camel(pool[int(one)]) for one in draws.integers(0, len(pool), 2))
        lines[place] = f"        {first}.{second}();\n{lines[place]}"
    return "".join(lines)


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
    environment = clean_environment()
    with written_whole(out) as folder:
        base = ["git", f"--git-dir={folder}", "-c", "advice.graftFileDeprecated=false"]
        made = ["init", "--quiet", "--bare", "--template=", "--initial-branch=main"]
        subprocess.run([*base, *made, str(folder)], env=environment, check=True)
        # no deltas: texts that follow each other have little in common
        importer = [*base, "fast-import", "--quiet", "--depth=0"]
        with subprocess.Popen(importer, env=environment, stdin=subprocess.PIPE, process_group=0) as process:
            assert process.stdin is not None
            try:
                _write_commits(process.stdin, plan, commits, progress)
                process.stdin.close()
                failed = process.wait() != 0
            except BrokenPipeError:
                failed = True
            except BaseException:
                process.kill()
                raise
        if failed:
            raise RepositoryError(f"{out}: git fast-import failed; see that the disk has room")
        head = subprocess.run([*base, "rev-parse", "main"], env=environment, check=True, capture_output=True, text=True)
    return head.stdout.strip()


def _write_commits(pipe: IO[bytes], plan: Plan, commits: int, progress: Progress) -> None:
    """The stream that ``git fast-import`` reads."""

    def write(what: str, text: str) -> None:
        data = text.encode()
        pipe.write(b"%b\ndata %d\n%b\n" % (what.encode(), len(data), data))

    begun = "commit refs/heads/main\ncommitter Synthetic <synthetic@example.org> {} +0000"
    write(begun.format(BEGIN), "Import\n")
    done = 0
    for number in range(len(plan.folders)):
        for path, text in plan.texts(number).items():
            write(f"M 100644 inline {path}", text)
            done += 1
        progress("writing files", done, plan.files)
    times = accumulate(plan.random(4).exponential(20_000, commits).astype(int).tolist(), initial=BEGIN + 1)
    for number, (at, (message, files)) in enumerate(zip(times, changes(plan, commits), strict=False), 1):
        write(begun.format(at), message)
        for path, new in files.items():
            if new is None:
                pipe.write(f"D {path}\n".encode())
            else:
                write(f"M 100644 inline {path}", new)
        progress("writing commits", number, commits)


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
