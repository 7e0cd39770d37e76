"""Which repositories a client may ask: those under its folders, whatever links say."""

import os
import re
import subprocess

import pytest

from tosloc.cli import main
from tosloc.core.errors import RepositoryError
from tosloc.mcp.answers import choose_repository


@pytest.fixture
def inside(make_repository):
    """Create a repository below the folder that is the root."""
    return make_repository("roots/inside")


@pytest.fixture
def outside(make_repository):
    """Create a repository outside of the root."""
    repository = make_repository("outside")
    repository.commit({"src/Door.java": "class Door { void open() { } }"}, "Begin")
    return repository


@pytest.fixture
def bare(inside):
    """Create a bare repository in the work tree of another; it may contain any file."""
    inside.git("init", "-q", "--bare", str(inside.path / "bare"))
    return inside.path / "bare"


@pytest.mark.parametrize(
    ("root", "path"),
    [
        ("{inside}", None),
        ("{above}", None),
        ("{inside}", "{inside}/src"),
        ("{above}", "inside"),
        ("{above}", "inside/src"),
    ],
    ids=["root", "below the root", "absolute path", "relative path", "deeper path"],
)
def test_a_repository_is_found_by_a_path_or_as_the_only_one(inside, root, path):
    (inside.path / "src").mkdir()
    names = {"inside": inside.path.resolve(), "above": inside.path.parent}
    root = type(inside.path)(root.format(**names))
    path = path and path.format(**names)
    assert choose_repository([root], path) == inside.path.resolve()


def test_hidden_deep_and_nested_folders_are_not_searched(tmp_path, inside):
    for name in (
        "roots/.hidden/x",
        "roots/node_modules/x",
        "roots/inside/inner",
        "roots/1/2/3/too-deep",
    ):
        (tmp_path / name / ".git").mkdir(parents=True)
    assert choose_repository([tmp_path / "roots"]) == inside.path.resolve()


@pytest.mark.parametrize("roots", [["."], ["roots/inside", "outside"]], ids=["one", "two"])
def test_several_repositories_are_listed(tmp_path, inside, outside, roots):
    message = "^there are several repositories; name one in `repository`: "
    with pytest.raises(RepositoryError, match=f"{message}{outside.path}, {inside.path}$"):
        choose_repository([tmp_path / root for root in roots])


@pytest.mark.usefixtures("inside")
@pytest.mark.parametrize(
    "path",
    [
        "{tmp_path}/outside",
        "../../outside",
        "../../nowhere",
        "~nobody/x",
        "a\0b",
        "link",
        "plain",
        "{tmp_path}/outside/none",
        None,
    ],
)
def test_a_path_outside_is_refused_in_the_same_words_as_a_missing_one(tmp_path, outside, path):
    root = tmp_path / "out"
    (root / "plain").mkdir(parents=True)
    (root / "link").symlink_to(outside.path)  # Links are resolved before they are judged.
    path = path and path.format(tmp_path=tmp_path)
    with pytest.raises(RepositoryError) as raised:
        choose_repository([root], path)
    assert (
        str(raised.value)
        .removeprefix(f"{path}: ")
        .startswith(
            f"there is no git repository in {root}, where this server may search;"
            " open its folder in the client, or start"
        )
    )


def test_a_root_may_be_a_link(tmp_path, inside):
    (tmp_path / "to-roots").symlink_to(inside.path.parent)
    assert choose_repository([tmp_path / "to-roots"], "inside") == inside.path.resolve()


def test_a_root_may_be_a_linked_work_tree(inside, outside):
    """Whoever owns the outer repository has made the work tree there."""
    linked = inside.path.parent / "linked"
    outside.git("worktree", "add", str(linked))
    assert choose_repository([linked]) == linked.resolve()


def test_a_root_opens_nothing_above_it(inside):
    with pytest.raises(RepositoryError, match="no git repository in"):
        choose_repository([inside.path / ".git/refs"], ".")


@pytest.mark.parametrize("how", ["file", "link"])
def test_a_git_directory_outside_is_refused(inside, outside, how):
    borrowed = inside.path.parent / "borrowed/.git"
    borrowed.parent.mkdir()
    git_directory = outside.path / ".git"
    if how == "file":
        borrowed.write_text(f"gitdir: {git_directory}\n")
    else:
        borrowed.symlink_to(git_directory)
    with pytest.raises(RepositoryError, match=r"git would read .*\.git, which is outside of"):
        choose_repository([borrowed.parent])


def run_shell(folder, private, script):
    """Run a script in a folder; ``$PRIVATE`` is a path outside of the root."""
    environment = {**os.environ, "PRIVATE": str(private)}
    subprocess.run(["sh", "-ec", script], cwd=folder, env=environment, check=True)


ESCAPES = {
    "linked work tree": "echo $PRIVATE >commondir; echo $PWD/.git >gitdir",
    "alternates of alternates": (
        "mkdir -p ../b/info; echo $PRIVATE/objects >../b/info/alternates;"
        " echo ../../b >objects/info/alternates"
    ),
    "pack behind two links": (
        "mv objects ../b; ln -s ../b objects; rm -r ../b/pack;"
        " ln -s $PRIVATE/objects/pack ../b/pack"
    ),
    "objects": "rm -r objects; ln -s $PRIVATE/objects objects",
    "object": "mkdir -p objects/ab; ln -s $PRIVATE/objects/ab/cd objects/ab/cd",
    "ref": "ln -s $PRIVATE/refs/heads/main refs/heads/main",
    "packed refs": "ln -s $PRIVATE/packed-refs packed-refs",
    "config": "ln -sf $PRIVATE/config config",
    "alternates": "ln -s $PRIVATE/config objects/info/alternates",
}
"""What leads git out of a bare repository -> a script that does it."""
INCLUDE = "echo [IncludeIf '\"gitdir:/\"'] Path = $PRIVATE/config >>config"


@pytest.mark.parametrize("script", [*ESCAPES.values(), INCLUDE], ids=[*ESCAPES, "include"])
def test_a_repository_that_leads_git_outside_is_refused(inside, outside, bare, script, capsys):
    assert choose_repository([inside.path], "bare") == bare.resolve()
    run_shell(bare, (outside.path / ".git").resolve(), script)
    with pytest.raises(
        RepositoryError, match=r"git would read .*, which (is outside of|may be elsewhere)"
    ):
        choose_repository([inside.path], "bare")
    assert main(["serve", "--repo", str(bare), "--port", "0"]) == 2
    assert re.search("outside of|elsewhere", capsys.readouterr().err)


@pytest.mark.parametrize("script", ESCAPES.values(), ids=ESCAPES)
def test_a_repository_may_lead_git_to_another_root(inside, outside, bare, script):
    run_shell(bare, (outside.path / ".git").resolve(), script)
    assert choose_repository([inside.path, outside.path], "bare") == bare.resolve()


def test_hooks_and_links_that_stay_inside_are_allowed(inside, outside, bare):
    run_shell(
        bare,
        outside.path,
        "rm -r hooks objects/pack; ln -s $PRIVATE hooks; ln -s ../../.git objects/pack;"
        " ln -s objects a",
    )
    assert choose_repository([inside.path], "bare") == bare.resolve()
