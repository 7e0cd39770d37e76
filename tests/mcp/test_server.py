"""The server, asked by the SDK's own client: in memory, in the manner of old and of new clients."""

import json
import re

import anyio
import pytest
from jsonschema import Draft202012Validator
from mcp import Client
from mcp_types import ListRootsResult, Root

from tests import stuck
from tosloc.mcp.server import Settings, server

REPORT = "Cart.add forgets an item that is equal to another one"
MODES = pytest.mark.parametrize("mode", [pytest.param("legacy", marks=pytest.mark.slow), "auto"])


def asked(work, *, roots=None, mode="auto", allowed=(), **settings):
    """What ``work(client)`` returns with a client that names roots, or cannot."""

    async def named(_):
        return ListRootsResult(roots=[Root(uri=path.as_uri()) for path in roots])

    async def run():
        callback = None if roots is None else named
        with anyio.fail_after(120):
            async with Client(
                server(Settings(allowed, **settings)), mode=mode, list_roots_callback=callback
            ) as client:
                return await work(client)

    return anyio.run(run)


def call(name, arguments, **more):
    return asked(lambda client: client.call_tool(name, arguments), **more)


def text_of(result):
    [block] = result.content
    return block.text


def refused(arguments, **more):
    """What is said of arguments that are at fault."""
    result = call("localize_bug", {"report": REPORT, **arguments}, **more)
    assert result.is_error
    return text_of(result)


def test_two_tools_that_change_nothing_and_their_schemas(shop):
    async def work(client):
        return (await client.list_tools()).tools, await client.call_tool(
            "localize_bug", {"report": REPORT}
        )

    tools, result = asked(work, roots=[shop])
    assert [tool.name for tool in tools] == ["localize_bug", "explain_file"]
    assert all(tool.annotations.read_only_hint for tool in tools)
    arguments = "report repository commit paths tests top budget".split()
    assert list(tools[0].input_schema["properties"]) == arguments
    assert (
        sum(
            len(tool.model_dump_json(exclude={"output_schema"}, exclude_none=True))
            for tool in tools
        )
        < 2_700
    )
    for tool in tools:
        Draft202012Validator.check_schema(tool.output_schema)
        Draft202012Validator(tool.output_schema).validate(result.structured_content)


@MODES
def test_a_bug_is_localized_in_the_folder_that_the_client_names(shop, mode):
    result = call("localize_bug", {"report": REPORT}, roots=[shop], mode=mode)
    assert not result.is_error
    assert text_of(result).splitlines()[1].startswith("1. shop/cart.py (")
    assert "Cart.add:7-9" in text_of(result)
    assert "   8:         if item not in self.items:" in text_of(result)
    assert result.structured_content["files"][0]["path"] == "shop/cart.py"
    assert result.structured_content["background"][0] == "tests of it: tests/test_cart.py"
    assert "tests/test_cart.py" not in str(result.structured_content["files"])
    assert str(shop) not in str(result)


def test_what_is_asked_for_is_kept_to(shop):
    framed = f'{REPORT}\n\n  File "shop/cart.py", line 2, in top\n'  # of another version
    result = call("localize_bug", {"report": framed, "tests": True}, roots=[shop], structured=False)
    assert "tests/test_cart.py" in text_of(result)
    assert "   8:         if item not in self.items:" in text_of(result)
    assert result.structured_content is None


def test_a_file_is_explained_at_its_place(shop):
    result = call(
        "explain_file", {"report": REPORT, "path": str(shop / "shop/bill.py")}, roots=[shop]
    )
    assert re.match(r"2 files of .*\n2\. shop/bill\.py \(", text_of(result))
    assert [file["rank"] for file in result.structured_content["files"]] == [2]
    test = call("explain_file", {"report": REPORT, "path": "./tests/test_cart.py"}, roots=[shop])
    assert text_of(test).startswith("3 files of ")
    wrong = call("explain_file", {"report": REPORT, "path": "cart.py"}, roots=[shop])
    assert wrong.is_error
    assert re.search(
        r"cart.py is no source file of version \w{10}; did you mean shop/cart.py\?$", text_of(wrong)
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"report": None}, "report\n  Input should be a valid string"),
        ({"top": 0}, "top\n  Input should be greater than or equal to 1"),
        ({"repo": "/"}, "repo\n  Extra inputs are not permitted"),
        ({"commit": "--output=x"}, "--output=x"),
        ({"paths": ["*.rs"]}, "`paths`: '*.rs' matches none of the 3 source files"),
        ({"report": "x" * 2_000_001}, "report\n  String should have at most 2000000 characters"),
    ],
)
def test_what_is_wrong_with_arguments_is_said_in_short(shop, arguments, said):
    text = refused(arguments, roots=[shop])
    assert said in text
    assert len(text) < 400


