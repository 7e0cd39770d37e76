"""The action, step by step as the runner takes them, against a stub of the REST calls; strangers are hostile."""

import io
import json
import os
import re
import runpy
import subprocess
import sys
import tomllib
from contextlib import closing
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from urllib.error import HTTPError

import pytest
import yaml
from markdown_it import MarkdownIt
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from conftest import repository as shop_at
from tests.stubs import StubServer

FOLDER = Path(__file__).parents[2] / "action"
ACTION = SimpleNamespace(**runpy.run_path(str(FOLDER / "run.py")))
DESCRIBED = yaml.safe_load((FOLDER / "action.yml").read_text(encoding="utf-8"))
STEPS = DESCRIBED["runs"]["steps"]
PAGE = "https://github.com/o/r"
TITLE = "Cart.add forgets `$(touch pwned)` \"; touch pwned; '\n::set-output name=asked::x\r::add-mask::a %0A <img src=x>"
BODY = """The cart forgets an equal item. @everyone #1 closes #2
::error::pwned
$(touch pwned) `touch pwned` ${{ github.token }} && touch pwned
</details><script>alert(1)</script> <!-- tosloc:answer -->
EOF
asked=false
"""
HOSTILE = (
    "@maintainer ``` #12 closes #3 <img src=x onerror=alert(1)> [x](javascript:alert(1)) ``\n\n# big\n"
    "::warning::x | \u202e"
)
ISSUE = {
    "number": 7,
    "title": TITLE,
    "body": BODY,
    "created_at": "2030-01-01T00:00:00Z",
    "labels": [],
}
ISSUE |= {"user": {"login": "mallory", "type": "User"}}
LABELLED = {"action": "labeled", "label": {"name": "needs-localization"}, "issue": ISSUE}


def comment(number, author, body):
    return {"id": number, "user": {"login": author}, "body": body}


class GitHub(StubServer):
    """A server that has one issue and keeps its comments; it may refuse with a code."""

    def __init__(self):
        self.comments = []
        self.changes = []
        self.refuses = 0
        super().__init__(self.answer)

    def answer(self, method, path, headers, body):
        assert headers["Authorization"] == "Bearer secret-token"
        if self.refuses:
            return self.refuses, {}, {"Location": "http://elsewhere.invalid/"}
        asked, number = (
            f"{method} {path.removeprefix('/repos/o/r/issues')}",
            path.rpartition("=")[2],
        )
        if method != "GET":
            self.changes.append(asked)
        if asked == "POST /7/comments":
            self.comments.append(comment(len(self.comments), "github-actions[bot]", body["body"]))
        elif method == "PATCH":
            self.comments[int(asked.removeprefix("PATCH /comments/"))] |= body
        elif asked == f"GET /7/comments?per_page=100&page={number}":
            return 200, self.comments[100 * int(number) - 100 :][:100], {}
        else:
            assert asked == "GET /7"
        return 200, ISSUE, {}


@pytest.fixture
def stub(monkeypatch):
    with closing(GitHub()) as made:
        given = {
            "GITHUB_REPOSITORY": "o/r",
            "GITHUB_API_URL": made.url,
            "GITHUB_EVENT_NAME": "issues",
        }
        given |= {"INPUT_TOKEN": "secret-token", "INPUT_COMMENT_AUTHOR": "github-actions[bot]"}
        for name, value in (
            given | {"INPUT_LABEL": "needs-localization", "INPUT_ISSUE": "7"}
        ).items():
            monkeypatch.setenv(name, value)
        yield made


ANSWER = """{"commit": "0000000000000000000000000000000000000000", "searched": {"files": 3}, "notes": [],
  "report": {"summary": "s"}, "others": [{"path": "PATH"}], "hits": [
    {"rank": 1, "path": "PATH", "share": 0.5, "functions": [{"name": "Cart.add", "start": 7, "end": 9}],
     "why": [{"text": "WHY", "commit": "1111111111111111111111111111111111111111"}, {"text": "WHY"}]},
    {"rank": 2, "path": "PATH", "share": 0.001, "functions": [{"name": "Cart.add", "start": 7, "end": 9}],
     "why": [{"text": "WHY"}]}]}"""


def answer(why="words cart", path="shop/cart.py"):
    return json.loads(ANSWER.replace('"WHY"', json.dumps(why)).replace('"PATH"', json.dumps(path)))


