"""The tables of an audit: their numbers are the results', missing ones are dashes, and nothing is
left out.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from positionbias.audit import captions as audit_captions
from positionbias.audit import figure_tables as audit_data
from positionbias.audit import tables as audit_tables
from positionbias.core.interval import Interval
from positionbias.report.table import Table, as_csv, as_latex
from positionbias.results.audit import AUDIT_MEASURES, GapFigures
from positionbias.results.buckets import (
    STANDARDISED,
    PositionBuckets,
    QueryBuckets,
    ResponseCurve,
    ResponseFigures,
    Slope,
)
from positionbias.results.result import Facts, Result
from tests.bucket_figures import bucket_figures

from . import invented_audit

ONE = invented_audit.audit()
FOUR = invented_audit.audit(invented_audit.FOUR)


def shown(table: Table) -> list[list[str]]:
    return [[cell.text.replace("\u00a0", " ") for cell in row] for row in table.rows]


def heads(table: Table) -> list[str]:
    return [column.full_name.replace("\u00a0", " ") for column in table.columns]


def by_bucket(
    system: str,
    means: Sequence[float | None],
    group: str = "",
    *,
    model: str = "tk",
    **figures: Any,
) -> Result:
    """Two buckets or more of equal width."""
    edges = [i / len(means) for i in range(len(means) + 1)]
    lows, highs = ([None if m is None else m + by for m in means] for by in (-0.1, 0.1))
    counts = [30 if m is not None else 4 for m in means]
    payload = QueryBuckets(
        "relative",
        "nDCG@10",
        edges,
        counts,
        means,
        lows,
        highs,
        group,
        figures=bucket_figures(**figures),
    )
    return Result(
        "PSI",
        "c",
        "test",
        system,
        1,
        figures.get("psi"),
        None,
        sum(counts),
        payload,
        Facts(model=model),
    )


def test_psi_beside_chance() -> None:
    found = by_bucket(
        "m", [0.8, 0.6], psi=0.25, null_mean=0.05, psi_debiased=0.2, psi_debiased_low=0.1,
        psi_debiased_high=0.3, p=0.0001,
        left_out=0, minimum=20, permutations=1_000,
    )  # fmt: skip
    (table,) = audit_tables.psi_tables([found], "nDCG@10")
    assert heads(table) == [
        "System", "Queries", "PSI", "By chance", "Debiased [95 %]", "p", "Buckets used",
        "Buckets left out",
    ]  # fmt: skip
    assert shown(table) == [
        ["m", "60", "0.250", "0.050", "0.200 [0.100, 0.300]", "<0.001", "2", "0"]
    ]
    assert table.notes[1:3] == [
        "Buckets of fewer than 20 queries are left out.",
        "Permutations: 1,000.",
    ]
    record = next(csv.DictReader(io.StringIO(as_csv(table))))
    assert (float(record["PSI"]), float(record["p"])) == (0.25, 0.0001)


def test_direction() -> None:
    figures = {"slope": -0.2, "slope_low": -0.3, "slope_high": -0.1, "slope_p": 0.004}
    found = by_bucket(
        "m",
        [0.8, 0.6],
        psi=0.25,
        spearman=-1.0,
        slope_unit="the whole passage",
        level=0.9,
        **figures,
    )
    _, table = audit_tables.psi_tables([found], "nDCG@10")
    assert heads(table) == ["System", "Slope [90 %]", "p", "Spearman"]  # Kendall was not measured
    assert shown(table) == [["m", "−0.200 [−0.300, −0.100]", "0.004", "−1.000"]]
    assert "share of the passage: over the whole passage" in table.notes[0]


def test_what_is_undefined_is_a_dash_and_says_why() -> None:
    found = by_bucket(
        "m",
        [None, None],
        psi=None,
        p=None,
        psi_undefined="fewer than two buckets with enough queries",
    )
    (table,) = audit_tables.psi_tables([found, by_bucket("n", [0.5, 0.4], psi=0.2)], "nDCG@10")
    assert shown(table) == [["m", "8", "–", "2", "0"], ["n", "60", "0.200", "2", "0"]]
    assert table.notes[-1] == (
        "PSI of m (share of the passage) is undefined: fewer than two buckets with enough queries."
    )
    assert "\nm,8,,2,0\n" in as_csv(table)


def test_every_system_and_scale_has_its_row_and_the_first_stage_comes_last() -> None:
    table, _ = audit_tables.psi_tables(FOUR, "RR@10")
    names = [*invented_audit.FOUR, "bm25 (first stage)"]
    assert [row[:2] for row in shown(table)] == [
        [by, name] for by in ("share of the passage", "characters") for name in names
    ]
    within, _ = audit_tables.psi_tables(FOUR, "nDCG@10", grouped=True)
    assert [row[0] for row in shown(within)] == [
        group for group in invented_audit.GROUPS[1:] for _ in names
    ]
    assert audit_tables.psi_tables(FOUR, "RR@10", grouped=True) == []


def test_the_rotation_gap() -> None:
    figures = GapFigures(
        quality="nDCG@10", draws=4, queries=100, original=0.8, rotated=0.75, p=0.03,
        detectable=None, first_changed=0.125,
        overlap=None, cut=None, truncated=None,
    )  # fmt: skip
    found = Result(
        "rotation gap", "c", "test", "m", None, -0.05, Interval(-0.06, -0.04), 100, figures
    )
    table = audit_tables.gap_table([found])
    assert dict(zip(heads(table), shown(table)[0], strict=True)) == {
        "Quality": "nDCG@10",
        "System": "m",
        "Queries": "100",
        "Original": "0.800",
        "Rotated": "0.750",
        "Change [95 %]": "−0.050 [−0.060, −0.040]",
        "p": "0.030",
        "Top passage changed": "12.5 %",
    }
    assert table.notes[0] == "Rotations of each passage: 4."
    assert len(audit_tables.gap_table(FOUR).rows) == 3 * 4  # qualities × systems


def test_the_response_and_its_places() -> None:
    figures = ResponseFigures(
        unit=1.0, queries=9, left_out=0, level=0.95, slope=Slope(value=-0.4, low=-0.6, high=-0.2)
    )
    curve = ResponseCurve(
        [0.0, 1.0], [9, 8], [0.5, None], [0.4, None], [0.6, None], [0.9, 0.7], figures
    )
    found = Result("position response", "c", "test", "m", 1, -0.4, None, 9, curve)
    assert shown(audit_tables.response_table([found])) == [
        ["m", "9", "−0.400 [−0.600, −0.200]", "0.900", "0.700"]
    ]
    data = audit_data.response_places_table([found])
    assert shown(data) == [
        ["m", "0.00", "9", "+0.500 [+0.400, +0.600]", "0.900"],
        ["m", "1.00", "8", "–", "0.700"],
    ]


def test_the_data_of_a_figure_have_a_row_a_bucket_and_a_column_a_system() -> None:
    found = [by_bucket("m", [0.8, None]), by_bucket("bm25", [0.5, 0.4], model="first stage")]
    # the two have other counts in the second bucket: each has its column
    (table,) = audit_data.bucket_tables(found)
    assert heads(table) == [
        "Answer starts at", "m Queries", "m Mean [95 %]", "bm25 (first stage) Queries",
        "bm25 (first stage) Mean [95 %]",
    ]  # fmt: skip
    assert shown(table) == [
        ["0.0 to 0.5", "30", "0.800 [0.700, 0.900]", "30", "0.500 [0.400, 0.600]"],
        ["0.5 to 1.0", "4", "–", "30", "0.400 [0.300, 0.500]"],
    ]
    (shared,) = audit_data.bucket_tables([by_bucket("m", [0.8, 0.7]), by_bucket("n", [0.5, 0.4])])
    assert heads(shared) == ["Answer starts at", "Queries", "m [95 %]", "n [95 %]"]


def test_every_number_of_every_bucket_is_in_the_tables() -> None:
    written = "".join(as_csv(t) for t in audit_data.bucket_tables(FOUR))
    written += "".join(
        as_csv(make(FOUR))
        for make in (audit_data.gain_table, audit_data.movement_table, audit_data.segment_table)
    )
    cells = set(written.replace("\n", ",").split(","))
    payloads = [
        r.payload
        for r in FOUR
        if isinstance(r.payload, PositionBuckets) and r.measure in AUDIT_MEASURES
    ]
    values = [
        v
        for p in payloads
        for part in (p.counts, p.means, p.lows, p.highs)
        for v in part
        if v is not None
    ]
    assert len(values) > 1_000
    assert [value for value in values if str(value) not in cells] == []


def test_buckets_are_named_by_their_scale() -> None:
    by_scale = {
        name: shown(table) for table in audit_data.bucket_tables(ONE) for name in [table.name]
    }
    assert [row[0] for row in by_scale["buckets-rr-10-characters"]][-2:] == [
        "400 to 500",
        "500 to 3,120",
    ]
    assert by_scale["buckets-rr-10-relative"][0][0] == "0.00 to 0.05"
    assert shown(audit_data.movement_table(ONE))[0][0] == "−1.0 to −0.8"
    assert [row[0] for row in shown(audit_data.segment_table(ONE))] == [
        "first third",
        "middle third",
        "last third",
    ]


@pytest.mark.parametrize("name", ["<b>&amp;</b>", "$x_1$ {y} \\ 50 %", "日本語 модель"])
def test_names_of_any_kind_can_be_printed(name: str) -> None:
    results = [replace(result, system=f"{result.system} {name}") for result in ONE]
    tables = [
        *audit_tables.psi_tables(results, "nDCG@10"),
        audit_tables.gap_table(results),
        *audit_data.bucket_tables(results),
    ]
    for table in tables:
        assert f"minilm {name}" in "".join(
            cell.text for row in table.rows for cell in row
        ) + "".join(heads(table))
        assert "\\begin{tabular}" in as_latex(table)


def test_the_description_standardised_over_length_stands_first() -> None:
    found = [
        by_bucket("m", [0.8, 0.6], psi=0.25),
        by_bucket("m", [0.7, 0.6], STANDARDISED, psi=0.14),
    ]
    found += [by_bucket("m", [0.9, 0.6], "5 to 9 words", psi=1 / 3, without_position=3)]
    (table,) = audit_tables.psi_tables(found[::-1], "nDCG@10")
    assert [row[:1] + row[3:4] for row in shown(table)] == [
        [STANDARDISED, "0.140"],
        ["all", "0.250"],
    ]
    (within,) = audit_tables.psi_tables(found, "nDCG@10", grouped=True)
    assert [row[-3] for row in shown(within)] == ["0.333"]
    assert "PSI 0.140" in audit_captions.quality_caption(found, "relative")
    assert "PSI 0.250" in audit_captions.quality_caption(found[:1], "relative")


def test_answers_without_a_position_are_counted() -> None:
    (table,) = audit_tables.psi_tables(
        [by_bucket("m", [0.8, 0.6], psi=0.25, without_position=3)], "nDCG@10"
    )
    assert "Left out: 3 queries whose answer fills its passage." in table.notes


def test_a_slope_stands_beside_those_of_scorers_that_see_no_order() -> None:
    table = audit_tables.blind_table(ONE)
    assert heads(table)[0] == "System"
    assert heads(table)[2:] == [
        f"Position-blind scorers {name}"
        for name in ("lowest slope", "highest slope", "all intervals")
    ]
    # the three have slopes of +0.04, −0.03 and −0.01, ± 0.02; one of them is the first stage itself
    assert shown(table) == [
        ["minilm", "−0.090 [−0.110, −0.070]", "−0.030", "+0.040", "[−0.050, +0.060]"],
        ["bm25 (first stage)", "−0.010 [−0.030, +0.010]", "−0.030", "+0.040", "[−0.050, +0.060]"],
    ]
    assert "tf-idf cosine +0.040" in table.notes[1]
    assert (
        "Position-blind scorers on the same queries: slope between −0.030 and +0.040."
        in audit_captions.quality_caption(ONE, "relative")
    )
    assert (
        audit_tables.blind_table([r for r in ONE if r.measure != "position-blind scorers"]).rows
        == []
    )
    elsewhere = [
        replace(r, collection="other") if r.measure == "position-blind scorers" else r for r in ONE
    ]
    assert audit_tables.blind_table(elsewhere).rows == []
