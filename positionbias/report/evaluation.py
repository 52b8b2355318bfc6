"""How measured runs are shown: the best run, every measure, comparisons with the first run, leaked
and clean queries.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pandas import DataFrame

from positionbias.core.formatting import (
    decimal,
    interval,
    p_value,
    plural,
    with_interval,
)
from positionbias.core.interval import Interval
from positionbias.evaluation.answers import is_significant
from positionbias.report.presentation import Presentation, RowSection
from positionbias.report.record import Finding, bounds_of, records_of, said, sentences
from positionbias.report.table import P_NOTE, RowTable, Value

__all__ = ["SHOWN"]

MEAN = "statistic == 'mean' and subset == ''"
COMPARED = "family != '' and family != 'order'"
OVER_CLUSTERS = (
    "95 % intervals are over clusters of queries, those with the same single relevant passage."
)
LACKING = {
    what: f"{{model}}: {what}: {{{what}:,}}."
    for what in ("queries without candidates", "queries without judgements")
}


def _undefined(rows: DataFrame) -> str:
    """Say what of the comparisons is undefined and why, and of how many."""
    known = rows[rows["reason"] != ""].groupby(["measure", "reason"], sort=False).size()
    return "\n".join(
        f"{measure}: {reason} ({plural(number, 'comparison')})."
        for (measure, reason), number in known.items()
    )


def _intervals(rows: DataFrame) -> str:
    """Say what the intervals are over, if any mean has one."""
    return OVER_CLUSTERS if rows["low"].notna().any() else ""


RUNS = RowTable(
    name="systems",
    title="Effectiveness",
    stub={"model": "Run"},
    across=["shown"],
    where=MEAN,
    cells=[Value("mean", form=".4f")],
    notes=[_intervals],
)
AGAINST_FIRST = RowTable(
    name="comparisons",
    title="Against the first run",
    stub={"pair": "Runs", "measure": "Measure"},
    where=COMPARED,
    cells=[
        Value("difference", "Difference", "+.4f"),
        Value("relative", "Change", "+.1%"),
        Value("effect size", "d_z", "+.2f"),
        Value("difference", "p", "p", show="p"),
        Value("difference", "Holm", "p", show="p_adjusted"),
        Value("Bonferroni", "Bonf.", "p", show="p_adjusted", wide=True),
        Value("Wilcoxon", "p Wilcoxon", "p", show="p", wide=True),
        Value("Student's t", "p t", "p", show="p", wide=True),
    ],
    notes=[
        "Difference = second − first over the same queries. d_z: mean difference over its "
        "deviation.",
        f"{P_NOTE} Wilcoxon drops zero differences.",
        _undefined,
    ],
)


LEAKED = RowTable(
    name="leaked",
    title="Leaked and clean queries",
    stub={"pair": "Run", "measure": "Measure", "of": "Of"},
    across=["subset"],
    where="subset != '' or statistic == 'leaked less clean'",
    cells=[
        Value("mean", "mean", ".4f"),
        Value("mean", "queries", ",", show="count"),
        Value("leaked less clean", "leaked − clean", "+.4f"),
    ],
    notes=[
        "Means of different queries are unpaired: what leakage does, and how much easier or harder "
        "the leaked queries are. Gains over the first run are paired by query: how hard a query is "
        "for both runs alike is taken off.",
    ],
)


def _prepared(rows: DataFrame) -> DataFrame:
    """Name pairs of runs. Of leaked queries a gain is a mean too: ``of`` says which."""
    base = rows["against"].str.removeprefix("model=")
    pair = base.where(base == "", base + " → ") + rows["model"]
    gain = rows["statistic"].str.startswith("gain")
    return rows.assign(
        shown=rows["measure"].str.replace("Judged@", "J@"),
        pair=pair,
        of=gain.map({True: "gain", False: "mean"}),
        statistic=rows["statistic"]
        .replace("gain", "mean")
        .str.replace(r"^(mean|gain), leaked", "leaked", regex=True),
    )


def _headline(rows: DataFrame) -> list[str]:
    """Return the run that is highest by the first measure, and whether its lead over the first run,
    or the next, is more than chance.
    """
    means = rows.query(f"{MEAN} and value == value")
    if means.empty:
        return []
    measure = means["measure"].iloc[0]
    first, *others = list(means[means["measure"] == measure].itertuples())
    best = max([first, *others], key=lambda row: row.value)
    value = with_interval(decimal(best.value), interval(bounds_of(best)))
    if not others:
        return [
            f"{first.model}: {measure} {value} over {plural(first.count, 'query')}; give a second "
            "run to compare with it."
        ]
    rival = max(others, key=lambda row: row.value) if best is first else first
    other = rival if best is first else best  # than the first run
    tested = rows.query(f"{COMPARED} and statistic == 'difference' and measure == @measure")
    leads = [
        f": {_lead(row, rival.model, turned=best is first)}"
        for row in tested[tested["model"] == other.model].itertuples()
    ]
    lead = "".join(leads)
    return [f"{best.model} has the highest {measure} of {len(others) + 1} runs, {value}{lead}."]


def _lead(row: Any, rival: str, *, turned: bool) -> str:
    """Return a difference from the first run; ``turned``: from the first run's side."""
    sign, bounds = -1 if turned else 1, bounds_of(row)
    if bounds is not None and turned:
        bounds = Interval(-bounds.high, -bounds.low)
    less = with_interval(decimal(sign * row.value, sign=True), interval(bounds, sign=True))
    sure = is_significant(row.p_adjusted) and (bounds is None or bounds.low > 0)
    surely = "more than chance" if sure else "cannot tell whether that is more than chance"
    known = row.p_adjusted == row.p_adjusted
    p = f"Holm-adjusted p {p_value(row.p_adjusted)}" if known else "p undefined"
    return f"{less} over {rival}, {surely} ({p})"


REMARKS = (  # what a mean counts as 0 or leaves out, and what is to be known of trainings
    *(
        sentences(["model"], f"statistic == '{lacking}' and value > 0", text)
        for lacking, text in LACKING.items()
    ),
    sentences(["model", "label"], "measure == 'remark'", "{model}: {label}."),
)


def _remarks(rows: DataFrame) -> list[str]:
    return [sentence for said_of in REMARKS for sentence in said_of(rows)]


ORDER = (
    "{measure}: order of systems on leaked and on clean queries: Kendall's τ {order, tau_b:.3f} "
    "between {order, leaked:,} leaked and {order, clean:,} clean queries, "
    "{order, tau_b.expected:.3f} in random splits (one-sided p {order, tau_b.p:p}); "
    "{order, swaps:,} of {order, pairs:,} pairs change places."
)
UNDEFINED = (
    "{measure}: order of systems on leaked and on clean queries: undefined, {order, tau_b.reason}."
)


def _findings(rows: DataFrame) -> list[Finding]:
    """Say of each measure whether leakage changes the order of runs; without a small p that is
    open.
    """
    return [
        Finding(
            said(ORDER, one) or said(UNDEFINED, one),
            is_significant(one.rows["order, tau_b"].p) or None,
        )
        for one in records_of(rows, ["measure"], "family == 'order'")
    ]


SHOWN = Presentation(
    study="evaluate",
    prepare=_prepared,
    headline=_headline,
    run=_remarks,
    findings=_findings,
    sections=(
        RowSection(
            anchor="systems",
            title="Effectiveness",
            introduction="",
            tables=[RUNS, AGAINST_FIRST, LEAKED],
        ),
    ),
    text=[replace(RUNS, title=""), AGAINST_FIRST, LEAKED],
)
