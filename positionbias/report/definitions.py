"""The definitions of a page: those of the terms that it uses."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["DEFINITIONS", "Definition", "used_in"]


@dataclass(frozen=True, slots=True)
class Definition:
    """A term, its meaning, and the words by which a page uses it; those with a capital within are
    matched as they are written.
    """

    term: str
    meaning: str
    words: Sequence[str]


DEFINITIONS = (
    Definition(
        "Rotated passage",
        "The passage cut at a random word, the second part put before the first. Its words and its "
        "relevance stay, and the answer ends up anywhere.",
        ("rotated", "rotation", "rotating"),
    ),
    Definition(
        "Δ as printed",
        "(rotated − original) / rotated: the form of Δ in Tables 3 and 4 of the position-bias "
        "paper. From 0.432 to 0.395 it is −9.4\u00a0%.",
        ("Δ as printed",),
    ),
    Definition(
        "Change",
        "(rotated − original) / original: the plain relative change. From 0.432 to 0.395 it is "
        "−8.6\u00a0%.",
        ("Change",),
    ),
    Definition(
        "Queries whose answer was left whole",
        "The queries none of whose answers the rotation cut in two. A cut answer can cost a model "
        "effectiveness that has nothing to do with position.",
        ("left whole",),
    ),
    Definition(
        "What unbiased looks like",
        "The shares of a histogram if each answer were equally likely at every start that it could "
        "have, given its own length and its passage's.",
        ("unbiased",),
    ),
    Definition(
        "Total variation",
        "Half the sum of the absolute differences between observed and expected shares: 0 where "
        "they agree, 1 where they have nothing in common.",
        ("total variation",),
    ),
    Definition(
        "nDCG@10",
        "Normalised discounted cumulative gain of the first ten passages: 1 for an ideal order. "
        "Gains are linear in the grade.",
        ("nDCG@10",),
    ),
    Definition(
        "RR@10",
        "One over the rank of the first relevant passage, 0 where none is among the first ten; its "
        "mean is MRR@10.",
        ("RR@10", "MRR@10"),
    ),
    Definition(
        "R@10",
        "Recall: the share of the relevant passages that are among the first ten.",
        ("R@10",),
    ),
    Definition(
        "BM25",
        "The first-stage ranking by words in common, which knows nothing of position.",
        ("BM25",),
    ),
    Definition(
        "Position-only",
        "A scorer that sees only where a query's words stand in a passage. What it gains over "
        "chance is what position alone gives away.",
        ("position-only",),
    ),
    Definition(
        "Interval",
        "A bootstrap interval: the measurement repeated on queries drawn again and again with "
        "replacement, questions about one passage drawn together.",
        ("interval", "intervals"),
    ),
    Definition(
        "p Wilcoxon, p Holm",
        "The signed-rank test over queries, zero differences dropped; and the same after Holm's "
        "correction for the number of tests made.",
        ("Wilcoxon", "Holm"),
    ),
    Definition(
        "Effect size",
        "The mean difference over the deviation of the differences between queries (Cohen's d_z).",
        ("effect size",),
    ),
    Definition(
        "Verdict",
        "An audit's answer to one question about one system. It rests only on effects in which the "
        "same evidence stands elsewhere: in its passage, or the passage in the list.",
        ("verdict", "verdicts"),
    ),
    Definition(
        "End − front, middle − ends",
        "The score of a passage with its evidence sentence at the end less at the front, and in "
        "the middle less the mean of both ends. The evidence changes places with a sentence that "
        "is none. The other sentences stand in a drawn order and in its reverse, so both sides "
        "have the same neighbours.",
        ("end − front", "middle − ends"),
    ),
    Definition(
        "Worth of the evidence",
        "The score of a passage less its score with an equally long sentence of another passage in "
        "the evidence's place, averaged over queries. Effects on scores are shares of it: "
        "−10\u00a0% means that moving the evidence costs a tenth of what the evidence is worth.",
        ("worth",),
    ),
    Definition(
        "Deviations, ranks",
        "Other units of an effect: the standard deviation of the scores of a query's candidates; "
        "and the places that the passage gains among them, so −2 falls two places.",
        ("deviations", "ranks"),
    ),
    Definition(
        "Margin, beyond the margin",
        "The smallest effect of interest. “No preference” means that the whole interval lies "
        "within the margin; “beyond” that the whole interval lies outside.",
        ("margin",),
    ),
    Definition(
        "Detectable",
        "The smallest effect that the test finds with 80\u00a0% power.",
        ("detectable", "detects"),
    ),
    Definition(
        "PSI",
        "Position sensitivity index: 1 − the worst over the best mean quality of the buckets that "
        "group queries by where their answer starts. Chance alone lifts it above 0, and so does "
        "the difficulty of questions.",
        ("PSI",),
    ),
    Definition(
        "PSI by chance, PSI above chance",
        "The mean PSI when positions are shuffled over queries, and how far the observed PSI "
        "exceeds it. p is the share of shuffles that reach the observed PSI.",
        ("by chance", "above chance"),
    ),
    Definition(
        "Position-blind scorer",
        "A scorer that ranks the same candidates without seeing the order of words: BM25, tf-idf, "
        "word overlap, length, a random order. Its slope comes from the questions alone.",
        ("position-blind",),
    ),
    Definition(
        "Rotation gap",
        "The mean change in a query's quality from original to rotated passages, over several "
        "rotations.",
        ("rotation gap",),
    ),
    Definition(
        "Rank-biased overlap",
        "How alike two rankings are, the first ranks counting most: 1 for the same ranking.",
        ("rank-biased overlap",),
    ),
    Definition(
        "Position response",
        "The score of a passage as its evidence sentence moves from the first place to the last "
        "while the other sentences keep their order. Its slope is last less first.",
        ("position response",),
    ),
    Definition(
        "ATS(Δ)",
        "Average term similarity: the mean cosine between a model's vectors for one word in two "
        "passages, Δ positions apart, averaged over words (Eq. 8).",
        ("ATS", "term similarity"),
    ),
    Definition(
        "MATS",
        "Σ (ATS(0) − ATS(Δ)) / (max Δ − 1), over Δ from 1 to the largest, as the paper prints it "
        "(Eq. 9). The plain mean divides by max Δ. 0 means no dependence on position.",
        ("MATS",),
    ),
    Definition(
        "Pool, gold",
        "A pool of depth k holds what any of its runs ranks among the first k; what is not in it "
        "counts as not relevant. The gold judgements are those of the pool of all runs, or every "
        "judgement.",
        ("pool", "pools", "gold"),
    ),
    Definition(
        "Kendall's τ, τ_AP",
        "How alike two orders of systems are: 1 for the same, −1 for the reverse. Kendall's is "
        "τ_b, which allows for equal scores; τ_AP counts errors at the top for more.",
        ("Kendall", "τ_AP", "τ"),
    ),
    Definition(
        "Judged@k, RBP residual",
        "The share of the first k that somebody judged; and by how much rank-biased precision (p = "
        "0.8) could still grow if all that is unjudged were relevant.",
        ("Judged", "residual", "rank-biased precision"),
    ),
)


def used_in(text: str) -> list[Definition]:
    """Return the definitions of the terms that a page's text uses, in the glossary's order."""
    return [one for one in DEFINITIONS if any(_uses(text, word) for word in one.words)]


def _uses(text: str, word: str) -> bool:
    flags = re.NOFLAG if any(char.isupper() for char in word) else re.IGNORECASE
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text, flags) is not None
