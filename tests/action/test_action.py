"""The action, step by step as the runner takes them, against a stub of the REST calls; strangers are hostile."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml
from markdown_it import MarkdownIt
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from conftest import repository as shop_at
from tests.stubs import Stub

ACTION = Path(__file__).parents[2] / "action"
TITLE = (
    "Cart.add forgets `$(touch pwned)` \"; touch pwned; '\n::set-output name=asked::x\r::add-mask::a %0A <img src=x>"
)
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


@pytest.fixture(scope="module")
def action() -> ModuleType:
    spec = importlib.util.spec_from_file_location("tosloc_action", ACTION / "run.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Issue(Stub):
    """A server that keeps one issue and its comments, and what it was asked."""

    def __init__(self, issue: Mapping[str, Any]) -> None:
        self.issue = dict(issue)
        self.comments: list[dict[str, Any]] = []
        self.asked: list[str] = []
        self.refuses: list[tuple[int, dict[str, str]]] = []
        """Answers that come before anything else."""
        super().__init__(self.answer)

    def answer(self, method: str, path: str, headers: Mapping[str, str], body: Any) -> tuple[int, Any, dict[str, str]]:
        self.asked.append(f"{method} {path}")
        assert headers["Authorization"] == "Bearer secret-token"
        code, more = self.refuses.pop(0) if self.refuses else (200, {})
        return code, {} if code != 200 else self.answered(method, path, body), more

    def answered(self, method: str, path: str, body: Any) -> Any:
        if found := re.fullmatch(r"/repos/o/r/issues/7/comments\?per_page=100&page=(\d+)", path):
            page = int(found[1])
            return self.comments[100 * (page - 1) : 100 * page]
        if (method, path) == ("GET", "/repos/o/r/issues/7"):
            return self.issue
        if (method, path) == ("POST", "/repos/o/r/issues/7/comments"):
            self.comments.append(comment(len(self.comments), "github-actions[bot]", body["body"]))
            return self.comments[-1]
        found = re.fullmatch(r"/repos/o/r/issues/comments/(\d+)", path)
        assert found is not None
        assert method == "PATCH"
        self.comments[int(found[1])]["body"] = body["body"]
        return self.comments[int(found[1])]


def comment(number: int, author: str, body: str) -> dict[str, Any]:
    return {"id": number, "user": {"login": author, "type": "Bot" if "[bot]" in author else "User"}, "body": body}


def issue(**changed: Any) -> dict[str, Any]:
    made = {"number": 7, "title": TITLE, "body": BODY, "created_at": "2030-01-01T00:00:00Z", "labels": []}
    return {**made, "user": {"login": "mallory", "type": "User"}, **changed}


@pytest.fixture
def stub() -> Iterator[Issue]:
    made = Issue(issue())
    yield made
    made.close()


def answer(reason: str = "words cart", path: str = "shop/cart.py", share: float = 0.5) -> dict[str, Any]:
    function = {"name": "Cart.add", "start": 7, "end": 9, "score": 1.0}
    hit = {"rank": 1, "path": path, "score": 1.0, "share": share, "functions": [function]}
    why = [{"kind": "fix", "text": reason, "commit": "1" * 40}, {"kind": "words", "text": reason}]
    less = {**hit, "rank": 2, "share": 0.001, "why": why}
    return {
        "commit": "0" * 40,
        "searched": {"files": 3},
        "hits": [{**hit, "why": why}, less],
        "others": [{"path": path}],
    }


# ---- is it asked?


LABELLED = {"action": "labeled", "label": {"name": "needs-localization"}, "issue": issue()}


def test_it_is_asked_by_its_label_or_by_hand_and_else_says_nothing(action: ModuleType) -> None:
    label = "needs-localization"
    opened = {"action": "opened", "issue": issue(labels=[{"name": label}])}
    assert action.asked_issue("issues", LABELLED, label, "", None)["number"] == 7
    assert action.asked_issue("issues", opened, label, "", None)["number"] == 7
    assert action.asked_issue("workflow_dispatch", {}, label, "7", lambda _: issue())["number"] == 7
    for wrong in ("", "0", "7/../8", "7\n8", "٧"):
        with pytest.raises(action.ActionError, match="a number"):
            action.asked_issue("workflow_dispatch", {}, label, wrong, None)
    for name, changed, said in (
        ("issues", {"label": {"name": "bug"}}, "the label is not"),
        ("issues", {"issue": issue(pull_request={"url": "x"})}, "a pull request"),
        ("issues", {"issue": issue(user={"login": "renovate", "type": "Bot"})}, "a bot"),
        ("issues", {"issue": issue(user={"login": "x[bot]", "type": "User"})}, "a bot"),
        ("issue_comment", {}, "events of issue_comment"),
    ):
        assert said in action.asked_issue(name, LABELLED | changed, label, "", None)


# ---- what is written


@pytest.mark.parametrize("text", [HOSTILE, TITLE, BODY, "", "a" * 9_000, "` `` ```"])
def test_what_strangers_write_stays_text(action: ModuleType, text: str) -> None:
    body = action.body_of(answer(text, text or "a"), "https://github.com/o/r", 0.05)
    kinds: set[str] = set()
    outside = ""
    for block in MarkdownIt("gfm-like", {"linkify": False}).parse(body):
        kinds.add(block.type)
        for token in block.children or ():
            kinds.add(token.type)
            if token.type == "text":
                outside += token.content
            if token.type == "link_open":
                assert re.match("https://github.com/o/r/(blob/0{40}/|commit/(0{40}|1{40})$)", str(token.attrs["href"]))
            if block.type == "html_block":
                assert re.fullmatch(
                    "</details>\n|<details><summary>(1 less likely|Other files)</summary>\n", block.content
                )
    nested = ("ordered_list", "bullet_list", "list_item", "paragraph", "link")
    assert {kind.removesuffix("_open").removesuffix("_close") for kind in kinds} <= {
        *(*nested, "inline", "text", "code_inline", "softbreak", "html_block"),
    }
    assert re.fullmatch(r"[A-Za-z0-9 ,.:%]*", outside)
    assert body.count("\n") < 24
    assert len(body) < 40_000


def test_files_below_the_share_are_folded_and_have_a_path_alone(action: ModuleType) -> None:
    shown, _, folded = action.body_of(answer(), "https://github.com/o/r", 0.05).partition("<details>")
    assert "shop/cart.py#L7-L9" in shown
    assert "[`words cart`](https://github.com/o/r/commit/" + "1" * 40 in shown
    assert "2. [`shop/cart.py`](https://github.com/o/r/blob/" + "0" * 40 in folded
    assert "shop/cart.py) below 1%\n\n</details>" in folded
    assert "Cart.add" not in folded
    assert "<details><summary>Other files</summary>\n\n- [`shop/cart.py`](https://github.com/o/r/blob/" in folded
    assert "less likely" not in action.body_of(answer(), "https://github.com/o/r", 0.0)


def test_the_comment_is_written_once_and_edited_in_place(action: ModuleType, stub: Issue) -> None:
    api = action.Api(stub.url, "secret-token")
    stub.comments = [comment(number, "someone", "hello") for number in range(150)]
    stub.comments[3]["body"] = action.MARKER + " not ours"
    for text in ("one", "one", "two"):
        action.write_comment(api, "/repos/o/r/issues", 7, f"{action.MARKER}{text}", "github-actions[bot]")
    assert len(stub.comments) == 151
    assert stub.comments[3]["body"] == action.MARKER + " not ours"
    assert stub.comments[150]["body"] == f"{action.MARKER}two"
    assert [asked.split()[0] for asked in stub.asked if not asked.startswith("GET")] == ["POST", "PATCH"]


def test_refusals_are_sentences_and_a_token_follows_no_redirect(action: ModuleType, stub: Issue) -> None:
    api = action.Api(stub.url, "secret-token")
    for code, said in ((403, "permissions: issues: write"), (301, "301, moved"), (502, "502")):
        stub.refuses = [(code, {"Location": "http://elsewhere.invalid/"})]
        with pytest.raises(action.ActionError, match=said):
            api.call("POST", "/repos/o/r/issues/7/comments", {"body": "x"})
    assert stub.comments == []


def test_a_message_of_the_runner_is_one_line(action: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    action.command("error", "a\n::set-output name=x::y\r::z %0A")
    assert capsys.readouterr().out == "::error::a%0A::set-output name=x::y%0D::z %250A\n"


# ---- step by step


def described() -> Any:
    return yaml.safe_load((ACTION / "action.yml").read_text(encoding="utf-8"))


def test_no_expression_stands_in_a_shell_line_and_every_input_is_used() -> None:
    action = described()
    lines = [step["run"] for step in action["runs"]["steps"] if "run" in step]
    assert len(lines) == 3
    assert all("${{" not in line for line in lines)
    used = set(re.findall(r"inputs\.([\w-]+)", json.dumps(action["runs"])))
    assert used == set(action["inputs"])
    assert all(step.get("if") for step in action["runs"]["steps"][1:])


def test_other_actions_are_named_by_the_id_of_a_commit() -> None:
    lines = [*(ACTION / "action.yml").read_text().splitlines(), *(ACTION / "README.md").read_text().splitlines()]
    used = [line.partition("uses: ")[2] for line in lines if "uses: actions/" in line]
    assert len(used) == 3
    assert all(re.fullmatch(r"actions/[a-z-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", name) for name in used)


def test_all_that_is_installed_is_known_by_its_hash() -> None:
    """One version each, the one that the tests run with."""
    pinned: dict[str, str] = {}
    for entry in re.split(r"\n(?=\w)", (ACTION / "requirements.txt").read_text())[1:]:
        named, _, hashes = entry.partition(" \\\n")
        assert re.fullmatch(r"( +--hash=sha256:[0-9a-f]{64}( \\)?\n?)+", hashes), named
        name, _, version = named.partition(" ;")[0].partition("==")
        pinned[name] = version
    told = (ACTION.parent / "constraints.txt").read_text().splitlines()[1:]
    tested = {canonicalize_name(line.partition("==")[0]): line.partition("==")[2] for line in told}
    assert {name: tested.get(name, version) for name, version in pinned.items()} == pinned
    project = tomllib.loads((ACTION.parent / "pyproject.toml").read_text())
    wanted = [Requirement(one) for one in project["project"]["dependencies"] + project["build-system"]["requires"]]
    while wanted:
        one = wanted.pop()
        name = canonicalize_name(one.name)
        assert name in pinned
        assert one.specifier.contains(pinned[name])
        if name in tested:
            given = [Requirement(more) for more in metadata.requires(name) or ()]
            wanted += [more for more in given if more.marker is None or more.marker.evaluate({"extra": ""})]


class Runner:
    """Takes the steps of ``action.yml`` as a runner does: files of outputs, environment, expressions."""

    def __init__(self, folder: Path, workspace: Path, stub: Issue, event: tuple[str, Any], **inputs: str) -> None:
        self.folder, self.stub = folder, stub
        self.inputs = {name: str(given["default"]) for name, given in described()["inputs"].items()}
        self.inputs |= {"token": "secret-token", **{name.replace("_", "-"): value for name, value in inputs.items()}}
        (folder / "event.json").write_text(json.dumps(event[1]))
        tosloc = folder / "tosloc/bin/tosloc"
        tosloc.parent.mkdir(parents=True, exist_ok=True)
        tosloc.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m tosloc "$@"\n')
        tosloc.chmod(0o755)
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("GITHUB_", "INPUT_"))},
            "GITHUB_ACTION_PATH": str(ACTION),
            "GITHUB_EVENT_NAME": event[0],
            "GITHUB_EVENT_PATH": str(folder / "event.json"),
            "GITHUB_REPOSITORY": "o/r",
            "GITHUB_API_URL": stub.url,
            "GITHUB_SERVER_URL": "https://github.com",
            "GITHUB_WORKSPACE": str(workspace),
            "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
            "RUNNER_TEMP": str(folder),
        }
        self.outputs: dict[str, dict[str, str]] = {}
        self.printed = ""

    def run(self, *, install: bool = False) -> int:
        """Exit code of the first step that fails, else 0. What others publish is left out, and pip unless wanted."""
        for step in described()["runs"]["steps"]:
            if "run" not in step or (step.get("id") == "install" and not install):
                continue
            if step.get("if") and self.outputs["issue"].get("asked") != "true":
                continue
            output = self.folder / f"output-{step['id']}"
            output.write_text("")
            given = {name: self.valued(value) for name, value in step["env"].items()}
            environment = self.environment | given | {"GITHUB_OUTPUT": str(output)}
            done = subprocess.run(
                ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step["run"]],
                env=environment,
                cwd=self.environment["GITHUB_WORKSPACE"],
                capture_output=True,
                text=True,
            )
            self.printed += done.stdout + done.stderr
            found = re.findall(r"^(\w+)<<(\w+)\n(.*?)\n\2\n", output.read_text(), re.MULTILINE | re.DOTALL)
            self.outputs[step["id"]] = {name: value for name, _, value in found}
            if done.returncode:
                return done.returncode
        return 0

    def valued(self, text: str) -> str:
        known = {f"inputs.{name}": value for name, value in self.inputs.items()} | {"runner.temp": str(self.folder)}
        known["steps.python.outputs.python-path"] = sys.executable
        return re.sub(r"\$\{\{ ([\w.-]+) \}\}", lambda found: known[found[1]], text)

    @property
    def summary(self) -> str:
        return (self.folder / "summary.md").read_text() if (self.folder / "summary.md").exists() else ""


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository whose history is hostile, too."""
    path = shop_at(tmp_path_factory.mktemp("action") / "shop")
    (path / "shop/cart.py").write_text((path / "shop/cart.py").read_text() + "\n\nLIMIT = 3\n")
    who = ["-c", "user.name=Eve", "-c", "user.email=eve@example.org"]
    message = f"Fix #8: the cart forgets an equal item {HOSTILE}"
    subprocess.run(["git", "-C", str(path), *who, "commit", "-qam", message], check=True)
    return path


