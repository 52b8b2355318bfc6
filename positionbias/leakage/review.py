"""A manual review: the most similar training queries of each test query, labelled by one or two
people, and how far two agree.

Table 2a of the leakage paper counts pairs and test queries that are leaks ("true") or not
("false"); a test query may be in both. Table 2b counts the labels. A pair that two people labelled
differently is counted separately, in neither, until their sheets agree [decision].

Agreement is Cohen's kappa (Cohen 1960),

    κ = (p_o − p_e) / (1 − p_e),   p_o = share of equal labels,
    p_e = Σ_l (share of l with the first)·(share of l with the second)

with the percentile bootstrap over test queries, as a query's pairs are labelled together
[decision].
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from positionbias.core.errors import InputError, bad_input
from positionbias.core.interval import Interval
from positionbias.core.rows import Collected
from positionbias.evaluation.bootstrap import (
    RESAMPLES,
    cluster_queries,
    percentile_interval,
    resampled_sums,
)
from positionbias.leakage.labels import LABELS, Label
from positionbias.leakage.pairs import Ids, Pair, best_by_pair, read_pairs

__all__ = ["PER_TEST", "Review", "cohens_kappa", "most_similar", "read_sheet", "review"]

PER_TEST = 5  # the paper's


@dataclass(frozen=True, slots=True)
class Review:
    """The labels on which the sheets agree, those of pairs that both people labelled, and the pairs
    that they labelled differently.
    """

    labels: Mapping[Ids, Label]
    both: Mapping[Ids, tuple[Label, Label]]
    disagreed: Sequence[Ids]

    def add_rows(self, made: Collected, pairs: int, seed: int) -> None:
        """Add Tables 2a and 2b of a review of ``pairs`` pairs, and kappa if two people labelled."""
        for subset, leaks in (("true", True), ("false", False)):
            own = [ids for ids, label in self.labels.items() if label.leaks == leaks]
            made.add("reviewed pairs", "pairs", len(own), subset=subset)
            topics = {ids.test_id for ids in own}
            made.add("reviewed pairs", "test queries", len(topics), subset=subset)
        made.add("reviewed pairs", "labelled differently", len(self.disagreed))
        unlabelled = pairs - len(self.labels) - len(self.disagreed)
        made.add("reviewed pairs", "without label", unlabelled)
        counts = Counter(label.name for label in self.labels.values())
        for name in LABELS:
            made.add("reformulation types", "pairs", counts[name], axis="type", label=name)
        for subset, words in (("labels", "name"), ("leak or not", "leaks")) if self.both else ():
            first, second = (
                [getattr(labels[side], words) for labels in self.both.values()] for side in (0, 1)
            )
            tests = [ids.test_id for ids in self.both]
            kappa, bounds = cohens_kappa(first, second, tests, seed=seed)
            cells: dict[str, Any] = {"subset": subset, "count": len(tests), "counted": "pairs"}
            made.add("Cohen's kappa", "kappa", kappa, bounds, **cells)


def most_similar(
    pairs: Iterable[Pair],
    *,
    score: str = "cosine",
    per_test: int = PER_TEST,
    threshold: float | None = None,
) -> list[Pair]:
    """Return each test query's ``per_test`` pairs with the highest scores (at or above
    ``threshold``), ties by training id; test queries are in order of first occurrence in ``pairs``.

    Raises:
        InputError: a pair without that score (with its line).
    """
    by_test: dict[str, list[Pair]] = {}
    for pair in best_by_pair(pairs, score):
        by_test.setdefault(pair.test_id, []).append(pair)
    return [
        pair
        for own in by_test.values()
        for pair in sorted(own, key=lambda pair: (-pair.scores[score], pair.train_id))[:per_test]
        if threshold is None or pair.scores[score] >= threshold
    ]


def read_sheet(path: Path | str) -> dict[Ids, Pair]:
    """Read a filled sheet: its pairs by ids, with and without a label.

    Raises:
        InputError: as ``read_pairs``; or a pair with two labels (with its line).
    """
    pairs: dict[Ids, Pair] = {}
    for pair in read_pairs(path):
        known = pairs.get(pair.ids)
        if known is None or known.label is None:
            pairs[pair.ids] = pair
        elif pair.label and known.label != pair.label:
            found = f"{pair.label.name!r}, and {known.label.name!r} at line {known.line}"
            wanted, do = "one label per pair", "drop one"
            raise bad_input(path, line=pair.line, wanted=wanted, found=found, do=do)
    return pairs


def review(sheets: Sequence[Mapping[Ids, Pair]]) -> Review:
    """Return what one or two filled sheets, from ``read_sheet``, say.

    Raises:
        InputError: no sheet or more than two, or no label.
    """
    if not 1 <= len(sheets) <= 2:
        raise InputError(
            f"--filled: wanted one or two sheets; found {len(sheets)}; give one per person"
        )
    first, second = (
        {ids: pair.label for ids, pair in sheet.items() if pair.label}
        for sheet in (*sheets, {})[:2]
    )
    if not first and not second:
        raise InputError(
            "--filled: wanted labels in the last column; found none; fill in the sheet"
        )
    both = {ids: (label, second[ids]) for ids, label in first.items() if ids in second}
    disagreed = [ids for ids, (one, other) in both.items() if one != other]
    labels = {ids: label for ids, label in {**first, **second}.items() if ids not in disagreed}
    return Review(labels, both, disagreed)


def cohens_kappa(
    first: Sequence[Hashable],
    second: Sequence[Hashable],
    test_ids: Sequence[str] | None = None,
    *,
    seed: int = 1,
    resamples: int = RESAMPLES,
) -> tuple[float | None, Interval | None]:
    """Return Cohen's κ of two people's labels of the same pairs, with its interval; None if both
    gave the same single label.
    """
    labels = {label: code for code, label in enumerate(dict.fromkeys([*first, *second]))}
    k = len(labels)
    pairs = zip(first, second, strict=True)
    cells = np.array([labels[one] * k + labels[other] for one, other in pairs])
    clusters = cluster_queries(test_ids, len(cells))
    tables = np.zeros((clusters.count, k * k))
    np.add.at(tables, (clusters.codes, cells), 1)
    kappa = float(_kappa(tables.sum(axis=0, keepdims=True), k)[0])
    if np.isnan(kappa):
        return None, None
    if clusters.count < 2:
        return kappa, None
    drawn = _kappa(resampled_sums(tables, seed=seed, resamples=resamples), k)
    method = f"percentile bootstrap, {resamples:,} resamples of {clusters.drawn}"
    return kappa, None if np.isnan(drawn).any() else percentile_interval(drawn, method)


def _kappa(tables: np.ndarray, k: int) -> np.ndarray:
    """Return κ of each row of ``tables (rows, k·k)``; NaN if p_e is 1."""
    shares = (tables / tables.sum(axis=1, keepdims=True)).reshape(-1, k, k)
    observed = np.trace(shares, axis1=1, axis2=2)
    expected = (shares.sum(axis=2) * shares.sum(axis=1)).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(expected < 1, (observed - expected) / (1 - expected), np.nan)
