"""A synthetic repository of many files: ``synthetic.py OUT --files 100000 [--commits 3000] [--seed 0]``.

OUT becomes a bare git repository of so many Java files that a parser reads without an error, and of a history that
changes them. The same arguments give the same commit, with the same NumPy. It is for measuring what size costs: what
grows with the number of files, their lengths, their terms and their commits grows as in real repositories; what a
ranking is worth cannot be seen on it.

Beside Apache Tomcat, Eclipse Birt, Eclipse JDT UI and django, in this order: 2,819, 9,813, 12,458 and 2,834 Java and
Python files at their heads, facts as this package makes them. Here: 3,000 files.

==========================================  =============================  ======================
number                                      real                           here
==========================================  =============================  ======================
lines of a file: median                     116, 113, 16, 66               94 (drawn around 80)
lines of a file: deviation of the log       .99, .97, 1.43, 1.55           .93 (lognormal)
terms by line                               2.9, 3.3, 3.8, 3.5             3.1
different terms ~ length of a file, power   .66, .65, .71, .66             .64
postings of chunks by postings of files     2.34, 2.34, 2.50, 2.40         2.70
Zipf's power, ranks 10 to 1,000             .86, .96, .94, .86             .79
terms that one file alone holds, share      .59, .49, .51, .69             .46
files of a folder: mean                     10, 8.9, 3.1, 4.3              9.3
folders above a file: median                5, 10, 5, 3                    10
==========================================  =============================  ======================

One commit brings all files, as where a project moves to git; the others change some, most of them of one folder.
Their messages name types and words of what they touch.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import zlib
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tosloc.cli.guard import run_guarded
from tosloc.core.errors import ToslocError
from tosloc.core.io import atomic_write
from tosloc.git.process import clean_environment

MEDIAN_LINES = 80
BEGIN = 1_400_000_000
"""Seconds since 1970 of the first commit."""
# no v: "native" and "volatile" are no names
SYLLABLES = [
    first + vowel
    for first in "b d f g h k l m n p r s t w z br st tr pl".split()
    for vowel in "aeiou"
]

# T a type, v a variable, m a method, w a word, n a number; what is indented further belongs to what is above it
STATEMENTS = re.findall(
    r"(?:\n| {8}\S.*\n(?: {9}.*\n| {8}\}.*\n)*)",
    """\
        $T $v = $v.$m();
        $v.$m($v);
        this.$v = $v;

        if ($v == null) {
            return null;
        }
        // $w $w $w $w $w $w
        // $w $w $w $w $w $w $w $w

        for (int i = $n; i < $v.$m(); i++) {
            $m($v[i]);
        }
        try {
            $v.$m();
        } catch ($T e) {
            throw new $T("$w $w $w $w", e);
        }