@pytest.mark.parametrize(
    ("name", "changed", "said"),
    [
        ("issues", {}, None),
        ("issues", {"action": "opened", "issue": ISSUE | {"labels": [LABELLED["label"]]}}, None),
        ("workflow_dispatch", {}, None),
        ("issues", {"label": {"name": "bug"}}, "the label is not"),
        ("issues", {"issue": ISSUE | {"pull_request": {"url": "x"}}}, "a pull request"),
        ("issues", {"issue": ISSUE | {"user": {"login": "renovate", "type": "Bot"}}}, "a bot"),
        ("issues", {"issue": ISSUE | {"user": {"login": "x[bot]", "type": "User"}}}, "a bot"),
        ("issue_comment", {}, "events of issue_comment"),
    ],
)
def test_it_is_asked_by_its_label_or_by_hand_and_else_says_nothing(
    stub, monkeypatch, name, changed, said
):
    monkeypatch.setenv("GITHUB_EVENT_NAME", name)
    found = ACTION.asked_issue(LABELLED | changed)
    assert found["number"] == 7 if said is None else said in found


@pytest.mark.parametrize("wrong", ["", "0", "7/../8", "7\n8", "٧"])
def test_a_number_that_is_none_is_refused(stub, monkeypatch, wrong):
    monkeypatch.setenv("GITHUB_EVENT_NAME", "workflow_dispatch")
    monkeypatch.setenv("INPUT_ISSUE", wrong)
    with pytest.raises(ACTION.ActionError, match="a number"):
        ACTION.asked_issue({})


@pytest.mark.parametrize("text", [HOSTILE, TITLE, BODY, "", "a" * 9_000, "` `` ```"])
def test_what_strangers_write_stays_text(text):
    body = ACTION.body_of(answer(text, text or "a"), PAGE, 0.05)
    kinds, outside = set(), ""
    for block in MarkdownIt("gfm-like", {"linkify": False}).parse(body):
        kinds |= {block.type, *(token.type for token in block.children or ())}
        for token in block.children or ():
            outside += token.content if token.type == "text" else ""
            if token.type == "link_open":
                assert re.match(
                    f"{PAGE}/(blob/0{{40}}/|commit/(0{{40}}|1{{40}})$)", str(token.attrs["href"])
                )
        if block.type == "html_block":
            folded = "</details>\n|<details><summary>(1 less likely|Other files)</summary>\n"
            assert re.fullmatch(folded, block.content)
    allowed = "ordered_list bullet_list list_item paragraph link inline text code_inline softbreak html_block".split()
    assert {kind.removesuffix("_open").removesuffix("_close") for kind in kinds} <= {*allowed}
    assert re.fullmatch(r"[A-Za-z0-9 ,.:%]*", outside)
    assert body.count("\n") < 24
    assert len(body) < 40_000


def test_files_below_the_share_are_folded_and_have_a_path_alone():
    shown, _, folded = ACTION.body_of(answer(), PAGE, 0.05).partition("<details>")
    assert "shop/cart.py#L7-L9" in shown
    assert f"[`words cart`]({PAGE}/commit/" + "1" * 40 in shown
    assert f"2. [`shop/cart.py`]({PAGE}/blob/" + "0" * 40 in folded
    assert "shop/cart.py) below 1%\n\n</details>" in folded
    assert "Cart.add" not in folded
    assert f"<details><summary>Other files</summary>\n\n- [`shop/cart.py`]({PAGE}/blob/" in folded
    assert "less likely" not in ACTION.body_of(answer(), PAGE, 0.0)


def test_the_comment_is_written_once_and_edited_in_place(stub):
    foreign = f"{ACTION.MARKER} not ours"
    stub.comments = [comment(number, "someone", foreign) for number in range(150)]
    for text in ("one", "one", "two"):
        ACTION.write_comment(7, f"{ACTION.MARKER}{text}")
    assert [one["body"] for one in stub.comments] == [*[foreign] * 150, f"{ACTION.MARKER}two"]
    assert stub.changes == ["POST /7/comments", "PATCH /comments/150"]


@pytest.mark.parametrize(
    ("code", "said"), [(403, "permissions: issues: write"), (301, "301, moved"), (502, "502")]
)
def test_refusals_are_sentences_and_a_token_follows_no_redirect(stub, code, said):
    stub.refuses = code
    with pytest.raises(ACTION.ActionError, match=said):
        ACTION.write_comment(7, "x")


def test_an_answer_that_is_an_error_is_closed(monkeypatch):
    body = io.BytesIO(b"{}")

    error = HTTPError("https://example.org", 404, "Not Found", {}, body)

    def refuse(request, timeout):
        raise error

    for name in ("GITHUB_REPOSITORY", "GITHUB_API_URL", "INPUT_TOKEN"):
        monkeypatch.setenv(name, "https://example.org")
    opener = SimpleNamespace(open=refuse)
    monkeypatch.setitem(ACTION.call.__globals__, "build_opener", lambda handler: opener)
    with pytest.raises(ACTION.ActionError, match="404"):
        ACTION.call("GET", "/1")
    assert body.closed


