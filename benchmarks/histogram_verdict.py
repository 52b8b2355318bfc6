"""How often ``posbias histogram`` errs about the front: no surplus, and surpluses of 1 to 10
points, on passages of real lengths.

Each draw takes passages of a collection with all their answers, keeps the lengths, and gives each
answer a new first word: any possible one alike (the truth is "as unbiased"), or with a chance that
makes the wanted surplus one in the first fifth. Answers of a passage share one draw in half of the
runs, as questions about one sentence do. Counted is what ``PositionFigure.beside`` says of the
share in the first fifth, and of the mean position.

    python benchmarks/histogram_verdict.py COLLECTION --split test
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from datetime import date
from itertools import product
from pathlib import Path

import numpy as np
from measuring import hardware, result_place

from positionbias.core.collection import find_collection
from positionbias.core.seeds import generator
from positionbias.positions.answers import locate_split
from positionbias.positions.expectation import FIFTH, MEAN, Spans
from positionbias.positions.histogram import Beside, _figure, _sum
from positionbias.positions.settings import HistogramOptions

PASSAGES = (30, 100, 400, 1_600)
SURPLUSES = (0.0, 0.01, 0.03, 0.1)
DRAWS, OF_NOTHING = 100, 400  # draws of a row with a surplus, and of one without


def drawn(spans: Spans, passages: int, surplus: float, shared: bool, seed: int) -> Spans:
    """The answers of some passages at new places."""
    random = generator(seed, "histogram verdict", passages, str(surplus), str(shared))
    chosen = random.choice(int(spans.passage[-1]) + 1, passages, replace=False)
    taken = spans.take(np.flatnonzero(np.isin(spans.passage, chosen))).widened()
    _, passage = np.unique(taken.passage, return_inverse=True)
    places = taken.words - taken.length + 1
    front = np.minimum(np.ceil(taken.words / 5).astype(int), places)
    chance = surplus / np.mean(1 - front / places)
    uniform, moved, within = random.random((3, len(taken)))
    if shared:
        uniform, moved, within = (
            row[:passages][passage] if passages <= len(taken) else row
            for row in (uniform, moved, within)
        )
    first = np.where(moved < chance, within * front, uniform * places).astype(int)
    return Spans(first, taken.length, taken.words, np.arange(len(taken)), passage)


def counted(
    spans: Spans, passages: int, surplus: float, shared: bool
) -> tuple[Counter[str], Counter[str], float]:
    """What is said of the first fifth, and of the mean, in all draws; and the mean number of
    answers.
    """
    fifth, mean, answers = Counter[str](), Counter[str](), 0
    draws = DRAWS if surplus else OF_NOTHING
    for seed in range(draws):
        sums = _sum(
            [drawn(spans, passages, surplus, shared, seed)], HistogramOptions(seed=seed), map
        )
        fifth[_figure(sums, FIFTH).beside] += 1
        mean[_figure(sums, MEAN).beside] += 1
        answers += sums.spans
    return fifth, mean, answers / draws


def rows(spans: Spans) -> Iterator[str]:
    """The table's lines."""
    yield (
        "| true surplus | answers of a passage | passages | answers | more | as unbiased | fewer | "
        "cannot tell | mean: front | mean: end |"
    )
    yield "|---|---|---|---|---|---|---|---|---|---|"
    most = int(spans.passage[-1]) + 1
    for surplus, shared, passages in product(
        SURPLUSES, (False, True), [n for n in PASSAGES if n <= most]
    ):
        fifth, mean, answers = counted(spans, passages, surplus, shared)
        own = [
            fifth[Beside.ABOVE],
            fifth[Beside.WITHIN],
            fifth[Beside.BELOW],
            fifth[Beside.UNKNOWN],
        ]
        cells = [f"{n / fifth.total():.1%}" for n in (*own, mean[Beside.BELOW], mean[Beside.ABOVE])]
        told = "together" if shared else "apart"
        yield f"| {surplus:g} | {told} | {passages:,} | {answers:,.0f} | {' | '.join(cells)} |"
        print(surplus, told, passages, *cells, flush=True)


def main() -> None:
    """Run all draws and write the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("collection", type=Path)
    parser.add_argument("--split", default="test")
    given = parser.parse_args()
    collection = find_collection(given.collection)
    shards = [
        shard.spans
        for shard in locate_split(collection, given.split, HistogramOptions().matching)
        if len(shard.spans)
    ]
    assert len(shards) == 1, "wanted a collection of one shard"
    spans = shards[0]
    lines = [
        "# What posbias histogram says of the front, where the truth is known",
        "",
        f"Passages and answer lengths of {collection.name}, {given.split}: {len(spans):,} answers "
        f"of {int(spans.passage[-1]) + 1:,} passages; {OF_NOTHING} draws a row without a surplus, "
        f"{DRAWS} with one; {hardware()}; {date.today()}.",
        "",
        *rows(spans),
        "",
        f"`python benchmarks/histogram_verdict.py FOLDER --split {given.split}`",
        "",
    ]
    result_place("histogram_verdict").write_text("\n".join(lines), "utf-8")


if __name__ == "__main__":
    main()
