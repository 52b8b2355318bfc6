"""How pools are shown: tables, figures, answers and sentences over their rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pandas import DataFrame

from positionbias.core.formatting import NBSP, decimal
from positionbias.pooling.kind_rule import ENOUGH_POWER, Contrast, KindAnswer
from positionbias.pooling.measured import BY_QUERY, NEW_QUERIES
from positionbias.pooling.prediction import FEWEST_GROUPS
from positionbias.pooling.verdict import SURE, Obstacle, RunAnswer
from positionbias.report.presentation import Answer, Presentation, Question, RowSection
from positionbias.report.record import Finding, Record, records_of, said
from positionbias.report.row_figure import Forest, Lines, Mark, Scatter
from positionbias.report.row_table import RowTable, Value
from positionbias.report.tiles import Answered

__all__ = ["SHOWN"]

UNDER = {"measure": "Measure", "pool": "Pools", "kind": "Test systems"}
MAIN = "variant == '' and axis == '' and pool != '' and kind != ''"  # of test sets
FOUND = "measure == 'relevant documents'"
LEAD = (
    "statistic in ['score', 'share', 'lead', 'least lead', 'most lead', 'predicted lead', "
    "'probability']"
)

# --- tables ---------------------------------------------------------------------------------------


def _drawn(rows: DataFrame) -> str:
    """Return how the pools were drawn."""
    counts = records_of(rows, ["measure"], "pool == ''")
    drawn = "Means of {pools:,} pools of depth {depth of pools:,}, each of half of a kind's groups."
    return said(drawn, counts[0]) if counts else ""


def _mixed(rows: DataFrame) -> str:
    mixed = rows.query("statistic == 'mixed groups' and value > 0")["value"]
    more = "groups have runs of several kinds and count once for each."
    return "" if mixed.empty else f"{mixed.iloc[0]:,.0f} {more}"


def _lost(rows: DataFrame) -> str:
    lost = rows.query("statistic == 'relabellings lost'")["value"].max()
    if not lost > 0:
        return ""
    return f"Up to {lost:.0f} of these left a line without pools or kinds and are not in it."


def _undefined(rows: DataFrame) -> str:
    drawn = rows.query("statistic == 'tau_b' and counted == 'pools'")
    missing = int((drawn["count"].max() - drawn["count"]).sum()) if len(drawn) else 0
    if not missing:
        return ""
    return f"{missing} τ are undefined (equal scores, or fewer than two systems) and left out."


def _printed(rows: DataFrame) -> str:
    places = sorted(set(rows.query("whose == 'published'")["family"]))
    if not places:
        return ""
    return f"Published: {'; '.join(places)}; it prints no intervals, and its pools are other draws."


TASK = RowTable(
    name="pool-task",
    title="Runs, groups and judgements",
    stub={"kind": "Kind"},
    where="measure == 'collection' and axis == '' and kind != ''",
    cells=[Value("systems", "Runs", ","), Value("groups", "Groups", ",")],
    notes=[_mixed],
)
SIZES = RowTable(
    name="pool-sizes",
    title="Judgements in a pool",
    stub={"pool": "Pools"},
    where="statistic in ['in a pool', 'relevant in a pool', 'pools', 'depth of pools'] and "
    "measure == 'collection'",
    only=lambda record: bool(record.keys["pool"]),
    cells=[
        Value("in a pool", "judgements", ".0f", "In a pool"),
        Value("relevant in a pool", "relevant", ".0f", "In a pool"),
    ],
    notes=[_drawn],
)
ORDER = RowTable(
    name="pool-order",
    title="Kendall's τ by pools and test systems",
    stub={"pool": "Pools"},
    across=["measure", "kind"],
    where=f"statistic == 'tau_b' and {MAIN}",
    cells=[Value("tau_b")],
    notes=[
        "Rows: the kind whose groups feed the pools; columns: the kind of the test systems. "
        "Kendall's τ_b between the systems' order by gold and by a pool's judgements, mean over "
        f"pools [95{NBSP}%], t over the pools: it covers other draws of pools, not other queries.",
        _undefined,
        _printed,
    ],
)
AGREEMENT = RowTable(
    name="pool-agreement",
    title="Agreement at the top, and distinguished pairs",
    stub=UNDER,
    where=f"whose == '' and {MAIN}",
    cells=[
        Value("systems", "Number", ".1f"),
        Value("tau_ap", "τ_AP"),
        Value("distinguished by gold", "by gold", ".1%", "Pairs distinguished"),
        Value("distinguished by the pool", "by a pool", ".1%", "Pairs distinguished"),
        Value("kept", "of gold's, the same way", ".1%", "Pairs distinguished"),
        Value("reversed", "the other way", ".1%", "Pairs distinguished"),
    ],
    notes=[
        "τ_AP (Yilmaz, Aslam and Robertson 2008) emphasises errors at the top. Distinguished: "
        "pairs with p < 0.05 in a paired t-test over the queries, uncorrected, as a share of all "
        "pairs of test systems."
    ],
)
CHANGES = RowTable(
    name="pool-bias",
    title="Change of score by kind of system",
    stub=UNDER,
    where=f"whose == '' and {MAIN}",
    cells=[
        Value("gold", "by gold", group="Mean score"),
        Value("by the pool", "by a pool", group="Mean score"),
        Value("change", "score", "+.3f", "Change"),
        Value("relative change", "share", "+.1%", "Change"),
        Value("judged by gold", "gold", ".1%", "Judged", wide=True),
        Value("judged by the pool", "pool", ".1%", "Judged", wide=True),
        Value("residual by gold", "gold", group="RBP residual", wide=True),
        Value("residual by the pool", "pool", group="RBP residual", wide=True),
    ],
    notes=[
        "Change: the pool's score minus the gold score, mean over systems, queries and pools; "
        "intervals treat groups and queries as random. Share: of the gold score, as better systems "
        "have more to lose.",
        "Judged: the judged share of the first ranks. Residual: the part of rank-biased precision "
        "(p = 0.8) that unjudged documents leave open.",
    ],
)
KINDS = RowTable(
    name="pool-kinds",
    title="Does kind matter?",
    stub={**UNDER, "variant": "Against"},
    where=f"variant in {[str(contrast) for contrast in Contrast]}",
    cells=[
        Value("effect of kind", "Answer", show="answer"),
        Value("gap", "Gap", "+.3f"),
        Value("by chance", "Permuted kinds", "+.3f", wide=True),
        Value("effect of kind", "Effect", "+.3f"),
        Value("effect of kind", "p (Holm)", "p", show="p_adjusted"),
        Value("false alarms", "false alarms", ".1%", "Error rates"),
        Value("power", "power", ".1%", "Error rates"),
        Value("groups needed", "Groups needed", ",", wide=True),
    ],
    notes=[
        "Gap: how much more (+) or less (−) the score of a test system changes than that of an "
        "unseen system of the pool's kind with an equal gold score; beyond mixed pools: minus the "
        "same under pools of as many groups of any kind.",
        "Permuted kinds: the mean gap with kinds permuted among {arrangements.label}. Effect: the "
        "gap minus that; intervals treat groups and topics as random, p is by permutation.",
        "False alarms: how often the answer is worse or better with kinds permuted again, "
        "{false alarms.count:,} times. Power: how often a gap of {effect of kind.margin:.2f} is "
        f"called worse. Groups needed: for 80{NBSP}% power; here {{groups:,}}.",
    ],
)
LABELS = RowTable(
    name="pool-labels",
    title="Effect of wrong labels",
    stub={**UNDER, "variant": "Kinds"},
    where="axis == '' and kind != '' and pool != '' and whose == '' and "
    "(variant == '' and statistic in ['tau_b', 'change'] or variant.str.endswith('changed'))",
    cells=[Value("tau_b", "Kendall's τ"), Value("change", "Change of score", "+.3f")],
    blank="as given",
    notes=[
        "Changed: as often as repeated, that share of the runs is given another kind at random; "
        f"the mean, and in brackets the middle 95{NBSP}%.",
        _lost,
    ],
)
LEFT_OUT_KINDS = RowTable(
    name="pool-left-out-kinds",
    title="Without a run's own group: by kind",
    stub={"measure": "Measure", "kind": "Kind"},
    where="variant == 'own group left out'",
    cells=[
        Value("change", "Runs", ",", show="count"),
        Value("change", "mean", "+.3f", "Change of score"),
        Value("largest fall", "largest fall", "+.3f", "Change of score"),
        Value("ranks lost", "mean", ".1f", "Ranks lost"),
        Value("most ranks lost", "most", ",", "Ranks lost", wide=True),
    ],
    notes=[
        "Every run by the gold judgements without those that only its own group contributed, "
        "compared with all of them."
    ],
)
LEFT_OUT = RowTable(
    name="pool-left-out",
    title="Each group left out",
    stub={"label": "Group"},
    across=["measure"],
    where="variant == 'left out' and run == ''",
    cells=[
        Value("unique", "only by this group", ","),
        Value("unique relevant", "relevant, only by this group", ","),
        Value("change", "mean change of its runs", "+.3f"),
    ],
    order="unique relevant",
)
LEFT_OUT_RUNS = RowTable(
    name="pool-left-out-runs",
    title="Each run with and without its own group",
    stub={"run": "Run", "label": "Group", "kind": "Kind"},
    across=["measure"],
    where="variant == 'left out' and run != ''",
    cells=[
        Value("with", "with"),
        Value("without", "without"),
        Value("rank with", "rank with", ","),
        Value("rank without", "rank without", ","),
    ],
)
COVERAGE = RowTable(
    name="pool-coverage",
    title="Relevant documents by pool depth",
    stub={"label": "Pool depth"},
    across=["kind"],
    where=FOUND,
    cells=[Value("found", "in its pool", ","), Value("alone", "in no other", ",")],
)
POINTS = RowTable(
    name="pool-scatter",
    title="Scores by gold and by one pool",
    stub={"measure": "Measure", "pool": "Pools", "run": "Run", "label": "Group", "kind": "Kind"},
    where="variant == 'pool 0' and run != ''",
    cells=[
        Value("gold", "Gold"),
        Value("by the pool", "By this pool"),
        Value("judged by the pool", "Judged", ".1%"),
        Value("residual by the pool", "RBP residual"),
    ],
    notes=[
        lambda rows: " ".join(
            f"The {pool} pool is fed by {', '.join(dict.fromkeys(own['label']))}."
            for pool, own in rows.query("statistic == 'fed by'").groupby("pool", sort=False)
        )
    ],
)


def _curve(axis: str, title: str) -> RowTable:
    return RowTable(
        name=f"pool-{axis}",
        title=title,
        stub={**UNDER, "label": axis.capitalize()},
        where=f"axis == '{axis}' and pool != ''",
        cells=[
            Value("tau_b", "Kendall's τ"),
            Value("change", "Change of score", "+.3f"),
            Value("in a pool", "judgements", ".0f", "In a pool"),
            Value("relevant in a pool", "relevant", ".0f", "In a pool"),
        ],
    )


CURVES = (
    _curve("depth", "Reliability by depth of pools"),
    _curve("groups", "Reliability by number of groups"),
)
VERDICT = RowTable(
    name="pool-verdict",
    title="Score of the new run",
    stub={"measure": "Measure", "run": "Run"},
    where="statistic != 'lead'",
    only=lambda record: "predicted" in record.rows or "guessed" in record.rows,
    cells=[
        Value("predicted", "Answer", show="answer"),
        Value("guessed", "Answer", show="answer"),
        Value("score", "as judged", group="Score"),
        Value("predicted", "predicted", group="Score"),
        Value("least", "at least", group="Score"),
        Value("most", "at most", group="Score"),
        Value("documents to judge", "Documents to judge", ","),
    ],
    notes=[
        f"Predicted: the score if its group had taken part in the pool, with a 95{NBSP}% "
        "prediction interval; at least and at most: for any grades of the unjudged documents."
    ],
)


def _leads(name: str, title: str, where: str, *notes: str) -> RowTable:
    return RowTable(
        name=name,
        title=title,
        stub={"measure": "Measure", "run": "Pooled run", "kind": "Kind"},
        where=LEAD,
        only=lambda record: "lead" in record.rows and (not where or _is_open(record)),
        order="score",
        cells=[
            Value("score", "Its score"),
            Value("lead", "as judged", "+.3f", "New run's score minus its"),
            Value("predicted lead", "predicted", "+.3f", "New run's score minus its"),
            Value("least lead", "at least", "+.3f", "New run's score minus its"),
            Value("most lead", "at most", "+.3f", "New run's score minus its"),
            Value("probability", "Probability of being better", ".2f"),
            Value("lead", "The new run is", show="answer"),
            Value("probability", "p for new queries (Holm)", "p", show="p_adjusted", wide=True),
        ],
        notes=notes,
    )


def _is_open(record: Record) -> bool:
    return record.rows["lead"].answer == "open" and "probability" in record.rows


LEADS = _leads(
    "pool-comparisons",
    "The new run against each pooled run",
    "",
    "Certainly: for any grades of the unjudged documents. p: that the order is chance over queries "
    "like these.",
)
OPEN = _leads(
    "pool-open", "Pooled runs whose order is open", "open", "--out has every other order."
)

# --- figures --------------------------------------------------------------------------------------


def _coverage_caption(rows: DataFrame) -> str:
    kinds = records_of(rows, ["kind"], f"{FOUND} and at == {_depth(rows)}")
    parts = [
        said("{kind}: {found:,}, {alone:,} of them in no other kind's pool", one) for one in kinds
    ]
    return (
        f"Relevant documents by pool depth. At depth {_depth(rows):.0f}: {'; '.join(parts)}. Only "
        "judged documents count, so curves are understated where they go deeper than what was "
        "judged; and a kind with more runs finds more."
    )


def _depth(rows: DataFrame) -> float:
    """Return the depth of the pools that kinds are compared at."""
    return float(rows.query("statistic == 'pool depth'")["value"].max())


def _scatter_caption(rows: DataFrame) -> str:
    taus = records_of(rows, ["measure", "pool", "kind"], "variant == 'pool 0' and run == ''")
    parts = [said("{measure}, {pool} pool, {kind}: {tau_b:.3f}", one) for one in taus]
    return (
        "Each test system's score by the judgements of one drawn pool against its score by gold; "
        f"below the line it is underestimated. Kendall's τ: {'; '.join(filter(None, parts))}."
    )


def _across(rows: DataFrame, template: str, where: str = MAIN) -> str:
    """Return a phrase for each measure and kind that is judged by pools of another kind."""
    chosen = records_of(
        rows, list(UNDER), f"{where} and whose == '' and kind != pool and kind != 'all'"
    )
    return "; ".join(filter(None, (said(template, one) for one in chosen)))


def _bias_caption(rows: DataFrame) -> str:
    parts = _across(rows, "{kind} runs by {pool} pools, {measure}: {change:+.3f}")
    return (
        "How far pools of one kind move the scores of systems that did not feed them (left of 0: "
        f"underestimated), with 95{NBSP}% intervals over groups and queries; hollow: how much more "
        f"than permuted kinds would. Of other kinds than the pools': {parts}."
    )


def _curve_caption(axis: str, what: str) -> Lines:
    def caption(rows: DataFrame) -> str:
        ends = rows.query(f"axis == '{axis}'")["at"]
        first, last = (
            _across(
                rows,
                "{kind} runs by {pool} pools, {measure}: {change.value:+.3f}",
                f"axis == '{axis}' and at == {end}",
            )
            for end in (ends.min(), ends.max())
        )
        return f"{what} At {ends.min():.0f}: {first}. At {ends.max():.0f}: {last}."

    return Lines(
        entry="{} runs",
        name=f"pool-{axis}",
        where=f"axis == '{axis}' and statistic == 'change' and kind != 'all'",
        caption=caption,
        panel=("measure", "pool"),
        heading="{measure}, {pool} pools",
        below={"depth": "Pool depth", "groups": "Groups that feed a pool"}[axis],
        side="Change of score",
        same="y",
        tall=2.1,
        zero=True,
    )


def _verdict_caption(rows: DataFrame) -> str:
    new = [one for one in records_of(rows, ["measure", "run"]) if _is_new(one)]
    parts = [
        said("{measure}: {score:.3f} as judged, {least:.3f} to {most:.3f} possible", one)
        for one in new
    ]
    return (
        "The new run and the pooled runs whose scores are nearest: bars are all that they can "
        "score, whatever the unjudged documents are; hollow is the new run's prediction with its "
        f"95{NBSP}% interval. {'; '.join(parts)}."
    )


def _is_new(record: Record) -> bool:
    return "predicted" in record.rows or "guessed" in record.rows


NEAREST = 20  # pooled runs beside the new one


def _nearest(records: list[Record], rows: DataFrame) -> list[Record]:
    """Return the new run and the pooled runs whose scores are nearest, best first."""
    new = next(one for one in records if _is_new(one))
    own = new.value("score") or 0.0
    near = sorted(records, key=lambda one: abs((one.value("score") or 0.0) - own))[: NEAREST + 1]
    return sorted(near, key=lambda one: -(one.value("score") or 0.0))


COVERAGE_FIGURE = Lines(
    entry="{} runs",
    name="pool-coverage",
    where=FOUND,
    caption=_coverage_caption,
    panel=("statistic",),
    heading="Relevant, {statistic}",
    below="Pool depth",
    side="Documents",
    marked=_depth,
    places=0,
)
SCATTER = Scatter(
    entry="{} runs",
    name="pool-scatter",
    where="variant == 'pool 0' and run != ''",
    caption=_scatter_caption,
    panel=("measure", "pool"),
    heading="{measure}, {pool} pool",
    below="By the gold judgements",
    side="By this pool",
    across="gold",
    up="by the pool",
)
BIAS = Forest(
    name="pool-bias",
    where="axis == '' and pool != '' and kind not in ['', 'all'] and run == '' and "
    "statistic in ['change', 'effect of kind'] and counted != 'relabellings'",
    caption=_bias_caption,
    below="Mean change of score, from gold to a pool's judgements",
    line=("kind", "pool"),
    name_of="{kind} by {pool} pools",
    marks=[
        Mark("statistic == 'change'", "change", lower=-0.2),
        Mark(
            f"variant == '{Contrast.UNSEEN}'",
            "its excess beside unseen runs of the pool's kind",
            full=False,
            lower=0.06,
        ),
        Mark(
            f"variant == '{Contrast.MIXED}'",
            "its excess beyond mixed pools",
            marker="v",
            full=False,
            lower=0.3,
        ),
    ],
    same="x",
)
SCORES = Forest(
    name="pool-verdict",
    where="statistic in ['score', 'least', 'most', 'predicted', 'guessed'] and run != ''",
    caption=_verdict_caption,
    line=("run",),
    name_of="{run}",
    below="Score",
    series="statistic",
    zero=False,
    chosen=_nearest,
    marks=[
        Mark("statistic == 'score'", "score and what it can be", ends=("least", "most")),
        Mark("statistic == 'predicted'", "prediction of the new run", full=False, lower=0.25),
    ],
)

# --- sentences and answers ------------------------------------------------------------------------

LESS = {
    Contrast.UNSEEN: "minus that of unseen {pool} runs of equal score is",
    Contrast.MIXED: (
        "minus that of {pool} runs of equal score, minus the same under pools of as many groups of "
        "any kind, is"
    ),
}
NEXT = {
    KindAnswer.WORSE: (
        "Add groups of {kind} runs to the pool, or compare {kind} runs only with each other."
    ),
    KindAnswer.BETTER: "Compare {pool} and {kind} runs only under pools of both kinds.",
}
HOLDS = {"worse": True, "better": False, "within 0.03": False, "cannot tell": None}


def _headline(rows: DataFrame) -> list[str]:
    """Return whether kind matters; or what the pools of each kind hold."""
    answers = rows.query("statistic == 'effect of kind'")["answer"].tolist()
    if answers:
        counts = {answer: answers.count(answer) for answer in KindAnswer}
        told = ", ".join(f"{number} {answer}" for answer, number in counts.items())
        of = f"of {len(answers)} tests, {told}"
        if counts[KindAnswer.WORSE] + counts[KindAnswer.BETTER]:
            return [f"No: pools of one kind do not judge the other as they judge their own ({of})."]
        own = "pools of one kind judge the other as they judge their own"
        if counts[KindAnswer.UNKNOWN]:
            return [f"Cannot tell whether {own} ({of})."]
        return [f"Yes: {own}, within 0.03 ({of})."]
    if rows.query(FOUND).empty:
        return []
    kinds = records_of(rows, ["kind"], f"{FOUND} and at == {_depth(rows)}")
    held = "; ".join(
        said("of {kind} runs {found:,}, {alone:,} of them in no other", one) for one in kinds
    )
    return [f"Relevant documents in pools of depth {_depth(rows):.0f}: {held}."]


def _run(rows: DataFrame) -> list[str]:
    """Return what each collection consists of."""
    told = []
    chosen = "measure == 'collection' and axis == '' and pool == ''"
    for every in records_of(rows, ["collection"], f"{chosen} and kind == 'all'"):
        own = rows[rows["collection"] == every.keys["collection"]]
        kinds = records_of(own, ["kind"], f"{chosen} and kind not in ['', 'all']")
        parts = ", ".join(said("{systems:,} {kind} of {groups:,} groups", one) for one in kinds)
        counts = said(
            "{queries:,} queries, {judgements:,} judgements, of which {relevant:,} are relevant "
            "(grade {relevant from:,} or more)",
            every,
        )
        told.append(said("{collection}: {systems:,} runs ", every) + f"({parts}); {counts}.")
    return told


def _findings(rows: DataFrame) -> list[Finding]:
    kinds = records_of(rows, ["collection", "measure", "pool", "kind", "variant"])
    found = [Finding(*_effect(one)) for one in kinds if "effect of kind" in one.rows]
    for row in rows.query("statistic == 'published figures' and reason != ''").itertuples():
        found.append(Finding(f"No published figures for {row.collection}: {row.reason}."))
    for record in records_of(rows, ["collection", "measure", "run"]):
        if _is_new(record):
            found.append(_judged(record, rows[rows["collection"] == record.keys["collection"]]))
    return found


def _effect(record: Record) -> tuple[str, bool | None]:
    """Return the answer on a kind, the effect with its interval, the error rates, and the advice;
    and whether kind matters.
    """
    answer = record.rows["effect of kind"].answer
    less = LESS[Contrast(record.keys["variant"])]
    what = f"under pools of {{pool}} runs, the change of {{measure}} of {{kind}} runs {less}"
    if "false alarms" not in record.rows:
        few = "kinds can be permuted in only {arrangements:,} ways"
        more = "more groups are needed (here {groups:,})"
        return said(f"Cannot tell: {what} {{gap:+.3f}}, but {few}: {more}.", record), None
    rates = (
        "“Worse” or “better” is a false alarm in {false alarms:.1%} of {false alarms.count:,} "
        "permutations of kinds among {arrangements.label}; a gap of {effect of kind.margin:.2f} is "
        f"found in {{power:.0%}} and called “{KindAnswer.CLOSE}” in {{missed:.1%}}."
    )
    level = f"(95{NBSP}% interval, Holm-adjusted p {{effect of kind.p_adjusted:p}})"
    advice = NEXT.get(KindAnswer(answer), "")
    if answer == KindAnswer.UNKNOWN:
        advice = "Add groups or topics to narrow the interval."
        if (record.value("power") or 0.0) < ENOUGH_POWER and record.value("groups needed"):
            found = f"would find it with 80{NBSP}% power"
            advice = f"{{groups needed:,}} groups {found} (here {{groups:,}})."
    sentence = f"{answer.capitalize()}: {what} {{effect of kind:+.3f}} {level}. {rates} {advice}"
    return said(sentence, record).rstrip(), HOLDS[answer]


OBSTACLES = {
    Obstacle.NO_RUNS: (
        "no pooled runs",
        "give the runs that fed the pool (--pool-runs, with --systems), or ",
    ),
    Obstacle.FEW_GROUPS: (
        f"at least {FEWEST_GROUPS} groups of pooled runs must have unique documents, and fewer of "
        "the {groups:,} given have",
        "give more of the runs that fed the pool, or ",
    ),
    Obstacle.NO_ERRORS: (
        f"fewer than {FEWEST_GROUPS} groups have unique documents that change their runs' scores",
        "",
    ),
    Obstacle.BEYOND: (
        "a larger share is unjudged than of any left-out pooled run (at most {most, left out:.1%})",
        "",
    ),
}  # the obstacle, and the advice


def _judged(record: Record, rows: DataFrame) -> Finding:
    """Return the answer on a new run, its score, the orders, new queries, and the next step."""
    (head,) = (one for one in records_of(rows, ["run", "measure"]) if "judged depth" in one.rows)
    own = Record({**head.keys, **record.keys}, {**head.rows, **record.rows})
    depth = head.keys["measure"].partition("@")[2]
    unjudged = f"{{share.value:.1%}} of its first {depth} are unjudged"
    possible = (
        "{score:.3f} by the judged documents, {least:.3f} to {most:.3f} possible for any grades of "
        "the rest"
    )
    if "guessed" in own.rows:
        missing, do = OBSTACLES[Obstacle(own.rows["guessed"].reason)]
        deep = own.value("judged depth") or 0.0
        down = (
            f"Down to rank {deep:,.0f} at least 95{NBSP}% are judged at every rank: measures with "
            "at most this cutoff leave little open."
            if deep
            else f"Less than 95{NBSP}% is judged even at the first rank, so a smaller cutoff does "
            "not help."
        )
        lines = [
            f"Cannot tell whether {{run}} can be judged by {{measure}}: {missing}, so no "
            f"prediction can be calibrated; {unjudged}.",
            f"{{measure}}: {possible}.",
            "A weaker estimate, without an error rate: {guessed:.3f} if unjudged documents are "
            "relevant as often as judged ones at the same rank; probably too high.",
            down,
            f"Next: {do}judge the documents of --judge-next FILE.",
        ]
        return Finding("\n".join(said(line, own) for line in lines), None)
    row = own.rows["predicted"]
    half = decimal((row.high - row.low) / 2)
    queries = (
        "the choice of queries does by ±{half over queries:.3f}"
        if own.value("half over queries") is not None
        else "one query says nothing of others"
    )
    needed = own.value("documents to judge")
    first = (
        f"{{run}} {row.answer} by {{measure}}: {unjudged}, which leaves its score open by "
        f"±{half}; {queries}."
    )
    if needed:
        first += (
            " About {documents to judge:,} of its {unjudged documents:,} unjudged documents need "
            "judgements."
        )
    lines = [
        first,
        f"Predicted {{measure}}: {{predicted.value:.3f}}, 95{NBSP}% prediction interval "
        f"{{predicted.low:.3f}} to {{predicted.high:.3f}} ({possible}).",
        *_orders(rows[rows["measure"] == own.keys["measure"]]),
        "Left out of the pool in turn, {covered:.0%} of the pooled runs score within such an "
        "interval ({covered.count:,} runs of {covered.clusters:,} groups, a group counted once).",
    ]
    if not own.value("runs share groups"):
        lines[-1] += (
            " No two runs share a group; if some have the same maker, this share is too high."
        )
    if needed:
        lines.append(
            "Next: judge the first {documents to judge:,} documents of --judge-next FILE and run "
            "this again."
        )
    return Finding("\n".join(said(line, own) for line in lines), row.answer == RunAnswer.YES)


def _orders(rows: DataFrame) -> list[str]:
    leads = rows.query("statistic == 'lead'")["answer"]
    plain = leads.str.removesuffix(", certainly")
    counts = plain.value_counts()
    better, worse, still, equal = (
        int(counts.get(a, 0)) for a in ("better", "worse", "open", "equal")
    )
    certain = int(leads.str.endswith("certainly").sum()) + equal
    p = rows.query("statistic == 'probability'")[["run", "p_adjusted"]]
    decided = rows.query("statistic == 'lead'")[plain.isin(["better", "worse"])]["run"]
    holding = int((p[p["run"].isin(decided)]["p_adjusted"] < NEW_QUERIES).sum())
    same = f" It equals {equal:,}." if equal else ""
    return [
        f"On these queries better than {better:,} and worse than {worse:,} of {len(leads):,} "
        f"pooled runs with a probability of {SURE:.0%} or more, {certain:,} of them for any grades "
        f"of the unjudged documents; {still:,} are open.{same}",
        f"For new queries like these, {holding:,} of the {better + worse:,} orders hold (5{NBSP}%, "
        "Holm).",
    ]


def _told(answer: Answered, words: str, welcome: bool, *advice: str) -> Answer:
    return Answer(answered=answer, words=words, welcome=welcome, advice=advice)


JUDGE = (
    "Judge the first {documents to judge:,} documents of --judge-next FILE, and ask again.",
    "Judge the documents of --judge-next FILE, and ask again.",
)
RUN_QUESTION = Question(
    by=["collection", "measure", "run"],
    where="run != ''",
    statistics=["predicted", "guessed"],
    question="Can {collection} judge {run} by {measure}?",
    subject="{run}",
    answers={
        RunAnswer.YES: _told(Answered.YES, "Can be judged", True),
        RunAnswer.MORE: _told(Answered.NO, "Cannot be judged yet", False, *JUDGE),
        RunAnswer.UNKNOWN: _told(Answered.UNKNOWN, "Cannot tell", False, JUDGE[1]),
    },
    effect=["predicted {predicted:.3f} {measure}", "{measure} between {least:.3f} and {most:.3f}"],
    basis=[
        "{unjudged.value:.1%} of its first {unjudged.label} unjudged",
        "queries leave ±{half over queries:.3f} open",
        "such intervals covered {covered:.0%} of pooled runs",
    ],
)
KIND_QUESTION = Question(
    by=["collection", "measure", "pool", "kind", "variant"],
    where="variant != ''",
    statistics=["effect of kind"],
    question="Do {pool} pools underestimate {kind} runs?",
    subject="{collection}, {measure}, {variant}",
    answers={
        KindAnswer.WORSE: _told(
            Answered.YES,
            "Underestimated",
            False,
            "Let groups of {kind} runs feed the pool too, or compare {kind} runs with each other "
            "only.",
        ),
        KindAnswer.BETTER: _told(
            Answered.NO,
            "Overestimated",
            False,
            "Compare {pool} and {kind} runs under pools of both kinds only.",
        ),
        KindAnswer.CLOSE: _told(Answered.NO, "Within 0.03", True),
        KindAnswer.UNKNOWN: _told(
            Answered.UNKNOWN,
            "Cannot tell",
            False,
            "More groups: {groups needed:,} would find a gap of {effect of kind.margin:.2f} with "
            "80 % power (here {groups:,}).",
        ),
    },
    effect=["{effect of kind:+.3f} {measure}", "{gap:+.3f} {measure}"],
    basis=[
        "Holm p {effect of kind.p_adjusted:p}",
        "finds {effect of kind.margin:.2f} in {power:.0%}",
        "false alarms {false alarms.value:.1%}",
    ],
)

# --- page and terminal ----------------------------------------------------------------------------

SECTIONS: Sequence[RowSection] = (
    RowSection(
        anchor="pool-coverage",
        title="What each kind of system finds",
        introduction="If the pool of a test collection were made of one kind of system alone, "
        "these relevant documents would be in it.",
        figures=[COVERAGE_FIGURE],
        folded=[COVERAGE],
    ),
    RowSection(
        anchor="pool-order",
        title="Do pools of one kind put systems in the right order?",
        introduction="Half of the groups of one kind feed a pool; its judgements rank the systems "
        "that did not feed it, and their order is held against that by the gold judgements. A τ of "
        "1 is the same order, of 0 an order by chance.",
        figures=[SCATTER],
        tables=[ORDER, TASK, SIZES],
        folded=[AGREEMENT, POINTS],
    ),
    RowSection(
        anchor="pool-bias",
        title="Whom pools of one kind underestimate",
        introduction="A system that did not feed a pool has documents in it that nobody judged, "
        "and they count as not relevant: every unseen system loses. The pool is unfair to a kind "
        "where it loses more than equally good unseen systems of the pool's own kind do, and more "
        "than it would if kinds were permuted among the groups.",
        figures=[BIAS],
        tables=[KINDS, CHANGES],
    ),
    RowSection(
        anchor="pool-curves",
        title="Deeper pools, more groups",
        introduction="What a collection's makers can do about it: judge deeper, or let more groups "
        "take part.",
        figures=[
            _curve_caption(
                "depth",
                "Mean change of score by the depth of the pools, against the same gold throughout, "
                f"with 95{NBSP}% intervals.",
            ),
            _curve_caption(
                "groups",
                f"Mean change of score by the number of groups that feed a pool, with 95{NBSP}% "
                "intervals; as groups are drawn, fewer systems are left to test.",
            ),
        ],
        folded=CURVES,
    ),
    RowSection(
        anchor="pool-left-out",
        title="Each group left out of the pool",
        introduction="The judgements that only one group brought in are removed, and its runs are "
        "scored again: what would have become of them had they come too late.",
        tables=[LEFT_OUT_KINDS, LEFT_OUT],
        folded=[LEFT_OUT_RUNS],
    ),
    RowSection(
        anchor="pool-labels",
        title="What wrong labels do",
        introduction="Which kind a system is of is often read from a short description.",
        tables=[LABELS],
    ),
    RowSection(
        anchor="pool-verdict",
        title="Can the collection judge this run?",
        introduction="The run did not help to make the pool. What it would score, had it, is "
        "predicted from the pooled runs, each group of which is left out in turn; beside that "
        "stand bounds that hold whatever the unjudged documents are.",
        figures=[SCORES],
        tables=[VERDICT],
        folded=[LEADS],
    ),
)
SHOWN = Presentation(
    study="pooling",
    headline=_headline,
    run=_run,
    findings=_findings,
    questions=[RUN_QUESTION, KIND_QUESTION],
    sections=SECTIONS,
    text=[
        replace(COVERAGE, where=f"{FOUND} and at in {BY_QUERY}"),
        TASK,
        SIZES,
        KINDS,
        ORDER,
        CHANGES,
        LEFT_OUT_KINDS,
        LEFT_OUT,
        LABELS,
        VERDICT,
        OPEN,
    ],
    main=("pool-bias", "pool-verdict"),
    after_study=("pool-order", "pool-labels"),
)
