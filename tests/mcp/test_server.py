"""The server, asked by the SDK's own client in memory, in the ways of old and new clients."""

import json
import re

import anyio
import pytest
from jsonschema import Draft202012Validator
from mcp import Client
from mcp_types import CreateMessageResult, ErrorData, ListRootsResult, Root, TextContent

from tests import stand_ins
from tosloc.mcp.server import Settings, create_server

REPORT = "Cart.add forgets an item that is equal to another one"
MODES = pytest.mark.parametrize("mode", [pytest.param("legacy", marks=pytest.mark.slow), "auto"])
MAX_DESCRIPTION_CHARACTERS = 3_150
"""Characters that both tools cost an agent before it asks anything."""


SILENT = "silent"
"""The roots of a client that never names them, although it says that it can."""


def run_client(work, *, roots=None, mode="auto", allowed=(), model=None, **settings):
    """Return what ``work(client)`` returns.

    The client names ``roots``, or None if it cannot, and lends a language model that is a function.
    """

    async def list_roots(_):
        if roots is SILENT:
            await anyio.sleep_forever()
        return ListRootsResult(roots=[Root(uri=path.as_uri()) for path in roots])

    async def run():
        server = create_server(Settings(allowed, **settings))
        callback = None if roots is None else list_roots
        with anyio.fail_after(120):
            async with Client(
                server, mode=mode, list_roots_callback=callback, sampling_callback=model
            ) as client:
                return await work(client)

    return anyio.run(run)


def call(name, arguments, **options):
    return run_client(lambda client: client.call_tool(name, arguments), **options)


def localize(report, **options):
    return call("localize_bug", {"report": report}, **options)


def text_of(result):
    [block] = result.content
    return block.text


def error_text(arguments, **options):
    """Return the message about arguments that are at fault."""
    result = call("localize_bug", {"report": REPORT, **arguments}, **options)
    assert result.is_error
    return text_of(result)


@pytest.fixture(scope="module")
def tools(shop):
    """Return the tools that the server lists."""

    async def list_tools(client):
        return (await client.list_tools()).tools

    return run_client(list_tools, roots=[shop])


def test_there_are_two_tools_that_change_nothing(tools):
    assert [tool.name for tool in tools] == ["localize_bug", "explain_file"]
    assert all(tool.annotations.read_only_hint for tool in tools)


def test_a_tool_lists_its_arguments(tools):
    arguments = "report repository commit paths tests top suspects good bad budget".split()
    assert list(tools[0].input_schema["properties"]) == arguments


def test_the_descriptions_of_the_tools_are_short(tools):
    descriptions = [
        tool.model_dump_json(exclude={"output_schema"}, exclude_none=True) for tool in tools
    ]
    assert sum(map(len, descriptions)) < MAX_DESCRIPTION_CHARACTERS


def test_descriptions_in_the_schema_are_one_line(tools):
    for schema in (tools[0].input_schema, tools[0].output_schema):
        descriptions = re.findall(r'"description": "((?:[^"\\]|\\.)*)"', json.dumps(schema))
        assert descriptions
        assert not [text for text in descriptions if "\\n" in text]


def test_structured_content_has_the_schema_of_both_tools(shop, tools):
    result = localize(REPORT, roots=[shop])
    for tool in tools:
        Draft202012Validator.check_schema(tool.output_schema)
        Draft202012Validator(tool.output_schema).validate(result.structured_content)


@MODES
def test_a_bug_is_localized_in_the_folder_that_the_client_names(shop, mode):
    result = localize(REPORT, roots=[shop], mode=mode)
    assert not result.is_error
    text = text_of(result)
    assert text.splitlines()[1].startswith("1. shop/cart.py (")
    assert "Cart.add:7-9" in text
    assert "   8:         if item not in self.items:" in text


def test_structured_content_has_files_and_their_background(shop):
    content = localize(REPORT, roots=[shop]).structured_content
    assert content["files"][0]["path"] == "shop/cart.py"
    assert "tests/test_cart.py" in content["background"][0]
    assert "tests/test_cart.py" not in str(content["files"])


def test_the_path_of_the_repository_is_not_shown(shop):
    assert str(shop) not in str(localize(REPORT, roots=[shop]))