@pytest.mark.slow
def test_the_steps_together(tmp_path: Path, shop: Path, stub: Issue) -> None:
    hand = ("workflow_dispatch", {"inputs": {"issue": "7"}})
    runner = Runner(tmp_path, shop, stub, ("issues", LABELLED), comment="true", min_share="0")
    assert runner.run() == 0, runner.printed
    again = Runner(tmp_path, shop, stub, hand, comment="true", min_share="0", issue="7")
    assert again.run() == 0, again.printed
    assert len(stub.comments) == 1
    text = stub.comments[0]["body"]
    assert text.startswith("<!-- tosloc:answer -->\n")
    assert "1. [`shop/cart.py`](https://github.com/o/r/blob/" in text
    assert "[`Cart.add`](" in text
    assert "@maintainer" in text  # within code, see above
    assert runner.printed == ""
    assert runner.outputs["answer"]["commented"] == "true"
    assert json.loads(Path(runner.outputs["answer"]["answer"]).read_text())["schema"] == "tosloc.answer/1"
    assert "[#7](https://github.com/o/r/issues/7)" in runner.summary
    assert not list(tmp_path.glob("**/pwned")) + list(shop.glob("**/pwned"))


@pytest.fixture
def evil(tmp_path: Path) -> Path:
    """A workspace with a twin of what Python, pip and the steps import."""
    path = tmp_path / "workspace"
    path.mkdir()
    for name in [*sys.stdlib_module_names, "pip", "tosloc", "joblib", "numpy"]:
        (path / f"{name}.py").write_text(f"import os\nos.mkdir({str(tmp_path / 'owned')!r})\n")
    return path


