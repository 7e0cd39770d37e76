"""Write a synthetic git repository of many files and a history that changes them.

    synthetic.py OUT --files 100000 [--commits 3000] [--seed 0]

OUT becomes a bare repository with this number of Java files, which a parser reads without an error.
The same arguments give the same commit, with the same NumPy. It is for measuring what size costs:
file lengths, terms and commits grow with the number of files as in real repositories. The quality
of a ranking cannot be measured on it.

The table compares a repository of 3,000 files with Apache Tomcat, Eclipse Birt, Eclipse JDT UI and
django, in this order: 2,819, 9,813, 12,458 and 2,834 Java and Python files at their heads, facts as
this package makes them.

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

One commit brings all files, as where a project moves to git; the others change some, most of them
of one folder. Their messages name types and words of the files that they touch.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import zlib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tosloc.cli.guard import run_guarded
from tosloc.core.errors import ToslocError
from tosloc.core.io import atomic_write
from tosloc.git.process import clean_environment

MEDIAN_LINES = 80
MAX_LINES = 20_000
FIRST_TIME = 1_400_000_000
"""Seconds since 1970 of the first commit."""
# There is no v, because it would make the keywords "native" and "volatile".
CONSONANTS = "b d f g h k l m n p r s t w z br st tr pl".split()
SYLLABLES = [f"{consonant}{vowel}" for consonant in CONSONANTS for vowel in "aeiou"]

# Slots: T is a type, v a variable, m a method, w a word, n a number. More deeply indented lines
# belong to the statement above them.
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
    (
        "\n    /**\n     * $w $w $w $w $w $w.\n     *\n     * @param $v $w $w $w\n     */\n"
        "    public $T $m($T $v) {\n"
    ),
    "\n    private void $m($T $v, int $v) throws $T {\n",
    "\n    @Override\n    public boolean $m() {\n",
)
FIELD = "\n    /**\n     * $w $w $w $w $w $w.\n     */\n    private $T $v;\n"


def share_of(*numbers: int) -> float:
    """Return a number from 0 to 1 that depends on all the numbers."""
    return zlib.crc32(repr(numbers).encode()) / 2.0**32


def word(share: float) -> str:
    """Return the word below which a share (0 to 1) of all draws fall.

    A word's frequency falls with (rank + 100) to the power 1.75.

    >>> word(0.1), word(0.9) != word(0.9001)
    ('stizopo', True)
    """
    rank = zipf(share, 100, 1.75)
    size = len(SYLLABLES)
    syllables = 3
    while rank >= size**syllables:
        rank -= size**syllables
        syllables += 1
    # A factor that is prime makes words of neighbouring ranks look different.
    code = (rank + 1) * 7_368_787 % size**syllables
    return "".join(SYLLABLES[code // size**position % size] for position in range(syllables))


def zipf(share: float, flat: int, power: float) -> int:
    """Return the rank from 0 below which a share of all draws fall, by Zipf-Mandelbrot's law."""
    rank = flat * (max(1 - share, 1e-12) ** (-1 / (power - 1)) - 1)
    return int(min(rank, 2.0**40))


@lru_cache(maxsize=1 << 19)
def identifier(rank: int) -> str:
    """Return the variable of a rank; more frequent ones have fewer words."""
    draw = share_of(rank) * (0.58 if rank < 300 else 1.0)
    number = 1 + sum(draw > share for share in (0.28, 0.58, 0.81, 0.92, 0.98))
    first, *others = [word(share_of(rank, position)) for position in range(number)]
    return first + "".join(map(str.capitalize, others))


def common_identifier(share: float) -> str:
    """Return an identifier of the whole repository, below which a share of all draws fall."""
    return identifier(zipf(share, 150, 1.42))


class Folder(NamedTuple):
    """One folder to fill."""

    path: str
    package: str
    module: int
    files: int


