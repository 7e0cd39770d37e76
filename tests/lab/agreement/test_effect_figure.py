"""The plot of effects, and the cells of reproduction tables."""

from __future__ import annotations

import pytest

from tests.lab.agreement.test_levels import FILES, ORIGINAL, QRELS, REPORTS, judgements, pair
from tosloc.evaluate.measures import AP
from tosloc.lab.agreement.effect_figure import EffectPoint, effect_figure
from tosloc.lab.agreement.level_tables import levels_table, published_table
from tosloc.lab.agreement.levels import reproduction
from tosloc.lab.agreement.published_means import against_published
from tosloc.plots.drawing import save_figure, svg

STEPS = {"least": [EffectPoint("1", 0.9, 0.01), EffectPoint("2", -0.4, 0.2)], "most": [EffectPoint("1", 2.5, -0.7)]}


def texts(axes):
    return {text.get_text() for text in axes.texts}


def test_a_plot_shows_regions_points_and_where_to_be():
    axes = effect_figure(STEPS).axes[0]
    assert {"region 1", "region 2", "region 3", "region 4", "1", "2"} == texts(axes)
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    for x, y in [(1, 0), (0.9, 0.01), (-0.4, 0.2), (2.5, -0.7)]:
        assert left < x < right
        assert low < y < high
    drawn = {line.get_label(): list(line.get_xdata()) for line in axes.lines}
    assert drawn["(1, 0): found again"] == [1]
    assert drawn["least"] == [0.9, -0.4]
    styles = {(line.get_marker(), line.get_linestyle()) for line in axes.lines if line.get_label() in STEPS}
    assert len(styles) == len(STEPS)


@pytest.mark.parametrize("points", [[], [EffectPoint("", 1.0, 0.0)], [EffectPoint("", 40.0, 9.0)]])
def test_all_regions_are_seen_whatever_the_points(points):
    axes = effect_figure({"AP": points}).axes[0]
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    assert left <= -0.15 * (right - left)
    assert low <= -0.1 * (high - low)
    assert high >= 0.1 * (high - low)


def test_panels_share_no_stroke():
    first, second = effect_figure({"a": STEPS["least"]}, {"b": STEPS["most"]}).axes
    assert first.lines[-1].get_marker() != second.lines[-1].get_marker()


def test_the_same_bytes_each_time(tmp_path):
    assert svg(effect_figure(STEPS)) == svg(effect_figure(STEPS))
    made = save_figure(effect_figure(STEPS), tmp_path / "plot")
    assert [path.name for path in made] == ["plot.svg", "plot.png"]


def test_cells_of_a_replication():
    table = levels_table(reproduction(ORIGINAL, ORIGINAL, [AP]))
    cells = table.rows
    assert {len(row) for row in cells} == {len(table.heads)}
    assert [row[0] for row in cells] == ["order"] * 2 + ["effectiveness"] + ["effect"] * 3 + ["statistics"] + [
        "mean"
    ] * 3
    assert cells[:3] == [
        ["order", "Kendall's tau union", "1.000", "1.000", ""],
        ["order", "RBO, phi 0.8", "1.000", "1.000", ""],
        ["effectiveness", "RMSE of AP", "0.000", "0.000", ""],
    ]
    assert cells[5] == ["effect", "region of AP", "", "", "4"]
    assert table.title == "replication: the same 12 reports"
    assert table.remarks == [
        "p: two-tailed paired t-test of the original's scores against ours, small where they differ",
        "region 4: effect found again, relative improvement not smaller",
    ]


def test_cells_of_another_project():
    ours = pair(judgements(REPORTS[:9], FILES[:15], seed=3), seed=5, files=FILES[:15])
    table = levels_table(reproduction(ORIGINAL, ours, [AP]))
    assert [row[2:4] for row in table.rows[:3]] == [["-", "-"]] * 3
    assert table.title == "reproduction: 12 reports of the original, 9 others of ours"
    assert "unpaired" in table.remarks[0]
    assert "do not apply" in table.remarks[-1]


def test_cells_of_published_means():
    table = published_table(against_published(0.2, 0.3, pair(QRELS), AP))
    cells = table.rows
    assert [row[0] for row in cells] == ["baseline", "advanced", "improvement"]
    assert {len(row) for row in cells} == {len(table.heads)}
    assert cells[2][1] == "0.100"
    assert "not known" in table.remarks[0]
    assert table.remarks[1].startswith("ER ")
