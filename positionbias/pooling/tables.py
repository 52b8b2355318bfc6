"""Make the tables about pools, and the data of their figures, each for one task."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product

from positionbias.core.formatting import p_value, percent
from positionbias.report.cells import (
    count_cell,
    decimal_cell,
    level_heading,
    percent_cell,
    text_cell,
)
from positionbias.report.published import Published
from positionbias.report.table import Cell, Column, Table
from positionbias.results.pool_verdict import ComparisonsFigures, ScoreFigures, UnjudgedFigures
from positionbias.results.pools import (
    ChangeFigures,
    CoverageFigures,
    CurveFigures,
    KindFigures,
    LeftOutByKind,
    LeftOutFigures,
    Moved,
    OnePoolFigures,
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

__all__ = [
    "agreement_table",
    "bias_table",
    "comparisons_table",
    "coverage_data",
    "curve_data",
    "effects_table",
    "left_out_by_kind_table",
    "left_out_runs_table",
    "left_out_table",
    "order_table",
    "relabelled_table",
    "scatter_data",
    "task_table",
    "verdict_table",
]

PAPER_TABLES = (1, 2)


def task_table(results: Sequence[Result]) -> Table:
    """Return runs and groups by kind, and the judgements in their pools."""
    task = task_of(results)
    body, notes = [], []
    if task and task.sizes:
        listed = [*task.kinds.items(), ("gold", SystemCounts(task.systems, task.groups))]
        for kind, counts in listed:
            size = task.sizes.get(kind)
            sizes = (size.judgements, size.relevant) if size else (None, None)
            cells = [count_cell(counts.systems), count_cell(counts.groups)]
            body.append(
                [text_cell(kind), *cells, *(decimal_cell(mean, places=0) for mean in sizes)]
            )
        gold = "every judgement" if task.gold == "all" else "the judgements in the pool of all runs"
        notes.append(
            f"Means of {task.pools} pools of depth {task.depth}, each of half of a kind's groups; "
            f"gold: {gold}."
        )
    if task and task.mixed_groups:
        notes.append(
            f"{task.mixed_groups} groups have runs of several kinds and count once for each."
        )
    columns = [Column("Kind", numeric=False), Column("Runs"), Column("Groups")]
    columns += [Column("judgements", "In a pool"), Column("relevant", "In a pool")]
    return Table("pool-task", "Runs, groups and judgements", columns, body, notes)


def order_table(results: Sequence[Result], published: Published | None = None) -> Table:
    """Return Kendall's τ_b of the order by gold and by each pool, with intervals over pools, in the
    form of Tables 1 and 2.

    The paper's cells are below ours for the paper's tasks.
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
        "Rows: the kind whose groups feed the pools; columns: the kind of the test systems. "
        "Kendall's τ_b between the systems' order by gold and by a pool's judgements, mean over "
        f"pools{_level(by_key.values())}."
    ]
    if undefined := sum(own.undefined for _, own in found):
        notes.append(
            f"{undefined} τ are undefined (equal scores, or fewer than two systems) and left out."
        )
    if beside and published:
        tables = ", ".join(distinct(cell.place.split(",")[0] for cell in beside))
        notes.append(
            f"Published: {published.paper}, {tables}; it prints no intervals, and its pools are "
            "other draws."
        )
    return Table(
        "pool-order",
        "Kendall's τ by pools and test systems",
        columns,
        body,
        notes,
        stub=2 if beside else 1,
    )


def _printed(
    published: Published | None, collection: str, measure: str, pool: str, test: str
) -> PublishedCell | None:
    tables = PAPER_TABLES if published else ()
    cells = (
        published.find(table, collection, measure, facts=under_pools(pool, test))
        for table in tables
        if published
    )
    return next((cell for cell in cells if cell), None)


def _level(results: Iterable[Result]) -> str:
    heading = level_heading("", (result.interval for result in results)).strip()
    return (
        f" {heading}, t over the pools: it covers other draws of pools, not other queries"
        if heading
        else ""
    )


