"""One issue of each tracker, as the tracker exports it."""

GITHUB_CLI = {
    "number": 12,
    "title": "Crash",
    "body": "On\r\nsave",
    "createdAt": "2020-01-01T00:00:00Z",
    "closedAt": "2020-01-03T00:00:00.000+0000",
    "labels": [{"id": "x", "name": "bug"}],
    "stateReason": "COMPLETED",
    "comments": [{"body": "fixed in X"}],
    "url": "https://github.com/Ann/One/issues/12",
}
"""An issue as ``gh issue list --json`` prints it."""
GITHUB_REST = {
    "id": 9001,
    "title": "Hang",
    "body": None,
    "created_at": "2020-01-01T00:00:00Z",
    "closed_at": None,
    "state": "open",
    "state_reason": "reopened",
    "labels": [{"name": "question"}, "help wanted"],
    "url": "https://api.github.com/repos/Ann/One/issues/13",
    "html_url": "https://github.com/Ann/One/issues/13",
}
"""An issue as GitHub's REST API returns it."""
GITLAB = {
    "id": 9001,
    "iid": 7,
    "title": "Crash",
    "description": "On save",
    "created_at": "2020-01-01T00:00:00Z",
    "closed_at": "2020-01-03T00:00:00.000+0000",
    "state": "closed",
    "labels": ["type::bug"],
    "web_url": "https://gitlab.example.org/g/sub/one/-/issues/7",
}
JIRA_FIELDS = {
    "summary": "Crash",
    "description": "On save",
    "created": "2020-01-01T02:00:00.000+0200",
    "labels": ["x"],
    "resolutiondate": "2020-01-03T00:00:00.000+0000",
    "resolution": {"name": "Won't Fix"},
    "status": {"name": "Closed"},
    "issuetype": {"name": "Improvement"},
}
JIRA = {"expand": "", "id": "10001", "key": "LANG-9", "fields": JIRA_FIELDS}
BUGZILLA = {
    "id": 58522,
    "summary": "Crash",
    "creation_time": "2020-01-01T00:00:00Z",
    "resolution": "FIXED",
    "cf_last_resolved": "2020-01-03T00:00:00.000+0000",
    "is_open": False,
    "severity": "enhancement",
    "comments": [{"text": "On save"}, {"text": "fixed in Foo.java"}],
}
