"""Read what ``leakage overlap`` wrote: its sets, settings, results, and its pairs as a stream."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from shlex import quote

from positionbias.core.errors import InputError, SettingError, bad_input
from positionbias.core.manifest import Manifest, input_name, manifest_if_any, read_manifest
from positionbias.core.operation import settings_parameters
from positionbias.core.places import Place, input_place
from positionbias.core.seal import AGAIN, check_name, verified
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
    """A training or test set: its name, split (empty where it has none), checksum, and path from
    the folder.
    """

    name: str
    split: str
    checksum: str
    path: str

    def spec(self) -> str:
        """Return it as ``leakage overlap`` takes it, by its own name: NAME=PLACE:SPLIT."""
        place = input_name(self.path)
        named = "" if self.name in (place, f"{place}.{self.split}") else f"{self.name}="
        return f"{named}{place}{f':{self.split}' if self.split else ''}"


class OverlapFolder:
    """Output of ``leakage overlap`` at a path.

    Raises:
        InputError: something else.
    """

    def __init__(self, place: Place) -> None:
        self.path = input_place(place)
        self.manifest: Manifest = read_manifest(self.path, kind="results")
        if self.manifest.command != COMMAND:
            found, do = (
                f"what posbias {self.manifest.command} wrote",
                "give the --out of posbias leakage overlap",
            )
            raise bad_input(
                self.path, wanted="a folder of posbias leakage overlap", found=found, do=do
            )
        self.training = self._sets(_TRAINING, "training")
        self.tests = self._sets(_TEST, "tests")

    def _sets(self, role: str, splits: str) -> Mapping[str, RecordedSet]:
        split_of = self.manifest.settings.get(splits)
        split_of = split_of if isinstance(split_of, Mapping) else {}
        found = {}
        for item in self.manifest.inputs:
            if item.role.startswith(role):
                name = item.role.removeprefix(role)
                check_name(self.path, name)
                found[name] = RecordedSet(
                    name, str(split_of.get(name, "")), item.checksum, item.path
                )
        return found

    @property
    def settings(self) -> OverlapSettings:
        """The settings of the search.

        Raises:
            InputError: settings that this version does not know.
        """
        known = OverlapSettings.__dataclass_fields__
        own = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in self.manifest.settings.items()
            if name in known
        }
        try:
            return OverlapSettings(**own)  # type: ignore[arg-type]  # checked there
        except (SettingError, TypeError) as error:
            raise bad_input(
                self.path, wanted="settings of posbias leakage overlap", found=str(error), do=AGAIN
            ) from error

    @cached_property
    def results(self) -> Sequence[Result]:
        """The results, one for each test set, unit, detector and training set."""
        return load_results(self.path)

    @property
    def figures(self) -> Sequence[tuple[Result, OverlapFigures]]:
        """The results with their figures."""
        return of_type(self.results, OverlapFigures)

    def command(self) -> str:
        """Return the command that repeats the search into a folder of this name, with every setting
        that is no default.
        """
        words = [
            "posbias",
            *COMMAND.split(),
            *(quote(one.spec()) for one in self.training.values()),
        ]
        for one in self.tests.values():
            words += ["--test", quote(one.spec())]
        settings = self.settings
        for parameter in settings_parameters(OverlapSettings, ""):
            value = getattr(settings, parameter.name)
            for item in value if parameter.many else (value,):
                if value != parameter.default and item is not False:
                    words += [parameter.flag, *([] if item is True else [quote(f"{item}")])]
        return " ".join([*words, "--out", quote(self.path.name)])

    def units(self, tests: Iterable[str]) -> list[str]:
        """Return the units that there are pairs of, for any of these test sets."""
        return [
            unit
            for unit in UNITS
            if any((self.path / file_of(test, unit)).is_file() for test in tests)
        ]

    def files(self, unit: str, tests: Iterable[str]) -> list[Path]:
        """Return the files of pairs of a unit with these test sets.

        Raises:
            InputError: there are no such pairs.
        """
        tests = list(tests)
        if found := [path for test in tests if (path := self.path / file_of(test, unit)).is_file()]:
            return found
        do = "give another --unit, or run posbias leakage overlap with this one"
        raise bad_input(
            self.path,
            wanted=f"pairs of {unit}",
            found=", ".join(self.units(tests)) or "none",
            do=do,
        )

    def pairs(self, unit: str, tests: Iterable[str]) -> Iterator[Pair]:
        """Stream the pairs of a unit with these test sets, verified.

        Raises:
            InputError: as ``files``, or a damaged file.
        """
        for path in self.files(unit, tests):
            yield from read_pairs(verified(path))

    def named(
        self,
        sets: Mapping[str, RecordedSet],
        checksums: Container[str],
        what: str,
        given: str | None,
    ) -> list[str]:
        """Return the names of the sets that are a collection of one of these checksums; ``given``
        names one whatever its checksum.

        Raises:
            InputError: none of them is.
        """
        if given is not None:
            if given in sets:
                return [given]
            raise bad_input(
                self.path,
                wanted=f"a {what} {given!r}",
                found=", ".join(sets),
                do="give one of these to --source",
            )
        if not (names := [name for name, one in sets.items() if one.checksum in checksums]):
            raise InputError(
                f"{self.path}: wanted the collection among its {what}s; found {', '.join(sets)}, "
                "of other content; name the one that has its ids with --source"
            )
        return names
