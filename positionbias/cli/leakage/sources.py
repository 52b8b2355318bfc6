"""Where queries come from on the command line: a collection's split, a TSV, or TREC topics, told apart by what is there."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from positionbias.cli.common import input_place

if TYPE_CHECKING:
    from positionbias.core.collection import Collection
    from positionbias.core.manifest import InputRef
    from positionbias.core.records import Query
    from positionbias.leakage.queries import TrainSource

__all__ = ["QueryPlace"]


@dataclass(frozen=True, slots=True)
class QueryPlace:
    """Queries as they were named: ``[NAME=]FILE``, ``[NAME=]COLLECTION[:SPLIT]``; without a split ``default_split``."""

    name: str
    file: Path | None
    collection: Collection | None
    split: str

    @staticmethod
    def parse(text: str, default_split: str) -> QueryPlace:
        """What a word of the command line means.

        Raises:
            InputError: neither a file nor a collection, or a collection without that split.
        """
        from positionbias.core.collection import find_collection
        from positionbias.core.errors import bad_input

        name, named, place = text.partition("=")
        if not named or not name or "/" in name or Path(text).exists():
            name, place = "", text
        path = input_place(place)
        if path.is_file():
            return QueryPlace(name or path.name.partition(".")[0], path, None, "")
        folder, _, split = place.rpartition(":") if ":" in place and not path.is_dir() else (place, "", default_split)
        collection = find_collection(folder)
        if split not in collection.splits:
            found = ", ".join(collection.splits) or "no splits"
            raise bad_input(collection.path, wanted=f"a split {split!r}", found=found, do=f"name one: {folder}:SPLIT")
        return QueryPlace(name or f"{collection.name}:{split}", None, collection, split)

    @property
    def _marked_up(self) -> bool:
        """Whether a file holds topics in tags, and not lines."""
        from positionbias.core.files import input_errors, open_bytes

        assert self.file is not None
        with input_errors(self.file, wanted="queries"), open_bytes(self.file) as handle:
            return handle.read(4_096).removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"<"

    def source(self) -> TrainSource:
        """Training queries, to be streamed; of topics their titles."""
        from positionbias.formats.trec_topics import read_topics
        from positionbias.leakage.queries import TrainSource, collection_source, tsv_source

        if self.collection is not None:
            return collection_source(self.name, self.collection, self.split)
        assert self.file is not None
        if self._marked_up:
            topics = [(query.query_id, query.text) for query in read_topics(self.file)]
            return TrainSource(self.name, lambda: iter(topics))
        return tsv_source(self.name, self.file)

    def queries(self) -> list[Query]:
        """Test queries with their fields."""
        from positionbias.formats.trec_topics import read_topics
        from positionbias.leakage.queries import tsv_queries

        if self.collection is not None:
            return self.collection.queries(self.split)
        assert self.file is not None
        return read_topics(self.file) if self._marked_up else tsv_queries(self.file)

    def input_ref(self, role: str, artefact: Path) -> InputRef:
        """What a manifest says of them."""
        from positionbias.core.files import sha256_file
        from positionbias.core.manifest import input_ref

        if self.collection is not None:
            return input_ref(role, self.collection.path, self.collection.checksum, artefact=artefact)
        assert self.file is not None
        return input_ref(role, self.file, sha256_file(self.file), artefact=artefact)
