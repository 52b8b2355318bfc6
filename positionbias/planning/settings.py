"""Settings of a plan: the size of the step, the machines, and where its rate comes from. They need no torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from positionbias.core.errors import SettingError
from positionbias.core.places import Place
from positionbias.core.settings import Panel, check_settings, setting

__all__ = ["GPUS_A_MACHINE", "STEPS", "Machines", "PlannedWork", "RateSource", "StepName"]

StepName = Literal["encode", "rerank", "teach", "retrieve"]
STEPS: tuple[StepName, ...] = get_args(StepName)
GPUS_A_MACHINE = 8  # where nothing is said


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedWork:
    """The size of the step.

    Raises:
        SettingError: a number below 1, or a passage without a word.
    """

    passages: float | None = setting(
        None, "Passages in all; 1e9 is a billion.", least=1, absent="those of --collection", metavar="NUMBER"
    )
    queries: int | None = setting(None, "Queries in all, but for encode.", least=1)
    depth: int = setting(1_000, "Candidates a query, but for encode.", least=1)
    passage_words: float = setting(
        56.0, "Mean words a passage, without --collection; 56 are MS MARCO's.", least=1, metavar="NUMBER"
    )

    def __post_init__(self) -> None:
        check_settings(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Machines:
    """The processes and machines that share the step.

    Raises:
        SettingError: a number below 1, or both GPUs and processes.
    """

    gpus: int | None = setting(None, "GPUs in all, with a process each; without it the device is this machine's.", least=1)
    workers: int = setting(
        1, "Processes on each machine, which share its processors; the output is the same for any number.", least=1
    )
    machines: int | None = setting(
        None,
        "Machines like the one whose rate is known, which share the work.",
        least=1,
        absent=f"1; one for {GPUS_A_MACHINE} of the --gpus",
    )

    def __post_init__(self) -> None:
        check_settings(self)
        if self.gpus is not None and self.workers != 1:
            raise SettingError(
                f"--workers: wanted none beside --gpus, which have a process each; found {self.workers}; leave it out"
            )

    @property
    def number(self) -> int:
        """Return the number of machines."""
        return self.machines or (1 if self.gpus is None else -(-self.gpus // GPUS_A_MACHINE))

    @property
    def processes(self) -> int:
        """Return the number of processes with a model."""
        return self.gpus or self.number * self.workers


@dataclass(frozen=True, slots=True, kw_only=True)
class RateSource:
    """Where the rate comes from: an earlier artefact of the step, or a number; without either a sample is timed.

    Raises:
        SettingError: a rate that is not above 0, or both.
    """

    measured: Place | None = setting(
        None, "Take the rate from this artefact, which the same step has made.", metavar="PATH", place="read"
    )
    rate: float | None = setting(
        None,
        "Passages (encode), pairs (rerank, teach) or products of a query and a vector (retrieve) a second, of one GPU with --gpus, else of one machine.",
        above=0,
        metavar="NUMBER",
    )
    collection: Place | None = setting(
        None, "Time the model on passages of this collection.", absent="invented words", place="read"
    )
    seconds: float = setting(10.0, "Time the model for about this long.", above=0, most=600, panel=Panel.COMPUTING)

    def __post_init__(self) -> None:
        check_settings(self)
        if self.measured is not None and self.rate is not None:
            raise SettingError("--rate: wanted none beside --measured, which has one; found both; give one")
