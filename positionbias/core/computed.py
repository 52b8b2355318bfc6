"""What a step with a model computed and spent, as its manifest records it: ``posbias plan`` takes rates from it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass

from positionbias.core.json_text import Json
from positionbias.core.manifest import Manifest, manifest_path
from positionbias.core.schema import read_as
from positionbias.core.seal import AGAIN
from positionbias.core.system import peak_memory

__all__ = ["Computed", "Spent", "Stopwatch", "computed_by"]

_NAME = "computed"


@dataclass(frozen=True, slots=True)
class Spent:
    """Seconds on the clock, those of all processors, and the most bytes of memory that the process has held (None: unknown)."""

    seconds: float = 0.0
    processor: float = 0.0
    memory: int | None = None

    @staticmethod
    def of(parts: Iterable[Spent]) -> Spent:
        """Return the sum of seconds and the most memory."""
        parts = list(parts)
        memory = max((part.memory for part in parts if part.memory), default=None)
        return Spent(sum(part.seconds for part in parts), sum(part.processor for part in parts), memory)


class Stopwatch:
    """What this process spends from now on."""

    def __init__(self) -> None:
        self._began = time.perf_counter(), time.process_time()

    def spent(self) -> Spent:
        """Return it."""
        seconds, processor = self._began
        return Spent(time.perf_counter() - seconds, time.process_time() - processor, peak_memory())


@dataclass(frozen=True, slots=True, kw_only=True)
class Computed:
    """Passages encoded, pairs scored, or products of a query and a vector; and what all workers together spent, their start left out.

    ``workers`` are the processes that shared the machine, None if unknown. ``device`` is "cpu" or "cuda", ``hardware`` the name of the processor
    or GPU, ``threads`` those of the command's own process.
    """

    spent: Spent
    device: str
    hardware: str
    threads: int
    workers: int | None = 1
    passages: int = 0
    pairs: int = 0
    products: int = 0

    def facts(self) -> dict[str, Mapping[str, Json]]:
        """Return it as a field of a manifest's provenance."""
        return {_NAME: asdict(self)}


def computed_by(manifest: Manifest, place: str) -> Computed | None:
    """Return what a manifest says was computed; None if it does not say.

    Raises:
        InputError: the record is damaged.
    """
    record = manifest.provenance.get(_NAME)
    return None if record is None else read_as(Computed, record, f"{manifest_path(place)}, {_NAME}", do=AGAIN)
