"""What a page says of pools: tables in the paper's form with its cells, the figures' data,
captions, one task or several.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from positionbias.core.errors import InputError
from positionbias.papers.pooling.page import (
    bias_caption,
    bias_figure,
    coverage_caption,
    coverage_figure,
    curve_caption,
    curve_figure,
    pool_figures,
    scatter_caption,
    scatter_figure,
    verdict_caption,
    verdict_figure,
)  # fmt: skip
from positionbias.pooling.tables import order_table
from positionbias.report.html import report_tables, write_report
from positionbias.report.load import load_studies
from positionbias.report.table import Table, as_csv, as_latex, as_text

from ...report import invented_pools


def tables(folder: Path, *tasks: str, **more: object) -> dict[str, Table]:
    study = invented_pools.study(*tasks, **more)  # type: ignore[arg-type]
    return report_tables(load_studies([invented_pools.save_pools(folder / "pools", study)]))


def shown(table: Table) -> list[list[str]]:
    return [[cell.text for cell in row] for row in table.rows]


def test_the_order_has_the_papers_form() -> None:
    table = order_table(invented_pools.study("covid"))
    heads = [(column.group, column.name) for column in table.columns[1:]]
    assert heads == [
        (measure, test)
        for measure in ("RR", "nDCG@10")
        for test in ("traditional", "neural", "all")
    ]
    half = [
        "0.900\u00a0[0.860,\u00a00.940]",
        "0.500\u00a0[0.460,\u00a00.540]",
        "0.600\u00a0[0.560,\u00a00.640]",
    ]
    assert shown(table)[0] == ["traditional pools", *half, *half]
    assert [row[0] for row in shown(table)] == ["traditional pools", "neural pools"]


def test_the_papers_cells_stand_below_ours_where_the_task_is_its_own(tmp_path: Path) -> None:
    found = tables(tmp_path, "docs", "covid", recognised={"docs": "TREC DL 2019 documents"})
    rows = shown(found["pool-order-docs"])
    assert [row[:2] for row in rows[:2]] == [
        ["traditional pools", "ours"],
        ["traditional pools", "published"],
    ]
    # Table 1, upper row
    assert rows[1][2:] == ["0.436", "−0.120", "−0.190", "0.772", "0.680", "0.676"]
    assert rows[3][2:] == ["0.769", "0.635", "0.842", "0.774", "0.836", "0.852"]
    assert any(
        "Systems of Different Types (SIGIR 2020), Table 1;" in note
        for note in found["pool-order-docs"].notes
    )
    other = found["pool-order-covid"]
    assert [column.name for column in other.columns[:2]] == ["", "traditional"]
    assert not any("Published" in note for note in other.notes)


def test_passages_have_their_own_reciprocal_rank(tmp_path: Path) -> None:
    measures = ("RR(rel=2)", "nDCG@10")
    rows = shown(
        tables(
            tmp_path,
            "passages",
            recognised={"passages": "TREC DL 2019 passages"},
            measures=measures,
        )["pool-order"]
    )
    # Table 2, upper row
    assert rows[1][2:] == ["0.630", "0.004", "0.000", "0.789", "0.574", "0.612"]
    assert rows[3][2:] == ["0.700", "0.810", "0.875", "0.890", "0.874", "0.881"]


def test_bias_judged_and_residual(tmp_path: Path) -> None:
    table = tables(tmp_path, "covid")["pool-bias"]
    rows = shown(table)
    assert [row[0] for row in rows] == ["RR"] * 6 + ["nDCG@10"] * 6
    within, across = rows[:2]
    assert within[1:3] == ["traditional", "traditional"]
    assert within[5:7] == ["−0.100\u00a0[−0.120,\u00a0−0.080]", "−12.5\u00a0%"]
    assert across[5:7] == ["−0.160\u00a0[−0.180,\u00a0−0.140]", "−20.0\u00a0%"]
    assert across[7:] == ["100.0\u00a0%", "70.0\u00a0%", "0.010", "0.300"]


def test_whether_kind_matters_stands_with_its_error_rates(tmp_path: Path) -> None:
    rows = shown(tables(tmp_path, "covid")["pool-kinds"])
    assert len(rows) == 8  # two measures, two kinds of pool, two contrasts
    assert rows[0][:5] == ["RR", "traditional", "neural", "beside unseen", "worse"]
    assert rows[0][5:9] == ["−0.065", "−0.005", "−0.060\u00a0[−0.070,\u00a0−0.050]", "0.016"]
    assert rows[0][9:] == ["0.4\u00a0%\u00a0[0.1,\u00a01.0]", "72.0\u00a0%", "6"]


def test_groups_left_out_labels_and_the_rest(tmp_path: Path) -> None:
    found = tables(tmp_path, "covid")
    assert shown(found["pool-left-out"]) == [
        ["large", "neural, traditional", "2", "30", "20", "−0.060"],  # −0.1 and −0.02
        ["small", "traditional", "1", "3", "1", "−0.020"],
    ]
    assert shown(found["pool-left-out-kinds"]) == [
        ["RR", "neural", "1", "−0.100", "−0.100", "3.0", "3"]
    ]
    assert shown(found["pool-left-out-runs"])[1] == [
        "one",
        "large",
        "neural",
        "0.800",
        "0.700",
        "1",
        "4",
    ]
    bounds = "[0.400,\u00a00.550]"
    assert shown(found["pool-labels"])[0][3:5] == ["0.500", f"0.450\u00a0{bounds}"]
    assert (
        "10\u00a0% of the runs given another kind at random, 20 times"
        in found["pool-labels"].notes[0]
    )
    assert (
        found["pool-labels"].notes[1]
        == "Up to 1 of these left a row without pools or kinds and are not in it."
    )
    assert shown(found["pool-agreement"])[1][:3] == ["RR", "traditional", "neural"]
    assert shown(found["pool-agreement"])[1][4:] == [
        "0.400\u00a0[0.350,\u00a00.450]",
        "50.0\u00a0%",
        "40.0\u00a0%",
        "80.0\u00a0%",
        "10.0\u00a0%",
    ]
    assert shown(found["pool-task"]) == [
        ["traditional", "3", "2", "60", "30"], ["neural", "4", "3", "80", "50"],
        ["gold", "7", "4", "200", "90"],
    ]  # fmt: skip
    for table in found.values():
        assert as_text(table)
        assert as_latex(table)
        assert len(as_csv(table).splitlines()) == len(table.rows) + 1


def test_every_figure_has_its_data(tmp_path: Path) -> None:
    found = tables(tmp_path, "covid")
    assert shown(found["pool-coverage"])[2] == ["3", "15", "5", "18", "6"]
    assert len(found["pool-scatter"].rows) == 2 * 2 * 6
    assert shown(found["pool-scatter"])[0][2:8] == [
        "traditional-2",
        "t",
        "traditional",
        "0.600",
        "0.500",
        "−0.100",
    ]
    curve = shown(found["pool-depth"])
    assert curve[0] == [
        "RR",
        "traditional",
        "traditional",
        "1",
        "0.400",
        "−0.300\u00a0[−0.400,\u00a0−0.200]",
        "10",
        "8",
    ]
    assert curve[2][3:6] == ["10", "–", "−0.100"]
    assert len(curve) == len(found["pool-groups"].rows) == 12


def test_a_verdict(tmp_path: Path) -> None:
    saved = invented_pools.save_pools(tmp_path / "said", invented_pools.verdict("old"))
    found = report_tables(load_studies([saved]))
    assert shown(found["pool-verdict"]) == [
        [
            "nDCG@10",
            "cannot be judged yet",
            "0.500",
            "0.530\u00a0[0.510,\u00a00.550]",
            "0.400",
            "0.700",
            "1",
            "1",
            "1",
            "7",
        ]
    ]
    rows = shown(found["pool-comparisons"])
    assert [row[1] for row in rows] == ["best", "near", "worst"]
    assert rows[0][3:] == [
        "0.900",
        "5.0\u00a0%",
        "−0.400",
        "−0.370",
        "−0.450",
        "−0.200",
        "0.00",
        "worse, certainly",
        "yes",
    ]
    # its shares by query are no system's effectiveness
    assert set(found) == {"pool-verdict", "pool-comparisons"}
    caption = verdict_caption(invented_pools.verdict("old"))
    assert (
        "nDCG@10: 0.500 as judged, 0.530 predicted (0.510 to 0.550), 0.400 to 0.700 possible. "
        "30.0\u00a0% of its first 10 are unjudged."
    ) in caption


def test_captions_say_the_main_numbers() -> None:
    results = invented_pools.study("covid")
    assert (
        "traditional (3 runs of 2 groups): 15, 5 of them in no other kind's pool; neural"
        in coverage_caption(results)
    )
    assert (
        "RR, traditional pool: traditional 0.812, neural –, all 0.333; RR, neural pool"
        in scatter_caption(results)
    )
    across = (
        "neural runs by traditional pools, RR: −0.160\u00a0[−0.180,\u00a0−0.140], beside unseen "
        "traditional runs −0.060\u00a0[−0.070,\u00a0−0.050], beyond mixed pools −0.060"
    )
    assert across in bias_caption(results)
    assert "traditional runs by traditional pools" not in bias_caption(results)
    assert "neural runs by traditional pools, RR: −0.300 at 1, −0.100 at 10" in curve_caption(
        results, "depth"
    )


def test_the_scatter_has_a_panel_a_pool_and_measure_and_the_line_of_equal_scores() -> None:
    figure = scatter_figure(invented_pools.study("covid"))
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles == [
        "RR, traditional pool",
        "RR, neural pool",
        "nDCG@10, traditional pool",
        "nDCG@10, neural pool",
    ]
    traditional, neural, line = figure.axes[0].lines
    assert list(traditional.get_xdata()) == pytest.approx([0.4, 0.5, 0.6])
    assert list(neural.get_ydata()) == pytest.approx([0.3, 0.4, 0.5])
    assert list(line.get_xdata()) == list(line.get_ydata())
    assert traditional.get_marker() != neural.get_marker()  # colour alone tells no kind


def test_figures_by_name_of_one_task_and_of_several() -> None:
    assert set(pool_figures(invented_pools.study("one"))) == {
        "coverage",
        "scatter",
        "bias",
        "depth",
        "groups",
    }
    names = {
        f"{name}-{task}"
        for name in ("scatter", "bias", "depth", "groups")
        for task in ("one", "two")
    }
    assert set(pool_figures(invented_pools.study("one", "two"))) == {"coverage", *names}
    assert set(pool_figures(invented_pools.verdict("old"))) == {"verdict"}
    coverage = coverage_figure(invented_pools.study("one", "two"))
    assert [axes.get_title(loc="left").partition(":")[0] for axes in coverage.axes] == [
        "one",
        "one",
        "two",
        "two",
    ]


def test_the_page_of_two_tasks(tmp_path: Path) -> None:
    results = invented_pools.study("docs", "passages")
    page = write_report(
        [invented_pools.save_pools(tmp_path / "study", results)], tmp_path / "page.html"
    ).read_text("utf-8")
    for anchor in (
        "pool-coverage",
        "pool-order",
        "pool-bias",
        "pool-curves",
        "pool-left-out",
        "pool-labels",
    ):
        assert f'<section id="{anchor}"' in page
    assert 'id="figure-pool-scatter-docs-1"' in page
    assert 'id="table-pool-bias-passages-1"' in page
    assert "docs: 7 runs (3 traditional of 2 groups, 4 neural of 3 groups); 43 queries" in page
    assert "Pools of traditional runs underestimate neural runs by 0.160 RR" in page
    # documents found by query are no system's effectiveness
    assert "Against the baselines" not in page


@pytest.mark.parametrize(
    ("draw", "wanted"),
    [
        (coverage_figure, "relevant documents by pool depth"),
        (scatter_figure, "the points of one pool"),
        (bias_figure, "a change of scores"),
        (lambda results: curve_figure(results, "depth"), "a curve by depth of pools"),
        (verdict_figure, "bounds of scores"),
    ],
    ids=["coverage", "scatter", "bias", "curve", "verdict"],
)
def test_nothing_to_draw_is_said(draw: object, wanted: str) -> None:
    with pytest.raises(InputError, match=wanted):
        draw([])  # type: ignore[operator]
