"""Which repositories a client may ask of: those under its folders, whatever links say."""

import os
import re
import subprocess

import pytest

from tosloc.cli import main
from tosloc.core.errors import RepositoryError
from tosloc.mcp.answers import repository_in


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
    for root, named in (
        (own, None),
        (above, None),
        (own, f"{own}/src"),
        (above, "inside"),
        (above, "inside/src"),
    ):
        assert repository_in([root], named) == own


def test_of_several_one_is_named_and_some_folders_are_not_looked_into(tmp_path, inside, outside):
    for name in (
        "roots/.hidden/x",
        "roots/node_modules/x",
        "roots/inside/inner",
        "roots/1/2/3/too-deep",
    ):
        (tmp_path / name / ".git").mkdir(parents=True)
    assert repository_in([tmp_path / "roots"]) == inside.path.resolve()
    said = "^there are several repositories; name one in `repository`: "
    for roots in ([tmp_path], [inside.path, outside.path]):
        with pytest.raises(RepositoryError, match=f"{said}{outside.path}, {inside.path}$"):
            repository_in(roots)


@pytest.mark.parametrize(
    "named",
    [
        "/outside",
        "../../outside",
        "../../nowhere",
        "~nobody/x",
        "a\0b",
        "link",
        "plain",
        "/outside/none",
        None,
    ],
)
def test_what_lies_outside_is_refused_in_the_same_words_as_what_does_not_exist(
    tmp_path, inside, outside, named
):
    root = tmp_path / "out"
    (root / "plain").mkdir(parents=True)
    (root / "link").symlink_to(outside.path)  # links are followed before they are judged
    named = f"{tmp_path}{named}" if named and named.startswith("/") else named
    with pytest.raises(RepositoryError) as raised:
        repository_in([root], named)
    said = f"no git repository in {root}, where this server may look; give its folder to the client, or start"
    assert str(raised.value).removeprefix(f"{named}: ").startswith(said)


def test_a_root_may_be_a_link_or_a_linked_work_tree_and_opens_nothing_above_it(
    tmp_path, inside, outside
):
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
        repository_in([borrowed.parent])


def shell(bare, private, script):
    subprocess.run(
        ["sh", "-ec", script], cwd=bare, env={**os.environ, "PRIVATE": str(private)}, check=True
    )


@pytest.mark.parametrize(
    "lead",
    [
        "echo $PRIVATE >commondir; echo $PWD/.git >gitdir",  # as a linked work tree has it
        "mkdir -p ../b/info; echo $PRIVATE/objects >../b/info/alternates; echo ../../b >objects/info/alternates",
        "mv objects ../b; ln -s ../b objects; rm -r ../b/pack; ln -s $PRIVATE/objects/pack ../b/pack",
        "rm -r objects; ln -s $PRIVATE/objects objects",
        "mkdir -p objects/ab; ln -s $PRIVATE/objects/ab/cd objects/ab/cd",
        "ln -s $PRIVATE/refs/heads/main refs/heads/main",
        "ln -s $PRIVATE/packed-refs packed-refs",
        "ln -sf $PRIVATE/config config",
        "ln -s $PRIVATE/config objects/info/alternates",
        "echo [IncludeIf '\"gitdir:/\"'] Path = $PRIVATE/config >>config",
    ],
)
def test_all_that_git_reads_has_to_lie_under_the_roots(inside, outside, held, lead, capsys):
    assert repository_in([inside.path], "held") == held.resolve()
    shell(held, (outside.path / ".git").resolve(), lead)
    with pytest.raises(RepositoryError, match=r"git would read .*, which (lies|may lie) outside"):
        repository_in([inside.path], "held")
    assert main(["serve", "--repo", str(held), "--port", "0"]) == 2
    assert re.search("lies? outside", capsys.readouterr().err)
    if "Include" not in lead:
        assert repository_in([inside.path, outside.path], "held") == held.resolve()


def test_links_that_stay_inside_and_hooks_are_nothing_to_refuse(inside, outside, held):
    shell(
        held,
        outside.path,
        "rm -r hooks objects/pack; ln -s $PRIVATE hooks; ln -s ../../.git objects/pack; ln -s objects a",
    )
    assert repository_in([inside.path], "held") == held.resolve()
