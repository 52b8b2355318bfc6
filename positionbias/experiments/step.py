"""Restartable steps: each leaves an artefact and a receipt of its inputs; a finished one is
skipped.

A receipt has the checksum of its artefact, so an artefact changed by hand is made again.
A dry run makes and writes nothing: every step reports whether it is done, and about how long it
would take by those that are done.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from positionbias import __version__
from positionbias.core.durable import make_folders
from positionbias.core.duration import shown_time
from positionbias.core.errors import InputError
from positionbias.core.files import read_json, storage_errors
from positionbias.core.json_text import Json, JsonObject
from positionbias.core.only_one import only_one
from positionbias.core.publish import write_json
from positionbias.core.schema import read_as
from positionbias.core.seal import seal_file
from positionbias.experiments.estimate import Work
from positionbias.results.artefacts import PLAN, Plan, PlannedStep
from positionbias.results.result import Result

__all__ = ["Planned", "Step", "Steps", "content_of"]

RECEIPTS = "steps"
# seconds: a process of a killed command, or of a machine that is lost, may be at a step for a
# moment
PATIENCE = 120.0


@dataclass(frozen=True, slots=True)
class Planned:
    """A step in a dry run: already done, or taking about ``seconds`` (None: unknown)."""

    name: str
    done: bool
    seconds: float | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """One step: ``make()`` writes ``artefact``, replacing an outdated one.

    ``settings`` must be JSON-ready; ``inputs`` are checksums by role, None for those that a dry run
    has not made. ``name`` may have slashes. ``note`` is added by a dry run.
    """

    name: str
    artefact: Path
    settings: JsonObject
    inputs: Mapping[str, str | None]
    make: Callable[[], object]
    work: Work | None = None
    note: str = ""

    @property
    def facts(self) -> JsonObject:
        """The step's record: the settings and inputs of its artefact."""
        return {"settings": self.settings, "inputs": self.inputs, "version": __version__}

    @property
    def fingerprint(self) -> str:
        """Return a checksum of the facts."""
        return hashlib.sha256(
            json.dumps(self.facts, sort_keys=True, default=str).encode()
        ).hexdigest()


def content_of(artefact: Path) -> str:
    """Return a digest of all files of an artefact, without ``cache`` folders, which can be
    rebuilt.
    """
    digest = hashlib.sha256()
    for path in [artefact] if artefact.is_file() else _files(artefact):
        seal = seal_file(path)
        digest.update(
            f"{path.relative_to(artefact).as_posix()}\x1f{seal.bytes}\x1f{seal.digest}\x1f".encode()
        )
    return digest.hexdigest()


def _files(folder: Path) -> list[Path]:
    return sorted(
        (
            path
            for path in folder.rglob("*")
            if path.is_file() and path.relative_to(folder).parts[0] != "cache"
        ),
        key=lambda path: path.parts,
    )


def _to_nobody(line: str) -> None:
    pass


class Steps:
    """The steps of one study in one folder, with receipts in ``steps/NAME.json``.

    A step is skipped if its artefact matches its receipt, and the receipt names the same settings
    and inputs; else it is made (again). ``planned`` lists a dry run's steps, ``unmade`` the
    artefacts that it would have made.
    """

    def __init__(
        self, folder: Path, tell: Callable[[str], None] = _to_nobody, *, dry_run: bool = False
    ) -> None:
        self.folder, self.tell, self.dry_run = folder, tell, dry_run
        self.planned: list[Planned] = []
        self.unmade: set[Path] = set()

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "tell": _to_nobody}  # what a terminal shows cannot travel

    def plan(self, collection: str) -> Result:
        """Return a dry run's steps; the value is the sum of known seconds, the count the number of
        steps to make.
        """
        left = [step.seconds or 0.0 for step in self.planned if not step.done]
        plan = Plan(
            rows={
                step.name: PlannedStep(step.done, step.seconds, step.note) for step in self.planned
            }
        )
        return Result(PLAN, collection, "", "", None, sum(left), None, len(left), plan)

    def make(
        self,
        name: str,
        artefact: Path,
        settings: JsonObject,
        inputs: Mapping[str, str | None],
        make: Callable[[], object],
        *,
        work: Work | None = None,
        note: str = "",
    ) -> Path:
        """Make ``artefact`` unless it is up to date, as a ``Step`` of these arguments.

        Raises:
            StorageError: another process has been making it for ``PATIENCE`` seconds.
        """
        self._make(Step(name, artefact, settings, inputs, make, work, note))
        return artefact

    def _make(self, one: Step) -> None:
        if any(planned.name == one.name for planned in self.planned):
            return  # a dry run has met it: two parts of a study ask for it
        done = None not in one.inputs.values() and self._holds(one)
        if self.dry_run:
            seconds = None if done or one.work is None else one.work.seconds(self._taken)
            self.planned.append(Planned(one.name, done, seconds, "" if done else one.note))
            self.unmade |= set() if done else {one.artefact}
            return
        seconds = None if done else self._made_alone(one)
        self.tell(f"{one.name}: {'done before' if seconds is None else shown_time(seconds)}")

    def _made_alone(self, one: Step) -> float | None:
        """Make the step and return the seconds taken, or None where another process has just made
        it.
        """
        receipt = self._receipt(one)
        with storage_errors(receipt):
            make_folders(receipt.parent)
        with only_one(receipt.with_name(f".{receipt.name}.lock"), one.artefact, patience=PATIENCE):
            if self._holds(one):
                return None
            began = time.monotonic()
            one.make()
            seconds = time.monotonic() - began
            record: dict[str, Json] = {
                "step": one.name,
                "artefact": one.artefact.relative_to(self.folder).as_posix(),
            }
            record |= {"fingerprint": one.fingerprint, **one.facts}
            record |= (
                {"work": {"unit": one.work.unit, "amount": one.work.amount}} if one.work else {}
            )
            write_json(
                receipt,
                {**record, "content": content_of(one.artefact), "seconds": round(seconds, 3)},
            )
            return seconds

    def _receipt(self, one: Step) -> Path:
        return self.folder / RECEIPTS / f"{one.name}.json"

    def _holds(self, one: Step) -> bool:
        record = _read(self._receipt(one)) if one.artefact.exists() else None
        return (
            record is not None
            and record.fingerprint == one.fingerprint
            and record.content == content_of(one.artefact)
        )

    @cached_property
    def _taken(self) -> dict[str, float]:
        """Return the seconds of one, by unit, in the study's finished steps."""
        seconds, amounts = defaultdict[str, float](float), defaultdict[str, float](float)
        for path in sorted((self.folder / RECEIPTS).rglob("*.json")):
            if (record := _read(path)) and record.work:
                seconds[record.work.unit] += record.seconds
                amounts[record.work.unit] += record.work.amount
        return {unit: seconds[unit] / amount for unit, amount in amounts.items() if amount}


@dataclass(frozen=True, slots=True)
class _Done:
    unit: str
    amount: float


@dataclass(frozen=True, slots=True)
class _Receipt:
    """The fields that are read from a step's receipt, which also has the step's settings and
    inputs.
    """

    fingerprint: str
    content: str
    seconds: float
    work: _Done | None = None


def _read(receipt: Path) -> _Receipt | None:
    """Read a receipt; None for a missing or damaged one, whose step is made again."""
    if not receipt.exists():
        return None
    try:
        return read_as(
            _Receipt,
            read_json(receipt, what="a step's receipt"),
            receipt,
            do="remove it",
            more=True,
        )
    except InputError:
        return None
