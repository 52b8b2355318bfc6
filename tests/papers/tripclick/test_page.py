"""The tables, figures and sections of a TripClick study: ours and the paper's lines beneath each
other, curves, what is left out.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from positionbias.core.errors import InputError
from positionbias.core.manifest import Manifest
from positionbias.papers.tripclick import (
    REGENERATED,
    RERANKER,
    TELEMETRY,
    DepthCurve,
    Telemetry,
    TrainingSet,
)
from positionbias.papers.tripclick.measured import measure_tripclick
from positionbias.papers.tripclick.page import (
    depth_caption,
    depth_figure,
    depths_table,
    negatives_caption,
    negatives_figure,
    negatives_table,
    sets_table,
    telemetry_figure,
    telemetry_table,
    tripclick_figures,
)
from positionbias.report.html import report_tables, write_report
from positionbias.report.load import load_studies
from positionbias.report.table import Table, as_csv, as_latex, as_text
from positionbias.results.figures import Figures
from positionbias.results.payloads import TrainingCurve
from positionbias.results.result import Facts, Result, load_results, save_results

from .made_up import CAT, ORIGINAL, TK, TOGETHER, made_up

ACCURACY = {REGENERATED: (None, 0.7, 0.9), "original": (None, 0.6, 0.65)}


def rank(facts: Facts, seed: int, split: str, query: int) -> int:
    """As good as can be, but for TK, which has 2, and BERT_CAT on original negatives, which has 3
    or 4.
    """
    return {TK: 2, ORIGINAL: 4 if query < 3 else 3, CAT: 2 if query == 0 else 1, TOGETHER: 1}.get(
        facts, 4
    )


def trainings() -> list[Result]:
    """What was logged by steps 0, 100 and 200, and the means over the last half, made up."""
    found = []
    for variant, accuracy in ACCURACY.items():
        facts = Facts(model="bert_cat", pretrained="scibert", variant=variant, role=RERANKER)
        margins = [None if value is None else 10 * value for value in accuracy]
        curve = TrainingCurve([0, 100, 200], {"pair accuracy": accuracy, "score margin": margins})
        seeded = Facts(
            model="bert_cat", pretrained="scibert", variant=variant, role=RERANKER, seed=1
        )
        found.append(
            Result("training", "invented", "train", "BERT_CAT", 1, None, None, 3, curve, seeded)
        )
        late = sum(value for value in accuracy if value) / 2
        logged = Telemetry(
            pair_accuracy=[late],
            score_margin=[10 * late],
            loss=[None],
            seeds=[1],
            steps=[200],
            kept=[200],
        )
        found.append(Result(TELEMETRY, "invented", "", "BERT_CAT", 1, late, None, 1, logged, facts))
    return found


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> list[Result]:
    folder = tmp_path_factory.mktemp("tripclick")
    study = made_up(folder / "study", rank, tests=("head_test:dctr", "own"), seeds=(1,))
    return [*measure_tripclick(study), *trainings()]


@pytest.fixture(scope="module")
def saved(results: list[Result], tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("saved") / "study"
    save_results(place, results, Manifest("results", "TripClick", "study tripclick"))
    return place


@pytest.fixture(scope="module")
def tables(saved: Path) -> dict[str, Table]:
    return report_tables(load_studies([saved]))


def texts(table: Table) -> list[list[str]]:
    return [[cell.text for cell in row] for row in table.rows]


def test_table_1(tables: dict[str, Table]) -> None:
    table = tables["tripclick-reranking"]
    assert [column.full_name for column in table.columns] == [
        "Model", "Began with", "Negatives", "",
        "head_test.dctr nDCG@10", "head_test.dctr RR@10", "own nDCG@10", "own RR@10",
    ]  # fmt: skip
    rows = texts(table)
    # what is relevant stands at BM25's rank 5: 1 / log2 6
    assert rows[0] == ["BM25", "", "", "ours", "0.387", "0.200", "0.387", "0.200"]
    assert rows[1] == ["BM25", "", "", "published, line 1", "0.140", "0.276", "", ""]
    assert rows[2][:4] == ["ConvKNRM", "", "original baselines", "published, line 2"]
    assert [row[3] for row in rows if row[0] == "TK"] == [
        "ours",
        "published, line 3",
        "published, line 4",
    ]
    cat = [row for row in rows if row[0] == "BERT_CAT"]
    assert cat[0][1:5] == ["scibert", "regenerated", "ours", "0.982‡"]
    assert cat[1][2:4] == ["original", "ours"]
    assert [row[3] for row in cat[2:]] == [f"published, line {line}" for line in (7, 8, 9, 10, 11)]
    assert cat[4][1:] == ["SciBERT", "", "published, line 9", "0.294", "0.595", "", ""]
    assert [row[3] for row in rows if row[0] == "Ensemble"] == ["ours", "published, line 12"]
    # every line of the paper's that is on head, and once
    assert sorted(
        int(row[3].split()[-1]) for row in rows if row[3].startswith("published")
    ) == list(range(1, 13))
    assert any("Establishing Strong Baselines" in note for note in table.notes)


def test_table_2(tables: dict[str, Table]) -> None:
    table = tables["tripclick-retrieval"]
    rows = texts(table)
    assert [column.name for column in table.columns][-6:] == [
        "J@10",
        "nDCG@10",
        "RR@10",
        "R@100",
        "R@200",
        "R@1000",
    ]
    head = [row for row in rows if row[0] == "head_test.dctr"]
    assert head[0][1] == "BM25"
    assert head[0][-6] == "50.0\u00a0%"
    line_14 = next(row for row in head if "published, line 14" in row)
    assert line_14[-6:] == ["41.0\u00a0%", "0.243", "0.530", "0.562", "0.640", "0.793"]
    own = [row for row in rows if row[0] == "own"]
    assert [row[1] for row in own] == ["BM25", "BERT_DOT"]


def test_the_other_tables(tables: dict[str, Table]) -> None:
    table = tables["tripclick-sets"]
    sets = [
        dict(zip((column.name for column in table.columns), row, strict=True))
        for row in texts(table)
    ]
    assert (sets[1]["Training set"], sets[1]["Share false"]) == ("original", "50.0\u00a0%")
    # a clicked passage a query, two negatives of each
    assert (sets[1]["Groups"], sets[1]["Queries"], sets[1]["Positives"]) == ("40", "20", "20")
    assert sets[1]["Without negatives"] == "0"
    telemetry = texts(tables["tripclick-telemetry"])
    assert telemetry[0][:5] == [
        "BERT_CAT, scibert",
        "regenerated",
        sets[0]["Share false"],
        "0.800",
        "8.000",
    ]
    assert telemetry[1][2:4] == ["50.0\u00a0%", "0.625"]
    # the last of all
    assert "Step kept" not in [column.name for column in tables["tripclick-telemetry"].columns]
    gains = texts(tables["tripclick-negatives"])
    assert gains[0][:5] == [
        "head_test.dctr",
        "nDCG@10",
        "BERT_CAT, scibert",
        "original",
        "regenerated",
    ]
    (counted,) = [
        note
        for note in tables["tripclick-negatives"].notes
        if "differ" in note and "triples" in note
    ]
    assert "original 40 triples of 20 queries and 20 clicked passages" in counted
    depths = tables["tripclick-depths"]
    assert [column.name for column in depths.columns][2:] == ["3", "6", "10"]
    for table in tables.values():
        for write in (as_text, as_csv, as_latex):
            assert write(table)


def test_the_depth_curves_are_what_was_measured(results: list[Result]) -> None:
    figure = depth_figure(results)
    (axes,) = [axes for axes in figure.axes if axes.axison]
    curves = {
        tuple(round(float(y), 3) for y in line.get_ydata())
        for line in axes.lines
        if len(line.get_ydata()) == 3
    }
    # TK 1 / log2 3; BERT_CAT (19 + 1 / log2 3) / 20; both BM25's 1 / log2 6 where only three are
    # re-ranked
    assert curves == {(0.387, 0.631, 0.631), (0.387, 0.982, 0.982)}
    assert next(label.get_text() for label in axes.get_xticklabels()) == "10"
    assert "TK on head_test.dctr: 0.387 at 3, 0.631 at 10" in depth_caption(results)


def test_training_sets_stand_in_one_panel_a_model(results: list[Result]) -> None:
    figure = negatives_figure(results)
    (axes,) = [axes for axes in figure.axes if axes.axison]
    assert axes.get_title(loc="left") == "BERT_CAT, scibert"
    assert [text.get_text() for text in figure.legends[0].texts] == ["regenerated", "original"]
    assert "BERT_CAT, scibert, original on head_test.dctr" in negatives_caption(results)


def test_what_was_logged(results: list[Result]) -> None:
    figure = telemetry_figure(results)
    titles = [axes.get_title(loc="left").replace("\n", " ") for axes in figure.axes]
    assert titles == ["Pairwise accuracy, BERT_CAT, scibert", "Score margin, BERT_CAT, scibert"]
    assert [list(map(float, line.get_ydata())) for line in figure.axes[0].lines] == [
        [0.7, 0.9],
        [0.6, 0.65],
    ]


@pytest.mark.parametrize("width", [3.5, 8.4])
def test_every_figure_has_room(results: list[Result], width: float) -> None:
    figures = tripclick_figures(results, width=width)
    assert list(figures) == ["depth", "negatives", "telemetry"]
    for figure in figures.values():
        figure.canvas.draw()
        for axes in figure.axes:
            if axes.axison:
                assert axes.get_window_extent().width > 0.3 * 72


def test_the_page_and_what_is_left_out(saved: Path, tmp_path: Path) -> None:
    page = write_report([saved], tmp_path / "page.html").read_text()
    assert "Re-ranking and retrieval on clicks" in page
    assert "What models were trained on" in page
    assert "table-systems" not in page  # every system stands in the study's own section
    assert "Paired comparisons" not in page


def test_results_that_say_less_make_the_same_tables(
    results: list[Result], tables: dict[str, Table]
) -> None:
    def less(result: Result) -> Result:
        if not isinstance(result.payload, Figures):
            return result
        record = result.to_json()
        rows = record["payload"]["rows"]
        for name in ("kept", "positives", "left out", "beyond the candidates"):
            rows.pop(name, None)
        for point in rows.get("points", ()):
            del point["reached"]
        return Result.from_json(record)

    found = list(map(less, results))
    assert texts(telemetry_table(found)) == texts(tables["tripclick-telemetry"])
    assert texts(depths_table(found)) == texts(tables["tripclick-depths"])
    assert texts(negatives_table(found)) == texts(tables["tripclick-negatives"])
    assert "Positives" not in [column.name for column in sets_table(found).columns]


def test_figures_are_read_as_they_were_saved(results: list[Result], saved: Path) -> None:
    read = [result for result in load_results(saved) if isinstance(result.payload, Figures)]
    assert read == [result for result in results if isinstance(result.payload, Figures)]
    assert {type(result.payload) for result in read} == {TrainingSet, Telemetry, DepthCurve}


def test_nothing_to_draw() -> None:
    for draw in (depth_figure, negatives_figure, telemetry_figure):
        with pytest.raises(InputError, match="figure: wanted"):
            draw([])
    assert tripclick_figures([]) == {}