def agreement_table(results: Sequence[Result]) -> Table:
    """Return other agreement of pools with gold: τ_AP, which emphasises the top, and the pairs that
    a test distinguishes.
    """
    body = [
        [
            text_cell(own.measure),
            text_cell(own.pool),
            text_cell(own.test),
            decimal_cell(own.systems, places=1),
            decimal_cell(own.tau_ap, interval_of(own.tau_ap_low, own.tau_ap_high)),
            *(
                percent_cell(share, sign=False)
                for share in (own.power_gold, own.power, own.kept, own.reversed)
            ),
        ]
        for _, own in by_measure(of_type(results, OrderFigures))
    ]
    columns = [Column(name, numeric=False) for name in ("Measure", "Pools", "Test systems")]
    columns += [Column("Number"), Column("τ_AP")]
    columns += [
        Column(name, "Pairs distinguished")
        for name in ("by gold", "by a pool", "of gold's, the same way", "the other way")
    ]
    notes = (
        "τ_AP (Yilmaz, Aslam and Robertson 2008) emphasises errors at the top. Distinguished: "
        "pairs with p < 0.05 in a paired t-test over the queries, uncorrected, as a share of all "
        "pairs of test systems.",
    )
    return Table(
        "pool-agreement",
        "Agreement at the top, and distinguished pairs",
        columns,
        body,
        notes,
        stub=3,
    )


def bias_table(results: Sequence[Result]) -> Table:
    """Return the mean change of score by kind, absolute and relative; judged@k and RBP's
    residual.
    """
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
    columns += [Column(name, f"Judged@{depth}", wide=True) for name in ("gold", "pool")]
    columns += [Column(name, "RBP residual", wide=True) for name in ("gold", "pool")]
    notes = (
        "Change: the pool's score minus the gold score, mean over systems, queries and pools; "
        "intervals treat groups and queries as random. Share: of the gold score, as better systems "
        "have more to lose.",
        (
            f"Judged@{depth}: the judged share of the first {depth}. Residual: the part of "
            "rank-biased precision (p = 0.8) that unjudged documents leave open."
        ),
    )
    return Table("pool-bias", "Change of score by kind of system", columns, body, notes, stub=3)


def effects_table(results: Sequence[Result]) -> Table:
    """Return whether kind matters: each effect beyond permuted kinds, the answer, and the error
    rate of such answers here.
    """
    found = by_measure(kind_effects_of(results))
    body = []
    for result, own in found:
        alarms = own.alarms
        body.append(
            [
                *(
                    text_cell(word)
                    for word in (own.measure, own.pool, own.test, own.contrast, own.answer)
                ),
                decimal_cell(own.gap, sign=True),
                decimal_cell(own.by_chance, sign=True),
                decimal_cell(result.value, result.interval, sign=True),
                text_cell(p_value(own.p_holm)),
                percent_cell(alarms.value, interval_of(alarms.low, alarms.high), sign=False)
                if alarms
                else Cell(""),
                percent_cell(own.power, sign=False),
                count_cell(own.needed),
            ]
        )
    columns = [
        Column(name, numeric=False)
        for name in ("Measure", "Pools", "Test systems", "Against", "Answer")
    ]
    columns += [
        Column(name, wide=name == "Permuted kinds")
        for name in ("Gap", "Permuted kinds", "Effect", "p (Holm)")
    ]
    columns += [
        Column("false alarms", "Error rates"),
        Column("power", "Error rates"),
        Column("Groups needed", wide=True),
    ]
    return Table(
        "pool-kinds",
        "Does kind matter?",
        columns,
        body,
        _effect_notes(found[0][1]) if found else [],
        stub=4,
    )


def _effect_notes(own: KindFigures) -> list[str]:
    drawn = f", {own.alarms.drawn:,} times" if own.alarms else ""
    return [
        "Gap: how much more (+) or less (−) the score of a test system changes than that of an "
        "unseen system of the pool's kind with an equal gold score; beyond mixed pools: minus the "
        "same under pools of as many groups of any kind.",
        (
            f"Permuted kinds: the mean gap with kinds permuted among {own.among}. Effect: the gap "
            "minus that; intervals treat groups and topics as random, p is by permutation."
        ),
        f"False alarms: how often the answer is worse or better with kinds permuted again{drawn}. "
        f"Power: how often a gap of {own.planted} is called worse. Groups needed: for 80\u00a0% "
        f"power; here {own.groups}.",
    ]


