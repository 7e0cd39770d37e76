"""Bug reports of any format, labelled reports, stack traces and splits.

It imports core, git, code and paths.

Modules for other packages: builds, commands, commit_roles, formats, forms, issues, labelled, logs,
markup, mentions, named_changes, named_versions, names, parts, regressions, shared_lines, source,
templates, traces, version_fields.
"""
