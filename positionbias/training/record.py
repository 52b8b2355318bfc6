"""Records of a training: counters, means since the last validation, and the log, on disk and in a
tracker.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from positionbias.core.publish import atomic_file
from positionbias.evaluation.convergence import Ending, finish_of

if TYPE_CHECKING:
    from accelerate import Accelerator

Row = dict[str, int | float | None]

_PROJECT = "positionbias"
# trackers' keyword for the name of a training in a project
_NAMES = {"mlflow": "run_name", "swanlab": "experiment_name", "trackio": "name", "wandb": "name"}

# differs from run to run, so not in training.json
TIMES = ("seconds", "pairs_per_second")


@dataclass
class Sums:
    """Sums over training pairs since the last validation, and their cost. ``margin`` is positive −
    negative score.
    """

    loss: float = 0.0
    right: float = 0.0
    margin: float = 0.0
    pairs: float = 0.0
    seconds: float = 0.0

    def means(self) -> Row:
        """Return the loss, the share of pairs in the right order and the score margin, means over
        pairs; None without pairs.
        """
        names = {"loss": self.loss, "pair_accuracy": self.right, "score_margin": self.margin}
        return {name: value / self.pairs if self.pairs else None for name, value in names.items()}


@dataclass
class Trained:
    """The course of a training. The log has one row per validation, step 0 (the untrained model)
    first.

    ``best_ndcg`` is that of the validation whose weights are kept, at the depths tried in training.
    ``ndcg`` is that of the same weights at the tuned ``depth``, and ``first_stage`` that of the
    candidates' own order; both are computed at the end.

    The next step begins at ``epoch`` and ``batch``; ``since`` has the sums of the next row. Without
    validation there is no row of step 0, ``best_ndcg`` and ``depth`` stay None, and ``best_step``
    is the last, whose weights are kept.
    """

    step: int = 0
    epoch: int = 0
    batch: int = 0
    best_step: int = 0
    best_ndcg: float | None = None
    waited: int = 0
    dropped: int = 0
    seconds: float = 0.0
    depth: int | None = None
    ndcg: float | None = None
    first_stage: float | None = None
    stopped: str = ""
    since: Sums = field(default_factory=Sums)
    log: list[Row] = field(default_factory=list)

    def ending(self) -> Ending:
        """Return the ending: whether it is finished, and the validation result of its weights."""
        after = [row["ndcg"] for row in self.log if row["step"]]
        return Ending(
            finish_of([value for value in after if value is not None]),
            self.ndcg,
            self.depth,
            self.first_stage,
        )


def untimed(log: Sequence[Row]) -> list[Row]:
    """Return the log without the values that differ from run to run."""
    return [{name: value for name, value in row.items() if name not in TIMES} for row in log]


def write_log(path: Path, log: Sequence[Row]) -> None:
    """Write the log as JSON lines."""
    with atomic_file(path, overwrite=True) as partial:
        partial.write_text(
            "".join(f"{json.dumps(row)}\n" for row in log), encoding="utf-8", newline="\n"
        )


class Board:
    """The tracker that accelerate was started with, if any. In TensorBoard each training has a
    folder; a resumed one continues it.
    """

    def __init__(self, accelerator: Accelerator | None, name: str, first_step: int) -> None:
        self._accelerator = accelerator
        if accelerator is None or not accelerator.log_with:
            return
        in_files = "tensorboard" in map(str, accelerator.log_with)
        # a resumed training repeats the events after its last state
        settings = {
            "tensorboard": {"purge_step": first_step},
            **{tracker: {key: name} for tracker, key in _NAMES.items()},
        }
        accelerator.init_trackers(name if in_files else _PROJECT, init_kwargs=settings)

    def add(self, row: Row) -> None:
        """Add one validation's row."""
        if self._accelerator is not None:
            values = {
                name: value for name, value in row.items() if name != "step" and value is not None
            }
            self._accelerator.log(values, step=int(row["step"] or 0))

    def close(self) -> None:
        """Finish the tracker; accelerate's own ``end_training`` would also disconnect the
        processes.
        """
        for tracker in self._accelerator.trackers if self._accelerator is not None else ():
            tracker.finish()
