"""Tables about pools: the order of systems (the paper's Tables 1 and 2), the change of their scores, wrong labels. Each is of one task."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product

from positionbias.core.formatting import p_value, percent
from positionbias.report.cells import count_cell, decimal_cell, level_heading, percent_cell, text_cell
from positionbias.report.published import Published
from positionbias.report.table import Cell, Column, Table
from positionbias.results.pools import (
    ChangeFigures,
    KindFigures,
    OrderFigures,
    RelabelledFigures,
    SystemCounts,
    by_measure,
    interval_of,
    kind_effects_of,
    measures_in,
    pools_in,
    task_of,
    tests_in,
)
from positionbias.results.published import PublishedCell, under_pools
from positionbias.results.result import Result
from positionbias.results.select import distinct, of_type

__all__ = ["agreement_table", "bias_table", "effects_table", "order_table", "relabelled_table", "task_table"]

PAPER_TABLES = (1, 2)


def task_table(results: Sequence[Result]) -> Table:
    """Runs and groups by kind, and the judgements that their pools hold."""
    task = task_of(results)
    body, notes = [], []
    if task and task.sizes:
        listed = [*task.kinds.items(), ("gold", SystemCounts(task.systems, task.groups))]
        for kind, counts in listed:
            size = task.sizes.get(kind)
            sizes = (size.judgements, size.relevant) if size else (None, None)
            cells = [count_cell(counts.systems), count_cell(counts.groups)]
            body.append([text_cell(kind), *cells, *(decimal_cell(mean, places=0) for mean in sizes)])
        gold = "every judgement" if task.gold == "all" else "the judgements in the pool of all runs"
        notes.append(f"Means of {task.pools} pools of depth {task.depth}, each of half of a kind's groups; gold: {gold}.")
    if task and task.mixed_groups:
        notes.append(f"{task.mixed_groups} groups have runs of several kinds; they count once for each.")
    columns = [Column("Kind", numeric=False), Column("Runs"), Column("Groups")]
    columns += [Column("judgements", "In a pool"), Column("relevant", "In a pool")]
    return Table("pool-task", "Runs, groups and judgements", columns, body, notes)


def order_table(results: Sequence[Result], published: Published | None = None) -> Table:
    """Kendall's τ_b between the order by gold and by each pool's judgements, with intervals over pools: the form of Tables 1 and 2.

    The paper's cells stand below ours, where the task is the paper's.
    """
    found = of_type(results, OrderFigures)
    measures, pools, tests = measures_in(found), pools_in(found), tests_in(found)
    by_key = {(own.measure, own.pool, own.test): result for result, own in found}
    body: list[list[Cell]] = []
    beside: list[PublishedCell] = []
    for pool in pools:
        keys = [(measure, pool, test) for measure, test in product(measures, tests)]
        ours = [decimal_cell(by_key[key].value, by_key[key].interval) for key in keys]
        body.append([text_cell(f"{pool} pools"), text_cell("ours"), *ours])
        theirs = [_printed(published, by_key[key].collection, *key) for key in keys]
        if any(theirs):
            beside += [cell for cell in theirs if cell]
            printed = [decimal_cell(cell.value if cell else None) for cell in theirs]
            body.append([text_cell(f"{pool} pools"), text_cell("published"), *printed])
    columns = [Column("", numeric=False), Column("Figures", numeric=False)]
    columns += [Column(test, measure) for measure, test in product(measures, tests)]
    if not beside:
        del columns[1]
        for row in body:
            del row[1]
    notes = [
        "Rows: the kind whose groups feed the pools; columns: the kind of the test systems. Kendall's τ_b between the systems' order by gold "
        f"and by a pool's judgements, mean over pools{_level(by_key.values())}."
    ]
    if undefined := sum(own.undefined for _, own in found):
        notes.append(f"{undefined} τ are undefined (equal scores, or fewer than two systems) and left out.")
    if beside and published:
        tables = ", ".join(distinct(cell.place.split(",")[0] for cell in beside))
        notes.append(f"Published: {published.paper}, {tables}; it prints no intervals, and its pools are other draws.")
    return Table("pool-order", "Kendall's τ by pools and test systems", columns, body, notes, stub=2 if beside else 1)


def _printed(published: Published | None, collection: str, measure: str, pool: str, test: str) -> PublishedCell | None:
    tables = PAPER_TABLES if published else ()
    cells = (published.find(table, collection, measure, facts=under_pools(pool, test)) for table in tables if published)
    return next((cell for cell in cells if cell), None)


def _level(results: Iterable[Result]) -> str:
    heading = level_heading("", (result.interval for result in results)).strip()
    return (
        f" {heading}, t over the pools: it says how other draws would differ, and nothing of other queries" if heading else ""
    )


def agreement_table(results: Sequence[Result]) -> Table:
    """What else pools say of the order: τ_AP, which weighs the top, and the pairs of systems that a test tells apart."""
    body = [
        [
            text_cell(own.measure),
            text_cell(own.pool),
            text_cell(own.test),
            decimal_cell(own.systems, places=1),
            decimal_cell(own.tau_ap, interval_of(own.tau_ap_low, own.tau_ap_high)),
            *(percent_cell(share, sign=False) for share in (own.power_gold, own.power, own.kept, own.reversed)),
        ]
        for _, own in by_measure(of_type(results, OrderFigures))
    ]
    columns = [Column(name, numeric=False) for name in ("Measure", "Pools", "Test systems")]
    columns += [Column("Number"), Column("τ_AP")]
    columns += [
        Column(name, "Pairs told apart") for name in ("by gold", "by a pool", "of gold's, the same way", "the other way")
    ]
    notes = (
        "τ_AP (Yilmaz, Aslam and Robertson 2008) weighs errors at the top. Told apart: by a paired t-test over the queries, p < 0.05 for each pair by itself, "
        "the share of all pairs of test systems.",
    )
    return Table("pool-agreement", "The top of the order, and which pairs are told apart", columns, body, notes, stub=3)


def bias_table(results: Sequence[Result]) -> Table:
    """The mean change of score by kind, in score and in share of it; judged@k and RBP's residual."""
    task = task_of(results)
    depth = task.depth if task and task.depth else "k"
    body = [
        [
            text_cell(own.measure),
            text_cell(own.pool),
            text_cell(own.test),
            decimal_cell(own.gold),
            decimal_cell(own.estimated),
            decimal_cell(result.value, result.interval, sign=True),
            percent_cell(own.relative),
            percent_cell(own.judged_gold, sign=False),
            percent_cell(own.judged, sign=False),
            decimal_cell(own.residual_gold),
            decimal_cell(own.residual),
        ]
        for result, own in by_measure(of_type(results, ChangeFigures))
    ]
    columns = [Column(name, numeric=False) for name in ("Measure", "Pools", "Test systems")]
    columns += [Column("by gold", "Mean score"), Column("by a pool", "Mean score")]
    columns += [Column("score", "Change"), Column("share", "Change")]
    columns += [Column(name, f"Judged@{depth}") for name in ("gold", "pool")]
    columns += [Column(name, "RBP residual") for name in ("gold", "pool")]
    notes = (
        "Change: a pool's less the gold score, mean over systems, queries and pools; intervals count groups and queries as drawn. Share: of the gold score, as "
        "better systems have more to lose.",
        f"Judged@{depth}: the judged share of the first {depth}. Residual: what of rank-biased precision (p = 0.8) the unjudged documents leave open.",
    )
    return Table("pool-bias", "Change of score by kind of system", columns, body, notes, stub=3)


