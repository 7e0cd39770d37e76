"""Issues of GitHub: all closed ones of a repository, kept page by page so that an interruption resumes, or one."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from tosloc.errors import ReportError, ToslocError, require
from tosloc.io import parse_json, write_text
from tosloc.records import Progress, silent

if TYPE_CHECKING:
    from githubkit import GitHub
    from githubkit.exception import GitHubException
    from githubkit.typing import RetryOption

API: Final = "https://api.github.com"
KEPT_HOURS: Final = 24
"""How old kept pages may be: issues change, so older ones are asked for again."""
RETRIES: Final = 4
_PAGE: Final = 50
REFERENCE: Final = re.compile(
    r"(?:(?P<named>[\w.-]+/[\w.-]+)?#|(?:https?://)?(?:www\.)?github\.com/(?P<project>[\w.-]+/[\w.-]+)/(?:issues|pull)/)"
    r"(?P<number>\d{1,9})(?:[/?#]\S*)?",
    re.ASCII,
)
"""#12, OWNER/NAME#12, or the address of an issue or a pull request."""
_NAME: Final = re.compile(r"(?!\.)[\w.-]{1,100}/(?!\.\.?\Z)[\w.-]{1,100}", re.ASCII)
_QUERY: Final = """
query($owner: String!, $name: String!, $first: Int!, $after: String) {
  repository(owner: $owner, name: $name) {
    issues(first: $first, after: $after, states: CLOSED, orderBy: {field: CREATED_AT, direction: ASC}) {
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
    """The token in GITHUB_TOKEN or GH_TOKEN, else that of ``gh``, where it is installed; else empty. Raises ToslocError
    for what is none.
    """
    token = os.environ.get("GITHUB_TOKEN", "").strip() or os.environ.get("GH_TOKEN", "").strip()
    if not token:
        host = (urlsplit(_api()).hostname or "").removeprefix("api.")
        with suppress(OSError, subprocess.TimeoutExpired):
            asked = ["gh", "auth", "token", "--hostname", host]
            done = subprocess.run(asked, stdin=subprocess.DEVNULL, capture_output=True, timeout=10, check=False)
            token = done.stdout.decode("ascii", "replace").strip()
    if token and not re.fullmatch(r"[\x21-\x7e]+", token):
        raise ToslocError("GITHUB_TOKEN: holds no token; a token is one word")
    return token


def _api() -> str:
    return os.environ.get("GITHUB_API_URL") or API


def fetch(project: str, folder: Path, token: str, *, progress: Progress = silent) -> list[dict[str, Any]]:
    """Closed issues of OWNER/NAME, as GraphQL gives them, which ``Exports`` reads; pages are kept in ``folder``.

    GITHUB_API_URL may name another interface than the public one. Raises MissingExtra without githubkit, ReportError
    for a repository that the token does not reach, ToslocError without a token, for one that is refused, a rate limit
    (which says until when) and a server that does not answer; what was read is kept.
    """
    require("mining GitHub", "github", "githubkit")
    if not token:
        raise ToslocError("--github: needs a token that may read the repository; put it into GITHUB_TOKEN")
    asked = f"--github {project}"
    _check(project, asked)
    owner, name = project.split("/")
    pages = _kept(folder)
    issues = [issue for page in pages for issue in page["nodes"]]
    with _client(token, auto_retry=_retry) as github:
        while not pages or pages[-1]["next"] is not None:
            after = pages[-1]["next"] if pages else None
            variables = {"owner": owner, "name": name, "first": _PAGE, "after": after}
            with _sentences(asked, "repository", token, len(issues)):
                answer = github.graphql(_QUERY, variables)
            if not (answer or {}).get("repository"):
                raise ReportError(f"{asked}: no such repository, or one that the token may not read")
            try:
                found = answer["repository"]["issues"]
                more, nodes = found["pageInfo"], list(found["nodes"])
                pages.append({"nodes": nodes, "next": more["endCursor"] if more["hasNextPage"] else None})
            except (KeyError, TypeError, AttributeError) as error:
                raise ToslocError(f"GitHub's answer cannot be read ({type(error).__name__}); try again later") from None
            write_text(folder / f"{len(pages):05}.json", json.dumps(pages[-1]) + "\n")
            issues += nodes
            progress("reading issues", len(issues), found.get("totalCount", 0))
    return issues


def fetch_issue(project: str, number: str, token: str) -> dict[str, Any]:
    """Number, title, body and opening of an issue or pull request of OWNER/NAME, as the REST interface gives them.

    What its reporter said of it later stands at the end of the body; others are left out: they may know the fix. Of a
    public project it needs no ``token``. Raises as ``fetch`` does.
    """
    require("reading issues of GitHub", "github", "githubkit")
    asked = f"{project}#{number}"
    _check(project, asked)
    page = f"/repos/{project}/issues/{number}"
    # a repository that was renamed is found; another host would not get the token
    with _client(token, auto_retry=False, follow_redirects=True) as github, _sentences(asked, "issue", token):
        issue = github.request("GET", page).json()
        reporter, said = _login(issue), [issue["body"] or ""]
        for place in range(1, -(-issue["comments"] // 100) + 1):
            comments = github.request("GET", f"{page}/comments", params={"per_page": 100, "page": place}).json()
            said += [one["body"] or "" for one in comments if reporter and _login(one) == reporter]
        kept = {key: issue[key] for key in ("number", "title", "created_at")}
        return kept | {"body": "\n\n".join(said)}


def _login(written: dict[str, Any]) -> str:
    """Whose it is; empty where the account is gone."""
    return str((written["user"] or {}).get("login", ""))


def _check(project: str, asked: str) -> None:
    """Raise ReportError for what cannot be a project's name."""
    if not _NAME.fullmatch(project):
        raise ReportError(f"{asked}: is no OWNER/NAME, such as pallets/flask")


