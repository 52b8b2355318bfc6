"""How measured runs are shown: the best run, every measure, comparisons with the first run, leaked
and clean queries.
"""

from __future__ import annotations

from dataclasses import replace

from pandas import DataFrame

from positionbias.evaluation.answers import LEVEL, is_significant
from positionbias.report.presentation import Presentation, RowSection
from positionbias.report.record import Finding, bounds_of, records_of, said, sentences
from positionbias.report.table import P_NOTE, RowTable, Value
from positionbias.text.formatting import decimal, plural, with_interval

MEAN = "statistic == 'mean' and subset == ''"
SURE = "more than chance"
COMPARED = "family != '' and family != 'order'"
OVER_CLUSTERS = (
    "95 % intervals are over clusters of queries, those with the same single relevant passage."
)


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
    excludes_zero = (rows["low"] > 0) | (rows["high"] < 0) | rows["low"].isna()
    sure = (rows["p_adjusted"] < LEVEL) & excludes_zero
    return rows.assign(
        shown=rows["measure"].str.replace("Judged@", "J@"),
        pair=pair,
        of=gain.map({True: "gain", False: "mean"}),
        sure=sure.map({True: SURE, False: f"cannot tell whether that is {SURE}"}),
        statistic=rows["statistic"]
        .replace("gain", "mean")
        .str.replace(r"^(mean|gain), leaked", "leaked", regex=True),
    )


LEADS = (
    "; {pair}: {difference:+.3f}, {difference.sure} (Holm-adjusted p {difference.p_adjusted:p})",
    "; {pair}: {difference:+.3f}, {difference.sure} (p undefined)",
)


def _headline(rows: DataFrame) -> list[str]:
    """Return the run that is highest by the first measure, and whether it differs from the first
    run, or that from the next, by more than chance.
    """
    means = rows.query(f"{MEAN} and value == value")
    if means.empty:
        return []
    measure = means["measure"].iloc[0]
    first, *others = list(means[means["measure"] == measure].itertuples())
    best = max([first, *others], key=lambda row: row.value)
    value = with_interval(decimal(best.value), bounds_of(best))
    if not others:
        over = f"over {plural(first.count, 'query')}; give a second run to compare with it"
        return [f"{first.model}: {measure} {value} {over}."]
    other = max(others, key=lambda row: row.value)
    tested = rows[(rows["measure"] == measure) & (rows["model"] == other.model)]
    leads = "".join(sentences(["pair"], COMPARED, *LEADS)(tested))
    return [f"{best.model} has the highest {measure} of {len(others) + 1} runs, {value}{leads}."]


REMARKS = (  # what a mean counts as 0 or leaves out, and what is to be known of trainings
    *(
        sentences(
            ["model"],
            f"statistic == '{lacking}' and value > 0",
            f"{{model}}: {lacking}: {{{lacking}:,}}.",
        )
        for lacking in ("queries without candidates", "queries without judgements")
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
    """Say of each measure whether leakage changes the order of runs."""
    return [
        Finding(
            said(ORDER, record) or said(UNDEFINED, record),
            is_significant(record.rows["order, tau_b"].p) or None,
        )
        for record in records_of(rows, ["measure"], "family == 'order'")
    ]


SHOWN = Presentation(
    study="evaluate",
    prepare=_prepared,
    headline=_headline,
    run=_remarks,
    findings=_findings,
    sections=[
        RowSection(anchor="systems", title="Effectiveness", tables=[RUNS, AGAINST_FIRST, LEAKED])
    ],
    text=[replace(RUNS, title=""), AGAINST_FIRST, LEAKED],
)
