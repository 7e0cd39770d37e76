"""The action's steps, run as the runner runs them, against a stub of GitHub's REST API.

Issues and the repository are written by hostile strangers.
"""

import io
import json
import os
import re
import runpy
import subprocess
import sys
import tomllib
from contextlib import closing
from email.message import Message
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from urllib.error import HTTPError

import pytest
import yaml
from markdown_it import MarkdownIt
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from conftest import make_shop
from tests.stubs import StubServer

FOLDER = Path(__file__).parents[2] / "action"
ACTION = SimpleNamespace(**runpy.run_path(str(FOLDER / "run.py")))
DEFINITION = yaml.safe_load((FOLDER / "action.yml").read_text(encoding="utf-8"))
STEPS = DEFINITION["runs"]["steps"]
PAGE = "https://github.com/o/r"
TITLE = (
    "Cart.add forgets `$(touch pwned)` \"; touch pwned; '\n::set-output name=asked::x\r"
    "::add-mask::a %0A <img src=x>"
)
BODY = """The cart forgets an equal item. @everyone #1 closes #2
::error::pwned
$(touch pwned) `touch pwned` ${{ github.token }} && touch pwned
</details><script>alert(1)</script> <!-- tosloc:answer -->
EOF
asked=false
"""
HOSTILE = (
    "@maintainer ``` #12 closes #3 <img src=x onerror=alert(1)> [x](javascript:alert(1)) ``"
    "\n\n# big\n::warning::x | \u202e"
)
ISSUE = {
    "number": 7,
    "title": TITLE,
    "body": BODY,
    "created_at": "2030-01-01T00:00:00Z",
    "labels": [],
    "user": {"login": "mallory", "type": "User"},
}
LABELLED = {"action": "labeled", "label": {"name": "needs-localization"}, "issue": ISSUE}


def comment(number, author, body):
    return {"id": number, "user": {"login": author}, "body": body}


class GitHub(StubServer):
    """A server that has one issue and keeps its comments; it may refuse with a status code."""

    def __init__(self):
        self.comments = []
        self.changes = []
        self.refusal = 0
        super().__init__(self.answer)

    def answer(self, method, path, headers, body):
        """Return the status, body and headers of an answer."""
        assert headers["Authorization"] == "Bearer secret-token"
        if self.refusal:
            return self.refusal, {}, {"Location": "http://elsewhere.invalid/"}
        request = f"{method} {path.removeprefix('/repos/o/r/issues')}"
        page = path.rpartition("=")[2]
        if method != "GET":
            self.changes.append(request)
        if request == "POST /7/comments":
            self.comments.append(comment(len(self.comments), "github-actions[bot]", body["body"]))
        elif method == "PATCH":
            self.comments[int(request.removeprefix("PATCH /comments/"))] |= body
        elif request == f"GET /7/comments?per_page=100&page={page}":
            return 200, self.comments[100 * int(page) - 100 :][:100], {}
        else:
            assert request == "GET /7"
        return 200, ISSUE, {}


@pytest.fixture
def github(monkeypatch):
    """Start the stub of GitHub and set the variables that lead to it."""
    with closing(GitHub()) as server:
        monkeypatch.setenv("GITHUB_REPOSITORY", "o/r")
        monkeypatch.setenv("GITHUB_API_URL", server.url)
        monkeypatch.setenv("GITHUB_EVENT_NAME", "issues")
        monkeypatch.setenv("INPUT_TOKEN", "secret-token")
        monkeypatch.setenv("INPUT_COMMENT_AUTHOR", "github-actions[bot]")
        monkeypatch.setenv("INPUT_LABEL", "needs-localization")
        monkeypatch.setenv("INPUT_ISSUE", "7")
        yield server


