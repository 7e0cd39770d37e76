"""Issues of GitHub: all closed ones of a repository with who closed them, or one with what its reporter said."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPException
from typing import Any, Final
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from tosloc.core.errors import ReportError, ToslocError
from tosloc.core.records import Progress, ignore_progress

TRIES: Final = 5  # how often a page of issues is asked for while the server fails or is silent, each time later
REFERENCE: Final = re.compile(
    r"(?:(?P<named>[\w.-]+/[\w.-]+)?#|(?:https?://)?(?:www\.)?github\.com/(?P<project>[\w.-]+/[\w.-]+)/(?:issues|pull)/)"
    r"(?P<number>\d{1,9})(?:[/?#]\S*)?",
    re.ASCII,
)
"""#12, OWNER/NAME#12, or the address of an issue or a pull request."""
_NAME: Final = re.compile(r"(?!\.)[\w.-]{1,100}/(?!\.\.?\Z)[\w.-]{1,100}", re.ASCII)
_QUERY: Final = """
query($owner: String!, $name: String!, $after: String) {
  repository(owner: $owner, name: $name) {
    issues(first: 50, after: $after, states: CLOSED, orderBy: {field: CREATED_AT, direction: ASC}) {
      totalCount
      pageInfo { hasNextPage endCursor }
      nodes {
        number title body createdAt closedAt state stateReason url
        labels(first: 20) { nodes { name } }
        timelineItems(last: 5, itemTypes: [CLOSED_EVENT]) {
          nodes { ... on ClosedEvent { closer {
            ... on Commit { oid }
            ... on PullRequest { number mergeCommit { oid } }
          } } }
        }
        closedByPullRequestsReferences(first: 5) { nodes { number mergeCommit { oid } } }
      }
    }
  }
}
"""


def read_token() -> str:
    """The token in GITHUB_TOKEN or GH_TOKEN, else that of ``gh``, where it is installed; else empty.

    Raises ToslocError for what is none.
    """
    token = os.environ.get("GITHUB_TOKEN", "").strip() or os.environ.get("GH_TOKEN", "").strip()
    if not token:
        host = (urlsplit(_api()).hostname or "").removeprefix("api.")
        with suppress(OSError, subprocess.TimeoutExpired):
            asked = ["gh", "auth", "token", "--hostname", host]
            done = subprocess.run(
                asked, stdin=subprocess.DEVNULL, capture_output=True, timeout=10, check=False
            )
            token = done.stdout.decode("ascii", "replace").strip()
    if token and not re.fullmatch(r"[\x21-\x7e]+", token):
        raise ToslocError("GITHUB_TOKEN: holds no token; a token is one word")
    return token


def fetch(
    project: str, token: str, *, progress: Progress = ignore_progress
) -> list[dict[str, Any]]:
    """Closed issues of OWNER/NAME, as GraphQL gives them, which ``Exports`` reads.

    GITHUB_API_URL may name another interface than the public one. Raises ReportError for what GitHub refuses or does
    not answer, ToslocError without a token.
    """
    if not token:
        hint = "put one into GITHUB_TOKEN or GH_TOKEN, or run: gh auth login"
        raise ToslocError(
            "a token that may read the repository is needed", hint=hint, about="github"
        )
    issues: list[dict[str, Any]] = []
    more: dict[str, Any] = {"hasNextPage": True, "endCursor": None}
    with _asking(project, project):
        variables = dict(zip(("owner", "name"), project.split("/"), strict=True))
        while more["hasNextPage"]:
            query = {"query": _QUERY, "variables": variables | {"after": more["endCursor"]}}
            found = _ask(project, "/graphql", token, query)["data"]["repository"]["issues"]
            issues += found["nodes"]
            more = found["pageInfo"]
            progress("reading issues", len(issues), found["totalCount"])
    return issues


def fetch_issue(project: str, number: str, token: str) -> dict[str, Any]:
    """Number, title, body and opening of an issue or pull request of OWNER/NAME, as the REST interface gives them.

    What its reporter said of it later stands at the end of the body; others are left out: they may know the fix. Of a
    public project it needs no ``token``. Raises as ``fetch`` does.
    """
    asked, page = f"{project}#{number}", f"/repos/{project}/issues/{number}"
    with _asking(project, asked):
        issue = _ask(asked, page, token)
        reporter, said = issue["user"], [issue["body"] or ""]  # None where the account is gone
        for place in range(1, -(-issue["comments"] // 100) + 1):
            comments = _ask(asked, f"{page}/comments?per_page=100&page={place}", token)
            own = [
                one
                for one in comments
                if reporter and one["user"] and one["user"]["login"] == reporter["login"]
            ]
            said += [one["body"] or "" for one in own]
        return {key: issue[key] for key in ("number", "title", "created_at")} | {
            "body": "\n\n".join(said)
        }


def _api() -> str:
    return os.environ.get("GITHUB_API_URL") or "https://api.github.com"


@contextmanager
def _asking(project: str, asked: str) -> Iterator[None]:
    """Raise ReportError for what cannot be a project's name, and for an answer that lacks what is read."""
    if not _NAME.fullmatch(project):
        raise ReportError(f"{asked}: is no OWNER/NAME, such as pallets/flask")
    try:
        yield
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        what = f"GitHub's answer cannot be read ({type(error).__name__})"
        raise ReportError(f"{asked}: {what}; try again later") from None


def _ask(asked: str, place: str, token: str, query: dict[str, Any] | None = None) -> Any:
    """GitHub's answer, to a query if there is one; what goes wrong becomes a sentence, with what GitHub says of it."""
    api = urlsplit(_api())
    if api.scheme != "https" and not (
        api.scheme == "http" and api.hostname in ("localhost", "127.0.0.1", "::1")
    ):
        raise ToslocError(
            f"{_api()}: the token would be sent for all to read; give an address that begins with https"
        )
    base = _api().removesuffix("/v3") if query else _api()
    request = Request(
        base + place, json.dumps(query).encode() if query else None, {"User-Agent": "tosloc"}
    )
    if token:  # a repository that was renamed is found; but another host must not get the token
        request.add_unredirected_header("Authorization", f"token {token}")
    for tried in range(TRIES if query else 1):
        time.sleep(tried**2)
        try:
            with urlopen(request, timeout=60) as response:
                answer = json.load(response)
            if "errors" not in answer:
                return answer
            why = f"refuses it ({answer['errors'][0]['message']})"
            break
        except HTTPError as error:
            why = f"answers {error.code}"
            with error, suppress(AttributeError, ValueError):
                why += f" ({json.load(error).get('message')})"
            why += "" if token else "; a token in GITHUB_TOKEN may read more"
            if error.code < 500:
                break
        except (OSError, HTTPException) as error:
            why = f"does not answer ({getattr(error, 'reason', error)})"
    raise ReportError(f"{asked}: GitHub {why}")
