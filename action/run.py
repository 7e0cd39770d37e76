"""The action's two programs: ``run.py issue`` decides whether to answer, ``run.py answer`` answers.

It needs only the standard library. Text of strangers (title and text of an issue, paths and commits
of a repository) stays in files: it is never an argument or a part of a shell line. Where the runner
could take a printed line for a command, its special characters are escaped first.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import uuid
from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import HTTPRedirectHandler, Request, build_opener

MARKER = "<!-- tosloc:answer -->"
"""The beginning of our comment, by which it is found again; readers do not see it."""
MAX_COMMENT_CHARACTERS = 65_000
"""Characters of a comment. GitHub accepts 65,536."""
MAX_LIKELY_FILES = 3
MIN_SHARE_OF_FIRST = 0.2
"""As in ``tosloc``: a likely file has at least this share of the confidence in the first one."""
MAX_TEXT_CHARACTERS = 300
"""Characters of a reason or name."""
REASONS_IN_COMMENT = 2
"""Most reasons of a file."""
COMMENTS_PER_PAGE = 100
"""Comments that one call returns, the most that GitHub allows."""
ISSUE_FILE = "tosloc-issue.json"
ANSWER_FILE = "tosloc-answer.json"
PASSED_VARIABLES = (
    "PATH",
    "HOME",
    "LANG",
    "LC_ALL",
    "TMPDIR",
    "TOSLOC_CACHE",
    "TOSLOC_CACHE_SIZE",
)
"""Environment variables that ``tosloc`` gets: no token, and no secret of the workflow."""
_STATUS_MEANINGS = {
    401: "the token is not valid",
    403: (
        "the token lacks a permission; give the workflow `permissions: issues: write`, and check"
        " whether the issue is locked"
    ),
    404: "the issue does not exist, or the token may not read it",
    410: "the issue was deleted, or issues are turned off",
    429: "the rate limit is reached; run the workflow again later",
}
_MOVED = "the issue was transferred, or the repository was renamed"


class ActionError(Exception):
    """An error that the author of the workflow can mend; its message is one sentence."""


class _NoRedirects(HTTPRedirectHandler):
    """Refuses redirects, so that the token is sent to no host but the one that the runner names."""

    def redirect_request(self, *_: Any) -> None:
        """Return no request."""
        return None


def call_issues_api(method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
    """Call the REST API of the repository's issues and return its JSON. Raises ActionError.

    See https://docs.github.com/rest/issues.
    """
    issues = f"/repos/{os.environ['GITHUB_REPOSITORY']}/issues"
    request = Request(
        f"{os.environ['GITHUB_API_URL']}{issues}{path}",
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={
            "Accept": "application/vnd.github+json",
            "Authorization": f"Bearer {os.environ['INPUT_TOKEN']}",
            "X-GitHub-Api-Version": "2022-11-28",
            "User-Agent": "tosloc-action",
            "Content-Type": "application/json",
        },
    )
    try:
        with build_opener(_NoRedirects).open(request, timeout=60) as response:
            return json.load(response)
    except HTTPError as error:
        error.close()
        if 300 <= error.code < 400:
            meaning = _MOVED
        else:
            meaning = _STATUS_MEANINGS.get(error.code, "the server gave an unexpected answer")
        problem = f"status {error.code}, {meaning}"
    except (OSError, ValueError) as error:
        problem = str(error)
    raise ActionError(f"{method} {issues}{path}: {problem}")


# The issue


def select_issue(event: Mapping[str, Any]) -> Mapping[str, Any] | str:
    """Return the issue that an event asks about, or the reason why it asks about none."""
    event_name = os.environ["GITHUB_EVENT_NAME"]
    if event_name == "workflow_dispatch":
        number = os.environ["INPUT_ISSUE"].strip()
        if re.fullmatch(r"[1-9][0-9]{0,9}", number) is None:
            raise ActionError("a manual run needs the input `issue`, the number of an issue")
        issue = call_issues_api("GET", f"/{number}")
    elif event_name == "issues":
        issue = event["issue"]
        label = os.environ["INPUT_LABEL"]
        labels = [event["label"]] if event["action"] == "labeled" else issue["labels"]
        label_names = [each["name"].lower() for each in labels]
        if label.lower() not in label_names:
            return f"this event does not set the label {label}"
    else:
        return f"it does not handle events of the kind {event_name}"
    if "pull_request" in issue:
        return "this is a pull request"
    author = issue["user"] or {}  # None if the account was deleted.
    if author.get("type") == "Bot" or author.get("login", "").endswith("[bot]"):
        return "a bot opened the issue"
    return issue


# The text of the answer


def code(text: str) -> str:
    """Return a text as code in Markdown, where it cannot become a mention, link or heading.

    >>> print(code("a"), code("`@all` <img>"), code("one\\n\\n# two"))
    `a` `` `@all` <img> `` `one # two`
    """
    printable = "".join(character if character.isprintable() else " " for character in text)
    text = " ".join(printable.split()) or "?"
    if len(text) > MAX_TEXT_CHARACTERS:
        text = text[: MAX_TEXT_CHARACTERS - 3] + "..."
    longest_run = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * (1 + longest_run)
    padding = " " if text[0] == "`" or text[-1] == "`" else ""
    return f"{fence}{padding}{text}{padding}{fence}"


def percent(confidence: float) -> str:
    """Return a confidence in percent, as ``tosloc`` prints it; a dash if the answer has none."""
    if confidence > 0.005:
        return f"{confidence:.0%}"
    return "below 1%" if confidence else "-"


def likely_hits(answer: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the first files that may be it, compared with the very first one."""
    hits = answer["hits"][:MAX_LIKELY_FILES]
    return [hit for hit in hits if hit["confidence"] >= MIN_SHARE_OF_FIRST * hits[0]["confidence"]]