def make_answer(why="words cart", path="shop/cart.py"):
    """Return an answer of two files, with this text as reason."""
    function = {"name": "Cart.add", "start": 7, "end": 9}
    reasons = [{"text": why, "commit": "1" * 40}, {"text": why}]
    hits = [
        {
            "rank": 1,
            "path": path,
            "confidence": 0.5,
            "functions": [function],
            "reasons": reasons,
            "code": [{"line": 8, "text": f"  {why}"}],
        },
        {
            "rank": 2,
            "path": path,
            "confidence": 0.001,
            "functions": [function],
            "reasons": reasons[1:],
        },
    ]
    suspect = {
        "commit": "1" * 40,
        "committed": "2024-05-06T07:08:09Z",
        "subject": why,
        "path": path,
        "function": why,
        "reasons": [why],
        "diff": [f"+{why}"],
    }
    return {
        "commit": "0" * 40,
        "searched": {"files": 3},
        "notes": [],
        "report": {"summary": "s"},
        "others": [{"path": path}],
        "statements": [why],
        "background": {
            "similar": [{"issue": "#3", "text": why}, {"issue": why, "text": why}],
            "tests": [path],
            "people": [{"name": why}],
            "owners": ["@ada", "@acme/core", "eve@example.org", why],
        },
        "suspects": [suspect],
        "hits": hits,
    }


@pytest.mark.usefixtures("github")
@pytest.mark.parametrize(
    ("event_name", "changes"),
    [
        ("issues", {}),
        ("issues", {"action": "opened", "issue": ISSUE | {"labels": [LABELLED["label"]]}}),
        ("workflow_dispatch", {}),
    ],
    ids=["labelled", "opened with the label", "by hand"],
)
def test_an_issue_is_answered(monkeypatch, event_name, changes):
    monkeypatch.setenv("GITHUB_EVENT_NAME", event_name)
    assert ACTION.select_issue(LABELLED | changes)["number"] == 7


@pytest.mark.usefixtures("github")
@pytest.mark.parametrize(
    ("event_name", "changes", "reason"),
    [
        ("issues", {"label": {"name": "bug"}}, "does not set the label"),
        ("issues", {"issue": ISSUE | {"pull_request": {"url": "x"}}}, "a pull request"),
        ("issues", {"issue": ISSUE | {"user": {"login": "renovate", "type": "Bot"}}}, "a bot"),
        ("issues", {"issue": ISSUE | {"user": {"login": "x[bot]", "type": "User"}}}, "a bot"),
        ("issue_comment", {}, "events of the kind issue_comment"),
    ],
    ids=["another label", "pull request", "bot", "app", "another event"],
)
def test_an_event_is_not_answered(monkeypatch, event_name, changes, reason):
    monkeypatch.setenv("GITHUB_EVENT_NAME", event_name)
    assert reason in ACTION.select_issue(LABELLED | changes)


@pytest.mark.usefixtures("github")
@pytest.mark.parametrize("text", ["", "0", "7/../8", "7\n8", "٧"])
def test_a_wrong_number_of_an_issue_is_refused(monkeypatch, text):
    monkeypatch.setenv("GITHUB_EVENT_NAME", "workflow_dispatch")
    monkeypatch.setenv("INPUT_ISSUE", text)
    with pytest.raises(ACTION.ActionError, match="the number of an issue"):
        ACTION.select_issue({})


ALLOWED_MARKDOWN = set(
    "ordered_list bullet_list list_item paragraph link inline text code_inline softbreak"
    " html_block".split()
)


