"""The server, asked by the SDK's own client: in memory, in the manner of old and of new clients."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest
from jsonschema import Draft202012Validator
from mcp import Client
from mcp_types import CallToolResult, ListRootsResult, Root

from tests import stuck
from tests.conftest import GitRepository
from tosloc.mcp.server import Settings, server

REPORT = "Cart.add forgets an item that is equal to another one"
MODES = [pytest.param("legacy", marks=pytest.mark.slow), "auto"]


def asked(
    work: Callable[[Client], Awaitable[Any]],
    *,
    roots: list[Path] | None = None,
    mode: str = "auto",
    allowed: Sequence[Path] = (),
    **settings: Any,
) -> Any:
    """What ``work`` returns with a client that names roots, or cannot."""

    async def named(_: Any) -> ListRootsResult:
        return ListRootsResult(roots=[Root(uri=path.as_uri()) for path in roots or ()])

    async def run() -> Any:
        callback = None if roots is None else named
        with anyio.fail_after(120):
            async with Client(
                server(Settings(tuple(allowed), **settings)), mode=mode, list_roots_callback=callback
            ) as client:
                return await work(client)

    return anyio.run(run)


def call(name: str, arguments: dict[str, Any], **more: Any) -> CallToolResult:
    async def work(client: Client) -> CallToolResult:
        return await client.call_tool(name, arguments)

    return asked(work, **more)


def text_of(result: CallToolResult) -> str:
    [block] = result.content
    assert block.type == "text"
    return block.text


def test_two_tools_that_change_nothing() -> None:
    async def work(client: Client) -> Any:
        return (await client.list_tools()).tools

    tools = asked(work)
    assert [tool.name for tool in tools] == ["localize_bug", "explain_file"]
    assert all(tool.annotations.read_only_hint for tool in tools)
    assert list(tools[0].input_schema["properties"]) == [
        *("report", "repository", "commit", "paths", "tests", "top", "budget"),
    ]
    assert sum(len(tool.model_dump_json(exclude={"output_schema"}, exclude_none=True)) for tool in tools) < 2_700


@pytest.mark.parametrize("mode", MODES)
def test_a_bug_is_localized_in_the_folder_that_the_client_names(shop: Path, mode: str) -> None:
    result = call("localize_bug", {"report": REPORT}, roots=[shop], mode=mode)
    assert not result.is_error
    assert text_of(result).splitlines()[1].startswith("1. shop/cart.py (")
    assert "Cart.add:7-9" in text_of(result)
    assert "   8:         if item not in self.items:" in text_of(result)
    assert result.structured_content["files"][0]["path"] == "shop/cart.py"
    assert result.structured_content["background"][0] == "tests of it: tests/test_cart.py"
    assert "tests/test_cart.py" not in str(result.structured_content["files"])
    assert str(shop) not in str(result)
    with_tests = call("localize_bug", {"report": REPORT, "tests": True}, roots=[shop], mode=mode)
    assert "tests/test_cart.py" in text_of(with_tests)


def test_both_forms_stay_within_every_budget_and_are_as_the_schema_says(shop: Path) -> None:
    budgets = [300, 400, 600, 1500]

    async def work(client: Client) -> Any:
        [tool, other] = (await client.list_tools()).tools
        answers = [await client.call_tool("localize_bug", {"report": REPORT, "budget": budget}) for budget in budgets]
        return tool.output_schema, other.output_schema, answers

    schema, other, answers = asked(work, roots=[shop])
    assert schema == other
    Draft202012Validator.check_schema(schema)
    for budget, result in zip(budgets, answers, strict=True):
        Draft202012Validator(schema).validate(result.structured_content)
        assert len(text_of(result)) <= budget
        assert len(json.dumps(result.structured_content)) <= budget
        assert "shop/cart.py" in text_of(result)
    assert ["source" in result.structured_content["files"][0] for result in answers] == [False, False, False, True]

    async def bare(client: Client) -> Any:
        [tool, _] = (await client.list_tools()).tools
        return tool.output_schema, (await client.call_tool("localize_bug", {"report": REPORT})).structured_content

    assert asked(bare, roots=[shop], structured=False) == (None, None)


def test_of_several_repositories_below_a_root_the_agent_chooses_one(shop: Path, tmp_path: Path) -> None:
    root = tmp_path / "root"
    shutil.copytree(shop, root / "shop")

    def said(**more: str) -> str:
        return text_of(call("localize_bug", {"report": REPORT, **more}, allowed=[root]))

    assert "1. shop/cart.py" in said()  # the only one
    for name in ("a/b/deep", "a/.hidden/x", "node_modules/x", "shop/inner", "1/2/3/too-deep"):
        (root / name / ".git").mkdir(parents=True)
    assert said() == "there are several repositories; name one in `repository`: a/b/deep, shop"
    assert "1. shop/cart.py" in said(repository="shop")
    for number in range(30):
        (root / f"many/{number:02}/.git").mkdir(parents=True)
    assert said().endswith("many/18 and 12 more")


def test_a_file_is_explained_at_its_place(shop: Path) -> None:
    result = call("explain_file", {"report": REPORT, "path": str(shop / "shop/bill.py")}, roots=[shop])
    assert text_of(result).splitlines()[0].startswith("2 files of ")
    assert text_of(result).splitlines()[1].startswith("2. shop/bill.py (")
    assert [file["rank"] for file in result.structured_content["files"]] == [2]
    test = call("explain_file", {"report": REPORT, "path": "tests/test_cart.py"}, roots=[shop])
    assert text_of(test).startswith("3 files of ")
    wrong = call("explain_file", {"report": REPORT, "path": "cart.py"}, roots=[shop])
    assert wrong.is_error
    assert re.fullmatch(r"cart.py is no source file of version \w{10}; did you mean shop/cart.py\?", text_of(wrong))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "localize_bug: report: Field required"),
        ({"report": "x", "top": 0}, "localize_bug: top: Input should be greater than or equal to 1"),
        ({"report": "x", "repo": "/"}, "localize_bug has no argument 'repo'; it takes report, repository, commit"),
        ({"report": REPORT, "commit": "--output=x"}, "--output=x"),
        ({"report": REPORT, "paths": ["*.rs"]}, "`paths` '*.rs' matches none of the 3 source files"),
        ({"report": "x" * 2_000_001}, "report: String should have at most 2000000 characters"),
    ],
)
def test_wrong_arguments_are_one_sentence(shop: Path, arguments: dict[str, Any], said: str) -> None:
    result = call("localize_bug", arguments, roots=[shop])
    assert result.is_error
    assert said in text_of(result)
    assert "\n" not in text_of(result)
    assert len(text_of(result)) < 400
    assert "pydantic" not in text_of(result)


@pytest.mark.parametrize("mode", MODES)
def test_a_repository_outside_the_roots_is_refused(shop: Path, repository: GitRepository, mode: str) -> None:
    arguments = {"report": REPORT, "repository": str(repository.path)}
    for result in (
        call("localize_bug", arguments, mode=mode, roots=[shop]),
        call("localize_bug", arguments, mode=mode, roots=[repository.path], allowed=[shop]),
    ):
        assert result.is_error
        assert "not a folder in" in text_of(result)


def test_without_roots_it_is_the_repository_around_the_folder(
    shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(shop / "shop")
    assert not call("localize_bug", {"report": REPORT}).is_error
    monkeypatch.chdir(tmp_path)
    result = call("localize_bug", {"report": REPORT})
    assert result.is_error
    assert "start it with --root" in text_of(result)


@pytest.fixture
def begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that tells that a question of ``tests.stuck`` has begun."""
    monkeypatch.setattr("tosloc.mcp.repositories.answer", stuck.agents_answer)
    monkeypatch.setenv(stuck.BEGUN, str(tmp_path / "begun"))
    return tmp_path / "begun"


