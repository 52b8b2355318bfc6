"""Restartable steps: each leaves an artefact and a receipt of its inputs; a finished one is
skipped. A study's folder belongs to the settings that it began with: ``study.json`` names them, and
a lock keeps others out.

A receipt has the checksum of its artefact, so an artefact changed by hand is made again.
A dry run makes and writes nothing: it reports of every step whether it is done, and about how long
it would take by finished ones that are like it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import fields, is_dataclass
from functools import cached_property
from itertools import takewhile
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

from pandas import DataFrame

from positionbias.core.errors import OutputExistsError
from positionbias.core.files import sha256_file, storage_errors
from positionbias.core.json_text import Json, JsonObject
from positionbias.core.progress import shown_time
from positionbias.core.publish import make_folders, only_one, write_json
from positionbias.core.rows import Collected
from positionbias.core.seal import MANIFEST
from positionbias.core.settings import settings_of
from positionbias.core.steps import Receipt, carry_out, finished, read_receipt

RECEIPTS = "steps"
PLAN, DONE, TO_MAKE = "plan", "done before", "to be made"
# seconds: a process of a killed command, or of a machine that is lost, may be at a step for a
# moment
PATIENCE = 120.0
ALIKE = 2  # parts at the start of a name that steps of about the same duration share


class Planned(NamedTuple):
    """A step in a dry run: already done, or taking about ``seconds`` (None: unknown)."""

    name: str
    done: bool
    seconds: float | None = None


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

    def plan(self, collection: str) -> DataFrame:
        """Return a row for each step of a dry run: its seconds, and whether it is done."""
        made = Collected({"study": PLAN, "collection": collection})
        for step in self.planned:
            answer = DONE if step.done else TO_MAKE
            made.add("step", "seconds", step.seconds, axis="step", label=step.name, answer=answer)
        return made.rows

    def make(
        self,
        name: str,
        artefact: Path,
        settings: JsonObject,
        inputs: Mapping[str, str | None],
        make: Callable[[], object],
    ) -> Path:
        """Return ``artefact``, which ``make()`` writes unless it is up to date.

        ``settings`` must be JSON-ready; ``inputs`` are checksums by role, None for those that a dry
        run has not made. ``name`` may have slashes; numbers in it are of seeds, draws and the like.

        Raises:
            StorageError: another process has been making it for ``PATIENCE`` seconds.
        """
        if any(planned.name == name for planned in self.planned):
            return artefact  # a dry run has met it: two parts of a study ask for it
        step, place = Receipt(name, settings, inputs), self.folder / RECEIPTS / f"{name}.json"
        done = None if None in inputs.values() else finished(place, step, artefact)
        if self.dry_run:
            self.planned.append(
                Planned(name, done is not None, None if done else self._about(name))
            )
            self.unmade |= set() if done else {artefact}
            return artefact
        before = done is not None
        if done is None:
            with storage_errors(place):
                make_folders(place.parent)
                make_folders(artefact.parent)
            with only_one(artefact, patience=PATIENCE):
                done = finished(place, step, artefact)  # another process may have made it meanwhile
                before = done is not None
                done = done or carry_out(place, step, artefact, make)
        self.tell(f"{name}: {'done before' if before else shown_time(done.seconds)}")
        return artefact

    def _about(self, name: str) -> float | None:
        """Return the mean seconds of the finished steps whose names begin most alike, numbers left
        out: at least the same work on the same kind of model. None if there are none.
        """
        own = _without_numbers(name)
        seconds: dict[int, list[float]] = {}
        for parts, taken in self._finished:
            alike = takewhile(lambda pair: pair[0] == pair[1], zip(own, parts, strict=False))
            seconds.setdefault(len(list(alike)), []).append(taken)
        most = max(seconds, default=0)
        return mean(seconds[most]) if most and most >= min(ALIKE, len(own)) else None

    @cached_property
    def _finished(self) -> list[tuple[list[str], float]]:
        """The names, without numbers, and the seconds of the study's finished steps."""
        receipts = map(read_receipt, sorted((self.folder / RECEIPTS).rglob("*.json")))
        return [(_without_numbers(known.function), known.seconds) for known in receipts if known]


def _without_numbers(name: str) -> list[str]:
    return [part for part in re.split("[-/]", name) if not part.isdecimal()]


RECORD = "study.json"


def record_of(settings: Any) -> Json:
    """Return settings as JSON. A file or folder that is read counts by its content; what changes no
    result is left out.
    """
    if hasattr(settings, "deciding"):
        return record_of(settings.deciding())
    if is_dataclass(settings) and not isinstance(settings, type):
        read = {
            name for name, field in settings_of(type(settings)).items() if field.place == "read"
        }
        values = {field.name: getattr(settings, field.name) for field in fields(settings)}
        return {
            name: record_of(Path(v) if name in read and isinstance(v, str) else v)
            for name, v in values.items()
        }
    if isinstance(settings, Path):
        return _content(settings)
    if isinstance(settings, Mapping):
        return {str(name): record_of(value) for name, value in settings.items()}
    if isinstance(settings, list | tuple | range):
        return [record_of(value) for value in settings]
    return settings if isinstance(settings, str | int | float | bool | None) else repr(settings)


def _content(path: Path) -> str:
    for file in (path / MANIFEST, path):
        if file.is_file():
            return f"{path.name} sha256 {sha256_file(file)}"
    return str(path)


@contextmanager
def same_settings(folder: Path, record: JsonObject, *, overwrite: bool = False) -> Iterator[None]:
    """Hold ``folder`` for one study of this record; ``overwrite`` replaces an earlier record.

    Raises:
        OutputExistsError: another study was begun in the folder and ``overwrite`` is false.
        StorageError: a study is at work there, or the file system refused.
    """
    place = folder / RECORD
    with storage_errors(folder):
        make_folders(folder)
    with only_one(folder):
        earlier = _earlier(place)
        if earlier != record:
            if earlier is not None and not overwrite:
                raise OutputExistsError(
                    f"{folder}: another study was made here ({_changes(earlier, record)}); give "
                    "another --out, or --overwrite to go on with the new settings"
                )
            write_json(place, record)
        yield


def _earlier(place: Path) -> Json:
    with suppress(OSError, ValueError):
        return json.loads(place.read_bytes())
    return None


def _changes(earlier: Json, record: Json) -> str:
    """Name the first setting that differs, and the number of others."""
    before, now = dict(_settings(earlier)), dict(_settings(record))
    first, *others = [
        f"{name.rpartition('.')[2]} {before.get(name)}, now {now.get(name)}"
        for name in before | now
        if before.get(name) != now.get(name)
    ]
    return first + (f" and {len(others)} more" if others else "")


def _settings(record: Json, name: str = "") -> Iterator[tuple[str, str]]:
    """Yield every single value of a record as JSON, by its path."""
    if isinstance(record, dict):
        for key, value in record.items():
            yield from _settings(value, f"{name}.{key}")
    else:
        yield name, json.dumps(record, ensure_ascii=False)
