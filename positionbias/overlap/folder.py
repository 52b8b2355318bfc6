"""Read what ``leakage overlap`` wrote: its sets, settings, results, and its pairs as a stream."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath

from positionbias.core.errors import InputError, bad_input
from positionbias.core.manifest import Manifest, input_name, manifest_if_any, read_manifest
from positionbias.core.places import Place, input_place
from positionbias.core.seal import AGAIN, verified
from positionbias.leakage.pairs import Pair, read_pairs
from positionbias.overlap.lines import file_of
from positionbias.overlap.settings import UNITS, OverlapSettings
from positionbias.results.overlap import OverlapFigures
from positionbias.results.result import Result, load_results
from positionbias.results.select import of_type

__all__ = ["COMMAND", "OverlapFolder", "RecordedSet", "is_overlap"]

COMMAND = "leakage overlap"
_TRAINING, _TEST = "training set ", "test set "  # before a set's name, in the roles of inputs


def is_overlap(place: Place) -> bool:
    """Return True for a folder that ``leakage overlap`` wrote."""
    path = input_place(place)
    made = manifest_if_any(path) if path.is_dir() else None
    return made is not None and made.command == COMMAND


@dataclass(frozen=True, slots=True)
class RecordedSet:
    """A training or test set: its name, split (empty where it has none), checksum, and path from the folder."""

    name: str
    split: str
    checksum: str
    path: str

    def spec(self) -> str:
        """Return it as ``leakage overlap`` takes it, by its own name: NAME=PLACE:SPLIT."""
        place = input_name(self.path)
        named = "" if place == self.name else f"{self.name}="
        return f"{named}{place}{f':{self.split}' if self.split else ''}"


class OverlapFolder:
    """What ``leakage overlap`` wrote at a path.

    Raises:
        InputError: something else.
    """

    def __init__(self, place: Place) -> None:
        self.path = input_place(place)
        self.manifest: Manifest = read_manifest(self.path, kind="results")
        if self.manifest.command != COMMAND:
            found, do = f"what posbias {self.manifest.command} wrote", "give the --out of posbias leakage overlap"
            raise bad_input(self.path, wanted="a folder of posbias leakage overlap", found=found, do=do)
        self.training = self._sets(_TRAINING, "training")
        self.tests = self._sets(_TEST, "tests")

    def _sets(self, role: str, splits: str) -> Mapping[str, RecordedSet]:
        split_of = self.manifest.settings.get(splits)
        split_of = split_of if isinstance(split_of, Mapping) else {}
        found = {}
        for item in self.manifest.inputs:
            if item.role.startswith(role):
                name = item.role.removeprefix(role)
                found[name] = RecordedSet(name, str(split_of.get(name, "")), item.checksum, item.path)
        return found

    @property
    def settings(self) -> OverlapSettings:
        """The settings of the search.

        Raises:
            InputError: settings that this version does not know.
        """
        from positionbias.core.schema import read_as

        own = {name: value for name, value in self.manifest.settings.items() if name not in ("training", "tests")}
        return read_as(OverlapSettings, own, self.path, do=AGAIN)

    @cached_property
    def results(self) -> Sequence[Result]:
        """The results, one for each test set, unit, detector and training set."""
        return load_results(self.path)

    @property
    def figures(self) -> Sequence[tuple[Result, OverlapFigures]]:
        """The results with their figures."""
        return of_type(self.results, OverlapFigures)

    def place_of(self, of: RecordedSet) -> Path:
        """Return the path at which a set was read."""
        return Path(of.path) if "://" in of.path else (self.path / PurePosixPath(of.path)).resolve()

    def units(self, tests: Iterable[str]) -> list[str]:
        """Return the units that there are pairs of, for any of these test sets."""
        return [unit for unit in UNITS if any((self.path / file_of(test, unit)).is_file() for test in tests)]

    def pairs(self, unit: str, tests: Iterable[str]) -> Iterator[Pair]:
        """Stream the pairs of a unit with these test sets, verified.

        Raises:
            InputError: no pairs of this unit, or a damaged file.
        """
        tests = list(tests)
        there = self.units(tests)
        if unit not in there:
            do = "give another --unit, or run posbias leakage overlap with this one"
            raise bad_input(self.path, wanted=f"pairs of {unit}", found=", ".join(there) or "none", do=do)
        for test in tests:
            path = self.path / file_of(test, unit)
            if path.is_file():
                yield from read_pairs(verified(path))

    def named(self, sets: Mapping[str, RecordedSet], checksum: str, what: str, given: str | None) -> list[str]:
        """Return the names of the sets that are a collection of this checksum; ``given`` names one whatever its checksum.

        Raises:
            InputError: none of them is.
        """
        if given is not None:
            if given in sets:
                return [given]
            raise bad_input(self.path, wanted=f"a {what} {given!r}", found=", ".join(sets), do="give one of these to --source")
        if not (names := [name for name, one in sets.items() if one.checksum == checksum]):
            raise InputError(
                f"{self.path}: wanted the collection among its {what}s; found {', '.join(sets)}, of other content; "
                "name the one that has its ids with --source"
            )
        return names
