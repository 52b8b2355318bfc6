"""The tables, figure and sentences of a leakage study, and what the paper prints."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pandas import DataFrame

from positionbias.core import rows as core_rows
from positionbias.core.manifest import Manifest
from positionbias.core.records import Interval
from positionbias.core.rows import Collected, read_csv
from positionbias.evaluation.answers import Compared
from positionbias.leakage.measured import TARGETS
from positionbias.papers.leakage import (
    LEAKED,
    OFFSET,
    RANK,
    SCORE,
    Remembered,
)
from positionbias.papers.leakage.measured import PUBLISHED
from positionbias.papers.leakage.shown import SHOWN, SIZES_FIGURE
from positionbias.report.page import load_study, tables_of, write_page
from positionbias.report.table import Table, as_csv, as_latex, as_text

VARIANTS = ("no leakage", "MSM leakage", "test leakage")
# model → measure → mean without, with MSM, with test leakage
MEANS = {
    "knrm": {"nDCG@10": (0.25, 0.26, 0.35), "MFR": (4.0, 3.5, 2.5)},
    "tk": {"nDCG@10": (0.30, 0.30, 0.31), "MFR": (3.0, 3.0, 3.0)},
}


def study(first_stage: float = 0.2) -> Collected:
    """Two models; test leakage lifts the first, which remembers; the paper's lines beside."""
    made = Collected({"study": "leakage", "collection": "both", "split": "robust"})
    made.add("nDCG@10", "mean", first_stage, model="bm25", role="first stage")
    for model, by_measure in MEANS.items():
        for measure, means in by_measure.items():
            for variant, mean in zip(VARIANTS, means, strict=True):
                bounds = Interval(mean / 2, mean * 2)
                made.add(measure, "mean", mean, bounds, model=model, variant=variant, count=250)
            for variant, mean in zip(VARIANTS[1:], means[1:], strict=True):
                sure = (model, variant) == ("knrm", "test leakage")
                cells: dict[str, Any] = {"model": model, "variant": variant}
                cells |= {"against": "variant=no leakage", "family": f"leakage: {measure}"}
                p = {"p": 0.005 if sure else 0.1, "p_adjusted": 0.01 if sure else 0.2}
                answer = Compared.HIGHER if sure else Compared.NONE
                change = mean - means[0]
                tested = {**cells, **p, "answer": answer, "count": 250, "counted": "topics"}
                made.add(measure, "difference", change, Interval(-1, 1), **tested)
                made.add(measure, "baseline mean", means[0], **cells)
                made.add(measure, "candidate mean", mean, **cells)
    for variant, swapped in (("MSM leakage", "none"), ("test leakage", "tk < knrm")):
        place = {"axis": "models", "label": swapped}
        made.add("nDCG@10", "swaps", swapped != "none", variant=variant, **place)
    for measure, mean in ((RANK, 40.0), (OFFSET, 3.0), (SCORE, 1.0)):
        cells = {"model": "knrm", "variant": "test leakage"}
        answer = Remembered.YES if measure == OFFSET else ""
        counts = {"count": 500, "trainings": 10, "answer": answer}
        made.add(measure, "difference", 2.0, Interval(1, 3), **cells, **counts)
        made.add(measure, "with", mean, **cells)
        made.add(measure, "without", mean - 2, **cells)
    for cell in (
        read_csv(PUBLISHED).query("split == 'Robust04' and model == 'knrm'").to_dict("records")
    ):
        own = ("model", "variant", "whose", "measure", "statistic", "value", "family", "answer")
        made.add(**{name: cell[name] for name in own})
    return made


def by_size(made: Collected, gains: Sequence[float], model: str = "knrm") -> None:
    """Add means and gains with 1,000 and 2,000 instances."""
    common: dict[str, Any] = {"model": model, "count": 172, "subset": LEAKED}
    for at, without, gain in zip((1000.0, 2000.0), (0.2, 0.3), gains, strict=True):
        place = {**common, "axis": "instances", "at": at, "label": f"{at:,.0f}"}
        made.add("nDCG@10", "mean", without, variant="no leakage", **place)
        made.add("nDCG@10", "mean", without + gain, variant="test leakage", **place)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = study()
    by_size(made, (0.3, 0.1))
    place = tmp_path_factory.mktemp("leakage") / "study"
    core_rows.save(place, made.rows, Manifest("results", "Leaking", "study leakage"))
    return place


@pytest.fixture(scope="module")
def tables(saved: Path) -> dict[str, Table]:
    return tables_of(load_study(saved))


def texts(table: Table) -> list[list[str]]:
    return [[cell.text for cell in row] for row in table.rows]


