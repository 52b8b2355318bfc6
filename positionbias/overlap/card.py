"""A card of train–test overlap for a model card: what was compared, how, what was found, and how to repeat it.

The card is a dataclass; ``card.json`` is it, ``card.md`` shows it. ``check_card`` holds it against sets and results at hand.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from shlex import quote

from positionbias.core.errors import bad_input
from positionbias.core.files import read_json
from positionbias.core.json_text import JsonObject
from positionbias.core.operation import settings_parameters
from positionbias.core.schema import read_as
from positionbias.overlap.folder import COMMAND, OverlapFolder, RecordedSet, settings_from
from positionbias.overlap.settings import OverlapSettings
from positionbias.results.overlap import OverlapFigures
from positionbias.results.result import Result
from positionbias.results.select import of_type

__all__ = ["Card", "CardSet", "Found", "Overlap", "card_of", "command_of", "command_on", "read_card", "rows_of"]

FORMAT = 1
_DO = "give the JSON file that posbias leakage card wrote"


@dataclass(frozen=True, slots=True)
class CardSet:
    """A training or test set: its name, split and checksum, and how ``leakage overlap`` was given it, by its folder's own name."""

    name: str
    split: str
    checksum: str
    given: str

    @staticmethod
    def of(recorded: RecordedSet) -> CardSet:
        """Return a set that a search recorded."""
        return CardSet(recorded.name, recorded.split, recorded.checksum, recorded.spec())


@dataclass(frozen=True, slots=True)
class Found:
    """What a detector found of a test set's items in one training set or all, with the figures of ``OverlapFigures``."""

    test: str
    training: str
    unit: str
    detector: str
    items: int
    too_short: int
    leaked: int
    queries: int
    leaked_queries: int
    pairs: int
    shared_corpus: int
    precision: float | None
    precision_low: float | None

    @property
    def key(self) -> tuple[str, str, str, str]:
        """Return what was measured: test set, unit, detector and training set."""
        return self.test, self.unit, self.detector, self.training


@dataclass(frozen=True, slots=True)
class Overlap:
    """One search: its sets, settings, the command that repeats it, and what was found."""

    training: tuple[CardSet, ...]
    tests: tuple[CardSet, ...]
    settings: JsonObject
    encoder: str
    command: str
    found: tuple[Found, ...]


@dataclass(frozen=True, slots=True)
class Card:
    """One or more searches, and the version of this package that made them."""

    version: str
    overlaps: tuple[Overlap, ...]
    format_version: int = FORMAT

    def to_json(self) -> JsonObject:
        """Return the card as JSON."""
        return {"kind": "overlap card", **asdict(self)}


def read_card(path: Path) -> Card:
    """Read ``card.json``.

    Raises:
        InputError: no card of ours, of a newer format, or without a search.
    """
    record = read_json(path, what="an overlap card")
    if not isinstance(record, dict) or record.pop("kind", None) != "overlap card":
        raise bad_input(path, wanted="an overlap card", found="other JSON", do=_DO)
    if record.get("format_version") != FORMAT:
        do = "read it with the version that made it"
        raise bad_input(path, wanted=f"card format {FORMAT}", found=f"format {record.get('format_version')}", do=do)
    card = read_as(Card, record, path, do=_DO)
    if not card.overlaps or not all(overlap.training and overlap.tests for overlap in card.overlaps):
        raise bad_input(path, wanted="searches with training and test sets", found="one without, or none", do=_DO)
    return card


def card_of(folders: Sequence[OverlapFolder]) -> Card:
    """Return the card of folders that ``leakage overlap`` wrote.

    Raises:
        InputError: folders of several versions of this package.
    """
    versions = {folder.manifest.versions.get("positionbias", "unknown"): folder for folder in folders}
    if len(versions) > 1:
        do = "run posbias leakage overlap again for the older ones"
        raise bad_input(folders[-1].path, wanted="folders of one version", found=", ".join(sorted(versions)), do=do)
    return Card(next(iter(versions)), tuple(map(_overlap, folders)))


def _overlap(folder: OverlapFolder) -> Overlap:
    sides = [tuple(map(CardSet.of, side.values())) for side in (folder.training, folder.tests)]
    command = command_of(folder)
    settings = {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(folder.settings).items()}
    return Overlap(sides[0], sides[1], settings, folder.encoder[0], command, tuple(rows_of(folder.results)))


def rows_of(results: Sequence[Result]) -> Iterator[Found]:
    """Yield the results as rows of a card."""
    shared = [one.name for one in fields(Found) if one.name not in ("test", "training")]
    for result, of in of_type(results, OverlapFigures):
        yield Found(result.collection, result.system, **{name: getattr(of, name) for name in shared})


def command_of(folder: OverlapFolder, out: str = "overlap") -> str:
    """Return the command that repeats a search, with every setting that is no default."""
    train, test = ([one.spec() for one in side.values()] for side in (folder.training, folder.tests))
    return _command(train, test, folder.settings, folder.encoder[0], out)


def command_on(overlap: Overlap, path: Path) -> str:
    """Return the command that repeats a card's search, by its sets and settings.

    Raises:
        InputError: settings that this version does not know.
    """
    train, test = ([one.given for one in side] for side in (overlap.training, overlap.tests))
    return _command(train, test, settings_from(overlap.settings, path), overlap.encoder, "overlap")


def _command(training: Sequence[str], tests: Sequence[str], settings: OverlapSettings, encoder: str, out: str) -> str:
    words = ["posbias", *COMMAND.split(), *map(quote, training)]
    for test in tests:
        words += ["--test", quote(test)]
    for one in settings_parameters(OverlapSettings, ""):
        value = getattr(settings, one.name)
        for item in value if one.many else (value,):
            if value != one.default and item is not False:
                words += [one.flag, *([] if item is True else [quote(f"{item}")])]
    words += ["--encoder", quote(encoder)] if encoder else []
    return " ".join([*words, "--out", quote(out)])
