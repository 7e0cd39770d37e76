"""Bug reports of any format, labelled reports, stack traces and splits.

It imports core, git, code and paths.

Modules for other packages: formats, issues, labelled, mentions, text, traces.
"""