def relabelled_table(results: Sequence[Result]) -> Table:
    """Return τ_b and change with the kinds as given, and with a share of them repeatedly changed at
    random.
    """
    found = by_measure(of_type(results, RelabelledFigures))
    body = []
    for _, own in found:
        cells = [text_cell(own.measure), text_cell(own.pool), text_cell(own.test)]
        for spread, sign in ((own.tau_b, False), (own.change, True)):
            bounds = interval_of(spread.low, spread.high)
            cells += [
                decimal_cell(spread.given, sign=sign),
                decimal_cell(spread.mean, bounds, sign=sign),
            ]
        body.append(cells)
    columns = [Column(name, numeric=False) for name in ("Measure", "Pools", "Test systems")]
    columns += [Column("as given", "Kendall's τ"), Column("relabelled", "Kendall's τ")]
    columns += [Column("as given", "Change of score"), Column("relabelled", "Change of score")]
    notes = []
    if found:
        share, drawn = found[0][1].share, found[0][1].drawn
        notes.append(
            f"Relabelled: {percent(share, 0)} of the runs given another kind at random, {drawn} "
            "times; the mean, and in brackets the middle 95\u00a0%."
        )
        if missing := drawn - min(own.repeats for _, own in found):
            notes.append(
                f"Up to {missing} of these left a row without pools or kinds and are not in it."
            )
    return Table("pool-labels", "Effect of wrong labels", columns, body, notes, stub=3)


def left_out_by_kind_table(results: Sequence[Result]) -> Table:
    """Return, by measure and kind, the loss of runs when their own group is left out of the
    pool.
    """
    body = [
        [
            text_cell(own.measure),
            text_cell(own.kind),
            count_cell(own.systems),
            decimal_cell(result.value, sign=True),
            decimal_cell(own.largest_fall, sign=True),
            decimal_cell(own.ranks_lost, places=1),
            count_cell(own.most_ranks_lost),
        ]
        for result, own in of_type(results, LeftOutByKind)
    ]
    columns = [Column("Measure", numeric=False), Column("Kind", numeric=False), Column("Runs")]
    columns += [Column("mean", "Change of score"), Column("largest fall", "Change of score")]
    columns += [Column("mean", "Ranks lost"), Column("most", "Ranks lost", wide=True)]
    notes = (
        (
            "Every run by the gold judgements without those that only its own group contributed, "
            "compared with all of them."
        ),
    )
    return Table(
        "pool-left-out-kinds", "Without a run's own group: by kind", columns, body, notes, stub=2
    )


def left_out_table(results: Sequence[Result]) -> Table:
    """Return every group with its unique judgements and its runs' mean change of score."""
    found = sorted(
        (own for _, own in of_type(results, LeftOutFigures)),
        key=lambda own: (-own.relevant, own.group),
    )
    measures = distinct(name for own in found for run in own.runs for name in run.measures)
    body = [
        [
            text_cell(own.group),
            text_cell(", ".join(distinct(run.kind for run in own.runs))),
            count_cell(len(own.runs)),
            count_cell(own.unique),
            count_cell(own.relevant),
            *(
                decimal_cell(_mean([run.measures[name].change for run in own.runs]), sign=True)
                for name in measures
            ),
        ]
        for own in found
    ]
    columns = [Column("Group", numeric=False), Column("Kinds", numeric=False), Column("Runs")]
    columns += [
        Column("judgements", "Only by this group"),
        Column("relevant", "Only by this group"),
    ]
    columns += [Column(name, "Mean change of its runs") for name in measures]
    return Table("pool-left-out", "Each group left out", columns, body)


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def left_out_runs_table(results: Sequence[Result]) -> Table:
    """Return every run's score and rank with its group in the pool and without."""
    records = [(own.group, run) for _, own in of_type(results, LeftOutFigures) for run in own.runs]
    measures = distinct(name for _, run in records for name in run.measures)
    body = [
        [
            text_cell(run.run),
            text_cell(group),
            text_cell(run.kind),
            *(cell for name in measures for cell in _moved(run.measures[name])),
        ]
        for group, run in records
    ]
    columns = [Column(name, numeric=False) for name in ("Run", "Group", "Kind")]
    columns += [
        Column(part, name)
        for name in measures
        for part in ("with", "without", "rank with", "rank without")
    ]
    return Table("pool-left-out-runs", "Each run with and without its own group", columns, body)