@pytest.mark.parametrize(
    ("mode", "how"), [("legacy", "seized"), pytest.param("auto", "asleep", marks=pytest.mark.slow)]
)
def test_a_cancelled_question_blocks_no_other_whatever_it_does(shop: Path, begun: Path, mode: str, how: str) -> None:
    async def work(client: Client) -> CallToolResult:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.call_tool, "localize_bug", {"report": how})
            while not begun.exists():
                await anyio.sleep(0.02)
            tasks.cancel_scope.cancel()
        return await client.call_tool("localize_bug", {"report": REPORT})

    assert not asked(work, roots=[shop], mode=mode).is_error
    assert stuck.workers() == []


def test_a_long_work_says_how_far_it_is_and_no_failure_ends_the_server(
    shop: Path, begun: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tosloc.mcp.server._TOLD_EVERY", 0.0)
    told: list[str | None] = []

    async def heard(progress: float, total: float | None, message: str | None) -> None:
        told.append(message)

    async def work(client: Client) -> list[CallToolResult]:
        failed = [await client.call_tool("localize_bug", {"report": words}) for words in ("dies", "a mistake")]
        return [*failed, await client.call_tool("localize_bug", {"report": REPORT}, progress_callback=heard)]

    died, mistaken, answered = asked(work, roots=[shop], mode="legacy")
    assert text_of(died).startswith("a process died of this")
    assert (died.is_error, mistaken.is_error, answered.is_error) == (True, True, False)
    assert "/secret" not in text_of(mistaken)
    assert "facts: 3 of 7" in told


def test_a_path_that_is_no_text_does_not_silence_the_answer(repository: GitRepository) -> None:
    repository.commit({b"caf\xe9.py": "class Cart:\n    def add(self): pass\n"})
    result = call("localize_bug", {"report": REPORT}, roots=[repository.path])
    assert "caf\\xe9.py" in text_of(result)
    assert json.loads(result.model_dump_json())["structured_content"]["files"][0]["path"] == "caf\\xe9.py"