@pytest.mark.parametrize(
    "text",
    [HOSTILE, TITLE, BODY, "", "a" * 9_000, "` `` ```"],
    ids=["hostile", "title", "body", "empty", "long", "backticks"],
)
def test_text_of_strangers_is_only_code(text):
    markdown = ACTION.answer_markdown(make_answer(text, text or "a"), PAGE)
    link = re.compile(f"{PAGE}/(blob/0{{40}}/|commit/(0{{40}}|1{{40}})$|issues/3$)")
    folded = (
        "</details>\n|<details><summary>(Less likely files \\(1\\)|Files of other kinds \\(1\\)"
        "|Changes that may have introduced the bug \\(1\\))</summary>\n"
    )
    kinds = set()
    text_outside_code = ""
    for block in MarkdownIt("gfm-like", {"linkify": False}).parse(markdown):
        kinds.add(block.type)
        if block.type == "html_block":
            assert re.fullmatch(folded, block.content)
        for token in block.children or ():
            kinds.add(token.type)
            if token.type == "text":
                text_outside_code += token.content
            if token.type == "link_open":
                assert link.match(str(token.attrs["href"]))
    assert {kind.removesuffix("_open").removesuffix("_close") for kind in kinds} <= ALLOWED_MARKDOWN
    assert re.fullmatch(r"[A-Za-z0-9 ,.:%-]*", text_outside_code)
    assert markdown.count("\n") < 40
    assert len(markdown) < 60_000


def test_a_likely_file_has_functions_and_reasons():
    shown = ACTION.answer_markdown(make_answer(), PAGE).partition("<details>")[0]
    assert "shop/cart.py#L7-L9" in shown
    assert f"[`words cart`]({PAGE}/commit/" + "1" * 40 in shown


def test_a_likely_file_has_lines_of_code_with_their_address():
    shown = ACTION.answer_markdown(make_answer("forget(item)"), PAGE).partition("<details>")[0]
    assert f"   - [line 8]({PAGE}/blob/{'0' * 40}/shop/cart.py#L8) `forget(item)`\n" in shown


def test_matching_words_are_shown_only_without_better_reasons():
    answer = make_answer("matching")
    [hit, _] = answer["hits"]
    hit["reasons"] = [{"text": "matching", "kind": "words"}] + [{"text": "fix", "kind": "fix"}] * 2
    shown = ACTION.answer_markdown(answer | {"hits": [hit]}, PAGE)
    assert shown.count("   - `fix`\n") == 2
    assert "   - `matching`\n" not in shown


def test_the_tests_and_the_last_author_of_the_first_file_are_named():
    shown = ACTION.answer_markdown(make_answer("Ada"), PAGE).partition("<details>")[0]
    assert " Related tests: `shop/cart.py`. The first file was last changed by `Ada`.\n" in shown


def test_an_answer_begins_with_what_the_issue_states():
    markdown = ACTION.answer_markdown(make_answer("The report blames 1111111111"), PAGE)
    assert markdown.startswith("`The report blames 1111111111`\n\n")


def test_suspect_changes_come_first_if_the_issue_blames_one():
    markdown = ACTION.answer_markdown(make_answer() | {"leads_with_suspects": True}, PAGE)
    changes = markdown.index("Changes that may have introduced the bug:\n\n- [`1111111111`]")
    assert changes < markdown.index("The bug is most likely here:\n\n1. ")
    assert "<summary>Changes" not in markdown


def test_an_answer_without_files_says_so():
    assert "No file matches the issue." in ACTION.answer_markdown(
        make_answer() | {"hits": []}, PAGE
    )


@pytest.mark.parametrize(
    ("table", "path", "labels"),
    [
        ("src/** area: core", "src/a/b.py", ["area: core"]),
        ("src/* core", "src/b.py", ["core"]),
        ("/src core", "src/a/b.py", ["core"]),
        ("/src core", "lib/src/b.py", []),
        ("docs/ docs", "lib/docs/a.md", ["docs"]),
        ("*.sql  database\n# no label\n\na/** a\n**/b.sql database", "a/b.sql", ["database", "a"]),
        ("a?c one\na.c two", "abc", ["one"]),
    ],
)
def test_labels_are_chosen_by_the_globs_of_a_table(table, path, labels):
    assert ACTION.choose_labels(table, path) == labels