def _moved(run: Moved) -> list[Cell]:
    return [
        decimal_cell(run.before),
        decimal_cell(run.after),
        count_cell(run.rank_before),
        count_cell(run.rank_after),
    ]


def coverage_data(results: Sequence[Result]) -> Table:
    """Return relevant passages by pool depth: all, and those in no other kind's pool."""
    found = [own for _, own in of_type(results, CoverageFigures)]
    depths = found[0].depths if found else []
    counts = [column for own in found for column in (own.found_by_depth, own.unique_by_depth)]
    body = [
        [count_cell(depth), *(count_cell(column[place]) for column in counts)]
        for place, depth in enumerate(depths)
    ]
    columns = [Column("Pool depth")]
    columns += [
        Column(name, f"{own.kind}, {own.systems} runs")
        for own in found
        for name in ("in its pool", "in no other")
    ]
    notes = [f"Relevant: grade {found[0].relevant_from} or more."] if found else []
    return Table("pool-coverage", "Relevant documents by pool depth", columns, body, notes)


def scatter_data(results: Sequence[Result]) -> Table:
    """Return every test system of one pool: gold and estimated score, judged@k and RBP's residual
    under that pool.
    """
    found = [own for _, own in by_measure(of_type(results, OnePoolFigures))]
    body = [
        [
            text_cell(own.measure),
            text_cell(own.pool),
            text_cell(point.run),
            text_cell(point.group),
            text_cell(point.kind),
            decimal_cell(point.gold),
            decimal_cell(point.estimated),
            decimal_cell(point.estimated - point.gold, sign=True),
            percent_cell(point.judged, sign=False),
            decimal_cell(point.residual),
        ]
        for own in found
        for point in sorted(own.points, key=lambda point: -point.gold)
    ]
    columns = [Column(name, numeric=False) for name in ("Measure", "Pool", "Run", "Group", "Kind")]
    columns += [
        Column(name) for name in ("Gold", "By this pool", "Change", "Judged", "RBP residual")
    ]
    notes = [
        f"The {own.pool} pool is fed by {', '.join(own.groups)}."
        for own in found
        if own.measure == found[0].measure
    ]
    return Table("pool-scatter", "Scores by gold and by one pool", columns, body, notes, stub=3)


def curve_data(results: Sequence[Result], axis: str) -> Table:
    """Return each point of the curves along "depth" or "groups": τ_b, change, and the judgements in
    the pools.
    """
    body = [
        [
            text_cell(own.measure),
            text_cell(own.pool),
            text_cell(own.test),
            count_cell(at),
            decimal_cell(own.tau_b[place]),
            decimal_cell(
                own.change[place],
                interval_of(own.change_low[place], own.change_high[place]),
                sign=True,
            ),
            decimal_cell(own.judgements[place], places=0),
            decimal_cell(own.relevant[place], places=0),
        ]
        for _, own in by_measure(of_type(results, CurveFigures))
        if own.axis == axis
        for place, at in enumerate(own.at)
    ]
    columns = [Column(name, numeric=False) for name in ("Measure", "Pools", "Test systems")]
    columns += [
        Column("Depth" if axis == "depth" else "Groups"),
        Column("Kendall's τ"),
        Column("Change of score"),
    ]
    columns += [Column("judgements", "In a pool"), Column("relevant", "In a pool")]
    return Table(
        f"pool-{axis}",
        f"Reliability by {'depth of pools' if axis == 'depth' else 'number of groups'}",
        columns,
        body,
        stub=3,
    )


