"""Parse the text of a report: its parts, forms, logs, environment, names and statements."""

from tosloc.reports.text.commit_roles import Role
from tosloc.reports.text.forms import is_issue_template
from tosloc.reports.text.logs import expand_escapes
from tosloc.reports.text.markup import without_addresses
from tosloc.reports.text.named_changes import NamedChange, find_named_changes
from tosloc.reports.text.named_releases import ReleaseClaim
from tosloc.reports.text.names import Name
from tosloc.reports.text.parts import TextParts
from tosloc.reports.text.project_names import is_own_name, normalize_name
from tosloc.reports.text.report_names import CompoundName, ReportNames, find_claims
from tosloc.reports.text.report_places import ReportPlaces
from tosloc.reports.text.report_text import ReportText
from tosloc.reports.text.shared_lines import NO_SHARED_LINES, SharedLines, check_shared_lines
from tosloc.reports.text.templates import IssueTemplates

__all__ = [
    "NO_SHARED_LINES",
    "CompoundName",
    "IssueTemplates",
    "Name",
    "NamedChange",
    "ReleaseClaim",
    "ReportNames",
    "ReportPlaces",
    "ReportText",
    "Role",
    "SharedLines",
    "TextParts",
    "check_shared_lines",
    "expand_escapes",
    "find_claims",
    "find_named_changes",
    "is_issue_template",
    "is_own_name",
    "normalize_name",
    "without_addresses",
]
