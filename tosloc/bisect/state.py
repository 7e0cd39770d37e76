"""A bisection in a repository, in the refs and files of git's own bisection.

``git bisect log``, ``good``, ``bad``, ``skip`` and ``reset`` work on the same state. Only the
weights of the commits are stored in a file of our own. A line in git's log says to which bisection
they belong, so that weights of an earlier bisection are never used.

Commits are checked out by the user's own git, with the user's settings, filters and hooks. This git
runs in our process group: Ctrl-C ends it as in a shell, so that it removes its locks.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from subprocess import DEVNULL, PIPE, STDOUT, Popen
from tempfile import TemporaryFile
from typing import Final, NamedTuple

import numpy as np

from tosloc.bisect.graph import CommitGraph
from tosloc.core.arrays import FloatArray
from tosloc.core.errors import ToslocError
from tosloc.core.io import content_key, parse_json, read_regular_file, write_text
from tosloc.git import discovery
from tosloc.git.repository import Repository

MAX_COMMITS: Final = 200_000
"""Largest number of commits in a range; choosing the first commit of so many takes some seconds."""
WEIGHTS_FILE: Final = "tosloc-bisect.json"
"""Name of the file with the weights, in the git directory."""
ENDS_CHECKED_FILE: Final = "BISECT_ANCESTORS_OK"
"""Empty file of git that exists once no merge base needs a test."""
MAX_WEIGHTS_BYTES: Final = 64 * 2**20
_LOG_LINE: Final = "# tosloc bisect: weights "
NOT_RUNNING: Final = "no bisection is in progress; begin one: tosloc bisect start REPORT --good REV"


class Terms(NamedTuple):
    """The names of bad and good commits, which ``git bisect start --term-old`` can change."""

    bad: str = "bad"
    good: str = "good"


class Marks(NamedTuple):
    """The results for commits so far, by their full ids."""

    bad: str | None = None
    good: tuple[str, ...] = ()
    skipped: frozenset[str] = frozenset()

    def with_mark(self, mark: str, commits: Sequence[str]) -> Marks:
        """Return the marks after some commits are marked "bad", "good" or "skip".

        If several commits are marked bad, the last one counts, as in git.
        """
        if mark == "bad":
            return self._replace(bad=commits[-1])
        if mark == "good":
            return self._replace(good=tuple(dict.fromkeys((*self.good, *commits))))
        return self._replace(skipped=self.skipped.union(commits))


class Weights(NamedTuple):
    """Weights of the commits of a range."""

    report: str
    """Summary of the report; empty if there is none."""
    commits: Mapping[str, float]
    """Id of a commit -> its weight, for weights other than ``even``."""
    even: float
    """Weight of all other commits."""

    def of_graph(self, graph: CommitGraph) -> FloatArray:
        """Return (D,) the weights of the commits in a graph."""
        return np.array([self.commits.get(commit, self.even) for commit in graph.commits])


EQUAL_WEIGHTS: Final = Weights("", {}, 1.0)
"""Weights with which a bisection tests the same number of commits as git."""


class BisectionState:
    """The state of a bisection of a repository.

    Git is run in ``folder`` to check out commits, so that git does not remove this folder.
    """

    def __init__(self, repository: Repository, folder: Path | None = None) -> None:
        self.repository: Final = repository
        self.folder: Final = folder or repository.path
        self.directory: Final = discovery.find_git_directories(repository.path)[0]
        self._weights_path: Final = self.directory / WEIGHTS_FILE

    # ---- reading

    @property
    def is_running(self) -> bool:
        """Whether a bisection was started and not yet reset."""
        return (self.directory / "BISECT_START").is_file()

    def check_running(self) -> None:
        """Raise ToslocError unless a bisection can be continued."""
        if not self.is_running:
            raise ToslocError(NOT_RUNNING)
        if shlex.split(self._read("BISECT_NAMES")):
            raise ToslocError(
                "this bisection is limited to some paths, which tosloc cannot weigh; continue it"
                " with git bisect, or end it: tosloc bisect reset"
            )

    @property
    def first_parent(self) -> bool:
        """Whether only the first parents of merges are followed."""
        return (self.directory / "BISECT_FIRST_PARENT").is_file()

    @property
    def checks_out(self) -> bool:
        """Whether commits are checked out; otherwise BISECT_HEAD names the commit to test."""
        return self.repository.resolve_many(["BISECT_HEAD"])["BISECT_HEAD"] is None

    @property
    def terms(self) -> Terms:
        """The names of bad and good commits."""
        names = self._read("BISECT_TERMS").split()
        return Terms(*names) if len(names) == 2 else Terms()

    @property
    def current(self) -> str:
        """Full id of the commit that is tested now."""
        return self.repository.resolve("HEAD" if self.checks_out else "BISECT_HEAD")

    @property
    def ends_are_checked(self) -> bool:
        """Whether no merge base needs a test.

        This is so if the good ends are ancestors of the bad one, or if their merge bases were
        tested.
        """
        return (self.directory / ENDS_CHECKED_FILE).is_file()

    def marks(self) -> Marks:
        """Return the results for commits so far."""
        terms = self.terms
        bad = None
        good = []
        skipped = set()
        command = ["for-each-ref", "--format=%(refname:strip=2) %(objectname)", "refs/bisect"]
        with self.repository.git.stream(command, GIT_DIR=str(self.directory)) as output:
            lines = output.read().decode("utf-8", "replace").splitlines()
        for line in lines:
            name, _, commit = line.partition(" ")
            if name == terms.bad:
                bad = commit
            elif name.startswith(f"{terms.good}-"):
                good.append(commit)
            elif name.startswith("skip-"):
                skipped.add(commit)
        return Marks(bad, tuple(good), frozenset(skipped))

    def weights(self) -> Weights:
        """Return the weights of this bisection; equal weights if none are stored."""
        with suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
            content = read_regular_file(self._weights_path, MAX_WEIGHTS_BYTES)
            record = parse_json(content)
            if _LOG_LINE + content_key(record) in self._read("BISECT_LOG"):
                commits = {str(name): float(value) for name, value in record["commits"].items()}
                return Weights(str(record["report"]), commits, float(record["even"]))
        return EQUAL_WEIGHTS

    def log(self) -> str:
        """Return git's log of the bisection."""
        return self._read("BISECT_LOG")

    def _read(self, name: str) -> str:
        """Return the text of a file of the git directory; empty if it does not exist."""
        return discovery.read_git_file(self.directory / name).decode("utf-8", "replace")

    # ---- changing

    def check_clean(self) -> None:
        """Raise ToslocError if tracked files are changed: checkouts would overwrite them."""
        command = ("status", "--porcelain", "--untracked-files=no", "--ignore-submodules=all")
        changed = self._git(*command).splitlines()
        if changed:
            raise ToslocError(
                f"{self.repository.path}: {changed[0][3:]} has uncommitted changes; commit or stash"
                " them (git stash), because a bisection checks out other versions"
            )

    def start(self, bad: str, good: Sequence[str], weights: Weights, *options: str) -> None:
        """Start a bisection between full ids; ``options`` are passed to ``git bisect start``.

        Nothing is checked out yet.
        """
        self._git("bisect", "start", *options, folder=self.repository.path)
        self._weights_path.unlink(missing_ok=True)  # left by a bisection that git has ended
        if weights.commits:
            record = weights._asdict()
            write_text(self._weights_path, json.dumps(record, indent=1) + "\n")
            self._append_to_log([_LOG_LINE + content_key(record)])
        self.mark("bad", [bad])
        self.mark("good", good)

    def mark(self, mark: str, commits: Sequence[str]) -> None:
        """Mark commits as "bad", "good" or "skip", as git does.

        A commit that was not chosen for a test becomes a new end, whose merge bases still need a
        test.
        """
        expected = self.repository.resolve_many(["BISECT_EXPECTED_REV"])["BISECT_EXPECTED_REV"]
        if list(commits) != [expected]:
            (self.directory / ENDS_CHECKED_FILE).unlink(missing_ok=True)
        terms = self.terms
        name = {"bad": terms.bad, "good": terms.good}.get(mark, mark)
        updates = []
        lines = []
        for info in self.repository.commits(commits):
            reference = name if mark == "bad" else f"{name}-{info.id}"
            updates.append(f"update refs/bisect/{reference} {info.id}")
            subject = info.subject
            lines += [f"# {name}: [{info.id}] {subject}", f"git bisect {name} {info.id}"]
        self._git("update-ref", "--stdin", lines=updates)
        self._append_to_log(lines)

    def note_checked_ends(self) -> None:
        """Record that no merge base needs a test any more."""
        (self.directory / ENDS_CHECKED_FILE).touch()

    def note_culprit(self, commit: str) -> None:
        """Add the first bad commit to git's log, unless the log already contains it."""
        subject = self.repository.subject(commit) or ""
        line = f"# first {self.terms.bad} commit: [{commit}] {subject}"
        if line not in self.log().split("\n"):
            self._append_to_log([line])

    def _append_to_log(self, lines: Iterable[str]) -> None:
        with (self.directory / "BISECT_LOG").open("a", encoding="utf-8") as log:
            log.writelines(f"{line}\n" for line in lines)

    def check_out(self, commit: str) -> None:
        """Check out a commit to test it, unless it is already checked out."""
        if not self.checks_out:
            self._git("update-ref", "--no-deref", "BISECT_HEAD", commit)
        elif self.repository.resolve("HEAD") != commit:
            self._git("-c", "advice.detachedHead=false", "checkout", "-q", "--detach", commit)
        self._git("update-ref", "--no-deref", "BISECT_EXPECTED_REV", commit)

    def reset(self, *revision: str) -> str:
        """End the bisection, and check out the commit from before it, or a revision.

        Return the name of the branch that is checked out, or the full id of the commit.
        """
        self._git("bisect", "reset", *revision, folder=self.repository.path)
        self._weights_path.unlink(missing_ok=True)
        return self._read("HEAD").strip().removeprefix("ref: refs/heads/")

    def run(self, command: Sequence[str], folder: Path) -> int:
        """Run a test command in a folder with our standard streams; return its exit code.

        The exit code has a shell's meaning, also for signals and for commands that cannot be run.
        """
        try:
            child = Popen(command, cwd=folder)
        except FileNotFoundError:
            return 127
        except OSError:
            return 126
        with child:
            try:
                code = child.wait()
            except BaseException:  # Ctrl-C has reached it, but SIGTERM only us
                child.terminate()
                raise
        return 128 - code if code < 0 else code

    def _git(self, *arguments: str, folder: Path | None = None, lines: Iterable[str] = ()) -> str:
        """Run the user's git and return its output. Raises ToslocError if it fails."""
        where = folder or self.folder
        if not where.is_dir():
            where = self.repository.path
        environment = os.environ | {"LC_ALL": "C"}
        text = "".join(f"{line}\n" for line in lines)
        source = PIPE if text else DEVNULL
        # A file, because a process that a hook leaves behind would keep a pipe open.
        with TemporaryFile() as output:
            with Popen(
                [self.repository.git.program, *arguments],
                cwd=where,
                env=environment,
                stdin=source,
                stdout=output,
                stderr=STDOUT,
            ) as child:
                # Leaving the block waits for git, also after an interruption.
                child.communicate(text.encode() or None)
            output.seek(0)
            message = output.read().decode("utf-8", "replace")
        if child.returncode:
            raise ToslocError(f"{self.repository.path}: git failed: {message.strip()}")
        return message