def answer_markdown(answer: Mapping[str, Any], repository: str) -> str:
    """Return an answer as Markdown: what the report states, the files that may be it, the rest.

    Only files that may be it have functions, lines and reasons; what else there is, is folded.
    ``repository`` is the address of the repository's page.
    """
    commit_page = f"{repository}/commit"
    file_page = f"{repository}/blob/{answer['commit']}"
    lines = [f"{code(statement)}\n" for statement in answer.get("statements", [])]
    suspects = [
        _suspect_line(change, file_page, commit_page) for change in answer.get("suspects", [])
    ]
    leads_with_suspects = bool(suspects) and answer.get("leads_with_suspects", False)
    if leads_with_suspects:
        lines += ["Changes that may have introduced the bug:", "", *suspects, ""]
    likely = likely_hits(answer)
    if likely:
        lines.append("The bug is most likely here:\n")
    else:
        lines.append("No file matches the issue.")
    for hit in likely:
        lines.append(_ranked_line(hit, file_page))
        lines += _detail_lines(hit, file_page, commit_page)
    lines += _background_lines(answer, repository)
    less_likely = [_ranked_line(hit, file_page) for hit in answer["hits"][len(likely) :]]
    lines += _folded(f"Less likely files ({len(less_likely)})", less_likely)
    others = [f"- {_file_link(other, file_page)}" for other in answer["others"]]
    lines += _folded(f"Files of other kinds ({len(others)})", others)
    if not leads_with_suspects:
        lines += _folded(f"Changes that may have introduced the bug ({len(suspects)})", suspects)
    number = answer["searched"]["files"]
    files = f"{number} file" if number == 1 else f"{number} files"
    version = f"[{code(answer['commit'][:10])}]({commit_page}/{answer['commit']})"
    lines += [
        "",
        f"TosLoc searched {files} of commit {version} and ran nothing. It can be wrong: a"
        " percentage is its confidence in a file.",
    ]
    return "\n".join(lines) + "\n"


def _ranked_line(hit: Mapping[str, Any], file_page: str) -> str:
    """Return an item of the list of files: its link and its confidence."""
    return f"{hit['rank']}. {_file_link(hit, file_page)} {percent(hit['confidence'])}"


def _background_lines(answer: Mapping[str, Any], repository: str) -> list[str]:
    """Return a paragraph with similar issues, tests of the first file and who changed it last."""
    background = answer.get("background") or {}
    sentences = []
    if similar := background.get("similar"):
        links = [_issue_link(reason["issue"], repository) for reason in similar]
        sentences.append(f"Similar issues: {', '.join(links)}.")
    if tests := background.get("tests"):
        sentences.append(f"Related tests: {', '.join(map(code, tests))}.")
    if people := background.get("people"):
        name = code(people[0]["name"])
        sentences.append(f"The first file was last changed by {name}.")
    return ["", " ".join(sentences)] if sentences else []


def _issue_link(name: str, repository: str) -> str:
    """Return a link to an issue of the repository, whose name is # and its number."""
    if re.fullmatch(r"#[1-9][0-9]{0,9}", name) is None:
        return code(name)
    return f"[{code(name)}]({repository}/issues/{name[1:]})"


