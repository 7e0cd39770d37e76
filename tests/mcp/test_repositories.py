"""Which repositories a client may ask of: those under its folders, whatever links say."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import GitRepository, RepositoryFactory
from tosloc.cli import main
from tosloc.errors import RepositoryError
from tosloc.mcp.repositories import repository_in


@pytest.fixture
def inside(make_repository: RepositoryFactory) -> GitRepository:
    return make_repository("roots/inside")


@pytest.fixture
def outside(make_repository: RepositoryFactory) -> GitRepository:
    made = make_repository("outside")
    made.commit({"src/Door.java": "class Door { void open() { } }"}, "Begin")
    return made


def test_a_root_that_is_a_repository_needs_no_name(inside: GitRepository) -> None:
    (inside.path / "src").mkdir()
    assert repository_in([inside.path]) == inside.path.resolve()
    assert repository_in([inside.path], str(inside.path / "src")) == inside.path.resolve()
    assert repository_in([inside.path.parent], "inside") == inside.path.resolve()
    assert repository_in([inside.path.parent], "inside/src") == inside.path.resolve()


def test_what_lies_outside_is_refused_in_the_same_words_as_what_does_not_exist(
    inside: GitRepository, outside: GitRepository
) -> None:
    said = []
    for named in (str(outside.path), "../../outside", "../../nowhere", "~nobody/x", "a\0b", str(outside.path / "none")):
        with pytest.raises(RepositoryError, match="where this server may look") as raised:
            repository_in([inside.path], named)
        said.append(str(raised.value).removeprefix(named))
    assert len(set(said)) == 1


def test_links_are_followed_before_they_are_judged(inside: GitRepository, outside: GitRepository) -> None:
    (inside.path.parent / "link").symlink_to(outside.path)
    with pytest.raises(RepositoryError, match="not a folder in"):
        repository_in([inside.path.parent], "link")
    (outside.path.parent / "to-roots").symlink_to(inside.path.parent)
    assert repository_in([outside.path.parent / "to-roots"], "inside") == inside.path.resolve()


def test_a_git_directory_outside_is_refused(inside: GitRepository, outside: GitRepository) -> None:
    borrowed = inside.path.parent / "borrowed"
    borrowed.mkdir()
    (borrowed / ".git").write_text(f"gitdir: {outside.path / '.git'}\n")
    with pytest.raises(RepositoryError, match=r"git would read .*outside/\.git, which lies outside"):
        repository_in([inside.path.parent], "borrowed")
    (borrowed / ".git").unlink()
    (borrowed / ".git").symlink_to(outside.path / ".git")
    with pytest.raises(RepositoryError, match="lies outside"):
        repository_in([inside.path.parent], "borrowed")


def test_several_repositories_or_none_have_to_be_named(
    inside: GitRepository, outside: GitRepository, tmp_path: Path
) -> None:
    with pytest.raises(RepositoryError, match="lies outside"):
        repository_in([inside.path / ".git/refs"])  # a root inside a repository does not open the whole
    linked = inside.path.parent / "linked"
    outside.git("worktree", "add", str(linked))
    assert repository_in([linked]) == linked.resolve()  # its owner has made it
    with pytest.raises(RepositoryError, match="several repositories; name one"):
        repository_in([inside.path, outside.path])
    (tmp_path / "empty").mkdir()
    with pytest.raises(RepositoryError, match="no git repository at"):
        repository_in([tmp_path / "empty"])


def other_folder(bare: Path, private: Path) -> None:
    (bare / "commondir").write_text(f"{private}\n")
    (bare / "gitdir").write_text(f"{bare / '.git'}\n")  # as a linked work tree has it


def borrowed_by_way_of_another(bare: Path, private: Path) -> None:
    between = bare.parent / "between"
    (between / "info").mkdir(parents=True)
    (between / "info/alternates").write_text(f"{private}/objects\n")
    (bare / "objects/info/alternates").write_text("../../between\n")


def linked(name: str, to: str | None = None) -> Callable[[Path, Path], None]:
    def link(bare: Path, private: Path) -> None:
        place = bare / name
        if place.is_dir():
            shutil.rmtree(place)
        place.unlink(missing_ok=True)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(private / (to or name))

    return link


def linked_twice(bare: Path, private: Path) -> None:
    (bare / "objects").rename(bare.parent / "store")
    (bare / "objects").symlink_to("../store")
    linked("store/pack", "objects/pack")(bare.parent, private)


def included(bare: Path, private: Path) -> None:
    with (bare / "config").open("a") as config:
        config.write(f'[IncludeIf "gitdir:/"] Path = {private}/config\n')


@pytest.mark.parametrize(
    "lead",
    [
        other_folder,
        borrowed_by_way_of_another,
        linked_twice,
        included,
        *map(linked, ("objects", "objects/ab/" + "c" * 38, "refs/heads/main", "packed-refs", "config")),
        linked("objects/info/alternates", "config"),
    ],
)
def test_all_that_git_reads_has_to_lie_under_the_roots(
    inside: GitRepository,
    outside: GitRepository,
    lead: Callable[[Path, Path], None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A project can hold a bare repository, and in it whatever git lets a folder hold."""
    bare = inside.path / "held"
    inside.git("init", "-q", "--bare", str(bare))
    assert repository_in([inside.path], "held") == bare.resolve()
    lead(bare, (outside.path / ".git").resolve())
    with pytest.raises(RepositoryError, match=r"git would read .*, which (lies|may lie) outside"):
        repository_in([inside.path], "held")
    assert main(["serve", "--repo", str(bare), "--port", "0"]) == 2
    assert re.search("lies? outside", capsys.readouterr().err)
    if lead is not included:
        assert repository_in([inside.path, outside.path], "held") == bare.resolve()


def test_links_that_stay_inside_and_hooks_are_nothing_to_refuse(inside: GitRepository, outside: GitRepository) -> None:
    bare = inside.path / "held"
    inside.git("init", "-q", "--bare", str(bare))
    linked("hooks")(bare, outside.path)
    linked("objects/pack")(bare, inside.path / ".git")
    (bare / "loop").symlink_to("objects")
    assert repository_in([inside.path], "held") == bare.resolve()
