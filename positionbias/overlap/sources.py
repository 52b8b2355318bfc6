"""Text sets: where the texts of one side come from, as ``[NAME=]PLACE[:SPLIT]`` names them.

A set gives its texts by unit in blocks, which processes read by themselves. How a set is cut into
blocks changes no result.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from positionbias.core.collection import Collection, find_collection
from positionbias.core.errors import SettingError, bad_input
from positionbias.core.manifest import manifest_if_any
from positionbias.core.places import input_place
from positionbias.core.schema import NAME
from positionbias.core.split_tables import KIND
from positionbias.formats.hub import saved_dataset
from positionbias.overlap.beir_texts import BeirTexts, is_beir
from positionbias.overlap.collection_texts import CollectionTexts
from positionbias.overlap.detectors import Texts
from positionbias.overlap.settings import OverlapSettings
from positionbias.overlap.table_texts import HubTexts, TableTexts, table_files

__all__ = ["TextBlock", "TextSet", "text_set"]

LONGEST = 100  # characters of a name, of which files are named


class TextBlock(Protocol):
    """Some texts of a set, picklable."""

    def batches(self) -> Iterator[Texts]:
        """Yield the texts with their ids, a few thousand at once."""

    def fingerprint(self) -> str:
        """Return an identifier of the block across runs."""


class TextSet(Protocol):
    """The texts of a training or test set."""

    @property
    def name(self) -> str:
        """Its name in results and files."""

    @property
    def place(self) -> Path:
        """Where it lies."""

    @property
    def checksum(self) -> str:
        """The checksum of its content."""

    @property
    def corpus(self) -> str:
        """The checksum of the corpus that its passage ids belong to; empty where they belong to
        none.
        """

    def blocks(self, unit: str) -> Iterator[TextBlock]:
        """Yield its passages or queries; nothing where it has none."""

    def links(self) -> Iterator[tuple[str, str]]:
        """Yield (query id, passage id) of its queries with their relevant passages."""


def text_set(given: Collection | Path | str, settings: OverlapSettings, *, test: bool) -> TextSet:
    """Return the set that an argument names; without a split a collection's split test, or train.

    Raises:
        InputError: nothing there, no texts, or no such split.
        SettingError: a name that no file can have.
    """
    default = "test" if test else "train"
    if isinstance(given, Collection):
        return CollectionTexts.of(given, default, "", settings, test=test)
    name, place = _named(str(given))
    if name and (len(name) > LONGEST or not re.fullmatch(NAME, name)):
        wanted = f"a name of letters, digits, '_', '.', '+' and '-', {LONGEST} at most"
        raise SettingError(f"{given}: wanted {wanted}; found {name!r}; give another")
    path, split = input_place(place), ""
    if not path.exists() and ":" in place:
        place, _, split = place.rpartition(":")
        path = input_place(place)
    if path.is_dir() and not _is_collection(path):
        return _folder(path, name, split, default, settings, test=test)
    if path.is_file():
        return TableTexts.of(
            name or _clean(path.name.partition(".")[0]),
            path,
            [path],
            split or default,
            settings,
            test=test,
        )
    return CollectionTexts.of(find_collection(place), split or default, name, settings, test=test)


def _folder(
    path: Path, name: str, split: str, default: str, settings: OverlapSettings, *, test: bool
) -> TextSet:
    own = name or _clean(".".join(filter(None, (path.name, split))))
    if is_beir(path):
        return BeirTexts.of(own, path, split or default, settings, test=test)
    if saved_dataset(path):
        return HubTexts.of(own, path, split, settings, test=test)
    if files := table_files(path):
        return TableTexts.of(own, path, files, split or default, settings, test=test)
    wanted = (
        "a collection, a BEIR folder, a data set saved by datasets, or files of JSON lines, "
        "Parquet, CSV or TSV"
    )
    raise bad_input(path, wanted=wanted, found="a folder with none of them", do="check the path")


def _is_collection(folder: Path) -> bool:
    """Return True for a collection; False for what we export, which has a manifest too."""
    made = manifest_if_any(folder)
    return made is not None and made.kind == KIND


def _named(text: str) -> tuple[str, str]:
    """Split ``NAME=PLACE`` into both; the name may be missing."""
    name, named, place = text.partition("=")
    if not named or not name or "/" in name or (len(name) <= LONGEST and Path(text).exists()):
        return "", text
    return name, place


def _clean(name: str) -> str:
    """Return a name that a file can have."""
    return re.sub(r"[^\w.+-]|^\W+", "-", name).strip("-") or "texts"
