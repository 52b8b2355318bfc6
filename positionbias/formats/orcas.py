"""Import ORCAS (Craswell et al. 2020): queries and their clicked documents, as judgements of
grade 1.

    orcas.tsv                query id, query, document id, URL
    orcas-doctrain-top100    a TREC run

All queries form the split "orcas". The documents are those of MS MARCO document ranking: a
collection of these adds its passages and splits; without one, the judged documents are absent. URLs
are not kept: they belong to the documents [decision]. orcas.tsv is read as a stream
(``orcas_clicks``); splits of ``documents`` are copied one at a time, held while they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from positionbias.core.blocks import Block
from positionbias.core.collection import Collection, find_collection
from positionbias.core.errors import SettingError, bad_input
from positionbias.core.inputs import CollectionLike
from positionbias.core.json_text import JsonObject
from positionbias.core.manifest import InputRef, Provenance, input_ref
from positionbias.core.records import Passage
from positionbias.core.steps import MapShards
from positionbias.formats.orcas_clicks import write_clicks
from positionbias.formats.release_import import ReleaseImport
from positionbias.formats.release_settings import ReleaseSettings
from positionbias.formats.splits import Split

SPLIT = "orcas"
LICENCE = (
    "ORCAS (Microsoft; Craswell et al. 2020): for non-commercial research; Microsoft grants no "
    "licence to the rights in the data. See the terms and conditions on the data set's page."
)
_ROLES = {
    "orcas.tsv": "clicks",
    "orcas-doctrain-top100": "orcas-doctrain-top100",
    "orcas-doctrain-top100.tsv": "orcas-doctrain-top100",
}


class _Import(ReleaseImport):
    command = "import orcas"
    form = "orcas"
    known = "ORCAS"
    published = (
        "orcas.tsv",
        "orcas-doctrain-top100",
    )

    def __init__(
        self, documents: Collection | None, places: Sequence[Path | str], **more: Any
    ) -> None:
        super().__init__(places, **more)
        self._documents = documents
        self.licence = "; ".join(
            filter(None, [documents.manifest.licence if documents else "", LICENCE])
        )
        self.notes = (
            "Every clicked document is a judgement of grade 1; URLs are not kept.",
            *(documents.manifest.notes if documents else ()),
        )

    @staticmethod
    def role_of(name: str) -> str | None:
        return _ROLES.get(name)

    @staticmethod
    def kind_of(role: str) -> str | None:
        return "top100" if role.endswith("top100") else role

    def passages_of(self) -> Callable[[Block], Iterable[Passage]]:
        raise NotImplementedError("ORCAS has no file of passages")

    def splits(self, *, keep_unjudged: bool) -> list[Split]:
        return []

    def add_streamed(self) -> None:
        documents = self._documents
        if documents is not None:
            if SPLIT in documents.splits:
                raise SettingError(
                    f"--documents: wanted a collection without a split {SPLIT!r}; found one; give "
                    "the documents alone"
                )
            self.writer.share_passages(documents)
            for name, facts in documents.split_facts.items():
                if facts.queries:
                    self.writer.add_tables(name, documents.tables(name))
        clicks = self.late.pop("clicks", None)
        if clicks is None:
            found = ", ".join(self.late)
            raise bad_input(
                self.release.places[0], wanted="orcas.tsv", found=found, do="give it too"
            )
        write_clicks(clicks, self.writer.split(SPLIT))

    def states(self) -> list[JsonObject]:
        documents = self._documents
        return [*super().states(), *([{"documents": documents.checksum}] if documents else [])]

    def inputs(self, out: Path) -> list[InputRef]:
        documents = self._documents
        refs = (
            [input_ref("documents", documents.path, documents.checksum, artefact=out)]
            if documents
            else []
        )
        return [*super().inputs(out), *refs]


def import_orcas(
    places: Sequence[Path | str],
    out: Path | str,
    *,
    documents: CollectionLike | None = None,
    skip: Iterable[str] = (),
    map_shards: MapShards = map,
    overwrite: bool = False,
    provenance: Provenance | None = None,
) -> Collection:
    """Make a collection from the files at ``places``, with the passages and splits of ``documents``
    if given.

    ``skip`` may hold "top100".

    Raises:
        InputError: nothing to read, or an invalid file (with the line).
        SettingError: ``documents`` already has a split "orcas".
    """
    release = ReleaseSettings(skip=tuple(skip))
    opened = find_collection(documents) if documents is not None else None
    making = _Import(opened, places, skip=release.skip, map_shards=map_shards)
    return making.run(
        Path(out), settings={}, release=release, overwrite=overwrite, provenance=provenance
    )
