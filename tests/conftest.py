"""Small real git repositories for tests, which set their names, dates and paths (as bytes)."""

import os
import signal
import sqlite3
import subprocess
import warnings
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest
from hypothesis import settings

from scripts.synthetic import commit_head, file_entry, quote_path

FIRST_TIME = 1_000_000_000
HOUR = 3600


def pytest_configure(config):
    """Try fewer examples in a quick run, and let Ctrl-C reach tests in a shell's background."""
    examples = 25 if config.option.markexpr == "not slow" else 100
    settings.register_profile("tosloc", max_examples=examples, deadline=None)
    settings.load_profile("tosloc")
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


class WatchedConnection(sqlite3.Connection):
    """A connection that warns when it is dropped unclosed, as those of Python 3.13 do."""

    is_closed = True  # One that could not be opened has nothing to close.

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.is_closed = False
        self.database = arguments[0]

    def close(self):
        super().close()
        self.is_closed = True

    def __del__(self):
        if not self.is_closed:
            super().close()  # or Python 3.13 warns a second time
            warnings.warn(f"unclosed database {self.database}", ResourceWarning, stacklevel=2)


@pytest.fixture(scope="session", autouse=True)
def unclosed_connections():
    """Let unclosed connections warn on every Python; pytest turns the warning into an error."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=WatchedConnection))
        yield


DESCRIPTORS = Path("/proc/self/fd")
with_proc = pytest.mark.skipif(
    not DESCRIPTORS.exists(), reason="this system does not list the open files of a process"
)


def open_files(folder):
    """Return the paths below a folder that this process has open."""
    links = [descriptor for descriptor in DESCRIPTORS.iterdir() if descriptor.is_symlink()]
    paths = [os.readlink(link) for link in links]
    return [path for path in paths if path.startswith(str(folder))]


def git_environment(home):
    """Return an environment in which git reads no settings but the test's own."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment |= {
        "HOME": str(home),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "LC_ALL": "C.UTF-8",
    }
    for role in ("AUTHOR", "COMMITTER"):
        environment[f"GIT_{role}_NAME"] = "Ada"
        environment[f"GIT_{role}_EMAIL"] = "ada@example.org"
        environment[f"GIT_{role}_DATE"] = f"{FIRST_TIME} +0000"
    return environment


def commit_stream(files, message, when, parents=(), encoding="", mark=1):
    """Return a commit for ``git fast-import``; see ``GitRepository.commit``."""
    text = message.encode() if isinstance(message, str) else message
    stream = commit_head(text, when, parents, encoding, mark)
    for name, value in files.items():
        path = name if isinstance(name, bytes) else name.encode("utf-8", "surrogateescape")
        mode, content = value if isinstance(value, tuple) else ("100644", value)
        data = content.encode() if isinstance(content, str) else content
        if data is None:
            stream += b"D " + quote_path(path) + b"\n"
        elif mode == "160000":
            stream += b"M 160000 %s %s\n" % (data, path)
        else:
            stream += file_entry(path, data, mode)
    return stream


@dataclass(slots=True)
class GitRepository:
    """A repository under construction.

    ``commit`` returns the new commit's full id and moves the branch ``main`` to it. An hour passes
    between commits.
    """

    path: Path
    bare: bool
    environment: dict[str, str]
    commits: list[str] = field(default_factory=list)

    @classmethod
    def new(cls, path, bare=False):
        """Create an empty repository in a new folder, with the branch main."""
        repository = cls(path, bare, git_environment(path.parent))
        path.mkdir(parents=True)
        repository.git("init", "-q", "-b", "main", *(["--bare"] if bare else []))
        return repository

    def git(self, *arguments, stdin=b""):
        """Run a git command in the repository; return its standard output, stripped."""
        command = ["git", "-C", str(self.path), "-c", "core.hooksPath=/dev/null", *arguments]
        result = subprocess.run(
            command, input=stdin, capture_output=True, env=self.environment, check=False
        )
        if result.returncode:
            raise AssertionError(f"{' '.join(command)}: {result.stderr.decode(errors='replace')}")
        return result.stdout.decode("utf-8", "surrogateescape").strip()

    @property
    def objects(self):
        """Folder of the object store."""
        return self.path / ("objects" if self.bare else ".git/objects")

    def lose(self, name):
        """Remove a loose object."""
        identity = self.git("rev-parse", name)
        (self.objects / identity[:2] / identity[2:]).unlink()

    def commit(self, files, message="a change", *, when=None, parents=None, encoding=""):
        """Commit the first parent's files with ``files`` changed, and return the commit's full id.

        A file's value is its text or bytes, None to delete it, or (mode, value): ("100755", text),
        ("120000", target of the link), ("160000", id of the submodule's commit). ``parents``
        defaults to the last commit; () makes a root.
        """
        parent_ids = tuple(self.commits[-1:] if parents is None else parents)
        time = FIRST_TIME + HOUR * len(self.commits) if when is None else when
        stream = commit_stream(files, message, time, parent_ids, encoding)
        identity = self.git(
            "fast-import", "--quiet", "--force", stdin=stream + b"\nget-mark :1\ndone\n"
        )
        self.commits.append(identity)
        if not self.bare:
            self.git("reset", "-q", "--hard")
        return identity

    def commit_all(self, commits):
        """Commit a chain of (files, message, seconds) to an empty repository; return the ids."""
        stream = b"".join(
            commit_stream(files, message, when, mark=number)
            for number, (files, message, when) in enumerate(commits, start=1)
        )
        queries = b"".join(b"get-mark :%d\n" % number for number in range(1, len(commits) + 1))
        self.commits += self.git(
            "fast-import", "--quiet", stdin=stream + b"\n" + queries + b"done\n"
        ).splitlines()
        return self.commits


@pytest.fixture
def make_repository(tmp_path):
    """Return a function (name="repo", bare=False) that makes an empty GitRepository."""
    return lambda name="repo", bare=False: GitRepository.new(tmp_path / name, bare)


@pytest.fixture
def repository(make_repository):
    """Return an empty repository with a work tree."""
    return make_repository()


@pytest.fixture(scope="session", autouse=True)
def users_cache(tmp_path_factory):
    """Let commands use a cache of the tests' own, not that of the person who runs them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TOSLOC_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(autouse=True)
def _own_import_path():
    """Let processes that a test starts import from the current folder."""
    os.environ.pop("PYTHONSAFEPATH", None)


@pytest.fixture(scope="session")
def world(tmp_path_factory):
    """Return the project on which all rankers are compared, with rankers that have learned."""
    from tests import rankers  # torch, only for the tests that ask

    folder = tmp_path_factory.mktemp("world")
    with rankers.open_world(rankers.make_project(folder), folder / "models") as opened:
        rankers.save_fitted_rerankers(opened)
        yield opened


@pytest.fixture(scope="session")
def project(tmp_path_factory):
    """Return a small project with fixed bugs, which no test changes."""
    from tests import toy

    return toy.make_project(tmp_path_factory.mktemp("project"), bugs=14, themes=7)


@pytest.fixture
def plain_folder(tmp_path, monkeypatch):
    """Make a plain folder the current one; the cache is in another."""
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("TOSLOC_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    (tmp_path / "plain").mkdir()
    monkeypatch.chdir(tmp_path / "plain")
    return tmp_path / "plain"