""",
)
METHODS = (
    "\n    /**\n     * $w $w $w $w $w $w.\n     *\n     * @param $v $w $w $w\n     */\n    public $T $m($T $v) {\n",
    "\n    private void $m($T $v, int $v) throws $T {\n",
    "\n    @Override\n    public boolean $m() {\n",
)
FIELD = "\n    /**\n     * $w $w $w $w $w $w.\n     */\n    private $T $v;\n"


def share_of(*numbers: int) -> float:
    """A number from 0 to 1 that depends on all the numbers."""
    return zlib.crc32(repr(numbers).encode()) / 2.0**32


def word(share: float) -> str:
    """The word below which a share (0 to 1) of all draws fall: frequency falls with rank + 100 to the power 1.75.

    >>> word(0.1), word(0.9) != word(0.9001)
    ('stizopo', True)
    """
    rank = zipf(share, 100, 1.75)
    size, syllables = len(SYLLABLES), 3
    while rank >= size**syllables:
        rank -= size**syllables
        syllables += 1
    code = (rank + 1) * 7_368_787 % size**syllables  # a prime: neighbours look unlike
    return "".join(SYLLABLES[code // size**place % size] for place in range(syllables))


def zipf(share: float, flat: int, power: float) -> int:
    """The rank from 0 below which a share of all draws fall, by the law of Zipf and Mandelbrot."""
    return int(min(flat * (max(1 - share, 1e-12) ** (-1 / (power - 1)) - 1), 2.0**40))


@lru_cache(maxsize=1 << 19)
def identifier(rank: int) -> str:
    """The variable of a rank; the more frequent ones have fewer words."""
    draw = share_of(rank) * (0.58 if rank < 300 else 1.0)
    number = 1 + sum(draw > share for share in (0.28, 0.58, 0.81, 0.92, 0.98))
    first, *others = (word(share_of(rank, place)) for place in range(number))
    return first + "".join(map(str.capitalize, others))


def drawn(share: float) -> str:
    """An identifier as anybody uses them."""
    return identifier(zipf(share, 150, 1.42))


class Folder(NamedTuple):
    """One folder to be filled."""

    path: str
    package: str
    module: int
    files: int


class Plan:
    """All folders of a repository, and what stands in each: made again whenever it is asked for."""

    def __init__(self, files: int, seed: int = 0) -> None:
        self.seed = seed
        self.folders: list[Folder] = []
        draws, left, module, packages = self.random(0), files, -1, [""]
        while left:
            if not self.folders or draws.random() < 0.06:
                module += 1
                packages = [f"org.{word(0.3 * draws.random())}.m{module}"]
            else:
                packages.append(
                    f"{packages[int(draws.integers(len(packages)))]}.{word(draws.random())}"
                )
            number = min(left, max(1, int(np.exp(draws.normal(1.75, 1.1)))))
            path = f"m{module}/src/main/java/{packages[-1].replace('.', '/')}{len(self.folders)}"
            self.folders.append(Folder(path, f"{packages[-1]}{len(self.folders)}", module, number))
            left -= number

    def random(self, *numbers: int) -> np.random.Generator:
        """Draws that depend on the seed and the numbers alone."""
        return np.random.default_rng((self.seed, *numbers))

    @lru_cache(maxsize=4096)  # noqa: B019 - one plan lives as long as the process
    def types(self, number: int) -> list[str]:
        """Of each file of a folder its type, which names its place: no two are the same."""
        own = [
            drawn(share_of(self.seed, number, place)) for place in range(self.folders[number].files)
        ]
        return [
            f"{name[0].upper()}{name[1:]}{word(place / len(own)).capitalize()}"
            for place, name in enumerate(own)
        ]

    @lru_cache(maxsize=64)  # noqa: B019
    def pool(self, number: int) -> list[str]:
        """Identifiers that the files of a folder share: of its module's words, of new ones, and of everybody's."""
        module, made = self.folders[number].module, []
        theme = [
            word(0.6 + 0.4 * share_of(self.seed, 2, module, place)) for place in range(24)
        ]  # rare elsewhere
        for which, first, second in (
            self.random(1, number).random((20 + 5 * self.folders[number].files, 3)).tolist()
        ):
            own = (
                theme[int(first * first * len(theme))]
                if which < 0.35
                else word(0.93 + 0.07 * first)
            )
            made.append(own + word(second).capitalize() if which < 0.5 else drawn(first))
        return made

    def texts(self, number: int) -> dict[str, str]:
        """Path -> text of the files of a folder."""
        here, draws = self.folders[number], self.random(2, number)
        imported = {}  # types of folders near it, and of those that everybody uses
        for which, first, second in draws.random((24, 3)).tolist():
            other = (
                max(0, number - int(first * 16))
                if which < 0.6
                else int(first**4 * len(self.folders))
            )
            types = self.types(other)
            name = types[int(second * second * len(types))]
            imported[name] = f"import {self.folders[other].package}.{name};\n"
        return {
            f"{here.path}/{name}.java": self._text(number, name, imported, draws)
            for name in self.types(number)
        }

    def _text(
        self, number: int, name: str, imported: Mapping[str, str], draws: np.random.Generator
    ) -> str:
        """A file."""
        lines = min(float(np.exp(draws.normal(np.log(MEDIAN_LINES), 1.0))), 20_000.0)
        pool = self.pool(number)
        # the file's own identifiers: the longer it is, the more
        own = [
            pool[int(first * first * len(pool))] if which < 0.4 else drawn(first)
            for which, first in draws.random((2 + int(0.75 * lines**0.78), 2)).tolist()
        ]
        types = draws.permutation(list(imported))[: min(7, 1 + int(lines / 6))].tolist()
        said = [part.lower() for each in own for part in re.findall("[A-Z]?[a-z]+", each)]
        values = {
            "v": own,
            "m": [*own[1:], own[0]],
            "T": [name, *types, "String", "List", "Exception"],
            "w": said,
        }
        left, parts = lines - len(types) - 8, [FIELD * max(0, int(lines / 40))]
        while left > 3 or len(parts) == 1:
            chosen = draws.integers(0, len(STATEMENTS), 1 + int(draws.exponential(5))).tolist()
            head = METHODS[int(draws.integers(len(METHODS)))]
            parts.append(
                f"{head}{''.join(STATEMENTS[place] for place in chosen)}        return $v;\n    }}\n"
            )
            left -= parts[-1].count("\n")
        head = f"package {self.folders[number].package};\n\n{''.join(imported[one] for one in types)}\n"
        body = "".join(_filled(part, values, draws) for part in parts)
        return f"{head}/** {' '.join(said[:9])}. */\npublic class {name} {{\n{body}}}\n"


def _filled(text: str, values: Mapping[str, Sequence[str]], draws: np.random.Generator) -> str:
    """A text with something in its slots; a method has words of its own, and repeats them."""
    first = int(draws.random() * len(values["v"]))
    shares = iter((draws.random(text.count("$")) ** 2).tolist())

    def slot(found: re.Match[str]) -> str:
        kind, share = found[1], next(shares)
        if kind == "n":
            return str(int(share * 64))
        if kind == "w" and share < 0.05:
            return word(share / 0.05)
        near = kind != "T" and share <= 0.2
        place = first + int(share * 40) if near else int(share * len(values[kind]))
        return values[kind][place % len(values[kind])]

    return re.sub(r"\$(\w)", slot, text)


def changes(plan: Plan, commits: int) -> Iterator[tuple[str, dict[str, str]]]:
    """(message, path -> new text) of commits that change some files, one after the other."""
    texts: dict[str, str] = {}
    first_texts = lru_cache(maxsize=16)(plan.texts)
    for commit in range(commits):
        draws = plan.random(3, commit)
        number = int(draws.random() ** 1.5 * len(plan.folders))
        touched: dict[str, str] = {}
        for _ in range(min(40, max(1, round(float(np.exp(draws.normal(0.6, 0.8))))))):
            near = number if draws.random() < 0.7 else max(0, number - int(draws.integers(16)))
            path, text = list(first_texts(near).items())[
                int(draws.integers(plan.folders[near].files))
            ]
            pool, lines = plan.pool(near), re.split(r"(?<=\n)(?= {8}return)", texts.get(path, text))
            one, other = (pool[int(place)] for place in draws.integers(0, len(pool), 2))
            lines.insert(int(draws.integers(1, len(lines))), f"        {one}.{other}();\n")
            touched[path] = "".join(lines)
        texts |= touched
        path, text = next(iter(touched.items()))
        found = re.findall(r"[A-Za-z]{4,}", text)
        said, name = (
            [found[int(place)] for place in draws.integers(0, len(found), 3)],
            Path(path).stem,
        )
        if draws.random() < 0.3:
            yield (
                f"Bug {1_000 + commit}: {said[0]} of {name} is wrong when {said[1]} {said[2]}\n",
                touched,
            )
        else:
            yield f"Use {said[0]} in {name} for {said[1]} and {said[2]}\n", touched


def write_repository(out: Path, plan: Plan, commits: int) -> str:
    """Write the bare repository of a plan, whole or not at all; the id of its last commit."""
    environment = clean_environment()
    with atomic_write(out) as folder:
        git = ["git", f"--git-dir={folder}", "-c", "advice.graftFileDeprecated=false"]
        subprocess.run(
            [*git, "init", "--quiet", "--bare", "--template=", "-b", "main"],
            env=environment,
            check=True,
        )
        # no deltas: texts that follow each other have little in common
        importer = [*git, "fast-import", "--quiet", "--depth=0"]
        with subprocess.Popen(importer, env=environment, stdin=subprocess.PIPE) as process:
            assert process.stdin is not None
            process.stdin.writelines(_stream(plan, commits))
        if process.returncode:
            raise ToslocError(f"{out}: git fast-import failed; its words stand above")
        head = subprocess.run(
            [*git, "rev-parse", "main"], env=environment, check=True, capture_output=True, text=True
        )
    return head.stdout.strip()


def commit_head(
    message: bytes, when: int, parents: Sequence[str] = (), encoding: str = "", mark: int = 1
) -> bytes:
    """The beginning of a commit for ``git fast-import``; without parents it follows the one before."""
    who, said = f"Ada <ada@example.org> {when} +0000", f"encoding {encoding}\n" if encoding else ""
    head = f"commit refs/heads/main\nmark :{mark}\nauthor {who}\ncommitter {who}\n{said}data {len(message)}\n"
    before = "".join(
        f"{'merge' if place else 'from'} {parent}\n" for place, parent in enumerate(parents)
    )
    return b"%b%b\n%b" % (head.encode(), message, before.encode())


def file_entry(path: bytes, data: bytes, mode: str = "100644") -> bytes:
    """A file of the commit that was begun last, of whatever name."""
    quoted = "".join(f"\\{byte:03o}" for byte in path)
    return b'M %b inline "%b"\ndata %d\n%b\n' % (mode.encode(), quoted.encode(), len(data), data)


def _stream(plan: Plan, commits: int) -> Iterator[bytes]:
    """What ``git fast-import`` reads."""
    yield commit_head(b"Import\n", BEGIN)
    for number in range(len(plan.folders)):
        yield from (
            file_entry(path.encode(), text.encode()) for path, text in plan.texts(number).items()
        )
    times = accumulate(
        plan.random(4).exponential(20_000, commits).astype(int).tolist(), initial=BEGIN + 1
    )
    for at, (message, files) in zip(times, changes(plan, commits), strict=False):
        yield commit_head(message.encode(), at)
        yield from (file_entry(path.encode(), new.encode()) for path, new in files.items())


def main(arguments: Sequence[str] | None = None) -> int:
    """Write a repository and print the id of its last commit."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "out", type=Path, metavar="OUT", help="bare repository to write; nothing is there yet"
    )
    parser.add_argument("--files", type=int, default=10_000, help="files of the first commit")
    parser.add_argument("--commits", type=int, default=3_000, help="commits after the first")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    if options.files < 1 or options.commits < 0 or options.out.exists():
        parser.error("OUT is to be new, --files at least 1, --commits at least 0")
    print(write_repository(options.out, Plan(options.files, options.seed), options.commits))
    return 0


if __name__ == "__main__":
    raise SystemExit(run_guarded(main))
