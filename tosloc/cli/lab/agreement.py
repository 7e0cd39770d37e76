"""The command ``reproduce-check``: how far our pair of runs reproduces an original one, level by level."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tosloc.cli.options import JsonOption, Split
from tosloc.cli.printing import Table, print_json, print_table
from tosloc.cli.printing import markdown as to_markdown
from tosloc.errors import ToslocError

if TYPE_CHECKING:
    from tosloc.lab.agreement.levels import AgainstPublished, Pair, Reproduction

_DEFAULT = "AP,RR,nDCG@10"


def reproduce_check(
    our_baseline: Annotated[Path, typer.Option("--our-baseline", metavar="RUN", help="Our baseline run.")],
    our_advanced: Annotated[Path, typer.Option("--our-advanced", metavar="RUN", help="Our advanced run.")],
    baseline: Annotated[
        Path | None, typer.Option("--baseline", metavar="RUN", help="The original baseline run: a folder, or a file.")
    ] = None,
    advanced: Annotated[
        Path | None, typer.Option("--advanced", metavar="RUN", help="The original advanced run.")
    ] = None,
    published_baseline: Annotated[
        float | None, typer.Option("--published-baseline", help="Instead: the published mean of the baseline.")
    ] = None,
    published_advanced: Annotated[
        float | None, typer.Option("--published-advanced", help="The published mean of the advanced run.")
    ] = None,
    measures: Annotated[
        str, typer.Option("--measures", "--measure", help="Measures, with commas between; one for published means.")
    ] = _DEFAULT,
    split: Annotated[Split, typer.Option("--split", help="Which of the folders' runs.")] = Split.test,
    depth: Annotated[
        int | None,
        typer.Option("--depth", help="Compare the order of the first files only, by tau.", show_default="all files"),
    ] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print a Markdown table.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Say how far a result is reproduced.

    Order, effectiveness, effect, statistics and means between an original pair of runs (baseline and advanced) and
    ours, on the same reports or on another project's.
    """
    from tosloc.evaluate.measures import Measure
    from tosloc.lab.agreement.levels import against_published, levels_table, published_table, reproduction

    wanted = list(dict.fromkeys(Measure.parse(name) for name in measures.split(",")))
    given = [one is not None for one in (baseline, advanced, published_baseline, published_advanced)]
    if given not in ([True, True, False, False], [False, False, True, True]):
        raise ToslocError(
            "name the original pair by --baseline and --advanced, or by --published-baseline and --published-advanced"
        )
    result: Reproduction | AgainstPublished
    if baseline is not None and advanced is not None:
        original = _pair(baseline, advanced, split)
        result = reproduction(original, _pair(our_baseline, our_advanced, split), wanted, depth)
        table = levels_table(result)
    else:
        if measures == _DEFAULT or len(wanted) != 1:
            raise ToslocError("published means are of one measure; name it, such as --measure AP")
        assert published_baseline is not None
        assert published_advanced is not None
        ours = _pair(our_baseline, our_advanced, split)
        result = against_published(published_baseline, published_advanced, ours, wanted[0])
        table = published_table(result)
    if as_json:
        print_json(result.as_dict())
    elif markdown:
        print(to_markdown(Table(table.heads, table.rows, table.title)))
        print("\n".join(f"- {remark}" for remark in table.remarks))
    else:
        words = {place for place, head in enumerate(table.heads) if head in ("level", "measure", "mean of")}
        print_table(Table(table.heads, table.rows, table.title, left=words))
        print("\n".join(table.remarks))


def _pair(baseline: Path, advanced: Path, split: Split) -> Pair:
    from tosloc.evaluate.run_paths import read_scored
    from tosloc.lab.agreement.levels import Pair, ScoredReports

    return Pair(*(ScoredReports.of(read_scored(path, split.value)) for path in (baseline, advanced)))
