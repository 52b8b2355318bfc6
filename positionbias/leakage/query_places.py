"""Sources of queries: a collection's split, a TSV file, or TREC topics, distinguished by their
content.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from dataclasses import dataclass
from pathlib import Path

from positionbias.core.collection import Collection, find_collection
from positionbias.core.errors import SettingError, bad_input, or_closest
from positionbias.core.files import input_errors, open_bytes
from positionbias.core.json_text import NAME
from positionbias.core.outcome import Read
from positionbias.core.places import input_place
from positionbias.core.records import Query
from positionbias.formats.trec_topics import read_topics
from positionbias.leakage.queries import TrainSource, collection_source, tsv_queries, tsv_source


@dataclass(frozen=True, slots=True)
class QueryPlace:
    """Queries as they were named: ``[NAME=]FILE``, ``[NAME=]COLLECTION[:SPLIT]``; without a split
    ``default_split``.
    """

    name: str
    held: Path | Collection
    split: str = ""

    @staticmethod
    def parse(
        given: str | Path | Collection, default_split: str, *, corpus: bool = False
    ) -> QueryPlace:
        """Return what an argument means; ``corpus``: a collection may have no splits.

        Raises:
            InputError: neither a file nor a collection, or a collection without that split.
        """
        if isinstance(given, Collection):
            return _split_of(given, default_split, "", str(given.path), corpus=corpus)
        text = str(given)
        name, named, place = text.partition("=")
        if not named or not name or "/" in name or Path(text).exists():
            name, place = "", text
        path = input_place(place)
        if path.is_file():
            return QueryPlace(name or path.name.partition(".")[0], path)
        folder, _, split = (
            place.rpartition(":")
            if ":" in place and not path.is_dir()
            else (place, "", default_split)
        )
        return _split_of(find_collection(folder), split, name, folder, corpus=corpus)

    @staticmethod
    def of_collection(
        given: str | Path | Collection, default_split: str
    ) -> tuple[str, Collection, str]:
        """Return the name, collection and split that an argument means, by a name that files can
        have; a collection without splits needs none.

        Raises:
            InputError: as ``parse``, or a file.
            SettingError: a name that no file can have.
        """
        named = QueryPlace.parse(given, default_split, corpus=True)
        if not isinstance(named.held, Collection):
            do = "import it first: posbias import --help lists the formats"
            raise bad_input(named.held, wanted="a collection", found="a file", do=do)
        name = named.name.replace(":", ".")
        if not re.fullmatch(NAME, name):
            wanted = "a name of letters, digits, '_', '.', '+' and '-'"
            raise SettingError(f"{given}: wanted {wanted}; found {name!r}; give another")
        return name, named.held, named.split

    def source(self) -> TrainSource:
        """Return training queries, to be streamed; of topics their titles."""
        if isinstance(self.held, Collection):
            return collection_source(self.name, self.held, self.split)
        if _marked_up(self.held):
            topics = [(query.query_id, query.text) for query in read_topics(self.held)]
            return TrainSource(self.name, lambda: iter(topics))
        return tsv_source(self.name, self.held)

    def queries(self) -> list[Query]:
        """Return test queries with their fields."""
        if isinstance(self.held, Collection):
            return self.held.queries(self.split)
        return read_topics(self.held) if _marked_up(self.held) else tsv_queries(self.held)

    def read(self, role: str) -> Read:
        """Return them as an input."""
        if isinstance(self.held, Collection):
            return Read(role, self.held.path, self.held.checksum)
        return Read.file(role, self.held)


def _split_of(
    collection: Collection, split: str, name: str, folder: str, *, corpus: bool
) -> QueryPlace:
    if corpus and not collection.splits:
        return QueryPlace(name or collection.name, collection)
    if split not in collection.splits:
        found = ", ".join(collection.splits) or "no splits"
        raise bad_input(
            collection.path,
            wanted=f"a split {split!r}",
            found=found,
            do=or_closest(split, collection.splits, f"name one: {folder}:SPLIT"),
        )
    return QueryPlace(name or f"{collection.name}:{split}", collection, split)


def _marked_up(file: Path) -> bool:
    """Return True if a file holds topics in tags, not lines."""
    with input_errors(file, wanted="queries"), open_bytes(file) as handle:
        return handle.read(4_096).removeprefix(BOM_UTF8).lstrip()[:1] == b"<"
