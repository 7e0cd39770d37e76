"""Read issues of GitHub: all issues of a repository, or one with its reporter's comments."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPException
from typing import Any, Final, NamedTuple
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import ProxyHandler, Request, build_opener, urlopen

from tosloc.core.errors import ReportError, ToslocError
from tosloc.core.io import parse_json
from tosloc.core.progress import Progress, ignore_progress
from tosloc.core.proxies import is_loopback

MAX_TRIES: Final = 5
"""Number of requests for a page of issues while the server fails, each after a longer pause."""
_REFERENCE: Final = re.compile(
    r"(?:(?P<named>[\w.-]+/[\w.-]+)?#"
    r"|(?:https?://)?(?:www\.)?github\.com/(?P<project>[\w.-]+/[\w.-]+)/(?:issues|pull)/)"
    r"(?P<number>\d{1,9})(?:[/?#]\S*)?",
    re.ASCII,
)
"""#12, OWNER/NAME#12, or the web address of an issue or a pull request."""
_PROJECT_NAME: Final = re.compile(r"(?!\.)[\w.-]{1,100}/(?!\.\.?\Z)[\w.-]{1,100}", re.ASCII)
_TOKEN: Final = re.compile(r"[\x21-\x7e]+")
_COMMENTS_PER_PAGE: Final = 100
_TIMEOUT_SECONDS: Final = 60
_MAX_ANSWER_BYTES: Final = 100_000_000
"""Largest number of bytes of an answer; fifty issues or a hundred comments have fewer."""
_QUERY: Final = """
query($owner: String!, $name: String!, $after: String) {
  repository(owner: $owner, name: $name) {
    issues(first: 50, after: $after, orderBy: {field: CREATED_AT, direction: ASC}) {
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


class IssueReference(NamedTuple):
    """An issue or a pull request that a text names."""

    project: str
    """OWNER/NAME; "" if the text names only the number."""
    number: str

    @classmethod
    def parse(cls, text: str) -> IssueReference | None:
        """Return the reference if the whole text is one, such as OWNER/NAME#12; otherwise None.

        >>> IssueReference.parse("#12"), IssueReference.parse("it fails")
        (IssueReference(project='', number='12'), None)
        """
        match = _REFERENCE.fullmatch(text)
        if match is None:
            return None
        return cls(match["named"] or match["project"] or "", match["number"])

    def fetch(self) -> dict[str, Any]:
        """Return the issue as ``fetch_issue`` does, requested with the user's token."""
        return fetch_issue(self.project, self.number, read_token())


def read_token() -> str:
    """Return the token in GITHUB_TOKEN or GH_TOKEN, or the token of ``gh``; "" if there is none.

    Raises ToslocError for text that cannot be a token.
    """
    token = os.environ.get("GITHUB_TOKEN", "").strip() or os.environ.get("GH_TOKEN", "").strip()
    if not token:
        token = _token_of_gh()
    if token and not _TOKEN.fullmatch(token):
        raise ToslocError(
            "GITHUB_TOKEN does not contain a token; a token is one word without spaces"
        )
    return token