def _kept(folder: Path) -> list[dict[str, Any]]:
    """Pages that an earlier call has read, up to the first that is missing, damaged or old."""
    pages: list[dict[str, Any]] = []
    with suppress(OSError, ValueError):
        while not pages or pages[-1]["next"] is not None:
            file = folder / f"{len(pages) + 1:05}.json"
            if time.time() - file.stat().st_mtime > KEPT_HOURS * 3600:
                break
            pages.append(parse_json(file.read_bytes()))
    return pages


def _client(token: str, **more: Any) -> GitHub[Any]:
    from githubkit import GitHub

    api = _api()
    parts = urlsplit(api)
    local = parts.hostname in ("localhost", "127.0.0.1", "::1")
    if parts.scheme != "https" and not (parts.scheme == "http" and local):
        raise ToslocError(f"{api}: the token would be sent for all to read; give an address that begins with https://")
    given: dict[str, Any] = {"http_cache": False, "follow_redirects": False} | more
    return GitHub(token or None, base_url=api, timeout=60.0, user_agent="tosloc", **given)


def _retry(error: GitHubException, tried: int) -> RetryOption:
    """Once more where the server fails or is silent, each time later; a rate limit is told instead of waited for."""
    from githubkit.exception import RequestError, RequestFailed
    from githubkit.typing import RetryOption

    fails = error.response.status_code >= 500 if isinstance(error, RequestFailed) else isinstance(error, RequestError)
    return RetryOption(fails and tried < RETRIES, timedelta(seconds=(tried + 1) ** 2))


@contextmanager
def _sentences(asked: str, kind: str, token: str, kept: int = 0) -> Iterator[None]:
    """What goes wrong within becomes a sentence."""
    from githubkit.exception import GitHubException, GraphQLFailed, RateLimitExceeded, RequestError, RequestFailed

    hidden = f"{asked}: no such {kind}, or one that "
    hidden += "the token may not read" if token else "only a token may read; put it into GITHUB_TOKEN"
    try:
        yield
        return
    except RateLimitExceeded as error:
        why = f"GitHub's rate limit is reached until {datetime.now(UTC) + error.retry_after:%Y-%m-%d %H:%M:%S} UTC"
        why += "" if token else " (with a token in GITHUB_TOKEN it is higher)"
    except GraphQLFailed as error:
        first = next(iter(error.response.errors or ()), None)
        if first is not None and first.type in ("NOT_FOUND", "FORBIDDEN"):
            raise ReportError(hidden) from None
        why = f"{asked}: GitHub refuses the question ({'' if first is None else first.message})"
    except RequestFailed as error:
        code = error.response.status_code
        if code == 401:
            raise ToslocError("GitHub refuses the token (401); is it whole, and not expired?") from None
        if code in (403, 404, 410):
            raise ReportError(f"{hidden} ({code})") from None
        why = f"GitHub answers {code}"
    except RequestError as error:
        why = f"GitHub does not answer ({error.exc or type(error.exc).__name__})"
    except (GitHubException, AttributeError, LookupError, TypeError, ValueError) as error:
        why = f"GitHub's answer cannot be read ({type(error).__name__})"
    so_far = f"{kept:,} issues are kept: " if kept else ""
    raise ToslocError(f"{why}; {so_far}run the same command again later")