def test_test_files_are_listed_if_they_are_asked_for(shop):
    result = call("localize_bug", {"report": REPORT, "tests": True}, roots=[shop])
    assert "tests/test_cart.py" in text_of(result)


def test_good_and_bad_commits_bound_the_suspects(shop):
    arguments = {"report": REPORT, "good": ["HEAD~1"]}
    content = call("localize_bug", arguments, roots=[shop]).structured_content
    assert content["statements"] == ["The cause is after HEAD~1, which worked: 1 commit"]


def test_a_frame_outside_of_the_function_hides_none_of_its_lines(shop):
    framed = f'{REPORT}\n\n  File "shop/cart.py", line 2, in top\n'  # Of another version.
    result = localize(framed, roots=[shop])
    assert "   8:         if item not in self.items:" in text_of(result)


def test_structured_content_can_be_left_out(shop):
    assert localize(REPORT, roots=[shop], structured=False).structured_content is None


def explain(shop, path):
    return call("explain_file", {"report": REPORT, "path": path}, roots=[shop])


def test_a_file_is_explained_with_its_rank(shop):
    result = explain(shop, str(shop / "shop/bill.py"))
    assert re.match(r"Searched 2 files of .*\n2\. shop/bill\.py \(", text_of(result))
    assert [file["rank"] for file in result.structured_content["files"]] == [2]


def test_a_test_file_is_ranked_among_all_files(shop):
    assert text_of(explain(shop, "./tests/test_cart.py")).startswith("Searched 3 files of ")


def test_an_unknown_file_is_an_error_with_a_suggestion(shop):
    result = explain(shop, "cart.py")
    assert result.is_error
    message = r"cart.py is not a source file of version \w{10}; did you mean shop/cart.py\?$"
    assert re.search(message, text_of(result))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"report": None}, "`report` must be text of at most 2,000,000 characters"),
        ({"top": 0}, "`top` must be a whole number from 1 to 50"),
        ({"budget": 100}, "`budget` must be a whole number from 300 to 20,000"),
        ({"tests": "maybe"}, "`tests` must be true or false"),
        ({"suspects": []}, "`suspects` must be true or false"),
        ({"paths": [1]}, "`paths` must be a list of texts, at most 100"),
        ({"repo": "/"}, "unknown argument 'repo', did you mean 'repository'?"),
        ({"include": []}, "unknown argument 'include', did you mean 'paths'?"),
        ({"topk": 3, "budget": 1}, "; unknown argument 'topk', did you mean 'top'?"),
        ({"limit": 3}, "unknown argument 'limit'; choose from report, repository, commit, paths,"),
        ({"report": "x" * 2_000_001}, "`report` must be text of at most 2,000,000 characters"),
    ],
)
def test_wrong_arguments_are_described_in_our_words(shop, arguments, message):
    text = error_text(arguments, roots=[shop])
    assert message in text
    assert len(text.splitlines()) == 1
    assert len(text) < 200


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"commit": "--output=x"}, "--output=x"),
        ({"good": ["v9"]}, "no commit 'v9'"),
        ({"good": ["HEAD"], "bad": "HEAD"}, "`good`: the good commit HEAD contains the bad"),
        ({"suspects": False, "bad": "HEAD"}, "`suspects`: good and bad commits bound the suspect"),
        ({"paths": ["*.rs"]}, "`paths`: '*.rs' matches none of the 3 source files"),
    ],
    ids=["option as commit", "unknown good commit", "good is bad", "contradiction", "no match"],
)
def test_arguments_that_fit_nothing_are_described_in_few_words(shop, arguments, message):
    text = error_text(arguments, roots=[shop])
    assert message in text
    assert "Error executing tool" not in text
    assert len(text) < 400


def test_empty_arguments_count_as_left_out(shop):
    arguments = {"report": REPORT, "commit": "", "bad": "", "repository": "", "paths": []}
    result = call("localize_bug", arguments, roots=[shop])
    assert text_of(result) == text_of(localize(REPORT, roots=[shop]))
    arguments = {"report": REPORT, "path": "shop/cart.py", "commit": ""}
    assert not call("explain_file", arguments, roots=[shop]).is_error


def test_a_missing_argument_is_named():
    result = call("explain_file", {"path": "a.py"})
    assert text_of(result).startswith("`report` is missing; it must be text of at most")