def test_tosloc_gets_no_token_and_no_code_of_the_workspace_runs(tmp_path: Path, evil: Path, stub: Issue) -> None:
    runner = Runner(tmp_path, evil, stub, ("issues", LABELLED), comment="true", min_share="0")
    made = answer() | {"notes": [], "report": {"summary": "s"}}
    (tmp_path / "made.json").write_text(json.dumps(made))
    (tmp_path / "tosloc/bin/tosloc").write_text(
        f"#!/bin/sh\npwd >{tmp_path}/where\nenv >{tmp_path}/environment\ncat {tmp_path}/made.json\n"
    )
    runner.environment |= {"PYTHONPATH": ".", "GITHUB_TOKEN": "other-token", "ACTIONS_RUNTIME_TOKEN": "a-secret"}
    assert runner.run() == 0, runner.printed
    assert stub.comments
    assert (tmp_path / "where").read_text().strip() == str(tmp_path)
    given = dict(line.partition("=")[::2] for line in (tmp_path / "environment").read_text().splitlines())
    assert given["TOSLOC_CACHE"] == f"{tmp_path}/tosloc-facts"
    assert not [name for name in given if name.startswith(("INPUT_", "GITHUB_", "ACTIONS_", "PYTHON"))]
    assert not {"secret-token", "other-token", "a-secret"} & set(given.values())
    assert not (tmp_path / "owned").exists()


