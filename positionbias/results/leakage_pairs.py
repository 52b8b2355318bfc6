"""Figures of pairs of a training and a test query (found, compared with a truth, drawn, labelled,
with a threshold).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import UNSET, Struct, UnsetType, field

from positionbias.results.figures import Figures, Rows

__all__ = [
    "CANDIDATES",
    "GIVEN_PRECISION",
    "GUESSED_TYPES",
    "KAPPA",
    "LABEL_COUNTS",
    "LIKE_FOR_LIKE",
    "PAPER",
    "PRECISION_AT",
    "PREVALENCE",
    "PUBLISHED",
    "QUERIES_READ",
    "REVIEWED",
    "SAMPLE",
    "THRESHOLD",
    "TRUTH",
    "WORDS_ALONE",
    "CandidateCounts",
    "FoundOfTrue",
    "HeldOut",
    "KappaFigures",
    "LabelCounts",
    "LeakShare",
    "PublishedReview",
    "QueriesRead",
    "ReadCount",
    "ReviewFigures",
    "ReviewedPairs",
    "SampleFigures",
    "ThresholdCurve",
    "ThresholdFigures",
    "TopicsAndQueries",
    "TruthFigures",
]

PAPER = "How Train–Test Leakage Affects Zero-shot Retrieval (SPIRE 2022)"
# after a measure's name
PUBLISHED, LIKE_FOR_LIKE = ", as published", ", by meaning in the paper's fields"
CANDIDATES, WORDS_ALONE = "leakage candidates", "candidates by words alone"
GUESSED_TYPES, LABEL_COUNTS = "guessed reformulation types", "reformulation types"
QUERIES_READ = "queries read"
TRUTH = "found pairs against the truth"
SAMPLE = "leakage sample"
REVIEWED = "reviewed candidates"
KAPPA = "Cohen's kappa, "  # before the compared labels: all, or leak or not
THRESHOLD, PREVALENCE = "leakage threshold", "leakage prevalence"
PRECISION_AT, GIVEN_PRECISION = "leakage precision", "leakage precision, given threshold"


class TopicsAndQueries(Struct, frozen=True):
    """Distinct test queries and distinct training queries of pairs."""

    topics: int
    queries: int


class CandidateCounts(Rows[Mapping[str, TopicsAndQueries]], frozen=True, kw_only=True):
    """The leakage paper's Table 1: by field of the test queries, and for their union, the counts by
    source and for all together.
    """

    MEASURES = (CANDIDATES, WORDS_ALONE, f"{CANDIDATES}{LIKE_FOR_LIKE}", f"{CANDIDATES}{PUBLISHED}")


class LabelCounts(Rows[int], frozen=True, kw_only=True):
    """Pairs by label, guessed or given by people."""

    MEASURES = (GUESSED_TYPES, LABEL_COUNTS, f"{LABEL_COUNTS}{PUBLISHED}")


class ReadCount(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Queries read, and empty ones. For test queries ``texts`` and ``empty`` are by field; None: a
    source.
    """

    queries: int
    texts: Mapping[str, int] | None = None
    empty: int | Mapping[str, int]


class QueriesRead(Rows[ReadCount], frozen=True, kw_only=True):
    """Queries read, by source, and test queries."""

    MEASURES = (QUERIES_READ,)


class FoundOfTrue(Struct, frozen=True, omit_defaults=True):
    """True pairs and those found. For all types together also the found pairs and their precision
    (None if nothing was found).
    """

    true: int
    found: int
    recall: float
    pairs_found: int | UnsetType = UNSET
    precision: float | UnsetType | None = UNSET


class TruthFigures(Rows[FoundOfTrue], frozen=True, kw_only=True):
    """The found part of a known truth, in all and by type."""

    MEASURES = (TRUTH,)


class SampleFigures(Figures, frozen=True, kw_only=True):
    """Pairs drawn for labelling; ``rows`` are all and drawn pairs in each stratum of ``score``, as
    text.
    """

    MEASURES = (SAMPLE,)
    FLAT = "rows"

    score: str
    rows: Mapping[str, str]
    drawn: int = field(name="pairs drawn")


class ReviewedPairs(Struct, frozen=True):
    """Pairs of one label, leak or not, and the test queries with such a pair."""

    pairs: int
    test_queries: int = field(name="test queries")


class ReviewFigures(Figures, frozen=True, kw_only=True):
    """The leakage paper's Table 2a: pairs labelled as leaks, as no leaks, and others (labelled
    differently or not at all).
    """

    MEASURES = (REVIEWED,)

    true: ReviewedPairs
    false: ReviewedPairs
    disagreed: int
    without_label: int = field(name="without label")


class PublishedReview(Rows[Mapping[str, int]], frozen=True, kw_only=True):
    """Table 2a as printed in the paper: by row the figures by column."""

    MEASURES = (f"{REVIEWED}{PUBLISHED}",)


class KappaFigures(Figures, frozen=True, kw_only=True):
    """The share of pairs that two people label equally, and that expected by chance."""

    MEASURES = (KAPPA,)

    observed: float
    expected: float
    pairs: int


class LeakShare(Figures, frozen=True, kw_only=True):
    """Labelled pairs at or above a threshold, None for all, and the leaks among them."""

    MEASURES = (PREVALENCE, PRECISION_AT, GIVEN_PRECISION)

    threshold: float | None
    pairs: int
    leaks: int


class HeldOut(Struct, frozen=True):
    """Thresholds set without a test query, applied to its pairs, all folds together, over repeated
    cross-validations.

    ``precision`` and ``found`` (the share of labelled leaks kept) are means over the repeats,
    ``lowest`` the lowest precision, ``reached`` the share of repeats with the wanted precision,
    ``pairs`` the mean number kept. Precisions are None where some repeat keeps no pair.
    """

    precision: float | None
    lowest: float | None
    reached: float
    found: float
    pairs: float
    repeats: int
    folds: int


class ThresholdCurve(Struct, frozen=True):
    """For each occurring score, falling: the pairs at or above it, their precision, its lower
    bound, and the share of labelled leaks found.

    ``found`` is weighted like precision, and is not recall (``NO_RECALL``); None if no pair leaks.
    """

    thresholds: Sequence[float]
    pairs: Sequence[int]
    precision: Sequence[float]
    lower: Sequence[float]
    found: Sequence[float | None]


class ThresholdFigures(Figures, frozen=True, kw_only=True):
    """A threshold and the figures behind it; None if no score is sufficient.

    ``lower_bound`` is the one-sided 95 % bound of the precision there.
    ``resamples_without_threshold`` is a share; from 2.5 % on the threshold has no interval.
    ``higher_thresholds_below`` counts the insufficient higher thresholds. ``held_out`` is None with
    fewer test queries than folds.
    """

    MEASURES = (THRESHOLD,)

    rule: str
    precision_wanted: float
    lower_bound: float | None
    best_lower_bound: float
    held_out: HeldOut | None
    share_of_labelled_leaks: float | None
    higher_thresholds_below: int
    resamples_without_threshold: float
    note: str
    curve: ThresholdCurve
