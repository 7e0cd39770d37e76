"""The two steps of the action that are a program: ``run.py issue`` says whether it is asked, ``run.py answer`` answers.

Nothing but the standard library. What strangers write (title and text of an issue, paths and commits of a repository)
stays in files: it is no argument, no part of a shell line, and is printed where a line could be taken for a command of
the runner only after its letters have been escaped.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import uuid
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import HTTPRedirectHandler, Request, build_opener

MARKER = "<!-- tosloc:answer -->"
"""How our comment begins, which no reader sees: it is found again by it."""
LONGEST = 65_000  # letters of a comment; GitHub takes 65,536
HEADING = f"{MARKER}\nFiles that this may be about, from their words and their history:"
LONGEST_TEXT = 300
"""Letters of a reason or name."""
ISSUE_FILE = "tosloc-issue.json"
ANSWER_FILE = "tosloc-answer.json"
KEPT = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "TOSLOC_CACHE", "TOSLOC_CACHE_SIZE")
"""What ``tosloc`` gets of the environment: no token, and no secret of the workflow."""
_MEANINGS = {
    401: "the token is not valid",
    403: "the token may not do this; give the workflow `permissions: issues: write`, and see whether it is locked",
    404: "not there, or the token may not see it",
    410: "it was deleted, or issues are turned off",
    429: "the rate limit is reached; run it again later",
}


class ActionError(Exception):
    """What the workflow's author has to know, in one sentence."""


class _NoRedirects(HTTPRedirectHandler):
    """A token is sent to the host that the runner names, and to no other."""

    def redirect_request(self, *_: Any) -> None:
        return None


def call(method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
    """What a REST call about the issues answers: https://docs.github.com/rest/issues. Raises ActionError."""
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
        with build_opener(_NoRedirects).open(request, timeout=60) as answer:
            return json.load(answer)
    except HTTPError as error:
        error.close()
        moved = "moved; the issue was transferred, or the repository renamed"
        about = (
            moved
            if 300 <= error.code < 400
            else _MEANINGS.get(error.code, "the server did not answer as told")
        )
        why = f"{error.code}, {about}"
    except (OSError, ValueError) as error:
        why = str(error)
    raise ActionError(f"{method} {issues}{path}: {why}")


# ---- is an answer asked?


def asked_issue(event: Mapping[str, Any]) -> Mapping[str, Any] | str:
    """The issue that an event asks about, or why it asks for none."""
    name, label = os.environ["GITHUB_EVENT_NAME"], os.environ["INPUT_LABEL"]
    if name == "workflow_dispatch":
        number = os.environ["INPUT_ISSUE"].strip()
        if re.fullmatch(r"[1-9][0-9]{0,9}", number) is None:
            raise ActionError("run by hand it needs the input `issue`, a number")
        issue = call("GET", f"/{number}")
    elif name == "issues":
        issue = event["issue"]
        labels = [event["label"]] if event["action"] == "labeled" else issue["labels"]
        if label.lower() not in [one["name"].lower() for one in labels]:
            return f"the label is not {label}"
    else:
        return f"events of {name} ask for nothing"
    if "pull_request" in issue:
        return "it is a pull request"
    author = issue["user"] or {}  # None where the account is gone
    if author.get("type") == "Bot" or author.get("login", "").endswith("[bot]"):
        return "a bot has opened it"
    return issue


# ---- what is written


def code(text: str) -> str:
    """Text that stays as it is in Markdown: no mention, link, picture, heading or HTML comes of it.

    >>> print(code("a"), code("`@all` <img>"), code("one\\n\\n# two"))
    `a` `` `@all` <img> `` `one # two`
    """
    text = " ".join("".join(char if char.isprintable() else " " for char in text).split()) or "?"
    text = text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 3] + "..."
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", text)), default=0))
    pad = " " if text[0] == "`" or text[-1] == "`" else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def percent(share: float) -> str:
    """Return a share in percent, as ``tosloc`` prints it; a dash if the answer has no shares."""
    if share > 0.005:
        return f"{share:.0%}"
    return "below 1%" if share else "-"


def body_of(answer: Mapping[str, Any], repository: str, least: float) -> str:
    """Files with functions and reasons, as Markdown; those with a share below ``least``, and those that are no sources,
    are folded away and have neither. ``repository`` is its page.
    """
    commit = answer["commit"]
    lines, folded = [], []

    def page_of(path: str) -> str:
        address = quote(path.encode("utf-8", "surrogateescape"))
        return f"{repository}/blob/{commit}/{address}"

    for hit in answer["hits"]:
        page = page_of(hit["path"])
        line = f"{hit['rank']}. [{code(hit['path'])}]({page}) {percent(hit['share'])}"
        if hit["share"] < least:
            folded.append(line)
            continue
        found = [
            f"[{code(one['name'])}]({page}#L{one['start']}-L{one['end']})"
            for one in hit["functions"]
        ]
        lines += [line, *([f"   - {', '.join(found)}"] if found else [])]
        for reason in hit["why"][:2]:
            said = code(reason["text"])
            if "commit" in reason:
                said = f"[{said}]({repository}/commit/{reason['commit']})"
            lines.append(f"   - {said}")
    if folded:
        lines += [
            "",
            f"<details><summary>{len(folded)} less likely</summary>",
            "",
            *folded,
            "",
            "</details>",
        ]
    if others := [f"- [{code(one['path'])}]({page_of(one['path'])})" for one in answer["others"]]:
        lines += ["", "<details><summary>Other files</summary>", "", *others, "", "</details>"]
    version = f"[{code(commit[:10])}]({repository}/commit/{commit})"
    lines += [
        "",
        f"Searched: {answer['searched']['files']} files of {version}. Percentages say how sure it is.",
    ]
    return "\n".join(lines) + "\n"


