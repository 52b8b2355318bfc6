"""Presentation of a TripClick study: the paper's Tables 1 and 2, tests, training sets, curves by
depth.
"""

from __future__ import annotations

from pandas import DataFrame

from positionbias.evaluation.answers import LEVEL, Compared
from positionbias.experiments.endings import ending_sentences, training_section
from positionbias.experiments.shown import (
    EFFECT_NOTE,
    OVER_NOTE,
    comparison_cells,
    comparison_question,
    named,
)
from positionbias.papers.tripclick import HEADLINE, REGENERATED, Fall
from positionbias.report.figure import Lines
from positionbias.report.presentation import Presentation, RowSection
from positionbias.report.record import Finding, records_of, said
from positionbias.report.table import (
    DOUBTFUL,
    MARK,
    P_NOTE,
    RowTable,
    Value,
    where_printed,
)
from positionbias.text.formatting import plural

PRINTED = (
    "Published: Establishing Strong Baselines for TripClick Health Retrieval (ECIR 2022). Ours is "
    "another experiment, not a repetition of it."
)
MEAN = "statistic == 'mean' and axis == ''"
OVER_BM25 = "family.str.startswith('against BM25') and seed == -1"
NEGATIVES = "family.str.startswith('training sets') and seed == -1"
CURVE = "axis == 'depth' and statistic == 'mean'"
OWN_SET = "measure == 'training set'"


RERANKING = RowTable(
    name="tripclick-reranking",
    title="Re-ranking BM25's candidates",
    stub={"system": "Model", "trained": "Negatives"},
    across=["split", "measure"],
    where=f"role != 'retriever' and measure.str.match('nDCG|RR') and ({MEAN} or "
    f"statistic == 'difference' and {OVER_BM25})",
    cells=[Value("mean", mark="difference", brief=True)],
    notes=[
        f"Against BM25, which all re-rank: {DOUBTFUL} p < {LEVEL:g}, uncorrected; {MARK} after "
        "Holm's correction over all systems of a test and measure.",
        P_NOTE,
        f"A query's value is its mean over training seeds; intervals stand in the CSV. {OVER_NOTE}",
        where_printed(PRINTED),
    ],
)
RETRIEVAL = RowTable(
    name="tripclick-retrieval",
    title="Retrieval from the whole collection",
    stub={"split": "Test", "system": "Model", "trained": "Negatives"},
    across=["measure"],
    where=f"role in ['first stage', 'retriever'] and {MEAN}",
    cells=[Value("mean")],
    notes=[
        "Judged@10: the share of the first 10 that anybody judged; what nobody judged counts as "
        f"not relevant. {OVER_NOTE}",
        where_printed(PRINTED),
    ],
)
NEGATIVES_TESTS = RowTable(
    name="tripclick-negatives",
    title="What one training set gains over another",
    stub={
        "split": "Test",
        "measure": "Measure",
        "system": "Model",
        "beside": "Training set A",
        "trained": "Training set B",
    },
    where=NEGATIVES,
    cells=comparison_cells("With A", "With B"),
    notes=[
        "B less A: the same model and seeds. Where negatives come from is not all in which the "
        "sets may differ: so do the numbers of triples, queries and steps.",
        EFFECT_NOTE,
        P_NOTE,
    ],
)
SETS = RowTable(
    name="tripclick-sets",
    title="The training sets",
    stub={"trained": "Training set"},
    where=OWN_SET,
    cells=[
        *(
            Value(name, name.capitalize(), ",")
            for name in ("groups", "queries", "positives", "negatives", "false negatives")
        ),
        Value("share false", "Share false", ".1%"),
    ],
    notes=[
        "Positives: clicked passages of a query, each once. A negative is false where it is "
        "relevant by the complete judgements, which no training saw.",
    ],
)
DEPTH_FIGURE = Lines(
    name="tripclick-depth",
    where=f"{CURVE} and variant == '{REGENERATED}'",
    caption=lambda rows: (
        "nDCG@10 by how many of BM25's candidates are re-ranked, with intervals over trainings and "
        "queries (of one training seed over queries); models trained on BM25's negatives. A model "
        "that was trained well loses nothing by more candidates. A curve ends at the deepest of "
        "the depths for which half the queries have candidates."
    ),
    panel=("split",),
    heading="{split}",
    series="system",
    below="Candidates of BM25 that are re-ranked",
    side=HEADLINE,
    log=True,
    one_scale=True,
    tall=2.5,
)


def _headline(rows: DataFrame) -> list[str]:
    """Return how many systems beat BM25 on a test."""
    tested = rows.query(f"measure == '{HEADLINE}' and statistic == 'difference' and {OVER_BM25}")
    above = (tested["answer"] == Compared.HIGHER).sum()
    times = plural(len(tested), "comparison")
    return [f"{HEADLINE} is significantly above BM25's in {above} of {times}."]


def _findings(rows: DataFrame) -> list[Finding]:
    """Return findings on false negatives where they are known, ends of trainings, and depth."""
    false = "{trained}: {share false:.1%} of {negatives:,} negatives are relevant in truth."
    texts = [said(false, one) for one in records_of(rows, ["trained"], OWN_SET)]
    shares = [Finding(text) for text in texts if text]
    return [*shares, *ending_sentences(rows), *_robust(rows)]


def _robust(rows: DataFrame) -> list[Finding]:
    """Report the change from the study's depth to the deepest, the paper's test of training
    data.
    """
    text = "{whole} on {split}: {measure} changes by {change:+.3f} from re-ranking "
    changes = records_of(rows, ["whole", "split", "measure", "against"], "statistic == 'change'")
    return [
        Finding(
            said(f"{text}{{against}} to depth={row.label}: {row.answer}.", one),
            HOLDS[Fall(row.answer)],
        )
        for one in changes
        for row in [one.rows["change"]]
    ]


HOLDS = {Fall.RISES: True, Fall.NONE: True, Fall.FALLS: False, Fall.UNKNOWN: None}


BM25_QUESTION = comparison_question(
    ["split", "measure", "whole"],
    f"measure == '{HEADLINE}' and {OVER_BM25}",
    "Does it beat BM25 on {split}?",
    "{whole}",
    good=True,
    advice="Say nothing about models that do not beat BM25: train them longer, or on other "
    "negatives.",
)
NEGATIVES_QUESTION = comparison_question(
    ["split", "measure", "system", "trained", "beside"],
    f"measure == '{HEADLINE}' and {NEGATIVES}",
    "Is training on {trained} better than on {beside}?",
    "{system} on {split}",
    good=True,
    advice="Train on the better negatives of the two.",
)
SHOWN = Presentation(
    study="tripclick",
    prepare=named,
    headline=_headline,
    findings=_findings,
    questions=[BM25_QUESTION.tiles, NEGATIVES_QUESTION.tiles],
    sections=(
        RowSection(
            anchor="tripclick",
            title="Re-ranking and retrieval on clicks",
            introduction="Every re-ranker reorders the same candidates of BM25; dense retrieval "
            "searches the whole collection. Each test is judged by its own set of judgements.",
            figures=[DEPTH_FIGURE],
            tables=[RERANKING, RETRIEVAL],
        ),
        RowSection(
            anchor="tripclick-negatives",
            title="What models were trained on",
            introduction="Results that nobody clicked may well be relevant. What speaks for such "
            "false negatives in a training set, by the paper: pairs are ordered rightly less often "
            "in training, by smaller margins, and a model ranks worse the more candidates it "
            "re-ranks.",
            tables=[SETS, NEGATIVES_TESTS],
        ),
        training_section("tripclick"),
    ),
    text=[],
)
