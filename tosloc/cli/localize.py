"""``tosloc localize``: rank the files of a version for each of one or more bug reports."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from tosloc.cli.options import (
    FoundCheckpointOption,
    NamedRepositoryOption,
    RerankOption,
    VersionOption,
)
from tosloc.localize.question import Code, Question
from tosloc.terminal.options import JsonOption

ReportArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="REPORT",
        help="Bug report: a file (text, Markdown, JSON, JSON lines of several reports, test results"
        " or the log of a failed run), - for standard input, a GitHub issue ('#12', OWNER/REPO#12"
        " or its address), or the text itself in quotation marks. A folder restricts the search to"
        " its files.",
        show_default="standard input, if it is a pipe or a file",
    ),
]
IncludeOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="GLOB",
        help="Show only files matching this glob (.gitignore syntax). Repeatable.",
    ),
]
ExcludeOption = Annotated[
    list[str] | None,
    typer.Option(metavar="GLOB", help="Show no files matching this glob. Repeatable."),
]
ConfidenceOption = Annotated[
    float | None,
    typer.Option(min=0, max=1, help="Show only files with at least this confidence, such as 0.3."),
]
AllFilesOption = Annotated[
    bool,
    typer.Option(
        "--all-files", help="Include test, generated, minified, translation and vendored files."
    ),
]
TopOption = Annotated[int, typer.Option(min=1, help="Number of files to show.")]
FunctionsOption = Annotated[
    int, typer.Option(min=0, help="Maximum number of functions to show per file.")
]
PageOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", dir_okay=False, help="Also write the answers to FILE as an HTML page."
    ),
]
OpenOption = Annotated[
    bool,
    typer.Option("--open", help="Open the first file in the editor that $VISUAL or $EDITOR names."),
]
FormatOption = Annotated[
    Literal["text", "path"],
    typer.Option(
        "--format",
        help="Output format: text for people, or path for FILE:LINE:COLUMN lines, which vim -q and"
        " other editors read.",
    ),
]
BackgroundOption = Annotated[
    bool,
    typer.Option(
        help="Show tests related to the first file, people who know it, and similar past changes."
    ),
]
VerboseOption = Annotated[
    bool,
    typer.Option(
        "--verbose", "-v", help="Show all reasons, lines and background, and informational notes."
    ),
]
OpenedOption = Annotated[
    str | None,
    typer.Option(help="Time when the report was opened (in UTC). Later history is ignored."),
]
CodeOption = Annotated[
    Code,
    typer.Option(
        help="Code to show: the lines of the first files that say most, for the first file the body"
        " of its first function instead, or none."
    ),
]
SuspectsOption = Annotated[
    bool | None,
    typer.Option(
        "--suspects/--no-suspects",
        help="Show past changes that may have introduced the bug.",
        show_default="if the report says that something worked before, or with --good or --bad",
    ),
]
GoodOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="REV",
        help="Commit, branch or tag that works: a suspect change is in none of them. Repeatable.",
        show_default="what the report states",
    ),
]
BadOption = Annotated[
    str | None,
    typer.Option(
        metavar="REV",
        help="Commit, branch or tag that fails: it contains each suspect change.",
        show_default="what the report states",
    ),
]
EncoderOption = Annotated[
    str | None,
    typer.Option(
        metavar="FOLDER_OR_NAME",
        help="Let a pretrained encoder reorder the first files: a folder, a name on the Hugging"
        " Face hub, or a shipped configuration (coderankembed, qwen3-embedding). A name and a"
        " configuration download a model at the first use, and a folder downloads nothing.",
    ),
]
DryRunOption = Annotated[
    bool,
    typer.Option("--dry-run", help="With --rerank, print the prompt without sending it."),
]


def localize(
    report: ReportArgument = None,
    repo: NamedRepositoryOption = None,
    commit: VersionOption = None,
    include: IncludeOption = None,
    exclude: ExcludeOption = None,
    tests: Annotated[bool, typer.Option("--tests", help="Include test files.")] = False,
    all_files: AllFilesOption = Question.all_files,
    min_confidence: ConfidenceOption = Question.min_confidence,
    top: TopOption = Question.top,
    functions: FunctionsOption = Question.functions,
    form: FormatOption = "text",
    as_json: JsonOption = False,
    as_lines: Annotated[
        bool, typer.Option("--jsonl", help="Print one JSON answer per line.")
    ] = False,
    html: PageOption = None,
    open_file: OpenOption = False,
    checkpoint: FoundCheckpointOption = None,
    opened: OpenedOption = None,
    background: BackgroundOption = Question.background,
    code: CodeOption = Question.code,
    suspects: SuspectsOption = Question.suspects,
    good: GoodOption = None,
    bad: BadOption = Question.bad,
    verbose: VerboseOption = False,
    rerank: RerankOption = None,
    encoder: EncoderOption = None,
    dry_run: DryRunOption = False,
) -> None:
    """Rank the files and functions most likely to contain the bug."""
    from tosloc.cli.answering import Output, Source, answer_reports

    question = Question(
        "",
        commit=commit,
        include=include,
        exclude=exclude,
        tests=tests or None,
        all_files=all_files,
        min_confidence=min_confidence,
        top=top,
        functions=functions,
        background=background,
        code=code,
        suspects=suspects,
        good=good or (),
        bad=bad,
    )
    output = Output.choose(form, as_json, as_lines, html, open_file, verbose)
    source = Source(repo, checkpoint, rerank, encoder)
    answer_reports(report or [], question, opened, source, output, dry_run)