class Plan:
    """All folders of a repository, and their files, which are made whenever they are asked for."""

    def __init__(self, files: int, seed: int = 0) -> None:
        self.seed = seed
        self.folders: list[Folder] = []
        draws = self.random(0)
        left = files
        module = -1
        packages = [""]
        while left:
            if not self.folders or draws.random() < 0.06:
                module += 1
                packages = [f"org.{word(0.3 * draws.random())}.m{module}"]
            else:
                parent = packages[int(draws.integers(len(packages)))]
                packages.append(f"{parent}.{word(draws.random())}")
            number = min(left, max(1, int(np.exp(draws.normal(1.75, 1.1)))))
            path = f"m{module}/src/main/java/{packages[-1].replace('.', '/')}{len(self.folders)}"
            self.folders.append(Folder(path, f"{packages[-1]}{len(self.folders)}", module, number))
            left -= number

    def random(self, *numbers: int) -> np.random.Generator:
        """Return a generator that depends only on the seed and the numbers."""
        return np.random.default_rng((self.seed, *numbers))

    @lru_cache(maxsize=4096)  # noqa: B019 - one plan lives as long as the process
    def types(self, number: int) -> list[str]:
        """Return the type of each file of a folder; its last word makes it unique."""
        files = self.folders[number].files
        types = []
        for position in range(files):
            name = common_identifier(share_of(self.seed, number, position))
            suffix = word(position / files).capitalize()
            types.append(f"{name[0].upper()}{name[1:]}{suffix}")
        return types

    @cache  # noqa: B019
    def pool(self, number: int) -> list[str]:
        """Return identifiers that the files of a folder share.

        They are made of words of its module, of new words, and of common identifiers.
        """
        folder = self.folders[number]
        # Words that are rare elsewhere.
        theme = [
            word(0.6 + 0.4 * share_of(self.seed, 2, folder.module, position))
            for position in range(24)
        ]
        identifiers = []
        draws = self.random(1, number).random((20 + 5 * folder.files, 3))
        for which, first, second in draws.tolist():
            if which >= 0.5:
                identifiers.append(common_identifier(first))
                continue
            if which < 0.35:
                start = theme[int(first * first * len(theme))]
            else:
                start = word(0.93 + 0.07 * first)
            identifiers.append(start + word(second).capitalize())
        return identifiers

    def texts(self, number: int) -> dict[str, str]:
        """Return path -> text of the files of a folder."""
        folder = self.folders[number]
        draws = self.random(2, number)
        # Types of folders near it, and of folders that the whole repository uses.
        imports = {}
        for which, first, second in draws.random((24, 3)).tolist():
            if which < 0.6:
                other = max(0, number - int(first * 16))
            else:
                other = int(first**4 * len(self.folders))
            types = self.types(other)
            name = types[int(second * second * len(types))]
            imports[name] = f"import {self.folders[other].package}.{name};\n"
        return {
            f"{folder.path}/{name}.java": self._text(number, name, imports, draws)
            for name in self.types(number)
        }

    def _text(
        self, number: int, name: str, imports: Mapping[str, str], draws: np.random.Generator
    ) -> str:
        """Return the text of a file."""
        lines = min(float(np.exp(draws.normal(np.log(MEDIAN_LINES), 1.0))), float(MAX_LINES))
        identifiers = self._own_identifiers(number, lines, draws)
        types = draws.permutation(list(imports))[: min(7, 1 + int(lines / 6))].tolist()
        words = []
        for identifier_name in identifiers:
            words += [part.lower() for part in re.findall("[A-Z]?[a-z]+", identifier_name)]
        values = {
            "v": identifiers,
            "m": [*identifiers[1:], identifiers[0]],
            "T": [name, *types, "String", "List", "Exception"],
            "w": words,
        }
        parts = _draw_parts(lines, lines - len(types) - 8, draws)
        import_lines = "".join(imports[type_name] for type_name in types)
        head = f"package {self.folders[number].package};\n\n{import_lines}\n"
        body = "".join(_fill_slots(part, values, draws) for part in parts)
        comment = " ".join(words[:9])
        return f"{head}/** {comment}. */\npublic class {name} {{\n{body}}}\n"

    def _own_identifiers(self, number: int, lines: float, draws: np.random.Generator) -> list[str]:
        """Return the identifiers of one file; a longer file has more."""
        pool = self.pool(number)
        identifiers = []
        for which, first in draws.random((2 + int(0.75 * lines**0.78), 2)).tolist():
            if which < 0.4:
                identifiers.append(pool[int(first * first * len(pool))])
            else:
                identifiers.append(common_identifier(first))
        return identifiers