def fixed_markdown(answer: Mapping[str, Any], repository: str) -> str:
    """Return the paragraph about the commit that has probably fixed the issue; "" for none."""
    fix = answer.get("fixed_by")
    if fix is None:
        return ""
    link = f"[{code(fix['commit'][:10])}]({repository}/commit/{fix['commit']})"
    subject = f": {code(fix['subject'])}" if fix["subject"] else ""
    return f"**Probably fixed already** by {link} ({fix['committed'][:10]}){subject}\n\n"


def _file_address(path: str, file_page: str) -> str:
    """Return the address of a file's page."""
    return f"{file_page}/{quote(path.encode('utf-8', 'surrogateescape'))}"


def _file_link(hit: Mapping[str, Any], file_page: str) -> str:
    """Return a link to a file."""
    return f"[{code(hit['path'])}]({_file_address(hit['path'], file_page)})"


def _detail_lines(hit: Mapping[str, Any], file_page: str, commit_page: str) -> list[str]:
    """Return a line with the functions of a file, its lines of code, and one for each reason."""
    address = _file_address(hit["path"], file_page)
    functions = []
    for function in hit["functions"]:
        lines = f"#L{function['start']}-L{function['end']}"
        functions.append(f"[{code(function['name'])}]({address}{lines})")
    details = [f"   - Look at {', '.join(functions)}"] if functions else []
    # The first file alone has lines: a comment is read at a glance.
    for line in hit.get("code", []) if hit["rank"] == 1 else []:
        number = line["line"]
        details.append(f"   - [line {number}]({address}#L{number}) {code(line['text'])}")
    # Matching words repeat what the issue says, so they are the last reasons that are shown.
    reasons = sorted(hit["reasons"], key=lambda reason: reason.get("kind") == "words")
    for reason in reasons[: REASONS_IN_COMMENT if hit["rank"] == 1 else 1]:
        text = code(reason["text"])
        if "commit" in reason:
            text = f"[{text}]({commit_page}/{reason['commit']})"
        details.append(f"   - {text}")
    return details


def _suspect_line(change: Mapping[str, Any], file_page: str, commit_page: str) -> str:
    """Return a line about a past change that may have introduced the bug."""
    commit = f"[{code(change['commit'][:10])}]({commit_page}/{change['commit']})"
    line = f"- {commit} {change['committed'][:10]} {code(change['subject'])}"
    line += f" in {_file_link(change, file_page)}"
    if change["reasons"]:
        line += f": {code(', '.join(change['reasons']))}"
    return line


def _folded(summary: str, lines: list[str]) -> list[str]:
    """Return lines as a folded block, nothing if there are none."""
    if not lines:
        return []
    return ["", f"<details><summary>{summary}</summary>", "", *lines, "", "</details>"]


# What the workflow can do with the answer


