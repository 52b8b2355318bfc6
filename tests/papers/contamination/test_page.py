"""The tables, figures and section of a contamination study: ours and the paper's figures beside
each other, marks, doses, what is left out.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from positionbias.core.errors import InputError
from positionbias.core.manifest import Manifest
from positionbias.papers.contamination.measured import measure_contamination
from positionbias.papers.contamination.page import (
    contamination_figures,
    doses_caption,
    doses_figure,
    inflation_caption,
    inflation_figure,
)
from positionbias.report.html import report_tables, write_report
from positionbias.report.load import load_studies
from positionbias.report.table import Table, as_csv, as_latex, as_text
from positionbias.results.result import Result, save_results

from .contaminating import TEACHER, System, contaminated_study

SYSTEMS: tuple[System, ...] = (
    TEACHER,
    ("student", "bert_cat", "kl"),
    ("student", "bert_dot", "ranknet"),
)


def rank(system: System, source: str, share: float, seed: int, target: str, query: int) -> int:
    """Clean 3, with a 2 for the first query; what saw the target itself, or has a teacher that did,
    1 for as many queries as its share says.
    """
    seen = source == target and query < 8 * share
    return 1 if seen and (system == TEACHER or query % 2) else 2 if query == 0 else 3


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> list[Result]:
    folder = tmp_path_factory.mktemp("contamination")
    targets = ("msm.dl19", "own")
    return measure_contamination(
        contaminated_study(
            folder / "study",
            rank,
            targets=targets,
            systems=SYSTEMS,
            shares=(0.25, 1.0),
            seeds=(1, 2, 3),
        )
    )


@pytest.fixture(scope="module")
def tables(results: list[Result], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Table]:
    place = tmp_path_factory.mktemp("saved") / "study"
    save_results(place, results, Manifest("results", "Contaminated", "study contamination"))
    return report_tables(load_studies([place]))


def texts(table: Table) -> list[list[str]]:
    return [[cell.text for cell in row] for row in table.rows]


def test_table_1(tables: dict[str, Table]) -> None:
    table = tables["contamination"]
    assert [column.full_name for column in table.columns] == [
        "Role", "Model", "Loss", "Contaminated", "",
        "msm.dl19 nDCG@10", "msm.dl19 AP(rel=2)", "msm.dl19 R(rel=2)@100",
        "own nDCG@10", "own AP(rel=2)", "own R(rel=2)@100",
    ]  # fmt: skip
    rows = texts(table)
    assert rows[0] == [
        "BM25",
        "",
        "",
        "",
        "ours",
        "0.333",
        "0.143",
        "1.000",
        "0.333",
        "0.143",
        "1.000",
    ]
    # clean: (0.6309 + 7 · 0.5) / 8 and (1/2 + 7/3) / 8
    assert rows[1][:8] == ["teacher", "BERT_CAT", "LCE", "no", "ours", "0.516", "0.354", "1.000"]
    assert rows[2] == [
        "teacher",
        "BERT_CAT",
        "LCE",
        "no",
        "published",
        "0.701",
        "0.457",
        "0.626",
        "",
        "",
        "",
    ]
    assert rows[3][3:] == ["yes", "ours", "1.000‡", "1.000‡", "1.000", "1.000‡", "1.000‡", "1.000"]
    assert rows[4][3:8] == ["yes", "published", "0.740", "0.509", "0.654"]
    # the student of a contaminated teacher: 1 for the odd queries, (4 + 0.6309 + 3 · 0.5) / 8
    # p = 0.033
    assert rows[7][:6] == ["student", "BERT_CAT", "KL\u00a0div.", "yes", "ours", "0.766†"]
    # a bi-encoder's clean figures are not printed
    assert [row[1:5] for row in rows[9:]] == [
        ["BERT_DOT", "RankNet", "no", "ours"],
        ["BERT_DOT", "RankNet", "yes", "ours"],
        ["BERT_DOT", "RankNet", "yes", "published"],
    ]
    assert any(note.startswith("Published: Training on the Test Model") for note in table.notes)
    assert any(
        "beside BERT_CAT stands a model that began with ELECTRA" in note for note in table.notes
    )


def test_table_2(tables: dict[str, Table]) -> None:
    rows = texts(tables["contamination-sources"])
    assert [row[3:5] for row in rows if row[0] == "teacher"] == [
        ["none", "ours"],
        ["msm.dl19", "ours"],
        ["own", "ours"],
    ]
    kl = [row[3:] for row in rows if row[2] == "KL\u00a0div."]
    assert [row[:2] for row in kl] == [
        ["none", "ours"], ["none", "published"], ["msm.dl19", "ours"], ["msm.dl19", "published"],
        ["own", "ours"],
    ]  # fmt: skip
    assert kl[1][2:] == ["0.704", ""]
    assert kl[3][2:] == ["0.707", ""]
    # against its paired clean model: 4 queries of 8 gain ½, t = ¼ / (0.267 / √8) = 2.65 with 7
    # degrees of freedom, as all trainings agree: p = 0.033
    assert kl[2][2].startswith("0.766†\u00a0[")
    assert kl[2][3].startswith("0.516\u00a0[")  # on the other target nothing changes


def test_the_other_tables(tables: dict[str, Table]) -> None:
    inflation = texts(tables["inflation"])
    assert inflation[0][:7] == [
        "nDCG@10",
        "msm.dl19",
        "teacher",
        "BERT_CAT",
        "LCE",
        "0.516",
        "1.000",
    ]
    assert inflation[0][7].startswith("+0.484\u00a0[")
    assert inflation[0][-2:] == ["+0.484, +0.484, +0.484", "8"]  # seed by seed
    assert len(inflation) == 3 * 2 * 3  # measures, targets, systems
    standard = tables["standard-teacher"]
    # every student is paired with the teacher of its seed
    assert standard.columns[-2].name == "Seed by seed"
    assert texts(standard)[2][3:8] == [
        "BERT_CAT",
        "KL\u00a0div., contaminated",
        "0.516",
        "0.766",
        "+0.250\u00a0[+0.027,\u00a0+0.473]",
    ]
    inherited = texts(tables["inherited"])
    # ½ · 4 queries against 0.369 + 7 · ½
    assert inherited[0][:6] == [
        "nDCG@10",
        "msm.dl19",
        "BERT_CAT",
        "KL\u00a0div.",
        "+0.484",
        "+0.250",
    ]
    assert inherited[0][6].startswith("51.7\u00a0%\u00a0[")
    assert {row[6] for row in inherited if row[0] == "R(rel=2)@100"} == {"not defined"}
    beyond = texts(tables["beyond"])
    assert beyond[0][:7] == ["msm.dl19", "teacher", "BERT_CAT", "LCE", "own", "+0.484", "0.000"]
    assert beyond[0][7].startswith("+0.484\u00a0[")
    doses = texts(tables["doses"])
    # 2 and 8 groups beside 8
    assert [row[4:6] for row in doses[:2]] == [["0.25", "20.0\u00a0%"], ["1.00", "50.0\u00a0%"]]
    assert doses[0][9] == "2"
    assert doses[1][10:] == ["", "0"]
    assert [row[:3] for row in texts(tables["contaminated-sets"])] == [
        ["none", "0.00", "8"], ["msm.dl19", "0.25", "10"], ["msm.dl19", "1.00", "16"],
        ["own", "0.25", "10"], ["own", "1.00", "16"],
    ]  # fmt: skip
    assert texts(tables["distillation-trainings"])[0][5:7] == ["1, 2, 3", "100, 200, 300"]
    for table in tables.values():
        assert as_text(table)
        assert as_csv(table)
        assert as_latex(table)
    assert not {"comparisons", "systems"} & tables.keys()  # all is shown in the study's own section


def test_other_targets_have_no_published_figure(tmp_path: Path) -> None:
    study = contaminated_study(tmp_path / "study", rank, targets=("own", "other"), systems=SYSTEMS)
    save_results(
        tmp_path / "results",
        measure_contamination(study),
        Manifest("results", "Contaminated", "study contamination"),
    )
    found = report_tables(load_studies([tmp_path / "results"]))
    assert not any(
        "published" in row
        for name in ("contamination", "contamination-sources")
        for row in texts(found[name])
    )
    assert texts(found["contamination"])[1][:5] == ["teacher", "BERT_CAT", "LCE", "no", "0.516"]


def test_two_trainings_have_both_values_and_no_interval(tmp_path: Path) -> None:
    study = contaminated_study(
        tmp_path / "study", rank, targets=("own", "other"), systems=SYSTEMS, seeds=(1, 2)
    )
    save_results(
        tmp_path / "results",
        measure_contamination(study),
        Manifest("results", "Contaminated", "study contamination"),
    )
    found = report_tables(load_studies([tmp_path / "results"]))
    teacher = next(row for row in texts(found["contamination-sources"]) if row[3] == "own")
    assert teacher[3:] == ["own", "1.000", "0.516"]  # no mark either
    (inflation, *_) = texts(found["inflation"])
    assert (inflation[7], inflation[-2]) == ("+0.484", "+0.484, +0.484")
    assert any("of two there are none" in note for note in found["contamination"].notes)


def test_the_inflation_figure(results: list[Result]) -> None:
    figure = inflation_figure(results)
    panels = [axes for axes in figure.axes if axes.axison]
    assert [axes.get_title(loc="left") for axes in panels] == ["msm.dl19", "own"]
    points = [
        (float(line.get_xdata()[0]), line.get_color())
        for line in panels[0].get_lines()
        if line.get_marker() != "None"
    ]
    assert [round(x, 3) for x, _ in points] == [0.484, 0.25, 0.25]
    assert points[0][1] != points[1][1] == points[2][1]  # a teacher, two students
    assert "msm.dl19, teacher BERT_CAT, LCE: +0.484" in inflation_caption(results)
    with pytest.raises(
        InputError, match="wanted a contaminated system beside its paired clean model"
    ):
        inflation_figure([])


def test_the_dose_figure(results: list[Result]) -> None:
    figure = doses_figure(results, width=8.4)
    panels = [axes for axes in figure.axes if axes.axison]
    assert len(panels) == 6
    lines = [line for line in panels[0].get_lines() if line.get_marker() != "None"]
    # of the whole share there are no other queries
    assert [len(line.get_xdata()) for line in lines] == [2, 2, 1]
    # a quarter: of the first query 1 − 0.6309, of the second a half
    assert lines[0].get_ydata() == pytest.approx([(1 - 0.63093 + 0.5) / 8, 0.48364], abs=1e-4)
    assert "teacher BERT_CAT, LCE on msm.dl19: +0.109 with 0.25, +0.484 with 1" in doses_caption(
        results
    )
    with pytest.raises(InputError, match="wanted inflation at several shares"):
        doses_figure([])
    assert set(contamination_figures(results)) == {"inflation", "doses"}
    assert contamination_figures([]) == {}


def test_the_page(results: list[Result], tmp_path: Path) -> None:
    save_results(
        tmp_path / "study", results, Manifest("results", "Contaminated", "study contamination")
    )
    page = write_report([tmp_path / "study"], tmp_path / "page.html").read_text(encoding="utf-8")
    for anchor in (
        "contamination",
        "figure-inflation-1",
        "figure-contamination-doses-1",
        "table-contamination-1",
        "table-doses-1",
    ):
        assert f'id="{anchor}"' in page
    assert "share 0.25;" not in page  # what was run names each system once
