"""Import ORCAS (Craswell et al. 2020): queries and their clicked documents, as judgements of grade 1.

    orcas.tsv                       query id, query, document id, URL
    orcas-doctrain-queries.tsv      query id, tab, text        } the same in TREC's form
    orcas-doctrain-qrels.tsv        query id, 0, document id, 1 }
    orcas-doctrain-top100           a TREC run

Any subset will do; orcas.tsv takes precedence over the other two. All queries form the split "orcas". The documents are those of MS MARCO
document ranking: a collection of these adds its passages and splits, copied shard by shard; without one, the judged documents are
absent. URLs are not kept: they belong to the documents [decision].
The split is held in memory, about 600 bytes per click: 11 GB for all of ORCAS.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from positionbias.core.blocks import Block
from positionbias.core.collection import Collection
from positionbias.core.errors import SettingError, bad_input
from positionbias.core.json_text import JsonObject
from positionbias.core.manifest import InputRef, Provenance, input_ref
from positionbias.core.records import Passage, Qrel, Query
from positionbias.core.shard_work import MapShards
from positionbias.core.shards import Shard, read_shard, rows_checksum
from positionbias.formats.release_import import ReleaseImport
from positionbias.formats.release_settings import ReleaseSettings
from positionbias.formats.sources import Source
from positionbias.formats.splits import Split

__all__ = ["SPLIT", "import_orcas"]

SPLIT = "orcas"
LICENCE = (
    "ORCAS (Microsoft; Craswell et al. 2020): for non-commercial research; Microsoft grants no licence to the rights in the data. "
    "See the terms and conditions on the data set's page."
)
_ROLES = {
    "orcas.tsv": "clicks",
    "orcas-doctrain-queries.tsv": "queries",
    "orcas-doctrain-qrels.tsv": "qrels",
    "orcas-doctrain-top100": "orcas-doctrain-top100",
    "orcas-doctrain-top100.tsv": "orcas-doctrain-top100",
}


def _clicks(source: Source) -> Split:
    """Read the queries and judgements of orcas.tsv; each line adds a document to its query, repeated ones once.

    Raises:
        InputError: a line with too few columns or without an id, a query with two texts (numbered), or no lines.
    """
    texts: dict[str, str] = {}
    clicked: dict[str, list[str]] = {}
    documents: dict[str, str] = {}  # 1.4 million in 19 million lines
    for number, line in source.lines():
        columns = line.split("\t")
        if len(columns) != 4 or not columns[0] or not columns[2]:
            raise bad_input(
                source.place,
                line=number,
                wanted="a click: query id, query, document id, URL, separated by tabs",
                found="an empty id" if len(columns) == 4 else f"{len(columns)} columns",
                do="fix or drop the line",
            )
        query_id, text, document, _ = columns
        if texts.setdefault(query_id, text) != text:
            raise bad_input(
                source.place,
                line=number,
                wanted="one text per query",
                found=f"a second text for {query_id!r}",
                do="fix or drop the line",
            )
        of_query = clicked.setdefault(query_id, [])
        if document not in of_query:
            of_query.append(documents.setdefault(document, document))
    if not texts:
        raise bad_input(source.place, wanted="clicks", found="an empty file", do="fetch it again, or remove it")
    split = Split(SPLIT, [Query(*item) for item in texts.items()])
    split.qrels = [Qrel(query.query_id, document, 1) for query in split.queries for document in clicked[query.query_id]]
    return split


def _copy_shard(path: Path, target: Path) -> Shard:
    """Copy a shard unchanged, reading its rows once for their checksum."""
    shutil.copyfile(path, target)
    table = read_shard(target)
    batches = (zip(*(column.to_pylist() for column in batch.columns), strict=True) for batch in table.to_batches())
    return Shard(table.num_rows, rows_checksum(chain.from_iterable(batches)))


class _Import(ReleaseImport):
    command = "import orcas"
    form = "orcas"
    known = "ORCAS"
    published = ("orcas.tsv", "orcas-doctrain-queries.tsv", "orcas-doctrain-qrels.tsv", "orcas-doctrain-top100")

    def __init__(self, documents: Collection | None, places: Sequence[Path | str], **more: Any) -> None:
        super().__init__(places, **more)
        self._documents = documents
        self.licence = "; ".join(filter(None, [documents.manifest.licence if documents else "", LICENCE]))
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
            for _ in self.writer.add_shards(Shard, _copy_shard, self._documents.shard_paths, self.map_shards):
                pass

    def splits(self, *, keep_unjudged: bool) -> list[Split]:
        clicks = self.late.pop("clicks", None)
        if clicks is not None:
            orcas = _clicks(clicks)
            for role in ("queries", "qrels"):
                self.release.leave_out(role, "orcas.tsv holds the same")
        else:
            orcas = self.held.split(SPLIT, ["queries"], ["qrels"], keep_unjudged=keep_unjudged)
        return [*self._splits_of_documents(), orcas]

    def _splits_of_documents(self) -> Iterator[Split]:
        documents = self._documents
        for name in documents.splits if documents else ():
            assert documents is not None
            if name == SPLIT:
                raise SettingError(
                    f"--documents: wanted a collection without a split {SPLIT!r}; found one; give the documents alone"
                )
            split = Split(name, documents.queries(name), documents.qrels(name), documents.answers(name))
            split.further = {further: documents.qrels(name, further) for further in documents.qrels_names(name)}
            yield split

    def states(self) -> list[JsonObject]:
        documents = self._documents
        return [*super().states(), *([{"documents": documents.checksum}] if documents else [])]

    def inputs(self, out: Path) -> list[InputRef]:
        documents = self._documents
        refs = [input_ref("documents", documents.path, documents.checksum, artefact=out)] if documents else []
        return [*super().inputs(out), *refs]


def import_orcas(
    places: Sequence[Path | str],
    out: Path | str,
    *,
    documents: Collection | None = None,
    keep_unjudged: bool = False,
    skip: Iterable[str] = (),
    map_shards: MapShards = map,
    overwrite: bool = False,
    provenance: Provenance | None = None,
) -> Collection:
    """Make a collection from the files at ``places``, with the passages and splits of ``documents`` if given.

    ``skip`` may hold "top100".

    Raises:
        InputError: nothing to read, or an invalid file (with the line).
        SettingError: ``documents`` already has a split "orcas".
    """
    release = ReleaseSettings(skip=tuple(skip), keep_unjudged=keep_unjudged)
    making = _Import(documents, places, skip=release.skip, map_shards=map_shards)
    return making.run(Path(out), settings={}, release=release, overwrite=overwrite, provenance=provenance)
