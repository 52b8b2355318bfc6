"""Terms that a page explains where it uses them; commas part the words of one entry."""

from __future__ import annotations

__all__ = ["DEFINITIONS"]

DEFINITIONS = {
    "Rotated, rotation": (
        "A rotated passage is cut at a random word, the second part put before the first. Its "
        "words and its relevance stay, and the answer ends up anywhere."
    ),
    "Unbiased": (
        "The shares of a histogram if each answer were equally likely at every start that it could "
        "have, given its own length and its passage's."
    ),
    "Total variation": (
        "Half the sum of the absolute differences between observed and expected shares: 0 where "
        "they agree, 1 where they have nothing in common."
    ),
    "nDCG@10": (
        "Normalised discounted cumulative gain of the first ten passages: 1 for an ideal order. "
        "Gains are linear in the grade."
    ),
    "RR@10": "One over the rank of the first relevant passage, 0 where none is among the ten.",
    "BM25": "The first-stage ranking by words in common, which knows nothing of position.",
    "Interval": (
        "Where not said otherwise, a 95 % bootstrap interval: the measurement repeated on queries "
        "drawn again with replacement, questions about one passage drawn together."
    ),
    "End − front": (
        "The score of a passage with its evidence sentence at the end less at the front; the other "
        "sentences stand in a drawn order and in its reverse, so both sides have the same "
        "neighbours."
    ),
    "Worth": (
        "The score of a passage less its score with an equally long sentence of another passage in "
        "the evidence's place. Effects on scores are shares of it."
    ),
    "Margin": (
        "The smallest effect of interest. “No preference” means that the whole interval lies "
        "within the margin; “beyond” that it lies outside."
    ),
    "Detectable, detects": "The smallest effect that the test finds with 80 % power.",
    "PSI": (
        "Position sensitivity index: 1 − the worst over the best mean quality of the buckets that "
        "group queries by where their answer starts. Chance alone lifts it above 0."
    ),
    "ATS, term similarity": (
        "Average term similarity: the mean cosine between a model's vectors for one word in two "
        "passages, Δ positions apart, averaged over words."
    ),
    "MATS": (
        "Σ (ATS(0) − ATS(Δ)) / (max Δ − 1), over Δ from 1 to the largest. 0 means no dependence on "
        "position."
    ),
    "Kendall's τ, τ_AP": (
        "How alike two orders of systems are: 1 for the same, −1 for the reverse. Kendall's is "
        "τ_b, which allows for equal scores; τ_AP counts errors at the top for more."
    ),
}
