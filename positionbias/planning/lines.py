"""The lines of a plan, each with the origin of its number."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from positionbias.planning.arithmetic import Blocks, Sizes, Times
from positionbias.planning.rates import Rate
from positionbias.planning.settings import GPUS_A_MACHINE, Machines, StepName
from positionbias.results.plans import Origin, PlannedAmount, Unit

__all__ = ["Known", "Stored", "lines_of"]

_UNITS = {"encode": "passages", "rerank": "pairs", "teach": "pairs", "retrieve": "products of a query and a vector"}
_NO_RATE = "give --rate, or --measured of an artefact made there"


@dataclass(frozen=True, slots=True)
class Stored:
    """Bytes of a passage: its text as it is read, all of it in the collection; and where they come from."""

    text: float
    collection: float
    origin: Origin
    note: str


@dataclass(frozen=True, slots=True)
class Known:
    """What a plan starts from. ``rate`` is None where nothing tells it, and ``why_not`` says why. ``vector``: bytes of a vector on disk; ``memory``:
    bytes of a worker; ``alone``: the model encodes passages alone."""

    step: StepName
    passages: float
    pairs: float
    rate: Rate | None
    why_not: str
    start_told: tuple[Origin, str]
    stored: Stored
    vector: float
    memory: int | None
    memory_told: str
    alone: bool
    machines: Machines


def lines_of(known: Known, blocks: Blocks, times: Times | None, sizes: Sizes) -> dict[str, PlannedAmount]:
    """Return the plan's lines by name, in order."""
    return dict([*_work(known, blocks), *_time(known, blocks, times), *_room(known, sizes), *_traffic(known, times, sizes)])


_Lines = Iterator[tuple[str, PlannedAmount]]


def _line(name: str, value: float | None, unit: Unit, origin: Origin, note: str = "") -> tuple[str, PlannedAmount]:
    return name, PlannedAmount(value, unit, "cannot tell" if value is None else origin, note)


def _work(known: Known, blocks: Blocks) -> _Lines:
    step, machines = known.step, known.machines
    yield _line("passages", known.passages, "", "given")
    if step != "encode":
        yield _line("pairs", known.pairs, "", "computed", "queries × depth")
    if known.alone and step in ("rerank", "teach"):
        yield _line(
            "encodings", blocks.passages, "", "assumed", "candidates as if drawn independently; one a passage and block"
        )
    if machines.gpus is not None:
        told: Origin = "given" if machines.machines else "assumed"
        yield _line("machines", machines.number, "", told, "" if machines.machines else f"{GPUS_A_MACHINE} GPUs each")
    elif machines.number > 1:
        yield _line("machines", machines.number, "", "given", "each like the measured one")
    workers = machines.processes
    idle = f"; more than there are blocks, so {workers - blocks.number} are idle" if workers > blocks.number else ""
    yield _line("workers", workers, "", "given", f"with a GPU each{idle}" if machines.gpus else f"processes{idle}")
    yield _line("blocks", blocks.number, "", "computed", "a worker takes one at a time")


def _time(known: Known, blocks: Blocks, times: Times | None) -> _Lines:
    rate, device = known.rate, "GPU" if known.machines.gpus else "machine"
    name = f"{_UNITS[known.step]} a second and {device}"
    if rate is None or times is None:
        yield _line(name, None, "/s", "cannot tell", f"{known.why_not}; {_NO_RATE}")
        yield _line("time", None, "s", "cannot tell", "no rate")
        return
    if rate.passage and known.step != "encode":
        yield _line(f"passages encoded a second and {device}", 1 / rate.passage, "/s", rate.origin, rate.note)
    amount = {"encode": rate.passage, "retrieve": rate.product}.get(known.step, rate.pair)
    if amount:
        yield _line(name, 1 / amount, "/s", rate.origin, rate.note)
    yield _line("start of a worker", times.start, "s", *known.start_told)
    share = "" if known.machines.gpus or known.machines.workers == 1 else "; processes share the machine's rate"
    yield _line(
        "the longest worker", times.computing, "s", "computed", f"linear in the work and in the workers, by whole blocks{share}"
    )
    yield _line("files and digests", times.alone, "s", "computed", "one process, at the speed measured here on a small file")
    yield _line("time", times.total, "s", "computed", "the sum of the three")
    yield _line(f"{device}-hours", times.devices / 3600, "h", "computed", "of the work alone")
    if rate.processor is not None:
        yield _line(
            "processor-hours",
            times.devices * rate.processor / 3600,
            "h",
            "computed",
            "of the work alone, on processors as measured",
        )


def _room(known: Known, sizes: Sizes) -> _Lines:
    yield _line("memory of a worker", known.memory, "bytes", "measured", known.memory_told)
    if known.machines.gpus:
        held = known.rate.gpu_memory if known.rate else None
        yield _line("memory of a GPU", held, "bytes", "measured", "the most that was held" if held else "no GPU was measured")
    if sizes.held:
        why = "candidates, by bytes a pair and a passage id" if known.step != "retrieve" else "the order of the passages' ids"
        yield _line("memory of the command, beside that", sizes.held, "bytes", "assumed", why)
    if known.memory is not None:
        machines = known.machines
        here = -(-machines.processes // machines.number) * known.memory + sizes.held
        yield _line("memory of a machine", here, "bytes", "computed", "its workers, and the command")
    stored = known.stored
    yield _line("disk: collection", known.passages * stored.collection, "bytes", stored.origin, stored.note)
    if known.step == "retrieve":
        yield _line(
            "disk: vectors", known.passages * known.vector, "bytes", "computed", "passages × dimension × bytes a number"
        )
    note = "passages × dimension × bytes a number, and ids" if known.step == "encode" else "bytes a pair"
    yield _line("disk: what is written", sizes.written, "bytes", "computed" if known.step == "encode" else "assumed", note)


def _traffic(known: Known, times: Times | None, sizes: Sizes) -> _Lines:
    workers = known.machines.processes
    yield _line(
        "network: read by a worker", sizes.read / workers, "bytes", "computed", "its share; a shared file system is assumed"
    )
    yield _line("network: written by a worker", sizes.written / workers, "bytes", "computed", "its share")
    yield _line("network: read for digests", sizes.written, "bytes", "computed", "by the command, at the end")
    if times is not None and times.computing:
        both = (sizes.read + sizes.written) / times.computing
        yield _line("network: of all workers", both, "bytes/s", "computed", "on average; the file system has to give it")
