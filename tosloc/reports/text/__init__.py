"""The text of a report: its parts, forms, logs, environment, names, and what it says of changes."""

from tosloc.reports.text.builds import shows_failed_build
from tosloc.reports.text.commands import Command, find_commands
from tosloc.reports.text.commit_roles import Role
from tosloc.reports.text.forms import bare_title, is_issue_template, is_pointer, template_key
from tosloc.reports.text.logs import CondensedText, condense_logs, expand_escapes
from tosloc.reports.text.markup import without_addresses, without_markup
from tosloc.reports.text.named_changes import NamedChange, find_named_changes, without_commits
from tosloc.reports.text.named_releases import ReleaseClaim, find_release_claims
from tosloc.reports.text.names import Name, find_names
from tosloc.reports.text.parts import ReportText, split_report_text
from tosloc.reports.text.regressions import says_that_it_worked
from tosloc.reports.text.shared_lines import NO_SHARED_LINES, SharedLines, check_shared_lines
from tosloc.reports.text.templates import IssueTemplates
from tosloc.reports.text.version_fields import find_version_fields

__all__ = [
    "NO_SHARED_LINES",
    "Command",
    "CondensedText",
    "IssueTemplates",
    "Name",
    "NamedChange",
    "ReleaseClaim",
    "ReportText",
    "Role",
    "SharedLines",
    "bare_title",
    "check_shared_lines",
    "condense_logs",
    "expand_escapes",
    "find_commands",
    "find_named_changes",
    "find_names",
    "find_release_claims",
    "find_version_fields",
    "is_issue_template",
    "is_pointer",
    "says_that_it_worked",
    "shows_failed_build",
    "split_report_text",
    "template_key",
    "without_addresses",
    "without_commits",
    "without_markup",
]