@pytest.mark.parametrize("server_has_roots", [False, True])
def test_a_repository_outside_the_roots_is_refused(shop, repository, server_has_roots):
    if server_has_roots:  # Its own roots count, and not those of the client.
        options = {"roots": [repository.path], "allowed": [shop]}
    else:
        options = {"roots": [shop]}
    assert "no git repository in" in error_text({"repository": str(repository.path)}, **options)


def test_without_roots_the_repository_around_the_folder_is_searched(shop, monkeypatch):
    monkeypatch.chdir(shop / "shop")
    assert not localize(REPORT).is_error


def test_without_roots_and_repository_the_message_names_the_option(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "start it with --root" in error_text({})


@pytest.fixture
def little_time(monkeypatch):
    """Let the server wait only a moment for the folders of a client."""
    monkeypatch.setattr("tosloc.mcp.server._SECONDS_FOR_ROOTS", 0.1)


@pytest.mark.usefixtures("little_time")
def test_client_that_never_names_its_roots_counts_as_one_without(shop, monkeypatch, capsys):
    monkeypatch.chdir(shop / "shop")
    assert not localize(REPORT, roots=SILENT, mode="legacy").is_error
    note = "tosloc: the client did not name its folders in 0.1 seconds"
    assert capsys.readouterr().err.startswith(note)


@pytest.mark.usefixtures("little_time")
def test_silent_client_without_a_repository_is_an_error(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "start it with --root" in error_text({}, roots=SILENT, mode="legacy")


@pytest.fixture
def begun(tmp_path, monkeypatch):
    """Return the path of a file that exists once a question of ``tests.stand_ins`` has begun."""
    monkeypatch.setattr("tosloc.mcp.server.answer_call", stand_ins.misbehaving_answer)
    monkeypatch.setenv(stand_ins.BEGUN_FILE, str(tmp_path / "begun"))
    return tmp_path / "begun"


@MODES
def test_a_cancelled_question_blocks_no_other(shop, begun, mode):
    async def work(client):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.call_tool, "localize_bug", {"report": "seized"})
            while not begun.exists():
                await anyio.sleep(0.02)
            tasks.cancel_scope.cancel()
        return await client.call_tool("localize_bug", {"report": REPORT})

    assert not run_client(work, roots=[shop], mode=mode).is_error
    assert stand_ins.list_workers() == []


def test_a_report_that_cannot_be_read_in_time_fails_alone(shop, monkeypatch):
    async def work(client):
        with monkeypatch.context() as patch:
            patch.setattr("tosloc.localize.session.read_whole", stand_ins.read_forever)
            patch.setattr("tosloc.localize.session.SECONDS_TO_READ", 1)
            late = await client.call_tool("localize_bug", {"report": REPORT})
        return late, await client.call_tool("localize_bug", {"report": REPORT})

    late, next_one = run_client(work, roots=[shop])
    assert late.is_error
    message = "this report could not be read in 1 seconds; shorten it to what goes wrong"
    assert message in text_of(late)
    assert not next_one.is_error


@pytest.mark.usefixtures("begun")
def test_progress_is_reported(shop, monkeypatch):
    monkeypatch.setattr("tosloc.mcp.server._SECONDS_BETWEEN_REPORTS", 0.0)
    messages = []

    async def note(progress, total, message):
        messages.append(message)

    async def work(client):
        arguments = {"report": REPORT}
        return await client.call_tool("localize_bug", arguments, progress_callback=note)

    assert not run_client(work, roots=[shop], mode="legacy").is_error
    assert "facts: 3 of 7" in messages


@pytest.mark.usefixtures("begun")
def test_a_failed_question_does_not_end_the_server(shop):
    async def work(client):
        results = []
        for report in ("dies", "a mistake", REPORT):
            results.append(await client.call_tool("localize_bug", {"report": report}))
        return results

    died, mistaken, answered = run_client(work, roots=[shop], mode="legacy")
    assert died.is_error
    assert "a worker process was killed" in text_of(died)
    assert mistaken.is_error
    assert "/secret" not in text_of(mistaken)
    assert not answered.is_error


def test_a_path_that_is_not_utf8_is_escaped(repository):
    repository.commit({b"caf\xe9.py": "class Cart:\n    def add(self): pass\n"})
    result = localize(REPORT, roots=[repository.path])
    assert "caf\\xe9.py" in text_of(result)
    values = json.loads(result.model_dump_json())
    assert values["structured_content"]["files"][0]["path"] == "caf\\xe9.py"


class ClientModel:
    """A language model that a client lends; it writes the same answer each time."""

    def __init__(self, text):
        self.text = text
        self.questions = []

    async def __call__(self, context, params):
        self.questions.append(params)
        content = TextContent(type="text", text=self.text)
        return CreateMessageResult(role="assistant", content=content, model="lent")


def files_of(result):
    """Return the paths that an answer lists."""
    return [file["path"] for file in result.structured_content["files"]]


@MODES
def test_model_of_the_client_orders_the_files(shop, mode):
    own = files_of(localize(REPORT, roots=[shop]))
    model = ClientModel(json.dumps({"order": [own[-1]]}))
    result = localize(REPORT, roots=[shop], sampling=True, model=model, mode=mode)
    assert files_of(result)[0] == own[-1]
    assert "the client's language model lent chose 1 file of" in text_of(result)


def test_model_of_the_client_reads_report_and_code_once(shop):
    model = ClientModel('{"order": [1]}')
    localize(REPORT, roots=[shop], sampling=True, model=model)
    [question] = model.questions
    [message] = question.messages
    assert REPORT in message.content.text
    assert "class Cart" in message.content.text
    assert "order" in question.system_prompt


def test_model_of_the_client_is_not_asked_without_the_setting(shop):
    model = ClientModel('{"order": [1]}')
    localize(REPORT, roots=[shop], model=model)
    assert model.questions == []


def test_client_without_a_model_gets_the_usual_answer(shop):
    own = files_of(localize(REPORT, roots=[shop]))
    assert files_of(localize(REPORT, roots=[shop], sampling=True)) == own


def test_unusable_answer_of_the_client_model_changes_nothing(shop):
    own = files_of(localize(REPORT, roots=[shop]))
    result = localize(REPORT, roots=[shop], sampling=True, model=ClientModel("I cannot help."))
    assert files_of(result) == own
    assert "the client's language model lent gave no usable answer" in text_of(result)


def test_wrong_argument_is_an_error_before_the_model_is_asked(shop):
    model = ClientModel('{"order": [1]}')
    text = error_text({"commit": "no-such"}, roots=[shop], sampling=True, model=model)
    assert "no-such" in text
    assert model.questions == []


def test_client_model_that_is_refused_leaves_the_usual_answer(shop):
    async def refuse(context, params):
        return ErrorData(code=-1, message="User rejected sampling request")

    own = files_of(localize(REPORT, roots=[shop]))
    result = localize(REPORT, roots=[shop], sampling=True, model=refuse, mode="legacy")
    assert files_of(result) == own


def test_client_model_that_never_answers_leaves_the_usual_answer(shop, monkeypatch, capsys):
    async def never_answer(context, params):
        await anyio.sleep_forever()

    monkeypatch.setattr("tosloc.mcp.server._SECONDS_FOR_MODEL", 0.1)
    own = files_of(localize(REPORT, roots=[shop]))
    result = localize(REPORT, roots=[shop], sampling=True, model=never_answer, mode="legacy")
    assert files_of(result) == own
    note = "tosloc: the client's language model did not answer in 0.1 seconds"
    assert capsys.readouterr().err.startswith(note)


def test_contradictory_arguments_are_an_error_before_the_model_is_asked(shop):
    model = ClientModel('{"order": [1]}')
    arguments = {"suspects": False, "good": ["HEAD"]}
    text = error_text(arguments, roots=[shop], sampling=True, model=model)
    assert text.startswith("`suspects`: good and bad commits bound the suspect changes")
    assert model.questions == []


def test_answer_says_what_the_client_model_says_of_a_file(shop):
    pointed = {"file": 1, "name": "add", "line": 1, "why": "A set drops equal items."}
    model = ClientModel(json.dumps({"order": [1], "functions": [pointed]}))
    result = localize(REPORT, roots=[shop], sampling=True, model=model)
    assert "A set drops equal items." in text_of(result)
