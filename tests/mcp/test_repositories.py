"""Which repositories a client may ask of: those under its folders, whatever links say."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tosloc.cli import main
from tosloc.errors import RepositoryError
from tosloc.mcp.repositories import repository_in


@pytest.fixture
def inside(make_repository):
    return make_repository("roots/inside")


@pytest.fixture
def outside(make_repository):
    made = make_repository("outside")
    made.commit({"src/Door.java": "class Door { void open() { } }"}, "Begin")
    return made


@pytest.fixture
def held(inside):
    """A project can hold a bare repository, and in it whatever git lets a folder hold."""
    inside.git("init", "-q", "--bare", str(inside.path / "held"))
    return inside.path / "held"


def test_a_root_that_is_a_repository_needs_no_name_nor_has_an_only_one_below(inside):
    own, above = inside.path.resolve(), inside.path.parent
    (inside.path / "src").mkdir()
    for root, named in ((own, None), (above, None), (own, f"{own}/src"), (above, "inside"), (above, "inside/src")):
        assert repository_in([root], named) == own


def test_of_several_one_is_named_and_some_folders_are_not_looked_into(tmp_path, inside, outside):
    for name in ("roots/.hidden/x", "roots/node_modules/x", "roots/inside/inner", "roots/1/2/3/too-deep"):
        (tmp_path / name / ".git").mkdir(parents=True)
    assert repository_in([tmp_path / "roots"]) == inside.path.resolve()
    said = "^there are several repositories; name one in `repository`: "
    with pytest.raises(RepositoryError, match=f"{said}outside, roots/inside$"):
        repository_in([tmp_path])
    with pytest.raises(RepositoryError, match=f"{said}{outside.path}, {inside.path}$"):
        repository_in([inside.path, outside.path])


@pytest.mark.parametrize(
    "named", ["/outside", "../../outside", "../../nowhere", "~nobody/x", "a\0b", "link", "plain", "/outside/none", None]
)
def test_what_lies_outside_is_refused_in_the_same_words_as_what_does_not_exist(tmp_path, inside, outside, named):
    root = tmp_path / "empty"
    (root / "plain").mkdir(parents=True)
    (root / "link").symlink_to(outside.path)  # links are followed before they are judged
    named = f"{tmp_path}{named}" if named and named.startswith("/") else named
    with pytest.raises(RepositoryError) as raised:
        repository_in([root], named)
    said = f"no git repository in {root}, where this server may look; give its folder to the client, or start"
    assert str(raised.value).removeprefix(f"{named}: ").startswith(said)


def test_a_root_may_be_a_link_or_a_linked_work_tree_and_opens_nothing_above_it(tmp_path, inside, outside):
    (tmp_path / "to-roots").symlink_to(inside.path.parent)
    assert repository_in([tmp_path / "to-roots"], "inside") == inside.path.resolve()
    linked = inside.path.parent / "linked"
    outside.git("worktree", "add", str(linked))
    assert repository_in([linked]) == linked.resolve()  # its owner has made it
    with pytest.raises(RepositoryError, match="no git repository in"):
        repository_in([inside.path / ".git/refs"], ".")


@pytest.mark.parametrize("how", ["file", "link"])
def test_a_git_directory_outside_is_refused(inside, outside, how):
    borrowed, there = inside.path.parent / "borrowed/.git", outside.path / ".git"
    borrowed.parent.mkdir()
    if how == "file":
        borrowed.write_text(f"gitdir: {there}\n")
    else:
        borrowed.symlink_to(there)
    with pytest.raises(RepositoryError, match=r"git would read .*\.git, which lies outside"):
        repository_in([inside.path.parent], "borrowed")


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
        *(other_folder, borrowed_by_way_of_another, linked_twice, included),
        *map(linked, ("objects", "objects/ab/" + "c" * 38, "refs/heads/main", "packed-refs", "config")),
        linked("objects/info/alternates", "config"),
    ],
)
def test_all_that_git_reads_has_to_lie_under_the_roots(inside, outside, held, lead, capsys):
    assert repository_in([inside.path], "held") == held.resolve()
    lead(held, (outside.path / ".git").resolve())
    with pytest.raises(RepositoryError, match=r"git would read .*, which (lies|may lie) outside"):
        repository_in([inside.path], "held")
    assert main(["serve", "--repo", str(held), "--port", "0"]) == 2
    assert re.search("lies? outside", capsys.readouterr().err)
    if lead is not included:
        assert repository_in([inside.path, outside.path], "held") == held.resolve()


def test_links_that_stay_inside_and_hooks_are_nothing_to_refuse(inside, outside, held):
    linked("hooks")(held, outside.path)
    linked("objects/pack")(held, inside.path / ".git")
    (held / "loop").symlink_to("objects")
    assert repository_in([inside.path], "held") == held.resolve()