def test_a_message_of_the_runner_is_one(capsys):
    ACTION.command("error", "100%0A\r\n::add-mask::x")
    assert capsys.readouterr().out == "::error::100%250A%0D%0A::add-mask::x\n"


def test_no_expression_stands_in_a_shell_line_and_every_input_is_used():
    assert [step["id"] for step in STEPS if "run" in step] == ["issue", "install", "answer"]
    assert not any("${{" in step.get("run", "") for step in STEPS)
    assert set(re.findall(r"inputs\.([\w-]+)", json.dumps(STEPS))) == set(DESCRIBED["inputs"])
    assert all(step.get("if") for step in STEPS[1:])


def test_other_actions_are_named_by_the_id_of_a_commit():
    used = re.findall(
        r"uses: (actions/.*)",
        (FOLDER / "action.yml").read_text() + (FOLDER / "README.md").read_text(),
    )
    assert len(used) == 3
    assert all(
        re.fullmatch(r"actions/[a-z-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", name) for name in used
    )


def test_all_that_is_installed_is_known_by_its_hash():
    """One version each, the one that the tests run with."""
    [install] = [step["run"] for step in STEPS if step.get("id") == "install"]
    assert "--require-hashes --only-binary :all: --requirement" in install
    files = (FOLDER / "requirements.txt", FOLDER.parent / "constraints.txt")
    found = [re.findall(r"^([\w.-]+)==(\S+)", file.read_text(), re.MULTILINE) for file in files]
    pinned, tested = (
        {canonicalize_name(name): version for name, version in pairs} for pairs in found
    )
    assert {name: tested.get(name, version) for name, version in pinned.items()} == pinned
    project = tomllib.loads((FOLDER.parent / "pyproject.toml").read_text())
    wanted = [*project["project"]["dependencies"], *project["build-system"]["requires"]]
    for one in map(Requirement, wanted):  # which grows
        if one.marker is None or one.marker.evaluate({"extra": ""}):
            name = canonicalize_name(one.name)
            assert one.specifier.contains(pinned[name])
            wanted += (metadata.requires(name) or []) if name in tested else []


class Runner:
    """Takes the steps of ``action.yml`` as a runner does: files of outputs, environment, expressions."""

    def __init__(self, folder, workspace, stub):
        self.folder, self.outputs, self.printed = folder, dict[str, dict[str, str]](), ""
        self.tosloc = folder / "tosloc/bin/tosloc"
        self.tosloc.parent.mkdir(parents=True)
        self.tosloc.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m tosloc "$@"\n')
        self.tosloc.chmod(0o755)
        self.environment = {
            name: value for name, value in os.environ.items() if not name.startswith("INPUT_")
        }
        self.environment |= {
            "GITHUB_ACTION_PATH": str(FOLDER),
            "GITHUB_EVENT_PATH": str(folder / "event.json"),
        }
        self.environment |= {
            "GITHUB_SERVER_URL": "https://github.com",
            "GITHUB_WORKSPACE": str(workspace),
        }
        self.environment |= {
            "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
            "RUNNER_TEMP": str(folder),
        }

    def run(self, event=LABELLED, *, install=False, **inputs):
        """Exit code of the first step that fails, else 0. What others publish is left out, and pip unless wanted."""
        (self.folder / "event.json").write_text(json.dumps(event))
        known = {
            f"inputs.{name}": str(given["default"]) for name, given in DESCRIBED["inputs"].items()
        }
        known |= {f"inputs.{name.replace('_', '-')}": value for name, value in inputs.items()}
        known |= {"inputs.token": "secret-token", "runner.temp": str(self.folder)}
        known["steps.python.outputs.python-path"] = sys.executable
        for step in STEPS:
            skipped = "if" in step and self.outputs["issue"]["asked"] != "true"
            if "run" not in step or skipped or (step["id"] == "install" and not install):
                continue
            output = self.folder / f"output-{step['id']}"
            output.write_text("")
            given = json.loads(
                re.sub(
                    r"\$\{\{ ([\w.-]+) \}\}", lambda found: known[found[1]], json.dumps(step["env"])
                )
            )
            shell = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step["run"]]
            environment = self.environment | given | {"GITHUB_OUTPUT": str(output)}
            place = self.environment["GITHUB_WORKSPACE"]
            done = subprocess.run(shell, env=environment, cwd=place, capture_output=True, text=True)
            self.printed += done.stdout + done.stderr
            found = re.findall(
                r"^(\w+)<<(\w+)\n(.*?)\n\2\n", output.read_text(), re.MULTILINE | re.DOTALL
            )
            self.outputs[step["id"]] = {name: value for name, _, value in found}
            if done.returncode:
                return done.returncode
        return 0


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """A repository whose history is hostile, too."""
    path = shop_at(tmp_path_factory.mktemp("action") / "shop")
    who = ["-c", "user.name=Eve", "-c", "user.email=eve@example.org"]
    message = f"Fix #8: the cart forgets an equal item {HOSTILE}"
    (path / "shop/cart.py").write_text((path / "shop/cart.py").read_text() + "\n\nLIMIT = 3\n")
    subprocess.run(["git", "-C", str(path), *who, "commit", "-qam", message], check=True)
    return path