def effects_table(results: Sequence[Result]) -> Table:
    """Whether kind matters: each effect beyond permuted kinds, the answer, and how often such an answer errs on these data."""
    found = by_measure(kind_effects_of(results))
    body = []
    for result, own in found:
        alarms = own.alarms
        body.append(
            [
                *(text_cell(word) for word in (own.measure, own.pool, own.test, own.contrast, own.answer)),
                decimal_cell(own.gap, sign=True),
                decimal_cell(own.by_chance, sign=True),
                decimal_cell(result.value, result.interval, sign=True),
                text_cell(p_value(own.p_holm)),
                percent_cell(alarms.value, interval_of(alarms.low, alarms.high), sign=False) if alarms else Cell(""),
                percent_cell(own.power, sign=False),
                count_cell(own.needed),
            ]
        )
    columns = [Column(name, numeric=False) for name in ("Measure", "Pools", "Test systems", "Against", "Answer")]
    columns += [Column(name) for name in ("Gap", "Permuted kinds", "Effect", "p (Holm)")]
    columns += [Column("false alarms", "Error rates"), Column("power", "Error rates"), Column("Groups needed")]
    return Table("pool-kinds", "Does kind matter?", columns, body, _effect_notes(found[0][1]) if found else [], stub=4)


def _effect_notes(own: KindFigures) -> list[str]:
    drawn = f", {own.alarms.drawn:,} times" if own.alarms else ""
    return [
        "Gap: how much more (+) or less (−) the score of a test system changes than that of an unseen system of the pool's kind with an equal gold score; beyond mixed pools: less "
        "the same under pools of as many groups of any kind.",
        f"Permuted kinds: the mean gap where kinds are permuted among {own.among}. Effect: the gap less that; intervals count groups and topics as drawn, p is by permutation.",
        f"False alarms: how often the answer is worse or better where kinds are permuted anew{drawn}. Power: how often a gap of {own.planted} is called worse. Groups needed: for a "
        f"power of 80\u00a0%; here {own.groups}.",
    ]


def relabelled_table(results: Sequence[Result]) -> Table:
    """τ_b and change with the kinds as given, and with a share of them changed at random, again and again."""
    found = by_measure(of_type(results, RelabelledFigures))
    body = []
    for _, own in found:
        cells = [text_cell(own.measure), text_cell(own.pool), text_cell(own.test)]
        for spread, sign in ((own.tau_b, False), (own.change, True)):
            bounds = interval_of(spread.low, spread.high)
            cells += [decimal_cell(spread.given, sign=sign), decimal_cell(spread.mean, bounds, sign=sign)]
        body.append(cells)
    columns = [Column(name, numeric=False) for name in ("Measure", "Pools", "Test systems")]
    columns += [Column("as given", "Kendall's τ"), Column("relabelled", "Kendall's τ")]
    columns += [Column("as given", "Change of score"), Column("relabelled", "Change of score")]
    notes = []
    if found:
        share, drawn = found[0][1].share, found[0][1].drawn
        notes.append(
            f"Relabelled: {percent(share, 0)} of the runs given another kind at random, {drawn} times; the mean, and in brackets the middle 95\u00a0% of these."
        )
        if missing := drawn - min(own.repeats for _, own in found):
            notes.append(f"{missing} of these, or fewer, left a row without pools or kinds and are not in it.")
    return Table("pool-labels", "What wrong labels do", columns, body, notes, stub=3)
