"""Bug reports of any format, labelled reports, stack traces and splits.

It imports core, git, code and paths.

Modules for other packages: formats, issues, labelled, named_changes, named_versions,
regressions, shared_lines, source, templates, text, traces.
"""