def verdict_table(results: Sequence[Result]) -> Table:
    """Return one new run: the answer, its score with prediction and bounds, and the numbers of
    pooled runs that it beats and loses to.
    """
    head = next((own for _, own in of_type(results, UnjudgedFigures)), None)
    compared = {own.measure: own.comparisons for _, own in of_type(results, ComparisonsFigures)}
    body = []
    for _, own in of_type(results, ScoreFigures):
        says: list[str] = [one.says for one in compared.get(own.measure, ())]
        body.append(
            [
                text_cell(own.measure),
                text_cell(own.answer),
                decimal_cell(own.score),
                decimal_cell(own.predicted, interval_of(own.predicted_low, own.predicted_high)),
                decimal_cell(own.low),
                decimal_cell(own.high),
                *(count_cell(says.count(word)) for word in ("better", "worse", "open")),
                count_cell(own.needed),
            ]
        )
    columns = [Column("Measure", numeric=False), Column("The run", numeric=False)]
    columns += [Column(name, "Score") for name in ("as judged", "predicted", "at least", "at most")]
    columns += [
        Column(word, "Pooled runs that it is") for word in ("better than", "worse than", "open")
    ]
    columns += [Column("Documents to judge")]
    notes = [
        (
            "Predicted: the score if its group had taken part in the pool, with a 95\u00a0% "
            "prediction interval; at least and at most: for any grades of the unjudged documents."
        )
    ]
    if head:
        pooled = (
            f"; of the {head.pooled} pooled runs {percent(head.pooled_mean)} on average, at most "
            f"{percent(head.pooled_most)}"
        )
        notes.append(
            f"Unjudged among the first {head.depth} of {head.run}: "
            f"{percent(head.share)}{pooled if head.pooled else ''}. RBP (p = 0.8) {head.rbp:.3f}, "
            f"residual {head.residual:.3f}."
        )
    return Table("pool-verdict", "Score of the new run", columns, body, notes)


def comparisons_table(results: Sequence[Result], *, only_open: bool = False) -> Table:
    """Return the new run against each pooled run: the difference as judged, as predicted and its
    bounds, and the conclusion.

    ``only_open`` leaves out runs whose order is decided, and runs without a prediction.
    """
    unjudged = {
        run: share
        for _, own in of_type(results, UnjudgedFigures)
        for run, share in own.by_run.items()
    }
    scores = {
        (own.measure, run.run): run.score
        for _, own in of_type(results, ScoreFigures)
        for run in own.pooled
    }
    body = []
    for _, own in of_type(results, ComparisonsFigures):
        shown = [
            one
            for one in own.comparisons
            if not only_open or (one.says == "open" and one.probability is not None)
        ]
        listed = [(scores[own.measure, one.run], one) for one in shown]
        for score, one in sorted(listed, key=lambda item: -item[0]):
            differences = (one.difference, one.predicted, one.least, one.most)
            body.append(
                [
                    text_cell(own.measure),
                    text_cell(one.run),
                    text_cell(one.kind),
                    decimal_cell(score),
                    percent_cell(unjudged.get(one.run), sign=False),
                    *(decimal_cell(difference, sign=True) for difference in differences),
                    decimal_cell(one.probability, places=2),
                    text_cell(one.says + (", certainly" if one.certain else "")),
                    text_cell("yes" if one.new_queries else "no"),
                ]
            )
    columns = [Column(name, numeric=False) for name in ("Measure", "Pooled run", "Kind")]
    columns += [Column("Its score"), Column("Unjudged", wide=True)]
    columns += [
        Column(name, "New run's score minus its")
        for name in ("as judged", "predicted", "at least", "at most")
    ]
    columns += [
        Column("Probability of being better"),
        Column("The new run is", numeric=False),
        Column("For new queries", numeric=False, wide=True),
    ]
    notes = (
        (
            "Certainly: for any grades of the unjudged documents. For new queries: the order holds "
            "over queries like these, at 5\u00a0% by Holm."
        ),
    )
    return Table(
        "pool-comparisons", "The new run against each pooled run", columns, body, notes, stub=3
    )