def test_the_papers_figures_stand_beside_ours(tables: dict[str, Table]) -> None:
    effectiveness = tables["leakage"]
    assert [column.full_name for column in effectiveness.columns][:6] == [
        "Model", "Figures", "nDCG@10 no leakage", "nDCG@10 MSM leakage", "nDCG@10 test leakage",
        "MFR no leakage",
    ]  # fmt: skip
    ours, theirs, tk = texts(effectiveness)
    assert ours[:8] == ["KNRM", "ours", "0.250", "0.260", "0.350‡", "4.000", "3.500", "2.500‡"]
    assert theirs[:8] == [
        "KNRM", "published", "0.194", "0.214†", "0.309†", "2.348", "2.309", "1.976†",
    ]  # fmt: skip
    assert tk[:2] == ["TK", "ours"]  # of which the paper prints nothing
    assert any(note.startswith("Published: How Train–Test Leakage") for note in effectiveness.notes)
    test_leakage = [line for line in texts(tables["memory-ranks"]) if line[0] == "test leakage"]
    assert test_leakage[1][2:7] == ["published", "89.95", "26.43", "91.20", "25.24"]
    offsets = [line for line in texts(tables["memory-offsets"]) if line[0] == "test leakage"]
    assert "+1.335" in offsets[1]
    for table in tables.values():
        for write in (as_text, as_csv, as_latex):
            assert write(table)


def test_the_orders(tables: dict[str, Table]) -> None:
    assert texts(tables["leakage-orders"]) == [
        ["nDCG@10", "MSM leakage", "0", "none"],
        ["nDCG@10", "test leakage", "1", "tk < knrm"],
    ]


def findings(rows: DataFrame) -> dict[str, bool | None]:
    found = SHOWN.findings(SHOWN.own(rows))
    return {finding.text.replace("\u00a0", " "): finding.holds for finding in found}


def test_the_sentences(saved: Path) -> None:
    said = findings(core_rows.load(saved))
    (memory,) = (text for text in said if text.startswith("KNRM with test leakage"))
    assert memory.endswith(f"+2.00 [+1.00, +3.00] ranks, over 500 topics: {Remembered.YES}.")


def test_what_the_paper_prints() -> None:
    cells = read_csv(PUBLISHED)
    # models × conditions × measures; models × leaks × targets × 4; × 2
    assert len(cells) == 3 * 45 + 120 + 120 + 60
    assert set(cells["split"]) == set(TARGETS)
    assert (cells["answer"] == "†").sum() == 8 + 2 + 3  # the daggers of Tables 3, 4 and 5
    keys = ["split", "measure", "statistic", "model", "variant"]
    by_key = cells.set_index(keys)["value"]
    for key, value in {
        ("Robust04", "nDCG@10", "mean", "knrm", "test leakage"): 0.309,
        ("Robust04", "MFR", "mean", "duet", "MSM leakage"): 2.682,
        ("Core 2017", "P@1", "mean", "mono_t5", "no leakage"): 0.660,
        ("Core 2018", RANK, "without", "duet", "MSM leakage"): 45.67,
        ("Robust04", RANK, "with deviation", "pacrr", "test leakage"): 34.05,
        ("Core 2017", SCORE, "with", "bert_cat", "MSM leakage"): -0.88,
        ("Robust04", OFFSET, "difference", "duet", "MSM leakage"): 6.378,
        ("Core 2018", OFFSET, "difference deviation", "bert_cat", "test leakage"): 25.98,
    }.items():
        assert by_key[key] == value
    # "in most cases" (exception: monoBERT for MSM leakage and PACRR for test leakage from Common
    # Core 2017)
    scores = cells[cells["measure"] == SCORE].set_index([*keys[:1], *keys[3:], "statistic"])[
        "value"
    ]
    wide = scores.unstack()
    falls = wide[wide["with"] <= wide["without"]].index
    assert set(falls) == {(target, "bert_cat", "MSM leakage") for target in TARGETS} | {
        ("Core 2017", "pacrr", "test leakage")
    }


def test_the_figure_and_its_caption(saved: Path) -> None:
    rows = SHOWN.own(core_rows.load(saved))
    (axes,) = SIZES_FIGURE.draw(rows).axes
    assert axes.get_title(loc="left") == "KNRM"
    means = sorted(list(line.get_ydata()) for line in axes.get_lines())
    assert means == [pytest.approx([0.2, 0.3]), pytest.approx([0.5, 0.4])]
    caption = SIZES_FIGURE.caption(rows)
    assert caption.startswith("nDCG@10 by training set size on the 172 topics with leaked queries")


def test_the_page(saved: Path, tmp_path: Path) -> None:
    page = write_page(load_study(saved), tmp_path / "page.html").read_text(encoding="utf-8")
    for text in ('id="leakage"', 'id="memories"', "Does test leakage lift nDCG@10?", "Remembers"):
        assert text in page
    assert "MSM leakage lifts 0 of 2 models; test leakage lifts 1 of 2 models" in page
