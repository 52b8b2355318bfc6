"""Prepare and evaluate a manual review: the most similar training queries of each test query,
labelled by one or two people.

Table 2a of the leakage paper counts pairs and test queries that are leaks ("true") or not
("false"); a test query may be in both. Table 2b counts the labels. A pair that two people labelled
differently is counted separately, in neither, until their sheets agree [decision].
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from positionbias.core.errors import InputError, bad_input
from positionbias.core.interval import Interval
from positionbias.leakage.agreement import Agreement, cohens_kappa
from positionbias.leakage.labels import LABELS, Label
from positionbias.leakage.pairs import Ids, Pair, best_by_pair, read_pairs
from positionbias.results.figures import Figures
from positionbias.results.leakage_pairs import (
    KAPPA,
    LABEL_COUNTS,
    REVIEWED,
    KappaFigures,
    LabelCounts,
    ReviewedPairs,
    ReviewFigures,
)
from positionbias.results.result import Result

__all__ = ["PER_TEST", "Review", "most_similar", "read_sheet", "review", "review_results"]

PER_TEST = 5  # the paper's


@dataclass(frozen=True, slots=True)
class Review:
    """Table 2a as ``true`` and ``false``; Table 2b, ``by_label`` with every label; pairs without a
    label; disagreements of two sheets.

    ``kappa`` is over all labels, ``kappa_leak`` over leak or not; None with one sheet, or two
    without a common pair.
    """

    labels: Mapping[Ids, Label]
    by_label: Mapping[str, int]
    true: ReviewedPairs
    false: ReviewedPairs
    unlabelled: int
    disagreed: Sequence[Ids] = ()
    kappa: Agreement | None = None
    kappa_leak: Agreement | None = None


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
        for held in by_test.values()
        for pair in sorted(held, key=lambda pair: (-pair.scores[score], pair.train_id))[:per_test]
        if threshold is None or pair.scores[score] >= threshold
    ]


def read_sheet(path: Path | str) -> dict[Ids, Pair]:
    """Read a filled sheet: its pairs by ids, with and without a label.

    Raises:
        InputError: as ``read_pairs``; or a pair with two labels (with its line).
    """
    found: dict[Ids, Pair] = {}
    for pair in read_pairs(path):
        known = found.get(pair.ids)
        if known is not None and known.label and pair.label and known.label != pair.label:
            raise bad_input(
                path,
                line=pair.line,
                wanted="one label per pair",
                found=f"{pair.label.name!r}, and {known.label.name!r} at line {known.line}",
                do="drop one",
            )
        if known is None or known.label is None:
            found[pair.ids] = pair
    return found


def review(sheets: Sequence[Mapping[Ids, Pair]], *, seed: int = 1) -> Review:
    """Return the tables of one or two filled sheets, from ``read_sheet``.

    Raises:
        InputError: no sheet or more than two, or no label.
    """
    if not 1 <= len(sheets) <= 2:
        raise InputError(
            f"--filled: wanted one or two sheets; found {len(sheets)}; give one per person"
        )
    labelled = [{ids: pair.label for ids, pair in sheet.items() if pair.label} for sheet in sheets]
    if not any(labelled):
        raise InputError(
            "--filled: wanted labels in the last column; found none; fill in the sheet"
        )
    both = [ids for ids in labelled[0] if len(labelled) == 2 and ids in labelled[1]]
    disagreed = [ids for ids in both if labelled[0][ids] != labelled[1][ids]]
    labels = {ids: label for sheet in labelled for ids, label in sheet.items()}
    for ids in disagreed:
        del labels[ids]
    held = (
        [ids for ids, label in labels.items() if label.leaks == leaks] for leaks in (True, False)
    )
    true, false = (ReviewedPairs(len(of), len({ids.test_id for ids in of})) for of in held)
    counts = Counter(label.name for label in labels.values())
    everything = set[Ids]().union(*sheets)
    kappas = (
        [
            _kappa(labelled, both, of, seed)
            for of in (lambda label: label.name, lambda label: label.leaks)
        ]
        if both
        else [None, None]
    )
    return Review(
        labels,
        {name: counts[name] for name in LABELS},
        true,
        false,
        len(everything) - len(labels) - len(disagreed),
        disagreed,
        *kappas,
    )


def _kappa(
    labelled: Sequence[Mapping[Ids, Label]],
    both: Sequence[Ids],
    of: Callable[[Label], Hashable],
    seed: int,
) -> Agreement:
    first, second = ([of(sheet[ids]) for ids in both] for sheet in labelled)
    return cohens_kappa(first, second, [ids.test_id for ids in both], seed=seed)


def review_results(found: Review, name: str, seed: int, pairs: int) -> list[Result]:
    """Return the tables of a review of ``pairs`` pairs, and kappa if two people reviewed; the first
    value is the share of leaks.
    """

    def result(
        measure: str, value: float | None, interval: Interval | None, count: int, figures: Figures
    ) -> Result:
        return Result(measure, name, "", "by hand", seed, value, interval, count, figures)

    labelled, disagreed = found.true.pairs + found.false.pairs, len(found.disagreed)
    unlabelled = pairs - labelled - disagreed
    figures = ReviewFigures(
        true=found.true, false=found.false, disagreed=disagreed, without_label=unlabelled
    )
    results = [
        result(
            REVIEWED, found.true.pairs / labelled if labelled else None, None, labelled, figures
        ),
        result(LABEL_COUNTS, None, None, labelled, LabelCounts(rows=found.by_label)),
    ]
    for what, kappa in (("labels", found.kappa), ("leak or not", found.kappa_leak)):
        if kappa is not None:
            shares = KappaFigures(
                observed=kappa.observed, expected=kappa.expected, pairs=kappa.pairs
            )
            results.append(
                result(f"{KAPPA}{what}", kappa.kappa, kappa.interval, kappa.pairs, shares)
            )
    return results