@pytest.fixture
def runner(tmp_path, shop, stub):
    return Runner(tmp_path, shop, stub)


@pytest.mark.slow
def test_the_steps_together(runner, shop, stub):
    assert runner.run(comment="true", min_share="1") == 0, runner.printed
    assert (runner.outputs["answer"]["commented"], stub.changes) == ("false", [])
    assert "Not sure enough" in (runner.folder / "summary.md").read_text()
    for name in ("issues", "workflow_dispatch"):
        runner.environment["GITHUB_EVENT_NAME"] = name
        assert runner.run(comment="true", min_share="0", issue="7") == 0, runner.printed
    [written] = stub.comments
    assert written["body"].startswith("<!-- tosloc:answer -->\n")
    assert "[`Cart.add`](" in written["body"]
    assert "@maintainer" in written["body"]  # within code, see above
    assert (runner.printed, runner.outputs["answer"]["commented"]) == ("", "true")
    assert (
        json.loads(Path(runner.outputs["answer"]["answer"]).read_text())["schema"]
        == "tosloc.answer/1"
    )
    assert "[#7](https://github.com/o/r/issues/7)" in (runner.folder / "summary.md").read_text()
    assert not list(runner.folder.glob("**/pwned")) + list(shop.glob("**/pwned"))


@pytest.fixture
def evil(runner, tmp_path):
    """A workspace with a twin of what Python, pip and the steps import; function () -> whether one was imported."""
    path = tmp_path / "workspace"
    path.mkdir()
    for name in [*sys.stdlib_module_names, "pip", "tosloc", "joblib", "numpy"]:
        (path / f"{name}.py").write_text(f"import os\nos.mkdir({str(tmp_path / 'owned')!r})\n")
    runner.environment |= {"GITHUB_WORKSPACE": str(path), "PYTHONPATH": "."}
    return (tmp_path / "owned").exists


def test_a_search_that_takes_too_long_is_stopped(runner):
    runner.tosloc.write_text("#!/bin/sh\nexec sleep 600\n")
    assert runner.run(timeout_minutes="0.01") == 1
    assert runner.printed == (
        "::error::TosLoc: no answer after 0.01 minutes; shorten the issue, or give the input timeout-minutes more\n"
    )


def test_an_answer_without_shares_has_no_percentages():
    without = answer()
    for hit in without["hits"]:
        hit["share"] = 0.0
    assert "shop/cart.py) -\n" in ACTION.body_of(without, PAGE, 0.0)


def test_tosloc_gets_no_token_and_no_code_of_the_workspace_runs(runner, evil, stub, tmp_path):
    (tmp_path / "made.json").write_text(json.dumps(answer()))
    runner.tosloc.write_text(
        f"#!/bin/sh\ncd {tmp_path}\necho $OLDPWD >where\nenv >environment\ncat made.json\n"
    )
    runner.environment |= {"GITHUB_TOKEN": "other-token", "ACTIONS_RUNTIME_TOKEN": "a-secret"}
    assert runner.run(comment="true", min_share="0") == 0, runner.printed
    assert stub.comments
    assert (tmp_path / "where").read_text().strip() == str(tmp_path)
    given = dict(
        line.partition("=")[::2] for line in (tmp_path / "environment").read_text().splitlines()
    )
    assert given["TOSLOC_CACHE"] == f"{tmp_path}/tosloc-facts"
    assert not [
        name for name in given if name.startswith(("INPUT_", "GITHUB_", "ACTIONS_", "PYTHON"))
    ]
    assert not {"secret-token", "other-token", "a-secret"} & set(given.values())
    assert not evil()


@pytest.mark.slow
def test_no_code_of_the_workspace_installs(runner, evil):
    runner.environment |= {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": ""}
    assert runner.run(install=True) == 1
    assert (
        "No matching distribution found for" in runner.printed
    )  # pip has run, and has no index here
    assert not evil()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("event", "inputs", "said"),
    [
        ({}, {"comment": "yes"}, "the input comment is 'yes'; give true or false\n"),
        ({}, {"top": "0"}, "the input top is '0'; give a number, 1 to 50\n"),
        ({"issue": ISSUE | {"title": "", "body": None}}, {}, ""),
    ],
)
def test_what_is_wrong_is_one_line(runner, event, inputs, said):
    assert runner.run(LABELLED | event, **inputs) == 1
    assert runner.printed.count("\n") == 1
    assert runner.printed.startswith(f"::error::TosLoc: {said}")
