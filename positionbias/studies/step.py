"""Restartable steps: each leaves an artefact and a receipt of what it was made from; a finished one is skipped.

A receipt vouches for the artefact that it was written for: it holds a checksum of it, so that one changed by hand is made again.
In a dry run nothing is made or written: every step says whether it is done, and about how long it would take.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from positionbias import __version__
from positionbias.core.errors import InputError
from positionbias.core.files import read_json, write_json

__all__ = ["Planned", "Steps", "Work", "content_of", "shown_time"]

RECEIPTS = "steps"
WHOLE = 1 << 26  # a larger file is known by its size, its beginning and its end
EDGE = 1 << 20


@dataclass(frozen=True, slots=True)
class Work:
    """How much a step does: ``amount`` of ``unit`` (which names all that changes the time of one).

    ``seconds_each`` says what one takes, and is asked only where no earlier step of the study has done the same.
    """

    unit: str
    amount: float
    seconds_each: Callable[[], float | None]


@dataclass(frozen=True, slots=True)
class Planned:
    """A step as a dry run sees it: done before, or to be made in about ``seconds`` (None: nothing tells)."""

    name: str
    done: bool
    seconds: float | None = None
    note: str = ""


def content_of(artefact: Path) -> str:
    """A checksum by which a change made by hand shows, quick whatever the size: of large files size, beginning and end.

    ``cache`` folders, which are rebuilt at will, do not count.
    """
    digest = hashlib.sha256()
    for path in [artefact] if artefact.is_file() else _files(artefact):
        size = path.stat().st_size
        digest.update(f"{path.relative_to(artefact).as_posix()}\x1f{size}\x1f".encode())
        with open(path, "rb") as handle:
            if size <= WHOLE:
                digest.update(handle.read())
            else:
                digest.update(handle.read(EDGE))
                handle.seek(size - EDGE)
                digest.update(handle.read(EDGE))
    return digest.hexdigest()


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and path.relative_to(folder).parts[0] != "cache")


class Steps:
    """The steps of one study in one folder; receipts stand in ``steps/NAME.json``.

    A step is skipped when its artefact is there as its receipt knows it, and the receipt names the same settings and inputs; else
    it is made (again). ``planned`` lists what a dry run has met, ``unmade`` the artefacts that it would have made.
    """

    def __init__(self, folder: Path, tell: Callable[[str], None] = lambda line: None, *, dry_run: bool = False) -> None:
        self.folder, self.tell, self.dry_run = folder, tell, dry_run
        self.planned: list[Planned] = []
        self.unmade: set[Path] = set()

    def make(
        self,
        name: str,
        artefact: Path,
        settings: Mapping[str, Any],
        inputs: Mapping[str, str | None],
        make: Callable[[], object],
        *,
        work: Work | None = None,
        note: str = "",
    ) -> Path:
        """Make ``artefact`` by calling ``make()``, which writes it (replacing an outdated one), unless it is up to date.

        ``settings`` must be JSON-ready; ``inputs`` are checksums by role, None of what a dry run has not made. ``name`` may hold
        slashes. ``note`` is what a dry run adds.
        """
        facts = {"settings": settings, "inputs": inputs, "version": __version__}
        fingerprint = hashlib.sha256(json.dumps(facts, sort_keys=True, default=str).encode()).hexdigest()
        receipt = self.folder / RECEIPTS / f"{name}.json"
        if None not in inputs.values() and self._holds(receipt, artefact, fingerprint):
            if self.dry_run:
                self.planned.append(Planned(name, True))
            else:
                self.tell(f"{name}: done before")
            return artefact
        if self.dry_run:
            self.unmade.add(artefact)
            self.planned.append(Planned(name, False, self._seconds(work), note))
            return artefact
        began = time.monotonic()
        make()
        seconds = time.monotonic() - began
        record: dict[str, Any] = {"step": name, "artefact": artefact.relative_to(self.folder).as_posix()}
        record |= {"fingerprint": fingerprint, "content": content_of(artefact), **facts, "seconds": round(seconds, 3)}
        write_json(receipt, record | ({"work": {"unit": work.unit, "amount": work.amount}} if work else {}))
        self.tell(f"{name}: {shown_time(seconds)}")
        return artefact

    @staticmethod
    def _holds(receipt: Path, artefact: Path, fingerprint: str) -> bool:
        record = _read(receipt) if artefact.exists() else None
        return record is not None and record.get("fingerprint") == fingerprint and record.get("content") == content_of(artefact)

    def _seconds(self, work: Work | None) -> float | None:
        """By what the study's own steps of this kind have taken, else by what one is said to take."""
        if work is None:
            return None
        seconds = amount = 0.0
        for record in self._records():
            done = record.get("work")
            if isinstance(done, dict) and done.get("unit") == work.unit:
                seconds, amount = seconds + record["seconds"], amount + done["amount"]
        each = seconds / amount if amount else work.seconds_each()
        return None if each is None else each * work.amount

    def _records(self) -> Iterator[dict[str, Any]]:
        for path in sorted((self.folder / RECEIPTS).rglob("*.json")):
            if record := _read(path):
                yield record


def _read(receipt: Path) -> dict[str, Any] | None:
    """A receipt; a missing or damaged one proves nothing: the step is made again."""
    if not receipt.exists():
        return None
    try:
        record = read_json(receipt, what="a step's receipt")
    except InputError:
        return None
    return record if isinstance(record, dict) else None


def shown_time(seconds: float) -> str:
    """Seconds, minutes or hours, whichever is short to read."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6_000 else f"{seconds / 3600:.1f} h"
