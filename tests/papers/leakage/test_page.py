"""The tables, figure and sections of a leakage study: ours and the paper's figures beside each
other, signs, what is left out.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from positionbias.core.errors import InputError
from positionbias.core.interval import Interval
from positionbias.core.manifest import Manifest
from positionbias.papers.leakage import (
    BY_SIZE,
    LEAKAGE,
    NEGATIVE_RANK,
    OFFSET,
    ORDER,
    RANK,
    SCORE,
    Memory,
    ModelOrders,
    OrderChange,
    SizeEffect,
    SizePoint,
)
from positionbias.papers.leakage.findings import leakage_findings
from positionbias.papers.leakage.page import sizes_caption, sizes_figure
from positionbias.report.html import report_tables, write_report
from positionbias.report.load import load_studies
from positionbias.report.table import Table, as_csv, as_latex, as_text
from positionbias.results.payloads import Comparison, PerQuery
from positionbias.results.result import Facts, Result, save_results

ROBUST = [str(number) for number in (*range(301, 451), *range(601, 701))]
VARIANTS = ("no leakage", "MSM leakage", "test leakage")
# model → measure → mean without, with MSM, with test leakage
MEANS = {
    "knrm": {"nDCG@10": (0.25, 0.26, 0.35), "MFR": (4.0, 3.5, 2.5), "RR": (0.5, 0.5, 0.8)},
    "tk": {"nDCG@10": (0.30, 0.30, 0.31), "MFR": (3.0, 3.0, 3.0), "RR": (0.4, 0.4, 0.5)},
}


def result(
    measure: str, payload: object, facts: Facts, value: float | None = None, **more: object
) -> Result:
    system = f"{facts.model}, {facts.variant}" if facts.variant else facts.model
    header = {"interval": None, "count": len(ROBUST), **more}
    return Result(
        measure, "both", "robust", system, 1, value, payload=payload, facts=facts, **header
    )  # type: ignore[arg-type]


def compared(
    model: str, measure: str, variant: str, means: tuple[float, float], p: float | None
) -> Result:
    payload = Comparison(
        f"{model}, no leakage", f"{model}, {variant}", *means, means[1] - means[0], Interval(-1, 1),
        None, None, None, 0.2,
        0.5, 0.04, {"bonferroni": p}, notes={"axis": LEAKAGE, "queries": len(ROBUST)}, p=p
        and p / 2,
    )  # fmt: skip
    bounds = {"interval": Interval(-1, 1)}
    return result(
        measure, payload, Facts(model=model, variant=variant), means[1] - means[0], **bounds
    )


def study(topics: list[str] = ROBUST) -> list[Result]:
    found = [
        result(
            measure,
            PerQuery(
                topics, [mean] * len(topics), {"chosen instances, fold by fold": [1000, 2000]}
            ),
            Facts(model=model, variant=variant),
            mean,
            interval=Interval(mean / 2, mean * 2),
        )
        for model, by_measure in MEANS.items()
        for measure, means in by_measure.items()
        for variant, mean in zip(VARIANTS, means, strict=True)
    ]
    found += [result("nDCG@10", PerQuery(topics, [0.2] * len(topics)), Facts(model="bm25"), 0.2)]
    found += [
        compared(
            model,
            measure,
            variant,
            (means[0], means[place]),
            0.01 if variant == "test leakage" and model == "knrm" else 0.2,
        )
        for model, by_measure in MEANS.items()
        for measure, means in by_measure.items()
        for place, variant in ((1, "MSM leakage"), (2, "test leakage"))
    ]
    orders = {
        "MSM leakage": OrderChange(1.0, [], []),
        "test leakage": OrderChange(-1.0, [("tk", "knrm")], [("knrm", "tk")]),
    }
    found.append(result(ORDER, ModelOrders(measure="nDCG@10", rows=orders), Facts(), count=2))
    for measure, mean in ((RANK, 40.0), (OFFSET, 3.0), (SCORE, 1.0), (NEGATIVE_RANK, 50.0)):
        figures = Memory(
            with_mean=mean, with_deviation=5.0, without_mean=mean + 2, without_deviation=6.0,
            difference=-2.0, difference_deviation=1.0, count=500, repeats=10,
        )  # fmt: skip
        facts = Facts(model="knrm", variant="test leakage")
        found.append(result(measure, figures, facts, -2.0, interval=Interval(-3, -1), count=500))
    return found


def sizes(model: str) -> Result:
    def points(*means: float) -> list[SizePoint]:
        return [
            SizePoint(size, mean, Interval(mean - 0.1, mean + 0.1))
            for size, mean in zip((1000, 2000), means, strict=True)
        ]

    effect = SizeEffect(
        measure="nDCG@10",
        topics="leaked",
        means={"no leakage": points(0.2, 0.3), "test leakage": points(0.5, 0.4)},
        gains={"test leakage": points(0.3, 0.1)},
        change={"test leakage": points(0.0, -0.2)[1]},
    )
    return replace(result(BY_SIZE, effect, Facts(model=model), count=172), system=model)


@pytest.mark.parametrize(
    ("small", "large", "sure", "verdict", "holds"),
    [
        (0.3, 0.1, True, "the effect shrinks as the sets grow.", True),
        (-0.3, -0.1, True, "the effect shrinks as the sets grow.", True),  # what harm it does
        (-0.1, -0.3, True, "the effect grows with the sets, which goes against the paper.", False),
        (0.1, 0.3, True, "the effect grows with the sets, which goes against the paper.", False),
        # to what may be none: −0.15 to +0.05
        (0.3, -0.05, True, "the effect shrinks as the sets grow.", True),
        (0.3, -0.2, True, "the effect changes its sign as the sets grow.", None),
        (0.3, 0.1, False, "these data cannot tell whether it shrinks.", None),
    ],
)
def test_whether_the_effect_shrinks(
    small: float, large: float, sure: bool, verdict: str, holds: bool | None
) -> None:
    given = sizes("knrm")
    assert isinstance(given.payload, SizeEffect)
    within = 0.01 if sure else 1.0

    def point(size: int, mean: float, half: float) -> SizePoint:
        return SizePoint(size, mean, Interval(mean - half, mean + half))

    gains = [point(1000, small, 0.05), point(2000, large, 0.1 if small * large < 0 else 0.05)]
    change = point(2000, large - small, within)
    payload = msgspec.structs.replace(
        given.payload, gains={"test leakage": gains}, change={"test leakage": change}
    )
    (said,) = (
        f
        for f in leakage_findings([replace(given, payload=payload)], ROBUST)
        if f.text.startswith("On the 172 topics")
    )
    assert said.text.endswith(f": {verdict}")
    assert said.holds is holds


def tables(tmp_path: Path, results: list[Result]) -> dict[str, Table]:
    save_results(tmp_path / "study", results, Manifest("results", "Leaking", "study leakage"))
    return report_tables(load_studies([tmp_path / "study"]))


def texts(table: Table) -> list[list[str]]:
    return [[cell.text for cell in row] for row in table.rows]


def test_the_papers_figures_stand_beside_ours(tmp_path: Path) -> None:
    found = tables(tmp_path, study())
    effectiveness = found["leakage"]
    assert [column.full_name for column in effectiveness.columns][:6] == [
        "Model", "", "nDCG@10 No", "nDCG@10 MSM", "nDCG@10 Test", "MFR No",
    ]  # fmt: skip
    assert [column.group for column in effectiveness.columns][-1] == "1/MRR"
    ours, theirs, tk = texts(effectiveness)
    assert ours[:8] == ["KNRM", "ours", "0.250", "0.260", "0.350†", "4.000", "3.500", "2.500†"]
    assert ours[8:] == ["2.000", "2.000", "1.250†"]  # 1 / 0.5, 1 / 0.5, 1 / 0.8
    assert theirs[:8] == [
        "KNRM",
        "published",
        "0.194",
        "0.214†",
        "0.309†",
        "2.348",
        "2.309",
        "1.976†",
    ]
    assert theirs[8:] == ["", "", ""]  # the paper prints none
    assert tk[0] == "TK"  # of which the paper prints nothing
    first = effectiveness.rows[0][8]
    assert (first.value, first.low, first.high) == (2.0, 1.0, 4.0)  # 1 / 0.5 of 0.25 to 1
    assert any(note.startswith("Published: How Train–Test Leakage") for note in effectiveness.notes)
    assert any("BM25, which is re-ranked: nDCG@10 0.200" in note for note in effectiveness.notes)
    assert texts(found["memory-ranks"])[1][2:7] == ["published", "89.95", "26.43", "91.20", "25.24"]
    assert texts(found["memory-ranks"])[1][7] == "−1.25"  # 89.95 − 91.20
    assert texts(found["memory-offsets"])[1][7:9] == ["+1.335", "11.750"]
    for table in found.values():
        assert as_text(table)
        assert as_csv(table)
        assert as_latex(table)


def test_other_topics_have_no_published_figure(tmp_path: Path) -> None:
    found = tables(tmp_path, study([f"q{number}" for number in range(250)]))
    assert not any(
        "published" in cells for name in ("leakage", "memory-ranks") for cells in texts(found[name])
    )
    assert texts(found["leakage"])[0][:3] == ["KNRM", "0.250", "0.260"]


def test_the_orders_and_the_tests(tmp_path: Path) -> None:
    found = tables(tmp_path, study())
    assert texts(found["leakage-orders"]) == [
        ["nDCG@10", "MSM leakage", "1.000", "0", "none", "0", "none"],
        ["nDCG@10", "test leakage", "−1.000", "1", "TK < KNRM", "1", "TK < KNRM"],
    ]
    row = texts(found["leakage-tests"])[1]
    assert row[:5] == ["nDCG@10", "KNRM", "test leakage", "0.250", "0.350"]
    assert row[7:10] == ["0.005", "0.010", "0.040"]
    assert "comparisons" not in found


def test_the_figure_and_its_caption() -> None:
    results = [sizes("knrm"), sizes("tk"), sizes("duet")]
    figure = sizes_figure(results)
    shown = [axes for axes in figure.axes if axes.axison]
    assert [axes.get_title(loc="left") for axes in shown] == ["KNRM", "TK", "Duet"]
    assert [label.get_text() for label in shown[0].get_xticklabels()] == ["1k", "2k"]
    means = [
        list(line.get_ydata())
        for line in shown[0].get_lines()
        if len(line.get_ydata()) == 2 and line.get_marker() != "None"
    ]
    assert means == [[0.2, 0.3], [0.5, 0.4]]
    caption = sizes_caption(results[:1])
    assert caption.startswith("nDCG@10 by training set size on the 172 topics with leaked queries")
    assert "KNRM, test leakage: 0.500 with 1,000 instances, 0.400 with 2,000." in caption
    with pytest.raises(
        InputError, match="wanted effectiveness by training set size on topics with leaked queries"
    ):
        sizes_figure([])


def test_the_page(tmp_path: Path) -> None:
    save_results(
        tmp_path / "study",
        [*study(), sizes("knrm")],
        Manifest("results", "Leaking", "study leakage"),
    )
    page = write_report([tmp_path / "study"], tmp_path / "page.html").read_text(encoding="utf-8")
    for anchor in (
        "leakage",
        "memories",
        "figure-leakage-sizes-1",
        "table-leakage-1",
        "table-memory-offsets-1",
    ):
        assert f'id="{anchor}"' in page


def test_the_sentences() -> None:
    said = {
        finding.text: finding.holds
        for finding in leakage_findings([*study(), sizes("knrm")], ROBUST)
    }
    text = (
        "Test leakage of knrm: nDCG@10 0.350 against 0.250 without, difference +0.100 (95 % "
        "interval −1.000 to +1.000) over 250 topics;"
    )
    assert said[f"{text} significant after Bonferroni's correction (p = 0.010)."] is True
    (others,) = (text for text in said if text.startswith("Of MFR, RR"))
    assert "MFR of knrm, test leakage (better by −1.500" in others
    assert said["By nDCG@10, MSM leakage changes no place in the order of the models."] is False
    alone = (
        "By nDCG@10, of all models with test leakage knrm overtakes tk; of two models, one with "
        "test leakage: "
    )
    assert said[f"{alone}knrm with leakage overtakes tk without."] is True
    (size,) = (text for text in said if text.startswith("On the 172 topics"))
    assert "by +0.300 (95 % interval +0.200 to +0.400) with 1,000 instances" in size
    assert size.endswith(
        "−0.200 (95 % interval −0.300 to −0.100): the effect shrinks as the sets grow."
    )
    assert said[size] is True
    assert not any("BM25" in text for text in said)  # 0.2, which all models beat
    strong = [replace(r, value=0.33) if r.facts.model == "bm25" else r for r in study()]
    below = (
        "tk: below BM25's nDCG@10 of 0.330 with every training set, so these findings are about "
        "weak models."
    )
    assert below in [finding.text for finding in leakage_findings(strong, ROBUST)]
    assert not any("not one of the paper's collections" in text for text in said)
    assert any(
        "not one of the paper's collections" in finding.text
        for finding in leakage_findings(study(), ["q1"])
    )
