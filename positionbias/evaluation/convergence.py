"""Judge from its validations whether a training was finished when it ended, and whether it beats
its first stage.

A training is *not finished* where its validation still rises beyond its noise. Step 0, the
untrained model, does not count. The last half of the validations, to the nearest multiple of five
and five at least, is cut into five blocks of successive validations, each with its mean. The curve
rises where

* all ten pairs of blocks are in rising order (on a flat curve 1 chance in 120), or
* nine of the ten are, and the very last validation is the best of all (with the first, at most 5 in
  120);

of four validations, where each is above the one before (1 in 24); and in each case only where the
last block is at least ``LEAST_RISE`` above the first. Fewer than four decide nothing. A best last
validation alone says nothing: of k flat ones the last is best once in k. Blocks are compared by
their means, as neighbouring validations are alike. ``benchmarks/convergence.py`` measures the rates
of false alarms and the power [decision].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations
from pathlib import Path

import numpy as np

from positionbias.core.json_text import JsonObject, read_as
from positionbias.core.seal import AGAIN

BLOCKS = 5
LEAST = 4  # validations
# nDCG@10 from the first block to the last; a slower rise changes no conclusion [decision]
LEAST_RISE = 0.005
UNFINISHED = "not finished"  # follows the name of a training, wherever one is shown


def ended_name(name: str, unfinished: bool) -> str:
    """Mark a name whose training is not finished.

    >>> ended_name("tk", True), ended_name("tk", False)
    ('tk, not finished', 'tk')
    """
    return f"{name}, {UNFINISHED}" if unfinished else name


class Finish(StrEnum):
    """The verdict of a training's validations on its end."""

    FINISHED = "finished"
    NOT_FINISHED = UNFINISHED
    TOO_FEW = "too few validations to tell"
    NOT_VALIDATED = "not validated"


@dataclass(frozen=True, slots=True)
class Ending:
    """The end of a training. ``ndcg`` is validation nDCG@10 of the kept weights, at re-ranking
    depth ``depth``; ``first_stage`` is that of the candidates' own order. All three are None
    without validation."""

    finish: Finish = Finish.NOT_VALIDATED
    ndcg: float | None = None
    depth: int | None = None
    first_stage: float | None = None

    @property
    def unfinished(self) -> bool:
        """True if validation still rose at the end."""
        return self.finish is Finish.NOT_FINISHED

    @property
    def beats_first_stage(self) -> bool | None:
        """True if the model beats its first stage on validation, which no model of tuned depth 1
        does; None if unknown.
        """
        if self.depth == 1:
            return False
        return (
            None if self.ndcg is None or self.first_stage is None else self.ndcg > self.first_stage
        )

    def remarks(self, depth: int | None = None) -> list[str]:
        """Return caveats for readers of this model's figures, a sentence each; ``depth`` is the
        re-ranking depth (None: the tuned one).
        """
        found = []
        if self.unfinished:
            found.append(
                f"{UNFINISHED}: validation nDCG@10 still rose when the training ended; train "
                "longer before concluding from it"
            )
        if self.finish is Finish.TOO_FEW:
            found.append(
                f"too few validations to tell whether the training is finished; validate {LEAST} "
                "times or more"
            )
        if self.beats_first_stage is False:
            by = (
                ""
                if self.depth == 1
                else (
                    f" (nDCG@10 {self.ndcg:.4f} at depth {self.depth}, the first stage "
                    f"{self.first_stage:.4f})"
                )
            )
            found.append(f"does not beat its first stage on validation{by}")
        if (self.depth if depth is None else depth) == 1:
            found.append("these scores change nothing: depth 1")
        return found


def ending_of_run(content: JsonObject, path: Path | str) -> Ending | None:
    """Read from a run's manifest how the training of its model ended; None where it does not say.

    Raises:
        InputError: the record is not an ending; ``path`` is named.
    """
    return read_as(Ending, content["ending"], path, do=AGAIN) if "ending" in content else None


def finish_of(validations: Sequence[float]) -> Finish:
    """Judge a training's end from the values of its validations after step 0, in order.

    >>> finish_of([0.71, 0.74, 0.78, 0.81]).value, finish_of([0.80, 0.82, 0.81, 0.82]).value
    ('not finished', 'finished')
    """
    if len(validations) < LEAST:
        return Finish.TOO_FEW if len(validations) else Finish.NOT_VALIDATED
    window = np.asarray(
        validations[-BLOCKS * max(1, (len(validations) + BLOCKS) // (2 * BLOCKS)) :], float
    )
    means = [float(part.mean()) for part in np.array_split(window, min(BLOCKS, len(window)))]
    falling = sum(later <= earlier for earlier, later in combinations(means, 2))
    best_is_last = validations[-1] > max(validations[:-1])
    rises = falling <= int(best_is_last and len(means) == BLOCKS)
    return Finish.NOT_FINISHED if rises and means[-1] - means[0] >= LEAST_RISE else Finish.FINISHED
