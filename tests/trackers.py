"""One issue of each tracker, as it prints it."""

from __future__ import annotations

from typing import Any

OPENED, CLOSED = "2020-01-01T00:00:00Z", "2020-01-03T00:00:00.000+0000"
GH: dict[str, Any] = (
    {"number": 12, "title": "Crash", "body": "On\r\nsave", "createdAt": OPENED, "closedAt": CLOSED}
    | {"labels": [{"id": "x", "name": "bug"}], "stateReason": "COMPLETED", "comments": [{"body": "fixed in X"}]}
    | {"url": "https://github.com/Ann/One/issues/12"}
)
REST: dict[str, Any] = (
    {"id": 9001, "title": "Hang", "body": None, "created_at": OPENED, "closed_at": None, "state": "open"}
    | {"state_reason": "reopened", "labels": [{"name": "question"}, "help wanted"]}
    | {"url": "https://api.github.com/repos/Ann/One/issues/13", "html_url": "https://github.com/Ann/One/issues/13"}
)
GITLAB: dict[str, Any] = {
    "id": 9001,
    "iid": 7,
    "title": "Crash",
    "description": "On save",
    "created_at": OPENED,
    "closed_at": CLOSED,
} | {"state": "closed", "labels": ["type::bug"], "web_url": "https://gitlab.example.org/g/sub/one/-/issues/7"}
JIRA_FIELDS: dict[str, Any] = (
    {"summary": "Crash", "description": "On save", "created": "2020-01-01T02:00:00.000+0200", "labels": ["x"]}
    | {"resolutiondate": CLOSED, "resolution": {"name": "Won't Fix"}, "status": {"name": "Closed"}}
    | {"issuetype": {"name": "Improvement"}}
)
JIRA: dict[str, Any] = {"expand": "", "id": "10001", "key": "LANG-9", "fields": JIRA_FIELDS}
BUGZILLA: dict[str, Any] = {
    "id": 58522,
    "summary": "Crash",
    "creation_time": OPENED,
    "cf_last_resolved": CLOSED,
    "resolution": "FIXED",
} | {"is_open": False, "severity": "enhancement", "comments": [{"text": "On save"}, {"text": "fixed in Foo.java"}]}