def write_comment(number: int, text: str) -> None:
    """Write the comment, or edit the one that is there. Raises ActionError."""
    for page in count(1):
        comments = call("GET", f"/{number}/comments?per_page=100&page={page}")
        for comment in comments:
            # anybody may write the marker: what others have written is never touched
            own = (comment["user"] or {}).get("login") == os.environ["INPUT_COMMENT_AUTHOR"]
            if own and (comment["body"] or "").startswith(MARKER):
                if comment["body"].replace("\r\n", "\n").strip() != text.strip():
                    call("PATCH", f"/comments/{int(comment['id'])}", {"body": text})
                return
        if len(comments) < 100:
            call("POST", f"/{number}/comments", {"body": text})
            return


# ---- the runner


def command(kind: str, text: str) -> None:
    """A message of the runner; letters that would end it, or begin another, are escaped."""
    escaped = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    print(f"::{kind}::{escaped}", flush=True)


def set_outputs(values: Mapping[str, str]) -> None:
    """Outputs of the step; each between two lines that nobody can know before."""
    with open(os.environ["GITHUB_OUTPUT"], "a", encoding="utf-8") as file:
        for name, value in values.items():
            end = uuid.uuid4().hex
            file.write(f"{name}<<{end}\n{value}\n{end}\n")


def setting(name: str, low: float, high: float) -> float:
    """An input that is a number. Raises ActionError."""
    given = os.environ[f"INPUT_{name}"].strip()
    try:
        value = float(given)
    except ValueError:
        value = float("nan")
    if not low <= value <= high:
        what = name.lower().replace("_", "-")
        raise ActionError(f"the input {what} is {given!r}; give a number, {low:g} to {high:g}")
    return value


def issue() -> None:
    """First step: whether the event asks for an answer; the issue goes into a file."""
    found = asked_issue(
        json.loads(Path(os.environ["GITHUB_EVENT_PATH"]).read_text(encoding="utf-8"))
    )
    asked = not isinstance(found, str)
    if isinstance(found, str):
        command("notice", f"TosLoc says nothing: {found}")
    else:
        kept = {key: found.get(key) for key in ("number", "title", "body", "created_at")}
        Path(os.environ["RUNNER_TEMP"], ISSUE_FILE).write_text(json.dumps(kept), encoding="utf-8")
    set_outputs({"asked": str(asked).lower()})


def answer() -> None:
    """Last step: the answer, the summary, and the comment where it is wanted and the answer is sure."""
    temporary = Path(os.environ["RUNNER_TEMP"])
    share, top, functions = (
        setting("MIN_SHARE", 0, 1),
        setting("TOP", 1, 50),
        setting("FUNCTIONS", 0, 20),
    )
    minutes = setting("TIMEOUT_MINUTES", 0.01, 360)
    wanted = os.environ["INPUT_COMMENT"].strip().lower()
    if wanted not in ("true", "false"):
        raise ActionError(f"the input comment is {wanted!r}; give true or false")
    tosloc = [
        str(temporary / "tosloc/bin/tosloc"),
        "localize",
        str(temporary / ISSUE_FILE),
        "--json",
    ]
    given = ["--repo", os.environ["GITHUB_WORKSPACE"], "--commit", "HEAD"]
    given += ["--top", f"{top:.0f}", "--functions", f"{functions:.0f}"]
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    try:
        done = subprocess.run(
            [*tosloc, *given],
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
            cwd=temporary,
            env=kept,
            timeout=60 * minutes,
        )
    except subprocess.TimeoutExpired:
        raise ActionError(
            f"no answer after {minutes:g} minutes; shorten the issue, or give the input timeout-minutes more"
        ) from None
    if done.returncode:
        raise ActionError(
            done.stderr.strip().rpartition("\n")[2] or f"tosloc ended with {done.returncode}"
        )
    (temporary / ANSWER_FILE).write_text(done.stdout, encoding="utf-8")
    found = json.loads(done.stdout)
    number = int(json.loads((temporary / ISSUE_FILE).read_text(encoding="utf-8"))["number"])
    page = f"{os.environ['GITHUB_SERVER_URL']}/{os.environ['GITHUB_REPOSITORY']}"
    body = body_of(found, page, share)
    first = next((hit["share"] for hit in found["hits"]), 0.0)
    sure = bool(found["hits"]) and first >= share
    notes = "".join(f"\n> {code(note)}\n" for note in found["notes"])
    unsure = (
        "" if sure else f"\nNot sure enough for a comment: {first:.2f} is less than {share:g}.\n"
    )
    heading = f"### TosLoc: [#{number}]({page}/issues/{number}) {code(found['report']['summary'])}"
    with open(os.environ["GITHUB_STEP_SUMMARY"], "a", encoding="utf-8", errors="replace") as file:
        file.write(f"{heading}\n\n{body}{unsure}{notes}\n")
    set_outputs({"answer": str(temporary / ANSWER_FILE), "share": f"{first:.6f}"})
    commented = sure and wanted == "true"
    if commented:
        while len(text := f"{HEADING}\n\n{body_of(found, page, share)}") > LONGEST:
            found["hits"].pop()
        write_comment(number, text)
    set_outputs({"commented": str(commented).lower()})


if __name__ == "__main__":
    try:
        {"issue": issue, "answer": answer}[sys.argv[1]]()
    except ActionError as failure:
        command("error", f"TosLoc: {failure}")
        sys.exit(1)