@pytest.mark.parametrize("line", ["src/**", "src/** one,two"])
def test_a_line_without_a_usable_label_is_refused(line):
    with pytest.raises(ACTION.ActionError, match="write a glob, a blank and a label"):
        ACTION.choose_labels(f"*.c c\n{line}", "a")


def test_owners_are_accounts_and_teams():
    answer = make_answer("@ada\n::warning::x")
    assert ACTION.split_owners(answer) == (["ada"], ["acme/core"])


def test_a_file_below_the_share_is_folded_and_has_only_a_path():
    folded = ACTION.answer_markdown(make_answer(), PAGE).partition("<details>")[2]
    assert f"2. [`shop/cart.py`]({PAGE}/blob/" + "0" * 40 in folded
    assert "shop/cart.py) below 1%\n\n</details>" in folded
    assert "Cart.add" not in folded


def test_other_files_are_folded():
    markdown = ACTION.answer_markdown(make_answer(), PAGE)
    link = f"- [`shop/cart.py`]({PAGE}/blob/"
    assert f"<details><summary>Files of other kinds (1)</summary>\n\n{link}" in markdown


def test_suspect_changes_are_folded():
    markdown = ACTION.answer_markdown(make_answer("rebate"), PAGE)
    commit = f"[`1111111111`]({PAGE}/commit/{'1' * 40})"
    file = f"[`shop/cart.py`]({PAGE}/blob/{'0' * 40}/shop/cart.py)"
    line = f"- {commit} 2024-05-06 `rebate` in {file}: `rebate`\n"
    fold = "<details><summary>Changes that may have introduced the bug (1)</summary>"
    assert f"{fold}\n\n{line}" in markdown


def test_a_comment_begins_with_the_commit_that_has_fixed_the_issue():
    fix = {
        "commit": "1" * 40,
        "committed": "2024-05-06T00:00:00Z",
        "subject": "Fix #7",
        "files": [],
    }
    text = ACTION.fixed_markdown(make_answer() | {"fixed_by": fix}, PAGE)
    link = f"[`1111111111`]({PAGE}/commit/{'1' * 40})"
    assert text == f"**Probably fixed already** by {link} (2024-05-06): `Fix #7`\n\n"


def test_without_a_fix_a_comment_does_not_speak_of_one():
    assert ACTION.fixed_markdown(make_answer(), PAGE) == ""


def test_the_range_is_told_first():
    answer = make_answer() | {"statements": ["The cause is after v1.2: 3 commits"]}
    assert ACTION.answer_markdown(answer, PAGE).startswith("`The cause is after v1.2: 3 commits`\n")


def test_an_answer_of_an_older_version_has_no_suspect_changes():
    answer = make_answer()
    del answer["suspects"]
    assert "introduced" not in ACTION.answer_markdown(answer, PAGE)


def test_without_less_likely_files_there_is_no_fold_for_them():
    assert "less likely" not in ACTION.answer_markdown(make_answer(), PAGE)


def test_an_answer_without_shares_has_no_percentages():
    answer = make_answer()
    for hit in answer["hits"]:
        hit["confidence"] = 0.0
    assert "shop/cart.py) -\n" in ACTION.answer_markdown(answer, PAGE)


def test_the_comment_is_written_once_and_edited_in_place(github):
    foreign = f"{ACTION.MARKER} not ours"
    github.comments = [comment(number, "someone", foreign) for number in range(150)]
    for text in ("one", "one", "two"):
        ACTION.write_comment(7, f"{ACTION.MARKER}{text}")
    bodies = [each["body"] for each in github.comments]
    assert bodies == [*[foreign] * 150, f"{ACTION.MARKER}two"]
    assert github.changes == ["POST /7/comments", "PATCH /comments/150"]


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (403, "permissions: issues: write"),
        (301, "status 301, the issue was transferred"),
        (502, "502"),
    ],
)
def test_a_refusal_is_a_sentence_and_no_redirect_is_followed(github, code, message):
    github.refusal = code
    with pytest.raises(ACTION.ActionError, match=message):
        ACTION.write_comment(7, "x")


