"""Closed issues of a GitHub repository, by GraphQL: pages are kept as they come, so that an interruption resumes."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from tosloc.errors import ReportError, ToslocError, require
from tosloc.io import parse_json, read_plain, write_text
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


def read_token(file: Path | None, environment: Mapping[str, str] = os.environ) -> str:
    """The token in a file, else in GITHUB_TOKEN or GH_TOKEN. Raises ToslocError where there is none."""
    token = environment.get("GITHUB_TOKEN", "").strip() or environment.get("GH_TOKEN", "").strip()
    if file is not None:
        try:
            token = read_plain(file, 10_000).decode("ascii", "replace").strip()
        except OSError as error:
            raise ToslocError(f"--token-file {file}: cannot be read ({error.strerror or error})") from error
    if not token:
        raise ToslocError("--github: needs a token that may read the repository; put it into GITHUB_TOKEN")
    if not re.fullmatch(r"[\x21-\x7e]+", token):
        raise ToslocError(f"{f'--token-file {file}' if file else '--github'}: holds no token; a token is one word")
    return token


def fetch(
    project: str, folder: Path, token: str, *, api: str | None = None, progress: Progress = silent
) -> list[dict[str, Any]]:
    """Closed issues of OWNER/NAME, as GraphQL gives them, which ``Exports`` reads; pages are kept in ``folder``.

    ``api`` is the address of GitHub's interface, by default GITHUB_API_URL or the public one. Raises MissingExtra
    without githubkit, ReportError for a repository that the token does not reach, ToslocError for a token that is
    refused, a rate limit (which says until when) and a server that does not answer; what was read is kept.
    """
    require("mining GitHub", "github", "githubkit")
    if not _NAME.fullmatch(project):
        raise ReportError(f"--github {project}: is no OWNER/NAME, such as pallets/flask")
    owner, name = project.split("/")
    pages = _kept(folder)
    issues = [issue for page in pages for issue in page["nodes"]]
    with _client(token, api or os.environ.get("GITHUB_API_URL") or API) as github:
        while not pages or pages[-1]["next"] is not None:
            after = pages[-1]["next"] if pages else None
            answer = _ask(github, project, len(issues), {"owner": owner, "name": name, "first": _PAGE, "after": after})
            if not (answer or {}).get("repository"):
                raise ReportError(f"--github {project}: no such repository, or one that the token may not read")
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


def _client(token: str, api: str) -> GitHub[Any]:
    from githubkit import GitHub

    parts = urlsplit(api)
    local = parts.hostname in ("localhost", "127.0.0.1", "::1")
    if parts.scheme != "https" and not (parts.scheme == "http" and local):
        raise ToslocError(f"{api}: the token would be sent for all to read; give an address that begins with https://")
    more: dict[str, Any] = {"http_cache": False, "follow_redirects": False, "auto_retry": _retry}
    return GitHub(token, base_url=api, timeout=60.0, user_agent="tosloc", **more)


def _retry(error: GitHubException, tried: int) -> RetryOption:
    """Once more where the server fails or is silent, each time later; a rate limit is told instead of waited for."""
    from githubkit.exception import RequestError, RequestFailed
    from githubkit.typing import RetryOption

    fails = error.response.status_code >= 500 if isinstance(error, RequestFailed) else isinstance(error, RequestError)
    return RetryOption(fails and tried < RETRIES, timedelta(seconds=(tried + 1) ** 2))


def _ask(github: GitHub[Any], project: str, so_far: int, variables: dict[str, Any]) -> dict[str, Any]:
    """One answer. What goes wrong becomes a sentence."""
    from githubkit.exception import GitHubException, GraphQLFailed, RateLimitExceeded, RequestError, RequestFailed

    hidden = f"--github {project}: no such repository, or one that the token may not read"
    try:
        return github.graphql(_QUERY, variables)
    except RateLimitExceeded as error:
        why = f"GitHub's rate limit is reached until {datetime.now(UTC) + error.retry_after:%Y-%m-%d %H:%M:%S} UTC"
    except GraphQLFailed as error:
        first = next(iter(error.response.errors or ()), None)
        if first is not None and first.type in ("NOT_FOUND", "FORBIDDEN"):
            raise ReportError(hidden) from None
        why = f"--github {project}: GitHub refuses the question ({'' if first is None else first.message})"
    except RequestFailed as error:
        code = error.response.status_code
        if code == 401:
            raise ToslocError("GitHub refuses the token (401); is it whole, and not expired?") from None
        if code in (403, 404):
            raise ReportError(f"{hidden} ({code})") from None
        why = f"GitHub answers {code}"
    except RequestError as error:
        why = f"GitHub does not answer ({error.exc or type(error.exc).__name__})"
    except (GitHubException, ValueError) as error:
        why = f"GitHub's answer cannot be read ({type(error).__name__})"
    kept = f"{so_far:,} issues are kept: " if so_far else ""
    raise ToslocError(f"{why}; {kept}run the same command again later")
