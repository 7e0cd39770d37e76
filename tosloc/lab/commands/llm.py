"""The commands ``llm-prompts`` and ``llm-answers``, which evaluate any language model by files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from tosloc.core.errors import pluralize
from tosloc.evaluate.statistics import Difference, Interval
from tosloc.lab.commands.options import ProjectsOption
from tosloc.lab.llm_details import Finding, details_as_values, judge_details
from tosloc.lab.llm_tasks import DEPTHS, TASKS_FILE, as_values, judge_answers, write_prompts
from tosloc.lab.projects import read_projects
from tosloc.rerank.llm.reranker import LanguageModelReranker
from tosloc.terminal.options import JsonOption, MarkdownOption
from tosloc.terminal.printing import (
    Form,
    Table,
    interval_cell,
    print_notes,
    progress_bars,
    share_cell,
)


def llm_prompts(
    projects: ProjectsOption,
    out: Annotated[Path, typer.Option("--out", help="Folder for the prompts.")],
    tasks: Annotated[int, typer.Option(min=1, max=10_000, help="Number of reports to draw.")] = 60,
    newest: Annotated[
        int, typer.Option(min=1, help="Draw from this many of the newest reports of each project.")
    ] = 20,
    seed: Annotated[int, typer.Option(help="Seed of the draw.")] = 1,
    files: Annotated[int, typer.Option(min=2, max=100, help="Number of files to list.")] = 80,
    prompt_tokens: Annotated[
        int, typer.Option(min=1_000, max=10_000_000, help="Largest prompt, in estimated tokens.")
    ] = 12_000,
) -> None:
    """Write prompts about labelled reports to files, for a language model to answer.

    The folder prompt has what --rerank llm sends, and guess the same questions without a list of
    files. tasks.jsonl has the truth, which no model may see. Nothing is sent.
    """
    reranker = LanguageModelReranker.for_prompts(files=files, prompt_tokens=prompt_tokens)
    project_list = read_projects(projects)
    with progress_bars() as callback:
        written = write_prompts(project_list, out, tasks, newest, seed, reranker, callback)
    print_notes([f"{out} has the prompts of {pluralize(len(written), 'report')}"])


def llm_answers(
    prompts: Annotated[Path, typer.Argument(help="Folder that llm-prompts wrote.")],
    answers: Annotated[
        Path,
        typer.Argument(help="Folder of answers: KIND/NAME.txt answers KIND/NAME.txt there."),
    ],
    projects: Annotated[
        Path | None,
        typer.Option(
            "--projects",
            help="TOML file of the projects, to judge functions and suspect changes, too.",
        ),
    ] = None,
    as_json: JsonOption = False,
    as_markdown: MarkdownOption = False,
) -> None:
    """Judge the answers of a language model to the prompts that llm-prompts wrote.

    An answer counts as with --rerank llm: the files that it names come first, then the others in
    TosLoc's order. A guess without a list counts alone.
    """
    form = Form.chosen(as_json, as_markdown)
    project_list = None if projects is None else read_projects(projects)
    tasks, results = judge_answers(prompts, answers)
    details: dict[str, list[Finding]] = {}
    if project_list is not None:
        with progress_bars() as callback:
            details = judge_details(project_list, prompts, answers, callback)
    heads = ["answers", "unusable"]
    for depth in DEPTHS:
        heads += [f"all@{depth}", "interval", "difference"]
    rows = []
    agreement_rows = []
    for result in results:
        row = [result.kind, f"{result.unusable}"]
        for mean, interval, difference in zip(
            result.means, result.intervals, result.differences, strict=True
        ):
            row += [share_cell(mean), interval_cell(interval), _difference_cell(difference)]
        rows.append(row)
        for level, (count, right, own_right) in result.agreement.items():
            share = share_cell(right / count if count else None)
            ends = interval_cell(Interval.of_share(right, count))
            counts = [f"{count}", f"{right}", share, ends, f"{own_right}"]
            agreement_rows.append([result.kind, level, *counts])
    note = f"{tasks} tasks of {TASKS_FILE}: share with all fixed files among the first."
    agreement_heads = ["answers", "rank of its first file in TosLoc's order"]
    agreement_heads += ["tasks", "right", "share", "interval", "TosLoc's is right"]
    values: dict[str, Any] = {"tasks": tasks, "results": list(map(as_values, results))}
    tables = [Table(heads, rows, note=note), Table(agreement_heads, agreement_rows)]
    if details:
        values["details"] = {kind: details_as_values(details[kind]) for kind in details}
        tables.append(_details_table(details))
    form.print(values, tables)


def _details_table(details: Mapping[str, Sequence[Finding]]) -> Table:
    """Return the table of functions and suspect changes."""
    rows = []
    for kind, findings in details.items():
        for finding in findings:
            row = [finding.measure, kind, f"{finding.tasks}", share_cell(finding.mean)]
            row.append(interval_cell(finding.interval))
            row.append(_difference_cell(finding.difference))
            rows.append(row)
    return Table(["measure", "answers", "tasks", "share", "interval", "difference"], rows)


def _difference_cell(difference: Difference) -> str:
    mean = share_cell(difference.difference, True)
    return f"{mean} {interval_cell(difference.interval, True)}"