def test_the_body_of_an_error_is_closed(monkeypatch):
    body = io.BytesIO(b"{}")
    error = HTTPError("https://example.org", 404, "Not Found", Message(), body)

    def refuse(request, timeout):
        raise error

    for name in ("GITHUB_REPOSITORY", "GITHUB_API_URL", "INPUT_TOKEN"):
        monkeypatch.setenv(name, "https://example.org")
    opener = SimpleNamespace(open=refuse)
    module = ACTION.call_issues_api.__globals__
    monkeypatch.setitem(module, "build_opener", lambda handler: opener)
    with pytest.raises(ACTION.ActionError, match="404"):
        ACTION.call_issues_api("GET", "/1")
    assert body.closed


def test_a_command_of_the_runner_is_one_line(capsys):
    ACTION.print_command("error", "100%0A\r\n::add-mask::x")
    assert capsys.readouterr().out == "::error::100%250A%0D%0A::add-mask::x\n"


RUN_STEPS = {step["id"]: step["run"] for step in STEPS if "run" in step}


def test_no_shell_line_contains_an_expression():
    assert list(RUN_STEPS) == ["issue", "install", "answer"]
    assert not [line for line in RUN_STEPS.values() if "${{" in line]


def test_every_input_is_used():
    used_inputs = re.findall(r"inputs\.([\w-]+)", json.dumps(STEPS))
    assert set(used_inputs) == set(DEFINITION["inputs"])


def test_every_step_but_the_first_is_conditional():
    assert all(step.get("if") for step in STEPS[1:])


def test_other_actions_are_pinned_to_a_commit():
    text = (FOLDER / "action.yml").read_text() + (FOLDER / "README.md").read_text()
    used_actions = re.findall(r"uses: (actions/.*)", text)
    assert len(used_actions) == 3
    for name in used_actions:
        assert re.fullmatch(r"actions/[a-z-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", name)


def test_packages_are_installed_by_their_hashes():
    assert "--require-hashes --only-binary :all: --requirement" in RUN_STEPS["install"]


def pinned_versions(file):
    """Return the version of each package that a file of requirements pins."""
    pairs = re.findall(r"^([\w.-]+)==(\S+)", file.read_text(), re.MULTILINE)
    return {canonicalize_name(name): version for name, version in pairs}


PINNED = pinned_versions(FOLDER / "requirements.txt")
TESTED = pinned_versions(FOLDER.parent / "constraints.txt")


def test_versions_that_are_installed_are_those_of_the_tests():
    for name, version in PINNED.items():
        assert TESTED.get(name, version) == version, name


def find_requirements():
    """Return what installing the package requires, directly and through other packages."""
    project = tomllib.loads((FOLDER.parent / "pyproject.toml").read_text())
    waiting = [*project["project"]["dependencies"], *project["build-system"]["requires"]]
    requirements = set()
    while waiting:
        requirement = Requirement(waiting.pop())
        is_needed = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
        if not is_needed or requirement in requirements:
            continue
        requirements.add(requirement)
        if canonicalize_name(requirement.name) in TESTED:
            waiting += metadata.requires(requirement.name) or []
    return requirements


def test_every_requirement_has_a_pinned_version_that_satisfies_it():
    requirements = find_requirements()
    assert len(requirements) > len(PINNED) / 2
    for requirement in requirements:
        version = PINNED.get(canonicalize_name(requirement.name))
        assert version is not None, requirement
        assert requirement.specifier.contains(version), requirement


def test_every_pinned_version_has_its_hashes():
    text = (FOLDER / "requirements.txt").read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    assert len(lines) == len(PINNED)
    for line in lines:
        assert re.search(r" --hash=sha256:[0-9a-f]{64}\b", line), line