def split_owners(answer: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Return the accounts and the teams that CODEOWNERS names for the first file, without "@".

    Addresses of mail are left out, because nobody can be assigned by one.
    """
    accounts = []
    teams = []
    for owner in (answer.get("background") or {}).get("owners", []):
        if re.fullmatch(r"@[A-Za-z0-9-]+", owner):
            accounts.append(owner[1:])
        elif re.fullmatch(r"@[A-Za-z0-9-]+/[A-Za-z0-9._-]+", owner):
            teams.append(owner[1:])
    return accounts, teams


def choose_labels(table: str, path: str) -> list[str]:
    """Return the labels of a file by a table whose lines are a glob, blanks and a label.

    Globs are as in CODEOWNERS. Raises ActionError for a line without a label.

    >>> choose_labels("src/web/** area: web\\n*.css  design\\ndocs/ docs", "src/web/page.css")
    ['area: web', 'design']
    """
    labels = []
    for line in table.splitlines():
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        pattern, _, label = line.strip().partition(" ")
        label = label.strip()
        if not label or "," in label:
            raise ActionError(
                f"the input labels has the line {line.strip()!r}; write a glob, a blank and a label"
                " without commas"
            )
        if _glob_expression(pattern).match(path) and label not in labels:
            labels.append(label)
    return labels


def _glob_expression(pattern: str) -> re.Pattern[str]:
    """Return an expression for the paths that a glob of CODEOWNERS matches, and those below."""
    is_anchored = "/" in pattern.rstrip("/")
    expression = "" if is_anchored else "(?:.*/)?"
    for part in re.split(r"(\*\*/|\*\*|\*|\?)", pattern.strip("/")):
        wildcards = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
        expression += wildcards.get(part, re.escape(part))
    return re.compile(rf"{expression}(?:/.*)?\Z", re.DOTALL)


# The comment


def write_comment(number: int, text: str) -> None:
    """Write the comment, or edit the one that is there. Raises ActionError."""
    for page in count(1):
        query = f"per_page={COMMENTS_PER_PAGE}&page={page}"
        comments = call_issues_api("GET", f"/{number}/comments?{query}")
        for comment in comments:
            if _is_own_comment(comment):
                if comment["body"].replace("\r\n", "\n").strip() != text.strip():
                    path = f"/comments/{int(comment['id'])}"
                    call_issues_api("PATCH", path, {"body": text})
                return
        if len(comments) < COMMENTS_PER_PAGE:
            call_issues_api("POST", f"/{number}/comments", {"body": text})
            return


def _is_own_comment(comment: Mapping[str, Any]) -> bool:
    """Return whether the action has written a comment. Anybody may write the marker."""
    author = (comment["user"] or {}).get("login")
    is_marked = (comment["body"] or "").startswith(MARKER)
    return is_marked and author == os.environ["INPUT_COMMENT_AUTHOR"]


# The runner


def print_command(kind: str, text: str) -> None:
    """Print a command of the runner; characters that would end it or begin another are escaped."""
    escaped = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    print(f"::{kind}::{escaped}", flush=True)


def set_outputs(values: Mapping[str, str]) -> None:
    """Write outputs of the step, each between two lines that nobody can guess."""
    with open(os.environ["GITHUB_OUTPUT"], "a", encoding="utf-8") as file:
        for name, value in values.items():
            delimiter = uuid.uuid4().hex
            file.write(f"{name}<<{delimiter}\n{value}\n{delimiter}\n")


def read_number(name: str, low: float, high: float) -> float:
    """Return an input that is a number between two bounds. Raises ActionError for any other."""
    text = os.environ[f"INPUT_{name}"].strip()
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not low <= value <= high:
        label = name.lower().replace("_", "-")
        raise ActionError(
            f"the input {label} is {text!r}; it must be a number from {low:g} to {high:g}"
        )
    return value


def read_flag(name: str) -> bool:
    """Return an input that is true or false. Raises ActionError for any other."""
    text = os.environ[f"INPUT_{name}"].strip().lower()
    if text not in ("true", "false"):
        raise ActionError(f"the input {name.lower()} is {text!r}; it must be true or false")
    return text == "true"


def range_options() -> list[str]:
    """Return the options that bound the suspect changes by good commits and a bad one."""
    good = [f"--good={revision}" for revision in os.environ["INPUT_GOOD"].split()]
    bad = os.environ["INPUT_BAD"].strip()
    return [*good, f"--bad={bad}"] if bad else good


def runner_file(name: str) -> Path:
    """Return the path of a file in the runner's temporary folder."""
    return Path(os.environ["RUNNER_TEMP"], name)


def issue() -> None:
    """Run the first step: decide whether to answer, and write the issue into a file."""
    event = json.loads(Path(os.environ["GITHUB_EVENT_PATH"]).read_text(encoding="utf-8"))
    selected = select_issue(event)
    if isinstance(selected, str):
        print_command("notice", f"TosLoc gives no answer: {selected}")
        set_outputs({"asked": "false"})
        return
    fields = {key: selected.get(key) for key in ("number", "title", "body", "created_at")}
    runner_file(ISSUE_FILE).write_text(json.dumps(fields), encoding="utf-8")
    set_outputs({"asked": "true"})


def answer() -> None:
    """Run the last step: write the answer and the summary, and perhaps a comment.

    Unless the confidence in the first file is large enough, there is no comment, and the outputs by
    which a workflow may assign and label the issue are empty.
    """
    min_confidence = read_number("MIN_CONFIDENCE", 0, 1)
    top = read_number("TOP", 1, 50)
    functions = read_number("FUNCTIONS", 0, 20)
    minutes = read_number("TIMEOUT_MINUTES", 0.01, 360)
    wants_comment = read_flag("COMMENT")
    choose_labels(os.environ["INPUT_LABELS"], "")  # A wrong table is an error at once.
    if read_flag("SIMILAR"):
        read_issues(minutes)
    options = ["--top", f"{top:.0f}", "--functions", f"{functions:.0f}", *range_options()]
    output = run_tosloc(options, minutes)
    runner_file(ANSWER_FILE).write_text(output, encoding="utf-8")
    result = json.loads(output)
    number = int(json.loads(runner_file(ISSUE_FILE).read_text(encoding="utf-8"))["number"])
    first_confidence = result["hits"][0]["confidence"] if result["hits"] else 0.0
    is_sure = bool(result["hits"]) and first_confidence >= min_confidence
    write_summary(result, number, min_confidence, "" if is_sure else f"{first_confidence:.2f}")
    answer_file = str(runner_file(ANSWER_FILE))
    set_outputs({"answer": answer_file, "confidence": f"{first_confidence:.6f}"})
    if is_sure:
        accounts, teams = split_owners(result)
        labels = choose_labels(os.environ["INPUT_LABELS"], result["hits"][0]["path"])
        set_outputs(
            {
                # JSON, because a path may contain anything.
                "files": json.dumps([hit["path"] for hit in likely_hits(result)]),
                "owners": ",".join(accounts),
                "teams": ",".join(teams),
                "labels": ",".join(labels),
            }
        )
    if is_sure and wants_comment:
        write_comment(number, comment_text(result))
        set_outputs({"commented": "true"})
    else:
        set_outputs({"commented": "false"})


def call_tosloc(
    arguments: Sequence[str], minutes: float, access: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """Run the installed command, which gets few variables of the environment and ``access``.

    Raises TimeoutExpired after ``minutes``.
    """
    environment = {name: os.environ[name] for name in PASSED_VARIABLES if name in os.environ}
    return subprocess.run(
        [str(runner_file("tosloc/bin/tosloc")), *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        cwd=os.environ["RUNNER_TEMP"],
        env={**environment, **access},
        timeout=60 * minutes,
    )


def read_issues(minutes: float) -> None:
    """Let ``tosloc mine`` read the issues of the repository; only it gets the token.

    If they cannot be read, the answer has no similar issues.
    """
    arguments = ["mine", "--repo", os.environ["GITHUB_WORKSPACE"]]
    arguments += ["--github", os.environ["GITHUB_REPOSITORY"]]
    access = {
        "GITHUB_API_URL": os.environ["GITHUB_API_URL"],
        "GITHUB_TOKEN": os.environ["INPUT_TOKEN"],
    }
    try:
        # Its exit code says whether fixes are known, which does not matter here.
        process = call_tosloc(arguments, minutes, access)
    except subprocess.TimeoutExpired:
        print_command("warning", "TosLoc: the issues were not read within timeout-minutes")
        return
    last_line = process.stderr.strip().rpartition("\n")[2]
    if process.returncode and "no usable fix" not in last_line:
        print_command("warning", f"TosLoc: the issues were not read: {last_line}")


def run_tosloc(options: Sequence[str], minutes: float) -> str:
    """Localize the issue in the workspace and return the answer as JSON. Raises ActionError."""
    workspace = os.environ["GITHUB_WORKSPACE"]
    arguments = ["localize", str(runner_file(ISSUE_FILE)), "--json"]
    arguments += ["--repo", workspace, "--commit", "HEAD", *options]
    try:
        process = call_tosloc(arguments, minutes, {})
    except subprocess.TimeoutExpired:
        raise ActionError(
            f"there was no answer within the limit of timeout-minutes ({minutes:g}); shorten the"
            " issue, or raise the limit"
        ) from None
    if process.returncode:
        last_line = process.stderr.strip().rpartition("\n")[2]
        raise ActionError(last_line or f"tosloc failed with exit code {process.returncode}")
    return process.stdout


def repository_page() -> str:
    """Return the address of the repository's page."""
    return f"{os.environ['GITHUB_SERVER_URL']}/{os.environ['GITHUB_REPOSITORY']}"


def write_summary(
    result: Mapping[str, Any], number: int, min_confidence: float, unsure_confidence: str
) -> None:
    """Add the answer to the summary of the run; ``unsure_confidence`` is "" for a sure answer."""
    page = repository_page()
    title = code(result["report"]["summary"])
    text = f"### TosLoc: [#{number}]({page}/issues/{number}) {title}\n\n"
    text += fixed_markdown(result, page) + answer_markdown(result, page)
    if unsure_confidence:
        text += (
            "\nNothing is posted, because the confidence in the first file"
            f" ({unsure_confidence}) is below min-confidence ({min_confidence:g}).\n"
        )
    for note in result["notes"]:
        text += f"\n> {code(note)}\n"
    with open(os.environ["GITHUB_STEP_SUMMARY"], "a", encoding="utf-8", errors="replace") as file:
        file.write(f"{text}\n")


def comment_text(result: dict[str, Any]) -> str:
    """Return the comment, from which the last files are left out if it is too long."""
    hits = list(result["hits"])
    fixed = fixed_markdown(result, repository_page())
    while True:
        markdown = answer_markdown({**result, "hits": hits}, repository_page())
        text = f"{MARKER}\n{fixed}{markdown}"
        if len(text) <= MAX_COMMENT_CHARACTERS:
            return text
        hits.pop()


if __name__ == "__main__":
    try:
        {"issue": issue, "answer": answer}[sys.argv[1]]()
    except ActionError as failure:
        print_command("error", f"TosLoc: {failure}")
        sys.exit(1)