def _token_of_gh() -> str:
    """Return the token that ``gh`` has for the server; "" without ``gh`` or a token."""
    host = (urlsplit(_api_address()).hostname or "").removeprefix("api.")
    try:
        result = subprocess.run(
            ["gh", "auth", "token", "--hostname", host],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=10,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return result.stdout.decode("ascii", "replace").strip()


def fetch_issues(
    project: str, token: str, *, progress: Progress = ignore_progress
) -> list[dict[str, Any]]:
    """Return the issues of OWNER/NAME in the form of GraphQL, which ``Exports`` reads.

    GITHUB_API_URL may name a server other than the public one. Raises ReportError if GitHub refuses
    a request or does not answer, and ToslocError without a token.
    """
    if not token:
        raise ToslocError(
            "a token that may read the repository is needed",
            hint="put one into GITHUB_TOKEN or GH_TOKEN, or run: gh auth login",
            about="github",
        )
    issues: list[dict[str, Any]] = []
    with _readable_answers(project, project):
        owner, name = project.split("/")
        cursor = None
        has_next_page = True
        while has_next_page:
            variables = {"owner": owner, "name": name, "after": cursor}
            query = {"query": _QUERY, "variables": variables}
            answer = _request(project, "/graphql", token, query)
            page = answer["data"]["repository"]["issues"]
            issues += page["nodes"]
            cursor = page["pageInfo"]["endCursor"]
            has_next_page = page["pageInfo"]["hasNextPage"]
            progress("reading issues", len(issues), page["totalCount"])
    return issues


def fetch_issue(project: str, number: str, token: str) -> dict[str, Any]:
    """Return number, title, body and opening of an issue or pull request, with REST's keys.

    The body ends with the reporter's own comments. Comments of other people are left out, because
    these may know the fix. Issues of a public project need no ``token``. Raises ReportError like
    ``fetch_issues``.
    """
    reference = f"{project}#{number}"
    path = f"/repos/{project}/issues/{number}"
    with _readable_answers(project, reference):
        issue = _request(reference, path, token)
        reporter = issue["user"]  # None where the account is gone
        texts = [issue["body"] or ""]
        pages = -(-issue["comments"] // _COMMENTS_PER_PAGE)
        for page in range(1, pages + 1):
            address = f"{path}/comments?per_page={_COMMENTS_PER_PAGE}&page={page}"
            for comment in _request(reference, address, token):
                author = comment["user"]
                if reporter and author and author["login"] == reporter["login"]:
                    texts.append(comment["body"] or "")
        return {
            "number": issue["number"],
            "title": issue["title"],
            "created_at": issue["created_at"],
            "body": "\n\n".join(texts),
        }


def _api_address() -> str:
    return os.environ.get("GITHUB_API_URL") or "https://api.github.com"


@contextmanager
def _readable_answers(project: str, reference: str) -> Iterator[None]:
    """Raise ReportError for an invalid project name, and if an answer lacks a key that is read.

    The answer is read within the block.
    """
    if not _PROJECT_NAME.fullmatch(project):
        raise ReportError(f"{reference} is not of the form OWNER/NAME, such as pallets/flask")
    try:
        yield
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        problem = f"GitHub's answer cannot be read ({type(error).__name__})"
        raise ReportError(f"{reference}: {problem}; try again later") from None


def _request(reference: str, path: str, token: str, query: dict[str, Any] | None = None) -> Any:
    """Return GitHub's answer to a request for a path.

    With ``query``, send a GraphQL query, and repeat it while the server fails. Raises ReportError,
    with GitHub's message, for an error; the sentence begins with ``reference``.
    """
    request = _make_request(path, token, query)
    problem = ""
    for tries in range(MAX_TRIES if query else 1):
        time.sleep(tries**2)
        try:
            with _open(request) as response:
                answer = parse_json(response.read(_MAX_ANSWER_BYTES))
            if "errors" not in answer:
                return answer
            problem = f"refuses the request ({answer['errors'][0]['message']})"
            break
        except HTTPError as error:
            problem = f"answers {error.code}{_message(error)}"
            if not token:
                problem += "; a token in GITHUB_TOKEN may have access"
            if error.code < 500:
                break
        except (OSError, HTTPException) as error:
            problem = f"does not answer ({getattr(error, 'reason', error)})"
    raise ReportError(f"{reference}: GitHub {problem}")


def _make_request(path: str, token: str, query: dict[str, Any] | None) -> Request:
    """Return a request for a path. Raises ToslocError if the token would be sent unencrypted."""
    address = _api_address()
    parts = urlsplit(address)
    is_local = parts.scheme == "http" and is_loopback(parts.hostname or "")
    if parts.scheme != "https" and not is_local:
        raise ToslocError(
            f"{address}: the token would be sent unencrypted; use an address that starts with https"
        )
    data = None
    if query:
        address = address.removesuffix("/v3")  # a GitHub server has GraphQL beside REST
        data = json.dumps(query).encode()
    request = Request(address + path, data, {"User-Agent": "tosloc"})
    if token:
        # A redirect, as of a renamed repository, is followed, but another host must not get the
        # token.
        request.add_unredirected_header("Authorization", f"token {token}")
    return request


def _open(request: Request) -> Any:
    """Send a request, without a proxy if the server is on this machine; return the response."""
    if is_loopback(urlsplit(request.full_url).hostname or ""):
        return build_opener(ProxyHandler({})).open(request, timeout=_TIMEOUT_SECONDS)
    return urlopen(request, timeout=_TIMEOUT_SECONDS)


def _message(error: HTTPError) -> str:
    """Return the message in GitHub's answer in parentheses, or "", and close the answer."""
    with error, suppress(AttributeError, ValueError):
        return f" ({parse_json(error.read(_MAX_ANSWER_BYTES)).get('message')})"
    return ""
