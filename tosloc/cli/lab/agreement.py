"""The command ``reproduce-check``: how far our pair of runs reproduces an original one, level by level."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tosloc.cli.options import JsonOption, Split
from tosloc.errors import ToslocError

if TYPE_CHECKING:
    from tosloc.evaluation.measures import Measure
    from tosloc.lab.agreement.effects import Effect
    from tosloc.lab.agreement.levels import Pair

DEFAULT = "AP,RR,nDCG@10"


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
    ] = DEFAULT,
    split: Annotated[Split, typer.Option("--split", help="Which of the folders' runs.")] = Split.test,
    depth: Annotated[
        int | None,
        typer.Option("--depth", help="Compare the order of the first files only, by tau.", show_default="all files"),
    ] = None,
    figure: Annotated[
        Path | None,
        typer.Option("--figure", metavar="PATH", help="Draw ER against DeltaRI, as PATH.svg and PATH.png."),
    ] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print a Markdown table.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Say how far a result is reproduced.

    Order, effectiveness, effect, statistics and means between an original pair of runs (baseline and advanced) and
    ours, on the same reports or on another project's.
    """
    wanted = _measures(measures)
    by_runs, by_means = (baseline, advanced), (published_baseline, published_advanced)
    given = [[one is not None for one in pair] for pair in (by_runs, by_means)]
    if given not in ([[True, True], [False, False]], [[False, False], [True, True]]):
        raise ToslocError(
            "name the original pair by --baseline and --advanced, or by --published-baseline and --published-advanced"
        )
    if baseline is not None and advanced is not None:
        shown = _against_runs(_pair(baseline, advanced, split), _pair(our_baseline, our_advanced, split), wanted, depth)
    else:
        if measures == DEFAULT or len(wanted) != 1:
            raise ToslocError("published means are of one measure; name it, such as --measure AP")
        means = [one for one in by_means if one is not None]
        shown = _against_means(means[0], means[1], _pair(our_baseline, our_advanced, split), wanted[0])
    if figure is not None:
        _draw(shown.effects, figure)
    if as_json:
        from tosloc.cli.printing import print_json

        print_json(shown.values)
    elif markdown:
        from tosloc.cli.printing import markdown_table

        print(f"{shown.title}\n\n{markdown_table(shown.heads, shown.rows)}")
        print("\n".join(f"- {line}" for line in shown.lines))
    else:
        _print(shown)


@dataclass(frozen=True)
class _Shown:
    """What to print: a table with a title above and lines below, the same as plain values, and the plot's points."""

    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    lines: Sequence[str]
    values: Mapping[str, Any]
    effects: Mapping[Measure, Effect]


def _against_runs(original: Pair, ours: Pair, measures: Sequence[Measure], depth: int | None) -> _Shown:
    from tosloc.lab.agreement.level_tables import COLUMNS, heading, remarks, rows
    from tosloc.lab.agreement.levels import reproduction

    result = reproduction(original, ours, measures, depth)
    return _Shown(heading(result), COLUMNS, rows(result), remarks(result), result.as_dict(), result.effects)


def _against_means(baseline: float, advanced: float, ours: Pair, measure: Measure) -> _Shown:
    from tosloc.lab.agreement.level_tables import PUBLISHED_COLUMNS, published_remarks, published_rows
    from tosloc.lab.agreement.published_means import against_published

    result = against_published(baseline, advanced, ours, measure)
    lines = published_remarks(result)
    title = f"our {result.reports} reports against published means of {measure}"
    return _Shown(title, PUBLISHED_COLUMNS, published_rows(result), lines, result.as_dict(), {measure: result.effect})


def _pair(baseline: Path, advanced: Path, split: Split) -> Pair:
    from tosloc.evaluation.run_paths import read_scored
    from tosloc.lab.agreement.levels import Pair, Scored

    return Pair(*(Scored.of(read_scored(place, split.value)) for place in (baseline, advanced)))


def _measures(text: str) -> list[Measure]:
    from tosloc.evaluation.measures import Measure

    return list(dict.fromkeys(Measure.parse(name) for name in text.split(",")))


def _draw(effects: Mapping[Measure, Effect], path: Path) -> None:
    from tosloc.lab.agreement.effect_figure import EffectPoint, effect_figure
    from tosloc.plots.drawing import save

    series = {repr(measure): [EffectPoint("", one.ratio, one.delta_ri)] for measure, one in effects.items()}
    save(effect_figure(series), path.with_suffix("") if path.suffix in (".svg", ".png") else path)


def _print(shown: _Shown) -> None:
    from tosloc.cli.printing import print_table

    words = {place for place, name in enumerate(shown.heads) if name in ("level", "measure", "mean of")}
    print_table(shown.heads, shown.rows, title=shown.title, left=words)
    for line in shown.lines:
        print(line)
