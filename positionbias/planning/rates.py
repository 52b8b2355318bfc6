"""How long a unit of work takes on one device: from an artefact's manifest, or from a number that was given."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from positionbias.core.computed import Computed, computed_by
from positionbias.core.errors import bad_input
from positionbias.core.manifest import Manifest, read_manifest
from positionbias.planning.settings import StepName
from positionbias.results.plans import Origin

__all__ = ["Rate", "artefact_of", "given_rate", "rate_of"]

_KINDS = {"encode": "vectors", "rerank": "run", "teach": "teacher-scores", "retrieve": "run"}


@dataclass(frozen=True, slots=True)
class Rate:
    """Seconds that one device takes: a GPU, or all processors of a machine.

    A step takes ``passage`` for each passage that is encoded, ``pair`` for each pair that is scored, ``product`` for each product of a query and
    a vector. ``processor``: seconds of all processors a second of the device. ``memory`` and ``gpu_memory`` are the most bytes that a process held; ``note`` says where, when and on what it was measured.
    """

    device: str
    origin: Origin
    note: str
    processor: float | None = None
    passage: float = 0.0
    pair: float = 0.0
    product: float = 0.0
    memory: int | None = None
    gpu_memory: int | None = None


def artefact_of(step: StepName, place: Path) -> Manifest:
    """Return the manifest of an earlier artefact of the step.

    Raises:
        InputError: no artefact, or another step's.
    """
    manifest = read_manifest(place, kind=_KINDS[step])
    if manifest.command != step:
        raise bad_input(
            place, wanted=f"an artefact of posbias {step}", found=f"one of posbias {manifest.command}", do="give another"
        )
    return manifest


def rate_of(manifest: Manifest, place: Path) -> Rate:
    """Return the rate of the device that made an artefact.

    Workers of one machine share its processors, so a machine is as many times as fast as one of them.

    Raises:
        InputError: the manifest does not say what was computed, or in what time.
    """
    found = computed_by(manifest, str(place))
    shared = 1 if found is not None and found.device == "cuda" else found.workers if found is not None else None
    work = 0 if found is None else found.passages or found.pairs or found.products
    if found is None or not work or not found.spent.seconds or shared is None:
        raise bad_input(
            place,
            wanted="a manifest that says what was computed, in what time, by how many workers of a machine",
            found="one of an older version, of an index, or of a cluster of CPUs"
            if not work or shared is None
            else "0 seconds",
            do="make a small artefact here, or leave --measured out",
        )
    each = found.spent.seconds / shared / work
    return Rate(
        found.device,
        "measured",
        _told(found, manifest, place),
        processor=found.spent.processor * shared / found.spent.seconds,
        passage=each if found.passages else 0.0,
        pair=each if found.pairs and not found.passages else 0.0,
        product=each if found.products else 0.0,
        memory=found.spent.memory,
    )


def _told(found: Computed, manifest: Manifest, place: Path) -> str:
    """Return where, when and on what: ``vectors of 2026-11-27: 20,000 passages on AMD EPYC, 2 threads``."""
    named = ((found.passages, "passages"), (found.pairs, "pairs"), (found.products, "products"))
    amounts = " and ".join(f"{amount:,} {name}" for amount, name in named if amount)
    day = (manifest.created or "").partition("T")[0]
    threads = "" if found.device == "cuda" else f", {found.threads} threads"
    return f"{place.name} of {day}: {amounts} on {found.hardware}{threads}"


def given_rate(step: StepName, rate: float, *, gpu: bool) -> Rate:
    """Return a rate that the user gave, in units a second of one device."""
    rate_of_none = Rate("cuda" if gpu else "cpu", "given", "--rate")
    match step:
        case "encode":
            return replace(rate_of_none, passage=1 / rate)
        case "retrieve":
            return replace(rate_of_none, product=1 / rate)
    return replace(rate_of_none, pair=1 / rate)