@pytest.mark.slow
def test_no_code_of_the_workspace_installs(tmp_path: Path, evil: Path, stub: Issue) -> None:
    runner = Runner(tmp_path, evil, stub, ("issues", LABELLED))
    runner.environment |= {"PYTHONPATH": ".", "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": ""}
    assert runner.run(install=True) == 1
    assert "No matching distribution found for" in runner.printed  # pip has run, and has no index here
    assert not (tmp_path / "owned").exists()


@pytest.mark.slow
def test_it_is_silent_when_it_is_not_sure_and_what_is_wrong_is_one_line(
    tmp_path: Path, shop: Path, stub: Issue
) -> None:
    def ran(event: Any = LABELLED, **inputs: str) -> tuple[int, Runner]:
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        folder.mkdir()
        runner = Runner(folder, shop, stub, ("issues", event), **inputs)
        return runner.run(), runner

    code, unsure = ran(comment="true", min_share="1")
    assert (code, unsure.outputs["answer"]["commented"]) == (0, "false"), unsure.printed
    assert "Not sure enough" in unsure.summary
    assert stub.asked == []
    for event, inputs, said in (
        (LABELLED, {"comment": "yes"}, "the input comment is 'yes'; give true or false\n"),
        (LABELLED, {"top": "0"}, "the input top is '0'; give a number, 1 to 50\n"),
        (LABELLED | {"issue": issue(title="", body=None)}, {}, ""),
    ):
        code, runner = ran(event, **inputs)
        assert (code, runner.printed.count("\n")) == (1, 1)
        assert runner.printed.startswith(f"::error::TosLoc: {said}")