def _draw_parts(lines: float, left: float, draws: np.random.Generator) -> list[str]:
    """Return the fields and methods of a file, whose slots are not filled yet.

    ``lines`` is the length of the file, which decides the number of fields; ``left`` is the number
    of lines that the methods should have.
    """
    parts = [FIELD * max(0, int(lines / 40))]
    while left > 3 or len(parts) == 1:
        positions = draws.integers(0, len(STATEMENTS), 1 + int(draws.exponential(5))).tolist()
        head = METHODS[int(draws.integers(len(METHODS)))]
        statements = "".join(STATEMENTS[position] for position in positions)
        parts.append(f"{head}{statements}        return $v;\n    }}\n")
        left -= parts[-1].count("\n")
    return parts


def _fill_slots(text: str, values: Mapping[str, Sequence[str]], draws: np.random.Generator) -> str:
    """Fill the slots of a text; a method has identifiers of its own, and repeats them."""
    first = int(draws.random() * len(values["v"]))
    shares = iter((draws.random(text.count("$")) ** 2).tolist())

    def fill(match: re.Match[str]) -> str:
        kind = match[1]
        share = next(shares)
        if kind == "n":
            return str(int(share * 64))
        if kind == "w" and share < 0.05:
            return word(share / 0.05)
        if kind != "T" and share <= 0.2:
            position = first + int(share * 40)
        else:
            position = int(share * len(values[kind]))
        return values[kind][position % len(values[kind])]

    return re.sub(r"\$(\w)", fill, text)