class Runner:
    """Runs the steps of ``action.yml`` as GitHub's runner does."""

    def __init__(self, folder, workspace):
        self.folder = folder
        self.outputs = {}
        self.printed = ""
        self.tosloc = folder / "tosloc/bin/tosloc"
        self.tosloc.parent.mkdir(parents=True)
        self.tosloc.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m tosloc "$@"\n')
        self.tosloc.chmod(0o755)
        inherited = {
            name: value for name, value in os.environ.items() if not name.startswith("INPUT_")
        }
        self.environment = inherited | {
            "GITHUB_ACTION_PATH": str(FOLDER),
            "GITHUB_EVENT_PATH": str(folder / "event.json"),
            "GITHUB_SERVER_URL": "https://github.com",
            "GITHUB_WORKSPACE": str(workspace),
            "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
            "RUNNER_TEMP": str(folder),
        }

    def run(self, event=LABELLED, *, install=False, **inputs):
        """Run the steps and return the exit code of the first that fails, else 0.

        Actions of others are left out, and so is the installation unless ``install`` is set.
        """
        (self.folder / "event.json").write_text(json.dumps(event))
        expressions = self._expressions(inputs)
        for step in STEPS:
            is_skipped = "if" in step and self.outputs["issue"]["asked"] != "true"
            if "run" not in step or is_skipped or (step["id"] == "install" and not install):
                continue
            code = self._run_step(step, expressions)
            if code:
                return code
        return 0

    def _expressions(self, inputs):
        """Return the value of each expression that a step may contain."""
        expressions = {
            "inputs.token": "secret-token",
            "runner.temp": str(self.folder),
            "steps.python.outputs.python-path": sys.executable,
        }
        for name, definition in DEFINITION["inputs"].items():
            expressions.setdefault(f"inputs.{name}", str(definition["default"]))
        for name, value in inputs.items():
            expressions[f"inputs.{name.replace('_', '-')}"] = value
        return expressions

    def _run_step(self, step, expressions):
        """Run one step and return its exit code."""
        output = self.folder / f"output-{step['id']}"
        output.write_text("")
        variables = json.loads(
            re.sub(
                r"\$\{\{ ([\w.-]+) \}\}",
                lambda match: json.dumps(expressions[match[1]])[1:-1],
                json.dumps(step["env"]),
            )
        )
        process = subprocess.run(
            ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step["run"]],
            env=self.environment | variables | {"GITHUB_OUTPUT": str(output)},
            cwd=self.environment["GITHUB_WORKSPACE"],
            capture_output=True,
            text=True,
        )
        self.printed += process.stdout + process.stderr
        outputs = re.findall(
            r"^(\w+)<<(\w+)\n(.*?)\n\2\n", output.read_text(), re.MULTILINE | re.DOTALL
        )
        self.outputs[step["id"]] = {name: value for name, _, value in outputs}
        return process.returncode


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """Create a repository whose history is hostile, too; return its path."""
    path = make_shop(tmp_path_factory.mktemp("action") / "shop")
    author = ["-c", "user.name=Eve", "-c", "user.email=eve@example.org"]
    message = f"Fix #8: the cart forgets an equal item {HOSTILE}"
    (path / "shop/cart.py").write_text((path / "shop/cart.py").read_text() + "\n\nLIMIT = 3\n")
    subprocess.run(["git", "-C", str(path), *author, "commit", "-qam", message], check=True)
    return path


@pytest.fixture
def runner(tmp_path, shop, github):
    """Return a runner with that repository as workspace."""
    return Runner(tmp_path, shop)


@pytest.mark.slow
def test_an_unsure_answer_is_not_commented(runner, github):
    assert runner.run(comment="true", min_confidence="1") == 0, runner.printed
    assert runner.outputs["answer"]["commented"] == "false"
    assert github.changes == []
    assert "Nothing is posted" in (runner.folder / "summary.md").read_text()