def test_roots_are_the_servers_own_else_the_clients_else_the_repository_around_the_folder(
    shop, repository, tmp_path, monkeypatch
):
    monkeypatch.chdir(repository.path)
    for more in ({"roots": [shop]}, {"roots": [repository.path], "allowed": [shop]}):
        assert "no git repository in" in refused({"repository": str(repository.path)}, **more)
    monkeypatch.chdir(shop / "shop")
    assert not call("localize_bug", {"report": REPORT}).is_error
    monkeypatch.chdir(tmp_path)
    assert "start it with --root" in refused({})


@pytest.fixture
def begun(tmp_path, monkeypatch):
    """The file that tells that a question of ``tests.stuck`` has begun."""
    monkeypatch.setattr("tosloc.mcp.server.answer", stuck.agents_answer)
    monkeypatch.setenv(stuck.BEGUN, str(tmp_path / "begun"))
    return tmp_path / "begun"


@MODES
def test_a_cancelled_question_blocks_no_other_whatever_it_does(shop, begun, mode):
    async def work(client):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.call_tool, "localize_bug", {"report": "seized"})
            while not begun.exists():
                await anyio.sleep(0.02)
            tasks.cancel_scope.cancel()
        return await client.call_tool("localize_bug", {"report": REPORT})

    assert not asked(work, roots=[shop], mode=mode).is_error
    assert stuck.workers() == []


def test_a_report_that_cannot_be_read_in_time_fails_alone(shop, monkeypatch):
    async def work(client):
        with monkeypatch.context() as patch:
            patch.setattr("tosloc.localize.session.read_whole", stuck.read_for_ever)
            patch.setattr("tosloc.localize.session.SECONDS_TO_READ", 1)
            late = await client.call_tool("localize_bug", {"report": REPORT})
        return late, await client.call_tool("localize_bug", {"report": REPORT})

    late, answered = asked(work, roots=[shop])
    assert late.is_error
    assert "this report could not be read in 1 seconds; shorten it to what goes wrong" in text_of(
        late
    )
    assert not answered.is_error


def test_a_long_work_says_how_far_it_is_and_no_failure_ends_the_server(shop, begun, monkeypatch):
    monkeypatch.setattr("tosloc.mcp.server._REPORT_EVERY", 0.0)
    told = []

    async def heard(progress, total, message):
        told.append(message)

    async def work(client):
        failed = [
            await client.call_tool("localize_bug", {"report": words})
            for words in ("dies", "a mistake")
        ]
        return [
            *failed,
            await client.call_tool("localize_bug", {"report": REPORT}, progress_callback=heard),
        ]

    died, mistaken, answered = asked(work, roots=[shop], mode="legacy")
    assert "a worker process was killed" in text_of(died)
    assert (died.is_error, mistaken.is_error, answered.is_error) == (True, True, False)
    assert "/secret" not in text_of(mistaken)
    assert "facts: 3 of 7" in told


def test_a_path_that_is_no_text_does_not_silence_the_answer(repository):
    repository.commit({b"caf\xe9.py": "class Cart:\n    def add(self): pass\n"})
    result = call("localize_bug", {"report": REPORT}, roots=[repository.path])
    assert "caf\\xe9.py" in text_of(result)
    assert (
        json.loads(result.model_dump_json())["structured_content"]["files"][0]["path"]
        == "caf\\xe9.py"
    )
