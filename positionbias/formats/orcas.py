"""Import ORCAS (Craswell et al. 2020): queries and their clicked documents, as judgements of
grade 1.

    orcas.tsv                       query id, query, document id, URL
    orcas-doctrain-queries.tsv      query id, tab, text        } the same in TREC's form
    orcas-doctrain-qrels.tsv        query id, 0, document id, 1 }
    orcas-doctrain-top100           a TREC run

Any subset will do; orcas.tsv takes precedence over the other two. All queries form the split
"orcas". The documents are those of MS MARCO document ranking: a collection of these adds its
passages and splits, copied shard by shard; without one, the judged documents are absent. URLs are
not kept: they belong to the documents [decision]. Files are read as streams (``orcas_clicks``);
splits of ``documents`` are copied one at a time, held while they are.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from positionbias.core.blocks import Block
from positionbias.core.collection import Collection, find_collection
from positionbias.core.errors import SettingError
from positionbias.core.inputs import CollectionLike
from positionbias.core.json_text import JsonObject
from positionbias.core.manifest import InputRef, Provenance, input_ref
from positionbias.core.records import Passage
from positionbias.core.shards import Shard, read_shard, rows_checksum
from positionbias.core.steps import MapShards
from positionbias.formats.orcas_clicks import Lines, TrecForm, write_clicks
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
    "orcas-doctrain-queries.tsv": "queries",
    "orcas-doctrain-qrels.tsv": "qrels",
    "orcas-doctrain-top100": "orcas-doctrain-top100",
    "orcas-doctrain-top100.tsv": "orcas-doctrain-top100",
}


def _copy_shard(path: Path, target: Path) -> Shard:
    """Copy a shard unchanged, reading its rows once for their checksum."""
    shutil.copyfile(path, target)
    table = read_shard(target)
    batches = (
        zip(*(column.to_pylist() for column in batch.columns), strict=True)
        for batch in table.to_batches()
    )
    return Shard(table.num_rows, rows_checksum(chain.from_iterable(batches)))


class _Import(ReleaseImport):
    command = "import orcas"
    form = "orcas"
    known = "ORCAS"
    published = (
        "orcas.tsv",
        "orcas-doctrain-queries.tsv",
        "orcas-doctrain-qrels.tsv",
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

    def add_passages_elsewhere(self) -> None:
        if self._documents is not None:
            for _ in self.writer.add_shards(
                Shard, _copy_shard, self._documents.shard_paths, self.map_shards
            ):
                pass

    def splits(self, *, keep_unjudged: bool) -> list[Split]:
        return []

    def add_streamed(self, *, keep_unjudged: bool) -> None:
        for split in self._splits_of_documents():
            if split.queries:
                split.write(self.writer)
        clicks = self.late.pop("clicks", None)
        if clicks is not None:
            write_clicks(clicks, self.writer.split(SPLIT))
            for role in ("queries", "qrels"):
                self.release.leave_out(role, "orcas.tsv holds the same")
        else:
            self._add_trec_form(keep_unjudged=keep_unjudged)

    def _add_trec_form(self, *, keep_unjudged: bool) -> None:
        held = self.held
        files = [
            Lines(held.lines(role), held.place[role]) if role in held else None
            for role in ("queries", "qrels")
        ]
        form = TrecForm(*files)
        form.write(lambda: self.writer.split(SPLIT), keep_unjudged=keep_unjudged)
        if left_out := Split(
            SPLIT, unjudged=form.unjudged, without_query=form.without_query
        ).left_out():
            self.left_out[SPLIT] = left_out

    def _splits_of_documents(self) -> Iterator[Split]:
        documents = self._documents
        if documents is not None and SPLIT in documents.splits:
            raise SettingError(
                f"--documents: wanted a collection without a split {SPLIT!r}; found one; give the "
                "documents alone"
            )
        for name in documents.splits if documents else ():
            assert documents is not None
            split = Split(
                name, documents.queries(name), documents.qrels(name), documents.answers(name)
            )
            split.further = {
                further: documents.qrels(name, further) for further in documents.qrels_names(name)
            }
            yield split

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
    keep_unjudged: bool = False,
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
    release = ReleaseSettings(skip=tuple(skip), keep_unjudged=keep_unjudged)
    opened = find_collection(documents) if documents is not None else None
    making = _Import(opened, places, skip=release.skip, map_shards=map_shards)
    return making.run(
        Path(out), settings={}, release=release, overwrite=overwrite, provenance=provenance
    )