@pytest.mark.slow
def test_a_sure_answer_is_commented_once(runner, shop, github):
    for event_name in ("issues", "workflow_dispatch"):
        runner.environment["GITHUB_EVENT_NAME"] = event_name
        assert runner.run(comment="true", min_confidence="0", issue="7") == 0, runner.printed
    [written] = github.comments
    assert written["body"].startswith("<!-- tosloc:answer -->\n")
    assert "[`Cart.add`](" in written["body"]
    assert "@maintainer" in written["body"]  # As code, which another test checks.
    assert runner.printed == ""
    outputs = runner.outputs["answer"]
    assert outputs["commented"] == "true"
    assert json.loads(Path(outputs["answer"]).read_text())["schema"] == "tosloc.answer/1"
    assert "[#7](https://github.com/o/r/issues/7)" in (runner.folder / "summary.md").read_text()
    assert not list(runner.folder.glob("**/pwned"))
    assert not list(shop.glob("**/pwned"))


@pytest.fixture
def is_owned(runner, tmp_path):
    """Fill the workspace with modules that Python, pip and the steps would import.

    Return a function that says whether one was imported.
    """
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    for name in [*sys.stdlib_module_names, "pip", "tosloc", "scipy", "numpy"]:
        module = f"import os\nos.mkdir({str(tmp_path / 'owned')!r})\n"
        (workspace / f"{name}.py").write_text(module)
    runner.environment |= {"GITHUB_WORKSPACE": str(workspace), "PYTHONPATH": "."}
    return (tmp_path / "owned").exists


def test_a_search_that_takes_too_long_is_stopped(runner):
    runner.tosloc.write_text("#!/bin/sh\nexec sleep 600\n")
    assert runner.run(timeout_minutes="0.01") == 1
    assert runner.printed == (
        "::error::TosLoc: there was no answer within the limit of timeout-minutes (0.01);"
        " shorten the issue, or raise the limit\n"
    )


def test_good_and_bad_commits_are_passed_on(runner, tmp_path, github):
    (tmp_path / "answer.json").write_text(json.dumps(make_answer()))
    runner.tosloc.write_text(f'#!/bin/sh\necho "$@" >{tmp_path}/options\ncat answer.json\n')
    assert runner.run(good="v1.0 --output=x", bad="v1.1") == 0, runner.printed
    options = (tmp_path / "options").read_text()
    assert options.endswith(" --good=v1.0 --good=--output=x --bad=v1.1\n")


def test_similar_issues_are_links():
    text = ACTION.answer_markdown(make_answer(), "https://github.com/o/r")
    assert "Similar issues: [`#3`](https://github.com/o/r/issues/3), " in text


def test_issues_are_read_if_similar_ones_are_wanted(runner, tmp_path, github):
    """Only the reading of issues gets the token."""
    (tmp_path / "answer.json").write_text(json.dumps(make_answer()))
    runner.environment.pop("GITHUB_TOKEN", None)
    runner.tosloc.write_text(
        f'#!/bin/sh\necho "$1 $GITHUB_TOKEN" >>{tmp_path}/calls\ncat answer.json\n'
    )
    assert runner.run(similar="true") == 0, runner.printed
    assert (tmp_path / "calls").read_text() == "mine secret-token\nlocalize \n"


def test_unread_issues_are_a_warning(runner, tmp_path, github):
    (tmp_path / "answer.json").write_text(json.dumps(make_answer()))
    runner.tosloc.write_text(
        '#!/bin/sh\ncase $1 in mine) echo "tosloc: no such project" >&2; exit 2;; esac\n'
        "cat answer.json\n"
    )
    assert runner.run(similar="true") == 0, runner.printed
    assert runner.printed == (
        "::warning::TosLoc: the issues were not read: tosloc: no such project\n"
    )


RECORDING_TOSLOC = """#!/bin/sh
cd {folder}
echo $OLDPWD >where
env >environment
cat answer.json
"""