def changes(plan: Plan, commits: int) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the message and the path -> new text of each commit that changes some files."""
    texts: dict[str, str] = {}
    # Commits return to all folders, and making a folder takes as long as a hundred commits.
    first_texts = cache(plan.texts)
    for commit in range(commits):
        draws = plan.random(3, commit)
        number = int(draws.random() ** 1.5 * len(plan.folders))
        touched: dict[str, str] = {}
        for _ in range(min(40, max(1, round(float(np.exp(draws.normal(0.6, 0.8))))))):
            near = number if draws.random() < 0.7 else max(0, number - int(draws.integers(16)))
            position = int(draws.integers(plan.folders[near].files))
            path, text = list(first_texts(near).items())[position]
            touched[path] = _insert_call(texts.get(path, text), plan.pool(near), draws)
        texts |= touched
        path, text = next(iter(touched.items()))
        yield _message(commit, Path(path).stem, text, draws), touched


def _insert_call(text: str, pool: Sequence[str], draws: np.random.Generator) -> str:
    """Return a text with one more call before a return statement, or at the end."""
    pieces = re.split(r"(?<=\n)(?= {8}return)", text)
    variable, method = [pool[int(position)] for position in draws.integers(0, len(pool), 2)]
    pieces.insert(int(draws.integers(1, len(pieces))), f"        {variable}.{method}();\n")
    return "".join(pieces)


def _message(commit: int, name: str, text: str, draws: np.random.Generator) -> str:
    """Return a message that names a type and words of its text; three of ten fix a bug."""
    found = re.findall(r"[A-Za-z]{4,}", text)
    words = [found[int(position)] for position in draws.integers(0, len(found), 3)]
    if draws.random() < 0.3:
        return f"Bug {1_000 + commit}: {words[0]} of {name} is wrong when {words[1]} {words[2]}\n"
    return f"Use {words[0]} in {name} for {words[1]} and {words[2]}\n"


def write_repository(out: Path, plan: Plan, commits: int) -> str:
    """Write the bare repository of a plan, all or nothing; return the id of its last commit."""
    environment = clean_environment()
    with atomic_write(out) as folder:
        git = ["git", f"--git-dir={folder}", "-c", "advice.graftFileDeprecated=false"]
        subprocess.run(
            [*git, "init", "--quiet", "--bare", "--template=", "-b", "main"],
            env=environment,
            check=True,
        )
        # Texts that follow each other have little in common, so there are no deltas.
        importer = [*git, "fast-import", "--quiet", "--depth=0"]
        with subprocess.Popen(importer, env=environment, stdin=subprocess.PIPE) as process:
            assert process.stdin is not None
            process.stdin.writelines(_stream(plan, commits))
        if process.returncode:
            raise ToslocError(f"{out}: git fast-import failed; its messages are above")
        head = subprocess.run(
            [*git, "rev-parse", "main"], env=environment, check=True, capture_output=True, text=True
        )
    return head.stdout.strip()


def commit_head(
    message: bytes, when: int, parents: Sequence[str] = (), encoding: str = "", mark: int = 1
) -> bytes:
    """Return the beginning of a commit for ``git fast-import``.

    Without parents the commit follows the one before.
    """
    author = f"Ada <ada@example.org> {when} +0000"
    lines = [f"commit refs/heads/main\nmark :{mark}\nauthor {author}\ncommitter {author}\n"]
    if encoding:
        lines.append(f"encoding {encoding}\n")
    lines.append(f"data {len(message)}\n")
    parent_lines = [
        f"{'merge' if position else 'from'} {parent}\n" for position, parent in enumerate(parents)
    ]
    return b"%b%b\n%b" % ("".join(lines).encode(), message, "".join(parent_lines).encode())


def file_entry(path: bytes, data: bytes, mode: str = "100644") -> bytes:
    """Return the command by which ``git fast-import`` adds a file to the current commit."""
    place = b"M %b inline %b\n" % (mode.encode(), quote_path(path))
    return place + b"data %d\n%b\n" % (len(data), data)


def quote_path(path: bytes) -> bytes:
    """Return a path as ``git fast-import`` reads it, whatever characters it contains."""
    escapes = "".join(f"\\{byte:03o}" for byte in path)
    return b'"%b"' % escapes.encode()


def _stream(plan: Plan, commits: int) -> Iterator[bytes]:
    """Yield the input of ``git fast-import``."""
    yield commit_head(b"Import\n", FIRST_TIME)
    for number in range(len(plan.folders)):
        for path, text in plan.texts(number).items():
            yield file_entry(path.encode(), text.encode())
    pauses = plan.random(4).exponential(20_000, commits).astype(int).tolist()
    times = accumulate(pauses, initial=FIRST_TIME + 1)
    for when, (message, files) in zip(times, changes(plan, commits), strict=False):
        yield commit_head(message.encode(), when)
        for path, text in files.items():
            yield file_entry(path.encode(), text.encode())


def main(arguments: Sequence[str] | None = None) -> int:
    """Write a repository and print the id of its last commit."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "out", type=Path, metavar="OUT", help="bare repository to write, which must not exist"
    )
    parser.add_argument(
        "--files", type=int, default=10_000, help="number of files in the first commit"
    )
    parser.add_argument(
        "--commits", type=int, default=3_000, help="number of commits after the first"
    )
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    if options.files < 1 or options.commits < 0 or options.out.exists():
        parser.error("OUT must not exist, --files must be at least 1 and --commits at least 0")
    print(write_repository(options.out, Plan(options.files, options.seed), options.commits))
    return 0


if __name__ == "__main__":
    raise SystemExit(run_guarded(main))