@pytest.fixture
def recorded_variables(runner, tmp_path, github):
    """Answer with a ``tosloc`` that records its environment; return the variables."""
    (tmp_path / "answer.json").write_text(json.dumps(make_answer()))
    runner.tosloc.write_text(RECORDING_TOSLOC.format(folder=tmp_path))
    runner.environment |= {"GITHUB_TOKEN": "other-token", "ACTIONS_RUNTIME_TOKEN": "a-secret"}
    assert runner.run(comment="true", min_confidence="0") == 0, runner.printed
    assert github.comments
    lines = (tmp_path / "environment").read_text().splitlines()
    return dict(line.partition("=")[::2] for line in lines)


@pytest.fixture
def outputs(runner, tmp_path):
    """Return a function that answers with a confidence of .5, and returns the outputs."""

    def run(**inputs):
        (tmp_path / "answer.json").write_text(json.dumps(make_answer()))
        runner.tosloc.write_text(RECORDING_TOSLOC.format(folder=tmp_path))
        assert runner.run(**inputs) == 0, runner.printed
        return runner.outputs["answer"]

    return run


def test_a_workflow_gets_files_owners_and_labels(outputs):
    values = outputs(labels="shop/** area: shop\n*.py python")
    assert json.loads(values["files"]) == ["shop/cart.py"]
    assert values["owners"] == "ada"
    assert values["teams"] == "acme/core"
    assert values["labels"] == "area: shop,python"


def test_an_unsure_answer_gives_a_workflow_only_its_confidence(outputs, github):
    values = outputs(labels="** all", min_confidence="0.51", comment="true")
    assert values["confidence"] == "0.500000"
    assert {"files", "owners", "teams", "labels"}.isdisjoint(values)
    assert github.changes == []


def test_by_default_a_confidence_of_one_half_is_enough(outputs):
    assert outputs(comment="true")["commented"] == "true"


def test_outputs_are_those_of_the_last_step():
    for name, output in DEFINITION["outputs"].items():
        assert output["value"] == f"${{{{ steps.answer.outputs.{name} }}}}"


@pytest.mark.usefixtures("is_owned")
def test_tosloc_gets_no_token(recorded_variables):
    prefixes = ("INPUT_", "GITHUB_", "ACTIONS_", "PYTHON")
    assert not [name for name in recorded_variables if name.startswith(prefixes)]
    values = set(recorded_variables.values())
    assert "secret-token" not in values
    assert "other-token" not in values
    assert "a-secret" not in values


@pytest.mark.usefixtures("is_owned")
def test_tosloc_runs_in_the_temporary_folder(recorded_variables, tmp_path):
    assert recorded_variables["TOSLOC_CACHE"] == f"{tmp_path}/tosloc-facts"
    assert (tmp_path / "where").read_text().strip() == str(tmp_path)


@pytest.mark.usefixtures("is_owned", "recorded_variables")
def test_no_code_of_the_workspace_runs(tmp_path):
    assert not (tmp_path / "owned").exists()


@pytest.mark.slow
def test_no_code_of_the_workspace_installs(runner, is_owned):
    runner.environment |= {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": ""}
    assert runner.run(install=True) == 1
    # pip has run, and has no index here.
    assert "No matching distribution found for" in runner.printed
    assert not is_owned()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("event", "inputs", "message"),
    [
        ({}, {"comment": "yes"}, "the input comment is 'yes'; it must be true or false\n"),
        ({}, {"top": "0"}, "the input top is '0'; it must be a number from 1 to 50\n"),
        ({"issue": ISSUE | {"title": "", "body": None}}, {}, ""),
    ],
    ids=["comment", "top", "empty issue"],
)
def test_wrong_input_is_one_line(runner, event, inputs, message):
    assert runner.run(LABELLED | event, **inputs) == 1
    assert runner.printed.count("\n") == 1
    assert runner.printed.startswith(f"::error::TosLoc: {message}")
